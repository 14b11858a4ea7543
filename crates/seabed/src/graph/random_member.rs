//! A DAG of a class, every one with the same probability.

use num_bigint::BigUint;

use super::chordal::{clique_tree, pieces_after};
use super::class_size::{Counter, forbidden_prefixes};
use super::{Dag, EssentialGraph, Node, NodeSet};
use crate::num::random::Draws;

impl EssentialGraph {
    /// A DAG of the class, uniformly at random.
    pub fn random_member(&self, draws: &mut Draws) -> Dag {
        let mut parents = self.parents.clone();
        let mut counter = Counter::new(&self.neighbours);
        for component in self.chain_components().iter().filter(|component| component.len() > 1) {
            let mut order = Vec::with_capacity(component.len());
            counter.extend_order(component, draws, &mut order);
            let mut seen = NodeSet::empty(self.len());
            for node in order {
                parents[node].union_with(&self.neighbours[node].intersection(&seen));
                seen.insert(node);
            }
        }
        Dag::from_parents(parents).expect("the components of an essential graph are oriented without cycles")
    }
}

impl Counter<'_> {
    /// Adds a topological order of a random orientation of the connected chordal graph on `nodes`: the clique that
    /// comes first, in proportion to the orientations that are counted at it; an order of it that is counted there;
    /// then what it leaves open.
    fn extend_order(&mut self, nodes: &NodeSet, draws: &mut Draws, order: &mut Vec<Node>) {
        if nodes.len() == 1 {
            order.extend(nodes);
            return;
        }
        let tree = clique_tree(self.neighbours(), nodes);
        let counts: Vec<BigUint> =
            (0..tree.cliques.len()).map(|k| self.orientations_at(&tree, k, nodes)).collect();
        let k = choose(&counts, draws);
        let clique = &tree.cliques[k].nodes;
        let forbidden = forbidden_prefixes(&tree, k);
        let mut first: Vec<Node> = clique.iter().collect();
        loop {
            draws.shuffle(&mut first);
            let begins_with = |set: &&NodeSet| first[..set.len()].iter().all(|&node| set.contains(node));
            if !forbidden.iter().any(begins_with) {
                break;
            }
        }
        order.extend(&first);
        for piece in pieces_after(self.neighbours(), nodes, clique) {
            self.extend_order(&piece.nodes, draws, order);
        }
    }
}

/// An index in proportion to the counts.
fn choose(counts: &[BigUint], draws: &mut Draws) -> usize {
    let total: BigUint = counts.iter().sum();
    // The leading 64 bits decide: counts that vanish beside the total are not drawn within 10^19 draws either.
    let shift = total.bits().saturating_sub(64);
    let leading = |count: &BigUint| (count >> shift).iter_u64_digits().next().unwrap_or(0) as f64;
    let mut left = draws.uniform() * counts.iter().map(leading).sum::<f64>();
    for (k, count) in counts.iter().enumerate() {
        left -= leading(count);
        if left < 0.0 {
            return k;
        }
    }
    counts.len() - 1
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use crate::graph::tests::slow_twins::{dags_with_targets, members};
    use crate::graph::{Dag, EssentialGraph};
    use crate::num::random::{Purpose, Seed};

    /// Chi-square against the uniform law over the class; mean k, variance 2k for k degrees of freedom. Beyond six
    /// standard deviations (plus room for small k) a false alarm is rarer than one in a million.
    fn assert_uniform(dag: &Dag, class: &[Dag], targets: &[crate::graph::NodeSet]) {
        let graph = EssentialGraph::of(dag, targets);
        let n = 200 * class.len();
        let mut counts: HashMap<Dag, f64> = HashMap::new();
        let mut draws = Seed::new(5).stream(Purpose::Graph).draws();
        for _ in 0..n {
            *counts.entry(graph.random_member(&mut draws)).or_default() += 1.0;
        }
        assert!(counts.keys().all(|dag| class.contains(dag)));
        let expected = n as f64 / class.len() as f64;
        let count = |dag| counts.get(dag).copied().unwrap_or(0.0);
        let chi_square: f64 = class.iter().map(|dag| (count(dag) - expected).powi(2) / expected).sum();
        let freedom = (class.len() - 1) as f64;
        assert!(chi_square < freedom + 6.0 * (2.0 * freedom).sqrt() + 20.0, "{chi_square} for {freedom}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn every_member_is_drawn_equally_often((dag, targets, _) in dags_with_targets(2..6)) {
            assert_uniform(&dag, &members(&dag, &targets), &targets);
        }
    }

    /// Two triangles that share an edge, and a tail: cliques of different size with forbidden prefixes.
    #[test]
    fn cliques_with_common_parts_are_not_counted_twice() {
        let dag = Dag::from_edges(5, [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4)]).unwrap();
        assert_uniform(&dag, &members(&dag, &[]), &[]);
    }
}
