//! Everything that changes something: campaigns are made, data and results come in, corrections, jobs.
//!
//! A change is signed by who asks for it and by the key of the request. One that was done before under the same key is not
//! done again, whether this process remembers the answer or only the campaign remembers the action.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use seabed::data::{Decimal, Numbers, Place, Sheet, SheetRow, TARGET_SEPARATOR, TARGETS_COLUMN};
use seabed::design::{Replicates, Strategy};
use seabed::posterior::{KnowledgeForm, PosteriorKind, PosteriorSettings};
use seabed::settings::Keys;
use seabed_lab::{
    AddOptions, Correction, Lab, LabError, ProposalRequest, Recorded, State, Status, Variable,
    experiment_name, harmless_cell, variables_file,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::access::Access;
use crate::call::{Answer, Call};
use crate::failure::Failure;
use crate::jobs::{Order, Work};
use crate::library::Campaign;
use crate::looks;
use crate::tables;

/// A change of a campaign: done once, signed, and told to everybody.
fn changed(call: &Call, work: impl FnOnce(&mut Lab) -> Result<Value, LabError>) -> Result<Answer, Failure> {
    let campaign = call.campaign()?;
    let signature = call.signature();
    let known = call.key.as_ref().map(|key| format!("{} {key}", campaign.id));
    call.server.keys.once(known.as_deref(), &signature.content.clone(), || {
        let answer = match campaign.change(signature, work) {
            Err(LabError::Repeated { action }) => json!({"action": action, "repeated": true}),
            done => done?,
        };
        call.server.jobs.tell_changed(&campaign);
        Ok(Answer::json(&answer))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewCampaign {
    name: String,
    variables: Vec<Variable>,
    #[serde(default)]
    knowledge: KnowledgeForm,
    #[serde(default)]
    ignore: Vec<String>,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    note: String,
}

/// The largest seed that every JSON reader keeps.
const MOST_SEED: u64 = (1 << 53) - 1;

/// Characters of a campaign's name.
const MOST_NAME: usize = 100;

/// Creates a campaign.
pub fn create(call: &Call) -> Result<Answer, Failure> {
    let wanted: NewCampaign = call.json()?;
    if wanted.name.chars().count() > MOST_NAME {
        return Err(Failure::invalid(format!("name: at most {MOST_NAME} characters")));
    }
    if wanted.seed > MOST_SEED {
        return Err(Failure::invalid(format!("seed: choose a number from 0 to {MOST_SEED}")));
    }
    let (id, path) = call.server.library.place_for(&wanted.name)?;
    let text = variables_file(&wanted.variables, &wanted.knowledge, &wanted.ignore);
    let signature = call.signature();
    let known = call.key.as_ref().map(|key| format!("new {key}"));
    call.server.keys.once(known.as_deref(), &signature.content.clone(), || {
        let created = |value: Value| Answer::json(&value).with_status(StatusCode::CREATED);
        match Lab::create_signed(&path, &text, wanted.seed, &wanted.note, &signature) {
            Ok(()) => {}
            Err(LabError::Exists { .. }) if signature.key.is_some() => {
                let before = call.server.library.find(&id)?.read(|lab| {
                    // Another campaign may well have been made by another request.
                    Ok(lab.done_before(&signature).ok().flatten())
                })?;
                if before == Some(1) {
                    return Ok(created(json!({"id": id, "repeated": true})));
                }
                return Err(LabError::Exists { path: path.clone() }.into());
            }
            Err(LabError::Variables { problem, .. }) => return Err(Failure::invalid(without_line(&problem))),
            Err(error) => return Err(error.into()),
        }
        let campaign = call.server.library.find(&id)?;
        call.server.jobs.tell_changed(&campaign);
        Ok(created(json!({"id": id})))
    })
}

/// A problem without the line of a file that nobody wrote.
fn without_line(problem: &str) -> String {
    let rest = problem.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
    match rest {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest.to_string(),
        _ => problem.to_string(),
    }
}

/// Adds measurements.
pub fn add(call: &Call) -> Result<Answer, Failure> {
    let (file, content) = (call.file_name(), tables::content(call)?);
    let options = AddOptions {
        again: call.flag("again")?,
        only_new: call.flag("new")?,
        read: call.read_options()?,
        note: call.note().to_string(),
    };
    changed(call, |lab| {
        let added = lab.add_content(&file, content, &options, &())?;
        let traps = lab.state()?.traps(&[]);
        let warnings: Vec<String> = added.warnings.into_iter().chain(traps).collect();
        Ok(json!({
            "action": added.action, "rows": added.rows, "known": added.known,
            "interventional": added.interventional, "incomplete": added.incomplete, "notes": added.notes,
            "warnings": warnings,
        }))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Results {
    rows: Vec<ResultRow>,
    #[serde(default)]
    decimal: Option<String>,
    #[serde(default)]
    amend: bool,
    #[serde(default)]
    again: bool,
    #[serde(default)]
    note: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultRow {
    #[serde(default)]
    experiment: String,
    #[serde(default)]
    replicate: Cell,
    #[serde(default)]
    values: BTreeMap<String, Cell>,
    #[serde(default)]
    targets: Vec<String>,
    #[serde(default)]
    status: String,
}

/// A cell that was typed.
#[derive(Deserialize, Default)]
#[serde(untagged, expecting = "write a number, a text or null")]
enum Cell {
    Number(f64),
    Text(String),
    #[default]
    Empty,
}

impl Cell {
    /// As it would stand in a form.
    fn text(&self, decimal: Decimal) -> String {
        match self {
            Self::Number(value) if decimal == Decimal::Comma => value.to_string().replace('.', ","),
            Self::Number(value) => value.to_string(),
            Self::Text(text) => text.trim().to_string(),
            Self::Empty => String::new(),
        }
    }
}

/// Rows of results at most.
const MOST_ROWS: usize = 100_000;

/// Records results that were typed.
pub fn results(call: &Call) -> Result<Answer, Failure> {
    let results: Results = call.json()?;
    if results.rows.is_empty() || results.rows.len() > MOST_ROWS {
        return Err(Failure::invalid(format!("rows: give 1 to {MOST_ROWS}")));
    }
    let decimal = match results.decimal.as_deref() {
        None => Decimal::Point,
        Some(name) => name.parse().map_err(|problem| Failure::invalid(format!("decimal: {problem}")))?,
    };
    let Results { rows, amend, again, note, .. } = results;
    changed(call, |lab| {
        let names = lab.state()?.variables.names().to_vec();
        let sheet = sheet(&rows, &names, decimal);
        Ok(recorded(&lab.record_sheet(&sheet, &[], amend, again, &note)?, None))
    })
}

/// Typed rows as the form that they would be.
fn sheet(rows: &[ResultRow], names: &[String], decimal: Decimal) -> Sheet {
    // Unknown names are columns too, so that they are refused by name.
    let mut columns: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in rows.iter().flat_map(|row| row.values.keys()) {
        if !columns.contains(&name.as_str()) {
            columns.push(name);
        }
    }
    let first = ["experiment", "replicate"].map(String::from);
    let last = [TARGETS_COLUMN, "status"].map(String::from);
    let titles = columns.iter().map(|name| harmless_cell(name).into_owned());
    let header: Vec<String> = first.into_iter().chain(titles).chain(last).collect();
    let row = |(k, row): (usize, &ResultRow)| {
        let targets = row.targets.join(&TARGET_SEPARATOR.to_string());
        let first = [row.experiment.trim().to_string(), row.replicate.text(Decimal::Point)];
        let values =
            columns.iter().map(|name| row.values.get(*name).map_or(String::new(), |cell| cell.text(decimal)));
        let last = [harmless_cell(&targets).into_owned(), row.status.trim().to_string()];
        let place = Place { row: Some(k + 1), ..Place::default() };
        SheetRow { place, cells: first.into_iter().chain(values).chain(last).collect() }
    };
    Sheet {
        file: "results".into(),
        header,
        rows: rows.iter().enumerate().map(row).collect(),
        numbers: Numbers { decimal, missing: Vec::new() },
        note: None,
    }
}

fn recorded(recorded: &Recorded, note: Option<&String>) -> Value {
    let extra: Vec<String> = recorded.extra.iter().map(|&id| experiment_name(id)).collect();
    json!({
        "action": recorded.action, "done": recorded.done, "failed": recorded.failed, "changed": recorded.changed,
        "extra": extra, "known": recorded.known, "blank": recorded.blank, "warnings": recorded.warnings,
        "notes": note.into_iter().collect::<Vec<_>>(),
    })
}

/// Records a filled-in form.
pub fn record_form(call: &Call) -> Result<Answer, Failure> {
    let options = call.read_options()?;
    let sheet = Sheet::read(&tables::content(call)?[..], &call.file_name(), &options)?;
    let (amend, again) = (call.flag("amend")?, call.flag("again")?);
    changed(call, |lab| {
        let done = lab.record_sheet(&sheet, &options.ignore, amend, again, call.note())?;
        Ok(recorded(&done, sheet.note.as_ref()))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Amendment {
    experiment: String,
    #[serde(default = "one")]
    replicate: u32,
    #[serde(default)]
    values: BTreeMap<String, Option<f64>>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    note: String,
}

fn one() -> u32 {
    1
}

/// Corrects one replicate.
pub fn amend(call: &Call) -> Result<Answer, Failure> {
    let Amendment { experiment, replicate, values, status, note } = call.json()?;
    if values.is_empty() && status.is_none() {
        return Err(Failure::invalid("say what to correct: give values or a status"));
    }
    let known = |name: &String| {
        Status::named(name).ok_or_else(|| Failure::invalid("status: write done, failed or pending"))
    };
    let status = status.as_ref().map(known).transpose()?;
    let correction = Correction { experiment, replicate, values: values.into_iter().collect(), status };
    changed(call, |lab| Ok(recorded(&lab.amend(&correction, &note)?, None)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Abandon {
    proposal: Option<i64>,
    #[serde(default)]
    experiments: Vec<String>,
    #[serde(default)]
    note: String,
}

/// Gives pending experiments up: they are recorded as failed.
pub fn abandon(call: &Call) -> Result<Answer, Failure> {
    let wanted: Abandon = call.json()?;
    if wanted.proposal.is_some() != wanted.experiments.is_empty() {
        return Err(Failure::invalid("give either a proposal or experiments"));
    }
    let state = call.campaign()?.read(|lab| Ok(lab.state()?))?;
    if let Some(id) = wanted.proposal
        && !state.proposals.iter().any(|proposal| proposal.id == id)
    {
        return Err(Failure::not_found(format!("there is no proposal {id}, or it was undone")));
    }
    let unknown = |name: &&String| !state.live().any(|known| experiment_name(known.id) == **name);
    if let Some(name) = wanted.experiments.iter().find(unknown) {
        return Err(Failure::not_found(format!("there is no experiment {name:?}, or it was undone")));
    }
    changed(call, |lab| {
        let state = lab.state()?;
        let rows = pending_rows(&state, &wanted);
        if rows.is_empty() {
            return Ok(recorded(&Recorded::default(), None));
        }
        let sheet = Sheet { file: "abandoned".into(), ..sheet(&rows, &[], Decimal::Point) };
        Ok(recorded(&lab.record_sheet(&sheet, &[], false, false, &wanted.note)?, None))
    })
}

/// A row for every pending replicate that is given up.
fn pending_rows(state: &State, wanted: &Abandon) -> Vec<ResultRow> {
    let given_up = state.pending().filter(|(experiment, _)| match wanted.proposal {
        Some(id) => experiment.proposal == Some(id),
        None => wanted.experiments.contains(&experiment_name(experiment.id)),
    });
    let row = |(experiment, replicate): (&seabed_lab::Experiment, u32)| ResultRow {
        experiment: experiment_name(experiment.id),
        replicate: Cell::Number(replicate.into()),
        values: BTreeMap::new(),
        targets: Vec::new(),
        status: Status::Failed.name().into(),
    };
    given_up.map(row).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Undo {
    action: i64,
}

/// Undoes the last action.
pub fn undo(call: &Call) -> Result<Answer, Failure> {
    let Undo { action } = call.json()?;
    changed(call, |lab| match lab.undo_if(Some(action)) {
        Ok(undone) => {
            let state = lab.state()?;
            let now = state.actions.iter().find(|known| known.id == action).unwrap_or(&undone.action);
            Ok(json!({"action": looks::action(now)}))
        }
        // The same wish again.
        Err(error @ (LabError::NotTheLast { .. } | LabError::NothingToUndo)) => {
            let state = lab.state()?;
            let before = state.actions.iter().find(|known| known.id == action && known.undone.is_some());
            match before {
                Some(before) => Ok(json!({"action": looks::action(before), "repeated": true})),
                None => Err(error),
            }
        }
        Err(error) => Err(error),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FitWish {
    posterior: Option<String>,
    #[serde(default)]
    settings: Map<String, Value>,
    #[serde(default)]
    force: bool,
}

/// Learns from all data, as a job.
pub fn fit(call: &Call) -> Result<Answer, Failure> {
    let wish: FitWish = call.json()?;
    let campaign = call.campaign()?;
    let posterior = match (&wish.posterior, wish.settings.is_empty()) {
        (None, true) => None,
        (None, false) => return Err(Failure::invalid("settings need a posterior; name it")),
        (Some(name), _) => Some(posterior(name, &wish.settings)?),
    };
    let default = || -> Result<PosteriorSettings, Failure> {
        let state = campaign.read(|lab| Ok(lab.state()?))?;
        let last = state.proposals.last().map(|proposal| proposal.request.posterior.clone());
        Ok(last.unwrap_or_else(|| ProposalRequest::default().posterior))
    };
    let settings = posterior.clone().map_or_else(default, Ok)?;
    check_work(&campaign, &settings, wish.force)?;
    ordered(call, &campaign, Work::Fit { posterior })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ProposalWish {
    batch: usize,
    replicates: Replicates,
    budget: Option<f64>,
    max_repeats: Option<usize>,
    max_targets: usize,
    experiment_cost: f64,
    goal: String,
    strategy: Option<Strategy>,
    posterior: String,
    settings: MoreSettings,
    force: bool,
    note: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct MoreSettings {
    posterior: Map<String, Value>,
    design: Map<String, Value>,
}

impl Default for ProposalWish {
    fn default() -> Self {
        let usual = ProposalRequest::default();
        Self {
            batch: usual.design.batch,
            replicates: usual.design.replicates,
            budget: None,
            max_repeats: None,
            max_targets: usual.max_targets,
            experiment_cost: 0.0,
            goal: String::new(),
            strategy: None,
            posterior: "mcmc-gp".into(),
            settings: MoreSettings::default(),
            force: false,
            note: String::new(),
        }
    }
}

/// Experiments of a batch at most.
const MOST_BATCH: usize = 1000;

/// Proposes a batch, as a job.
pub fn propose(call: &Call) -> Result<Answer, Failure> {
    let wish: ProposalWish = call.json()?;
    let campaign = call.campaign()?;
    if !(1..=MOST_BATCH).contains(&wish.batch) {
        return Err(Failure::invalid(format!("batch: choose a number from 1 to {MOST_BATCH}")));
    }
    let posterior = posterior(&wish.posterior, &wish.settings.posterior)?;
    let has_graphs = posterior.check(None)?.gives_graphs();
    let chosen = wish.strategy.is_some() || wish.settings.design.contains_key("strategy");
    let mut request = ProposalRequest { posterior, ..ProposalRequest::default() };
    request.design.batch = wish.batch;
    request.design.replicates = wish.replicates;
    request.design.experiment_cost = wish.experiment_cost;
    request.design.strategy = wish.strategy.unwrap_or(Strategy::recommended(has_graphs));
    request.design = merged(&request.design, &wish.settings.design, "settings.design")?;
    (request.budget, request.max_repeats, request.max_targets) =
        (wish.budget, wish.max_repeats, wish.max_targets);
    request.goal = wish.goal;
    let state = campaign.read(|lab| Ok(lab.state()?))?;
    request.check(state.variables.names())?;
    if state.data().0.is_none() {
        return Err(LabError::NoData.into());
    }
    check_work(&campaign, &request.posterior, wish.force)?;
    ordered(call, &campaign, Work::Propose { request: Box::new(request), chosen, note: wish.note })
}

/// The settings of a posterior by its name, with what differs from the usual ones.
fn posterior(name: &str, changes: &Map<String, Value>) -> Result<PosteriorSettings, Failure> {
    let Some(kind) = PosteriorKind::named(name) else {
        let known: Vec<&str> = PosteriorKind::ALL.iter().map(|(name, _)| *name).collect();
        return Err(Failure::invalid(format!("posterior: {name:?} is not one of {}", known.join(", "))));
    };
    let settings = merged(&PosteriorSettings::for_own_data(kind), changes, "settings.posterior")?;
    settings.check(None)?;
    Ok(settings)
}

/// Settings with some of their keys changed.
fn merged<T: serde::Serialize + serde::de::DeserializeOwned>(
    settings: &T,
    changes: &Map<String, Value>,
    what: &str,
) -> Result<T, Failure> {
    let mut all = json!(settings);
    for (key, value) in changes {
        all[key.replace('_', "-")] = value.clone();
    }
    // What is not there is null in JSON, and missing in TOML.
    if let Value::Object(all) = &mut all {
        all.retain(|_, value| !value.is_null());
    }
    let plain = |value: &Value| match value {
        Value::Number(number) => number.is_i64() || number.is_f64(),
        Value::Array(_) | Value::Object(_) => false,
        _ => true,
    };
    let usable = |value: &Value| match value {
        Value::Array(list) => list.iter().all(|value| plain(value) && !value.is_null()),
        value => plain(value),
    };
    if let Some((key, _)) = changes.iter().find(|(_, value)| !usable(value)) {
        return Err(Failure::invalid(format!("{what}.{key}: write a number, a text or a list of numbers")));
    }
    Ok(Keys::of(&all, what).settings()?)
}

/// Refuses work that looks too large for this computer, unless it is confirmed.
fn check_work(campaign: &Campaign, posterior: &PosteriorSettings, force: bool) -> Result<(), Failure> {
    let state = campaign.read(|lab| Ok(lab.state()?))?;
    let (rows, variables) = (state.rows().count(), state.variables.names().len());
    match posterior.check(None)?.effort(rows, variables).too_large() {
        Some(problem) if !force => Err(Failure::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "too-much-work",
            format!("{problem}; choose less, or begin all the same"),
        )),
        _ => Ok(()),
    }
}

/// Hands a job on, once.
fn ordered(call: &Call, campaign: &Arc<Campaign>, work: Work) -> Result<Answer, Failure> {
    let signature = call.signature();
    let known = call.key.as_ref().map(|key| format!("{} {key}", campaign.id));
    let accepted = |value: &Value| Answer::json(value).with_status(StatusCode::ACCEPTED);
    call.server.keys.once(known.as_deref(), &signature.content.clone(), || {
        let before = campaign.read(|lab| {
            let action = lab.done_before(&signature)?;
            Ok((action, lab.state()?))
        })?;
        if let (Some(action), state) = before {
            return Ok(accepted(&done_before(campaign, action, &state)));
        }
        let id = Access::new_token().map_err(|error| Failure::environment(error.to_string()))?;
        let order = Order {
            id: id[..12].to_string(),
            work,
            who: call.who.clone(),
            key: call.key.clone(),
            content: signature.content.clone(),
            created: seabed_lab::now(),
        };
        Ok(accepted(&call.server.jobs.add(campaign, order)?.shown()))
    })
}

/// A proposal that an earlier process made by the same request, as the job that it was.
fn done_before(campaign: &Campaign, action: i64, state: &State) -> Value {
    let proposal = state.proposals.iter().find(|proposal| proposal.action == action);
    let known = state.actions.iter().find(|known| known.id == action);
    json!({
        "id": format!("action-{action}"), "campaign": campaign.id, "kind": "propose", "state": "done",
        "progress": {"done": 0, "all": 0, "what": "done"}, "who": known.map_or("", |known| &known.who),
        "created": known.map_or("", |known| &known.at), "seconds": 0.0,
        "proposal": proposal.map(|proposal| proposal.id),
    })
}

/// Asks a job to stop.
pub fn stop(call: &Call) -> Result<Answer, Failure> {
    let Some(job) = call.server.jobs.find(call.place("job")) else {
        return Err(Failure::not_found("there is no such job, or it was long ago"));
    };
    call.server.jobs.stop(&job);
    Ok(Answer::json(&job.shown()))
}
