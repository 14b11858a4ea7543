//! Moves between partitions: every DAG has one partition into layers, so nothing is counted twice.
//!
//! Layer 0 holds the nodes without parents; a node of a later layer has a parent in the layer just before it and no
//! parent in its own or a later one (Kuipers & Moffa, 2017). The weight of a partition is the sum over its DAGs, a
//! product over nodes. Orders do not have this: a DAG belongs to many orders, and sampling orders favours DAGs with
//! many of them.
//!
//! The move takes a node out and puts it back into a layer, or into a layer of its own between two others, each place
//! in proportion to the weight of the partition that it leads to. That is a Gibbs step: it is never rejected.

use super::mask::{Mask, bit};
use super::table::{ParentSets, log_add, log_subtract};
use crate::graph::Node;
use crate::num::random::Draws;

/// Layers of nodes, sources first; none is empty.
pub(super) type Layers = Vec<Mask>;

/// The layers of the DAG with these parents.
pub(super) fn layers_of(parents: &[Mask]) -> Layers {
    let mut left = Mask::first(parents.len());
    let mut placed = Mask::EMPTY;
    let mut layers = Vec::new();
    while !left.is_empty() {
        let layer = Mask::of(left.nodes().filter(|&node| parents[node].is_within(placed)));
        debug_assert!(!layer.is_empty(), "a DAG has a source in every set of nodes");
        layers.push(layer);
        placed |= layer;
        left &= !layer;
    }
    layers
}

/// The parents of a DAG drawn from those with the given layers.
pub(super) fn draw_parents(layers: &Layers, tables: &[ParentSets], draws: &mut Draws) -> Vec<Mask> {
    let mut parents = vec![Mask::EMPTY; tables.len()];
    let (mut before, mut last) = (Mask::EMPTY, Mask::EMPTY);
    for &layer in layers {
        for node in layer.nodes() {
            parents[node] = tables[node].draw(before, last, draws).expect("layers have a DAG");
        }
        before |= layer;
        last = layer;
    }
    parents
}

/// Log-weights of the nodes where they are, and what they would be with one node moved.
#[derive(Default)]
pub(super) struct Worths {
    /// ln Σ of every node, given the layers as they are.
    now: Vec<f64>,
    /// The largest sum since each was last added up from scratch: what is subtracted later leaves the error of this.
    largest: Vec<f64>,
    /// Of every other node: without the one taken out, …
    without: Vec<f64>,
    /// … its sets that contain that one, if it is in the layer just before, …
    all: Vec<f64>,
    /// … and if it is in an earlier one.
    touching: Vec<f64>,
    /// The layer of every other node, …
    layer_of: Vec<usize>,
    /// … and the worth of the one taken out, for every number of layers before it.
    own: Vec<f64>,
    /// Log-weights of all places: in layer j, then as a new layer before layer j.
    places: Vec<f64>,
}

impl Worths {
    /// Of nodes in the given layers.
    pub fn new(layers: &Layers, tables: &[ParentSets]) -> Self {
        let mut now = vec![0.0; tables.len()];
        for (before, last, layer) in with_earlier(layers) {
            layer.nodes().for_each(|node| now[node] = tables[node].log_sum(before, last));
        }
        let (largest, without, all, touching) = (now.clone(), now.clone(), now.clone(), now.clone());
        let layer_of = vec![0; tables.len()];
        Self { now, largest, without, all, touching, layer_of, ..Self::default() }
    }

    fn set_now(&mut self, node: Node, worth: f64) {
        self.now[node] = worth;
        self.largest[node] = self.largest[node].max(worth);
    }
}

/// Sums are subtracted from one another only while this much of the largest is left; it was exact to e^-16.
const LEAST_LEFT: f64 = -7.0;

/// Every layer with all nodes before it and the layer just before it.
fn with_earlier(layers: &[Mask]) -> impl Iterator<Item = (Mask, Mask, Mask)> {
    let mut earlier = (Mask::EMPTY, Mask::EMPTY);
    layers.iter().map(move |&layer| {
        let (before, last) = earlier;
        earlier = (before | layer, layer);
        (before, last, layer)
    })
}

/// Takes the node out and puts it back.
pub(super) fn relocate(
    layers: &mut Layers,
    node: Node,
    tables: &[ParentSets],
    worths: &mut Worths,
    draws: &mut Draws,
) {
    let from = layers.iter().position(|layer| layer.contains(node)).expect("every node has a layer");
    layers[from] &= !bit(node);
    let was_alone = layers[from].is_empty();
    if was_alone {
        layers.remove(from);
    }
    without(layers, node, from, was_alone, tables, worths);
    weigh(layers, worths);
    let count = layers.len();
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
    let place = chosen.expect("the place where it was");
    let (layer, alone) = if place < count { (place, false) } else { (place - count, true) };
    // The first layer that comes after it.
    let after = if alone { layer } else { layer + 1 };
    for (j, &others) in layers.iter().enumerate() {
        for other in others.nodes() {
            let plain = worths.without[other];
            let now = match j {
                _ if j < after => plain,
                _ if j > after => log_add(plain, worths.touching[other]),
                _ if alone => worths.all[other],
                _ => log_add(plain, worths.all[other]),
            };
            worths.set_now(other, now);
        }
    }
    (worths.now[node], worths.largest[node]) = (worths.own[layer], worths.own[layer]);
    if alone {
        layers.insert(layer, bit(node));
    } else {
        layers[layer] |= bit(node);
    }
}

