//! Utilities about the structure against brute force: all 25 graphs of three variables, with linear laws that are written
//! out here.
//!
//! Nothing of the library's arithmetic is used. A law is its posterior mean, covariance and sum of squares; rows of a batch
//! have the multivariate Student density; what a design is worth is an integral over its outcomes, by quadrature
//! where these are three numbers at most, else a mean over outcomes drawn from parameters that are drawn first.

use proptest::prelude::*;
use seabed::belief::{Conditional, Family, GraphBelief, LinearConditional};
use seabed::data::Names;
use seabed::design::{Belief, Designer, Goal, Strategy};
use seabed::graph::Dag;
use seabed::num::parallel::ordered_map_indices;
use seabed::num::random::{Draws, Purpose, Seed};
use seabed::scm::{Ensemble, Intervention, Linear, Mechanism, Scm};

const PAIRS: [(usize, usize); 6] = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];

type Matrix = [[f64; 3]; 3];

/// y = φ·β + ε, φ = (1, parents), σ² ~ scale/χ²(degrees), β ~ N(location, σ² V); entries of absent parents are 0.
struct Law {
    parents: Vec<usize>,
    degrees: usize,
    scale: f64,
    location: [f64; 3],
    covariance: Matrix,
    /// ln Γ((degrees + rows)/2)/Γ(degrees/2), `[rows]`.
    gammas: [f64; 4],
}

/// A row of the three variables, and what was set in it.
type Rows<'a> = [([f64; 3], &'a Intervention)];

impl Law {
    /// After rows of data, from the prior β ~ N(0, 2σ²), σ² ~ 1/χ²(3).
    fn after(data: &[[f64; 3]], node: usize, parents: Vec<usize>) -> Self {
        let size = 1 + parents.len();
        let degrees = 3 + data.len();
        let mut law = Self {
            parents,
            degrees,
            scale: 1.0,
            location: [0.0; 3],
            covariance: [[0.0; 3]; 3],
            gammas: [0, 1, 2, 3].map(|rows| log_gamma_of_half(degrees + rows) - log_gamma_of_half(degrees)),
        };
        let (mut precision, mut products) = ([[0.0; 3]; 3], [0.0; 3]);
        for row in 0..size {
            precision[row][row] = 0.5;
        }
        for values in data {
            let phi = law.features(values);
            for (i, j) in (0..size).flat_map(|i| (0..size).map(move |j| (i, j))) {
                precision[i][j] += phi[i] * phi[j];
            }
            (0..size).for_each(|i| products[i] += phi[i] * values[node]);
            law.scale += values[node] * values[node];
        }
        law.covariance = inverse(&precision, size);
        law.location = times(&law.covariance, &products);
        law.scale -= dot(&law.location, &products);
        law
    }

    fn features(&self, values: &[f64; 3]) -> [f64; 3] {
        let mut phi = [1.0, 0.0, 0.0];
        self.parents.iter().zip(&mut phi[1..]).for_each(|(&parent, x)| *x = values[parent]);
        phi
    }

