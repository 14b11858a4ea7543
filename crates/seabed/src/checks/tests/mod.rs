//! The laws that the tests assume, against simulation.

use super::nodes::shape;
use super::ranks::{centred_ranks, correlation, correlation_tail};
use crate::num::random::{Purpose, Seed};

/// How often `tail` of simulated data falls below a level, as a z-score: positive if too often.
fn excess(level: f64, times: u64, tail: impl Fn(u64) -> f64) -> f64 {
    let below = (0..times).filter(|&seed| tail(seed) < level).count() as f64;
    let times = times as f64;
    (below - times * level) / (times * level * (1.0 - level)).sqrt()
}

fn normals(n: usize, seed: u64) -> Vec<f64> {
    let mut values = vec![0.0; n];
    Seed::new(seed).stream(Purpose::Noise).fill_normal(&mut values);
    values
}

/// The transformations are approximations: up to half too often is borne by the median over graphs, which is twice as strict.
#[test]
fn normal_noise_has_the_shape_it_should_have() {
    for n in [25, 80, 400] {
        for which in 0..2 {
            let tail = |seed: u64| shape(&normals(n, seed)).unwrap()[which].0;
            let often = |level: f64| (0..20_000).filter(|&seed| tail(seed) < level).count();
            // 200 and 20 are expected; three standard errors of one and a half times that, and of half of that.
            assert!((60..=352).contains(&often(0.01)), "n = {n}, test {which}: {} below 0.01", often(0.01));
            assert!(often(0.001) <= 46, "n = {n}, test {which}: {} below 0.001", often(0.001));
        }
    }
}

#[test]
fn ranks_of_independent_values_correlate_as_often_as_they_should() {
    for n in [12, 60] {
        let tail = |seed: u64| {
            let ranks = |part: u64| centred_ranks(&normals(n, 2 * seed + part));
            correlation_tail(correlation(&ranks(0), &ranks(1)), n as f64)
        };
        for level in [0.05, 0.002] {
            let z = excess(level, 20_000, tail);
            assert!(z.abs() < 4.5, "n = {n}: {level} is off by {z:.1} standard errors");
        }
    }
}

#[test]
fn ties_share_their_rank() {
    assert_eq!(centred_ranks(&[3.0, 1.0, 3.0, 7.0]), [0.0, -0.375, 0.0, 0.375]);
    assert_eq!(centred_ranks(&[2.0, 2.0]), [0.0, 0.0]);
    assert_eq!(correlation(&[1.0, 1.0], &[1.0, 2.0]), 0.0);
}
