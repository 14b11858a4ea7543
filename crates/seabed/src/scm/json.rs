//! Models and small ensembles as JSON. The field names are a promise to users' scripts: add, never rename.
//!
//! What is written here is read back bit for bit; ensembles of any size have a [binary form](super::npz).

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::file::ScmFileError;
use super::{Ensemble, Linear, Mechanism, Mlp, Scm, Waves};
use crate::data::Names;
use crate::graph::{Dag, Node};
use crate::num::fingerprint;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScmForm {
    names: Vec<String>,
    nodes: Vec<NodeForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnsembleForm<'a> {
    names: Vec<String>,
    weights: Vec<f64>,
    draws: Vec<DrawForm>,
    /// Needed for the checksum only; [`part_of_json`] reads them.
    #[serde(borrow)]
    graphs: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    /// Files from before there were versions, and those that people write, have neither this nor a checksum.
    version: Option<u32>,
    checksum: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DrawForm {
    nodes: Vec<NodeForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeForm {
    name: String,
    parents: Vec<String>,
    mechanism: MechanismForm,
    noise_sd: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum MechanismForm {
    Linear {
        weights: Vec<f64>,
        #[serde(default)]
        intercept: f64,
    },
    Mlp {
        w1: Vec<Vec<f64>>,
        b1: Vec<f64>,
        w2: Vec<f64>,
        b2: f64,
    },
    Waves {
        weights: Vec<f64>,
        frequencies: Vec<Vec<f64>>,
        phases: Vec<f64>,
        amplitudes: Vec<f64>,
        intercept: f64,
    },
}

/// The model as JSON text; `source` names the text in errors.
pub(super) fn scm_from_json(text: &[u8], source: &str) -> Result<Scm, ScmFileError> {
    let form: ScmForm = parse(text, source)?;
    let names = super::file::checked_names(form.names, source)?;
    model(&names, form.nodes, source)
}

pub(super) fn scm_to_json(scm: &Scm) -> String {
    format!(
        "{{\"names\": {},\n \"nodes\": {}}}\n",
        one_line(&scm.names()[..]),
        one_line_each(&nodes(scm), "  ")
    )
}

/// An ensemble as JSON text. A single model is an ensemble of one draw.
pub(super) fn ensemble_from_json(text: &[u8], source: &str) -> Result<Ensemble, ScmFileError> {
    #[derive(Deserialize)]
    struct Either {
        nodes: Option<IgnoredAny>,
    }
    let either: Either = parse(text, source)?;
    if either.nodes.is_some() {
        let scm = scm_from_json(text, source)?;
        return Ok(Ensemble::uniform(vec![scm]).expect("one draw is an ensemble"));
    }
    let form: EnsembleForm = parse(text, source)?;
    let wrong = |member: &str, problem: String| ScmFileError::Part {
        file: source.into(),
        member: member.into(),
        problem,
    };
    if let Some(version) = form.version.filter(|version| *version != VERSION) {
        return Err(wrong("version", format!("it is {version}, this program reads {VERSION}")));
    }
    let names = super::file::checked_names(form.names, source)?;
    let draws: Result<Vec<Scm>, _> =
        form.draws.into_iter().map(|draw| model(&names, draw.nodes, source)).collect();
    let ensemble = Ensemble::new(draws?, form.weights)
        .map_err(|reason| ScmFileError::Ensemble { file: source.into(), reason })?;
    match form.checksum {
        Some(found)
            if found
                != checksum(
                    &models(&ensemble),
                    form.graphs.map(RawValue::get),
                    form.data.map(RawValue::get),
                ) =>
        {
            let problem = "the file was damaged or edited after it was written; if the change is yours, remove this field";
            Err(wrong("checksum", problem.into()))
        }
        _ => Ok(ensemble),
    }
}

/// Counts up when older programs cannot read what is written.
const VERSION: u32 = 1;

/// Of the models as they are written and of the other parts, whatever white space other programs put between their parts.
fn checksum(models: &str, graphs: Option<&str>, data: Option<&str>) -> String {
    let canonical = |text: Option<&str>| {
        let value = text.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
        value.map_or(String::new(), |value| value.to_string())
    };
    let (graphs, data) = (canonical(graphs), canonical(data));
    format!("{:016x}", fingerprint::of_bytes(models.bytes().chain(graphs.bytes()).chain(data.bytes())))
}

/// The text of the field `part`, `graphs` or `data`, if it is there.
pub(super) fn part_of_json<'a>(
    text: &'a [u8],
    part: &str,
    source: &str,
) -> Result<Option<&'a [u8]>, ScmFileError> {
    #[derive(Deserialize)]
    struct Parts<'a> {
        #[serde(borrow)]
        graphs: Option<&'a RawValue>,
        #[serde(borrow)]
        data: Option<&'a RawValue>,
    }
    let found: Parts = parse(text, source)?;
    let part = if part == "data" { found.data } else { found.graphs };
    Ok(part.map(|text| text.get().as_bytes()))
}

