//! The belief of a round: any posterior by its name, with what it hands to the next round.

use std::sync::Mutex;

use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::{Deserialize, Serialize};

use super::CampaignError;
use crate::data::Dataset;
use crate::num::random::Seed;
use crate::posterior::Knowledge;
use crate::posterior::bootstrap::Bootstrap;
use crate::posterior::dibs::{Dibs, Estimator, Family, GraphPrior, Noise, State, Weighting};
use crate::posterior::mcmc::{self, EdgePrior, Mcmc, McmcError};
use crate::scm::Ensemble;

/// Which posterior, and how it is sought.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PosteriorSettings {
    /// Its name.
    pub kind: PosteriorKind,
    /// Draws of the bootstrap and of Markov chains.
    pub draws: usize,
    /// Number of Markov chains.
    pub chains: usize,
    /// Parents of a variable that Markov chains try in all combinations.
    pub candidates: usize,
    /// Largest number of parents in Markov chains; 0 for the usual one.
    pub max_parents: usize,
    /// Particles of DiBS, as all that follows.
    pub particles: usize,
    /// Steps at most, without an earlier round.
    pub steps: usize,
    /// Steps at most after an earlier round; 0 to start anew each time.
    pub warm_steps: usize,
    /// Graphs sampled for each particle at each step.
    pub mc_samples: usize,
    /// How sampled graphs are weighted.
    pub estimator: Estimator,
    /// `world`, `learned`, or a standard deviation.
    pub noise: NoiseSetting,
    /// Which graphs are likely beforehand.
    pub prior: PriorName,
    /// Edges a variable, expected beforehand.
    pub edges_per_node: f64,
    /// Bring variables to mean 0 and standard deviation 1 inside DiBS? Markov chains always do.
    pub standardise: bool,
    /// How particles are weighted.
    pub weights: Weighting,
}

/// Posteriors by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PosteriorKind {
    /// DAG bootstrap over linear models.
    Bootstrap,
    /// DiBS over networks.
    DibsNonlinear,
    /// DiBS over linear models.
    DibsLinear,
    /// DiBS over graphs of linear models, parameters integrated out.
    DibsBge,
    /// Markov chains over graphs of linear models.
    McmcLinear,
    /// Markov chains over graphs with smooth functions.
    McmcGp,
}

impl PosteriorKind {
    /// All names, as they are written in configurations and on the command line.
    pub const NAMES: [&'static str; 6] =
        ["bootstrap", "dibs-nonlinear", "dibs-linear", "dibs-bge", "mcmc-linear", "mcmc-gp"];

    /// The posterior of a name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::deserialize(StrDeserializer::<ValueError>::new(name)).ok()
    }
}

/// What a posterior is told about noise.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NoiseSetting {
    /// Its standard deviation.
    Known(f64),
    /// By name.
    Named(NoiseName),
}

/// Ways to know the noise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseName {
    /// Told by the world where all variables have the same, else learned.
    World,
    /// Learned from the data.
    Learned,
}

/// Priors over graphs by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorName {
    /// Every edge is as likely as any other.
    Er,
    /// Few variables have many parents.
    Sf,
}

impl Default for PosteriorSettings {
    fn default() -> Self {
        let (dibs, chains) = (Dibs::default(), Mcmc::of(mcmc::Family::Linear));
        Self {
            kind: PosteriorKind::DibsNonlinear,
            draws: Bootstrap::default().draws,
            chains: chains.chains,
            candidates: chains.candidates,
            max_parents: 0,
            particles: dibs.particles,
            steps: dibs.steps,
            warm_steps: 1000,
            mc_samples: dibs.samples,
            estimator: dibs.estimator,
            noise: NoiseSetting::Named(NoiseName::World),
            prior: PriorName::Er,
            edges_per_node: 1.0,
            standardise: false,
            weights: dibs.weighting,
        }
    }
}

/// A belief, and what the next round may start from.
pub struct Belief {
    /// The weighted models.
    pub ensemble: Ensemble,
    /// Draws from which edges had to be removed because of a cycle.
    pub repaired: usize,
    /// Why it should not be trusted as it is.
    pub warning: Option<String>,
    /// What the next round starts from, if this posterior has such a thing.
    pub state: Option<BeliefState>,
}

/// What a posterior hands to the next round.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BeliefState {
    /// Particles.
    Dibs(State),
    /// Scores of sets of parents.
    Mcmc(mcmc::State),
}

