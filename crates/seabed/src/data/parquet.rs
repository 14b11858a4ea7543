//! Tables as Parquet: the same columns as in CSV, numbers as doubles, targets as text.
//!
//! Reads every plain numeric type that pandas, Arrow and R write; a null or NaN
//! is a missing value. Layout, targets and checks are those of all tables.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescriptor, Type};

use super::dataset::Dataset;
use super::decoder::decoded;
use super::error::DataError;
use super::layout::{Layout, ReadOptions, Role, blank_name};
use super::loaded::{DataWarning, Loaded, check_values_fit, most_values};
use super::missing::Gaps;
use super::names::{TARGETS_COLUMN, trimmed};
use super::parquet_content::Content;
use super::raw::{RawTable, TableView};
use super::targets::TargetColumn;
use super::wording::{Excerpt, Place, Remedy};

/// Rows decoded at a time, so that memory does not depend on what a file claims about its size.
const BATCH: usize = 1 << 13;

/// Rows that are written together.
const ROW_GROUP: usize = 1 << 20;

/// The most values that are read, whatever the memory: a few bytes of a Parquet file can stand for any number of them.
const MOST_VALUES: u64 = 1 << 29;

/// Constant columns take next to no room, but a small file with more values than these was not measured by anybody.
const VALUES_IN_ANY_FILE: u64 = 1 << 25;
const VALUES_IN_A_BYTE: u64 = 1 << 12;

/// Reads a Parquet file; nothing nested, numbers of any type, targets as text.
pub fn read_parquet(path: &Path, options: &ReadOptions) -> Result<Loaded, DataError> {
    part_of_parquet(path, options)?.complete()
}

/// As [`read_parquet`], with its gaps.
pub(super) fn part_of_parquet(path: &Path, options: &ReadOptions) -> Result<RawTable, DataError> {
    let name = path.display().to_string();
    let unreadable = |source| DataError::unreadable(name.clone(), source);
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(DataError::Directory { file: name });
    }
    decode(file, &name, options)
}

/// As [`read_parquet`], from the content of a file; messages call it `name`.
pub fn read_parquet_from(content: Vec<u8>, name: &str, options: &ReadOptions) -> Result<Loaded, DataError> {
    decode(Bytes::from(content), name, options)?.complete()
}

/// The decoder refuses most damaged pages but panics on a few.
fn decode(
    content: impl ChunkReader + 'static,
    name: &str,
    options: &ReadOptions,
) -> Result<RawTable, DataError> {
    let attempt = || {
        let most = most_values_in(content.len());
        let reader = SerializedFileReader::new(Content(content)).map_err(|source| damaged(name, source))?;
        read(&reader, most, name, options)
    };
    let table = decoded(attempt).map_err(|source| DataError::unreadable(name.to_string(), source))?;
    table.unwrap_or_else(|| Err(corrupt(name, "a page cannot be decoded")))
}

/// The most values that a file of so many bytes is taken to hold.
fn most_values_in(bytes: u64) -> u64 {
    bytes.saturating_mul(VALUES_IN_A_BYTE).clamp(VALUES_IN_ANY_FILE, MOST_VALUES)
}

