//! Beliefs about graphs as a whole: from a fit, in other units and orders, drawn from, saved and read back.

use seabed::belief::{self, Given, GraphBelief, Scratch};
use seabed::data::Dataset;
use seabed::num::random::{Purpose, Seed};
use seabed::posterior::Knowledge;
use seabed::posterior::mcmc::{Family, Mcmc};
use seabed::scm::{Ensemble, Intervention};
use seabed::world::{GraphKind, MechanismKind, NoiseLevels, Synthetic, World};

const FAMILIES: [Family; 2] = [Family::Linear, Family::GaussianProcess];

/// Observations and single interventions of a random nonlinear world of four variables.
fn toy(seed: u64) -> Dataset {
    let synthetic = Synthetic {
        graph: GraphKind::Er,
        nodes: 4,
        edges_per_node: 1.0,
        mechanism: MechanismKind::Mlp { hidden: 5 },
        noise: NoiseLevels::Equal(0.3),
        standardised: false,
    };
    let scm = synthetic.draw(Seed::new(seed)).unwrap();
    let stream = Seed::new(seed).stream(Purpose::Noise);
    let mut data = scm.experiment(&Intervention::none(), 40, stream).unwrap();
    let set = Intervention::new([(2, 1.5)]).unwrap();
    data.append(&scm.experiment(&set, 4, stream.at(1)).unwrap()).unwrap();
    data
}

fn belief_of(family: Family, data: &Dataset) -> GraphBelief {
    let settings = Mcmc { draws: 4, least_sweeps: 120, most_sweeps: 120, ..Mcmc::of(family) };
    settings.fit(data, &Knowledge::none(data.variables()), Seed::new(3), &()).unwrap().graphs.unwrap()
}

/// Log-density of some rows of the data as new ones, under every graph.
fn densities(belief: &GraphBelief, data: &Dataset, rows: &[usize]) -> Vec<f64> {
    let of_graph = |graph: usize| {
        let of_node = |(node, &place): (usize, &u32)| {
            let family = &belief.families(node)[place as usize];
            let mut given = family.conditional.given();
            let mut sum = 0.0;
            for &row in rows.iter().filter(|&&row| !data.targets(row).contains(node)) {
                let parents: Vec<f64> = family.parents.iter().map(|&k| data.column(k)[row]).collect();
                sum += given.log_predictive(data.column(node)[row], &parents);
                given = given.with_row(data.column(node)[row], &parents);
            }
            sum
        };
        belief.family_of(graph).iter().enumerate().map(of_node).sum()
    };
    (0..belief.graphs().len()).map(of_graph).collect()
}

#[test]
fn a_fit_believes_in_its_graphs() {
    let data = toy(1);
    for family in FAMILIES {
        let settings = Mcmc { draws: 4, least_sweeps: 120, most_sweeps: 120, ..Mcmc::of(family) };
        let fit = settings.fit(&data, &Knowledge::none(4), Seed::new(3), &()).unwrap();
        // Four chains of 60 graphs are fewer than a thousand, so that the belief holds all.
        for (a, b) in fit
            .edge_probabilities
            .iter()
            .flatten()
            .zip(fit.graphs.as_ref().unwrap().edge_probabilities().iter().flatten())
        {
            assert!((a - b).abs() < 1e-11, "{a} {b}");
        }
        assert!((fit.graphs.as_ref().unwrap().weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(fit.graphs.as_ref().unwrap().weights().windows(2).all(|pair| pair[0] >= pair[1]));
    }
}

#[test]
fn the_order_of_columns_and_of_rows_shows_nowhere() {
    let data = toy(2);
    let shuffled: Vec<String> = [3, 0, 2, 1].map(|k: usize| data.names()[k].clone()).to_vec();
    let other = data.reordered(&shuffled).unwrap();
    for family in FAMILIES {
        let (a, b) = (belief_of(family, &data), belief_of(family, &other));
        let back = b.reordered(data.names()).unwrap();
        assert_eq!(a.to_json(), back.to_json());
        assert_eq!(a.graphs(), back.graphs());
        let (x, y) = (densities(&a, &data, &[0, 41, 7]), densities(&b, &other, &[0, 41, 7]));
        assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-12), "{x:?} {y:?}");
        let turned = densities(&a, &data, &[7, 0, 41]);
        assert!(x.iter().zip(&turned).all(|(x, y)| (x - y).abs() < 1e-6), "{x:?} {turned:?}");
        assert!(a.reordered(&["a", "b", "c", "d"].map(String::from).to_vec().into()).is_err());
    }
}

