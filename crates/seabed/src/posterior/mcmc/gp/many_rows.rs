//! The score of many rows: they are seen through some of them, the centres.

use std::ops::Range;

use faer::{Mat, MatMut, MatRef};

use super::{LENGTHS, Regression, kernel, log_prior};
use crate::belief::{KernelScratch, dot};
use crate::num::matrix::{Cholesky, product};

/// Of the variance, added to that of every centre.
const JITTER: f64 = 1e-8;
/// Rows that are seen through the centres at a time.
const BLOCK: usize = 256;

impl Regression<'_> {
    /// The score of many rows, with all variances multiplied by their most likely factor.
    ///
    /// Rows know of one another only through the centres: C = Q + diag(K - Q) + σ² I with Q = K_nm K_mm⁻¹ K_mn (Snelson
    /// & Ghahramani, 2006). That is the process itself where the centres are all the rows.
    pub fn score_through(&self, centres: &Regression, hyper: &[f64]) -> Option<f64> {
        let kernel = kernel(hyper);
        let (n, m) = (self.values.len(), centres.values.len());
        let mut scratch = KernelScratch::default();
        let mut with_centres = |rows: &Range<usize>, of: &Regression| {
            let mut out = vec![0.0; rows.len() * m];
            let points: Vec<&[f64]> = of.parents.iter().map(|x| &x[rows.clone()]).collect();
            kernel.between(&points, &centres.parents, &mut out, &mut scratch);
            out
        };
        let mut among = with_centres(&(0..m), centres);
        // Centres that coincide would leave nothing of one another.
        (0..m).for_each(|k| among[k * (m + 1)] += JITTER * (1.0 + kernel.smooth));
        let root = Cholesky::of(MatRef::from_column_major_slice(&among, m, m))?;
        // F = L⁻¹ K_mn, so that Q = FᵀF; everything is in terms of A = F Λ⁻¹ Fᵀ + I with Λ = diag(K - Q) + σ² I.
        let mut squares = Mat::<f64>::identity(m, m);
        let (mut cross, mut length, mut log_determinant) = (vec![0.0; m], 0.0, 0.0);
        for start in (0..n).step_by(BLOCK) {
            let rows = start..(start + BLOCK).min(n);
            let mut features = with_centres(&rows, self);
            root.solve_lower_in_place(MatMut::from_column_major_slice_mut(&mut features, m, rows.len()));
            for (feature, row) in features.chunks_exact_mut(m).zip(rows.clone()) {
                let y = self.values[row];
                let own = kernel.own(self.parents.iter().map(|x| x[row]));
                let left = kernel.noise + (own - dot(feature, feature)).max(0.0);
                log_determinant += left.ln();
                length += y * y / left;
                let root = left.sqrt();
                for (value, cross) in feature.iter_mut().zip(&mut cross) {
                    *value /= root;
                    *cross += *value * y / root;
                }
            }
            let mut part = Mat::<f64>::zeros(m, m);
            let features = MatRef::from_column_major_slice(&features, m, rows.len());
            product(part.as_mut(), features, features.transpose());
            squares += part;
        }
        let cholesky = Cholesky::of(squares.as_ref())?;
        let mut solved = cross.clone();
        cholesky.solve_in_place(&mut solved);
        let explained = dot(&cross, &solved);
        let rows = n as f64;
        let factor = ((length - explained) / rows).max(1e-12);
        let log_determinant = log_determinant + cholesky.log_determinant();
        let log_likelihood = -0.5 * (rows + log_determinant + rows * (std::f64::consts::TAU * factor).ln());
        let mut scaled = hyper.to_vec();
        scaled.iter_mut().take(LENGTHS).for_each(|log| *log += 0.5 * factor.ln());
        let score = log_likelihood + log_prior(&scaled, None);
        score.is_finite().then_some(score)
    }
}

#[cfg(test)]
mod tests {
    use super::super::toys::{dense, regression, smooth};
    use super::super::usual;
    use super::*;

    /// Seen through all its rows, some of them twice, a process is what it is, at its most likely scale.
    #[test]
    fn all_rows_as_centres_are_the_process_itself() {
        for parents in 0..4 {
            let columns = smooth(parents, 40, 40 + parents as u64);
            let regression = regression(&columns);
            let hyper = usual(parents);
            let got = regression.score_through(&regression, &hyper).unwrap();
            // N(y; 0, f C) is N(y/√f; 0, C)/√f for every row.
            let scaled = |scale: f64| {
                let mut hyper = hyper.clone();
                hyper.iter_mut().take(LENGTHS).for_each(|log| *log += scale);
                let mut smaller = columns.clone();
                smaller[0].iter_mut().for_each(|y| *y /= scale.exp());
                (dense(&smaller, &usual(parents)) - 40.0 * scale, log_prior(&hyper, None))
            };
            let steps = (-3000..3000).map(|step| scaled(f64::from(step) * 1e-3));
            let best = steps.reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap();
            assert!((got - best.0 - best.1).abs() < 1e-3, "{got} {best:?}");
        }
    }

    /// How good it is to see 900 rows through 300: measured off by 0.01, 1.0 and 5.8 nats at most for one, two and three
    /// parents.
    #[test]
    fn many_rows_are_seen_well_through_some() {
        for (parents, most) in [(0, 1e-3), (1, 0.1), (2, 3.0), (3, 10.0)] {
            let mut worst = 0.0f64;
            for seed in 0..5 {
                let columns = smooth(parents, 900, 50 + seed);
                let thin = |column: &Vec<f64>| -> Vec<f64> { column.iter().step_by(3).copied().collect() };
                let thinned: Vec<Vec<f64>> = columns.iter().map(thin).collect();
                let (all, centres) = (regression(&columns), regression(&thinned));
                let hyper = centres.fitted(&usual(parents)).unwrap().hyper;
                let through = all.score_through(&centres, &hyper).unwrap();
                let itself = all.score_through(&all, &hyper).unwrap();
                worst = worst.max((through - itself).abs());
            }
            assert!(worst < most, "{parents} parents: {worst}");
        }
    }
}
