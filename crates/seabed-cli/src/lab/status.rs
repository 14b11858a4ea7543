//! The status of a campaign.

use clap::Args;
use seabed_lab::{Edge, LabEffect, Summary};

use super::{Campaign, Opener, describe, print};
use crate::checks;
use crate::failure::Failure;
use crate::outputs::ForceWork;
use crate::progress::{Bar, stop_on_interrupt};
use crate::wording::short;

/// Show what is pending, what has been learned, and whether more experiments are worthwhile.
#[derive(Args)]
pub struct Status {
    #[command(flatten)]
    file: Campaign,
    /// Learn from all data first.
    #[arg(long)]
    fit: bool,
    /// Learn from all data first, and estimate what another batch like the last one would teach, which takes as long as
    /// proposing it.
    #[arg(long)]
    next: bool,
    #[command(flatten)]
    force: ForceWork,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Pending outcomes listed in the text.
const MOST_SHOWN: usize = 20;

pub fn status(arguments: &Status, open: &Opener) -> Result<(), Failure> {
    let mut lab = open.open(&arguments.file.campaign)?;
    let summary = if arguments.fit || arguments.next {
        let state = lab.state()?;
        arguments.force.check_effort(lab.effort(&state, &state.last_request(), arguments.next)?)?;
        stop_on_interrupt();
        lab.learned_summary(arguments.next, &Bar::new())?
    } else {
        lab.summary()?
    };
    if arguments.json {
        return print(&serde_json::to_string(&summary).expect("plain numbers"));
    }
    print(&as_text(&summary))
}

fn as_text(summary: &Summary) -> String {
    let mut lines = vec![format!(
        "{} measurements, {} with interventions{}",
        summary.rows,
        summary.interventional,
        if summary.incomplete > 0 {
            format!("; {} with missing values are left out of fits", summary.incomplete)
        } else {
            String::new()
        }
    )];
    lines.push(match (summary.pending.len(), summary.failed) {
        (0, 0) => "nothing is pending".to_string(),
        (0, failed) => format!("nothing is pending; {failed} failed"),
        (pending, 0) => format!("{pending} outcomes are pending:"),
        (pending, failed) => format!("{pending} outcomes are pending, {failed} failed:"),
    });
    for outcome in summary.pending.iter().take(MOST_SHOWN) {
        let what = describe(&outcome.targets, &|_| String::new());
        lines.push(format!("  {} replicate {}  {what}", outcome.experiment, outcome.replicate));
    }
    if summary.pending.len() > MOST_SHOWN {
        lines.push(format!("  and {} more; --json lists all", summary.pending.len() - MOST_SHOWN));
    }
    if !summary.rounds.is_empty() {
        lines.push(
            "proposal  rows  entropy of the edges  information      ±  done  failed  pending  strategy"
                .into(),
        );
    }
    for round in &summary.rounds {
        lines.push(format!(
            "{:>8}  {:>4}  {:>20.2}  {:>11.3}  {:>5.3}  {:>4}  {:>6}  {:>7}  {}",
            round.proposal,
            round.rows,
            round.edge_entropy,
            round.information,
            round.standard_error,
            round.done,
            round.failed,
            round.pending,
            round.strategy.name()
        ));
    }
    if let Some(belief) = &summary.belief {
        let when = if summary.not_yet_learned { "then" } else { "now" };
        lines.push(format!("     {when}  {:>4}  {:>20.2}", belief.rows, belief.edge_entropy));
        let warnings = belief.warning.iter().chain(&belief.cautions);
        lines.extend(warnings.map(|warning| format!("warning: {warning}")));
        lines.extend(checks::lines(&belief.checks));
    }
    lines.extend(summary.warnings.iter().map(|warning| format!("warning: {warning}")));
    edges(&mut lines, "most certain edges:", &summary.certain);
    edges(&mut lines, "most uncertain edges:", &summary.uncertain);
    effects(&mut lines, &summary.effects);
    if summary.not_yet_learned {
        lines.push(
            "not all recorded results have been learned from; run `seabed lab status --fit` or `propose`"
                .into(),
        );
    }
    if let (Some(worth), Some(error)) = (summary.next_information, summary.next_standard_error) {
        let unit = summary.strategy.parts().0.unit();
        let another =
            format!("another batch like the last one is expected to give {worth:.3} ± {error:.3} {unit}");
        lines.push(another);
    }
    match summary.hardly_worth {
        Some(true) => lines.push(
            "more experiments of these kinds are hardly worthwhile: nothing is left for them to distinguish"
                .into(),
        ),
        Some(false) => lines.push("more experiments are worthwhile".into()),
        None => {}
    }
    lines.join("\n")
}

/// Effects listed in the text.
const MOST_EFFECTS: usize = 10;

fn effects(lines: &mut Vec<String>, effects: &[LabEffect]) {
    if effects.is_empty() {
        return;
    }
    lines.push("effects of setting a variable (change per unit, 90 % interval):".to_string());
    let width =
        effects.iter().take(MOST_EFFECTS).map(|effect| effect.from.chars().count()).max().unwrap_or(0);
    for effect in effects.iter().take(MOST_EFFECTS) {
        let ([low, high], unit) = (effect.interval, &effect.unit);
        let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
        lines.push(format!(
            "  {:.2}  {:>width$} -> {}: {}{unit} ({} to {})",
            effect.not_zero,
            effect.from,
            effect.to,
            short(effect.mean),
            short(low),
            short(high)
        ));
    }
    if effects.len() > MOST_EFFECTS {
        lines.push(format!("  and {} more; --json lists all", effects.len() - MOST_EFFECTS));
    }
}

fn edges(lines: &mut Vec<String>, title: &str, edges: &[Edge]) {
    if edges.is_empty() {
        return;
    }
    lines.push(title.to_string());
    let width = edges.iter().map(|edge| edge.from.chars().count()).max().unwrap_or(0);
    for edge in edges {
        lines.push(format!("  {:.2}  {:>width$} -> {}", edge.probability, edge.from, edge.to));
    }
}
