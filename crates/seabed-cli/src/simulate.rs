//! `seabed simulate`: draw data from a world.

mod grn;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use seabed::data::{Dataset, Names, check_table_path, write_atomically, write_csv, write_graph, write_table};
use seabed::evaluate::sortability;
use seabed::num::random::{Purpose, Seed, Stream};
use seabed::observer::Effort;
use seabed::scm::{Intervention, Scm};
use seabed::world::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, World};

use crate::failure::Failure;
use crate::outputs::{Force, Kind, Output};
use crate::settings::parse_intervention;

/// Draw data from a synthetic causal model, a gene network, or a model in a file.
///
/// The data are a CSV table on standard output, or a .csv or .parquet file with --out. Rows of an experiment carry
/// its targets in the column `intervention_targets`. The same command gives the same bytes; another seed gives
/// another world and other noise, and each intervention has its own noise. For more data from the same world, save the
/// model with --save-scm, then run `seabed simulate scm --scm FILE --seed 2`.
#[derive(Args)]
#[command(
    after_help = "Example: seabed simulate er --nodes 10 --do X3=1.5 --n 20 --save-graph truth.csv --out data.csv"
)]
pub struct Arguments {
    #[command(subcommand)]
    world: WorldArguments,
}

#[derive(Subcommand)]
enum WorldArguments {
    /// A random model on an Erdős–Rényi graph.
    Er {
        #[command(flatten)]
        synthetic: SyntheticArguments,
        #[command(flatten)]
        sampling: Sampling,
    },
    /// A random model on a scale-free graph (hubs have many causes).
    Sf {
        #[command(flatten)]
        synthetic: SyntheticArguments,
        #[command(flatten)]
        sampling: Sampling,
    },
    /// A model from a JSON file, as written by --save-scm.
    Scm {
        /// The model.
        #[arg(long, value_name = "FILE")]
        scm: PathBuf,
        #[command(flatten)]
        sampling: Sampling,
    },
    /// A gene regulatory network, simulated as GeneNetWeaver does.
    Grn(Box<grn::Arguments>),
}

#[derive(Args)]
struct SyntheticArguments {
    /// Number of variables, called X1, X2, ….
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(2..=2000))]
    nodes: u16,
    /// Edges per variable (a whole number for sf). For er, the expected number before graphs with cycles are ruled
    /// out, which leaves fewer, above all of dense graphs.
    #[arg(long, default_value_t = 1.0, value_name = "NUMBER", allow_negative_numbers = true)]
    edges_per_node: f64,
    /// How a variable depends on its parents.
    #[arg(long, value_enum, default_value_t = MechanismName::Nonlinear)]
    mechanism: MechanismName,
    /// Hidden units of a nonlinear mechanism [default: 5].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1000))]
    hidden: Option<u16>,
    /// Distribution of the weights of a linear mechanism [default: normal].
    #[arg(long, value_enum)]
    weights: Option<WeightsName>,
    /// Standard deviation of the noise.
    #[arg(long, default_value_t = 0.1, value_name = "SD", allow_negative_numbers = true)]
    noise_sd: f64,
    /// Spread the noise in equal steps from --noise-sd (first variable) to ten times as much (last).
    #[arg(long)]
    unequal_noise: bool,
    /// Scale every variable to mean 0 and standard deviation 1 (as observed); --do values are in these units.
    #[arg(long)]
    standardise: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum MechanismName {
    /// A weighted sum of the parents.
    Linear,
    /// A neural network of the parents.
    Nonlinear,
}

#[derive(Clone, Copy, ValueEnum)]
enum WeightsName {
    /// Normal with mean 2 and standard deviation 1.
    Normal,
    /// Uniform on [-2, -0.5] and [0.5, 2].
    Uniform,
}

#[derive(Args)]
struct Sampling {
    /// Number of samples.
    #[arg(long, default_value_t = 100, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=MOST_NUMBERS))]
    n: u64,
    /// Set a variable to a value; repeat to set several at once. Without --do the world is only observed.
    #[arg(long = "do", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    settings: Vec<String>,
    /// Seed of the world and of the noise.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Output file, .csv or .parquet [default: standard output, as CSV].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Save the model as JSON.
    #[arg(long, value_name = "FILE")]
    save_scm: Option<PathBuf>,
    /// Save the causal graph as a 0/1 matrix (CSV, row -> column).
    #[arg(long, value_name = "FILE")]
    save_graph: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

/// More numbers than this (8 GB) are a typing error, not a data set.
const MOST_NUMBERS: u64 = 1_000_000_000;

/// While they are simulated, numbers are held twice.
const BYTES_OF_A_NUMBER: f64 = 16.0;

/// From this sortability on, the order of the variables shows without causal reasoning.
const TOO_EASY: f64 = 0.9;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (scm, sampling) = match &arguments.world {
        WorldArguments::Er { synthetic, sampling } => {
            (synthetic.draw(GraphKind::Er, sampling.seed)?, sampling)
        }
        WorldArguments::Sf { synthetic, sampling } => {
            (synthetic.draw(GraphKind::Sf, sampling.seed)?, sampling)
        }
        WorldArguments::Scm { scm, sampling } => (Scm::read(scm)?, sampling),
        WorldArguments::Grn(arguments) => return grn::run(arguments),
    };
    check_size(sampling.n, scm.names().len(), &sampling.force)?;
    let intervention = parse_intervention("--do", &sampling.settings, scm.names())?;
    let others = [(&sampling.save_scm, Kind::Model), (&sampling.save_graph, Kind::Graph)];
    let input = match &arguments.world {
        WorldArguments::Scm { scm, .. } => Some(scm.as_path()),
        _ => None,
    };
    let draw = || {
        let stream = noise_of(Seed::new(sampling.seed), &intervention, scm.names());
        scm.experiment(&intervention, sampling.n as usize, stream)
    };
    check_outputs(&sampling.force, sampling.out.as_deref(), &|| draw().ok(), &others, input)?;
    let data = draw().map_err(|error| {
        Failure::Input(anyhow::anyhow!(
            "the world's values overflow ({error}); weights, noise or --do values are too large"
        ))
    })?;

