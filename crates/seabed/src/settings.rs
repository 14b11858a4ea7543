//! Settings as people write them: keys and values of a TOML text or of `KEY=VALUE` arguments, read into a typed form,
//! and numbers checked against their ranges before any work starts.
//!
//! Every message names the key. For an unknown key it suggests the nearest known one.

use std::ops::RangeInclusive;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::data::closest;

/// A setting that cannot be used.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum SettingsError {
    /// A number outside its range.
    #[error("{key} = {got}: choose a number from {least} to {most}")]
    OutOfRange {
        /// The key.
        key: &'static str,
        /// The number.
        got: f64,
        /// The least that is possible.
        least: f64,
        /// The largest that is possible.
        most: f64,
    },
    /// A number that is not positive and finite.
    #[error("{key} = {got}: choose a finite number above 0")]
    NotPositive {
        /// The key.
        key: &'static str,
        /// The number.
        got: f64,
    },
    /// Settings that do not go together.
    #[error("{problem}")]
    Conflict {
        /// Which, and the way out.
        problem: String,
    },
    /// Keys of a text that cannot be used.
    #[error("{source_name}: {problem}")]
    Keys {
        /// The file, or what else the keys came from.
        source_name: String,
        /// What is wrong.
        problem: String,
    },
}

impl SettingsError {
    fn keys(source: &str, problem: impl Into<String>) -> Self {
        Self::Keys { source_name: source.to_string(), problem: readable(problem.into().trim_end()) }
    }
}

/// A message in which no name and no list of names is longer than people read.
fn readable(message: &str) -> String {
    const WORD: usize = 60;
    const ALL: usize = 2000;
    let shortened = |word: &str| match word.char_indices().nth(WORD) {
        // What follows the word, a quote or a comma, stays.
        Some((at, _)) if word.chars().nth(2 * WORD).is_some() => {
            let end = word.char_indices().rev().nth(1).map_or(word.len(), |(end, _)| end);
            format!("{}…{}", &word[..at], &word[end..])
        }
        _ => word.to_string(),
    };
    let words: Vec<String> = message.split(' ').map(shortened).collect();
    words.join(" ").chars().take(ALL).collect()
}

/// Is the whole number within the range?
pub(crate) fn check_count(
    key: &'static str,
    got: usize,
    range: RangeInclusive<usize>,
) -> Result<(), SettingsError> {
    if range.contains(&got) {
        return Ok(());
    }
    let (least, most) = (*range.start() as f64, *range.end() as f64);
    Err(SettingsError::OutOfRange { key, got: got as f64, least, most })
}

/// Is the number finite and above 0?
pub(crate) fn check_positive(key: &'static str, got: f64) -> Result<(), SettingsError> {
    if got > 0.0 && got.is_finite() { Ok(()) } else { Err(SettingsError::NotPositive { key, got }) }
}

/// Levels of keys within keys: no setting has more than three, and what is set must be written and read again.
const MOST_LEVELS: usize = 16;

/// Keys with their values, as they stand in a TOML text; `_` and `-` are the same in their names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Keys {
    table: Table,
    /// Names the keys in messages.
    source: String,
}

/// One value of a key; a list stands for several.
#[derive(Clone, PartialEq, Debug)]
pub struct KeyValue(Value);

