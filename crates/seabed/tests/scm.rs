//! Models and ensembles: sampling, densities, units, files.

use faer::Mat;
use proptest::prelude::*;
use seabed::data::Names;
use seabed::graph::{Dag, Node, NodeSet};
use seabed::num::matrix::Cholesky;
use seabed::num::random::{Purpose, Seed, Stream};
use seabed::scm::{Ensemble, Intervention, Linear, Mechanism, Mlp, Scm, Waves};

fn stream(seed: u64) -> Stream {
    Seed::new(seed).stream(Purpose::Noise)
}

fn names(d: usize) -> Names {
    (0..d).map(|k| format!("var \"{k}\", µ")).collect()
}

/// A random model over `d` variables: edges go from lower to higher nodes, kinds of mechanism are mixed.
fn random_scm(d: usize, linear_only: bool, seed: u64) -> Scm {
    let mut draws = Seed::new(seed).stream(Purpose::Parameters).draws();
    let pairs = (0..d).flat_map(|i| (i + 1..d).map(move |j| (i, j)));
    let edges: Vec<_> = pairs.filter(|_| draws.uniform() < 0.5).collect();
    let dag = Dag::from_edges(d, edges).unwrap();
    let mechanisms = (0..d)
        .map(|node| {
            let parents = dag.parents(node).len();
            let hidden = draws.below(4);
            let mut numbers = |count: usize| -> Vec<f64> { (0..count).map(|_| draws.normal()).collect() };
            if linear_only || node % 2 == 0 {
                Mechanism::Linear(Linear { weights: numbers(parents), intercept: numbers(1)[0] })
            } else if node % 4 == 3 {
                let (weights, frequencies) = (numbers(parents), numbers(parents * hidden));
                let (phases, amplitudes) = (numbers(hidden), numbers(hidden));
                let intercept = numbers(1)[0];
                Mechanism::Waves(Waves { weights, frequencies, phases, amplitudes, intercept })
            } else {
                let (w1, b1, w2) = (numbers(parents * hidden), numbers(hidden), numbers(hidden));
                Mechanism::Mlp(Mlp { w1, b1, w2, b2: numbers(1)[0] })
            }
        })
        .collect();
    let noise_sd = (0..d).map(|_| 0.1 + draws.uniform()).collect();
    Scm::new(names(d), dag, mechanisms, noise_sd).unwrap()
}

/// Mean and covariance of a linear model under an intervention, from x = b + W x + ε solved for x.
fn linear_moments(scm: &Scm, intervention: &Intervention) -> (Vec<f64>, Mat<f64>) {
    let d = scm.names().len();
    // effect[j][k]: what a unit of the noise of k does to j.
    let mut effect = Mat::<f64>::zeros(d, d);
    let mut mean = vec![0.0; d];
    for node in scm.dag().topological_order() {
        if let Some(value) = intervention.value(node) {
            mean[node] = value;
            continue;
        }
        let Mechanism::Linear(linear) = scm.mechanism(node) else { panic!("a linear model") };
        mean[node] = linear.intercept;
        effect[(node, node)] = scm.noise_sd()[node];
        for (parent, w) in scm.dag().parents(node).iter().zip(&linear.weights) {
            mean[node] += w * mean[parent];
            for k in 0..d {
                effect[(node, k)] += w * effect[(parent, k)];
            }
        }
    }
    (mean, &effect * effect.transpose())
}

#[test]
fn samples_of_a_linear_model_have_its_moments_under_every_intervention() {
    let n = 40_000;
    for (k, settings) in [vec![], vec![(1, 3.0)], vec![(0, -1.0), (3, 2.0)]].into_iter().enumerate() {
        let scm = random_scm(6, true, 11);
        let intervention = Intervention::new(settings).unwrap();
        let columns = scm.sample(n, &intervention, stream(k as u64));
        let (mean, covariance) = linear_moments(&scm, &intervention);
        let average = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
        for i in 0..6 {
            if let Some(value) = intervention.value(i) {
                assert!(columns[i].iter().all(|&x| x == value));
                continue;
            }
            // 3 experiments, at most 6 means and 21 covariances each: 81 z-scores below 4.5, a false alarm in 1800 seeds.
            let z = (average(&|s| columns[i][s]) - mean[i]) / (covariance[(i, i)] / n as f64).sqrt();
            assert!(z.abs() < 4.5, "mean of {i}: z = {z}");
            for j in 0..=i {
                let expected = covariance[(i, j)];
                let got = average(&|s| (columns[i][s] - mean[i]) * (columns[j][s] - mean[j]));
                let variance = covariance[(i, i)] * covariance[(j, j)] + expected * expected;
                let z = (got - expected) / (variance / n as f64).sqrt();
                assert!(z.abs() < 4.5 || variance == 0.0, "covariance of {i}, {j}: z = {z}");
            }
        }
    }
}

