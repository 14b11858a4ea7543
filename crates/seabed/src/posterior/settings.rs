//! Settings of a posterior as people write them: one flat group of keys for all kinds, which becomes a [`Posterior`].
//!
//! Keys that a kind does not use are ignored, so that a study can vary the kind and nothing else.

use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::{Deserialize, Serialize};

use super::bootstrap::Bootstrap;
use super::dibs::{self, Dibs, Estimator, GraphPrior, Noise, Weighting};
use super::mcmc::{self, EdgePrior, Mcmc, Trust};
use super::{Posterior, Start, State};
use crate::num::random::Seed;
use crate::settings::{SettingsError, check_count, check_positive};

/// Which posterior, and how it is computed.
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
    /// How much rows count for in Markov chains: a number up to 1, or `auto`.
    pub trust: Trust,
    /// Particles of DiBS, like everything below.
    pub particles: usize,
    /// Steps at most, without an earlier round.
    pub steps: usize,
    /// Steps at most after an earlier round; 0 to start over each time.
    pub warm_steps: usize,
    /// Graphs sampled for each particle at each step.
    pub mc_samples: usize,
    /// How sampled graphs are weighted.
    pub estimator: Estimator,
    /// `world`, `learned`, or a standard deviation.
    pub noise: NoiseSetting,
    /// Which graphs are likely beforehand.
    pub prior: PriorName,
    /// Expected edges per variable.
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
    /// All names with what they are, as they are written in configurations and on the command line.
    pub const ALL: [(&'static str, &'static str); 6] = [
        (
            "mcmc-gp",
            "Markov chains over graphs of smooth functions with noise of unknown size (Gaussian processes)",
        ),
        ("mcmc-linear", "Markov chains over graphs of linear models: seconds where mcmc-gp takes minutes"),
        (
            "bootstrap",
            "DAG bootstrap over linear models: searches resampled data (GIES). For hundreds of variables",
        ),
        ("dibs-nonlinear", "DiBS over networks: particles climb the posterior of graphs and mechanisms"),
        ("dibs-linear", "DiBS over linear models"),
        (
            "dibs-bge",
            "DiBS over graphs of linear models; parameters are drawn from their posterior given the graph",
        ),
    ];

    /// The posterior of a name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::deserialize(StrDeserializer::<ValueError>::new(name)).ok()
    }
}

