//! `seabed design`: the next batch of experiments.

mod constraints;
mod print;
mod question;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use seabed::belief::{self, GraphBelief};
use seabed::checks::caution;
use seabed::data::{
    DataSummary, Dataset, Names, far_values, far_values_in_brief, is_table_path, traps, write_atomically,
};
use seabed::design::{
    Belief, Constraints, DesignError, Designer, Estimator, Goal, Replicates, Strategy, Temperature, Values,
    ceiling,
};
use seabed::num::random::Seed;
use seabed::observer::{Effort, Stage};
use seabed::posterior::{FitError, Posterior, PosteriorKind, PosteriorSettings, Start};
use seabed::scm::{Ensemble, Intervention};
use seabed_lab::write_form;
use serde_json::json;

use crate::checks;
use crate::clock::cpu_time;
use crate::failure::Failure;
use crate::fit::{interrupted, read_knowledge, state_beside};
use crate::outputs::{Force, Kind, Output};
use crate::progress::{Bar, stop_on_interrupt};
use crate::read::{TableOptions, read_data, told, warn};
use crate::strategy::StrategyOptions;
use crate::wording::posterior_parser;

pub use question::parse_goal;

/// Choose the next batch of experiments: which variables to set, and to which values.
///
/// Starts from what `seabed fit --out` saved (.npz, .json), or from data (.csv, .parquet), which are first fitted as by
/// `seabed fit` and checked against what was learned. Prints what each experiment is expected to teach, and the whole batch.
/// --out writes a form for the laboratory to fill in.
#[derive(Args)]
#[command(
    after_help = "Example: seabed design data.csv --batch 8 --target X1 --target X3 --levels X3=0,1,2 --out batch.csv"
)]
pub struct Arguments {
    /// A belief or an ensemble (.npz, .json), or data to fit first (.csv, .tsv, .txt, .xlsx, .parquet, - for standard input;
    /// several files are read as one table).
    #[arg(required = true)]
    belief: Vec<PathBuf>,
    /// Number of experiments.
    #[arg(long, default_value_t = 10, value_name = "COUNT", allow_negative_numbers = true)]
    batch: usize,
    #[command(flatten)]
    strategy: StrategyOptions,
    /// How values are chosen.
    #[arg(long, value_enum, default_value_t = ValuesName::Refined)]
    values: ValuesName,
    /// The value for --values fixed, or the nearest allowed one.
    #[arg(long, default_value_t = 0.0, value_name = "VALUE", allow_negative_numbers = true)]
    fixed_value: f64,
    /// The values for --values grid [default: evenly spaced].
    #[arg(long, value_name = "VALUES", value_delimiter = ',', allow_negative_numbers = true)]
    grid: Vec<f64>,
    /// Outcomes simulated per draw (m) [default: 100; fewer for information about the model if there are more than 20 draws].
    #[arg(long, value_name = "COUNT")]
    samples: Option<usize>,
    /// Values tried per target (T).
    #[arg(long, default_value_t = 5, value_name = "COUNT")]
    evaluations: usize,
    /// How often each experiment is repeated; `auto`: --batch counts rows, and one more row of an experiment competes with a
    /// new one.
    #[arg(long, default_value_t = Replicates::Each(1), value_name = "COUNT")]
    replicates: Replicates,
    /// Temperature of the soft strategies, in nats: lower values favour the best designs more; `relative`: half the spread
    /// of what designs are worth.
    #[arg(long, default_value_t = Temperature::Relative, value_name = "NATS", allow_negative_numbers = true)]
    temperature: Temperature,
    /// How information about the model is estimated: chooses by it, unless a strategy is given [default: nested].
    #[arg(long, value_enum)]
    estimator: Option<EstimatorName>,
    /// What to learn: `edge=A,B`, `parents=A`, `descendants=A` or `effect=A,B` [default: the whole model].
    #[arg(long, value_name = "QUESTION")]
    goal: Option<String>,
    #[command(flatten)]
    constraints: constraints::Options,
    /// Evaluate this design instead of choosing a batch (repeatable).
    #[arg(long = "score", value_name = "NAME=VALUE,…", allow_hyphen_values = true)]
    scored: Vec<String>,
    /// How to learn the posterior when fitting data [default: mcmc-gp].
    #[arg(long, value_name = "NAME", value_parser = posterior_parser())]
    posterior: Option<PosteriorKind>,
    /// Draws from the posterior when fitting data, mcmc and bootstrap only [default: as `seabed fit`].
    #[arg(long, value_name = "COUNT")]
    draws: Option<usize>,
    /// Forbidden and required edges (.toml) when fitting data.
    #[arg(long, value_name = "FILE")]
    knowledge: Option<PathBuf>,
    #[command(flatten)]
    table: TableOptions,
    /// Seed of the fit, the simulated outcomes and the random choices.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the batch as a form for the laboratory (.csv, or .xlsx for Excel).
    #[arg(long, value_name = "FILE", conflicts_with = "scored")]
    out: Option<PathBuf>,
    /// Write the information of every value tried (.csv).
    #[arg(long, value_name = "FILE", conflicts_with = "scored")]
    curves: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
}

