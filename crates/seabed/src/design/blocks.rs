//! A belief about the graph, cut into blocks of nodes that are believed about independently.
//!
//! Where nearly every draw is another graph, outcomes would only ever tell the drawn graphs apart, and everything would
//! seem to be learned at once. But the parents of most nodes have little to do with those of most others. Nodes are
//! joined, the most dependent first, as long as the draws still show the parents that they have together often enough;
//! between blocks every combination is possible: far more graphs than were drawn. Few, often drawn graphs are one block.

use std::collections::HashMap;

use crate::belief::GraphBelief;
use crate::graph::Node;

/// Nodes with the sets of parents that they have together. Nodes whose parents are certain are in no block.
#[derive(Clone)]
pub(super) struct Block {
    pub(super) nodes: Vec<Node>,
    /// What graph k gives the nodes: a configuration.
    pub(super) of_graph: Vec<u32>,
    /// For every configuration the families of the nodes, in their order.
    pub(super) families: Vec<Vec<u32>>,
    /// Weights of the configurations, with sum 1.
    pub(super) weights: Vec<f64>,
    /// A graph that has the configuration.
    pub(super) example: Vec<usize>,
}

/// Share of the belief that may be in configurations that were drawn once. By Good and Turing's estimate as much again
/// was never drawn.
const MOST_UNSEEN: f64 = 0.2;

/// Squared correlation of two edges, in units of what independent ones would show by chance, from which on nodes are
/// joined.
const LEAST_DEPENDENCE: f64 = 12.0;

/// A thousand draws that give fewer graphs than this have drawn nearly all that there are.
const FEW: usize = 100;

impl Block {
    fn of(belief: &GraphBelief, nodes: Vec<Node>) -> Self {
        let mut place: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut block = Self { nodes, of_graph: vec![], families: vec![], weights: vec![], example: vec![] };
        for (graph, weight) in belief.weights().iter().enumerate() {
            let families: Vec<u32> = block.nodes.iter().map(|&node| belief.family_of(graph)[node]).collect();
            let new = block.families.len() as u32;
            let configuration = *place.entry(families.clone()).or_insert(new);
            if configuration == new {
                block.families.push(families);
                block.weights.push(0.0);
                block.example.push(graph);
            }
            block.weights[configuration as usize] += weight;
            block.of_graph.push(configuration);
        }
        block
    }

    /// Share of the belief in configurations that were drawn once, when there were so many draws.
    fn unseen(&self, draws: f64) -> f64 {
        self.weights.iter().filter(|weight| **weight * draws < 1.5).sum()
    }
}

/// Number of draws: the lightest of many graphs was drawn once. Few graphs were all drawn often.
fn draws(belief: &GraphBelief) -> f64 {
    let few = belief.graphs().len() < FEW;
    belief.weights().last().filter(|_| !few).map_or(f64::INFINITY, |least| 1.0 / least)
}

/// Share of the belief in graphs that were drawn once.
pub(super) fn drawn_once(belief: &GraphBelief) -> f64 {
    whole(belief).iter().map(|block| block.unseen(draws(belief))).sum()
}

/// All nodes whose parents are in question as one block; none if the graph is certain.
pub(super) fn whole(belief: &GraphBelief) -> Vec<Block> {
    let nodes = in_question(belief);
    if nodes.is_empty() { Vec::new() } else { vec![Block::of(belief, nodes)] }
}

/// Blocks that the draws can tell about.
pub(super) fn blocks(belief: &GraphBelief) -> Vec<Block> {
    let (whole, draws) = (whole(belief), draws(belief));
    if whole.iter().all(|block| block.unseen(draws) <= MOST_UNSEEN) {
        return whole;
    }
    let mut blocks: Vec<Option<Block>> =
        in_question(belief).into_iter().map(|node| Some(Block::of(belief, vec![node]))).collect();
    // Of a node and of those that were joined with it.
    let mut block_of: Vec<usize> = (0..blocks.len()).collect();
    for (a, b) in dependent_pairs(belief, &blocks, draws) {
        let (a, b) = (block_of[a], block_of[b]);
        let (Some(one), Some(other)) = (&blocks[a], &blocks[b]) else { continue };
        if a == b {
            continue;
        }
        let mut nodes: Vec<Node> = one.nodes.iter().chain(&other.nodes).copied().collect();
        nodes.sort_unstable();
        let joined = Block::of(belief, nodes);
        if joined.unseen(draws) <= MOST_UNSEEN {
            (blocks[a], blocks[b]) = (Some(joined), None);
            block_of.iter_mut().filter(|block| **block == b).for_each(|block| *block = a);
        }
    }
    blocks.into_iter().flatten().collect()
}

