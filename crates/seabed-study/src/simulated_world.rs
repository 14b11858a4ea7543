//! The world of a run: it answers the experiments, and knows the truth that beliefs are scored against.

use std::path::{Path, PathBuf};

use seabed::data::{Dataset, Names};
use seabed::design::Goal;
use seabed::evaluate::{AnswerScores, Scores, answer_scores, scores, scores_with_cycles};
use seabed::graph::{CycleError, Dag};
use seabed::num::random::{Purpose, Seed};
use seabed::scm::{Ensemble, Intervention, Scm};
use seabed::settings::SettingsError;
use seabed::world::grn::{Generated, Grn, Measure, Measurement, Network, Organism};
use seabed::world::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, World};
use serde::{Deserialize, Serialize};

use super::StudyError;

/// Which world.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct WorldSettings {
    /// Where the world comes from.
    pub kind: WorldKind,
    /// Variables of a random model.
    pub nodes: usize,
    /// Edges per variable of a random model; trees and chains do not use it.
    pub edges_per_node: f64,
    /// Mechanisms of a random model.
    pub mechanism: MechanismName,
    /// Hidden units of nonlinear mechanisms.
    pub hidden: usize,
    /// Weights of linear mechanisms.
    pub weights: WeightsName,
    /// Least and largest size of weights that are not normal.
    pub weight_range: (f64, f64),
    /// Standard deviation of the noise.
    pub noise_sd: f64,
    /// How it differs between variables.
    pub noise_levels: NoiseName,
    /// From `noise_sd` (first variable) to ten times as much (last)?
    pub unequal_noise: bool,
    /// Scale every variable to mean 0 and standard deviation 1?
    pub standardise: bool,
    /// The file of a model or of a gene network; none if empty.
    pub file: PathBuf,
    /// The organism that a generated gene network resembles.
    pub organism: Organism,
    /// What is measured for each gene.
    pub measure: Measure,
    /// Report what GeneNetWeaver reports?
    pub gnw_faithful: bool,
    /// Samples without intervention before the first batch.
    pub observations: usize,
}

/// Kinds of worlds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorldKind {
    /// A random model on an Erdős–Rényi graph.
    Er,
    /// A random model on a scale-free graph.
    Sf,
    /// A random model on a random tree.
    Tree,
    /// A random model on a chain with its source in the middle.
    Chain,
    /// A model from a file.
    Scm,
    /// A gene network, from a file or generated.
    Grn,
}

/// Kinds of mechanisms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MechanismName {
    /// Weighted sums.
    Linear,
    /// Networks.
    Nonlinear,
}

/// Distributions of linear weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightsName {
    /// Normal, with mean 2 and standard deviation 1.
    Normal,
    /// Of a size within the range, with either sign.
    Uniform,
    /// Within the range.
    Positive,
}

/// How noise differs between variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseName {
    /// Not at all.
    Equal,
    /// Variables without parents have standard deviation 1.
    Roots,
    /// Every variance is drawn uniformly, up to the square of `noise_sd`.
    Random,
}

impl Default for WorldSettings {
    fn default() -> Self {
        Self {
            kind: WorldKind::Er,
            nodes: 20,
            edges_per_node: 1.0,
            mechanism: MechanismName::Nonlinear,
            hidden: 5,
            weights: WeightsName::Normal,
            weight_range: (0.5, 2.0),
            noise_sd: 0.1,
            noise_levels: NoiseName::Equal,
            unequal_noise: false,
            standardise: false,
            file: PathBuf::new(),
            organism: Organism::EcoliLike,
            measure: Measure::Mrna,
            gnw_faithful: true,
            observations: 100,
        }
    }
}

/// A world that simulates the outcomes of experiments.
pub struct SimulatedWorld {
    world: Box<dyn World + Send + Sync>,
    /// Row -> column; it may have cycles.
    truth: Vec<Vec<bool>>,
    /// The noise level, if it is the same for all variables.
    noise_sd: Option<f64>,
    seed: Seed,
}

impl SimulatedWorld {
    /// The world of the settings: a function of them and the seed alone.
    pub fn new(settings: &WorldSettings, seed: Seed) -> Result<Self, StudyError> {
        let scm = match settings.kind {
            WorldKind::Er => settings.synthetic(GraphKind::Er).draw(seed)?,
            WorldKind::Sf => settings.synthetic(GraphKind::Sf).draw(seed)?,
            WorldKind::Tree => settings.synthetic(GraphKind::Tree).draw(seed)?,
            WorldKind::Chain => settings.synthetic(GraphKind::Chain).draw(seed)?,
            WorldKind::Scm => WorldSettings::scm(&settings.file)?,
            WorldKind::Grn => return Self::gene_network(settings, seed),
        };
        let first = scm.noise_sd()[0];
        let noise_sd = scm.noise_sd().iter().all(|sd| *sd == first).then_some(first);
        Ok(Self { truth: scm.dag().to_rows_to_columns(), world: Box::new(scm), noise_sd, seed })
    }

