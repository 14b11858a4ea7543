//! Questions as people write them: `edge=A,B`, `parents=A`, `descendants=A` or `effect=A,B`, by the variables' names.

use super::goal::Goal;
use crate::data::{closest, did_you_mean, position};
use crate::graph::Node;

/// A text that is no question about the variables.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GoalError {
    /// Another form.
    #[error("{text}: not a valid goal; write edge=A,B, parents=A, descendants=A or effect=A,B")]
    Form {
        /// What was written.
        text: String,
    },
    /// A name that no variable has.
    #[error("{text}: there is no variable {name:?}{}", did_you_mean(near.as_deref()))]
    Unknown {
        /// What was written.
        text: String,
        /// The name.
        name: String,
        /// The name that was probably meant.
        near: Option<String>,
    },
}

impl Goal {
    /// The question that the text asks about variables with these names.
    pub fn parse(text: &str, names: &[String]) -> Result<Self, GoalError> {
        let wrong = || GoalError::Form { text: text.to_string() };
        let node = |name: &str| -> Result<Node, GoalError> {
            position(names, name.trim()).ok_or_else(|| GoalError::Unknown {
                text: text.to_string(),
                name: name.to_string(),
                near: closest(name.trim(), names).map(str::to_string),
            })
        };
        let (kind, rest) = text.split_once('=').ok_or_else(wrong)?;
        // A name may contain a comma: split at the one that leaves a variable on both sides.
        let commas = || rest.match_indices(',').map(|(at, _)| (&rest[..at], &rest[at + 1..]));
        let known = |name: &str| position(names, name.trim()).is_some();
        let two = || {
            let (a, b) =
                commas().find(|(a, b)| known(a) && known(b)).or_else(|| commas().next()).ok_or_else(wrong)?;
            let (a, b) = (node(a)?, node(b)?);
            if a == b { Err(wrong()) } else { Ok((a, b)) }
        };
        match kind {
            "edge" => two().map(|(from, to)| Self::Edge { from, to }),
            "effect" => two().map(|(of, on)| Self::Effect { of, on }),
            "parents" => Ok(Self::Parents { of: node(rest)? }),
            "descendants" => Ok(Self::Descendants { of: node(rest)? }),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_by_name() {
        let names: Vec<String> = ["A", "B", "A,B", "C"].map(String::from).to_vec();
        let of = |text: &str| Goal::parse(text, &names);
        assert_eq!(of("edge=A,C"), Ok(Goal::Edge { from: 0, to: 3 }));
        assert_eq!(of("edge=A,B, C"), Ok(Goal::Edge { from: 2, to: 3 }));
        assert_eq!(of("effect=C,A"), Ok(Goal::Effect { of: 3, on: 0 }));
        assert_eq!(of("parents=A,B"), Ok(Goal::Parents { of: 2 }));
        assert_eq!(of("descendants= B"), Ok(Goal::Descendants { of: 1 }));
        for wrong in ["", "A", "edge=A", "edge=A,A", "children=A", "Edge=A,B"] {
            assert_eq!(of(wrong), Err(GoalError::Form { text: wrong.into() }));
        }
        assert!(of("parents=").unwrap_err().to_string().starts_with("parents=: there is no variable \"\""));
        let long: Vec<String> = ["X10", "Y"].map(String::from).to_vec();
        assert_eq!(
            Goal::parse("edge=X1O,Y", &long).unwrap_err().to_string(),
            "edge=X1O,Y: there is no variable \"X1O\"; did you mean \"X10\"?"
        );
    }
}
