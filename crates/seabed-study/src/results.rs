//! The table of a study: one row per round of every run, as CSV and as Parquet.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use seabed::data::write_atomically;
use seabed::evaluate::MetricRow;

use super::StudyError;
use super::grid::Planned;

/// A number of a round, if it exists.
type Metric = fn(&MetricRow) -> Option<f64>;

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
    let number = |of: Metric| Column::Number(rows().map(|(_, row)| of(row)).collect());
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
    ]);
    let numbers: [(&str, Metric); 16] = [
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
    columns
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
