//! What an experiment would decide, in the words of people who ask about edges: counted over the same simulated outcomes
//! that say what it is worth.

use serde::{Deserialize, Serialize};

use super::forecast::DECIDED;
use crate::graph::{Dag, Node};

/// The answers about a pair of variables: an edge one way, an edge the other way, or none.
pub(super) type Answers = [f64; 3];

/// What an experiment is expected to say about a pair of variables.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// The variable from which the edge goes that is now the more probable one of the two.
    pub from: String,
    /// The variable to which it goes.
    pub to: String,
    /// Probability of `from -> to` now, pending outcomes counted as known.
    pub there: f64,
    /// Probability of `to -> from` now.
    pub back: f64,
    /// Probability now that the two are not neighbours.
    pub none: f64,
    /// Of the graphs without an edge between them, the share in which `from` still acts on `to` through others.
    pub indirect: f64,
    /// Probability that the most probable answer is wrong now.
    pub wrong_now: f64,
    /// The same after the experiment, as expected.
    pub wrong_after: f64,
    /// Probability that an answer will have at least 90 %.
    pub decided: f64,
}

/// Pairs that gain less than this are not named.
const LEAST_GAIN: f64 = 0.02;

/// The most pairs that are named for an experiment.
const MOST: usize = 5;

/// From this probability on the experiment is said to decide.
const PROBABLY: f64 = 0.5;

impl Decision {
    /// The question as it stands: `raf → mek against mek → raf (now 0.55 / 0.45)`.
    pub fn question(&self) -> String {
        let Self { from, to, there, back, none, .. } = self;
        if *back >= *none {
            return format!("{from} → {to} against {to} → {from} (now {there:.2} / {back:.2})");
        }
        let what = if self.indirect >= 0.5 { "is direct" } else { "exists" };
        format!("whether {from} → {to} {what} (now {there:.2})")
    }

    pub(super) fn is_finite(&self) -> bool {
        let Self { there, back, none, indirect, wrong_now, wrong_after, decided, .. } = self;
        [there, back, none, indirect, wrong_now, wrong_after, decided].iter().all(|x| x.is_finite())
    }

    /// Is an answer more likely than not to come out?
    pub fn is_probable(&self) -> bool {
        self.decided >= PROBABLY
    }
}

/// What decisions say together: `decides …; makes clearer …`.
pub fn reasons(decisions: &[Decision]) -> String {
    let list = |probable: bool| -> Vec<String> {
        decisions
            .iter()
            .filter(|decision| decision.is_probable() == probable)
            .map(Decision::question)
            .collect()
    };
    let joined =
        |verb: &str, list: Vec<String>| (!list.is_empty()).then(|| format!("{verb} {}", list.join(" and ")));
    let parts = [joined("decides", list(true)), joined("makes clearer", list(false))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "no single edge would become clear".into() } else { parts.join("; ") }
}

/// Sums over simulated outcomes, for every open pair.
#[derive(Clone, Default)]
pub(super) struct Tally {
    weight: f64,
    answers: Vec<Answers>,
    wrong: Vec<f64>,
    decided: Vec<f64>,
}

impl Tally {
    /// Takes the answers after one outcome of this weight.
    pub(super) fn add(&mut self, answers: &[Answers], weight: f64) {
        self.take(answers.len());
        self.weight += weight;
        for (k, of_pair) in answers.iter().enumerate() {
            let best = of_pair.iter().copied().fold(0.0, f64::max);
            self.answers[k].iter_mut().zip(of_pair).for_each(|(sum, p)| *sum += weight * p);
            self.wrong[k] += weight * (1.0 - best).max(0.0);
            self.decided[k] += weight * f64::from(u8::from(best >= DECIDED));
        }
    }

    /// Takes all of another tally.
    pub(super) fn merge(&mut self, other: &Self) {
        self.take(other.answers.len());
        self.weight += other.weight;
        for k in 0..other.answers.len() {
            self.answers[k].iter_mut().zip(other.answers[k]).for_each(|(sum, p)| *sum += p);
            self.wrong[k] += other.wrong[k];
            self.decided[k] += other.decided[k];
        }
    }

    fn take(&mut self, pairs: usize) {
        self.answers.resize(pairs, [0.0; 3]);
        self.wrong.resize(pairs, 0.0);
        self.decided.resize(pairs, 0.0);
    }

    /// Expected number of pairs whose most probable answer is wrong, and of undecided ones.
    pub(super) fn totals(&self) -> (f64, f64) {
        let n = self.weight.max(f64::MIN_POSITIVE);
        let undecided: f64 = self.decided.iter().map(|decided| 1.0 - decided / n).sum();
        (self.wrong.iter().map(|wrong| wrong / n).sum(), undecided)
    }