fn in_question(belief: &GraphBelief) -> Vec<Node> {
    (0..belief.names().len()).filter(|&node| belief.families(node).len() > 1).collect()
}

/// Pairs of single-node blocks by the strongest correlation of an edge into one with an edge into the other, the
/// strongest pair first; those that may be chance are left out.
fn dependent_pairs(belief: &GraphBelief, nodes: &[Option<Block>], draws: f64) -> Vec<(usize, usize)> {
    let edges: Vec<(usize, Vec<f64>)> = nodes
        .iter()
        .flatten()
        .enumerate()
        .flat_map(|(place, block)| edges_into(belief, block.nodes[0]).into_iter().map(move |e| (place, e)))
        .collect();
    let mut strongest: HashMap<(usize, usize), f64> = HashMap::new();
    for (k, (a, one)) in edges.iter().enumerate() {
        for (b, other) in edges[k + 1..].iter().filter(|(b, _)| b != a) {
            let correlation: f64 = one.iter().zip(other).map(|(x, y)| x * y).sum();
            let strength = strongest.entry((*a, *b)).or_default();
            *strength = strength.max(correlation * correlation);
        }
    }
    let mut pairs: Vec<((usize, usize), f64)> =
        strongest.into_iter().filter(|(_, strength)| strength * draws > LEAST_DEPENDENCE).collect();
    pairs.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    pairs.into_iter().map(|(pair, _)| pair).collect()
}

/// For every edge into the node that is in question, graph by graph: is it there? Scaled so that the sum of products of
/// two such lists is their correlation.
fn edges_into(belief: &GraphBelief, node: Node) -> Vec<Vec<f64>> {
    let weights = belief.weights();
    let of_parent = |parent: Node| {
        let has: Vec<f64> =
            belief.graphs().iter().map(|graph| f64::from(u8::from(graph.has_edge(parent, node)))).collect();
        let p: f64 = has.iter().zip(weights).map(|(has, weight)| has * weight).sum();
        let variance = p * (1.0 - p);
        // An edge that is nearly certain says little, and noisily.
        (variance > 0.01).then(|| {
            let scaled = |(has, weight): (&f64, &f64)| (has - p) * (weight / variance).sqrt();
            has.iter().zip(weights).map(scaled).collect::<Vec<f64>>()
        })
    };
    (0..belief.names().len()).filter(|&parent| parent != node).filter_map(of_parent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::{Conditional, Family, LinearConditional};
    use crate::graph::Dag;

    /// Each of `pairs` pairs of variables has an edge in one direction or the other, independently; `draws` of these graphs.
    fn coins(pairs: usize, draws: usize) -> GraphBelief {
        let nodes = 2 * pairs;
        let names: Vec<String> = (0..nodes).map(|node| format!("X{node}")).collect();
        let mut state = 1u64;
        let graphs = (0..draws).map(|_| {
            let edges: Vec<(usize, usize)> = (0..pairs)
                .map(|pair| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    if state >> 63 == 0 { (2 * pair, 2 * pair + 1) } else { (2 * pair + 1, 2 * pair) }
                })
                .collect();
            (Dag::from_edges(nodes, edges).unwrap(), 1.0)
        });
        let families = |node: usize| {
            let law = |parents: Vec<usize>| {
                let size = 1 + parents.len();
                let conditional = LinearConditional {
                    degrees: 9.0,
                    scale: 9.0,
                    centre: vec![0.0; parents.len()],
                    location: vec![0.0; size],
                    factor: vec![0.0; size * size],
                };
                Family { parents, conditional: Conditional::Linear(conditional) }
            };
            vec![law(vec![]), law(vec![node ^ 1])]
        };
        let families = (0..nodes).map(families).collect();
        GraphBelief::new(names.into(), graphs.collect(), families, None).unwrap()
    }

    #[test]
    fn few_graphs_are_one_block_and_many_are_cut_where_they_are_independent() {
        let few = coins(3, 1000);
        let whole = blocks(&few);
        assert_eq!(whole.len(), 1);
        assert_eq!(whole[0].weights, few.weights());
        // 2^12 graphs: a thousand draws hardly meet.
        let many = coins(12, 1000);
        let cut = blocks(&many);
        let mut nodes: Vec<Vec<Node>> = cut.iter().map(|block| block.nodes.clone()).collect();
        nodes.sort();
        assert_eq!(nodes, (0..12).map(|pair| vec![2 * pair, 2 * pair + 1]).collect::<Vec<_>>());
        for block in &cut {
            assert_eq!(block.weights.len(), 2, "one direction or the other");
            assert!((block.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for (graph, &configuration) in block.of_graph.iter().enumerate() {
                for (place, &node) in block.nodes.iter().enumerate() {
                    assert_eq!(block.families[configuration as usize][place], many.family_of(graph)[node]);
                }
            }
        }
    }
}
