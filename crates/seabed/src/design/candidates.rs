//! Which designs are evaluated: every target at the values that are tried, and sets of the best of these.

use super::batch::Evaluated;
use super::constraints::{Constraints, Levels};
use super::utility::{Evaluator, MOST_TARGETS, ROUGHLY};
use super::value::Values;
use crate::data::Names;
use crate::graph::Node;
use crate::num::random::{Draws, Stream};
use crate::observer::Stopped;
use crate::scm::Intervention;

/// Singles that sets of several targets are built from.
const BEST_SINGLES: usize = 5;

pub(super) struct Candidates<'a> {
    pub(super) constraints: &'a Constraints,
    pub(super) values: &'a Values,
    /// Values tried for each target.
    pub(super) evaluations: usize,
    /// Mean and standard deviation of every variable when it is only observed; read by `Values::Sample` alone.
    pub(super) marginals: Vec<(f64, f64)>,
    pub(super) names: &'a Names,
    /// Randomness of the values that are drawn, and of the choice.
    pub(super) stream: Stream,
}

/// Designs that are evaluated in full before values are refined: the best of a rough evaluation.
const CONTENDERS: usize = 16;

/// Targets whose values are refined.
const REFINED_TARGETS: usize = 3;

/// The most designs of one table.
pub(super) fn most_candidates(constraints: &Constraints, values: &Values, evaluations: usize) -> usize {
    let targets = constraints.targets().count();
    let singles = targets.saturating_mul(values.most(evaluations));
    singles.saturating_add(most_sets(constraints, targets))
}

/// The most designs of one table that set several targets, of so many; constraints that are not checked yet may allow none or
/// any number at once.
fn most_sets(constraints: &Constraints, targets: usize) -> usize {
    let sizes = constraints.max_targets.min(targets).saturating_sub(1);
    sizes.saturating_mul(BEST_SINGLES * targets)
}

/// The designs of one table, about: what those that are evaluated only roughly count for, and those that are evaluated in full.
/// Where those that set one target are `screened` first, the former spare most of the latter.
pub(super) fn usual_candidates(
    constraints: &Constraints,
    values: &Values,
    evaluations: usize,
    screened: bool,
) -> (usize, usize) {
    let all = constraints.targets().count();
    let targets = if screened { all.min(MOST_TARGETS) } else { all };
    let sets = most_sets(constraints, all);
    if *values != Values::Refined {
        return (0, targets.saturating_mul(values.most(evaluations)).saturating_add(sets));
    }
    let (first, most) = (targets.saturating_mul(evaluations), values.most(evaluations));
    let best = targets.min(REFINED_TARGETS);
    if !screened || !constraints.costs_are_equal() || first <= CONTENDERS {
        return (0, first.saturating_add(best * (most - evaluations)).saturating_add(sets));
    }
    // The best targets get all their values, most contenders among them.
    (first.div_ceil(ROUGHLY), best.saturating_mul(most).saturating_add(CONTENDERS / 3).saturating_add(sets))
}

