//! The loop of asking and telling, in memory: the library's `Campaign`, one caller at a time.

use std::sync::Mutex;

use pyo3::prelude::*;
use seabed::campaign::Campaign;
use seabed::observer::Observer;

use crate::belief::Belief;
use crate::failure::Failure;
use crate::method::{Fitted, Source, batch_as_json, batch_warnings, fitted, pending};
use crate::settings;
use crate::table::Table;
use crate::watch::{quick, watched};

/// Data, the belief after them, and the number of batches asked for.
#[pyclass(frozen, module = "seabed._seabed")]
pub struct Loop {
    /// Locked only where the interpreter is free: whoever holds it may be waiting for the interpreter.
    campaign: Mutex<Campaign>,
}

impl Loop {
    fn with<T>(&self, work: impl FnOnce(&mut Campaign) -> Result<T, Failure>) -> Result<T, Failure> {
        // After a defect in another thread the campaign is as it was before that call, or as it is after it.
        let mut campaign = self.campaign.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        work(&mut campaign)
    }
}

#[pymethods]
impl Loop {
    #[new]
    fn new(
        py: Python<'_>,
        table: &Table,
        posterior: &str,
        changes: &str,
        knowledge: Option<&str>,
        seed: u64,
    ) -> PyResult<Self> {
        quick(py, || {
            let data = table.dataset()?;
            let posterior = settings::posterior(posterior, changes)?;
            let knowledge = settings::knowledge(knowledge, data.names())?;
            let campaign = Campaign::new(data.clone())
                .with_posterior(posterior)
                .with_knowledge(knowledge)
                .with_seed(seed, 0);
            Ok(Self { campaign: Mutex::new(campaign) })
        })
    }

    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        quick(py, || Ok(Self { campaign: Mutex::new(Campaign::from_json(text)?) }))
    }

    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        quick(py, || self.with(|campaign| Ok(campaign.to_json())))
    }

    /// All data so far.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        quick(py, || self.with(|campaign| Ok(Table::of(campaign.data().clone()))))
    }

    /// Adds outcomes.
    fn tell(&self, py: Python<'_>, table: &Table) -> PyResult<()> {
        quick(py, || self.with(|campaign| Ok(campaign.tell(table.dataset()?)?)))
    }

    /// Learns from all data, unless that was done.
    #[pyo3(signature = (threads=None, progress=None))]
    fn fit(&self, py: Python<'_>, threads: Option<usize>, progress: Option<Py<PyAny>>) -> PyResult<Fitted> {
        watched(py, threads, progress.as_ref(), |observer| {
            self.with(|campaign| {
                let fit = campaign.fit(observer)?;
                Ok(fitted(fit, campaign.data(), &[]))
            })
        })
    }

    /// The next batch beyond what is pending (one design per row), and the belief that it was chosen from.
    #[pyo3(signature = (request, goal, constraints, pending_rows, threads=None, progress=None))]
    #[allow(clippy::too_many_arguments)] // as the caller names them
    fn ask(
        &self,
        py: Python<'_>,
        request: &str,
        goal: Option<&str>,
        constraints: &str,
        pending_rows: Vec<Vec<(String, f64)>>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, Belief)> {
        let ask = |campaign: &mut Campaign, observer: &dyn Observer| {
            let names = campaign.data().names().clone();
            let constraints = settings::constraints(constraints, &names)?;
            let pending = pending(&pending_rows, &names)?;
            let mut asked = campaign.clone().with_constraints(constraints).with_pending(pending);
            let has_graphs = asked.posterior().gives_graphs();
            let draws = settings::draws_of(asked.posterior());
            let mut designer = settings::designer(request, goal, &names, has_graphs, draws)?;
            asked = asked.with_designer(designer.clone());
            let ended = asked.ask(observer);
            let batch = match ended {
                // Now and then a fit by Markov chains has to leave out the graphs.
                Err(error)
                    if lacks_graphs(&error)
                        && !request.contains("strategy")
                        && !request.contains("utility") =>
                {
                    designer = settings::designer(request, goal, &names, false, draws)?;
                    asked = asked.with_designer(designer.clone());
                    asked.ask(observer)?
                }
                Err(error) => {
                    // A fit that was stopped goes on the next time.
                    *campaign = asked;
                    return Err(error.into());
                }
                Ok(batch) => batch,
            };
            let models = asked.belief().cloned().ok_or_else(|| Failure::settings("nothing was learned"))?;
            let graphs = asked.graphs().cloned();
            *campaign = asked;
            let mut value = batch_as_json(&batch, &designer);
            value["form"]["warnings"] =
                batch_warnings(&batch, &Source::Data(campaign.data()), Vec::new()).into();
            Ok((value.to_string(), Belief::of(models, graphs)))
        };
        watched(py, threads, progress.as_ref(), |observer| self.with(|campaign| ask(campaign, observer)))
    }
}

fn lacks_graphs(error: &seabed::CampaignError) -> bool {
    matches!(error, seabed::CampaignError::Design(seabed::DesignError::NoGraphs))
}
