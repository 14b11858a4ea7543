//! The curve along which the values of a node look most normal, found from the node alone, where nothing was set: what
//! follows from setting its causes to extremes is no sign of tails.
//!
//! A process with normal noise is surprised by values far out, and explains each by whatever parent happens to set its row
//! apart. Along the curve there are none. The curve is one of two ways to see the node: with every set of parents both
//! are tried, and weighed by how likely they make the data.

use crate::belief::Warp;

/// A curve and what it is worth against the straight line, in nats.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Curve {
    pub warp: Warp,
    /// Σ ln dz/du over the rows, less what the two numbers found from the data cost.
    pub log_volume: f64,
}

/// Centres that are tried first, as quantiles, and the steps of the width, of which it is a power.
const QUANTILES: usize = 13;
const WIDTHS: usize = 12;
const REFINEMENTS: usize = 6;
/// The narrowest curve, in median distances from the median; a narrower one would reward values that are only rounded.
const NARROWEST: f64 = 0.1;
const WIDEST: f64 = 8.0;

/// The most likely curve of `values`, if it is likelier than the straight line, and its volume at `rows`.
pub(super) fn curve(values: &[f64], rows: &[f64]) -> Option<Curve> {
    let n = values.len();
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quantile = |share: f64| sorted[((n - 1) as f64 * share).round() as usize];
    let median = quantile(0.5);
    let mut distances: Vec<f64> = sorted.iter().map(|x| (x - median).abs()).collect();
    distances.sort_by(f64::total_cmp);
    // Values that are counts, or rounded, tell nothing below half of the usual step between them.
    let mut steps: Vec<f64> =
        sorted.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0).collect();
    steps.sort_by(f64::total_cmp);
    let step = steps.get(steps.len() / 2).copied()?;
    let narrowest = (NARROWEST * distances[n / 2]).max(0.5 * step);
    let ratio = (WIDEST / narrowest).max(1.0).ln() / (WIDTHS - 1) as f64;
    let widths = (0..WIDTHS).map(|k| narrowest * (ratio * k as f64).exp());
    let centres = (0..QUANTILES).map(|k| quantile(k as f64 / (QUANTILES - 1) as f64));
    let tried = widths.flat_map(|width| centres.clone().map(move |centre| (centre, width)));
    let mut best =
        tried.map(|at| (log_likelihood(values, at), at)).reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    let (mut sideways, mut wider) = (0.5, 0.5 * ratio);
    for _ in 0..REFINEMENTS {
        let (centre, width) = best.1;
        for (side, wide) in [(-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)] {
            let there = (centre + side * sideways * width, (width * f64::exp(wide * wider)).max(narrowest));
            let found = log_likelihood(values, there);
            if found > best.0 {
                best = (found, there);
            }
        }
        (sideways, wider) = (0.6 * sideways, 0.6 * wider);
    }
    let (centre, width) = best.1;
    let (mean, sd) = moments(values.iter().map(|u| ((u - centre) / width).asinh()));
    let warp = Warp { centre, width, mean, sd };
    // Two numbers known to about 1/√n each.
    let cost = (n as f64).ln();
    let log_volume = |of: &[f64]| of.iter().map(|u| warp.log_slope(*u)).sum::<f64>() - cost;
    // Along the curve the spread is 1; on the straight line it is not where the unit is that of other rows.
    let (_, spread) = moments(values.iter().copied());
    let gained = log_volume(values) + n as f64 * spread.ln();
    let log_volume = log_volume(rows);
    (gained > 0.0 && log_volume.is_finite() && warp.is_valid()).then_some(Curve { warp, log_volume })
}

/// Of values along the curve as normal ones of any mean and spread, up to a constant: what is left is the volume.
fn log_likelihood(values: &[f64], (centre, width): (f64, f64)) -> f64 {
    let along = |u: &f64| ((u - centre) / width).asinh();
    let (_, sd) = moments(values.iter().map(along));
    let slope = |u: &f64| -0.5 * ((u - centre) / width).powi(2).ln_1p();
    let sum = values.iter().map(slope).sum::<f64>() - values.len() as f64 * (sd * width).ln();
    if sum.is_finite() { sum } else { f64::NEG_INFINITY }
}

fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    (mean, (values.map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Seed};

    fn standardised(of: impl Fn(f64) -> f64, rows: usize, seed: u64) -> Vec<f64> {
        let mut draws = Seed::new(seed).stream(Purpose::Mcmc).draws();
        let values: Vec<f64> = (0..rows).map(|_| of(draws.normal())).collect();
        let (mean, sd) = moments(values.iter().copied());
        values.iter().map(|x| (x - mean) / sd).collect()
    }

    fn of(values: &[f64]) -> Option<Curve> {
        curve(values, values)
    }

    /// Normal values keep their straight line in at least 19 of 20 sets, lognormal ones and others with heavy tails are normal
    /// along their curve: skewness and excess kurtosis of 400 values below 0.6 and 1.2 (five standard errors).
    #[test]
    fn curves_are_found_where_there_are_tails() {
        let straight = (0..20).filter(|&seed| of(&standardised(|z| z, 200, seed)).is_none()).count();
        assert!(straight >= 19, "{straight}");
        let shapes: [fn(f64) -> f64; 3] = [|z| z.exp(), |z| (1.5 * z).exp(), |z| z * (0.3 * z * z).exp()];
        for (k, shape) in shapes.into_iter().enumerate() {
            for seed in 0..5 {
                let values = standardised(shape, 400, 100 + seed);
                let Curve { warp, log_volume } = of(&values).expect("heavy tails");
                let z: Vec<f64> = values.iter().map(|u| warp.inside(*u)).collect();
                let moment = |power: i32| z.iter().map(|z| z.powi(power)).sum::<f64>() / 400.0;
                assert!(moment(1).abs() < 1e-9 && (moment(2) - 1.0).abs() < 1e-9);
                assert!(
                    moment(3).abs() < 0.6 && (moment(4) - 3.0).abs() < 1.2,
                    "{k}: {} {}",
                    moment(3),
                    moment(4)
                );
                assert!(log_volume > 20.0);
            }
        }
    }

    /// Extremes that follow from experiments make no curve, and where there is one its volume is that of all rows.
    #[test]
    fn experiments_are_no_tails() {
        let calm = standardised(|z| z, 100, 7);
        let rows: Vec<f64> = calm.iter().copied().chain([30.0, -25.0, 60.0, 40.0]).collect();
        assert!(of(&rows).is_some() && curve(&calm, &rows).is_none());
        let tailed = standardised(|z| (1.5 * z).exp(), 100, 8);
        let rows: Vec<f64> = tailed.iter().copied().chain([30.0, 60.0]).collect();
        let (less, more) = (of(&tailed).unwrap(), curve(&tailed, &rows).unwrap());
        let added: f64 = [30.0, 60.0].iter().map(|u| less.warp.log_slope(*u)).sum();
        assert!(less.warp == more.warp && (more.log_volume - less.log_volume - added).abs() < 1e-9);
    }
}
