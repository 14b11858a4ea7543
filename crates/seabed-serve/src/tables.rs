//! Tables that people send: unpacked within limits, and looked at before they are kept.

use std::io::{Cursor, Read};

use flate2::read::MultiGzDecoder;
use seabed::data::{
    DataSummary, Place, ReadOptions, Sheet, TARGETS_COLUMN, ValueKind, VariableSummary, read_parquet_from,
};
use seabed_lab::{RESERVED, Variable};
use serde_json::{Value, json};

use crate::call::{Answer, Call};
use crate::failure::Failure;

/// Rows that are shown.
const SHOWN: usize = 20;

/// Columns with at most this many different values have them listed.
const LISTED: usize = 8;

/// What a packed file may become, as a multiple of the largest file.
const MOST_UNPACKED: u64 = 2;

/// The content of a table, unpacked; what cannot be one is refused.
pub fn content(call: &Call) -> Result<Vec<u8>, Failure> {
    let content = unpacked(call)?;
    if is_web_page(&content) {
        return Err(Failure::invalid(
            "the file is a web page (HTML), not a table, whatever its name says: perhaps a page was saved in the place of the \
             file. Save the table as CSV or Excel, and try again",
        ));
    }
    Ok(content)
}

/// What gzip packed is unpacked, and what would unpack to more than fits is refused.
fn unpacked(call: &Call) -> Result<Vec<u8>, Failure> {
    if call.body.is_empty() {
        return Err(Failure::malformed("the body is empty: send the file as it is"));
    }
    let most = MOST_UNPACKED * call.server.upload_limit as u64;
    let bomb = || Failure::too_large("the file is packed, and too large when it is unpacked");
    if call.body.starts_with(b"\x1f\x8b") {
        let mut content = Vec::new();
        let read = MultiGzDecoder::new(&call.body[..]).take(most + 1).read_to_end(&mut content);
        if content.len() as u64 > most {
            return Err(bomb());
        }
        read.map_err(|error| Failure::invalid(format!("the file cannot be unpacked: {error}")))?;
        return Ok(content);
    }
    if call.body.starts_with(b"PK\x03\x04") {
        // The sizes that an archive names may be lies: it is unpacked and thrown away.
        let unreadable =
            |error: &dyn std::fmt::Display| Failure::invalid(format!("the workbook cannot be read: {error}"));
        let mut archive =
            zip::ZipArchive::new(Cursor::new(&call.body[..])).map_err(|error| unreadable(&error))?;
        let mut left = most;
        for k in 0..archive.len() {
            let part = archive.by_index(k).map_err(|error| unreadable(&error))?;
            let size = std::io::copy(&mut part.take(left + 1), &mut std::io::sink());
            left = left.checked_sub(size.map_err(|error| unreadable(&error))?).ok_or_else(bomb)?;
        }
    }
    Ok(call.body.to_vec())
}

/// Does it begin as pages of the web do?
fn is_web_page(content: &[u8]) -> bool {
    let start = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content).trim_ascii_start();
    let begins = |word: &[u8]| start.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    begins(b"<!doctype html") || begins(b"<html")
}

/// Shows what a table holds, without keeping it.
pub fn preview(call: &Call) -> Result<Answer, Failure> {
    let (file, options, content) = (call.file_name(), call.read_options()?, content(call)?);
    if content.starts_with(b"PAR1") {
        return parquet(&file, content, &options);
    }
    let sheet = Sheet::read(&content[..], &file, &options)?;
    drop(content);
    let columns: Vec<Value> = (0..sheet.header.len()).map(|k| column(&sheet, k, &options)).collect();
    let is_form = ["experiment", "status"].iter().all(|name| sheet.header.iter().any(|known| known == name));
    let cells: Vec<&[String]> = sheet.rows.iter().take(SHOWN).map(|row| &row.cells[..]).collect();
    Ok(Answer::json(&json!({
        "file": file, "rows": sheet.rows.len(), "header": sheet.header, "columns": columns, "cells": cells,
        "notes": sheet.note.iter().collect::<Vec<_>>(), "warnings": warnings(&columns), "is_form": is_form,
    })))
}

