//! Graph distances, classes and representatives against numbers of independent programs.
//!
//! The cases in `golden/graphs.json` are part of the repository and always run; a larger
//! collection next to the workspace is used when it is there.

use seabed::graph::{
    ClassSize, Dag, EssentialGraph, Node, NodeSet, shd, shd_double, sid, sid_bounds, wrong_effects,
};
use seabed_testkit::shared;
use serde::Deserialize;
use serde_json::Value;

/// `rows[i]` = all `j` with an edge `i -> j`; a line is in both rows.
type Rows = Vec<Vec<Node>>;

#[derive(Deserialize)]
struct Golden {
    pairs: Vec<Pair>,
    classes: Vec<Class>,
    cyclic: Vec<Rows>,
}

#[derive(Deserialize)]
struct Pair {
    id: u64,
    truth: Rows,
    estimate: Rows,
    shd: usize,
    shd_double: usize,
    sid: usize,
    wrong_effects: Rows,
    cpdag_truth: Rows,
    cpdag_estimate: Rows,
    shd_cpdag: usize,
    sid_of_cpdag: SidOfClass,
    /// Class sizes of truth and estimate, where they were enumerated.
    class_sizes: Option<[u64; 2]>,
}

#[derive(Deserialize)]
struct SidOfClass {
    lower: usize,
    upper: usize,
    /// Number of pairs that are wrong in at least one member.
    wrong_somewhere: usize,
    /// The bounds are those of each vertex on its own over all subsets of its neighbours, so they may be too wide.
    over_all_subsets: bool,
}

#[derive(Deserialize)]
struct Class {
    id: u64,
    dag: Rows,
    targets: Vec<Vec<Node>>,
    cpdag: Rows,
    essential: Rows,
    representative_of_cpdag: Rows,
    representative_of_essential: Rows,
    /// Sizes of the observational and the interventional class, where they were enumerated.
    sizes: Option<[u64; 2]>,
}

fn matrix(rows: &Rows) -> Vec<Vec<bool>> {
    rows.iter().map(|row| (0..rows.len()).map(|j| row.contains(&j)).collect()).collect()
}

fn dag(rows: &Rows) -> Dag {
    Dag::from_rows_to_columns(&matrix(rows)).unwrap()
}

fn class(rows: &Rows) -> EssentialGraph {
    EssentialGraph::from_rows_to_columns(&matrix(rows)).unwrap()
}

fn check_pair(pair: &Pair) {
    let id = pair.id;
    let (truth, estimate) = (dag(&pair.truth), dag(&pair.estimate));
    assert_eq!(shd(&truth, &estimate), pair.shd, "shd, case {id}");
    assert_eq!(shd_double(&truth, &estimate), pair.shd_double, "shd_double, case {id}");
    assert_eq!(sid(&truth, &estimate), pair.sid, "sid, case {id}");
    let wrong: Rows = wrong_effects(&truth, &estimate).iter().map(|row| row.iter().collect()).collect();
    assert_eq!(wrong, pair.wrong_effects, "wrong effects, case {id}");
    let (cpdag_truth, cpdag_estimate) = (EssentialGraph::cpdag(&truth), EssentialGraph::cpdag(&estimate));
    assert_eq!(cpdag_truth, class(&pair.cpdag_truth), "cpdag of the truth, case {id}");
    assert_eq!(cpdag_estimate, class(&pair.cpdag_estimate), "cpdag of the estimate, case {id}");
    assert_eq!(shd(&cpdag_truth, &cpdag_estimate), pair.shd_cpdag, "shd_cpdag, case {id}");
    if let Some([of_truth, of_estimate]) = pair.class_sizes {
        assert_eq!(cpdag_truth.class_size(), ClassSize::from(of_truth), "class size, case {id}");
        assert_eq!(cpdag_estimate.class_size(), ClassSize::from(of_estimate), "class size, case {id}");
    }
    let (bounds, golden) = (sid_bounds(&truth, &cpdag_estimate), &pair.sid_of_cpdag);
    if golden.over_all_subsets {
        let wrong = |rows: &Vec<NodeSet>| rows.iter().map(NodeSet::len).collect::<Vec<_>>();
        let rows: Vec<Vec<usize>> =
            rows_over(&truth, &cpdag_estimate, |_, _| true).iter().map(wrong).collect();
        assert_eq!(
            rows.iter().map(|row| row.iter().min().unwrap()).sum::<usize>(),
            golden.lower,
            "case {id}"
        );
        assert_eq!(
            rows.iter().map(|row| row.iter().max().unwrap()).sum::<usize>(),
            golden.upper,
            "case {id}"
        );
        assert!(golden.lower <= bounds.lower && bounds.upper <= golden.upper, "{bounds:?}, case {id}");
    } else {
        assert!(bounds.exact);
        assert_eq!((bounds.lower, bounds.upper), (golden.lower, golden.upper), "sid bounds, case {id}");
    }
    let in_some_member = |rows: &Vec<NodeSet>| {
        let union = rows.iter().fold(NodeSet::empty(truth.len()), |all, row| all.union(row));
        union.len()
    };
    // The parents of a vertex within its component may be any clique of its neighbours.
    let by_cliques =
        rows_over(&truth, &cpdag_estimate, |set, next| set.is_subset(cpdag_estimate.neighbours(next)));
    let wrong_somewhere: usize = by_cliques.iter().map(in_some_member).sum();
    assert_eq!(wrong_somewhere, golden.wrong_somewhere, "wrong somewhere, case {id}");
}

