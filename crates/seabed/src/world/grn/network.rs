//! A gene regulatory network: who regulates whom, and the kinetics of every gene.
//!
//! Regulation acts through proteins. The regulators of a gene bind to its promoter in modules; each state of the
//! modules (bound or not) has a relative activation. Files are left to [`sbml`](super::sbml), dynamics to
//! [`dynamics`](super::dynamics). Formulas: docs/math.md, "Gene networks".

use crate::data::{Excerpt, Names, check_names};
use crate::graph::{CycleError, Dag, Node};

use super::error::NetworkError;

/// Genes and their regulation. Everything in it was checked when it was made.
#[derive(Clone, PartialEq, Debug)]
pub struct Network {
    name: String,
    names: Names,
    genes: Vec<Gene>,
}

/// Kinetics of a gene; rates are per minute, levels without unit (a fully active gene has about level 1).
#[derive(Clone, PartialEq, Debug)]
pub struct Gene {
    /// Transcription rate of the fully active promoter (`max`), at least 0.
    pub transcription: f64,
    /// Decay rate of the mRNA (`delta`), in (0, 1).
    pub mrna_decay: f64,
    /// Proteins made per mRNA and minute (`maxTranslation`), at least 0.
    pub translation: f64,
    /// Decay rate of the protein (`deltaProtein`), in (0, 1).
    pub protein_decay: f64,
    /// The modules of the promoter, at most [`MOST_MODULES`].
    pub modules: Vec<Module>,
    /// Relative activation in each state of the modules, `[2^modules]`, at least 0: bit q of the index says whether
    /// module q is bound.
    pub activation: Vec<f64>,
}

/// Regulators that bind together.
#[derive(Clone, PartialEq, Debug)]
pub struct Module {
    /// Do they bind as one complex, or each by itself?
    pub complex: bool,
    /// The module works when these are bound …
    pub activators: Vec<Input>,
    /// … and none of these is.
    pub deactivators: Vec<Input>,
}

/// How a regulator binds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Input {
    /// The gene whose protein it is.
    pub regulator: Node,
    /// Level at which half of the sites are bound (`k`), above 0.
    pub dissociation: f64,
    /// Hill exponent (`n`), above 0 and at most [`LARGEST_HILL`].
    pub hill: f64,
}

/// A promoter of m modules has 2^m states.
pub const MOST_MODULES: usize = 12;

/// Beyond this a promoter is a switch that no integrator follows.
pub const LARGEST_HILL: f64 = 100.0;

/// The source and sink of all reactions in a file; no gene can have this name.
pub(super) const VOID: &str = "_void_";

/// Largest rate of synthesis, per minute.
const LARGEST_RATE: f64 = 1e6;

impl Network {
    /// The network `name` of `genes`, which are called `names`.
    pub fn new(name: &str, names: Names, genes: Vec<Gene>) -> Result<Self, NetworkError> {
        if genes.is_empty() {
            return Err(NetworkError::NoGenes);
        }
        if names.len() != genes.len() {
            return Err(NetworkError::Shape { names: names.len(), genes: genes.len() });
        }
        check_names(&names)?;
        if names.iter().any(|name| name == VOID) {
            return Err(NetworkError::Void);
        }
        for (gene, label) in genes.iter().zip(names.iter()) {
            gene.check(label, names.len())?;
        }
        Ok(Self { name: name.to_string(), names, genes })
    }

    /// The network's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The genes' names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The genes.
    pub fn genes(&self) -> &[Gene] {
        &self.genes
    }

    /// Who regulates whom, `[regulator][gene]`; a gene that regulates itself is on the diagonal.
    pub fn regulations(&self) -> Vec<Vec<bool>> {
        let mut adjacency = vec![vec![false; self.genes.len()]; self.genes.len()];
        for (node, gene) in self.genes.iter().enumerate() {
            for input in gene.inputs() {
                adjacency[input.regulator][node] = true;
            }
        }
        adjacency
    }

