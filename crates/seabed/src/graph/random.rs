//! Random graphs for simulated worlds: Erdős–Rényi and scale-free; trees and chains are in `random_tree`.
//!
//! Both are redrawn until observation alone cannot identify them, that is, until the
//! equivalence class has at least two members.

use super::random_layers::{AcyclicLaw, successes};
use super::{Dag, EssentialGraph, Node};
use crate::num::random::{Draws, Stream};

/// Graphs whose class has one member only are redrawn at most this often.
const MOST_TRIES: u64 = 10_000;

/// From here on the layer weights take longer than a few rejections.
const MANY_NODES: usize = 64;

/// Cyclic graphs are rejected this often before the layer weights are worked out.
const MOST_REJECTIONS: usize = 100;

/// With more edges per node than this, large graphs without a cycle are too rare to wait for.
const MOST_EDGES_TO_REJECT: f64 = 1.5;

/// Why a random graph cannot be drawn.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RandomGraphError {
    /// Fewer than two nodes.
    #[error(
        "a random graph needs at least 2 nodes, not {nodes}: without an edge there is nothing to find out"
    )]
    TooFewNodes {
        /// The number asked for.
        nodes: usize,
    },
    /// An impossible density.
    #[error("edges per node = {edges_per_node}: for {nodes} nodes it must be above 0 and below {}",
        nodes - 1)]
    EdgesPerNode {
        /// The number asked for.
        edges_per_node: f64,
        /// The number of nodes.
        nodes: usize,
    },
    /// Every ordered pair would be an edge.
    #[error(
        "edges per node = {edges_per_node} for {nodes} nodes puts edges in both directions between all nodes, so \
        every graph has a cycle; choose fewer, for example 0.5"
    )]
    AlwaysCyclic {
        /// The number asked for.
        edges_per_node: f64,
        /// The number of nodes.
        nodes: usize,
    },
    /// No edges at all.
    #[error(
        "0 edges per node: the graph without edges is alone in its equivalence class, and graphs are redrawn \
        until their class has at least 2 members; choose more"
    )]
    NoEdges,
    /// Every graph drawn was alone in its class.
    #[error(
        "{tries} graphs with {edges_per_node} edges per node on {nodes} nodes were each alone in their \
        equivalence class; choose another density"
    )]
    AlwaysAlone {
        /// How often a graph was drawn.
        tries: u64,
        /// The density asked for.
        edges_per_node: f64,
        /// The number of nodes.
        nodes: usize,
    },
}

/// A random DAG: every ordered pair of nodes is an edge with probability `edges_per_node / (nodes - 1)`,
/// given that there is no cycle and that the Markov equivalence class has at least two members.
///
/// Ruling out cycles makes the graphs sparser than `edges_per_node` says, the more so the denser they are.
/// Takes milliseconds up to some hundred nodes; 1000 nodes with more than one edge each take seconds.
pub fn erdos_renyi(nodes: usize, edges_per_node: f64, stream: Stream) -> Result<Dag, RandomGraphError> {
    if nodes < 2 {
        return Err(RandomGraphError::TooFewNodes { nodes });
    }
    if edges_per_node == 0.0 {
        return Err(RandomGraphError::NoEdges);
    }
    let probability = edges_per_node / (nodes - 1) as f64;
    if probability == 1.0 {
        return Err(RandomGraphError::AlwaysCyclic { edges_per_node, nodes });
    }
    // Also refuses NaN, and what is too small to be distinguished from zero.
    if !(probability > 0.0 && probability < 1.0) {
        return Err(RandomGraphError::EdgesPerNode { edges_per_node, nodes });
    }
    let mut sampler = AcyclicSampler::new(nodes, probability);
    redraw_until_not_alone(nodes, edges_per_node, stream, |draws| sampler.draw(draws))
}

/// A random DAG with hubs: nodes come one by one, each with edges to `edges_per_node` different earlier ones
/// (all of them while there are fewer), chosen in proportion to 1 + the edges they have received.
///
/// The hubs are effects of many causes. Nodes are renamed at random, and graphs are redrawn until the Markov
/// equivalence class has at least two members.
pub fn scale_free(nodes: usize, edges_per_node: usize, stream: Stream) -> Result<Dag, RandomGraphError> {
    if nodes < 2 {
        return Err(RandomGraphError::TooFewNodes { nodes });
    }
    if edges_per_node == 0 {
        return Err(RandomGraphError::NoEdges);
    }
    redraw_until_not_alone(nodes, edges_per_node as f64, stream, |draws| {
        let mut names: Vec<Node> = (0..nodes).collect();
        draws.shuffle(&mut names);
        let edges = preferential_edges(nodes, edges_per_node, draws);
        Dag::from_edges(nodes, edges.into_iter().map(|(new, old)| (names[new], names[old])))
            .expect("edges go from later to earlier nodes")
    })
}