fn read(
    reader: &dyn FileReader,
    most: u64,
    file: &str,
    options: &ReadOptions,
) -> Result<RawTable, DataError> {
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    // The parts of a nested column share its name; the first part is refused below by its type.
    let header: Vec<String> =
        columns.iter().map(|column| trimmed(&column.path().parts()[0]).to_string()).collect();
    let (options, warnings) = without_index(&header, options);
    let layout = Layout::new(file, &header, &options)?;
    check_columns(reader.metadata(), &layout, &header, file)?;
    let rows = check_size(reader.metadata(), &layout, most, file)?;

    let mut values: Vec<Vec<f64>> = vec![Vec::new(); layout.names.len()];
    let mut targets = TargetColumn::new(&layout.names);
    for k in 0..reader.num_row_groups() {
        let group = reader.get_row_group(k).map_err(|source| damaged(file, source))?;
        for (column, role) in layout.roles.iter().enumerate() {
            let chunk = || group.get_column_reader(column).map_err(|source| damaged(file, source));
            let place = |row: usize| Place::file(file).column(&header[column]).row(row + 1);
            match role {
                Role::Variable(node) => {
                    let unsigned = is_unsigned(&columns[column]);
                    read_numbers(chunk()?, unsigned, rows, &mut values[*node], file, place)?;
                }
                Role::Targets if is_null(&columns[column]) => {}
                Role::Targets => read_targets(chunk()?, rows, &mut targets, file)?,
                Role::Unnamed(number) => return Err(blank_name(file, *number)),
                Role::LeftOut => {}
            }
        }
    }
    if rows == 0 {
        return Err(DataError::NoRows { at: Box::new(Place::file(file)) });
    }
    let mut roles = layout.roles.iter().zip(columns);
    if !roles.any(|(role, column)| *role == Role::Targets && !is_null(column)) {
        targets.fill(rows);
    }
    let (sets, set_of_row) = targets.finish();
    if set_of_row.len() != rows || values.iter().any(|column| column.len() != rows) {
        return Err(corrupt(file, "its columns have different lengths"));
    }
    let gaps = Gaps::of(&values);
    let mut table = RawTable::read(file, layout.names, values, gaps, (sets, set_of_row));
    table.warnings = warnings;
    Ok(table)
}

fn damaged(file: &str, source: ParquetError) -> DataError {
    DataError::Parquet { file: file.to_string(), problem: source.to_string() }
}

fn corrupt(file: &str, what: &str) -> DataError {
    damaged(file, ParquetError::General(what.to_string()))
}

/// Options that leave out the index which pandas writes beside the columns of a table that was filtered.
fn without_index(header: &[String], options: &ReadOptions) -> (ReadOptions, Vec<DataWarning>) {
    let mut options = options.clone();
    let mut warnings = Vec::new();
    for column in header {
        if column.starts_with("__index_level_") && !options.ignore.contains(column) {
            options.ignore.push(column.clone());
            warnings.push(DataWarning::IndexLeftOut { column: column.clone() });
        }
    }
    (options, warnings)
}

/// Can every column that is needed be read?
fn check_columns(
    metadata: &ParquetMetaData,
    layout: &Layout,
    header: &[String],
    file: &str,
) -> Result<(), DataError> {
    let columns = metadata.file_metadata().schema_descr().columns();
    for (k, role) in layout.roles.iter().enumerate() {
        if *role == Role::LeftOut {
            continue;
        }
        let at = || Box::new(Place::file(file).column(&header[k]));
        let (is_text, kind) = (is_text(&columns[k]), || kind_of(&columns[k]));
        match role {
            Role::Targets if !is_text && !is_null(&columns[k]) => {
                return Err(DataError::TargetsType { at: at(), kind: kind() });
            }
            Role::Variable(_) if !is_number(&columns[k]) => {
                let remedy = Remedy::LeaveOut(header[k].clone());
                return Err(DataError::ColumnType { at: at(), kind: kind(), remedy });
            }
            _ => {}
        }
        for group in metadata.row_groups() {
            let Some(chunk) = group.columns().get(k) else {
                return Err(corrupt(file, "a column is missing"));
            };
            let begin = chunk.dictionary_page_offset().unwrap_or(0).min(chunk.data_page_offset());
            if begin < 0 || chunk.compressed_size() < 0 {
                return Err(corrupt(file, "a column begins before the file"));
            }
            use Compression::{SNAPPY, UNCOMPRESSED, ZSTD};
            if !matches!(chunk.compression(), UNCOMPRESSED | SNAPPY | ZSTD(_)) {
                let codec = format!("{:?}", chunk.compression());
                let codec = codec.split('(').next().unwrap_or_default().to_lowercase();
                return Err(DataError::Compression { at: at(), codec });
            }
        }
    }
    Ok(())
}