impl PosteriorSettings {
    /// The belief after `data`. `noise_sd` is the noise of the world if it is known; `earlier` is the state of the
    /// belief before the newest rows. `watch` hears (done, all) pieces of work and ends the fit by answering `false`.
    pub fn fit(
        &self,
        data: &Dataset,
        knowledge: &Knowledge,
        noise_sd: Option<f64>,
        earlier: Option<BeliefState>,
        seed: Seed,
        watch: &mut (dyn FnMut(u64, u64) -> bool + Send),
    ) -> Result<Belief, CampaignError> {
        if self.kind == PosteriorKind::Bootstrap {
            let bootstrap = Bootstrap { draws: self.draws, ..Bootstrap::default() };
            watch(0, self.draws as u64);
            let watched = Mutex::new((0, watch));
            let done = || {
                if let Ok(mut watched) = watched.lock() {
                    watched.0 += 1;
                    let done = watched.0;
                    (watched.1)(done, self.draws as u64);
                }
            };
            let fit = bootstrap.fit(data, knowledge, seed, &done)?;
            return Ok(Belief { ensemble: fit.ensemble, repaired: 0, warning: None, state: None });
        }
        if let Some(settings) = self.mcmc() {
            return fit_chains(&settings, data, knowledge, earlier, seed, watch);
        }
        let earlier = match earlier {
            Some(BeliefState::Dibs(state)) if self.warm_steps > 0 => Some(state),
            _ => None,
        };
        let mut settings = self.dibs(noise_sd);
        let mut watch = |state: &State| {
            let taken = state.steps_taken();
            watch(taken, taken + state.steps_left())
        };
        let fit = match earlier {
            Some(state) => {
                settings.steps = self.warm_steps.min(self.steps);
                settings.fit_from(state, data, knowledge, &mut watch)?
            }
            None => settings.fit(data, knowledge, seed, &mut watch)?,
        };
        Ok(Belief {
            ensemble: fit.ensemble,
            repaired: fit.repaired,
            warning: None,
            state: Some(BeliefState::Dibs(fit.state)),
        })
    }

    /// The Markov chains, if it is them.
    pub(super) fn mcmc(&self) -> Option<Mcmc> {
        let family = match self.kind {
            PosteriorKind::McmcLinear => mcmc::Family::Linear,
            PosteriorKind::McmcGp => mcmc::Family::GaussianProcess,
            _ => return None,
        };
        Some(Mcmc {
            prior: match self.prior {
                PriorName::Er => EdgePrior::Er { edges_per_node: self.edges_per_node },
                PriorName::Sf => EdgePrior::Sf,
            },
            draws: self.draws,
            chains: self.chains,
            candidates: self.candidates,
            max_parents: (self.max_parents > 0).then_some(self.max_parents),
            ..Mcmc::of(family)
        })
    }

    pub(super) fn dibs(&self, noise_sd: Option<f64>) -> Dibs {
        let defaults = Dibs::default();
        Dibs {
            family: match self.kind {
                PosteriorKind::DibsLinear => Family::Linear { intercept: true },
                PosteriorKind::DibsBge => Family::Bge,
                _ => Family::Nonlinear { hidden: 5 },
            },
            noise: match (self.noise, noise_sd) {
                (NoiseSetting::Known(sd), _) | (NoiseSetting::Named(NoiseName::World), Some(sd)) => {
                    Noise::Known(sd)
                }
                _ => Noise::Learned,
            },
            prior: match self.prior {
                PriorName::Er => GraphPrior::Er { edges_per_node: self.edges_per_node },
                PriorName::Sf => GraphPrior::Sf,
            },
            standardise: self.standardise,
            particles: self.particles,
            steps: self.steps,
            samples: self.mc_samples,
            acyclicity_samples: defaults.acyclicity_samples.min(self.mc_samples),
            estimator: self.estimator,
            weighting: self.weights,
            ..defaults
        }
    }
}

fn fit_chains(
    settings: &Mcmc,
    data: &Dataset,
    knowledge: &Knowledge,
    earlier: Option<BeliefState>,
    seed: Seed,
    watch: &mut (dyn FnMut(u64, u64) -> bool + Send),
) -> Result<Belief, CampaignError> {
    let mut watch = |state: &mcmc::State| {
        let (done, all) = state.progress();
        watch(done, all)
    };
    let fit = match earlier {
        Some(BeliefState::Mcmc(state)) => settings.fit_from(state, data, knowledge, seed, &mut watch),
        _ => settings.fit(data, knowledge, seed, &mut watch),
    };
    match fit {
        Err(McmcError::Interrupted(_)) => Err(CampaignError::Interrupted),
        Err(error) => Err(error.into()),
        Ok(fit) => Ok(Belief {
            warning: fit.diagnostics.warning(data.names(), settings.draws),
            ensemble: fit.ensemble,
            repaired: 0,
            state: Some(BeliefState::Mcmc(fit.state)),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_posterior_has_its_name() {
        let named = PosteriorKind::NAMES.map(|name| PosteriorKind::named(name).expect(name));
        assert_eq!(
            named.map(|kind| serde_json::to_value(kind).unwrap()),
            PosteriorKind::NAMES.map(serde_json::Value::from)
        );
        assert_eq!(PosteriorKind::named("mcmc"), None);
    }
}
