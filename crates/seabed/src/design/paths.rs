//! Outcomes simulated along paths, parameters integrated out, and how well every graph explains them.
//!
//! A path is a graph drawn from the belief with everything that has been simulated of it so far: the rows of pending and
//! chosen experiments. Rows share the parameters of their mechanisms, so each row is predicted given those before it. All
//! designs of a round see the same noise. One law serves every graph in which a node has the same parents.

use std::collections::HashMap;

use super::work::Work;
use crate::belief::{Given, GraphBelief, Scratch};
use crate::graph::Node;
use crate::num::parallel::{ordered_map, ordered_map_indices};
use crate::num::random::Stream;
use crate::observer::Stopped;
use crate::scm::Intervention;

/// The paths of one simulation.
#[derive(Clone)]
pub(super) struct Paths<'a> {
    belief: &'a GraphBelief,
    pub(super) list: Vec<Path<'a>>,
}

/// A graph, and what has been simulated of it so far.
#[derive(Clone)]
pub(super) struct Path<'a> {
    graph: usize,
    /// The laws after the rows so far, `[node][family]`.
    laws: Vec<Vec<Given<'a>>>,
    /// ln p(rows so far | graph), `[graph]`.
    pub(super) log_densities: Vec<f64>,
}

/// Values of the designs of one row: `[node]` = [designs], of which the first is no intervention at all.
type Columns = Vec<Vec<f64>>;

impl<'a> Paths<'a> {
    /// So many paths, with graphs in proportion to their weights (systematic sampling).
    pub(super) fn new(belief: &'a GraphBelief, count: usize, stream: Stream) -> Self {
        let offset = stream.named("graphs").draws().uniform();
        let (mut graph, mut below) = (0, belief.weights()[0]);
        let mut list = Vec::with_capacity(count);
        for path in 0..count {
            let share = (path as f64 + offset) / count as f64;
            while share > below && graph + 1 < belief.weights().len() {
                graph += 1;
                below += belief.weights()[graph];
            }
            let laws = |node| belief.families(node).iter().map(|family| family.conditional.given()).collect();
            list.push(Path {
                graph,
                laws: (0..belief.names().len()).map(laws).collect(),
                log_densities: vec![0.0; belief.graphs().len()],
            });
        }
        Self { belief, list }
    }

    /// `of` the log-densities `[graph][design]` of every path: rows so far and `replicates` rows of each design.
    pub(super) fn with_designs<R: Send>(
        &self,
        designs: &[Intervention],
        replicates: usize,
        stream: Stream,
        work: &Work<'_>,
        of: impl Fn(Vec<f64>) -> R + Sync + Send,
    ) -> Result<Vec<R>, Stopped> {
        let of_path = |k: usize| {
            work.check_stop()?;
            let (path, noise) = (&self.list[k], self.noise(stream.at(k as u64), replicates));
            let densities = path.densities_with(self.belief, designs, &noise);
            designs.iter().try_for_each(|_| work.count())?;
            Ok(of(densities))
        };
        ordered_map_indices(self.list.len(), of_path).into_iter().collect()
    }

    /// The paths after `replicates` more rows of a design.
    pub(super) fn after(
        &self,
        design: &Intervention,
        replicates: usize,
        stream: Stream,
        work: &Work<'_>,
    ) -> Result<Self, Stopped> {
        let numbered: Vec<(usize, &Path<'a>)> = self.list.iter().enumerate().collect();
        let list = ordered_map(&numbered, |(k, path)| {
            work.count()?;
            let noise = self.noise(stream.at(*k as u64), replicates);
            Ok(noise.iter().fold((*path).clone(), |path, row| path.after_row(self.belief, design, row)))
        });
        Ok(Self { belief: self.belief, list: list.into_iter().collect::<Result<_, _>>()? })
    }

    /// One row of every path without an intervention, `[path][node]`.
    pub(super) fn observed(&self, stream: Stream) -> Vec<Vec<f64>> {
        ordered_map_indices(self.list.len(), |k| {
            let noise = self.noise(stream.at(k as u64), 1);
            let columns = self.list[k].row(self.belief, &[], &noise[0], &HashMap::new());
            columns.into_iter().map(|column| column[0]).collect()
        })
    }

    /// Standard normal noise, `[row][node]`, addressed by the variables' names.
    fn noise(&self, stream: Stream, rows: usize) -> Vec<Vec<f64>> {
        let of_row = |row: usize| {
            let stream = stream.at(row as u64);
            let normal = |name: &String| stream.named(name).draws().normal();
            self.belief.names().iter().map(normal).collect()
        };
        (0..rows).map(of_row).collect()
    }
}

/// Laws that differ from those of the path because a design has already changed a row: by (node, family, design).
type Changed<'a> = HashMap<(Node, usize, usize), Given<'a>>;

impl<'a> Path<'a> {
    /// ln p(rows so far, `noise.len()` rows of the design | graph), `[graph][design]`.
    fn densities_with(
        &self,
        belief: &'a GraphBelief,
        designs: &[Intervention],
        noise: &[Vec<f64>],
    ) -> Vec<f64> {
        let nodes = belief.names().len();
        let mut terms: Vec<Vec<Vec<f64>>> =
            (0..nodes).map(|node| vec![vec![0.0; designs.len()]; belief.families(node).len()]).collect();
        let mut path = self.clone();
        let mut changed = Changed::new();
        for (replicate, row) in noise.iter().enumerate() {
            let columns = path.row(belief, designs, row, &changed);
            let more_follow = replicate + 1 < noise.len();
            path.add_terms(belief, designs, &columns, &mut changed, more_follow, &mut terms);
        }
        let count = designs.len();
        let mut densities = vec![0.0; belief.graphs().len() * count];
        for (graph, sums) in densities.chunks_exact_mut(count).enumerate() {
            sums.fill(self.log_densities[graph]);
            for (node, &family) in belief.family_of(graph).iter().enumerate() {
                let term = &terms[node][family as usize];
                sums.iter_mut().zip(term).for_each(|(sum, term)| *sum += term);
            }
        }
        densities
    }

