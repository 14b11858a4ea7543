//! A linear mechanism whose weights, intercept and noise are known as far as the data tell: normal–inverse-gamma.
//!
//! With φ = (1, x - centre): y = φ·β + ε, ε ~ N(0, σ²), σ² ~ scale/χ²(degrees), β ~ N(location, σ² V), V = F Fᵀ. So a
//! row's value is Student's t, and another row changes the four numbers by a rank-one step (docs/math.md).

use multiversion::multiversion;
use serde::{Deserialize, Serialize};

use super::student;
use crate::num::elementwise::ln_in_place;

/// What is known about a linear mechanism of p parents, in the data's units.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearConditional {
    /// Degrees of freedom of the noise, above 0.
    pub degrees: f64,
    /// Sum of squares: σ² is this divided by a χ² of the degrees.
    pub scale: f64,
    /// Where the parents' values are counted from: p numbers.
    pub centre: Vec<f64>,
    /// Mean of the value where the parents are at the centre, and of the weights, [1 + p].
    pub location: Vec<f64>,
    /// F, [(1 + p)²], row by row: a row for the value at the centre, then one for every weight.
    pub factor: Vec<f64>,
}

/// Outcomes that are worked on at a time.
const BLOCK: usize = 128;

impl LinearConditional {
    /// Number of parents.
    pub fn parents(&self) -> usize {
        self.centre.len()
    }

    /// Do the parts fit together?
    pub(super) fn is_valid(&self) -> bool {
        let size = 1 + self.parents();
        let positive = |x: f64| x.is_finite() && x > 0.0;
        let numbers = self.centre.iter().chain(&self.location).chain(&self.factor);
        positive(self.degrees)
            && positive(self.scale)
            && self.location.len() == size
            && self.factor.len() == size * size
            && numbers.into_iter().all(|x| x.is_finite())
    }

    /// The same in other units x' = a + b x: `(a, b)` of the value and of every parent.
    #[must_use]
    pub(crate) fn rescaled(&self, value: (f64, f64), parents: &[(f64, f64)]) -> Self {
        let size = 1 + self.parents();
        let slope = |row: usize| if row == 0 { 1.0 } else { parents[row - 1].1 };
        let location = |row: usize| self.location[row] * value.1 / slope(row);
        Self {
            degrees: self.degrees,
            scale: self.scale * value.1 * value.1,
            centre: self.centre.iter().zip(parents).map(|(x, (a, b))| a + b * x).collect(),
            location: (0..size).map(|row| location(row) + if row == 0 { value.0 } else { 0.0 }).collect(),
            factor: (0..size * size).map(|k| self.factor[k] / slope(k / size)).collect(),
        }
    }

    /// The mean of a row's value, 1 + φᵀVφ, and Fᵀφ.
    fn reach(&self, parents: &[f64]) -> (f64, f64, Vec<f64>) {
        let size = 1 + self.parents();
        let feature = |row: usize| if row == 0 { 1.0 } else { parents[row - 1] - self.centre[row - 1] };
        let along =
            |column| (0..size).map(|row| self.factor[row * size + column] * feature(row)).sum::<f64>();
        let along: Vec<f64> = (0..size).map(along).collect();
        let mean = (0..size).map(|row| self.location[row] * feature(row)).sum();
        (mean, 1.0 + along.iter().map(|x| x * x).sum::<f64>(), along)
    }

    /// What is known after one more row. V' = V - V φ φᵀ V/s, s = 1 + φᵀVφ, of which the root is F (I - z zᵀ/(s + √s)),
    /// z = Fᵀφ (Potter): no difference is taken that could become negative.
    pub(super) fn with_row(&self, value: f64, parents: &[f64]) -> Self {
        let (mean, spread, along) = self.reach(parents);
        let off = value - mean;
        let shrink = 1.0 / (spread + spread.sqrt());
        let mut next = self.clone();
        next.degrees += 1.0;
        next.scale += off * off / spread;
        for (row, location) in next.factor.chunks_exact_mut(along.len()).zip(&mut next.location) {
            let step: f64 = row.iter().zip(&along).map(|(entry, z)| entry * z).sum();
            *location += step * off / spread;
            row.iter_mut().zip(&along).for_each(|(entry, z)| *entry -= shrink * step * z);
        }
        next
    }

    /// Means of the values given their parents' values, `parents[parent][outcome]`, and scale (1 + φᵀVφ): the squares of
    /// (value - mean) over these are those of Student's t over its degrees.
    pub(super) fn moments(&self, parents: &[&[f64]], mean: &mut [f64], spread: &mut [f64]) {
        let size = 1 + self.parents();
        let mut along = [0.0; BLOCK];
        for start in (0..mean.len()).step_by(BLOCK) {
            let rows = start..(start + BLOCK).min(mean.len());
            let along = &mut along[..rows.len()];
            let columns = || parents.iter().zip(&self.centre).map(|(x, centre)| (&x[rows.clone()], *centre));
            let spread = &mut spread[rows.clone()];
            spread.fill(self.scale);
            for column in 0..size {
                along.fill(self.factor[column]);
                for (row, (x, centre)) in columns().enumerate() {
                    add_slope(along, self.factor[(1 + row) * size + column], x, centre);
                }
                add_squares(spread, self.scale, along);
            }
            let mean = &mut mean[rows.clone()];
            mean.fill(self.location[0]);
            for (weight, (x, centre)) in self.location[1..].iter().zip(columns()) {
                add_slope(mean, *weight, x, centre);
            }
        }
    }

    /// Adds the log-densities of values to `out`; `mean` and `spread` are their moments, and are used up.
    pub(super) fn add_log_densities(
        &self,
        values: &[f64],
        mean: &mut [f64],
        spread: &mut [f64],
        out: &mut [f64],
    ) {
        add_distances(mean, values, spread);
        ln_in_place(mean);
        ln_in_place(spread);
        add_densities(out, student::log_constant(self.degrees), self.degrees, spread, mean);
    }
}

/// Adds weight (x - centre).
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn add_slope(sums: &mut [f64], weight: f64, x: &[f64], centre: f64) {
    sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += weight * (x - centre));
}

/// Adds scale x².
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn add_squares(sums: &mut [f64], scale: f64, values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, x)| *sum += scale * (x * x));
}

/// Means become spread + (value - mean)².
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn add_distances(means: &mut [f64], values: &[f64], spreads: &[f64]) {
    for ((mean, value), spread) in means.iter_mut().zip(values).zip(spreads) {
        let off = value - *mean;
        *mean = spread + off * off;
    }
}

/// Adds constant - ½ ln A - (degrees + 1)/2 ln(1 + off²/A), from the logarithms of A and of A + off².
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn add_densities(out: &mut [f64], constant: f64, degrees: f64, spread: &[f64], total: &[f64]) {
    for ((out, spread), total) in out.iter_mut().zip(spread).zip(total) {
        *out += constant + 0.5 * (degrees * spread - (degrees + 1.0) * total);
    }
}