impl Keys {
    /// The keys of a text; `source` names it in messages.
    pub fn parse(text: &str, source: &str) -> Result<Self, SettingsError> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map(|span| text[..span.start].lines().count().max(1));
            let line = line.map_or(String::new(), |line| format!("line {line}: "));
            SettingsError::keys(source, format!("{line}{}", error.message()))
        })?;
        Ok(Self { table: with_dashes(table), source: source.to_string() })
    }

    /// The keys of a file.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let source = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|error| SettingsError::keys(&source, error.to_string()))?;
        Self::parse(&text, &source)
    }

    /// No keys yet; `source` names later ones in messages.
    pub fn none(source: &str) -> Self {
        Self { table: Table::new(), source: source.to_string() }
    }

    /// The keys of typed settings.
    pub fn of(settings: &impl Serialize, source: &str) -> Self {
        let table = Table::try_from(settings).expect("plain keys and values");
        Self { table, source: source.to_string() }
    }

    /// Names the keys in messages.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Sets one key from a text like `posterior.steps=500`; what is not a TOML value is taken as text. Where several
    /// tables stand in a list, the key is set in each.
    pub fn set(&mut self, setting: &str) -> Result<(), SettingsError> {
        let source = format!("--set {setting}");
        let Some((path, text)) = setting.split_once('=') else {
            return Err(SettingsError::keys(
                &source,
                "write KEY=VALUE, for example --set posterior.steps=500",
            ));
        };
        let parsed =
            format!("value = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("value"));
        let value = inside(parsed.unwrap_or_else(|| Value::String(text.trim().to_string())));
        let path = path.trim().replace('_', "-");
        let keys: Vec<&str> = path.split('.').collect();
        if keys.len() + depth(&value) > MOST_LEVELS {
            let problem = format!("keys within keys go down to level {MOST_LEVELS} at most");
            return Err(SettingsError::keys(&source, problem));
        }
        set_at(&mut self.table, &keys, value)
            .map_err(|key| SettingsError::keys(&source, format!("{key:?} is a value, not a group of keys")))
    }

    /// Sets a key of the first level.
    pub fn insert(&mut self, key: &str, value: impl Into<KeyValue>) {
        self.table.insert(key.to_string(), value.into().0);
    }

    /// Removes a key of the first level and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<KeyValue> {
        self.table.remove(key).map(KeyValue)
    }

    /// The value of a key of the first level.
    pub fn get(&self, key: &str) -> Option<KeyValue> {
        self.table.get(key).cloned().map(KeyValue)
    }

    /// The settings that the keys describe; every key must be known.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, SettingsError> {
        serde_path_to_error::deserialize(Value::Table(self.table.clone())).map_err(|error| {
            let path = error.path().to_string();
            let message = error.inner().message().trim_end().to_string();
            // An unknown key is named by the message itself, after the group that it stands in.
            let key = if path == "." { String::new() } else { format!("{path}: ") };
            SettingsError::keys(&self.source, format!("{key}{}", in_words(&with_nearest(&message))))
        })
    }

    /// As TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.table).expect("a table that was read")
    }

    /// Every combination of the values in this table's lists, as a table of keys each. Keys in `whole` have
    /// lists as values (`design.grid`), which stand for themselves; keys in `slow` vary slowest, in this order, and the
    /// others after them, `fast` last.
    ///
    /// Refused before any is made if there are more than `most`, or if a list is empty.
    pub fn alternatives(
        &self,
        whole: &[&str],
        slow: &[&str],
        fast: &str,
        most: usize,
    ) -> Result<Vec<Self>, SettingsError> {
        let order = Order { whole, slow, fast };
        let count = count(&self.table, "", &order).map_err(|key| {
            SettingsError::keys(&self.source, format!("{key} = []: list at least one value"))
        })?;
        if count > most {
            let problem = format!("the lists combine to {count} runs; a study has at most {most}");
            return Err(SettingsError::keys(&self.source, problem));
        }
        let tables = alternatives(&self.table, "", &order);
        Ok(tables.into_iter().map(|table| Self { table, source: self.source.clone() }).collect())
    }

    /// All keys with their values as text, `group.key` in ascending order; texts without quotes.
    pub fn flattened(&self) -> Vec<(String, String)> {
        fn into(table: &Table, path: &str, flat: &mut Vec<(String, String)>) {
            for (key, value) in table {
                let path = joined(path, key);
                match value {
                    Value::Table(inner) => into(inner, &path, flat),
                    Value::String(text) => flat.push((path, text.clone())),
                    other => flat.push((path, other.to_string())),
                }
            }
        }
        let mut flat = Vec::new();
        into(&self.table, "", &mut flat);
        flat.sort();
        flat
    }
}

impl KeyValue {
    /// As a whole number, if it is one.
    pub fn as_integer(&self) -> Option<i64> {
        self.0.as_integer()
    }
}

impl std::fmt::Display for KeyValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl From<i64> for KeyValue {
    fn from(number: i64) -> Self {
        Self(number.into())
    }
}

impl From<&str> for KeyValue {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl<T: Into<KeyValue>> From<Vec<T>> for KeyValue {
    fn from(list: Vec<T>) -> Self {
        Self(Value::Array(list.into_iter().map(|value| value.into().0).collect()))
    }
}

/// Levels of tables and lists within a value.
fn depth(value: &Value) -> usize {
    match value {
        Value::Table(table) => 1 + table.values().map(depth).max().unwrap_or(0),
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// A message about a value of the wrong kind, without the names of types.
fn in_words(message: &str) -> String {
    let Some((said, expected)) = message.split_once(", expected ") else { return message.to_string() };
    let Some((_, got)) = said.split_once("invalid type: ").or_else(|| said.split_once("invalid value: "))
    else {
        return message.to_string();
    };
    let of_kind = |kind: &str, plain: &str| got.strip_prefix(kind).map(|rest| format!("{plain}{rest}"));
    let got = of_kind("integer ", "")
        .or_else(|| of_kind("floating point ", ""))
        .or_else(|| of_kind("boolean ", ""))
        .or_else(|| of_kind("string ", "the text "))
        .or_else(|| of_kind("sequence", "a list"))
        .or_else(|| of_kind("map", "a group of keys"))
        .unwrap_or_else(|| got.to_string());
    let got = if got == "unit variant" { "this".into() } else { got.replace('`', "") };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" | "string or map" | "string only" => "a text",
        "a sequence" => "a list",
        other => other,
    };
    format!("{got} is not what is expected here: write {expected}")
}

/// The message of an unknown name, with the nearest known one before the list of all.
fn with_nearest(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((unknown, known)) if message.starts_with("unknown ") => {
            let known: Vec<String> = known.iter().map(|name| (*name).to_string()).collect();
            match (closest(unknown, &known), message.split_once(", expected")) {
                (Some(near), Some((said, rest))) => format!("{said}, did you mean `{near}`? Expected{rest}"),
                _ => message.to_string(),
            }
        }
        _ => message.to_string(),
    }
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

struct Order<'a> {
    whole: &'a [&'a str],
    slow: &'a [&'a str],
    fast: &'a str,
}

