//! Axes: round tick marks, and numbers formatted for readers.

/// A linear map from data to the page, with round tick marks at its ends.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    /// Where `low` and `high` are on the page.
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) ticks: Vec<f64>,
    step: f64,
}

/// Can this value be drawn? Values beyond any measurement would overflow the arithmetic of a scale.
pub(crate) fn drawable(value: f64) -> bool {
    value.is_finite() && value.abs() < 1e100
}

impl Scale {
    /// Covers the drawable values, on `from..to` of the page; whole numbers get whole ticks.
    pub(crate) fn covering(
        values: impl Iterator<Item = f64>,
        whole: bool,
        from: f64,
        to: f64,
        ticks: usize,
    ) -> Self {
        let range =
            values.filter(|v| drawable(*v)).map(|v| (v, v)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let (mut low, mut high) = range.unwrap_or((0.0, 1.0));
        // Rounding noise on a constant is not a range.
        let least = 1e-9 * low.abs().max(high.abs());
        if high - low <= least {
            let half = if low == 0.0 || whole { 1.0 } else { 0.1 * low.abs() };
            (low, high) = (if whole && low >= 0.0 { (low - half).max(0.0) } else { low - half }, high + half);
        }
        let mut step = round_step((high - low) / ticks.max(1) as f64);
        if whole {
            step = step.max(1.0);
        }
        let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
        let count = (last - first) as usize;
        let ticks: Vec<f64> = (0..=count).map(|k| (first + k as f64) * step).collect();
        Scale { low: first * step, high: last * step, from, to, ticks, step }
    }

    pub(crate) fn place(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// A tick as text, with the decimals that its step needs.
    pub(crate) fn label(&self, tick: f64) -> String {
        let largest = self.low.abs().max(self.high.abs());
        if largest >= 1e6 || self.step < 1e-4 {
            return if tick == 0.0 { "0".into() } else { minus(format!("{:.1e}", tick)) };
        }
        let decimals = (-self.step.log10().floor()).max(0.0) as usize;
        // 0.25 needs one digit more than 0.2 and 0.5.
        let decimals = decimals + usize::from((self.step * 10f64.powi(decimals as i32)).fract() > 1e-6);
        minus(format!("{:.decimals$}", if tick == 0.0 { 0.0 } else { tick }))
    }
}

/// 1, 2, 2.5 or 5 times a power of ten, at least `raw`.
fn round_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|f| f * power >= raw * (1.0 - 1e-9)).unwrap_or(10.0);
    factor * power
}

/// A number with four significant digits; `–` for one that is missing.
pub(crate) fn number(value: Option<f64>) -> String {
    let Some(value) = value.filter(|v| v.is_finite()) else { return "–".into() };
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e6).contains(&size) {
        return minus(format!("{value:.2e}"));
    }
    let decimals = (3 - size.log10().floor() as i32).max(0) as usize;
    minus(format!("{value:.decimals$}"))
}

/// `mean ± standard error`, the error with two significant digits and the mean with as many decimals.
pub(crate) fn with_error(mean: f64, error: Option<f64>) -> String {
    let Some(error) = error.filter(|e| e.is_finite()) else { return number(Some(mean)) };
    if !(1e-4..1e6).contains(&error) || mean.abs() >= 1e6 {
        return format!("{} ± {}", number(Some(mean)), number(Some(error)));
    }
    let decimals = (1 - error.log10().floor() as i32).max(0) as usize;
    let mean = minus(format!("{mean:.decimals$}"));
    format!("{mean} ± {error:.decimals$}")
}

/// A p-value with three decimals, or `< 0.001`.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".into() } else { format!("{p:.3}") }
}

/// With a true minus sign, and no negative zero.
fn minus(text: String) -> String {
    let zero = text.starts_with('-') && !text.contains(['1', '2', '3', '4', '5', '6', '7', '8', '9']);
    if zero { text[1..].to_string() } else { text.replace('-', "−") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f64], whole: bool) -> Vec<String> {
        let scale = Scale::covering(values.iter().copied(), whole, 0.0, 100.0, 5);
        scale.ticks.iter().map(|tick| scale.label(*tick)).collect()
    }

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        assert_eq!(labels(&[0.0, 100.0], true), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(&[0.62, 0.97], false), ["0.6", "0.7", "0.8", "0.9", "1.0"]);
        assert_eq!(labels(&[0.0, 1.2], false), ["0.00", "0.25", "0.50", "0.75", "1.00", "1.25"]);
        assert_eq!(labels(&[-10.0, 10.0], false), ["−10", "−5", "0", "5", "10"]);
        assert_eq!(labels(&[0.0, 3.0], true), ["0", "1", "2", "3"]);
    }

    #[test]
    fn odd_values_have_an_axis_too() {
        assert_eq!(labels(&[], false).first().map(String::as_str), Some("0.0"));
        assert!(labels(&[5.0, 5.0], false).len() > 1);
        assert!(labels(&[0.0], true).len() > 1);
        assert!(labels(&[f64::NAN, f64::INFINITY, 1e300, 3.0], false).len() < 12);
        assert!(labels(&[-1e99, 1e99], false).len() < 12);
        assert!(labels(&[1e-30, 2e-30], false).len() < 12);
        assert!(labels(&[1.0, 1.0 + 1e-15], false).len() < 12);
    }

    #[test]
    fn values_go_to_their_place() {
        let scale = Scale::covering([0.0, 50.0].into_iter(), true, 200.0, 100.0, 5);
        assert_eq!((scale.place(0.0), scale.place(25.0), scale.place(50.0)), (200.0, 150.0, 100.0));
    }

    #[test]
    fn numbers_as_text() {
        assert_eq!(number(Some(0.012342)), "0.01234");
        assert_eq!(number(Some(-12.5)), "−12.50");
        assert_eq!(number(Some(f64::NAN)), "–");
        assert_eq!(number(None), "–");
        assert_eq!(with_error(12.3456, Some(0.234)), "12.35 ± 0.23");
        assert_eq!(with_error(-0.0001, Some(0.02)), "0.000 ± 0.020");
        assert_eq!(with_error(123.4, Some(12.0)), "123 ± 12");
        assert_eq!(with_error(2.0, None), "2.000");
        assert_eq!(with_error(2.0, Some(0.0)), "2.000 ± 0");
        assert_eq!((p_value(0.0004), p_value(0.04882)), ("< 0.001".into(), "0.049".into()));
    }
}