    // The input is fully checked: now write the files, the data last.
    if let Some(path) = &sampling.save_scm {
        save(path, |out| out.write_all(scm.to_json().as_bytes()))?;
    }
    if let Some(path) = &sampling.save_graph {
        save(path, |out| write_graph(out, scm.names(), scm.dag()).map_err(io::Error::other))?;
    }
    write_data(sampling.out.as_deref(), &data)?;
    if intervention.settings().is_empty() {
        warn_if_too_easy(&data, &scm);
    }
    Ok(())
}

impl SyntheticArguments {
    fn draw(&self, graph: GraphKind, seed: u64) -> Result<Scm, Failure> {
        let misplaced = match (self.mechanism, self.hidden, self.weights) {
            (MechanismName::Linear, Some(_), _) => Some("--hidden is for --mechanism nonlinear"),
            (MechanismName::Nonlinear, _, Some(_)) => Some("--weights is for --mechanism linear"),
            _ => None,
        };
        if let Some(problem) = misplaced {
            return Err(Failure::Input(anyhow::anyhow!("{problem}; leave it out or change the mechanism")));
        }
        let weights = match self.weights {
            None | Some(WeightsName::Normal) => LinearWeights::Normal,
            Some(WeightsName::Uniform) => LinearWeights::UNIFORM,
        };
        let synthetic = Synthetic {
            graph,
            nodes: self.nodes.into(),
            edges_per_node: self.edges_per_node,
            mechanism: match self.mechanism {
                MechanismName::Linear => MechanismKind::Linear(weights),
                MechanismName::Nonlinear => MechanismKind::Mlp { hidden: self.hidden.unwrap_or(5).into() },
            },
            noise: if self.unequal_noise {
                NoiseLevels::Unequal(self.noise_sd)
            } else {
                NoiseLevels::Equal(self.noise_sd)
            },
            standardised: self.standardise,
        };
        Ok(synthetic.draw(Seed::new(seed))?)
    }
}

/// Refuses absurd sizes before anything is drawn.
fn check_size(samples: u64, variables: usize, force: &Force) -> Result<(), Failure> {
    let numbers = samples.saturating_mul(variables as u64);
    if numbers <= MOST_NUMBERS {
        let bytes = BYTES_OF_A_NUMBER * numbers as f64;
        return force.check_effort(Effort { seconds: 0.0, bytes });
    }
    Err(Failure::Input(anyhow::anyhow!(
        "{samples} samples of {variables} variables are {numbers} numbers, more than the maximum of {MOST_NUMBERS}; ask for fewer with --n"
    )))
}

/// The data, to a file or to standard output.
fn write_data(out: Option<&Path>, data: &Dataset) -> Result<(), Failure> {
    match out {
        Some(path) => Ok(write_table(path, data)?),
        None => write_csv(io::stdout().lock(), data).map_err(|error| Failure::writing(None, error)),
    }
}

/// Checks before anything is written that all outputs, the data and the others, can be.
fn check_outputs(
    force: &Force,
    data: Option<&Path>,
    draw: &dyn Fn() -> Option<Dataset>,
    others: &[(&Option<PathBuf>, Kind<'_>)],
    input: Option<&Path>,
) -> Result<(), Failure> {
    data.map_or(Ok(()), check_table_path)?;
    let inputs: Vec<&Path> = input.into_iter().collect();
    let mut outputs: Vec<Output<'_>> =
        data.map(|path| Output { path, kind: Kind::Data(draw) }).into_iter().collect();
    for (path, kind) in others {
        outputs.extend(path.as_deref().map(|path| Output { path, kind: *kind }));
    }
    force.check(&outputs, &inputs)
}

/// Experiments on one world are independent of each other: the address of the noise names the intervention,
/// whatever the order of the variables.
fn noise_of(seed: Seed, intervention: &Intervention, names: &Names) -> Stream {
    let mut settings: Vec<(&str, f64)> =
        intervention.settings().iter().map(|&(node, value)| (names[node].as_str(), value)).collect();
    settings.sort_by(|a, b| a.0.cmp(b.0));
    let root = seed.stream(Purpose::Noise);
    settings.into_iter().fold(root, |stream, (name, value)| stream.named(name).named(&value.to_string()))
}

fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    write_atomically(path, |out| write(out)).map_err(|error| Failure::writing(Some(path), error))
}

fn warn_if_too_easy(data: &Dataset, scm: &Scm) {
    let Ok(found) = sortability(data, scm.dag()) else { return };
    for (what, value) in [("variance", found.var_sortability), ("R²", found.r2_sortability)] {
        if value > TOO_EASY {
            tell!(
                "note: sorting the variables by {what} nearly reveals the causal order (sortability {value:.2}, \
                 0.5 reveals nothing); a method that wins here may only be sorting{}",
                if what == "variance" { "; --standardise removes it" } else { "" }
            );
        }
    }
}
