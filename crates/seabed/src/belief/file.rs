//! A belief about graphs as JSON text: what is needed to make it again, bit for bit.
//!
//! A linear law is written as its numbers. A process is written as its hyperparameters and units; the rows that all
//! processes were given stand in the file once, and the processes are made from them when it is read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

use super::given::Conditional;
use super::graphs::{BeliefError, Family, GraphBelief};
use super::kernel::Kernel;
use super::linear::LinearConditional;
use super::process::{ProcessConditional, Regression};
use super::warp::Warp;
use crate::ErrorKind;
use crate::data::{Dataset, Names};
use crate::graph::{Dag, Node, NodeSet};
use crate::num::parallel::ordered_map;
use crate::observer::{Observer, Stopped, report};
use crate::scm::ScmFileError;

const FORMAT: &str = "seabed-graph-belief";
/// Files of version 1 know of no curves, and are read as they are.
const VERSION: u32 = 2;

/// What is wrong with the text of a belief.
#[derive(Debug, thiserror::Error)]
pub enum BeliefFileError {
    /// Not the JSON of a belief.
    #[error("{file}: {reason}; a belief about graphs is the file that seabed writes beside an ensemble")]
    Json {
        /// The file.
        file: String,
        /// Where and why.
        reason: serde_json::Error,
    },
    /// Something else, or of another version.
    #[error("{file}: it is {found:?} version {version}, this program reads {FORMAT:?} version {VERSION}")]
    Version {
        /// The file.
        file: String,
        /// Its format.
        found: String,
        /// Its version.
        version: u32,
    },
    /// Parts of different sizes, or numbers that point nowhere.
    #[error("{file}: `{part}` does not fit the rest; the file is damaged, fit again")]
    Part {
        /// The file.
        file: String,
        /// The part.
        part: &'static str,
    },
    /// Rows that make no data set.
    #[error("{file}: {reason}")]
    Data {
        /// The file.
        file: String,
        /// What is wrong.
        reason: Box<crate::data::DataError>,
    },
    /// Parts that make no belief.
    #[error("{file}: {reason}")]
    Belief {
        /// The file.
        file: String,
        /// What is wrong.
        reason: BeliefError,
    },
    /// A file whose models cannot be read.
    #[error(transparent)]
    Models(#[from] ScmFileError),
    /// The observer asked to stop.
    #[error("stopped before the graphs were read")]
    Stopped,
}

impl BeliefFileError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        if matches!(self, Self::Stopped) { ErrorKind::Stopped } else { ErrorKind::Input }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    format: String,
    version: u32,
    names: Vec<String>,
    weights: Vec<f64>,
    /// `[graph][node]`, indices into the families of the node.
    graphs: Vec<Vec<usize>>,
    /// `[node][family]`.
    families: Vec<Vec<FamilyContent>>,
    rows: Option<RowsContent>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FamilyContent {
    parents: Vec<Node>,
    law: LawContent,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LawContent {
    Linear(LinearConditional),
    Process {
        unit: (f64, f64),
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warp: Option<Warp>,
        parent_units: Vec<(f64, f64)>,
        kernel: Kernel,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowsContent {
    /// `[variable][row]`.
    columns: Vec<Vec<f64>>,
    /// `[row]`, the nodes that were set.
    targets: Vec<Vec<Node>>,
}

impl GraphBelief {
    /// The belief as JSON text; [`GraphBelief::from_json`] gives it back bit for bit.
    pub fn to_json(&self) -> String {
        let law = |conditional: &Conditional| match conditional {
            Conditional::Linear(linear) => LawContent::Linear(linear.clone()),
            Conditional::Process(process) => {
                let (unit, parent_units) = process.units();
                LawContent::Process {
                    unit,
                    warp: process.warp(),
                    parent_units: parent_units.to_vec(),
                    kernel: process.kernel().clone(),
                }
            }
        };
        let family = |family: &Family| FamilyContent {
            parents: family.parents.clone(),
            law: law(&family.conditional),
        };
        let nodes = self.names().len();
        let rows = self.data().map(|data| RowsContent {
            columns: data.columns().to_vec(),
            targets: (0..data.rows()).map(|row| data.targets(row).iter().collect()).collect(),
        });
        let graph = |graph: usize| self.family_of(graph).iter().map(|&family| family as usize).collect();
        let content = Content {
            format: FORMAT.into(),
            version: VERSION,
            names: self.names().to_vec(),
            weights: self.weights().to_vec(),
            graphs: (0..self.graphs().len()).map(graph).collect(),
            families: (0..nodes).map(|node| self.families(node).iter().map(family).collect()).collect(),
            rows,
        };
        serde_json::to_string(&content).expect("plain numbers have a JSON form")
    }

    /// A belief from JSON text; `source` is its name in errors.
    pub fn from_json(text: &[u8], source: &str) -> Result<Self, BeliefFileError> {
        Self::from_json_watched(text, source, &())
    }

    /// As [`GraphBelief::from_json`]: the processes of many rows take their time.
    pub fn from_json_watched(
        text: &[u8],
        source: &str,
        observer: &dyn Observer,
    ) -> Result<Self, BeliefFileError> {
        let file = || source.to_string();
        let content: Content =
            serde_json::from_slice(text).map_err(|reason| BeliefFileError::Json { file: file(), reason })?;
        if content.format != FORMAT || !(1..=VERSION).contains(&content.version) {
            let (found, version) = (content.format, content.version);
            return Err(BeliefFileError::Version { file: file(), found, version });
        }
        let part = |part: &'static str| BeliefFileError::Part { file: file(), part };
        let names: Names = content.names.into();
        let nodes = names.len();
        let data = content
            .rows
            .map(|rows| {
                let within = |targets: &Vec<Node>| targets.iter().all(|&node| node < nodes);
                if !rows.targets.iter().all(within) {
                    return Err(part("rows"));
                }
                let sets = rows.targets.into_iter().map(|targets| NodeSet::of(nodes, targets)).collect();
                Dataset::new(names.clone(), rows.columns, sets)
                    .map_err(|reason| BeliefFileError::Data { file: file(), reason: Box::new(reason) })
            })
            .transpose()?;
        if content.families.len() != nodes {
            return Err(part("families"));
        }
        let listed: Vec<(Node, FamilyContent)> = content
            .families
            .into_iter()
            .enumerate()
            .flat_map(|(node, families)| families.into_iter().map(move |family| (node, family)))
            .collect();
        let (all, done) = (listed.len() as u64, AtomicU64::new(0));
        let made = ordered_map(&listed, |(node, family)| {
            report(observer, done.fetch_add(1, Relaxed), all, format_args!("sets of parents read"))?;
            Ok(family.made(*node, nodes, data.as_ref()))
        });
        let mut families = vec![Vec::new(); nodes];
        for ((node, _), family) in listed.iter().zip(made) {
            let family = family.map_err(|_: Stopped| BeliefFileError::Stopped)?;
            families[*node].push(family.ok_or_else(|| part("families"))?);
        }
        if content.weights.len() != content.graphs.len() {
            return Err(part("weights"));
        }
        let graph = |of_node: &Vec<usize>| {
            let parents = |(node, &family): (Node, &usize)| {
                Some(NodeSet::of(nodes, families[node].get(family)?.parents.iter().copied()))
            };
            let sets: Option<Vec<NodeSet>> =
                (of_node.len() == nodes).then(|| of_node.iter().enumerate().map(parents).collect())?;
            Dag::from_parents(sets?).ok()
        };
        let graphs: Option<Vec<Dag>> = content.graphs.iter().map(graph).collect();
        let weighted = graphs.ok_or_else(|| part("graphs"))?.into_iter().zip(content.weights).collect();
        Self::new(names, weighted, families, data)
            .map_err(|reason| BeliefFileError::Belief { file: file(), reason })
    }
}

impl FamilyContent {
    /// None if the parts do not fit.
    fn made(&self, node: Node, nodes: usize, data: Option<&Dataset>) -> Option<Family> {
        if !self.parents.iter().all(|&parent| parent < nodes && parent != node) {
            return None;
        }
        let conditional = match &self.law {
            LawContent::Linear(linear) => Conditional::Linear(linear.clone()),
            LawContent::Process { unit, warp, parent_units, kernel } => {
                let valid = |(mean, sd): &(f64, f64)| mean.is_finite() && sd.is_finite() && *sd > 0.0;
                let sizes = [parent_units.len(), kernel.decays.len()];
                if sizes != [self.parents.len(); 2]
                    || !kernel.is_valid()
                    || !warp.is_none_or(|warp| warp.is_valid())
                    || !parent_units.iter().chain([unit]).all(valid)
                {
                    return None;
                }
                let data = data?;
                let free: Vec<usize> =
                    (0..data.rows()).filter(|&row| !data.targets(row).contains(node)).collect();
                let column = |node: Node, (mean, sd): (f64, f64)| -> Vec<f64> {
                    free.iter().map(|&row| (data.column(node)[row] - mean) / sd).collect()
                };
                let mut values = column(node, *unit);
                if let Some(warp) = warp {
                    values.iter_mut().for_each(|value| *value = warp.inside(*value));
                }
                let parents: Vec<Vec<f64>> =
                    self.parents.iter().zip(parent_units).map(|(&k, unit)| column(k, *unit)).collect();
                let rows = Regression {
                    values: &values,
                    parents: parents.iter().map(|column| &column[..]).collect(),
                };
                let process = ProcessConditional::new(*unit, parent_units.clone(), kernel.clone(), &rows)?;
                Conditional::Process(Box::new(process.along(*warp)))
            }
        };
        Some(Family { parents: self.parents.clone(), conditional })
    }
}
