//! Shared by the tests of several files in this folder.

pub(super) mod slow_twins;
