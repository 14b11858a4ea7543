//! exp, ln and sigmoid over slices, and the sine and cosine that the normal distribution needs.
//!
//! Each function is a branch-free polynomial written for one number; the loops over slices are compiled for
//! several instruction sets and chosen at run time. No fused multiply-add is used, so every instruction set
//! gives the same bits. Errors stay below 1 ulp for exp and ln, 2 ulp for sigmoid (the tests hold them to it).
//! NaN passes through; the limits at ±inf are exact.

use std::f64::consts::{LN_2, LOG2_E};

use multiversion::multiversion;

/// Replaces each number by its exponential. exp(-inf) = 0, exp(inf) = inf.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub fn exp_in_place(values: &mut [f64]) {
    for x in values {
        *x = exp(*x);
    }
}

/// Replaces each number by its natural logarithm. ln(0) = -inf, ln of a negative number is NaN.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub fn ln_in_place(values: &mut [f64]) {
    for x in values {
        *x = ln(*x);
    }
}

/// Replaces each number x by 1 / (1 + exp(-x)), without overflow and with full relative precision at both ends.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
pub fn sigmoid_in_place(values: &mut [f64]) {
    for x in values {
        *x = sigmoid(*x);
    }
}

/// Adding and subtracting this rounds a number below 2^51 to an integer, which then stands in the low bits.
const ROUND: f64 = 6755399441055744.0; // 1.5 * 2^52

/// ln 2 in two parts: the first has few enough bits that its product with an exponent is exact.
const LN_2_HIGH: f64 = f64::from_bits(LN_2.to_bits() & !0xFFFF_FFFF);
const LN_2_LOW: f64 = (LN_2 - LN_2_HIGH) + 2.319_046_813_846_299_6e-17;

#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    // Beyond these the result is 0 and inf; comparisons with NaN are false, so NaN stays.
    let x = if x < -746.0 { -746.0 } else { x };
    let x = if x > 710.0 { 710.0 } else { x };
    let n = (x * LOG2_E + ROUND) - ROUND;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    // Taylor: |r| <= ln(2)/2, so the first term left out is below 2^-57.
    const C: [f64; 12] = inverse_factorials::<12>(2);
    let tail = horner(r, &C);
    let p = 1.0 + (r + r * r * tail);
    // 2^n in two factors, so that results near the ends neither overflow nor lose their last bits early.
    let half = (n * 0.5 + ROUND) - ROUND;
    p * power_of_two(half) * power_of_two(n - half)
}

/// 2^n for an integer |n| <= 1022.
#[inline(always)]
fn power_of_two(n: f64) -> f64 {
    f64::from_bits((n + ROUND).to_bits().wrapping_add(1023) << 52)
}

#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    const SQRT_HALF: u64 = 0x3FE6_A09E_667F_3BCD;
    const ONE: u64 = 0x3FF0_0000_0000_0000;
    const MANTISSA: u64 = 0x000F_FFFF_FFFF_FFFF;
    const TWO_52: f64 = 4503599627370496.0;
    const TWO_54: f64 = 18014398509481984.0;
    let subnormal = x < f64::MIN_POSITIVE;
    let normal = if subnormal { x * TWO_54 } else { x };
    // x = 2^k m with m in [sqrt(1/2), sqrt(2)).
    let shifted = normal.to_bits().wrapping_add(ONE - SQRT_HALF);
    let exponent = f64::from_bits((shifted >> 52) | TWO_52.to_bits()) - (TWO_52 + 1023.0);
    let k = if subnormal { exponent - 54.0 } else { exponent };
    let f = f64::from_bits((shifted & MANTISSA) + SQRT_HALF) - 1.0;
    // ln(1 + f) = 2 artanh(s) with s = f/(2 + f), rearranged so that f, the large part, is added last.
    const C: [f64; 11] = twice_inverse_odds();
    let s = f / (2.0 + f);
    let z = s * s;
    let series = z * horner(z, &C);
    let half_square = 0.5 * f * f;
    let value = k * LN_2_HIGH - ((half_square - (s * (half_square + series) + k * LN_2_LOW)) - f);
    let value = if x < f64::INFINITY { value } else { x };
    let value = if x == 0.0 { f64::NEG_INFINITY } else { value };
    if x < 0.0 { f64::NAN } else { value }
}

