//! One structural causal model: graph, mechanisms, noise; sampling and log-density under interventions.

use smallvec::SmallVec;

use super::{Intervention, Mechanism};
use crate::data::{Dataset, MOST_VALUE, Names};
use crate::graph::{Dag, Node, NodeSet};
use crate::num::random::Stream;

/// X_j = f_j(parents of j) + N(0, noise_sd_j²), for every variable j.
#[derive(Clone, PartialEq, Debug)]
pub struct Scm {
    names: Names,
    dag: Dag,
    /// Parents before children.
    order: Vec<Node>,
    /// `parents[j]`, ascending: the order of the mechanism's weights.
    parents: Vec<Vec<Node>>,
    mechanisms: Vec<Mechanism>,
    noise_sd: Vec<f64>,
}

/// Why parts are not a model.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ScmError {
    /// Nothing to model.
    #[error("a model needs at least one variable")]
    NoVariables,
    /// The parts have different numbers of variables.
    #[error(
        "{names} names, {nodes} nodes, {mechanisms} mechanisms and {noises} noise levels: these numbers must be equal"
    )]
    Counts {
        /// Number of names.
        names: usize,
        /// Number of nodes of the graph.
        nodes: usize,
        /// Number of mechanisms.
        mechanisms: usize,
        /// Number of noise standard deviations.
        noises: usize,
    },
    /// The mechanism has weights for another number of parents.
    #[error(
        "the mechanism of {name:?} does not fit its {parents} parents: one weight (linear) or one row of hidden weights (mlp) per parent, and as many b1 as w2; waves have one weight and one row of frequencies per parent, and as many phases as amplitudes"
    )]
    Shape {
        /// The variable.
        name: String,
        /// Number of its parents.
        parents: usize,
    },
    /// A parameter is NaN or infinite.
    #[error("the mechanism of {name:?} has the parameter {value}: parameters must be finite")]
    NotFinite {
        /// The variable.
        name: String,
        /// The parameter.
        value: f64,
    },
    /// A noise level that cannot be computed with.
    #[error(
        "the noise_sd of {name:?} is {value:e}: densities can be computed from {LEAST_NOISE:e} to {MOST_VALUE:e}; use \
         another unit"
    )]
    ExtremeNoise {
        /// The variable.
        name: String,
        /// The standard deviation.
        value: f64,
    },
    /// A noise level that is not a positive number.
    #[error("the noise_sd of {name:?} is {value}: standard deviations must be positive and finite")]
    Noise {
        /// The variable.
        name: String,
        /// The standard deviation.
        value: f64,
    },
}

/// The square of a smaller standard deviation soon vanishes.
const LEAST_NOISE: f64 = 1e-150;

/// Samples whose means are kept at a time while a density is summed up.
const BLOCK: usize = 128;

/// The values of a node's parents, in order; most nodes have few.
type ParentValues<'a> = SmallVec<[&'a [f64]; 8]>;

impl Scm {
    /// A model from its parts, each in the order of `names`: mechanisms take the parents in ascending order.
    pub fn new(
        names: Names,
        dag: Dag,
        mechanisms: Vec<Mechanism>,
        noise_sd: Vec<f64>,
    ) -> Result<Self, ScmError> {
        let counts = (names.len(), dag.len(), mechanisms.len(), noise_sd.len());
        if counts.0 != counts.1 || counts.0 != counts.2 || counts.0 != counts.3 {
            let (names, nodes, mechanisms, noises) = counts;
            return Err(ScmError::Counts { names, nodes, mechanisms, noises });
        }
        if names.is_empty() {
            return Err(ScmError::NoVariables);
        }
        for (node, name) in names.iter().enumerate() {
            let parents = dag.parents(node).len();
            if !mechanisms[node].fits(parents) {
                return Err(ScmError::Shape { name: name.clone(), parents });
            }
            if let Some(value) = mechanisms[node].parameters().find(|value| !value.is_finite()) {
                return Err(ScmError::NotFinite { name: name.clone(), value });
            }
            let value = noise_sd[node];
            if !(value > 0.0 && value.is_finite()) {
                return Err(ScmError::Noise { name: name.clone(), value });
            }
        }
        let order = dag.topological_order();
        let parents = (0..dag.len()).map(|node| dag.parents(node).iter().collect()).collect();
        Ok(Self { names, dag, order, parents, mechanisms, noise_sd })
    }

