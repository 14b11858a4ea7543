//! The way to the hyperparameters with the highest score: quasi-Newton steps (BFGS).

use super::{Hyper, Regression, SIGMA, prior_of, range};
use crate::num::matrix::eigen;
use faer::Mat;

/// The search ends when a step gains less than this.
const LEAST_GAIN: f64 = 0.01;
const MOST_STEPS: usize = 25;

impl Regression<'_> {
    /// The hyperparameters with the highest score near the start, and the score: quasi-Newton (BFGS).
    pub fn fitted(&self, start: &[f64]) -> Option<(Hyper, f64)> {
        let pairs = self.pairs();
        let size = start.len();
        let mut at = start.to_vec();
        let (mut value, mut gradient) = self.evaluate(&at, &pairs)?;
        // The noise is known to 1/√(2n), other hyperparameters to a third or so.
        let first = |place: usize| if place == SIGMA { 0.5 / self.values.len() as f64 } else { 0.1 };
        let mut inverse: Vec<Vec<f64>> =
            (0..size).map(|a| (0..size).map(|b| if a == b { first(a) } else { 0.0 }).collect()).collect();
        for _ in 0..MOST_STEPS {
            let mut step: Vec<f64> =
                inverse.iter().map(|row| row.iter().zip(&gradient).map(|(h, g)| h * g).sum()).collect();
            // What a parabola promises; the curvature is only roughly known.
            let promised = 0.5 * step.iter().zip(&gradient).map(|(s, g)| s * g).sum::<f64>();
            if promised < 0.2 * LEAST_GAIN {
                break;
            }
            let longest = step.iter().fold(0.0f64, |most, s| most.max(s.abs()));
            if longest > 1.0 {
                step.iter_mut().for_each(|s| *s /= longest);
            }
            let mut share = 1.0;
            let found = loop {
                let within = |(place, (x, s)): (usize, (&f64, &f64))| {
                    let (low, high) = range(place);
                    (x + share * s).clamp(low, high)
                };
                let next: Vec<f64> = at.iter().zip(&step).enumerate().map(within).collect();
                let moved: Vec<f64> = next.iter().zip(&at).map(|(a, b)| a - b).collect();
                let expected: f64 = moved.iter().zip(&gradient).map(|(m, g)| m * g).sum();
                if let Some((score, slopes)) =
                    self.evaluate(&next, &pairs).filter(|(score, _)| *score >= value + 1e-4 * expected)
                {
                    break Some((next, moved, score, slopes));
                }
                share *= 0.3;
                if share * longest.min(1.0) < 1e-4 {
                    break None;
                }
            };
            let Some((next, moved, score, slopes)) = found else { break };
            let gain = score - value;
            let turned: Vec<f64> = gradient.iter().zip(&slopes).map(|(old, new)| old - new).collect();
            update(&mut inverse, &moved, &turned);
            (at, value, gradient) = (next, score, slopes);
            if gain < LEAST_GAIN {
                break;
            }
        }
        Some((at, value))
    }

    /// ln of how much narrower the posterior of the hyperparameters is than their prior, in all directions together: what
    /// Laplace's method adds to the maximum. The curvature is a difference of gradients, in units of the prior's widths.
    pub fn log_width(&self, hyper: &[f64]) -> Option<f64> {
        let pairs = self.pairs();
        let (size, (_, here)) = (hyper.len(), self.evaluate(hyper, &pairs)?);
        let mut curvature = Mat::<f64>::zeros(size, size);
        for place in 0..size {
            let mut there = hyper.to_vec();
            there[place] += STEP * prior_of(place).1;
            let (_, gradient) = self.evaluate(&there, &pairs)?;
            for other in 0..size {
                curvature[(place, other)] = (here[other] - gradient[other]) * prior_of(other).1 / STEP;
            }
        }
        let symmetric = Mat::from_fn(size, size, |a, b| 0.5 * (curvature[(a, b)] + curvature[(b, a)]));
        let (widths, _) = eigen(symmetric.as_ref())?;
        Some(widths.iter().map(|curvature| -0.5 * curvature.max(FLATTEST).ln()).sum())
    }
}

/// The step of a difference of gradients, in widths of the prior.
const STEP: f64 = 0.02;
/// The least curvature: a maximum at the edge of the range, or on a ridge, is as wide as the prior allows.
const FLATTEST: f64 = 0.5;

