//! The fit: resample, search, draw a member; again for every draw, until all are done or the observer asks to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::gies::{self, GiesOptions, GiesResult};
use super::moments::Moments;
use super::prepare::Prepared;
use super::result::{self, BootstrapFit, model};
use super::score::{Degenerate, Scores, regress};
use super::settings::Bootstrap;
use super::state::{Drawn, State};
use crate::data::Dataset;
use crate::graph::Node;
use crate::num::parallel::ordered_map_indices;
use crate::num::random::{Purpose, Seed, Stream};
use crate::observer::{Observer, Pulse, Stopped, report};
use crate::posterior::error::check_rows;
use crate::posterior::{self, FitError, Knowledge, UnusableData};
use crate::scm::{ByName, Scm};

/// Members of a class that are drawn to find one that agrees with the knowledge.
const MOST_TRIES: usize = 200;

/// Different rows that it takes to tell one more neighbour from chance, and the neighbours that are always allowed.
const ROWS_PER_NEIGHBOUR: usize = 3;
const LEAST_NEIGHBOURS: usize = 3;

impl Bootstrap {
    /// The posterior of the data.
    pub fn fit(
        &self,
        data: &Dataset,
        knowledge: &Knowledge,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<BootstrapFit, FitError> {
        self.check()?;
        check_data(data, knowledge)?;
        let by_name = ByName::new(data.names());
        let prepared = Prepared::new(data, &by_name);
        let state = State::start(self, &prepared.data, &knowledge.relabelled(&by_name.to), seed);
        run(state, data, &prepared, &by_name, observer)
    }

    /// Resumes a stopped fit of the same data and knowledge: the result is that of an uninterrupted fit.
    pub fn resume(
        state: State,
        data: &Dataset,
        knowledge: &Knowledge,
        observer: &dyn Observer,
    ) -> Result<BootstrapFit, FitError> {
        state.settings.check()?;
        check_data(data, knowledge)?;
        let by_name = ByName::new(data.names());
        let prepared = Prepared::new(data, &by_name);
        state.check_same(&prepared.data, &knowledge.relabelled(&by_name.to))?;
        run(state, data, &prepared, &by_name, observer)
    }

    /// One search on the data as they are, variables in the order of the columns, and the model of its DAG. If it is stopped,
    /// nothing of it is kept: the state is that of a fit that begins.
    pub fn single(
        &self,
        data: &Dataset,
        knowledge: &Knowledge,
        observer: &dyn Observer,
    ) -> Result<(GiesResult, Scm), FitError> {
        self.check()?;
        check_data(data, knowledge)?;
        let prepared = Prepared::in_units(data);
        let moments = Moments::new(&prepared.data, &vec![1.0; data.rows()]);
        let mut scores = Scores::new(moments, self.penalty, gies::LEAST_GAIN);
        let ask = |_: u64| report(observer, 0, 1, format_args!("one search")).is_ok();
        let pulse = Pulse::new(&ask);
        let Ok(found) = gies::gies(&mut scores, data.regimes(), knowledge, &self.search, &pulse) else {
            let state = State::start(self, data, knowledge, Seed::new(0));
            return Err(FitError::Stopped(Box::new(posterior::State::Bootstrap(state))));
        };
        let scm = model(&found.dag, scores.moments(), data);
        Ok((found, prepared.in_given_units(&scm)))
    }
}

fn run(
    mut state: State,
    data: &Dataset,
    prepared: &Prepared,
    by_name: &ByName,
    observer: &dyn Observer,
) -> Result<BootstrapFit, FitError> {
    let settings = &state.settings;
    let search = GiesOptions {
        start: settings.search.start.as_ref().map(|start| start.relabelled(&by_name.to)),
        ..settings.search.clone()
    };
    let stream = state.seed.stream(Purpose::Bootstrap);
    let (all, done, stop) = (state.all(), AtomicU64::new(state.done() as u64), AtomicBool::new(false));
    let tell = || {
        let done = done.load(Ordering::Relaxed);
        let goes_on = report(observer, done, all as u64, format_args!("{done} of {all} resamples")).is_ok();
        stop.fetch_or(!goes_on, Ordering::Relaxed);
        goes_on
    };
    let ask = |_: u64| tell();
    let pulse = Pulse::new(&ask);
    let drawn = ordered_map_indices(all, |draw| {
        if state.drawn[draw].is_some() || stop.load(Ordering::Relaxed) {
            return state.drawn[draw].clone();
        }
        let stream = stream.at(draw as u64);
        let drawn = drawn(settings, &prepared.data, &state.knowledge, &search, stream, &pulse).ok()?;
        done.fetch_add(1, Ordering::Relaxed);
        tell();
        Some(drawn)
    });
    state.drawn = drawn;
    if state.done() < all {
        return Err(FitError::Stopped(Box::new(posterior::State::Bootstrap(state))));
    }
    Ok(result::fit(&state, prepared, data, by_name))
}

/// Searches one resample, and draws a member of the class that is found.
fn drawn(
    settings: &Bootstrap,
    data: &Dataset,
    knowledge: &Knowledge,
    search: &GiesOptions,
    stream: Stream,
    pulse: &Pulse<'_>,
) -> Result<Drawn, Stopped> {
    let weights = resample(data, stream);
    let moments = Moments::new(data, &weights);
    let usual = || Bootstrap::usual_penalty(moments.all_rows(), data.variables());
    let penalty = settings.penalty.unwrap_or_else(usual);
    let mut scores = Scores::new(moments, Some(penalty), gies::LEAST_GAIN);
    let max_degree = search.max_degree.or_else(|| most_beside(data, &weights));
    let search = GiesOptions { max_degree, ..search.clone() };
    let found = gies::gies(&mut scores, data.regimes(), knowledge, &search, pulse)?;
    let mut draws = stream.named("member").draws();
    let dag = match &found.refined {
        None => found.class.random_member(&mut draws),
        Some(refined) => {
            // Members that agree with the knowledge, all with the same probability; where they are too rare, any of them.
            let tried = (0..MOST_TRIES).map(|_| found.class.random_member(&mut draws));
            let lucky = tried.into_iter().find(|member| knowledge.allows(member));
            let any = || refined.random_member(&mut stream.named("refined").draws());
            lucky.or_else(any).expect("a refined class has a member")
        }
    };
    Ok(Drawn { dag, score: found.score, steps: found.steps.len() })
}

/// How many variables may lie beside one in a wide table: a resample has rows several times, so that with about as many
/// variables as rows chance alone fits every column, ever better the more parents it has, and the search would not end.
fn most_beside(data: &Dataset, weights: &[f64]) -> Option<usize> {
    let distinct = weights.iter().filter(|weight| **weight > 0.0).count();
    let wide = 2 * data.variables() >= data.rows();
    wide.then_some((distinct / ROWS_PER_NEIGHBOUR).max(LEAST_NEIGHBOURS))
}

fn check_data(data: &Dataset, knowledge: &Knowledge) -> Result<(), UnusableData> {
    check_rows(data)?;
    let all = Moments::new(data, &vec![1.0; data.rows()]);
    for to in (0..data.variables()).filter(|&node| !knowledge.required().parents(node).is_empty()) {
        let parents = knowledge.required().parents(to);
        let from = match regress(&all, to, parents) {
            Ok(_) => continue,
            Err(Degenerate::CollinearParent(parent)) => parent,
            Err(_) => parents.first().expect("a required parent"),
        };
        let name = |node: Node| data.names()[node].clone();
        return Err(UnusableData::RequiredDegenerate { from: name(from), to: name(to) });
    }
    Ok(())
}

/// How often each row is drawn, with replacement within each regime.
fn resample(data: &Dataset, stream: Stream) -> Vec<f64> {
    let mut weights = vec![0.0; data.rows()];
    for regime in 0..data.regimes().len() {
        let rows: Vec<usize> =
            (0..data.rows()).filter(|&row| data.regime_of_row()[row] as usize == regime).collect();
        let mut draws = stream.at(regime as u64).draws();
        for _ in 0..rows.len() {
            weights[rows[draws.below(rows.len())]] += 1.0;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeSet;

    /// Every regime keeps its number of rows; a regime of one row keeps that row.
    #[test]
    fn rows_are_resampled_within_their_regime() {
        let names = ["A", "B"].map(String::from).into();
        let columns = vec![(0..30).map(f64::from).collect(), vec![1.0; 30]];
        let targets = (0..30).map(|row| NodeSet::of(2, (row < 9).then_some(usize::from(row == 0)))).collect();
        let data = Dataset::new(names, columns, targets).unwrap();
        let mut distinct = std::collections::HashSet::new();
        for draw in 0..20 {
            let weights = resample(&data, Seed::new(draw).stream(Purpose::Bootstrap));
            let total = |rows: std::ops::Range<usize>| weights[rows].iter().sum::<f64>();
            assert_eq!((total(0..1), total(1..9), total(9..30)), (1.0, 8.0, 21.0));
            distinct.insert(weights.iter().map(|w| *w as u32).collect::<Vec<_>>());
        }
        assert_eq!(distinct.len(), 20);
    }
}
