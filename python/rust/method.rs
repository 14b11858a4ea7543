//! The two steps of the method: fit and design.

use pyo3::prelude::*;
use seabed::checks::CheckError;
use seabed::data::{DataSummary, Dataset, Names, far_values, traps};
use seabed::design::{Batch, DesignRecord, Designer, ceiling, reasons};
use seabed::num::random::Seed;
use seabed::posterior::{Fit, Start};
use seabed::scm::Scm;
use serde_json::{Value, json};

use crate::belief::Belief;
use crate::failure::Failure;
use crate::settings;
use crate::table::Table;
use crate::watch::{quick, watched};

/// A belief, the JSON of `seabed fit --json` but for the times, and what to know about the fit, as JSON.
pub type Fitted = (Belief, String, String);

/// The parts of a fit.
pub fn fitted(fit: Fit, data: &Dataset, remarks: &[String]) -> Fitted {
    let mut form = serde_json::to_value(&fit).expect("plain numbers");
    let mut warnings = traps(data);
    warnings.extend(same_graphs(&fit));
    form["warnings"] = json!(warnings);
    let said = json!({"warning": fit.warning, "notes": fit.notes, "remarks": remarks}).to_string();
    let belief = Belief::of(fit.ensemble, fit.graphs).with_data(Some(DataSummary::of(data)));
    (belief, form.to_string(), said)
}

/// A caution where nothing is left open, in the words of the command.
fn same_graphs(fit: &Fit) -> Option<String> {
    let mut draws = fit.ensemble.draws().iter().map(Scm::dag);
    let first = draws.next();
    let one = fit.ensemble.draws().len() > 1 && draws.all(|graph| Some(graph) == first);
    let warning = "all draws have the same graph: that is as sure as this model of the data can be, not as the world is";
    one.then(|| warning.to_string())
}

/// What a fit will take, estimated: seconds of one processor, and bytes.
#[pyfunction]
pub fn fit_effort(py: Python<'_>, table: &Table, posterior: &str, changes: &str) -> PyResult<(f64, f64)> {
    quick(py, || {
        let data = table.dataset()?;
        let effort = settings::posterior(posterior, changes)?.effort(data.rows(), data.variables());
        Ok((effort.seconds, effort.bytes))
    })
}

/// What in the data the models cannot have made, as JSON.
#[pyfunction]
#[pyo3(signature = (table, belief, threads=None, progress=None))]
pub fn checks(
    py: Python<'_>,
    table: &Table,
    belief: &Belief,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    watched(py, threads, progress.as_ref(), |observer| {
        let found = seabed::checks::check(table.dataset()?, belief.models(), observer);
        let found = found.map_err(|error| match error {
            CheckError::Variables(_) => Failure::data(error),
            _ => Failure::new("Stopped", error),
        })?;
        Ok(json!(found).to_string())
    })
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
        Ok(fitted(fit, data, &remarks))
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
    let decides: Vec<String> = batch.chosen.iter().map(|chosen| reasons(&chosen.decides)).collect();
    let record = DesignRecord::new(batch, 0.0);
    json!({
        "form": form, "evaluated": record.evaluated, "sentences": sentences, "decides": decides,
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

/// What to beware of in the data, where they are known, and in what was chosen, in the order of the command.
pub fn batch_warnings(batch: &Batch, data: Option<&Dataset>) -> Vec<String> {
    let settings = batch.chosen.iter().flat_map(|chosen| chosen.design.settings().iter().copied());
    let mut warnings = data.map_or(Vec::new(), traps);
    warnings.extend(data.map_or(Vec::new(), |data| far_values(data, settings)));
    warnings.extend(ceiling(batch.information.nats, batch.entropy).map(str::to_string));
    warnings
}

/// The next batch under a belief, beyond what is pending (one design per row); `table` holds what it was learned from.
#[pyfunction]
#[pyo3(signature = (belief, table, request, goal, constraints, pending_rows, seed, threads=None, progress=None))]
#[allow(clippy::too_many_arguments)] // as the caller names them
pub fn design(
    py: Python<'_>,
    belief: &Belief,
    table: Option<&Table>,
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
        let draws = believed.models.draws().len();
        let designer = settings::designer(request, goal, names, believed.graphs.is_some(), draws)?;
        let constraints = settings::constraints(constraints, names)?;
        let pending = pending(&pending_rows, names)?;
        let batch = designer.design_after(believed, &pending, &constraints, Seed::new(seed), observer)?;
        let mut value = batch_as_json(&batch, &designer);
        value["form"]["edge_entropy"] = json!(belief.models().edge_entropy());
        let data = table.map(|table| table.dataset()?.reordered(names).map_err(Failure::from)).transpose()?;
        value["form"]["warnings"] = json!(batch_warnings(&batch, data.as_ref()));
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
        let draws = believed.models.draws().len();
        let designer = settings::designer(request, goal, names, believed.graphs.is_some(), draws)?;
        let designs = pending(&designs, names)?;
        let scores = designer.score(believed, &designs, Seed::new(seed), observer)?;
        let numbers = scores.iter().map(|score| (score.nats, score.standard_error)).collect();
        Ok((numbers, designer.strategy.parts().0.unit()))
    })
}
