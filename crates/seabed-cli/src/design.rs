//! `seabed design`: the next batch of experiments.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use seabed::data::{Dataset, Names, write_atomically};
use seabed::design::{
    Allowed, Batch, Chosen, Constraints, Designer, Estimator, Evaluated, Goal, Information, Levels, Strategy,
    Values,
};
use seabed::graph::Node;
use seabed::num::random::Seed;
use seabed::observer::Stage;
use seabed::posterior::{PosteriorKind, PosteriorSettings, Start};
use seabed::scm::{Ensemble, Intervention};
use seabed_lab::{FormRow, write_form};
use serde_json::{Value, json};

use crate::clock::cpu_time;
use crate::failure::Failure;
use crate::fit::read_knowledge;
use crate::progress::{Bar, stop_on_interrupt};
use crate::read::read_data;
use crate::settings::{node_named, parse_intervention};
use crate::wording::{POSTERIOR_HELP, posterior_parser};

/// Choose the next batch of experiments: which variables to set, and to which values.
///
/// From an ensemble (.npz, .json) or from data (.csv, .parquet), which are first fitted as `seabed fit` does. Prints
/// each experiment with the information it is expected to give about the causal model, in nats, and what the whole
/// batch is worth. --out writes a form for the laboratory to fill in.
#[derive(Args)]
#[command(
    after_help = "Example: seabed design data.csv --batch 8 --target X1 --target X3 --levels X3=0,1,2 --out batch.csv"
)]
pub struct Arguments {
    /// An ensemble (.npz, .json), or data to fit first (.csv, .parquet).
    belief: PathBuf,
    /// Number of experiments.
    #[arg(long, default_value_t = 10, value_name = "COUNT", allow_negative_numbers = true)]
    batch: usize,
    /// How the batch is put together.
    #[arg(long, default_value = "soft-cbed", value_name = "NAME", value_parser = strategy)]
    strategy: Strategy,
    /// How values are chosen.
    #[arg(long, value_enum, default_value_t = ValuesName::GpUcb)]
    values: ValuesName,
    /// The value of --values fixed; the nearest allowed one is taken.
    #[arg(long, default_value_t = 0.0, value_name = "VALUE", allow_negative_numbers = true)]
    fixed_value: f64,
    /// The values of --values grid; evenly spread ones without it.
    #[arg(long, value_name = "VALUES", value_delimiter = ',', allow_negative_numbers = true)]
    grid: Vec<f64>,
    /// Outcomes simulated of each draw (m).
    #[arg(long, default_value_t = 100, value_name = "COUNT")]
    samples: usize,
    /// Values tried for each target (T).
    #[arg(long, default_value_t = 5, value_name = "COUNT")]
    evaluations: usize,
    /// How often each experiment is repeated.
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    replicates: usize,
    /// Of the soft strategies, in nats: the lower, the more the best designs are preferred.
    #[arg(long, default_value_t = 2.0, value_name = "NATS", allow_negative_numbers = true)]
    temperature: f64,
    /// How information is estimated.
    #[arg(long, value_enum, default_value_t = EstimatorName::Nested)]
    estimator: EstimatorName,
    /// What to learn: `edge=A,B`, `descendants=A` or `effect=A,B`; the whole model without it.
    #[arg(long, value_name = "QUESTION")]
    goal: Option<String>,
    /// A variable that can be set; repeat it. All of them without it.
    #[arg(long = "target", value_name = "NAME")]
    targets: Vec<String>,
    /// A variable that cannot be set; repeat it.
    #[arg(long = "forbid", value_name = "NAME")]
    forbidden: Vec<String>,
    /// Values that every variable can be set to. Without it: mean ± 3 standard deviations of the data, or -10 to 10.
    #[arg(long, value_name = "LOW:HIGH", allow_hyphen_values = true)]
    range: Option<String>,
    /// Values that a variable can be set to; repeat it.
    #[arg(long, value_name = "NAME=LOW:HIGH")]
    bounds: Vec<String>,
    /// The only values that a variable can be set to; repeat it.
    #[arg(long, value_name = "NAME=A,B,…")]
    levels: Vec<String>,
    /// Cost of an experiment on a variable, 1 without it; repeat it. Designs are then compared by information per cost.
    #[arg(long, value_name = "NAME=COST")]
    cost: Vec<String>,
    /// The most that the batch may cost; it may then be smaller than --batch.
    #[arg(long, value_name = "COST", allow_negative_numbers = true)]
    budget: Option<f64>,
    /// The most experiments that set the same variable.
    #[arg(long, value_name = "COUNT")]
    max_repeats: Option<usize>,
    /// The most variables that one experiment sets.
    #[arg(long, default_value_t = 1, value_name = "COUNT")]
    max_targets: usize,
    /// Instead of choosing, evaluate this design; repeat it.
    #[arg(long = "score", value_name = "NAME=VALUE,…", allow_hyphen_values = true)]
    scored: Vec<String>,
    #[arg(long, default_value = "mcmc-gp", value_name = "NAME", value_parser = posterior_parser(), help = POSTERIOR_HELP)]
    posterior: PosteriorKind,
    /// Draws of the posterior, when data are fitted: as many as `seabed fit` takes without it (mcmc and bootstrap).
    #[arg(long, value_name = "COUNT")]
    draws: Option<usize>,
    /// Forbidden and required edges (.toml), when data are fitted.
    #[arg(long, value_name = "FILE")]
    knowledge: Option<PathBuf>,
    /// A column of the data to leave out; repeat it for several.
    #[arg(long, value_name = "COLUMN")]
    ignore: Vec<String>,
    /// Seed of the fit, the simulated outcomes and the random choices.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the batch as a form for the laboratory (.csv).
    #[arg(long, value_name = "FILE", conflicts_with = "scored")]
    out: Option<PathBuf>,
    /// Write the information of every value that was tried (.csv).
    #[arg(long, value_name = "FILE", conflicts_with = "scored")]
    curves: Option<PathBuf>,
    /// Print JSON for programs.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum ValuesName {
    /// One value for all.
    Fixed,
    /// Draws around what is observed.
    Sample,
    /// A list of values.
    Grid,
    /// Bayesian optimisation of the information.
    GpUcb,
}

