//! Special functions of one number.

use std::f64::consts::{PI, TAU};

/// ln Γ(x) for x > 0: Stirling's series beyond 10, which the recurrence reaches.
pub fn ln_gamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = 1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0)));
    (x - 0.5) * x.ln() - x + 0.5 * TAU.ln() + series / x - below
}

/// 1 - erf(x) for x ≥ 0, to 1e-12 of its value: the power series near zero, Laplace's continued fraction further out.
pub fn erfc(x: f64) -> f64 {
    let scale = (-x * x).exp() / PI.sqrt();
    if x < 2.0 {
        let (mut term, mut sum, mut k) = (x, x, 0.0);
        while term > 1e-17 * sum {
            k += 1.0;
            term *= 2.0 * x * x / (2.0 * k + 1.0);
            sum += term;
        }
        return 1.0 - 2.0 * scale * sum;
    }
    let tail = (1..=60).rev().fold(x, |tail, k| x + f64::from(k) / 2.0 / tail);
    scale / tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ln_gamma_knows_factorials_and_halves() {
        let mut factorial = 1.0f64;
        for n in 1..30 {
            assert!((ln_gamma(f64::from(n)) - factorial.ln()).abs() < 1e-12 * factorial.ln().max(1.0));
            factorial *= f64::from(n);
        }
        assert!((ln_gamma(0.5) - 0.5 * PI.ln()).abs() < 1e-13);
        assert!((ln_gamma(2.5) - (0.75 * PI.sqrt()).ln()).abs() < 1e-13);
    }
}
