//! Ours beside published figures, on worlds made by the recipes of three public benchmarks.
//!
//!     cargo bench -p seabed-bench --bench posterior_published                  every recipe, a few worlds each
//!     cargo bench -p seabed-bench --bench posterior_published -- i-            those whose names begin so
//!     cargo bench -p seabed-bench --bench posterior_published -- i-linear-25-100 20    20 worlds
//!
//! Seeds from 1000 on; observations only, usual settings. What is and is not comparable: docs/results/published.md.

use seabed::data::Dataset;
use seabed::evaluate::scores;
use seabed::graph::{Dag, Node, scale_free};
use seabed::num::random::{Draws, Purpose, Seed};
use seabed::posterior::Knowledge;
use seabed::posterior::mcmc::{Family, Mcmc};
use seabed::scm::{Intervention, Linear, Mechanism, Mlp, Scm, Waves};
use seabed::world::{Synthetic, World};
use seabed_bench::cpu_time_of;

const FIRST_SEED: u64 = 1000;

#[derive(Clone, Copy)]
enum Graphs {
    /// Exactly so many edges a variable, all pairs equally likely, along a random order.
    Edges(f64),
    /// Every pair with the probability 4/(d - 1), along a random order.
    Pairs,
    /// Scale-free with two edges a variable.
    ScaleFree,
}

#[derive(Clone, Copy)]
enum Mechanisms {
    /// Weights uniform between these, with either sign.
    Linear(f64, f64),
    /// Networks of so many rectified units without biases; weights of both layers as above.
    Network(usize, f64, f64),
    /// Networks of so many rectified units; weights and biases standard normal.
    NormalNetwork(usize),
    /// Draws from a Gaussian process with a squared-exponential kernel of length and size 1.
    Process,
}

#[derive(Clone, Copy)]
enum Noise {
    /// A standard deviation.
    Equal(f64),
    /// Variances from the inverse gamma distribution with shape 1.5 and scale 1.
    InverseGamma,
}

#[derive(Clone, Copy, PartialEq)]
enum Measure {
    /// Distance between CPDAGs, AUROC of the skeleton.
    Class,
    /// Distance between DAGs, AUROC of directed edges.
    Graph,
}

/// (method, E-SHD, AUROC), as published.
type Published = &'static [(&'static str, f64, Option<f64>)];

struct Recipe {
    name: &'static str,
    nodes: usize,
    rows: usize,
    graphs: Graphs,
    mechanisms: Mechanisms,
    noise: Noise,
    measure: Measure,
    family: Family,
    worlds: u64,
    published: Published,
}

const LINEAR_100: Published = &[
    ("BCD", 44.3, Some(0.723)),
    ("BayesDAG", 39.7, Some(0.741)),
    ("DDS", 98.6, Some(0.836)),
    ("DiBS", 35.9, Some(0.897)),
    ("ProDAG", 38.2, Some(0.948)),
    ("SVI-DAG", 40.3, Some(0.935)),
];
const LINEAR_1000: Published = &[
    ("BCD", 40.7, Some(0.942)),
    ("BayesDAG", 34.9, Some(0.993)),
    ("DDS", 44.3, Some(0.993)),
    ("DiBS", 35.6, Some(0.920)),
    ("ProDAG", 38.0, Some(0.981)),
    ("SVI-DAG", 34.5, Some(0.992)),
];
const NONLINEAR_100: Published = &[
    ("BCD", 41.8, Some(0.608)),
    ("BayesDAG", 41.3, Some(0.604)),
    ("DDS", 103.5, Some(0.625)),
    ("DiBS", 52.6, Some(0.775)),
    ("ProDAG", 46.0, Some(0.631)),
    ("SVI-DAG", 43.8, Some(0.789)),
];
const NONLINEAR_1000: Published = &[
    ("BCD", 43.1, Some(0.663)),
    ("BayesDAG", 46.6, Some(0.819)),
    ("DDS", 51.3, Some(0.826)),
    ("DiBS", 47.6, Some(0.876)),
    ("ProDAG", 70.9, Some(0.605)),
    ("SVI-DAG", 43.0, Some(0.847)),
];
const LARGE_70: Published = &[("BayesDAG", 143.7, None), ("BCD", 217.1, None)];
const LARGE_100: Published = &[("BayesDAG", 295.9, None), ("BCD", 362.7, None)];

