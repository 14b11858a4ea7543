//! Weighted graphs over the same variables, and for every node the law of its value under each set of parents it has.

use std::collections::HashMap;

use super::given::Conditional;
use crate::data::{Dataset, Names, check_names};
use crate::graph::{Dag, Node, NodeSet};
use crate::num::sum_in_order;
use crate::scm;

/// A belief about the graph, with parameters integrated out: distinct graphs, the heaviest first, weights positive with
/// sum 1; and for every node the laws given its sets of parents, each of which some graph has.
#[derive(Clone, Debug)]
pub struct GraphBelief {
    names: Names,
    graphs: Vec<Dag>,
    weights: Vec<f64>,
    /// `[node][family]`.
    families: Vec<Vec<Family>>,
    /// `[graph][node]`, indices into the families of the node.
    family_of: Vec<Vec<u32>>,
    /// The rows that processes were given, from which they are made again when a file is read.
    data: Option<Dataset>,
}

/// A node's parents, and the law of its value given theirs.
#[derive(Clone, Debug)]
pub struct Family {
    /// The parents, in the order in which the law takes their values.
    pub parents: Vec<Node>,
    /// The law.
    pub conditional: Conditional,
}

/// Parts that make no belief about graphs.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum BeliefError {
    /// The names are no names.
    #[error(transparent)]
    Names(#[from] crate::data::NameError),
    /// No graph at all.
    #[error("a belief needs at least one graph with a weight above 0")]
    Empty,
    /// A weight that is no weight.
    #[error("graph {graph} has the weight {weight}: weights are finite numbers, 0 or more")]
    Weight {
        /// The graph, counted from 0.
        graph: usize,
        /// Its weight.
        weight: f64,
    },
    /// A graph or a list of families over other variables.
    #[error("graph {graph} has {got} nodes, but there are {names} names")]
    Nodes {
        /// The graph, counted from 0.
        graph: usize,
        /// Its nodes.
        got: usize,
        /// The variables.
        names: usize,
    },
    /// Not one list of families for every node.
    #[error("families of {got} nodes, but there are {names} names")]
    Families {
        /// Nodes with families.
        got: usize,
        /// The variables.
        names: usize,
    },
    /// A family whose parents are none.
    #[error("{node:?} has a family whose parents are not distinct other variables")]
    Parents {
        /// The node.
        node: String,
    },
    /// A set of parents twice.
    #[error("{node:?} has two families with the parents {}", show(parents))]
    Twice {
        /// The node.
        node: String,
        /// The parents.
        parents: Vec<String>,
    },
    /// A law that does not fit its parents.
    #[error(
        "the law of {node:?} given {} is of {law} parents, or its numbers do not fit together",
        show(parents)
    )]
    Law {
        /// The node.
        node: String,
        /// The parents.
        parents: Vec<String>,
        /// Parents of the law.
        law: usize,
    },
    /// A graph without its family.
    #[error("graph {graph} gives {node:?} the parents {}, for which there is no family", show(parents))]
    Missing {
        /// The graph, counted from 0.
        graph: usize,
        /// The node.
        node: String,
        /// The parents.
        parents: Vec<String>,
    },
    /// Processes without their rows.
    #[error("laws that are Gaussian processes come with the data they were given, over the same variables")]
    Data,
    /// Another order of other names.
    #[error("the new order of variables must have the same names")]
    OtherNames,
}

fn show(parents: &[String]) -> String {
    if parents.is_empty() { "no parents".into() } else { parents.join(", ") }
}

impl GraphBelief {
    /// A belief of weighted graphs. Equal graphs are merged, weights are brought to sum 1, graphs whose weight is 0 and
    /// families that no graph has are left out. `families[node]` are in any order; `data` is what processes were given.
    pub fn new(
        names: Names,
        graphs: Vec<(Dag, f64)>,
        families: Vec<Vec<Family>>,
        data: Option<Dataset>,
    ) -> Result<Self, BeliefError> {
        check_names(&names)?;
        let nodes = names.len();
        if families.len() != nodes {
            return Err(BeliefError::Families { got: families.len(), names: nodes });
        }
        let mut places: Vec<HashMap<NodeSet, u32>> = Vec::new();
        for (node, families) in families.iter().enumerate() {
            let mut of_node = HashMap::new();
            for (place, family) in families.iter().enumerate() {
                let set = check_family(&names, node, family)?;
                if of_node.insert(set.clone(), place as u32).is_some() {
                    return Err(BeliefError::Twice {
                        node: names[node].clone(),
                        parents: named(&names, &set),
                    });
                }
            }
            places.push(of_node);
        }
        let processes = families.iter().flatten().any(|f| matches!(f.conditional, Conditional::Process(_)));
        if processes && data.as_ref().is_none_or(|data| data.names() != &names) {
            return Err(BeliefError::Data);
        }
        let (graphs, weights) = merged(graphs, nodes)?;
        let mut family_of = Vec::with_capacity(graphs.len());
        for (graph, dag) in graphs.iter().enumerate() {
            let place = |node: Node| {
                places[node].get(dag.parents(node)).copied().ok_or_else(|| BeliefError::Missing {
                    graph,
                    node: names[node].clone(),
                    parents: named(&names, dag.parents(node)),
                })
            };
            family_of.push((0..nodes).map(place).collect::<Result<Vec<u32>, _>>()?);
        }
        let mut belief =
            Self { names, graphs, weights, families, family_of, data: data.filter(|_| processes) };
        belief.drop_unused_families();
        Ok(belief)
    }

