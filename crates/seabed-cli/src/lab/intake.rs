//! Input to a campaign: data files, filled-in forms, corrections.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use seabed::data::{Sheet, is_table_path};
use seabed_lab::{AddOptions, Added, Correction, Recorded, Status, experiment_name};
use serde_json::json;

use super::{Campaign, Opener, input_error, print};
use crate::failure::Failure;
use crate::progress::{Bar, stop_on_interrupt};
use crate::read::{TableOptions, warn};

/// Add measurements: observations, or rows in which variables were set.
///
/// The columns are the variables of the campaign and, if anything was set, `intervention_targets`. Cells may be empty:
/// the row is kept but left out of fits. Rows that the campaign has already, with the same values and targets, are refused,
/// whatever file they come in.
#[derive(Args)]
pub struct Add {
    #[command(flatten)]
    file: Campaign,
    /// The measurements (.csv, .tsv, .txt, .xlsx, .parquet, - for standard input); several files are added one after the other.
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// Add all rows, even those that the campaign has already.
    #[arg(long)]
    again: bool,
    /// Add only the rows that the campaign does not have yet: for a file that has grown.
    #[arg(long = "new", conflicts_with = "again")]
    only_new: bool,
    #[command(flatten)]
    table: TableOptions,
    /// A note for the history.
    #[arg(long, default_value = "", hide_default_value = true)]
    note: String,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

pub fn add(arguments: &Add, open: &Opener) -> Result<(), Failure> {
    let mut lab = open.open(&arguments.file.campaign)?;
    let options = AddOptions {
        again: arguments.again,
        only_new: arguments.only_new,
        read: arguments.table.read_options(),
        note: arguments.note.clone(),
    };
    stop_on_interrupt();
    for data in &arguments.data {
        let mut added = lab.add(data, &options, &Bar::new())?;
        added.warnings.extend(lab.state()?.traps(&[]));
        print_added(&added, data, arguments.json)?;
    }
    Ok(())
}

fn print_added(added: &Added, data: &Path, as_json: bool) -> Result<(), Failure> {
    for note in &added.notes {
        tell!("note: {note}");
    }
    warn(&added.warnings);
    if as_json {
        return print(
            &json!({
                "action": added.action, "rows": added.rows, "known": added.known, "interventional": added.interventional,
                "incomplete": added.incomplete, "notes": added.notes, "warnings": added.warnings,
            })
            .to_string(),
        );
    }
    let aside = match added.incomplete {
        0 => String::new(),
        count => format!("; {count} with missing values are kept but left out of fits"),
    };
    let known = match added.known {
        0 => String::new(),
        count => format!("; {count} were known already"),
    };
    print(&format!(
        "added {} rows from {} ({} with interventions{aside}){known}",
        added.rows,
        data.display(),
        added.interventional
    ))
}

/// Record a filled-in form.
///
/// Empty rows stay pending. `status` may be `failed`. A target's value may differ from the proposed one; replicates are
/// numbered; a row without an experiment is one that was not proposed. Recording a form again only adds what was
/// missing; contradictions are refused: correct them with `seabed lab amend`.
#[derive(Args)]
pub struct Record {
    #[command(flatten)]
    file: Campaign,
    /// The filled-in form (.csv or .xlsx), as the spreadsheet saved it.
    form: PathBuf,
    /// Record rows that were not proposed even if the same were recorded before.
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    table: TableOptions,
    /// A note for the history.
    #[arg(long, default_value = "", hide_default_value = true)]
    note: String,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

pub fn record(arguments: &Record, open: &Opener) -> Result<(), Failure> {
    let sheet = read(&arguments.form, &arguments.table)?;
    let mut lab = open.open(&arguments.file.campaign)?;
    let ignore = &arguments.table.ignore;
    let recorded = lab.record_sheet(&sheet, ignore, false, arguments.again, &arguments.note)?;
    print_recorded(&recorded, &sheet.file, arguments.json)
}

/// Correct what was recorded; the old values stay in the history.
#[derive(Args)]
#[command(after_help = "Examples:\n  seabed lab amend cells.lab batch-0001.csv\n  \
seabed lab amend cells.lab E003 --set pka=1.25 --note \"wrong column\"\n  seabed lab amend cells.lab E003 --status failed")]
pub struct Amend {
    #[command(flatten)]
    file: Campaign,
    /// A corrected form (.csv, .xlsx), or the name of an experiment.
    what: String,
    /// The replicate of the experiment.
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    replicate: u32,
    /// A corrected value of the experiment, `NA` if it is missing (repeatable).
    #[arg(long = "set", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    values: Vec<String>,
    /// The corrected status: done, failed or pending.
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    #[command(flatten)]
    table: TableOptions,
    /// A note for the history.
    #[arg(long, default_value = "", hide_default_value = true)]
    note: String,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

pub fn amend(arguments: &Amend, open: &Opener) -> Result<(), Failure> {
    let form = Path::new(&arguments.what);
    let single = !arguments.values.is_empty() || arguments.status.is_some();
    if is_table_path(form) {
        if single {
            return Err(input_error(
                "--set and --status correct a single experiment; name it instead of a form".into(),
            ));
        }
        let sheet = read(form, &arguments.table)?;
        let mut lab = open.open(&arguments.file.campaign)?;
        let recorded = lab.record_sheet(&sheet, &arguments.table.ignore, true, false, &arguments.note)?;
        return print_recorded(&recorded, &arguments.what, arguments.json);
    }
    if let Some(option) = arguments.table.given() {
        return Err(input_error(format!("{option} applies to forms only; leave it out")));
    }
    if !single {
        return Err(input_error(format!(
            "{}: say what to correct, with --set NAME=VALUE or --status",
            arguments.what
        )));
    }
    let value = |text: &String| match text.rsplit_once('=') {
        Some((name, "NA" | "")) => Ok((name.to_string(), None)),
        Some((name, value)) => match value.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok((name.to_string(), Some(number))),
            _ => Err(input_error(format!(
                "--set {text}: {value:?} is not a finite number; write NA if it is missing"
            ))),
        },
        None => Err(input_error(format!("--set {text}: write NAME=VALUE"))),
    };
    let status = |name: &String| {
        Status::named(name)
            .ok_or_else(|| input_error(format!("--status {name}: write done, failed or pending")))
    };
    let correction = Correction {
        experiment: arguments.what.clone(),
        replicate: arguments.replicate,
        values: arguments.values.iter().map(value).collect::<Result<_, _>>()?,
        status: arguments.status.as_ref().map(status).transpose()?,
    };
    let recorded = open.open(&arguments.file.campaign)?.amend(&correction, &arguments.note)?;
    print_recorded(&recorded, &arguments.what, arguments.json)
}

