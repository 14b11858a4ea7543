//! What there is to look at beside measurements, proposals and beliefs: the server, its campaigns, who did what, jobs, copies.

use seabed::design::Strategy;
use seabed::posterior::PosteriorKind;
use seabed_lab::{Action, Lab};
use serde_json::{Value, json};

use crate::call::{Answer, Call};
use crate::failure::Failure;
use crate::library::Place;

/// What this server is.
pub fn server(call: &Call) -> Result<Answer, Failure> {
    let library = &call.server.library;
    let (folder, new_id) = match &library.place {
        Place::Folder(_) => (true, None),
        Place::File(path) => (false, if path.exists() { None } else { Some(library.place_for("")?.0) }),
    };
    let posteriors: Vec<Value> =
        PosteriorKind::ALL.iter().map(|(name, what)| json!({"name": name, "what": what})).collect();
    let strategies: Vec<&str> = Strategy::ALL.iter().map(|(name, _)| *name).collect();
    Ok(Answer::json(&json!({
        "version": env!("CARGO_PKG_VERSION"), "api": 1, "folder": folder, "can_create": folder || new_id.is_some(),
        "new_id": new_id, "upload_limit": call.server.upload_limit, "posteriors": posteriors,
        "strategies": strategies,
    })))
}

/// The description of this interface.
pub fn openapi(_: &Call) -> Result<Answer, Failure> {
    let body = crate::OPENAPI.as_bytes().to_vec();
    Ok(Answer { body, ..Answer::json(&()) })
}

/// All campaigns.
pub fn campaigns(call: &Call) -> Result<Answer, Failure> {
    let library = &call.server.library;
    let shown = |(id, _): (String, _)| {
        let read = library.find(&id).and_then(|campaign| {
            let answer = campaign.answer("in a list", |lab| {
                let state = lab.state()?;
                Ok(Answer::json(&json!({
                    "id": id, "actions": state.actions.len(), "variables": state.variables.names().len(),
                    "rows": state.rows().count(), "pending": state.pending().count(),
                    "changed": state.actions.iter().map(|action| &action.at).max(),
                })))
            });
            answer.map(|answer| serde_json::from_slice(&answer.body).unwrap_or_default())
        });
        read.unwrap_or_else(|failure| json!({"id": id, "problem": failure.message}))
    };
    let campaigns: Vec<Value> = library.list().into_iter().map(shown).collect();
    Ok(Answer::json(&json!({"campaigns": campaigns})))
}

/// A campaign as it stands.
pub fn campaign(call: &Call) -> Result<Answer, Failure> {
    let campaign = call.campaign()?;
    let jobs: Vec<Value> = call.server.jobs.open_of(&campaign.id).iter().map(|job| job.shown()).collect();
    let shown = campaign.answer("as it stands", |lab| {
        let (state, revision) = (lab.state()?, lab.version()?);
        let names = state.variables.names();
        let last = state.actions.iter().rev().find(|action| action.undone.is_none());
        Ok(Answer::json(&json!({
            "id": campaign.id, "revision": revision, "seed": state.seed,
            "variables": state.variables.list(), "knowledge": state.variables.knowledge().to_form(names),
            "ignore": state.variables.ignored(),
            "rows": state.rows().count(),
            "interventional": state.interventional(),
            "incomplete": state.incomplete(),
            "pending": state.pending().count(), "proposals": state.proposals.len(),
            "read_only": lab.is_read_only(),
            "goal": state.proposals.last().map_or("", |proposal| &proposal.request.goal),
            "last_action": last.map_or(1, |action| action.id),
        })))
    })?;
    let mut shown: Value = serde_json::from_slice(&shown.body).unwrap_or_default();
    shown["jobs"] = json!(jobs);
    Ok(Answer::json(&shown))
}

/// Who did what, when.
pub fn history(call: &Call) -> Result<Answer, Failure> {
    call.campaign()?.read(|lab| {
        let actions: Vec<Value> = lab.state()?.actions.iter().map(action).collect();
        Ok(Answer::json(&json!({"actions": actions})))
    })
}

/// An action as JSON.
pub fn action(action: &Action) -> Value {
    json!({
        "id": action.id, "kind": action.kind, "what": action.what, "at": action.at, "who": action.who,
        "note": action.note, "undone": action.undone,
    })
}

/// Everything as CSV and JSON, zipped.
pub fn export(call: &Call) -> Result<Answer, Failure> {
    let campaign = call.campaign()?;
    let failed = |error: std::io::Error| Failure::environment(error.to_string());
    campaign.read(|lab| {
        let folder = tempfile::tempdir().map_err(failed)?;
        let files = lab.export(folder.path())?;
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for name in files {
            let options = zip::write::SimpleFileOptions::default();
            archive.start_file(&*name, options).map_err(|error| failed(error.into()))?;
            let content = std::fs::read(folder.path().join(&name)).map_err(failed)?;
            std::io::Write::write_all(&mut archive, &content).map_err(failed)?;
        }
        let bytes = archive.finish().map_err(|error| failed(error.into()))?.into_inner();
        Ok(Answer::file(format!("{}.zip", campaign.id), "application/zip", bytes))
    })
}

/// A copy of the campaign's file.
pub fn backup(call: &Call) -> Result<Answer, Failure> {
    let campaign = call.campaign()?;
    let failed = |error: std::io::Error| Failure::environment(error.to_string());
    let folder = tempfile::tempdir().map_err(failed)?;
    let copy = folder.path().join("copy.lab");
    let mut lab: Lab = campaign.open()?;
    lab.backup(&copy)?;
    let bytes = std::fs::read(&copy).map_err(failed)?;
    Ok(Answer::file(format!("{}.lab", campaign.id), "application/octet-stream", bytes))
}

/// All jobs, the newest first.
pub fn jobs(call: &Call) -> Result<Answer, Failure> {
    let jobs: Vec<Value> = call.server.jobs.all().iter().map(|job| job.shown()).collect();
    Ok(Answer::json(&json!({"jobs": jobs})))
}

/// A job.
pub fn job(call: &Call) -> Result<Answer, Failure> {
    match call.server.jobs.find(call.place("job")) {
        Some(job) => Ok(Answer::json(&job.shown())),
        None => Err(Failure::not_found("there is no such job, or it was long ago")),
    }
}
