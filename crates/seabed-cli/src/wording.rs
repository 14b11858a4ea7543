//! Names that several commands take, with what they mean.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use seabed::posterior::PosteriorKind;

/// What `--posterior` is for.
pub const POSTERIOR_HELP: &str = "How to learn";

/// Posteriors by name.
pub fn posterior_parser() -> impl TypedValueParser<Value = PosteriorKind> {
    let values = PosteriorKind::ALL.map(|(name, what)| PossibleValue::new(name).help(what));
    PossibleValuesParser::new(values).map(|name| PosteriorKind::named(&name).expect("one of the names"))
}
