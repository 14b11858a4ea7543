//! A mechanism that is a Gaussian process with its hyperparameters held, given the data.
//!
//! Rows are seen through some of them, the centres: C = Q + diag(K - Q) + σ² I, Q = K_nm K_mm⁻¹ K_mn (Snelson & Ghahramani,
//! 2006), which is the process itself where the centres are all rows. New rows have their own covariance among
//! themselves, so that repeated ones share what is unknown of the function: given the data the function has the mean
//! k(x)·α and the covariance k(x, x') - k(x)ᵀ M k(x'), M = Bᵀ B, with k(x) the covariances with the centres.

use std::sync::Arc;

use faer::{Mat, MatMut, MatRef, Scale};
use smallvec::SmallVec;

use super::kernel::{Kernel, KernelScratch, add_scaled, dot};
use super::table::Table;
use super::warp::Warp;
use crate::num::matrix::{Cholesky, eigen, product, solve_lower_in_place};

/// Rows up to which all of them may be centres.
pub(crate) const MOST_CENTRES: usize = 300;

/// What may be left out of what the rows tell about the function, as shares of the noise's variance.
#[derive(Clone, Copy)]
pub(crate) struct Accuracy {
    /// Centres are added until they leave less than this unexplained at any row.
    pub centres: f64,
    /// Coordinates that explain less than this of a row on average are dropped.
    pub coordinates: f64,
}

impl Accuracy {
    /// Nothing is left out.
    #[cfg(test)]
    pub const EXACT: Self = Self { centres: 0.0, coordinates: 0.0 };

    /// A single parent has a table, so that more costs little.
    pub fn usual(parents: usize) -> Self {
        let (centres, coordinates) = if parents == 1 { (1e-4, 1e-5) } else { (1e-2, 1e-3) };
        Self { centres, coordinates }
    }
}

/// Of the function's own variance: what is below this is rounding.
const ROUNDING: f64 = 1e-10;

/// What is known about a mechanism: a Gaussian process given the data. Values come and go in the data's units.
#[derive(Clone, Debug)]
pub struct ProcessConditional {
    /// Mean and standard deviation of the value in the rows.
    unit: (f64, f64),
    /// The curve that the value follows beyond that.
    warp: Option<Warp>,
    /// Mean and standard deviation of every parent.
    parent_units: Vec<(f64, f64)>,
    /// All that follows is in these units.
    kernel: Kernel,
    /// `[parent][centre]`.
    centres: Vec<Vec<f64>>,
    /// α, [centres].
    solved: Vec<f64>,
    /// B, [coordinates, centres].
    root: Mat<f64>,
    misfit: f64,
    /// Mean and variance over the values of a single parent.
    table: Option<Table>,
}

/// Values of a node and of its parents, row by row, in units of their own.
pub(crate) struct Regression<'a> {
    /// [rows].
    pub values: &'a [f64],
    /// `[parent][row]`.
    pub parents: Vec<&'a [f64]>,
}

/// A row of the batch, in the units inside.
#[derive(Debug)]
pub(super) struct Seen {
    /// One after the other, for there are many of these: its values of the parents; B k(x), for every coordinate; its row of the
    /// factor of the covariance among the rows of the batch, earlier rows, then its own.
    numbers: Vec<f64>,
    parents: usize,
    coordinates: usize,
    /// How far it was from what was expected, in standard deviations.
    surprise: f64,
}

impl Seen {
    fn point(&self) -> &[f64] {
        &self.numbers[..self.parents]
    }

    fn image(&self) -> &[f64] {
        &self.numbers[self.parents..][..self.coordinates]
    }

    fn factor(&self) -> &[f64] {
        &self.numbers[self.parents + self.coordinates..]
    }

    /// The log-density of what was seen before it was known, in the units inside.
    pub fn log_density(&self) -> f64 {
        let sd = self.factor().last().expect("its own part");
        -0.5 * (std::f64::consts::TAU.ln() + self.surprise * self.surprise) - sd.ln()
    }
}

impl ProcessConditional {
    /// The process given rows. None if there are none, if nothing varies, or if numbers run out of digits.
    pub(crate) fn new(
        unit: (f64, f64),
        parent_units: Vec<(f64, f64)>,
        kernel: Kernel,
        rows: &Regression,
    ) -> Option<Self> {
        let accuracy = Accuracy::usual(rows.parents.len());
        Self::with_accuracy(unit, parent_units, kernel, rows, accuracy)
    }

