//! A mechanism given the data and the rows of a batch so far: density and draws of one more row's value.
//!
//! Rows of a batch share the mechanism, so each is predicted given those before it; in which order they come makes no
//! difference to their joint density. Rows in which the node is a target are not shown to it. Noise is the caller's: the
//! same noise under another design gives outcomes that can be compared.

use std::borrow::Cow;
use std::sync::Arc;

use smallvec::SmallVec;

use super::linear::LinearConditional;
use super::process::{ProcessConditional, ProcessScratch, Seen};
use super::student;
use crate::num::elementwise::ln_in_place;

/// The law of a node's value given the values of its parents, the data taken into account and parameters integrated out.
#[derive(Clone, Debug)]
pub enum Conditional {
    /// A weighted sum with noise of unknown size.
    Linear(LinearConditional),
    /// A Gaussian process with its hyperparameters held.
    Process(Box<ProcessConditional>),
}

impl Conditional {
    /// Number of parents.
    pub fn parents(&self) -> usize {
        match self {
            Self::Linear(linear) => linear.parents(),
            Self::Process(process) => process.parents(),
        }
    }

    /// Do the parts fit together? A process is checked when it is made.
    pub(super) fn is_valid(&self) -> bool {
        match self {
            Self::Linear(linear) => linear.is_valid(),
            Self::Process(_) => true,
        }
    }

    /// The law before any row of a batch.
    pub fn given(&self) -> Given<'_> {
        Given(match self {
            Self::Linear(linear) => Inner::Linear(Cow::Borrowed(linear)),
            Self::Process(process) => Inner::Process { process, seen: Vec::new() },
        })
    }
}

/// A [`Conditional`] after some rows of a batch. Parents' values come in the order of [`Family::parents`](super::Family).
#[derive(Clone, Debug)]
pub struct Given<'a>(Inner<'a>);

