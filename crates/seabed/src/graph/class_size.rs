//! How many DAGs an essential graph stands for, exactly and in polynomial time.
//!
//! Counts orientations of chordal graphs by picking the clique that comes first
//! (Wienöbst, Bannach, Liśkiewicz, "Polynomial-time algorithms for counting and
//! sampling Markov equivalent DAGs with applications"). Never lists a DAG.

use std::collections::HashMap;
use std::fmt;

use num_bigint::BigUint;

use super::chordal::{CliqueTree, clique_tree, pieces_after};
use super::{EssentialGraph, NodeSet};

/// A number of DAGs, exact however large; shown with all its digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ClassSize(BigUint);

impl fmt::Display for ClassSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u64> for ClassSize {
    fn from(size: u64) -> Self {
        Self(size.into())
    }
}

impl EssentialGraph {
    /// Number of DAGs in the class.
    pub fn class_size(&self) -> ClassSize {
        let mut counter = Counter::new(&self.neighbours);
        ClassSize(self.chain_components().iter().map(|component| counter.orientations(component)).product())
    }
}

pub(super) struct Counter<'a> {
    neighbours: &'a [NodeSet],
    /// `factorials[k]` = k!
    factorials: Vec<BigUint>,
    /// Orientations of the connected parts seen so far.
    known: HashMap<NodeSet, BigUint>,
}

impl<'a> Counter<'a> {
    pub(super) fn new(neighbours: &'a [NodeSet]) -> Self {
        let mut factorials = vec![BigUint::from(1u32)];
        for k in 1..=neighbours.len() {
            factorials.push(&factorials[k - 1] * k);
        }
        Self { neighbours, factorials, known: HashMap::new() }
    }

    /// Acyclic orientations without v-structures of the connected chordal graph on `nodes`.
    ///
    /// Every orientation has topological orders that start with a maximal clique; it is counted at the one
    /// nearest to the root of the clique tree. So: the sum over cliques of the orders of the clique that do
    /// not belong to a clique nearer to the root, times the orientations of what the clique leaves open.
    fn orientations(&mut self, nodes: &NodeSet) -> BigUint {
        let size = nodes.len();
        let edges = nodes.iter().map(|v| self.neighbours[v].intersection(nodes).len()).sum::<usize>() / 2;
        if edges + 1 == size {
            return BigUint::from(size); // a tree: any vertex may be the root
        }
        if edges == size * (size - 1) / 2 {
            return self.factorials[size].clone();
        }
        if let Some(count) = self.known.get(nodes) {
            return count.clone();
        }
        let tree = clique_tree(self.neighbours, nodes);
        let total: BigUint = (0..tree.cliques.len()).map(|k| self.orientations_at(&tree, k, nodes)).sum();
        self.known.insert(nodes.clone(), total.clone());
        total
    }

    /// The orientations that are counted at clique `k` of the clique tree of `nodes`.
    pub(super) fn orientations_at(&mut self, tree: &CliqueTree, k: usize, nodes: &NodeSet) -> BigUint {
        let clique = &tree.cliques[k].nodes;
        let prefixes: Vec<usize> = forbidden_prefixes(tree, k).iter().map(|set| set.len()).collect();
        let mut count = self.orders_without_prefix(clique.len(), &prefixes);
        for piece in pieces_after(self.neighbours, nodes, clique) {
            count *= self.orientations(&piece.nodes);
        }
        count
    }

    /// The graph whose orientations are counted.
    pub(super) fn neighbours(&self) -> &'a [NodeSet] {
        self.neighbours
    }

    /// Orders of `size` things, none of whose beginnings is one of a growing chain of sets (given by their sizes).
    ///
    /// Subtracts the orders whose shortest forbidden beginning is the set of size `x`.
    fn orders_without_prefix(&self, size: usize, forbidden: &[usize]) -> BigUint {
        let mut free: Vec<BigUint> = Vec::with_capacity(forbidden.len());
        let count = |size: usize, shorter: &[usize], free: &[BigUint]| {
            let with: BigUint = shorter.iter().zip(free).map(|(&x, f)| &self.factorials[size - x] * f).sum();
            &self.factorials[size] - with
        };
        for (k, &x) in forbidden.iter().enumerate() {
            let next = count(x, &forbidden[..k], &free);
            free.push(next);
        }
        count(size, forbidden, &free)
    }
}

