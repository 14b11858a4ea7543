//! Ranks, and correlations of them: how heavy the tails of the values are does not matter.

use crate::num::special::student_tail;

/// Mid-ranks of the values, evenly spread over (-½, ½); their sum is 0.
pub(super) fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; n];
    let mut first = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let middle = first as f64 + 0.5 * tied.len() as f64;
        for &at in tied {
            ranks[at] = middle / n as f64 - 0.5;
        }
        first += tied.len();
    }
    ranks
}

/// Pearson's correlation; 0 if one of the two does not vary.
pub(super) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().max(1) as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x - mean_a, y - mean_b);
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    if aa > 0.0 && bb > 0.0 { (ab / (aa * bb).sqrt()).clamp(-1.0, 1.0) } else { 0.0 }
}

/// The probability of a correlation at least as far from 0 between independent ranks of so many rows.
pub(super) fn correlation_tail(correlation: f64, rows: f64) -> f64 {
    let degrees = (rows - 2.0).max(1.0);
    let rest = (1.0 - correlation * correlation).max(1e-300);
    student_tail((correlation * correlation * degrees / rest).sqrt(), degrees)
}
