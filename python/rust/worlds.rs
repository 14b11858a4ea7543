//! Worlds that answer experiments: random models, models from files, gene networks.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use seabed::data::Names;
use seabed::num::random::{Purpose, Seed, Stream};
use seabed::scm::{Intervention, Scm};
use seabed::world::grn::{Generated, Grn, Measure, Measurement, Network, Organism};
use seabed::world::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, World};
use serde::Deserialize;

use crate::failure::Failure;
use crate::settings::intervention;
use crate::table::Table;
use crate::watch::{quick, watched};

/// A world of either kind.
#[pyclass(frozen, module = "seabed._seabed", name = "World")]
#[derive(Clone)]
pub struct PyWorld {
    content: Arc<Content>,
}

enum Content {
    Model(Box<Scm>),
    Genes(Box<Grn>),
}

/// A random model, as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Drawn {
    graph: String,
    nodes: usize,
    edges_per_node: f64,
    mechanism: String,
    hidden: usize,
    weights: String,
    noise_sd: f64,
    noise_levels: String,
    standardise: bool,
}

/// A generated gene network, or one from a file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Genes {
    network: Option<PathBuf>,
    organism: Organism,
    genes: usize,
    measure: Measure,
    deterministic: bool,
    gnw_faithful: bool,
}

const SIZES: std::ops::RangeInclusive<usize> = 1..=2000;

/// More numbers than this (8 GB) are a typing error, not a data set.
const MOST_NUMBERS: usize = 1_000_000_000;

fn chosen<T: Copy>(key: &str, name: &str, known: &[(&str, T)]) -> Result<T, Failure> {
    let found = known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    found.ok_or_else(|| Failure::settings(format!("{key} = {name:?}: choose one of {}", names.join(", "))))
}

fn within(key: &str, got: usize, range: std::ops::RangeInclusive<usize>) -> Result<(), Failure> {
    if range.contains(&got) {
        return Ok(());
    }
    Err(Failure::settings(format!(
        "{key} = {got}: choose a number from {} to {}",
        range.start(),
        range.end()
    )))
}

impl Drawn {
    fn draw(&self, seed: u64) -> Result<Scm, Failure> {
        within("nodes", self.nodes, SIZES)?;
        within("hidden", self.hidden, 1..=1000)?;
        let graphs = [
            ("er", GraphKind::Er),
            ("sf", GraphKind::Sf),
            ("tree", GraphKind::Tree),
            ("chain", GraphKind::Chain),
        ];
        let weights = [("normal", LinearWeights::Normal), ("uniform", LinearWeights::UNIFORM)];
        let mechanisms = [
            ("linear", MechanismKind::Linear(chosen("weights", &self.weights, &weights)?)),
            ("nonlinear", MechanismKind::Mlp { hidden: self.hidden }),
        ];
        let noise = [
            ("equal", NoiseLevels::Equal(self.noise_sd)),
            ("unequal", NoiseLevels::Unequal(self.noise_sd)),
            ("roots", NoiseLevels::Roots(self.noise_sd)),
            ("random", NoiseLevels::Random(self.noise_sd)),
        ];
        let synthetic = Synthetic {
            graph: chosen("graph", &self.graph, &graphs)?,
            nodes: self.nodes,
            edges_per_node: self.edges_per_node,
            mechanism: chosen("mechanism", &self.mechanism, &mechanisms)?,
            noise: chosen("noise_levels", &self.noise_levels, &noise)?,
            standardised: self.standardise,
        };
        Ok(synthetic.draw(Seed::new(seed))?)
    }
}

impl PyWorld {
    fn of(content: Content) -> Self {
        Self { content: Arc::new(content) }
    }

    fn world(&self) -> &dyn World {
        match &*self.content {
            Content::Model(scm) => &**scm,
            Content::Genes(genes) => &**genes,
        }
    }
}

#[pymethods]
impl PyWorld {
    /// Draws a random model.
    #[staticmethod]
    fn draw(py: Python<'_>, settings: &str, seed: u64) -> PyResult<Self> {
        watched(py, Some(1), None, |_| {
            let drawn: Drawn = serde_json::from_str(settings).map_err(Failure::settings)?;
            Ok(Self::of(Content::Model(Box::new(drawn.draw(seed)?))))
        })
    }

    /// A gene network.
    #[staticmethod]
    fn genes(py: Python<'_>, settings: &str, seed: u64) -> PyResult<Self> {
        watched(py, Some(1), None, |_| {
            let genes: Genes = serde_json::from_str(settings).map_err(Failure::settings)?;
            let network = match &genes.network {
                Some(path) => Network::read(path)?,
                None => Generated { organism: genes.organism, genes: genes.genes }.draw(Seed::new(seed))?,
            };
            let (of, deterministic, faithful) = (genes.measure, genes.deterministic, genes.gnw_faithful);
            Ok(Self::of(Content::Genes(Box::new(Grn::new(
                network,
                Measurement { of, deterministic, faithful },
            )))))
        })
    }

    /// The model of a JSON text.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str, source: &str) -> PyResult<Self> {
        quick(py, || Ok(Self::of(Content::Model(Box::new(Scm::from_json(text.as_bytes(), source)?)))))
    }

    /// The model as JSON, or the gene network as SBML.
    fn to_text(&self, py: Python<'_>) -> PyResult<String> {
        quick(py, || {
            Ok(match &*self.content {
                Content::Model(scm) => scm.to_json(),
                Content::Genes(genes) => genes.network().to_sbml(),
            })
        })
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.world().names().to_vec()
    }

    #[getter]
    fn is_gene_network(&self) -> bool {
        matches!(&*self.content, Content::Genes(_))
    }

    /// Who causes whom, `[from][to]`; a gene network may have cycles, and regulation of a gene by itself is left out.
    fn graph(&self) -> Vec<Vec<bool>> {
        match &*self.content {
            Content::Model(scm) => scm.dag().to_rows_to_columns(),
            Content::Genes(genes) => {
                let mut rows = genes.network().regulations();
                (0..rows.len()).for_each(|gene| rows[gene][gene] = false);
                rows
            }
        }
    }

    /// Outcomes of one experiment.
    #[pyo3(signature = (samples, settings, seed, threads=None))]
    fn sample(
        &self,
        py: Python<'_>,
        samples: usize,
        settings: Vec<(String, f64)>,
        seed: u64,
        threads: Option<usize>,
    ) -> PyResult<Table> {
        watched(py, threads, None, |observer| {
            let world = self.world();
            within("n", samples, 1..=MOST_NUMBERS / world.names().len().max(1))?;
            let design = intervention(&settings, world.names())?;
            let stream = noise_of(Seed::new(seed), &design, world.names());
            Ok(Table::of(world.experiment_observed(&design, samples, stream, observer)?))
        })
    }
}

/// Experiments on one world are independent of each other: the address of the noise names the intervention, whatever the
/// order of the variables. The same as for `seabed simulate`.
fn noise_of(seed: Seed, design: &Intervention, names: &Names) -> Stream {
    let mut settings: Vec<(&str, f64)> =
        design.settings().iter().map(|&(node, value)| (names[node].as_str(), value)).collect();
    settings.sort_by(|a, b| a.0.cmp(b.0));
    let root = seed.stream(Purpose::Noise);
    settings.into_iter().fold(root, |stream, (name, value)| stream.named(name).named(&value.to_string()))
}
