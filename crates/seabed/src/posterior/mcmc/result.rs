//! From chains to an ensemble: graphs evenly spaced along the chains, with parameters, in the data's units and order.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::chain::{Chain, Graph};
use super::diagnostics::Diagnostics;
use super::mask::Mask;
use super::problem::Problem;
use super::state::State;
use crate::belief::{Family, GraphBelief};
use crate::data::Dataset;
use crate::graph::{Dag, Node};
use crate::num::parallel::ordered_map;
use crate::num::random::{Purpose, Seed};
use crate::observer::{Observer, Pulse, Stopped, report};
use crate::posterior::fit::{self, Fit};
use crate::posterior::{self, FitError};
use crate::scm::{ByName, Ensemble, Mechanism, Scm};

/// A posterior and how it was reached.
#[derive(Clone, Debug)]
pub struct McmcFit {
    /// The models drawn, all of the same weight.
    pub ensemble: Ensemble,
    /// Up to 1000 graphs in equal steps along the chains, equal ones merged, with parameters integrated out.
    /// None where numbers run out of digits.
    pub graphs: Option<GraphBelief>,
    /// `[i][j]` = probability of the edge `i -> j` over all graphs after burn-in, not only those drawn.
    pub edge_probabilities: Vec<Vec<f64>>,
    /// Do the chains agree?
    pub diagnostics: Diagnostics,
    /// Where it ended: its scores serve the next round.
    pub state: State,
}

/// How the chains got there, by the names of the variables.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Do the chains agree?
    #[serde(flatten)]
    pub chains: Diagnostics,
    /// Edges on which chains disagree: [from, to], largest R-hat first.
    #[serde(rename = "disputed")]
    pub disputed_edges: Vec<(String, String)>,
    /// Sets of parents whose score was computed, over all variables.
    pub sets_scored: usize,
    /// How much rows counted for in what is believed about the graph: 1 in full.
    pub trust: f64,
    /// `[i][j]` = probability of the edge `i -> j` over all graphs after burn-in, not only those drawn.
    pub edge_probabilities_of_all_graphs: Vec<Vec<f64>>,
    /// Why the probabilities should not be trusted as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

impl McmcFit {
    /// How much rows counted for in what is believed about the graph: 1 in full.
    pub fn trust(&self) -> f64 {
        self.state.share.unwrap_or(1.0)
    }

    /// As every posterior gives it; the data are those of the fit.
    pub(in crate::posterior) fn named(self, data: &Dataset) -> Fit {
        let (names, draws, trust) = (data.names(), self.ensemble.draws().len(), self.trust());
        let warning = self.diagnostics.warning(names, draws);
        let mut notes = self.diagnostics.notes();
        if let Some(share) = self.state.share.filter(|share| *share < 1.0) {
            notes
                .push(format!("(every row counts for {share} of a row in what is believed about the graph)"));
        }
        let named = |&(from, to): &(Node, Node)| (names[from].clone(), names[to].clone());
        Fit {
            ensemble: self.ensemble,
            graphs: self.graphs,
            draws,
            repaired: 0,
            warning: warning.clone(),
            notes,
            diagnostics: fit::Diagnostics::Mcmc(Box::new(Report {
                disputed_edges: self.diagnostics.disputed.iter().map(named).collect(),
                chains: self.diagnostics,
                sets_scored: self.state.sets(),
                trust,
                edge_probabilities_of_all_graphs: self.edge_probabilities,
                warning,
            })),
            state: Some(fit::State::Mcmc(self.state)),
        }
    }
}

pub(super) fn fit(
    state: State,
    mut diagnostics: Diagnostics,
    problems: &[Problem],
    (data, sorted): (&Dataset, &Dataset),
    by_name: &ByName,
    observer: &dyn Observer,
) -> Result<McmcFit, FitError> {
    // All sweeps are done: resumed from here, the fit is at its end again.
    let stopped = || FitError::Stopped(Box::new(posterior::State::Mcmc(state.clone())));
    let chains: Vec<&[Graph]> =
        state.chains.iter().map(|chain: &Chain| &chain.path[chain.path.len() - diagnostics.kept..]).collect();
    let graphs: Vec<&Graph> = drawn(&chains, state.settings.draws);
    let of_belief = drawn(&chains, GRAPHS.min(chains.iter().map(|chain| chain.len()).sum()));
    // Each law takes about as long, whether parameters are drawn from it or it is kept.
    let all = (distinct(&graphs).len() + distinct(&of_belief).len()) as u64;
    let ask = |begun: u64| report(observer, begun, all, format_args!("mechanisms drawn")).is_ok();
    let pulse = Pulse::new(&ask);
    let models = models(&graphs, problems, state.seed, by_name, &pulse).map_err(|_| stopped())?;
    let models = models.into_iter().map(|model| model.reordered(data.names(), &by_name.to)).collect();
    let edge_probabilities = edge_probabilities(&chains, by_name);
    let in_data_order = |(from, to): (Node, Node)| (by_name.from[from], by_name.from[to]);
    diagnostics.disputed = diagnostics.disputed.into_iter().map(in_data_order).collect();
    let ensemble = Ensemble::uniform(models).expect("at least one draw");
    let graphs = belief(&of_belief, problems, sorted, by_name, &pulse).map_err(|_| stopped())?;
    let graphs = graphs.and_then(|belief| belief.reordered(data.names()).ok());
    Ok(McmcFit { ensemble, graphs, edge_probabilities, diagnostics, state })
}

