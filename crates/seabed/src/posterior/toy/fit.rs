//! The fit: one graph after the other is drawn, until all are done or the observer asks to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::result::{self, ToyFit};
use super::settings::Toy;
use super::state::State;
use crate::data::Dataset;
use crate::graph::Dag;
use crate::num::parallel::ordered_map_indices;
use crate::num::random::{Purpose, Seed, Stream};
use crate::observer::{Observer, report};
use crate::posterior::error::check_rows;
use crate::posterior::{self, FitError, Knowledge};
use crate::scm::ByName;

impl Toy {
    /// The posterior of the data.
    pub fn fit(
        &self,
        data: &Dataset,
        knowledge: &Knowledge,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<ToyFit, FitError> {
        self.check()?;
        check_rows(data)?;
        let by_name = ByName::new(data.names());
        let sorted = data.reordered(&by_name.names).expect("the same names in another order");
        let state = State::start(self, &sorted, &knowledge.relabelled(&by_name.to), seed);
        run(state, data, &sorted, &by_name, observer)
    }

    /// Resumes a stopped fit of the same data and knowledge: the result is that of an uninterrupted fit.
    pub fn resume(
        state: State,
        data: &Dataset,
        knowledge: &Knowledge,
        observer: &dyn Observer,
    ) -> Result<ToyFit, FitError> {
        state.settings.check()?;
        check_rows(data)?;
        let by_name = ByName::new(data.names());
        let sorted = data.reordered(&by_name.names).expect("the same names in another order");
        state.check_same(&sorted, &knowledge.relabelled(&by_name.to))?;
        run(state, data, &sorted, &by_name, observer)
    }
}

fn run(
    mut state: State,
    data: &Dataset,
    sorted: &Dataset,
    by_name: &ByName,
    observer: &dyn Observer,
) -> Result<ToyFit, FitError> {
    let stream = state.seed.stream(Purpose::Toy);
    let (all, done, stop) = (state.all(), AtomicU64::new(state.done() as u64), AtomicBool::new(false));
    state.drawn = ordered_map_indices(all, |draw| {
        if state.drawn[draw].is_some() || stop.load(Ordering::Relaxed) {
            return state.drawn[draw].clone();
        }
        let drawn = drawn(&state.knowledge, stream.at(draw as u64));
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if report(observer, done, all as u64, format_args!("{done} of {all} draws")).is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        Some(drawn)
    });
    if state.done() < all {
        return Err(FitError::Stopped(Box::new(posterior::State::Toy(state))));
    }
    Ok(result::fit(&state, sorted, data, by_name))
}

/// The required edges, and each of the others that go to a later name with probability 1/2.
fn drawn(knowledge: &Knowledge, stream: Stream) -> Dag {
    let mut dag = knowledge.required().clone();
    let nodes = dag.len();
    let mut draws = stream.draws();
    for (from, to) in (0..nodes).flat_map(|from| (from + 1..nodes).map(move |to| (from, to))) {
        let heads = draws.below(2) == 1;
        if heads && !dag.has_edge(from, to) && !knowledge.forbids(from, to) {
            // An edge that would close a cycle with required ones is left out.
            let _ = dag.add_edge(from, to);
        }
    }
    dag
}
