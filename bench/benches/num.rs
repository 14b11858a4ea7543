//! The numeric kernels against the standard library, over 4096 numbers: `cargo bench -p seabed-bench --bench num`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use seabed::num::elementwise::{exp_in_place, ln_in_place, sigmoid_in_place};
use seabed::num::random::{Purpose, Seed, Stream};
use seabed::num::{log_sum_exp, matrix};

const N: usize = 4096;

fn elementwise(c: &mut Criterion) {
    let inputs: Vec<f64> = (0..N).map(|k| k as f64 * 0.003 - 6.0).collect();
    type Kernel = (&'static str, fn(&mut [f64]), fn(f64) -> f64);
    let kernels: [Kernel; 3] = [
        ("exp", exp_in_place, f64::exp),
        ("ln", ln_in_place, f64::ln),
        ("sigmoid", sigmoid_in_place, |x| 1.0 / (1.0 + (-x).exp())),
    ];
    for (name, ours, standard) in kernels {
        let inputs: Vec<f64> = inputs.iter().map(|x| if name == "ln" { x.exp() } else { *x }).collect();
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(N as u64));
        let mut values = inputs.clone();
        group.bench_function("seabed", |b| {
            b.iter(|| {
                values.copy_from_slice(&inputs);
                ours(black_box(&mut values));
            })
        });
        group.bench_function("std", |b| {
            b.iter(|| {
                values.copy_from_slice(&inputs);
                for x in black_box(&mut values) {
                    *x = standard(*x);
                }
            })
        });
        group.finish();
    }
    let mut group = c.benchmark_group("log_sum_exp");
    group.throughput(Throughput::Elements(N as u64));
    group.bench_function("seabed", |b| b.iter(|| log_sum_exp(black_box(&inputs))));
    group.bench_function("std", |b| {
        b.iter(|| {
            let largest = black_box(&inputs).iter().fold(f64::NEG_INFINITY, |a, &x| a.max(x));
            largest + inputs.iter().map(|x| (x - largest).exp()).sum::<f64>().ln()
        })
    });
    group.finish();
}

fn random(c: &mut Criterion) {
    let mut out = vec![0.0; N];
    let mut group = c.benchmark_group("random");
    group.throughput(Throughput::Elements(N as u64));
    type Fill = fn(Stream, &mut [f64]);
    let fills: [(&str, Fill); 4] = [
        ("uniform", Stream::fill_uniform),
        ("normal", Stream::fill_normal),
        ("logistic", Stream::fill_logistic),
        ("gumbel", Stream::fill_gumbel),
    ];
    let stream = Seed::new(1).stream(Purpose::Noise);
    for (name, fill) in fills {
        group.bench_function(name, |b| b.iter(|| fill(stream, black_box(&mut out))));
    }
    group.finish();
}

fn matrices(c: &mut Criterion) {
    let a = faer::Mat::from_fn(100, 50, |i, j| (i * 7 + j) as f64 * 0.01);
    let b = faer::Mat::from_fn(50, 5, |i, j| (i + 3 * j) as f64 * 0.02);
    let mut out = faer::Mat::zeros(100, 5);
    c.bench_function("product 100x50x5", |bench| {
        bench.iter(|| matrix::product(out.as_mut(), black_box(a.as_ref()), b.as_ref()))
    });
    let spd = faer::Mat::from_fn(20, 20, |i, j| if i == j { 21.0 } else { 1.0 });
    c.bench_function("Cholesky 20x20", |bench| bench.iter(|| matrix::Cholesky::of(black_box(spd.as_ref()))));
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(std::time::Duration::from_secs(1));
    targets = elementwise, random, matrices
}
criterion_main!(benches);
