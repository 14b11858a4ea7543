//! The fit: scores of all sets of parents, then chains, warm at first, until they agree and are long enough.

use super::candidates::{self, Limits};
use super::chain::Chain;
use super::diagnostics::Diagnostics;
use super::ladder::Ladder;
use super::mask::{Mask, bit};
use super::problem::Problem;
use super::result::{self, McmcFit};
use super::settings::Mcmc;
use super::state::{self, State};
use super::table::ParentSets;
use super::trust::{self, Trust, TrustRule};
use crate::data::Dataset;
use crate::graph::Node;
use crate::num::parallel::{ordered_map, ordered_map_indices};
use crate::num::random::{Purpose, Seed};
use crate::observer::{Observer, Pulse, Stopped, report};
use crate::posterior::units::vary;
use crate::posterior::{self, FitError, Knowledge, StateMismatch, UnusableData};
use crate::scm::ByName;

/// Sweeps before candidates are reconsidered, and how often at most.
const PILOT: usize = 50;
const MOST_REVISIONS: usize = 2;
/// A parent becomes a candidate if at least this fraction of the pilot's graphs have it.
const READMITTED: f64 = 0.02;
/// The lowest temperature above 1 at which chains start, and the range of scores, divided by the temperature, at which they
/// move freely.
const COOLEST: f64 = 1.5;
const MILD: f64 = 20.0;
/// Chains whose mean log-weights differ by more than this get replicas at higher temperatures, in nats; but not before they
/// have made this share of their sweeps, for most come together by themselves, and a sweep of all replicas costs up to 17.
const APART: f64 = 1.0;
const PATIENCE: f64 = 0.25;
/// Sweeps between two reports to the observer.
const SWEEPS_AT_ONCE: usize = 50;