/// Graphs of a belief, before equal ones are merged.
const GRAPHS: usize = 1000;

/// Nodes with the sets of parents that they have in the graphs.
fn distinct(graphs: &[&Graph]) -> BTreeSet<(Node, Mask)> {
    graphs.iter().flat_map(|graph| graph.iter().copied().enumerate()).collect()
}

/// These graphs, and the law of every node given every set of parents that it has in them. None where a law runs out of
/// digits, though its score did not.
fn belief(
    graphs: &[&Graph],
    problems: &[Problem],
    sorted: &Dataset,
    by_name: &ByName,
    pulse: &Pulse<'_>,
) -> Result<Option<GraphBelief>, Stopped> {
    let nodes = problems.len();
    let distinct: Vec<(Node, Mask)> = distinct(graphs).into_iter().collect();
    let family = |&(node, parents): &(Node, Mask)| {
        if !pulse.goes_on() {
            return Err(Stopped);
        }
        let of = |conditional| Family { parents: parents.nodes().collect(), conditional };
        Ok(problems[node].conditional(parents).map(of))
    };
    let mut families = vec![Vec::new(); nodes];
    for ((node, _), family) in distinct.iter().zip(ordered_map(&distinct, family)) {
        let Some(family) = family? else { return Ok(None) };
        families[*node].push(family);
    }
    let weighted = graphs.iter().map(|graph| (dag(graph), 1.0)).collect();
    Ok(GraphBelief::new(by_name.names.clone(), weighted, families, Some(sorted.clone())).ok())
}

fn dag(graph: &Graph) -> Dag {
    let parents = graph.iter().map(|set| set.node_set(graph.len())).collect();
    Dag::from_parents(parents).expect("layers")
}

/// A model for every graph, with variables in the order of their names.
fn models(
    graphs: &[&Graph],
    problems: &[Problem],
    seed: Seed,
    by_name: &ByName,
    pulse: &Pulse<'_>,
) -> Result<Vec<Scm>, Stopped> {
    let nodes = problems.len();
    // The same node with the same parents has the same posterior of its parameters, large for a process: it is made
    // once, serves all graphs that have these parents, and is dropped.
    let mut graphs_with: BTreeMap<(Node, Mask), Vec<usize>> = BTreeMap::new();
    for (draw, graph) in graphs.iter().enumerate() {
        for (node, &parents) in graph.iter().enumerate() {
            graphs_with.entry((node, parents)).or_default().push(draw);
        }
    }
    let stream = seed.stream(Purpose::Mcmc).named("parameters");
    let families: Vec<((Node, Mask), Vec<usize>)> = graphs_with.into_iter().collect();
    let drawn = ordered_map(&families, |((node, parents), graphs)| {
        if !pulse.goes_on() {
            return Err(Stopped);
        }
        let sources = graphs.iter().map(|&draw| stream.at(draw as u64).named(&by_name.names[*node]).draws());
        Ok(problems[*node].draw(*parents, sources))
    });
    // Families are in the order of their nodes, so the parts of each model come in that order too.
    let mut parts: Vec<Vec<(Mechanism, f64)>> = graphs.iter().map(|_| Vec::with_capacity(nodes)).collect();
    for ((_, graphs), drawn) in families.iter().zip(drawn) {
        graphs.iter().zip(drawn?).for_each(|(&draw, part)| parts[draw].push(part));
    }
    let model = |(graph, parts): (&&Graph, Vec<(Mechanism, f64)>)| {
        let (mechanisms, noise) = parts.into_iter().unzip();
        Scm::new(by_name.names.clone(), dag(graph), mechanisms, noise).expect("finite parameters")
    };
    Ok(graphs.iter().zip(parts).map(model).collect())
}

/// This many graphs, in equal steps along all chains, one after the other.
fn drawn<'a>(chains: &[&'a [Graph]], count: usize) -> Vec<&'a Graph> {
    let all: Vec<&Graph> = chains.iter().flat_map(|chain| chain.iter()).collect();
    // The last of each step: later graphs are further from the start.
    (0..count).map(|draw| all[((draw + 1) * all.len() / count).max(1) - 1]).collect()
}

fn edge_probabilities(chains: &[&[Graph]], by_name: &ByName) -> Vec<Vec<f64>> {
    let nodes = by_name.names.len();
    let mut counts = vec![vec![0u64; nodes]; nodes];
    let mut total = 0u64;
    for graph in chains.iter().flat_map(|chain| chain.iter()) {
        total += 1;
        for (to, &parents) in graph.iter().enumerate() {
            parents.nodes().for_each(|from| counts[by_name.from[from]][by_name.from[to]] += 1);
        }
    }
    let share = |count: &u64| *count as f64 / total.max(1) as f64;
    counts.iter().map(|row| row.iter().map(share).collect()).collect()
}