#[derive(Clone, Copy, ValueEnum)]
enum EstimatorName {
    /// Nested Monte Carlo.
    Nested,
    /// An upper bound.
    Bound,
    /// Entropy over the draws, as ABCD writes it.
    Entropy,
}

/// Below this no experiment is worth its work, in nats.
const HARDLY_WORTH: f64 = 0.01;

fn strategy(name: &str) -> Result<Strategy, String> {
    let known = Strategy::ALL.iter().find(|(known, _)| *known == name);
    let names: Vec<&str> = Strategy::ALL.iter().map(|(known, _)| *known).collect();
    known.map(|(_, strategy)| *strategy).ok_or_else(|| format!("the strategies are {}", names.join(", ")))
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (clock, cpu) = (Instant::now(), cpu_time());
    stop_on_interrupt();
    let (ensemble, data) = belief(arguments)?;
    let names = ensemble.names();
    let designer = designer(arguments, names)?;
    let seed = Seed::new(arguments.seed);
    let used = || (clock.elapsed().as_secs_f64(), (cpu_time() - cpu).as_secs_f64());
    if !arguments.scored.is_empty() {
        let designs =
            arguments.scored.iter().map(|text| parse_design(text, names)).collect::<Result<Vec<_>, _>>()?;
        let scores = designer.score(&ensemble, &designs, seed, &Bar::new())?;
        let written = print_scores(arguments.json, &designs, &scores, names, used().1);
        return written.map_err(|error| Failure::writing(None, error));
    }
    if arguments.out.is_some() && arguments.out == arguments.curves {
        return Err(Failure::Input(anyhow::anyhow!(
            "--out and --curves name one file; give each a file of its own"
        )));
    }
    let constraints = constraints(arguments, names, data.as_ref())?;
    let batch = designer.design(&ensemble, &constraints, seed, &Bar::new())?;
    if let Some(path) = &arguments.curves {
        save(path, |out| write_curves(out, &batch.evaluated, names))?;
    }
    if let Some(path) = &arguments.out {
        save(path, |out| write_form(out, names, &form(&batch, names, arguments.replicates)))?;
    }
    let (seconds, cpu_seconds) = used();
    let written = if arguments.json {
        writeln!(io::stdout().lock(), "{}", as_json(&batch, &ensemble, seconds, cpu_seconds))
    } else {
        print_for_people(&batch, &ensemble, arguments.batch, seconds)
    };
    written.map_err(|error| Failure::writing(None, error))
}