proptest! {
    /// The sum over variables is the joint normal density of the variables that are not targets.
    #[test]
    fn log_density_agrees_with_the_dense_normal_density(d in 1usize..7, seed: u64, mask in 0u32..64, value in -3.0..3.0f64) {
        let scm = random_scm(d, true, seed);
        let targets: Vec<Node> = (0..d).filter(|k| mask >> k & 1 == 1).collect();
        let intervention = Intervention::new(targets.iter().map(|&node| (node, value))).unwrap();
        let columns = scm.sample(3, &intervention, stream(seed));
        let (mean, covariance) = linear_moments(&scm, &intervention);
        let free: Vec<Node> = (0..d).filter(|k| !targets.contains(k)).collect();
        let got = scm.log_density(&columns, &intervention.targets(d));
        for row in 0..3 {
            let mut expected = 0.0;
            if !free.is_empty() {
                let block = Mat::from_fn(free.len(), free.len(), |i, j| covariance[(free[i], free[j])]);
                let cholesky = Cholesky::of(block.as_ref()).unwrap();
                let centred: Vec<f64> = free.iter().map(|&k| columns[k][row] - mean[k]).collect();
                let mut solved = centred.clone();
                cholesky.solve_in_place(&mut solved);
                let square: f64 = centred.iter().zip(&solved).map(|(a, b)| a * b).sum();
                let constant = free.len() as f64 * std::f64::consts::TAU.ln();
                expected = -0.5 * (square + cholesky.log_determinant() + constant);
            }
            prop_assert!((got[row] - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{} {}", got[row], expected);
        }
    }

    /// Blocks, lanes and missing parents against the formula, one sample at a time.
    #[test]
    fn batched_means_agree_with_the_formula(d in 1usize..8, seed: u64, samples in 1usize..300) {
        let scm = random_scm(d, false, seed);
        let columns = scm.sample(samples, &Intervention::none(), stream(seed));
        for node in 0..d {
            let mut means = vec![0.0; samples];
            scm.means(node, &columns, &mut means);
            let parents: Vec<Node> = scm.dag().parents(node).iter().collect();
            for s in 0..samples {
                let expected = match scm.mechanism(node) {
                    Mechanism::Linear(f) => f.intercept
                        + parents.iter().zip(&f.weights).map(|(&p, w)| w * columns[p][s]).sum::<f64>(),
                    Mechanism::Mlp(f) => f.b2 + (0..f.b1.len()).map(|h| {
                        let input = |(k, &p): (usize, &Node)| f.w1[k * f.b1.len() + h] * columns[p][s];
                        f.w2[h] * (f.b1[h] + parents.iter().enumerate().map(input).sum::<f64>()).max(0.0)
                    }).sum::<f64>(),
                    Mechanism::Waves(f) => f.intercept
                        + parents.iter().zip(&f.weights).map(|(&p, w)| w * columns[p][s]).sum::<f64>()
                        + (0..f.phases.len()).map(|h| {
                            let input = |(k, &p): (usize, &Node)| f.frequencies[k * f.phases.len() + h] * columns[p][s];
                            f.amplitudes[h] * (f.phases[h] + parents.iter().enumerate().map(input).sum::<f64>()).cos()
                        }).sum::<f64>(),
                };
                prop_assert!((means[s] - expected).abs() < 1e-12 * (1.0 + expected.abs()));
            }
        }
    }

    /// In other units the same noise gives the same outcomes, and densities change by the scale alone.
    #[test]
    fn rescaling_changes_nothing_but_the_units(d in 1usize..7, seed: u64) {
        let scm = random_scm(d, false, seed);
        let means: Vec<f64> = (0..d).map(|k| k as f64 - 2.0).collect();
        let scales: Vec<f64> = (0..d).map(|k| 0.5 + k as f64).collect();
        let other = scm.rescaled(&means, &scales).unwrap();
        let plain = scm.sample(20, &Intervention::new([(0, 1.5)]).unwrap(), stream(1));
        let value = (1.5 - means[0]) / scales[0];
        let scaled = other.sample(20, &Intervention::new([(0, value)]).unwrap(), stream(1));
        for k in 0..d {
            for s in 0..20 {
                prop_assert!((scaled[k][s] * scales[k] + means[k] - plain[k][s]).abs() < 1e-9);
            }
        }
        let targets = NodeSet::of(d, [0]);
        let jacobian: f64 = scales[1..].iter().map(|s| s.ln()).sum();
        for (a, b) in scm.log_density(&plain, &targets).iter().zip(other.log_density(&scaled, &targets)) {
            prop_assert!((a + jacobian - b).abs() < 1e-8 * (1.0 + a.abs()));
        }
    }

    #[test]
    fn models_and_ensembles_survive_their_files_bit_for_bit(d in 1usize..6, seed: u64, count in 1usize..5) {
        let draws: Vec<Scm> = (0..count).map(|k| random_scm(d, false, seed.wrapping_add(k as u64))).collect();
        prop_assert_eq!(&Scm::from_json(draws[0].to_json().as_bytes(), "test").unwrap(), &draws[0]);
        let mut numbers = stream(seed).draws();
        let weights = (0..count).map(|_| numbers.uniform()).collect();
        let ensemble = Ensemble::new(draws, weights).unwrap();
        let (json, npz) = (ensemble.to_json(), ensemble.to_npz());
        prop_assert_eq!(&Ensemble::from_bytes(json.as_bytes(), "test").unwrap(), &ensemble);
        prop_assert_eq!(&Ensemble::from_bytes(&npz, "test").unwrap(), &ensemble);
        prop_assert_eq!(npz, ensemble.to_npz());
    }

    /// A damaged file is refused, unless the damage hits what is not read: the time of a member, white space.
    #[test]
    fn damaged_files_are_errors(seed: u64, at: prop::sample::Index, byte: u8) {
        let ensemble = Ensemble::uniform(vec![random_scm(3, false, seed)]).unwrap();
        for whole in [ensemble.to_npz(), ensemble.to_json().into_bytes()] {
            let mut bytes = whole.clone();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(read) = Ensemble::from_bytes(&bytes, "test") {
                prop_assert_eq!(&read, &ensemble, "byte {} is {}", at, byte);
            }
            bytes.truncate(at);
            prop_assert!(Ensemble::from_bytes(&bytes, "test").is_err() || whole[at..] == *b"\n");
        }
    }
}

/// Other programs may lay out the text anew; whoever changes a number removes the checksum; later versions are named.
#[test]
fn the_checksum_of_an_ensemble_is_of_its_numbers() {
    let ensemble = Ensemble::uniform(vec![random_scm(2, true, 1), random_scm(2, true, 2)]).unwrap();
    let mut form: serde_json::Value = serde_json::from_str(&ensemble.to_json()).unwrap();
    let read = |form: &serde_json::Value| Ensemble::from_bytes(form.to_string().as_bytes(), "e.json");
    assert_eq!(read(&form).unwrap(), ensemble);
    form["draws"][1]["nodes"][0]["noise_sd"] = 0.125.into();
    let refusal = read(&form).unwrap_err().to_string();
    assert!(refusal.starts_with("e.json: checksum: the file was damaged or edited"), "{refusal}");
    form.as_object_mut().unwrap().remove("checksum");
    assert_eq!(read(&form).unwrap().draws()[1].noise_sd()[0], 0.125);
    form["version"] = 2.into();
    let refusal = read(&form).unwrap_err().to_string();
    assert!(refusal.starts_with("e.json: version: it is 2, this program reads 1"), "{refusal}");
}

/// The same model with its nodes listed in another order gives every variable the same values.
#[test]
fn the_order_of_the_variables_does_not_matter() {
    let scm = random_scm(5, false, 4);
    let form: serde_json::Value = serde_json::from_str(&scm.to_json()).unwrap();
    let mut shuffled = form.clone();
    shuffled["names"].as_array_mut().unwrap().rotate_left(2);
    shuffled["nodes"].as_array_mut().unwrap().swap(0, 3);
    let other = Scm::from_json(shuffled.to_string().as_bytes(), "test").unwrap();
    let intervention = |scm: &Scm| {
        let node = scm.names().iter().position(|name| *name == names(5)[1]).unwrap();
        Intervention::new([(node, 2.0)]).unwrap()
    };
    let (a, b) =
        (scm.sample(50, &intervention(&scm), stream(3)), other.sample(50, &intervention(&other), stream(3)));
    for (node, name) in scm.names().iter().enumerate() {
        let at = other.names().iter().position(|other| other == name).unwrap();
        for (x, y) in a[node].iter().zip(&b[at]) {
            // Sums run over parents in their order, so only the last bits may differ.
            assert!((x - y).abs() < 1e-12 * (1.0 + x.abs()), "{name}");
        }
    }
}

#[test]
fn edge_probabilities_are_weighted_frequencies_and_exact_at_the_ends() {
    let with_edges = |edges: &[(Node, Node)]| {
        let dag = Dag::from_edges(3, edges.iter().copied()).unwrap();
        let mechanisms = (0..3)
            .map(|k| Mechanism::Linear(Linear { weights: vec![1.0; dag.parents(k).len()], intercept: 0.0 }))
            .collect();
        Scm::new(names(3), dag, mechanisms, vec![1.0; 3]).unwrap()
    };
    let draws = vec![with_edges(&[(0, 1), (1, 2)]), with_edges(&[(0, 1)]), with_edges(&[(0, 1), (2, 1)])];
    let ensemble = Ensemble::new(draws, vec![0.1, 0.3, 0.2]).unwrap();
    let p = ensemble.edge_probabilities();
    assert_eq!(p[0][1], 1.0);
    assert_eq!(p[0][2], 0.0);
    assert!((p[1][2] - 1.0 / 6.0).abs() < 1e-12 && (p[2][1] - 1.0 / 3.0).abs() < 1e-12);
    assert!((ensemble.log_mean_exp(&[1.0, 1.0, 1.0]) - 1.0).abs() < 1e-15);
}

/// The archive that this project writes today, opened and checked with numpy when it was made. Old files must stay
/// readable, so a change of the bytes needs a new version number.
#[test]
fn the_archive_format_does_not_change() {
    let known =
        Ensemble::new(vec![random_scm(3, false, 1), random_scm(3, false, 2)], vec![0.25, 0.75]).unwrap();
    let file = include_bytes!("files/ensemble.npz");
    assert_eq!(Ensemble::from_bytes(file, "ensemble.npz").unwrap(), known);
    assert_eq!(known.to_npz(), file);
    let at = file.windows(11).position(|window| window == b"\"version\":1").unwrap();
    let mut newer = file.to_vec();
    newer[at + 10] = b'2';
    // The checksum of the archive or the version: either way it is refused.
    assert!(Ensemble::from_bytes(&newer, "ensemble.npz").is_err());
}

#[test]
fn weights_and_names_of_an_ensemble_are_checked() {
    let scm = || random_scm(3, false, 1);
    let new = |weights: Vec<f64>| Ensemble::new(weights.iter().map(|_| scm()).collect(), weights);
    for bad in [vec![-1.0, 2.0], vec![f64::NAN, 1.0], vec![f64::INFINITY, 1.0], vec![0.0, 0.0], vec![]] {
        assert!(new(bad).is_err());
    }
    assert_eq!(new(vec![1e-300, 1e300]).unwrap().weights(), [1.0]);
    assert_eq!(new(vec![0.0, 3.0, 1.0]).unwrap().weights(), [0.75, 0.25]);
    assert!(Ensemble::new(vec![scm()], vec![0.5, 0.5]).is_err());
    assert!(Ensemble::uniform(vec![scm(), random_scm(4, false, 1)]).is_err());
}

#[test]
fn bad_models_are_refused_with_the_file_the_node_and_the_way_out() {
    let node = |name: &str, parents: &str, mechanism: &str, sd: &str| {
        format!(r#"{{"name":"{name}","parents":[{parents}],"mechanism":{{{mechanism}}},"noise_sd":{sd}}}"#)
    };
    let model = |nodes: &[String]| format!(r#"{{"names":["A","B"],"nodes":[{}]}}"#, nodes.join(","));
    let root = r#""type":"linear","weights":[],"intercept":0"#;
    let child = r#""type":"linear","weights":[1.5]"#;
    let a = node("A", "", root, "0.1");
    for (text, expected) in [
        ("{".into(), "EOF while parsing"),
        (model(std::slice::from_ref(&a)), "`names` lists \"B\", but there is no such node"),
        (model(&[a.clone(), a.clone()]), "the node \"A\" is given twice"),
        (model(&[a.clone(), node("C", "", root, "1")]), "the node \"C\" is not listed in `names`"),
        (model(&[a.clone(), node("B", "\"Z\"", child, "1")]), "the node \"B\" has the parent \"Z\""),
        (
            model(&[a.clone(), node("B", "\"A\"", root, "1")]),
            "the mechanism of \"B\" does not fit its 1 parents",
        ),
        (
            model(&[a.clone(), node("B", "\"A\"", child, "0")]),
            "the noise_sd of \"B\" is 0: standard deviations",
        ),
        (model(&[node("A", "\"B\"", child, "1"), node("B", "\"A\"", child, "1")]), "a cycle: A -> B -> A"),
        (model(&[a.clone(), node("B", "", r#""type":"cubic""#, "1")]), "unknown variant `cubic`"),
        (
            model(&[a.clone(), node("B", "", r#""type":"linear","weights":[],"slope":1"#, "1")]),
            "unknown field `slope`",
        ),
        (r#"{"names":["A","A"],"nodes":[]}"#.into(), "both called"),
    ] {
        let error = Scm::from_json(text.as_bytes(), "model.json").unwrap_err().to_string();
        assert!(error.starts_with("model.json: "), "{error}");
        assert!(error.contains(expected), "{error}\n  should say {expected}");
    }
}