#[derive(Clone, Debug)]
enum Inner<'a> {
    Linear(Cow<'a, LinearConditional>),
    Process { process: &'a ProcessConditional, seen: Vec<Arc<Seen>> },
}

/// Memory for predictions of many outcomes; one serves any number of calls.
#[derive(Default)]
pub struct Scratch {
    /// In the units inside a process, `[parent][outcome]`.
    points: Vec<Vec<f64>>,
    mean: Vec<f64>,
    spread: Vec<f64>,
    process: ProcessScratch,
}

impl<'a> Given<'a> {
    /// The same after one more row of the batch.
    #[must_use]
    pub fn with_row(&self, value: f64, parents: &[f64]) -> Given<'a> {
        self.seeing(value, parents, &mut Scratch::default()).1
    }

    /// The log-density of one more row's value given its parents' values.
    pub fn log_predictive(&self, value: f64, parents: &[f64]) -> f64 {
        self.log_predictive_in(value, parents, &mut Scratch::default())
    }

    fn log_predictive_in(&self, value: f64, parents: &[f64], scratch: &mut Scratch) -> f64 {
        let mut out = [0.0];
        let columns: SmallVec<[&[f64]; 8]> = parents.iter().map(std::slice::from_ref).collect();
        self.add_log_predictives(&[value], &columns, scratch, &mut out);
        out[0]
    }

    /// [`Given::log_predictive`] and [`Given::with_row`] at once.
    pub fn seeing(&self, value: f64, parents: &[f64], scratch: &mut Scratch) -> (f64, Given<'a>) {
        match &self.0 {
            Inner::Linear(linear) => {
                let density = self.log_predictive_in(value, parents, scratch);
                (density, Given(Inner::Linear(Cow::Owned(linear.with_row(value, parents)))))
            }
            Inner::Process { process, seen } => {
                let point: SmallVec<[f64; 8]> =
                    parents.iter().zip(process.units().1).map(|(x, unit)| inside(*x, *unit)).collect();
                let (z, log_slope) = process.inside(value);
                let row = process.see(z, &point, seen, &mut scratch.process);
                let density = row.log_density() + log_slope - process.units().0.1.ln();
                let seen = seen.iter().cloned().chain([Arc::new(row)]).collect();
                (density, Given(Inner::Process { process, seen }))
            }
        }
    }

    /// Adds to `out` the log-density of every value given its parents' values, `parents[parent][outcome]`: each as if it
    /// were the one next row.
    pub fn add_log_predictives(
        &self,
        values: &[f64],
        parents: &[&[f64]],
        scratch: &mut Scratch,
        out: &mut [f64],
    ) {
        self.moments(values.len(), parents, scratch);
        let Scratch { mean, spread, .. } = scratch;
        match &self.0 {
            Inner::Linear(linear) => linear.add_log_densities(values, mean, spread, out),
            Inner::Process { process, .. } => {
                let constant = -0.5 * std::f64::consts::TAU.ln() - process.units().0.1.ln();
                for (((mean, value), spread), out) in mean.iter_mut().zip(values).zip(&*spread).zip(&mut *out)
                {
                    let (z, log_slope) = process.inside(*value);
                    let off = z - *mean;
                    *mean = off * off / spread;
                    *out += log_slope;
                }
                ln_in_place(spread);
                for ((out, square), ln) in out.iter_mut().zip(mean).zip(spread) {
                    *out += constant - 0.5 * (*square + *ln);
                }
            }
        }
    }

    /// The noise of the next row that stands as far out as a standard normal number does: increasing in it, and of the
    /// law that [`Given::draw`] takes, whatever the parents' values.
    pub fn noise(&self, normal: f64) -> f64 {
        match &self.0 {
            Inner::Linear(linear) => student::from_normal(normal, linear.degrees),
            Inner::Process { .. } => normal,
        }
    }

    /// The next row's value given its parents' values, drawn by [`Given::noise`].
    pub fn draw(&self, parents: &[f64], noise: f64) -> f64 {
        let mut out = [0.0];
        let columns: Vec<&[f64]> = parents.iter().map(std::slice::from_ref).collect();
        self.draws(&columns, &[noise], &mut Scratch::default(), &mut out);
        out[0]
    }

    /// The next row's value for each of many outcomes, `parents[parent][outcome]`, one number of noise each.
    pub fn draws(&self, parents: &[&[f64]], noise: &[f64], scratch: &mut Scratch, out: &mut [f64]) {
        self.moments(noise.len(), parents, scratch);
        let moments = scratch.mean.iter().zip(&scratch.spread);
        for ((out, noise), (mean, spread)) in out.iter_mut().zip(noise).zip(moments) {
            *out = match &self.0 {
                Inner::Linear(linear) => mean + (spread / linear.degrees).sqrt() * noise,
                Inner::Process { process, .. } => process.outside(mean + spread.sqrt() * noise),
            };
        }
    }

    /// Means and squared spreads into the scratch; those of a process in its units.
    fn moments(&self, count: usize, parents: &[&[f64]], scratch: &mut Scratch) {
        let Scratch { points, mean, spread, process: inner } = scratch;
        mean.resize(count, 0.0);
        spread.resize(count, 0.0);
        match &self.0 {
            Inner::Linear(linear) => linear.moments(parents, mean, spread),
            Inner::Process { process, seen } => {
                points.resize(points.len().max(parents.len()), Vec::new());
                for ((point, x), unit) in points.iter_mut().zip(parents).zip(process.units().1) {
                    point.clear();
                    point.extend(x[..count].iter().map(|x| inside(*x, *unit)));
                }
                let points: SmallVec<[&[f64]; 8]> =
                    points[..parents.len()].iter().map(|column| &column[..]).collect();
                process.predict(&points, seen, mean, spread, inner);
            }
        }
    }
}

/// A value in units of a mean and a standard deviation.
fn inside(x: f64, (mean, sd): (f64, f64)) -> f64 {
    (x - mean) / sd
}
