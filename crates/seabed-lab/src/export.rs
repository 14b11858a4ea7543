//! Everything that is in force, and the history, as CSV and JSON for other programs.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use seabed::data::{TARGETS_COLUMN, write_atomically};
use serde_json::{Value, json};

use super::form::experiment_name;
use super::spreadsheet::harmless_cell;
use super::state::{Record, Row, State};
use super::store::targets_text;
use super::{Lab, LabError};

impl Lab {
    /// The files that [`Lab::export`] may write.
    pub const EXPORTED: [&str; 6] =
        ["campaign.json", "data.csv", "experiments.csv", "actions.csv", "variables.toml", "edges.csv"];

    /// Does the folder hold an export?
    pub fn is_export(folder: &Path) -> bool {
        let all = fs::read(folder.join("campaign.json")).unwrap_or_default();
        let all: Value = serde_json::from_slice(&all).unwrap_or_default();
        ["seed", "variables", "actions", "sources", "experiments"].iter().all(|key| all.get(key).is_some())
    }

    /// Writes `data.csv` (every measurement in force), `experiments.csv` (every record, including replaced ones),
    /// `actions.csv`, `edges.csv` (if anything was learned), `variables.toml` and `campaign.json` (all of it) into a folder.
    pub fn export(&self, folder: &Path) -> Result<Vec<String>, LabError> {
        let state = self.state()?;
        fs::create_dir_all(folder).map_err(LabError::file(folder))?;
        let mut written = Vec::new();
        let mut write = |name: &str, content: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
            let path = folder.join(name);
            written.push(name.to_string());
            write_atomically(&path, |out| content(out)).map_err(LabError::file(&path))
        };
        let edges = self.edge_probabilities()?;
        let all = campaign(&state, edges.as_deref());
        // First, because an export is known by it.
        write("campaign.json", &|out| serde_json::to_writer_pretty(out, &all).map_err(Into::into))?;
        write("data.csv", &|out| data(out, &state).map_err(io::Error::other))?;
        write("experiments.csv", &|out| experiments(out, &state).map_err(io::Error::other))?;
        write("actions.csv", &|out| actions(out, &state).map_err(io::Error::other))?;
        write("variables.toml", &|out| out.write_all(state.variables_text.as_bytes()))?;
        if let Some(edges) = &edges {
            write("edges.csv", &|out| edge_list(out, &state, edges).map_err(io::Error::other))?;
        }
        Ok(written)
    }
}

/// Written so that it reads back to the same bits; empty if the value is missing.
fn texts(row: &Row) -> impl Iterator<Item = String> {
    row.cells.iter().map(|cell| cell.map_or(String::new(), |value| value.to_string()))
}

/// The names of the variables as a header.
fn columns(state: &State) -> impl Iterator<Item = String> {
    state.variables.names().iter().map(|name| harmless_cell(name).into_owned())
}

fn targets(row: &Row, names: &[String]) -> String {
    harmless_cell(&targets_text(&row.targets, names)).into_owned()
}

fn data(out: &mut dyn Write, state: &State) -> csv::Result<()> {
    let names = state.variables.names();
    let mut table = csv::Writer::from_writer(out);
    table.write_record(columns(state).chain([TARGETS_COLUMN.to_string()]))?;
    for row in state.rows() {
        table.write_record(texts(row).chain([targets(row, names)]))?;
    }
    Ok(table.flush()?)
}

