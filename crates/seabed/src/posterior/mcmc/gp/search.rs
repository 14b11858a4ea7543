//! The way to the hyperparameters with the highest score: quasi-Newton steps (BFGS).

use super::{Hyper, Regression, SIGMA, prior_of, range};
use crate::num::matrix::eigen;
use faer::Mat;

/// The search ends when a step gains less than this.
const LEAST_GAIN: f64 = 0.01;
const MOST_STEPS: usize = 25;

/// A place that the search has reached.
pub(crate) struct Place {
    pub hyper: Hyper,
    pub score: f64,
    gradient: Vec<f64>,
}

impl Regression<'_> {
    /// The hyperparameters with the highest score near the start.
    pub fn fitted(&self, start: &[f64]) -> Option<Place> {
        // The noise is known to 1/√(2n), other hyperparameters to a third or so.
        let first = |place: usize| if place == SIGMA { 0.5 / self.values.len() as f64 } else { 0.1 };
        let size = start.len();
        let inverse = (0..size).map(|a| (0..size).map(|b| if a == b { first(a) } else { 0.0 }).collect());
        self.climb(start, inverse.collect())
    }

    /// The same from a place that fewer rows led to, with what they know of the maximum's shape.
    pub fn polished(&self, start: &[f64], shape: &Shape) -> Option<Place> {
        self.climb(start, shape.inverse(self.values.len()))
    }

    /// `inverse` is a guess of the inverse of the negative Hessian.
    fn climb(&self, start: &[f64], mut inverse: Vec<Vec<f64>>) -> Option<Place> {
        let pairs = self.pairs();
        let mut at = start.to_vec();
        let (mut value, mut gradient) = self.evaluate(&at, &pairs)?;
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
        Some(Place { hyper: at, score: value, gradient })
    }

    /// The shape of the maximum. The curvature is a difference of gradients.
    pub fn shape(&self, of: &Place) -> Option<Shape> {
        let (pairs, size) = (self.pairs(), of.hyper.len());
        let mut curvature = Mat::<f64>::zeros(size, size);
        for place in 0..size {
            let mut there = of.hyper.clone();
            there[place] += STEP * prior_of(place).1;
            let (_, gradient) = self.evaluate(&there, &pairs)?;
            for other in 0..size {
                curvature[(place, other)] = (of.gradient[other] - gradient[other]) * prior_of(other).1 / STEP;
            }
        }
        let symmetric = Mat::from_fn(size, size, |a, b| 0.5 * (curvature[(a, b)] + curvature[(b, a)]));
        let (mut curvatures, directions) = eigen(symmetric.as_ref())?;
        curvatures.iter_mut().for_each(|curvature| *curvature = curvature.max(FLATTEST));
        Some(Shape { curvatures, directions, rows: self.values.len() })
    }
}

/// How sharp a maximum is.
pub(crate) struct Shape {
    /// In units of the prior's widths, ascending.
    curvatures: Vec<f64>,
    /// A column for each.
    directions: Mat<f64>,
    rows: usize,
}

impl Shape {
    /// ln of how much narrower the posterior of the hyperparameters is than their prior, in all directions together: what
    /// Laplace's method adds to the maximum, for this many rows. They know the noise better than those of the shape,
    /// sizes and lengths as well as one function can tell them.
    pub fn log_width(&self, rows: usize) -> f64 {
        let narrower = 0.5 * (self.rows as f64 / rows as f64).ln();
        self.curvatures.iter().map(|curvature| -0.5 * curvature.ln()).sum::<f64>() + narrower
    }

    /// The inverse of the curvature, likewise.
    fn inverse(&self, rows: usize) -> Vec<Vec<f64>> {
        let size = self.curvatures.len();
        let narrower = (self.rows as f64 / rows as f64).sqrt();
        let unit = |place: usize| prior_of(place).1 * if place == SIGMA { narrower } else { 1.0 };
        let entry = |a: usize, b: usize| {
            let along = |k: usize| self.directions[(a, k)] * self.directions[(b, k)] / self.curvatures[k];
            unit(a) * unit(b) * (0..size).map(along).sum::<f64>()
        };
        (0..size).map(|a| (0..size).map(|b| entry(a, b)).collect()).collect()
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
            let Place { hyper, score, .. } = regression.fitted(&usual(2)).unwrap();
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

    /// From what a hundred of 250 rows tell, all rows lead to the same maximum as from the usual start, and the width for all
    /// rows that the hundred tell is within a nat of theirs.
    #[test]
    fn a_few_rows_lead_to_the_maximum_of_all() {
        for (parents, seed) in [(1, 50), (2, 51), (3, 52)] {
            let columns = smooth(parents, 250, seed);
            let few: Vec<Vec<f64>> = columns.iter().map(|column| column[..100].to_vec()).collect();
            let (all, few) = (regression(&columns), regression(&few));
            let rough = few.fitted(&usual(parents)).unwrap();
            let shape = few.shape(&rough).unwrap();
            let polished = all.polished(&rough.hyper, &shape).unwrap();
            let whole = all.fitted(&usual(parents)).unwrap();
            let wider = shape.log_width(250) - all.shape(&whole).unwrap().log_width(250);
            println!("{parents} parents: {:.3} nats, width {wider:.3}", polished.score - whole.score);
            assert!((polished.score - whole.score).abs() < 0.1, "{parents} parents");
            assert!(wider.abs() < 1.0, "{parents} parents: {wider}");
        }
    }

    /// Laplace's method against sums over a grid: without parents within a tenth of a nat; with one parent, where sizes and
    /// lengths can stand in for each other, within a nat, both for a function that is there and for one that is not.
    #[test]
    fn the_width_of_the_maximum_is_that_of_the_integral() {
        for (parents, rows, allowed) in [(0, 30, 0.1), (1, 30, 1.0)] {
            for (set, columns) in [(1, columns(1 + parents, rows, 40)), (2, smooth(parents, rows, 41))] {
                let regression = regression(&columns);
                let found = regression.fitted(&usual(parents)).unwrap();
                let laplace = found.score + regression.shape(&found).unwrap().log_width(rows);
                let Place { hyper, score: largest, .. } = found;
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
