//! Random structural causal models as in the paper's synthetic experiments.
//!
//! The graph, the parameters and the noise levels of a world are functions of the seed alone.

use crate::data::Names;
use crate::graph::{Dag, RandomGraphError, chain, erdos_renyi, random_tree, scale_free};
use crate::num::random::{Draws, Purpose, Seed};
use crate::scm::{Intervention, Linear, Mechanism, Mlp, Scm, ScmError};

/// What kind of world to draw.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Synthetic {
    /// The family of graphs.
    pub graph: GraphKind,
    /// Number of variables, called X1, X2, ….
    pub nodes: usize,
    /// Edges per variable: for SF a positive integer; for ER any positive number, which is expected before graphs
    /// with cycles are ruled out: the denser the graphs, the fewer edges remain. Trees and chains do not use it.
    pub edges_per_node: f64,
    /// The family of mechanisms.
    pub mechanism: MechanismKind,
    /// Noise of the variables, in the units before standardising.
    pub noise: NoiseLevels,
    /// Bring every variable to mean 0 and standard deviation 1 when it is only observed.
    pub standardised: bool,
}

/// Families of random graphs; all have an equivalence class with at least two members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphKind {
    /// Erdős–Rényi: every ordered pair is an edge with the same probability, given that there is no cycle.
    Er,
    /// Scale-free, by preferential attachment: edges go from later to earlier variables, hubs have many parents.
    Sf,
    /// A random tree whose edges point away from a random root; all such trees are equally likely.
    Tree,
    /// X1, X2, … along a path, with edges that point outward from its middle.
    Chain,
}

/// Families of mechanisms.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MechanismKind {
    /// Weighted sums without intercept.
    Linear(LinearWeights),
    /// Networks with one layer of rectified linear units; all weights and biases standard normal.
    Mlp {
        /// Number of hidden units.
        hidden: usize,
    },
}

/// Distributions of linear weights.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LinearWeights {
    /// N(2, 1), as the paper's reference code.
    Normal,
    /// Uniform on [least, most].
    Uniform {
        /// Lower end, at least 0.
        least: f64,
        /// Upper end.
        most: f64,
        /// With either sign, equally likely?
        signed: bool,
    },
}

/// Noise standard deviations of the variables.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum NoiseLevels {
    /// The same for all.
    Equal(f64),
    /// In equal steps from this level for the first variable to ten times this level for the last.
    Unequal(f64),
    /// 1 for variables without parents, this level for the others.
    Roots(f64),
    /// Variances drawn uniformly from 0 to the square of this level.
    Random(f64),
}

