//! Small dense matrices: products and Cholesky factors, by faer, always on one thread: every call says so itself, because
//! faer's default is a setting of the whole process, which another library may change.
//!
//! Matrices are faer's own views, so callers lay their data out once and nothing is copied. The instruction set
//! is chosen at run time, and with it the order of additions inside a product: results agree between machines
//! to rounding, and between runs and thread counts to the bit.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::{factor, inverse, solve};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::traits::RealField;
use faer::traits::math_utils::one;
use faer::{Accum, Conj, Mat, MatMut, MatRef, Par};

/// `out = a b` in single or double precision; shapes [m, n] = [m, k] [k, n].
pub fn product<T: RealField>(out: MatMut<'_, T>, a: MatRef<'_, T>, b: MatRef<'_, T>) {
    matmul(out, Accum::Replace, a, b, one(), Par::Seq);
}

/// Replaces B, [n, m], by L⁻¹ B for a lower triangular L.
pub fn solve_lower_in_place(lower: MatRef<'_, f64>, b: MatMut<'_, f64>) {
    solve_lower_triangular_in_place(lower, b, Par::Seq);
}

/// Eigenvalues, ascending, and eigenvectors, a column each, of a symmetric matrix, of which only the lower triangle is
/// read. None if numbers are not finite.
pub fn eigen(matrix: MatRef<'_, f64>) -> Option<(Vec<f64>, Mat<f64>)> {
    let n = matrix.nrows();
    let (mut vectors, mut values) = (Mat::zeros(n, n), Diag::zeros(n));
    let needed = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(needed);
    let stack = MemStack::new(&mut memory);
    let into = (values.as_mut(), Some(vectors.as_mut()));
    self_adjoint_evd(matrix, into.0, into.1, Par::Seq, stack, Default::default()).ok()?;
    Some(((0..n).map(|k| values[k]).collect(), vectors))
}

/// The lower triangular L with L Lᵀ = A, for a symmetric positive definite A.
pub struct Cholesky {
    /// Zero above the diagonal.
    lower: Mat<f64>,
}

