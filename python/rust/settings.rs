//! Settings from Python, as JSON, into the library's types: unknown keys are named, with the nearest known one.

use std::str::FromStr;

use seabed::data::{Names, ReadOptions, closest, did_you_mean, position};
use seabed::design::{Constraints, Designer, Goal, NamedConstraints, Strategy};
use seabed::posterior::mcmc::EdgePrior;
use seabed::posterior::{Knowledge, KnowledgeForm, Posterior, PosteriorKind, PosteriorSettings};
use seabed::scm::Intervention;
use seabed::settings::Keys;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// A JSON object; `what` names it in messages.
pub fn object(text: &str, what: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::settings(format!("{what}: {error}")))
}

/// Settings with some keys changed.
fn changed<T: DeserializeOwned>(base: Value, changes: Map<String, Value>, what: &str) -> Result<T, Failure> {
    let Value::Object(mut all) = base else { unreachable!("settings are objects") };
    all.extend(changes);
    all.retain(|_, value| !value.is_null());
    Ok(Keys::of(&all, what).settings()?)
}

/// The kind of posterior with this name.
pub fn kind(name: &str) -> Result<PosteriorKind, Failure> {
    PosteriorKind::named(name).ok_or_else(|| {
        let names: Vec<String> = PosteriorKind::ALL.iter().map(|(name, _)| (*name).to_string()).collect();
        let hint = did_you_mean(closest(name, &names));
        let known = names.join(", ");
        Failure::settings(format!("posterior = {name:?}: there is no such posterior{hint}; they are {known}"))
    })
}

/// The posterior of a kind with some settings changed; keys that only a finished posterior has are `sweeps`, `penalty`,
/// `max-degree`, `walk`, `all-steps` and `edge-probabilities`.
pub fn posterior(kind: &str, changes: &str) -> Result<Posterior, Failure> {
    let kind = self::kind(kind)?;
    let mut changes = object(changes, "posterior")?;
    let mut taken = |key: &str| changes.remove(key).filter(|value| !value.is_null());
    let (sweeps, penalty) = (taken("sweeps"), taken("penalty"));
    let (max_degree, walk, all_steps) = (taken("max-degree"), taken("walk"), taken("all-steps"));
    let pairs = taken("edge-probabilities");
    let base = serde_json::to_value(PosteriorSettings::for_own_data(kind)).expect("plain settings");
    let settings: PosteriorSettings = changed(base, changes, "posterior")?;
    let mut posterior = settings.check(None)?;
    match &mut posterior {
        Posterior::Mcmc(chains) => {
            if let Some(sweeps) = of::<usize>(sweeps, "sweeps")? {
                chains.least_sweeps = chains.least_sweeps.min(sweeps);
                chains.most_sweeps = sweeps;
            }
            if let Some(probabilities) = of(pairs, "edge_probabilities")? {
                let edges_per_node = settings.edges_per_node;
                chains.prior = EdgePrior::Pairs { probabilities, edges_per_node };
            }
        }
        Posterior::Bootstrap(bootstrap) => {
            bootstrap.penalty = of(penalty, "penalty")?;
            bootstrap.search.max_degree = of(max_degree, "max_degree")?;
        }
        Posterior::Dibs(dibs) => {
            dibs.walk = of(walk, "walk")?.unwrap_or(dibs.walk);
            dibs.stop_early = !of(all_steps, "all_steps")?.unwrap_or(false);
        }
        _ => {}
    }
    posterior.check()?;
    Ok(posterior)
}

fn of<T: DeserializeOwned>(value: Option<Value>, key: &str) -> Result<Option<T>, Failure> {
    let read = |value| serde_json::from_value(value);
    value.map(read).transpose().map_err(|error| Failure::settings(format!("{key}: {error}")))
}

