//! Everything that can be looked at: the campaign, what is believed, what was proposed, measured and done.

use std::collections::HashMap;

use seabed::checks::{self, Finding};
use seabed::design::{Strategy, ceiling, reasons};
use seabed::posterior::PosteriorKind;
use seabed_lab::{Action, Experiment, FormRow, Lab, Row, State, Status, experiment_name, write_form};
use seabed_report::run_html;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Call};
use crate::failure::Failure;
use crate::library::{Campaign, Place};

/// Points of a pair of variables that are sent at most.
const MOST_POINTS: usize = 5000;

/// Rows that are sent at once: usually, and at most.
const ROWS: (usize, usize) = (1000, 10_000);

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
            campaign.read(|lab| {
                let state = lab.state()?;
                Ok(json!({
                    "id": id, "actions": state.actions.len(), "variables": state.variables.names().len(),
                    "rows": state.rows().count(), "pending": state.pending().count(),
                    "changed": state.actions.iter().map(|action| &action.at).max(),
                }))
            })
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
    campaign.read(|lab| {
        let (state, revision) = (lab.state()?, lab.version()?);
        let names = state.variables.names();
        let last = state.actions.iter().rev().find(|action| action.undone.is_none());
        Ok(Answer::json(&json!({
            "id": campaign.id, "revision": revision, "seed": state.seed,
            "variables": state.variables.list(), "knowledge": state.variables.knowledge().to_form(names),
            "ignore": state.variables.ignored(),
            "rows": state.rows().count(),
            "interventional": state.rows().filter(|row| !row.targets.is_empty()).count(),
            "incomplete": state.rows().filter(|row| !row.is_complete()).count(),
            "pending": state.pending().count(), "proposals": state.proposals.len(),
            "read_only": lab.is_read_only(),
            "goal": state.proposals.last().map_or("", |proposal| &proposal.request.goal),
            "last_action": last.map_or(1, |action| action.id),
            "jobs": jobs,
        })))
    })
}

/// What is pending, what was learned.
pub fn status(call: &Call) -> Result<Answer, Failure> {
    let campaign = call.campaign()?;
    present_status(&campaign)
}

/// The status, which is costly where there are many variables, and which other answers are parts of.
fn present_status(campaign: &Campaign) -> Result<Answer, Failure> {
    campaign.answer("status", |lab| {
        let (summary, state) = (lab.summary()?, lab.state()?);
        let mut value = json!(summary);
        value["unit"] = json!(summary.strategy.parts().0.unit());
        value["revision"] = json!(lab.version()?);
        for (round, proposal) in value["rounds"].as_array_mut().into_iter().flatten().zip(&state.proposals) {
            round["wrong_edges"] = json!(proposal.designed.forecast.map(|forecast| forecast.wrong_now));
        }
        Ok(Answer::json(&value))
    })
}

/// The measurements in force.
pub fn data(call: &Call) -> Result<Answer, Failure> {
    let offset: usize = call.parsed("offset")?.unwrap_or(0);
    let limit = call.parsed("limit")?.unwrap_or(ROWS.0);
    if !(1..=ROWS.1).contains(&limit) {
        return Err(Failure::malformed(format!("limit: choose a number from 1 to {}", ROWS.1)));
    }
    call.campaign()?.read(|lab| {
        let state = lab.state()?;
        let names = state.variables.names();
        let all = state.rows().count();
        let rows: Vec<Value> = sourced(&state)
            .skip(offset)
            .take(limit)
            .map(|(row, source)| {
                json!({"values": row.cells, "targets": named(&row.targets, names), "source": source})
            })
            .collect();
        Ok(Answer::json(&json!({"names": names[..], "all": all, "offset": offset, "rows": rows})))
    })
}

/// The rows in force, each with its file or its experiment.
fn sourced(state: &State) -> impl Iterator<Item = (&Row, String)> {
    let files =
        state.sources.iter().flat_map(|source| source.rows.iter().map(|row| (row, source.file.clone())));
    let experiments = state.live().flat_map(|experiment| {
        experiment.measured().map(|(_, record)| (&record.row, experiment_name(experiment.id)))
    });
    files.chain(experiments)
}

fn named<'n>(nodes: &[usize], names: &'n [String]) -> Vec<&'n str> {
    nodes.iter().map(|&node| names[node].as_str()).collect()
}