    /// The graph of the regulations; an error names the cycle if there is one.
    pub fn dag(&self) -> Result<Dag, NetworkError> {
        let named = |node: Node| self.names[node].clone();
        let regulations = self.regulations();
        if let Some(node) = (0..self.genes.len()).find(|&node| regulations[node][node]) {
            return Err(NetworkError::Cycle { cycle: vec![named(node)] });
        }
        Dag::from_rows_to_columns(&regulations).map_err(|CycleError { cycle }| NetworkError::Cycle {
            cycle: cycle.into_iter().map(named).collect(),
        })
    }
}

impl Gene {
    /// All inputs in the order of the file: module by module, activators first.
    pub fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.modules.iter().flat_map(Module::inputs)
    }

    fn check(&self, label: &str, genes: usize) -> Result<(), NetworkError> {
        let synthesis = || reaction(label, SYNTHESIS);
        let rate = |id: &str, value: f64| parameter(synthesis, id, value, 0.0, LARGEST_RATE);
        rate("max", self.transcription)?;
        rate("maxTranslation", self.translation)?;
        decay(synthesis, "deltaProtein", self.protein_decay)?;
        decay(|| reaction(label, DEGRADATION), "delta", self.mrna_decay)?;
        if self.modules.len() > MOST_MODULES {
            return Err(NetworkError::TooManyModules { reaction: synthesis(), modules: self.modules.len() });
        }
        if self.activation.len() != 1 << self.modules.len() {
            return Err(NetworkError::States {
                reaction: synthesis(),
                modules: self.modules.len(),
                given: self.activation.len(),
            });
        }
        for (state, &a) in self.activation.iter().enumerate() {
            parameter(synthesis, &format!("a_{state}"), a, 0.0, LARGEST_RATE)?;
        }
        if let Some(q) = self.modules.iter().position(|module| module.inputs().next().is_none()) {
            return Err(NetworkError::EmptyModule { reaction: synthesis(), module: q + 1 });
        }
        let mut seen = vec![false; genes];
        for (j, input) in self.inputs().enumerate() {
            let id = |letter: char| format!("{letter}_{}", j + 1);
            if input.regulator >= genes {
                return Err(NetworkError::NoSuchGene { reaction: synthesis(), node: input.regulator, genes });
            }
            if std::mem::replace(&mut seen[input.regulator], true) {
                return Err(NetworkError::RepeatedRegulator { reaction: synthesis(), input: j + 1 });
            }
            parameter(synthesis, &id('k'), input.dissociation, f64::MIN_POSITIVE, f64::MAX)?;
            parameter(synthesis, &id('n'), input.hill, f64::MIN_POSITIVE, LARGEST_HILL)?;
        }
        Ok(())
    }
}

impl Module {
    fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.activators.iter().chain(&self.deactivators)
    }
}

pub(super) const SYNTHESIS: &str = "synthesis";
pub(super) const DEGRADATION: &str = "degradation";

/// The id of a gene's reaction.
pub(super) fn reaction_id(gene: &str, kind: &str) -> String {
    format!("{gene}_{kind}")
}

/// The id of a gene's reaction, for a message.
pub(super) fn reaction(gene: &str, kind: &str) -> Excerpt {
    Excerpt::new(&reaction_id(gene, kind))
}

/// A number from `least` to `most`.
fn parameter(
    reaction: impl Fn() -> Excerpt,
    id: &str,
    value: f64,
    least: f64,
    most: f64,
) -> Result<(), NetworkError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let least = if least == f64::MIN_POSITIVE { "above 0".into() } else { format!("at least {least}") };
    let allowed = if most == f64::MAX { least } else { format!("{least} and at most {most}") };
    Err(NetworkError::Parameter { reaction: reaction(), parameter: id.into(), value, allowed })
}

/// The stochastic simulation steps by one minute, so nothing may decay completely within a minute.
fn decay(reaction: impl Fn() -> Excerpt, id: &str, value: f64) -> Result<(), NetworkError> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    let allowed = "above 0 and below 1 per minute, the step of the simulation".into();
    Err(NetworkError::Parameter { reaction: reaction(), parameter: id.into(), value, allowed })
}
