//! Outcomes simulated along paths, parameters integrated out, and how well every graph explains them.
//!
//! A path is a graph drawn from the belief with everything that has been simulated of it so far: the rows of pending and
//! chosen experiments. Rows share the parameters of their mechanisms, so each row is predicted given those before it. All
//! designs of a round see the same noise. One law serves every graph in which a node has the same parents.

use std::borrow::Cow;
use std::collections::HashMap;

use smallvec::SmallVec;

use super::work::Work;
use crate::belief::{Given, GraphBelief, Scratch};
use crate::graph::Node;
use crate::num::parallel::ordered_map_indices;
use crate::num::random::Stream;
use crate::observer::Stopped;
use crate::scm::Intervention;

/// The paths of one simulation.
#[derive(Clone)]
pub(super) struct Paths<'a> {
    belief: &'a GraphBelief,
    places: Places,
    pub(super) list: Vec<Path<'a>>,
    /// Rows simulated of each path so far.
    rows: usize,
}

/// Where the families of a node begin in lists of the families of all nodes.
#[derive(Clone)]
pub(super) struct Places(Vec<usize>);

impl Places {
    pub(super) fn new(belief: &GraphBelief) -> Self {
        let mut next = 0;
        let counts = (0..belief.names().len()).map(|node| belief.families(node).len());
        Self(std::iter::once(0).chain(counts.map(|count| (next += count, next).1)).collect())
    }

    pub(super) fn of(&self, node: Node, family: u32) -> usize {
        self.0[node] + family as usize
    }

    /// Of the families of a node.
    fn of_node(&self, node: Node) -> std::ops::Range<usize> {
        self.0[node]..self.0[node + 1]
    }
}

/// A graph, and what has been simulated of it so far.
#[derive(Clone)]
pub(super) struct Path<'a> {
    graph: usize,
    /// The laws after the rows so far, `[family]`.
    laws: Vec<Given<'a>>,
    /// ln p(values so far | family), `[family]`; 0 where a node has only one, which tells nothing about the graph.
    pub(super) terms: Vec<f64>,
}

/// Values of the designs of one row: `[node]` = [designs], of which the first is no intervention at all.
type Columns = Vec<Vec<f64>>;

/// Memory of one path's predictions.
#[derive(Default)]
struct Memory {
    laws: Scratch,
    /// Designs under which nothing that concerns the law differs from no intervention.
    alike: Vec<usize>,
    /// Of the outcomes that a law is asked about: where they are, values, those of the parents, densities.
    asked: Vec<usize>,
    values: Vec<f64>,
    parents: Vec<Vec<f64>>,
    densities: Vec<f64>,
}

impl<'a> Paths<'a> {
    /// So many paths, with graphs in proportion to their weights (systematic sampling).
    pub(super) fn new(
        belief: &'a GraphBelief,
        count: usize,
        stream: Stream,
        work: &Work<'_>,
    ) -> Result<Self, Stopped> {
        let offset = stream.named("graphs").draws().uniform();
        let places = Places::new(belief);
        let nodes = 0..belief.names().len();
        let laws: Vec<Given<'a>> = nodes
            .flat_map(|node| belief.families(node).iter().map(|family| family.conditional.given()))
            .collect();
        let (mut graph, mut below) = (0, belief.weights()[0]);
        let mut list = Vec::with_capacity(count);
        for path in 0..count {
            work.check_stop()?;
            let share = (path as f64 + offset) / count as f64;
            while share > below && graph + 1 < belief.weights().len() {
                graph += 1;
                below += belief.weights()[graph];
            }
            list.push(Path { graph, laws: laws.clone(), terms: vec![0.0; laws.len()] });
        }
        Ok(Self { belief, places, list, rows: 0 })
    }

    /// One in `step` paths: graphs are still in proportion to their weights.
    pub(super) fn thinned(self, step: usize) -> Self {
        Self { list: self.list.into_iter().step_by(step).collect(), ..self }
    }

