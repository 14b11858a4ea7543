//! Utilities about the structure, parameters integrated out: information about the graph, or the expected loss of its
//! edges or of ancestor relations.

use super::{Evaluator, Judged, Verdict};
use crate::belief::GraphBelief;
use crate::design::blocks::{Block, blocks, drawn_once, whole};
use crate::design::decision::{Answers, Tally};
use crate::design::designer::Designer;
use crate::design::features::{Features, Kind};
use crate::design::forecast::{Forecast, Pairs};
use crate::design::goal::Goal;
use crate::design::information::Information;
use crate::design::paths::{Path, Paths, Places};
use crate::design::strategy::Utility;
use crate::design::work::Work;
use crate::graph::Node;
use crate::num::elementwise::exp_in_place;
use crate::num::parallel::ordered_map;
use crate::num::random::Stream;
use crate::num::{not_below, sum_in_order};
use crate::observer::Stopped;
use crate::scm::Intervention;

/// What is known about the graph: bounded below by 0, and smaller the more is known.
enum Loss {
    /// Entropy of the answers, which are numbered: `[configuration]`.
    Entropy(Vec<usize>),
    /// Expected squared error of features.
    Features(Features),
}

/// A block of the belief, and what is lost by not knowing it.
struct Part {
    block: Block,
    log_weights: Vec<f64>,
    /// For every configuration where the families of its nodes are among those of all nodes.
    places: Vec<Vec<usize>>,
    loss: Loss,
}

impl Part {
    fn new(belief: &GraphBelief, block: Block, places: &Places, loss: Loss) -> Self {
        let of = |families: &Vec<u32>| {
            block.nodes.iter().zip(families).map(|(&node, &family)| places.of(node, family)).collect()
        };
        debug_assert_eq!(block.of_graph.len(), belief.graphs().len());
        Self {
            log_weights: block.weights.iter().map(|weight| weight.ln()).collect(),
            places: block.families.iter().map(of).collect(),
            loss,
            block,
        }
    }

    /// Weights of the configurations after outcomes, `[configuration][design]`, from the terms `[family][design]`.
    fn weights_after(&self, terms: &[f64], count: usize) -> Vec<f64> {
        let mut weights = vec![0.0; self.places.len() * count];
        let mut largest = vec![f64::NEG_INFINITY; count];
        for ((row, places), log_weight) in
            weights.chunks_exact_mut(count).zip(&self.places).zip(&self.log_weights)
        {
            row.fill(*log_weight);
            for place in places {
                row.iter_mut().zip(&terms[place * count..][..count]).for_each(|(sum, term)| *sum += term);
            }
            largest.iter_mut().zip(&*row).for_each(|(most, x)| *most = if *x > *most { *x } else { *most });
        }
        let mut sums = vec![0.0; count];
        for row in weights.chunks_exact_mut(count) {
            row.iter_mut().zip(&largest).for_each(|(x, largest)| *x = not_below(*x - largest));
            exp_in_place(row);
            sums.iter_mut().zip(&*row).for_each(|(sum, x)| *sum += x);
        }
        for row in weights.chunks_exact_mut(count) {
            row.iter_mut().zip(&sums).for_each(|(x, sum)| *x /= sum);
        }
        weights
    }

    /// Adds the losses under each of `count` sets of weights, `weights[configuration][set]`.
    fn add_losses(&self, weights: &[f64], count: usize, losses: &mut [f64]) {
        match &self.loss {
            Loss::Features(features) => features.add_losses(weights, count, losses),
            Loss::Entropy(answers) => {
                let mut p = vec![0.0; (answers.iter().max().map_or(0, |most| most + 1)) * count];
                for (answer, row) in answers.iter().zip(weights.chunks_exact(count)) {
                    p[answer * count..][..count].iter_mut().zip(row).for_each(|(p, weight)| *p += weight);
                }
                for row in p.chunks_exact(count) {
                    let entropies = row.iter().map(|p| if *p > 0.0 { -p * p.ln() } else { 0.0 });
                    losses.iter_mut().zip(entropies).for_each(|(loss, entropy)| *loss += entropy);
                }
            }
        }
    }

