//! The total effect of one variable on another: how much the mean of the one changes when the other is set higher.
//!
//! In a linear model that is a sum over paths, the same wherever the variable is set. In other models the mean at every
//! value is an average over simulated noise, the same noise at all values, and the effect is the slope from one end of a
//! span to the other; the curve between them is given too.

use serde::Serialize;

use super::quantile::interval;
use super::span::Span;
use crate::graph::Node;
use crate::num::parallel::ordered_map_indices;
use crate::num::random::{Purpose, Seed, Stream};
use crate::num::sum_in_order;
use crate::observer::{Observer, Stopped, report};
use crate::scm::{Ensemble, Intervention, Mechanism, Scm};

/// How effects are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effects {
    /// Simulated rows of every draw, for models that are not linear.
    pub samples: usize,
    /// Points of a curve, the two ends of the span among them.
    pub points: usize,
}

impl Default for Effects {
    fn default() -> Self {
        Self { samples: 64, points: 9 }
    }
}

/// The total effect of setting one variable on another, averaged over graphs and parameters.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Effect {
    /// The variable that is set.
    pub from: Node,
    /// The variable that is looked at.
    pub to: Node,
    /// Change of the mean of `to` per unit of `from`, from one end of the span to the other.
    pub mean: f64,
    /// 90 % of the belief lies in it: from its 5 % to its 95 % point.
    pub interval: [f64; 2],
    /// Probability that there is an effect at all: a directed path.
    pub not_zero: f64,
    /// Probability that `to` increases.
    pub positive: f64,
    /// Probability that `to` decreases.
    pub negative: f64,
    /// The values of `from` between which it was computed.
    pub span: Span,
    /// The mean of `to` at values of `from`, if any model is not linear; else it is a straight line.
    pub curve: Option<Vec<CurvePoint>>,
}

impl Effect {
    /// Are all its numbers finite? They are unless the models reach values that no number can hold.
    pub fn is_finite(&self) -> bool {
        let [low, high] = self.interval;
        let mut numbers = vec![self.mean, low, high, self.span.low, self.span.high];
        for point in self.curve.iter().flatten() {
            numbers.extend([point.value, point.mean, point.interval[0], point.interval[1]]);
        }
        numbers.iter().all(|x| x.is_finite())
    }
}

/// A point of a curve.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CurvePoint {
    /// To what `from` is set.
    pub value: f64,
    /// The mean of `to` then, averaged over graphs and parameters.
    pub mean: f64,
    /// 90 % of the belief about that mean lies in it.
    pub interval: [f64; 2],
}

/// What one draw says about one source: `[to][point]`, the mean of every variable at every value.
type Means = Vec<Vec<f64>>;

/// Sorts effects, the most probable first; of equally probable ones the largest.
pub fn most_probable_first(effects: &mut [Effect]) {
    effects.sort_by(|a, b| b.not_zero.total_cmp(&a.not_zero).then(b.mean.abs().total_cmp(&a.mean.abs())));
}

impl Effects {
    /// The effects that are more probable than not, the most probable first: what a summary of a belief lists. `spans` has one
    /// for every variable.
    pub fn probable(
        models: &Ensemble,
        spans: &[Span],
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Vec<Effect>, Stopped> {
        // Slopes need no more than the two ends, and a summary must be there soon.
        let quick = Self { samples: 32, points: 2 };
        let sources: Vec<Node> = (0..models.names().len()).collect();
        let mut effects = quick.of(models, &sources, spans, seed, observer)?;
        effects.retain(|effect| effect.not_zero >= 0.5 && effect.is_finite());
        most_probable_first(&mut effects);
        Ok(effects)
    }

    /// The effects of every one of `sources` on all other variables, in this order; `spans` has one for every variable.
    pub fn of(
        &self,
        models: &Ensemble,
        sources: &[Node],
        spans: &[Span],
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<Vec<Effect>, Stopped> {
        let draws = models.draws();
        let linear = draws.iter().all(is_linear);
        let stream = seed.stream(Purpose::Effects);
        let bases: Vec<Option<Vec<Vec<f64>>>> = ordered_map_indices(draws.len(), |k| {
            let of_draw = stream.at(k as u64);
            (!is_linear(&draws[k])).then(|| draws[k].sample(self.samples, &Intervention::none(), of_draw))
        });
        let mut effects = Vec::new();
        for (done, &from) in sources.iter().enumerate() {
            report(
                observer,
                done as u64,
                sources.len() as u64,
                format_args!("variables whose effects are known"),
            )?;
            let values = spans[from].points(if linear { 2 } else { self.points });
            let means: Vec<Means> = ordered_map_indices(draws.len(), |k| match &bases[k] {
                None => line(&draws[k], from, &values),
                Some(base) => simulated(&draws[k], from, &values, base, stream.at(k as u64)),
            });
            let others = (0..models.names().len()).filter(|&to| to != from);
            effects.extend(others.map(|to| summary(models, from, to, spans[from], &values, &means, linear)));
        }
        Ok(effects)
    }
}

fn is_linear(model: &Scm) -> bool {
    (0..model.names().len()).all(|node| matches!(model.mechanism(node), Mechanism::Linear(_)))
}

/// The means of a linear model: expectations go through it as values do.
fn line(model: &Scm, from: Node, values: &[f64]) -> Means {
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); model.names().len()];
    for node in model.dag().topological_order() {
        let mut column = values.to_vec();
        if node != from {
            model.means(node, &columns, &mut column);
        }
        columns[node] = column;
    }
    columns
}

