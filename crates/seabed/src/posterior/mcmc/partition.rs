//! Moves between partitions: every DAG has one partition into layers, so nothing is counted twice.
//!
//! Layer 0 holds the nodes without parents; a node of a later layer has a parent in the layer just before it and no
//! parent in its own or a later one (Kuipers & Moffa, 2017). The weight of a partition is the sum over its DAGs, a
//! product over nodes. Orders do not have this: a DAG belongs to many orders, and sampling orders favours DAGs with
//! many of them.
//!
//! The move takes a node out and puts it back into a layer, or into a layer of its own between two others, each place
//! in proportion to the weight of the partition that it leads to. That is a Gibbs step: it is never refused.

use super::table::{Mask, ParentSets, bit, log_add, nodes_of};
use crate::graph::Node;
use crate::num::random::Draws;

/// Layers of nodes, sources first; none is empty.
pub(super) type Layers = Vec<Mask>;

/// The layers of the DAG with these parents.
pub(super) fn layers_of(parents: &[Mask]) -> Layers {
    let mut left: Mask = (0..parents.len()).fold(0, |all, node| all | bit(node));
    let mut placed = 0;
    let mut layers = Vec::new();
    while left != 0 {
        let layer = nodes_of(left).filter(|&node| parents[node] & !placed == 0).fold(0, |set, n| set | bit(n));
        debug_assert!(layer != 0, "a DAG has a source in every set of nodes");
        layers.push(layer);
        placed |= layer;
        left &= !layer;
    }
    layers
}

/// The parents of a DAG drawn from those with the given layers.
pub(super) fn draw_parents(layers: &Layers, tables: &[ParentSets], draws: &mut Draws) -> Vec<Mask> {
    let mut parents = vec![0; tables.len()];
    let (mut before, mut last) = (0, 0);
    for &layer in layers {
        for node in nodes_of(layer) {
            parents[node] = tables[node].draw(before, last, draws).expect("layers have a DAG");
        }
        before |= layer;
        last = layer;
    }
    parents
}

/// What the rest of the nodes are worth, layer by layer, depending on where the one taken out is put.
#[derive(Default)]
pub(super) struct Worths {
    /// It is not before the layer.
    without: Vec<f64>,
    /// It is before the layer, but not in the layer just before it.
    earlier: Vec<f64>,
    /// It is in the layer just before it, with others.
    joined: Vec<f64>,
    /// It is alone in the layer just before it.
    alone: Vec<f64>,
    /// Log-weights of all places: in layer j, then as a new layer before layer j.
    places: Vec<f64>,
}

/// Takes the node out and puts it back.
pub(super) fn relocate(
    layers: &mut Layers,
    node: Node,
    tables: &[ParentSets],
    worths: &mut Worths,
    draws: &mut Draws,
) {
    layers.iter_mut().for_each(|layer| *layer &= !bit(node));
    layers.retain(|layer| *layer != 0);
    let count = layers.len();
    weigh(layers, node, tables, worths);
    let largest = worths.places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = worths.places.iter().map(|place| (place - largest).exp()).sum();
    let mut target = draws.uniform() * total;
    let mut chosen = None;
    for (place, weight) in worths.places.iter().enumerate() {
        let weight = (weight - largest).exp();
        if weight > 0.0 {
            chosen = Some(place);
            target -= weight;
            if target <= 0.0 {
                break;
            }
        }
    }
    match chosen.expect("the place where it was") {
        place if place < count => layers[place] |= bit(node),
        place => layers.insert(place - count, bit(node)),
    }
}

