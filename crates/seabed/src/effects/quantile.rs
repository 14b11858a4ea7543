//! Intervals of weighted values.

use super::COVERAGE;

/// The interval that leaves half of what [`COVERAGE`] leaves on both sides. Each end is one of the values.
pub(super) fn interval(values: &[f64], weights: &[f64]) -> [f64; 2] {
    let tail = (1.0 - COVERAGE) / 2.0;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let total: f64 = weights.iter().sum();
    // A value between two ends would be a graph that nobody drew; rounding of the weights must not skip one.
    let at = |share: f64| {
        let mut below = 0.0;
        for &k in &order {
            below += weights[k];
            if below >= (share - 1e-12) * total {
                return values[k];
            }
        }
        order.last().map_or(f64::NAN, |&k| values[k])
    };
    [at(tail), at(1.0 - tail)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_left_out_on_both_sides() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(interval(&values, &[0.01; 100]), [5.0, 95.0]);
        assert_eq!(interval(&[3.0, 0.0], &[0.97, 0.03]), [3.0, 3.0]);
        assert_eq!(interval(&[3.0, 0.0], &[0.9, 0.1]), [0.0, 3.0]);
        assert_eq!(interval(&[7.0], &[1.0]), [7.0, 7.0]);
    }
}
