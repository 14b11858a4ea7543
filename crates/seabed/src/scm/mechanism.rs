//! Mechanisms: the mean of a variable as a function of its parents, evaluated for many samples at once.
//!
//! A mechanism knows its parents only by their order (ascending by node); which nodes they are, the noise and
//! the graph belong to the [model](super::Scm).

use multiversion::multiversion;
use smallvec::SmallVec;

use super::Waves;

/// The mean of a variable given its parents.
#[derive(Clone, PartialEq, Debug)]
pub enum Mechanism {
    /// A weighted sum of the parents.
    Linear(Linear),
    /// A network with one hidden layer of rectified linear units.
    Mlp(Mlp),
    /// A linear part and cosines: a draw from a Gaussian process.
    Waves(Waves),
}

/// mean = intercept + Σ_k weights\[k\] x_k.
#[derive(Clone, PartialEq, Debug)]
pub struct Linear {
    /// One weight per parent, in ascending order of the parents.
    pub weights: Vec<f64>,
    /// The mean at zero.
    pub intercept: f64,
}

/// mean = b2 + Σ_h w2\[h\] max(0, b1\[h\] + Σ_k w1\[k\]\[h\] x_k).
#[derive(Clone, PartialEq, Debug)]
pub struct Mlp {
    /// Shape [parents, hidden], row after row: the weights of the first parent to all hidden units come first.
    pub w1: Vec<f64>,
    /// Biases of the hidden units, one each.
    pub b1: Vec<f64>,
    /// Weights of the hidden units, one each.
    pub w2: Vec<f64>,
    /// The mean when no hidden unit is active.
    pub b2: f64,
}

impl Mechanism {
    /// Do the shapes fit this number of parents?
    pub(super) fn fits(&self, parents: usize) -> bool {
        match self {
            Self::Linear(linear) => linear.weights.len() == parents,
            Self::Mlp(mlp) => mlp.w2.len() == mlp.b1.len() && mlp.w1.len() == parents * mlp.b1.len(),
            Self::Waves(waves) => waves.fits(parents),
        }
    }

