//! Wilcoxon's signed-rank test: are paired differences centred on zero?
//!
//! Two-sided. Zero differences are dropped before ranking (Wilcoxon's way, not Pratt's); tied sizes share their mean
//! rank. Up to 200 differences the distribution given the ranks is exact, ties included: every pattern of
//! signs is equally likely under the null hypothesis. Above, it is the normal one with the variance corrected for
//! ties and the continuity correction.

use crate::num::special::erfc;

/// The largest number of non-zero differences for which the distribution is exact.
const EXACT_UP_TO: usize = 200;

/// Two-sided p of the hypothesis that the differences are symmetric about zero; 1 if all are zero, none without any.
/// The differences must be finite.
pub fn wilcoxon_signed_rank(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() {
        return None;
    }
    let mut moved: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    moved.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let ranks = doubled_ranks(&moved);
    let positive = moved.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| *rank).sum();
    Some(if ranks.len() <= EXACT_UP_TO { exact(&ranks, positive) } else { normal(&ranks, positive) })
}

/// Twice the mean rank of each difference, which is a whole number; `sorted` by size.
fn doubled_ranks(sorted: &[f64]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    for tied in sorted.chunk_by(|a, b| a.abs() == b.abs()) {
        // Places first..=last, counted from 1, have the mean (first + last) / 2.
        let first = ranks.len() + 1;
        ranks.extend(std::iter::repeat_n(2 * first + tied.len() - 1, tied.len()));
    }
    ranks
}

/// Twice the smaller tail at the doubled rank sum, by the distribution of the sum over all patterns of signs.
fn exact(ranks: &[usize], sum: usize) -> f64 {
    let mut probability = vec![0.0; ranks.iter().sum::<usize>() + 1];
    probability[0] = 1.0;
    let mut largest = 0;
    for &rank in ranks {
        for total in (0..=largest).rev() {
            probability[total] *= 0.5;
            probability[total + rank] += probability[total];
        }
        largest += rank;
    }
    let below: f64 = probability[..=sum].iter().sum();
    let above: f64 = probability[sum..].iter().rev().sum();
    (2.0 * below.min(above)).min(1.0)
}