/// A thousand times larger and shifted: the density of a row is smaller by ln 1000 for every value that was not set.
#[test]
fn units_change_nothing_but_units() {
    let data = toy(3);
    let columns =
        data.columns().iter().map(|column| column.iter().map(|x| 1000.0 * x - 4e4).collect()).collect();
    let targets = (0..data.rows()).map(|row| data.targets(row).clone()).collect();
    let other = Dataset::new(data.names().clone(), columns, targets).unwrap();
    for family in FAMILIES {
        let (a, b) = (belief_of(family, &data), belief_of(family, &other));
        assert_eq!(a.graphs(), b.graphs());
        let (x, y) = (densities(&a, &data, &[2, 42]), densities(&b, &other, &[2, 42]));
        for (x, y) in x.iter().zip(&y) {
            assert!((x - y - 7.0 * 1000f64.ln()).abs() < 1e-5, "{x} {y}");
        }
    }
}

#[test]
fn the_same_bytes_on_one_and_on_four_threads_and_from_a_file() {
    let data = toy(4);
    for family in FAMILIES {
        let in_pool = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| belief_of(family, &data))
        };
        let (one, four) = (in_pool(1), in_pool(4));
        let text = one.to_json();
        assert_eq!(text, four.to_json());
        let read = GraphBelief::from_json(text.as_bytes(), "b.json").unwrap();
        assert_eq!(read.to_json(), text);
        assert_eq!(read.graphs(), one.graphs());
        let bits = |belief: &GraphBelief| -> Vec<u64> {
            densities(belief, &data, &[1, 42, 1]).iter().map(|x| x.to_bits()).collect()
        };
        assert_eq!(bits(&read), bits(&one));
        assert_eq!(bits(&four), bits(&one));
    }
}

/// Cut off anywhere, or with any one number or word changed: an error that names the file, or a belief, never a panic.
#[test]
fn damaged_files_are_refused() {
    let data = toy(5);
    for family in FAMILIES {
        let text = belief_of(family, &data).to_json();
        let refusal = |text: &str| GraphBelief::from_json(text.as_bytes(), "b.json").unwrap_err().to_string();
        for end in [0, 1, text.len() / 3, text.len() - 1] {
            assert!(refusal(&text[..end]).starts_with("b.json: "));
        }
        let changed = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            refusal(&text.replacen(from, to, 1))
        };
        assert!(changed("\"version\":2", "\"version\":3").contains("version 3"));
        assert!(changed("seabed-graph-belief", "seabed-ensemble").contains("seabed-ensemble"));
        assert!(changed("\"weights\":[", "\"weights\":[0.5,").contains("`weights`"));
        assert!(changed("\"weights\":[", "\"weights\":[-").contains("weight"));
        assert!(changed("\"graphs\":[[", "\"graphs\":[[99").contains("`graphs`"));
        assert!(changed("\"families\":[[", "\"families\":[[],[").contains("`families`"));
        assert!(changed("\"parents\":[]", "\"parents\":[99]").contains("`families`"));
        if family == Family::GaussianProcess {
            assert!(changed("\"noise\":", "\"noise\":-").contains("`families`"));
            assert!(changed("\"targets\":[[", "\"targets\":[[77").contains("`rows`"));
            // A variable that was a target in every row, and a process that does not vary.
            let everywhere = text.replace("[],", "[0,1,2,3],").replace("[2]", "[0,1,2,3]");
            assert!(refusal(&everywhere).starts_with("b.json: "));
            let constants = ["constant", "linear", "smooth"];
            let still = constants.iter().fold(text.clone(), |text, key| {
                let parts: Vec<&str> = text.split(&format!("\"{key}\":")).collect();
                let rest = parts[1..].iter().map(|part| &part[part.find(',').unwrap()..]);
                parts[..1].iter().copied().chain(rest).collect::<Vec<_>>().join(&format!("\"{key}\":0.0"))
            });
            assert!(refusal(&still).contains("`families`"));
            let rows = text.find("\"rows\":").unwrap();
            assert!(refusal(&format!("{}\"rows\":null}}", &text[..rows])).contains("`families`"));
        } else {
            assert!(changed("\"scale\":", "\"scale\":-").contains("do not fit together"));
        }
    }
}