/// 1 / (1 + exp(-x)).
#[inline(always)]
pub(crate) fn sigmoid(x: f64) -> f64 {
    let z = exp(-x.abs());
    let top = if x >= 0.0 { 1.0 } else { z };
    top / (1.0 + z)
}

/// Cosine and sine of a number of full turns, below 2^49.
#[inline(always)]
pub(crate) fn cos_sin_of_turn(turn: f64) -> (f64, f64) {
    let quarters = turn * 4.0;
    let nearest = (quarters + ROUND) - ROUND;
    let angle = (quarters - nearest) * std::f64::consts::FRAC_PI_2;
    let square = angle * angle;
    const SINE: [f64; 8] = alternating_inverse_factorials(1);
    const COSINE: [f64; 9] = alternating_inverse_factorials(0);
    let sine = angle * horner(square, &SINE);
    let cosine = horner(square, &COSINE);
    let quadrant = (nearest + ROUND).to_bits();
    let (c, s) = if quadrant & 1 == 0 { (cosine, sine) } else { (sine, cosine) };
    let c = if (quadrant + 1) & 2 == 0 { c } else { -c };
    let s = if quadrant & 2 == 0 { s } else { -s };
    (c, s)
}

/// Cosine of a number of full turns, below 2^51, to 1e-13: half the work of cosine and sine.
#[inline(always)]
pub(crate) fn cos_of_turns(turns: f64) -> f64 {
    let off = (turns - ((turns + ROUND) - ROUND)).abs();
    // The cosine is the sine of what is missing to a quarter of a turn.
    let angle = (0.25 - off) * std::f64::consts::TAU;
    const SINE: [f64; 9] = alternating_inverse_factorials(1);
    angle * horner(angle * angle, &SINE)
}

/// c[0] + c[1] x + c[2] x^2 + …
#[inline(always)]
fn horner<const N: usize>(x: f64, c: &[f64; N]) -> f64 {
    let mut value = c[N - 1];
    for k in (0..N - 1).rev() {
        value = value * x + c[k];
    }
    value
}

/// 1/first!, 1/(first + 1)!, …
const fn inverse_factorials<const N: usize>(first: usize) -> [f64; N] {
    let mut c = [0.0; N];
    let mut k = 0;
    while k < N {
        c[k] = 1.0 / factorial(first + k);
        k += 1;
    }
    c
}

/// 1/first!, -1/(first + 2)!, 1/(first + 4)!, …
const fn alternating_inverse_factorials<const N: usize>(first: usize) -> [f64; N] {
    let mut c = [0.0; N];
    let mut k = 0;
    while k < N {
        c[k] = if k % 2 == 0 { 1.0 } else { -1.0 } / factorial(first + 2 * k);
        k += 1;
    }
    c
}

/// 2/3, 2/5, 2/7, …
const fn twice_inverse_odds<const N: usize>() -> [f64; N] {
    let mut c = [0.0; N];
    let mut k = 0;
    while k < N {
        c[k] = 2.0 / (2 * k + 3) as f64;
        k += 1;
    }
    c
}