/// The ensemble, and the data that it was fitted to, if it was.
fn belief(arguments: &Arguments) -> Result<(Ensemble, Option<Dataset>), Failure> {
    let path = &arguments.belief;
    let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_lowercase);
    if !matches!(extension.as_deref(), Some("csv" | "parquet")) {
        return Ok((Ensemble::read(path)?, None));
    }
    let data = read_data(path, &arguments.ignore)?;
    let knowledge = read_knowledge(arguments.knowledge.as_deref(), &data)?;
    let mut settings = PosteriorSettings::for_own_data(arguments.posterior);
    settings.draws = arguments.draws.unwrap_or(settings.draws);
    let posterior = settings.check(None)?;
    let start = Start::fresh(Seed::new(arguments.seed));
    let fit =
        posterior.fit(&data, &knowledge, start, &Stage { observer: &Bar::new(), name: "fit".into() })?;
    if let Some(warning) = &fit.warning {
        eprintln!("warning: {warning}");
    }
    Ok((fit.ensemble, Some(data)))
}

fn designer(arguments: &Arguments, names: &Names) -> Result<Designer, Failure> {
    Ok(Designer {
        strategy: arguments.strategy,
        values: match arguments.values {
            ValuesName::Fixed => Values::Fixed(arguments.fixed_value),
            ValuesName::Sample => Values::Sample,
            ValuesName::Grid => Values::Grid(arguments.grid.clone()),
            ValuesName::GpUcb => Values::gp_ucb(),
        },
        batch: arguments.batch,
        replicates: arguments.replicates,
        samples: arguments.samples,
        evaluations: arguments.evaluations,
        temperature: arguments.temperature,
        estimator: match arguments.estimator {
            EstimatorName::Nested => Estimator::Nested,
            EstimatorName::Bound => Estimator::Bound,
            EstimatorName::Entropy => Estimator::Entropy,
        },
        goal: arguments.goal.as_deref().map_or(Ok(Goal::Everything), |text| parse_goal(text, names))?,
    })
}

pub fn parse_goal(text: &str, names: &Names) -> Result<Goal, Failure> {
    let wrong = || {
        let form = "write edge=A,B, descendants=A or effect=A,B";
        Failure::Input(anyhow::anyhow!("--goal {text}: this is no question; {form}"))
    };
    let node = |name: &str| node_named(name, names, &format!("--goal {text}"));
    let (kind, rest) = text.split_once('=').ok_or_else(wrong)?;
    // A name may contain a comma: the one that leaves a variable on both sides is meant.
    let commas = || rest.match_indices(',').map(|(at, _)| (&rest[..at], &rest[at + 1..]));
    let known = |name: &str| seabed::data::position(names, name.trim()).is_some();
    let two = || {
        let (a, b) =
            commas().find(|(a, b)| known(a) && known(b)).or_else(|| commas().next()).ok_or_else(wrong)?;
        let (a, b) = (node(a)?, node(b)?);
        if a == b { Err(wrong()) } else { Ok((a, b)) }
    };
    match kind {
        "edge" => two().map(|(from, to)| Goal::Edge { from, to }),
        "effect" => two().map(|(of, on)| Goal::Effect { of, on }),
        "descendants" => Ok(Goal::Descendants { of: node(rest)? }),
        _ => Err(wrong()),
    }
}