impl Candidates<'_> {
    /// Every candidate with its worth, together with what is already chosen, on the noise of this round.
    pub(super) fn table(&self, evaluator: &dyn Evaluator, round: u64) -> Result<Vec<Evaluated>, Stopped> {
        let singles = self.singles(evaluator, round)?;
        let mut table = singles.clone();
        let mut largest = singles.clone();
        for _ in 1..self.constraints.max_targets {
            largest = self.extended(&largest, &singles, evaluator)?;
            table.extend(largest.iter().cloned());
        }
        Ok(table)
    }

    /// One value for the target, at random among those that would be tried.
    pub(super) fn random_value(&self, target: Node, draws: &mut Draws) -> f64 {
        match (self.values, self.levels(target)) {
            (Values::GpUcb { .. }, Levels::Range(low, high)) => low + (high - low) * draws.uniform(),
            (Values::GpUcb { .. }, Levels::List(list)) => list[draws.below(list.len())],
            _ => {
                let tried = self.first_values(target, draws);
                tried[draws.below(tried.len())]
            }
        }
    }

    fn first_values(&self, target: Node, draws: &mut Draws) -> Vec<f64> {
        self.values.first(self.levels(target), self.marginals[target], self.evaluations, draws)
    }

    fn levels(&self, target: Node) -> &Levels {
        &self.constraints.variables[target].as_ref().expect("a target can be set").levels
    }

    /// One target at a time, at the values that the value strategy tries.
    fn singles(&self, evaluator: &dyn Evaluator, round: u64) -> Result<Vec<Evaluated>, Stopped> {
        let stream = self.stream.named("values").at(round);
        let targets = evaluator.promising(self.constraints.targets().collect());
        let mut next: Vec<(Node, f64)> = targets
            .iter()
            .flat_map(|&target| {
                let mut draws = stream.named(&self.names[target]).draws();
                self.first_values(target, &mut draws).into_iter().map(move |value| (target, value))
            })
            .collect();
        if *self.values == Values::Refined && self.constraints.costs_are_equal() {
            next = contenders(next, evaluator)?;
        }
        let mut table: Vec<Evaluated> = Vec::new();
        while !next.is_empty() {
            let designs = next.iter().map(|&(target, value)| single(target, value)).collect();
            table.extend(evaluated(designs, evaluator)?);
            let tried = |target: Node| -> Vec<(f64, f64)> {
                let known =
                    table.iter().filter_map(|c| c.design.value(target).map(|v| (v, c.information.nats)));
                known.collect()
            };
            let after = |target: Node| {
                let values = self.values.next(self.levels(target), &tried(target), self.evaluations);
                values.into_iter().map(move |value| (target, value))
            };
            let looked_at =
                if *self.values == Values::Refined { best_targets(&table) } else { targets.clone() };
            next = looked_at.into_iter().flat_map(after).collect();
        }
        Ok(table)
    }

    /// The best designs so far with one more target each, at that target's best value.
    fn extended(
        &self,
        designs: &[Evaluated],
        singles: &[Evaluated],
        evaluator: &dyn Evaluator,
    ) -> Result<Vec<Evaluated>, Stopped> {
        // The best value of every set of targets, then the best of these.
        let mut best: Vec<&Evaluated> = Vec::new();
        for candidate in designs {
            let same = |other: &&Evaluated| {
                let targets = |e: &Evaluated| e.design.settings().iter().map(|s| s.0).collect::<Vec<_>>();
                targets(other) == targets(candidate)
            };
            match best.iter().position(same) {
                Some(k) if candidate.information.nats > best[k].information.nats => best[k] = candidate,
                Some(_) => {}
                None => best.push(candidate),
            }
        }
        best.sort_by(|a, b| b.information.nats.total_cmp(&a.information.nats));
        let mut designs: Vec<Intervention> = Vec::new();
        for start in best.into_iter().take(BEST_SINGLES) {
            for target in self.constraints.targets().filter(|&target| start.design.value(target).is_none()) {
                let of_target = singles.iter().filter(|c| c.design.value(target).is_some());
                let Some(more) = first_largest(of_target, |c| c.information.nats) else { continue };
                let settings = start.design.settings().iter().chain(more.design.settings()).copied();
                let design = Intervention::new(settings).expect("different targets with finite values");
                if !designs.contains(&design) {
                    designs.push(design);
                }
            }
        }
        evaluated(designs, evaluator)
    }
}

pub(super) fn evaluated(
    designs: Vec<Intervention>,
    evaluator: &dyn Evaluator,
) -> Result<Vec<Evaluated>, Stopped> {
    if designs.is_empty() {
        return Ok(Vec::new());
    }
    let information = evaluator.evaluate(&designs)?;
    let pairs = designs.into_iter().zip(information);
    Ok(pairs.map(|(design, information)| Evaluated { design, information }).collect())
}

/// The settings that are worth a full evaluation, in the same order.
fn contenders(settings: Vec<(Node, f64)>, evaluator: &dyn Evaluator) -> Result<Vec<(Node, f64)>, Stopped> {
    if settings.len() <= CONTENDERS {
        return Ok(settings);
    }
    let designs: Vec<Intervention> = settings.iter().map(|&(target, value)| single(target, value)).collect();
    let Some(worths) = evaluator.evaluate_roughly(&designs)? else { return Ok(settings) };
    let mut order: Vec<usize> = (0..settings.len()).collect();
    order.sort_by(|&a, &b| worths[b].total_cmp(&worths[a]));
    order.truncate(CONTENDERS);
    order.sort_unstable();
    Ok(order.into_iter().map(|k| settings[k]).collect())
}

/// The targets of the best designs.
fn best_targets(table: &[Evaluated]) -> Vec<Node> {
    let mut order: Vec<&Evaluated> = table.iter().collect();
    order.sort_by(|a, b| b.information.nats.total_cmp(&a.information.nats));
    let mut targets: Vec<Node> = Vec::new();
    for target in order.iter().map(|candidate| candidate.design.settings()[0].0) {
        if targets.len() < REFINED_TARGETS && !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets
}

/// The design that sets one target.
pub(super) fn single(target: Node, value: f64) -> Intervention {
    Intervention::new([(target, value)]).expect("one target with a finite value")
}

/// The item with the largest value; the first of equal ones.
pub(super) fn first_largest<T>(items: impl Iterator<Item = T>, value: impl Fn(&T) -> f64) -> Option<T> {
    let mut best: Option<(f64, T)> = None;
    for item in items {
        let worth = value(&item);
        if best.as_ref().is_none_or(|(largest, _)| worth > *largest) {
            best = Some((worth, item));
        }
    }
    best.map(|(_, item)| item)
}