fn recipes() -> Vec<Recipe> {
    let first = |name, nodes, rows, linear: bool, worlds, published| Recipe {
        name,
        nodes,
        rows,
        graphs: Graphs::Edges(1.6),
        mechanisms: if linear { Mechanisms::Linear(0.3, 0.7) } else { Mechanisms::Network(10, 0.3, 0.7) },
        noise: Noise::Equal(1.0),
        measure: if linear { Measure::Class } else { Measure::Graph },
        family: if linear { Family::Linear } else { Family::GaussianProcess },
        worlds,
        published,
    };
    let second = |name, nodes, linear: bool, family, worlds, published| Recipe {
        name,
        nodes,
        rows: 5000,
        graphs: Graphs::Edges(2.0),
        mechanisms: if linear { Mechanisms::Linear(0.5, 1.5) } else { Mechanisms::NormalNetwork(5) },
        noise: Noise::InverseGamma,
        measure: if linear { Measure::Class } else { Measure::Graph },
        family,
        worlds,
        published,
    };
    let third = |name, nodes, graphs, worlds| Recipe {
        name,
        nodes,
        rows: 200,
        graphs,
        mechanisms: Mechanisms::Process,
        noise: Noise::Equal(0.5),
        measure: Measure::Graph,
        family: Family::GaussianProcess,
        worlds,
        published: &[],
    };
    vec![
        first("i-linear-25-100", 25, 100, true, 20, LINEAR_100),
        first("i-linear-25-1000", 25, 1000, true, 20, LINEAR_1000),
        first("i-linear-50-100", 50, 100, true, 10, &[]),
        first("i-linear-50-1000", 50, 1000, true, 10, &[]),
        first("i-nonlinear-25-100", 25, 100, false, 10, NONLINEAR_100),
        first("i-nonlinear-25-1000", 25, 1000, false, 2, NONLINEAR_1000),
        first("i-nonlinear-50-100", 50, 100, false, 2, &[]),
        first("i-nonlinear-50-1000", 50, 1000, false, 1, &[]),
        second("ii-linear-30", 30, true, Family::Linear, 5, &[]),
        second("ii-linear-50", 50, true, Family::Linear, 5, &[]),
        second("ii-linear-70", 70, true, Family::Linear, 5, &[]),
        second("ii-linear-100", 100, true, Family::Linear, 5, &[]),
        second("ii-nonlinear-30", 30, false, Family::GaussianProcess, 1, &[]),
        second("ii-nonlinear-50", 50, false, Family::GaussianProcess, 1, &[]),
        second("ii-nonlinear-70", 70, false, Family::GaussianProcess, 1, LARGE_70),
        second("ii-nonlinear-100", 100, false, Family::GaussianProcess, 1, LARGE_100),
        second("ii-nonlinear-30-by-linear", 30, false, Family::Linear, 5, &[]),
        second("ii-nonlinear-70-by-linear", 70, false, Family::Linear, 5, LARGE_70),
        second("ii-nonlinear-100-by-linear", 100, false, Family::Linear, 5, LARGE_100),
        third("iii-er-11", 11, Graphs::Pairs, 10),
        third("iii-sf-11", 11, Graphs::ScaleFree, 10),
        third("iii-er-20", 20, Graphs::Pairs, 5),
        third("iii-sf-20", 20, Graphs::ScaleFree, 5),
        third("iii-er-50", 50, Graphs::Pairs, 1),
        third("iii-sf-50", 50, Graphs::ScaleFree, 1),
    ]
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let wanted = words.first().map_or("", String::as_str);
    let worlds: Option<u64> = words.get(1).and_then(|word| word.parse().ok());
    println!(
        "{:<27} {:<12} {:>6} {:>6} {:>15} {:>15} {:>15} {:>15} {:>9}",
        "recipe", "posterior", "worlds", "edges", "CPDAG E-SHD", "skeleton AUROC", "E-SHD", "AUROC", "CPU s"
    );
    for recipe in recipes().iter().filter(|recipe| recipe.name.starts_with(wanted)) {
        show(recipe, worlds.unwrap_or(recipe.worlds));
    }
}