    /// As [`ProcessConditional::new`], as accurate as asked for.
    pub(crate) fn with_accuracy(
        unit: (f64, f64),
        parent_units: Vec<(f64, f64)>,
        kernel: Kernel,
        rows: &Regression,
        accuracy: Accuracy,
    ) -> Option<Self> {
        let n = rows.values.len();
        let Centres { places, features, left } = Centres::new(&kernel, rows, accuracy.centres);
        let m = places.len();
        if m == 0 {
            return None;
        }
        // Everything is in terms of A = F Λ⁻¹ Fᵀ + I with Λ = diag(K - Q) + σ² I.
        let sd: Vec<f64> = left.iter().map(|left| (kernel.noise + left.max(0.0)).sqrt()).collect();
        let scaled = Mat::from_fn(m, n, |k, row| features[k][row] / sd[row]);
        let y = Mat::from_fn(n, 1, |row, _| rows.values[row] / sd[row]);
        let squares = times(scaled.as_ref(), scaled.transpose()) + Mat::<f64>::identity(m, m);
        let cross = times(scaled.as_ref(), y.as_ref());
        let cholesky = Cholesky::of(squares.as_ref())?;
        let mut explained = cross.clone();
        cholesky.solve_in_place(explained.col_as_slice_mut(0));
        let misfit =
            times(y.transpose(), y.as_ref())[(0, 0)] - times(cross.transpose(), explained.as_ref())[(0, 0)];
        // The columns of F at the centres are Lᵀ.
        let lower = Mat::from_fn(m, m, |i, j| if j <= i { features[j][places[i]] } else { 0.0 });
        let mut inverse = Mat::<f64>::identity(m, m);
        solve_lower_in_place(lower.as_ref(), inverse.as_mut());
        // M = L⁻ᵀ (I - A⁻¹) L⁻¹. Where next to nothing is known the difference is rounding, which must not make it negative.
        let learned = Mat::<f64>::identity(m, m) - cholesky.inverse();
        let positive =
            |least: f64| Cholesky::of((&learned + Mat::<f64>::identity(m, m) * Scale(least)).as_ref());
        let learned = [1e-14, 1e-11, 1e-8].into_iter().find_map(positive)?;
        let learned = learned.factor().transpose();
        // Of the coordinates of B k(x), turned to their principal axes at the rows, the last explain next to nothing.
        let at_rows = times(learned, Mat::from_fn(m, n, |k, row| features[k][row]).as_ref());
        let (explained_by, axes) = eigen(times(at_rows.as_ref(), at_rows.transpose()).as_ref())?;
        let least = accuracy.coordinates * kernel.noise * n as f64;
        let sums = explained_by.iter().scan(0.0, |sum, x| {
            *sum += x.max(0.0);
            Some(*sum)
        });
        let dropped = sums.take_while(|sum| *sum <= least).count().min(m - 1);
        let axes = axes.submatrix(0, dropped, m, m - dropped);
        let root = times(axes.transpose(), times(learned, inverse.as_ref()).as_ref());
        let solved = times(inverse.transpose(), explained.as_ref()).col_as_slice(0).to_vec();
        let centres = rows.parents.iter().map(|x| places.iter().map(|&row| x[row]).collect()).collect();
        let misfit = misfit / n as f64;
        if !(misfit.is_finite() && solved.iter().all(|x| x.is_finite())) {
            return None;
        }
        let (warp, table) = (None, None);
        let mut process = Self { unit, warp, parent_units, kernel, centres, solved, root, misfit, table };
        process.table = Table::of(&process, rows);
        Some(process)
    }

    /// The same for a value that follows a curve: the rows were given along it.
    pub(crate) fn along(self, warp: Option<Warp>) -> Self {
        Self { warp, ..self }
    }

    /// Number of parents.
    pub fn parents(&self) -> usize {
        self.centres.len()
    }

    #[cfg(test)]
    pub(crate) fn centres(&self) -> usize {
        self.solved.len()
    }

    #[cfg(test)]
    pub(super) fn centre(&self, place: usize) -> impl Iterator<Item = f64> {
        self.centres.iter().map(move |column| column[place])
    }

    #[cfg(test)]
    pub(super) fn without_table(self) -> Self {
        Self { table: None, ..self }
    }

