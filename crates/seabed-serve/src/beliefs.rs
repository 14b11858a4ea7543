//! What is believed and what follows from it: status, edges, effects, checks, the report. All of it is told from what was worked
//! out last, with a word on whether that is about the campaign as it is now.

use std::sync::Arc;

use seabed::checks;
use seabed_lab::{Experiment, Lab, Overview, State, experiment_name};
use serde::Serialize;
use serde_json::{Value, json};

use crate::call::{Answer, Call};
use crate::failure::Failure;
use crate::library::Campaign;
use crate::measurements::{asked_pair, by_name};
use crate::overviews::WorkedOut;

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
pub struct Known {
    worked_out: Option<Arc<WorkedOut>>,
    /// Is it about the campaign as it is now?
    pub current: bool,
}

impl Known {
    fn of(campaign: &Campaign, version: &str) -> Self {
        let worked_out = campaign.worked_out();
        let current = worked_out.as_ref().is_some_and(|known| known.version == version);
        Self { worked_out, current }
    }

    pub fn overview(&self) -> Result<Option<&Overview>, Failure> {
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
pub fn told(
    call: &Call,
    work: impl FnOnce(&Lab, &Known) -> Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    let campaign = call.campaign()?;
    let version = campaign.read(|lab| Ok(lab.version()?))?;
    let known = Known::of(&campaign, &version);
    let about = known.worked_out.as_ref().map_or("nothing", |known| &known.version);
    campaign.answer(&format!("{} by {about}", call.what), |lab| work(lab, &known))
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
                "proposal": null, "at": at, "rows": state.rows().count() - state.incomplete(),
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