#[derive(Clone, Copy, ValueEnum)]
enum ValuesName {
    /// One value for all.
    Fixed,
    /// Random values around the observed ones.
    Sample,
    /// A list of values.
    Grid,
    /// Evenly spread values, then more beside the best ones.
    Refined,
    /// Bayesian optimisation of the information.
    GpUcb,
}

#[derive(Clone, Copy, ValueEnum)]
enum EstimatorName {
    /// Nested Monte Carlo.
    Nested,
    /// An upper bound.
    Bound,
    /// Entropy over the draws, as in ABCD.
    Entropy,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (clock, cpu) = (Instant::now(), cpu_time());
    // An estimator is one of information about the model.
    let of_model = arguments.estimator.map(|_| Strategy::recommended(false));
    let asked = arguments.strategy.asked().or(of_model);
    designer(arguments).check()?;
    check_options(arguments)?;
    check_outputs(arguments)?;
    stop_on_interrupt();
    let Believed { ensemble, graphs, task, summary, data, told, mut warnings, warned } =
        believed(arguments, asked)?;
    let designer = task.designer(arguments, asked, graphs.is_some(), ensemble.draws().len());
    let belief = Belief { models: &ensemble, graphs: graphs.as_ref() };
    let names = ensemble.names();
    let seed = Seed::new(arguments.seed);
    let used = || (clock.elapsed().as_secs_f64(), (cpu_time() - cpu).as_secs_f64());
    let constraints = match task.wanted {
        Wanted::Batch(constraints) => constraints,
        Wanted::Scores(designs) => {
            let scores = designer.score(belief, &designs, seed, &Bar::new())?;
            let written = print::scores(arguments.json, &designs, &scores, names, used().1);
            return written.map_err(|error| Failure::writing(None, error));
        }
    };
    let findings = match &data {
        Some(data) => {
            let (findings, checked) = checks::findings(data, &ensemble);
            checked?;
            let caution: Vec<String> = caution(&findings, warned).map(str::to_string).into_iter().collect();
            warn(&caution);
            warnings.extend(caution);
            Some(findings)
        }
        None => None,
    };
    let batch = designer.design(belief, &constraints, seed, &Bar::new())?;
    let settings = batch.chosen.iter().flat_map(|chosen| chosen.design.settings().iter().copied());
    let far = match &data {
        Some(data) => far_values(data, settings),
        // What was learned already remembers how far its data went.
        None => summary.as_ref().map_or(Vec::new(), |data| far_values_in_brief(data, settings)),
    };
    warn(&far);
    warnings.extend(far);
    warnings.extend(ceiling(batch.information.nats, batch.entropy).map(str::to_string));
    // The disk may be full by now: the batch is printed all the same.
    let curves = arguments
        .curves
        .as_ref()
        .map_or(Ok(()), |path| save(path, |out| print::write_curves(out, &batch.evaluated, names)));
    let form = arguments.out.as_ref().map_or(Ok(()), |path| {
        save(path, |out| write_form(out, path, names, &print::form(&batch, names, &constraints)))
    });
    let (seconds, cpu_seconds) = used();
    let written = if arguments.json {
        let mut value = print::as_json(&batch, &ensemble, seconds, cpu_seconds);
        value["strategy"] = json!(designer.strategy);
        value["warnings"] = json!(warnings);
        value["data_notes"] = json!(told);
        if let Some(findings) = &findings {
            value["checks"] = json!(findings);
        }
        writeln!(io::stdout().lock(), "{value}")
    } else {
        print::as_text(&batch, &ensemble, &designer, seconds)
            .and_then(|()| checks::print(&mut io::stdout().lock(), findings.as_deref().unwrap_or_default()))
    };
    written.map_err(|error| Failure::writing(None, error))?;
    curves.and(form)
}

impl Arguments {
    fn posterior(&self) -> PosteriorKind {
        self.posterior.unwrap_or(PosteriorKind::McmcGp)
    }