    /// ln of the multivariate Student density of a node's values in the rows in which it is not set.
    fn log_density(&self, node: usize, rows: &Rows<'_>) -> f64 {
        let (mut phi, mut off, mut count) = ([[0.0; 3]; 3], [0.0; 3], 0);
        for (values, _) in rows.iter().filter(|(_, design)| design.value(node).is_none()) {
            phi[count] = self.features(values);
            off[count] = values[node] - dot(&phi[count], &self.location);
            count += 1;
        }
        // Of the values in units of σ: I + Φ V Φᵀ.
        let mut spread = [[0.0; 3]; 3];
        for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))) {
            spread[i][j] = dot(&phi[i], &times(&self.covariance, &phi[j])) + f64::from(u8::from(i == j));
        }
        let root = cholesky(&spread, count);
        let (mut square, mut log_determinant, mut solved) = (0.0, 0.0, [0.0; 3]);
        for i in 0..count {
            let known: f64 = (0..i).map(|k| root[i][k] * solved[k]).sum();
            solved[i] = (off[i] - known) / root[i][i];
            square += solved[i] * solved[i];
            log_determinant += root[i][i].ln();
        }
        let (half_degrees, half_count) = (0.5 * self.degrees as f64, 0.5 * count as f64);
        self.gammas[count]
            - half_count * (std::f64::consts::PI * self.scale).ln()
            - log_determinant
            - (half_degrees + half_count) * (square / self.scale).ln_1p()
    }

    /// Weights and σ, drawn.
    fn parameters(&self, draws: &mut Draws) -> ([f64; 3], f64) {
        let chi_square: f64 = (0..self.degrees).map(|_| draws.normal().powi(2)).sum();
        let (sd, size) = ((self.scale / chi_square).sqrt(), 1 + self.parents.len());
        let (root, z) = (cholesky(&self.covariance, size), [0; 3].map(|_| draws.normal()));
        let mut weights = self.location;
        (0..size).for_each(|i| weights[i] += sd * dot(&root[i], &z));
        (weights, sd)
    }

    fn for_the_library(&self) -> Family {
        let size = 1 + self.parents.len();
        let root = cholesky(&self.covariance, size);
        let conditional = LinearConditional {
            degrees: self.degrees as f64,
            scale: self.scale,
            centre: vec![0.0; size - 1],
            location: self.location[..size].to_vec(),
            factor: root[..size].iter().flat_map(|row| row[..size].to_vec()).collect(),
        };
        Family { parents: self.parents.clone(), conditional: Conditional::Linear(conditional) }
    }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn times(matrix: &Matrix, vector: &[f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|row| dot(&matrix[row], vector))
}

/// The lower triangular root of the first `size` rows and columns.
fn cholesky(matrix: &Matrix, size: usize) -> Matrix {
    let mut root = [[0.0; 3]; 3];
    for i in 0..size {
        for j in 0..=i {
            let rest = matrix[i][j] - (0..j).map(|k| root[i][k] * root[j][k]).sum::<f64>();
            root[i][j] = if i == j { rest.sqrt() } else { rest / root[j][j] };
        }
    }
    root
}

/// By Gauss and Jordan, of the first `size` rows and columns; 0 elsewhere.
fn inverse(matrix: &Matrix, size: usize) -> Matrix {
    let (mut left, mut right) = (*matrix, [[0.0; 3]; 3]);
    (0..size).for_each(|k| right[k][k] = 1.0);
    for pivot in 0..size {
        let by = left[pivot][pivot];
        (0..3).for_each(|k| (left[pivot][k], right[pivot][k]) = (left[pivot][k] / by, right[pivot][k] / by));
        for row in (0..size).filter(|&row| row != pivot) {
            let by = left[row][pivot];
            for k in 0..3 {
                left[row][k] -= by * left[pivot][k];
                right[row][k] -= by * right[pivot][k];
            }
        }
    }
    right
}

/// ln Γ(n/2), from Γ(½) = √π, Γ(1) = 1 and Γ(x + 1) = x Γ(x).
fn log_gamma_of_half(n: usize) -> f64 {
    let log_root_pi = 0.5 * std::f64::consts::PI.ln();
    let (first, start) = if n.is_multiple_of(2) { (2, 0.0) } else { (1, log_root_pi) };
    start + (first..n).step_by(2).map(|k| (k as f64 / 2.0).ln()).sum::<f64>()
}

/// All DAGs of three nodes: `edges[from][to]`.
fn all_graphs() -> Vec<[[bool; 3]; 3]> {
    let graph = |code: usize| {
        let mut edges = [[false; 3]; 3];
        PAIRS.iter().enumerate().for_each(|(k, &(from, to))| edges[from][to] = code >> k & 1 == 1);
        edges
    };
    let acyclic = |edges: &[[bool; 3]; 3]| (0..3).all(|node| !reaches(edges)[node][node]);
    (0..64).map(graph).filter(acyclic).collect()
}

/// Is there a directed path `[from][to]`?
fn reaches(edges: &[[bool; 3]; 3]) -> [[bool; 3]; 3] {
    let mut reach = *edges;
    for (between, from, to) in (0..27).map(|k| (k / 9, k / 3 % 3, k % 3)) {
        reach[from][to] |= reach[from][between] && reach[between][to];
    }
    reach
}

fn parents_of(edges: &[[bool; 3]; 3], node: usize) -> Vec<usize> {
    (0..3).filter(|&parent| edges[parent][node]).collect()
}

