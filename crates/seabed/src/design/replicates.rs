//! How often an experiment is repeated.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Rows of an experiment: in files a number, or `"auto"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Replicates {
    /// This many of each.
    Each(usize),
    /// As many as pay: the batch counts rows, and one more row of an experiment competes with a new experiment.
    Auto,
}

const AUTO: &str = "auto";

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "write a whole number or \"auto\"")]
enum Written {
    Number(usize),
    Word(String),
}

impl Replicates {
    /// Rows that are chosen at a time.
    pub fn at_a_time(self) -> usize {
        match self {
            Self::Each(count) => count,
            Self::Auto => 1,
        }
    }
}

impl From<usize> for Replicates {
    fn from(count: usize) -> Self {
        Self::Each(count)
    }
}

impl From<Replicates> for Written {
    fn from(replicates: Replicates) -> Self {
        match replicates {
            Replicates::Each(count) => Self::Number(count),
            Replicates::Auto => Self::Word(AUTO.into()),
        }
    }
}

impl TryFrom<Written> for Replicates {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Number(count) => Ok(Self::Each(count)),
            Written::Word(word) => word.parse(),
        }
    }
}

impl FromStr for Replicates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(count) => Ok(Self::Each(count)),
            Err(_) if text == AUTO => Ok(Self::Auto),
            Err(_) => Err(format!("replicates is {text:?}: write a whole number or {AUTO:?}")),
        }
    }
}

impl fmt::Display for Replicates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each(count) => write!(f, "{count}"),
            Self::Auto => f.write_str(AUTO),
        }
    }
}
