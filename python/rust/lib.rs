//! The extension module below the Python package `seabed`: plain calls with plain arguments, settings and results as
//! JSON. What people call, with its documentation, is in Python (`python/src/seabed`).
//!
//! No call keeps anything between calls but what it returns; long ones free the interpreter and can be interrupted.

mod belief;
mod experiment;
mod failure;
mod figures;
mod graphs;
mod lab;
mod method;
mod settings;
mod study;
mod table;
mod watch;
mod worlds;

use pyo3::prelude::*;
use seabed::design::Strategy;
use seabed::posterior::PosteriorKind;

/// The posteriors: names and what they are.
#[pyfunction]
fn posteriors() -> Vec<(&'static str, &'static str)> {
    PosteriorKind::ALL.to_vec()
}

/// The names of all strategies.
#[pyfunction]
fn strategies() -> Vec<&'static str> {
    Strategy::ALL.iter().map(|(name, _)| *name).collect()
}

#[pymodule]
fn _seabed(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<table::Table>()?;
    module.add_class::<belief::Belief>()?;
    module.add_class::<experiment::Loop>()?;
    module.add_class::<worlds::PyWorld>()?;
    module.add_class::<lab::LabFile>()?;
    module.add_function(wrap_pyfunction!(posteriors, module)?)?;
    module.add_function(wrap_pyfunction!(strategies, module)?)?;
    module.add_function(wrap_pyfunction!(method::fit, module)?)?;
    module.add_function(wrap_pyfunction!(method::fit_effort, module)?)?;
    module.add_function(wrap_pyfunction!(method::checks, module)?)?;
    module.add_function(wrap_pyfunction!(method::check_experiment, module)?)?;
    module.add_function(wrap_pyfunction!(method::design, module)?)?;
    module.add_function(wrap_pyfunction!(method::score, module)?)?;
    module.add_function(wrap_pyfunction!(graphs::graph_distances, module)?)?;
    module.add_function(wrap_pyfunction!(graphs::data_sortability, module)?)?;
    module.add_function(wrap_pyfunction!(figures::figures, module)?)?;
    module.add_function(wrap_pyfunction!(lab::lab_draft, module)?)?;
    module.add_function(wrap_pyfunction!(lab::lab_create, module)?)?;
    module.add_function(wrap_pyfunction!(study::study_create, module)?)?;
    module.add_function(wrap_pyfunction!(study::study_plan, module)?)?;
    module.add_function(wrap_pyfunction!(study::study_runs, module)?)?;
    module.add_function(wrap_pyfunction!(study::study_run_one, module)?)?;
    module.add_function(wrap_pyfunction!(study::study_write_results, module)?)?;
    module.add_function(wrap_pyfunction!(study::study_defaults, module)?)?;
    module.add_function(wrap_pyfunction!(study::study_presets, module)?)?;
    module.add_function(wrap_pyfunction!(study::study_preset, module)?)?;
    module.add_function(wrap_pyfunction!(study::study_report, module)?)?;
    Ok(())
}