const fn factorial(n: usize) -> f64 {
    let mut product = 1.0;
    let mut k = 2;
    while k <= n {
        product *= k as f64;
        k += 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cosines_of_turns_are_cosines() {
        for k in -4000..4000 {
            let turns = f64::from(k) * 0.001237;
            let exact = (turns * std::f64::consts::TAU).cos();
            assert!((cos_of_turns(turns) - exact).abs() < 2e-13, "{turns}");
            assert!((cos_of_turns(turns + 1e6) - cos_of_turns(turns)).abs() < 1e-8);
        }
        assert_eq!((cos_of_turns(0.25), cos_of_turns(-0.75)), (0.0, 0.0));
    }

    /// Distance in units of the last place of `exact`.
    fn ulps(got: f64, exact: f64) -> f64 {
        if got == exact || (got.is_nan() && exact.is_nan()) {
            return 0.0;
        }
        let spacing = f64::from_bits(exact.abs().to_bits() + 1) - exact.abs();
        (got - exact).abs() / spacing
    }

    fn one(f: fn(&mut [f64]), x: f64) -> f64 {
        let mut values = [x];
        f(&mut values);
        values[0]
    }

    #[test]
    fn the_limits_are_exact_and_nan_passes_through() {
        let inf = f64::INFINITY;
        for (f, x, y) in [
            (exp_in_place as fn(&mut [f64]), -inf, 0.0),
            (exp_in_place, inf, inf),
            (exp_in_place, 0.0, 1.0),
            (exp_in_place, -746.0, 0.0),
            (exp_in_place, 709.9, inf),
            (exp_in_place, 1e300, inf),
            (exp_in_place, f64::NAN, f64::NAN),
            (ln_in_place, 0.0, -inf),
            (ln_in_place, -0.0, -inf),
            (ln_in_place, 1.0, 0.0),
            (ln_in_place, inf, inf),
            (ln_in_place, -1.0, f64::NAN),
            (ln_in_place, -inf, f64::NAN),
            (ln_in_place, f64::NAN, f64::NAN),
            (sigmoid_in_place, -inf, 0.0),
            (sigmoid_in_place, inf, 1.0),
            (sigmoid_in_place, 0.0, 0.5),
            (sigmoid_in_place, f64::NAN, f64::NAN),
        ] {
            let got = one(f, x);
            assert!(got == y || (got.is_nan() && y.is_nan()), "f({x}) = {got}, expected {y}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        // The standard library is itself within half an ulp or so: 1 ulp of ours shows as at most 1.5.
        #[test]
        fn exp_agrees_with_the_standard_library(x in -750.0..715.0f64) {
            prop_assert!(ulps(one(exp_in_place, x), x.exp()) <= 1.5);
        }

        #[test]
        fn ln_agrees_with_the_standard_library(bits in 1..f64::INFINITY.to_bits()) {
            let x = f64::from_bits(bits);
            prop_assert!(ulps(one(ln_in_place, x), x.ln()) <= 1.5, "{x}");
        }

        #[test]
        fn ln_is_precise_near_one(x in 0.5..2.0f64) {
            prop_assert!(ulps(one(ln_in_place, x), x.ln()) <= 1.5, "{x}");
        }

        #[test]
        fn sigmoid_is_precise_at_both_ends(x in -745.0..745.0f64) {
            let exact = if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) };
            prop_assert!(ulps(one(sigmoid_in_place, x), exact) <= 3.0, "{x}");
        }

        #[test]
        fn cosine_and_sine_agree_with_the_standard_library(turn in 0.0..1.0f64) {
            let (c, s) = cos_sin_of_turn(turn);
            let angle = std::f64::consts::TAU * turn;
            prop_assert!((c - angle.cos()).abs() < 2e-15 && (s - angle.sin()).abs() < 2e-15);
        }
    }

    /// Whatever instruction set was chosen, the slice versions give the bits of the plain scalar code.
    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let values: Vec<f64> = (0..1003).map(|k| (f64::from(k) - 500.0) * 1.377).collect();
        for (f, g) in [
            (exp_in_place as fn(&mut [f64]), exp as fn(f64) -> f64),
            (ln_in_place, ln),
            (sigmoid_in_place, sigmoid),
        ] {
            let mut got = values.clone();
            f(&mut got);
            for (x, y) in values.iter().zip(&got) {
                assert_eq!(y.to_bits(), g(*x).to_bits(), "{x}");
            }
        }
    }
}
