//! Equivalence classes of DAGs as chain graphs: what interventions on known targets can and cannot orient.
//!
//! An [`EssentialGraph`] has an arrow where all DAGs of the class agree and a line
//! where they differ. Without targets it is the CPDAG. Counting the class is in
//! `class_size`, reading matrices from outside in `essential_check`.

use super::chordal::{component_of, components};
use super::lexbfs::lexbfs;
use super::{Dag, Node, NodeSet};

/// A class of DAGs that data under given intervention targets cannot tell apart.
///
/// All members share the skeleton, the v-structures, and the direction of every edge with exactly one end in
/// some target. The lines form chordal components, and all vertices of a component have the same parents.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EssentialGraph {
    /// `parents[v]` holds every `u` with an arrow `u -> v`.
    pub(super) parents: Vec<NodeSet>,
    /// `children[u]` holds every `v` with an arrow `u -> v`.
    pub(super) children: Vec<NodeSet>,
    /// `neighbours[v]` holds every `u` with a line `u - v`.
    pub(super) neighbours: Vec<NodeSet>,
}

impl EssentialGraph {
    /// The class of `dag` under interventions on each of the `targets`.
    ///
    /// Observational data are always assumed as well: the empty target changes nothing.
    pub fn of(dag: &Dag, targets: &[NodeSet]) -> Self {
        let mut orientation = Orientation::new(dag);
        orientation.fix_v_structures(dag);
        for target in targets {
            orientation.fix_cut_edges(dag, target);
        }
        orientation.follow_rules(dag);
        orientation.graph
    }

    /// The class of `dag` under observation alone, its CPDAG.
    pub fn cpdag(dag: &Dag) -> Self {
        Self::of(dag, &[])
    }

    /// `[i][j]` = arrow `i -> j`, or a line when `[j][i]` is set too.
    pub fn to_rows_to_columns(&self) -> Vec<Vec<bool>> {
        let nodes = 0..self.len();
        let row = |i: Node| {
            let points_at = self.points_at(i);
            nodes.clone().map(move |j| points_at.contains(j)).collect()
        };
        nodes.clone().map(row).collect()
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Is the graph without nodes?
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// All `u` with an arrow `u -> node`.
    #[inline]
    pub fn parents(&self, node: Node) -> &NodeSet {
        &self.parents[node]
    }

    /// All `v` with an arrow `node -> v`.
    #[inline]
    pub fn children(&self, node: Node) -> &NodeSet {
        &self.children[node]
    }

    /// All `u` with a line `u - node`.
    #[inline]
    pub fn neighbours(&self, node: Node) -> &NodeSet {
        &self.neighbours[node]
    }

    /// Everything with an arrow to or from `node`, or a line.
    pub fn adjacent(&self, node: Node) -> NodeSet {
        let mut all = self.parents[node].union(&self.children[node]);
        all.union_with(&self.neighbours[node]);
        all
    }

    /// All `v` with an arrow `node -> v` or a line: a row of the adjacency matrix.
    pub fn points_at(&self, node: Node) -> NodeSet {
        self.children[node].union(&self.neighbours[node])
    }

    /// Number of arrows.
    pub fn directed_edge_count(&self) -> usize {
        self.parents.iter().map(NodeSet::len).sum()
    }

    /// Number of lines.
    pub fn undirected_edge_count(&self) -> usize {
        self.neighbours.iter().map(NodeSet::len).sum::<usize>() / 2
    }

    /// The parts connected by lines, single vertices included, in order of their smallest vertex.
    pub fn chain_components(&self) -> Vec<NodeSet> {
        components(&self.neighbours, &NodeSet::full(self.len()))
    }

    /// The part connected to `node` by lines.
    pub fn chain_component_of(&self, node: Node) -> NodeSet {
        component_of(&self.neighbours, &NodeSet::full(self.len()), node)
    }

    /// The vertices of one chain component, listed by `start` in any order, in LexBFS order along its lines.
    ///
    /// Arrows from earlier to later vertices are the orientation of the component in some DAG of the class, with
    /// `start[0]` as its source.
    pub fn lexbfs(&self, start: &[Node]) -> Vec<Node> {
        lexbfs(&self.neighbours, start)
    }

    /// One DAG of the class, the same one every time.
    ///
    /// Each chain component is oriented along its LexBFS order from the smallest vertex.
    pub fn representative(&self) -> Dag {
        self.member(&[])
    }

    /// The DAG of the class whose chain components are oriented along their LexBFS orders: a component that holds
    /// one of the lists of `first` starts with it and continues in ascending order.
    pub fn member(&self, first: &[&[Node]]) -> Dag {
        let mut parents = self.parents.clone();
        let mut left = NodeSet::full(self.len());
        let lists = first.iter().filter_map(|list| list.first().map(|&node| (node, *list)));
        // A vertex without lines has nothing to orient.
        let rest = (0..self.len()).map(|node| (node, &[] as &[Node]));
        for (node, list) in lists.chain(rest).filter(|&(node, _)| !self.neighbours[node].is_empty()) {
            if !left.contains(node) {
                continue;
            }
            let component = self.chain_component_of(node);
            left.difference_with(&component);
            let mut start = list.to_vec();
            start.extend(component.iter().filter(|node| !list.contains(node)));
            let mut seen = NodeSet::empty(self.len());
            for node in self.lexbfs(&start) {
                parents[node].union_with(&self.neighbours[node].intersection(&seen));
                seen.insert(node);
            }
        }
        Dag::from_parents(parents).expect("the components of an essential graph are oriented without cycles")
    }
}

/// A DAG's edges as lines, some of which are oriented again.
struct Orientation {
    graph: EssentialGraph,
    /// Arrows whose consequences have not been followed yet.
    new: Vec<(Node, Node)>,
}

impl Orientation {
    fn new(dag: &Dag) -> Self {
        let none = vec![NodeSet::empty(dag.len()); dag.len()];
        let neighbours = (0..dag.len()).map(|v| dag.adjacent(v)).collect();
        let graph = EssentialGraph { parents: none.clone(), children: none, neighbours };
        Self { graph, new: Vec::with_capacity(dag.edge_count()) }
    }

