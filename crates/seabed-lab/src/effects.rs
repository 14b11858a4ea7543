//! What setting a variable does to the others, by the newest belief of a campaign.

use seabed::data::DataSummary;
use seabed::effects::{Effect, Effects, observed_spans};
use seabed::num::random::Seed;
use seabed::observer::{Observer, Stopped};
use serde::Serialize;

use super::belief::Belief;
use super::state::State;
use super::variables::{Transform, Variable};

/// A total effect between variables of the campaign, on the scale of the fit.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LabEffect {
    /// The variable that is set.
    pub from: String,
    /// The variable that is looked at.
    pub to: String,
    /// Change of `to` per unit of `from`, averaged over graphs and parameters.
    pub mean: f64,
    /// 90 % of the belief lies in it.
    pub interval: [f64; 2],
    /// Probability that there is an effect at all.
    pub not_zero: f64,
    /// Probability that `to` increases.
    pub positive: f64,
    /// Probability that `to` decreases.
    pub negative: f64,
    /// The unit, in words: `nM per log µM`; empty if none is known.
    pub unit: String,
}

/// The effects that are more probable than not, the most probable first; none if nothing is measured.
pub(super) fn effects(
    state: &State,
    belief: &Belief,
    observer: &dyn Observer,
) -> Result<Vec<LabEffect>, Stopped> {
    let (Some(data), _) = state.data() else { return Ok(Vec::new()) };
    let spans = observed_spans(&DataSummary::of(&data));
    let listed = Effects::probable(&belief.ensemble, &spans, Seed::new(state.seed), observer)?;
    let variables = state.variables.list();
    let named = |effect: Effect| LabEffect {
        from: variables[effect.from].name.clone(),
        to: variables[effect.to].name.clone(),
        mean: effect.mean,
        interval: effect.interval,
        not_zero: effect.not_zero,
        positive: effect.positive,
        negative: effect.negative,
        unit: unit(&variables[effect.from], &variables[effect.to]),
    };
    Ok(listed.into_iter().map(named).collect())
}

fn unit(from: &Variable, to: &Variable) -> String {
    let of = |variable: &Variable| match (variable.transform, variable.unit.as_str()) {
        (Transform::None, unit) => unit.to_string(),
        (Transform::Log, unit) => format!("log {unit}").trim_end().to_string(),
        (Transform::Log1p, unit) => format!("log1p {unit}").trim_end().to_string(),
    };
    match (of(from).as_str(), of(to).as_str()) {
        ("", "") => String::new(),
        ("", to) => format!("{to} per unit"),
        (from, "") => format!("per {from}"),
        (from, to) => format!("{to} per {from}"),
    }
}
