//! The two steps of the method: fit and design.

use pyo3::prelude::*;
use seabed::data::Names;
use seabed::design::{Batch, DesignRecord, Designer};
use seabed::num::random::Seed;
use seabed::posterior::{Fit, Start};
use serde_json::{Value, json};

use crate::belief::Belief;
use crate::failure::Failure;
use crate::settings;
use crate::table::Table;
use crate::watch::{quick, watched};

/// A belief, the JSON of `seabed fit --json` but for the times, and what to know about the fit, as JSON.
pub type Fitted = (Belief, String, String);

/// The parts of a fit.
pub fn fitted(fit: Fit, remarks: &[String]) -> Fitted {
    let form = serde_json::to_value(&fit).expect("plain numbers").to_string();
    let said = json!({"warning": fit.warning, "notes": fit.notes, "remarks": remarks}).to_string();
    (Belief::of(fit.ensemble, fit.graphs), form, said)
}

/// Learns from a table.
#[pyfunction]
#[pyo3(signature = (table, posterior, changes, knowledge, seed, threads=None, progress=None))]
#[allow(clippy::too_many_arguments)] // as the caller names them
pub fn fit(
    py: Python<'_>,
    table: &Table,
    posterior: &str,
    changes: &str,
    knowledge: Option<&str>,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Fitted> {
    watched(py, threads, progress.as_ref(), |observer| {
        let data = table.dataset()?;
        let posterior = settings::posterior(posterior, changes)?;
        let knowledge = settings::knowledge(knowledge, data.names())?;
        let remarks = posterior.remarks(data);
        let fit = posterior.fit(data, &knowledge, Start::fresh(Seed::new(seed)), observer)?;
        Ok(fitted(fit, &remarks))
    })
}

/// Are these settings of a posterior valid?
#[pyfunction]
pub fn check_posterior(py: Python<'_>, posterior: &str, changes: &str) -> PyResult<()> {
    quick(py, || settings::posterior(posterior, changes).map(drop))
}

/// A batch as JSON: that of `seabed design --json` but for the times and the entropy, and everything that was evaluated.
pub fn batch_as_json(batch: &Batch, designer: &Designer) -> Value {
    let mut form = json!(batch);
    form["strategy"] = json!(designer.strategy);
    let sentences = batch.forecast.as_ref().map_or(Vec::new(), |forecast| forecast.sentences());
    let record = DesignRecord::new(batch, 0.0);
    json!({
        "form": form, "evaluated": record.evaluated, "sentences": sentences,
        "unit": designer.strategy.parts().0.unit(), "names": batch.names.to_vec(),
    })
}

/// Pending designs, by name.
pub fn pending(
    designs: &[Vec<(String, f64)>],
    names: &Names,
) -> Result<Vec<seabed::scm::Intervention>, Failure> {
    designs.iter().map(|design| settings::intervention(design, names)).collect()
}

/// The next batch under a belief, beyond what is pending (one design per row).
#[pyfunction]
#[pyo3(signature = (belief, request, goal, constraints, pending_rows, seed, threads=None, progress=None))]
#[allow(clippy::too_many_arguments)] // as the caller names them
pub fn design(
    py: Python<'_>,
    belief: &Belief,
    request: &str,
    goal: Option<&str>,
    constraints: &str,
    pending_rows: Vec<Vec<(String, f64)>>,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    watched(py, threads, progress.as_ref(), |observer| {
        let believed = belief.for_design();
        let names = believed.models.names();
        let designer = settings::designer(request, goal, names, believed.graphs.is_some())?;
        let constraints = settings::constraints(constraints, names)?;
        let pending = pending(&pending_rows, names)?;
        let batch = designer.design_after(believed, &pending, &constraints, Seed::new(seed), observer)?;
        let mut value = batch_as_json(&batch, &designer);
        value["form"]["edge_entropy"] = json!(belief.models().edge_entropy());
        Ok(value.to_string())
    })
}

/// What given designs are worth, each on its own: (information, standard error) and the unit.
#[pyfunction]
#[pyo3(signature = (belief, request, goal, designs, seed, threads=None, progress=None))]
#[allow(clippy::too_many_arguments)] // as the caller names them
pub fn score(
    py: Python<'_>,
    belief: &Belief,
    request: &str,
    goal: Option<&str>,
    designs: Vec<Vec<(String, f64)>>,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<(f64, f64)>, &'static str)> {
    watched(py, threads, progress.as_ref(), |observer| {
        let believed = belief.for_design();
        let names = believed.models.names();
        let designer = settings::designer(request, goal, names, believed.graphs.is_some())?;
        let designs = pending(&designs, names)?;
        let scores = designer.score(believed, &designs, Seed::new(seed), observer)?;
        let numbers = scores.iter().map(|score| (score.nats, score.standard_error)).collect();
        Ok((numbers, designer.strategy.parts().0.unit()))
    })
}
