//! Graphs as matrices, and distances between them.

use pyo3::prelude::*;
use seabed::data::GraphFile;
use seabed::evaluate::sortability;
use seabed::graph::{Dag, shd, shd_double, sid, sid_bounds};
use serde_json::json;

use crate::failure::Failure;
use crate::table::Table;
use crate::watch::quick;

/// A graph from `[from][to]`; `what` names it in messages.
fn graph(names: &[String], rows: &[Vec<bool>], what: &str) -> Result<GraphFile, Failure> {
    let nodes = names.len();
    if rows.len() != nodes || rows.iter().any(|row| row.len() != nodes) {
        return Err(Failure::data(format!(
            "{what} must have {nodes} rows and {nodes} columns, one for each variable"
        )));
    }
    if let Some(node) = (0..nodes).find(|&node| rows[node][node]) {
        return Err(Failure::data(format!("{what} has an edge from {:?} to itself", names[node])));
    }
    Ok(GraphFile { names: names.to_vec(), adjacency: rows.to_vec(), complete: true })
}

/// An acyclic graph from `[from][to]`.
pub fn dag_of(names: &[String], rows: &[Vec<bool>], what: &str) -> Result<Dag, Failure> {
    graph(names, rows, what)?.to_dag().map_err(|error| Failure::data(format!("{what}: {error}")))
}

/// Distances between two graphs over the same variables, as JSON. With undirected edges (both directions) the estimate
/// stands for its equivalence class, and the intervention distance is a range.
#[pyfunction]
pub fn graph_distances(
    py: Python<'_>,
    names: Vec<String>,
    truth: Vec<Vec<bool>>,
    estimate: Vec<Vec<bool>>,
) -> PyResult<String> {
    quick(py, || {
        let truth = dag_of(&names, &truth, "the truth")?;
        let estimate = graph(&names, &estimate, "the estimate")?;
        let wrong = |error| Failure::data(format!("the estimate: {error}"));
        let found = if estimate.has_undirected_edges() {
            let class = estimate.to_essential_graph().map_err(wrong)?;
            let bounds = sid_bounds(&truth, &class);
            json!({
                "shd": shd(&truth, &class), "shd_double": shd_double(&truth, &class), "sid_lower": bounds.lower,
                "sid_upper": bounds.upper, "sid_exact": bounds.exact,
            })
        } else {
            let dag = estimate.to_dag().map_err(wrong)?;
            json!({"shd": shd(&truth, &dag), "shd_double": shd_double(&truth, &dag), "sid": sid(&truth, &dag)})
        };
        Ok(found.to_string())
    })
}

/// How much of the causal order the data reveal by themselves, as JSON; `problem` where it is undefined.
#[pyfunction]
pub fn data_sortability(py: Python<'_>, table: &Table, truth: Vec<Vec<bool>>) -> PyResult<String> {
    quick(py, || {
        let data = table.dataset()?;
        let truth = dag_of(data.names(), &truth, "the truth")?;
        Ok(match sortability(data, &truth) {
            Ok(found) => {
                json!({"var_sortability": found.var_sortability, "r2_sortability": found.r2_sortability})
            }
            Err(error) => {
                json!({"var_sortability": null, "r2_sortability": null, "problem": error.to_string()})
            }
        }
        .to_string())
    })
}
