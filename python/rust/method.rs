//! The two steps of the method: fit and design.

use pyo3::prelude::*;
use seabed::checks::{CheckError, caution};
use seabed::data::{DataSummary, Dataset, Names, check_names, far_values, far_values_in_brief, traps};
use seabed::design::{Batch, DesignError, DesignRecord, Designer, ceiling, reasons};
use seabed::num::random::Seed;
use seabed::posterior::{Fit, Start};
use serde_json::{Value, json};

use crate::belief::Belief;
use crate::failure::Failure;
use crate::settings;
use crate::table::Table;
use crate::watch::{quick, watched};

/// A belief, the JSON of `seabed fit --json` but for the times and what follows from the checks, and what to know about the
/// fit, as JSON.
pub type Fitted = (Belief, String, String);

/// The parts of a fit.
pub fn fitted(fit: Fit, data: &Dataset, remarks: &[String]) -> Fitted {
    let mut form = serde_json::to_value(&fit).expect("plain numbers");
    let mut warnings = traps(data);
    warnings.extend(fit.one_graph().map(str::to_string));
    form["warnings"] = json!(warnings);
    let said = json!({
        "warning": fit.warning, "one_graph": fit.one_graph(), "notes": fit.notes, "remarks": remarks,
    })
    .to_string();
    let belief = Belief::of(fit.ensemble, fit.graphs).with_data(Some(DataSummary::of(data)));
    (belief, form.to_string(), said)
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

/// What in the data the models cannot have made, as JSON, and the warning that follows from it; `warned` says whether the fit
/// itself warned.
#[pyfunction]
#[pyo3(signature = (table, belief, warned, threads=None, progress=None))]
pub fn checks(
    py: Python<'_>,
    table: &Table,
    belief: &Belief,
    warned: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Option<&'static str>)> {
    watched(py, threads, progress.as_ref(), |observer| {
        let found = seabed::checks::check(table.dataset()?, belief.models(), observer);
        let found = found.map_err(|error| match error {
            CheckError::Variables(_) => Failure::data(error),
            _ => Failure::new("Stopped", error),
        })?;
        Ok((json!(found).to_string(), caution(&found, warned)))
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

/// Can experiments on these variables be learned from and chosen with these settings?
#[pyfunction]
#[allow(clippy::too_many_arguments)] // as the caller names them
pub fn check_experiment(
    py: Python<'_>,
    names: Vec<String>,
    posterior: &str,
    changes: &str,
    knowledge: Option<&str>,
    request: &str,
    goal: Option<&str>,
    constraints: &str,
) -> PyResult<()> {
    quick(py, || {
        let names: Names = names.into();
        check_names(&names).map_err(Failure::settings)?;
        let posterior = settings::posterior(posterior, changes)?;
        settings::knowledge(knowledge, &names)?;
        let (has_graphs, draws) = (posterior.gives_graphs(), settings::draws_of(&posterior));
        let designer = settings::designer(request, goal, &names, has_graphs, draws)?;
        if designer.strategy.parts().0.needs_graphs() && !has_graphs {
            return Err(DesignError::NoGraphs.into());
        }
        Ok(settings::constraints(constraints, &names)?.check(&names, 1)?)
    })
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

/// What is known of the data that a batch was chosen from.
pub enum Source<'a> {
    /// All of them.
    Data(&'a Dataset),
    /// In brief, where the belief remembers them.
    Brief(Option<&'a DataSummary>),
}

/// What to beware of in the data, in what was learned (`doubts`) and in what was chosen, in the order of the command.
pub fn batch_warnings(batch: &Batch, source: &Source<'_>, doubts: Vec<String>) -> Vec<String> {
    let settings = batch.chosen.iter().flat_map(|chosen| chosen.design.settings().iter().copied());
    let (mut warnings, far) = match source {
        Source::Data(data) => (traps(data), far_values(data, settings)),
        Source::Brief(data) => {
            (Vec::new(), data.map_or(Vec::new(), |data| far_values_in_brief(data, settings)))
        }
    };
    warnings.extend(doubts);
    warnings.extend(far);
    warnings.extend(ceiling(batch.information.nats, batch.entropy).map(str::to_string));
    warnings
}

/// The next batch under a belief, beyond what is pending (one design per row); `table` holds what it was learned from, and
/// `doubts` are the warnings of its fit.
#[pyfunction]
#[pyo3(signature = (belief, table, doubts, request, goal, constraints, pending_rows, seed, threads=None, progress=None))]
#[allow(clippy::too_many_arguments)] // as the caller names them
pub fn design(
    py: Python<'_>,
    belief: &Belief,
    table: Option<&Table>,
    doubts: Vec<String>,
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
        let source = data.as_ref().map_or(Source::Brief(belief.summary()), Source::Data);
        value["form"]["warnings"] = json!(batch_warnings(&batch, &source, doubts));
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
