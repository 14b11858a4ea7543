//! Texts in tables that people open in a spreadsheet: one that begins like a formula would be run there.

use std::borrow::Cow;

/// What begins a formula, or is skipped before one.
const BEGINS: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Would a spreadsheet run the text, or is it such a text made harmless, perhaps several times?
fn runs(text: &str) -> bool {
    let inner = text.trim_start_matches('\'');
    inner.starts_with(BEGINS) && inner.parse::<f64>().is_err()
}

/// The text with an apostrophe before it if a spreadsheet would run it; numbers stay as they are.
pub fn harmless_cell(text: &str) -> Cow<'_, str> {
    if runs(text) { format!("'{text}").into() } else { text.into() }
}

/// The text that was made harmless.
pub fn original_cell(text: &str) -> &str {
    text.strip_prefix('\'').filter(|_| runs(text)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_made_harmless_and_come_back() {
        for text in ["=cmd|' /C calc'!A0", "+a", "-x", "@SUM(A1)", "\t=1", "'=x", "''-y", "--1"] {
            let shown = harmless_cell(text);
            assert!(shown.starts_with('\'') && original_cell(&shown) == text, "{shown}");
        }
        for text in ["", "-1.5", "+2", "1e-3", "-", "x", "'quoted'", "a=b", "-inf"] {
            let shown = harmless_cell(text);
            assert_eq!(original_cell(&shown), text);
            assert!(text == "-" || shown == text, "{shown}");
        }
    }
}
