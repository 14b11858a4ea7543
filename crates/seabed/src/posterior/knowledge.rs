//! Background knowledge: forbidden edges, required edges, and tiers of variables in time.
//!
//! Knowledge is a guarantee: a posterior never has a forbidden edge and always has the required ones.

use serde::{Deserialize, Serialize};

use crate::data::{Names, position};
use crate::graph::{Dag, Node, NodeSet};

/// Forbidden and required edges over the nodes of a data set; free of contradictions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Edges", into = "Edges")]
pub struct Knowledge {
    /// `forbidden[v]` holds every `u` for which `u -> v` is forbidden, reversals of required edges included.
    forbidden: Vec<NodeSet>,
    /// The graph of the required edges.
    required: Dag,
}

/// Why background knowledge is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KnowledgeError {
    /// Not TOML, or not of the form.
    #[error(
        "{reason}; the form is `forbidden = [[\"A\", \"B\"]]` (no edge A -> B), `required = [[\"A\", \"C\"]]`, \
         `tiers = [[\"A\"], [\"B\", \"C\"]]` (no edge from a later tier to an earlier one)"
    )]
    Form {
        /// What the parser says.
        reason: String,
    },
    /// A name that is not a variable.
    #[error("{name:?} is not a variable; the variables are {}", known.join(", "))]
    UnknownName {
        /// The name.
        name: String,
        /// The variables.
        known: Vec<String>,
    },
    /// An edge from a variable to itself.
    #[error("{name:?} is paired with itself; an edge joins two variables")]
    SelfEdge {
        /// The variable.
        name: String,
    },
    /// A variable in two tiers.
    #[error("{name:?} is in two tiers; put every variable in at most one")]
    TwoTiers {
        /// The variable.
        name: String,
    },
    /// An edge that is both required and forbidden.
    #[error("{from:?} -> {to:?} is both required and forbidden (a tier also forbids); remove one of the two")]
    Contradiction {
        /// Tail.
        from: String,
        /// Head.
        to: String,
    },
    /// A cycle of required edges.
    #[error("the required edges form a cycle: {} -> {}; remove one of them", cycle.join(" -> "), cycle[0])]
    RequiredCycle {
        /// The variables along the cycle.
        cycle: Vec<String>,
    },
}

/// Background knowledge as people write it, by the names of the variables; in TOML or JSON.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KnowledgeForm {
    /// `[from, to]`: no edge from the first to the second.
    pub forbidden: Vec<[String; 2]>,
    /// `[from, to]`: an edge from the first to the second.
    pub required: Vec<[String; 2]>,
    /// Earlier ones first: no edge from a later tier to an earlier one.
    pub tiers: Vec<Vec<String>>,
}

/// Knowledge in a saved state, by the numbers of the variables.
#[derive(Serialize, Deserialize)]
struct Edges {
    forbidden: Vec<(Node, Node)>,
    required: Dag,
}

impl From<Knowledge> for Edges {
    fn from(knowledge: Knowledge) -> Self {
        let of = |(to, set): (Node, &NodeSet)| set.iter().map(|from| (from, to)).collect::<Vec<_>>();
        let forbidden = knowledge.forbidden.iter().enumerate().flat_map(of).collect();
        Self { forbidden, required: knowledge.required }
    }
}

impl TryFrom<Edges> for Knowledge {
    type Error = String;

    fn try_from(edges: Edges) -> Result<Self, String> {
        let mut knowledge = Self::none(edges.required.len());
        for (from, to) in edges.forbidden {
            if from.max(to) >= edges.required.len() || from == to || edges.required.has_edge(from, to) {
                return Err(format!("an impossible forbidden edge {from} -> {to}"));
            }
            knowledge.forbidden[to].insert(from);
        }
        for (from, to) in edges.required.edges() {
            knowledge.forbidden[from].insert(to);
        }
        Ok(Self { required: edges.required, ..knowledge })
    }
}

impl Knowledge {
    /// Nothing is known.
    pub fn none(nodes: usize) -> Self {
        Self { forbidden: vec![NodeSet::empty(nodes); nodes], required: Dag::empty(nodes) }
    }

    /// Knowledge from TOML text, by the names of the variables.
    pub fn from_toml(text: &str, names: &Names) -> Result<Self, KnowledgeError> {
        let form: KnowledgeForm = toml::from_str(text)
            .map_err(|error| KnowledgeError::Form { reason: error.message().to_string() })?;
        Self::from_form(&form, names)
    }

    /// Knowledge from a form, by the names of the variables.
    pub fn from_form(form: &KnowledgeForm, names: &Names) -> Result<Self, KnowledgeError> {
        let node = |name: &String| {
            let unknown = || KnowledgeError::UnknownName { name: name.clone(), known: names.to_vec() };
            position(names, name).ok_or_else(unknown)
        };
        let edge = |[from, to]: &[String; 2]| Ok((node(from)?, node(to)?));
        let forbidden = form.forbidden.iter().map(edge).collect::<Result<Vec<_>, _>>()?;
        let required = form.required.iter().map(edge).collect::<Result<Vec<_>, _>>()?;
        let tier = |tier: &Vec<String>| tier.iter().map(node).collect::<Result<Vec<_>, _>>();
        let tiers = form.tiers.iter().map(tier).collect::<Result<Vec<_>, _>>()?;
        Self::new(names, &forbidden, &required, &tiers)
    }

