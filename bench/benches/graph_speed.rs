//! CPU time of the graph algorithms, as one table: `cargo bench -p seabed-bench --bench graph_speed`.
//!
//! Each line is the median over several random graphs.

use seabed::graph::{Dag, EssentialGraph, Node, NodeSet, erdos_renyi, scale_free, shd, sid, sid_bounds};
use seabed::num::random::{Purpose, Seed, Stream};
use seabed_bench::{header, measure};

/// Different graphs for each line.
const GRAPHS: u64 = 5;

fn main() {
    header();
    distances();
    bounds_of_complete_classes();
    class_sizes();
    essential_graphs();
    random_graphs();
}

fn distances() {
    for (nodes, edges) in [(20, 40), (50, 100), (50, 600), (1000, 2000)] {
        let pairs: Vec<(Dag, Dag)> = (0..GRAPHS)
            .map(|k| (ordered(nodes, edges, stream(k, 0)), ordered(nodes, edges, stream(k, 1))))
            .collect();
        measure(&format!("SID, {nodes} nodes, {edges} edges"), &pairs, |(truth, guess)| sid(truth, guess));
        measure(&format!("SHD, {nodes} nodes, {edges} edges"), &pairs, |(truth, guess)| shd(truth, guess));
        if nodes <= 50 {
            let classes: Vec<_> = pairs.iter().map(|(t, g)| (t, EssentialGraph::cpdag(g))).collect();
            measure(&format!("SID bounds, {nodes} nodes, {edges} edges"), &classes, |(truth, class)| {
                sid_bounds(truth, class)
            });
        }
    }
}

fn bounds_of_complete_classes() {
    for nodes in [8, 12, 13] {
        let truth = ordered(nodes, 2 * nodes, stream(0, 9));
        let class = EssentialGraph::cpdag(&ordered(nodes, nodes * (nodes - 1) / 2, stream(0, 10)));
        let exact = sid_bounds(&truth, &class).exact;
        let label = format!("SID bounds, complete class of {nodes} nodes, exact: {exact}");
        measure(&label, &[(truth, class)], |(truth, class)| sid_bounds(truth, class));
    }
}

fn class_sizes() {
    for nodes in [50, 100] {
        let complete = nodes * (nodes - 1) / 2;
        let kinds: [(&str, Vec<EssentialGraph>); 5] = [
            ("complete", vec![EssentialGraph::cpdag(&ordered(nodes, complete, stream(0, 0)))]),
            ("random tree", graphs(|k| chordal(nodes, nodes, 1.0, stream(k, 2)))),
            ("sparse chordal", graphs(|k| chordal(nodes, nodes, 0.2, stream(k, 3)))),
            ("chordal", graphs(|k| chordal(nodes, 5, 0.1, stream(k, 4)))),
            ("dense chordal", graphs(|k| chordal(nodes, 3, 0.02, stream(k, 5)))),
        ];
        for (kind, classes) in kinds {
            let lines: usize = classes.iter().map(EssentialGraph::undirected_edge_count).sum();
            let label = format!("class size, {nodes} nodes, {kind}, {} lines", lines / classes.len());
            measure(&label, &classes, EssentialGraph::class_size);
        }
    }
}

fn essential_graphs() {
    for (nodes, edges) in [(50, 50), (50, 100), (50, 600)] {
        let dags: Vec<Dag> = (0..GRAPHS).map(|k| ordered(nodes, edges, stream(k, 6))).collect();
        let targets: Vec<NodeSet> = (0..5).map(|v| NodeSet::of(nodes, [v])).collect();
        measure(&format!("CPDAG, {nodes} nodes, {edges} edges"), &dags, EssentialGraph::cpdag);
        measure(&format!("essential graph, 5 targets, {nodes} nodes, {edges} edges"), &dags, |dag| {
            EssentialGraph::of(dag, &targets)
        });
        let classes: Vec<EssentialGraph> = dags.iter().map(EssentialGraph::cpdag).collect();
        measure(
            &format!("representative, {nodes} nodes, {edges} edges"),
            &classes,
            EssentialGraph::representative,
        );
    }
}

fn random_graphs() {
    for nodes in [20, 50, 1000] {
        let seeds: Vec<u64> = (0..GRAPHS).collect();
        for per_node in [1.0, 2.0, 4.0, nodes as f64 / 2.0] {
            measure(&format!("Erdős–Rényi, {nodes} nodes, {per_node} edges per node"), &seeds, |&k| {
                erdos_renyi(nodes, per_node, stream(k, 7)).expect("a density that can be drawn")
            });
        }
        for per_node in [1, 2] {
            measure(&format!("scale-free, {nodes} nodes, {per_node} edges per node"), &seeds, |&k| {
                scale_free(nodes, per_node, stream(k, 8)).expect("a density that can be drawn")
            });
        }
    }
}

fn stream(seed: u64, use_of_it: u64) -> Stream {
    Seed::new(seed).stream(Purpose::Graph).at(use_of_it)
}

fn graphs(make: impl Fn(u64) -> EssentialGraph) -> Vec<EssentialGraph> {
    (0..GRAPHS).map(make).collect()
}

/// A DAG with exactly this many edges, uniform given a random order.
fn ordered(nodes: usize, edges: usize, stream: Stream) -> Dag {
    let mut draws = stream.draws();
    let mut order: Vec<Node> = (0..nodes).collect();
    draws.shuffle(&mut order);
    let mut pairs: Vec<(Node, Node)> =
        (0..nodes).flat_map(|b| (0..b).map(move |a| (a, b))).map(|(a, b)| (order[a], order[b])).collect();
    draws.shuffle(&mut pairs);
    pairs.truncate(edges);
    Dag::from_edges(nodes, pairs).expect("edges follow the order")
}

/// A connected chordal graph as a class: each vertex joins one of the `back` latest ones and each of the
/// earlier neighbours of that one, except with probability `skip`.
fn chordal(nodes: usize, back: usize, skip: f64, stream: Stream) -> EssentialGraph {
    let mut draws = stream.draws();
    let mut parents: Vec<Vec<Node>> = vec![Vec::new()];
    for node in 1..nodes {
        // A vertex and its earlier neighbours form a clique, and so does every subset.
        let at = node - 1 - draws.below(back.min(node));
        let mut clique = vec![at];
        clique.extend(parents[at].iter().copied().filter(|_| draws.uniform() > skip));
        parents.push(clique);
    }
    let edges = parents.iter().enumerate().flat_map(|(v, set)| set.iter().map(move |&u| (u, v)));
    let dag = Dag::from_edges(nodes, edges).expect("edges go from earlier to later vertices");
    EssentialGraph::cpdag(&dag)
}
