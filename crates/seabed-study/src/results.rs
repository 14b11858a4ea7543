//! The table of a study: one row per round of every run, as CSV and as Parquet.
//!
//! What a whole run is compared with, the level of its world and the experiments it needed, is repeated on its rows.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use seabed::data::write_atomically;
use seabed::evaluate::{Curve, LEVEL_METRICS, Metric, MetricRow, NeededInWorld, experiments_needed};

use super::StudyError;
use super::grid::Planned;

/// A number of a round, if it exists.
type Number = fn(&MetricRow) -> Option<f64>;

enum Column {
    Whole(Vec<i64>),
    /// Empty where there is no number.
    Number(Vec<Option<f64>>),
    Text(Vec<String>),
}

/// Writes `results.csv` and `results.parquet`.
pub(crate) fn write_results(folder: &Path, runs: &[(&Planned, Vec<MetricRow>)]) -> Result<(), StudyError> {
    let columns = columns(runs);
    let csv = folder.join("results.csv");
    write_atomically(&csv, |out| write_csv(out, &columns).map_err(io::Error::other))
        .map_err(StudyError::file(&csv))?;
    let parquet = folder.join("results.parquet");
    write_atomically(&parquet, |out| write_parquet(out, &columns)).map_err(StudyError::file(&parquet))
}

fn columns(runs: &[(&Planned, Vec<MetricRow>)]) -> Vec<(String, Column)> {
    let rows = || runs.iter().flat_map(|(run, rows)| rows.iter().map(move |row| (*run, row)));
    let text = |of: &dyn Fn(&Planned) -> String| Column::Text(rows().map(|(run, _)| of(run)).collect());
    let whole = |of: &dyn Fn(&Planned, &MetricRow) -> usize| {
        Column::Whole(rows().map(|(run, row)| of(run, row) as i64).collect())
    };
    let number = |of: Number| Column::Number(rows().map(|(_, row)| of(row)).collect());
    let mut columns = vec![
        ("run".to_string(), whole(&|run, _| run.index)),
        ("setting".to_string(), text(&|run| run.setting.clone())),
        ("line".to_string(), text(&|run| run.line.clone())),
        ("seed".to_string(), whole(&|run, _| run.config.seed as usize)),
    ];
    let factors = runs.first().map_or(&[][..], |(run, _)| &run.factors[..]);
    for (k, factor) in factors.iter().enumerate().filter(|(_, factor)| factor.key != "seed") {
        columns.push((factor.key.clone(), text(&|run| run.factors[k].value.clone())));
    }
    columns.extend([
        ("round".to_string(), whole(&|_, row| row.round)),
        ("interventional_samples".to_string(), whole(&|_, row| row.interventional_samples)),
        ("experiments".to_string(), whole(&|run, row| experiments(run, row))),
    ]);
    let numbers: [(&str, Number); 16] = [
        ("eshd", |row| row.eshd),
        ("esid", |row| row.esid),
        ("auroc", |row| row.auroc),
        ("auprc", |row| row.auprc),
        ("ef1", |row| row.ef1),
        ("brier", |row| row.brier),
        ("batch_information", |row| row.batch_information),
        ("fit_seconds", |row| Some(row.fit_seconds)),
        ("design_seconds", |row| row.design_seconds),
        ("ece", |row| row.ece),
        ("edge_entropy", |row| Some(row.edge_entropy)),
        ("repaired_cyclic", |row| Some(row.repaired_cyclic as f64)),
        ("edge_loss", |row| row.edge_loss),
        ("truth_mass", |row| row.truth_mass),
        ("goal_errors", |row| row.goal_errors),
        ("goal_jaccard", |row| row.goal_jaccard),
    ];
    columns.extend(numbers.map(|(name, of)| (name.to_string(), number(of))));
    for metric in LEVEL_METRICS {
        let worlds = worlds(runs, metric);
        let of_run = |of: fn(&NeededInWorld) -> Option<f64>| {
            Column::Number(rows().map(|(run, _)| worlds.get(&run.index).and_then(of)).collect())
        };
        columns.extend([
            (format!("{}_level", metric.name()), of_run(|world| Some(world.level))),
            (format!("{}_experiments", metric.name()), of_run(|world| world.needed)),
        ]);
    }
    columns
}

/// The line that the others are compared with unless another one is asked for: the random one, or else the first.
pub fn default_baseline<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let random = lines.clone().find(|line| *line == "random");
    random.or_else(|| lines.clone().find(|line| line.starts_with("random"))).or_else(|| lines.clone().next())
}

/// Experiments carried out before the belief of a row.
fn experiments(run: &Planned, row: &MetricRow) -> usize {
    row.experiments(run.config.design.replicates.at_a_time())
}

/// The world of each run by the run's number, where it has a level.
fn worlds(runs: &[(&Planned, Vec<MetricRow>)], metric: Metric) -> HashMap<usize, NeededInWorld> {
    let point = |run: &Planned, row: &MetricRow| {
        (experiments(run, row) as f64, row.metric(metric).unwrap_or(f64::NAN))
    };
    let curve = |(run, rows): &(&Planned, Vec<MetricRow>)| Curve {
        setting: run.setting.clone(),
        line: run.line.clone(),
        seed: run.config.seed,
        points: rows.iter().map(|row| point(run, row)).collect(),
    };
    let Some(baseline) = default_baseline(runs.iter().map(|(run, _)| run.line.as_str())) else {
        return HashMap::new();
    };
    let needed = experiments_needed(&runs.iter().map(curve).collect::<Vec<_>>(), metric, baseline);
    let key = |setting: &str, line: &str, seed| (setting.to_string(), line.to_string(), seed);
    let of_line = needed.iter().flat_map(|line| line.worlds.iter().map(move |world| (line, *world)));
    let found: HashMap<_, NeededInWorld> =
        of_line.map(|(line, world)| (key(&line.setting, &line.line, world.seed), world)).collect();
    let of_run = |(run, _): &(&Planned, Vec<MetricRow>)| {
        Some((run.index, *found.get(&key(&run.setting, &run.line, run.config.seed))?))
    };
    runs.iter().filter_map(of_run).collect()
}

