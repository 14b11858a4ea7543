//! The options of `seabed fit` that configure the posterior, and the posterior built from them.
//!
//! An option that does not apply to the chosen posterior is refused, not ignored.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use seabed::data::{Dataset, read_graph};
use seabed::graph::Dag;
use seabed::posterior::bootstrap::GiesOptions;
use seabed::posterior::dibs::{Estimator, Family, GraphPrior, Noise, Weighting};
use seabed::posterior::mcmc::{EdgePrior, Trust};
use seabed::posterior::{Posterior, PosteriorKind, PosteriorSettings};

use crate::failure::Failure;

#[derive(Args)]
pub struct Options {
    /// Number of draws from the posterior [default: 200 for mcmc, 100 for bootstrap]; DiBS has --particles.
    #[arg(long, value_name = "COUNT")]
    draws: Option<usize>,

    /// Number of chains, which are compared with each other [default: 4].
    #[arg(long, value_name = "COUNT", help_heading = "Markov chains")]
    chains: Option<usize>,
    /// Maximum number of parents [default: 5 for mcmc-linear, 3 for mcmc-gp].
    #[arg(long, value_name = "COUNT", help_heading = "Markov chains")]
    max_parents: Option<usize>,
    /// Candidate parents of each variable, tried in all combinations [default: 12]; others are tried one at a time.
    #[arg(long, value_name = "COUNT", help_heading = "Markov chains")]
    candidates: Option<usize>,
    /// Maximum number of sweeps per chain [default: 3200]. Chains stop earlier once they agree and are worth as many
    /// independent graphs as are drawn. With --resume, a larger number continues a fit whose chains did not agree.
    #[arg(long, value_name = "COUNT", help_heading = "Markov chains")]
    pub sweeps: Option<u32>,
    /// How much a row counts for in what is believed about the graph [default: 1]: less where no model fits exactly and many
    /// rows make it certain of one graph. `auto` takes as little as predicts the other half of the rows equally well.
    #[arg(long, value_name = "SHARE", help_heading = "Markov chains")]
    trust: Option<Trust>,
    /// Prior probabilities of single edges: a .csv with the columns from, to, probability.
    #[arg(long, value_name = "FILE", conflicts_with = "prior", help_heading = "Markov chains")]
    edge_probabilities: Option<PathBuf>,

    /// Prior over graphs [default: er].
    #[arg(long, value_enum, value_name = "NAME", help_heading = CHAINS_AND_DIBS)]
    prior: Option<PriorName>,
    /// Expected number of edges per variable, before ruling out cycles (prior `er`) [default: 1].
    #[arg(long, value_name = "COUNT", allow_negative_numbers = true, help_heading = CHAINS_AND_DIBS)]
    edges_per_node: Option<f64>,
    /// Scale variables to mean 0 and standard deviation 1 internally [default: true]; results are in the data's units.
    #[arg(long, value_name = "BOOL", help_heading = CHAINS_AND_DIBS)]
    standardise: Option<bool>,
    /// Save the state of the fit when it ends or is interrupted (.json).
    #[arg(long, value_name = "FILE", help_heading = CHAINS_AND_DIBS)]
    pub state: Option<PathBuf>,
    /// Continue an interrupted fit of the same data; options and seed are taken from the saved state.
    #[arg(long, value_name = "FILE", conflicts_with = "warm_start")]
    pub resume: Option<PathBuf>,
    /// Start from the saved state of a fit of earlier data of the same variables; mcmc reuses the scores of variables
    /// without new rows.
    #[arg(long, value_name = "FILE", help_heading = CHAINS_AND_DIBS)]
    pub warm_start: Option<PathBuf>,

    /// Number of particles, which are the draws from the posterior [default: 20].
    #[arg(long, value_name = "COUNT", help_heading = "DiBS")]
    particles: Option<usize>,
    /// Maximum number of steps [default: 3000]; a fit that has settled stops earlier.
    #[arg(long, value_name = "COUNT", help_heading = "DiBS")]
    steps: Option<usize>,
    /// Take all steps, even if nothing changes any more.
    #[arg(long, help_heading = "DiBS")]
    all_steps: bool,
    /// Graphs sampled per particle and step [default: 16].
    #[arg(long, value_name = "COUNT", help_heading = "DiBS")]
    mc_samples: Option<usize>,
    /// How sampled graphs are weighted [default: columns].
    #[arg(long, value_enum, value_name = "NAME", help_heading = "DiBS")]
    estimator: Option<EstimatorName>,
    /// Noise of the variables: `learned`, or `known=SD` in the data's units [default: learned].
    #[arg(long, value_name = "NOISE", value_parser = parse_noise, help_heading = "DiBS")]
    noise: Option<Noise>,
    /// Weights of the particles [default: uniform].
    #[arg(long, value_enum, value_name = "NAME", help_heading = "DiBS")]
    weights: Option<WeightingName>,
    /// Graphs per particle, from a walk under the exact posterior (dibs-bge) [default: 5]; 0 keeps only its own graph.
    #[arg(long, value_name = "COUNT", help_heading = "DiBS")]
    walk: Option<usize>,

