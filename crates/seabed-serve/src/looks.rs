//! Everything that can be looked at: the campaign, what is believed, what was proposed, measured and done.

use std::sync::Arc;

use seabed::checks;
use seabed::design::{Strategy, ceiling, reasons};
use seabed::posterior::PosteriorKind;
use seabed_lab::{
    Action, Experiment, FormRow, Lab, Overview, Row, State, Status, Variable, experiment_name, write_form,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::call::{Answer, Call};
use crate::failure::Failure;
use crate::library::{Campaign, Place};
use crate::overviews::WorkedOut;

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
    told(call, |lab, known| {
        let state = lab.state()?;
        let mut summary = lab.quick_summary()?;
        if let Some(overview) = known.overview()? {
            summary = summary.completed_by(&overview.summary);
        }
        let mut value = json!(summary);
        value["unit"] = json!(summary.strategy.parts().0.unit());
        value["revision"] = json!(lab.version()?);
        value["working_out"] = json!(!known.current);
        for (round, proposal) in value["rounds"].as_array_mut().into_iter().flatten().zip(&state.proposals) {
            round["wrong_edges"] = json!(proposal.designed.forecast.map(|forecast| forecast.wrong_now));
        }
        Ok(Answer::json(&value))
    })
}

/// What was worked out about a campaign last.
struct Known {
    worked_out: Option<Arc<WorkedOut>>,
    /// Is it about the campaign as it is now?
    current: bool,
}

impl Known {
    fn of(campaign: &Campaign, version: &str) -> Self {
        let worked_out = campaign.worked_out();
        let current = worked_out.as_ref().is_some_and(|known| known.version == version);
        Self { worked_out, current }
    }

    fn overview(&self) -> Result<Option<&Overview>, Failure> {
        let overview = self.worked_out.as_ref().map(|known| known.overview.as_ref());
        // What could not be worked out formerly may well be possible now.
        match overview {
            Some(Err(failure)) if self.current => Err(failure.clone()),
            Some(Ok(overview)) => Ok(Some(overview)),
            _ => Ok(None),
        }
    }
}

/// Tells what was worked out last, with what can be told at once.
fn told(call: &Call, work: impl FnOnce(&Lab, &Known) -> Result<Answer, Failure>) -> Result<Answer, Failure> {
    let campaign = call.campaign()?;
    let version = campaign.read(|lab| Ok(lab.version()?))?;
    let known = Known::of(&campaign, &version);
    let about = known.worked_out.as_ref().map_or("nothing", |known| &known.version);
    campaign.answer(&format!("{} by {about}", call.what), |lab| work(lab, &known))
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
    told(call, |lab, known| {
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
        let warnings: Vec<String> = known
            .overview()?
            .and_then(|overview| overview.warnings.get(&proposal.id))
            .into_iter()
            .flatten()
            .cloned()
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
            "belief": lab.summary_of(proposal.belief)?, "curves": curves, "rows": rows,
            "warnings": warnings, "working_out": !known.current,
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
    told(call, |lab, known| {
        let (overview, state) = (known.overview()?, lab.state()?);
        Ok(Answer::json(&Edges {
            names: state.variables.names(),
            probabilities: overview.and_then(|overview| overview.edges.as_deref()),
            fresh: known.current && overview.is_some_and(|overview| overview.fresh),
            revision: lab.version()?,
            working_out: !known.current,
        }))
    })
}

#[derive(Serialize)]
struct Edges<'s> {
    names: &'s [String],
    probabilities: Option<&'s [Vec<f64>]>,
    fresh: bool,
    revision: String,
    working_out: bool,
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
    told(call, |lab, known| {
        let state = lab.state()?;
        let (from, to) = asked_pair(call, &state)?;
        let names = state.variables.names();
        let mut rounds = Vec::new();
        for proposal in &state.proposals {
            // What was believed before a proposal that has just come is not known yet.
            let before = known.worked_out.as_ref().and_then(|known| known.before.get(&proposal.belief));
            let Some(before) = before else { continue };
            let at = state.actions.iter().find(|action| action.id == proposal.action);
            rounds.push(json!({
                "proposal": proposal.id, "at": at.map_or("", |action| &action.at), "rows": before.rows,
                "there": before.edges[from][to], "back": before.edges[to][from],
            }));
        }
        let fresh = known.overview()?.filter(|overview| known.current && overview.fresh);
        if let Some(all) = fresh.and_then(|overview| overview.edges.as_ref()) {
            let at = state.actions.last().map_or("", |action| &action.at);
            rounds.push(json!({
                "proposal": null, "at": at, "rows": state.rows().filter(|row| row.is_complete()).count(),
                "there": all[from][to], "back": all[to][from],
            }));
        }
        Ok(Answer::json(&json!({
            "from": names[from], "to": names[to], "rounds": rounds,
            "decided_by": deciding(&state, &names[from], &names[to]), "working_out": !known.current,
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

/// What setting a variable does to the others.
pub fn effects(call: &Call) -> Result<Answer, Failure> {
    told(call, |_, known| {
        let effects = known.overview()?.map_or(&[][..], |overview| &overview.summary.effects);
        Ok(Answer::json(&json!({"effects": effects, "working_out": !known.current})))
    })
}

/// What in the data the models cannot have made.
pub fn checks(call: &Call) -> Result<Answer, Failure> {
    told(call, |_, known| {
        let belief = known.overview()?.and_then(|overview| overview.summary.belief.as_ref());
        let lines = belief.map_or(Vec::new(), |belief| checks::summary(&belief.checks));
        Ok(Answer::json(&json!({"belief": belief, "lines": lines, "working_out": !known.current})))
    })
}

/// The report, a self-contained page.
pub fn report(call: &Call) -> Result<Answer, Failure> {
    let campaign = call.campaign()?;
    campaign.read(|lab| {
        let known = Known::of(&campaign, &lab.version()?);
        let Some(worked_out) = known.worked_out.filter(|_| known.current) else {
            let words = "the report is still being worked out; ask for it again in a while";
            return Err(Failure::conflict("busy", words));
        };
        let Some(page) = worked_out.report(lab, &campaign.id)? else {
            let words = "nothing has been learned yet; learn from the data or ask for a proposal first";
            return Err(Failure::conflict("nothing-learned", words));
        };
        let page = Answer::file(String::new(), "text/html; charset=utf-8", page);
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
