//! Sufficient statistics: second moments of the variables over the rows in which a node was not a target.
//!
//! One matrix of all rows is made, once. A node's own moments are that matrix less the rows in which the node was
//! a target: subtracted on the fly where they are few, kept as a matrix of their own, shared by all nodes with the
//! same rows, where they are many. No score ever passes over the data.

use faer::Mat;

use crate::data::Dataset;
use crate::graph::Node;
use crate::num::matrix::product;

/// Up to this many rows are subtracted when they are needed; a matrix costs memory for every node.
const FEW_ROWS: usize = 8;

/// Centred second moments Σ_r w_r (x_ra - m_a)(x_rb - m_b), for every node over its own rows.
pub struct Moments {
    variables: usize,
    /// Total weight of all rows.
    rows: f64,
    /// Second moments of all rows about `origin`, [variables, variables].
    all: Vec<f64>,
    /// The mean of every variable over all rows; only there so that sums stay small.
    origin: Vec<f64>,
    /// `mask_of[v]`: which rows belong to node v.
    mask_of: Vec<usize>,
    masks: Vec<Mask>,
}

/// The rows in which none of a group of nodes was a target.
struct Mask {
    /// Weight of the rows.
    rows: f64,
    /// Sums of the variables over the rows, about the origin.
    sums: Vec<f64>,
    /// Σ w (x - m)² of every variable over the rows.
    squares: Vec<f64>,
    others: Others,
}

/// The rows that do not belong to a mask, and how their moments are taken away.
enum Others {
    /// The rows themselves, each times the root of its weight, [rows, variables].
    Few(Vec<f64>),
    /// The moments of the mask, centred, [variables, variables].
    Subtracted(Vec<f64>),
}

impl Moments {
    /// The moments of a data set in which row r counts `weights[r]` times.
    pub fn new(data: &Dataset, weights: &[f64]) -> Self {
        let variables = data.variables();
        let used: Vec<usize> = (0..data.rows()).filter(|&row| weights[row] > 0.0).collect();
        let rows: f64 = used.iter().map(|&row| weights[row]).sum();
        let mean = |column: &Vec<f64>| used.iter().map(|&row| weights[row] * column[row]).sum::<f64>() / rows;
        let origin: Vec<f64> = data.columns().iter().map(mean).collect();
        // Rows times the root of their weight, column after column.
        let centred = Mat::from_fn(used.len(), variables, |k, a| {
            (data.column(a)[used[k]] - origin[a]) * weights[used[k]].sqrt()
        });
        let mut all = vec![0.0; variables * variables];
        product(
            faer::MatMut::from_column_major_slice_mut(&mut all, variables, variables),
            centred.transpose(),
            centred.as_ref(),
        );
        let total: Vec<f64> = (0..variables).map(|a| weighted_sum(&used, weights, &centred, a)).collect();
        let mut moments = Self { variables, rows, all, origin, mask_of: Vec::new(), masks: Vec::new() };
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for node in 0..variables {
            let regimes: Vec<u32> = (0..data.regimes().len() as u32)
                .filter(|&k| data.regimes()[k as usize].contains(node))
                .collect();
            let known = groups.iter().position(|group| *group == regimes);
            moments.mask_of.push(known.unwrap_or(groups.len()));
            if known.is_none() {
                let outside = |k: &usize| regimes.contains(&data.regime_of_row()[used[*k]]);
                let outside: Vec<usize> = (0..used.len()).filter(outside).collect();
                let weights: Vec<f64> = used.iter().map(|&row| weights[row]).collect();
                moments.masks.push(moments.mask(&outside, &weights, &total, &centred));
                groups.push(regimes);
            }
        }
        moments
    }