    /// The expected loss when it were known to which of the groups the truth belongs: `group[configuration]`.
    fn loss_within(&self, group: &[usize]) -> f64 {
        let count = group.iter().max().map_or(0, |most| most + 1);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
        group.iter().enumerate().for_each(|(configuration, &group)| members[group].push(configuration));
        let of_group = |members: &Vec<usize>| {
            let total: f64 = members.iter().map(|&k| self.block.weights[k]).sum();
            let share = |k: usize| self.block.weights[k] / total;
            total
                * match &self.loss {
                    Loss::Features(features) => features.loss_among(members, share),
                    Loss::Entropy(answers) => {
                        let mut p: Vec<(usize, f64)> =
                            members.iter().map(|&k| (answers[k], share(k))).collect();
                        p.sort_by_key(|(answer, _)| *answer);
                        let answers =
                            p.chunk_by(|a, b| a.0 == b.0).map(|same| same.iter().map(|(_, p)| p).sum());
                        answers.map(|p: f64| -p * p.ln()).sum::<f64>()
                    }
                }
        };
        members.iter().map(of_group).sum()
    }
}

pub(super) struct Structure<'a> {
    belief: &'a GraphBelief,
    parts: Vec<Part>,
    /// The edges in question, for the forecast.
    edges: Vec<Part>,
    pairs: Pairs,
    /// Before anything is known beyond the data.
    loss_now: f64,
    replicates: usize,
    /// One in so many paths serves to choose.
    thinning: usize,
    /// Paths at the beginning, after the pending outcomes.
    start: Paths<'a>,
    pending_worth: f64,
    /// Paths after everything that is chosen.
    chosen: Paths<'a>,
    /// Variables that pending and chosen designs set.
    set: Vec<Node>,
    round: Stream,
    stream: Stream,
    work: &'a Work<'a>,
}

/// Of the paths, one in so many serves for a rough evaluation.
pub(in crate::design) const ROUGHLY: usize = 5;

/// While a batch is chosen, experiments of several rows are evaluated by fewer paths, but by at least so many: every row tells
/// more about the graph of its path, and all candidates see the same noise.
const LEAST_PATHS: usize = 20;

/// One in so many paths serves while experiments of so many rows are chosen.
pub(in crate::design) fn thinning(rows: usize, paths: usize) -> usize {
    rows.min(paths / LEAST_PATHS).max(1)
}

/// Targets that are simulated: those that would teach most if they had no noise.
pub(in crate::design) const MOST_TARGETS: usize = 12;

impl<'a> Structure<'a> {
    pub(super) fn new(
        utility: Utility,
        designer: &Designer,
        belief: &'a GraphBelief,
        pending: &[Intervention],
        stream: Stream,
        work: &'a Work<'a>,
    ) -> Result<Self, Stopped> {
        let (goal, places) = (designer.goal, Places::new(belief));
        let about_edges = matches!(goal, Goal::Everything | Goal::Edge { .. } | Goal::Parents { .. });
        let part = |block: Block| {
            let loss = match utility {
                Utility::Edges => Loss::Features(Features::new(belief, &block, Kind::Edges, goal)),
                Utility::Ancestors => Loss::Features(Features::new(belief, &block, Kind::Ancestors, goal)),
                _ => Loss::Entropy(answers(belief, &block, goal)),
            };
            Part::new(belief, block, &places, loss)
        };
        // Ancestors are a matter of the whole graph.
        let local = utility == Utility::Edges || utility == Utility::Graph && about_edges;
        let blocks = blocks(belief);
        let parts = if local { blocks.clone() } else { whole(belief) };
        let edges_of = |block: Block| {
            let goal = if about_edges { goal } else { Goal::Everything };
            let features = Features::edges_both_ways(belief, &block, goal);
            Part::new(belief, block, &places, Loss::Features(features))
        };
        let edges: Vec<Part> = blocks.into_iter().map(edges_of).collect();
        let features = edges.iter().filter_map(|part| match &part.loss {
            Loss::Features(features) => Some(features),
            Loss::Entropy(_) => None,
        });
        let start = Paths::new(belief, designer.samples, stream.named("paths"), work)?;
        let mut new = Self {
            parts: parts.into_iter().map(part).collect(),
            pairs: Pairs::new(features, &belief.graphs()[0]),
            edges,
            loss_now: 0.0,
            replicates: designer.replicates.at_a_time(),
            thinning: 1,
            chosen: start.clone(),
            start,
            pending_worth: 0.0,
            set: pending.iter().flat_map(|design| design.settings()).map(|setting| setting.0).collect(),
            round: stream,
            stream,
            work,
            belief,
        };
        let mut now = [0.0];
        new.parts.iter().for_each(|part| part.add_losses(&part.block.weights, 1, &mut now));
        [new.loss_now] = now;
        for (k, design) in pending.iter().enumerate() {
            new.start = new.start.after(design, 1, stream.named("pending").at(k as u64), work)?;
        }
        new.chosen = new.start.clone();
        new.pending_worth = new.worth_of(&new.start).nats;
        Ok(new)
    }

