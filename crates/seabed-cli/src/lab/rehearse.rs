//! A simulated laboratory: a model fills in the forms, to rehearse a campaign.

use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use seabed::data::{ReadOptions, Sheet, TARGET_SEPARATOR, TARGETS_COLUMN, position, write_atomically};
use seabed::num::random::{Purpose, Seed};
use seabed::scm::{Intervention, Scm};
use seabed::world::World;
use seabed_lab::original_cell;

use super::{input_error, print};
use crate::failure::Failure;
use crate::outputs::{Force, Kind, Output};

/// Fill in a form from a model instead of a laboratory, to rehearse a campaign.
///
/// Every row gets its own outcome of the settings in the form, whose variables must be those of the model.
#[derive(Args)]
#[command(after_help = "Example: seabed lab rehearse batch-0001.csv --scm world.json --out filled.csv")]
pub struct Rehearse {
    /// The form (.csv).
    form: PathBuf,
    /// The model (.json), as written by `seabed simulate --save-scm`.
    #[arg(long, value_name = "FILE")]
    scm: PathBuf,
    /// Where to write the filled-in form.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Seed of the noise.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    force: Force,
}

pub fn rehearse(arguments: &Rehearse) -> Result<(), Failure> {
    let filled = Output { path: &arguments.out, kind: Kind::Form };
    arguments.force.check(&[filled], &[&arguments.form, &arguments.scm])?;
    let name = arguments.form.display().to_string();
    let file = File::open(&arguments.form).map_err(|error| input_error(format!("{name}: {error}")))?;
    let mut sheet = Sheet::read(file, &name, &ReadOptions::default())?;
    let scm = Scm::read(&arguments.scm)?;
    let names = scm.names().clone();
    let column = |wanted: &str| {
        let missing = || {
            input_error(format!(
                "{name}: there is no column {wanted:?}; this is not a form for the model's variables"
            ))
        };
        sheet.header.iter().position(|known| original_cell(known) == wanted).ok_or_else(missing)
    };
    let places = names.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
    let [experiment, replicate, targets, status] =
        ["experiment", "replicate", TARGETS_COLUMN, "status"].map(column);
    let (experiment, replicate, targets, status) = (experiment?, replicate?, targets?, status?);
    for row in &mut sheet.rows {
        let place = row.place.clone();
        let set = original_cell(&row.cells[targets])
            .split(TARGET_SEPARATOR)
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let setting = |target: &str| {
            let node = position(&names, target)
                .ok_or_else(|| input_error(format!("{place}: {target:?} is not a variable")))?;
            let value = sheet.numbers.value(&row.cells[places[node]], &place, target)?;
            value
                .map(|value| (node, value))
                .ok_or_else(|| input_error(format!("{place}: the value of {target} is missing")))
        };
        let settings = set.map(setting).collect::<Result<Vec<_>, _>>()?;
        let stream = Seed::new(arguments.seed).stream(Purpose::Noise);
        let stream = stream.named("rehearsal").named(&row.cells[experiment]).named(&row.cells[replicate]);
        let outcome = scm.experiment(&Intervention::new(settings)?, 1, stream)?;
        for (node, &at) in places.iter().enumerate() {
            row.cells[at] = outcome.column(node)[0].to_string();
        }
        row.cells[status] = "done".into();
    }
    let rows = std::iter::once(&sheet.header).chain(sheet.rows.iter().map(|row| &row.cells));
    write_atomically(&arguments.out, |out| {
        let mut table = csv::Writer::from_writer(out);
        rows.clone().try_for_each(|row| table.write_record(row)).map_err(std::io::Error::other)?;
        table.flush()
    })
    .map_err(|error| Failure::writing(Some(&arguments.out), error))?;
    print(&format!("{}: {} rows filled in", arguments.out.display(), sheet.rows.len()))
}