/// What is lost by not knowing the answer to a question.
enum Question {
    /// Entropy of the answers: `[graph]`.
    Answer(Vec<u32>),
    /// Σ π (1 - π): does graph k have the feature? `[feature][graph]`.
    Features(Vec<Vec<bool>>),
}

impl Question {
    fn new(strategy: Strategy, goal: Goal, graphs: &[[[bool; 3]; 3]]) -> Self {
        let ancestors = strategy == Strategy::GreedyAncestors;
        let asked = |from: usize, to: usize| match goal {
            Goal::Everything => true,
            Goal::Edge { from: a, to: b } | Goal::Effect { of: a, on: b } => (a, b) == (from, to),
            Goal::Parents { of } => to == of,
            Goal::Descendants { of } => from == of,
        };
        let by_paths = matches!(goal, Goal::Descendants { .. } | Goal::Effect { .. });
        let has = |by_paths: bool, (from, to): (usize, usize)| {
            graphs
                .iter()
                .map(|edges| if by_paths { reaches(edges)[from][to] } else { edges[from][to] })
                .collect()
        };
        let pairs = || PAIRS.into_iter().filter(|&(from, to)| asked(from, to));
        if strategy != Strategy::GreedyGraph {
            return Self::Features(pairs().map(|pair| has(ancestors, pair)).collect());
        }
        let features: Vec<Vec<bool>> = pairs().map(|pair| has(by_paths, pair)).collect();
        let answer = |graph: usize| {
            features.iter().fold(0, |bits, feature: &Vec<bool>| 2 * bits + u32::from(feature[graph]))
        };
        Self::Answer((0..graphs.len()).map(answer).collect())
    }

    fn loss(&self, weights: &[f64]) -> f64 {
        match self {
            Self::Answer(answers) => {
                let mut p = [0.0; 64];
                answers.iter().zip(weights).for_each(|(&answer, weight)| p[answer as usize] += weight);
                p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
            }
            Self::Features(features) => {
                let probability = |has: &Vec<bool>| -> f64 {
                    has.iter().zip(weights).filter(|(has, _)| **has).map(|(_, weight)| weight).sum()
                };
                features.iter().map(probability).map(|p| p * (1.0 - p)).sum()
            }
        }
    }
}

const UTILITIES: [Strategy; 3] = [Strategy::GreedyGraph, Strategy::GreedyEdges, Strategy::GreedyAncestors];

const GOALS: [Goal; 5] = [
    Goal::Everything,
    Goal::Edge { from: 0, to: 1 },
    Goal::Parents { of: 2 },
    Goal::Descendants { of: 1 },
    Goal::Effect { of: 0, on: 2 },
];

/// Weighted graphs and, for every node, the law given each set of parents: `laws[node][mask of parents]`.
struct Twin {
    graphs: Vec<[[bool; 3]; 3]>,
    weights: Vec<f64>,
    laws: Vec<Vec<Law>>,
}

impl Twin {
    /// All graphs with random weights, after eight rows of A -> B -> C.
    fn new(seed: u64) -> Self {
        let mut draws = Seed::new(seed).stream(Purpose::Parameters).draws();
        let (b, c) = (0.5 + draws.uniform(), -0.5 - draws.uniform());
        let data = [0; 8].map(|_| {
            let x = draws.normal();
            let y = b * x + 0.7 * draws.normal();
            [x, y, c * y + 0.7 * draws.normal()]
        });
        let graphs = all_graphs();
        let weights: Vec<f64> = graphs.iter().map(|_| draws.normal().exp()).collect();
        let sum: f64 = weights.iter().sum();
        let of_mask = |node: usize, mask: usize| {
            let parents: Vec<usize> = (0..3).filter(|&k| k != node && mask >> k & 1 == 1).collect();
            Law::after(&data, node, parents)
        };
        Self {
            graphs,
            weights: weights.iter().map(|weight| weight / sum).collect(),
            laws: (0..3).map(|node| (0..8).map(|mask| of_mask(node, mask)).collect()).collect(),
        }
    }

    fn law(&self, graph: usize, node: usize) -> &Law {
        let mask: usize = parents_of(&self.graphs[graph], node).iter().map(|parent| 1 << parent).sum();
        &self.laws[node][mask]
    }

