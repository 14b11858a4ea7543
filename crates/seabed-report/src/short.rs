//! Numbers as people say them: in messages, forms and tables of reports.

/// A number to three digits, as people say it; files and JSON have all digits.
pub fn short(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e6).contains(&magnitude) {
        return format!("{value:.2e}");
    }
    let decimals = (2 - magnitude.log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_said_to_three_digits() {
        for (value, said) in [
            (2.8314, "2.83"),
            (-0.001234, "-0.00123"),
            (1234.5, "1234"),
            (1.0, "1"),
            (0.5, "0.5"),
            (0.0, "0"),
            (123456789.0, "1.23e8"),
            (99.96, "100"),
            (-1e-9, "-1.00e-9"),
        ] {
            assert_eq!(short(value), said);
        }
    }
}
