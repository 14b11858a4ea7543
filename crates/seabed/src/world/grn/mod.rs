//! Gene regulatory networks, simulated as GeneNetWeaver does: the paper's single-cell benchmark.
//!
//! A [`Network`] comes from an SBML file or from [`Generated`]; a [`Grn`] is the world that simulates it. The level of an
//! intervention is the factor on the target's rate of transcription (0 knocks it out, below 1 knocks it down, above 1
//! over-expresses it); the data hold what is measured, also for the target.

mod dynamics;
mod error;
mod generate;
mod langevin;
mod network;
mod ode;
#[cfg(feature = "sbml")]
mod sbml;
mod sbml_writer;

#[cfg(test)]
mod tests;

pub use error::{NetworkError, NetworkFileError};
pub use generate::{Generated, Organism};
pub use network::{Gene, Input, LARGEST_HILL, MOST_MODULES, Module, Network};

#[cfg(feature = "sbml")]
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use dynamics::Dynamics;
use langevin::Langevin;
use ode::{BLOCK, SteadyState};

use super::{World, WorldError};
use crate::data::{Dataset, Names};
use crate::graph::Node;
use crate::num::parallel::ordered_map_indices;
use crate::num::random::{Seed, Stream};
use crate::observer::{Observer, Stopped, report};
use crate::scm::Intervention;

/// How a network is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measurement {
    /// What is measured of every gene.
    pub of: Measure,
    /// Levels without noise: the steady state of the differential equation, the same for every sample.
    pub deterministic: bool,
    /// Report what GeneNetWeaver reports, which is not quite the state of the system (the last point at which it
    /// evaluated rates), and observe the wild type after 100 minutes, before it is stationary. Otherwise the state itself
    /// is reported, and every experiment runs until it is stationary.
    pub faithful: bool,
}

/// What is measured of every gene.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The level of its mRNA.
    Mrna,
    /// The level of its protein.
    Protein,
}

impl Default for Measurement {
    /// Noisy mRNA levels as GeneNetWeaver reports them.
    fn default() -> Self {
        Self { of: Measure::Mrna, deterministic: false, faithful: true }
    }
}

/// A gene network as a world: the wild type is the observation, factors on transcription rates are interventions.
#[derive(Clone, Debug)]
pub struct Grn {
    network: Network,
    measurement: Measurement,
    dynamics: Dynamics,
    /// Where every experiment starts.
    wild_type: SteadyState,
}

/// Shortest stochastic simulation, in minutes; the wild type takes no longer.
const SHORTEST: usize = 100;

/// A stationary experiment lasts this many mean lifetimes of the longest-lived molecule.
const LIFETIMES: f64 = 10.0;

/// Samples that are simulated side by side.
const LANES: usize = 16;

/// Minutes whose noise is drawn at a time, so that it stays in the cache.
const WINDOW: usize = 16;

/// Largest factor on a transcription rate.
const LARGEST_FACTOR: f64 = 1000.0;

impl Grn {
    /// The world of a network; finds its wild type.
    pub fn new(network: Network, measurement: Measurement) -> Self {
        let dynamics = Dynamics::new(&network);
        let wild_type = dynamics.steady_state(&dynamics.unregulated());
        Self { network, measurement, dynamics, wild_type }
    }

    /// The world of the network in an SBML file.
    #[cfg(feature = "sbml")]
    pub fn read(path: &Path, measurement: Measurement) -> Result<Self, NetworkFileError> {
        Ok(Self::new(Network::read(path)?, measurement))
    }

    /// The world of a generated network.
    pub fn generate(kind: &Generated, seed: Seed, measurement: Measurement) -> Result<Self, NetworkError> {
        Ok(Self::new(kind.draw(seed)?, measurement))
    }

    /// The network; its [`Network::regulations`] are the truth, its [`Network::dag`] is there if they have no cycle.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// What is measured.
    pub fn measurement(&self) -> Measurement {
        self.measurement
    }

    /// The dynamics under an intervention, and their steady state without noise.
    fn disturbed(&self, intervention: &Intervention) -> Result<(Dynamics, SteadyState), WorldError> {
        let mut dynamics = self.dynamics.clone();
        for &(node, factor) in intervention.settings() {
            if node >= self.dynamics.genes() {
                return Err(WorldError::NoSuchVariable { node, variables: self.dynamics.genes() });
            }
            if !(0.0..=LARGEST_FACTOR).contains(&factor) {
                return Err(WorldError::Factor {
                    gene: self.network.names()[node].clone(),
                    factor,
                    most: LARGEST_FACTOR,
                });
            }
            dynamics.transcription[node] *= factor;
        }
        let rest = if intervention.settings().is_empty() {
            self.wild_type.clone()
        } else {
            dynamics.steady_state(&self.wild_type.reported)
        };
        Ok((dynamics, rest))
    }