/// The separators between the root and clique `k` that lie inside the clique, smaller ones first, each once.
///
/// They are nested, so that equal sizes are equal sets.
pub(super) fn forbidden_prefixes(tree: &CliqueTree, k: usize) -> Vec<&NodeSet> {
    let clique = &tree.cliques[k].nodes;
    let mut sets = Vec::new();
    let mut at = k;
    while let Some(parent) = tree.cliques[at].parent {
        let separator = &tree.cliques[at].separator;
        if separator.is_subset(clique) {
            sets.push(separator);
        }
        at = parent;
    }
    sets.sort_by_key(|set| set.len());
    sets.dedup_by_key(|set| set.len());
    sets
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;
    use crate::graph::tests::slow_twins::{chordal_graphs, dags_with_targets, members};
    use crate::graph::{Dag, Node};

    fn lines(neighbours: Vec<NodeSet>) -> EssentialGraph {
        let none = vec![NodeSet::empty(neighbours.len()); neighbours.len()];
        EssentialGraph { parents: none.clone(), children: none, neighbours }
    }

    /// The sum over all vertices that may be the only source, by the orientation rules alone.
    fn count_by_sources(graph: &EssentialGraph, known: &mut HashMap<EssentialGraph, BigUint>) -> BigUint {
        if let Some(count) = known.get(graph) {
            return count.clone();
        }
        let mut product = BigUint::from(1u32);
        for component in graph.chain_components().iter().filter(|c| c.len() > 1) {
            let names: Vec<Node> = component.iter().collect();
            let place = |v: Node| names.iter().position(|&w| w == v).unwrap();
            let mut sum = BigUint::default();
            for &source in &names {
                // The source first: an intervention on it alone, seen from any DAG that has it as source.
                let mut start = vec![source];
                start.extend(names.iter().copied().filter(|&v| v != source));
                let order = crate::graph::lexbfs(&graph.neighbours, &start);
                let rank = |v: Node| order.iter().position(|&w| w == v).unwrap();
                let edges = names.iter().flat_map(|&a| {
                    graph.neighbours[a]
                        .iter()
                        .filter(move |&b| rank(a) < rank(b))
                        .map(move |b| (place(a), place(b)))
                });
                let dag = Dag::from_edges(names.len(), edges).unwrap();
                let rest = EssentialGraph::of(&dag, &[NodeSet::of(names.len(), [place(source)])]);
                sum += count_by_sources(&lines(rest.neighbours), known);
            }
            product *= sum;
        }
        known.insert(graph.clone(), product.clone());
        product
    }

    proptest! {
        #[test]
        fn it_is_the_number_of_members((dag, targets, to) in dags_with_targets(1..7)) {
            let size = EssentialGraph::of(&dag, &targets).class_size().0;
            prop_assert_eq!(&size, &BigUint::from(members(&dag, &targets).len()));
            prop_assert_eq!(
                EssentialGraph::cpdag(&dag.relabelled(&to)).class_size().0,
                EssentialGraph::cpdag(&dag).class_size().0
            );
        }

        #[test]
        fn it_agrees_with_counting_by_sources(graph in chordal_graphs(6..12)) {
            let graph = lines(graph);
            prop_assert_eq!(graph.class_size().0, count_by_sources(&graph, &mut HashMap::new()));
        }
    }

    #[test]
    fn known_families() {
        let complete = |n: usize| lines((0..n).map(|v| NodeSet::of(n, (0..n).filter(|&u| u != v))).collect());
        let factorial: BigUint = (1..=50u32).map(BigUint::from).product();
        assert_eq!(complete(50).class_size().0, factorial);
        assert_eq!(EssentialGraph::cpdag(&Dag::empty(50)).class_size().0, BigUint::from(1u32));
        let path = Dag::from_edges(200, (1..200).map(|v| (v - 1, v))).unwrap();
        assert_eq!(EssentialGraph::cpdag(&path).class_size().0, BigUint::from(200u32));
        // Two cliques of 5 that share 4 vertices: 5! orders each, and the 4! that begin with the shared ones count once.
        let mut almost = complete(6);
        almost.neighbours[0].remove(5);
        almost.neighbours[5].remove(0);
        assert_eq!(almost.class_size().0, BigUint::from(2 * 120 - 24u32));
    }
}
