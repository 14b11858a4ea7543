//! The same process in weight space: finitely many cosines stand for the smooth part, so that a draw is a function
//! that can be evaluated anywhere.
//!
//! The spectrum of the Matérn function is a multivariate t with 5 degrees of freedom: frequencies are z/√(χ²/5)/ℓ with
//! z normal, taken at the points of a low-discrepancy sequence instead of at random. Each frequency gives a cosine and a
//! sine with independent normal weights of variance a²/waves; the posterior of the weights is normal.

use std::sync::OnceLock;

use faer::Mat;

use super::gp::{Hyper, LENGTHS, LINEAR, Regression, SIGMA, SMOOTH};
use super::settings::MOST_VARIABLES;
use crate::num::elementwise::cos_sin_of_turn;
use crate::num::matrix::{Cholesky, product};
use crate::num::random::Draws;
use crate::num::special::{chi_squared_5_cdf, normal_cdf, quantile, student_5_cdf};
use crate::scm::{Linear, Mechanism, Waves};

/// Number of frequencies for a number of parents; each is a cosine and a sine. More come closer to the process, but every
/// evaluation of a drawn function pays for them.
fn usual_waves(parents: usize) -> usize {
    [0, 32, 128, 192][parents.min(3)]
}

/// Frequencies in units of 1/ℓ, [parents][waves].
pub(super) struct Spectrum(Vec<Vec<f64>>);

impl Spectrum {
    /// For a number of parents; made once, when first asked for.
    pub fn of(parents: usize) -> &'static Self {
        static MADE: [OnceLock<Spectrum>; MOST_VARIABLES] = [const { OnceLock::new() }; MOST_VARIABLES];
        MADE[parents].get_or_init(|| Self::of_waves(parents, usual_waves(parents)))
    }

    fn of_waves(parents: usize, waves: usize) -> Self {
        if parents == 1 {
            // The t distribution itself, its upper half: a cosine and a sine know no sign.
            let place = |wave: usize| 0.5 + 0.5 * (wave as f64 + 0.5) / waves as f64;
            let frequencies = (0..waves).map(|wave| quantile(student_5_cdf, place(wave), 0.0, 60.0));
            return Self(vec![frequencies.collect()]);
        }
        // The generalised golden ratio: x^(dimensions + 1) = x + 1.
        let dimensions = parents + 1;
        let mut golden = 2.0f64;
        for _ in 0..60 {
            golden = (1.0 + golden).powf(1.0 / (dimensions + 1) as f64);
        }
        let point = |wave: usize, k: usize| {
            let step = golden.powi(-(k as i32 + 1));
            (0.5 + step * (wave + 1) as f64).fract()
        };
        let widths: Vec<f64> = (0..waves)
            .map(|wave| (5.0 / quantile(chi_squared_5_cdf, point(wave, parents), 0.0, 60.0)).sqrt())
            .collect();
        let of_parent = |k: usize| {
            (0..waves).map(|wave| widths[wave] * quantile(normal_cdf, point(wave, k), -9.0, 9.0)).collect()
        };
        Self((0..parents).map(of_parent).collect())
    }
}

/// The posterior of the weights of all features given hyperparameters.
pub(super) struct Weights {
    hyper: Hyper,
    /// [parents][waves], in the units of the parents.
    frequencies: Vec<Vec<f64>>,
    /// Prior standard deviations: intercept, parents, cosines, sines.
    spreads: Vec<f64>,
    mean: Vec<f64>,
    /// The weights over their spreads have the covariance `noise`² A⁻¹; this is the factor of A.
    cholesky: Cholesky,
    noise: f64,
    /// Rows beyond what the function uses up: what tells about the noise.
    spare: f64,
}

/// Rows that are turned into features at a time.
const BLOCK: usize = 256;

