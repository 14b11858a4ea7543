//! Sums in a fixed order, and the logarithm of a sum of exponentials.

use multiversion::multiversion;

use super::elementwise;

/// The sum, added from the first number to the last. Parallel work is reduced with this, so that the number of
/// threads never shows in the result.
pub fn sum_in_order(values: &[f64]) -> f64 {
    values.iter().sum()
}

/// The exponential of this or anything below is lost beside a term exp(0), but denormal numbers take processors a
/// hundred times as long.
pub(crate) const NEGLIGIBLE: f64 = -700.0;

/// At least [`NEGLIGIBLE`].
#[inline(always)]
pub(crate) fn not_below(x: f64) -> f64 {
    // NaN stays: comparisons with it are false.
    if x < NEGLIGIBLE { NEGLIGIBLE } else { x }
}

/// ln Σ exp(values), without overflow. The empty sum is -inf, any NaN gives NaN, and infinities are exact.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub fn log_sum_exp(values: &[f64]) -> f64 {
    // A fixed number of lanes, whatever the machine's vectors are: the order of additions is part of the result.
    const LANES: usize = 8;
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    let mut maxima = [f64::NEG_INFINITY; LANES];
    let mut chunks = values.chunks_exact(LANES);
    for chunk in &mut chunks {
        for lane in 0..LANES {
            maxima[lane] = larger(maxima[lane], chunk[lane]);
        }
    }
    let largest = maxima.iter().chain(chunks.remainder()).fold(f64::NEG_INFINITY, |a, &b| larger(a, b));
    if largest.is_infinite() {
        // All are -inf (or there are none), or one is inf: no difference can be taken, and NaN must pass through.
        let nan = values.iter().any(|x| x.is_nan());
        return if nan { f64::NAN } else { largest };
    }
    let mut sums = [0.0; LANES];
    let mut chunks = values.chunks_exact(LANES);
    for chunk in &mut chunks {
        for lane in 0..LANES {
            sums[lane] += elementwise::exp(not_below(chunk[lane] - largest));
        }
    }
    for (lane, x) in chunks.remainder().iter().enumerate() {
        sums[lane] += elementwise::exp(not_below(x - largest));
    }
    largest + sums.iter().sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn log_sum_exp_is_exact_at_the_limits() {
        let inf = f64::INFINITY;
        assert_eq!(log_sum_exp(&[]), -inf);
        assert_eq!(log_sum_exp(&[-inf, -inf]), -inf);
        assert_eq!(log_sum_exp(&[-inf, 3.0]), 3.0);
        assert_eq!(log_sum_exp(&[1.0, inf, -inf]), inf);
        assert_eq!(log_sum_exp(&[1000.0]), 1000.0);
        assert_eq!(log_sum_exp(&[-1e308, -1e308]), -1e308);
        for values in [[f64::NAN, 1.0], [f64::NAN, inf], [f64::NAN, -inf]] {
            assert!(log_sum_exp(&values).is_nan());
        }
    }

    proptest! {
        #[test]
        fn log_sum_exp_agrees_with_the_definition(values in proptest::collection::vec(-30.0..30.0f64, 1..50)) {
            let plain = values.iter().map(|x| x.exp()).sum::<f64>().ln();
            prop_assert!((log_sum_exp(&values) - plain).abs() < 1e-13 * (1.0 + plain.abs()));
            let shifted: Vec<f64> = values.iter().map(|x| x - 5000.0).collect();
            prop_assert!((log_sum_exp(&shifted) + 5000.0 - plain).abs() < 1e-11);
        }
    }
}