    /// The losses after outcomes with these terms, `[family][design]`.
    fn losses_after(&self, terms: &[f64], count: usize) -> Vec<f64> {
        let mut losses = vec![0.0; count];
        for part in &self.parts {
            part.add_losses(&part.weights_after(terms, count), count, &mut losses);
        }
        losses
    }

    /// What so many rows of each candidate are worth after what is chosen, by one in `step` paths.
    fn worths(
        &self,
        candidates: &[Intervention],
        rows: usize,
        step: usize,
    ) -> Result<Vec<Information>, Stopped> {
        // [path][candidate]
        let losses = self.chosen.with_designs(candidates, rows, self.round, step, self.work, |terms| {
            self.losses_after(terms, candidates.len())
        })?;
        let of = |k: usize| self.worth(&losses.iter().map(|of_path| of_path[k]).collect::<Vec<_>>());
        Ok((0..candidates.len()).map(of).collect())
    }

    /// By how much the paths' rows reduce the loss.
    fn worth_of(&self, paths: &Paths<'a>) -> Information {
        let losses = ordered_map(&paths.list, |path| self.losses_after(&path.terms, 1)[0]);
        self.worth(&losses)
    }

    /// Mean reduction of the loss over paths, and its standard error.
    fn worth(&self, losses: &[f64]) -> Information {
        let n = losses.len() as f64;
        let mean = sum_in_order(losses) / n;
        let squares: f64 = losses.iter().map(|loss| (loss - mean).powi(2)).sum();
        Information { nats: self.loss_now - mean, standard_error: (squares / (n - 1.0).max(1.0) / n).sqrt() }
    }

    /// The answers about open pairs after outcomes with these terms, `[family]`.
    fn answers_after(&self, terms: &[f64]) -> Vec<Answers> {
        let of_part = |part: &Part| match &part.loss {
            Loss::Features(features) => features.otherwise(&part.weights_after(terms, 1), 1),
            Loss::Entropy(_) => Vec::new(),
        };
        self.pairs.answers(&self.edges.iter().map(of_part).collect::<Vec<_>>())
    }

    /// The answers after the paths' rows.
    fn tally(&self, paths: &Paths<'a>) -> Tally {
        let mut tally = Tally::default();
        let answers = ordered_map(&paths.list, |path: &Path<'a>| self.answers_after(&path.terms));
        answers.iter().for_each(|answers| tally.add(answers, 1.0));
        tally
    }

    /// What would still be lost if, for all that is set, every effect on another variable were known.
    fn loss_without_noise(&self, known: &[Vec<usize>], target: Node) -> f64 {
        let of_part =
            |(part, known): (&Part, &Vec<usize>)| part.loss_within(&self.refined(part, known, target));
        self.parts.iter().zip(known).map(of_part).sum()
    }

    /// Groups of configurations that are still alike when the target's effects are known.
    fn refined(&self, part: &Part, known: &[usize], target: Node) -> Vec<usize> {
        let effects = |configuration: usize| -> Vec<Node> {
            let families = &part.block.families[configuration];
            let nodes = part.block.nodes.iter().zip(families);
            let has = |(node, family): &(&Node, &u32)| {
                self.belief.families(**node)[**family as usize].parents.contains(&target)
            };
            nodes.filter(has).map(|(node, _)| *node).collect()
        };
        let mut numbers = std::collections::HashMap::new();
        let number = |(configuration, &group): (usize, &usize)| {
            let next = numbers.len();
            *numbers.entry((group, effects(configuration))).or_insert(next)
        };
        known.iter().enumerate().map(number).collect()
    }
}

impl Evaluator for Structure<'_> {
    fn marginals(&self) -> Result<Vec<(f64, f64)>, Stopped> {
        let rows = self.start.observed(self.stream.named("observed"));
        let n = rows.len() as f64;
        let marginal = |node: usize| {
            let mean = rows.iter().map(|row| row[node]).sum::<f64>() / n;
            let square = rows.iter().map(|row| (row[node] - mean).powi(2)).sum::<f64>() / n;
            (mean, square.sqrt())
        };
        Ok((0..self.belief.names().len()).map(marginal).collect())
    }

    fn most(&self) -> f64 {
        self.loss_now
    }

    fn pending_worth(&self) -> f64 {
        self.pending_worth
    }

