//! Prints a batch as text, as JSON, and as a form for the laboratory.

use std::io::{self, Write};

use seabed::data::Names;
use seabed::design::{
    Batch, Chosen, Constraints, Designer, Evaluated, Information, Levels, Replicates, ceiling, reasons,
};
use seabed::graph::Node;
use seabed::scm::{Ensemble, Intervention};
use seabed_lab::{FormRow, four_digits, harmless_cell};
use serde_json::{Value, json};

use crate::wording::short;

fn targets_as_json(design: &Intervention, names: &Names) -> Value {
    design.settings().iter().map(|&(node, value)| (names[node].clone(), json!(value))).collect()
}

/// The batch as JSON.
pub fn as_json(batch: &Batch, ensemble: &Ensemble, seconds: f64, cpu_seconds: f64) -> Value {
    let mut form = json!(batch);
    form["edge_entropy"] = json!(ensemble.edge_entropy());
    form["seconds"] = json!(seconds);
    form["cpu_seconds"] = json!(cpu_seconds);
    form
}

/// The batch as text.
pub fn as_text(batch: &Batch, ensemble: &Ensemble, designer: &Designer, seconds: f64) -> io::Result<()> {
    let (wanted, unit) = (designer.batch, designer.strategy.parts().0.unit());
    let mut out = io::stdout().lock();
    writeln!(out, "{:>4}  {:>11}  {:>7}  {:>7}  {:>6}  experiment", "", "information", "±", "gain", "cost")?;
    for (k, chosen) in batch.chosen.iter().enumerate() {
        writeln!(
            out,
            "{:>4}  {:>11.4}  {:>7.4}  {:>7.4}  {:>6}  {}",
            k + 1,
            chosen.information.nats,
            chosen.information.standard_error,
            chosen.gain,
            chosen.cost,
            describe(&chosen.design, ensemble.names()) + &times(chosen, designer)
        )?;
    }
    for (k, chosen) in batch.chosen.iter().enumerate() {
        writeln!(
            out,
            "{:>4}  {}: {}",
            k + 1,
            describe(&chosen.design, ensemble.names()),
            reasons(&chosen.decides)
        )?;
    }
    writeln!(
        out,
        "together {:.3} ± {:.3} {unit} (the draws can tell {:.3}); entropy of the edges {:.2} nats; {seconds:.1} s",
        batch.information.nats,
        batch.information.standard_error,
        batch.entropy,
        ensemble.edge_entropy()
    )?;
    let (got, what) = match designer.replicates {
        Replicates::Each(_) => (batch.chosen.len(), "experiments"),
        Replicates::Auto => (batch.chosen.iter().map(|chosen| chosen.rows).sum(), "rows"),
    };
    if got < wanted {
        writeln!(out, "the budget allows {got} of {wanted} {what}")?;
    }
    if let Some(caution) = ceiling(batch.information.nats, batch.entropy) {
        writeln!(out, "{caution}")?;
    }
    if let Some(forecast) = &batch.forecast {
        forecast.sentences().iter().try_for_each(|sentence| writeln!(out, "{sentence}"))?;
    }
    Ok(())
}

/// What the user's own designs are worth.
pub fn scores(
    as_json: bool,
    designs: &[Intervention],
    scores: &[Information],
    names: &Names,
    cpu_seconds: f64,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if as_json {
        let designs: Vec<Value> = designs
            .iter()
            .zip(scores)
            .map(|(design, score)| {
                json!({
                    "targets": targets_as_json(design, names),
                    "information": score.nats,
                    "standard_error": score.standard_error,
                })
            })
            .collect();
        return writeln!(out, "{}", json!({"designs": designs, "cpu_seconds": cpu_seconds}));
    }
    writeln!(out, "{:>11}  {:>7}  experiment", "information", "±")?;
    for (design, score) in designs.iter().zip(scores) {
        writeln!(out, "{:>11.4}  {:>7.4}  {}", score.nats, score.standard_error, describe(design, names))?;
    }
    Ok(())
}

/// How often an experiment is done, where that was chosen.
fn times(chosen: &Chosen, designer: &Designer) -> String {
    let shown = designer.replicates == Replicates::Auto && chosen.rows > 1;
    if shown { format!(", {} rows", chosen.rows) } else { String::new() }
}

fn describe(design: &Intervention, names: &Names) -> String {
    let setting = |&(node, value): &(Node, f64)| format!("do({} = {})", names[node], short(value));
    design.settings().iter().map(setting).collect::<Vec<_>>().join(", ")
}

/// One row per experiment and replicate: the targets are filled in, with as many digits as can be set and within what is
/// allowed, the other variables are left to the laboratory.
pub fn form(batch: &Batch, names: &Names, constraints: &Constraints) -> Vec<FormRow> {
    let rounded = |&(node, value): &(Node, f64)| {
        let levels = constraints.variables.get(node).and_then(Option::as_ref).map(|allowed| &allowed.levels);
        let value = match levels {
            Some(Levels::Range(low, high)) => four_digits_within(value, *low, *high),
            _ => value,
        };
        (node, value)
    };
    let of_experiment = |(k, chosen): (usize, &Chosen)| {
        let settings: Vec<(Node, f64)> = chosen.design.settings().iter().map(rounded).collect();
        let row =
            move |replicate: u32| FormRow::to_fill((k + 1).to_string(), replicate, &settings, names.len());
        (1..=chosen.rows as u32).map(row)
    };
    batch.chosen.iter().enumerate().flat_map(of_experiment).collect()
}

/// Rounded to four digits, inwards at the ends of the range; as it is where the range is narrower than that.
fn four_digits_within(value: f64, low: f64, high: f64) -> f64 {
    let rounded = four_digits(value);
    let unit = 10f64.powf(rounded.abs().max(f64::MIN_POSITIVE).log10().floor() - 3.0);
    let near = [rounded, four_digits(rounded - unit), four_digits(rounded + unit)];
    near.into_iter().find(|near| (low..=high).contains(near)).unwrap_or(value)
}

/// The columns of the curves.
pub const CURVES_HEADER: [&str; 4] = ["target", "value", "information", "standard_error"];

/// Every value tried for a single target.
pub fn write_curves(out: &mut dyn Write, evaluated: &[Evaluated], names: &Names) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(CURVES_HEADER)?;
    let mut singles: Vec<(Node, f64, Information)> = evaluated
        .iter()
        .filter_map(|e| match e.design.settings() {
            [(node, value)] => Some((*node, *value, e.information)),
            _ => None,
        })
        .collect();
    singles.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    for (node, value, information) in singles {
        let numbers = [value, information.nats, information.standard_error].map(|number| number.to_string());
        table.write_record([harmless_cell(&names[node]).into_owned()].into_iter().chain(numbers))?;
    }
    table.flush()
}