fn redraw_until_not_alone(
    nodes: usize,
    edges_per_node: f64,
    stream: Stream,
    mut draw: impl FnMut(&mut Draws) -> Dag,
) -> Result<Dag, RandomGraphError> {
    (0..MOST_TRIES)
        .map(|attempt| draw(&mut stream.at(attempt).draws()))
        .find(|dag| EssentialGraph::cpdag(dag).undirected_edge_count() > 0)
        .ok_or(RandomGraphError::AlwaysAlone { tries: MOST_TRIES, edges_per_node, nodes })
}

/// Draws G(d, p) given acyclicity, by whichever way is faster; all ways have the same law.
struct AcyclicSampler {
    nodes: usize,
    probability: f64,
    law: Option<AcyclicLaw>,
}

impl AcyclicSampler {
    fn new(nodes: usize, probability: f64) -> Self {
        Self { nodes, probability, law: None }
    }

    fn draw(&mut self, draws: &mut Draws) -> Dag {
        let hopeful = self.probability * self.nodes as f64 <= MOST_EDGES_TO_REJECT;
        if self.law.is_none() && self.nodes >= MANY_NODES && hopeful {
            let accepted = (0..MOST_REJECTIONS).find_map(|_| self.draw_unless_cyclic(draws));
            if let Some(dag) = accepted {
                return dag;
            }
        }
        self.law.get_or_insert_with(|| AcyclicLaw::new(self.nodes, self.probability)).draw(draws)
    }

    fn draw_unless_cyclic(&self, draws: &mut Draws) -> Option<Dag> {
        let others = self.nodes - 1;
        let mut edges = Vec::new();
        successes(self.nodes * others, (-self.probability).ln_1p(), draws, |k| {
            let (from, to) = (k / others, k % others);
            edges.push((from, if to < from { to } else { to + 1 }));
        });
        Dag::from_edges(self.nodes, edges).ok()
    }
}