fn write_csv(out: &mut dyn Write, columns: &[(String, Column)]) -> csv::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(columns.iter().map(|(name, _)| name))?;
    let cell = |column: &Column, row: usize| match column {
        Column::Whole(values) => values[row].to_string(),
        Column::Number(values) => values[row].map_or(String::new(), |value| value.to_string()),
        Column::Text(values) => values[row].clone(),
    };
    let rows = match &columns[0].1 {
        Column::Whole(values) => values.len(),
        _ => 0,
    };
    for row in 0..rows {
        table.write_record(columns.iter().map(|(_, column)| cell(column, row)))?;
    }
    Ok(table.flush()?)
}

fn write_parquet(out: &mut (dyn Write + Send), columns: &[(String, Column)]) -> io::Result<()> {
    let field = |(name, column): &(String, Column)| {
        let builder = match column {
            Column::Whole(_) => Type::primitive_type_builder(name, Physical::INT64),
            Column::Number(_) => Type::primitive_type_builder(name, Physical::DOUBLE),
            Column::Text(_) => Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String)),
        };
        let optional = matches!(column, Column::Number(_));
        let repetition = if optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        builder.with_repetition(repetition).build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut table = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    let mut group = table.next_row_group()?;
    for (_, column) in columns {
        let Some(mut place) = group.next_column()? else { break };
        match column {
            Column::Whole(values) => place.typed::<Int64Type>().write_batch(values, None, None)?,
            Column::Number(values) => {
                let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
                let present: Vec<f64> = values.iter().flatten().copied().collect();
                place.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?
            }
            Column::Text(values) => {
                let texts: Vec<_> = values.iter().map(|text| text.as_str().into()).collect();
                place.typed::<ByteArrayType>().write_batch(&texts, None, None)?
            }
        };
        place.close()?;
    }
    group.close()?;
    table.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::grid::expand;
    use super::*;
    use seabed::settings::Keys;

    /// Two replicates; the E-SHD of each run in the order of the grid: the seed varies slowest.
    fn table(strategies: &str, curves: &[&[f64]]) -> Vec<Vec<String>> {
        let text = format!(
            "seeds = 2\nrounds = 2\n[posterior]\nkind = \"bootstrap\"\n[design]\nbatch = 3\nreplicates = 2\nstrategy = {strategies}\n"
        );
        let planned = expand(&Keys::parse(&text, "text").unwrap()).unwrap();
        let rows = |values: &[f64]| {
            let row = |(round, value): (usize, &f64)| MetricRow {
                round,
                interventional_samples: 6 * round,
                eshd: Some(*value),
                ..MetricRow::default()
            };
            values.iter().enumerate().map(row).collect()
        };
        let runs: Vec<(&Planned, Vec<MetricRow>)> =
            planned.iter().zip(curves).map(|(run, values)| (run, rows(values))).collect();
        let mut csv = Vec::new();
        write_csv(&mut csv, &columns(&runs)).unwrap();
        let cells = |line: &str| line.split(',').map(str::to_string).collect();
        String::from_utf8(csv).unwrap().replace("\"", "").lines().map(cells).collect()
    }

    fn column(table: &[Vec<String>], name: &str) -> Vec<String> {
        // From the right: the words of a setting contain commas.
        let from_right = table[0].iter().rev().position(|cell| cell == name).unwrap();
        table[1..].iter().map(|row| row[row.len() - 1 - from_right].clone()).collect()
    }

    #[test]
    fn rows_have_the_level_of_their_world_and_what_their_run_needed() {
        let curves: [&[f64]; 4] = [&[8.0, 7.0, 5.0], &[8.0, 4.0, 6.0], &[8.0, 6.0, 3.0], &[8.0, 6.0, 4.0]];
        let table = table("[\"random\", \"greedy-cbed\"]", &curves);
        assert_eq!(column(&table, "experiments"), ["0", "3", "6"].repeat(4));
        let levels = [["5"; 6], ["3"; 6]].concat();
        assert_eq!(column(&table, "eshd_level"), levels);
        let needed = [["6"; 3], ["3"; 3], ["6"; 3], [""; 3]].concat();
        assert_eq!(column(&table, "eshd_experiments"), needed);
        assert!(column(&table, "edge_loss_level").iter().all(String::is_empty));
    }

    #[test]
    fn a_world_without_a_finished_baseline_has_no_level() {
        let curves: [&[f64]; 3] = [&[8.0, 7.0, 5.0], &[8.0, 4.0, 6.0], &[8.0, 6.0, 3.0]];
        // The baseline is the second line; its run in the second world is not there.
        let table = table("[\"greedy-cbed\", \"random\"]", &curves);
        assert_eq!(column(&table, "eshd_level"), [["6"; 6].as_slice(), &[""; 3]].concat());
    }

    #[test]
    fn the_baseline_is_the_random_line_or_the_first() {
        let of = |lines: &[&str]| default_baseline(lines.iter().copied()).map(str::to_string);
        assert_eq!(of(&["cbed", "random fixed", "random"]).as_deref(), Some("random"));
        assert_eq!(of(&["cbed", "random fixed"]).as_deref(), Some("random fixed"));
        assert_eq!(of(&["cbed", "ait"]).as_deref(), Some("cbed"));
        assert_eq!(of(&[]), None);
    }
}
