//! Gene networks as SBML files, laid out as GeneNetWeaver does: reading.
//!
//! Only what the simulation needs is read: the species, the modifiers and the parameters of the reactions. Every error
//! names the reaction and the parameter. Documents with a type declaration are refused, so there are no entities to
//! expand and no other files to fetch. What the numbers may be is left to [`Network::new`].

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use roxmltree::{Document, ParsingOptions};

use crate::data::{Excerpt, Names, check_names, closest};
use crate::graph::Node;

use super::error::{NetworkError, NetworkFileError};
use super::network::{
    DEGRADATION, Gene, Input, MOST_MODULES, Module, Network, SYNTHESIS, VOID, reaction, reaction_id,
};

type Element<'a> = roxmltree::Node<'a, 'a>;

/// Attributes of one element: the parser compares each with all others.
const MOST_ATTRIBUTES: usize = 1000;

/// Bytes of the largest file that is read.
const MOST_BYTES: usize = 1 << 25;

impl Network {
    /// Reads a network from an SBML file.
    pub fn read(path: &Path) -> Result<Self, NetworkFileError> {
        let file = path.display().to_string();
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|f| f.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) => Self::from_sbml(&bytes).map_err(|reason| NetworkFileError::Network { file, reason }),
            Err(reason) => Err(NetworkFileError::Read { file, reason }),
        }
    }

    /// Reads a network from the bytes of an SBML file.
    pub fn from_sbml(bytes: &[u8]) -> Result<Self, NetworkError> {
        if bytes.len() > MOST_BYTES {
            return Err(NetworkError::TooLarge { most: MOST_BYTES });
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|error| NetworkError::Xml { reason: format!("it is not UTF-8 text ({error})") })?;
        if most_attributes(text) > MOST_ATTRIBUTES {
            let reason = format!("an element has more than {MOST_ATTRIBUTES} attributes");
            return Err(NetworkError::Xml { reason });
        }
        let options = ParsingOptions { allow_dtd: false, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options).map_err(|error| match error {
            roxmltree::Error::DtdDetected => NetworkError::DocumentType,
            // Shortened, because it may quote the file.
            error => NetworkError::Xml { reason: error.to_string().chars().take(200).collect() },
        })?;
        let model =
            child(document.root_element(), "model").ok_or(NetworkError::NoElement { element: "<model>" })?;
        let list = |element: &'static str| child(model, element).ok_or(NetworkError::NoElement { element });
        let names = species(list("listOfSpecies")?)?;
        let genes = genes(list("listOfReactions")?, &names)?;
        Network::new(model.attribute("name").or(model.attribute("id")).unwrap_or(""), names, genes)
    }
}