impl Weights {
    /// The posterior of the weights. With `free_scale` all variances are first multiplied by their most likely factor.
    pub fn new(
        regression: &Regression,
        hyper: &Hyper,
        spectrum: &Spectrum,
        free_scale: bool,
    ) -> Option<Self> {
        let mut hyper = hyper.clone();
        let (parents, rows) = (regression.parents.len(), regression.values.len());
        let frequencies: Vec<Vec<f64>> = (0..parents)
            .map(|k| spectrum.0[k].iter().map(|f| f * (-hyper[LENGTHS + k]).exp()).collect())
            .collect();
        let mut spreads = vec![1.0];
        if parents > 0 {
            let waves = frequencies[0].len();
            spreads.extend(vec![hyper[LINEAR].exp(); parents]);
            spreads.extend(vec![hyper[SMOOTH].exp() / (waves as f64).sqrt(); 2 * waves]);
        }
        let count = spreads.len();
        let mut squares = Mat::<f64>::zeros(count, count);
        let mut cross = vec![0.0; count];
        let mut length = 0.0;
        for start in (0..rows).step_by(BLOCK) {
            let block = start..(start + BLOCK).min(rows);
            let features = features(regression, &frequencies, &spreads, block.clone());
            let mut part = Mat::<f64>::zeros(count, count);
            product(part.as_mut(), features.as_ref().transpose(), features.as_ref());
            squares += part;
            for (row, y) in regression.values[block].iter().enumerate() {
                length += y * y;
                (0..count).for_each(|k| cross[k] += features[(row, k)] * y);
            }
        }
        // y ~ N(0, F Fᵀ + σ² I), with F the features times their spreads: all in terms of A = FᵀF + σ² I.
        let noise = (2.0 * hyper[SIGMA]).exp();
        for k in 0..count {
            squares[(k, k)] += noise;
        }
        let cholesky = factored(squares)?;
        let mut mean = cross.clone();
        cholesky.solve_in_place(&mut mean);
        let explained: f64 = cross.iter().zip(&mean).map(|(a, b)| a * b).sum();
        let fit = (length - explained) / noise;
        let n = rows as f64;
        let inverse = cholesky.inverse();
        let unused: f64 = (0..count).map(|k| noise * inverse[(k, k)]).sum();
        let spare = n - (count as f64 - unused);
        let factor = if free_scale { (fit / n).max(1e-12) } else { 1.0 };
        let scale = 0.5 * factor.ln();
        for place in 0..hyper.len().min(LENGTHS) {
            hyper[place] += scale;
        }
        spreads.iter_mut().for_each(|spread| *spread *= scale.exp());
        // Weights over their spreads shrink as the spreads grow: the mean function stays. Their covariance stays too,
        // for noise and spreads grow together.
        mean.iter_mut().for_each(|weight| *weight /= scale.exp());
        Some(Self { hyper, frequencies, spreads, mean, cholesky, noise: noise.sqrt(), spare })
    }

    /// A function and a noise standard deviation from their posterior. The logarithm of the noise is normal with the
    /// curvature of its likelihood.
    pub fn draw(&self, draws: &mut Draws) -> (Mechanism, f64) {
        let sd = (self.hyper[SIGMA] + draws.normal() / (2.0 * self.spare.max(0.0) + 1.0).sqrt()).exp();
        let count = self.mean.len();
        // A = L Lᵀ, so Lᵀ w = z gives weights with the covariance A⁻¹.
        let l = self.cholesky.factor();
        let mut weights: Vec<f64> = (0..count).map(|_| draws.normal()).collect();
        for k in (0..count).rev() {
            let known: f64 = (k + 1..count).map(|m| l[(m, k)] * weights[m]).sum();
            weights[k] = (weights[k] - known) / l[(k, k)];
        }
        let weights: Vec<f64> = weights
            .iter()
            .zip(&self.mean)
            .zip(&self.spreads)
            .map(|((z, mean), spread)| spread * (mean + self.noise * z))
            .collect();
        (self.mechanism(&weights), sd)
    }