    /// Search the data once, without resampling.
    #[arg(long, help_heading = "Bootstrap")]
    pub single: bool,
    /// Penalty per parameter in the score [default: logarithm of rows times variables; with --single half the logarithm of
    /// the rows (BIC)].
    #[arg(long, value_name = "LAMBDA", allow_negative_numbers = true, help_heading = "Bootstrap")]
    penalty: Option<f64>,
    /// Maximum number of edges of a variable.
    #[arg(long, value_name = "COUNT", help_heading = "Bootstrap")]
    max_degree: Option<usize>,
    /// A graph to start the search from (.csv).
    #[arg(long, value_name = "FILE", help_heading = "Bootstrap")]
    start: Option<PathBuf>,
}

const CHAINS_AND_DIBS: &str = "Markov chains and DiBS";

#[derive(Clone, Copy, ValueEnum)]
enum PriorName {
    /// Every edge is as likely as any other.
    Er,
    /// Few variables have many parents.
    Sf,
}

#[derive(Clone, Copy, ValueEnum)]
enum EstimatorName {
    /// Column by column: far fewer samples are needed.
    Columns,
    /// Whole graphs, as in the DiBS paper.
    Joint,
}

#[derive(Clone, Copy, ValueEnum)]
enum WeightingName {
    /// All equal.
    Uniform,
    /// Proportional to the joint probability of graph, parameters and data.
    LogJoint,
}

fn parse_noise(text: &str) -> Result<Noise, String> {
    match text.strip_prefix("known=").map(str::parse) {
        None if text == "learned" => Ok(Noise::Learned),
        Some(Ok(sd)) => Ok(Noise::Known(sd)),
        _ => Err("write `learned`, or `known=0.1` with a standard deviation".into()),
    }
}

/// Overrides a setting if a value was given.
fn set<T: Clone>(place: &mut T, given: &Option<T>) {
    if let Some(given) = given {
        *place = given.clone();
    }
}

impl Options {
    /// The posterior that the options describe, checked.
    pub fn posterior(&self, kind: PosteriorKind, data: &Dataset) -> Result<Posterior, Failure> {
        let mut posterior = PosteriorSettings::for_own_data(kind).check(None)?;
        let edges_per_node = self.edges_per_node.unwrap_or(1.0);
        let misplaced = match &mut posterior {
            Posterior::Mcmc(chains) => {
                set(&mut chains.draws, &self.draws);
                set(&mut chains.chains, &self.chains);
                set(&mut chains.candidates, &self.candidates);
                set(&mut chains.standardise, &self.standardise);
                set(&mut chains.trust, &self.trust);
                chains.max_parents = self.max_parents;
                if let Some(sweeps) = self.sweeps.map(|sweeps| sweeps as usize) {
                    chains.least_sweeps = chains.least_sweeps.min(sweeps);
                    chains.most_sweeps = sweeps;
                }
                chains.prior = match (&self.edge_probabilities, self.prior) {
                    (Some(path), _) => {
                        EdgePrior::Pairs { probabilities: read_probabilities(path)?, edges_per_node }
                    }
                    (None, Some(PriorName::Sf)) => EdgePrior::Sf,
                    (None, _) => EdgePrior::Er { edges_per_node },
                };
                self.dibs_option().or(self.bootstrap_option())
            }
            Posterior::Dibs(dibs) => {
                set(&mut dibs.particles, &self.particles);
                set(&mut dibs.steps, &self.steps);
                set(&mut dibs.samples, &self.mc_samples);
                dibs.acyclicity_samples = dibs.acyclicity_samples.min(dibs.samples);
                set(&mut dibs.noise, &self.noise);
                set(&mut dibs.walk, &self.walk);
                set(&mut dibs.standardise, &self.standardise);
                dibs.stop_early = !self.all_steps;
                if let Some(EstimatorName::Joint) = self.estimator {
                    dibs.estimator = Estimator::Joint;
                }
                if let Some(WeightingName::LogJoint) = self.weights {
                    dibs.weighting = Weighting::LogJoint;
                }
                dibs.prior = match self.prior {
                    Some(PriorName::Sf) => GraphPrior::Sf,
                    _ => GraphPrior::Er { edges_per_node },
                };
                // Where parameters are integrated out, so is the noise, and only there graphs have a posterior to walk under.
                let of_other_family = match dibs.family {
                    Family::Bge => self.noise.map(|_| "--noise"),
                    _ => self.walk.map(|_| "--walk"),
                };
                let others = self.chains_option().or(self.bootstrap_option()).or(of_other_family);
                others.or(self.draws.map(|_| "--draws"))
            }
            Posterior::Bootstrap(bootstrap) => {
                set(&mut bootstrap.draws, &self.draws);
                bootstrap.penalty = self.penalty;
                bootstrap.search = GiesOptions {
                    start: self.start.as_deref().map(|path| read_start(path, data)).transpose()?,
                    max_degree: self.max_degree,
                };
                if self.single && self.draws.is_some() {
                    let problem =
                        "--draws does not apply to --single, which searches once; leave one of them out";
                    return Err(Failure::Input(anyhow::anyhow!(problem)));
                }
                self.chains_option().or(self.dibs_option()).or(self.chains_or_dibs_option())
            }
            // A posterior without its own options.
            _ => {
                let others = self.chains_option().or(self.dibs_option()).or(self.bootstrap_option());
                others.or(self.chains_or_dibs_option()).or(self.draws.map(|_| "--draws"))
            }
        };
        if let Some(option) = misplaced {
            return Err(Failure::Input(anyhow::anyhow!(
                "{option} does not apply to this --posterior; see --help"
            )));
        }
        if self.edges_per_node.is_some() && matches!(self.prior, Some(PriorName::Sf)) {
            return Err(Failure::Input(anyhow::anyhow!(
                "--edges-per-node does not apply to --prior sf; leave one of them out"
            )));
        }
        posterior.check()?;
        Ok(posterior)
    }

