//! What a fit will take, before it begins: memory and time from the sizes of the data and the settings.
//!
//! The rates were measured on one processor of an ordinary computer, rounded, and are right within a factor of a few: good
//! enough to tell an hour from a month, and what fits in memory from what does not. Fits that may end early are
//! taken to go to the end.

use super::fit::Posterior;
use super::{bootstrap, dibs, mcmc};
use crate::observer::Effort;

/// Bytes of a number.
const NUMBER: f64 = 8.0;

/// Bytes of one variable of one model that was drawn, with its graph.
const MODEL_NODE: f64 = 200.0;

/// Bootstrap draws that differ, about, however many are made.
const MOST_DIFFERENT: usize = 1000;

impl Posterior {
    /// What a fit of data of this size will take.
    pub fn effort(&self, rows: usize, variables: usize) -> Effort {
        let (n, d) = (rows as f64, variables as f64);
        let data = 3.0 * n * d * NUMBER;
        let work = match self {
            Self::Bootstrap(settings) => of_bootstrap(settings, n, d),
            Self::Dibs(settings) => of_dibs(settings, n, d),
            Self::Mcmc(settings) => of_mcmc(settings, n, d),
        };
        Effort { bytes: work.bytes + data, ..work }
    }

    /// Models that a fit of so many variables gives, about: what a design after it will compare.
    pub fn models(&self, variables: usize) -> usize {
        match self {
            // Equal draws are one model, and there are only so many graphs of a few variables.
            Self::Bootstrap(settings) => settings.draws.min(match variables {
                0..=2 => 3,
                3 => 25,
                4 => 543,
                _ => MOST_DIFFERENT,
            }),
            Self::Dibs(settings) if settings.family == dibs::Family::Bge => {
                settings.particles * settings.walk.max(1)
            }
            Self::Dibs(settings) => settings.particles,
            Self::Mcmc(settings) => settings.draws,
        }
    }
}

/// A search looks at all pairs again after each edge; a resample has moments of all pairs, and a graph two sets per node.
fn of_bootstrap(settings: &bootstrap::Bootstrap, n: f64, d: f64) -> Effort {
    let draws = settings.draws as f64;
    Effort {
        seconds: draws * (5e-7 * d.powf(2.5) + 1e-9 * n * d * d),
        bytes: 4.0 * d * d * NUMBER + draws * d * (MODEL_NODE + d / 4.0),
    }
}

/// Every step looks at all samples of all columns of all particles; a particle has two vectors for every node, with their
/// gradients and moments, and soft graphs.
fn of_dibs(settings: &dibs::Dibs, n: f64, d: f64) -> Effort {
    let [particles, steps, samples] =
        [settings.particles, settings.steps, settings.samples].map(|count| count as f64);
    let of_sample = match settings.family {
        dibs::Family::Linear { .. } => 5e-10 * n * d * d,
        dibs::Family::Nonlinear { hidden } => 2.5e-10 * n * d * d * hidden as f64,
        dibs::Family::Bge => 5e-9 * d.powf(3.3),
    };
    let hidden = match settings.family {
        dibs::Family::Nonlinear { hidden } => hidden as f64,
        _ => 1.0,
    };
    let of_particle = (12.0 + settings.acyclicity_samples as f64 + samples / 2.0 + 6.0 * hidden) * d * d;
    Effort { seconds: particles * steps * samples * of_sample, bytes: particles * of_particle * NUMBER }
}

/// Sets of candidate parents are scored once, then chains move over them.
fn of_mcmc(settings: &mcmc::Mcmc, n: f64, d: f64) -> Effort {
    let (draws, sets) = (settings.draws as f64, settings.sets_per_variable(d as usize) as f64);
    let (scores, sweep) = seconds_of_mcmc(settings, n, d);
    Effort {
        seconds: scores + settings.most_sweeps as f64 * sweep,
        bytes: d * sets * 64.0 + 4.0 * draws * d * MODEL_NODE,
    }
}

/// Seconds for the scores of all variables, and for one sweep of all chains: progress is weighted by them too.
pub(super) fn seconds_of_mcmc(settings: &mcmc::Mcmc, n: f64, d: f64) -> (f64, f64) {
    let of_score = match settings.family {
        mcmc::Family::Linear => 2e-6,
        // Beyond some hundred rows a few of them stand for all.
        mcmc::Family::GaussianProcess => 6e-10 * n * n.min(400.0).powi(2),
    };
    let sets = settings.sets_per_variable(d as usize) as f64;
    (d * sets * of_score, 3e-5 * settings.chains as f64 * d)
}

#[cfg(test)]
mod tests {
    use super::super::settings::{PosteriorKind, PosteriorSettings};
    use crate::observer::Effort;

    fn of(
        kind: PosteriorKind,
        change: impl Fn(&mut PosteriorSettings),
        rows: usize,
        variables: usize,
    ) -> Effort {
        let mut settings = PosteriorSettings::for_own_data(kind);
        change(&mut settings);
        settings.check(None).unwrap().effort(rows, variables)
    }

    /// Defaults on ordinary data are minutes and less than a gigabyte; what cannot work is far beyond.
    #[test]
    fn orders_of_magnitude() {
        for (name, _) in PosteriorKind::ALL {
            let kind = PosteriorKind::named(name).unwrap();
            let usual = of(kind, |_| {}, 500, 20);
            assert!(usual.seconds < 7200.0 && usual.bytes < 1e9, "{kind:?} {usual:?}");
        }
        // As in the tests of these posteriors.
        let models = |kind: PosteriorKind, variables: usize| {
            let settings =
                PosteriorSettings { draws: 10_000, particles: 3, ..PosteriorSettings::for_own_data(kind) };
            settings.check(None).unwrap().models(variables)
        };
        assert_eq!([PosteriorKind::DibsBge, PosteriorKind::DibsLinear].map(|kind| models(kind, 4)), [15, 3]);
        assert_eq!([3, 50].map(|variables| models(PosteriorKind::Bootstrap, variables)), [25, 1000]);
        let day = 86_400.0;
        assert!(of(PosteriorKind::DibsLinear, |_| {}, 20, 10_000).bytes > 1e11);
        assert!(of(PosteriorKind::Bootstrap, |_| {}, 20, 10_000).seconds > day);
        assert!(of(PosteriorKind::Bootstrap, |settings| settings.draws = 1_000_000, 500, 200).seconds > day);
        assert!(
            of(PosteriorKind::DibsNonlinear, |settings| settings.steps = 10_000_000, 500, 20).seconds > day
        );
    }
}