/// The number of rows that the file claims to have, if it is plausible.
fn check_size(
    metadata: &ParquetMetaData,
    layout: &Layout,
    most: u64,
    file: &str,
) -> Result<usize, DataError> {
    let rows = metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(u64::MAX));
    let rows = rows.fold(0, u64::saturating_add);
    let found = rows.saturating_mul(layout.names.len() as u64);
    check_values_fit(file, found, most.min(most_values()))?;
    Ok(rows as usize)
}

fn is_text(column: &ColumnDescriptor) -> bool {
    let annotated = matches!(column.converted_type(), ConvertedType::UTF8 | ConvertedType::NONE);
    is_flat(column) && column.physical_type() == Physical::BYTE_ARRAY && annotated
}

/// A column without any value has no type of its own.
fn is_null(column: &ColumnDescriptor) -> bool {
    is_flat(column) && matches!(column.logical_type_ref(), Some(LogicalType::Unknown))
}

fn is_number(column: &ColumnDescriptor) -> bool {
    // Dates, times and decimals are stored as numbers too, but are not numbers.
    let plain = matches!(column.logical_type_ref(), None | Some(LogicalType::Integer(_)));
    use ConvertedType::{INT_8, INT_16, INT_32, INT_64, NONE, UINT_8, UINT_16, UINT_32, UINT_64};
    let integer = matches!(
        column.converted_type(),
        NONE | INT_8 | INT_16 | INT_32 | INT_64 | UINT_8 | UINT_16 | UINT_32 | UINT_64
    );
    let number = matches!(
        column.physical_type(),
        Physical::BOOLEAN | Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE
    );
    is_flat(column) && plain && integer && number
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
    matches!(column.converted_type(), UINT_8 | UINT_16 | UINT_32 | UINT_64)
}

fn is_flat(column: &ColumnDescriptor) -> bool {
    column.path().parts().len() == 1 && column.max_rep_level() == 0
}

fn kind_of(column: &ColumnDescriptor) -> String {
    if !is_flat(column) {
        return "nested".to_string();
    }
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Unknown), _) => "null".to_string(),
        (_, ConvertedType::NONE) if column.logical_type_ref().is_none() => column.physical_type().to_string(),
        (Some(logical), ConvertedType::NONE) => {
            let name = format!("{logical:?}");
            name.split(['(', ' ', '{']).next().unwrap_or_default().to_uppercase()
        }
        (_, converted) => converted.to_string(),
    }
}

/// Appends a chunk of a variable, up to `rows` in all, NaN where there is no value; `place` is that of a row of the table.
fn read_numbers(
    chunk: ColumnReader,
    unsigned: bool,
    rows: usize,
    into: &mut Vec<f64>,
    file: &str,
    place: impl Fn(usize) -> Place,
) -> Result<(), DataError> {
    use ColumnReader::{
        BoolColumnReader, DoubleColumnReader, FloatColumnReader, Int32ColumnReader, Int64ColumnReader,
    };
    let mut push = |value: Option<f64>| -> Result<(), DataError> {
        match value {
            // Pages can claim more rows than the file does, and a few bytes can stand for more than fits in memory.
            _ if into.len() == rows => return Err(corrupt(file, "a column has too many rows")),
            None => into.push(f64::NAN),
            Some(value) if value.is_finite() || value.is_nan() => into.push(value),
            Some(value) => {
                let (at, text) = (Box::new(place(into.len())), Excerpt::new(&value.to_string()));
                return Err(DataError::NotFinite { at, text });
            }
        }
        Ok(())
    };
    match chunk {
        BoolColumnReader(chunk) => each(chunk, file, |v| push(v.map(|&v| f64::from(u8::from(v))))),
        Int32ColumnReader(chunk) if unsigned => each(chunk, file, |v| push(v.map(|&v| f64::from(v as u32)))),
        Int32ColumnReader(chunk) => each(chunk, file, |v| push(v.map(|&v| f64::from(v)))),
        Int64ColumnReader(chunk) if unsigned => each(chunk, file, |v| push(v.map(|&v| v as u64 as f64))),
        Int64ColumnReader(chunk) => each(chunk, file, |v| push(v.map(|&v| v as f64))),
        FloatColumnReader(chunk) => each(chunk, file, |v| push(v.map(|&v| f64::from(v)))),
        DoubleColumnReader(chunk) => each(chunk, file, |v| push(v.copied())),
        _ => Err(corrupt(file, "a column is not of the type that the schema says")),
    }
}

