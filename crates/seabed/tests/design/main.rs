//! The designer: its numbers, its choices and its refusals.

mod all_graphs;
mod batches;
mod constraints;
mod forms;
mod information;
mod observed;
mod pending;
mod questions;
mod screening;
mod settings;
mod structure;
mod values;

use seabed::data::Names;
use seabed::design::{Designer, Strategy};
use seabed::graph::{Dag, Node};
use seabed::num::random::{Draws, Purpose, Seed};
use seabed::scm::{Ensemble, Intervention, Linear, Mechanism, Mlp, Scm};
use serde_json::Value;

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/design.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn names(d: usize) -> Names {
    (0..d).map(|k| format!("X{k}")).collect()
}

fn single(node: Node, value: f64) -> Intervention {
    Intervention::new([(node, value)]).unwrap()
}

fn random_dag(d: usize, density: f64, draws: &mut Draws) -> Dag {
    let mut order: Vec<Node> = (0..d).collect();
    draws.shuffle(&mut order);
    let pairs = (0..d).flat_map(|i| (i + 1..d).map(move |j| (i, j)));
    let edges: Vec<_> = pairs.filter(|_| draws.uniform() < density).collect();
    Dag::from_edges(d, edges).unwrap().relabelled(&order)
}

/// The strategies that need models alone; those about graphs are tested in `structure`.
fn strategies_of_models() -> impl Iterator<Item = (&'static str, Strategy)> {
    Strategy::ALL.into_iter().filter(|(_, strategy)| !strategy.parts().0.needs_graphs())
}

/// Draws with mixed mechanisms; some nodes share their mechanism with another draw.
fn random_ensemble(d: usize, c: usize, linear: bool, seed: u64) -> Ensemble {
    let mut draws = Seed::new(seed).stream(Purpose::Parameters).draws();
    let mut models: Vec<Scm> = Vec::new();
    for _ in 0..c {
        let dag = random_dag(d, 0.35, &mut draws);
        let mechanisms = (0..d)
            .map(|node| {
                let parents = dag.parents(node).len();
                let mut numbers = |count: usize| -> Vec<f64> { (0..count).map(|_| draws.normal()).collect() };
                if parents == 0 {
                    return Mechanism::Linear(Linear { weights: vec![], intercept: 0.5 });
                }
                if linear || node % 2 == 0 {
                    Mechanism::Linear(Linear { weights: numbers(parents), intercept: 0.0 })
                } else {
                    let (w1, b1, w2) = (numbers(parents * 3), numbers(3), numbers(3));
                    Mechanism::Mlp(Mlp { w1, b1, w2, b2: 0.1 })
                }
            })
            .collect();
        models.push(Scm::new(names(d), dag, mechanisms, vec![0.4; d]).unwrap());
    }
    let weights = (0..c).map(|_| 0.2 + draws.uniform()).collect();
    Ensemble::new(models, weights).unwrap()
}

/// Many outcomes, for precise estimates on small ensembles.
fn precise() -> Designer {
    Designer { samples: 20_000, ..Designer::default() }
}

/// Two draws that differ in the effect of X0 on X1, and four that differ in nothing but the effect of X2 on X3.
fn two_questions() -> Ensemble {
    let draw = |a: f64, b: f64| {
        let dag = Dag::from_edges(4, [(0, 1), (2, 3)]).unwrap();
        let weights = [vec![], vec![a], vec![], vec![b]];
        let mechanism =
            |weights: &Vec<f64>| Mechanism::Linear(Linear { weights: weights.clone(), intercept: 0.0 });
        // The causes hardly vary by themselves: without setting them nothing is learned.
        Scm::new(names(4), dag, weights.iter().map(mechanism).collect(), vec![1e-6, 0.1, 1e-6, 0.1]).unwrap()
    };
    let draws = [-1.0, 1.0].into_iter().flat_map(|a| [-2.0, -1.0, 1.0, 2.0].map(|b| draw(a, b)));
    Ensemble::uniform(draws.collect()).unwrap()
}