    /// `of` the terms `[family][design]` of one in `step` paths: rows so far and `replicates` rows of each design.
    pub(super) fn with_designs<R: Send>(
        &self,
        designs: &[Intervention],
        replicates: usize,
        stream: Stream,
        step: usize,
        work: &Work<'_>,
        of: impl Fn(&[f64]) -> R + Sync + Send,
    ) -> Result<Vec<R>, Stopped> {
        let of_path = |k: usize| {
            let k = step * k;
            work.check_stop()?;
            let noise = self.noise(stream.at(k as u64), replicates);
            let terms = self.terms_with(&self.list[k], designs, &noise);
            designs.iter().try_for_each(|_| work.looked_at(replicates, self.rows))?;
            Ok(of(&terms))
        };
        ordered_map_indices(self.list.len().div_ceil(step), of_path).into_iter().collect()
    }

    /// The paths after `replicates` more rows of a design.
    pub(super) fn after(
        &self,
        design: &Intervention,
        replicates: usize,
        stream: Stream,
        work: &Work<'_>,
    ) -> Result<Self, Stopped> {
        let of_path = |k: usize| {
            work.shown(replicates, self.rows)?;
            let noise = self.noise(stream.at(k as u64), replicates);
            let mut memory = Scratch::default();
            let after = |path: Option<Path<'a>>, row: &Vec<f64>| {
                Some(self.after_row(path.as_ref().unwrap_or(&self.list[k]), design, row, &mut memory))
            };
            Ok(noise.iter().fold(None, after).unwrap_or_else(|| self.list[k].clone()))
        };
        let list = ordered_map_indices(self.list.len(), of_path).into_iter().collect::<Result<_, _>>()?;
        Ok(Self { belief: self.belief, places: self.places.clone(), list, rows: self.rows + replicates })
    }

    /// One row of every path without an intervention, `[path][node]`.
    pub(super) fn observed(&self, stream: Stream) -> Vec<Vec<f64>> {
        ordered_map_indices(self.list.len(), |k| {
            let noise = self.noise(stream.at(k as u64), 1);
            let columns = self.row(&self.list[k], &[], &noise[0], &HashMap::new());
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

    /// ln p(values so far and in `noise.len()` rows of the design | family), `[family][design]`.
    fn terms_with(&self, path: &Path<'a>, designs: &[Intervention], noise: &[Vec<f64>]) -> Vec<f64> {
        let mut terms: Vec<f64> =
            path.terms.iter().flat_map(|term| std::iter::repeat_n(*term, designs.len())).collect();
        let (mut path, mut changed) = (Cow::Borrowed(path), Changed::new());
        for (replicate, row) in noise.iter().enumerate() {
            let columns = self.row(&path, designs, row, &changed);
            let more_follow = replicate + 1 < noise.len();
            self.add_terms(&mut path, designs, &columns, &mut changed, more_follow, &mut terms);
        }
        terms
    }

    /// One more row under every design, drawn from the path's graph.
    fn row(
        &self,
        path: &Path<'a>,
        designs: &[Intervention],
        noise: &[f64],
        changed: &Changed<'a>,
    ) -> Columns {
        let belief = self.belief;
        let (graph, count) = (&belief.graphs()[path.graph], designs.len() + 1);
        let mut columns: Columns = vec![vec![0.0; count]; noise.len()];
        let mut scratch = Scratch::default();
        for node in graph.topological_order() {
            let family = belief.family_of(path.graph)[node];
            let parents = &belief.families(node)[family as usize].parents;
            let place = self.places.of(node, family);
            let law = &path.laws[place];
            let mut column = std::mem::take(&mut columns[node]);
            let inputs: Vec<&[f64]> = parents.iter().map(|&parent| &columns[parent][..]).collect();
            law.draws(&inputs, &vec![law.noise(noise[node]); count], &mut scratch, &mut column);
            for (k, design) in designs.iter().enumerate() {
                if let Some(value) = design.value(node) {
                    column[k + 1] = value;
                } else if let Some(law) = changed.get(&(place, k)) {
                    let inputs: Vec<f64> = parents.iter().map(|&parent| columns[parent][k + 1]).collect();
                    column[k + 1] = law.draw(&inputs, law.noise(noise[node]));
                }
            }
            columns[node] = column;
        }
        columns
    }

    /// Adds the log-densities of a row under every design to `terms[family][design]`. Where more rows follow, the laws see
    /// this one: those of the path the row without intervention, and where a design makes a difference, a law of its own
    /// in `changed`.
    fn add_terms(
        &self,
        path: &mut Cow<'_, Path<'a>>,
        designs: &[Intervention],
        columns: &Columns,
        changed: &mut Changed<'a>,
        more_follow: bool,
        terms: &mut [f64],
    ) {
        let mut memory = Memory::default();
        let moved: Vec<Vec<bool>> =
            columns.iter().map(|column| column.iter().map(|value| *value != column[0]).collect()).collect();
        for node in 0..columns.len() {
            // A node whose parents are certain tells nothing about the graph, but its law learns.
            let certain = self.places.of_node(node).len() == 1;
            if certain && !more_follow {
                continue;
            }
            let open: Vec<usize> = (0..designs.len()).filter(|&k| designs[k].value(node).is_none()).collect();
            for (place, family) in self.places.of_node(node).zip(self.belief.families(node)) {
                let parents = &family.parents;
                let inputs =
                    |at: usize| -> Vec<f64> { parents.iter().map(|&parent| columns[parent][at]).collect() };
                let terms = &mut terms[place * designs.len()..][..designs.len()];
                let law = &path.laws[place];
                // The law of the path is asked about these places of the columns; the first is no intervention.
                memory.asked.clear();
                memory.asked.push(0);
                memory.alike.clear();
                for &k in &open {
                    let at = k + 1;
                    let own = if changed.is_empty() { None } else { changed.get_mut(&(place, k)) };
                    if let Some(law) = own {
                        terms[k] +=
                            if certain { 0.0 } else { law.log_predictive(columns[node][at], &inputs(at)) };
                        if more_follow {
                            *law = law.with_row(columns[node][at], &inputs(at));
                        }
                    } else if moved[node][at] || parents.iter().any(|&parent| moved[parent][at]) {
                        memory.asked.push(at);
                    } else {
                        memory.alike.push(k);
                    }
                }
                if !certain {
                    memory.densities_of(law, &columns[node], parents, columns);
                    memory.alike.iter().for_each(|&k| terms[k] += memory.densities[0]);
                    let asked = memory.asked.iter().zip(&memory.densities).skip(1);
                    asked.for_each(|(&at, density)| terms[at - 1] += density);
                }
                if more_follow {
                    for &at in &memory.asked[1..] {
                        changed.insert((place, at - 1), law.with_row(columns[node][at], &inputs(at)));
                    }
                    let after = law.with_row(columns[node][0], &inputs(0));
                    path.to_mut().laws[place] = after;
                }
            }
        }
    }

    /// The path after one more row of a design.
    fn after_row(
        &self,
        path: &Path<'a>,
        design: &Intervention,
        noise: &[f64],
        scratch: &mut Scratch,
    ) -> Path<'a> {
        let columns = self.row(path, std::slice::from_ref(design), noise, &HashMap::new());
        let mut after =
            Path { graph: path.graph, laws: Vec::with_capacity(path.laws.len()), terms: path.terms.clone() };
        for node in 0..noise.len() {
            let certain = self.places.of_node(node).len() == 1;
            for (place, family) in self.places.of_node(node).zip(self.belief.families(node)) {
                let law = &path.laws[place];
                if design.value(node).is_some() {
                    after.laws.push(law.clone());
                    continue;
                }
                let inputs: SmallVec<[f64; 8]> =
                    family.parents.iter().map(|&parent| columns[parent][1]).collect();
                let (density, law) = law.seeing(columns[node][1], &inputs, scratch);
                if !certain {
                    after.terms[place] += density;
                }
                after.laws.push(law);
            }
        }
        after
    }
}

impl Memory {
    /// The log-densities of the outcomes that are asked about.
    fn densities_of(&mut self, law: &Given<'_>, values: &[f64], parents: &[Node], columns: &Columns) {
        let Self { laws, asked, values: gathered, parents: inputs, densities, .. } = self;
        let gather = |column: &[f64], into: &mut Vec<f64>| {
            into.clear();
            into.extend(asked.iter().map(|&at| column[at]));
        };
        gather(values, gathered);
        inputs.resize(inputs.len().max(parents.len()), Vec::new());
        parents.iter().zip(inputs.iter_mut()).for_each(|(&parent, input)| gather(&columns[parent], input));
        let slices: Vec<&[f64]> = inputs[..parents.len()].iter().map(|input| &input[..]).collect();
        densities.clear();
        densities.resize(asked.len(), 0.0);
        law.add_log_predictives(gathered, &slices, laws, densities);
    }
}

/// Laws that differ from those of the path because a design has already changed a row: by (family, design).
type Changed<'a> = HashMap<(usize, usize), Given<'a>>;
