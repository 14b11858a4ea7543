//! `seabed effects` and `seabed predict`: what setting a variable does to the others.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use seabed::JSON_VERSION;
use seabed::belief;
use seabed::data::{DataSummary, MOST_VALUE, Names, is_table_path};
use seabed::effects::{
    Effect, Effects, Predicted, Span, most_probable_first, observed_spans, predict as predicted,
    simulated_spans,
};
use seabed::graph::Node;
use seabed::num::random::Seed;
use seabed::scm::{Ensemble, Intervention};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::progress::{Bar, stop_on_interrupt};
use crate::settings::{node_named, parse_intervention, too_large};
use crate::wording::short;

/// Say what setting a variable does to the others: total effects, with intervals.
///
/// An effect is the change of a variable's mean per unit of the one that is set, through all paths, averaged over the graphs
/// and parameters that are believed. `any` is the probability that there is an effect at all. Where mechanisms are
/// not straight lines, the effect is the average over the middle 90 % of the data, and --json has the curve.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  seabed effects belief.npz\n  seabed effects belief.npz --from raf --on erk --json"
)]
pub struct Arguments {
    /// What `seabed fit --out` saved (.npz, .json).
    belief: PathBuf,
    /// A variable that is set (repeatable) [default: all].
    #[arg(long, value_name = "NAME")]
    from: Vec<String>,
    /// A variable that is looked at (repeatable) [default: all].
    #[arg(long, value_name = "NAME")]
    on: Vec<String>,
    /// From where to where a variable is set (repeatable) [default: the middle 90 % of the data].
    #[arg(long, value_name = "NAME=LOW:HIGH")]
    span: Vec<String>,
    /// Effects less probable than this are not printed as text.
    #[arg(long, default_value_t = 0.05, value_name = "PROBABILITY")]
    least: f64,
    /// Seed of the simulated noise.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    stop_on_interrupt();
    let (models, data) = read(&arguments.belief)?;
    let names = models.names();
    let nodes = |list: &[String], option: &str| -> Result<Vec<Node>, Failure> {
        if list.is_empty() {
            return Ok((0..names.len()).collect());
        }
        list.iter().map(|name| node_named(name, names, option)).collect()
    };
    let (sources, looked_at) = (nodes(&arguments.from, "--from")?, nodes(&arguments.on, "--on")?);
    let seed = Seed::new(arguments.seed);
    let mut spans: Vec<Span> = match &data {
        Some(data) => observed_spans(data),
        None => simulated_spans(&models, seed),
    };
    for text in &arguments.span {
        let (node, span) = parse_span(text, names)?;
        spans[node] = span;
    }
    let bar = Bar::new();
    let mut effects = Effects::default()
        .of(&models, &sources, &spans, seed, &bar)
        .map_err(|error| Failure::Stopped(error.into()))?;
    drop(bar);
    effects.retain(|effect| looked_at.contains(&effect.to));
    if !effects.iter().all(Effect::is_finite) {
        return Err(overflow(&arguments.belief));
    }
    let written = if arguments.json {
        let listed: Vec<Value> = effects.iter().map(|effect| named(effect, names)).collect();
        writeln!(
            io::stdout().lock(),
            "{}",
            json!({"version": JSON_VERSION, "names": &names[..], "effects": listed})
        )
    } else {
        print(effects, names, arguments.least)
    };
    written.map_err(|error| Failure::writing(None, error))
}

/// The models themselves reach values that no number can hold.
fn overflow(belief: &Path) -> Failure {
    Failure::Input(anyhow::anyhow!(
        "{}: its models give values that are too large to compute with; check its parameters and what is set",
        belief.display()
    ))
}

/// The models of a saved belief, and what it remembers of its data.
fn read(path: &Path) -> Result<(Ensemble, Option<DataSummary>), Failure> {
    if is_table_path(path) {
        return Err(Failure::Input(anyhow::anyhow!(
            "{}: these are data; fit them first: `seabed fit {} --out belief.npz`",
            path.display(),
            path.display()
        )));
    }
    Ok((Ensemble::read(path)?, belief::remembered(path)?))
}

fn parse_span(text: &str, names: &Names) -> Result<(Node, Span), Failure> {
    let wrong =
        || Failure::Input(anyhow::anyhow!("--span {text}: write NAME=LOW:HIGH, with two different numbers"));
    let (name, range) = text.rsplit_once('=').ok_or_else(wrong)?;
    let (low, high) = range.split_once(':').ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    let (low, high) = (number(low).ok_or_else(wrong)?, number(high).ok_or_else(wrong)?);
    if low == high {
        return Err(wrong());
    }
    if let Some(end) = [low, high].into_iter().find(|end| end.abs() > MOST_VALUE) {
        return Err(Failure::Input(anyhow::anyhow!("--span {text}: {}", too_large(end))));
    }
    Ok((node_named(name, names, &format!("--span {text}"))?, Span::new(low, high)))
}

