//! Prints what was learned, as text and as JSON.

use std::collections::HashSet;
use std::io::{self, Write};

use seabed::belief::GraphBelief;
use seabed::checks::{Finding, caution};
use seabed::data::Dataset;
use seabed::posterior::Fit;
use seabed::posterior::bootstrap::{GiesResult, Step};
use seabed::scm::{Ensemble, Scm};
use serde_json::{Value, json};

use crate::checks;

/// Edges less probable than this are not listed in the text.
const LEAST_SHOWN: f64 = 0.05;
const MOST_SHOWN: usize = 40;

/// What was learned.
pub enum Learned {
    /// A posterior.
    Fit(Box<Fit>),
    /// The equivalence class found by one search, and its model.
    Single(Ensemble, Box<GiesResult>),
}

impl Learned {
    /// The models, and the graphs where they are known.
    pub fn belief(&self) -> (&Ensemble, Option<&GraphBelief>) {
        match self {
            Self::Fit(fit) => (&fit.ensemble, fit.graphs.as_ref()),
            Self::Single(ensemble, _) => (ensemble, None),
        }
    }

    /// Where certainty may be false.
    pub fn warnings(&self, findings: &[Finding]) -> Vec<String> {
        let Self::Fit(fit) = self else { return Vec::new() };
        let caution = caution(findings, fit.warning.is_some());
        fit.one_graph().into_iter().chain(caution).map(str::to_string).collect()
    }

    pub fn as_json(&self, data: &Dataset, findings: &[Finding], seconds: f64, cpu_seconds: f64) -> Value {
        let mut value = match self {
            Self::Fit(fit) => serde_json::to_value(fit).expect("plain numbers"),
            Self::Single(ensemble, found) => {
                let name = |node: usize| &data.names()[node];
                let step = |step: &Step| json!({"kind": step.kind, "from": name(step.from), "to": name(step.to), "gain": step.gain});
                let numbers = |rows: Vec<Vec<bool>>| -> Vec<Vec<u8>> {
                    rows.into_iter().map(|row| row.into_iter().map(u8::from).collect()).collect()
                };
                let probabilities = ensemble.edge_probabilities();
                json!({
                    "version": 1,
                    "names": &ensemble.names()[..],
                    "edge_probabilities": probabilities,
                    "expected_edges": probabilities.iter().flatten().sum::<f64>(),
                    "draws": 1,
                    "repaired_cyclic": 0,
                    "diagnostics": {"steps": found.steps.iter().map(step).collect::<Vec<_>>()},
                    "essential_graph": numbers(class_of(found)),
                    "representative": numbers(found.dag.to_rows_to_columns()),
                    "score": found.score,
                })
            }
        };
        value["checks"] = json!(findings);
        value["seconds"] = json!(seconds);
        value["cpu_seconds"] = json!(cpu_seconds);
        value
    }

    pub fn print(&self, data: &Dataset, findings: &[Finding], seconds: f64) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let set = (0..data.rows()).filter(|&row| !data.targets(row).is_empty()).count();
        writeln!(
            out,
            "{} variables, {} rows ({} observed, {set} with interventions), {seconds:.1} s",
            data.variables(),
            data.rows(),
            data.rows() - set
        )?;
        match self {
            Self::Fit(fit) => print_fit(&mut out, fit)?,
            Self::Single(_, found) => print_single(&mut out, found, data.names())?,
        }
        checks::print(&mut out, findings)
    }
}

/// The estimated class, refined by background knowledge.
fn class_of(found: &GiesResult) -> Vec<Vec<bool>> {
    found
        .refined
        .as_ref()
        .map_or_else(|| found.class.to_rows_to_columns(), |refined| refined.to_rows_to_columns())
}

fn print_fit(out: &mut impl Write, fit: &Fit) -> io::Result<()> {
    let names = fit.ensemble.names();
    let probabilities = fit.ensemble.edge_probabilities();
    let mut edges: Vec<(f64, usize, usize)> = (0..names.len())
        .flat_map(|i| (0..names.len()).map(move |j| (i, j)))
        .map(|(i, j)| (probabilities[i][j], i, j))
        .filter(|edge| edge.0 >= LEAST_SHOWN)
        .collect();
    edges.sort_by(|a, b| b.0.total_cmp(&a.0));
    let expected: f64 = probabilities.iter().flatten().sum();
    if fit.repaired > 0 {
        writeln!(out, "({} draws had cycles, broken by removing their least probable edges)", fit.repaired)?;
    }
    for note in &fit.notes {
        writeln!(out, "{note}")?;
    }
    writeln!(
        out,
        "{} draws, {} distinct graphs, {expected:.1} expected edges; most probable:",
        fit.draws,
        fit.ensemble.draws().iter().map(Scm::dag).collect::<HashSet<_>>().len()
    )?;
    let width = edges.iter().map(|edge| names[edge.1].chars().count()).max().unwrap_or(0);
    for (p, i, j) in edges.iter().take(MOST_SHOWN) {
        writeln!(out, "  {p:.2}  {:>width$} -> {}", names[*i], names[*j])?;
    }
    if edges.len() > MOST_SHOWN {
        writeln!(out, "  and {} more above {LEAST_SHOWN}; --json lists all", edges.len() - MOST_SHOWN)?;
    }
    Ok(())
}

fn print_single(out: &mut impl Write, found: &GiesResult, names: &[String]) -> io::Result<()> {
    writeln!(
        out,
        "score {:.4} after {} steps; equivalence class (--- = direction unknown):",
        found.score,
        found.steps.len()
    )?;
    let class = class_of(found);
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for (i, row) in class.iter().enumerate() {
        for (j, _) in row.iter().enumerate().filter(|(_, edge)| **edge) {
            if !class[j][i] {
                writeln!(out, "  {:>width$} --> {}", names[i], names[j])?;
            } else if i < j {
                writeln!(out, "  {:>width$} --- {}", names[i], names[j])?;
            }
        }
    }
    Ok(())
}