/// A world that cannot be drawn.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum SyntheticError {
    /// No graph of that kind.
    #[error(transparent)]
    Graph(#[from] RandomGraphError),
    /// Scale-free graphs attach a whole number of edges.
    #[error("a scale-free graph takes a whole number of edges per node, at least 1, not {0}")]
    EdgesNotWhole(f64),
    /// Parameters outside their range; with extreme ones the values of a deep graph overflow.
    #[error(transparent)]
    Model(#[from] ScmError),
}

/// The scale of a standardised world is estimated from this many observations in each of so many rounds: means and
/// standard deviations are accurate to about a quarter of a percent.
const SCALE_SAMPLES: usize = 4_000;
const SCALE_ROUNDS: u64 = 50;

impl Synthetic {
    /// The names of this many variables: X1, X2, ….
    pub fn names(nodes: usize) -> Names {
        (1..=nodes).map(|k| format!("X{k}")).collect()
    }

    /// Draws a world.
    pub fn draw(&self, seed: Seed) -> Result<Scm, SyntheticError> {
        let dag = self.draw_graph(seed)?;
        let mut draws = seed.stream(Purpose::Parameters).draws();
        let mechanisms =
            (0..self.nodes).map(|node| self.draw_mechanism(dag.parents(node).len(), &mut draws)).collect();
        let noise_sd = self.noise.of_nodes(&dag, seed);
        let scm = Scm::new(Self::names(self.nodes), dag, mechanisms, noise_sd)?;
        if self.standardised { standardised(&scm, seed) } else { Ok(scm) }
    }

    fn draw_graph(&self, seed: Seed) -> Result<Dag, SyntheticError> {
        let stream = seed.stream(Purpose::Graph);
        match self.graph {
            GraphKind::Er => Ok(erdos_renyi(self.nodes, self.edges_per_node, stream)?),
            GraphKind::Tree => Ok(random_tree(self.nodes, stream)?),
            GraphKind::Chain => Ok(chain(self.nodes)?),
            GraphKind::Sf => {
                let edges = self.edges_per_node;
                if !(edges >= 1.0 && edges.fract() == 0.0 && edges <= f64::from(u32::MAX)) {
                    return Err(SyntheticError::EdgesNotWhole(edges));
                }
                Ok(scale_free(self.nodes, edges as usize, stream)?)
            }
        }
    }

    fn draw_mechanism(&self, parents: usize, draws: &mut Draws) -> Mechanism {
        match self.mechanism {
            MechanismKind::Linear(weights) => {
                let weights = (0..parents).map(|_| weights.draw(draws)).collect();
                Mechanism::Linear(Linear { weights, intercept: 0.0 })
            }
            MechanismKind::Mlp { hidden } => {
                let mut normals = |count: usize| (0..count).map(|_| draws.normal()).collect();
                let (w1, b1, w2) = (normals(parents * hidden), normals(hidden), normals(hidden));
                Mechanism::Mlp(Mlp { w1, b1, w2, b2: draws.normal() })
            }
        }
    }
}

impl LinearWeights {
    /// Uniform on [-2, -0.5] ∪ [0.5, 2].
    pub const UNIFORM: Self = Self::Uniform { least: 0.5, most: 2.0, signed: true };

    fn draw(self, draws: &mut Draws) -> f64 {
        match self {
            Self::Normal => 2.0 + draws.normal(),
            Self::Uniform { least, most, signed } => {
                let sign = if signed && draws.below(2) == 0 { -1.0 } else { 1.0 };
                sign * (least + (most - least) * draws.uniform())
            }
        }
    }
}

impl NoiseLevels {
    fn of_nodes(self, dag: &Dag, seed: Seed) -> Vec<f64> {
        let nodes = dag.len();
        match self {
            Self::Equal(sd) => vec![sd; nodes],
            Self::Unequal(least) => {
                let last = nodes.saturating_sub(1).max(1) as f64;
                (0..nodes).map(|node| least * (1.0 + 9.0 * node as f64 / last)).collect()
            }
            Self::Roots(sd) => {
                (0..nodes).map(|node| if dag.parents(node).is_empty() { 1.0 } else { sd }).collect()
            }
            Self::Random(most) => {
                // Apart from the weights, which stay the same whatever the noise.
                let mut draws = seed.stream(Purpose::Parameters).named("noise levels").draws();
                (0..nodes).map(|_| most * draws.uniform().sqrt()).collect()
            }
        }
    }
}

fn standardised(scm: &Scm, seed: Seed) -> Result<Scm, SyntheticError> {
    let nodes = scm.names().len();
    let n = SCALE_SAMPLES as f64;
    let (mut means, mut variances) = (vec![0.0; nodes], vec![0.0; nodes]);
    for round in 0..SCALE_ROUNDS {
        let stream = seed.stream(Purpose::Scale).at(round);
        let columns = scm.sample(SCALE_SAMPLES, &Intervention::none(), stream);
        // Moments of this round and of all before it, joined.
        let share = 1.0 / (round + 1) as f64;
        for (node, column) in columns.iter().enumerate() {
            let mean = column.iter().sum::<f64>() / n;
            let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            let shift = mean - means[node];
            means[node] += share * shift;
            variances[node] += share * (variance - variances[node] + (1.0 - share) * shift * shift);
        }
    }
    let scales: Vec<f64> = variances.into_iter().map(f64::sqrt).collect();
    Ok(scm.rescaled(&means, &scales)?)
}
