//! Generated gene networks, with the statistics of those of bacteria and yeast.
//!
//! Regulators are arranged in layers above the other genes; a few of them are hubs. A gene draws most of its regulators by
//! weight, and some from among the regulators of one that it has, which makes feed-forward loops. There are no cycles.
//! Kinetics are drawn from the ranges of the published networks: half-lives around 27 minutes, Hill exponents from 1 to
//! 10, half of the dissociation constants below 0.15.

use serde::{Deserialize, Serialize};

use crate::graph::Node;
use crate::num::random::{Draws, Purpose, Seed};

use super::error::NetworkError;
use super::network::{Gene, Input, MOST_MODULES, Module, Network};

/// What kind of network to draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generated {
    /// Whose networks it resembles.
    pub organism: Organism,
    /// Number of genes, called G1, G2, … in random order.
    pub genes: usize,
}

/// Whose networks a generated one resembles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Organism {
    /// Few regulators, strong hubs, one or two regulators per gene, three or four layers.
    EcoliLike,
    /// Half of the genes regulate, weaker hubs, two or three regulators per gene, more layers and feed-forward loops.
    YeastLike,
}

/// The numbers in which the organisms differ.
struct Statistics {
    /// Fraction of the genes that can regulate.
    regulators: f64,
    /// Layers of regulators.
    layers: usize,
    /// Fraction of the genes without a regulator, besides the first layer.
    unregulated: f64,
    /// Probability of one more regulator, again and again.
    another: f64,
    /// Probability that it closes a feed-forward loop, where it can.
    feed_forward: f64,
    /// The weight of the r-th hub is r to minus this.
    hubs: f64,
}

impl Organism {
    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::EcoliLike => "ecoli-like",
            Self::YeastLike => "yeast-like",
        }
    }

    fn statistics(self) -> Statistics {
        match self {
            Self::EcoliLike => Statistics {
                regulators: 0.25,
                layers: 3,
                unregulated: 0.05,
                another: 0.32,
                feed_forward: 0.4,
                hubs: 1.0,
            },
            Self::YeastLike => Statistics {
                regulators: 0.75,
                layers: 10,
                unregulated: 0.02,
                another: 0.55,
                feed_forward: 0.5,
                hubs: 0.6,
            },
        }
    }
}

/// Fewest and most genes of a generated network.
const SIZES: (usize, usize) = (2, 2000);

/// Inputs of a gene, at most.
const MOST_INPUTS: usize = 12;

impl Generated {
    /// Draws a network: topology and kinetics are functions of the seed.
    pub fn draw(&self, seed: Seed) -> Result<Network, NetworkError> {
        let (least, most) = SIZES;
        if !(least..=most).contains(&self.genes) {
            return Err(NetworkError::Genes { genes: self.genes, least, most });
        }
        let root = seed.stream(Purpose::GeneNetwork);
        let regulators = self.draw_topology(&mut root.at(0).draws());
        let genes =
            (0..).zip(&regulators).map(|(k, parents)| draw_gene(parents, &mut root.at(1).at(k).draws()));
        let names = (1..=self.genes).map(|k| format!("G{k}")).collect();
        let name = format!("{}-{}", self.organism.name(), self.genes);
        Network::new(&name, names, genes.collect())
    }

    /// The regulators of each gene.
    fn draw_topology(&self, draws: &mut Draws) -> Vec<Vec<Node>> {
        let statistics = self.organism.statistics();
        let regulators =
            ((self.genes as f64 * statistics.regulators).round() as usize).clamp(1, self.genes - 1);
        let layers = statistics.layers.min(regulators);
        // Places are in the order of the layers; the genes are numbered independently of it.
        let mut gene_at: Vec<Node> = (0..self.genes).collect();
        draws.shuffle(&mut gene_at);
        let mut ranks: Vec<usize> = (1..=regulators).collect();
        draws.shuffle(&mut ranks);
        let weights: Vec<f64> = ranks.iter().map(|&rank| (rank as f64).powf(-statistics.hubs)).collect();
        let first_of_layer = |layer: usize| (layer * regulators).div_ceil(layers);

        let mut parents: Vec<Vec<usize>> = vec![Vec::new(); self.genes];
        for place in 0..self.genes {
            // Regulators of this gene come from the layers above its own.
            let above =
                (0..=layers).map(first_of_layer).take_while(|&first| first <= place).last().unwrap_or(0);
            if above == 0 || draws.uniform() < statistics.unregulated && place + 1 < self.genes {
                continue;
            }
            let mut chosen: Vec<usize> = Vec::new();
            loop {
                let loops: Vec<usize> = chosen
                    .iter()
                    .flat_map(|&parent| &parents[parent])
                    .copied()
                    .filter(|grandparent| !chosen.contains(grandparent))
                    .collect();
                let closes = !loops.is_empty() && draws.uniform() < statistics.feed_forward;
                let candidates: Vec<usize> =
                    if closes { loops } else { (0..above).filter(|place| !chosen.contains(place)).collect() };
                if candidates.is_empty() {
                    break;
                }
                chosen.push(draw_weighted(&candidates, &weights, draws));
                if chosen.len() == MOST_INPUTS || draws.uniform() >= statistics.another {
                    break;
                }
            }
            parents[place] = chosen;
        }
        let mut regulators_of = vec![Vec::new(); self.genes];
        for (place, parents) in parents.into_iter().enumerate() {
            regulators_of[gene_at[place]] = parents.into_iter().map(|parent| gene_at[parent]).collect();
        }
        regulators_of
    }
}

