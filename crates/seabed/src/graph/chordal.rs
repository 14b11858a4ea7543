//! Undirected chordal graphs: clique trees, what a first clique forces, chordless cycles.
//!
//! Everything works on `neighbours[v]` restricted to a set of nodes, so that the
//! recursions over equivalence classes never copy a graph.

use super::lexbfs::{Partition, lexbfs};
use super::shortest_path::shortest_path;
use super::{Node, NodeSet};

/// The connected components of the graph on `nodes`, in order of their smallest vertex.
pub(super) fn components(neighbours: &[NodeSet], nodes: &NodeSet) -> Vec<NodeSet> {
    let mut left = nodes.clone();
    let mut components = Vec::new();
    while let Some(root) = left.first() {
        let component = component_of(neighbours, &left, root);
        left.difference_with(&component);
        components.push(component);
    }
    components
}

/// The connected component of `root` in the graph on `nodes`.
pub(super) fn component_of(neighbours: &[NodeSet], nodes: &NodeSet, root: Node) -> NodeSet {
    let mut component = NodeSet::of(neighbours.len(), [root]);
    let mut edge = component.clone();
    while let Some(node) = edge.first() {
        edge.remove(node);
        let mut new = neighbours[node].intersection(nodes);
        new.difference_with(&component);
        component.union_with(&new);
        edge.union_with(&new);
    }
    component
}

/// The maximal cliques of a connected chordal graph as a tree in which the cliques of every vertex are connected.
pub(super) struct CliqueTree {
    /// The root first, every clique after its parent.
    pub cliques: Vec<TreeClique>,
}

pub(super) struct TreeClique {
    pub nodes: NodeSet,
    /// Index of the parent clique; the root has none.
    pub parent: Option<usize>,
    /// What the clique shares with its parent; empty for the root.
    pub separator: NodeSet,
}

/// The clique tree of the connected chordal graph on `nodes`.
///
/// In LexBFS order, the earlier neighbours of a vertex lie in the clique of the latest of them: either they
/// are all of it, and the vertex joins, or the vertex opens a new clique below it.
pub(super) fn clique_tree(neighbours: &[NodeSet], nodes: &NodeSet) -> CliqueTree {
    let order = lexbfs(neighbours, &nodes.iter().collect::<Vec<_>>());
    let mut time = vec![0; neighbours.len()];
    let mut home = vec![0; neighbours.len()];
    let mut seen = NodeSet::empty(neighbours.len());
    let mut cliques: Vec<TreeClique> = Vec::new();
    for (k, &node) in order.iter().enumerate() {
        let earlier = neighbours[node].intersection(&seen);
        let parent = earlier.iter().max_by_key(|&v| time[v]).map(|v| home[v]);
        home[node] = match parent {
            Some(parent) if cliques[parent].nodes == earlier => {
                cliques[parent].nodes.insert(node);
                parent
            }
            _ => {
                let mut clique = earlier.clone();
                clique.insert(node);
                cliques.push(TreeClique { nodes: clique, parent, separator: earlier });
                cliques.len() - 1
            }
        };
        time[node] = k;
        seen.insert(node);
    }
    CliqueTree { cliques }
}

/// A connected part that stays undirected, and the vertices outside it that point to every vertex of it.
pub(super) struct Piece {
    pub nodes: NodeSet,
    pub parents: NodeSet,
}

/// What stays undirected in the connected chordal graph on `nodes` when the clique `first` comes first.
///
/// Of all acyclic orientations without v-structures take those with a topological order that starts with
/// `first`: edges on which they disagree form the pieces (and the clique itself, which is not listed).
/// LexBFS from the clique finds them: vertices still in one cell when it comes to the front.
pub(super) fn pieces_after(neighbours: &[NodeSet], nodes: &NodeSet, first: &NodeSet) -> Vec<Piece> {
    let rest = nodes.difference(first);
    let mut partition = Partition::new(neighbours.len(), [first.iter(), rest.iter()]);
    let mut settled = first.clone();
    let mut pieces = Vec::new();
    while let Some(&node) = partition.front().first() {
        if !settled.contains(node) {
            let cell = NodeSet::of(neighbours.len(), partition.front().iter().copied());
            let visited = nodes.difference(partition.waiting());
            for piece in components(neighbours, &cell) {
                let member = piece.first().expect("components are not empty");
                pieces.push(Piece { parents: neighbours[member].intersection(&visited), nodes: piece });
            }
            settled.union_with(&cell);
        }
        partition.visit(node, &neighbours[node]);
    }
    pieces
}

