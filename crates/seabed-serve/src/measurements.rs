//! Measurements: the rows in force, the experiments and their records, the data of a pair of variables.

use seabed_lab::{Experiment, Row, State, Variable, experiment_name};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Call};
use crate::failure::Failure;

/// Points of a pair of variables that are sent at most.
const MOST_POINTS: usize = 5000;

/// Rows that are sent at once: usually, unless they are so wide that these have more cells than usual; and at most.
const ROWS: (usize, usize) = (1000, 10_000);
const CELLS: usize = 20_000;

/// The measurements in force.
pub fn data(call: &Call) -> Result<Answer, Failure> {
    let offset: usize = call.parsed("offset")?.unwrap_or(0);
    let limit: Option<usize> = call.parsed("limit")?;
    if limit.is_some_and(|limit| !(1..=ROWS.1).contains(&limit)) {
        return Err(Failure::malformed(format!("limit: choose a number from 1 to {}", ROWS.1)));
    }
    call.campaign()?.read(|lab| {
        let state = lab.state()?;
        let names = state.variables.names();
        let all = state.rows().count();
        let limit = limit.unwrap_or((CELLS / names.len().max(1)).clamp(1, ROWS.0));
        let rows = sourced(&state).skip(offset).take(limit).map(|(row, source)| DataRow {
            values: &row.cells,
            targets: named(&row.targets, names),
            source: source.name(),
        });
        let rows = rows.collect();
        Ok(Answer::json(&DataPage { names, all, offset, rows }))
    })
}

#[derive(Serialize)]
struct DataPage<'s> {
    names: &'s [String],
    all: usize,
    offset: usize,
    rows: Vec<DataRow<'s>>,
}

#[derive(Serialize)]
struct DataRow<'s> {
    values: &'s [Option<f64>],
    targets: Vec<&'s str>,
    source: String,
}

/// Where a row comes from.
#[derive(Clone, Copy)]
enum Origin<'s> {
    File(&'s str),
    Experiment(i64),
}

impl Origin<'_> {
    fn name(self) -> String {
        match self {
            Self::File(name) => name.to_string(),
            Self::Experiment(id) => experiment_name(id),
        }
    }
}

/// The rows in force, each with its file or its experiment.
fn sourced(state: &State) -> impl Iterator<Item = (&Row, Origin<'_>)> {
    let files = state
        .sources
        .iter()
        .flat_map(|source| source.rows.iter().map(|row| (row, Origin::File(source.file.as_str()))));
    let experiments = state.live().flat_map(|experiment| {
        experiment.measured().map(|(_, record)| (&record.row, Origin::Experiment(experiment.id)))
    });
    files.chain(experiments)
}

/// The names of some variables.
pub fn named<'n>(nodes: &[usize], names: &'n [String]) -> Vec<&'n str> {
    nodes.iter().map(|&node| names[node].as_str()).collect()
}

/// Values as an object.
pub fn by_name<T: serde::Serialize>(pairs: impl Iterator<Item = (String, T)>) -> Value {
    Value::Object(pairs.map(|(name, value)| (name, json!(value))).collect::<Map<_, _>>())
}

/// The cells of a row as an object, by the names of the variables.
pub struct Cells<'s>(pub &'s [String], pub &'s [Option<f64>]);

impl Serialize for Cells<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().zip(self.1))
    }
}

/// All experiments in force with their records.
pub fn experiments(call: &Call) -> Result<Answer, Failure> {
    call.campaign()?.answer(&call.what, |lab| {
        let state = lab.state()?;
        let names = state.variables.names();
        let shown = |experiment| ShownExperiment::of(experiment, names);
        Ok(Answer::json(&AllExperiments { experiments: state.live().map(shown).collect() }))
    })
}

#[derive(Serialize)]
struct AllExperiments<'s> {
    experiments: Vec<ShownExperiment<'s>>,
}

#[derive(Serialize)]
struct ShownExperiment<'s> {
    experiment: String,
    proposal: Option<i64>,
    settings: Value,
    replicates: u32,
    records: Vec<ShownRecord<'s>>,
}

#[derive(Serialize)]
struct ShownRecord<'s> {
    replicate: u32,
    status: &'static str,
    values: Cells<'s>,
    targets: Vec<&'s str>,
    action: i64,
    file: &'s str,
    in_force: bool,
}

impl<'s> ShownExperiment<'s> {
    fn of(experiment: &'s Experiment, names: &'s [String]) -> Self {
        let mut records = Vec::new();
        for (&replicate, all) in &experiment.records {
            for (k, record) in all.iter().enumerate() {
                records.push(ShownRecord {
                    replicate,
                    status: record.status.name(),
                    values: Cells(names, &record.row.cells),
                    targets: named(&record.row.targets, names),
                    action: record.action,
                    file: &record.file,
                    in_force: k + 1 == all.len(),
                });
            }
        }
        let settings = experiment.settings.iter().map(|&(node, value)| (names[node].clone(), value));
        Self {
            experiment: experiment_name(experiment.id),
            proposal: experiment.proposal,
            settings: by_name(settings),
            replicates: experiment.replicates,
            records,
        }
    }
}

/// The pair of variables that the query names.
pub fn asked_pair(call: &Call, state: &State) -> Result<(usize, usize), Failure> {
    let node = |key: &str| -> Result<usize, Failure> {
        let name = call.needed(key)?;
        let found = state.variables.names().iter().position(|known| known == name);
        found.ok_or_else(|| Failure::invalid(format!("{key}: {name:?} is not a variable of this campaign")))
    };
    let (from, to) = (node("from")?, node("to")?);
    if from == to {
        return Err(Failure::invalid("from and to are the same variable; name two"));
    }
    Ok((from, to))
}

/// The data of a pair of variables.
pub fn pair(call: &Call) -> Result<Answer, Failure> {
    call.campaign()?.answer(&call.what, |lab| {
        let state = lab.state()?;
        let (from, to) = asked_pair(call, &state)?;
        let both: Vec<(&Row, Origin<'_>, f64, f64)> = sourced(&state)
            .filter_map(|(row, source)| Some((row, source, row.cells[from]?, row.cells[to]?)))
            .collect();
        let every = both.len().div_ceil(MOST_POINTS).max(1);
        let point = |&(row, source, x, y): &(&Row, Origin<'_>, f64, f64)| {
            let set = match (row.targets.contains(&from), row.targets.contains(&to)) {
                (false, false) => "none",
                (true, false) => "from",
                (false, true) => "to",
                (true, true) => "both",
            };
            let other = row.targets.iter().any(|node| *node != from && *node != to);
            let experiment = match source {
                Origin::File(_) => None,
                Origin::Experiment(id) => Some(experiment_name(id)),
            };
            Point { x, y, set, other, experiment }
        };
        let points = both.iter().step_by(every).map(point).collect();
        let list = state.variables.list();
        Ok(Answer::json(&Pair { from: &list[from], to: &list[to], all: both.len(), points }))
    })
}

#[derive(Serialize)]
struct Pair<'s> {
    from: &'s Variable,
    to: &'s Variable,
    all: usize,
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    x: f64,
    y: f64,
    /// Which of the two was set.
    set: &'static str,
    /// Was another variable set?
    other: bool,
    experiment: Option<String>,
}