/// The BFGS update of the inverse of the negative Hessian.
fn update(inverse: &mut [Vec<f64>], moved: &[f64], turned: &[f64]) {
    let curvature: f64 = moved.iter().zip(turned).map(|(s, y)| s * y).sum();
    let size =
        moved.iter().map(|s| s * s).sum::<f64>().sqrt() * turned.iter().map(|y| y * y).sum::<f64>().sqrt();
    if curvature <= 1e-8 * size {
        return;
    }
    let along: Vec<f64> =
        inverse.iter().map(|row| row.iter().zip(turned).map(|(h, y)| h * y).sum()).collect();
    let square: f64 = along.iter().zip(turned).map(|(a, y)| a * y).sum();
    for (a, row) in inverse.iter_mut().enumerate() {
        for (b, entry) in row.iter_mut().enumerate() {
            *entry += (1.0 + square / curvature) * moved[a] * moved[b] / curvature
                - (along[a] * moved[b] + moved[a] * along[b]) / curvature;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::toys::{columns, regression, smooth};
    use super::super::usual;
    use super::*;

    /// No point around the one found is better by more than the search may leave.
    #[test]
    fn the_search_finds_a_maximum() {
        for seed in 0..6 {
            let mut columns = columns(3, 60, 20 + seed);
            for row in 0..60 {
                let (a, b, noise) = (columns[1][row], columns[2][row], columns[0][row]);
                columns[0][row] = (1.5 * a).sin() + 0.3 * b + 0.2 * noise;
            }
            let regression = regression(&columns);
            let (hyper, score) = regression.fitted(&usual(2)).unwrap();
            let around = (0..hyper.len()).flat_map(|place| [(place, 0.05), (place, -0.05)]);
            for (place, step) in around {
                let mut other = hyper.clone();
                other[place] += step;
                let there = regression.log_posterior(&other).unwrap().0;
                assert!(there < score + 0.05, "{place} {step}: {there} {score}");
            }
            assert!((hyper[SIGMA].exp() - 0.2).abs() < 0.08, "noise {}", hyper[SIGMA].exp());
        }
    }

    /// Laplace's method against sums over a grid: without parents within a tenth of a nat; with one parent, where sizes and
    /// lengths can stand in for each other, within a nat, both for a function that is there and for one that is not.
    #[test]
    fn the_width_of_the_maximum_is_that_of_the_integral() {
        for (parents, rows, allowed) in [(0, 30, 0.1), (1, 30, 1.0)] {
            for (set, columns) in [(1, columns(1 + parents, rows, 40)), (2, smooth(parents, rows, 41))] {
                let regression = regression(&columns);
                let (hyper, largest) = regression.fitted(&usual(parents)).unwrap();
                let laplace = largest + regression.log_width(&hyper).unwrap();
                // The noise is known well, so it has a finer grid around the maximum; the others all of their prior.
                let axis = |place: usize| -> (f64, f64, usize) {
                    let (mean, sd) = prior_of(place);
                    if place == SIGMA {
                        (hyper[SIGMA] - 1.0, 3.0 / 60.0, 60)
                    } else {
                        (mean - 4.5 * sd, 9.0 * sd / 12.0, 12)
                    }
                };
                let axes: Vec<(f64, f64, usize)> = (0..hyper.len()).map(axis).collect();
                let cells: usize = axes.iter().map(|axis| axis.2).product();
                let mut sum = 0.0;
                for cell in 0..cells {
                    let mut rest = cell;
                    let mut at = |(low, step, points): &(f64, f64, usize)| {
                        let digit = rest % points;
                        rest /= points;
                        low + (digit as f64 + 0.5) * step
                    };
                    let at: Vec<f64> = axes.iter().map(&mut at).collect();
                    sum += regression.log_posterior(&at).map_or(0.0, |(log, _)| (log - largest).exp());
                }
                let unit = |(place, axis): (usize, &(f64, f64, usize))| {
                    (axis.1 / prior_of(place).1 / std::f64::consts::TAU.sqrt()).ln()
                };
                let integral = largest + sum.ln() + axes.iter().enumerate().map(unit).sum::<f64>();
                let off = laplace - integral;
                println!("{parents} parents, set {set}: {off:.3}");
                assert!(off.abs() < allowed, "{parents} parents, set {set}: off by {off:.3}");
            }
        }
    }
}
