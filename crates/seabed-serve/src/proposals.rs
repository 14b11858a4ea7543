//! Proposals: what was proposed, why, what came of it, and their forms.

use seabed::design::{ceiling, reasons};
use seabed_lab::{Action, Experiment, FormRow, State, Status, experiment_name, write_form};
use serde::Serialize;
use serde_json::{Value, json};

use crate::beliefs::told;
use crate::call::{Answer, Call};
use crate::failure::Failure;
use crate::measurements::{Cells, by_name, named};

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
        let form = state.form(proposal.id);
        let rows = form.iter().map(|row| ShownRow::of(row, names)).collect();
        let warnings: Vec<String> = known
            .overview()?
            .and_then(|overview| overview.warnings.get(&proposal.id))
            .into_iter()
            .flatten()
            .cloned()
            .chain(ceiling(designed.information, designed.entropy).map(str::to_string))
            .collect();
        let proposal = json!({
            "proposal": proposal.id, "action": proposal.action, "at": text(|action| &action.at),
            "who": text(|action| &action.who), "note": text(|action| &action.note),
            "strategy": request.design.strategy, "unit": request.design.strategy.parts().0.unit(),
            "goal": request.goal, "request": request, "batch": batch,
            "batch_information": designed.information, "batch_standard_error": designed.standard_error,
            "entropy": designed.entropy, "forecast": designed.forecast,
            "sentences": designed.forecast.map_or(Vec::new(), |forecast| forecast.sentences()),
            "belief": lab.summary_of(proposal.belief)?, "curves": curves, "warnings": warnings,
            "working_out": !known.current,
        });
        Ok(Answer::json(&WithForm { proposal, rows }))
    })
}

/// A proposal with its form, which may have a thousand rows of hundreds of variables.
#[derive(Serialize)]
struct WithForm<'s> {
    #[serde(flatten)]
    proposal: Value,
    rows: Vec<ShownRow<'s>>,
}

#[derive(Serialize)]
struct ShownRow<'s> {
    experiment: &'s str,
    replicate: u32,
    targets: Vec<&'s str>,
    values: Cells<'s>,
    status: &'s str,
}

impl<'s> ShownRow<'s> {
    fn of(row: &'s FormRow, names: &'s [String]) -> Self {
        Self {
            experiment: &row.experiment,
            replicate: row.replicate,
            targets: named(&row.targets, names),
            values: Cells(names, &row.cells),
            status: row.status,
        }
    }
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
