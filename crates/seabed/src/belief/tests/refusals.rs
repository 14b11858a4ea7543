//! Graphs, weights and laws that make no belief are refused by name.

use crate::belief::{BeliefError, Conditional, Family, GraphBelief, LinearConditional};
use crate::data::Names;
use crate::graph::Dag;

fn names() -> Names {
    ["A", "B"].map(String::from).to_vec().into()
}

fn law(parents: usize) -> Conditional {
    Conditional::Linear(LinearConditional {
        degrees: 10.0,
        scale: 2.0,
        centre: vec![0.0; parents],
        location: vec![0.0; 1 + parents],
        factor: (0..(1 + parents).pow(2)).map(|k| if k % (2 + parents) == 0 { 0.1 } else { 0.0 }).collect(),
    })
}

fn families() -> Vec<Vec<Family>> {
    let family = |parents: &[usize]| Family { parents: parents.to_vec(), conditional: law(parents.len()) };
    vec![vec![family(&[1]), family(&[])], vec![family(&[]), family(&[0])]]
}

fn graph(edges: &[(usize, usize)]) -> Dag {
    Dag::from_edges(2, edges.iter().copied()).unwrap()
}

#[test]
fn equal_graphs_are_merged_and_the_heaviest_comes_first() {
    let weighted =
        vec![(graph(&[]), 1.0), (graph(&[(0, 1)]), 2.0), (graph(&[]), 3.0), (graph(&[(1, 0)]), 0.0)];
    let belief = GraphBelief::new(names(), weighted, families(), None).unwrap();
    assert_eq!(belief.graphs(), [graph(&[]), graph(&[(0, 1)])]);
    assert_eq!(belief.weights(), [4.0 / 6.0, 2.0 / 6.0]);
    assert_eq!(belief.families(0).len(), 1);
    assert_eq!((belief.family_of(0), belief.family_of(1)), (&[0, 0][..], &[0, 1][..]));
    assert!((belief.entropy() - (2.0 / 3.0 * 1.5f64.ln() + 3f64.ln() / 3.0)).abs() < 1e-15);
    assert!((belief.effective_graphs() - 1.8).abs() < 1e-12);
    assert_eq!(belief.edge_probabilities()[0][1], 0.333333333333);
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |graphs: Vec<(Dag, f64)>, families: Vec<Vec<Family>>| {
        GraphBelief::new(names(), graphs, families, None).unwrap_err().to_string()
    };
    let one = || vec![(graph(&[(0, 1)]), 1.0)];
    assert_eq!(refused(vec![], families()), BeliefError::Empty.to_string());
    assert_eq!(
        refused(vec![(graph(&[]), f64::NAN)], families()),
        "graph 0 has the weight NaN: weights are finite numbers, 0 or more"
    );
    assert_eq!(refused(vec![(Dag::empty(3), 1.0)], families()), "graph 0 has 3 nodes, but there are 2 names");
    assert_eq!(refused(one(), families()[..1].to_vec()), "families of 1 nodes, but there are 2 names");
    let changed = |change: &dyn Fn(&mut Vec<Vec<Family>>)| {
        let mut families = families();
        change(&mut families);
        refused(one(), families)
    };
    assert_eq!(
        changed(&|families| families[1][1].parents = vec![1]),
        "\"B\" has a family whose parents are not distinct other variables"
    );
    assert_eq!(
        changed(&|families| families[1].extend_from_within(1..)),
        "\"B\" has two families with the parents A"
    );
    assert_eq!(
        changed(&|families| families[1][1].conditional = law(0)),
        "the law of \"B\" given A is of 0 parents, or its numbers do not fit together"
    );
    assert_eq!(
        changed(&|families| drop(families[1].pop())),
        "graph 0 gives \"B\" the parents A, for which there is no family"
    );
}
