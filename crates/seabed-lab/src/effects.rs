//! What setting a variable does to the others, by the newest belief of a campaign.

use seabed::data::DataSummary;
use seabed::effects::{Effect, Effects, Span};
use seabed::num::random::Seed;
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

/// Effects less probable than this are not listed.
const LEAST: f64 = 0.5;

/// The effects that are more probable than not, the most probable first.
pub(super) fn effects(state: &State, belief: &Belief) -> Vec<LabEffect> {
    let (Some(data), _) = state.data() else { return Vec::new() };
    let spans: Vec<Span> = DataSummary::of(&data)
        .variables
        .iter()
        .map(|variable| Span::new(variable.low, variable.high))
        .collect();
    let sources: Vec<usize> = (0..spans.len()).collect();
    // Slopes need no more than the two ends, and a status must answer soon.
    let quick = Effects { samples: 32, points: 2 };
    let seed = Seed::new(state.seed);
    let Ok(all) = quick.of(&belief.ensemble, &sources, &spans, seed, &()) else { return Vec::new() };
    let mut listed: Vec<Effect> = all.into_iter().filter(|effect| effect.not_zero >= LEAST).collect();
    listed.sort_by(|a, b| b.not_zero.total_cmp(&a.not_zero).then(b.mean.abs().total_cmp(&a.mean.abs())));
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
    listed.into_iter().map(named).collect()
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