    fn mask(&self, outside: &[usize], weights: &[f64], total: &[f64], centred: &Mat<f64>) -> Mask {
        let p = self.variables;
        let rows = self.rows - outside.iter().map(|&k| weights[k]).sum::<f64>();
        let mut sums = total.to_vec();
        let mut others = Vec::with_capacity(outside.len() * p);
        for &k in outside {
            for a in 0..p {
                sums[a] -= centred[(k, a)] * weights[k].sqrt();
                others.push(centred[(k, a)]);
            }
        }
        let few = Mask { rows, sums, squares: Vec::new(), others: Others::Few(others) };
        let squares = (0..p).map(|a| self.without_rounding(a, rows, self.entry_of(&few, a, a))).collect();
        if outside.len() <= FEW_ROWS {
            return Mask { squares, ..few };
        }
        let mut matrix = vec![0.0; p * p];
        for (a, row) in matrix.chunks_exact_mut(p).enumerate() {
            self.row_of(&few, a, row);
        }
        Mask { squares, others: Others::Subtracted(matrix), ..few }
    }

    /// A moment of a variable with itself, exactly 0 if it is only the rounding error of a constant.
    fn without_rounding(&self, a: Node, rows: f64, square: f64) -> f64 {
        let rounding = 1e-14 * self.all[a * self.variables + a] + 1e-26 * rows * self.origin[a].powi(2);
        if square > rounding { square } else { 0.0 }
    }

    /// Number of variables.
    pub fn variables(&self) -> usize {
        self.variables
    }

    /// Weight of all rows: N of the penalty.
    pub fn all_rows(&self) -> f64 {
        self.rows
    }

    /// Weight of the rows in which a node was not a target.
    pub fn rows(&self, node: Node) -> f64 {
        self.masks[self.mask_of[node]].rows
    }

    /// The mean of a variable over the rows of `node`.
    pub fn mean(&self, node: Node, variable: Node) -> f64 {
        let mask = &self.masks[self.mask_of[node]];
        self.origin[variable] + mask.sums[variable] / mask.rows
    }

    /// The moments of every variable with itself, over the rows of `node`.
    pub fn squares(&self, node: Node) -> &[f64] {
        &self.masks[self.mask_of[node]].squares
    }

    /// The moment of two variables over the rows of `node`.
    pub fn entry(&self, node: Node, a: Node, b: Node) -> f64 {
        self.entry_of(&self.masks[self.mask_of[node]], a, b)
    }

    /// The moments of a variable with all others over the rows of `node`.
    pub fn row(&self, node: Node, a: Node, out: &mut [f64]) {
        self.row_of(&self.masks[self.mask_of[node]], a, out);
    }

    fn entry_of(&self, mask: &Mask, a: Node, b: Node) -> f64 {
        match &mask.others {
            Others::Subtracted(matrix) => matrix[a * self.variables + b],
            Others::Few(others) => {
                let outside: f64 = others.chunks_exact(self.variables).map(|row| row[a] * row[b]).sum();
                self.all[a * self.variables + b] - outside - mask.sums[a] * mask.sums[b] / mask.rows
            }
        }
    }

    fn row_of(&self, mask: &Mask, a: Node, out: &mut [f64]) {
        let range = a * self.variables..(a + 1) * self.variables;
        match &mask.others {
            Others::Subtracted(matrix) => out.copy_from_slice(&matrix[range]),
            Others::Few(others) => {
                out.copy_from_slice(&self.all[range]);
                for row in others.chunks_exact(self.variables) {
                    subtract_scaled(out, row, row[a]);
                }
                subtract_scaled(out, &mask.sums, mask.sums[a] / mask.rows);
            }
        }
    }
}

/// Σ w x of a column whose rows were already multiplied by the root of their weight.
fn weighted_sum(used: &[usize], weights: &[f64], centred: &Mat<f64>, a: Node) -> f64 {
    used.iter().enumerate().map(|(k, &row)| centred[(k, a)] * weights[row].sqrt()).sum()
}

fn subtract_scaled(out: &mut [f64], x: &[f64], weight: f64) {
    for (y, x) in out.iter_mut().zip(x) {
        *y -= weight * x;
    }
}
