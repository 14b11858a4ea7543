//! What was learned: weighted models and, where the posterior knows them, weighted graphs.

use std::sync::Arc;

use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use seabed::belief::{self, GraphBelief};
use seabed::data::{DataSummary, MOST_VALUE, position};
use seabed::design::{self, Constraints, NamedConstraints};
use seabed::effects::{Effect, Effects, Span, observed_spans, simulated_spans};
use seabed::evaluate::{held_out_log_likelihood_observed, scores_observed};
use seabed::graph::Dag;
use seabed::num::random::{Purpose, Seed};
use seabed::observer::{Progress, Stopped};
use seabed::scm::{Ensemble, Scm};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::graphs::dag_of;
use crate::settings::intervention;
use crate::table::Table;
use crate::watch::{quick, watched};

/// An ensemble, and graphs with parameters integrated out.
#[pyclass(frozen, module = "seabed._seabed")]
#[derive(Clone)]
pub struct Belief {
    content: Arc<(Ensemble, Option<GraphBelief>)>,
    /// The data it was learned from in brief, where they are known.
    summary: Option<Arc<DataSummary>>,
}

impl Belief {
    pub fn of(models: Ensemble, graphs: Option<GraphBelief>) -> Self {
        Self { content: Arc::new((models, graphs)), summary: None }
    }

    /// With the data it was learned from in brief.
    pub fn with_data(self, summary: Option<DataSummary>) -> Self {
        Self { summary: summary.map(Arc::new), ..self }
    }

    pub fn models(&self) -> &Ensemble {
        &self.content.0
    }

    /// The data it was learned from in brief.
    pub fn summary(&self) -> Option<&DataSummary> {
        self.summary.as_deref()
    }

    pub fn for_design(&self) -> design::Belief<'_> {
        design::Belief { models: &self.content.0, graphs: self.content.1.as_ref() }
    }
}

