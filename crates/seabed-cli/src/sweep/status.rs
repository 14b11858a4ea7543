//! `seabed sweep status`: how far the runs are, who works on them, and what is in the queue.

use std::collections::BTreeMap;
use std::path::Path;

use seabed_study::{RunState, Sweep};
use serde_json::json;

use super::name;
use super::queue::jobs;
use crate::failure::Failure;
use crate::run::print;

/// Prints the progress of a study.
pub fn status(folder: &Path, as_json: bool) -> Result<(), Failure> {
    let sweep = Sweep::load(folder)?;
    let mut groups: BTreeMap<(&str, &str), [usize; 4]> = BTreeMap::new();
    let (mut runs, mut failures, mut busy) = (Vec::new(), String::new(), Vec::new());
    for (run, (state, rounds, worker)) in sweep.runs().iter().zip(sweep.states()?) {
        let (kind, word) = match &state {
            RunState::Finished => (0, "finished"),
            RunState::Started(_) => (1, "started"),
            RunState::Waiting => (2, "waiting"),
            RunState::Failed(error) => {
                failures.push_str(&format!("{} failed: {error}\n", name(run)));
                (3, "failed")
            }
        };
        groups.entry((&run.setting, &run.line)).or_default()[kind] += 1;
        busy.extend(worker.as_ref().map(|worker| format!("{:04} on {worker}", run.index)));
        runs.push(
            json!({"index": run.index, "setting": run.setting, "line": run.line, "seed": run.config.seed,
            "state": word, "rounds": rounds, "of": run.config.rounds + 1, "worker": worker}),
        );
    }
    let asked: Vec<_> = jobs(folder).into_iter().map(|job| (job.ask(), job)).collect();
    if as_json {
        let jobs: Vec<_> = asked.iter().map(|(tasks, job)| job.as_json(tasks)).collect();
        return print(&format!("{}\n", json!({ "runs": runs, "jobs": jobs })));
    }
    let mut text = String::from("finished  started  waiting  failed  runs\n");
    let mut all = [0; 4];
    for ((setting, line), counts) in &groups {
        text.push_str(&format!(
            "{:>8}  {:>7}  {:>7}  {:>6}  {setting}; {line}\n",
            counts[0], counts[1], counts[2], counts[3]
        ));
        (0..4).for_each(|k| all[k] += counts[k]);
    }
    text.push_str(&format!("{:>8}  {:>7}  {:>7}  {:>6}  all\n", all[0], all[1], all[2], all[3]));
    text.push_str(&failures);
    if !busy.is_empty() {
        let some: Vec<&str> = busy.iter().take(SHOWN).map(String::as_str).collect();
        let more = if busy.len() > SHOWN { ", …" } else { "" };
        text.push_str(&format!("{} being worked on: {}{more}\n", busy.len(), some.join(", ")));
    }
    for (tasks, job) in &asked {
        text.push_str(&job.describe(tasks));
        text.push('\n');
    }
    if !asked.is_empty() {
        let left = all[1] + all[2] + all[3];
        if left == 0 {
            let collect =
                format!("all runs are finished; `seabed sweep collect {}` gathers them\n", folder.display());
            text.push_str(&collect);
        } else if asked.iter().all(|(tasks, _)| tasks.as_ref().is_ok_and(|tasks| tasks.all() == 0)) {
            text.push_str(&format!(
                "{left} runs are left and nothing is in the queue: submit them with the same command\n"
            ));
        }
    }
    print(&text)
}

/// Runs in progress that are listed.
const SHOWN: usize = 8;
