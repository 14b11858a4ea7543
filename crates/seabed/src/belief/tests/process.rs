//! The process against dense matrices written out, and its table against itself.

use faer::Mat;

use crate::belief::{Accuracy, Conditional, Kernel, ProcessConditional, Regression, Scratch};
use crate::num::matrix::Cholesky;
use crate::num::random::{Purpose, Seed};

fn kernel(parents: usize) -> Kernel {
    let decays = [1.7, 0.8, 0.3][..parents].to_vec();
    let (linear, smooth) = if parents == 0 { (0.0, 0.0) } else { (0.2, 0.6) };
    Kernel { constant: 1.3, linear, smooth, decays, noise: 0.05 }
}

/// A value, then the parents, of every row.
fn rows(parents: usize, count: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut draws = Seed::new(seed).stream(Purpose::Noise).draws();
    (0..count)
        .map(|_| {
            let x: Vec<f64> = (0..parents).map(|_| draws.normal()).collect();
            let y = x.iter().map(|x| (2.0 * x).sin()).sum::<f64>() + 0.2 * draws.normal();
            [y].into_iter().chain(x).collect()
        })
        .collect()
}

fn columns(rows: &[Vec<f64>], parents: usize) -> Vec<Vec<f64>> {
    (0..=parents).map(|k| rows.iter().map(|row| row[k]).collect()).collect()
}

fn process(rows: &[Vec<f64>], parents: usize, accuracy: Accuracy) -> ProcessConditional {
    let columns = columns(rows, parents);
    let regression =
        Regression { values: &columns[0], parents: columns[1..].iter().map(|column| &column[..]).collect() };
    let units = vec![(0.0, 1.0); parents];
    ProcessConditional::with_accuracy((0.0, 1.0), units, kernel(parents), &regression, accuracy).unwrap()
}

/// k(x, x') from its formula; rows begin with their value.
fn covariance(kernel: &Kernel, a: &[f64], b: &[f64]) -> f64 {
    let pairs = || a[1..].iter().zip(&b[1..]);
    let s = pairs().zip(&kernel.decays).map(|((a, b), decay)| decay * (a - b).powi(2)).sum::<f64>().sqrt();
    let product: f64 = pairs().map(|(a, b)| a * b).sum();
    kernel.constant + kernel.linear * product + kernel.smooth * (1.0 + s + s * s / 3.0) * (-s).exp()
}

/// ln N(y; 0, C).
fn log_normal(y: &[f64], c: &Mat<f64>) -> f64 {
    let cholesky = Cholesky::of(c.as_ref()).unwrap();
    let mut solved = y.to_vec();
    cholesky.solve_in_place(&mut solved);
    let fit: f64 = y.iter().zip(&solved).map(|(a, b)| a * b).sum();
    -0.5 * (fit + cholesky.log_determinant() + y.len() as f64 * std::f64::consts::TAU.ln())
}

/// The log-density of new rows given old ones, which are seen through centres: the normal density of all rows less that
/// of the old ones. A new row has its own covariance with the centres and with other new rows.
fn twin(kernel: &Kernel, old: &[Vec<f64>], new: &[Vec<f64>], centres: &[Vec<f64>]) -> f64 {
    let k = |a: &[Vec<f64>], b: &[Vec<f64>]| {
        Mat::from_fn(a.len(), b.len(), |i, j| covariance(kernel, &a[i], &b[j]))
    };
    let all: Vec<Vec<f64>> = old.iter().chain(new).cloned().collect();
    let inverse = Cholesky::of(k(centres, centres).as_ref()).unwrap().inverse();
    let q = k(&all, centres) * inverse * k(centres, &all);
    let exact = k(&all, &all);
    let n = old.len();
    let entry = |i: usize, j: usize| {
        let whole = i == j || (i >= n && j >= n);
        (if whole { exact[(i, j)] } else { q[(i, j)] }) + if i == j { kernel.noise } else { 0.0 }
    };
    let values = |rows: &[Vec<f64>]| rows.iter().map(|row| row[0]).collect::<Vec<f64>>();
    let of = |rows: &[Vec<f64>]| log_normal(&values(rows), &Mat::from_fn(rows.len(), rows.len(), entry));
    of(&all) - of(old)
}

fn chain(law: &Conditional, new: &[Vec<f64>]) -> f64 {
    let mut given = law.given();
    new.iter()
        .map(|row| {
            let density = given.log_predictive(row[0], &row[1..]);
            given = given.with_row(row[0], &row[1..]);
            density
        })
        .sum()
}

