//! Student's t: the constant of its density, and the variate that a normal one becomes.

use std::f64::consts::{PI, SQRT_2};

use crate::num::special::{erfc, ln_gamma};

/// ln Γ((ν+1)/2) - ln Γ(ν/2) - ½ ln π: what is left of the log-density of t beside (νs²)^(-½) (1 + (x/s)²/ν)^(-(ν+1)/2).
pub(super) fn log_constant(degrees: f64) -> f64 {
    ln_gamma(0.5 * (degrees + 1.0)) - ln_gamma(0.5 * degrees) - 0.5 * PI.ln()
}

const MOST_STEPS: usize = 10;
/// Of a variate: a Newton step as small as this leaves nothing to gain.
const CLOSE: f64 = 1e-6;

/// The t variate that is as far out among those of t as z is among normal ones: increasing in z, one for one.
///
/// Wallace's approximation, which is close, and Newton steps on the logarithm of the tail: two for many degrees.
pub(super) fn from_normal(z: f64, degrees: f64) -> f64 {
    let tail = 0.5 * erfc(z.abs() / SQRT_2);
    let w = z * (8.0 * degrees + 3.0) / (8.0 * degrees + 1.0);
    let mut t = (degrees * (w * w / degrees).exp_m1()).sqrt();
    for _ in 0..MOST_STEPS {
        let there = upper_tail(t, degrees);
        let step = there * (there / tail).ln() / density(t, degrees);
        // With few degrees the first steps may be too long.
        t += step.max(-0.5 * t);
        if step.abs() <= CLOSE * t {
            break;
        }
    }
    t.copysign(z)
}

fn density(t: f64, degrees: f64) -> f64 {
    let shape = 0.5 * (degrees + 1.0) * (t * t / degrees).ln_1p();
    (log_constant(degrees) - 0.5 * degrees.ln() - shape).exp()
}

/// P(T > t) for t ≥ 0.
fn upper_tail(t: f64, degrees: f64) -> f64 {
    // x and 1 - x of the incomplete beta function that the tail is, both without a difference.
    let (near, far) = (t * t / (degrees + t * t), degrees / (degrees + t * t));
    let half = 0.5 * degrees;
    // t f(t) is what both of its continued fractions begin with.
    let front = t * density(t, degrees);
    if far < (half + 1.0) / (half + 2.5) {
        front / degrees / fraction(half, 0.5, far)
    } else {
        0.5 - front / fraction(0.5, half, near)
    }
}

/// The continued fraction of the incomplete beta function, 1 + d₁/(1 + d₂/(1 + …)), from its far end.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let pairs = (20.0 + 2.0 * a.max(b).sqrt()) as u32;
    (1..=pairs).rev().map(f64::from).fold(1.0, |rest, m| {
        let odd = -(a + m - 1.0) * (a + b + m - 1.0) * x / ((a + 2.0 * m - 2.0) * (a + 2.0 * m - 1.0));
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        1.0 + odd / (1.0 + even / rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Upper tails of t with 1, 2 and 4 degrees of freedom have closed forms, and that of many is normal.
    #[test]
    fn tails_have_their_closed_forms() {
        let one = |t: f64| (1.0 / t).atan() / PI;
        let two = |t: f64| 1.0 / (t * t + 2.0) / (1.0 + t / (t * t + 2.0).sqrt());
        let four = |t: f64| {
            let s = t / (t * t + 4.0).sqrt();
            0.25 * (1.0 - s).powi(2) * (2.0 + s)
        };
        for t in [1e-3, 0.3, 1.0, 1.5, 2.0, 3.0, 10.0, 50.0] {
            for (degrees, want) in [(1.0, one(t)), (2.0, two(t)), (4.0, four(t))] {
                let got = upper_tail(t, degrees);
                assert!((got / want - 1.0).abs() < 1e-10, "{degrees} degrees, t {t}: {got} {want}");
            }
        }
        for t in [0.1, 1.0, 3.0] {
            assert!((upper_tail(t, 1e6) / (0.5 * erfc(t / SQRT_2)) - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn variates_are_as_far_out_as_the_normal_ones() {
        for degrees in [2.0, 6.0, 17.5, 204.0, 3000.0] {
            for z in [1e-4, 0.2, 1.0, 2.0, 4.0, 6.0, 8.6] {
                let t = from_normal(z, degrees);
                let (got, want) = (upper_tail(t, degrees), 0.5 * erfc(z / SQRT_2));
                assert!((got / want - 1.0).abs() < 1e-9, "{degrees} degrees, z {z}, t {t}: {got} {want}");
                assert_eq!(from_normal(-z, degrees), -t);
            }
            let variates: Vec<f64> = (-80..=80).map(|k| from_normal(f64::from(k) * 0.1, degrees)).collect();
            assert!(variates.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
