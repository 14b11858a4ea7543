//! `seabed lab`: the campaign of a real laboratory, in one crash-safe file.

mod file;
mod intake;
mod propose;
mod rehearse;
mod report;
mod status;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use seabed_lab::Lab;

use crate::failure::Failure;
use crate::wording::short;

/// Manage the campaign of a real laboratory: data, proposals, results and beliefs, in one file.
///
/// Every change is made completely or not at all, and can be reverted with `undo`; nothing is ever deleted from the
/// file. Several people may use it at once.
#[derive(Args)]
#[command(after_help = "A campaign, from data to a report:\n  \
seabed lab new cells.lab --from data.csv     # drafts cells.toml: edit it\n  \
seabed lab new cells.lab --variables cells.toml\n  \
seabed lab add cells.lab data.csv\n  \
seabed lab propose cells.lab --batch 8       # writes batch-0001.csv: fill it in\n  \
seabed lab record cells.lab batch-0001.csv\n  \
seabed lab status cells.lab --fit")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Seconds to wait while another process writes to the campaign.
    #[arg(long, global = true, default_value_t = 30, value_name = "SECONDS")]
    wait: u32,
}

#[derive(Subcommand)]
enum Command {
    New(file::New),
    Add(intake::Add),
    Propose(Box<propose::Propose>),
    Form(propose::Form),
    Record(intake::Record),
    Amend(intake::Amend),
    Status(status::Status),
    Report(report::Report),
    Export(file::Export),
    Undo(file::Undo),
    Backup(file::Backup),
    Check(file::Check),
    Rehearse(rehearse::Rehearse),
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let open = Opener { wait: Duration::from_secs(arguments.wait.into()) };
    match &arguments.command {
        Command::New(arguments) => file::new(arguments),
        Command::Add(arguments) => intake::add(arguments, &open),
        Command::Propose(arguments) => propose::propose(arguments, &open),
        Command::Form(arguments) => propose::form(arguments, &open),
        Command::Record(arguments) => intake::record(arguments, &open),
        Command::Amend(arguments) => intake::amend(arguments, &open),
        Command::Status(arguments) => status::status(arguments, &open),
        Command::Report(arguments) => report::report(arguments, &open),
        Command::Export(arguments) => file::export(arguments, &open),
        Command::Undo(arguments) => file::undo(arguments, &open),
        Command::Backup(arguments) => file::backup(arguments, &open),
        Command::Check(arguments) => file::check(arguments, &open),
        Command::Rehearse(arguments) => rehearse::rehearse(arguments),
    }
}

/// Opens campaigns, waiting for other writers as long as the user allows.
struct Opener {
    wait: Duration,
}

impl Opener {
    fn open(&self, path: &Path) -> Result<Lab, Failure> {
        Ok(Lab::open(path, self.wait)?)
    }
}

/// The campaign's file, the first argument of every command.
#[derive(Args)]
struct Campaign {
    /// The campaign's file.
    campaign: PathBuf,
}

/// Prints a line to standard output.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| Failure::writing(None, error))
}

fn input_error(problem: String) -> Failure {
    Failure::Input(anyhow::anyhow!(problem))
}

/// `do(A = 1 nM, B = 2)`.
fn describe(targets: &[(String, f64)], units: &dyn Fn(&str) -> String) -> String {
    let setting = |(name, value): &(String, f64)| match units(name).as_str() {
        "" => format!("{name} = {}", short(*value)),
        unit => format!("{name} = {} {unit}", short(*value)),
    };
    format!("do({})", targets.iter().map(setting).collect::<Vec<_>>().join(", "))
}
