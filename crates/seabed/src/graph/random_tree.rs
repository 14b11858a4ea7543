//! Trees and chains for simulated worlds: no node has two parents.
//!
//! All graphs with the same skeleton and one root are equivalent, so observation never identifies them and nothing is
//! redrawn.

use std::collections::BTreeSet;

use super::random::RandomGraphError;
use super::{Dag, Node};
use crate::num::random::{Draws, Stream};

/// A random tree over all nodes, with edges that point away from a random root: every one of the
/// `nodes^(nodes - 1)` rooted trees is equally likely.
pub fn random_tree(nodes: usize, stream: Stream) -> Result<Dag, RandomGraphError> {
    if nodes < 2 {
        return Err(RandomGraphError::TooFewNodes { nodes });
    }
    let mut draws = stream.draws();
    let mut neighbours: Vec<Vec<Node>> = vec![Vec::new(); nodes];
    for (a, b) in prufer_edges(nodes, &mut draws) {
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    Ok(outward(&neighbours, draws.below(nodes)))
}

/// The path over all nodes in their order, with edges that point outward from the middle node, the first one of the
/// two if there are two.
pub fn chain(nodes: usize) -> Result<Dag, RandomGraphError> {
    if nodes < 2 {
        return Err(RandomGraphError::TooFewNodes { nodes });
    }
    let middle = (nodes - 1) / 2;
    let edges = (1..nodes).map(|k| if k <= middle { (k, k - 1) } else { (k - 1, k) });
    Ok(Dag::from_edges(nodes, edges).expect("a path has no cycle"))
}

/// The edges of a uniformly random labelled tree, by decoding a random Prüfer sequence: the least leaf is joined to the
/// next node of the sequence and taken away, until two nodes are left.
fn prufer_edges(nodes: usize, draws: &mut Draws) -> Vec<(Node, Node)> {
    let sequence: Vec<Node> = (2..nodes).map(|_| draws.below(nodes)).collect();
    let mut degree = vec![1usize; nodes];
    sequence.iter().for_each(|&node| degree[node] += 1);
    let mut leaves: BTreeSet<Node> = (0..nodes).filter(|&node| degree[node] == 1).collect();
    let mut edges = Vec::with_capacity(nodes - 1);
    for node in sequence {
        let leaf = leaves.pop_first().expect("a tree has leaves");
        edges.push((leaf, node));
        degree[node] -= 1;
        if degree[node] == 1 {
            leaves.insert(node);
        }
    }
    edges.extend(leaves.pop_first().zip(leaves.pop_first()));
    edges
}

/// The tree with every edge pointing away from the root.
fn outward(neighbours: &[Vec<Node>], root: Node) -> Dag {
    let mut edges = Vec::with_capacity(neighbours.len());
    let mut open = vec![(root, root)];
    while let Some((node, parent)) = open.pop() {
        for &child in neighbours[node].iter().filter(|&&other| other != parent) {
            edges.push((node, child));
            open.push((child, node));
        }
    }
    Dag::from_edges(neighbours.len(), edges).expect("a tree has no cycle")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::graph::EssentialGraph;
    use crate::num::random::{Purpose, Seed};

    fn stream(seed: u64) -> Stream {
        Seed::new(seed).stream(Purpose::Graph)
    }

    fn assert_is_rooted_tree(dag: &Dag) {
        let nodes = dag.len();
        assert_eq!(dag.edge_count(), nodes - 1);
        let roots: Vec<Node> = (0..nodes).filter(|&node| dag.parents(node).is_empty()).collect();
        assert_eq!(roots.len(), 1);
        assert_eq!(dag.descendants(roots[0]).len(), nodes - 1, "the root reaches everyone");
        assert!((0..nodes).all(|node| dag.parents(node).len() <= 1), "no collider");
        assert_eq!(EssentialGraph::cpdag(dag).undirected_edge_count(), nodes - 1);
    }

    #[test]
    fn a_tree_has_one_root_and_no_colliders() {
        for nodes in [2, 3, 5, 20, 300] {
            for seed in 0..20 {
                assert_is_rooted_tree(&random_tree(nodes, stream(seed)).unwrap());
            }
        }
        assert_eq!(random_tree(1, stream(1)).unwrap_err(), RandomGraphError::TooFewNodes { nodes: 1 });
    }

    /// All n^(n-1) rooted trees by enumeration: every node but the root has a parent, and nobody is his own ancestor.
    fn rooted_trees(nodes: usize) -> Vec<Dag> {
        let mut trees = Vec::new();
        for root in 0..nodes {
            for code in 0..nodes.pow(nodes as u32 - 1) {
                let others = (0..nodes).filter(|&node| node != root);
                let edges = others.enumerate().map(|(k, node)| (code / nodes.pow(k as u32) % nodes, node));
                let edges: Vec<(Node, Node)> = edges.collect();
                if edges.iter().all(|(parent, child)| parent != child) {
                    trees.extend(Dag::from_edges(nodes, edges));
                }
            }
        }
        trees
    }

    /// Pearson's test on 63 degrees of freedom: 135 is exceeded with probability below 1e-6.
    #[test]
    fn every_rooted_tree_is_equally_likely() {
        let trees = rooted_trees(4);
        assert_eq!(trees.len(), 64);
        let mut counts: HashMap<Dag, f64> = trees.into_iter().map(|tree| (tree, 0.0)).collect();
        for seed in 0..6400 {
            *counts.get_mut(&random_tree(4, stream(seed)).unwrap()).expect("a rooted tree") += 1.0;
        }
        let chi_square: f64 = counts.values().map(|count| (count - 100.0f64).powi(2) / 100.0).sum();
        assert!(chi_square < 135.0, "{chi_square}");
    }

    #[test]
    fn a_chain_points_outward_from_its_middle() {
        let edges = |nodes| chain(nodes).unwrap().edges().collect::<Vec<_>>();
        assert_eq!(edges(2), [(0, 1)]);
        assert_eq!(edges(5), [(1, 0), (2, 1), (2, 3), (3, 4)]);
        assert_eq!(edges(6), [(1, 0), (2, 1), (2, 3), (3, 4), (4, 5)]);
        (2..12).for_each(|nodes| assert_is_rooted_tree(&chain(nodes).unwrap()));
        assert_eq!(chain(0).unwrap_err(), RandomGraphError::TooFewNodes { nodes: 0 });
    }
}