fn parse_design(text: &str, names: &Names) -> Result<Intervention, Failure> {
    // A name may contain a comma: a new setting starts where the text before the comma already has its `=`.
    let mut settings: Vec<String> = Vec::new();
    for part in text.split(',') {
        match settings.last_mut() {
            Some(open) if !open.contains('=') => *open = format!("{open},{part}"),
            _ => settings.push(part.to_string()),
        }
    }
    parse_intervention("--score", &settings, names)
}

fn constraints(arguments: &Arguments, names: &Names, data: Option<&Dataset>) -> Result<Constraints, Failure> {
    let nodes = |list: &[String], option: &str| -> Result<Vec<Node>, Failure> {
        list.iter().map(|name| node_named(name, names, option)).collect()
    };
    let everywhere = arguments.range.as_deref().map(|text| parse_range("--range", text)).transpose()?;
    let usual = match (everywhere, data) {
        (Some((low, high)), _) => Constraints::range(names.len(), low, high),
        (None, Some(data)) => Constraints::observed(data),
        (None, None) => Constraints::range(names.len(), -10.0, 10.0),
    };
    let (targets, forbidden) =
        (nodes(&arguments.targets, "--target")?, nodes(&arguments.forbidden, "--forbid")?);
    let allowed = |node: Node| (targets.is_empty() || targets.contains(&node)) && !forbidden.contains(&node);
    let given = |name: &str, list: &[String]| {
        list.iter().any(|text| text.rsplit_once('=').is_some_and(|t| t.0.trim() == name))
    };
    let bounded = |name: &str| given(name, &arguments.bounds) || given(name, &arguments.levels);
    if let Some(name) =
        names.iter().find(|name| given(name, &arguments.bounds) && given(name, &arguments.levels))
    {
        return Err(Failure::Input(anyhow::anyhow!("{name:?} has --bounds and --levels; give one of them")));
    }
    let mut variables: Vec<Option<Allowed>> = (0..names.len())
        .map(|node| {
            let of_node = usual.variables[node].clone();
            if of_node.is_none() && allowed(node) {
                eprintln!("note: {:?} never varied: without --bounds or --levels it is not set", names[node]);
            }
            let to_be_said = || Allowed { levels: Levels::Range(0.0, 0.0), cost: 1.0 };
            let possible = of_node.or_else(|| bounded(&names[node]).then(to_be_said));
            possible.filter(|_| allowed(node))
        })
        .collect();
    let mut change = |option: &str, text: &str, apply: &dyn Fn(&mut Allowed, &str) -> Result<(), Failure>| {
        let Some((name, rest)) = text.rsplit_once('=') else {
            return Err(Failure::Input(anyhow::anyhow!("{option} {text}: there is no `=` after a name")));
        };
        let node = node_named(name, names, &format!("{option} {text}"))?;
        // What is written for a variable that cannot be set must be right all the same.
        let mut nobody = Allowed { levels: Levels::Range(0.0, 0.0), cost: 1.0 };
        apply(variables[node].as_mut().unwrap_or(&mut nobody), rest)
    };
    for text in &arguments.bounds {
        change("--bounds", text, &|allowed, rest| {
            let (low, high) = parse_range("--bounds", rest)?;
            allowed.levels = Levels::Range(low, high);
            Ok(())
        })?;
    }
    for text in &arguments.levels {
        change("--levels", text, &|allowed, rest| {
            let mut levels =
                rest.split(',').map(|level| number("--levels", level)).collect::<Result<Vec<_>, _>>()?;
            levels.sort_by(f64::total_cmp);
            levels.dedup();
            allowed.levels = Levels::List(levels);
            Ok(())
        })?;
    }
    for text in &arguments.cost {
        change("--cost", text, &|allowed, rest| {
            allowed.cost = number("--cost", rest)?;
            Ok(())
        })?;
    }
    Ok(Constraints {
        variables,
        budget: arguments.budget,
        max_repeats: arguments.max_repeats,
        max_targets: arguments.max_targets,
    })
}