    fn drop_unused_families(&mut self) {
        for (node, families) in self.families.iter_mut().enumerate() {
            let mut used = vec![false; families.len()];
            self.family_of.iter().for_each(|of_node| used[of_node[node] as usize] = true);
            let mut next = 0;
            let places: Vec<u32> = used.iter().map(|&used| (next, next += u32::from(used)).0).collect();
            self.family_of.iter_mut().for_each(|of| of[node] = places[of[node] as usize]);
            let mut used = used.into_iter();
            families.retain(|_| used.next().unwrap_or(false));
        }
    }

    /// The variables' names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The graphs, distinct.
    pub fn graphs(&self) -> &[Dag] {
        &self.graphs
    }

    /// The weights of the graphs, with sum 1, in descending order.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The families of a node: its sets of parents among the graphs, each with the law of its value.
    pub fn families(&self, node: Node) -> &[Family] {
        &self.families[node]
    }

    /// For every node, which of its families a graph has.
    pub fn family_of(&self, graph: usize) -> &[u32] {
        &self.family_of[graph]
    }

    pub(super) fn data(&self) -> Option<&Dataset> {
        self.data.as_ref()
    }

    /// `[i][j]` = probability of the edge `i -> j`, to 12 decimals: exactly 0 where no graph has it, exactly 1 where all
    /// have it.
    pub fn edge_probabilities(&self) -> Vec<Vec<f64>> {
        scm::edge_probabilities(self.names.len(), self.graphs.iter().zip(self.weights.iter().copied()))
    }

    /// H(w) = -Σ w ln w, in nats: the most that can be learned about the graph.
    pub fn entropy(&self) -> f64 {
        -self.weights.iter().map(|weight| weight * weight.ln()).sum::<f64>()
    }

    /// 1/Σ w²: as many graphs of equal weight would be as thin.
    pub fn effective_graphs(&self) -> f64 {
        1.0 / self.weights.iter().map(|weight| weight * weight).sum::<f64>()
    }

    /// The same belief with the variables in another order; laws stay as they are, to the bit.
    pub fn reordered(&self, names: &Names) -> Result<Self, BeliefError> {
        let place = |name: &String| names.iter().position(|other| other == name);
        let to: Option<Vec<Node>> = self.names.iter().map(place).collect();
        let to = to.filter(|_| names.len() == self.names.len()).ok_or(BeliefError::OtherNames)?;
        let mut from = vec![0; to.len()];
        to.iter().enumerate().for_each(|(node, &place)| from[place] = node);
        let family = |family: &Family| Family {
            parents: family.parents.iter().map(|&parent| to[parent]).collect(),
            conditional: family.conditional.clone(),
        };
        let data = self.data.as_ref().map(|data| data.reordered(names).map_err(|_| BeliefError::OtherNames));
        Ok(Self {
            names: names.clone(),
            graphs: self.graphs.iter().map(|graph| graph.relabelled(&to)).collect(),
            weights: self.weights.clone(),
            families: from.iter().map(|&node| self.families[node].iter().map(family).collect()).collect(),
            family_of: self.family_of.iter().map(|of| from.iter().map(|&node| of[node]).collect()).collect(),
            data: data.transpose()?,
        })
    }
}

fn named(names: &Names, set: &NodeSet) -> Vec<String> {
    set.iter().map(|node| names[node].clone()).collect()
}

fn check_family(names: &Names, node: Node, family: &Family) -> Result<NodeSet, BeliefError> {
    let fits = |parent: &Node| *parent < names.len() && *parent != node;
    let parents = family.parents.iter().copied().filter(fits);
    let set = NodeSet::of(names.len(), parents);
    if set.len() != family.parents.len() {
        return Err(BeliefError::Parents { node: names[node].clone() });
    }
    let law = family.conditional.parents();
    if law != set.len() || !family.conditional.is_valid() {
        return Err(BeliefError::Law { node: names[node].clone(), parents: named(names, &set), law });
    }
    Ok(set)
}

/// Distinct graphs, the heaviest first and those of equal weight in the order given, and their weights.
fn merged(graphs: Vec<(Dag, f64)>, nodes: usize) -> Result<(Vec<Dag>, Vec<f64>), BeliefError> {
    let mut place: HashMap<Dag, usize> = HashMap::new();
    let mut distinct: Vec<(Dag, f64)> = Vec::new();
    for (graph, (dag, weight)) in graphs.into_iter().enumerate() {
        if dag.len() != nodes {
            return Err(BeliefError::Nodes { graph, got: dag.len(), names: nodes });
        }
        if !(weight >= 0.0 && weight.is_finite()) {
            return Err(BeliefError::Weight { graph, weight });
        }
        if weight == 0.0 {
            continue;
        }
        match place.get(&dag) {
            Some(&known) => distinct[known].1 += weight,
            None => {
                place.insert(dag.clone(), distinct.len());
                distinct.push((dag, weight));
            }
        }
    }
    distinct.sort_by(|a, b| b.1.total_cmp(&a.1));
    let Some(&(_, largest)) = distinct.first() else { return Err(BeliefError::Empty) };
    let (graphs, weights): (Vec<Dag>, Vec<f64>) = distinct.into_iter().unzip();
    // Weights that are already normalised stay as they are, so that a file read back is the file written.
    if (sum_in_order(&weights) - 1.0).abs() < 1e-12 {
        return Ok((graphs, weights));
    }
    // Divided by the largest first, so that no sum overflows.
    let relative: Vec<f64> = weights.iter().map(|weight| weight / largest).collect();
    let total = sum_in_order(&relative);
    Ok((graphs, relative.iter().map(|weight| weight / total).collect()))
}
