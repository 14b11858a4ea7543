//! The state of a fit: particles, annealing and history, in a form that can be saved and resumed.

use serde::{Deserialize, Serialize};

use super::acyclicity::quick_slopes;
use super::estimator::{Problem, Sampling, Terms, estimate};
use super::latent::{by_latent, scores};
use super::prepare::Units;
use super::rest::{Watch, moved};
use super::settings::{Dibs, MOST_STEPS};
use super::svgd::{Gradient, Kernel, Particle, STEP, directions};
use crate::data::Dataset;
use crate::graph::Dag;
use crate::num::parallel::ordered_map_indices;
use crate::num::random::{Purpose, Seed, Stream};
use crate::num::sum_in_order;
use crate::posterior::{FitError, StateMismatch, UnusableData};

/// A fit between two steps. Saved and read back, it continues as if never interrupted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct State {
    /// What was asked for.
    pub settings: Dibs,
    pub(super) seed: Seed,
    /// The variables, sorted.
    pub(super) names: Vec<String>,
    /// Of the data.
    pub(super) mark: u64,
    pub(super) units: Units,
    pub(super) particles: Vec<Particle>,
    /// Steps ever taken, earlier rounds included: the address of the noise.
    pub(super) step: u64,
    /// Steps still to be taken.
    pub(super) left: u64,
    /// t of the annealing, α = 0.05 t and β = t, and by how much it grows in a step.
    pub(super) clock: f64,
    pub(super) rate: f64,
    /// What was measured in this round.
    pub history: Vec<Measured>,
    /// Mean over particles of the edge probabilities at the last measurement, `[to * nodes + from]`.
    pub(super) probabilities: Vec<f64>,
    /// Says when nothing changes any more.
    pub(super) watch: Watch,
}

/// Measurements of a fit after some steps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Steps ever taken.
    pub step: u64,
    /// The inverse temperature of the edges.
    pub alpha: f64,
    /// Mean over particles of log p(Θ, D | G) at the graphs of the positive scores.
    pub log_joint: f64,
    /// Share of the particles whose graph has a cycle.
    pub cyclic: f64,
    /// Mean absolute change of the edge probabilities since the last measurement.
    pub change: f64,
    /// Σ p (1 - p) over the edges of a particle, for each variable, mean over particles: 0 once every edge is decided.
    pub undecided: f64,
}

const ALPHA_SLOPE: f64 = 0.05;
const BETA_SLOPE: f64 = 1.0;

/// Steps between two measurements.
pub(super) const MEASURED_EVERY: u64 = 50;
/// The last fraction of the steps grow shorter and shorter, so that particles settle.
const SETTLING: f64 = 0.1;

/// The exponential of a larger one, or of its opposite, is no number to compute with.
const MOST_LOG_VARIANCE: f64 = 600.0;

/// No number of rounds comes near this.
const MOST_STEPS_EVER: u64 = 1 << 60;

/// A warm start takes the annealing back to this fraction of where it had arrived.
const WARM: f64 = 0.5;

impl State {
    /// Particles at random places: latent vectors and parameters from their priors.
    pub(super) fn start(
        settings: &Dibs,
        data: &Dataset,
        units: Units,
        problem: &Problem,
        log_variances: &[f64],
        seed: Seed,
    ) -> Self {
        let nodes = data.variables();
        let particle = |k: usize| {
            let stream = seed.stream(Purpose::Dibs).at(0).at(k as u64);
            let mut z = vec![0.0; 2 * nodes * nodes];
            stream.at(0).fill_normal(&mut z);
            let sd = 1.0 / (nodes as f64).sqrt();
            z.iter_mut().for_each(|x| *x *= sd);
            let theta = match &problem.terms {
                Terms::Marginal(_) => Vec::new(),
                Terms::Parameters { layout, .. } => {
                    let mut theta = vec![0.0; nodes * layout.len()];
                    stream.at(1).fill_normal(&mut theta);
                    for (column, log_variance) in theta.chunks_exact_mut(layout.len()).zip(log_variances) {
                        column.iter_mut().for_each(|x| *x *= layout.prior_sd);
                        if !layout.intercept {
                            column[layout.b2()] = 0.0;
                        }
                        column[layout.log_variance()] = *log_variance;
                    }
                    theta
                }
            };
            let squares = vec![0.0; z.len() + theta.len()];
            Particle { z, theta, squares }
        };
        Self {
            settings: settings.clone(),
            seed,
            names: data.names().to_vec(),
            mark: data.fingerprint(),
            units,
            particles: (0..settings.particles).map(particle).collect(),
            step: 0,
            left: settings.steps as u64,
            clock: 0.0,
            rate: 1.0,
            history: Vec::new(),
            probabilities: Vec::new(),
            watch: Watch::default(),
        }
    }