/// Is the graph on `nodes` chordal? If not, a cycle of at least four vertices without a chord.
pub(super) fn chordless_cycle(neighbours: &[NodeSet], nodes: &NodeSet) -> Option<Vec<Node>> {
    if is_chordal(neighbours, nodes) {
        return None;
    }
    // Some vertex has two neighbours that are not adjacent and are connected without it.
    nodes.iter().find_map(|node| {
        let mut behind = nodes.difference(&neighbours[node]);
        behind.remove(node);
        let around = neighbours[node].intersection(nodes);
        components(neighbours, &behind).into_iter().find_map(|part| {
            let mut touching = around.clone();
            touching.intersect_with(&boundary(neighbours, &part));
            let (from, to) = not_adjacent(neighbours, &touching)?;
            let mut inside = part;
            inside.insert(to);
            let mut cycle = shortest_path(neighbours, &inside, from, to)?;
            cycle.push(node);
            Some(cycle)
        })
    })
}

fn is_chordal(neighbours: &[NodeSet], nodes: &NodeSet) -> bool {
    let order = lexbfs(neighbours, &nodes.iter().collect::<Vec<_>>());
    let mut time = vec![0; neighbours.len()];
    let mut seen = NodeSet::empty(neighbours.len());
    for (k, &node) in order.iter().enumerate() {
        let mut earlier = neighbours[node].intersection(&seen);
        if let Some(latest) = earlier.iter().max_by_key(|&v| time[v]) {
            earlier.remove(latest);
            if !earlier.is_subset(&neighbours[latest]) {
                return false;
            }
        }
        time[node] = k;
        seen.insert(node);
    }
    true
}

fn boundary(neighbours: &[NodeSet], part: &NodeSet) -> NodeSet {
    let mut reached = NodeSet::empty(neighbours.len());
    for node in part {
        reached.union_with(&neighbours[node]);
    }
    reached
}

fn not_adjacent(neighbours: &[NodeSet], nodes: &NodeSet) -> Option<(Node, Node)> {
    nodes.iter().find_map(|a| {
        let mut others = nodes.difference(&neighbours[a]);
        others.remove(a);
        others.first().map(|b| (a, b))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::tests::slow_twins::{chordal_graphs, undirected_graphs};

    proptest! {
        #[test]
        fn the_tree_holds_exactly_the_maximal_cliques(graph in chordal_graphs(1..10)) {
            for component in components(&graph, &NodeSet::full(graph.len())) {
                let tree = clique_tree(&graph, &component);
                let mut found: Vec<NodeSet> = tree.cliques.iter().map(|c| c.nodes.clone()).collect();
                found.sort();
                prop_assert_eq!(found, maximal_cliques_by_enumeration(&graph, &component));
                for clique in &tree.cliques {
                    let shared = clique.parent.map_or(NodeSet::empty(graph.len()), |parent| {
                        clique.nodes.intersection(&tree.cliques[parent].nodes)
                    });
                    prop_assert_eq!(&shared, &clique.separator);
                }
            }
        }

        #[test]
        fn a_chordless_cycle_is_found_exactly_in_graphs_that_are_not_chordal(graph in undirected_graphs(1..9)) {
            let all = NodeSet::full(graph.len());
            match chordless_cycle(&graph, &all) {
                None => prop_assert!(can_be_eliminated(&graph)),
                Some(cycle) => {
                    let n = cycle.len();
                    prop_assert!(n >= 4);
                    for a in 0..n {
                        for b in 0..a {
                            let next = a - b == 1 || a - b == n - 1;
                            prop_assert_eq!(graph[cycle[a]].contains(cycle[b]), next);
                        }
                    }
                }
            }
        }
    }

    fn is_clique(graph: &[NodeSet], set: &NodeSet) -> bool {
        not_adjacent(graph, set).is_none()
    }

    fn maximal_cliques_by_enumeration(graph: &[NodeSet], nodes: &NodeSet) -> Vec<NodeSet> {
        let list: Vec<Node> = nodes.iter().collect();
        let subsets = (1u32..1 << list.len()).map(|bits| {
            NodeSet::of(graph.len(), (0..list.len()).filter(|k| bits >> k & 1 == 1).map(|k| list[k]))
        });
        let cliques: Vec<NodeSet> = subsets.filter(|set| is_clique(graph, set)).collect();
        let mut maximal: Vec<NodeSet> =
            cliques.iter().filter(|a| !cliques.iter().any(|b| a != &b && a.is_subset(b))).cloned().collect();
        maximal.sort();
        maximal
    }

    /// Chordal graphs are those that vanish when vertices with complete neighbourhoods are removed.
    fn can_be_eliminated(graph: &[NodeSet]) -> bool {
        let mut left = NodeSet::full(graph.len());
        while let Some(simplicial) = left.iter().find(|&v| is_clique(graph, &graph[v].intersection(&left))) {
            left.remove(simplicial);
        }
        left.is_empty()
    }
}
