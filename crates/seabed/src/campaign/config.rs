//! What a run is told: one TOML file, every key with a default, unknown keys refused.
//!
//! `default.toml` beside this file is the documentation of the keys; a test holds it to the defaults.

use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::CampaignError;
use super::belief::PosteriorSettings;
use super::scene::WorldSettings;
pub use crate::design::{DesignSettings, ValuesName};

/// The defaults, with what each key means.
pub const DEFAULT: &str = include_str!("default.toml");

/// One closed loop.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Of the world, the noise and every random choice.
    pub seed: u64,
    /// Batches of experiments.
    pub rounds: usize,
    /// Are seconds written down? Without them equal runs have equal files.
    pub timing: bool,
    /// What answers the experiments.
    pub world: WorldSettings,
    /// How beliefs are formed.
    pub posterior: PosteriorSettings,
    /// How experiments are chosen.
    pub design: DesignSettings,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            rounds: 10,
            timing: true,
            world: WorldSettings::default(),
            posterior: PosteriorSettings::default(),
            design: DesignSettings::default(),
        }
    }
}

impl Config {
    /// The configuration of a table of keys; `source` names it in errors.
    pub fn from_table(table: Table, source: &str) -> Result<Self, CampaignError> {
        let config: Self = serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
            let key = error.path().to_string();
            // An unknown key is named by the message itself, after the group that it stands in.
            let key = if key == "." { String::new() } else { format!("{key}: ") };
            wrong(source, &format!("{key}{}", error.inner().message()))
        })?;
        config.design.check().map_err(|error| wrong(source, &format!("design: {error}")))?;
        Ok(config)
    }

    /// All keys with their values, as TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("numbers, texts and tables")
    }
}

/// The keys of a file, `_` and `-` being the same in their names.
pub fn read_table(path: &Path) -> Result<Table, CampaignError> {
    let source = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&source, &error.to_string()))?;
    parse_table(&text, &source)
}

/// The keys of a text, `_` and `-` being the same in their names; `source` names it in errors.
pub fn parse_table(text: &str, source: &str) -> Result<Table, CampaignError> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start].lines().count().max(1));
        let line = line.map_or(String::new(), |line| format!("line {line}: "));
        wrong(source, &format!("{line}{}", error.message()))
    })?;
    Ok(with_dashes(table))
}

fn with_dashes(table: Table) -> Table {
    let dashed = |(key, value): (String, Value)| {
        let value = match value {
            Value::Table(inner) => Value::Table(with_dashes(inner)),
            Value::Array(items) => Value::Array(items.into_iter().map(inside).collect()),
            other => other,
        };
        (key.replace('_', "-"), value)
    };
    table.into_iter().map(dashed).collect()
}

fn inside(value: Value) -> Value {
    match value {
        Value::Table(inner) => Value::Table(with_dashes(inner)),
        other => other,
    }
}

/// Sets one key from a text like `posterior.steps=500`; what is no TOML value is taken as text.
pub fn set(table: &mut Table, setting: &str) -> Result<(), CampaignError> {
    let source = format!("--set {setting}");
    let Some((path, text)) = setting.split_once('=') else {
        return Err(wrong(&source, "write KEY=VALUE, for example --set posterior.steps=500"));
    };
    let parsed = format!("value = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("value"));
    let value = inside(parsed.unwrap_or_else(|| Value::String(text.trim().to_string())));
    let path = path.trim().replace('_', "-");
    let keys: Vec<&str> = path.split('.').collect();
    set_at(table, &keys, value)
        .map_err(|key| wrong(&source, &format!("{key:?} is a value, not a group of keys")))
}

/// Where several tables stand in a list, the key is set in each.
fn set_at<'k>(table: &mut Table, keys: &[&'k str], value: Value) -> Result<(), &'k str> {
    let [key, rest @ ..] = keys else { return Ok(()) };
    if rest.is_empty() {
        table.insert((*key).to_string(), value);
        return Ok(());
    }
    match table.entry(*key).or_insert_with(|| Value::Table(Table::new())) {
        Value::Table(inner) => set_at(inner, rest, value),
        Value::Array(items) => items.iter_mut().try_for_each(|item| match item {
            Value::Table(inner) => set_at(inner, rest, value.clone()),
            _ => Err(*key),
        }),
        _ => Err(key),
    }
}

fn wrong(source: &str, problem: &str) -> CampaignError {
    CampaignError::Config { source_name: source.to_string(), problem: problem.trim_end().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_defaults_are_the_defaults() {
        let printed = Config::from_table(parse_table(DEFAULT, "default").unwrap(), "default").unwrap();
        assert_eq!(printed, Config::default());
        let keys = |text: &str| {
            let mut keys: Vec<String> = text
                .lines()
                .filter_map(|l| l.split_once(" = ").map(|(key, _)| key.trim().to_string()))
                .collect();
            keys.sort();
            keys
        };
        assert_eq!(keys(DEFAULT), keys(&Config::default().to_toml()), "a key is not documented");
    }

    #[test]
    fn keys_are_set_one_by_one_or_in_every_table_of_a_list() {
        let mut table = parse_table("[[design]]\nstrategy = \"random\"\n[[design]]\n", "text").unwrap();
        for setting in
            ["posterior.warm_steps=7", "design.values=fixed", "world.kind = sf", "design.range=[0, 1.5]"]
        {
            set(&mut table, setting).unwrap();
        }
        assert_eq!(table["posterior"]["warm-steps"], Value::Integer(7));
        assert_eq!(table["world"]["kind"], Value::String("sf".into()));
        for design in table["design"].as_array().unwrap() {
            assert_eq!(design["values"], Value::String("fixed".into()));
        }
        assert!(set(&mut table, "rounds").is_err() && set(&mut table, "world.kind.x=1").is_err());
    }

    #[test]
    fn errors_name_file_line_and_key() {
        let of = |text: &str| {
            parse_table(text, "a.toml")
                .and_then(|table| Config::from_table(table, "a.toml"))
                .unwrap_err()
                .to_string()
        };
        assert!(of("rounds = 3\nseed = \n").starts_with("a.toml: line 2: "));
        assert!(
            of("[world]\nnode = 3")
                .starts_with("a.toml: world.node: unknown field `node`, expected one of `kind`, `nodes`")
        );
    }
}
