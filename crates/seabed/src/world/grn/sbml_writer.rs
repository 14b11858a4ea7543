//! Gene networks as SBML files: writing what [`sbml`](super::sbml) and GeneNetWeaver read.

use std::fmt::Write;

use super::network::{DEGRADATION, Gene, Network, SYNTHESIS, VOID, reaction_id};

impl Network {
    /// The network as SBML level 2 in GeneNetWeaver's layout: for each gene its synthesis, then its degradation.
    pub fn to_sbml(&self) -> String {
        let mut out = Xml::default();
        out.line(0, r#"<?xml version="1.0" encoding="UTF-8"?>"#);
        out.line(0, r#"<sbml xmlns="http://www.sbml.org/sbml/level2" level="2" version="1">"#);
        out.line(1, &format!(r#"<model name="{}">"#, escaped(self.name())));
        out.list(2, "listOfCompartments", [r#"<compartment id="cell" name="cell" size="1.0" />"#.into()]);
        let species = |id: &str, more: &str| {
            let id = escaped(id);
            format!(r#"<species id="{id}" name="{id}" compartment="cell"{more} />"#)
        };
        let void = species(VOID, r#" initialAmount="0.0" boundaryCondition="true" constant="true""#);
        let genes = self.names().iter().map(|name| species(name, ""));
        out.list(2, "listOfSpecies", genes.chain([void]));
        out.line(2, "<listOfReactions>");
        for (gene, name) in self.genes().iter().zip(self.names().iter()) {
            let modifiers = gene.inputs().map(|input| self.names()[input.regulator].as_str());
            out.reaction(&reaction_id(name, SYNTHESIS), VOID, name, modifiers.collect(), synthesis(gene));
            let loss = vec![("delta".to_string(), gene.mrna_decay)];
            out.reaction(&reaction_id(name, DEGRADATION), name, VOID, vec![], loss);
        }
        out.line(2, "</listOfReactions>");
        out.line(1, "</model>");
        out.line(0, "</sbml>");
        out.text
    }
}

/// The parameters of a gene's synthesis, by id.
fn synthesis(gene: &Gene) -> Vec<(String, f64)> {
    let mut all = vec![
        ("max".to_string(), gene.transcription),
        ("deltaProtein".to_string(), gene.protein_decay),
        ("maxTranslation".to_string(), gene.translation),
    ];
    for (q, module) in (1..).zip(&gene.modules) {
        all.push((format!("bindsAsComplex_{q}"), f64::from(u8::from(module.complex))));
        all.push((format!("numActivators_{q}"), module.activators.len() as f64));
        all.push((format!("numDeactivators_{q}"), module.deactivators.len() as f64));
    }
    all.extend(gene.activation.iter().enumerate().map(|(state, &a)| (format!("a_{state}"), a)));
    all.extend((1..).zip(gene.inputs()).map(|(j, input)| (format!("k_{j}"), input.dissociation)));
    all.extend((1..).zip(gene.inputs()).map(|(j, input)| (format!("n_{j}"), input.hill)));
    all
}

#[derive(Default)]
struct Xml {
    text: String,
}

impl Xml {
    fn line(&mut self, depth: usize, line: &str) {
        writeln!(self.text, "{:1$}{line}", "", 2 * depth).expect("writing to a string cannot fail");
    }

    fn list(&mut self, depth: usize, name: &str, lines: impl IntoIterator<Item = String>) {
        self.line(depth, &format!("<{name}>"));
        for line in lines {
            self.line(depth + 1, &line);
        }
        self.line(depth, &format!("</{name}>"));
    }

    fn reaction(
        &mut self,
        id: &str,
        from: &str,
        to: &str,
        modifiers: Vec<&str>,
        parameters: Vec<(String, f64)>,
    ) {
        let id = escaped(id);
        self.line(3, &format!(r#"<reaction id="{id}" name="{id}" reversible="false">"#));
        let species = |element: &str, id: &str| format!(r#"<{element} species="{}" />"#, escaped(id));
        self.list(4, "listOfReactants", [species("speciesReference", from)]);
        self.list(4, "listOfProducts", [species("speciesReference", to)]);
        if !modifiers.is_empty() {
            self.list(
                4,
                "listOfModifiers",
                modifiers.iter().map(|id| species("modifierSpeciesReference", id)),
            );
        }
        self.line(4, "<kineticLaw>");
        // `{:?}` writes the shortest number that is read back the same, whole ones as 2.0.
        let parameter =
            |(id, value): (String, f64)| format!(r#"<parameter id="{id}" name="{id}" value="{value:?}" />"#);
        self.list(5, "listOfParameters", parameters.into_iter().map(parameter));
        self.line(4, "</kineticLaw>");
        self.line(3, "</reaction>");
    }
}

/// As an attribute's value; white space other than blanks would be read as blanks.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '<' | '>' | '"' | '\t' | '\n' | '\r' => {
                write!(out, "&#{};", u32::from(c)).expect("writing to a string cannot fail");
            }
            c => out.push(c),
        }
    }
    out
}
