//! Named values that several commands accept, with their help texts.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use seabed::posterior::PosteriorKind;
pub use seabed_report::short;

/// The help of `--posterior`.
pub const POSTERIOR_HELP: &str = "How to learn the posterior";

/// Posteriors by name.
pub fn posterior_parser() -> impl TypedValueParser<Value = PosteriorKind> {
    let values = PosteriorKind::ALL.map(|(name, what)| PossibleValue::new(name).help(what));
    PossibleValuesParser::new(values).map(|name| PosteriorKind::named(&name).expect("one of the names"))
}
