//! The prior over graphs, evaluated at edge probabilities: how many edges there are, and how they cluster.

use serde::{Deserialize, Serialize};

/// Which graphs are likely before any data.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphPrior {
    /// Every edge with the same probability: `edges_per_node` of them are expected for each variable.
    Er {
        /// Expected number of edges for each variable.
        edges_per_node: f64,
    },
    /// A variable with k parents has a weight (1 + k)⁻³: few of them have many.
    Sf,
}

/// An acyclic graph can have an edge in at most one of two directions; a lower probability would in effect forbid edges.
const PROBABILITIES: (f64, f64) = (1e-6, 0.5);

impl GraphPrior {
    /// Log-density of a matrix of probabilities, `[to * nodes + from]`, up to a constant; its gradient is added to
    /// `gradient`.
    pub(super) fn add_gradient(&self, probabilities: &[f64], nodes: usize, gradient: &mut [f64]) -> f64 {
        match self {
            Self::Er { edges_per_node } => {
                let pairs = nodes * nodes.saturating_sub(1);
                let p = edges_per_node / (nodes.max(2) - 1) as f64;
                erdos_renyi(probabilities, p, pairs as f64, gradient)
            }
            Self::Sf => scale_free(probabilities, nodes, gradient),
        }
    }

    /// Log-probability of a variable with this many parents, up to a constant: the sum over all variables is that of
    /// the graph.
    pub(super) fn of_column(&self, parents: usize, nodes: usize) -> f64 {
        match self {
            Self::Er { edges_per_node } => {
                let p = (edges_per_node / (nodes.max(2) - 1) as f64).clamp(PROBABILITIES.0, PROBABILITIES.1);
                parents as f64 * (p / (1.0 - p)).ln()
            }
            Self::Sf => -3.0 * (1.0 + parents as f64).ln(),
        }
    }
}

/// E ln p + (pairs - E) ln(1 - p), E = the sum of the probabilities.
pub(super) fn erdos_renyi(probabilities: &[f64], p: f64, pairs: f64, gradient: &mut [f64]) -> f64 {
    let p = p.clamp(PROBABILITIES.0, PROBABILITIES.1);
    let edges: f64 = probabilities.iter().sum();
    let (present, absent) = (p.ln(), (1.0 - p).ln());
    for slope in gradient.iter_mut() {
        *slope += present - absent;
    }
    edges * present + (pairs - edges) * absent
}

/// Σ_j -3 ln(1 + expected number of parents of j).
fn scale_free(probabilities: &[f64], nodes: usize, gradient: &mut [f64]) -> f64 {
    let mut value = 0.0;
    for (column, slopes) in probabilities.chunks_exact(nodes).zip(gradient.chunks_exact_mut(nodes)) {
        let total = 1.0 + column.iter().sum::<f64>();
        value -= 3.0 * total.ln();
        for slope in slopes {
            *slope -= 3.0 / total;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences between two graphs are those of their columns.
    #[test]
    fn columns_add_up_to_the_graph() {
        let nodes = 4;
        let graph = |parents: [usize; 4]| -> Vec<f64> {
            let column =
                |to: usize| (0..nodes).map(move |k| if k > 0 && k <= parents[to] { 1.0 } else { 0.0 });
            (0..nodes).flat_map(column).collect()
        };
        for prior in
            [GraphPrior::Er { edges_per_node: 0.7 }, GraphPrior::Er { edges_per_node: 9.0 }, GraphPrior::Sf]
        {
            let whole = |parents| prior.add_gradient(&graph(parents), nodes, &mut vec![0.0; nodes * nodes]);
            let columns =
                |parents: [usize; 4]| parents.iter().map(|&k| prior.of_column(k, nodes)).sum::<f64>();
            let (a, b) = ([0, 1, 2, 3], [2, 0, 0, 1]);
            assert!((whole(a) - whole(b) - columns(a) + columns(b)).abs() < 1e-12);
        }
    }
}
