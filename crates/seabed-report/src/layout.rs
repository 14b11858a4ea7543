//! The positions of the nodes of a graph: in layers, causes above effects, or on a circle if there are many.
//!
//! Truth and belief share the same positions. A cyclic graph is laid out as if the edges that close its cycles did not
//! exist.

use crate::model::RunView;
use crate::svg::text_width;

/// The maximum number of variables drawn in layers, and of rows.
const LAYERED_UP_TO: usize = 30;
const MOST_ROWS: usize = 11;

/// Positions of all nodes on a page of `width` by `height`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Layout {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) centres: Vec<(f64, f64)>,
    /// Half the width and half the height of each node's shape.
    pub(crate) halves: Vec<(f64, f64)>,
    /// On a circle, names are outside their nodes; in layers, inside.
    pub(crate) circular: bool,
}

/// The width available for a name inside a node, in layers.
pub(crate) const NAME_WIDTH: f64 = 46.0;

/// Positions based on the truth if it is known, else on the edges that are more likely than not.
pub(crate) fn layout(run: &RunView) -> Layout {
    let nodes = run.names.len();
    let edge = |i: usize, j: usize| i != j && run.is_true(i, j).unwrap_or(run.probability(i, j) >= 0.5);
    let parents: Vec<Vec<usize>> = (0..nodes).map(|j| (0..nodes).filter(|&i| edge(i, j)).collect()).collect();
    let parents = without_cycles(&parents);
    let rows = rows(&parents);
    if nodes > LAYERED_UP_TO || rows.len() > MOST_ROWS {
        circle(&neighbourly(&parents))
    } else {
        layers(run, &rows)
    }
}