/// The worths without the node, which is out of the layers now and was in layer `from`.
fn without(
    layers: &[Mask],
    node: Node,
    from: usize,
    was_alone: bool,
    tables: &[ParentSets],
    worths: &mut Worths,
) {
    let first_after = if was_alone { from } else { from + 1 };
    for (j, (before, last, layer)) in with_earlier(layers).enumerate() {
        for other in layer.nodes() {
            let table = &tables[other];
            let (all, touching) = if table.may_have(node) {
                table.log_sums_with(node, before, last)
            } else {
                (f64::NEG_INFINITY, f64::NEG_INFINITY)
            };
            // Sums that contain the node are subtracted, unless hardly anything would be left.
            let left = match j {
                _ if j < first_after => worths.now[other],
                _ if j > first_after => log_subtract(worths.now[other], touching),
                _ if was_alone => f64::NEG_INFINITY,
                _ => log_subtract(worths.now[other], all),
            };
            worths.without[other] = left;
            let sure = j < first_after || left >= worths.largest[other] + LEAST_LEFT;
            if !sure {
                let exact = table.log_sum(before, last);
                (worths.without[other], worths.largest[other]) = (exact, exact);
            }
            worths.all[other] = all;
            worths.touching[other] = touching;
        }
    }
    for (j, &layer) in layers.iter().enumerate() {
        layer.nodes().for_each(|other| worths.layer_of[other] = j);
    }
    tables[node].log_sums_after(&worths.layer_of, layers.len(), &mut worths.own);
}

/// The log-weights of all places.
fn weigh(layers: &[Mask], worths: &mut Worths) {
    let count = layers.len();
    let sum = |layer: Mask, worth: &dyn Fn(Node) -> f64| layer.nodes().map(worth).sum::<f64>();
    let Worths { without, all, touching, own, places, .. } = worths;
    // later[j]: layers from j on, when the node is before them but not just before.
    let mut later = vec![0.0; count + 1];
    for j in (0..count).rev() {
        later[j] = later[j + 1] + sum(layers[j], &|other| log_add(without[other], touching[other]));
    }
    let mut sooner = 0.0;
    let mut new = Vec::with_capacity(count + 1);
    places.clear();
    for j in 0..=count {
        let Some(&layer) = layers.get(j) else {
            new.push(own[j] + sooner);
            break;
        };
        new.push(own[j] + sooner + sum(layer, &|other| all[other]) + later[j + 1]);
        sooner += sum(layer, &|other| without[other]);
        let rest = layers
            .get(j + 1)
            .map_or(0.0, |&next| sum(next, &|other| log_add(without[other], all[other])) + later[j + 2]);
        places.push(own[j] + sooner + rest);
    }
    places.extend(new);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Seed};

    /// The set of the nodes whose bits a number has.
    fn of_bits(code: u32) -> Mask {
        Mask::of((0..12).filter(|node| code >> node & 1 == 1))
    }

    /// All sets of at most `most` parents.
    fn tables(nodes: usize, most: usize, seed: u64, spread: f64) -> Vec<ParentSets> {
        let mut draws = Seed::new(seed).stream(Purpose::Mcmc).draws();
        (0..nodes)
            .map(|node| {
                let allowed = |mask: &Mask| !mask.contains(node) && mask.len() <= most;
                let sets = (0..1 << nodes).map(of_bits).filter(allowed);
                ParentSets::new(sets.map(|mask| (mask, spread * draws.normal())).collect(), nodes)
            })
            .collect()
    }

    /// The log-weight of a partition, by its definition.
    fn log_weight(layers: &[Mask], tables: &[ParentSets]) -> f64 {
        let (mut before, mut last, mut sum) = (Mask::EMPTY, Mask::EMPTY, 0.0);
        for &layer in layers {
            sum += layer.nodes().map(|node| tables[node].log_sum(before, last)).sum::<f64>();
            before |= layer;
            last = layer;
        }
        sum
    }

    /// Along a chain, so that worths are those of many moves before.
    #[test]
    fn places_have_the_weights_of_their_partitions() {
        let cases = [(5, 0, 1.0), (5, 1, 3.0), (5, 2, 10.0), (5, 3, 100.0), (12, 4, 3.0), (12, 5, 10.0)];
        for (nodes, seed, spread) in cases {
            let tables = tables(nodes, 4, seed, spread);
            let mut draws = Seed::new(seed).stream(Purpose::Mcmc).at(1).draws();
            let mut layers = vec![Mask::first(nodes)];
            let mut worths = Worths::new(&layers, &tables);
            for step in 0..200 {
                let node = draws.below(nodes);
                let mut rest = layers.clone();
                rest.iter_mut().for_each(|layer| *layer &= !bit(node));
                rest.retain(|layer| !layer.is_empty());
                relocate(&mut layers, node, &tables, &mut worths, &mut draws);
                for place in 0..=2 * rest.len() {
                    let mut whole = rest.clone();
                    if place < rest.len() {
                        whole[place] |= bit(node);
                    } else {
                        whole.insert(place - rest.len(), bit(node));
                    }
                    let (got, want) = (worths.places[place], log_weight(&whole, &tables));
                    assert!((got - want).abs() < 1e-5, "step {step}, place {place}: {got} {want}");
                }
                let now: f64 = worths.now.iter().sum();
                assert!((now - log_weight(&layers, &tables)).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn a_drawn_dag_has_the_layers_it_was_drawn_for() {
        let tables = tables(5, 4, 7, 3.0);
        let mut draws = Seed::new(8).stream(Purpose::Mcmc).draws();
        let mut layers = vec![Mask::first(5)];
        let mut worths = Worths::new(&layers, &tables);
        for step in 0..500 {
            relocate(&mut layers, step % 5, &tables, &mut worths, &mut draws);
            let parents = draw_parents(&layers, &tables, &mut draws);
            assert_eq!(layers_of(&parents), layers);
        }
    }
}
