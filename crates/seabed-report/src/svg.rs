//! Hand-written SVG: escaping, coordinates, text width, and figures for use in a page or alone.

use std::fmt::Write;

use crate::style;

/// A drawing in its own coordinates, one unit per pixel.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Figure {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// A description for those who cannot see it.
    pub(crate) title: String,
    pub(crate) body: String,
}

/// How every figure that is a document of its own begins.
pub(crate) const FIGURE_HEAD: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ";

impl Figure {
    /// As part of a page, whose style sheet colours it.
    pub(crate) fn inline(&self) -> String {
        let (width, height) = (at(self.width), at(self.height));
        let title = escape(&self.title);
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
             aria-label=\"{title}\">{}</svg>",
            self.body
        )
    }

    /// As a document of its own, in light colours on white.
    pub(crate) fn document(&self) -> String {
        let (width, height) = (at(self.width), at(self.height));
        format!(
            "{FIGURE_HEAD}{width} {height}\" width=\"{width}\" \
             height=\"{height}\">\n<title>{}</title>\n<style>\n{}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            escape(&self.title),
            style::figure_rules_light(),
            self.body
        )
    }

    /// This figure with another below it.
    pub(crate) fn above(mut self, below: &Figure) -> Figure {
        let _ = writeln!(self.body, "<g transform=\"translate(0 {})\">{}</g>", at(self.height), below.body);
        self.height += below.height;
        self.width = self.width.max(below.width);
        self
    }
}

/// Escapes text so that it cannot leave its element or attribute; characters that XML forbids become U+FFFD.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A coordinate with at most one decimal.
pub(crate) fn at(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // Adding zero turns -0 into 0.
    format!("{}", rounded + 0.0)
}

/// A slight overestimate of the width of the text in a usual sans-serif face of this size.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let width = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ' ' | '|' | '\'' | ':' => 0.36,
        'm' | 'w' | 'M' | 'W' | '@' => 0.98,
        c if c.is_uppercase() => 0.74,
        c if (c as u32) < 0x2000 => 0.62,
        _ => 1.05,
    };
    text.chars().map(width).sum::<f64>() * size
}

/// The text, shortened with an ellipsis if it is wider than the given width.
pub(crate) fn fitted(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_string();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if text_width(&kept, size) + text_width(&c.to_string(), size) + 0.9 * size > width {
            break;
        }
        kept.push(c);
    }
    kept.push('…');
    kept
}

/// A piece of a file name: letters, digits and hyphens.
pub(crate) fn stem(text: &str) -> String {
    let mut stem = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            stem.push(c.to_ascii_lowercase());
        } else if !stem.ends_with('-') && !stem.is_empty() {
            stem.push('-');
        }
    }
    stem.trim_end_matches('-').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_out() {
        assert_eq!(escape("<a & 'b' \"c\">\u{1}"), "&lt;a &amp; &#39;b&#39; &quot;c&quot;&gt;\u{fffd}");
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!((at(1.0), at(2.345), at(-0.01)), ("1".into(), "2.3".into(), "0".into()));
    }

    #[test]
    fn long_text_is_cut_to_its_width() {
        let cut = fitted("a very long label of a strategy", 12.0, 90.0);
        assert!(cut.ends_with('…') && text_width(&cut, 12.0) <= 93.0, "{cut}");
        assert_eq!(fitted("short", 12.0, 90.0), "short");
    }

    #[test]
    fn stems_are_plain() {
        assert_eq!(stem("linear ER, d = 20 / bootstrap"), "linear-er-d-20-bootstrap");
    }
}