/// The same graph without the edges that close cycles in a depth-first walk from child to parent.
fn without_cycles(parents: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut kept = vec![Vec::new(); parents.len()];
    // 0: not seen, 1: on the path of the walk, 2: done.
    let mut state = vec![0u8; parents.len()];
    for start in 0..parents.len() {
        if state[start] != 0 {
            continue;
        }
        state[start] = 1;
        let mut path = vec![(start, 0)];
        while let Some(&mut (node, ref mut next)) = path.last_mut() {
            let Some(&parent) = parents[node].get(*next) else {
                state[node] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            if state[parent] != 1 {
                kept[node].push(parent);
            }
            if state[parent] == 0 {
                state[parent] = 1;
                path.push((parent, 0));
            }
        }
    }
    kept
}

/// Nodes by the length of the longest path that leads to them, a long layer in several rows, nodes without
/// neighbours last; within a row near their parents and children.
fn rows(parents: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let nodes = parents.len();
    let children: Vec<Vec<usize>> =
        (0..nodes).map(|i| (0..nodes).filter(|&j| parents[j].contains(&i)).collect()).collect();
    let mut depth = vec![0; nodes];
    // As many passes as the longest path has edges.
    while let Some(node) = (0..nodes).find(|&v| parents[v].iter().any(|&p| depth[p] + 1 > depth[v])) {
        depth[node] = parents[node].iter().map(|&p| depth[p] + 1).max().unwrap_or(0);
    }
    let alone = |v: usize| parents[v].is_empty() && children[v].is_empty();
    let deepest = depth.iter().copied().max().unwrap_or(0);
    let layers =
        (0..=deepest).map(|at| (0..nodes).filter(|&v| depth[v] == at && !alone(v)).collect::<Vec<_>>());
    let rest: Vec<usize> = (0..nodes).filter(|&v| alone(v)).collect();
    let mut rows: Vec<Vec<usize>> = layers.chain([rest]).flat_map(|layer| evenly(&layer, 6)).collect();
    let mut place = vec![0.0; nodes];
    let stand = |rows: &[Vec<usize>], place: &mut Vec<f64>| {
        for row in rows {
            for (k, &v) in row.iter().enumerate() {
                place[v] = (k as f64 + 0.5) / row.len() as f64;
            }
        }
    };
    stand(&rows, &mut place);
    for sweep in 0..8 {
        let neighbours = if sweep % 2 == 0 { parents } else { &children };
        for r in 0..rows.len() {
            let r = if sweep % 2 == 0 { r } else { rows.len() - 1 - r };
            let middle = |v: &usize| {
                let near = &neighbours[*v];
                let sum: f64 = near.iter().map(|&u| place[u]).sum();
                if near.is_empty() { place[*v] } else { sum / near.len() as f64 }
            };
            rows[r].sort_by(|a, b| middle(a).total_cmp(&middle(b)));
            stand(&rows[r..=r], &mut place);
        }
    }
    rows
}

/// Pieces of at most `most`, about equally long.
fn evenly(nodes: &[usize], most: usize) -> Vec<Vec<usize>> {
    let pieces = nodes.len().div_ceil(most).max(1);
    nodes.chunks(nodes.len().div_ceil(pieces).max(1)).map(<[usize]>::to_vec).collect()
}

fn layers(run: &RunView, rows: &[Vec<usize>]) -> Layout {
    let nodes = run.names.len();
    let width = 360.0;
    let spacing = if rows.len() > 7 { 50.0 } else { 62.0 };
    let mut centres = vec![(0.0, 0.0); nodes];
    for (r, row) in rows.iter().enumerate() {
        for (k, &v) in row.iter().enumerate() {
            // Shift every other row a little, so that straight edges run beside nodes and not through them.
            let shift = if r % 2 == 0 { -6.0 } else { 6.0 };
            let x = (k as f64 + 0.5) / row.len() as f64 * (width - 12.0) + 6.0 + shift;
            centres[v] = (x, 26.0 + r as f64 * spacing);
        }
    }
    let half = |name: &String| ((text_width(name, 12.0).min(NAME_WIDTH) / 2.0 + 5.0).max(13.0), 11.0);
    let halves = run.names.iter().map(half).collect();
    let height = 52.0 + rows.len().saturating_sub(1) as f64 * spacing;
    Layout { width, height, centres, halves, circular: false }
}

/// An order in which neighbours are close: a depth-first walk that takes edges either way.
fn neighbourly(parents: &[Vec<usize>]) -> Vec<usize> {
    let nodes = parents.len();
    let near =
        |v: usize| (0..nodes).rev().filter(move |&u| parents[v].contains(&u) || parents[u].contains(&v));
    let mut order = Vec::with_capacity(nodes);
    let mut seen = vec![false; nodes];
    let mut waiting: Vec<usize> = (0..nodes).rev().collect();
    while let Some(v) = waiting.pop() {
        if !std::mem::replace(&mut seen[v], true) {
            order.push(v);
            waiting.extend(near(v).filter(|&u| !seen[u]));
        }
    }
    order
}

fn circle(order: &[usize]) -> Layout {
    let nodes = order.len();
    let (size, radius) = (420.0, 138.0);
    let mut centres = vec![(0.0, 0.0); nodes];
    for (k, &v) in order.iter().enumerate() {
        let angle = (k as f64 / nodes as f64 - 0.25) * std::f64::consts::TAU;
        centres[v] = (size / 2.0 + radius * angle.cos(), size / 2.0 + radius * angle.sin());
    }
    Layout { width: size, height: size, centres, halves: vec![(3.5, 3.5); nodes], circular: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(nodes: usize, edges: &[(usize, usize)]) -> RunView {
        let mut truth = vec![vec![false; nodes]; nodes];
        for &(i, j) in edges {
            truth[i][j] = true;
        }
        RunView {
            names: (0..nodes).map(|i| format!("X{i}")).collect(),
            truth: Some(truth),
            ..RunView::default()
        }
    }

    #[test]
    fn causes_stand_above_effects_and_nodes_apart() {
        let edges = [(3, 1), (1, 0), (3, 0), (2, 0), (0, 4), (5, 4), (6, 4), (6, 1)];
        let places = layout(&run(9, &edges));
        for (i, j) in edges {
            assert!(places.centres[i].1 < places.centres[j].1, "{i} -> {j}");
        }
        for i in 0..9 {
            for j in 0..i {
                let (a, b) = (places.centres[i], places.centres[j]);
                let apart =
                    (a.0 - b.0).abs() > places.halves[i].0 + places.halves[j].0 || (a.1 - b.1).abs() > 30.0;
                assert!(apart, "{i} and {j}: {a:?} {b:?}");
            }
        }
    }

    #[test]
    fn cycles_many_nodes_and_none_have_places() {
        let ring: Vec<_> = (0..6).map(|i| (i, (i + 1) % 6)).chain([(2, 2), (3, 2)]).collect();
        assert!(!layout(&run(6, &ring)).circular);
        let chain: Vec<_> = (0..29).map(|i| (i, i + 1)).collect();
        assert!(layout(&run(30, &chain)).circular);
        assert!(layout(&run(50, &chain)).circular);
        assert!(layout(&run(0, &[])).centres.is_empty());
        for nodes in [1, 7, 30, 50] {
            let places = layout(&run(nodes, &[]));
            let inside = |c: &(f64, f64)| c.0 > 0.0 && c.0 < places.width && c.1 > 0.0 && c.1 < places.height;
            assert!(places.centres.iter().all(inside));
        }
    }
}