    /// Knowledge from edges `(from, to)` and tiers, earlier ones first; a variable may be in no tier.
    pub fn new(
        names: &Names,
        forbidden: &[(Node, Node)],
        required: &[(Node, Node)],
        tiers: &[Vec<Node>],
    ) -> Result<Self, KnowledgeError> {
        let name = |node: Node| names[node].clone();
        if let Some(&(node, _)) = forbidden.iter().chain(required).find(|(from, to)| from == to) {
            return Err(KnowledgeError::SelfEdge { name: name(node) });
        }
        let mut knowledge = Self::none(names.len());
        for &(from, to) in forbidden {
            knowledge.forbidden[to].insert(from);
        }
        let mut earlier = NodeSet::empty(names.len());
        for tier in tiers {
            for (k, &late) in tier.iter().enumerate() {
                if earlier.contains(late) || tier[..k].contains(&late) {
                    return Err(KnowledgeError::TwoTiers { name: name(late) });
                }
                for early in &earlier {
                    knowledge.forbidden[early].insert(late);
                }
            }
            for &node in tier {
                earlier.insert(node);
            }
        }
        if let Some(&(from, to)) = required.iter().find(|&&(from, to)| knowledge.forbidden[to].contains(from))
        {
            return Err(KnowledgeError::Contradiction { from: name(from), to: name(to) });
        }
        knowledge.required = Dag::from_edges(names.len(), required.iter().copied()).map_err(|error| {
            KnowledgeError::RequiredCycle { cycle: error.cycle.into_iter().map(name).collect() }
        })?;
        for (from, to) in knowledge.required.edges() {
            knowledge.forbidden[from].insert(to);
        }
        Ok(knowledge)
    }

    /// The knowledge by the names of the variables; tiers stand in it as the edges that they forbid.
    pub fn to_form(&self, names: &Names) -> KnowledgeForm {
        let pair = |(from, to): (Node, Node)| [names[from].clone(), names[to].clone()];
        let Edges { forbidden, required } = self.clone().into();
        // The reversal of a required edge is forbidden anyway.
        let said = forbidden.into_iter().filter(|&(from, to)| !required.has_edge(to, from));
        KnowledgeForm {
            forbidden: said.map(pair).collect(),
            required: required.edges().map(pair).collect(),
            tiers: Vec::new(),
        }
    }

    /// Is nothing known?
    pub fn is_empty(&self) -> bool {
        self.forbidden.iter().all(NodeSet::is_empty)
    }

    /// `[v]` holds every `u` for which `u -> v` is forbidden; the reversal of a required edge is forbidden.
    pub fn forbidden(&self) -> &[NodeSet] {
        &self.forbidden
    }

    /// The graph of the required edges.
    pub fn required(&self) -> &Dag {
        &self.required
    }

    /// Is the edge `from -> to` forbidden?
    pub fn forbids(&self, from: Node, to: Node) -> bool {
        self.forbidden[to].contains(from)
    }

    /// Is any edge between the two forbidden?
    pub fn forbids_both(&self, a: Node, b: Node) -> bool {
        self.forbids(a, b) && self.forbids(b, a)
    }

    /// Is an edge between the two required, in whatever direction?
    pub fn requires_either(&self, a: Node, b: Node) -> bool {
        self.required.has_edge(a, b) || self.required.has_edge(b, a)
    }

    /// Does the graph have every required and no forbidden edge?
    pub fn allows(&self, dag: &Dag) -> bool {
        let nodes = 0..dag.len();
        nodes.clone().all(|v| !dag.parents(v).intersects(&self.forbidden[v]))
            && nodes.clone().all(|v| self.required.parents(v).is_subset(dag.parents(v)))
    }

    /// The knowledge over the same variables in another order: node k becomes `to[k]`.
    #[must_use]
    pub fn relabelled(&self, to: &[Node]) -> Self {
        let mut forbidden = self.forbidden.clone();
        for (v, set) in self.forbidden.iter().enumerate() {
            forbidden[to[v]] = NodeSet::of(to.len(), set.iter().map(|u| to[u]));
        }
        Self { forbidden, required: self.required.relabelled(to) }
    }

    /// A graph to start a search from: the required edges, and as many of the suggested ones as fit with them.
    pub(super) fn start(&self, suggested: Option<&Dag>, nodes: usize) -> Dag {
        let mut start = if self.required.is_empty() { Dag::empty(nodes) } else { self.required.clone() };
        for (from, to) in
            suggested.into_iter().flat_map(Dag::edges).filter(|&(from, to)| !self.forbids(from, to))
        {
            // An edge that would close a cycle with the required ones is left out.
            let _ = start.add_edge(from, to);
        }
        start
    }
}
