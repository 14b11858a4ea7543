//! Internal units: a value is (x - mean) / sd. Nothing here depends on the unit of the data.

/// Where a variable varies by less than this fraction of its size, what varies is rounding.
const LEAST_VARIATION: f64 = 1e-13;
/// The square of a smaller spread soon vanishes.
const LEAST_SPREAD: f64 = 1e-140;
/// The spread of a variable that does not vary, as a fraction of its size.
const SPREAD_OF_CONSTANTS: f64 = 1e-6;
/// The spread of a variable that is always 0, for which there is no size to go by.
const SPREAD_OF_ZERO: f64 = 1e-9;

/// Mean and standard deviation of at least one value; the latter is never 0.
pub(super) fn mean_and_sd(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    match moments(values) {
        (mean, sd) if is_spread(mean, sd) => (mean, sd),
        (mean, _) if mean.abs() > LEAST_SPREAD => (mean, SPREAD_OF_CONSTANTS * mean.abs()),
        (mean, _) => (mean, SPREAD_OF_ZERO),
    }
}

/// Do the values differ by more than rounding?
pub(super) fn vary(values: impl Iterator<Item = f64> + Clone) -> bool {
    let (mean, sd) = moments(values);
    is_spread(mean, sd)
}

fn is_spread(mean: f64, sd: f64) -> bool {
    sd > LEAST_VARIATION * mean.abs() && sd > LEAST_SPREAD
}

/// Mean and standard deviation, exact to the last digits even far from 0.
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let Some(origin) = values.clone().next() else { return (0.0, 0.0) };
    let count = values.clone().count() as f64;
    let shift = values.clone().map(|x| x - origin).sum::<f64>() / count;
    let variance = values.map(|x| (x - origin - shift).powi(2)).sum::<f64>() / count;
    (origin + shift, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> (f64, f64) {
        mean_and_sd(values.iter().copied())
    }

    #[test]
    fn constants_have_a_spread_of_a_millionth_of_their_size() {
        assert_eq!(of(&[1.0, 3.0, 5.0, 7.0]), (4.0, 5f64.sqrt()));
        assert_eq!(of(&[-2e6, -2e6]), (-2e6, 2.0));
        assert_eq!(of(&[0.0]), (0.0, 1e-9));
        assert_eq!(of(&[0.1; 7]), (0.1, 1e-7));
        assert!(!vary([0.3, 0.1 + 0.2].into_iter()) && vary([1.0, 1.0 + 1e-9].into_iter()));
    }

    #[test]
    fn units_scale_and_shift() {
        let values = [1.0, 3.0, 5.0, 7.0, 12.0];
        let (mean, sd) = of(&values);
        for power in [-100, -12, 0, 12, 100] {
            let unit = 10f64.powi(power);
            let (scaled, spread) = of(&values.map(|x| unit * x));
            assert!((scaled / unit / mean - 1.0).abs() < 1e-14 && (spread / unit / sd - 1.0).abs() < 1e-14);
        }
        let (shifted, spread) = of(&values.map(|x| x + 1e9));
        assert!((shifted - 1e9 - mean).abs() < 1e-6 && (spread / sd - 1.0).abs() < 1e-6);
    }
}
