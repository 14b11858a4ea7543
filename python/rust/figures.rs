//! The report's figures as SVG, from plain parts.

use pyo3::prelude::*;
use seabed_report::{InformationCurve, Intervention, RunView, run_figures};

use crate::watch::quick;

/// Figures of what is known as (stem, SVG): edges (beside the truth, if that is known), experiments, and what values are
/// worth. Parts without content have no figure.
#[pyfunction]
#[allow(clippy::type_complexity)] // plain parts
pub fn figures(
    py: Python<'_>,
    names: Vec<String>,
    edge_probabilities: Vec<Vec<f64>>,
    truth: Option<Vec<Vec<bool>>>,
    experiments: Vec<(Vec<(String, f64)>, f64, f64)>,
    curves: Vec<(String, Vec<(f64, f64)>)>,
) -> PyResult<Vec<(String, String)>> {
    quick(py, || {
        let experiment = |(targets, information, error): (Vec<(String, f64)>, f64, f64)| Intervention {
            round: 0,
            targets,
            information: Some(information),
            standard_error: Some(error),
        };
        let curve = |(target, points): (String, Vec<(f64, f64)>)| InformationCurve { target, points };
        let view = RunView {
            names,
            truth,
            edge_probabilities,
            interventions: experiments.into_iter().map(experiment).collect(),
            curves: curves.into_iter().map(curve).collect(),
            ..RunView::default()
        };
        Ok(run_figures(&view))
    })
}