/// Background knowledge by the names of the variables.
pub fn knowledge(text: Option<&str>, names: &Names) -> Result<Knowledge, Failure> {
    let Some(text) = text else { return Ok(Knowledge::none(names.len())) };
    let form: KnowledgeForm =
        serde_json::from_str(text).map_err(|error| Failure::new("KnowledgeError", error))?;
    Ok(Knowledge::from_form(&form, names)?)
}

/// How a batch is designed. Without a strategy, the recommended one for a belief with or without graphs; without a number of
/// samples, the usual one for so many draws.
pub fn designer(
    text: &str,
    goal: Option<&str>,
    names: &Names,
    has_graphs: bool,
    draws: usize,
) -> Result<Designer, Failure> {
    let mut changes = object(text, "design")?;
    let by_utility = changes.remove("utility").and_then(|name| Some(name.as_str()?.to_string()));
    let samples_given = changes.contains_key("samples");
    let base = serde_json::to_value(Designer {
        strategy: Strategy::recommended(has_graphs),
        values: seabed::design::Values::Refined,
        ..Designer::default()
    });
    let mut designer: Designer = changed(base.expect("plain settings"), changes, "design")?;
    if let Some(name) = by_utility {
        let known = Strategy::BY_UTILITY.iter().find(|(known, _)| *known == name);
        let names: Vec<&str> = Strategy::BY_UTILITY.iter().map(|(name, _)| *name).collect();
        let unknown =
            || Failure::settings(format!("utility = {name:?}: the utilities are {}", names.join(", ")));
        designer.strategy = known.ok_or_else(unknown)?.1;
    }
    if !samples_given {
        designer.samples = designer.strategy.usual_samples(draws);
    }
    designer.goal = goal.map_or(Ok(Goal::Everything), |text| Goal::parse(text, names))?;
    designer.check()?;
    Ok(designer)
}

/// Models that a posterior draws.
pub fn draws_of(posterior: &Posterior) -> usize {
    match posterior {
        Posterior::Mcmc(chains) => chains.draws,
        Posterior::Bootstrap(bootstrap) => bootstrap.draws,
        Posterior::Dibs(dibs) => dibs.particles,
        _ => 1,
    }
}

/// How a file is written, where it does not tell by itself.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ReadForm {
    ignore: Vec<String>,
    separator: Option<String>,
    decimal: Option<String>,
    encoding: Option<String>,
    sheet: Option<String>,
    missing: Vec<String>,
}

/// How a file is read.
pub fn read_options(text: &str) -> Result<ReadOptions, Failure> {
    fn named<T: FromStr<Err = String>>(key: &str, name: Option<String>) -> Result<Option<T>, Failure> {
        let parsed = name.map(|name| name.parse()).transpose();
        parsed.map_err(|error| Failure::settings(format!("{key}: {error}")))
    }
    let form: ReadForm = serde_json::from_str(text).map_err(Failure::settings)?;
    Ok(ReadOptions {
        ignore: form.ignore,
        separator: named("separator", form.separator)?,
        decimal: named("decimal", form.decimal)?,
        encoding: named("encoding", form.encoding)?,
        sheet: form.sheet,
        missing: form.missing,
    })
}

/// What can be set to what, by name.
pub fn constraints(text: &str, names: &Names) -> Result<Constraints, Failure> {
    let form: NamedConstraints =
        serde_json::from_str(text).map_err(|error| Failure::settings(format!("constraints: {error}")))?;
    Ok(form.constraints(names)?)
}

/// What is set to what, by name.
pub fn intervention(settings: &[(String, f64)], names: &Names) -> Result<Intervention, Failure> {
    let node = |name: &String| {
        position(names, name).ok_or_else(|| {
            let hint = did_you_mean(closest(name, names));
            Failure::settings(format!("there is no variable {name:?}{hint}"))
        })
    };
    // Adding 0 turns -0 into 0: the two set the same value, so they are the same experiment.
    let pairs = settings.iter().map(|(name, value)| Ok((node(name)?, *value + 0.0)));
    Ok(Intervention::new(pairs.collect::<Result<Vec<_>, Failure>>()?)?)
}