    fn mechanism(&self, weights: &[f64]) -> Mechanism {
        let (intercept, rest) = (weights[0], &weights[1..]);
        let (linear, waves) = rest.split_at(self.frequencies.len());
        if waves.is_empty() {
            return Mechanism::Linear(Linear { weights: linear.to_vec(), intercept });
        }
        // u cos t + v sin t = √(u² + v²) cos(t - atan2(v, u)).
        let (cosines, sines) = waves.split_at(waves.len() / 2);
        let pairs = || cosines.iter().zip(sines);
        Mechanism::Waves(Waves {
            weights: linear.to_vec(),
            frequencies: self.frequencies.concat(),
            phases: pairs().map(|(u, v)| -v.atan2(*u)).collect(),
            amplitudes: pairs().map(|(u, v)| u.hypot(*v)).collect(),
            intercept,
        })
    }
}

/// The factor of a matrix that is positive definite but for rounding: where the noise is below the digits of the
/// squares, the diagonal gets as much as it needs. None if there are entries that are not finite.
fn factored(mut squares: Mat<f64>) -> Option<Cholesky> {
    let diagonal: Vec<f64> = (0..squares.nrows()).map(|k| squares[(k, k)]).collect();
    let largest = diagonal.iter().copied().fold(0.0, f64::max);
    let mut added = 1e-15 * largest;
    loop {
        if let Some(cholesky) = Cholesky::of(squares.as_ref()) {
            return Some(cholesky);
        }
        added *= 10.0;
        if added.is_nan() || added >= largest {
            return None;
        }
        diagonal.iter().enumerate().for_each(|(k, entry)| squares[(k, k)] = entry + added);
    }
}