#[pymethods]
impl Belief {
    /// From the bytes of an .npz or .json file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8], source: &str) -> PyResult<Self> {
        watched(py, Some(1), None, |observer| {
            let (models, graphs) = belief::from_bytes_watched(bytes, source, observer)?;
            Ok(Self::of(models, graphs).with_data(belief::remembered_in(bytes, source)?))
        })
    }

    /// The bytes of an .npz file, or of a .json file.
    fn to_bytes<'py>(&self, py: Python<'py>, as_json: bool) -> PyResult<Bound<'py, PyBytes>> {
        let (models, graphs) = &*self.content;
        let bytes = quick(py, || {
            Ok(if as_json {
                belief::to_json_of(models, graphs.as_ref(), self.summary.as_deref()).into_bytes()
            } else {
                belief::to_npz_of(models, graphs.as_ref(), self.summary.as_deref())
            })
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// What can be set to what unless the user says otherwise, as JSON: what the data of the fit held, where that is known.
    fn remembered_constraints(&self) -> Option<String> {
        let allowed = Constraints::remembered(self.summary.as_deref()?);
        let form = NamedConstraints::new(&allowed, self.models().names());
        Some(serde_json::to_string(&form).expect("plain numbers"))
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.models().names().to_vec()
    }

    #[getter]
    fn has_graphs(&self) -> bool {
        self.content.1.is_some()
    }

    #[getter]
    fn edge_entropy(&self) -> f64 {
        self.models().edge_entropy()
    }

    /// Edges of all draws, 1 for an edge, flat: `[draws * variables * variables]`, row -> column.
    fn graphs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        let nodes = self.models().names().len();
        let mut all = Vec::with_capacity(self.models().draws().len() * nodes * nodes);
        for draw in self.models().draws() {
            let dag = draw.dag();
            all.extend((0..nodes * nodes).map(|k| u8::from(dag.has_edge(k / nodes, k % nodes))));
        }
        PyArray1::from_vec(py, all)
    }

    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.models().weights())
    }

    /// `[variables, variables]`, row -> column.
    fn edge_probabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = self.models().edge_probabilities();
        PyArray2::from_vec2(py, &rows).map_err(|error| Failure::new("InternalError", error).into())
    }

    /// One model as JSON.
    fn model(&self, draw: usize) -> PyResult<String> {
        let count = self.models().draws().len();
        let beyond = || {
            Failure::settings(format!("there is no draw {draw}: they are numbered from 0 to {}", count - 1))
        };
        let model = self.models().draws().get(draw).ok_or_else(beyond)?;
        Ok(model.to_json())
    }

    /// Rows predicted by every draw under an intervention, `samples` of each draw; flat, `[draws * samples * variables]`.
    #[pyo3(signature = (samples, settings, seed, threads=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        samples: usize,
        settings: Vec<(String, f64)>,
        seed: u64,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let rows = watched(py, threads, None, |observer| {
            let design = intervention(&settings, self.models().names())?;
            let mut all = Vec::new();
            let count = self.models().draws().len() as u64;
            for (k, draw) in self.models().draws().iter().enumerate() {
                let what = format_args!("draws");
                if !observer.progress(&Progress { done: k as u64, all: count, what }) {
                    return Err(Failure::new("Stopped", Stopped));
                }
                let stream = Seed::new(seed).stream(Purpose::Noise).at(k as u64);
                let columns = Scm::sample(draw, samples, &design, stream);
                all.extend((0..samples).flat_map(|row| columns.iter().map(move |column| column[row])));
            }
            Ok(all)
        })?;
        Ok(PyArray1::from_vec(py, rows))
    }

    /// Total effects of every variable on every other one, as the JSON of `seabed effects --json` lists them; `spans` are
    /// those of some variables, by name.
    #[pyo3(signature = (spans, seed, threads=None, progress=None))]
    fn effects(
        &self,
        py: Python<'_>,
        spans: Vec<(String, f64, f64)>,
        seed: u64,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        watched(py, threads, progress.as_ref(), |observer| {
            let (models, seed) = (self.models(), Seed::new(seed));
            let names = models.names();
            let mut all: Vec<Span> = match &self.summary {
                Some(data) => observed_spans(data),
                None => simulated_spans(models, seed),
            };
            for (name, low, high) in &spans {
                let unknown = || Failure::settings(format!("spans: there is no variable {name:?}"));
                let node = position(names, name).ok_or_else(unknown)?;
                let usable = |end: &f64| end.abs() <= MOST_VALUE;
                if low == high || !usable(low) || !usable(high) {
                    let message = format!(
                        "spans: {name:?} from {low:?} to {high:?}: give two different numbers, from -{MOST_VALUE:e} to {MOST_VALUE:e}"
                    );
                    return Err(Failure::settings(message));
                }
                all[node] = Span::new(*low, *high);
            }
            let sources: Vec<usize> = (0..names.len()).collect();
            let found = Effects::default().of(models, &sources, &all, seed, observer);
            let found = found.map_err(|stopped| Failure::new("Stopped", stopped))?;
            if !found.iter().all(Effect::is_finite) {
                let message = "the models give values that are too large to compute with; check their parameters and the spans";
                return Err(Failure::data(message));
            }
            let named = found.iter().map(|effect| {
                let mut value = json!(effect);
                value["from"] = json!(names[effect.from]);
                value["to"] = json!(names[effect.to]);
                value
            });
            Ok(named.collect::<Value>().to_string())
        })
    }

    /// Scores against the truth, as JSON.
    #[pyo3(signature = (truth, threads=None, progress=None))]
    fn scores(
        &self,
        py: Python<'_>,
        truth: Vec<Vec<bool>>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        watched(py, threads, progress.as_ref(), |observer| {
            let truth: Dag = dag_of(self.models().names(), &truth, "the truth")?;
            let found = scores_observed(self.models(), &truth, observer);
            let found = found.map_err(|stopped| Failure::new("Stopped", stopped))?;
            Ok(json!(found).to_string())
        })
    }

    /// Mean log-density of a row in nats; the columns must be those of the belief.
    fn held_out_log_likelihood(&self, py: Python<'_>, table: &Table) -> PyResult<f64> {
        watched(py, Some(1), None, |observer| {
            let data = table.dataset()?.reordered(self.models().names())?;
            let found = held_out_log_likelihood_observed(self.models(), &data, observer);
            found.map_err(|stopped| Failure::new("Stopped", stopped))
        })
    }
}
