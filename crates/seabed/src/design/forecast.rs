//! What a batch is expected to change, in the words of people who ask about edges.

use serde::{Deserialize, Serialize};

use super::decision::Answers;
use super::features::Features;
use crate::graph::{Dag, Node};

/// What a batch is expected to change in the belief about edges. A pair of variables has three answers: an edge one
/// way, an edge the other way, or none.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Forecast {
    /// Expected number of pairs that are wrong when every pair gets its most probable answer; pending outcomes are
    /// counted as known.
    pub wrong_now: f64,
    /// The same after the batch.
    pub wrong_after: f64,
    /// Expected number of pairs without an answer of at least 90 %.
    pub undecided_now: f64,
    /// The same after the batch.
    pub undecided_after: f64,
    /// As many graphs of equal weight would be as uncertain as the belief.
    pub effective_graphs: f64,
    /// Share of the belief in graphs that were drawn only once. Where it is large, worths are judged on blocks of variables
    /// whose parents depend on each other; 0 where worths are about models, not graphs.
    pub drawn_once: f64,
}

impl Forecast {
    pub(super) fn is_finite(&self) -> bool {
        let edges = [self.wrong_now, self.wrong_after, self.undecided_now, self.undecided_after];
        edges.iter().chain(&[self.effective_graphs, self.drawn_once]).all(|x| x.is_finite())
    }

    /// What it says, in sentences: what would change, whether that is worth while, and whether it can be trusted.
    pub fn sentences(&self) -> Vec<String> {
        let Self { wrong_now, wrong_after, undecided_now, undecided_after, .. } = *self;
        let decided = (undecided_now - undecided_after).max(0.0);
        let mut sentences = vec![format!(
            "expected wrong edges {wrong_now:.1} → {wrong_after:.1}; of {undecided_now:.0} undecided edges {decided:.1} would be \
             decided"
        )];
        if wrong_now < LITTLE {
            sentences.push("hardly anything is left to learn about the edges".into());
        } else if wrong_now - wrong_after < LEAST_SHARE * wrong_now {
            sentences.push(format!(
                "this batch is hardly worth its cost: it is expected to settle less than {:.0} % of what is open",
                100.0 * LEAST_SHARE
            ));
        }
        if self.drawn_once > THIN {
            sentences.push(format!(
                "{:.0} % of the graphs were drawn only once, too few to judge by as a whole: variables are judged in groups \
                 whose causes depend on each other",
                100.0 * self.drawn_once
            ));
        }
        sentences
    }
}

/// What to say where a batch is expected to give all that the draws can tell: that is not all there is to know. None elsewhere.
pub fn ceiling(information: f64, entropy: f64) -> Option<&'static str> {
    const NEARLY: f64 = 0.98;
    let reached = entropy > 0.0 && information >= NEARLY * entropy;
    reached.then_some(
        "the simulated outcomes tell all draws apart: what the draws do not contain is not counted, so do not expect to know \
         everything afterwards",
    )
}

/// Fewer wrong edges than this are as good as none.
const LITTLE: f64 = 0.05;

/// A batch that settles a smaller share of what is open is hardly worth while.
const LEAST_SHARE: f64 = 0.05;

/// Share of graphs drawn once from which on they do not stand for all.
const THIN: f64 = 0.5;

/// From which probability on an answer counts as decided.
pub(super) const DECIDED: f64 = 0.9;

/// How the probability of an edge is found.
#[derive(Clone, Copy)]
enum Edge {
    Certain(bool),
    Feature { part: usize, place: usize, first: bool },
}

/// Pairs of variables about which not everything is certain.
pub(super) struct Pairs {
    /// The two variables of every pair.
    pub(super) nodes: Vec<(Node, Node)>,
    /// The edge from the first to the second, and the one back.
    edges: Vec<(Edge, Edge)>,
}