    fn gene_network(settings: &WorldSettings, seed: Seed) -> Result<Self, StudyError> {
        let measurement =
            Measurement { of: settings.measure, deterministic: false, faithful: settings.gnw_faithful };
        let grn = if settings.file.as_os_str().is_empty() {
            Grn::generate(
                &Generated { organism: settings.organism, genes: settings.nodes },
                seed,
                measurement,
            )?
        } else {
            Grn::read(&settings.file, measurement)?
        };
        let mut truth = grn.network().regulations();
        // Self-regulation is not an edge of a causal graph.
        (0..truth.len()).for_each(|gene| truth[gene][gene] = false);
        Ok(Self { truth, world: Box::new(grn), noise_sd: None, seed })
    }

    /// The true graph, row -> column; that of a gene network may have cycles.
    pub fn truth(&self) -> &Vec<Vec<bool>> {
        &self.truth
    }

    /// A cycle of the true graph, if it has one: `A -> B -> A`.
    pub fn cycle(&self) -> Option<String> {
        let CycleError { cycle } = Dag::from_rows_to_columns(&self.truth).err()?;
        let names: Vec<&str> =
            cycle.iter().chain(cycle.first()).map(|&node| self.names()[node].as_str()).collect();
        Some(names.join(" -> "))
    }

    /// How close a belief is to the truth; metrics that need an acyclic truth are left out if it has cycles.
    pub fn scores(&self, belief: &Ensemble) -> Scores {
        match Dag::from_rows_to_columns(&self.truth) {
            Ok(dag) => scores(belief, &dag),
            Err(_) => scores_with_cycles(belief, &self.truth),
        }
    }

    /// How close a belief's answer to the question is to the true one; none about everything.
    pub fn answer_scores(&self, belief: &Ensemble, goal: Goal) -> Option<AnswerScores> {
        let truth = goal.answer(&self.truth)?;
        Some(answer_scores(belief, &truth, |graph| goal.answer(graph).expect("the truth has an answer")))
    }

    /// The variables' names.
    pub fn names(&self) -> &[String] {
        self.world.names()
    }

    /// The noise level, if it is the same for all variables.
    pub fn noise_sd(&self) -> Option<f64> {
        self.noise_sd
    }

    /// Observations before any experiment.
    pub fn observations(&self, samples: usize) -> Result<Dataset, StudyError> {
        Ok(self.world.experiment(&Intervention::none(), samples, self.seed.stream(Purpose::Noise))?)
    }

    /// The outcomes of a batch in the round, so many rows of each experiment. Every experiment has its own noise.
    pub fn outcomes(&self, round: usize, batch: &[(Intervention, usize)]) -> Result<Dataset, StudyError> {
        let stream = self.seed.stream(Purpose::Outcomes).at(round as u64);
        let mut all: Option<Dataset> = None;
        for (k, (experiment, rows)) in batch.iter().enumerate() {
            let outcome = self.world.experiment(experiment, *rows, stream.at(k as u64))?;
            match &mut all {
                None => all = Some(outcome),
                Some(all) => all.append(&outcome)?,
            }
        }
        all.ok_or(StudyError::EmptyBatch { round })
    }
}

/// More variables, hidden units or numbers in a table are a typing error, and more than fits in memory.
const MOST_NODES: usize = 10_000;
const MOST_HIDDEN: usize = 1000;
const MOST_NUMBERS: usize = 100_000_000;

/// Larger weights are a typing error.
const MOST_WEIGHT: f64 = 1e6;

impl WorldSettings {
    /// How many variables it has, as its file says if it has one; an error if that cannot be read.
    pub(crate) fn variables(&self) -> Result<usize, StudyError> {
        match self.kind {
            WorldKind::Scm => Ok(Self::scm(&self.file)?.names().len()),
            WorldKind::Grn if !self.file.as_os_str().is_empty() => {
                Ok(Network::read(&self.file)?.names().len())
            }
            _ => Ok(self.nodes),
        }
    }

    fn scm(file: &Path) -> Result<Scm, StudyError> {
        if file.as_os_str().is_empty() {
            let problem = "world.kind = \"scm\" needs a model file; set world.file".to_string();
            return Err(SettingsError::Conflict { problem }.into());
        }
        Ok(Scm::read(file)?)
    }

