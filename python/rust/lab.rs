//! The laboratory's file: opened for every call, as by the command `seabed lab`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pyo3::prelude::*;
use seabed::data::Sheet;
use seabed::design::{DesignError, Strategy, ceiling, reasons};
use seabed::posterior::PosteriorSettings;
use seabed::settings::Keys;
use seabed_lab::{
    AddOptions, Correction, Lab, LabError, ProposalRequest, Recorded, Status, draft, experiment_name,
    write_form,
};
use serde_json::{Value, json};

use crate::failure::{Failure, in_python};
use crate::settings::{object, read_options};
use crate::table::Table;
use crate::watch::{quick, watched};

/// A campaign by its file.
#[pyclass(frozen, module = "seabed._seabed")]
pub struct LabFile {
    path: PathBuf,
    wait: Duration,
}

impl LabFile {
    fn open(&self) -> Result<Lab, Failure> {
        Ok(Lab::open(&self.path, self.wait)?)
    }
}

/// Drafts the file of variables from data.
#[pyfunction]
pub fn lab_draft(py: Python<'_>, table: &Table, source: &str) -> PyResult<String> {
    quick(py, || Ok(draft(table.dataset()?, source, &[])))
}

/// Creates a campaign.
#[pyfunction]
pub fn lab_create(py: Python<'_>, path: PathBuf, variables: &str, seed: u64, note: &str) -> PyResult<()> {
    quick(py, || Ok(Lab::create(&path, variables, seed, note)?))
}

#[pymethods]
impl LabFile {
    /// Checks that the file is a campaign.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, wait_seconds: f64) -> PyResult<Self> {
        let wait = Duration::try_from_secs_f64(wait_seconds).map_err(|_| {
            PyErr::from(Failure::settings(format!("wait = {wait_seconds}: give seconds, 0 or more")))
        })?;
        quick(py, || {
            let file = Self { path, wait };
            file.open()?;
            Ok(file)
        })
    }

    /// The variables, as JSON, and the text of their file.
    fn variables(&self, py: Python<'_>) -> PyResult<(String, String)> {
        quick(py, || {
            let state = self.open()?.state()?;
            Ok((json!(state.variables.list()).to_string(), state.variables_text.clone()))
        })
    }

    /// Adds the rows of a file.
    #[pyo3(signature = (data, again, only_new, options, note, progress=None))]
    #[allow(clippy::too_many_arguments)] // as the caller names them
    fn add(
        &self,
        py: Python<'_>,
        data: PathBuf,
        again: bool,
        only_new: bool,
        options: &str,
        note: String,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        watched(py, None, progress.as_ref(), |observer| {
            let read = read_options(options)?;
            let added = self.open()?.add(&data, &AddOptions { again, only_new, read, note }, observer)?;
            Ok(json!({
                "action": added.action, "rows": added.rows, "known": added.known,
                "interventional": added.interventional, "incomplete": added.incomplete,
                "notes": told(&added.notes), "warnings": told(&added.warnings),
            })
            .to_string())
        })
    }

    /// Proposes a batch. `changes` are keys of the request; a posterior is named by its kind.
    #[pyo3(signature = (posterior, changes, goal, note, threads=None, progress=None))]
    #[allow(clippy::too_many_arguments)] // as the caller names them
    fn propose(
        &self,
        py: Python<'_>,
        posterior: &str,
        changes: &str,
        goal: Option<&str>,
        note: &str,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        watched(py, threads, progress.as_ref(), |observer| {
            let mut lab = self.open()?;
            let (mut request, chosen) = request(posterior, changes)?;
            request.goal = goal.unwrap_or_default().to_string();
            let proposed = match lab.propose(&request, note, observer) {
                // Now and then a fit by Markov chains has to leave out the graphs.
                Err(LabError::Design(DesignError::NoGraphs)) if !chosen => {
                    request.design.strategy = Strategy::recommended(false);
                    lab.propose(&request, note, observer)?
                }
                ended => ended?,
            };
            let unit = proposed.strategy.parts().0.unit();
            let sentences = proposed.designed.forecast.map_or(Vec::new(), |forecast| forecast.sentences());
            let designed = &proposed.designed;
            let decides: Vec<String> = designed.batch.iter().map(|chosen| reasons(&chosen.decides)).collect();
            let evaluated = &designed.evaluated;
            let mut form = json!(proposed);
            let ceiling = ceiling(designed.information, designed.entropy).map(str::to_string);
            form["warnings"] = json!(proposed.warnings.iter().cloned().chain(ceiling).collect::<Vec<_>>());
            Ok(json!({
                "form": form, "unit": unit, "sentences": sentences, "decides": decides, "evaluated": evaluated,
            })
            .to_string())
        })
    }

    /// The form of a proposal as CSV, with what was recorded so far.
    fn form(&self, py: Python<'_>, proposal: i64) -> PyResult<String> {
        quick(py, || {
            let state = self.open()?.state()?;
            if !state.proposals.iter().any(|known| known.id == proposal) {
                let message = format!("there is no proposal {proposal}, or it was undone");
                return Err(Failure::new("CampaignError", message));
            }
            let mut bytes = Vec::new();
            write_form(&mut bytes, Path::new("form.csv"), state.variables.names(), &state.form(proposal))
                .map_err(|error| Failure::new("FileError", error))?;
            String::from_utf8(bytes).map_err(|error| Failure::new("InternalError", error))
        })
    }

    /// Records a filled-in form, or corrects by it.
    #[allow(clippy::too_many_arguments)] // as the caller names them
    fn record(
        &self,
        py: Python<'_>,
        name: &str,
        form: &[u8],
        correct: bool,
        again: bool,
        options: &str,
        note: &str,
    ) -> PyResult<String> {
        quick(py, || {
            let read = read_options(options)?;
            let sheet = Sheet::read(form, name, &read)?;
            let found = self.open()?.record_sheet(&sheet, &read.ignore, correct, again, note)?;
            Ok(recorded(&found, sheet.note.as_slice()))
        })
    }

    /// Corrects one replicate of an experiment.
    fn amend(
        &self,
        py: Python<'_>,
        experiment: String,
        replicate: u32,
        values: Vec<(String, Option<f64>)>,
        status: Option<&str>,
        note: &str,
    ) -> PyResult<String> {
        quick(py, || {
            let known = |name: &str| {
                let unknown =
                    || Failure::settings(format!("status = {name:?}: write done, failed or pending"));
                Status::named(name).ok_or_else(unknown)
            };
            let status = status.map(known).transpose()?;
            let correction = Correction { experiment, replicate, values, status };
            Ok(recorded(&self.open()?.amend(&correction, note)?, &[]))
        })
    }

    /// Undoes the last action: what it was, in words.
    fn undo(&self, py: Python<'_>) -> PyResult<String> {
        quick(py, || {
            let undone = self.open()?.undo()?.action;
            Ok(format!("action {} from {}: {} {}", undone.id, undone.at, undone.kind, undone.what))
        })
    }

    /// What is pending, what was learned, as JSON; with `learn`, after learning from all data; with `next_batch`, also what
    /// another batch like the last one would teach.
    #[pyo3(signature = (learn, next_batch, threads=None, progress=None))]
    fn status(
        &self,
        py: Python<'_>,
        learn: bool,
        next_batch: bool,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        watched(py, threads, progress.as_ref(), |observer| {
            let mut lab = self.open()?;
            let summary =
                if learn || next_batch { lab.learned_summary(next_batch, observer)? } else { lab.summary()? };
            Ok(json!(summary).to_string())
        })
    }

    /// The probabilities of the edges, if anything was learned.
    fn edge_probabilities(&self, py: Python<'_>) -> PyResult<Option<Vec<Vec<f64>>>> {
        quick(py, || Ok(self.open()?.edge_probabilities()?))
    }

    /// The complete rows in force.
    fn table(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        quick(py, || Ok(self.open()?.state()?.data().0.map(Table::of)))
    }

    /// What is damaged, as sentences.
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        quick(py, || Ok(self.open()?.check()?))
    }

    /// Writes everything as CSV and JSON into a folder.
    fn export(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<String>> {
        quick(py, || Ok(self.open()?.export(&folder)?))
    }

    /// The HTML report.
    fn report(&self, py: Python<'_>, title: String) -> PyResult<String> {
        quick(py, || {
            let lab = self.open()?;
            let view = lab.report_view(title)?;
            let nothing = || {
                Failure::new(
                    "CampaignError",
                    "nothing has been learned yet; call propose() or status(learn=True)",
                )
            };
            Ok(seabed_report::run_html(&view.ok_or_else(nothing)?))
        })
    }
}

