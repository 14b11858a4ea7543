//! The HTML report of a campaign.

use std::path::PathBuf;

use clap::Args;
use seabed::data::write_atomically;
use seabed_report::run_html;

use super::{Campaign, Opener, input_error, print};
use crate::failure::Failure;
use crate::outputs::{Force, Kind, Output};

/// Write a report of the campaign: one self-contained HTML page.
///
/// Shows where the campaign stands in words, the learned edges and effects, the expected information of every batch, every
/// experiment with what was set and what came, and the expected information of each value of each target in the last proposal.
#[derive(Args)]
pub struct Report {
    #[command(flatten)]
    file: Campaign,
    /// Where to write the page [default: the campaign's name with .html].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

pub fn report(arguments: &Report, open: &Opener) -> Result<(), Failure> {
    let campaign = &arguments.file.campaign;
    let lab = open.open(campaign)?;
    let title = campaign.file_stem().map_or("campaign".into(), |stem| stem.to_string_lossy().into_owned());
    let Some(view) = lab.report_view(title)? else {
        return Err(input_error(
            "nothing has been learned yet; run `seabed lab status --fit` or `seabed lab propose`".into(),
        ));
    };
    let place = arguments.out.clone().unwrap_or_else(|| campaign.with_extension("html"));
    arguments.force.check(&[Output { path: &place, kind: Kind::Report }], &[campaign])?;
    let page = run_html(&view);
    write_atomically(&place, |out| out.write_all(page.as_bytes()))
        .map_err(|error| Failure::writing(Some(&place), error))?;
    print(&format!("report written to {}", place.display()))
}