    /// yᵀC⁻¹y/n: 1 on average where the hyperparameters are right.
    pub(crate) fn misfit(&self) -> f64 {
        self.misfit
    }

    /// The hyperparameters.
    pub(super) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Mean and standard deviation of the value, and of every parent.
    pub(super) fn units(&self) -> ((f64, f64), &[(f64, f64)]) {
        (self.unit, &self.parent_units)
    }

    /// The curve that the value follows.
    pub(super) fn warp(&self) -> Option<Warp> {
        self.warp
    }

    /// A value in units inside, and the logarithm of how fast that grows along the curve.
    pub(super) fn inside(&self, value: f64) -> (f64, f64) {
        let u = (value - self.unit.0) / self.unit.1;
        self.warp.map_or((u, 0.0), |warp| (warp.inside(u), warp.log_slope(u)))
    }

    /// A value of the data from one in units inside.
    pub(super) fn outside(&self, z: f64) -> f64 {
        self.unit.0 + self.unit.1 * self.warp.map_or(z, |warp| warp.outside(z))
    }

    /// Mean and variance of every outcome, in units inside, into `mean` and `variance`; `points` hold a column for every
    /// parent, in units inside too.
    pub(super) fn predict(
        &self,
        points: &[&[f64]],
        seen: &[Arc<Seen>],
        mean: &mut [f64],
        variance: &mut [f64],
        scratch: &mut ProcessScratch,
    ) {
        let block = (CACHE / self.solved.len()).clamp(8, 256);
        for start in (0..mean.len()).step_by(block) {
            let rows = start..(start + block).min(mean.len());
            let points: Columns = points.iter().map(|x| &x[rows.clone()]).collect();
            self.predict_block(&points, seen, &mut mean[rows.clone()], &mut variance[rows], scratch);
        }
    }

    fn predict_block(
        &self,
        points: &[&[f64]],
        seen: &[Arc<Seen>],
        mean: &mut [f64],
        variance: &mut [f64],
        scratch: &mut ProcessScratch,
    ) {
        let ProcessScratch { near, image, shared, kernel } = scratch;
        let (m, count) = (self.solved.len(), mean.len());
        let rank = self.root.nrows();
        let known = self.table.as_ref().is_some_and(|table| table.read(points[0], mean, variance));
        if !known || !seen.is_empty() {
            near.resize(m * count, 0.0);
            self.kernel.between(points, &self.centre_columns(), near, kernel);
            image.resize(rank * count, 0.0);
            let near = MatRef::from_column_major_slice(near, m, count);
            product(MatMut::from_column_major_slice_mut(image, rank, count), self.root.as_ref(), near);
        }
        if !known {
            for (k, (near, image)) in near.chunks_exact(m).zip(image.chunks_exact(rank)).enumerate() {
                // What the table knows stays: a prediction does not depend on the other outcomes.
                if self.table.as_ref().is_some_and(|table| table.covers(points[0][k])) {
                    continue;
                }
                mean[k] = dot(near, &self.solved);
                let own = self.kernel.own(points.iter().map(|x| x[k]));
                variance[k] = self.kernel.noise + (own - dot(image, image)).max(0.0);
            }
        }
        shared.resize(seen.len(), Vec::new());
        for (r, row) in seen.iter().enumerate() {
            let (earlier, rest) = shared.split_at_mut(r);
            let shared = &mut rest[0];
            shared.resize(count, 0.0);
            let point: Columns = row.point().iter().map(std::slice::from_ref).collect();
            self.kernel.between(points, &point, shared, kernel);
            for (shared, image) in shared.iter_mut().zip(image.chunks_exact(rank)) {
                *shared -= dot(image, row.image());
            }
            for (earlier, factor) in earlier.iter().zip(row.factor()) {
                add_scaled(shared, -factor, earlier);
            }
            for ((shared, mean), variance) in shared.iter_mut().zip(&mut *mean).zip(&mut *variance) {
                *shared /= row.factor()[r];
                *mean += *shared * row.surprise;
                *variance = (*variance - *shared * *shared).max(self.kernel.noise);
            }
        }
    }

