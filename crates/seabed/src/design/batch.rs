//! The batch: the designs that were chosen, their expected information, and what else was evaluated.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use super::decision::Decision;
use super::designer::DesignError;
use super::forecast::Forecast;
use super::information::Information;
use crate::JSON_VERSION;
use crate::data::Names;
use crate::graph::Node;
use crate::scm::Intervention;

/// A design that was evaluated.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Evaluated {
    /// What is set, to what.
    pub design: Intervention,
    /// Its expected information on its own, beyond what is pending.
    pub information: Information,
}

/// A design of the batch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Chosen {
    /// What is set, to what.
    pub design: Intervention,
    /// How often it is done: rows.
    pub rows: usize,
    /// Its expected information on its own, all rows, beyond what is pending.
    pub information: Information,
    /// The information it adds to the designs before it.
    pub gain: f64,
    /// What all its rows cost, with what the experiment costs besides.
    pub cost: f64,
    /// What it would decide on its own, the largest gains first.
    #[serde(default)]
    pub decides: Vec<Decision>,
}

/// The designs to carry out, and their expected information.
///
/// As JSON it names the variables and lists only what was chosen: `{"version": 1, "batch": [{"targets":
/// {"X3": 1.5}, "rows": 1, "information": …, "standard_error": …, "gain": …, "cost": …, "decides": [{"from": "X1", "to":
/// "X3", …}]}], "batch_information": …, "batch_standard_error": …, "entropy": …, "forecast": {"wrong_now": …, …}}`, all but
/// values and costs in nats or in the unit of the utility; see [`Decision`] and [`Forecast`]. Files that are read again, with every
/// design that was evaluated, are a [`DesignRecord`](super::DesignRecord).
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    /// The variables: nodes of the designs are indices into this list.
    pub names: Names,
    /// In the order of the choice.
    pub chosen: Vec<Chosen>,
    /// The expected information of all of them together, beyond what is pending.
    pub information: Information,
    /// The entropy beyond what is pending: no batch can give more information.
    pub entropy: f64,
    /// Every design that was evaluated (by the greedy strategies: before the first choice).
    pub evaluated: Vec<Evaluated>,
    /// What it would change in the belief about edges.
    pub forecast: Option<Forecast>,
}

impl Batch {
    /// The batch if all its numbers are finite; what was evaluated but not chosen, and is not, is left out.
    pub(super) fn finite(mut self) -> Result<Self, DesignError> {
        self.evaluated.retain(|evaluated| evaluated.information.is_finite());
        let of_chosen = |c: &Chosen| {
            c.information.is_finite()
                && c.gain.is_finite()
                && c.cost.is_finite()
                && c.decides.iter().all(Decision::is_finite)
        };
        let finite = self.information.is_finite()
            && self.entropy.is_finite()
            && self.chosen.iter().all(of_chosen)
            && self.forecast.as_ref().is_none_or(Forecast::is_finite);
        if finite { Ok(self) } else { Err(DesignError::NotFinite) }
    }

    /// The batch over variables in another order, with these names: variable k becomes `to[k]`.
    pub(super) fn relabelled(mut self, names: &Names, to: &[Node]) -> Self {
        let designs = self.chosen.iter_mut().map(|chosen| &mut chosen.design);
        for design in designs.chain(self.evaluated.iter_mut().map(|evaluated| &mut evaluated.design)) {
            *design = relabelled(design, to);
        }
        self.names = names.clone();
        self
    }
}

/// The design over variables in another order: variable k becomes `to[k]`.
pub(super) fn relabelled(design: &Intervention, to: &[Node]) -> Intervention {
    let settings = design.settings().iter().map(|&(node, value)| (to[node], value));
    Intervention::new(settings).expect("relabelling keeps targets distinct")
}

#[derive(Serialize)]
struct BatchForm<'a> {
    version: u32,
    batch: Vec<ChosenForm<'a>>,
    batch_information: f64,
    batch_standard_error: f64,
    entropy: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<Forecast>,
}

#[derive(Serialize)]
struct ChosenForm<'a> {
    targets: BTreeMap<&'a str, f64>,
    rows: usize,
    information: f64,
    standard_error: f64,
    gain: f64,
    cost: f64,
    decides: Vec<Decision>,
}

impl Serialize for Batch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let chosen = |chosen: &Chosen| ChosenForm {
            targets: named(&chosen.design, &self.names).collect(),
            rows: chosen.rows,
            information: chosen.information.nats,
            standard_error: chosen.information.standard_error,
            gain: chosen.gain,
            cost: chosen.cost,
            decides: chosen.decides.clone(),
        };
        let form = BatchForm {
            version: JSON_VERSION,
            batch: self.chosen.iter().map(chosen).collect(),
            batch_information: self.information.nats,
            batch_standard_error: self.information.standard_error,
            entropy: self.entropy,
            forecast: self.forecast,
        };
        form.serialize(serializer)
    }
}

/// The targets of a design by name, with their values.
pub(super) fn named<'a>(design: &Intervention, names: &'a [String]) -> impl Iterator<Item = (&'a str, f64)> {
    design.settings().iter().map(|&(node, value)| (names[node].as_str(), value))
}