fn read_targets(
    chunk: ColumnReader,
    rows: usize,
    targets: &mut TargetColumn,
    file: &str,
) -> Result<(), DataError> {
    let ColumnReader::ByteArrayColumnReader(chunk) = chunk else {
        return Err(corrupt(file, "a column is not of the type that the schema says"));
    };
    each(chunk, file, |value: Option<&ByteArray>| {
        if targets.rows() == rows {
            return Err(corrupt(file, "a column has too many rows"));
        }
        let place = Place::file(file).row(targets.rows() + 1);
        let text = std::str::from_utf8(value.map_or(&[], ByteArray::data))
            .map_err(|_| DataError::NotUtf8 { at: Box::new(place.clone()) })?;
        targets.push(text, || place)
    })
}

/// Hands over every value of a chunk, `None` for a null.
fn each<T: DataType>(
    mut chunk: ColumnReaderImpl<T>,
    file: &str,
    mut take: impl FnMut(Option<&T::T>) -> Result<(), DataError>,
) -> Result<(), DataError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    loop {
        levels.clear();
        values.clear();
        let read = chunk.read_records(BATCH, Some(&mut levels), None, &mut values);
        let (records, _, _) = read.map_err(|source| damaged(file, source))?;
        if records == 0 {
            return Ok(());
        }
        // Columns that cannot hold nulls have no levels; those of others are 0 for a null and 1 for a value.
        let mut present = values.iter();
        for record in 0..records {
            let null = levels.get(record).is_some_and(|&level| level == 0);
            take(if null { None } else { present.next() })?;
        }
    }
}

/// Writes a data set as Parquet with snappy compression.
///
/// Variables are required DOUBLE columns; the column of targets is optional text, null in observational rows,
/// and there if any row has targets.
pub fn write_parquet(writer: impl Write + Send, dataset: &Dataset) -> io::Result<()> {
    write_parquet_view(writer, &dataset.into())
}

pub(super) fn write_parquet_view(writer: impl Write + Send, view: &TableView<'_>) -> io::Result<()> {
    let mut fields = Vec::new();
    for name in view.names.iter() {
        let number = Type::primitive_type_builder(name, Physical::DOUBLE);
        fields.push(Arc::new(number.with_repetition(Repetition::REQUIRED).build()?));
    }
    if view.interventional() {
        let text = Type::primitive_type_builder(TARGETS_COLUMN, Physical::BYTE_ARRAY)
            .with_logical_type(Some(LogicalType::String))
            .with_repetition(Repetition::OPTIONAL);
        fields.push(Arc::new(text.build()?));
    }
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    // Measurements hardly repeat, so a dictionary of them would only cost time.
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_column_dictionary_enabled(TARGETS_COLUMN.into(), true);
    let mut table = SerializedFileWriter::new(writer, Arc::new(schema), Arc::new(properties.build()))?;

    let texts: Vec<ByteArray> = view.target_texts().iter().map(|text| text.as_str().into()).collect();
    for begin in (0..view.rows()).step_by(ROW_GROUP) {
        let rows = begin..view.rows().min(begin + ROW_GROUP);
        let mut group = table.next_row_group()?;
        for values in view.columns {
            let Some(mut column) = group.next_column()? else { break };
            column.typed::<DoubleType>().write_batch(&values[rows.clone()], None, None)?;
            column.close()?;
        }
        if let Some(mut column) = group.next_column()? {
            let sets = view.set_of_row[rows].iter().map(|&k| k as usize);
            let levels: Vec<i16> = sets.clone().map(|k| i16::from(!view.sets[k].is_empty())).collect();
            let values: Vec<ByteArray> =
                sets.filter(|&k| !view.sets[k].is_empty()).map(|k| texts[k].clone()).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            column.close()?;
        }
        group.close()?;
    }
    table.close()?;
    Ok(())
}