    /// Minutes that an experiment is simulated for, which without noise takes `rest` minutes.
    fn minutes(&self, intervention: &Intervention, rest: usize) -> usize {
        if !self.measurement.faithful {
            return self.stationary().max(rest);
        }
        if intervention.settings().is_empty() { SHORTEST } else { rest.max(SHORTEST) }
    }

    /// Minutes after which the start is forgotten.
    fn stationary(&self) -> usize {
        let decays = self.dynamics.mrna_decay.iter().chain(&self.dynamics.protein_decay);
        let slowest = decays.copied().fold(f64::INFINITY, f64::min);
        // At most a day: tiny rates would take forever.
        let minutes = (LIFETIMES / slowest).min(1440.0) as usize;
        minutes.max(self.wild_type.minutes).next_multiple_of(BLOCK)
    }

    /// `[genes][LANES]` samples of the block with this number, after this many minutes.
    fn simulate(
        &self,
        dynamics: &Dynamics,
        minutes: usize,
        block: usize,
        stream: Stream,
        go_on: &dyn Fn() -> Result<(), Stopped>,
    ) -> Result<Vec<[f64; LANES]>, Stopped> {
        let genes = dynamics.genes();
        let everybody: Vec<Node> = (0..genes).collect();
        // The proteins of genes that regulate nothing have no effect on mRNA.
        let proteins = match self.measurement.of {
            Measure::Mrna => dynamics.regulators(),
            Measure::Protein => &everybody,
        };
        let stream_of =
            |gene: Node, kind: u64| stream.named(&self.network.names()[gene]).at(kind).at(block as u64);
        let of_mrna = everybody.iter().map(|&gene| (gene, stream_of(gene, 0)));
        let of_proteins = proteins.iter().map(|&gene| (genes + gene, stream_of(gene, 1)));
        let streams: Vec<(usize, Stream)> = of_mrna.chain(of_proteins).collect();
        let mut drawn = [[0.0; LANES]; WINDOW];
        let mut normals = vec![vec![[0.0; LANES]; 2 * genes]; WINDOW];
        let mut runs = Langevin::<LANES>::new(dynamics, proteins, &self.wild_type.reported);
        // What GeneNetWeaver reports does not depend on the noise of the last minute.
        let steps = if self.measurement.faithful { minutes - 1 } else { minutes };
        for step in 0..steps {
            if step % WINDOW == 0 {
                go_on()?;
                for &(v, stream) in &streams {
                    stream.at((step / WINDOW) as u64).fill_normal(drawn.as_flattened_mut());
                    for (row, minute) in drawn.iter().zip(&mut normals) {
                        minute[v] = *row;
                    }
                }
            }
            runs.step(&normals[step % WINDOW]);
        }
        let levels = if self.measurement.faithful { runs.support() } else { runs.state() };
        Ok(self.measured(levels).to_vec())
    }

    /// The part of a state that is measured.
    fn measured<'s, T>(&self, state: &'s [T]) -> &'s [T] {
        let (mrna, proteins) = state.split_at(self.dynamics.genes());
        match self.measurement.of {
            Measure::Mrna => mrna,
            Measure::Protein => proteins,
        }
    }
}

impl World for Grn {
    fn names(&self) -> &Names {
        self.network.names()
    }

    fn experiment_observed(
        &self,
        intervention: &Intervention,
        samples: usize,
        stream: Stream,
        observer: &dyn Observer,
    ) -> Result<Dataset, WorldError> {
        let (dynamics, rest) = self.disturbed(intervention)?;
        let columns: Vec<Vec<f64>> = if self.measurement.deterministic {
            let levels = if self.measurement.faithful { &rest.reported } else { &rest.reached };
            self.measured(levels).iter().map(|&level| vec![level; samples]).collect()
        } else {
            let minutes = self.minutes(intervention, rest.minutes);
            let (count, done) = (samples.div_ceil(LANES), AtomicU64::new(0));
            let go_on = || {
                let done = done.load(Ordering::Relaxed);
                report(observer, done, count as u64, format_args!("groups of {LANES} samples"))
            };
            let blocks = ordered_map_indices(count, |block| {
                let simulated = self.simulate(&dynamics, minutes, block, stream, &go_on);
                done.fetch_add(1, Ordering::Relaxed);
                simulated
            });
            let blocks = blocks.into_iter().collect::<Result<Vec<_>, Stopped>>()?;
            let column = |gene: usize| blocks.iter().flat_map(|block| block[gene]).take(samples).collect();
            (0..dynamics.genes()).map(column).collect()
        };
        let targets = intervention.targets(self.names().len());
        Ok(Dataset::with_regime(self.names().clone(), columns, targets)?)
    }
}