/// A form as it came back from the laboratory.
fn read(path: &Path, options: &TableOptions) -> Result<Sheet, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| input_error(format!("{name}: {error}")))?;
    let sheet = Sheet::read(file, &name, &options.read_options())?;
    if let Some(note) = &sheet.note {
        tell!("note: {note}");
    }
    Ok(sheet)
}

fn print_recorded(recorded: &Recorded, source: &str, as_json: bool) -> Result<(), Failure> {
    warn(&recorded.warnings);
    let extra: Vec<String> = recorded.extra.iter().map(|&id| experiment_name(id)).collect();
    if as_json {
        return print(
            &json!({
                "action": recorded.action, "done": recorded.done, "failed": recorded.failed,
                "changed": recorded.changed, "extra": extra, "known": recorded.known, "blank": recorded.blank,
                "warnings": recorded.warnings,
            })
            .to_string(),
        );
    }
    if recorded.action.is_none() {
        return print(&format!(
            "{source}: nothing new ({} already known, {} not filled in)",
            recorded.known, recorded.blank
        ));
    }
    let parts = [
        (recorded.done, "done".to_string()),
        (recorded.failed, "failed".to_string()),
        (recorded.changed, "changed".to_string()),
        (recorded.known, "already known".to_string()),
        (recorded.blank, "not filled in".to_string()),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let extra = match extra.len() {
        0 => String::new(),
        _ => format!("; not proposed: {}", extra.join(", ")),
    };
    print(&format!("recorded {source}: {}{extra}", parts.join(", ")))
}