    fn for_the_library(&self) -> (Ensemble, GraphBelief) {
        let names: Names = ["A", "B", "C"].map(String::from).into();
        let dag = |edges: &[[bool; 3]; 3]| {
            Dag::from_edges(3, PAIRS.into_iter().filter(|&(from, to)| edges[from][to])).unwrap()
        };
        let graphs = self.graphs.iter().map(dag).zip(self.weights.iter().copied()).collect();
        // Masks with the node itself are the same sets once more.
        let families = |node: usize| {
            let masks = (0..8).filter(|mask| mask >> node & 1 == 0);
            masks.map(|mask: usize| self.laws[node][mask].for_the_library()).collect()
        };
        let belief = GraphBelief::new(names.clone(), graphs, (0..3).map(families).collect(), None).unwrap();
        let still = || Mechanism::Linear(Linear { weights: vec![], intercept: 0.0 });
        let scm = Scm::new(names, Dag::empty(3), vec![still(), still(), still()], vec![1.0; 3]).unwrap();
        (Ensemble::uniform(vec![scm]).unwrap(), belief)
    }

    /// Weights after the rows, and the rows' density under the mixture of all graphs.
    fn after(&self, rows: &Rows<'_>) -> ([f64; 25], f64) {
        let mut terms = [[0.0; 8]; 3];
        for (node, mask) in (0..24).map(|k| (k / 8, k % 8)).filter(|(node, mask)| mask >> node & 1 == 0) {
            terms[node][mask] = self.laws[node][mask].log_density(node, rows);
        }
        let mut weights = [0.0; 25];
        for (graph, edges) in self.graphs.iter().enumerate() {
            let mask =
                |node: usize| (0..3).filter(|&from| edges[from][node]).map(|from| 1 << from).sum::<usize>();
            let log_density: f64 = (0..3).map(|node| terms[node][mask(node)]).sum();
            weights[graph] = self.weights[graph] * log_density.exp();
        }
        let density = weights.iter().sum::<f64>();
        (weights.map(|weight| if density > 0.0 { weight / density } else { 0.0 }), density)
    }

    /// Expected losses by trapezoids in u, outcome = 2 sinh u: every number that is not set, in every row. The last of the
    /// sums is the mass, which is 1.
    fn losses_by_quadrature(&self, designs: &[&Intervention], questions: &[Question]) -> (Vec<f64>, f64) {
        const STEP: f64 = 0.14;
        const POINTS: usize = 61;
        let open: Vec<(usize, usize)> = (0..3 * designs.len())
            .map(|k| (k / 3, k % 3))
            .filter(|&(row, node)| designs[row].value(node).is_none())
            .collect();
        assert!(open.len() <= 3);
        let slice = |first: usize| {
            let mut sums = vec![0.0; questions.len() + 1];
            for code in 0..POINTS.pow(open.len() as u32 - 1) {
                let mut rows: Vec<([f64; 3], &Intervention)> = designs
                    .iter()
                    .map(|design| ([0, 1, 2].map(|node| design.value(node).unwrap_or(0.0)), *design))
                    .collect();
                let (mut left, mut volume) = (code * POINTS + first, 1.0);
                for &(row, node) in &open {
                    let u = STEP * ((left % POINTS) as f64 - (POINTS / 2) as f64);
                    rows[row].0[node] = 2.0 * u.sinh();
                    volume *= STEP * 2.0 * u.cosh();
                    left /= POINTS;
                }
                let (weights, density) = self.after(&rows);
                let losses = questions.iter().map(|question| question.loss(&weights)).chain([1.0]);
                sums.iter_mut().zip(losses).for_each(|(sum, loss)| *sum += volume * density * loss);
            }
            sums
        };
        let mut sums = vec![0.0; questions.len() + 1];
        for of_slice in ordered_map_indices(POINTS, slice) {
            sums.iter_mut().zip(of_slice).for_each(|(sum, x)| *sum += x);
        }
        let mass = sums.pop().unwrap();
        (sums, mass)
    }