/// Also for more rows than may be centres, and with replicates among the new rows.
#[test]
fn predictives_are_those_of_dense_matrices() {
    for (parents, count) in [(0, 20), (1, 50), (2, 80), (3, 60), (3, 350)] {
        let old = rows(parents, count, 3);
        let mut new = rows(parents, 3, 4);
        new.push([vec![0.3], new[0][1..].to_vec()].concat());
        for centres in [1e-5, 1e-3, 1e-1] {
            let process = process(&old, parents, Accuracy { centres, coordinates: 0.0 });
            let through: Vec<Vec<f64>> = (0..process.centres())
                .map(|c| [0.0].into_iter().chain(process.centre(c)).collect())
                .collect();
            let want = twin(&kernel(parents), &old, &new, &through);
            let got = chain(&Conditional::Process(Box::new(process)), &new);
            assert!((got - want).abs() < 1e-6, "{parents} parents, {count} rows, {centres}: {got} {want}");
        }
    }
}

/// What centres leave out: the log-density of a row against that of the process itself, as root mean square over rows like the
/// data and rows spread evenly to three standard deviations (measured: 7e-5, 0.017 and 0.010 nats).
#[test]
fn few_centres_are_nearly_the_process_itself() {
    for (parents, most) in [(1, 3e-4), (2, 0.03), (3, 0.03)] {
        let old = rows(parents, 200, 6);
        let mut draws = Seed::new(8).stream(Purpose::Noise).draws();
        let points: Vec<Vec<f64>> = (0..parents)
            .map(|_| {
                (0..1000)
                    .map(|k| if k < 500 { draws.normal() } else { 6.0 * draws.uniform() - 3.0 })
                    .collect()
            })
            .collect();
        let points: Vec<&[f64]> = points.iter().map(|column| &column[..]).collect();
        let noise: Vec<f64> = (0..1000).map(|_| draws.normal()).collect();
        let law = |accuracy: Accuracy| Conditional::Process(Box::new(process(&old, parents, accuracy)));
        let (mut values, mut scratch) = (vec![0.0; 1000], Scratch::default());
        law(Accuracy::EXACT).given().draws(&points, &noise, &mut scratch, &mut values);
        let mut densities = |accuracy: Accuracy| {
            let mut out = vec![0.0; 1000];
            law(accuracy).given().add_log_predictives(&values, &points, &mut scratch, &mut out);
            out
        };
        let (exact, used) = (densities(Accuracy::EXACT), densities(Accuracy::usual(parents)));
        let square: f64 = exact.iter().zip(&used).map(|(a, b)| (a - b).powi(2)).sum();
        let off = (square / 1000.0).sqrt();
        assert!(off < most, "{parents} parents: {off}");
    }
}

/// Between points of its grid, at its edge and beyond; a mean is off by less than a millionth of the noise's standard
/// deviation, a variance by less than a millionth of its variance.
#[test]
fn the_table_is_the_process() {
    for (length, smooth) in [(0.2, 1.5), (1.0, 0.6), (3.0, 0.3), (100.0, 0.1)] {
        let old = rows(1, 150, 5);
        let columns = columns(&old, 1);
        let regression = Regression { values: &columns[0], parents: vec![&columns[1]] };
        let kernel = Kernel { smooth, decays: vec![5.0 / (length * length)], ..kernel(1) };
        let noise = kernel.noise;
        let with = ProcessConditional::new((0.0, 1.0), vec![(0.0, 1.0)], kernel, &regression).unwrap();
        let without = with.clone().without_table();
        let points: Vec<f64> = (-2000..2000).map(|k| f64::from(k) * 4.717e-3).collect();
        let moments = |process: &ProcessConditional| {
            let (mut mean, mut variance) = (vec![0.0; points.len()], vec![0.0; points.len()]);
            process.predict(&[&points], &[], &mut mean, &mut variance, &mut Default::default());
            (mean, variance)
        };
        let ((mean, variance), (exact_mean, exact_variance)) = (moments(&with), moments(&without));
        let worst = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let (off, off_variance) = (worst(&mean, &exact_mean), worst(&variance, &exact_variance));
        assert!(
            off < 1e-6 * noise.sqrt() && off_variance < 1e-6 * noise,
            "length {length}: {off} {off_variance}"
        );
        assert!(off > 0.0, "the table was not used");
    }
}

/// A prediction does not depend on which others are made with it, but for rounding.
#[test]
fn many_at_once_are_each_by_itself() {
    for parents in 0..4 {
        let law =
            Conditional::Process(Box::new(process(&rows(parents, 90, 7), parents, Accuracy::usual(parents))));
        let outcomes = rows(parents, 700, 8);
        let columns = columns(&outcomes, parents);
        let slices: Vec<&[f64]> = columns.iter().map(|column| &column[..]).collect();
        let mut given = law.given();
        let mut scratch = Scratch::default();
        for seen in 0..3 {
            let mut out = vec![1.0; outcomes.len()];
            given.add_log_predictives(slices[0], &slices[1..], &mut scratch, &mut out);
            for (row, got) in outcomes.iter().zip(&out) {
                let want = 1.0 + given.log_predictive(row[0], &row[1..]);
                assert!((got - want).abs() < 1e-9, "{parents} parents, {seen} rows: {got} {want}");
            }
            given = given.with_row(0.4 * f64::from(seen), &outcomes[3][1..]);
        }
    }
}