    /// The state as the start of another round, on more data.
    ///
    /// The annealing goes back half of its way, not to the beginning: edges can change again, but what was known
    /// about them is not forgotten. It ends where it ended before. Learned noise, which had settled on the old data,
    /// is taken from what the graphs leave unexplained in the new ones: steps alone would need hundreds to widen it.
    pub(super) fn warmed(mut self, settings: &Dibs, data: &Dataset, problem: &Problem) -> Self {
        for particle in &mut self.particles {
            let limit = problem.edges.limit(&scores(&particle.z, self.names.len()));
            problem.set_noise(&limit, &mut particle.theta);
        }
        self.mark = data.fingerprint();
        self.settings = settings.clone();
        self.left = settings.steps as u64;
        let end = self.clock;
        self.clock = WARM * end;
        self.rate = (end - self.clock) / settings.steps as f64;
        self.history.clear();
        self.watch = Watch::default();
        self
    }

    /// The inverse temperature of the edges.
    pub(super) fn alpha(&self) -> f64 {
        ALPHA_SLOPE * self.clock
    }

    /// Steps still to be taken, if the fit does not stop by itself.
    pub fn steps_left(&self) -> u64 {
        self.left
    }

    /// Steps ever taken, earlier rounds included.
    pub fn steps_taken(&self) -> u64 {
        self.step
    }

    /// Number of steps at the end that grow shorter.
    fn settling(&self) -> u64 {
        (SETTLING * self.settings.steps as f64).ceil() as u64
    }

    /// Leaves only the steps that grow shorter, if nothing changes any more.
    pub(super) fn end_if_at_rest(&mut self, numbers: usize) {
        let at_rest = self.watch.is_at_rest(&self.history, &self.probabilities, numbers);
        if at_rest && self.left > self.settling() {
            self.left = self.settling();
            self.watch.fired = true;
        }
    }

    /// One step of all particles.
    pub(super) fn advance(&mut self, problem: &Problem) {
        let stream = self.seed.stream(Purpose::Dibs).at(1).at(self.step);
        let gradients = ordered_map_indices(self.particles.len(), |k| {
            self.gradient(problem, &self.particles[k], stream.at(k as u64))
        });
        let kernel = Kernel::of(&self.particles);
        let directions = directions(&self.particles, &gradients, &kernel);
        let size = STEP * (self.left as f64 / self.settling() as f64).min(1.0);
        for (particle, direction) in self.particles.iter_mut().zip(&directions) {
            particle.climb(direction, size);
        }
        self.step += 1;
        self.left -= 1;
        self.clock += self.rate;
    }

    /// The gradient of the log-density of (Z, Θ).
    fn gradient(&self, problem: &Problem, particle: &Particle, stream: Stream) -> Gradient {
        let nodes = self.names.len();
        let (alpha, beta) = (self.alpha(), BETA_SLOPE * self.clock);
        let sampling = Sampling {
            estimator: self.settings.estimator,
            samples: self.settings.samples,
            soft: self.settings.acyclicity_samples,
        };
        let scores = scores(&particle.z, nodes);
        let estimate = estimate(problem, &scores, &particle.theta, alpha, sampling, stream);
        let mut by_scores = estimate.by_scores;
        let probabilities = problem.edges.probabilities(&scores, alpha);
        let mut prior = vec![0.0; nodes * nodes];
        self.settings.prior.add_gradient(&probabilities, nodes, &mut prior);
        for k in 0..nodes * nodes {
            by_scores[k] += prior[k] * alpha * probabilities[k] * (1.0 - probabilities[k]);
        }
        // Late in the annealing the soft graphs are all equal.
        let mut last: Option<(&Vec<f64>, Vec<f64>)> = None;
        let share = 1.0 / estimate.soft.len() as f64;
        for soft in &estimate.soft {
            let slopes = match last.take() {
                Some((graph, slopes)) if graph == soft => slopes,
                _ => quick_slopes(soft, nodes),
            };
            for k in 0..nodes * nodes {
                by_scores[k] -= beta * share * slopes[k] * alpha * soft[k] * (1.0 - soft[k]);
            }
            last = Some((soft, slopes));
        }
        let mut z = by_latent(&particle.z, &by_scores, nodes);
        // The prior of Z is normal with variance 1/nodes.
        for (slope, x) in z.iter_mut().zip(&particle.z) {
            *slope -= nodes as f64 * x;
        }
        Gradient { z, theta: estimate.by_theta }
    }