fn by_name<T: serde::Serialize>(pairs: impl Iterator<Item = (String, T)>) -> Value {
    Value::Object(pairs.map(|(name, value)| (name, json!(value))).collect::<Map<_, _>>())
}

/// All proposals in force.
pub fn proposals(call: &Call) -> Result<Answer, Failure> {
    call.campaign()?.answer(&call.what, |lab| {
        let state = lab.state()?;
        let shown = |proposal: &seabed_lab::Proposal| {
            let mine = || state.live().filter(|experiment| experiment.proposal == Some(proposal.id));
            let action = state.actions.iter().find(|action| action.id == proposal.action);
            let text = |of: fn(&Action) -> &String| action.map_or("", |action| of(action));
            json!({
                "proposal": proposal.id, "action": proposal.action, "at": text(|action| &action.at),
                "who": text(|action| &action.who), "note": text(|action| &action.note),
                "strategy": proposal.request.design.strategy, "goal": proposal.request.goal,
                "experiments": proposal.designed.batch.len(), "information": proposal.designed.information,
                "standard_error": proposal.designed.standard_error,
                "done": mine().map(|experiment| experiment.measured().count()).sum::<usize>(),
                "failed": mine().map(failures).sum::<usize>(),
                "pending": mine().map(|experiment| experiment.pending().count()).sum::<usize>(),
            })
        };
        let list: Vec<Value> = state.proposals.iter().map(shown).collect();
        Ok(Answer::json(&json!({"proposals": list})))
    })
}

fn failures(experiment: &Experiment) -> usize {
    let newest = experiment.records.values().filter_map(|records| records.last());
    newest.filter(|record| record.status == Status::Failed).count()
}

/// The proposal that the path names.
fn asked_proposal(call: &Call, state: &State) -> Result<usize, Failure> {
    let number: Option<i64> = call.place("proposal").parse().ok();
    let found = state.proposals.iter().position(|proposal| Some(proposal.id) == number);
    found.ok_or_else(|| Failure::not_found("there is no such proposal, or it was undone"))
}

/// A proposal, its reasons, its form.
pub fn proposal(call: &Call) -> Result<Answer, Failure> {
    call.campaign()?.answer(&call.what, |lab| {
        let state = lab.state()?;
        let proposal = &state.proposals[asked_proposal(call, &state)?];
        let (designed, request) = (&proposal.designed, &proposal.request);
        let names = state.variables.names();
        let action = state.actions.iter().find(|action| action.id == proposal.action);
        let text = |of: fn(&Action) -> &String| action.map_or("", |action| of(action));
        let mine = state.live().filter(|experiment| experiment.proposal == Some(proposal.id));
        let batch: Vec<Value> = designed
            .batch
            .iter()
            .zip(mine)
            .map(|(chosen, experiment)| {
                json!({
                    "experiment": experiment_name(experiment.id),
                    "targets": by_name(chosen.targets.iter().cloned()),
                    "rows": chosen.rows.unwrap_or(1), "information": chosen.information,
                    "standard_error": chosen.standard_error, "gain": chosen.gain, "cost": chosen.cost,
                    "decides": chosen.decides, "why": reasons(&chosen.decides),
                })
            })
            .collect();
        let mut curves: Vec<(&str, Vec<[f64; 3]>)> = Vec::new();
        for evaluated in &designed.evaluated {
            let [(target, value)] = &evaluated.targets[..] else { continue };
            let point = [*value, evaluated.information, evaluated.standard_error];
            match curves.iter_mut().find(|(known, _)| known == target) {
                Some((_, points)) => points.push(point),
                None => curves.push((target, vec![point])),
            }
        }
        curves.iter_mut().for_each(|(_, points)| points.sort_by(|a, b| a[0].total_cmp(&b[0])));
        let curves: Vec<Value> =
            curves.iter().map(|(target, points)| json!({"target": target, "points": points})).collect();
        let rows: Vec<Value> = state.form(proposal.id).iter().map(|row| form_row(row, names)).collect();
        let settings: Vec<_> = state
            .live()
            .filter(|experiment| experiment.proposal == Some(proposal.id))
            .map(|experiment| experiment.settings.clone())
            .collect();
        let warnings: Vec<String> = state
            .traps(&settings)
            .into_iter()
            .chain(ceiling(designed.information, designed.entropy).map(str::to_string))
            .collect();
        Ok(Answer::json(&json!({
            "proposal": proposal.id, "action": proposal.action, "at": text(|action| &action.at),
            "who": text(|action| &action.who), "note": text(|action| &action.note),
            "strategy": request.design.strategy, "unit": request.design.strategy.parts().0.unit(),
            "goal": request.goal, "request": request, "batch": batch,
            "batch_information": designed.information, "batch_standard_error": designed.standard_error,
            "entropy": designed.entropy, "forecast": designed.forecast,
            "sentences": designed.forecast.map_or(Vec::new(), |forecast| forecast.sentences()),
            "belief": lab.belief_before(proposal.belief)?.0, "curves": curves, "rows": rows,
            "warnings": warnings,
        })))
    })
}