    /// The same model, unless its densities leave the range of numbers: fits make no such models, but files may hold them.
    pub(super) fn computable(self) -> Result<Self, ScmError> {
        let extreme = |sd: &f64| !(LEAST_NOISE..=MOST_VALUE).contains(sd);
        match self.noise_sd.iter().position(extreme) {
            None => Ok(self),
            Some(node) => {
                let (name, value) = (self.names[node].clone(), self.noise_sd[node]);
                Err(ScmError::ExtremeNoise { name, value })
            }
        }
    }

    /// The variables' names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The causal graph.
    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    /// The mechanism of a variable; its weights follow the parents in ascending order.
    pub fn mechanism(&self, node: Node) -> &Mechanism {
        &self.mechanisms[node]
    }

    /// The noise standard deviation of every variable.
    pub fn noise_sd(&self) -> &[f64] {
        &self.noise_sd
    }

    /// `samples` outcomes of an experiment, as columns `[variables][samples]`.
    ///
    /// The noise of a variable depends on the stream and the variable's name alone: the same stream gives the same
    /// noise to every intervention, and the order of the variables does not matter.
    pub fn sample(&self, samples: usize, intervention: &Intervention, stream: Stream) -> Vec<Vec<f64>> {
        self.sample_while(samples, intervention, stream, |_| true).expect("nothing stops it")
    }

