//! Studies: many closed loops in one folder, run one at a time by whoever asks.

use std::path::PathBuf;

use pyo3::prelude::*;
use seabed::settings::Keys;
use seabed_study::{DEFAULT, Outcome, PRESETS, RunState, Sweep, expand, preset};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::settings::object;
use crate::watch::{quick, watched};

/// Keys of a TOML text, or of a JSON object if `source` is empty.
fn keys(text: &str, source: &str) -> Result<Keys, Failure> {
    if source.is_empty() {
        return Ok(Keys::of(&object(text, "the study")?, "the study"));
    }
    Ok(Keys::parse(text, source)?)
}

/// Creates or reopens a study in a folder; an existing one may grow.
#[pyfunction]
pub fn study_create(py: Python<'_>, folder: PathBuf, config: &str, source: &str) -> PyResult<()> {
    quick(py, || Ok(Sweep::create(&folder, &keys(config, source)?).map(drop)?))
}

/// All runs of a configuration, as JSON; nothing is written.
#[pyfunction]
pub fn study_plan(py: Python<'_>, config: &str, source: &str) -> PyResult<String> {
    quick(py, || {
        let runs = expand(&keys(config, source)?)?;
        let of = |run: &seabed_study::Planned| {
            json!({"index": run.index, "setting": run.setting, "line": run.line, "seed": run.config.seed,
                   "rounds": run.config.rounds})
        };
        Ok(Value::from(runs.iter().map(of).collect::<Vec<_>>()).to_string())
    })
}

/// The state of every run of the study in a folder, as JSON.
#[pyfunction]
pub fn study_runs(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    quick(py, || {
        let sweep = Sweep::load(&folder)?;
        let mut runs = Vec::new();
        for run in sweep.runs() {
            let (state, error) = match sweep.state(run.index)? {
                RunState::Finished => ("finished", None),
                RunState::Started(_) => ("started", None),
                RunState::Waiting => ("waiting", None),
                RunState::Failed(error) => ("failed", Some(error)),
            };
            let rounds = sweep.folder(run.index).metrics()?.len();
            runs.push(
                json!({"index": run.index, "setting": run.setting, "line": run.line, "seed": run.config.seed,
                "state": state, "rounds": rounds, "of": run.config.rounds + 1, "error": error}),
            );
        }
        Ok(Value::from(runs).to_string())
    })
}

/// Starts or continues one run: `finished`, or `elsewhere` if another process is working on it.
#[pyfunction]
#[pyo3(signature = (folder, index, threads=None, progress=None))]
pub fn study_run_one(
    py: Python<'_>,
    folder: PathBuf,
    index: usize,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<&'static str> {
    watched(py, threads, progress.as_ref(), |observer| {
        let sweep = Sweep::load(&folder)?;
        let count = sweep.runs().len();
        if index >= count {
            let message =
                format!("there is no run {index}: {} has runs 0 to {}", folder.display(), count - 1);
            return Err(Failure::new("StudyError", message));
        }
        match sweep.run_one(index, observer, &|_| {}) {
            Outcome::Finished => Ok("finished"),
            Outcome::Elsewhere => Ok("elsewhere"),
            Outcome::Failed(error) => Err(error.into()),
        }
    })
}

/// Writes the tables of all finished runs.
#[pyfunction]
pub fn study_write_results(py: Python<'_>, folder: PathBuf) -> PyResult<()> {
    watched(py, None, None, |_| Ok(Sweep::load(&folder)?.write_results()?))
}

/// The default configuration with the meaning of each key, as TOML.
#[pyfunction]
pub fn study_defaults() -> &'static str {
    DEFAULT
}

/// The presets: names and what they are.
#[pyfunction]
pub fn study_presets() -> Vec<(&'static str, &'static str)> {
    PRESETS.to_vec()
}

/// The configuration of a preset, as TOML.
#[pyfunction]
#[pyo3(signature = (name, networks=None))]
pub fn study_preset(name: &str, networks: Option<PathBuf>) -> Option<String> {
    preset(name, networks.as_deref())
}

/// What a report says about a study: the page, the figures as (stem, SVG), and the sentences.
#[pyfunction]
#[pyo3(signature = (folder, title, baseline=None))]
#[allow(clippy::type_complexity)] // three plain parts
pub fn study_report(
    py: Python<'_>,
    folder: PathBuf,
    title: &str,
    baseline: Option<&str>,
) -> PyResult<(String, Vec<(String, String)>, String)> {
    quick(py, || {
        let nothing = || Failure::new("StudyError", "no run of the study has finished; study.run() goes on");
        let mut study = Sweep::load(&folder)?.report_view(title)?.ok_or_else(nothing)?;
        if let Some(name) = baseline {
            if !study.labels().any(|label| label == name) {
                let known: std::collections::BTreeSet<&str> = study.labels().collect();
                let known = known.into_iter().collect::<Vec<_>>().join(", ");
                let message = format!("baseline = {name:?}: no such line; the lines are {known}");
                return Err(Failure::settings(message));
            }
            study.baseline = name.to_string();
        }
        let sentences = seabed_report::study_sentences(&study);
        Ok((seabed_report::study_html(&study), seabed_report::study_figures(&study), sentences))
    })
}
