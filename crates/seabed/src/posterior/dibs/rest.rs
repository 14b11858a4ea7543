//! When to stop: means over windows of measurements are compared, so that jitter does not count as change.
//!
//! Steps of a fixed size keep particles jittering about their places, and the log joint with them. A fit is at rest
//! if over the last windows log joint, edge probabilities and the share of cyclic particles moved no more than that,
//! and the annealing has decided nearly all edges.

use serde::{Deserialize, Serialize};

use super::state::Measured;

/// Measurements in a window.
const WINDOW: usize = 5;
/// Windows that are compared.
const WINDOWS: usize = 4;

/// At rest: the means of the log joint over the windows differ by less than this for each number of the data, …
const LOG_JOINT: f64 = 5e-3;
/// … or by less than this many standard deviations of single measurements within a window. Of four means of five
/// measurements without a trend, nearly nine of ten do; with a trend of two deviations from window to window, none.
const DEVIATIONS: f64 = 1.5;
/// … the edge probabilities differ between the first and the last window by less than this on average, …
const EDGES: f64 = 1e-4;
/// … or by less than this many times what they move from one measurement to the next. Without a trend that is 0.45
/// (means of five against single ones), with a pure trend 15.
const JITTERS: f64 = 1.5;
/// … no more particles than this share are cyclic, …
const CYCLIC: f64 = 0.1;
/// … and Σ p (1 - p) over the edges into a variable is less than this on average.
const UNDECIDED: f64 = 0.1;

/// The edge probabilities of the last windows; everything else is in the history.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Watch {
    /// Sums over the window that is being filled, and how many measurements they hold.
    filling: Vec<f64>,
    filled: usize,
    /// Means over the last windows, the oldest first.
    windows: Vec<Vec<f64>>,
    /// Has it ended the fit?
    pub fired: bool,
}

impl Watch {
    /// Adds the edge probabilities of the last measurement of `history`, and says whether the fit is at rest.
    ///
    /// `numbers` is how many values the data have.
    pub fn is_at_rest(&mut self, history: &[Measured], probabilities: &[f64], numbers: usize) -> bool {
        self.filling.resize(probabilities.len(), 0.0);
        for (sum, p) in self.filling.iter_mut().zip(probabilities) {
            *sum += p / WINDOW as f64;
        }
        self.filled = self.filled.saturating_add(1);
        if self.filled < WINDOW {
            return false;
        }
        self.filled = 0;
        self.windows.push(std::mem::take(&mut self.filling));
        if self.windows.len() > WINDOWS {
            self.windows.remove(0);
        }
        let (Some(first), Some(newest)) =
            (history.len().checked_sub(WINDOW * WINDOWS), self.windows.get(WINDOWS - 1))
        else {
            return false;
        };
        let recent = &history[first..];
        let last = &recent[WINDOW * (WINDOWS - 1)..];
        let jitter = mean(recent, |measured| measured.change);
        moved(&self.windows[0], newest) < EDGES.max(JITTERS * jitter)
            && mean(last, |measured| measured.cyclic) <= CYCLIC
            && mean(last, |measured| measured.undecided) < UNDECIDED
            && is_level(recent, LOG_JOINT * numbers as f64)
    }
}

/// Do the windows' means of the log joint differ by no more than `least` or than chance explains?
fn is_level(recent: &[Measured], least: f64) -> bool {
    let windows = recent.chunks_exact(WINDOW);
    let means: Vec<f64> = windows.clone().map(|window| mean(window, |measured| measured.log_joint)).collect();
    let squares: f64 = windows
        .zip(&means)
        .map(|(window, centre)| window.iter().map(|m| (m.log_joint - centre).powi(2)).sum::<f64>())
        .sum();
    let deviation = (squares / (WINDOWS * (WINDOW - 1)) as f64).sqrt();
    let range = means.iter().copied().fold(f64::NEG_INFINITY, f64::max)
        - means.iter().copied().fold(f64::INFINITY, f64::min);
    range < least.max(DEVIATIONS * deviation)
}

/// Mean absolute difference of edge probabilities, a square of them, over the pairs of different variables.
pub(super) fn moved(before: &[f64], after: &[f64]) -> f64 {
    let total: f64 = before.iter().zip(after).map(|(a, b)| (a - b).abs()).sum();
    let pairs = before.len() - before.len().isqrt();
    total / pairs.max(1) as f64
}

fn mean(window: &[Measured], figure: impl Fn(&Measured) -> f64) -> f64 {
    window.iter().map(figure).sum::<f64>() / window.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Seed};

    /// How many of 400 fits with 40 measurements, 1000 numbers and jitter of `noise` nats are stopped early.
    fn ended(noise: f64, log_joint: impl Fn(usize) -> f64, others: impl Fn(usize) -> [f64; 3]) -> usize {
        let ends = |seed: u64| {
            let mut draws = Seed::new(seed).stream(Purpose::Noise).draws();
            let mut watch = Watch::default();
            let mut history = Vec::new();
            (0..40).any(|k| {
                let [p, cyclic, undecided] = others(k);
                let log_joint = log_joint(k) + noise * draws.normal();
                let change = (p - others(k.max(1) - 1)[0]).abs() / 2.0;
                history.push(Measured { step: 0, alpha: 0.0, log_joint, cyclic, change, undecided });
                watch.is_at_rest(&history, &[0.0, p, 0.2, 0.0], 1000)
            })
        };
        (0..400).filter(|&seed| ends(seed)).count()
    }

    #[test]
    fn jitter_is_rest_and_a_trend_is_not() {
        let still = |_: usize| [0.9, 0.0, 0.01];
        // Five windows are compared; each of 400 runs has some quiet stretch with a probability above 0.99.
        assert!(ended(50.0, |_| 0.0, still) >= 392);
        // Two deviations from window to window, or 10 nats without noise.
        assert_eq!(ended(50.0, |k| 20.0 * k as f64, still), 0);
        assert_eq!(ended(0.0, |k| 2.0 * k as f64, still), 0);
        assert_eq!(ended(0.0, |k| 0.3 * k as f64, still), 400);
    }

    #[test]
    fn nothing_ends_while_edges_move_or_are_open_or_particles_are_cyclic() {
        assert_eq!(ended(0.0, |_| 0.0, |_| [0.9, 0.0, 0.01]), 400);
        assert_eq!(ended(0.0, |_| 0.0, |k| [0.02 * k as f64, 0.0, 0.01]), 0);
        assert_eq!(ended(0.0, |_| 0.0, |k| [0.1 * (k % 2) as f64, 0.0, 0.01]), 400);
        assert_eq!(ended(0.0, |_| 0.0, |_| [0.9, 0.15, 0.01]), 0);
        assert_eq!(ended(0.0, |_| 0.0, |_| [0.9, 0.0, 0.11]), 0);
    }
}