    /// Are all numbers within their ranges? The rest is checked when the world is made.
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let most_observations = MOST_NUMBERS / self.nodes.clamp(1, MOST_NODES);
        let counts = [
            ("world.nodes", self.nodes, MOST_NODES),
            ("world.hidden", self.hidden, MOST_HIDDEN),
            ("world.observations", self.observations, most_observations),
        ];
        if let Some((key, got, most)) = counts.into_iter().find(|(_, got, most)| !(1..=*most).contains(got)) {
            return Err(SettingsError::OutOfRange { key, got: got as f64, least: 1.0, most: most as f64 });
        }
        let (least, most) = self.weight_range;
        let ends = [
            ("the lower end of world.weight-range", least, 0.0),
            ("the upper end of world.weight-range", most, least),
        ];
        for (key, got, least) in ends {
            if !(least..=MOST_WEIGHT).contains(&got) {
                return Err(SettingsError::OutOfRange { key, got, least, most: MOST_WEIGHT });
            }
        }
        if self.unequal_noise && self.noise_levels != NoiseName::Equal {
            let problem = "world.unequal-noise = true sets the noise of every variable, and so does \
                           world.noise-levels; keep only one"
                .to_string();
            return Err(SettingsError::Conflict { problem });
        }
        Ok(())
    }

    /// The variables' names, where they do not come from a file or a generator.
    pub(crate) fn names(&self) -> Option<Names> {
        match self.kind {
            WorldKind::Er | WorldKind::Sf | WorldKind::Tree | WorldKind::Chain => {
                Some(Synthetic::names(self.nodes))
            }
            WorldKind::Scm | WorldKind::Grn => None,
        }
    }

    fn synthetic(&self, graph: GraphKind) -> Synthetic {
        let (least, most) = self.weight_range;
        let weights = match self.weights {
            WeightsName::Normal => LinearWeights::Normal,
            WeightsName::Uniform => LinearWeights::Uniform { least, most, signed: true },
            WeightsName::Positive => LinearWeights::Uniform { least, most, signed: false },
        };
        Synthetic {
            graph,
            nodes: self.nodes,
            edges_per_node: self.edges_per_node,
            mechanism: match self.mechanism {
                MechanismName::Linear => MechanismKind::Linear(weights),
                MechanismName::Nonlinear => MechanismKind::Mlp { hidden: self.hidden },
            },
            noise: match self.noise_levels {
                _ if self.unequal_noise => NoiseLevels::Unequal(self.noise_sd),
                NoiseName::Equal => NoiseLevels::Equal(self.noise_sd),
                NoiseName::Roots => NoiseLevels::Roots(self.noise_sd),
                NoiseName::Random => NoiseLevels::Random(self.noise_sd),
            },
            standardised: self.standardise,
        }
    }
}

impl WorldSettings {
    /// The world in words.
    pub(crate) fn words(&self) -> Vec<String> {
        let kind =
            |kind: &str| vec![kind.to_string(), format!("{} variables", self.nodes), self.mechanism.word()];
        match self.kind {
            WorldKind::Er => kind("er"),
            WorldKind::Sf => kind("sf"),
            WorldKind::Tree => kind("tree"),
            WorldKind::Chain => kind("chain"),
            WorldKind::Scm | WorldKind::Grn if !self.file.as_os_str().is_empty() => {
                vec![self.file.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into())]
            }
            WorldKind::Scm => vec!["scm".into()],
            WorldKind::Grn => vec![self.organism.name().into(), format!("{} genes", self.nodes)],
        }
    }
}

impl MechanismName {
    fn word(self) -> String {
        match self {
            Self::Linear => "linear".into(),
            Self::Nonlinear => "nonlinear".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_reach_the_world() {
        let settings = WorldSettings {
            mechanism: MechanismName::Linear,
            weights: WeightsName::Positive,
            weight_range: (0.25, 1.0),
            noise_levels: NoiseName::Roots,
            ..WorldSettings::default()
        };
        let synthetic = settings.synthetic(GraphKind::Tree);
        let weights = LinearWeights::Uniform { least: 0.25, most: 1.0, signed: false };
        assert_eq!(synthetic.mechanism, MechanismKind::Linear(weights));
        assert_eq!((synthetic.graph, synthetic.noise), (GraphKind::Tree, NoiseLevels::Roots(0.1)));
        // The default range is the one that `uniform` always had.
        let uniform = WorldSettings { weights: WeightsName::Uniform, weight_range: (0.5, 2.0), ..settings };
        assert_eq!(uniform.synthetic(GraphKind::Er).mechanism, MechanismKind::Linear(LinearWeights::UNIFORM));
        let unequal = WorldSettings { unequal_noise: true, ..WorldSettings::default() };
        assert_eq!(unequal.synthetic(GraphKind::Er).noise, NoiseLevels::Unequal(0.1));
        for (kind, edges) in [(WorldKind::Tree, 6), (WorldKind::Chain, 6)] {
            let settings = WorldSettings { kind, nodes: 7, ..WorldSettings::default() };
            let world = SimulatedWorld::new(&settings, Seed::new(3)).unwrap();
            assert_eq!(world.truth().iter().flatten().filter(|edge| **edge).count(), edges);
            assert_eq!(&*settings.names().unwrap(), world.names());
        }
    }
}