fn form_row(row: &FormRow, names: &[String]) -> Value {
    json!({
        "experiment": row.experiment, "replicate": row.replicate, "targets": named(&row.targets, names),
        "values": by_name(names.iter().cloned().zip(row.cells.iter().copied())), "status": row.status,
    })
}

/// The form of a proposal, to fill in.
pub fn form(call: &Call) -> Result<Answer, Failure> {
    let format = call.asked("format").unwrap_or("csv");
    let content_type = match format {
        "csv" => "text/csv; charset=utf-8",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _ => return Err(Failure::malformed("format: write csv or xlsx")),
    };
    let campaign = call.campaign()?;
    campaign.read(|lab| {
        let state = lab.state()?;
        let proposal = state.proposals[asked_proposal(call, &state)?].id;
        let name = format!("batch-{proposal:04}.{format}");
        let mut bytes = Vec::new();
        write_form(&mut bytes, name.as_ref(), state.variables.names(), &state.form(proposal))
            .map_err(|error| Failure::environment(error.to_string()))?;
        Ok(Answer::file(format!("{}-{name}", campaign.id), content_type, bytes))
    })
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

/// All experiments in force with their records.
pub fn experiments(call: &Call) -> Result<Answer, Failure> {
    call.campaign()?.answer(&call.what, |lab| {
        let state = lab.state()?;
        let names = state.variables.names();
        let shown = |experiment: &Experiment| {
            let mut records = Vec::new();
            for (replicate, all) in &experiment.records {
                for (k, record) in all.iter().enumerate() {
                    let values = names.iter().cloned().zip(record.row.cells.iter().copied());
                    records.push(json!({
                        "replicate": replicate, "status": record.status.name(), "values": by_name(values),
                        "targets": named(&record.row.targets, names), "action": record.action,
                        "file": record.file, "in_force": k + 1 == all.len(),
                    }));
                }
            }
            let settings = experiment.settings.iter().map(|&(node, value)| (names[node].clone(), value));
            json!({
                "experiment": experiment_name(experiment.id), "proposal": experiment.proposal,
                "settings": by_name(settings), "replicates": experiment.replicates, "records": records,
            })
        };
        let list: Vec<Value> = state.live().map(shown).collect();
        Ok(Answer::json(&json!({"experiments": list})))
    })
}

/// The probability of every edge.
pub fn edges(call: &Call) -> Result<Answer, Failure> {
    call.campaign()?.answer(&call.what, |lab| {
        let (probabilities, fresh) = lab.edges_now()?;
        let state = lab.state()?;
        Ok(Answer::json(&json!({
            "names": state.variables.names()[..], "probabilities": probabilities, "fresh": fresh, "revision": lab.version()?,
        })))
    })
}

/// The pair of variables that the query names.
fn asked_pair(call: &Call, state: &State) -> Result<(usize, usize), Failure> {
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

/// The probability of one edge over the rounds, and what would decide it.
pub fn edge_history(call: &Call) -> Result<Answer, Failure> {
    call.campaign()?.answer(&call.what, |lab| {
        let state = lab.state()?;
        let (from, to) = asked_pair(call, &state)?;
        let names = state.variables.names();
        let mut known: HashMap<i64, (usize, [f64; 2])> = HashMap::new();
        let mut rounds = Vec::new();
        for proposal in &state.proposals {
            let (rows, [there, back]) = match known.get(&proposal.belief) {
                Some(found) => *found,
                None => {
                    let (summary, all) = lab.belief_before(proposal.belief)?;
                    let found = (summary.rows, [all[from][to], all[to][from]]);
                    known.insert(proposal.belief, found);
                    found
                }
            };
            let at = state.actions.iter().find(|action| action.id == proposal.action);
            let at = at.map_or("", |action| &action.at);
            rounds
                .push(json!({"proposal": proposal.id, "at": at, "rows": rows, "there": there, "back": back}));
        }
        if let (Some(all), true) = lab.edges_now()? {
            let at = state.actions.last().map_or("", |action| &action.at);
            rounds.push(json!({
                "proposal": null, "at": at, "rows": state.rows().filter(|row| row.is_complete()).count(),
                "there": all[from][to], "back": all[to][from],
            }));
        }
        Ok(Answer::json(&json!({
            "from": names[from], "to": names[to], "rounds": rounds,
            "decided_by": deciding(&state, &names[from], &names[to]),
        })))
    })
}

/// The experiments of the last proposal that would decide a pair.
fn deciding(state: &State, from: &str, to: &str) -> Vec<Value> {
    let Some(proposal) = state.proposals.last() else { return Vec::new() };
    let mine = state.live().filter(|experiment| experiment.proposal == Some(proposal.id));
    let of = |(chosen, experiment): (&seabed::design::ExperimentRecord, &Experiment)| {
        let decision = chosen.decides.iter().find(|decision| {
            let pair = [decision.from.as_str(), decision.to.as_str()];
            pair == [from, to] || pair == [to, from]
        })?;
        Some(json!({
            "proposal": proposal.id, "experiment": experiment_name(experiment.id),
            "targets": by_name(chosen.targets.iter().cloned()), "decision": decision,
            "pending": experiment.pending().next().is_some(),
        }))
    };
    proposal.designed.batch.iter().zip(mine).filter_map(of).collect()
}

/// The data of a pair of variables.
pub fn pair(call: &Call) -> Result<Answer, Failure> {
    call.campaign()?.answer(&call.what, |lab| {
        let state = lab.state()?;
        let (from, to) = asked_pair(call, &state)?;
        let both: Vec<(&Row, String, f64, f64)> = sourced(&state)
            .filter_map(|(row, source)| Some((row, source, row.cells[from]?, row.cells[to]?)))
            .collect();
        let every = both.len().div_ceil(MOST_POINTS).max(1);
        let files: Vec<&str> = state.sources.iter().map(|source| source.file.as_str()).collect();
        let points: Vec<Value> = both
            .iter()
            .step_by(every)
            .map(|(row, source, x, y)| {
                let set = match (row.targets.contains(&from), row.targets.contains(&to)) {
                    (false, false) => "none",
                    (true, false) => "from",
                    (false, true) => "to",
                    (true, true) => "both",
                };
                let other = row.targets.iter().any(|node| *node != from && *node != to);
                let experiment = Some(source).filter(|source| !files.contains(&source.as_str()));
                json!({"x": x, "y": y, "set": set, "other": other, "experiment": experiment})
            })
            .collect();
        let list = state.variables.list();
        Ok(Answer::json(&json!({
            "from": list[from], "to": list[to], "all": both.len(), "points": points,
        })))
    })
}

/// What setting a variable does to the others.
pub fn effects(call: &Call) -> Result<Answer, Failure> {
    let campaign = call.campaign()?;
    Ok(Answer::json(&json!({"effects": part(&campaign, "effects")?})))
}

/// What in the data the models cannot have made.
pub fn checks(call: &Call) -> Result<Answer, Failure> {
    let campaign = call.campaign()?;
    let belief = part(&campaign, "belief")?;
    let findings: Vec<Finding> = serde_json::from_value(belief["checks"].clone()).unwrap_or_default();
    Ok(Answer::json(&json!({"belief": belief, "lines": checks::summary(&findings)})))
}

/// A part of the status.
fn part(campaign: &Campaign, key: &str) -> Result<Value, Failure> {
    let status: Value = serde_json::from_slice(&present_status(campaign)?.body).unwrap_or_default();
    Ok(status[key].clone())
}

/// The report, a self-contained page.
pub fn report(call: &Call) -> Result<Answer, Failure> {
    let campaign = call.campaign()?;
    campaign.answer(&call.what, |lab| {
        let Some(view) = lab.report_view(campaign.id.clone())? else {
            let words = "nothing has been learned yet; learn from the data or ask for a proposal first";
            return Err(Failure::conflict("nothing-learned", words));
        };
        let page = Answer::file(String::new(), "text/html; charset=utf-8", run_html(&view).into_bytes());
        Ok(Answer { file: None, own_policy: true, ..page })
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