    /// Means and standard errors of the losses after outcomes from drawn graphs with drawn parameters.
    fn losses_by_samples(&self, designs: &[&Intervention], questions: &[Question]) -> Vec<(f64, f64)> {
        const CHUNKS: usize = 200;
        const SAMPLES: usize = 250_000;
        let chunk = |chunk: usize| {
            let mut draws = Seed::new(11).stream(Purpose::Outcomes).at(chunk as u64).draws();
            let mut sums = vec![(0.0, 0.0); questions.len()];
            for _ in 0..SAMPLES / CHUNKS {
                let mut left = draws.uniform();
                let drawn = self.weights.iter().position(|weight| (left -= weight, left <= 0.0).1);
                let graph = drawn.unwrap_or(24);
                let parameters = [0, 1, 2].map(|node| self.law(graph, node).parameters(&mut draws));
                let reach = reaches(&self.graphs[graph]);
                let mut order = [0, 1, 2];
                order.sort_by_key(|&node| (0..3).filter(|&other| reach[other][node]).count());
                let rows: Vec<([f64; 3], &Intervention)> = designs
                    .iter()
                    .map(|design| {
                        let mut values = [0.0; 3];
                        for node in order {
                            let (weights, sd) = &parameters[node];
                            let mean = dot(weights, &self.law(graph, node).features(&values));
                            values[node] = design.value(node).unwrap_or(mean + sd * draws.normal());
                        }
                        (values, *design)
                    })
                    .collect();
                let (weights, _) = self.after(&rows);
                for (sum, question) in sums.iter_mut().zip(questions) {
                    let loss = question.loss(&weights);
                    *sum = (sum.0 + loss, sum.1 + loss * loss);
                }
            }
            sums
        };
        let mut sums = vec![(0.0, 0.0); questions.len()];
        for of_chunk in ordered_map_indices(CHUNKS, chunk) {
            sums.iter_mut().zip(of_chunk).for_each(|(sum, x)| *sum = (sum.0 + x.0, sum.1 + x.1));
        }
        let n = SAMPLES as f64;
        sums.iter().map(|(x, xx)| (x / n, ((xx / n - (x / n).powi(2)) / n).sqrt())).collect()
    }
}

fn set(settings: &[(usize, f64)]) -> Intervention {
    Intervention::new(settings.iter().copied()).unwrap()
}

/// Every utility and every question, with its loss in the twin.
fn questions(twin: &Twin) -> Vec<(Strategy, Goal, Question)> {
    let all = UTILITIES.into_iter().flat_map(|strategy| GOALS.map(|goal| (strategy, goal)));
    all.map(|(strategy, goal)| (strategy, goal, Question::new(strategy, goal, &twin.graphs))).collect()
}

/// The library's worth of a batch, by 8000 paths, against expected losses of the twin and their standard errors, for every
/// question: |z| < 4.5.
fn compare(
    twin: &Twin,
    (replicates, batch): (usize, &[Intervention]),
    expected: impl Fn(usize) -> (f64, f64),
) {
    let (models, graphs) = twin.for_the_library();
    let belief = Belief { models: &models, graphs: Some(&graphs) };
    for (k, (strategy, goal, question)) in questions(twin).into_iter().enumerate() {
        let designer =
            Designer { strategy, goal, samples: 8000, replicates: replicates.into(), ..Designer::default() };
        let fast = if batch.len() == 1 {
            designer.score(belief, batch, Seed::new(3), &()).unwrap()[0]
        } else {
            designer.score_batch(belief, batch, Seed::new(3), &()).unwrap()
        };
        let (loss, error) = expected(k);
        let slow = question.loss(&twin.weights) - loss;
        let z = (fast.nats - slow) / fast.standard_error.hypot(error);
        assert!(z.abs() < 4.5, "{strategy:?} {goal:?} {batch:?}: {} and {slow}, z {z}", fast.nats);
    }
}

#[test]
fn the_twin_is_itself_in_order() {
    assert_eq!(all_graphs().len(), 25);
    assert!((log_gamma_of_half(7) - (1.875 * std::f64::consts::PI.sqrt()).ln()).abs() < 1e-14);
    assert!((log_gamma_of_half(10) - 24f64.ln()).abs() < 1e-14);
    let (matrix, root) = ([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 3.0]], |m| cholesky(m, 3));
    let product = times(&inverse(&matrix, 3), &times(&matrix, &[1.0, 2.0, 3.0]));
    assert!(product.iter().zip([1.0, 2.0, 3.0]).all(|(x, y)| (x - y).abs() < 1e-12));
    let l = root(&matrix);
    assert!((0..9).all(|k| (dot(&l[k / 3], &l[k % 3]) - matrix[k / 3][k % 3]).abs() < 1e-12));
}

