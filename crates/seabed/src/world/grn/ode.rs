//! The noise-free steady state, with GeneNetWeaver's integrator, step control and stopping rule.
//!
//! An embedded Runge–Kutta pair of order 5(4) with six stages (Dormand and Prince, 1980), whose tolerance is absolute.
//! The state is compared every 50 minutes; it is steady when nothing has moved by more than the tolerance.

use super::dynamics::{Dynamics, Scratch};

/// The steady state of the noise-free system.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SteadyState {
    /// The state that GeneNetWeaver reports, `[2 genes]`: the last one at which rates were evaluated, the sixth stage
    /// of the last step. The experiments that follow start there.
    pub reported: Vec<f64>,
    /// The state that the integrator reached, `[2 genes]`.
    pub reached: Vec<f64>,
    /// When it stopped, in minutes.
    pub minutes: usize,
}

/// Minutes between two comparisons of the state.
pub(super) const BLOCK: usize = 50;
/// Minutes after which the state counts as steady in any case.
const LONGEST: usize = 2000;
/// Pieces of a block between which the step is at most one piece long.
const PIECES: usize = 10;
/// Tolerance of a step, absolute; and of the comparison, relative.
const TOLERANCE: f64 = 1e-3;
/// Tolerance of the comparison, absolute.
const STEADY: f64 = 1e-5;
/// Attempts at one step, the last of which is accepted.
const ATTEMPTS: usize = 10;

const STAGES: usize = 6;
const STAGE: [&[f64]; STAGES] = [
    &[],
    &[1.0 / 5.0],
    &[3.0 / 40.0, 9.0 / 40.0],
    &[3.0 / 10.0, -9.0 / 10.0, 6.0 / 5.0],
    &[226.0 / 729.0, -25.0 / 27.0, 880.0 / 729.0, 55.0 / 729.0],
    &[-181.0 / 270.0, 5.0 / 2.0, -266.0 / 297.0, -91.0 / 27.0, 189.0 / 55.0],
];
const ADVANCE: [f64; STAGES] = [19.0 / 216.0, 0.0, 1000.0 / 2079.0, -125.0 / 216.0, 81.0 / 88.0, 5.0 / 56.0];
const ERROR: [f64; STAGES] = [-11.0 / 360.0, 0.0, 10.0 / 63.0, -55.0 / 72.0, 27.0 / 40.0, -11.0 / 280.0];

impl Dynamics {
    /// The state of genes whose regulators are absent, `[2 genes]`.
    pub fn unregulated(&self) -> Vec<f64> {
        let genes = self.genes();
        let mut made = vec![[0.0]; genes];
        self.production(&vec![[0.0]; genes], &mut self.scratch(), &mut made);
        let mrna: Vec<f64> = (0..genes).map(|i| made[i][0] / self.mrna_decay[i]).collect();
        let proteins = (0..genes).map(|i| self.translation[i] * mrna[i] / self.protein_decay[i]);
        mrna.iter().copied().chain(proteins).collect()
    }

    /// Integrates from `state` (`[2 genes]`) until nothing moves.
    pub fn steady_state(&self, state: &[f64]) -> SteadyState {
        let mut integrator = Integrator::new(self, state);
        let mut minutes = 0;
        loop {
            let before = integrator.state.clone();
            for _ in 0..PIECES {
                integrator.advance((BLOCK / PIECES) as f64);
            }
            minutes += BLOCK;
            let steady = |(new, old): (&[f64; 1], &[f64; 1])| {
                (new[0] - old[0]).abs() <= STEADY + TOLERANCE * new[0].abs()
            };
            if integrator.state.iter().zip(&before).all(steady) || minutes >= LONGEST {
                return SteadyState {
                    reported: integrator.evaluated.as_flattened().to_vec(),
                    reached: integrator.state.as_flattened().to_vec(),
                    minutes,
                };
            }
        }
    }
}

struct Integrator<'a> {
    dynamics: &'a Dynamics,
    scratch: Scratch<1>,
    state: Vec<[f64; 1]>,
    /// The last state at which rates were evaluated.
    evaluated: Vec<[f64; 1]>,
    rates: [Vec<[f64; 1]>; STAGES],
    /// Length of the next step; it is shortened to what is left of a piece.
    step: f64,
}

impl<'a> Integrator<'a> {
    fn new(dynamics: &'a Dynamics, state: &[f64]) -> Self {
        let state: Vec<[f64; 1]> = state.iter().map(|&z| [z]).collect();
        Self {
            dynamics,
            scratch: dynamics.scratch(),
            evaluated: state.clone(),
            rates: std::array::from_fn(|_| vec![[0.0]; state.len()]),
            state,
            step: f64::INFINITY,
        }
    }

    fn advance(&mut self, length: f64) {
        if self.step > length || self.step <= 0.0 {
            self.step = length;
        }
        let mut remaining = length;
        while remaining > TOLERANCE * length {
            if remaining < self.step {
                // A step that was shortened to fit does not change the length of the next.
                let usual = self.step;
                self.step = remaining;
                remaining -= self.advance_one_step();
                self.step = usual;
            } else {
                remaining -= self.advance_one_step();
            }
        }
    }

    /// One accepted step; adapts the next one and returns how far this one went.
    fn advance_one_step(&mut self) -> f64 {
        for attempt in 1.. {
            let h = self.step;
            self.evaluate_stages(h);
            let mut error = self.error(h);
            if error < f64::MIN_POSITIVE {
                error = TOLERANCE * 1e-5;
            }
            let relative = error / TOLERANCE;
            if relative > 1.0 {
                self.step *= (0.9 * relative.powf(-0.25)).max(0.1);
                if attempt < ATTEMPTS {
                    continue;
                }
            } else if relative < 0.1 {
                let factor = 0.9 * relative.powf(-0.2);
                if factor > 1.0 {
                    self.step *= factor.min(10.0);
                }
            }
            for (v, z) in self.state.iter_mut().enumerate() {
                let slope: f64 = (0..STAGES).map(|s| ADVANCE[s] * self.rates[s][v][0]).sum();
                z[0] += h * slope;
            }
            return h;
        }
        unreachable!("the last attempt is always accepted")
    }

    fn evaluate_stages(&mut self, h: f64) {
        for stage in 0..STAGES {
            let (known, rest) = self.rates.split_at_mut(stage);
            for (v, z) in self.evaluated.iter_mut().enumerate() {
                let slope: f64 = STAGE[stage].iter().zip(&*known).map(|(a, rates)| a * rates[v][0]).sum();
                // Rounding must not make a level negative: its logarithm is taken.
                let level = self.state[v][0] + h * slope;
                z[0] = if level < 0.0 { 0.0 } else { level };
            }
            self.dynamics.rates(&self.evaluated, &mut self.scratch, &mut rest[0]);
        }
    }

    fn error(&self, h: f64) -> f64 {
        let of_variable = |v: usize| -> f64 {
            let sum: f64 = (0..STAGES).map(|s| ERROR[s] * self.rates[s][v][0]).sum();
            (h * sum).abs()
        };
        (0..self.state.len()).map(of_variable).fold(0.0, f64::max)
    }
}
