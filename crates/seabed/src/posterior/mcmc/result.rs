//! From chains to an ensemble: graphs evenly spaced along the chains, with parameters, in the data's units and order.

use std::collections::BTreeMap;

use super::chain::{Chain, Graph};
use super::diagnostics::Diagnostics;
use super::problem::{Parameters, Problem};
use super::state::State;
use super::table::{Mask, nodes_of, set_of};
use super::{McmcFit, prepare};
use crate::data::Dataset;
use crate::graph::{Dag, Node};
use crate::num::parallel::ordered_map;
use crate::num::random::Purpose;
use crate::scm::{ByName, Ensemble, Scm};

pub(super) fn fit(
    state: State,
    mut diagnostics: Diagnostics,
    problems: &mut [Problem],
    prepared: &mut [bool],
    data: &Dataset,
    by_name: &ByName,
) -> McmcFit {
    let nodes = by_name.names.len();
    let chains: Vec<&[Graph]> =
        state.chains.iter().map(|chain: &Chain| &chain.path[chain.path.len() - diagnostics.kept..]).collect();
    let graphs: Vec<&Graph> = drawn(&chains, state.settings.draws);
    // The same node with the same parents has the same posterior of its parameters.
    let mut sets: BTreeMap<(Node, Mask), usize> = BTreeMap::new();
    for graph in &graphs {
        for (node, &parents) in graph.iter().enumerate() {
            let next = sets.len();
            sets.entry((node, parents.into())).or_insert(next);
        }
    }
    prepare(problems, prepared, &(0..nodes).collect::<Vec<_>>());
    let keys: Vec<(Node, Mask)> = sets.keys().copied().collect();
    let problems = &*problems;
    let parameters: Vec<Parameters> =
        ordered_map(&keys, |&(node, parents)| problems[node].parameters(parents));
    let place = |key: &(Node, Mask)| keys.binary_search(key).expect("listed");
    let stream = state.seed.stream(Purpose::Mcmc).named("parameters");
    let numbered: Vec<(usize, &&Graph)> = graphs.iter().enumerate().collect();
    let models = ordered_map(&numbered, |(draw, graph)| {
        let parents: Vec<Mask> = graph.iter().map(|&halves| halves.into()).collect();
        let model = |node: Node| {
            let mut draws = stream.at(*draw as u64).named(&by_name.names[node]).draws();
            let drawn = parameters[place(&(node, parents[node]))].draw(&mut draws);
            problems[node].in_data_units(parents[node], drawn)
        };
        let (mechanisms, noise) = (0..nodes).map(model).unzip();
        let dag = Dag::from_parents(parents.iter().map(|&set| set_of(set, nodes)).collect()).expect("layers");
        let scm = Scm::new(by_name.names.clone(), dag, mechanisms, noise).expect("finite parameters");
        scm.reordered(data.names(), &by_name.to)
    });
    let edge_probabilities = edge_probabilities(&chains, by_name);
    let in_data_order = |(from, to): (Node, Node)| (by_name.from[from], by_name.from[to]);
    diagnostics.disputed = diagnostics.disputed.into_iter().map(in_data_order).collect();
    let ensemble = Ensemble::uniform(models).expect("at least one draw");
    McmcFit { ensemble, edge_probabilities, diagnostics, state }
}

/// So many graphs, in equal steps along all chains, one after the other.
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
            nodes_of(parents.into()).for_each(|from| counts[by_name.from[from]][by_name.from[to]] += 1);
        }
    }
    let share = |count: &u64| *count as f64 / total.max(1) as f64;
    counts.iter().map(|row| row.iter().map(share).collect()).collect()
}
