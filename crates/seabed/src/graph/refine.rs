//! A class of DAGs under background knowledge: which of its DAGs avoid all forbidden edges.

use super::{Dag, EssentialGraph, Node, NodeSet};
use crate::num::random::Draws;

/// An essential graph whose lines are oriented as far as forbidden edges decide them.
///
/// Unlike an essential graph it need not be a chain graph: an arrow may lie within a component of lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefinedClass {
    parents: Vec<NodeSet>,
    children: Vec<NodeSet>,
    neighbours: Vec<NodeSet>,
}

impl EssentialGraph {
    /// The part of the class without any forbidden edge: `forbidden[v]` holds every `u` for which `u -> v` is
    /// forbidden. None if no DAG of the class avoids them all.
    pub fn refined(&self, forbidden: &[NodeSet]) -> Option<RefinedClass> {
        let mut refined = RefinedClass {
            parents: self.parents.clone(),
            children: self.children.clone(),
            neighbours: self.neighbours.clone(),
        };
        for node in 0..self.len() {
            for parent in &self.neighbours[node].intersection(&forbidden[node]) {
                // If the other direction is forbidden too, the edge is oriented already and the check below fails.
                refined.orient(node, parent);
            }
        }
        refined.follow_rules();
        let allowed = |refined: &RefinedClass| {
            (0..self.len()).all(|node| !refined.parents[node].intersects(&forbidden[node]))
        };
        // Contradictory rules leave no member; then the orientation is cyclic or of another class.
        let member = allowed(&refined).then(|| refined.member()).flatten()?;
        let same_class = EssentialGraph::cpdag(&member) == EssentialGraph::cpdag(&self.representative());
        let obeys = (0..self.len()).all(|node| !member.parents(node).intersects(&forbidden[node]));
        let keeps = (0..self.len()).all(|node| self.parents[node].is_subset(member.parents(node)));
        (same_class && obeys && keeps).then_some(refined)
    }
}

impl RefinedClass {
    /// `[i][j]` = arrow `i -> j`, or a line when `[j][i]` is set too.
    pub fn to_rows_to_columns(&self) -> Vec<Vec<bool>> {
        let nodes = 0..self.parents.len();
        let row = |i: Node| {
            let points_at = self.children[i].union(&self.neighbours[i]);
            nodes.clone().map(move |j| points_at.contains(j)).collect()
        };
        nodes.clone().map(row).collect()
    }

    /// One DAG that agrees with every arrow, the same one every time: lines are oriented from the smaller to the
    /// larger vertex, one after the other, with what follows from each. None if the arrows contradict each other.
    pub fn member(&self) -> Option<Dag> {
        self.oriented_by(|lines| lines[0])
    }

    /// A DAG that agrees with every arrow, by orienting lines at random, one after the other, with what follows
    /// from each: every such DAG can be drawn, but not all with the same probability.
    pub fn random_member(&self, draws: &mut Draws) -> Option<Dag> {
        self.oriented_by(|lines| {
            let (a, b) = lines[draws.below(lines.len())];
            if draws.below(2) == 0 { (a, b) } else { (b, a) }
        })
    }

    /// The DAG in which `choose` orients one line at a time out of all that are left, given as (smaller, larger).
    fn oriented_by(&self, mut choose: impl FnMut(&[(Node, Node)]) -> (Node, Node)) -> Option<Dag> {
        let mut rest = self.clone();
        loop {
            let lines: Vec<(Node, Node)> = (0..rest.neighbours.len())
                .flat_map(|a| rest.neighbours[a].iter().filter(move |&b| a < b).map(move |b| (a, b)))
                .collect();
            if lines.is_empty() {
                return Dag::from_parents(rest.parents).ok();
            }
            let (from, to) = choose(&lines);
            rest.orient(from, to);
            rest.follow_rules();
        }
    }

    fn orient(&mut self, from: Node, to: Node) {
        if self.neighbours[to].remove(from) {
            self.neighbours[from].remove(to);
            self.parents[to].insert(from);
            self.children[from].insert(to);
        }
    }

    /// Meek's four rules until nothing changes.
    fn follow_rules(&mut self) {
        let mut changed = true;
        while changed {
            changed = false;
            for to in 0..self.parents.len() {
                for from in &self.neighbours[to].clone() {
                    if self.neighbours[to].contains(from) && self.must_point(from, to) {
                        self.orient(from, to);
                        changed = true;
                    }
                }
            }
        }
    }

    /// Would `to -> from` make a cycle or a new v-structure, now or by what follows from it?
    fn must_point(&self, from: Node, to: Node) -> bool {
        let adjacent = |node: Node| {
            let mut set = self.parents[node].union(&self.children[node]);
            set.union_with(&self.neighbours[node]);
            set
        };
        let beside_to = adjacent(to);
        // c -> from - to, c and to not adjacent.
        if !self.parents[from].is_subset(&beside_to) {
            return true;
        }
        // from -> c -> to.
        if self.children[from].intersects(&self.parents[to]) {
            return true;
        }
        // from - c -> to and from - e -> to, c and e not adjacent.
        let helpers = self.neighbours[from].intersection(&self.parents[to]);
        for c in &helpers {
            let mut others = helpers.difference(&adjacent(c));
            others.remove(c);
            if !others.is_empty() {
                return true;
            }
        }
        // from - e -> c -> to, from and c adjacent, e and to not adjacent.
        let beside_from = adjacent(from);
        for c in &self.parents[to].intersection(&beside_from) {
            let mut starts = self.parents[c].intersection(&self.neighbours[from]);
            starts.difference_with(&beside_to);
            starts.remove(to);
            if !starts.is_empty() {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::tests::slow_twins::{dags_with_targets, members};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Against enumeration of the class: a line where its allowed members differ, an arrow where they agree.
        #[test]
        fn refinement_agrees_with_the_members_that_are_allowed(
            (dag, targets, _) in dags_with_targets(2..6),
            bits in proptest::collection::vec(0u8..6, 25),
        ) {
            let d = dag.len();
            let class = EssentialGraph::of(&dag, &targets);
            let forbidden: Vec<NodeSet> = (0..d)
                .map(|v| NodeSet::of(d, (0..d).filter(|&u| u != v && bits[u * 5 + v] == 0)))
                .collect();
            let allowed: Vec<Dag> = members(&dag, &targets)
                .into_iter()
                .filter(|member| (0..d).all(|v| !member.parents(v).intersects(&forbidden[v])))
                .collect();
            match class.refined(&forbidden) {
                None => prop_assert!(allowed.is_empty()),
                Some(refined) => {
                    prop_assert!(allowed.contains(&refined.member().unwrap()));
                    let some_member = |i: Node, j: Node| allowed.iter().any(|member| member.has_edge(i, j));
                    let expected: Vec<Vec<bool>> =
                        (0..d).map(|i| (0..d).map(|j| some_member(i, j)).collect()).collect();
                    prop_assert_eq!(refined.to_rows_to_columns(), expected);
                }
            }
        }
    }
}