    fn orient(&mut self, from: Node, to: Node) {
        if self.graph.neighbours[to].remove(from) {
            self.graph.neighbours[from].remove(to);
            self.graph.parents[to].insert(from);
            self.graph.children[from].insert(to);
            self.new.push((from, to));
        }
    }

    /// Every edge into a common child of two vertices that are not adjacent.
    fn fix_v_structures(&mut self, dag: &Dag) {
        for child in 0..dag.len() {
            for parent in dag.parents(child) {
                let mut strangers = dag.parents(child).difference(dag.parents(parent));
                strangers.difference_with(dag.children(parent));
                strangers.remove(parent);
                if !strangers.is_empty() {
                    self.orient(parent, child);
                }
            }
        }
    }

    /// Every edge with exactly one end in the target.
    fn fix_cut_edges(&mut self, dag: &Dag, target: &NodeSet) {
        for inside in target {
            for parent in &dag.parents(inside).difference(target) {
                self.orient(parent, inside);
            }
            for child in &dag.children(inside).difference(target) {
                self.orient(inside, child);
            }
        }
    }

    /// Meek's first three rules until nothing changes; each arrow is looked at once, as the latest one.
    ///
    /// The fourth rule needs a line beside an arrow of the same component, and neither
    /// v-structures nor targets leave one behind.
    fn follow_rules(&mut self, dag: &Dag) {
        while let Some((a, b)) = self.new.pop() {
            // Every consequence is a line at a or b; in dense graphs few are left.
            if self.graph.neighbours[a].is_empty() && self.graph.neighbours[b].is_empty() {
                continue;
            }
            let not_a = |set: &NodeSet| {
                let mut set = set.difference(dag.parents(a));
                set.difference_with(dag.children(a));
                set
            };
            // a -> b - c, a and c not adjacent: c -> b would be a new v-structure.
            for c in &not_a(&self.graph.neighbours[b]) {
                self.orient(b, c);
            }
            // a -> b -> c or c -> a -> b beside a line from end to end: the other direction would be a cycle.
            for c in &self.graph.neighbours[a].intersection(&self.graph.children[b]) {
                self.orient(a, c);
            }
            for c in &self.graph.neighbours[b].intersection(&self.graph.parents[a]) {
                self.orient(c, b);
            }
            // c - a -> b and c - e -> b, a and e not adjacent, c - b: b -> c would force a v-structure at c.
            let mut others = not_a(&self.graph.parents[b]);
            others.remove(a);
            if !others.is_empty() {
                for c in &self.graph.neighbours[b].intersection(&self.graph.neighbours[a]) {
                    if self.graph.neighbours[c].intersects(&others) {
                        self.orient(c, b);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::tests::slow_twins::{dags, dags_with_targets, members, v_structures};

    /// Arrows on which all members agree, lines elsewhere.
    fn union_of_members(dag: &Dag, targets: &[NodeSet]) -> Vec<Vec<bool>> {
        let mut rows = vec![vec![false; dag.len()]; dag.len()];
        for member in members(dag, targets) {
            for (a, b) in member.edges() {
                rows[a][b] = true;
            }
        }
        rows
    }

    proptest! {
        #[test]
        fn it_is_the_union_of_the_class((dag, targets, _) in dags_with_targets(1..6)) {
            let graph = EssentialGraph::of(&dag, &targets);
            prop_assert_eq!(graph.to_rows_to_columns(), union_of_members(&dag, &targets));
            prop_assert_eq!(EssentialGraph::cpdag(&dag).to_rows_to_columns(), union_of_members(&dag, &[]));
        }

        #[test]
        fn the_representative_is_a_member((dag, targets, _) in dags_with_targets(1..15)) {
            let graph = EssentialGraph::of(&dag, &targets);
            let member = graph.representative();
            prop_assert_eq!(EssentialGraph::of(&member, &targets), graph);
            prop_assert_eq!(v_structures(&member), v_structures(&dag));
            prop_assert_eq!(member.edge_count(), dag.edge_count());
        }

        #[test]
        fn every_start_order_gives_a_member((dag, targets, order) in dags_with_targets(1..15)) {
            let graph = EssentialGraph::of(&dag, &targets);
            let components = graph.chain_components();
            prop_assert!(components.iter().all(|c| c.iter().all(|v| &graph.chain_component_of(v) == c)));
            let starts: Vec<Vec<Node>> = components
                .iter()
                .map(|component| order.iter().copied().filter(|&v| component.contains(v)).collect())
                .collect();
            let lists: Vec<&[Node]> = starts.iter().map(Vec::as_slice).collect();
            let member = graph.member(&lists);
            prop_assert!(starts.iter().all(|start| member.parents(start[0]) == graph.parents(start[0])));
            prop_assert_eq!(EssentialGraph::of(&member, &targets), graph);
        }

        #[test]
        fn relabelling_changes_nothing_else((dag, targets, to) in dags_with_targets(1..15)) {
            let renamed_targets: Vec<NodeSet> =
                targets.iter().map(|t| NodeSet::of(dag.len(), t.iter().map(|v| to[v]))).collect();
            let (before, after) =
                (EssentialGraph::of(&dag, &targets), EssentialGraph::of(&dag.relabelled(&to), &renamed_targets));
            for v in 0..dag.len() {
                let rename = |set: &NodeSet| NodeSet::of(dag.len(), set.iter().map(|u| to[u]));
                prop_assert_eq!(&rename(before.parents(v)), after.parents(to[v]));
                prop_assert_eq!(&rename(before.children(v)), after.children(to[v]));
                prop_assert_eq!(&rename(before.neighbours(v)), after.neighbours(to[v]));
            }
        }

        #[test]
        fn members_of_a_component_have_the_same_parents(dag in dags(1..15)) {
            let graph = EssentialGraph::cpdag(&dag);
            for component in graph.chain_components() {
                let first = component.first().unwrap();
                prop_assert!(component.iter().all(|v| graph.parents(v) == graph.parents(first)));
            }
        }
    }

    #[test]
    fn a_target_orients_its_border_and_what_follows() {
        let chain = Dag::from_edges(4, [(0, 1), (1, 2), (2, 3)]).unwrap();
        let lines = EssentialGraph::of(&chain, &[NodeSet::empty(4)]);
        assert_eq!((lines.undirected_edge_count(), lines.directed_edge_count()), (3, 0));
        let cut = EssentialGraph::of(&chain, &[NodeSet::of(4, [2])]);
        assert_eq!((cut.undirected_edge_count(), cut.directed_edge_count()), (1, 2));
        assert_eq!(cut.chain_components().len(), 3);
    }
}