impl Mcmc {
    /// The posterior of the data.
    pub fn fit(
        &self,
        data: &Dataset,
        knowledge: &Knowledge,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<McmcFit, FitError> {
        self.check_data(data)?;
        let sorted = Sorted::new(data, knowledge);
        run(State::start(self, &sorted.data, &sorted.knowledge, seed), data, &sorted, observer)
    }

    /// Resumes a stopped fit of the same data and knowledge: the result is that of an uninterrupted fit.
    pub fn resume(
        state: State,
        data: &Dataset,
        knowledge: &Knowledge,
        observer: &dyn Observer,
    ) -> Result<McmcFit, FitError> {
        state.settings.check_data(data)?;
        let sorted = Sorted::new(data, knowledge);
        state.check_same(&sorted.data, &sorted.knowledge)?;
        run(state, data, &sorted, observer)
    }

    /// The posterior of the data, with the scores of an earlier fit for nodes about which there are no new rows. The
    /// result is the same as without them.
    pub fn fit_from(
        &self,
        earlier: State,
        data: &Dataset,
        knowledge: &Knowledge,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<McmcFit, FitError> {
        self.check_data(data)?;
        let sorted = Sorted::new(data, knowledge);
        let state = earlier.scores_for(self, &sorted.data, &sorted.knowledge, seed)?;
        run(state, data, &sorted, observer)
    }
}

/// Data and knowledge with variables in the order of their names, and rows in an order of their own: neither order in the
/// data makes a difference.
struct Sorted {
    by_name: ByName,
    data: Dataset,
    knowledge: Knowledge,
}

impl Sorted {
    fn new(data: &Dataset, knowledge: &Knowledge) -> Self {
        let by_name = ByName::new(data.names());
        let knowledge = knowledge.relabelled(&by_name.to);
        let data = data.reordered(&by_name.names).expect("the same names in another order");
        Self { by_name, data: data.in_canonical_rows(), knowledge }
    }
}

fn run(
    mut state: State,
    data: &Dataset,
    sorted: &Sorted,
    observer: &dyn Observer,
) -> Result<McmcFit, FitError> {
    let settings = state.settings.clone();
    let Sorted { by_name, data: sorted, knowledge } = sorted;
    let nodes = sorted.variables();
    let problems = Problem::all(&settings, sorted);
    let constants = Mask::of(constants(sorted));
    let limits: Vec<Limits> = problems
        .iter()
        .enumerate()
        .map(|(node, of)| limits(&settings, knowledge, node, of, constants))
        .collect();
    for (known, problem) in state.nodes.iter_mut().zip(&problems) {
        if known.mark != problem.mark {
            *known = state::NodeState { mark: problem.mark, ..state::NodeState::default() };
        }
    }
    for (known, limits) in state.nodes.iter_mut().zip(&limits) {
        // A state may come from a file: what is missing is computed again.
        let possible = |candidates: candidates::Candidates| {
            (candidates.all | Mask::of(candidates.greedy)).is_within(limits.all())
        };
        if !known.screened().is_none_or(possible) {
            return Err(StateMismatch::Damaged.into());
        }
        let scores = known.known();
        let complete =
            |candidates| candidates::sets(&candidates, limits).iter().all(|set| scores.contains_key(set));
        known.filled &= known.screened().is_some_and(complete);
    }
    let share = share(&mut state, sorted, knowledge, observer)?;
    let stream = state.seed.stream(Purpose::Mcmc);
    let mut tables = Vec::new();
    loop {
        score(&mut state, &problems, &limits, observer)?;
        tables.clear();
        for node in 0..nodes {
            let prior = settings.prior.of_node(node, sorted.names());
            let known = state.nodes[node].known();
            let candidates = state.nodes[node].screened().expect("all nodes are screened");
            let sets = candidates::sets(&candidates, &limits[node]);
            let weighted: Vec<(Mask, f64)> =
                sets.iter().map(|set| (*set, share * known[set] + prior.of(*set))).collect();
            if weighted.iter().any(|(_, score)| !score.is_finite()) {
                return Err(UnusableData::ScoreNotFinite { name: sorted.names()[node].clone() }.into());
            }
            tables.push(ParentSets::new(weighted, nodes));
        }
        let alone = |chain: &Chain| state.revisions >= MOST_REVISIONS || chain.replicas() == 0;
        if !state.chains.iter().all(|chain| alone(chain) && chain.is_within(&tables)) {
            return Err(StateMismatch::Damaged.into());
        }
        if state.chains.is_empty() {
            let start = |k: usize| Chain::start(&tables, knowledge.required(), stream.at(k as u64));
            state.chains = ordered_map_indices(settings.chains, start);
            state.temperatures = temperatures(&tables);
        }
        cool(&mut state, &tables, observer)?;
        if state.revisions >= MOST_REVISIONS {
            break;
        }
        // Burn-in starts with a pilot, which shows whether parents were left out that should not have been.
        let until = (PILOT * (state.revisions + 1)).min(settings.most_sweeps);
        advance(&mut state, until, &tables, &Ladder::none(), observer)?;
        state.revisions += 1;
        if !readmit(&mut state, &limits) {
            state.revisions = MOST_REVISIONS;
        }
    }
    // Lengths that an interrupted fit had already passed were not enough.
    let mut until = settings.compared_after(state.sweeps());
    let highest = temperatures(&tables).last().copied();
    let mut ladder = match highest {
        Some(highest) if state.is_tempered() => Ladder::up_to(highest, &tables),
        _ => Ladder::none(),
    };
    if state.chains.iter().any(|chain| chain.replicas() != ladder.len()) {
        return Err(StateMismatch::Damaged.into());
    }
    let diagnostics = loop {
        advance(&mut state, until, &tables, &ladder, observer)?;
        let mut second_halves = state.chains.clone();
        second_halves.iter_mut().for_each(|chain| chain.keep_last(until.div_ceil(2)));
        let diagnostics = Diagnostics::of(&second_halves, state.readmitted);
        if diagnostics.enough(settings.draws) || until >= settings.most_sweeps {
            break diagnostics;
        }
        // Chains that stay apart where they started get company that moves more freely.
        let patient = until as f64 >= PATIENCE * settings.most_sweeps as f64;
        let stuck = patient && diagnostics.apart() > APART;
        if let Some(highest) = highest.filter(|_| !state.is_tempered() && stuck) {
            ladder = Ladder::up_to(highest, &tables);
            state.chains.iter_mut().for_each(|chain| chain.replicate(ladder.len()));
        }
        until = settings.compared_after(until + 1);
    };
    result::fit(state, diagnostics, &problems, (data, sorted), by_name, observer)
}

/// How much rows count for: as asked, or by the rule, which is followed once.
fn share(
    state: &mut State,
    data: &Dataset,
    knowledge: &Knowledge,
    observer: &dyn Observer,
) -> Result<f64, FitError> {
    let share = match (state.settings.trust, state.share) {
        (Trust::Share(share), _) | (_, Some(share)) => share,
        (Trust::Named(TrustRule::Auto), None) => {
            match trust::chosen(&state.settings, data, knowledge, state.seed, observer) {
                // The state of the comparison is not that of the fit.
                Err(FitError::Stopped(_)) => {
                    return Err(FitError::Stopped(Box::new(posterior::State::Mcmc(state.clone()))));
                }
                chosen => chosen?,
            }
        }
    };
    state.share = Some(share);
    Ok(share)
}

/// Variables that do not vary at all.
fn constants(data: &Dataset) -> Vec<Node> {
    (0..data.variables()).filter(|&node| !vary(data.column(node).iter().copied())).collect()
}

/// What the data leave open whatever the fit, as text.
pub(in crate::posterior) fn remarks(data: &Dataset) -> Vec<String> {
    let constants = constants(data);
    let remark = |node: Node| {
        let name = &data.names()[node];
        let free = data.untouched_rows(node).map(|row| data.column(node)[row]);
        if constants.contains(&node) {
            Some(format!("{name:?} does not vary measurably: it gets no edges"))
        } else if free.clone().next().is_none() {
            Some(format!("{name:?} was set in every row: it may be a cause, and gets no causes itself"))
        } else if !vary(free) {
            Some(format!("{name:?} does not vary measurably where it was not set: it gets no causes"))
        } else {
            None
        }
    };
    (0..data.variables()).filter_map(remark).collect()
}

/// Edges that the data say nothing about are left out: those into a node that does not vary where it was not set, and those
/// from a variable that never varies.
fn limits(settings: &Mcmc, knowledge: &Knowledge, node: Node, problem: &Problem, constants: Mask) -> Limits {
    let nodes = knowledge.forbidden().len();
    let silent = if problem.varies { constants } else { Mask::ALL };
    Limits {
        forbidden: Mask::from(&knowledge.forbidden()[node]) | bit(node) | silent,
        required: Mask::from(knowledge.required().parents(node)),
        nodes,
        most_parents: settings.most_parents().max(knowledge.required().parents(node).len()),
        candidates: settings.candidates,
    }
}

/// Screens the nodes that are not screened yet, and computes the scores that are missing.
fn score(
    state: &mut State,
    problems: &[Problem],
    limits: &[Limits],
    observer: &dyn Observer,
) -> Result<(), FitError> {
    for (node, problem) in problems.iter().enumerate() {
        if state.nodes[node].filled {
            continue;
        }
        // One node may take longer than anybody waits for an answer to Ctrl-C.
        let mut scores = state.nodes[node].known();
        let (known, expected) =
            (scores.len() as f64, state.settings.sets_per_variable(problems.len()) as f64);
        let ask = |begun: u64| {
            let part = ((known + begun as f64) / expected).min(0.99);
            told(state, part, observer).is_ok()
        };
        let pulse = Pulse::new(&ask);
        let screened = match state.nodes[node].screened() {
            Some(candidates) => Ok(candidates),
            None => candidates::screen(problem, &limits[node], &mut scores, &pulse),
        };
        let ended = screened.and_then(|candidates| {
            let sets = candidates::sets(&candidates, &limits[node]);
            candidates::fill(problem, &sets, &mut scores, &pulse).map(|()| candidates)
        });
        let known = &mut state.nodes[node];
        known.scores = scores.into_iter().collect();
        let Ok(candidates) = ended else {
            return Err(FitError::Stopped(Box::new(posterior::State::Mcmc(state.clone()))));
        };
        known.greedy = candidates.greedy;
        known.candidates = Some(candidates.all.nodes().collect());
        known.filled = true;
        report_progress(state, observer)?;
    }
    Ok(())
}

/// Makes the parents that the chains use candidates; true if there are any.
fn readmit(state: &mut State, limits: &[Limits]) -> bool {
    let mut any = false;
    for node in 0..state.nodes.len() {
        let candidates = state.nodes[node].screened().expect("all nodes are screened").all;
        let graphs = state.chains.iter().flat_map(|chain| &chain.path[chain.path.len() / 2..]);
        let mut counts = vec![0usize; state.nodes.len()];
        let mut total = 0;
        for graph in graphs {
            total += 1;
            let outsiders = graph[node] & !candidates & !limits[node].required;
            outsiders.nodes().for_each(|parent| counts[parent] += 1);
        }
        let used: Vec<Node> =
            (0..counts.len()).filter(|&parent| counts[parent] as f64 > READMITTED * total as f64).collect();
        if !used.is_empty() {
            any = true;
            state.readmitted += used.len();
            let known = &mut state.nodes[node];
            known.candidates.as_mut().expect("screened").extend(used);
            known.filled = false;
        }
    }
    any
}

/// Temperatures at which the chains start, the last the highest: where many rows make the posterior rugged, a chain that
/// starts cold stays in the first valley it meets.
fn temperatures(tables: &[ParentSets]) -> Vec<f64> {
    let range = tables.iter().map(ParentSets::range).fold(0.0, f64::max);
    std::iter::successors(Some(COOLEST), |warmer| Some(2.0 * warmer))
        .take_while(|temperature| temperature * MILD < range)
        .collect()
}

/// Sweeps at each temperature: fewer for many variables, where they cost more.
fn sweeps_at_a_temperature(nodes: usize) -> usize {
    (1500 / nodes).clamp(30, 150)
}

/// Cools the chains down, if they are warm; these sweeps are not recorded.
fn cool(state: &mut State, tables: &[ParentSets], observer: &dyn Observer) -> Result<(), FitError> {
    let stream = state.seed.stream(Purpose::Mcmc).named("warm");
    while let Some(temperature) = state.temperatures.pop() {
        let warm = ordered_map(tables, |table| table.at(temperature));
        let level = stream.at(state.temperatures.len() as u64);
        let chains: Vec<(usize, &Chain)> = state.chains.iter().enumerate().collect();
        let count = sweeps_at_a_temperature(tables.len());
        state.chains = ordered_map(&chains, |(k, chain)| chain.moved(count, &warm, level.at(*k as u64)));
        report_progress(state, observer)?;
    }
    Ok(())
}

/// Advances all chains to this many sweeps.
fn advance(
    state: &mut State,
    until: usize,
    tables: &[ParentSets],
    ladder: &Ladder,
    observer: &dyn Observer,
) -> Result<(), FitError> {
    let stream = state.seed.stream(Purpose::Mcmc);
    while state.sweeps() < until {
        let count = (until - state.sweeps()).min(SWEEPS_AT_ONCE);
        let chains: Vec<(usize, &Chain)> = state.chains.iter().enumerate().collect();
        state.chains = ordered_map(&chains, |(k, chain)| {
            let mut chain = (*chain).clone();
            chain.advance(count, tables, ladder, stream.at(*k as u64));
            chain
        });
        report_progress(state, observer)?;
    }
    Ok(())
}

/// Reports progress, with an error if the fit should stop.
fn report_progress(state: &State, observer: &dyn Observer) -> Result<(), FitError> {
    let saved = || posterior::State::Mcmc(state.clone());
    if told(state, 0.0, observer).is_ok() && observer.checkpoint(&|| saved().to_json()) {
        Ok(())
    } else {
        Err(FitError::Stopped(Box::new(saved())))
    }
}

/// Reports progress, with an error if the observer asks to stop; of the variable that is being scored, this part is done.
fn told(state: &State, part: f64, observer: &dyn Observer) -> Result<(), Stopped> {
    let (done, all) = state.progress_with(part);
    let (scored, nodes) = state.scored();
    match state.sweeps() {
        0 => {
            let sets = state.sets();
            let what = format_args!("scored {scored} of {nodes} variables, {sets} sets of parents");
            report(observer, done, all, what)
        }
        sweeps => {
            let most = state.settings.most_sweeps;
            report(observer, done, all, format_args!("{sweeps} sweeps (at most {most})"))
        }
    }
}