/// Edges `(new, old)` of preferential attachment.
fn preferential_edges(nodes: usize, each: usize, draws: &mut Draws) -> Vec<(Node, Node)> {
    let mut weight = vec![1usize; nodes];
    let mut edges = Vec::new();
    for new in 1..nodes {
        // Without replacement: a chosen node has weight 0 until the new one is done.
        let mut open = weight[..new].to_vec();
        let mut total: usize = open.iter().sum();
        for _ in 0..each.min(new) {
            let mut left = draws.below(total);
            let passed = |&w: &usize| {
                let here = left < w;
                left = left.wrapping_sub(w);
                here
            };
            let old = open.iter().position(passed).expect("the draw is below the total weight");
            total -= open[old];
            open[old] = 0;
            weight[old] += 1;
            edges.push((new, old));
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::num::random::{Purpose, Seed};

    fn stream(seed: u64) -> Stream {
        Seed::new(seed).stream(Purpose::Graph)
    }

    /// The law by its definition: every digraph, weighed, unless cyclic or alone in its class.
    fn erdos_renyi_law(nodes: usize, probability: f64) -> HashMap<Dag, f64> {
        let pairs: Vec<(Node, Node)> =
            (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j))).filter(|(i, j)| i != j).collect();
        let mut law = HashMap::new();
        for bits in 0u32..1 << pairs.len() {
            let edges = (0..pairs.len()).filter(|k| bits >> k & 1 == 1).map(|k| pairs[k]);
            if let Ok(dag) = Dag::from_edges(nodes, edges)
                && EssentialGraph::cpdag(&dag).undirected_edge_count() > 0
            {
                law.insert(dag, (probability / (1.0 - probability)).powi(bits.count_ones() as i32));
            }
        }
        let total: f64 = law.values().sum();
        law.values_mut().for_each(|weight| *weight /= total);
        law
    }

    /// Pearson's test; a true law fails it with probability 1e-6 (Wilson and Hilferty's approximation).
    fn assert_follows(law: &HashMap<Dag, f64>, samples: usize, mut draw: impl FnMut(u64) -> Dag) {
        let mut counts: HashMap<Dag, usize> = HashMap::new();
        for k in 0..samples {
            *counts.entry(draw(k as u64)).or_default() += 1;
        }
        assert!(counts.keys().all(|dag| law.contains_key(dag)), "an impossible graph");
        let statistic: f64 = law
            .iter()
            .map(|(dag, probability)| {
                let expected = probability * samples as f64;
                assert!(expected > 5.0, "too few samples for the test");
                (counts.get(dag).copied().unwrap_or(0) as f64 - expected).powi(2) / expected
            })
            .sum();
        let freedom = (law.len() - 1) as f64;
        let spread = 2.0 / (9.0 * freedom);
        let limit = freedom * (1.0 - spread + 4.7534 * spread.sqrt()).powi(3);
        assert!(statistic < limit, "chi-square {statistic} > {limit}");
    }

    #[test]
    fn erdos_renyi_follows_the_law_of_rejection() {
        assert_follows(&erdos_renyi_law(3, 0.3), 20_000, |k| erdos_renyi(3, 0.6, stream(1).at(k)).unwrap());
        assert_follows(&erdos_renyi_law(3, 0.9), 40_000, |k| erdos_renyi(3, 1.8, stream(2).at(k)).unwrap());
        assert_follows(&erdos_renyi_law(4, 0.45), 60_000, |k| erdos_renyi(4, 1.35, stream(3).at(k)).unwrap());
    }

    #[test]
    fn rejection_and_layers_have_the_same_law() {
        let rejected = |k: u64| {
            let sampler = AcyclicSampler::new(4, 0.45);
            let mut draws = stream(4).at(k).draws();
            loop {
                match sampler.draw_unless_cyclic(&mut draws) {
                    Some(dag) if EssentialGraph::cpdag(&dag).undirected_edge_count() > 0 => return dag,
                    _ => {}
                }
            }
        };
        assert_follows(&erdos_renyi_law(4, 0.45), 60_000, rejected);
        // Where there are too many DAGs to count each: the mean number of edges on 12 nodes.
        let law = AcyclicLaw::new(12, 0.12);
        let sampler = AcyclicSampler::new(12, 0.12);
        let mut draws = stream(5).draws();
        let mut moments = |draw: &mut dyn FnMut(&mut Draws) -> Option<Dag>| {
            let edges: Vec<f64> = std::iter::repeat_with(|| draw(&mut draws))
                .flatten()
                .take(20_000)
                .map(|dag| dag.edge_count() as f64)
                .collect();
            let mean = edges.iter().sum::<f64>() / edges.len() as f64;
            (mean, edges.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (edges.len() as f64).powi(2))
        };
        let (by_layers, variance) = moments(&mut |draws| Some(law.draw(draws)));
        let (by_rejection, variance_too) = moments(&mut |draws| sampler.draw_unless_cyclic(draws));
        // Normal: wrong with probability 1e-6.
        let distance = (by_layers - by_rejection).abs() / (variance + variance_too).sqrt();
        assert!(distance < 4.9, "{by_layers} against {by_rejection} edges");
    }

    #[test]
    fn large_and_dense_graphs_can_be_drawn() {
        for (nodes, edges_per_node) in [(2, 0.5), (20, 1.0), (50, 2.0), (50, 40.0), (100, 4.0), (300, 1.0)] {
            for seed in 0..3 {
                let dag = erdos_renyi(nodes, edges_per_node, stream(seed)).unwrap();
                assert_eq!(dag.len(), nodes);
                assert!(EssentialGraph::cpdag(&dag).undirected_edge_count() > 0);
            }
        }
    }

    /// At 80 nodes graphs are drawn by rejection; the layer weights have the same law. Mean numbers of edges of 400
    /// graphs each, compared by a z-score below 5: a false alarm in two million seeds.
    #[test]
    fn rejection_of_large_graphs_has_the_law_of_the_layers() {
        let (nodes, probability, samples) = (80, 1.0 / 79.0, 400);
        let law = AcyclicLaw::new(nodes, probability);
        let rejecting = AcyclicSampler::new(nodes, probability);
        let moments = |counts: Vec<f64>| {
            let mean = counts.iter().sum::<f64>() / counts.len() as f64;
            let variance = counts.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / counts.len() as f64;
            (mean, variance / counts.len() as f64)
        };
        let layers = (0..samples).map(|k| law.draw(&mut stream(20).at(k).draws()).edge_count() as f64);
        let rejected = (0..samples).map(|k| {
            let mut draws = stream(21).at(k).draws();
            let dag = std::iter::repeat_with(|| rejecting.draw_unless_cyclic(&mut draws)).flatten().next();
            dag.unwrap().edge_count() as f64
        });
        let (a, b) = (moments(layers.collect()), moments(rejected.collect()));
        let z = (a.0 - b.0) / (a.1 + b.1).sqrt();
        assert!(z.abs() < 5.0, "{} and {}: z = {z}", a.0, b.0);
        // And the sampler that chooses between them uses the density it was given.
        let mut either = AcyclicSampler::new(nodes, probability);
        let chosen = moments(
            (0..samples).map(|k| either.draw(&mut stream(22).at(k).draws()).edge_count() as f64).collect(),
        );
        let z = (a.0 - chosen.0) / (a.1 + chosen.1).sqrt();
        assert!(z.abs() < 5.0, "{} and {}: z = {z}", a.0, chosen.0);
    }

    /// Every node is equally often the oldest, the one without edges to older nodes. Chi-square with 4 degrees
    /// of freedom: 33 is exceeded with probability 1e-6.
    #[test]
    fn scale_free_nodes_are_renamed_at_random() {
        let mut counts = [0.0f64; 5];
        for seed in 0..2000 {
            let dag = scale_free(5, 1, stream(30).at(seed)).unwrap();
            counts[(0..5).find(|&v| dag.children(v).is_empty()).unwrap()] += 1.0;
        }
        let chi_square: f64 = counts.iter().map(|c| (c - 400.0).powi(2) / 400.0).sum();
        assert!(chi_square < 33.0, "{counts:?}");
    }

    #[test]
    fn scale_free_edges_go_from_new_to_old() {
        for (nodes, each) in [(2, 1), (5, 1), (20, 2), (50, 3), (6, 9)] {
            let dag = scale_free(nodes, each, stream(7)).unwrap();
            let mut out: Vec<usize> = (0..nodes).map(|v| dag.children(v).len()).collect();
            out.sort_unstable();
            assert_eq!(out, (0..nodes).map(|v| v.min(each)).collect::<Vec<_>>());
            assert!(EssentialGraph::cpdag(&dag).undirected_edge_count() > 0);
        }
    }

    #[test]
    fn attachment_is_in_proportion_to_edges_received() {
        // The third node finds 0 with weight 2 and 1 with weight 1; with two edges each it takes both.
        let samples = 30_000;
        let to_first = (0..samples)
            .filter(|&k| preferential_edges(3, 1, &mut stream(8).at(k).draws())[1] == (2, 0))
            .count() as f64;
        let expected = samples as f64 * 2.0 / 3.0;
        assert!((to_first - expected).abs() < 4.9 * (expected / 3.0).sqrt(), "{to_first} of {expected}");
        let mut both = preferential_edges(3, 2, &mut stream(9).draws());
        both.sort_unstable();
        assert_eq!(both, [(1, 0), (2, 0), (2, 1)]);
        // The fourth of two edges each: weights 3, 2, 1, two without replacement; node 2 is left out in
        // 3/6 * 2/3 + 2/6 * 3/4 of all cases.
        let without_last = (0..samples)
            .filter(|&k| !preferential_edges(4, 2, &mut stream(10).at(k).draws()).contains(&(3, 2)))
            .count() as f64;
        let share = 1.0 / 3.0 + 0.25;
        let expected = samples as f64 * share;
        assert!((without_last - expected).abs() < 4.9 * (expected * (1.0 - share)).sqrt(), "{without_last}");
    }

    #[test]
    fn what_cannot_be_drawn_is_explained() {
        let fault = |nodes, edges_per_node| erdos_renyi(nodes, edges_per_node, stream(1)).unwrap_err();
        assert_eq!(fault(1, 1.0), RandomGraphError::TooFewNodes { nodes: 1 });
        assert_eq!(fault(5, 0.0), RandomGraphError::NoEdges);
        assert_eq!(fault(5, 4.0), RandomGraphError::AlwaysCyclic { edges_per_node: 4.0, nodes: 5 });
        for wrong in [-1.0, 4.5, f64::INFINITY] {
            assert_eq!(fault(5, wrong), RandomGraphError::EdgesPerNode { edges_per_node: wrong, nodes: 5 });
        }
        assert!(matches!(fault(5, f64::NAN), RandomGraphError::EdgesPerNode { .. }));
        assert!(matches!(fault(5, 1e-12), RandomGraphError::AlwaysAlone { tries: MOST_TRIES, .. }));
        assert_eq!(scale_free(5, 0, stream(1)).unwrap_err(), RandomGraphError::NoEdges);
        assert_eq!(scale_free(0, 1, stream(1)).unwrap_err(), RandomGraphError::TooFewNodes { nodes: 0 });
    }
}
