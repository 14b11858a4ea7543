//! The laboratory's campaign.

mod beliefs;
mod common;
mod files;
mod forms;
mod on_paper;