    /// As [`Scm::sample`]; `go_on` is asked before every variable, with the number of those that are done, and none is
    /// returned once it says no.
    pub fn sample_while(
        &self,
        samples: usize,
        intervention: &Intervention,
        stream: Stream,
        mut go_on: impl FnMut(usize) -> bool,
    ) -> Option<Vec<Vec<f64>>> {
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); self.names.len()];
        let mut noise = vec![0.0; samples];
        for (done, &node) in self.order.iter().enumerate() {
            if !go_on(done) {
                return None;
            }
            if let Some(value) = intervention.value(node) {
                columns[node] = vec![value; samples];
                continue;
            }
            stream.named(&self.names[node]).fill_normal(&mut noise);
            let mut column = vec![0.0; samples];
            self.means(node, &columns, &mut column);
            for (x, z) in column.iter_mut().zip(&noise) {
                *x += self.noise_sd[node] * z;
            }
            columns[node] = column;
        }
        Some(columns)
    }

    /// The means of a variable given its parents, for every sample; `columns` is `[variables][samples]`, of which
    /// only the parents' columns are read.
    pub fn means<C: AsRef<[f64]>>(&self, node: Node, columns: &[C], out: &mut [f64]) {
        self.means_of(node, self.parents[node].iter().map(|&parent| columns[parent].as_ref()), out);
    }

    /// The means of a variable given the values of its parents, in ascending order of the parents.
    pub fn means_of<'a>(&self, node: Node, parents: impl Iterator<Item = &'a [f64]>, out: &mut [f64]) {
        let parents: ParentValues = parents.collect();
        self.mechanisms[node].means(&parents, out);
    }

    /// Adds log p(x_node | parents) of every sample to `out`.
    pub fn add_log_density_of<C: AsRef<[f64]>>(&self, node: Node, columns: &[C], out: &mut [f64]) {
        let values = columns[node].as_ref();
        let parents = self.parent_values(node, columns);
        let sd = self.noise_sd[node];
        let constant = -sd.ln() - 0.5 * std::f64::consts::TAU.ln();
        let mut means = [0.0; BLOCK];
        for (start, block) in blocks(out) {
            let means = &mut means[..block.len()];
            self.mechanisms[node].means(&from(&parents, start, block.len()), means);
            for ((sum, x), mean) in block.iter_mut().zip(&values[start..]).zip(means) {
                let z = (x - *mean) / sd;
                *sum += constant - 0.5 * z * z;
            }
        }
    }

    /// log p(x | do(targets)) of every sample: the sum over the variables that are not targets.
    /// `columns` is `[variables][samples]`.
    pub fn log_density<C: AsRef<[f64]>>(&self, columns: &[C], targets: &NodeSet) -> Vec<f64> {
        let samples = columns.first().map_or(0, |column| column.as_ref().len());
        let mut sums = vec![0.0; samples];
        for node in (0..self.names.len()).filter(|&node| !targets.contains(node)) {
            self.add_log_density_of(node, columns, &mut sums);
        }
        sums
    }

    /// log p(row | do(the row's own targets)) of every row: a variable's term is left out where it was a target.
    /// `data` has the model's variables in the model's order.
    pub fn log_density_of_rows(&self, data: &Dataset) -> Vec<f64> {
        let mut sums = vec![0.0; data.rows()];
        let mut terms = vec![0.0; data.rows()];
        for node in 0..self.names.len() {
            terms.fill(0.0);
            self.add_log_density_of(node, data.columns(), &mut terms);
            let is_target: Vec<bool> = data.regimes().iter().map(|regime| regime.contains(node)).collect();
            for ((sum, term), &regime) in sums.iter_mut().zip(&terms).zip(data.regime_of_row()) {
                *sum += if is_target[regime as usize] { 0.0 } else { *term };
            }
        }
        sums
    }

    /// The same model in other units: every variable becomes (x - mean) / scale. Scales are positive.
    pub fn rescaled(&self, means: &[f64], scales: &[f64]) -> Result<Self, ScmError> {
        let unit = |node: Node| (means[node], scales[node]);
        let mechanism = |node: Node| {
            let parents: Vec<_> = self.parents[node].iter().map(|&parent| unit(parent)).collect();
            self.mechanisms[node].rescaled(unit(node), &parents)
        };
        let nodes = 0..self.names.len();
        let mechanisms = nodes.clone().map(mechanism).collect();
        let noise_sd = nodes.map(|node| self.noise_sd[node] / scales[node]).collect();
        Self::new(self.names.clone(), self.dag.clone(), mechanisms, noise_sd)
    }

    /// The same model with its variables in another order: variable k of the result is the one that was `from[k]`.
    #[must_use]
    pub fn reordered(&self, names: &Names, from: &[Node]) -> Self {
        let mut to = vec![0; from.len()];
        for (k, &node) in from.iter().enumerate() {
            to[node] = k;
        }
        let dag = self.dag.relabelled(&to);
        let mechanism = |node: Node| {
            let before = &self.parents[from[node]];
            let place =
                |parent: Node| before.iter().position(|&p| p == from[parent]).expect("the same parents");
            let order: Vec<usize> = dag.parents(node).iter().map(place).collect();
            self.mechanisms[from[node]].with_parents(&order)
        };
        let mechanisms = (0..from.len()).map(mechanism).collect();
        let noise_sd = from.iter().map(|&node| self.noise_sd[node]).collect();
        Self::new(names.clone(), dag, mechanisms, noise_sd).expect("reordering keeps a model valid")
    }

    fn parent_values<'a, C: AsRef<[f64]>>(&self, node: Node, columns: &'a [C]) -> ParentValues<'a> {
        self.parents[node].iter().map(|&parent| columns[parent].as_ref()).collect()
    }
}

/// The blocks of a slice with the place where each starts.
fn blocks(out: &mut [f64]) -> impl Iterator<Item = (usize, &mut [f64])> {
    out.chunks_mut(BLOCK).enumerate().map(|(k, block)| (k * BLOCK, block))
}

fn from<'a>(parents: &ParentValues<'a>, start: usize, len: usize) -> ParentValues<'a> {
    parents.iter().map(|column| &column[start..start + len]).collect()
}