/// The number of alternatives, or the key of an empty list.
fn count(table: &Table, path: &str, order: &Order<'_>) -> Result<usize, String> {
    let mut all = 1usize;
    for (key, value) in table {
        all = all.saturating_mul(count_choices(value, &joined(path, key), order)?);
    }
    Ok(all)
}

fn count_choices(value: &Value, path: &str, order: &Order<'_>) -> Result<usize, String> {
    match value {
        Value::Table(table) => count(table, path, order),
        Value::Array(items) if order.whole.contains(&path) => {
            Ok(if items.iter().any(Value::is_array) { items.len() } else { 1 })
        }
        Value::Array(items) if items.is_empty() => Err(path.to_string()),
        Value::Array(items) => items
            .iter()
            .try_fold(0, |all: usize, item| Ok(all.saturating_add(count_choices(item, path, order)?))),
        _ => Ok(1),
    }
}

fn alternatives(table: &Table, path: &str, order: &Order<'_>) -> Vec<Table> {
    let slowness = |key: &str| order.slow.iter().position(|slow| *slow == key).unwrap_or(order.slow.len());
    let mut keys: Vec<&String> = table.keys().collect();
    keys.sort_by_key(|key| (slowness(key), *key == order.fast));
    let mut all = vec![Table::new()];
    for key in keys {
        let choices = choices(&table[key], &joined(path, key), order);
        all = all
            .iter()
            .flat_map(|table| {
                choices.iter().map(|choice| {
                    let mut table = table.clone();
                    table.insert(key.clone(), choice.clone());
                    table
                })
            })
            .collect();
    }
    all
}

fn choices(value: &Value, path: &str, order: &Order<'_>) -> Vec<Value> {
    let whole = order.whole.contains(&path);
    match value {
        Value::Table(table) => alternatives(table, path, order).into_iter().map(Value::Table).collect(),
        Value::Array(items) if whole && !items.iter().any(Value::is_array) => vec![value.clone()],
        Value::Array(items) if whole => items.clone(),
        Value::Array(items) => items.iter().flat_map(|item| choices(item, path, order)).collect(),
        other => vec![other.clone()],
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case")]
    struct Form {
        #[allow(dead_code)]
        draws: Option<usize>,
        #[allow(dead_code)]
        warm_steps: Option<usize>,
    }

    #[test]
    fn keys_are_set_one_by_one_or_in_every_table_of_a_list() {
        let mut keys = Keys::parse("[[design]]\nstrategy = \"random\"\n[[design]]\n", "text").unwrap();
        for setting in
            ["posterior.warm_steps=7", "design.values=fixed", "world.kind = sf", "design.range=[0, 1.5]"]
        {
            keys.set(setting).unwrap();
        }
        assert_eq!(keys.table["posterior"]["warm-steps"], Value::Integer(7));
        assert_eq!(keys.table["world"]["kind"], Value::String("sf".into()));
        for design in keys.table["design"].as_array().unwrap() {
            assert_eq!(design["values"], Value::String("fixed".into()));
        }
        assert!(keys.set("rounds").is_err() && keys.set("world.kind.x=1").is_err());
    }

    #[test]
    fn errors_name_source_line_and_key_and_what_was_probably_meant() {
        let of = |text: &str| {
            Keys::parse(text, "a.toml").and_then(|keys| keys.settings::<Form>()).unwrap_err().to_string()
        };
        assert!(of("draws = 3\nwarm_steps = \n").starts_with("a.toml: line 2: "));
        assert_eq!(
            of("draw = 3"),
            "a.toml: draw: unknown field `draw`, did you mean `draws`? Expected `draws` or `warm-steps`"
        );
        let long = of(&format!("{} = 3", "a".repeat(5000)));
        assert!(long.len() < 300 && long.contains("aaa…`, expected `draws` or `warm-steps`"), "{long}");
        assert!(of("colour = 3").contains("unknown field `colour`, expected `draws` or `warm-steps`"));
        let wrong = "is not what is expected here: write a whole number from 0 on";
        assert_eq!(of("draws = \"many\""), format!("a.toml: draws: the text \"many\" {wrong}"));
        assert_eq!(of("draws = [1]"), format!("a.toml: draws: a list {wrong}"));
        assert_eq!(of("draws = -1"), format!("a.toml: draws: -1 {wrong}"));
        assert_eq!(of("draws = 1.5"), format!("a.toml: draws: 1.5 {wrong}"));
    }

    #[test]
    fn numbers_outside_their_range_are_named() {
        assert!(check_count("draws", 5, 1..=10).is_ok() && check_positive("noise", 0.1).is_ok());
        let error = check_count("draws", 0, 1..=1_000_000).unwrap_err();
        assert_eq!(error.to_string(), "draws = 0: choose a number from 1 to 1000000");
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(check_positive("noise", wrong).is_err());
        }
    }
}