    /// Where the state of an interrupted fit goes.
    fn state_place(&self) -> PathBuf {
        state_beside(self.out.as_deref(), &self.belief[0])
    }
}

/// Refuses options that would have no effect.
fn check_options(arguments: &Arguments) -> Result<(), Failure> {
    let of_fit = [
        (arguments.posterior.is_some(), "--posterior"),
        (arguments.draws.is_some(), "--draws"),
        (arguments.knowledge.is_some(), "--knowledge"),
        (arguments.table.given().is_some(), arguments.table.given().unwrap_or_default()),
    ];
    let posterior = PosteriorSettings::for_own_data(arguments.posterior()).check(None)?;
    let fitted = fits_first(&arguments.belief);
    let ignored = of_fit.iter().find(|(given, _)| *given && !fitted).map(|(_, option)| *option);
    let problem = if let Some(option) = ignored {
        format!(
            "{option} applies to data that are fitted first; {} is what was learned already: leave it out",
            arguments.belief[0].display()
        )
    } else if !fitted && arguments.belief.len() > 1 {
        format!("{} is what was learned already: name it alone", arguments.belief[0].display())
    } else if arguments.draws.is_some() && matches!(posterior, Posterior::Dibs(_)) {
        "--draws does not apply to this --posterior; see --help".into()
    } else if !arguments.grid.is_empty() && !matches!(arguments.values, ValuesName::Grid) {
        "--grid applies to --values grid only; add it, or leave --grid out".into()
    } else {
        return Ok(());
    };
    Err(Failure::Input(anyhow::anyhow!(problem)))
}

/// Are these tables of data rather than a belief?
fn fits_first(paths: &[PathBuf]) -> bool {
    is_table_path(&paths[0])
}

fn check_outputs(arguments: &Arguments) -> Result<(), Failure> {
    let form = arguments.out.as_deref().map(|path| Output { path, kind: Kind::Form });
    let curves =
        arguments.curves.as_deref().map(|path| Output { path, kind: Kind::Header(&print::CURVES_HEADER) });
    let outputs: Vec<Output<'_>> = form.into_iter().chain(curves).collect();
    let mut inputs: Vec<&Path> = arguments.belief.iter().map(PathBuf::as_path).collect();
    inputs.extend(arguments.knowledge.as_deref());
    if fits_first(&arguments.belief) {
        let state = Output { path: &arguments.state_place(), kind: Kind::State };
        arguments.force.check_replaced(&state, &inputs)?;
    }
    arguments.force.check(&outputs, &inputs)
}

/// What is asked for, about variables that have names by now.
struct Task {
    goal: Goal,
    wanted: Wanted,
}

enum Wanted {
    /// A batch within these constraints.
    Batch(Constraints),
    /// What these designs are worth.
    Scores(Vec<Intervention>),
}

impl Task {
    /// `data` are the variables' observations in brief, if any.
    fn new(arguments: &Arguments, names: &Names, data: Option<&DataSummary>) -> Result<Self, Failure> {
        let goal = arguments.goal.as_deref().map_or(Ok(Goal::Everything), |text| parse_goal(text, names))?;
        let scored: Result<Vec<Intervention>, Failure> =
            arguments.scored.iter().map(|text| question::parse_design(text, names)).collect();
        let wanted = if arguments.scored.is_empty() {
            let constraints = arguments.constraints.constraints(names, data)?;
            constraints.check(names, arguments.batch).map_err(DesignError::from)?;
            Wanted::Batch(constraints)
        } else {
            Wanted::Scores(scored?)
        };
        Ok(Self { goal, wanted })
    }

    /// The designer for a belief of so many models, with or without graphs.
    fn designer(
        &self,
        arguments: &Arguments,
        asked: Option<Strategy>,
        has_graphs: bool,
        models: usize,
    ) -> Designer {
        let strategy = asked.unwrap_or(Strategy::recommended(has_graphs));
        let samples = arguments.samples.unwrap_or(strategy.usual_samples(models));
        Designer { strategy, samples, goal: self.goal, ..designer(arguments) }
    }

    /// What it will take under a belief of so many models.
    fn effort(&self, designer: &Designer, models: usize, variables: usize) -> Effort {
        match &self.wanted {
            Wanted::Batch(constraints) => designer.effort(models, constraints),
            Wanted::Scores(designs) => designer.score_effort(designs.len(), models, variables),
        }
    }
}