fn parse_range(option: &str, text: &str) -> Result<(f64, f64), Failure> {
    let (low, high) = text.split_once(':').ok_or_else(|| {
        Failure::Input(anyhow::anyhow!("{option} {text}: write LOW:HIGH, for example -2:2"))
    })?;
    Ok((number(option, low)?, number(option, high)?))
}

fn number(option: &str, text: &str) -> Result<f64, Failure> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(Failure::Input(anyhow::anyhow!("{option}: {text:?} is not a finite number"))),
    }
}

fn targets_as_json(design: &Intervention, names: &Names) -> Value {
    design.settings().iter().map(|&(node, value)| (names[node].clone(), json!(value))).collect()
}

fn as_json(batch: &Batch, ensemble: &Ensemble, seconds: f64, cpu_seconds: f64) -> Value {
    let mut form = json!(batch);
    form["edge_entropy"] = json!(ensemble.edge_entropy());
    form["seconds"] = json!(seconds);
    form["cpu_seconds"] = json!(cpu_seconds);
    form
}

fn print_for_people(batch: &Batch, ensemble: &Ensemble, wanted: usize, seconds: f64) -> io::Result<()> {
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
            shown(&chosen.design, ensemble.names())
        )?;
    }
    writeln!(
        out,
        "together {:.3} ± {:.3} nats of {:.3} that the draws can tell; entropy of the edges {:.2} nats; {seconds:.1} s",
        batch.information.nats,
        batch.information.standard_error,
        batch.entropy,
        ensemble.edge_entropy()
    )?;
    if batch.chosen.len() < wanted {
        writeln!(out, "the budget allows {} of {wanted} experiments", batch.chosen.len())?;
    }
    let best = batch.evaluated.iter().map(|e| e.information.nats).fold(batch.information.nats, f64::max);
    if best < HARDLY_WORTH {
        writeln!(
            out,
            "more experiments of these kinds are hardly worth it: nothing is left that they could tell apart"
        )?;
    }
    Ok(())
}

fn print_scores(
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
        writeln!(out, "{:>11.4}  {:>7.4}  {}", score.nats, score.standard_error, shown(design, names))?;
    }
    Ok(())
}

fn shown(design: &Intervention, names: &Names) -> String {
    let setting = |&(node, value): &(Node, f64)| format!("do({} = {})", names[node], value);
    design.settings().iter().map(setting).collect::<Vec<_>>().join(", ")
}

fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let written = write_atomically(path, |out| write(out));
    written.map_err(|error| Failure::writing(Some(path), error))
}

/// One row an experiment and replicate: the targets are filled in, the other variables are for the laboratory.
fn form(batch: &Batch, names: &Names, replicates: usize) -> Vec<FormRow> {
    let of_experiment = |(k, chosen): (usize, &Chosen)| {
        let settings = chosen.design.settings().to_vec();
        let row =
            move |replicate: u32| FormRow::to_fill((k + 1).to_string(), replicate, &settings, names.len());
        (1..=replicates as u32).map(row)
    };
    batch.chosen.iter().enumerate().flat_map(of_experiment).collect()
}

/// Every single target and value that was tried.
fn write_curves(out: &mut dyn Write, evaluated: &[Evaluated], names: &Names) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(["target", "value", "information", "standard_error"])?;
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
        table.write_record([names[node].clone()].into_iter().chain(numbers))?;
    }
    table.flush()
}