/// An effect with names instead of numbers of variables.
pub fn named(effect: &Effect, names: &Names) -> Value {
    let mut value = json!(effect);
    value["from"] = json!(names[effect.from]);
    value["to"] = json!(names[effect.to]);
    value
}

fn print(mut effects: Vec<Effect>, names: &Names, least: f64) -> io::Result<()> {
    let mut out = io::stdout().lock();
    most_probable_first(&mut effects);
    let all = effects.len();
    effects.retain(|effect| effect.not_zero >= least);
    if effects.is_empty() {
        return writeln!(out, "no effect has a probability of {least} or more");
    }
    let pair = |effect: &Effect| format!("{} -> {}", names[effect.from], names[effect.to]);
    let width = effects.iter().map(|effect| pair(effect).chars().count()).max().unwrap_or(0).max(12);
    writeln!(out, " any  {:width$}  change per unit, 90 % interval", "set -> look")?;
    for effect in &effects {
        let [low, high] = effect.interval;
        let sign = if effect.mean > 0.0 { "+" } else { "" };
        writeln!(
            out,
            "{:.2}  {:width$}  {sign}{} ({} to {}), {}",
            effect.not_zero,
            pair(effect),
            short(effect.mean),
            short(low),
            short(high),
            direction(effect)
        )?;
    }
    if effects.len() < all {
        writeln!(out, "{} effects less probable than {least} are not shown", all - effects.len())?;
    }
    Ok(())
}

/// In which direction the effect goes, as far as that is known.
fn direction(effect: &Effect) -> String {
    let (up, down) = (effect.positive, effect.negative);
    let known = if up >= down { ("increases", up) } else { ("decreases", down) };
    if known.1 >= 0.95 { known.0.to_string() } else { format!("{} with probability {:.2}", known.0, known.1) }
}

/// Say what every variable is expected to be when others are set, and what a new row would show.
#[derive(Args)]
#[command(after_help = "Example: seabed predict belief.npz --do mek=2.5")]
pub struct Predict {
    /// What `seabed fit --out` saved (.npz, .json).
    belief: PathBuf,
    /// A variable that is set, and its value (repeatable) [default: nothing is set].
    #[arg(long = "do", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    settings: Vec<String>,
    /// Seed of the simulated rows.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// Simulated rows of every draw: enough for the tails of a new row.
const ROWS: usize = 200;

pub fn predict(arguments: &Predict) -> Result<(), Failure> {
    stop_on_interrupt();
    let (models, data) = read(&arguments.belief)?;
    let names = models.names();
    let intervention = parse_intervention("--do", &arguments.settings, names)?;
    let warnings = beyond(&intervention, data.as_ref());
    for warning in &warnings {
        tell!("warning: {warning}");
    }
    let found = predicted(&models, &intervention, ROWS, Seed::new(arguments.seed), &Bar::new())
        .map_err(|error| Failure::Stopped(error.into()))?;
    if !found.iter().all(Predicted::is_finite) {
        return Err(overflow(&arguments.belief));
    }
    let written = if arguments.json {
        let variable = |predicted: &Predicted| {
            let mut value = json!(predicted);
            value["node"] = json!(names[predicted.node]);
            value
        };
        let listed: Vec<Value> = found.iter().map(variable).collect();
        let value = json!({"version": JSON_VERSION, "variables": listed, "warnings": warnings});
        writeln!(io::stdout().lock(), "{value}")
    } else {
        print_predicted(&found, &intervention, names)
    };
    written.map_err(|error| Failure::writing(None, error))
}

/// Values that are set where nothing was measured.
fn beyond(intervention: &Intervention, data: Option<&DataSummary>) -> Vec<String> {
    let Some(data) = data else { return Vec::new() };
    let settings = intervention.settings().iter();
    let beyond = settings.filter(|(node, value)| data.variables[*node].is_beyond(*value));
    beyond
        .map(|(node, value)| {
            let variable = &data.variables[*node];
            format!(
                "{} = {} lies beyond the data ({} to {}); what the models say there is not learned from them",
                variable.name,
                short(*value),
                short(variable.least),
                short(variable.most)
            )
        })
        .collect()
}

fn print_predicted(found: &[Predicted], intervention: &Intervention, names: &Names) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let set: Vec<String> = intervention
        .settings()
        .iter()
        .map(|(node, value)| format!("{} = {}", names[*node], short(*value)))
        .collect();
    let title = if set.is_empty() { "nothing is set".into() } else { format!("do({})", set.join(", ")) };
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(8);
    let between = |[low, high]: [f64; 2]| format!("{} to {}", short(low), short(high));
    writeln!(out, "{title}\n{:width$}  {:>10}  {:22}  a new row, 90 %", "variable", "expected", "90 %")?;
    for predicted in found {
        let name = &names[predicted.node];
        let mean = short(predicted.mean);
        if predicted.set {
            writeln!(out, "{name:width$}  {mean:>10}  is set")?;
            continue;
        }
        let (interval, new_row) = (between(predicted.interval), between(predicted.new_row));
        writeln!(out, "{name:width$}  {mean:>10}  {interval:22}  {new_row}")?;
    }
    Ok(())
}