fn show(recipe: &Recipe, worlds: u64) {
    let mut found: [Vec<f64>; 6] = Default::default();
    for seed in FIRST_SEED..FIRST_SEED + worlds {
        let (truth, data) = recipe.world(seed);
        let fit = || {
            let knowledge = Knowledge::none(data.variables());
            Mcmc::of(recipe.family).fit(&data, &knowledge, Seed::new(seed), &()).expect("enough rows")
        };
        let (time, fit) = cpu_time_of(fit);
        let scores = scores(&fit.ensemble, truth.dag());
        let figures = [
            truth.dag().edge_count() as f64,
            scores.cpdag_eshd.unwrap_or(f64::NAN),
            scores.skeleton_auroc.unwrap_or(f64::NAN),
            scores.eshd,
            scores.auroc.unwrap_or(f64::NAN),
            time.as_secs_f64(),
        ];
        found.iter_mut().zip(figures).for_each(|(all, figure)| all.push(figure));
    }
    let who = match recipe.family {
        Family::Linear => "mcmc-linear",
        Family::GaussianProcess => "mcmc-gp",
    };
    println!(
        "{:<27} {who:<12} {worlds:>6} {:>6.1} {:>15} {:>15} {:>15} {:>15} {:>9.1}",
        recipe.name,
        mean(&found[0]),
        cell(&found[1], 1),
        cell(&found[2], 3),
        cell(&found[3], 1),
        cell(&found[4], 3),
        mean(&found[5])
    );
    for (method, distance, area) in recipe.published {
        let area = area.map_or("–".to_string(), |area| format!("{area:.3}"));
        let (class, graph) = match recipe.measure {
            Measure::Class => ((format!("{distance:.1}"), area), (String::new(), String::new())),
            Measure::Graph => ((String::new(), String::new()), (format!("{distance:.1}"), area)),
        };
        println!(
            "{:<27} {method:<12} {:>6} {:>6} {:>15} {:>15} {:>15} {:>15}   published",
            "", "", "", class.0, class.1, graph.0, graph.1
        );
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean ± standard error; a single world has none.
fn cell(values: &[f64], decimals: usize) -> String {
    let (n, mean) = (values.len() as f64, mean(values));
    if values.len() < 2 {
        return format!("{mean:.decimals$}");
    }
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    format!("{mean:.decimals$} ±{:.decimals$}", (variance / n).sqrt())
}

impl Recipe {
    /// The truth and its data.
    fn world(&self, seed: u64) -> (Scm, Dataset) {
        let dag = self.graph(seed);
        let mut draws = Seed::new(seed).stream(Purpose::Parameters).draws();
        let mechanisms =
            (0..self.nodes).map(|node| self.mechanism(dag.parents(node).len(), &mut draws)).collect();
        let noise = (0..self.nodes).map(|_| self.noise.draw(&mut draws)).collect();
        let scm = Scm::new(Synthetic::names(self.nodes), dag, mechanisms, noise).expect("a model");
        let stream = Seed::new(seed).stream(Purpose::Noise);
        let data = scm.experiment(&Intervention::none(), self.rows, stream).expect("finite");
        (scm, data)
    }

    fn graph(&self, seed: u64) -> Dag {
        let stream = Seed::new(seed).stream(Purpose::Graph);
        let mut draws = stream.draws();
        let mut order: Vec<Node> = (0..self.nodes).collect();
        draws.shuffle(&mut order);
        let mut pairs: Vec<(Node, Node)> =
            (0..self.nodes).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
        match self.graphs {
            Graphs::Edges(per_node) => {
                draws.shuffle(&mut pairs);
                pairs.truncate((per_node * self.nodes as f64).round() as usize);
            }
            Graphs::Pairs => {
                let probability = 4.0 / (self.nodes - 1) as f64;
                pairs.retain(|_| draws.uniform() < probability);
            }
            Graphs::ScaleFree => return scale_free(self.nodes, 2, stream).expect("enough nodes"),
        }
        Dag::from_edges(self.nodes, pairs.iter().map(|&(i, j)| (order[i], order[j]))).expect("along an order")
    }

    fn mechanism(&self, parents: usize, draws: &mut Draws) -> Mechanism {
        let signed = |least: f64, most: f64, draws: &mut Draws| {
            let sign = if draws.below(2) == 0 { -1.0 } else { 1.0 };
            sign * (least + (most - least) * draws.uniform())
        };
        match self.mechanisms {
            Mechanisms::Linear(least, most) => {
                let weights = (0..parents).map(|_| signed(least, most, draws)).collect();
                Mechanism::Linear(Linear { weights, intercept: 0.0 })
            }
            Mechanisms::Network(hidden, least, most) => {
                let mut weights = |count: usize| (0..count).map(|_| signed(least, most, draws)).collect();
                let (w1, w2) = (weights(parents * hidden), weights(hidden));
                Mechanism::Mlp(Mlp { w1, b1: vec![0.0; hidden], w2, b2: 0.0 })
            }
            Mechanisms::NormalNetwork(hidden) => {
                let mut normals = |count: usize| (0..count).map(|_| draws.normal()).collect();
                let (w1, b1, w2) = (normals(parents * hidden), normals(hidden), normals(hidden));
                Mechanism::Mlp(Mlp { w1, b1, w2, b2: draws.normal() })
            }
            Mechanisms::Process if parents == 0 => {
                Mechanism::Linear(Linear { weights: Vec::new(), intercept: 0.0 })
            }
            Mechanisms::Process => {
                let waves = 100;
                let frequencies = (0..parents * waves).map(|_| draws.normal()).collect();
                let phases = (0..waves).map(|_| std::f64::consts::TAU * draws.uniform()).collect();
                let size = (2.0 / waves as f64).sqrt();
                let amplitudes = (0..waves).map(|_| size * draws.normal()).collect();
                let weights = vec![0.0; parents];
                Mechanism::Waves(Waves { weights, frequencies, phases, amplitudes, intercept: 0.0 })
            }
        }
    }
}

impl Noise {
    /// A standard deviation.
    fn draw(self, draws: &mut Draws) -> f64 {
        match self {
            Self::Equal(sd) => sd,
            // Half of a χ² with three degrees of freedom has the gamma distribution with shape 1.5.
            Self::InverseGamma => {
                let chi: f64 = (0..3).map(|_| draws.normal().powi(2)).sum();
                (chi / 2.0).recip().sqrt()
            }
        }
    }
}
