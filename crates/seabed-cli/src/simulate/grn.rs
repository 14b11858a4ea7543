//! `seabed simulate grn`: data from a gene network, read from a file or generated.

use std::io;
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use seabed::data::write_matrix;
use seabed::num::random::Seed;
use seabed::scm::Intervention;
use seabed::world::World;
use seabed::world::grn::{Generated, Grn, Measure, Measurement, Network, NetworkError, Organism};

use super::{MOST_NUMBERS, check_outputs, check_size, noise_of, save, write_data};
use crate::failure::Failure;
use crate::outputs::{Force, Kind};
use crate::settings::{node_named, parse_intervention};

#[derive(Args)]
#[command(after_help = "Examples:
  seabed simulate grn --generate ecoli-like --genes 10 --save-network net.xml --save-graph truth.csv --out wild.csv
  seabed simulate grn --network net.xml --knockout G3 --n 20 --out knockout.csv")]
pub struct Arguments {
    /// The network, an SBML file as written by GeneNetWeaver.
    #[arg(long, value_name = "FILE", required_unless_present = "generate", conflicts_with = "generate")]
    network: Option<PathBuf>,
    /// Generate a network that resembles those of an organism.
    #[arg(long, value_enum)]
    generate: Option<OrganismName>,
    /// Number of genes of a generated network [default: 50].
    #[arg(long, value_name = "COUNT", requires = "generate")]
    genes: Option<usize>,
    /// Number of samples [default: 100, or 1 if --deterministic].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=MOST_NUMBERS))]
    n: Option<u64>,
    /// Knock out a gene, the same as --do GENE=0; repeat for several at once.
    #[arg(long, value_name = "GENE")]
    knockout: Vec<String>,
    /// Multiply a gene's rate of transcription: 0 knocks it out, 0.5 knocks it down, 2 over-expresses it; repeat for
    /// several at once. Without interventions the wild type is observed.
    #[arg(long = "do", value_name = "GENE=FACTOR", allow_hyphen_values = true)]
    settings: Vec<String>,
    /// What to measure for every gene.
    #[arg(long, value_enum, default_value_t = MeasureName::Mrna)]
    measure: MeasureName,
    /// Give the steady state, without noise.
    #[arg(long)]
    deterministic: bool,
    /// Report exactly what GeneNetWeaver would, quirks included; `false` reports the state itself, and the wild type
    /// only once it is stationary.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    gnw_faithful: bool,
    /// Seed of a generated network and of the noise.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Output file, .csv or .parquet [default: standard output, as CSV].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Save the network as SBML.
    #[arg(long, value_name = "FILE")]
    save_network: Option<PathBuf>,
    /// Save who regulates whom as a 0/1 matrix (CSV, row -> column), without self-regulation.
    #[arg(long, value_name = "FILE")]
    save_graph: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

#[derive(Clone, Copy, ValueEnum)]
enum OrganismName {
    /// Few regulators with strong hubs, three or four layers.
    EcoliLike,
    /// More regulators, more of them per gene, more layers.
    YeastLike,
}

#[derive(Clone, Copy, ValueEnum)]
enum MeasureName {
    /// The level of its mRNA.
    Mrna,
    /// The level of its protein.
    Protein,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let world = Grn::new(arguments.network()?, arguments.measurement());
    let n = arguments.n.unwrap_or(if arguments.deterministic { 1 } else { 100 });
    check_size(n, world.names().len(), &arguments.force)?;
    let intervention = arguments.intervention(&world)?;
    let others = [(&arguments.save_network, Kind::Network), (&arguments.save_graph, Kind::Graph)];
    let input = arguments.network.as_deref();
    let draw = || {
        let stream = noise_of(Seed::new(arguments.seed), &intervention, world.names());
        world.experiment(&intervention, n as usize, stream)
    };
    check_outputs(&arguments.force, arguments.out.as_deref(), &|| draw().ok(), &others, input)?;
    let data = draw()?;

    // The input is fully checked: now write the files, the data last.
    if let Some(path) = &arguments.save_network {
        save(path, |out| out.write_all(world.network().to_sbml().as_bytes()))?;
    }
    if let Some(path) = &arguments.save_graph {
        let mut regulations = world.network().regulations();
        (0..regulations.len()).for_each(|gene| regulations[gene][gene] = false);
        save(path, |out| write_matrix(out, world.names(), &regulations).map_err(io::Error::other))?;
        if let Err(NetworkError::Cycle { cycle }) = world.network().dag() {
            tell!(
                "note: the graph has a cycle ({} -> {}); commands that need an acyclic graph will refuse it",
                cycle.join(" -> "),
                cycle[0]
            );
        }
    }
    write_data(arguments.out.as_deref(), &data)
}

impl Arguments {
    fn network(&self) -> Result<Network, Failure> {
        let organism = match (&self.network, self.generate) {
            (Some(path), _) => return Ok(Network::read(path)?),
            (None, Some(OrganismName::YeastLike)) => Organism::YeastLike,
            (None, _) => Organism::EcoliLike,
        };
        let kind = Generated { organism, genes: self.genes.unwrap_or(50) };
        kind.draw(Seed::new(self.seed)).map_err(|error| Failure::Input(anyhow::anyhow!("--genes: {error}")))
    }

    fn measurement(&self) -> Measurement {
        Measurement {
            of: match self.measure {
                MeasureName::Mrna => Measure::Mrna,
                MeasureName::Protein => Measure::Protein,
            },
            deterministic: self.deterministic,
            faithful: self.gnw_faithful,
        }
    }

    fn intervention(&self, world: &Grn) -> Result<Intervention, Failure> {
        let names = world.names();
        let mut settings = parse_intervention("--do", &self.settings, names)?.settings().to_vec();
        for gene in &self.knockout {
            let node = node_named(gene, names, "--knockout")?;
            if settings.iter().any(|setting| setting.0 == node) {
                return Err(Failure::Input(anyhow::anyhow!(
                    "{gene:?} is a target twice; name each target only once"
                )));
            }
            settings.push((node, 0.0));
        }
        Ok(Intervention::new(settings)?)
    }
}