/// The means of any model, over the noise of `base`: `[variables][samples]` without an intervention.
fn simulated(model: &Scm, from: Node, values: &[f64], base: &[Vec<f64>], stream: Stream) -> Means {
    let samples = base[from].len();
    let reached = model.dag().descendants(from);
    let mut columns: Vec<Option<Vec<f64>>> = vec![None; model.names().len()];
    columns[from] = Some(values.iter().flat_map(|&value| vec![value; samples]).collect());
    let mut noise = vec![0.0; samples];
    for node in
        model.dag().topological_order().into_iter().filter(|&node| node != from && reached.contains(node))
    {
        let parents: Vec<Vec<f64>> = model
            .dag()
            .parents(node)
            .iter()
            // Variables that are not reached do not know what is set.
            .map(|parent| columns[parent].clone().unwrap_or_else(|| base[parent].repeat(values.len())))
            .collect();
        let mut column = vec![0.0; samples * values.len()];
        model.means_of(node, parents.iter().map(|column| &column[..]), &mut column);
        stream.named(&model.names()[node]).fill_normal(&mut noise);
        for row in column.chunks_mut(samples) {
            row.iter_mut().zip(&noise).for_each(|(x, z)| *x += model.noise_sd()[node] * z);
        }
        columns[node] = Some(column);
    }
    let mean = |rows: &[f64]| sum_in_order(rows) / samples as f64;
    let of = |(column, base): (Option<Vec<f64>>, &Vec<f64>)| match column {
        Some(column) => column.chunks(samples).map(mean).collect(),
        None => vec![mean(base); values.len()],
    };
    columns.into_iter().zip(base).map(of).collect()
}

fn summary(
    models: &Ensemble,
    from: Node,
    to: Node,
    span: Span,
    values: &[f64],
    means: &[Means],
    linear: bool,
) -> Effect {
    let weights = models.weights();
    let slope = |means: &Means| {
        let curve = &means[to];
        (curve[curve.len() - 1] - curve[0]) / (span.high - span.low)
    };
    let slopes: Vec<f64> = means.iter().map(slope).collect();
    let path = |k: usize| models.draws()[k].dag().descendants(from).contains(to);
    let share = |holds: &dyn Fn(usize) -> bool| -> f64 {
        let parts: Vec<f64> = (0..weights.len()).filter(|&k| holds(k)).map(|k| weights[k]).collect();
        // Sums of weights may end a little beside 1.
        (sum_in_order(&parts) * 1e12).round() / 1e12
    };
    let curve = || {
        let point = |(k, &value): (usize, &f64)| {
            let at: Vec<f64> = means.iter().map(|means| means[to][k]).collect();
            CurvePoint { value, mean: models.mean(&at), interval: interval(&at, weights) }
        };
        values.iter().enumerate().map(point).collect()
    };
    Effect {
        from,
        to,
        mean: models.mean(&slopes),
        interval: interval(&slopes, weights),
        not_zero: share(&path),
        positive: share(&|k| slopes[k] > 0.0),
        negative: share(&|k| slopes[k] < 0.0),
        span,
        curve: (!linear).then(curve),
    }
}