fn normal(ranks: &[usize], sum: usize) -> f64 {
    let mean = ranks.iter().sum::<usize>() as f64 / 2.0;
    // A sign adds its (doubled) rank or nothing: variance rank² / 4. Mean ranks carry the correction for ties.
    let variance: f64 = ranks.iter().map(|&rank| (rank as f64).powi(2) / 4.0).sum();
    // Half a step of the rank sum is one unit of its double.
    let distance = ((sum as f64 - mean).abs() - 1.0).max(0.0);
    erfc(distance / (2.0 * variance).sqrt()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By writing out every pattern of signs; for few differences.
    fn by_all_signs(differences: &[f64]) -> f64 {
        let moved: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
        let rank = |i: usize| {
            let smaller = moved.iter().filter(|d| d.abs() < moved[i].abs()).count();
            let equal = moved.iter().filter(|d| d.abs() == moved[i].abs()).count();
            smaller as f64 + (equal as f64 + 1.0) / 2.0
        };
        let ranks: Vec<f64> = (0..moved.len()).map(rank).collect();
        let sum = |positive: &dyn Fn(usize) -> bool| {
            (0..ranks.len()).filter(|i| positive(*i)).map(|i| ranks[i]).sum::<f64>()
        };
        let observed = sum(&|i| moved[i] > 0.0);
        let patterns = 1usize << ranks.len();
        let sums: Vec<f64> = (0..patterns).map(|bits| sum(&|i| bits >> i & 1 == 1)).collect();
        let below = sums.iter().filter(|s| **s <= observed).count() as f64;
        let above = sums.iter().filter(|s| **s >= observed).count() as f64;
        (2.0 * below.min(above) / patterns as f64).min(1.0)
    }

    #[test]
    fn agrees_with_all_patterns_of_signs() {
        let cases: [&[f64]; 7] = [
            &[1.0],
            &[0.0, -2.0, 3.0],
            &[1.0, 1.0, -1.0, 1.0, 2.0],
            &[0.5, -0.25, 0.75, 1.0, -0.125, 2.0, 3.0],
            &[1.0, -1.0, 2.0, -2.0, 3.0, -3.0],
            &[4.0, 4.0, 4.0, -1.0, 0.0, 0.0, 2.0, 2.0, 7.0, -7.0],
            &[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0, 9.0, -10.0, -11.0, 12.0],
        ];
        for case in cases {
            let (fast, slow) = (wilcoxon_signed_rank(case).unwrap(), by_all_signs(case));
            assert!((fast - slow).abs() < 1e-14, "{case:?}: {fast} against {slow}");
        }
    }

    /// `negative` holds the ranks with a negative sign among 1..=n.
    fn with_rank_sum(n: usize, mut negative: usize) -> Vec<f64> {
        let mut differences: Vec<f64> = (1..=n).map(|rank| rank as f64).collect();
        for rank in (1..=n).rev() {
            if rank <= negative {
                differences[rank - 1] *= -1.0;
                negative -= rank;
            }
        }
        assert_eq!(negative, 0);
        differences
    }

    #[test]
    fn critical_values_are_those_of_the_published_tables() {
        // (n, level, largest rank sum that is significant on that level, two-sided), as in Wilcoxon's tables.
        let table = [
            (6, 0.05, 0),
            (7, 0.05, 2),
            (8, 0.05, 3),
            (9, 0.05, 5),
            (10, 0.05, 8),
            (15, 0.05, 25),
            (20, 0.05, 52),
            (25, 0.05, 89),
            (50, 0.05, 434),
            (10, 0.01, 3),
            (20, 0.01, 37),
            (25, 0.01, 68),
        ];
        for (n, level, critical) in table {
            let p = |sum| wilcoxon_signed_rank(&with_rank_sum(n, sum)).unwrap();
            assert!(p(critical) <= level, "n {n}: {} at {critical}", p(critical));
            assert!(p(critical + 1) > level, "n {n}: {} at {}", p(critical + 1), critical + 1);
        }
    }

    #[test]
    fn a_case_by_hand() {
        // 25 of the 1024 subsets of 1..=10 have a sum of at most 8.
        assert_eq!(wilcoxon_signed_rank(&with_rank_sum(10, 8)), Some(50.0 / 1024.0));
        assert_eq!(wilcoxon_signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0]), Some(2.0 / 32.0));
        assert_eq!(wilcoxon_signed_rank(&[0.0, 0.0]), Some(1.0));
        assert_eq!(wilcoxon_signed_rank(&[]), None);
    }

    #[test]
    fn the_sign_of_all_differences_does_not_matter() {
        let differences = [0.3, -0.1, 0.3, 0.8, -0.2, 0.0, 1.5, -0.8];
        let turned = differences.map(|d: f64| -d);
        assert_eq!(wilcoxon_signed_rank(&differences), wilcoxon_signed_rank(&turned));
    }

    #[test]
    fn the_normal_distribution_takes_over_where_the_exact_one_ends() {
        // The first term that the normal distribution leaves out is excess / 24 * He3(z) * phi(z) in each tail. The
        // excess kurtosis of the rank sum is -18 / (5 n) and |He3 * phi| is at most 0.56, so that p is off by at most
        // 0.168 / n; rounding up leaves room for ties and the next term.
        let limit = 0.2 / EXACT_UP_TO as f64;
        for keep in [2, 3, 5] {
            let differences: Vec<f64> = (1..=EXACT_UP_TO)
                .map(|i| (i / 3) as f64 + 1.0)
                .enumerate()
                .map(|(i, size)| if i % 16 < 8 - keep / 2 { -size } else { size })
                .collect();
            let ranks = doubled_ranks(&differences);
            let sum = differences.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, r)| *r).sum();
            let (exact, normal) = (exact(&ranks, sum), normal(&ranks, sum));
            assert!((0.001..0.5).contains(&exact), "{exact} tests no tail");
            assert!((exact - normal).abs() < limit, "{exact} against {normal}");
        }
    }
}