/// The features of some rows times their prior spreads, [rows, features].
fn features(
    regression: &Regression,
    frequencies: &[Vec<f64>],
    spreads: &[f64],
    rows: std::ops::Range<usize>,
) -> Mat<f64> {
    let parents = regression.parents.len();
    let count = rows.len();
    let mut matrix = Mat::<f64>::zeros(count, spreads.len());
    let mut turns = vec![0.0; count];
    for (k, &spread) in spreads.iter().enumerate().take(1 + parents) {
        for row in 0..count {
            matrix[(row, k)] =
                if k == 0 { spread } else { spread * regression.parents[k - 1][rows.start + row] };
        }
    }
    if parents == 0 {
        return matrix;
    }
    let waves = frequencies[0].len();
    for wave in 0..waves {
        turns.fill(0.0);
        for (x, frequencies) in regression.parents.iter().zip(frequencies) {
            let frequency = frequencies[wave] / std::f64::consts::TAU;
            turns.iter_mut().zip(&x[rows.clone()]).for_each(|(turn, x)| *turn += frequency * x);
        }
        let (at, spread) = (1 + parents + wave, spreads[1 + parents + wave]);
        for (row, turn) in turns.iter().enumerate() {
            let (cosine, sine) = cos_sin_of_turn(turn - turn.floor());
            matrix[(row, at)] = spread * cosine;
            matrix[(row, at + waves)] = spread * sine;
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Seed};
    use crate::posterior::mcmc::gp::{log_prior, usual};

    /// Values of a smooth function of some parents, standardised roughly.
    fn data(parents: usize, rows: usize, seed: u64) -> (Vec<f64>, Vec<Vec<f64>>) {
        let mut draws = Seed::new(seed).stream(Purpose::Mcmc).draws();
        let x: Vec<Vec<f64>> = (0..parents).map(|_| (0..rows).map(|_| draws.normal()).collect()).collect();
        let y = (0..rows)
            .map(|row| {
                let f: f64 = x.iter().enumerate().map(|(k, x)| ((1.0 + k as f64) * x[row]).sin()).sum();
                f / (parents.max(1) as f64).sqrt() + 0.3 * draws.normal()
            })
            .collect();
        (y, x)
    }

    fn regression<'a>(y: &'a [f64], x: &'a [Vec<f64>]) -> Regression<'a> {
        Regression { values: y, parents: x.iter().map(|column| &column[..]).collect() }
    }

    /// The features of one point times their spreads, from the formulas.
    fn point(weights: &Weights, x: &[f64]) -> Vec<f64> {
        let mut values = vec![1.0];
        values.extend(x);
        let angle = |wave: usize| x.iter().zip(&weights.frequencies).map(|(x, f)| x * f[wave]).sum::<f64>();
        let waves = 0..weights.frequencies[0].len();
        values.extend(waves.clone().map(|wave| angle(wave).cos()));
        values.extend(waves.map(|wave| angle(wave).sin()));
        values.iter().zip(&weights.spreads).map(|(value, spread)| value * spread).collect()
    }

    /// The covariance of the values written out, [rows, rows].
    fn covariance(weights: &Weights, x: &[Vec<f64>], rows: usize) -> Mat<f64> {
        let points: Vec<Vec<f64>> =
            (0..rows).map(|row| point(weights, &x.iter().map(|x| x[row]).collect::<Vec<_>>())).collect();
        let noise = (2.0 * weights.hyper[SIGMA]).exp();
        Mat::from_fn(rows, rows, |i, j| {
            let dot: f64 = points[i].iter().zip(&points[j]).map(|(a, b)| a * b).sum();
            dot + if i == j { noise } else { 0.0 }
        })
    }

    /// Means and variances of 2000 drawn functions, near the data and far away, against the posterior of the dense
    /// process of the same covariance: 3 cases of 5 points, z-scores below 4.5.
    #[test]
    fn drawn_functions_have_the_moments_of_the_process() {
        for (parents, free_scale) in [(1, false), (2, true), (3, false)] {
            let (y, x) = data(parents, 40, 10 + parents as u64);
            let spectrum = Spectrum::of(parents);
            let weights = Weights::new(&regression(&y, &x), &usual(parents), spectrum, free_scale).unwrap();
            let cholesky = Cholesky::of(covariance(&weights, &x, 40).as_ref()).unwrap();
            let mut solved = y.clone();
            cholesky.solve_in_place(&mut solved);
            let count = 2000;
            let mut draws = Seed::new(77).stream(Purpose::Mcmc).draws();
            let drawn: Vec<(Mechanism, f64)> = (0..count).map(|_| weights.draw(&mut draws)).collect();
            for at in [-6.0, -1.0, 0.3, 2.0, 9.0] {
                let place = vec![at; parents];
                let here = point(&weights, &place);
                let near: Vec<f64> = (0..40)
                    .map(|row| {
                        let there = point(&weights, &x.iter().map(|x| x[row]).collect::<Vec<_>>());
                        here.iter().zip(&there).map(|(a, b)| a * b).sum()
                    })
                    .collect();
                let mean: f64 = near.iter().zip(&solved).map(|(a, b)| a * b).sum();
                let mut explained = near.clone();
                cholesky.solve_in_place(&mut explained);
                let variance = here.iter().map(|a| a * a).sum::<f64>()
                    - near.iter().zip(&explained).map(|(a, b)| a * b).sum::<f64>();
                let columns: Vec<[f64; 1]> = place.iter().map(|x| [*x]).collect();
                let inputs: Vec<&[f64]> = columns.iter().map(|column| &column[..]).collect();
                let values: Vec<f64> = drawn
                    .iter()
                    .map(|(mechanism, _)| {
                        let mut out = [0.0];
                        mechanism.means(&inputs, &mut out);
                        out[0]
                    })
                    .collect();
                let n = f64::from(count);
                let z = (values.iter().sum::<f64>() / n - mean) / (variance / n).sqrt();
                let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
                let z_spread = (spread / variance - 1.0) / (2.0 / n).sqrt();
                assert!(z.abs() < 4.5 && z_spread.abs() < 4.5, "{parents} at {at}: {z} {z_spread}");
            }
            let logs: Vec<f64> = drawn.iter().map(|(_, sd)| sd.ln()).collect();
            let mean = logs.iter().sum::<f64>() / f64::from(count);
            let width = (1.0 / (2.0 * weights.spare + 1.0)).sqrt();
            assert!((mean - weights.hyper[SIGMA]).abs() < 4.5 * width / f64::from(count).sqrt());
        }
    }

    /// Of y ~ N(0, C).
    fn log_density(y: &[f64], covariance: &Mat<f64>) -> f64 {
        let cholesky = Cholesky::of(covariance.as_ref()).unwrap();
        let mut solved = y.to_vec();
        cholesky.solve_in_place(&mut solved);
        let fit: f64 = y.iter().zip(&solved).map(|(a, b)| a * b).sum();
        -0.5 * (fit + cholesky.log_determinant() + y.len() as f64 * std::f64::consts::TAU.ln())
    }

    /// How good the features are: the density of 100 rows by features against that of the process itself (measured: off
    /// by 0.83, 2.65 and 2.35 nats at most for one, two and three parents), and the spread of functions far outside the
    /// data against that of the prior.
    #[test]
    fn features_are_as_good_as_the_process_and_uncertain_far_away() {
        for (parents, most) in [(1, 1.0), (2, 3.0), (3, 3.0)] {
            for seed in 0..5 {
                let (y, x) = data(parents, 100, 100 + seed);
                let regression = regression(&y, &x);
                let found = regression.fitted(&usual(parents)).unwrap();
                let (hyper, score) = (found.hyper, found.score);
                let weights = Weights::new(&regression, &hyper, Spectrum::of(parents), false).unwrap();
                let off = log_density(&y, &covariance(&weights, &x, 100)) + log_prior(&hyper, None) - score;
                assert!(off.abs() < most, "{parents} parents: {off}");
                let far = |z: f64| {
                    let here = point(&weights, &vec![z; parents]);
                    let inverse = weights.cholesky.inverse();
                    let noise = weights.noise * weights.noise;
                    let smooth = 1 + parents..here.len();
                    let variance: f64 = smooth
                        .clone()
                        .flat_map(|i| smooth.clone().map(move |j| (i, j)))
                        .map(|(i, j)| here[i] * here[j] * inverse[(i, j)] * noise)
                        .sum();
                    variance.sqrt() / hyper[SMOOTH].exp()
                };
                for z in [-15.0, 12.0, 30.0] {
                    assert!(far(z) > 0.5, "{parents} parents: {} of the prior's spread at {z}", far(z));
                }
            }
        }
    }

    /// Where all data lie on a line, functions differ ten standard deviations outside by at least half of the variable's own
    /// spread (measured: 1.2 to 1.6, against 0.07 in the midst of the data).
    #[test]
    fn a_line_in_the_data_is_no_certainty_outside() {
        for seed in 0..5 {
            let mut draws = Seed::new(seed).stream(Purpose::Mcmc).draws();
            let x: Vec<f64> = (0..100).map(|_| draws.normal()).collect();
            let y: Vec<f64> = x.iter().map(|x| 0.8 * x + 0.6 * draws.normal()).collect();
            let x = vec![x];
            let regression = regression(&y, &x);
            let hyper = regression.fitted(&usual(1)).unwrap().hyper;
            let weights = Weights::new(&regression, &hyper, Spectrum::of(1), false).unwrap();
            let inverse = weights.cholesky.inverse();
            let spread = |z: f64| {
                let here = point(&weights, &[z]);
                let of = |i: usize| (0..here.len()).map(|j| here[i] * here[j] * inverse[(i, j)]).sum::<f64>();
                weights.noise * (0..here.len()).map(of).sum::<f64>().sqrt()
            };
            assert!(spread(0.0) < 0.15 && spread(10.0) > 0.5 && spread(-10.0) > 0.5, "{seed}");
        }
    }
}
