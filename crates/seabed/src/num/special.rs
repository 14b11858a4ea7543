//! Special functions: ln Γ, erfc, the distribution functions that frequencies are drawn by, and tails for tests.
//!
//! Stored results depend on them, so their arithmetic must not change. Frequencies need distributions with 5 degrees of
//! freedom only, which have closed forms; the tails of Student's t and of F have any.

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

/// The distribution function of a standard normal, to 1e-12, for |x| ≤ 9: ½ + φ(x) Σ x^(2k+1)/(1·3·5…(2k+1)). Small
/// tails want [`erfc`].
pub fn normal_cdf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for k in 1..200 {
        term *= x * x / (2 * k + 1) as f64;
        sum += term;
    }
    0.5 + sum * (-0.5 * x * x).exp() / TAU.sqrt()
}

/// The distribution function of χ² with 5 degrees of freedom, for 0 ≤ x ≤ 81.
pub fn chi_squared_5_cdf(x: f64) -> f64 {
    let density = (2.0 * x / PI).sqrt() * (-0.5 * x).exp();
    2.0 * normal_cdf(x.sqrt()) - 1.0 - density * (1.0 + x / 3.0)
}

/// The distribution function of Student's t with 5 degrees of freedom.
pub fn student_5_cdf(t: f64) -> f64 {
    let angle = (t / 5f64.sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    0.5 + (angle + sine * cosine * (1.0 + 2.0 / 3.0 * cosine * cosine)) / PI
}

/// The probability that |T| > `t` ≥ 0 for a Student's T with `degrees` > 0 of freedom; small ones are exact too.
pub fn student_tail(t: f64, degrees: f64) -> f64 {
    incomplete_beta(degrees / (degrees + t * t), 0.5 * degrees, 0.5)
}

/// The probability that F > `ratio` ≥ 0 for an F with these degrees of freedom above and below; small ones are exact too.
pub fn f_tail(ratio: f64, above: f64, below: f64) -> f64 {
    incomplete_beta(below / (below + above * ratio), 0.5 * below, 0.5 * above)
}

/// I_x(a, b) = ∫_0^x t^(a-1) (1-t)^(b-1) dt / B(a, b), the regularised incomplete beta function, for 0 ≤ x ≤ 1.
pub fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let scale = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges fast on the near side of the mean; the other side is its mirror image.
    if x < (a + 1.0) / (a + b + 2.0) {
        scale * beta_fraction(x, a, b) / a
    } else {
        1.0 - scale * beta_fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction 1/(1 + d_1/(1 + d_2/(1 + …))) of the incomplete beta function, from its front (Lentz).
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |y: f64| if y.abs() < TINY { TINY } else { y };
    let (mut upper, mut lower) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut value = lower;
    for k in 1..10_000 {
        let m = f64::from(k);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for d in [even, odd] {
            lower = 1.0 / away(1.0 + d * lower);
            upper = away(1.0 + d / upper);
            value *= lower * upper;
        }
        if (value - before).abs() <= 1e-15 * value.abs() {
            break;
        }
    }
    value
}

/// Where an increasing function takes the value `p`, between `low` and `high`, by 60 halvings: full precision.
pub fn quantile(cdf: fn(f64) -> f64, p: f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        *(if cdf(middle) < p { &mut low } else { &mut high }) = middle;
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// ∫ f by trapezoids: slow and obvious.
    fn integral(f: impl Fn(f64) -> f64, from: f64, to: f64) -> f64 {
        let steps = 20_000;
        let h = (to - from) / f64::from(steps);
        let inner: f64 = (1..steps).map(|k| f(from + h * f64::from(k))).sum();
        h * (inner + 0.5 * (f(from) + f(to)))
    }

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

    #[test]
    fn erfc_has_its_tabulated_values() {
        let table = [
            (0.0, 1.0),
            (0.5, 0.479500122186953),
            (1.0, 0.157299207050285),
            (1.5, 0.0338948535246893),
            (2.0, 0.00467773498104727),
            (3.0, 2.20904969985854e-5),
            (5.0, 1.53745979442803e-12),
        ];
        for (x, value) in table {
            assert!((erfc(x) - value).abs() <= 1e-12 * value, "erfc({x}) = {} and not {value}", erfc(x));
        }
    }

    #[test]
    fn distribution_functions_have_their_known_values() {
        assert!((normal_cdf(1.96) - 0.975_002_104_851_780).abs() < 1e-12);
        assert!((normal_cdf(-3.0) - 0.001_349_898_031_630).abs() < 1e-12);
        assert!((chi_squared_5_cdf(11.070_497_693_516_35) - 0.95).abs() < 1e-9);
        assert!((student_5_cdf(2.570_581_835_636) - 0.975).abs() < 1e-9);
        assert!((quantile(normal_cdf, 0.975, -9.0, 9.0) - 1.959_963_984_540).abs() < 1e-9);
    }

    /// Densities, with Γ(5/2) = ¾√π and Γ(3) = 2.
    #[test]
    fn distribution_functions_are_integrals_of_their_densities() {
        let normal = |x: f64| (-0.5 * x * x).exp() / TAU.sqrt();
        let chi_squared = |x: f64| x.powf(1.5) * (-0.5 * x).exp() / (2f64.powf(2.5) * 0.75 * PI.sqrt());
        let student = |t: f64| 2.0 / ((5.0 * PI).sqrt() * 0.75 * PI.sqrt()) * (1.0 + t * t / 5.0).powi(-3);
        for x in [0.3, 1.0, 2.5, 6.0] {
            assert!((normal_cdf(x) - 0.5 - integral(normal, 0.0, x)).abs() < 1e-8, "normal at {x}");
            assert!((chi_squared_5_cdf(x) - integral(chi_squared, 0.0, x)).abs() < 1e-8, "χ² at {x}");
            assert!((student_5_cdf(x) - 0.5 - integral(student, 0.0, x)).abs() < 1e-8, "t at {x}");
        }
    }

    #[test]
    fn tails_have_their_tabulated_values() {
        for (got, known) in [
            (student_tail(2.228_138_851_964_939, 10.0), 0.05),
            (student_tail(12.706_204_736_432_1, 1.0), 0.05),
            (student_tail(0.0, 3.0), 1.0),
            (f_tail(4.964_602_743_730_711, 1.0, 10.0), 0.05),
            // With 2 degrees of freedom above, the tail is (1 + 2F/n)^(-n/2).
            (f_tail(30.0, 2.0, 40.0), 2.5f64.powi(-20)),
            (f_tail(200.0, 2.0, 40.0), 11f64.powi(-20)),
            // With 2 below, that of |T| is 1 - t/√(2 + t²).
            (student_tail(3.0, 2.0), 1.0 - 3.0 / 11f64.sqrt()),
        ] {
            assert!((got - known).abs() <= 1e-9 * known, "{got} and not {known}");
        }
    }

    #[test]
    fn the_incomplete_beta_function_is_an_integral() {
        for (a, b) in [(1.5, 2.5), (4.0, 1.0), (2.0, 9.0), (30.0, 2.5)] {
            let ln_scale = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
            let density = |t: f64| (ln_scale + (a - 1.0) * t.ln() + (b - 1.0) * (-t).ln_1p()).exp();
            for x in [0.1, 0.4, 0.7, 0.95] {
                let slow = integral(density, 1e-9, x);
                let got = incomplete_beta(x, a, b);
                assert!((got - slow).abs() < 1e-5, "I_{x}({a}, {b}) = {got} and not {slow}");
            }
        }
    }

    proptest! {
        #[test]
        fn gamma_grows_by_its_argument(x in 0.01..500.0f64) {
            let (step, size) = (ln_gamma(x + 1.0) - ln_gamma(x), ln_gamma(x + 1.0).abs().max(1.0));
            prop_assert!((step - x.ln()).abs() < 1e-13 * size, "{step} and not {}", x.ln());
        }

        #[test]
        fn the_two_ways_to_a_normal_tail_agree(x in 0.0..6.0f64) {
            prop_assert!((1.0 - normal_cdf(x) - 0.5 * erfc(x / 2f64.sqrt())).abs() < 1e-13);
        }

        #[test]
        fn symmetric_distributions_are_symmetric(x in 0.0..9.0f64) {
            prop_assert!((normal_cdf(x) + normal_cdf(-x) - 1.0).abs() < 1e-14);
            prop_assert!((student_5_cdf(x) + student_5_cdf(-x) - 1.0).abs() < 1e-14);
        }

        #[test]
        fn a_quantile_is_where_the_function_takes_its_value(p in 0.001..0.999f64) {
            type Cdf = fn(f64) -> f64;
            let cases: [(Cdf, f64, f64); 3] =
                [(normal_cdf, -9.0, 9.0), (chi_squared_5_cdf, 0.0, 60.0), (student_5_cdf, -60.0, 60.0)];
            for (cdf, low, high) in cases {
                prop_assert!((cdf(quantile(cdf, p, low, high)) - p).abs() < 1e-12);
            }
        }
    }
}
