//! Designs without replacement: variables are set in passes, every one once before any is set again.
//!
//! Where a pass ends is a function of the data so far, so a resumed run goes on in the same pass.

use seabed::data::Dataset;
use seabed::design::{Batch, Belief, Constraints, DesignError, Designer, Information};
use seabed::graph::Node;
use seabed::num::random::{Purpose, Seed};
use seabed::observer::Observer;
use seabed::scm::Intervention;

/// The next batch, which first sets the variables that the pass has left, and then begins the next pass, as often as the
/// batch is long. Within a pass the order is the strategy's. Every experiment sets one variable.
///
/// Each pass is designed on its own: what a design is worth in a later one is what it adds to those before.
pub(crate) fn design_in_passes(
    designer: &Designer,
    belief: Belief<'_>,
    constraints: &Constraints,
    data: &Dataset,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Batch, DesignError> {
    let mut pending: Vec<Intervention> = Vec::new();
    let mut batch: Option<Batch> = None;
    for pass in 0u64.. {
        let left = if pass == 0 { left_of_pass(constraints, data) } else { constraints.targets().collect() };
        let done = batch.as_ref().map_or(0, |batch| batch.chosen.len());
        let part = Designer { batch: left.len().min(designer.batch - done), ..designer.clone() };
        let next =
            part.design_after(belief, &pending, &only(constraints, &left), seed_of(seed, pass), observer)?;
        pending.extend(next.chosen.iter().flat_map(|chosen| vec![chosen.design.clone(); chosen.rows]));
        let full = next.chosen.is_empty() || done + next.chosen.len() == designer.batch;
        let all = joined(batch, next);
        if full {
            return Ok(all);
        }
        batch = Some(all);
    }
    unreachable!("every pass sets a variable")
}

/// The allowed variables that were set least often: those that the current pass has not set yet, or all of them.
fn left_of_pass(constraints: &Constraints, data: &Dataset) -> Vec<Node> {
    let times = |node: Node| (0..data.rows()).filter(|&row| data.targets(row).contains(node)).count();
    let set: Vec<(Node, usize)> = constraints.targets().map(|node| (node, times(node))).collect();
    let least = set.iter().map(|(_, times)| *times).min();
    set.into_iter().filter(|(_, times)| Some(*times) == least).map(|(node, _)| node).collect()
}

/// Only these variables can be set, each once.
fn only(constraints: &Constraints, left: &[Node]) -> Constraints {
    let allowed = constraints.variables.iter().enumerate();
    let variables = allowed.map(|(node, allowed)| allowed.clone().filter(|_| left.contains(&node))).collect();
    Constraints { variables, max_repeats: Some(1), ..constraints.clone() }
}

/// Every pass of a batch has its own randomness.
fn seed_of(seed: Seed, pass: u64) -> Seed {
    if pass == 0 { seed } else { Seed::new(seed.stream(Purpose::Rounds).at(pass).draws().bits()) }
}

/// Both parts as one batch; the information of the later one is beyond that of the earlier one.
fn joined(before: Option<Batch>, next: Batch) -> Batch {
    let Some(mut all) = before else { return next };
    all.chosen.extend(next.chosen);
    all.information = Information {
        nats: all.information.nats + next.information.nats,
        standard_error: all.information.standard_error.hypot(next.information.standard_error),
    };
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use seabed::design::{Strategy, Values};
    use seabed::scm::Ensemble;
    use seabed::world::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, World};

    use super::*;

    /// Five variables, of which one cannot be set, and batches of three: passes end within batches.
    #[test]
    fn no_variable_is_set_again_before_all_others() {
        let synthetic = Synthetic {
            graph: GraphKind::Er,
            nodes: 5,
            edges_per_node: 1.0,
            mechanism: MechanismKind::Linear(LinearWeights::UNIFORM),
            noise: NoiseLevels::Equal(0.5),
            standardised: false,
        };
        let draws = (0..6).map(|seed| synthetic.draw(Seed::new(seed)).unwrap()).collect();
        let ensemble = Ensemble::uniform(draws).unwrap();
        let world = synthetic.draw(Seed::new(9)).unwrap();
        let mut constraints = Constraints::range(5, -2.0, 2.0);
        constraints.variables[1] = None;
        for strategy in [Strategy::Random, Strategy::Cbed, Strategy::GreedyCbed, Strategy::SoftAit] {
            let designer = Designer {
                strategy,
                values: Values::Fixed(1.0),
                batch: 3,
                replicates: seabed::design::Replicates::Each(2),
                samples: 4,
                ..Designer::default()
            };
            let noise = Seed::new(1).stream(Purpose::Noise);
            let mut data = world.experiment(&Intervention::none(), 10, noise).unwrap();
            let mut order: Vec<Node> = Vec::new();
            for round in 0..8 {
                let batch = design_in_passes(
                    &designer,
                    Belief::from(&ensemble),
                    &constraints,
                    &data,
                    Seed::new(round),
                    &(),
                )
                .unwrap();
                assert_eq!(batch.chosen.len(), 3);
                let gains: f64 = batch.chosen.iter().map(|chosen| chosen.gain).sum();
                assert!((gains - batch.information.nats).abs() < 1e-9);
                for (k, chosen) in batch.chosen.iter().enumerate() {
                    order.push(chosen.design.settings()[0].0);
                    let noise = noise.at(round).at(k as u64);
                    data.append(&world.experiment(&chosen.design, 2, noise).unwrap()).unwrap();
                }
            }
            assert_eq!(order.len(), 24);
            let passes: Vec<&[Node]> = order.chunks(4).collect();
            for pass in &passes {
                assert_eq!(pass.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from([0, 2, 3, 4]));
            }
            if strategy == Strategy::Random {
                assert!(
                    passes.iter().any(|pass| *pass != passes[0]),
                    "the order of passes is random: {order:?}"
                );
            }
        }
    }
}
