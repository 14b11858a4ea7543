//! Creating, checking and exporting campaigns, and undoing actions.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use seabed::data::write_atomically;
use seabed_lab::{Lab, Variables, draft};
use serde_json::json;

use super::{Campaign, Opener, input_error, print};
use crate::failure::Failure;
use crate::outputs::Force;
use crate::read::{TableOptions, read_data};

/// Create a campaign from a variables file, or draft such a file from data.
///
/// For every variable, the variables file gives its unit, whether and to which values it can be set, what that costs,
/// and how its values are transformed before a fit. It also holds background knowledge about causes.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  seabed lab new cells.lab --from data.csv\n  seabed lab new cells.lab --variables cells.toml"
)]
pub struct New {
    #[command(flatten)]
    file: Campaign,
    /// The variables (.toml).
    #[arg(long, value_name = "FILE", required_unless_present = "from", conflicts_with = "from")]
    variables: Option<PathBuf>,
    /// Only draft a variables file from these data (.csv, .tsv, .txt, .xlsx, .parquet), for you to edit.
    #[arg(long, value_name = "DATA")]
    from: Option<PathBuf>,
    #[command(flatten)]
    table: TableOptions,
    /// Random seed of the campaign.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// A note for the history.
    #[arg(long, default_value = "", hide_default_value = true)]
    note: String,
}

pub fn new(arguments: &New) -> Result<(), Failure> {
    let campaign = &arguments.file.campaign;
    if let Some(data) = &arguments.from {
        return write_draft(campaign, data, &arguments.table);
    }
    if let Some(option) = arguments.table.given() {
        return Err(input_error(format!("{option} applies to --from only; add it, or leave {option} out")));
    }
    let path = arguments.variables.as_deref().unwrap_or(Path::new(""));
    let text =
        fs::read_to_string(path).map_err(|error| input_error(format!("{}: {error}", path.display())))?;
    let variables = Variables::from_toml(&text, &path.display().to_string())?;
    Lab::create(campaign, &text, arguments.seed, &arguments.note)?;
    let targets = variables.list().iter().filter(|variable| variable.intervene).count();
    print(&format!(
        "{}: a campaign of {} variables, {targets} of which can be set",
        campaign.display(),
        variables.names().len()
    ))
}

fn write_draft(campaign: &Path, data: &Path, options: &TableOptions) -> Result<(), Failure> {
    let place = campaign.with_extension("toml");
    if place.exists() || place == *campaign {
        return Err(input_error(format!(
            "{}: the file already exists; remove it or choose another name",
            place.display()
        )));
    }
    let loaded = read_data(&[data.to_path_buf()], options)?;
    let text = draft(&loaded.dataset, &data.display().to_string(), &options.ignore);
    write_atomically(&place, |out| out.write_all(text.as_bytes()))
        .map_err(|error| Failure::writing(Some(&place), error))?;
    print(&format!(
        "{} is a draft of the variables: edit it, then\n  seabed lab new {} --variables {}",
        place.display(),
        campaign.display(),
        place.display()
    ))
}

/// Write everything as CSV and JSON into a folder.
///
/// data.csv: all current measurements; experiments.csv: all records, including corrected ones; actions.csv: the history;
/// edges.csv: the probability of every edge; variables.toml; campaign.json: all of it.
#[derive(Args)]
pub struct Export {
    #[command(flatten)]
    file: Campaign,
    /// The folder [default: the campaign's name with `-export`].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

pub fn export(arguments: &Export, open: &Opener) -> Result<(), Failure> {
    let campaign = &arguments.file.campaign;
    let lab = open.open(campaign)?;
    let stem = campaign.file_stem().map_or("campaign".into(), |stem| stem.to_string_lossy().into_owned());
    let folder = arguments.out.clone().unwrap_or_else(|| campaign.with_file_name(format!("{stem}-export")));
    arguments.force.check_folder(&folder, Lab::is_export(&folder), &Lab::EXPORTED, &[campaign])?;
    let files = lab.export(&folder)?;
    print(&format!("{}: {}", folder.display(), files.join(", ")))
}

/// Undo the last action; it stays in the history.
#[derive(Args)]
pub struct Undo {
    #[command(flatten)]
    file: Campaign,
    /// Only if this is the last action: trying again after a crash then undoes nothing else.
    #[arg(long, value_name = "NUMBER")]
    action: Option<i64>,
}

pub fn undo(arguments: &Undo, open: &Opener) -> Result<(), Failure> {
    let undone = open.open(&arguments.file.campaign)?.undo_if(arguments.action)?.action;
    print(&format!("undone: action {} from {}: {} {}", undone.id, undone.at, undone.kind, undone.what))
}

/// Write a copy of the campaign to a new file, also while others are working on it.
#[derive(Args)]
pub struct Backup {
    #[command(flatten)]
    file: Campaign,
    /// The new file.
    copy: PathBuf,
}

pub fn backup(arguments: &Backup, open: &Opener) -> Result<(), Failure> {
    let mut lab = open.open(&arguments.file.campaign)?;
    lab.backup(&arguments.copy)?;
    let actions = lab.state()?.actions.len();
    print(&format!(
        "{}: a copy of {} with {actions} actions",
        arguments.copy.display(),
        arguments.file.campaign.display()
    ))
}

/// Check the campaign's file for damage.
#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    file: Campaign,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

pub fn check(arguments: &Check, open: &Opener) -> Result<(), Failure> {
    let lab = open.open(&arguments.file.campaign)?;
    let problems = lab.check()?;
    let actions = lab.state().map_or(0, |state| state.actions.len());
    if arguments.json {
        print(&json!({"sound": problems.is_empty(), "problems": problems, "actions": actions}).to_string())?;
    } else if problems.is_empty() {
        print(&format!("{}: sound, {actions} actions", arguments.file.campaign.display()))?;
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(input_error(format!("{}: {}", arguments.file.campaign.display(), problems.join("; "))))
}