impl Pairs {
    /// Of the features of all parts of a belief, one graph of which is the example.
    pub(super) fn new<'a>(parts: impl Iterator<Item = &'a Features>, example: &Dag) -> Self {
        let nodes = example.len();
        let at = |from: Node, to: Node| from * nodes + to;
        let mut edges: Vec<Edge> =
            (0..nodes * nodes).map(|k| Edge::Certain(example.has_edge(k / nodes, k % nodes))).collect();
        for (part, features) in parts.enumerate() {
            for (place, (&(from, to), &first)) in features.pairs.iter().zip(&features.first).enumerate() {
                edges[at(from, to)] = Edge::Feature { part, place, first };
            }
        }
        let open = |edge: Edge| matches!(edge, Edge::Feature { .. });
        let pairs = (0..nodes).flat_map(|i| (0..i).map(move |j| (i, j)));
        let is_open = |(i, j): &(Node, Node)| open(edges[at(*i, *j)]) || open(edges[at(*j, *i)]);
        let pairs: Vec<(Node, Node)> = pairs.filter(is_open).collect();
        let edges = pairs.iter().map(|&(i, j)| (edges[at(i, j)], edges[at(j, i)])).collect();
        Self { nodes: pairs, edges }
    }

    /// For every pair the probabilities of its answers, when `otherwise[part][feature]` is the probability that a feature
    /// is not as in the first configuration of its part.
    pub(super) fn answers(&self, otherwise: &[Vec<f64>]) -> Vec<Answers> {
        let probability = |edge: Edge| match edge {
            Edge::Certain(there) => f64::from(u8::from(there)),
            Edge::Feature { part, place, first: true } => 1.0 - otherwise[part][place],
            Edge::Feature { part, place, first: false } => otherwise[part][place],
        };
        let of_pair = |&(there, back): &(Edge, Edge)| {
            let (there, back) = (probability(there), probability(back));
            [there, back, (1.0 - there - back).max(0.0)]
        };
        self.edges.iter().map(of_pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::decision::Tally;

    #[test]
    fn sentences_say_what_would_change_and_when_that_is_little() {
        let forecast = Forecast {
            wrong_now: 4.12,
            wrong_after: 2.3,
            undecided_now: 12.0,
            undecided_after: 7.0,
            effective_graphs: 80.0,
            drawn_once: 0.1,
        };
        assert_eq!(
            forecast.sentences(),
            ["expected wrong edges 4.1 → 2.3; of 12 undecided edges 5.0 would be decided"]
        );
        let said = |forecast: Forecast| forecast.sentences().remove(1);
        assert!(
            said(Forecast { wrong_after: 4.1, ..forecast })
                .starts_with("this batch is hardly worth its cost")
        );
        assert!(
            said(Forecast { wrong_now: 0.01, wrong_after: 0.0, ..forecast }).starts_with("hardly anything")
        );
        assert!(said(Forecast { drawn_once: 0.9, ..forecast }).starts_with("90 % of the graphs"));
    }

    /// Two variables: 60 % there, 30 % back, 10 % none; a third pair is certain.
    #[test]
    fn wrong_and_undecided_pairs_are_counted() {
        let features = Features::of_pairs(vec![(0, 1), (1, 0)], vec![true, false]);
        let pairs = Pairs::new([&features].into_iter(), &Dag::from_edges(3, [(0, 1), (1, 2)]).unwrap());
        assert_eq!(pairs.nodes, [(1, 0)]);
        let count = |otherwise: &[Vec<f64>]| {
            let mut tally = Tally::default();
            tally.add(&pairs.answers(otherwise), 1.0);
            tally.totals()
        };
        let (wrong, undecided) = count(&[vec![0.4, 0.3]]);
        assert!((wrong - 0.4).abs() < 1e-12 && undecided == 1.0);
        let (wrong, undecided) = count(&[vec![0.05, 0.02]]);
        assert!((wrong - 0.05).abs() < 1e-12 && undecided == 0.0);
    }
}