/// An ensemble as JSON text, with the JSON texts `graphs` and `data` as fields of their own.
pub(super) fn ensemble_to_json(ensemble: &Ensemble, graphs: Option<&str>, data: Option<&str>) -> String {
    let models = models(ensemble);
    let checksum = checksum(&models, graphs, data);
    let part =
        |name: &str, text: Option<&str>| text.map_or(String::new(), |text| format!(",\n \"{name}\": {text}"));
    let parts = part("graphs", graphs) + &part("data", data);
    format!("{{{models}{parts},\n \"version\": {VERSION},\n \"checksum\": \"{checksum}\"}}\n")
}

/// Names, weights and draws, as fields.
fn models(ensemble: &Ensemble) -> String {
    let draw = |scm: &Scm| format!("{{\"nodes\": {}}}", one_line_each(&nodes(scm), "   "));
    let draws: Vec<String> = ensemble.draws().iter().map(draw).collect();
    let (names, weights) = (one_line(&ensemble.names()[..]), one_line(ensemble.weights()));
    let draws = draws.join(",\n  ");
    format!("\"names\": {names},\n \"weights\": {weights},\n \"draws\": [\n  {draws}]")
}

fn parse<'a, T: Deserialize<'a>>(text: &'a [u8], source: &str) -> Result<T, ScmFileError> {
    serde_json::from_slice(text).map_err(|reason| ScmFileError::Json { file: source.into(), reason })
}

fn one_line<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("finite numbers and strings have a JSON form")
}

/// A list with a line for each node: people read these files, and version control compares them by lines.
fn one_line_each(nodes: &[NodeForm], indent: &str) -> String {
    let lines: Vec<String> = nodes.iter().map(|node| format!("\n{indent}{}", one_line(node))).collect();
    format!("[{}]", lines.join(","))
}

fn nodes(scm: &Scm) -> Vec<NodeForm> {
    let names = scm.names();
    let node = |node: Node| NodeForm {
        name: names[node].clone(),
        parents: scm.dag().parents(node).iter().map(|parent| names[parent].clone()).collect(),
        mechanism: match scm.mechanism(node) {
            Mechanism::Linear(linear) => {
                MechanismForm::Linear { weights: linear.weights.clone(), intercept: linear.intercept }
            }
            Mechanism::Mlp(mlp) => MechanismForm::Mlp {
                w1: rows(&mlp.w1, scm.dag().parents(node).len()),
                b1: mlp.b1.clone(),
                w2: mlp.w2.clone(),
                b2: mlp.b2,
            },
            Mechanism::Waves(waves) => MechanismForm::Waves {
                weights: waves.weights.clone(),
                frequencies: rows(&waves.frequencies, scm.dag().parents(node).len()),
                phases: waves.phases.clone(),
                amplitudes: waves.amplitudes.clone(),
                intercept: waves.intercept,
            },
        },
        noise_sd: scm.noise_sd()[node],
    };
    (0..names.len()).map(node).collect()
}