    /// What changes from here to `after`, the largest gains first; `pairs` are the variables of every pair, and
    /// `graphs` those of the belief with their weights.
    pub(super) fn decisions<'g>(
        &self,
        after: &Self,
        pairs: &[(Node, Node)],
        names: &[String],
        graphs: impl Iterator<Item = (&'g Dag, f64)> + Clone,
    ) -> Vec<Decision> {
        let (n, m) = (self.weight.max(f64::MIN_POSITIVE), after.weight.max(f64::MIN_POSITIVE));
        let gain = |k: usize| self.wrong[k] / n - after.wrong[k] / m;
        // What is decided already is not decided again.
        let open = |k: usize| self.wrong[k] / n > 1.0 - DECIDED;
        let mut gaining: Vec<usize> =
            (0..pairs.len()).filter(|&k| open(k) && gain(k) >= LEAST_GAIN).collect();
        gaining.sort_by(|&a, &b| gain(b).total_cmp(&gain(a)));
        let decision = |&k: &usize| {
            let (mut from, mut to) = pairs[k];
            let [mut there, mut back, none] = self.answers[k].map(|sum| sum / n);
            if back > there {
                (from, to, there, back) = (to, from, back, there);
            }
            Decision {
                from: names[from].clone(),
                to: names[to].clone(),
                there,
                back,
                none,
                indirect: indirect(from, to, graphs.clone()),
                wrong_now: self.wrong[k] / n,
                wrong_after: after.wrong[k] / m,
                decided: after.decided[k] / m,
            }
        };
        gaining.iter().take(MOST).map(decision).collect()
    }
}

/// Of the graphs in which the two are not neighbours, the share in which `from` is an ancestor of `to`.
fn indirect<'g>(from: Node, to: Node, graphs: impl Iterator<Item = (&'g Dag, f64)>) -> f64 {
    let (mut apart, mut reached) = (0.0, 0.0);
    for (graph, weight) in graphs.filter(|(graph, _)| !graph.has_edge(from, to) && !graph.has_edge(to, from))
    {
        apart += weight;
        reached += if graph.descendants(from).contains(to) { weight } else { 0.0 };
    }
    if apart > 0.0 { reached / apart } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["raf", "mek", "erk"].map(String::from).to_vec()
    }

    #[test]
    fn pairs_that_become_clear_are_named() {
        let (mut now, mut after) = (Tally::default(), Tally::default());
        now.add(&[[0.45, 0.55, 0.0], [0.7, 0.0, 0.3], [0.5, 0.5, 0.0], [0.95, 0.05, 0.0]], 2.0);
        // Half of the outcomes settle the first pair one way, half the other way; the second becomes a little clearer; the last was decided.
        after.add(&[[0.98, 0.02, 0.0], [0.85, 0.0, 0.15], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], 1.0);
        after.add(&[[0.01, 0.99, 0.0], [0.7, 0.0, 0.3], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], 1.0);
        let chain = Dag::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        let pairs = [(1, 0), (0, 2), (1, 2), (2, 1)];
        let found = now.decisions(&after, &pairs, &names(), [(&chain, 1.0)].into_iter());
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].from.as_str(), found[0].to.as_str()), ("raf", "mek"));
        assert!((found[0].wrong_now - 0.45).abs() < 1e-12 && (found[0].wrong_after - 0.015).abs() < 1e-12);
        assert_eq!((found[0].decided, found[1].decided, found[1].indirect), (1.0, 0.0, 1.0));
        assert_eq!(
            reasons(&found),
            "decides raf → mek against mek → raf (now 0.55 / 0.45); makes clearer whether raf → erk is direct (now 0.70)"
        );
        assert_eq!(reasons(&[]), "no single edge would become clear");
        let (wrong, undecided) = after.totals();
        assert!((wrong - (0.015 + 0.225 + 0.5)).abs() < 1e-12 && undecided == 2.0);
    }

    #[test]
    fn parts_of_a_tally_add_up() {
        let mut whole = Tally::default();
        let mut parts = [Tally::default(), Tally::default()];
        for (k, answers) in [[0.2, 0.3, 0.5], [0.9, 0.05, 0.05], [0.1, 0.8, 0.1]].iter().enumerate() {
            whole.add(&[*answers], 0.5);
            parts[k % 2].add(&[*answers], 0.5);
        }
        let [mut first, second] = parts;
        first.merge(&second);
        assert!((first.totals().0 - whole.totals().0).abs() < 1e-15);
        assert_eq!(first.decided, whole.decided);
    }
}
