//! The laboratory's campaign.

mod beliefs;
mod common;
mod copies;
mod files;
mod forms;
mod on_paper;
mod reports;
