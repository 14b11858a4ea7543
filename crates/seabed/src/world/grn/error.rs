//! What can be wrong with a gene network, named as its file names it.

use crate::data::{Excerpt, NameError, did_you_mean};

use super::network::MOST_MODULES;

/// Why a gene network is refused.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// Not readable as XML.
    #[error("this is not readable as XML: {reason}")]
    Xml {
        /// What the parser says.
        reason: String,
    },
    /// A document type declaration: it could define entities that grow without bound or read other files.
    #[error("the file has a document type declaration (<!DOCTYPE …>), which SBML does not need; remove it")]
    DocumentType,
    /// More bytes than any network has.
    #[error("the file has more than {most} bytes; a network of a thousand genes has about three million")]
    TooLarge {
        /// How many are read.
        most: usize,
    },
    /// No model with species and reactions.
    #[error("there is no {element}; a network is an SBML level 2 file as GeneNetWeaver writes it")]
    NoElement {
        /// What is missing.
        element: &'static str,
    },
    /// An element without an attribute that it needs.
    #[error("{place}: an element <{element}> has no attribute {attribute:?}")]
    NoAttribute {
        /// The reaction or the list.
        place: String,
        /// The element.
        element: &'static str,
        /// The attribute.
        attribute: &'static str,
    },
    /// A network without genes.
    #[error("the network has no genes")]
    NoGenes,
    /// The numbers of names and genes differ.
    #[error("{names} names for {genes} genes; give every gene one name")]
    Shape {
        /// Names that are given.
        names: usize,
        /// Genes that are given.
        genes: usize,
    },
    /// A gene with the name of the source and sink.
    #[error("no gene can be called \"_void_\": it is the source and the sink of all reactions")]
    Void,
    /// A gene's name that no variable can have.
    #[error("gene names: {0}")]
    Name(#[from] NameError),
    /// A reaction that is neither a synthesis nor a degradation of a gene.
    #[error(
        "reaction {reaction}: its id must be GENE_synthesis or GENE_degradation, where GENE is a species in the file"
    )]
    UnknownReaction {
        /// Its id.
        reaction: Excerpt,
    },
    /// A reaction that is given twice.
    #[error("reaction {reaction} is given twice; keep one of them")]
    RepeatedReaction {
        /// Its id.
        reaction: Excerpt,
    },
    /// A gene without one of its reactions.
    #[error("there is no reaction {reaction}; every species needs a synthesis and a degradation")]
    NoReaction {
        /// The id that is missing.
        reaction: Excerpt,
    },
    /// A reaction without a parameter that it needs.
    #[error("reaction {reaction}: the parameter {parameter:?} is missing")]
    NoParameter {
        /// The reaction.
        reaction: Excerpt,
        /// The parameter's id.
        parameter: String,
    },
    /// A parameter that is given twice.
    #[error("reaction {reaction}: the parameter {parameter} is given twice; keep one of them")]
    RepeatedParameter {
        /// The reaction.
        reaction: Excerpt,
        /// The parameter's id.
        parameter: Excerpt,
    },
    /// An unknown parameter.
    #[error(
        "reaction {reaction}: the parameter {parameter} is unknown; modules are numbered from 1 without \
         gaps, `a` has one value for each of their states, `k` and `n` one for each modifier"
    )]
    UnknownParameter {
        /// The reaction.
        reaction: Excerpt,
        /// The parameter's id.
        parameter: Excerpt,
    },
    /// A parameter that is not a number.
    #[error("reaction {reaction}: the parameter {parameter:?} is {text}, which is not a number")]
    NotANumber {
        /// The reaction.
        reaction: Excerpt,
        /// The parameter's id.
        parameter: String,
        /// What the file says.
        text: Excerpt,
    },
    /// A parameter outside its range.
    #[error("reaction {reaction}: the parameter {parameter:?} is {value}, but must be {allowed}")]
    Parameter {
        /// The reaction.
        reaction: Excerpt,
        /// The parameter's id.
        parameter: String,
        /// What it is.
        value: f64,
        /// What it may be.
        allowed: String,
    },
    /// A regulator that is not a gene.
    #[error("reaction {reaction}: the modifier {regulator} is not a species of the file{}",
        did_you_mean(.suggestion.as_deref()))]
    UnknownRegulator {
        /// The reaction.
        reaction: Excerpt,
        /// The modifier.
        regulator: Excerpt,
        /// What was perhaps meant.
        suggestion: Option<String>,
    },
    /// A regulator beyond the last gene.
    #[error("reaction {reaction}: gene {node} is a regulator, but there are only {genes} genes")]
    NoSuchGene {
        /// The reaction.
        reaction: Excerpt,
        /// The regulator.
        node: usize,
        /// How many there are.
        genes: usize,
    },
    /// A gene that regulates another one twice.
    #[error("reaction {reaction}: modifier {input} is already listed; list each regulator once")]
    RepeatedRegulator {
        /// The reaction.
        reaction: Excerpt,
        /// The second of them, 1-based.
        input: usize,
    },
    /// The modules' inputs do not match the modifiers.
    #[error(
        "reaction {reaction}: the modules have {inputs} inputs (numActivators and numDeactivators together), \
         but there are {modifiers} modifiers"
    )]
    Modifiers {
        /// The reaction.
        reaction: Excerpt,
        /// Inputs of all modules.
        inputs: usize,
        /// Modifiers that are listed.
        modifiers: usize,
    },
    /// A module without inputs.
    #[error(
        "reaction {reaction}: module {module} has no input (numActivators_{module} and numDeactivators_{module} are 0)"
    )]
    EmptyModule {
        /// The reaction.
        reaction: Excerpt,
        /// 1-based.
        module: usize,
    },
    /// More modules than we simulate.
    #[error("reaction {reaction}: {modules} modules, but at most {MOST_MODULES} can be simulated")]
    TooManyModules {
        /// The reaction.
        reaction: Excerpt,
        /// How many there are.
        modules: usize,
    },
    /// The numbers of states and activations differ.
    #[error("reaction {reaction}: {modules} modules have {} states, but {given} activations are given", 1u64 << modules)]
    States {
        /// The reaction.
        reaction: Excerpt,
        /// Modules of the promoter.
        modules: usize,
        /// Activations that are given.
        given: usize,
    },
    /// A cycle of regulations: it can be simulated, but is not a DAG.
    #[error(
        "the gene network has a cycle, {}; it can be simulated, but a network without cycles is needed here",
        cycle.iter().chain(cycle.first()).map(String::as_str).collect::<Vec<_>>().join(" -> ")
    )]
    Cycle {
        /// The names along the cycle; the last regulates the first.
        cycle: Vec<String>,
    },
    /// A generated network that is too small or too large.
    #[error("a generated network has {least} to {most} genes, not {genes}")]
    Genes {
        /// What was asked for.
        genes: usize,
        /// Fewest.
        least: usize,
        /// Most.
        most: usize,
    },
}

/// What is wrong with the file of a gene network.
#[derive(Debug, thiserror::Error)]
pub enum NetworkFileError {
    /// The file cannot be read.
    #[error("{file}: {}", if reason.kind() == std::io::ErrorKind::NotFound { "there is no such file".into() } else { reason.to_string() })]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        reason: std::io::Error,
    },
    /// The file's content.
    #[error("{file}: {reason}")]
    Network {
        /// The file.
        file: String,
        /// What is wrong.
        reason: NetworkError,
    },
}