fn weigh(layers: &[Mask], node: Node, tables: &[ParentSets], worths: &mut Worths) {
    let count = layers.len();
    let Worths { without, earlier, joined, alone, places } = worths;
    for list in [&mut *without, &mut *earlier, &mut *joined, &mut *alone, &mut *places] {
        list.clear();
    }
    let (mut before, mut last) = (0, 0);
    for &layer in layers {
        let mut sums = [0.0; 4];
        for other in nodes_of(layer) {
            let plain = tables[other].log_sum(before, last);
            let (all, touching) = if tables[other].may_have(node) {
                tables[other].log_sums_with(node, before, last)
            } else {
                (f64::NEG_INFINITY, f64::NEG_INFINITY)
            };
            sums[0] += plain;
            sums[1] += log_add(plain, touching);
            sums[2] += log_add(plain, all);
            sums[3] += all;
        }
        without.push(sums[0]);
        earlier.push(sums[1]);
        joined.push(sums[2]);
        alone.push(sums[3]);
        before |= layer;
        last = layer;
    }
    // later[j]: layers from j on, all of them after the node and not just after it.
    let mut later = vec![0.0; count + 2];
    for j in (0..count).rev() {
        later[j] = later[j + 1] + earlier[j];
    }
    let own: Vec<f64> = (0..=count)
        .map(|j| {
            let before = layers[..j].iter().fold(0, |set, layer| set | layer);
            tables[node].log_sum(before, if j == 0 { 0 } else { layers[j - 1] })
        })
        .collect();
    let mut sooner = 0.0;
    let mut new = Vec::with_capacity(count + 1);
    for j in 0..=count {
        let just_after = if j < count { alone[j] } else { 0.0 };
        new.push(own[j] + sooner + just_after + later[(j + 1).min(count)]);
        if j < count {
            sooner += without[j];
            let just_after = if j + 1 < count { joined[j + 1] } else { 0.0 };
            places.push(own[j] + sooner + just_after + later[(j + 2).min(count)]);
        }
    }
    places.extend(new);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Seed};

    fn tables(nodes: usize, seed: u64) -> Vec<ParentSets> {
        let mut draws = Seed::new(seed).stream(Purpose::Mcmc).draws();
        (0..nodes)
            .map(|node| {
                let sets = (0..1 << nodes).filter(|mask: &Mask| mask & bit(node) == 0);
                ParentSets::new(sets.map(|mask| (mask, 3.0 * draws.normal())).collect(), nodes)
            })
            .collect()
    }

    /// The log-weight of a partition, by its definition.
    fn log_weight(layers: &[Mask], tables: &[ParentSets]) -> f64 {
        let (mut before, mut last, mut sum) = (0, 0, 0.0);
        for &layer in layers {
            sum += nodes_of(layer).map(|node| tables[node].log_sum(before, last)).sum::<f64>();
            before |= layer;
            last = layer;
        }
        sum
    }

    #[test]
    fn places_have_the_weights_of_their_partitions() {
        let nodes = 5;
        for seed in 0..40 {
            let tables = tables(nodes, seed);
            let mut draws = Seed::new(seed).stream(Purpose::Mcmc).at(1).draws();
            let node = draws.below(nodes);
            // A random partition of the others.
            let mut layers = vec![0; 4];
            (0..nodes).filter(|&k| k != node).for_each(|k| layers[draws.below(4)] |= bit(k));
            layers.retain(|layer| *layer != 0);
            let mut worths = Worths::default();
            weigh(&layers, node, &tables, &mut worths);
            for place in 0..=2 * layers.len() {
                let mut whole = layers.clone();
                if place < layers.len() {
                    whole[place] |= bit(node);
                } else {
                    whole.insert(place - layers.len(), bit(node));
                }
                let want = log_weight(&whole, &tables);
                assert!((worths.places[place] - want).abs() < 1e-6, "{place}: {} {want}", worths.places[place]);
            }
        }
    }

    #[test]
    fn a_drawn_dag_has_the_layers_it_was_drawn_for() {
        let tables = tables(5, 7);
        let mut draws = Seed::new(8).stream(Purpose::Mcmc).draws();
        let mut layers = vec![0b11111];
        for step in 0..500 {
            relocate(&mut layers, step % 5, &tables, &mut Worths::default(), &mut draws);
            let parents = draw_parents(&layers, &tables, &mut draws);
            assert_eq!(layers_of(&parents), layers);
        }
    }
}
