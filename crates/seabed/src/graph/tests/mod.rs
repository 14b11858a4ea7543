//! What the tests of several files in this folder share.

pub(super) mod slow_twins;