/// Attributes of the element that has most, or more: signs of equality outside of quotes are counted, wherever a `<` may
/// begin an element.
fn most_attributes(text: &str) -> usize {
    let (mut most, mut count, mut quote, mut inside) = (0, 0, None, false);
    for byte in text.bytes() {
        match (byte, quote) {
            (_, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => {}
            (b'<', _) => (count, inside) = (0, true),
            (b'>', _) => inside = false,
            (b'"' | b'\'', _) if inside => quote = Some(byte),
            (b'=', _) if inside => count += 1,
            _ => {}
        }
        most = most.max(count);
    }
    most
}

/// The genes' labels in order.
fn species(list: Element<'_>) -> Result<Names, NetworkError> {
    let mut names = Vec::new();
    for species in children(list, "species") {
        let id = attribute(species, "species", "id", || "listOfSpecies".into())?;
        if id != VOID {
            names.push(id.to_string());
        }
    }
    check_names(&names)?;
    Ok(names.into())
}

fn genes(list: Element<'_>, names: &Names) -> Result<Vec<Gene>, NetworkError> {
    let nodes: HashMap<&str, Node> =
        names.iter().enumerate().map(|(node, name)| (name.as_str(), node)).collect();
    let mut found: [Vec<Option<Element<'_>>>; 2] = [vec![None; names.len()], vec![None; names.len()]];
    for element in children(list, "reaction") {
        let id = attribute(element, "reaction", "id", || "listOfReactions".into())?;
        let unknown = || NetworkError::UnknownReaction { reaction: Excerpt::new(id) };
        // Labels may contain underscores, so the last one counts.
        let (label, kind) = id.rsplit_once('_').ok_or_else(unknown)?;
        let kind = [SYNTHESIS, DEGRADATION].iter().position(|name| *name == kind).ok_or_else(unknown)?;
        let node = *nodes.get(label).ok_or_else(unknown)?;
        if found[kind][node].replace(element).is_some() {
            return Err(NetworkError::RepeatedReaction { reaction: Excerpt::new(id) });
        }
    }
    let [synthesis, degradation] = found;
    let missing = |name: &str, kind| NetworkError::NoReaction { reaction: reaction(name, kind) };
    let of_gene = |(node, name): (Node, &String)| {
        let synthesis = synthesis[node].ok_or_else(|| missing(name, SYNTHESIS))?;
        let degradation = degradation[node].ok_or_else(|| missing(name, DEGRADATION))?;
        gene(
            Parameters::of(synthesis, reaction_id(name, SYNTHESIS))?,
            Parameters::of(degradation, reaction_id(name, DEGRADATION))?,
            &modifiers(synthesis, name, &nodes, names)?,
        )
    };
    names.iter().enumerate().map(of_gene).collect()
}

/// The regulators in the order of the file, which ties them to their parameters.
fn modifiers(
    synthesis: Element<'_>,
    gene: &str,
    nodes: &HashMap<&str, Node>,
    names: &Names,
) -> Result<Vec<Node>, NetworkError> {
    let Some(list) = child(synthesis, "listOfModifiers") else { return Ok(Vec::new()) };
    let regulator = |element| {
        let label =
            attribute(element, "modifierSpeciesReference", "species", || reaction_id(gene, SYNTHESIS))?;
        nodes.get(label).copied().ok_or_else(|| NetworkError::UnknownRegulator {
            reaction: reaction(gene, SYNTHESIS),
            regulator: Excerpt::new(label),
            suggestion: closest(label, names).map(str::to_string),
        })
    };
    children(list, "modifierSpeciesReference").map(regulator).collect()
}

fn gene(
    mut made: Parameters<'_>,
    mut lost: Parameters<'_>,
    regulators: &[Node],
) -> Result<Gene, NetworkError> {
    let (transcription, translation) = (made.take("max")?, made.take("maxTranslation")?);
    let (protein_decay, mrna_decay) = (made.take("deltaProtein")?, lost.take("delta")?);
    let mut shapes = Vec::new();
    while made.has(&format!("bindsAsComplex_{}", shapes.len() + 1)) {
        let q = shapes.len() + 1;
        let complex = made.take_whole(&format!("bindsAsComplex_{q}"), 1)? == 1;
        let activators = made.take_whole(&format!("numActivators_{q}"), regulators.len())?;
        let deactivators = made.take_whole(&format!("numDeactivators_{q}"), regulators.len())?;
        shapes.push((complex, activators, deactivators));
    }
    if shapes.len() > MOST_MODULES {
        return Err(NetworkError::TooManyModules { reaction: made.reaction(), modules: shapes.len() });
    }
    let inputs: usize = shapes.iter().map(|(_, a, d)| a + d).sum();
    if inputs != regulators.len() {
        return Err(NetworkError::Modifiers {
            reaction: made.reaction(),
            inputs,
            modifiers: regulators.len(),
        });
    }
    let mut bindings = Vec::with_capacity(inputs);
    for (j, &regulator) in regulators.iter().enumerate() {
        let (dissociation, hill) = (made.take(&format!("k_{}", j + 1))?, made.take(&format!("n_{}", j + 1))?);
        bindings.push(Input { regulator, dissociation, hill });
    }
    let activation =
        (0..1usize << shapes.len()).map(|s| made.take(&format!("a_{s}"))).collect::<Result<_, _>>()?;
    made.finish()?;
    lost.finish()?;
    let mut rest = bindings.into_iter();
    let mut next = |count: usize| rest.by_ref().take(count).collect();
    let modules = shapes
        .into_iter()
        .map(|(complex, a, d)| Module { complex, activators: next(a), deactivators: next(d) })
        .collect();
    Ok(Gene { transcription, mrna_decay, translation, protein_decay, modules, activation })
}

/// The parameters of a reaction, each taken once; what is left at the end means nothing.
struct Parameters<'a> {
    reaction: String,
    values: HashMap<&'a str, &'a str>,
}

impl<'a> Parameters<'a> {
    fn of(element: Element<'a>, reaction: String) -> Result<Self, NetworkError> {
        let mut parameters = Self { reaction, values: HashMap::new() };
        let law = child(element, "kineticLaw").and_then(|law| child(law, "listOfParameters"));
        for element in law.into_iter().flat_map(|list| children(list, "parameter")) {
            let place = || parameters.reaction.clone();
            let id = attribute(element, "parameter", "id", place)?;
            let value = attribute(element, "parameter", "value", place)?;
            if parameters.values.insert(id, value).is_some() {
                return Err(NetworkError::RepeatedParameter {
                    reaction: parameters.reaction(),
                    parameter: Excerpt::new(id),
                });
            }
        }
        Ok(parameters)
    }

    fn reaction(&self) -> Excerpt {
        Excerpt::new(&self.reaction)
    }

    fn has(&self, id: &str) -> bool {
        self.values.contains_key(id)
    }

    fn take(&mut self, id: &str) -> Result<f64, NetworkError> {
        let text = self.values.remove(id).ok_or_else(|| NetworkError::NoParameter {
            reaction: self.reaction(),
            parameter: id.to_string(),
        })?;
        text.trim().parse().map_err(|_| NetworkError::NotANumber {
            reaction: self.reaction(),
            parameter: id.to_string(),
            text: Excerpt::new(text),
        })
    }

    /// Whole numbers are written as 2.0.
    fn take_whole(&mut self, id: &str, most: usize) -> Result<usize, NetworkError> {
        let value = self.take(id)?;
        if value.fract() == 0.0 && (0.0..=most as f64).contains(&value) {
            return Ok(value as usize);
        }
        let allowed = format!("a whole number from 0 to {most}");
        Err(NetworkError::Parameter { reaction: self.reaction(), parameter: id.to_string(), value, allowed })
    }

    fn finish(self) -> Result<(), NetworkError> {
        // The first by name, so that the message is the same every time.
        match self.values.keys().min() {
            None => Ok(()),
            Some(id) => {
                Err(NetworkError::UnknownParameter { reaction: self.reaction(), parameter: Excerpt::new(id) })
            }
        }
    }
}

/// Elements are known by their local names: files differ in how they declare the namespace.
fn children<'a>(parent: Element<'a>, name: &'static str) -> impl Iterator<Item = Element<'a>> {
    parent.children().filter(move |node| node.is_element() && node.tag_name().name() == name)
}

fn child<'a>(parent: Element<'a>, name: &'static str) -> Option<Element<'a>> {
    children(parent, name).next()
}

fn attribute<'a>(
    node: Element<'a>,
    element: &'static str,
    attribute: &'static str,
    place: impl Fn() -> String,
) -> Result<&'a str, NetworkError> {
    let missing =
        || NetworkError::NoAttribute { place: Excerpt::new(&place()).to_string(), element, attribute };
    node.attribute(attribute).ok_or_else(missing)
}
