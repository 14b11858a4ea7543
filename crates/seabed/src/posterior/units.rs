//! Internal units: a value is (x - mean) / sd.

/// The standard deviation of a constant variable, as a fraction of its size.
const LEAST_SD: f64 = 1e-6;

/// Mean and standard deviation of at least one value; the latter is never 0.
pub(super) fn mean_and_sd(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt().max(LEAST_SD * mean.abs().max(1e-3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_a_spread_of_a_millionth_of_their_size() {
        let of = |values: &[f64]| mean_and_sd(values.iter().copied());
        assert_eq!(of(&[1.0, 3.0, 5.0, 7.0]), (4.0, 5f64.sqrt()));
        assert_eq!(of(&[-2e6, -2e6]), (-2e6, 2.0));
        assert_eq!(of(&[0.0]), (0.0, 1e-9));
    }
}