/// The rows of a matrix with one row per parent; they may be empty.
fn rows(matrix: &[f64], parents: usize) -> Vec<Vec<f64>> {
    let columns = matrix.len() / parents.max(1);
    (0..parents).map(|k| matrix[k * columns..(k + 1) * columns].to_vec()).collect()
}

/// The model of the listed nodes, which may be in any order and list their parents in any order.
fn model(names: &Names, nodes: Vec<NodeForm>, source: &str) -> Result<Scm, ScmFileError> {
    let file = || source.to_string();
    let known = |name: &str| names.iter().position(|n| n == name);
    let mut forms: Vec<Option<NodeForm>> = names.iter().map(|_| None).collect();
    for form in nodes {
        let Some(node) = known(&form.name) else {
            return Err(ScmFileError::UnknownNode { file: file(), name: form.name });
        };
        if let Some(twice) = forms[node].replace(form) {
            return Err(ScmFileError::RepeatedNode { file: file(), name: twice.name });
        }
    }
    let mut edges = Vec::new();
    let (mut mechanisms, mut noise_sd) = (Vec::new(), Vec::new());
    for (node, form) in forms.into_iter().enumerate() {
        let Some(form) = form else {
            return Err(ScmFileError::MissingNode { file: file(), name: names[node].clone() });
        };
        let mut parents: Vec<Node> = Vec::with_capacity(form.parents.len());
        for parent in &form.parents {
            match known(parent) {
                Some(parent) if !parents.contains(&parent) => parents.push(parent),
                _ => {
                    let (node, parent) = (form.name, parent.clone());
                    return Err(ScmFileError::Parent { file: file(), node, parent });
                }
            }
        }
        edges.extend(parents.iter().map(|&parent| (parent, node)));
        let mechanism = mechanism(form.mechanism, &parents).ok_or_else(|| ScmFileError::Shape {
            file: file(),
            node: form.name,
            parents: parents.len(),
        })?;
        mechanisms.push(mechanism);
        noise_sd.push(form.noise_sd);
    }
    let dag = Dag::from_edges(names.len(), edges).map_err(|error| {
        let cycle = error.cycle.iter().map(|&node| names[node].clone()).collect();
        ScmFileError::Cycle { file: file(), cycle }
    })?;
    Scm::new(names.clone(), dag, mechanisms, noise_sd)
        .and_then(Scm::computable)
        .map_err(|reason| ScmFileError::Model { file: file(), reason })
}

/// The mechanism with its weights in ascending order of the parents; None if the shapes do not fit.
fn mechanism(form: MechanismForm, parents: &[Node]) -> Option<Mechanism> {
    let mut ascending: Vec<usize> = (0..parents.len()).collect();
    ascending.sort_by_key(|&k| parents[k]);
    match form {
        MechanismForm::Linear { weights, intercept } => (weights.len() == parents.len()).then(|| {
            let weights = ascending.iter().map(|&k| weights[k]).collect();
            Mechanism::Linear(Linear { weights, intercept })
        }),
        MechanismForm::Mlp { w1, b1, w2, b2 } => {
            let fits = w1.len() == parents.len() && w1.iter().all(|row| row.len() == b1.len());
            let rows = ascending.iter().flat_map(|&k| w1[k].iter().copied());
            fits.then(|| Mechanism::Mlp(Mlp { w1: rows.collect(), b1, w2, b2 }))
        }
        MechanismForm::Waves { weights, frequencies, phases, amplitudes, intercept } => {
            let fits = frequencies.len() == parents.len()
                && weights.len() == parents.len()
                && frequencies.iter().all(|row| row.len() == phases.len());
            fits.then(|| {
                let frequencies = ascending.iter().flat_map(|&k| frequencies[k].iter().copied()).collect();
                let weights = ascending.iter().map(|&k| weights[k]).collect();
                Mechanism::Waves(Waves { weights, frequencies, phases, amplitudes, intercept })
            })
        }
    }
}