    /// One more row under every design, drawn from the path's graph.
    fn row(
        &self,
        belief: &'a GraphBelief,
        designs: &[Intervention],
        noise: &[f64],
        changed: &Changed<'a>,
    ) -> Columns {
        let (graph, count) = (&belief.graphs()[self.graph], designs.len() + 1);
        let mut columns: Columns = vec![vec![0.0; count]; noise.len()];
        let mut scratch = Scratch::default();
        for node in graph.topological_order() {
            let family = belief.family_of(self.graph)[node] as usize;
            let parents = &belief.families(node)[family].parents;
            let law = &self.laws[node][family];
            let mut column = std::mem::take(&mut columns[node]);
            let inputs: Vec<&[f64]> = parents.iter().map(|&parent| &columns[parent][..]).collect();
            law.draws(&inputs, &vec![law.noise(noise[node]); count], &mut scratch, &mut column);
            for (k, design) in designs.iter().enumerate() {
                if let Some(value) = design.value(node) {
                    column[k + 1] = value;
                } else if let Some(law) = changed.get(&(node, family, k)) {
                    let inputs: Vec<f64> = parents.iter().map(|&parent| columns[parent][k + 1]).collect();
                    column[k + 1] = law.draw(&inputs, law.noise(noise[node]));
                }
            }
            columns[node] = column;
        }
        columns
    }

    /// Adds the log-densities of a row under every design to `terms[node][family][design]`. Where more rows follow, the
    /// laws see this one: those of the path the row without intervention, and where a design makes a difference, a law of
    /// its own in `changed`.
    fn add_terms(
        &mut self,
        belief: &'a GraphBelief,
        designs: &[Intervention],
        columns: &Columns,
        changed: &mut Changed<'a>,
        more_follow: bool,
        terms: &mut [Vec<Vec<f64>>],
    ) {
        let mut scratch = Scratch::default();
        let moved: Vec<Vec<bool>> =
            columns.iter().map(|column| column.iter().map(|value| *value != column[0]).collect()).collect();
        for (node, of_node) in terms.iter_mut().enumerate() {
            for (family, terms) in of_node.iter_mut().enumerate() {
                let parents = &belief.families(node)[family].parents;
                let inputs =
                    |k: usize| -> Vec<f64> { parents.iter().map(|&parent| columns[parent][k]).collect() };
                // Places in the columns that the law of the path is asked about; the first is no intervention.
                let mut asked = vec![0];
                let mut unmoved = Vec::new();
                for (k, term) in
                    terms.iter_mut().enumerate().filter(|(k, _)| designs[*k].value(node).is_none())
                {
                    let place = k + 1;
                    if let Some(law) = changed.get_mut(&(node, family, k)) {
                        *term += law.log_predictive(columns[node][place], &inputs(place));
                        if more_follow {
                            *law = law.with_row(columns[node][place], &inputs(place));
                        }
                    } else if moved[node][place] || parents.iter().any(|&parent| moved[parent][place]) {
                        asked.push(place);
                    } else {
                        unmoved.push(k);
                    }
                }
                let law = &mut self.laws[node][family];
                let gathered =
                    |of: Node| -> Vec<f64> { asked.iter().map(|&place| columns[of][place]).collect() };
                let gathered_inputs: Vec<Vec<f64>> = parents.iter().map(|&parent| gathered(parent)).collect();
                let slices: Vec<&[f64]> = gathered_inputs.iter().map(|column| &column[..]).collect();
                let mut densities = vec![0.0; asked.len()];
                law.add_log_predictives(&gathered(node), &slices, &mut scratch, &mut densities);
                unmoved.iter().for_each(|&k| terms[k] += densities[0]);
                for (&place, density) in asked.iter().zip(&densities).skip(1) {
                    terms[place - 1] += density;
                    if more_follow {
                        let own = law.with_row(columns[node][place], &inputs(place));
                        changed.insert((node, family, place - 1), own);
                    }
                }
                if more_follow {
                    *law = law.with_row(columns[node][0], &inputs(0));
                }
            }
        }
    }

    /// The path after one more row of a design.
    fn after_row(mut self, belief: &'a GraphBelief, design: &Intervention, noise: &[f64]) -> Self {
        let columns = self.row(belief, std::slice::from_ref(design), noise, &HashMap::new());
        let mut terms: Vec<Vec<f64>> = Vec::with_capacity(noise.len());
        for node in 0..noise.len() {
            let set = design.value(node).is_some();
            let of_family = |(family, law): (usize, &mut Given<'a>)| {
                let parents = &belief.families(node)[family].parents;
                let inputs: Vec<f64> = parents.iter().map(|&parent| columns[parent][1]).collect();
                let density = law.log_predictive(columns[node][1], &inputs);
                *law = law.with_row(columns[node][1], &inputs);
                density
            };
            terms.push(if set {
                vec![0.0; self.laws[node].len()]
            } else {
                self.laws[node].iter_mut().enumerate().map(of_family).collect()
            });
        }
        for (graph, sum) in self.log_densities.iter_mut().enumerate() {
            let families = belief.family_of(graph).iter().enumerate();
            *sum += families.map(|(node, &family)| terms[node][family as usize]).sum::<f64>();
        }
        self
    }
}
