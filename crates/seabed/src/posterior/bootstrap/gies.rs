//! Greedy interventional equivalence search: forward, backward and turning steps over essential graphs.
//!
//! Each step takes the best operator of its kind, as long as it gains; the three phases repeat until a whole
//! round changes nothing. With background knowledge the search stays within classes that have a member that agrees with it.
//! Which operators there are, and what they do, is in `operators`.

use serde::{Deserialize, Serialize};

use super::operators::{Move, Operators, apply};
use super::score::Scores;
use crate::graph::{Dag, EssentialGraph, Node, NodeSet, RefinedClass};
use crate::observer::{Pulse, Stopped};
use crate::posterior::Knowledge;

/// A step must gain more than this: the square root of the machine's precision.
pub const LEAST_GAIN: f64 = 1.490_116_119_384_765_6e-8;

/// What the search may do.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GiesOptions {
    /// Where the search starts; the graph of the required edges if there is none.
    pub start: Option<Dag>,
    /// No variable gets more neighbours, parents and children than this by an insertion.
    pub max_degree: Option<usize>,
}

/// Where the search ended.
#[derive(Clone, Debug)]
pub struct GiesResult {
    /// The estimated class.
    pub class: EssentialGraph,
    /// The part of the class that agrees with the knowledge, if there is any knowledge.
    pub refined: Option<RefinedClass>,
    /// A member of the class that agrees with the knowledge; the representative if there is no knowledge.
    pub dag: Dag,
    /// The score of every member.
    pub score: f64,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One step of the search.
#[derive(Clone, Debug)]
pub struct Step {
    /// `insert`, `delete` or `turn`.
    pub kind: &'static str,
    /// Tail of the arrow that was inserted, removed or turned into.
    pub from: Node,
    /// Its head.
    pub to: Node,
    /// By how much the score grew.
    pub gain: f64,
}

/// The three phases, in order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Forward,
    Backward,
    Turning,
}

/// Searches from the start graph until no operator gains, or it is asked to stop. `targets` are the distinct target sets of the data.
pub(super) fn gies(
    scores: &mut Scores,
    targets: &[NodeSet],
    knowledge: &Knowledge,
    options: &GiesOptions,
    pulse: &Pulse<'_>,
) -> Result<GiesResult, Stopped> {
    let nodes = scores.moments().variables();
    let start = knowledge.start(options.start.as_ref(), nodes);
    let mut search = Search {
        graph: EssentialGraph::of(&start, targets),
        targets,
        knowledge,
        max_degree: options.max_degree.unwrap_or(nodes),
        insertions: vec![Insertion::Unknown; nodes],
        steps: Vec::new(),
        pulse,
    };
    loop {
        let before = search.steps.len();
        for phase in [Phase::Forward, Phase::Backward, Phase::Turning] {
            while let Some(step) = search.best(phase, scores)? {
                search.take(step);
            }
        }
        if search.steps.len() == before {
            break;
        }
    }
    let refined = (!knowledge.is_empty()).then(|| {
        search
            .graph
            .refined(knowledge.forbidden())
            .expect("the search stays within classes that agree with the knowledge")
    });
    let dag = match &refined {
        None => search.graph.representative(),
        Some(refined) => refined.member().expect("a refined class has a member"),
    };
    Ok(GiesResult { score: scores.total(&dag), class: search.graph, refined, dag, steps: search.steps })
}

struct Search<'a> {
    graph: EssentialGraph,
    targets: &'a [NodeSet],
    knowledge: &'a Knowledge,
    max_degree: usize,
    /// For every head the best insertion, if it is known.
    insertions: Vec<Insertion>,
    steps: Vec<Step>,
    pulse: &'a Pulse<'a>,
}

/// The best insertion of an arrow into a vertex.
#[derive(Clone)]
enum Insertion {
    Unknown,
    None,
    Best(Move),
}

impl Search<'_> {
    /// The best operator of a kind that gains, and among equals the one found first.
    fn best(&mut self, phase: Phase, scores: &mut Scores) -> Result<Option<Move>, Stopped> {
        let mut best: Option<Move> = None;
        for head in 0..self.graph.len() {
            // A search of many variables takes longer than anybody waits for an answer to Ctrl-C.
            if !self.pulse.goes_on() {
                return Err(Stopped);
            }
            let floor = best.as_ref().map_or(LEAST_GAIN, |best| best.gain);
            let found = match phase {
                Phase::Forward => self.best_insertion(head, floor, scores),
                Phase::Backward => self.operators().deletion(head, floor, scores),
                Phase::Turning => self.operators().turn(head, floor, scores),
            };
            best = found.or(best);
        }
        Ok(best)
    }

    fn operators(&self) -> Operators<'_> {
        Operators {
            graph: &self.graph,
            targets: self.targets,
            knowledge: self.knowledge,
            max_degree: self.max_degree,
        }
    }

    fn best_insertion(&mut self, head: Node, floor: f64, scores: &mut Scores) -> Option<Move> {
        if let Insertion::Unknown = self.insertions[head] {
            let found = self.operators().insertion(head, LEAST_GAIN, scores);
            self.insertions[head] = found.map_or(Insertion::None, Insertion::Best);
        }
        match &self.insertions[head] {
            Insertion::Best(insertion) if insertion.gain > floor => Some(insertion.clone()),
            _ => None,
        }
    }

    fn take(&mut self, step: Move) {
        let next = apply(&self.graph, &step, self.targets);
        self.forget_insertions(&next);
        self.graph = next;
        self.steps.push(Step { kind: step.kind.name(), from: step.from, to: step.to, gain: step.gain });
    }

    /// Whether an arrow may be inserted into a vertex depends on what the vertex can reach: the insertions of
    /// vertices that reach a changed edge, before or after the change, must be looked for again.
    fn forget_insertions(&mut self, next: &EssentialGraph) {
        let (nodes, most) = (self.graph.len(), self.max_degree);
        let beside = |graph: &EssentialGraph, v: Node| graph.adjacent(v).len();
        // Where there is a limit, room for an arrow is a matter of both ends.
        let makes_room = || (0..nodes).any(|v| beside(next, v) < beside(&self.graph, v));
        if !self.knowledge.is_empty() || most < nodes && makes_room() {
            self.insertions.fill(Insertion::Unknown);
            return;
        }
        if most < nodes {
            for insertion in &mut self.insertions {
                if matches!(insertion, Insertion::Best(best) if beside(next, best.from) >= most) {
                    *insertion = Insertion::Unknown;
                }
            }
        }
        let differs = |v: Node| {
            self.graph.parents(v) != next.parents(v) || self.graph.neighbours(v) != next.neighbours(v)
        };
        let mut changed = NodeSet::of(nodes, (0..nodes).filter(|&v| differs(v)));
        let tails: Vec<NodeSet> = changed
            .iter()
            .flat_map(|v| [self.graph.parents(v), next.parents(v)].map(|set| set.clone()))
            .collect();
        for tail in &tails {
            changed.union_with(tail);
        }
        for graph in [&self.graph, next] {
            let mut reaching = changed.clone();
            let mut stack: Vec<Node> = changed.iter().collect();
            while let Some(at) = stack.pop() {
                for from in graph.parents(at).union(graph.neighbours(at)).difference(&reaching).iter() {
                    reaching.insert(from);
                    stack.push(from);
                }
            }
            for v in &reaching {
                self.insertions[v] = Insertion::Unknown;
            }
        }
    }
}