/// One row that sets one or two variables, and three rows that set two. The integrals are exact to 1e-6, so the errors are the
/// library's alone; 60 z-scores below 4.5 in absolute value fail by chance in fewer than one of 2000 runs.
#[test]
fn worths_are_integrals_over_the_outcomes() {
    let twin = Twin::new(2);
    let asked: Vec<Question> = questions(&twin).into_iter().map(|(_, _, question)| question).collect();
    let cases = [
        (1, set(&[(1, 2.5)])),
        (1, set(&[(0, -2.0)])),
        (1, set(&[(0, 2.0), (2, -2.0)])),
        (3, set(&[(0, 1.5), (1, -2.5)])),
    ];
    for (replicates, design) in cases {
        let rows = vec![&design; replicates];
        let (losses, mass) = twin.losses_by_quadrature(&rows, &asked);
        assert!((mass - 1.0).abs() < 1e-6, "{mass}");
        let batch = (replicates, std::slice::from_ref(&design));
        compare(&twin, batch, |k| (losses[k], 0.0));
    }
}

/// Three rows of one design that sets one variable, and a batch of two designs, against so many outcomes that the twin's errors
/// are a fifth of the library's: 30 z-scores below 4.5 fail by chance in fewer than one of 4000 runs. (With a million
/// outcomes and 20 000 paths, which takes a minute, the largest was 1.7.)
#[test]
fn worths_of_several_rows_are_means_over_plain_outcomes() {
    let twin = Twin::new(2);
    let asked: Vec<Question> = questions(&twin).into_iter().map(|(_, _, question)| question).collect();
    let cases = [(3, vec![set(&[(1, 1.5)])]), (1, vec![set(&[(0, 1.5)]), set(&[(1, -1.0), (2, 1.0)])])];
    for (replicates, batch) in cases {
        let rows: Vec<&Intervention> =
            batch.iter().flat_map(|design| std::iter::repeat_n(design, replicates)).collect();
        let losses = twin.losses_by_samples(&rows, &asked);
        compare(&twin, (replicates, &batch), |k| losses[k]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// No design teaches more about the graph than its entropy, nor about a question than there is to ask; nor can edge and
    /// ancestor probabilities become better than certain.
    #[test]
    fn no_design_teaches_more_than_there_is_to_learn(
        seed: u64,
        (first, second) in (0usize..3, 0usize..4),
        value in -9.0..9.0f64,
        replicates in 1usize..4,
        kept in 1usize..=25,
    ) {
        let mut twin = Twin::new(seed);
        let mut draws = Seed::new(seed).stream(Purpose::Graph).draws();
        // Some graphs only, their weights far apart.
        twin.weights.iter_mut().enumerate().for_each(|(k, weight)| {
            *weight = if k == 0 || draws.below(25) < kept { weight.powi(3) } else { 0.0 };
        });
        let sum: f64 = twin.weights.iter().sum();
        twin.weights.iter_mut().for_each(|weight| *weight /= sum);
        let design = set(&[(first, value), (second, -value)][..if second < 3 && second != first { 2 } else { 1 }]);
        let (models, graphs) = twin.for_the_library();
        let belief = Belief { models: &models, graphs: Some(&graphs) };
        for (strategy, goal, question) in questions(&twin) {
            let designer = Designer { strategy, goal, samples: 60, replicates: replicates.into(), ..Designer::default() };
            let worth = designer.score(belief, std::slice::from_ref(&design), Seed::new(seed), &()).unwrap()[0];
            let most = question.loss(&twin.weights);
            prop_assert!(worth.nats <= most + 1e-12, "{strategy:?} {goal:?}: {} of {most}", worth.nats);
            if strategy == Strategy::GreedyGraph && goal == Goal::Everything {
                prop_assert!((most - graphs.entropy()).abs() < 1e-12);
            }
        }
    }
}