    /// The files that are read.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        let files = [&self.resume, &self.warm_start, &self.edge_probabilities, &self.start];
        files.into_iter().flatten().map(PathBuf::as_path)
    }

    /// The first given option that applies to Markov chains only; likewise below.
    fn chains_option(&self) -> Option<&'static str> {
        given(&[
            (self.chains.is_some(), "--chains"),
            (self.max_parents.is_some(), "--max-parents"),
            (self.candidates.is_some(), "--candidates"),
            (self.sweeps.is_some(), "--sweeps"),
            (self.trust.is_some(), "--trust"),
            (self.edge_probabilities.is_some(), "--edge-probabilities"),
        ])
    }

    fn chains_or_dibs_option(&self) -> Option<&'static str> {
        given(&[
            (self.prior.is_some(), "--prior"),
            (self.edges_per_node.is_some(), "--edges-per-node"),
            (self.standardise.is_some(), "--standardise"),
            (self.state.is_some(), "--state"),
            (self.warm_start.is_some(), "--warm-start"),
        ])
    }

    fn dibs_option(&self) -> Option<&'static str> {
        given(&[
            (self.particles.is_some(), "--particles"),
            (self.steps.is_some(), "--steps"),
            (self.all_steps, "--all-steps"),
            (self.mc_samples.is_some(), "--mc-samples"),
            (self.estimator.is_some(), "--estimator"),
            (self.noise.is_some(), "--noise"),
            (self.weights.is_some(), "--weights"),
            (self.walk.is_some(), "--walk"),
        ])
    }

    fn bootstrap_option(&self) -> Option<&'static str> {
        given(&[
            (self.single, "--single"),
            (self.penalty.is_some(), "--penalty"),
            (self.max_degree.is_some(), "--max-degree"),
            (self.start.is_some(), "--start"),
        ])
    }
}

fn given(options: &[(bool, &'static str)]) -> Option<&'static str> {
    options.iter().find(|(given, _)| *given).map(|(_, option)| *option)
}

fn read_start(path: &Path, data: &Dataset) -> Result<Dag, Failure> {
    let dag = read_graph(path)?.aligned(data.names()).and_then(|graph| graph.to_dag());
    dag.map_err(|error| Failure::Input(anyhow::anyhow!("{}: {error}", path.display())))
}

fn read_probabilities(path: &Path) -> Result<Vec<(String, String, f64)>, Failure> {
    let wrong = |problem: String| {
        Failure::Input(anyhow::anyhow!(
            "{}: {problem}; expected a header `from,to,probability` and one line per edge, for example `A,B,0.8`",
            path.display()
        ))
    };
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(|error| wrong(error.to_string()))?;
    if reader.headers().map_err(|error| wrong(error.to_string()))? != vec!["from", "to", "probability"] {
        return Err(wrong("wrong header".into()));
    }
    let rows = reader.deserialize::<(String, String, f64)>();
    rows.map(|row| row.map_err(|error| wrong(error.to_string()))).collect()
}