fn draw_weighted(candidates: &[usize], weights: &[f64], draws: &mut Draws) -> usize {
    let total: f64 = candidates.iter().map(|&c| weights[c]).sum();
    let mut left = draws.uniform() * total;
    let hit = candidates.iter().find(|&&c| {
        left -= weights[c];
        left < 0.0
    });
    *hit.unwrap_or(&candidates[candidates.len() - 1])
}

/// A number from N(mean, sd²) within [least, most].
fn draw_between(least: f64, most: f64, mean: f64, sd: f64, draws: &mut Draws) -> f64 {
    // Every range in use has a third of the distribution or more, so this ends soon.
    loop {
        let value = mean + sd * draws.normal();
        if (least..=most).contains(&value) {
            return value;
        }
    }
}

fn draw_gene(regulators: &[Node], draws: &mut Draws) -> Gene {
    let decay = |draws: &mut Draws| std::f64::consts::LN_2 / draw_between(5.0, 50.0, 27.5, 7.5, draws);
    let (mrna_decay, protein_decay) = (decay(draws), decay(draws));
    let modules = draw_modules(regulators, draws);
    let activation = draw_activation(modules.len(), draws);
    // Fully active, both levels come to 1.
    Gene {
        transcription: mrna_decay,
        mrna_decay,
        translation: protein_decay,
        protein_decay,
        modules,
        activation,
    }
}

/// Each regulator starts a module of its own or joins the last one, sometimes as a deactivator.
fn draw_modules(regulators: &[Node], draws: &mut Draws) -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    for &regulator in regulators {
        let dissociation = draw_between(0.01, 1.0, 0.0, 0.2, draws);
        let input = Input { regulator, dissociation, hill: draw_between(1.0, 10.0, 2.0, 2.0, draws) };
        let joins = draws.uniform() < 0.4 || modules.len() == MOST_MODULES;
        let (deactivates, complex) = (draws.uniform() < 0.3, draws.uniform() < 0.5);
        match modules.last_mut() {
            Some(module) if joins && deactivates => module.deactivators.push(input),
            Some(module) if joins => module.activators.push(input),
            _ => modules.push(Module { complex, activators: vec![input], deactivators: vec![] }),
        }
    }
    modules
}

/// Modules enhance or repress, half of them each, and their effects add up within [0, 1]. Together the enhancers switch the gene
/// on and the repressors nearly off.
fn draw_activation(modules: usize, draws: &mut Draws) -> Vec<f64> {
    let enhances: Vec<bool> = (0..modules).map(|_| draws.below(2) == 0).collect();
    let mut effects: Vec<f64> = (0..modules).map(|_| 0.3 + 0.7 * draws.uniform()).collect();
    let mut leak = || draw_between(0.0, 0.25, 0.0, 0.05, draws);
    let lowest = leak();
    let basal = match (enhances.contains(&true), enhances.contains(&false)) {
        (true, false) => lowest,
        (true, true) => draw_between(0.25, 0.75, 0.5, 0.075, draws),
        (false, _) => 1.0,
    };
    for (sign, needed) in [(true, 1.0 - basal), (false, basal - lowest)] {
        let of_sign = |q: &usize| enhances[*q] == sign;
        let total: f64 = (0..modules).filter(of_sign).map(|q| effects[q]).sum();
        let stretch = (needed / total).max(1.0);
        (0..modules).filter(of_sign).for_each(|q| effects[q] *= stretch);
    }
    let level = |state: usize| {
        let active = (0..modules).filter(|q| state >> q & 1 == 1);
        let shift: f64 = active.map(|q| if enhances[q] { effects[q] } else { -effects[q] }).sum();
        (basal + shift).clamp(0.0, 1.0)
    };
    (0..1 << modules).map(level).collect()
}