/// For every vertex, its wrong effects with each set of neighbours as further parents.
///
/// The sets grow vertex by vertex, where `may_grow(set, next)` allows it.
fn rows_over(
    truth: &Dag,
    class: &EssentialGraph,
    may_grow: impl Fn(&NodeSet, Node) -> bool,
) -> Vec<Vec<NodeSet>> {
    let nodes = class.len();
    let row = |i: Node, set: &NodeSet| {
        let parents = set.union(class.parents(i));
        let star = Dag::from_edges(nodes, parents.iter().map(|parent| (parent, i))).unwrap();
        wrong_effects(truth, &star).swap_remove(i)
    };
    let rows = |i: Node| {
        let mut sets = vec![NodeSet::empty(nodes)];
        for next in class.neighbours(i) {
            for k in 0..sets.len() {
                if may_grow(&sets[k], next) {
                    let mut larger = sets[k].clone();
                    larger.insert(next);
                    sets.push(larger);
                }
            }
        }
        sets.iter().map(|set| row(i, set)).collect()
    };
    (0..nodes).map(rows).collect()
}

fn check_class(case: &Class) {
    let id = case.id;
    let dag = dag(&case.dag);
    let targets: Vec<NodeSet> =
        case.targets.iter().map(|target| NodeSet::of(dag.len(), target.iter().copied())).collect();
    let (cpdag, essential) = (EssentialGraph::cpdag(&dag), EssentialGraph::of(&dag, &targets));
    assert_eq!(cpdag, class(&case.cpdag), "cpdag, case {id}");
    assert_eq!(essential, class(&case.essential), "essential graph, case {id}");
    assert_eq!(cpdag.representative(), self::dag(&case.representative_of_cpdag), "case {id}");
    assert_eq!(essential.representative(), self::dag(&case.representative_of_essential), "case {id}");
    if let Some([observational, interventional]) = case.sizes {
        assert_eq!(cpdag.class_size(), ClassSize::from(observational), "class size, case {id}");
        assert_eq!(essential.class_size(), ClassSize::from(interventional), "class size, case {id}");
    }
}

fn check_cyclic(rows: &Rows) {
    let cycle = Dag::from_rows_to_columns(&matrix(rows)).unwrap_err().cycle;
    for (k, from) in cycle.iter().enumerate() {
        assert!(rows[*from].contains(&cycle[(k + 1) % cycle.len()]), "{cycle:?} is not a cycle");
    }
}

fn check(golden: &Golden) {
    golden.pairs.iter().for_each(check_pair);
    golden.classes.iter().for_each(check_class);
    golden.cyclic.iter().for_each(check_cyclic);
}

#[test]
fn graphs_of_the_repository_agree() {
    let golden: Golden = serde_json::from_str(include_str!("golden/graphs.json")).unwrap();
    assert!(golden.pairs.len() >= 30 && golden.classes.len() >= 10 && golden.cyclic.len() >= 5);
    check(&golden);
}

#[test]
fn graphs_of_the_large_collection_agree() {
    let Some(folder) = shared("golden/graphs") else { return };
    let read = |name: &str| -> Vec<Value> {
        serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
    };
    let pairs: Vec<Value> =
        ["dag_pair.json", "est_empty.json", "est_equal.json"].iter().flat_map(|name| read(name)).collect();
    let golden = Golden {
        pairs: pairs.iter().map(pair_from_collection).collect(),
        classes: read("essgraphs.json").iter().map(class_from_collection).collect(),
        cyclic: read("est_cyclic_long.json").iter().map(|case| rows(&case["est"])).collect(),
    };
    assert_eq!(golden.pairs.len(), 272);
    check(&golden);
}

fn rows(matrix: &Value) -> Rows {
    let matrix: Vec<Vec<u8>> = serde_json::from_value(matrix.clone()).unwrap();
    matrix.iter().map(|row| (0..row.len()).filter(|&j| row[j] == 1).collect()).collect()
}

fn count(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn pair_from_collection(case: &Value) -> Pair {
    let of_class = &case["sid_cpdag"];
    Pair {
        id: case["id"].as_u64().unwrap(),
        truth: rows(&case["true"]),
        estimate: rows(&case["est"]),
        shd: count(&case["shd"]),
        shd_double: count(&case["shd_double"]),
        sid: count(&case["sid"]),
        wrong_effects: rows(&case["sid_incorrect"]),
        cpdag_truth: rows(&case["cpdag_true"]),
        cpdag_estimate: rows(&case["cpdag_est"]),
        shd_cpdag: count(&case["shd_cpdag"]),
        sid_of_cpdag: SidOfClass {
            lower: count(&of_class["lower"]),
            upper: count(&of_class["upper"]),
            wrong_somewhere: count(&of_class["sid"]),
            over_all_subsets: of_class["local_expansion"].as_bool().unwrap(),
        },
        class_sizes: sizes(&case["mec_size_true"], &case["mec_size_est"]),
    }
}

fn class_from_collection(case: &Value) -> Class {
    Class {
        id: case["id"].as_u64().unwrap(),
        dag: rows(&case["dag"]),
        targets: serde_json::from_value(case["targets"].clone()).unwrap(),
        cpdag: rows(&case["cpdag"]),
        essential: rows(&case["essgraph"]),
        representative_of_cpdag: rows(&case["repr_of_cpdag"]),
        representative_of_essential: rows(&case["repr_of_essgraph"]),
        sizes: sizes(&case["mec_size"], &case["imec_size"]),
    }
}

fn sizes(first: &Value, second: &Value) -> Option<[u64; 2]> {
    Some([first.as_u64()?, second.as_u64()?])
}