    /// Measures the fit and adds the result to the history.
    pub(super) fn measure(&mut self, problem: &Problem) -> Result<(), UnusableData> {
        let nodes = self.names.len();
        let alpha = self.alpha();
        let of_particles = ordered_map_indices(self.particles.len(), |k| {
            let particle = &self.particles[k];
            let scores = scores(&particle.z, nodes);
            let limit = problem.edges.limit(&scores);
            let log_joint = problem.log_joint(&limit, &particle.theta);
            (log_joint, Dag::from_parents(limit).is_err(), problem.edges.probabilities(&scores, alpha))
        });
        let share = 1.0 / of_particles.len() as f64;
        let log_joints: Vec<f64> = of_particles.iter().map(|particle| particle.0).collect();
        let mut probabilities = vec![0.0; nodes * nodes];
        for (_, _, of_particle) in &of_particles {
            for (sum, p) in probabilities.iter_mut().zip(of_particle) {
                *sum += share * p;
            }
        }
        let change =
            if self.probabilities.is_empty() { 1.0 } else { moved(&self.probabilities, &probabilities) };
        self.probabilities = probabilities;
        let log_joint = sum_in_order(&log_joints) * share;
        if !log_joint.is_finite() {
            return Err(UnusableData::StepNotFinite { step: self.step });
        }
        let cyclic = of_particles.iter().filter(|particle| particle.1).count() as f64 * share;
        let open: Vec<f64> =
            of_particles.iter().map(|particle| particle.2.iter().map(|p| p * (1.0 - p)).sum()).collect();
        let undecided = sum_in_order(&open) * share / nodes as f64;
        self.history.push(Measured { step: self.step, alpha, log_joint, cyclic, change, undecided });
        Ok(())
    }

    /// Nothing can continue from numbers that are not finite, and no file holds them.
    pub(super) fn check_finite(&self) -> Result<(), UnusableData> {
        if self.clock.is_finite() && self.particles.iter().all(Particle::is_finite) {
            return Ok(());
        }
        Err(UnusableData::StepNotFinite { step: self.step })
    }
}

impl State {
    /// Can a fit of these data with these settings continue from here?
    pub(super) fn fits(&self, settings: &Dibs, data: &Dataset) -> Result<(), FitError> {
        let nodes = data.variables();
        let other = |what| Err(StateMismatch::Settings(what).into());
        if self.names[..] != data.names()[..]
            || self.units.means.len() != nodes
            || self.units.scales.len() != nodes
        {
            return Err(StateMismatch::Variables.into());
        }
        if self.settings.family != settings.family {
            return Err(StateMismatch::Posterior.into());
        }
        if self.settings.particles != settings.particles || self.particles.len() != settings.particles {
            return other("another number of particles");
        }
        if self.settings.standardise != settings.standardise {
            return other("data in other units");
        }
        let layout = super::parameters::Layout::of(settings.family, nodes);
        let parameters = layout.as_ref().map_or(0, |layout| layout.len() * nodes);
        let noise = |theta: &[f64]| {
            layout.as_ref().is_none_or(|layout| {
                let mut nodes = theta.chunks_exact(layout.len());
                nodes.all(|own| own[layout.log_variance()].abs() < MOST_LOG_VARIANCE)
            })
        };
        let whole = |particle: &Particle| {
            particle.z.len() == 2 * nodes * nodes
                && particle.theta.len() == parameters
                && particle.squares.len() == particle.z.len() + parameters
                && particle.is_finite()
                && noise(&particle.theta)
        };
        let units = self.units.means.iter().all(|mean| mean.is_finite())
            && self.units.scales.iter().all(|scale| *scale > 0.0 && scale.is_finite());
        let annealing = self.clock >= 0.0 && self.clock.is_finite() && self.rate.is_finite();
        let counts = self.left <= MOST_STEPS as u64 && self.step <= MOST_STEPS_EVER;
        if !(annealing && counts && units && self.particles.iter().all(whole)) {
            return Err(StateMismatch::Damaged.into());
        }
        Ok(())
    }
}