/// What is believed, and what is known of the data it was fitted to. The work to come is estimated before any fit.
struct Believed {
    ensemble: Ensemble,
    graphs: Option<GraphBelief>,
    task: Task,
    /// In brief, where they are known.
    summary: Option<DataSummary>,
    /// All of them, if they were fitted just now.
    data: Option<Dataset>,
    /// How they were read.
    told: Vec<String>,
    /// Where certainty may be false; did the fit itself warn?
    warnings: Vec<String>,
    warned: bool,
}

fn believed(arguments: &Arguments, asked: Option<Strategy>) -> Result<Believed, Failure> {
    if !fits_first(&arguments.belief) {
        let (ensemble, graphs) = belief::read_watched(&arguments.belief[0], &Bar::new())?;
        let summary = belief::remembered(&arguments.belief[0])?;
        let (models, names) = (ensemble.draws().len(), ensemble.names());
        let task = Task::new(arguments, names, summary.as_ref())?;
        let designer = task.designer(arguments, asked, graphs.is_some(), models);
        arguments.force.check_effort(task.effort(&designer, models, names.len()))?;
        return Ok(Believed {
            ensemble,
            graphs,
            task,
            summary,
            data: None,
            told: Vec::new(),
            warnings: Vec::new(),
            warned: false,
        });
    }
    let loaded = read_data(&arguments.belief, &arguments.table)?;
    let (told, data) = (told(&loaded), loaded.dataset);
    let mut warnings = traps(&data);
    warn(&warnings);
    let knowledge = read_knowledge(arguments.knowledge.as_deref(), &data)?;
    let mut settings = PosteriorSettings::for_own_data(arguments.posterior());
    settings.draws = arguments.draws.unwrap_or(settings.draws);
    let posterior = settings.check(None)?;
    if asked.is_some_and(|strategy| strategy.parts().0.needs_graphs()) && !posterior.gives_graphs() {
        return Err(DesignError::NoGraphs.into());
    }
    let summary = DataSummary::of(&data);
    let task = Task::new(arguments, data.names(), Some(&summary))?;
    let of_task = |models: usize, has_graphs: bool| {
        let designer = task.designer(arguments, asked, has_graphs, models);
        task.effort(&designer, models, data.variables())
    };
    let expected = posterior.models(data.variables());
    let of_fit = posterior.effort(data.rows(), data.variables());
    arguments.force.check_effort(of_fit.then(of_task(expected, posterior.gives_graphs())))?;
    let start = Start::fresh(Seed::new(arguments.seed));
    let ended = posterior.fit(&data, &knowledge, start, &Stage { observer: &Bar::new(), name: "fit".into() });
    let fit = match ended {
        Err(FitError::Stopped(state)) => {
            let how = "continue with `seabed fit` of the same data (and --posterior, --draws, --knowledge), --out \
                       belief.npz, which `seabed design` reads, and --resume";
            return Err(interrupted(&arguments.state_place(), &state, how));
        }
        ended => ended?,
    };
    let of_fit: Vec<String> =
        fit.warning.iter().cloned().chain(fit.one_graph().map(str::to_string)).collect();
    warn(&of_fit);
    warnings.extend(of_fit);
    let models = fit.ensemble.draws().len();
    if models > expected {
        arguments.force.check_effort(of_task(models, fit.graphs.is_some()))?;
    }
    Ok(Believed {
        task,
        summary: Some(summary),
        data: Some(data),
        told,
        warnings,
        warned: fit.warning.is_some(),
        ensemble: fit.ensemble,
        graphs: fit.graphs,
    })
}

/// Everything but the strategy, its usual samples and the goal, for which the belief must be known.
fn designer(arguments: &Arguments) -> Designer {
    Designer {
        strategy: Strategy::recommended(false),
        values: match arguments.values {
            ValuesName::Fixed => Values::Fixed(arguments.fixed_value),
            ValuesName::Sample => Values::Sample,
            ValuesName::Grid => Values::Grid(arguments.grid.clone()),
            ValuesName::Refined => Values::Refined,
            ValuesName::GpUcb => Values::gp_ucb(),
        },
        batch: arguments.batch,
        replicates: arguments.replicates,
        samples: arguments.samples.unwrap_or(Designer::default().samples),
        evaluations: arguments.evaluations,
        temperature: arguments.temperature,
        estimator: match arguments.estimator {
            None | Some(EstimatorName::Nested) => Estimator::Nested,
            Some(EstimatorName::Bound) => Estimator::Bound,
            Some(EstimatorName::Entropy) => Estimator::Entropy,
        },
        goal: Goal::Everything,
    }
}

fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let written = write_atomically(path, |out| write(out));
    written.map_err(|error| Failure::writing(Some(path), error))
}