    fn promising(&self, targets: Vec<Node>) -> Vec<Node> {
        if targets.len() <= MOST_TARGETS {
            return targets;
        }
        let mut known: Vec<Vec<usize>> =
            self.parts.iter().map(|part| vec![0; part.block.weights.len()]).collect();
        for &target in &self.set {
            for (part, known) in self.parts.iter().zip(&mut known) {
                *known = self.refined(part, known, target);
            }
        }
        let left = ordered_map(&targets, |&target| self.loss_without_noise(&known, target));
        let mut order: Vec<usize> = (0..targets.len()).collect();
        order.sort_by(|&a, &b| left[a].total_cmp(&left[b]));
        // Noise may make it worth while to set a variable once more.
        let (best, rest) = order.split_at(MOST_TARGETS);
        let again = rest.iter().filter(|&&k| self.set.contains(&targets[k]));
        let mut kept: Vec<usize> = best.iter().chain(again).copied().collect();
        kept.sort_unstable();
        kept.into_iter().map(|k| targets[k]).collect()
    }

    fn start_choosing(&mut self) {
        self.thinning = thinning(self.replicates, self.start.list.len());
        self.chosen = self.start.clone().thinned(self.thinning);
    }

    fn start_round(&mut self, round: u64) -> Result<(), Stopped> {
        self.round = self.stream.named("outcomes").at(round);
        Ok(())
    }

    fn evaluate(&self, candidates: &[Intervention]) -> Result<Vec<Information>, Stopped> {
        self.worths(candidates, self.replicates, 1)
    }

    fn evaluate_roughly(&self, candidates: &[Intervention]) -> Result<Option<Vec<f64>>, Stopped> {
        // Roughly the best by one row are among the best by several.
        let worths = self.worths(candidates, 1, (ROUGHLY / self.thinning).max(1))?;
        Ok(Some(worths.into_iter().map(|worth| worth.nats).collect()))
    }

    fn decide(&mut self, design: &Intervention) -> Result<(), Stopped> {
        self.chosen = self.chosen.after(design, self.replicates, self.round, self.work)?;
        self.set.extend(design.settings().iter().map(|setting| setting.0));
        Ok(())
    }

    fn judge(&self, batch: &[(Intervention, usize)]) -> Result<Verdict, Stopped> {
        let fresh = self.stream.named("judged");
        let before = self.pending_worth;
        let beyond = |worth: Information| Information { nats: worth.nats - before, ..worth };
        let mut paths = self.start.clone();
        let mut judged = Vec::with_capacity(batch.len());
        let now = self.tally(&self.start);
        let graphs = self.belief.graphs().iter().zip(self.belief.weights().iter().copied());
        for (k, (design, rows)) in batch.iter().enumerate() {
            let noise = fresh.at(k as u64);
            let alone = self.start.with_designs(
                std::slice::from_ref(design),
                *rows,
                noise,
                1,
                self.work,
                |terms| (self.losses_after(terms, 1)[0], self.answers_after(terms)),
            )?;
            let mut after = Tally::default();
            alone.iter().for_each(|(_, answers)| after.add(answers, 1.0));
            let decides = now.decisions(&after, &self.pairs.nodes, self.belief.names(), graphs.clone());
            let losses: Vec<f64> = alone.into_iter().map(|(loss, _)| loss).collect();
            let alone = beyond(self.worth(&losses));
            paths = paths.after(design, *rows, noise, self.work)?;
            judged.push(Judged { alone, together: beyond(self.worth_of(&paths)), decides });
        }
        let ((wrong_now, undecided_now), (wrong_after, undecided_after)) =
            (now.totals(), self.tally(&paths).totals());
        let forecast = Forecast {
            wrong_now,
            wrong_after,
            undecided_now,
            undecided_after,
            effective_graphs: self.belief.effective_graphs(),
            drawn_once: drawn_once(self.belief),
        };
        Ok(Verdict { judged, forecast: Some(forecast) })
    }
}

/// The answer of every configuration, as a number from 0 on.
fn answers(belief: &GraphBelief, block: &Block, goal: Goal) -> Vec<usize> {
    // A question about edges into a node of another block has one answer here.
    let asked = |node: Node| block.nodes.contains(&node);
    match goal {
        Goal::Everything => (0..block.weights.len()).collect(),
        Goal::Edge { to: of, .. } | Goal::Parents { of } if !asked(of) => vec![0; block.weights.len()],
        _ => {
            let examples: Vec<_> =
                block.example.iter().map(|&graph| belief.graphs()[graph].clone()).collect();
            goal.groups_of_graphs(&examples)
        }
    }
}
