//! Simulation-based calibration: data from models of the prior, whose ranks among posterior draws must be uniform.

use super::super::mask::{Mask, bit};
use super::super::{EdgePrior, Family, Mcmc};
use crate::data::{Dataset, Names};
use crate::graph::{Dag, NodeSet};
use crate::num::random::{Draws, Purpose, Seed};
use crate::posterior::Knowledge;
use crate::posterior::bge::{self, Bge};
use crate::scm::{Intervention, Mechanism, Scm};

const NODES: usize = 3;
const REPEATS: usize = 300;
const DRAWS: usize = 19;
const BINS: usize = 10;

/// A DAG from the prior: edges with probability ½, redrawn until acyclic.
fn graph(draws: &mut Draws) -> Dag {
    loop {
        let pairs = (0..NODES).flat_map(|i| (0..NODES).filter(move |&j| j != i).map(move |j| (i, j)));
        let edges: Vec<_> = pairs.filter(|_| draws.uniform() < 0.5).collect();
        if let Ok(dag) = Dag::from_edges(NODES, edges) {
            return dag;
        }
    }
}

/// A model from the prior: BGe without any row is its own prior.
fn model(names: &Names, draws: &mut Draws) -> Scm {
    let dag = graph(draws);
    let columns = vec![Vec::new(); NODES];
    let freedom = NODES as f64 + bge::EXTRA_FREEDOM;
    let prior = Bge::new(&columns, &vec![Vec::new(); NODES], &[0.0; NODES], bge::MEAN_WEIGHT, freedom);
    let (mechanisms, noise) = (0..NODES)
        .map(|node| {
            let (linear, variance) = prior.draw(node, dag.parents(node), draws);
            (Mechanism::Linear(linear), variance.sqrt())
        })
        .unzip();
    Scm::new(names.clone(), dag, mechanisms, noise).unwrap()
}

/// The ranked quantities: number of edges, a noise level, a log-density, and an effect of an intervention.
fn statistics(scm: &Scm, data: &Dataset) -> [f64; 4] {
    let effect = scm.sample(1, &Intervention::new([(0, 2.0)]).unwrap(), Seed::new(0).stream(Purpose::Noise));
    [
        scm.dag().edge_count() as f64,
        scm.noise_sd()[1],
        scm.log_density_of_rows(data).iter().sum(),
        effect[2][0],
    ]
}

/// χ² of the ranks in 10 bins, 9 degrees of freedom: 27.9 is exceeded once in 1000 times; 4 statistics.
#[test]
fn ranks_of_the_truth_are_uniform() {
    let names: Names = (0..NODES).map(|k| format!("X{k}")).collect();
    let settings = Mcmc {
        standardise: false,
        prior_rows: bge::MEAN_WEIGHT,
        prior: EdgePrior::Er { edges_per_node: 1.0 },
        draws: DRAWS,
        chains: 1,
        // Far enough apart to count as independent.
        least_sweeps: 4 * DRAWS,
        most_sweeps: 4 * DRAWS,
        ..Mcmc::of(Family::Linear)
    };
    let mut counts = [[0usize; BINS]; 4];
    for repeat in 0..REPEATS {
        let stream = Seed::new(repeat as u64).stream(Purpose::Parameters);
        let truth = model(&names, &mut stream.draws());
        let mut columns = truth.sample(8, &Intervention::none(), stream.at(1));
        let set = truth.sample(4, &Intervention::new([(1, 1.0)]).unwrap(), stream.at(2));
        columns.iter_mut().zip(set).for_each(|(column, more)| column.extend(more));
        let targets = (0..12).map(|row| NodeSet::of(NODES, (row >= 8).then_some(1))).collect();
        let data = Dataset::new(names.clone(), columns, targets).unwrap();
        let fit = settings.fit(&data, &Knowledge::none(NODES), Seed::new(repeat as u64), &()).unwrap();
        let drawn: Vec<[f64; 4]> = fit.ensemble.draws().iter().map(|draw| statistics(draw, &data)).collect();
        let own = statistics(&truth, &data);
        let mut ties = stream.at(3).draws();
        for k in 0..4 {
            let below = drawn.iter().filter(|values| values[k] < own[k]).count();
            let equal = drawn.iter().filter(|values| values[k] == own[k]).count();
            let rank = below + ties.below(equal + 1);
            counts[k][rank * BINS / (DRAWS + 1)] += 1;
        }
    }
    let expected = REPEATS as f64 / BINS as f64;
    for (k, counts) in counts.iter().enumerate() {
        let statistic: f64 = counts.iter().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
        assert!(statistic < 27.9, "statistic {k}: {statistic:.1}, {counts:?}");
    }
}

#[test]
fn graphs_are_drawn_from_the_prior() {
    let names: Names = (0..NODES).map(|k| format!("X{k}")).collect();
    let prior = EdgePrior::Er { edges_per_node: 1.0 }.of_node(0, &names);
    let sets: [Mask; 3] = [Mask::EMPTY, bit(1), bit(1) | bit(2)];
    assert!(sets.iter().all(|&set| prior.of(set) == 0.0));
}