/// What a posterior knows about noise.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "write a standard deviation, \"world\" or \"learned\"")]
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
    /// Given by the world where all variables have the same noise, else learned.
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
    /// What the paper's loop does.
    fn default() -> Self {
        let (dibs, chains) = (Dibs::default(), Mcmc::of(mcmc::Family::Linear));
        Self {
            kind: PosteriorKind::DibsNonlinear,
            draws: Bootstrap::default().draws,
            chains: chains.chains,
            candidates: chains.candidates,
            max_parents: 0,
            trust: chains.trust,
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

impl PosteriorSettings {
    /// The default settings for the user's own data: noise is unknown and units are arbitrary.
    pub fn for_own_data(kind: PosteriorKind) -> Self {
        let draws = match kind {
            PosteriorKind::McmcLinear | PosteriorKind::McmcGp => Mcmc::of(mcmc::Family::Linear).draws,
            _ => Bootstrap::default().draws,
        };
        let noise = NoiseSetting::Named(NoiseName::Learned);
        Self { kind, draws, noise, standardise: true, ..Self::default() }
    }

    /// The posterior with these settings; `noise_sd` is the noise of the world, if it is known.
    pub fn check(&self, noise_sd: Option<f64>) -> Result<Posterior, SettingsError> {
        check_positive("edges-per-node", self.edges_per_node)?;
        check_count("warm-steps", self.warm_steps, 0..=dibs::MOST_STEPS)?;
        let posterior = match self.kind {
            PosteriorKind::Bootstrap => {
                Posterior::Bootstrap(Bootstrap { draws: self.draws, ..Bootstrap::default() })
            }
            PosteriorKind::McmcLinear => Posterior::Mcmc(self.mcmc(mcmc::Family::Linear)),
            PosteriorKind::McmcGp => Posterior::Mcmc(self.mcmc(mcmc::Family::GaussianProcess)),
            PosteriorKind::DibsLinear => {
                Posterior::Dibs(self.dibs(dibs::Family::Linear { intercept: true }, noise_sd))
            }
            PosteriorKind::DibsBge => Posterior::Dibs(self.dibs(dibs::Family::Bge, noise_sd)),
            PosteriorKind::DibsNonlinear => {
                Posterior::Dibs(self.dibs(dibs::Family::Nonlinear { hidden: 5 }, noise_sd))
            }
        };
        posterior.check()?;
        Ok(posterior)
    }

    /// The posterior of a later round of a closed loop, and where it starts: from the state of the round before, if
    /// there is one and particles are to be kept.
    pub fn after(
        &self,
        earlier: Option<State>,
        noise_sd: Option<f64>,
        seed: Seed,
    ) -> Result<(Posterior, Start), SettingsError> {
        let mut posterior = self.check(noise_sd)?;
        let start = match (&mut posterior, earlier) {
            (Posterior::Dibs(_), Some(_)) if self.warm_steps == 0 => Start::fresh(seed),
            (Posterior::Dibs(dibs), Some(state)) => {
                dibs.steps = self.warm_steps.min(self.steps);
                Start::Warm(Box::new(state), seed)
            }
            (_, Some(state)) => Start::Warm(Box::new(state), seed),
            (_, None) => Start::fresh(seed),
        };
        Ok((posterior, start))
    }

    fn mcmc(&self, family: mcmc::Family) -> Mcmc {
        Mcmc {
            prior: match self.prior {
                PriorName::Er => EdgePrior::Er { edges_per_node: self.edges_per_node },
                PriorName::Sf => EdgePrior::Sf,
            },
            draws: self.draws,
            chains: self.chains,
            candidates: self.candidates,
            trust: self.trust,
            max_parents: (self.max_parents > 0).then_some(self.max_parents),
            ..Mcmc::of(family)
        }
    }

    fn dibs(&self, family: dibs::Family, noise_sd: Option<f64>) -> Dibs {
        let defaults = Dibs::default();
        Dibs {
            family,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_posterior_has_its_name() {
        for (name, _) in PosteriorKind::ALL {
            let kind = PosteriorKind::named(name).expect(name);
            assert_eq!(serde_json::to_value(kind).unwrap(), serde_json::Value::from(name));
            assert!(PosteriorSettings::for_own_data(kind).check(None).is_ok());
        }
        assert_eq!(PosteriorKind::named("mcmc"), None);
    }

    #[test]
    fn numbers_outside_their_range_are_named_before_any_work() {
        type Change = fn(&mut PosteriorSettings);
        let wrong: [(&str, Change); 8] = [
            ("draws = 0", |s| s.draws = 0),
            ("draws = 2000000", |s| s.draws = 2_000_000),
            ("chains = 0", |s| s.chains = 0),
            ("candidates = 21", |s| s.candidates = 21),
            ("max-parents = 9", |s| s.max_parents = 9),
            ("edges-per-node = -1", |s| s.edges_per_node = -1.0),
            ("particles = 100001", |s| s.particles = 100_001),
            ("noise = 0", |s| s.noise = NoiseSetting::Known(0.0)),
        ];
        for (message, change) in wrong {
            let refused = [PosteriorKind::McmcGp, PosteriorKind::DibsLinear].map(|kind| {
                let mut settings = PosteriorSettings::for_own_data(kind);
                change(&mut settings);
                settings.check(None).err().map_or(String::new(), |error| error.to_string())
            });
            assert!(refused.iter().any(|said| said.starts_with(message)), "{message}: {refused:?}");
        }
    }
}