/// The request, and whether it names how a batch is chosen.
fn request(posterior: &str, changes: &str) -> Result<(ProposalRequest, bool), Failure> {
    // The same checks and messages as for a fit.
    let kind = crate::settings::kind(posterior)?;
    let settings = PosteriorSettings::for_own_data(kind);
    let has_graphs = settings.check(None)?.gives_graphs();
    let mut request = ProposalRequest { posterior: settings, ..ProposalRequest::default() };
    request.design.strategy = Strategy::recommended(has_graphs);
    let Value::Object(mut all) = serde_json::to_value(&request).expect("plain settings") else {
        unreachable!("a request is an object")
    };
    let changes = object(changes, "the proposal")?;
    let chosen = changes.get("design").is_some_and(|design| design.get("strategy").is_some());
    for (key, value) in changes {
        match (all.get_mut(&key), value) {
            (Some(Value::Object(group)), Value::Object(inner)) => group.extend(inner),
            (_, value) => drop(all.insert(key, value)),
        }
    }
    all.retain(|_, value| !value.is_null());
    Ok((Keys::of(&all, "the proposal").settings()?, chosen))
}

/// Sentences in the words of Python.
fn told(sentences: &[String]) -> Vec<String> {
    sentences.iter().map(|sentence| in_python(sentence)).collect()
}

/// What was recorded, and notes on how the form was read.
fn recorded(recorded: &Recorded, notes: &[String]) -> String {
    let extra: Vec<String> = recorded.extra.iter().map(|&id| experiment_name(id)).collect();
    json!({
        "action": recorded.action, "done": recorded.done, "failed": recorded.failed, "changed": recorded.changed,
        "extra": extra, "known": recorded.known, "blank": recorded.blank, "notes": told(notes),
        "warnings": told(&recorded.warnings),
    })
    .to_string()
}