fn parquet(file: &str, content: Vec<u8>, options: &ReadOptions) -> Result<Answer, Failure> {
    let loaded = read_parquet_from(content, file, options)?;
    let (data, summary) = (&loaded.dataset, DataSummary::of(&loaded.dataset));
    let columns: Vec<Value> =
        summary.variables.iter().zip(data.columns()).map(|(v, c)| described(v, c, 0)).collect();
    let row = |row: usize| data.columns().iter().map(|column| column[row].to_string()).collect::<Vec<_>>();
    let cells: Vec<Vec<String>> = (0..data.rows().min(SHOWN)).map(row).collect();
    let told: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    Ok(Answer::json(&json!({
        "file": file, "rows": data.rows(), "header": data.names()[..], "columns": columns, "cells": cells,
        "notes": loaded.notes, "warnings": told, "is_form": false,
    })))
}

/// What a column of a sheet seems to be.
fn column(sheet: &Sheet, k: usize, options: &ReadOptions) -> Value {
    let name = &sheet.header[k];
    let cells = || sheet.rows.iter().map(|row| row.cells[k].as_str());
    let empty = cells().filter(|cell| cell.is_empty()).count();
    let plain = |kind: &str| json!({"name": name, "kind": kind, "missing": empty});
    if name == TARGETS_COLUMN {
        return plain("targets");
    }
    if RESERVED.contains(&name.as_str()) {
        return plain("form");
    }
    if empty == sheet.rows.len() {
        return plain("empty");
    }
    if options.ignore.contains(name) {
        return plain("text");
    }
    let mut values = Vec::with_capacity(sheet.rows.len());
    for cell in cells() {
        match sheet.numbers.value(cell, &Place::default(), name) {
            Ok(value) => values.extend(value),
            Err(_) => {
                let mut text = plain("text");
                text["problem"] = json!(format!("{:?} is not a number", shortened(cell)));
                return text;
            }
        }
    }
    let missing = sheet.rows.len() - values.len();
    if values.is_empty() {
        return json!({"name": name, "kind": "empty", "missing": missing});
    }
    let counts = |first: f64| values.iter().enumerate().all(|(k, value)| *value == first + k as f64);
    let mut described = described_values(name, &values, missing);
    if missing == 0 && values.len() > 2 && (counts(0.0) || counts(1.0)) {
        described["kind"] = json!("counter");
    }
    described
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= 40 { text.to_string() } else { text.chars().take(39).chain(['…']).collect() }
}

fn described(summary: &VariableSummary, values: &[f64], missing: usize) -> Value {
    described_values(&summary.name, values, missing)
}

/// A variable with these values.
fn described_values(name: &str, values: &[f64], missing: usize) -> Value {
    let mut levels: Vec<f64> = Vec::new();
    for &value in values {
        if levels.len() > LISTED {
            break;
        }
        if !levels.contains(&value) {
            levels.push(value);
        }
    }
    levels.sort_by(f64::total_cmp);
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let kind = match levels.len() {
        1 => ValueKind::Constant,
        2 => ValueKind::TwoValues,
        _ if values.iter().all(|value| value.fract() == 0.0) => ValueKind::WholeNumbers,
        _ => ValueKind::Numbers,
    };
    let words = match kind {
        ValueKind::Constant => "constant",
        ValueKind::TwoValues => "two-values",
        ValueKind::WholeNumbers => "whole-numbers",
        ValueKind::Numbers => "numbers",
    };
    let mut value = json!({
        "name": name, "kind": "variable", "missing": missing, "values": words, "low": low, "high": high,
        "draft": Variable::drafted(name, values.iter().copied()),
    });
    if levels.len() <= LISTED {
        value["levels"] = json!(levels);
    }
    value
}

/// What people should look at before they go on.
fn warnings(columns: &[Value]) -> Vec<String> {
    let of = |kind: &str, words: &str| {
        let names: Vec<&str> = columns
            .iter()
            .filter(|column| column["kind"] == kind)
            .filter_map(|c| c["name"].as_str())
            .collect();
        (!names.is_empty()).then(|| format!("{} {words}", names.join(", ")))
    };
    [
        of("counter", "looks like a row number; leave it out if it is not a variable"),
        of("text", "holds texts, not numbers; leave it out"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