#[test]
fn models_and_graphs_share_a_file() {
    let data = toy(7);
    for family in FAMILIES {
        let settings = Mcmc { draws: 4, least_sweeps: 120, most_sweeps: 120, ..Mcmc::of(family) };
        let fit = settings.fit(&data, &Knowledge::none(4), Seed::new(3), &()).unwrap();
        let (models, graphs) = (&fit.ensemble, fit.graphs.as_ref().unwrap());
        let files =
            [belief::to_npz(models, Some(graphs)), belief::to_json(models, Some(graphs)).into_bytes()];
        for bytes in &files {
            let (read, read_graphs) = belief::from_bytes(bytes, "b").unwrap();
            assert_eq!(&read, models);
            assert_eq!(read_graphs.unwrap().to_json(), graphs.to_json());
            assert_eq!(&Ensemble::from_bytes(bytes, "b").unwrap(), models);
        }
        // Without graphs a file is that of the models alone, and read as before.
        assert_eq!(belief::to_npz(models, None), models.to_npz());
        assert_eq!(belief::to_json(models, None), models.to_json());
        assert!(belief::from_bytes(&models.to_npz(), "b").unwrap().1.is_none());
        assert!(belief::from_bytes(models.to_json().as_bytes(), "b").unwrap().1.is_none());
        assert!(belief::from_bytes(models.draws()[0].to_json().as_bytes(), "b").unwrap().1.is_none());

        let refusal = |bytes: &[u8]| belief::from_bytes(bytes, "b").unwrap_err().to_string();
        // Whoever edits a file removes its checksum.
        let text = String::from_utf8(files[1].clone()).unwrap();
        let text = format!("{}}}", &text[..text.find(",\n \"checksum\"").unwrap()]);
        let changed = |from: &str, to: &str| refusal(text.replacen(from, to, 1).as_bytes());
        assert!(changed("\"graphs\": {", "\"graphs\": {\"more\": 1, ").starts_with("b: graphs: "));
        assert!(changed("\"graphs\": {", "\"graphs\": 7, \"x\": {").starts_with("b: "));
        let other = ["V", "W", "X", "Y"].map(String::from).to_vec().into();
        let named: Vec<_> = data.columns().to_vec();
        let targets = (0..data.rows()).map(|row| data.targets(row).clone()).collect();
        let elsewhere = belief_of(family, &Dataset::new(other, named, targets).unwrap());
        assert!(refusal(&belief::to_npz(models, Some(&elsewhere))).contains("`graphs` does not fit"));
        // Every byte of the archive in turn: an error or a belief, never a panic.
        let archive = &files[0];
        for place in (0..archive.len()).step_by(archive.len() / 200) {
            let mut damaged = archive.clone();
            damaged[place] ^= 0x55;
            let _ = belief::from_bytes(&damaged, "b");
            let _ = belief::from_bytes(&archive[..place], "b");
        }
    }
}

/// Mean and second moment of 20 000 draws against those of the density, by trapezoids over 40 standard deviations: z-scores
/// below 4.5 in 2 kinds, 2 families, 3 numbers of rows.
#[test]
fn draws_have_the_moments_of_the_density() {
    let data = toy(6);
    for family in FAMILIES {
        let belief = belief_of(family, &data);
        let largest = |node: usize| belief.families(node).iter().max_by_key(|family| family.parents.len());
        for node in [0, 3] {
            let family = largest(node).unwrap();
            let at =
                |row: usize| -> Vec<f64> { family.parents.iter().map(|&k| data.column(k)[row]).collect() };
            let mut given = family.conditional.given();
            for seen in 0..3 {
                let place: Vec<f64> = at(11).iter().map(|x| x + 1.0).collect();
                check_draws(&given, &place, 10 * node as u64 + seen);
                given = given.with_row(data.column(node)[30] + 0.3, &place);
            }
        }
    }
}

fn check_draws(given: &Given, parents: &[f64], seed: u64) {
    let count = 20_000;
    let mut normals = vec![0.0; count];
    Seed::new(seed).stream(Purpose::Design).fill_normal(&mut normals);
    let noise: Vec<f64> = normals.iter().map(|&z| given.noise(z)).collect();
    let columns: Vec<Vec<f64>> = parents.iter().map(|&x| vec![x; count]).collect();
    let columns: Vec<&[f64]> = columns.iter().map(|column| &column[..]).collect();
    let mut values = vec![0.0; count];
    given.draws(&columns, &noise, &mut Scratch::default(), &mut values);
    assert!((values[5] - given.draw(parents, noise[5])).abs() < 1e-12 * values[5].abs().max(1.0));
    let (centre, scale) = (given.draw(parents, 0.0), given.draw(parents, 1.0) - given.draw(parents, 0.0));
    let step = scale / 50.0;
    let moment = |power: i32| -> f64 {
        let at = |k: i32| {
            let off = step * f64::from(k);
            off.powi(power) * given.log_predictive(centre + off, parents).exp()
        };
        step * (-2000..=2000).map(at).sum::<f64>()
    };
    let n = count as f64;
    let drawn = |power: i32| values.iter().map(|y| (y - centre).powi(power)).sum::<f64>() / n;
    assert!((moment(0) - 1.0).abs() < 1e-6, "the density has mass {}", moment(0));
    let z = drawn(1) / (moment(2) / n).sqrt();
    let z_square = (drawn(2) - moment(2)) / ((moment(4) - moment(2).powi(2)) / n).sqrt();
    assert!(z.abs() < 4.5 && z_square.abs() < 4.5, "{z} {z_square}");
}