    fn centre_columns(&self) -> Columns<'_> {
        self.centres.iter().map(|column| &column[..]).collect()
    }

    /// What a row tells that comes after `seen`, all in units inside.
    pub(super) fn see(
        &self,
        value: f64,
        point: &[f64],
        seen: &[Arc<Seen>],
        scratch: &mut ProcessScratch,
    ) -> Seen {
        let columns: Columns = point.iter().map(std::slice::from_ref).collect();
        let (mut mean, mut variance) = ([0.0], [0.0]);
        self.predict_block(&columns, seen, &mut mean, &mut variance, scratch);
        let ProcessScratch { near, image, shared, kernel } = scratch;
        let (m, rank) = (self.solved.len(), self.root.nrows());
        if seen.is_empty() && self.table.is_some() {
            // The prediction may have been read off.
            near.resize(m, 0.0);
            self.kernel.between(&columns, &self.centre_columns(), near, kernel);
            image.resize(rank, 0.0);
            let near = MatRef::from_column_major_slice(near, m, 1);
            product(MatMut::from_column_major_slice_mut(image, rank, 1), self.root.as_ref(), near);
        }
        let sd = variance[0].sqrt();
        let mut numbers = Vec::with_capacity(point.len() + rank + seen.len() + 1);
        numbers.extend_from_slice(point);
        numbers.extend_from_slice(image);
        numbers.extend(shared.iter().map(|shared| shared[0]).chain([sd]));
        Seen { numbers, parents: point.len(), coordinates: rank, surprise: (value - mean[0]) / sd }
    }
}

/// A column for every parent.
type Columns<'c> = SmallVec<[&'c [f64]; 8]>;

fn times(a: MatRef<f64>, b: MatRef<f64>) -> Mat<f64> {
    let mut out = Mat::<f64>::zeros(a.nrows(), b.ncols());
    product(out.as_mut(), a, b);
    out
}

/// Memory of predictions.
#[derive(Default)]
pub(super) struct ProcessScratch {
    /// Covariances with the centres, [centres, outcomes].
    near: Vec<f64>,
    /// B times these.
    image: Vec<f64>,
    /// What outcomes share with the rows of the batch, `[row][outcome]`.
    shared: Vec<Vec<f64>>,
    kernel: KernelScratch,
}

/// Covariances that are worked on at a time.
const CACHE: usize = 8192;

/// The rows through which all can be seen: what they leave unexplained at any row is below `accuracy` of the noise's
/// variance, or there are as many as are allowed.
pub(crate) fn pivots(kernel: &Kernel, rows: &Regression, accuracy: f64) -> Vec<usize> {
    Centres::new(kernel, rows, accuracy).places
}

/// The rows that stand for all.
struct Centres {
    /// Which they are.
    places: Vec<usize>,
    /// F = L⁻¹ K_mn, L Lᵀ = K_mm, `[centre][row]`, so that Q = FᵀF.
    features: Vec<Vec<f64>>,
    /// diag(K - Q).
    left: Vec<f64>,
}

impl Centres {
    /// One after the other the row that is least explained by those before it: Cholesky's factorisation with pivots.
    fn new(kernel: &Kernel, rows: &Regression, accuracy: f64) -> Self {
        let n = rows.values.len();
        let mut left: Vec<f64> = (0..n).map(|row| kernel.own(rows.parents.iter().map(|x| x[row]))).collect();
        let largest = left.iter().copied().fold(0.0, f64::max);
        let least = (accuracy * kernel.noise).max(ROUNDING * largest);
        let (mut places, mut features) = (Vec::new(), Vec::<Vec<f64>>::new());
        let mut scratch = KernelScratch::default();
        while places.len() < MOST_CENTRES.min(n) {
            let place = (0..n).fold(0, |best, row| if left[row] > left[best] { row } else { best });
            let enough = left[place] <= least && !places.is_empty();
            if enough || left[place] <= 0.0 {
                break;
            }
            let mut feature = vec![0.0; n];
            let point: Vec<&[f64]> = rows.parents.iter().map(|x| std::slice::from_ref(&x[place])).collect();
            kernel.between(&point, &rows.parents, &mut feature, &mut scratch);
            for earlier in &features {
                add_scaled(&mut feature, -earlier[place], earlier);
            }
            let root = left[place].sqrt();
            feature.iter_mut().for_each(|x| *x /= root);
            feature[place] = root;
            left.iter_mut().zip(&feature).for_each(|(left, x)| *left -= x * x);
            left[place] = 0.0;
            places.push(place);
            features.push(feature);
        }
        Self { places, features, left }
    }
}
