//! Mean and variance of a process over the values of its only parent, read off between points of a grid.
//!
//! The grid is so dense that a cubic through four neighbours is off by less than a millionth of the noise (the tests
//! hold it to that). What rows of a batch have in common is not in it, and is left to the process.

use super::process::{ProcessConditional, ProcessScratch, Regression};

/// Steps of a length scale, and the largest number of points.
const FINENESS: f64 = 96.0;
const MOST_POINTS: usize = 8192;
/// Fewest points over the range of the data: a function may be rougher than its length scale says.
const FEWEST_POINTS: f64 = 256.0;

/// Points at equal steps, beyond the data by the width of the data on both sides.
#[derive(Clone, Debug)]
pub(super) struct Table {
    start: f64,
    steps_per_unit: f64,
    /// Mean and variance, noise included, of every point.
    points: Vec<[f64; 2]>,
}

impl Table {
    /// None unless there is exactly one parent, or if its length scale is too short.
    pub fn of(process: &ProcessConditional, rows: &Regression) -> Option<Self> {
        let [x] = rows.parents[..] else { return None };
        let (low, high) =
            x.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)));
        let width = high - low;
        let length = (5.0 / process.kernel().decays[0]).sqrt();
        let step = (length / FINENESS).min(width / FEWEST_POINTS);
        let count = 3.0 * width / step + 4.0;
        if !(width > 0.0 && count < MOST_POINTS as f64) {
            return None;
        }
        let start = low - width - step;
        let grid: Vec<f64> = (0..count as usize).map(|k| start + step * k as f64).collect();
        let (mut mean, mut variance) = (vec![0.0; grid.len()], vec![0.0; grid.len()]);
        process.predict(&[&grid], &[], &mut mean, &mut variance, &mut ProcessScratch::default());
        let points = mean.into_iter().zip(variance).map(|(mean, variance)| [mean, variance]).collect();
        Some(Self { start, steps_per_unit: 1.0 / step, points })
    }

    fn place(&self, x: f64) -> f64 {
        (x - self.start) * self.steps_per_unit
    }

    /// Is the value within the grid, with a point to spare on both sides?
    pub fn covers(&self, x: f64) -> bool {
        let place = self.place(x);
        place >= 1.0 && place < (self.points.len() - 2) as f64
    }

    /// Mean and variance at every value that the table covers; false if there are others, which stay as they are.
    pub fn read(&self, x: &[f64], mean: &mut [f64], variance: &mut [f64]) -> bool {
        let mut all = true;
        for ((&x, mean), variance) in x.iter().zip(mean).zip(variance) {
            if !self.covers(x) {
                all = false;
                continue;
            }
            let place = self.place(x);
            let (cell, t) = (place as usize, place.fract());
            let points = &self.points[cell - 1..cell + 3];
            // Lagrange's cubic through -1, 0, 1 and 2.
            let (before, after, further) = (t + 1.0, t - 1.0, t - 2.0);
            let weights = [
                -t * after * further / 6.0,
                before * after * further / 2.0,
                -before * t * further / 2.0,
                before * t * after / 6.0,
            ];
            let sum =
                |part: usize| points.iter().zip(weights).map(|(point, weight)| weight * point[part]).sum();
            *mean = sum(0);
            *variance = sum(1);
        }
        all
    }
}