    /// All numbers of the mechanism in a fixed order: linear: weights, intercept; MLP: w1, b1, w2, b2; waves:
    /// weights, frequencies, phases, amplitudes, intercept.
    pub fn parameters(&self) -> impl Iterator<Item = f64> + '_ {
        let (lists, last): ([&[f64]; 4], f64) = match self {
            Self::Linear(linear) => ([&linear.weights, &[], &[], &[]], linear.intercept),
            Self::Mlp(mlp) => ([&mlp.w1, &mlp.b1, &mlp.w2, &[]], mlp.b2),
            Self::Waves(waves) => {
                ([&waves.weights, &waves.frequencies, &waves.phases, &waves.amplitudes], waves.intercept)
            }
        };
        lists.into_iter().flatten().copied().chain([last])
    }

    /// The means of `out.len()` samples; `parents[k]` holds the k-th parent's values.
    pub(crate) fn means(&self, parents: &[&[f64]], out: &mut [f64]) {
        match self {
            Self::Linear(linear) => {
                out.fill(linear.intercept);
                for (x, &w) in parents.iter().zip(&linear.weights) {
                    add_scaled(out, x, w);
                }
            }
            // Without parents the network is a constant.
            Self::Mlp(mlp) if parents.is_empty() => out.fill(lanes(mlp, 0, |_| &[0.0; LANES])[0]),
            Self::Mlp(mlp) => network(mlp, parents, out),
            Self::Waves(waves) => waves.means(parents, out),
        }
    }

    /// The same mechanism with its parents in another order: the k-th parent becomes the one that was `from[k]`.
    pub(super) fn with_parents(&self, from: &[usize]) -> Self {
        match self {
            Self::Linear(linear) => {
                let weights = from.iter().map(|&k| linear.weights[k]).collect();
                Self::Linear(Linear { weights, intercept: linear.intercept })
            }
            Self::Mlp(mlp) => {
                let row = |k: usize| &mlp.w1[k * mlp.b1.len()..(k + 1) * mlp.b1.len()];
                let w1 = from.iter().flat_map(|&k| row(k)).copied().collect();
                Self::Mlp(Mlp { w1, ..mlp.clone() })
            }
            Self::Waves(waves) => Self::Waves(waves.with_parents(from)),
        }
    }

    /// The mechanism between variables in other units, x' = (x - mean) / scale, for the variable itself and,
    /// in order, for its parents.
    pub(crate) fn rescaled(&self, own: (f64, f64), parents: &[(f64, f64)]) -> Self {
        let (own_mean, own_scale) = own;
        match self {
            Self::Linear(linear) => {
                let shift: f64 = linear.weights.iter().zip(parents).map(|(w, (mean, _))| w * mean).sum();
                let weights = linear.weights.iter().zip(parents).map(|(w, (_, scale))| w * scale / own_scale);
                let intercept = (linear.intercept + shift - own_mean) / own_scale;
                Self::Linear(Linear { weights: weights.collect(), intercept })
            }
            Self::Mlp(mlp) => {
                let hidden = mlp.b1.len();
                let (mut w1, mut b1) = (mlp.w1.clone(), mlp.b1.clone());
                for (k, (mean, scale)) in parents.iter().enumerate() {
                    for h in 0..hidden {
                        b1[h] += w1[k * hidden + h] * mean;
                        w1[k * hidden + h] *= scale;
                    }
                }
                let w2 = mlp.w2.iter().map(|w| w / own_scale).collect();
                Self::Mlp(Mlp { w1, b1, w2, b2: (mlp.b2 - own_mean) / own_scale })
            }
            Self::Waves(waves) => Self::Waves(waves.rescaled(own, parents)),
        }
    }
}

/// out += weight * x.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn add_scaled(out: &mut [f64], x: &[f64], weight: f64) {
    for (y, x) in out.iter_mut().zip(x) {
        *y += weight * x;
    }
}

/// Samples that go through the network side by side: a few vectors of the widest kind.
const LANES: usize = 16;

/// The network for all samples; hidden units never leave the registers.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn network(mlp: &Mlp, parents: &[&[f64]], out: &mut [f64]) {
    let samples = out.len();
    if samples < LANES {
        let padded: SmallVec<[[f64; LANES]; 8]> = parents
            .iter()
            .map(|x| {
                let mut lanes = [0.0; LANES];
                lanes[..samples].copy_from_slice(&x[..samples]);
                lanes
            })
            .collect();
        let means = lanes(mlp, parents.len(), |k| &padded[k]);
        out.copy_from_slice(&means[..samples]);
        return;
    }
    // The last samples are done together with some before them, whose results are the same again.
    let starts = (0..samples / LANES).map(|k| k * LANES).chain([samples - LANES]);
    for start in starts {
        let part = |k: usize| parents[k][start..start + LANES].first_chunk().expect("as many as lanes");
        let means = lanes(mlp, parents.len(), part);
        out[start..start + LANES].copy_from_slice(&means);
    }
}

#[inline(always)]
fn lanes<'a>(mlp: &Mlp, parents: usize, parent: impl Fn(usize) -> &'a [f64; LANES]) -> [f64; LANES] {
    let hidden = mlp.b1.len();
    let mut means = [mlp.b2; LANES];
    for h in 0..hidden {
        let mut unit = [mlp.b1[h]; LANES];
        for k in 0..parents {
            let (x, weight) = (parent(k), mlp.w1[k * hidden + h]);
            for lane in 0..LANES {
                unit[lane] += weight * x[lane];
            }
        }
        for lane in 0..LANES {
            let active = if unit[lane] > 0.0 { unit[lane] } else { 0.0 };
            means[lane] += mlp.w2[h] * active;
        }
    }
    means
}
