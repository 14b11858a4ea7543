//! How strongly the soft rule prefers better designs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The soft rule draws in proportion to exp(worth / temperature): in files a number, or `"relative"`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Temperature {
    /// In nats, or in the unit of the utility.
    Given(f64),
    /// Half the standard deviation of the worths of all candidates: whatever the unit, and however little they differ, the
    /// better ones are preferred.
    Relative,
}

const RELATIVE: &str = "relative";

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "write a number or \"relative\"")]
enum Written {
    Number(f64),
    Word(String),
}

impl Temperature {
    /// The number to divide these worths by, above 0.
    pub(super) fn of(self, worths: &[f64]) -> f64 {
        match self {
            Self::Given(temperature) => temperature,
            Self::Relative => {
                let n = worths.len().max(1) as f64;
                let mean = worths.iter().sum::<f64>() / n;
                let square = worths.iter().map(|worth| (worth - mean).powi(2)).sum::<f64>() / n;
                (0.5 * square.sqrt()).max(f64::MIN_POSITIVE)
            }
        }
    }
}

impl From<Temperature> for Written {
    fn from(temperature: Temperature) -> Self {
        match temperature {
            Temperature::Given(number) => Self::Number(number),
            Temperature::Relative => Self::Word(RELATIVE.into()),
        }
    }
}

impl TryFrom<Written> for Temperature {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Number(number) => Ok(Self::Given(number)),
            Written::Word(word) => word.parse(),
        }
    }
}

impl FromStr for Temperature {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(number) => Ok(Self::Given(number)),
            Err(_) if text == RELATIVE => Ok(Self::Relative),
            Err(_) => Err(format!("temperature is {text:?}: write a number or {RELATIVE:?}")),
        }
    }
}

impl fmt::Display for Temperature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(number) => write!(f, "{number}"),
            Self::Relative => f.write_str(RELATIVE),
        }
    }
}