impl Cholesky {
    /// Factors the matrix, of which only the lower triangle is read. None if it is not positive definite.
    pub fn of(matrix: MatRef<'_, f64>) -> Option<Self> {
        let n = matrix.nrows();
        let mut lower = Mat::from_fn(n, n, |i, j| if i >= j { matrix[(i, j)] } else { 0.0 });
        let needed = factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default());
        let mut memory = MemBuffer::new(needed);
        let (stack, usual) = (MemStack::new(&mut memory), Default::default());
        factor::cholesky_in_place(lower.as_mut(), usual, Par::Seq, stack, Default::default()).ok()?;
        // The factorisation uses the other triangle as memory.
        (0..n).for_each(|j| (0..j).for_each(|i| lower[(i, j)] = 0.0));
        Some(Self { lower })
    }

    /// Replaces `b`, of length n, by A⁻¹ b.
    pub fn solve_in_place(&self, b: &mut [f64]) {
        let n = b.len();
        let mut memory = MemBuffer::new(solve::solve_in_place_scratch::<f64>(n, 1, Par::Seq));
        let (b, stack) = (MatMut::from_column_major_slice_mut(b, n, 1), MemStack::new(&mut memory));
        solve::solve_in_place_with_conj(self.factor(), Conj::No, b, Par::Seq, stack);
    }

    /// Replaces B, [n, m], by L⁻¹ B.
    pub fn solve_lower_in_place(&self, b: MatMut<'_, f64>) {
        solve_lower_in_place(self.factor(), b);
    }

    /// A⁻¹, [n, n].
    pub fn inverse(&self) -> Mat<f64> {
        let n = self.lower.nrows();
        let mut out = Mat::zeros(n, n);
        let mut memory = MemBuffer::new(inverse::inverse_scratch::<f64>(n, Par::Seq));
        inverse::inverse(out.as_mut(), self.factor(), Par::Seq, MemStack::new(&mut memory));
        // Only the lower triangle is filled in.
        (0..n).for_each(|j| (0..j).for_each(|i| out[(i, j)] = out[(j, i)]));
        out
    }

    /// ln det A.
    pub fn log_determinant(&self) -> f64 {
        let factor = self.factor();
        2.0 * (0..factor.nrows()).map(|k| factor[(k, k)].ln()).sum::<f64>()
    }

    /// The lower triangular factor, [n, n].
    pub fn factor(&self) -> MatRef<'_, f64> {
        self.lower.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use faer::Mat;
    use proptest::prelude::*;

    use super::*;
    use crate::num::random::{Purpose, Seed};

    fn random(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
        let mut draws = Seed::new(seed).stream(Purpose::Noise).draws();
        Mat::from_fn(rows, columns, |_, _| draws.normal())
    }

    proptest! {
        #[test]
        fn products_agree_with_three_loops(m in 1usize..40, k in 1usize..40, n in 1usize..40, seed: u64) {
            let (a, b) = (random(m, k, seed), random(k, n, seed ^ 1));
            let mut out = Mat::zeros(m, n);
            product(out.as_mut(), a.as_ref(), b.as_ref());
            for i in 0..m {
                for j in 0..n {
                    let plain: f64 = (0..k).map(|l| a[(i, l)] * b[(l, j)]).sum();
                    prop_assert!((out[(i, j)] - plain).abs() < 1e-12 * k as f64);
                }
            }
            let single = |matrix: &Mat<f64>| Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)] as f32);
            let mut short = Mat::zeros(m, n);
            product(short.as_mut(), single(&a).as_ref(), single(&b).as_ref());
            for i in 0..m {
                for j in 0..n {
                    let difference = f64::from(short[(i, j)]) - out[(i, j)];
                    prop_assert!(difference.abs() < 3e-6 * k as f64);
                }
            }
        }

        #[test]
        fn cholesky_solves_and_knows_the_determinant(n in 1usize..12, seed: u64) {
            let b = random(n, n + 3, seed);
            let mut a = Mat::<f64>::identity(n, n);
            for i in 0..n {
                for j in 0..n {
                    a[(i, j)] += (0..n + 3).map(|l| b[(i, l)] * b[(j, l)]).sum::<f64>();
                }
            }
            let cholesky = Cholesky::of(a.as_ref()).unwrap();
            let right: Vec<f64> = (0..n).map(|k| b[(k, 0)]).collect();
            let mut x = right.clone();
            cholesky.solve_in_place(&mut x);
            for i in 0..n {
                let back: f64 = (0..n).map(|j| a[(i, j)] * x[j]).sum();
                prop_assert!((back - right[i]).abs() < 1e-9);
            }
            let inverse = cholesky.inverse();
            for i in 0..n {
                let solved: f64 = (0..n).map(|j| inverse[(i, j)] * right[j]).sum();
                prop_assert!((solved - x[i]).abs() < 1e-9);
            }
            prop_assert!((cholesky.log_determinant() - a.determinant().ln()).abs() < 1e-9);
            let l = cholesky.factor();
            let mut half = b.clone();
            cholesky.solve_lower_in_place(half.as_mut());
            for i in 0..n {
                for k in 0..n + 3 {
                    let back: f64 = (0..=i).map(|j| l[(i, j)] * half[(j, k)]).sum();
                    prop_assert!((back - b[(i, k)]).abs() < 1e-9);
                }
            }
            prop_assert!((0..n).all(|i| (i + 1..n).all(|j| l[(i, j)] == 0.0)));
        }
    }

    #[test]
    fn eigenvectors_are_stretched_by_their_values() {
        let b = random(9, 9, 4);
        let a = &b + b.transpose();
        let (values, vectors) = eigen(a.as_ref()).unwrap();
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1]));
        for (k, value) in values.iter().enumerate() {
            let length: f64 = (0..9).map(|i| vectors[(i, k)].powi(2)).sum();
            assert!((length - 1.0).abs() < 1e-12);
            for i in 0..9 {
                let image: f64 = (0..9).map(|j| a[(i, j)] * vectors[(j, k)]).sum();
                assert!((image - value * vectors[(i, k)]).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_no_factor() {
        let matrix = |a: f64, b: f64, c: f64| Mat::from_fn(2, 2, |i, j| [a, b, b, c][2 * i + j]);
        assert!(Cholesky::of(matrix(1.0, 2.0, 1.0).as_ref()).is_none());
        assert!(Cholesky::of(matrix(f64::NAN, 0.0, 1.0).as_ref()).is_none());
        assert!(Cholesky::of(matrix(2.0, 1.0, 1.0).as_ref()).is_some());
    }
}