fn experiments(out: &mut dyn Write, state: &State) -> csv::Result<()> {
    let names = state.variables.names();
    let mut table = csv::Writer::from_writer(out);
    let first = ["experiment", "replicate", "proposal", "action", "file", "in_force"];
    let (first, last) = (first.map(String::from), [TARGETS_COLUMN, "status"].map(String::from));
    table.write_record(first.into_iter().chain(columns(state)).chain(last))?;
    for experiment in state.live() {
        let proposal = experiment.proposal.map_or(String::new(), |id| id.to_string());
        for (replicate, records) in &experiment.records {
            for (k, record) in records.iter().enumerate() {
                let newest = k + 1 == records.len();
                let places = [
                    experiment_name(experiment.id),
                    replicate.to_string(),
                    proposal.clone(),
                    record.action.to_string(),
                    harmless_cell(&record.file).into_owned(),
                    newest.to_string(),
                ];
                let last = [targets(&record.row, names), record.status.name().to_string()];
                table.write_record(places.into_iter().chain(texts(&record.row)).chain(last))?;
            }
        }
        for replicate in experiment.pending().filter(|replicate| experiment.newest(*replicate).is_none()) {
            let row = super::FormRow::to_fill(
                experiment_name(experiment.id),
                replicate,
                &experiment.settings,
                names.len(),
            );
            let row = Row { targets: row.targets, cells: row.cells };
            let (name, number) = (experiment_name(experiment.id), replicate.to_string());
            let places = [name, number, proposal.clone(), String::new(), String::new(), "true".into()];
            let last = [targets(&row, names), "pending".to_string()];
            table.write_record(places.into_iter().chain(texts(&row)).chain(last))?;
        }
    }
    Ok(table.flush()?)
}

fn actions(out: &mut dyn Write, state: &State) -> csv::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(["action", "kind", "what", "at", "note", "undone"])?;
    for action in &state.actions {
        let undone = action.undone.clone().unwrap_or_default();
        let id = action.id.to_string();
        let (what, note) = (harmless_cell(&action.what), harmless_cell(&action.note));
        table.write_record([&id, &action.kind, &*what, &action.at, &*note, &undone])?;
    }
    Ok(table.flush()?)
}

fn edge_list(out: &mut dyn Write, state: &State, probabilities: &[Vec<f64>]) -> csv::Result<()> {
    let names = state.variables.names();
    let mut table = csv::Writer::from_writer(out);
    table.write_record(["source", "target", "probability"])?;
    for (i, row) in probabilities.iter().enumerate() {
        for (j, probability) in row.iter().enumerate().filter(|(j, _)| i != *j) {
            table.write_record([
                &*harmless_cell(&names[i]),
                &*harmless_cell(&names[j]),
                &probability.to_string(),
            ])?;
        }
    }
    Ok(table.flush()?)
}

fn campaign(state: &State, edges: Option<&[Vec<f64>]>) -> Value {
    let names = state.variables.names();
    let row = |row: &Row| json!({"targets": targets_text(&row.targets, names), "cells": row.cells});
    let record = |record: &Record| {
        let mut value = row(&record.row);
        value["action"] = json!(record.action);
        value["status"] = json!(record.status.name());
        value["file"] = json!(record.file);
        value
    };
    let sources: Vec<Value> = state
        .sources
        .iter()
        .map(|source| {
            let rows: Vec<Value> = source.rows.iter().map(row).collect();
            json!({"action": source.action, "file": source.file, "sha256": source.sha256, "rows": rows})
        })
        .collect();
    let experiments: Vec<Value> = state
        .live()
        .map(|experiment| {
            let named = |&(node, value): &(usize, f64)| (names[node].clone(), json!(value));
            let settings: serde_json::Map<String, Value> = experiment.settings.iter().map(named).collect();
            let records = experiment.records.iter().map(|(replicate, records)| {
                (replicate.to_string(), records.iter().map(record).collect::<Value>())
            });
            json!({
                "experiment": experiment_name(experiment.id),
                "proposal": experiment.proposal,
                "settings": settings,
                "replicates": experiment.replicates,
                "records": records.collect::<serde_json::Map<_, _>>(),
            })
        })
        .collect();
    let proposals: Vec<Value> = state
        .proposals
        .iter()
        .map(|proposal| {
            json!({
                "proposal": proposal.id,
                "action": proposal.action,
                "wishes": proposal.request,
                "designed": proposal.designed,
            })
        })
        .collect();
    let actions: Vec<Value> = state
        .actions
        .iter()
        .map(|action| {
            json!({
                "action": action.id, "kind": action.kind, "what": action.what, "at": action.at,
                "note": action.note, "undone": action.undone,
            })
        })
        .collect();
    json!({
        "seed": state.seed,
        "variables": state.variables.list(),
        "actions": actions,
        "sources": sources,
        "proposals": proposals,
        "experiments": experiments,
        "edge_probabilities": edges,
    })
}
