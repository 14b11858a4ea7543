//! Gene networks as a world and as files.

use std::path::Path;

use seabed::graph::NodeSet;
use seabed::num::random::{Purpose, Seed, Stream};
use seabed::scm::Intervention;
use seabed::world::World;
use seabed::world::grn::{
    Gene, Generated, Grn, Input, Measure, Measurement, Module, Network, NetworkError, Organism,
};
use seabed_testkit::shared;

fn stream(k: u64) -> Stream {
    Seed::new(8).stream(Purpose::Noise).at(k)
}

fn generated(organism: Organism, genes: usize, seed: u64) -> Network {
    Generated { organism, genes }.draw(Seed::new(seed)).unwrap()
}

fn intervention(settings: &[(usize, f64)]) -> Intervention {
    Intervention::new(settings.iter().copied()).unwrap()
}

fn free(activation: f64) -> Gene {
    Gene {
        transcription: 0.05,
        mrna_decay: 0.05,
        translation: 0.03,
        protein_decay: 0.03,
        modules: vec![],
        activation: vec![activation],
    }
}

fn regulated_by(regulator: usize) -> Gene {
    let input = Input { regulator, dissociation: 0.3, hill: 2.0 };
    let module = Module { complex: false, activators: vec![input], deactivators: vec![] };
    Gene { modules: vec![module], activation: vec![0.0, 1.0], ..free(1.0) }
}

fn named(names: &[&str], genes: Vec<Gene>) -> Result<Network, NetworkError> {
    Network::new("toy", names.iter().map(ToString::to_string).collect(), genes)
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let world = Grn::new(generated(Organism::YeastLike, 12, 1), Measurement::default());
    let in_pool = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| world.experiment(&intervention(&[(1, 0.0)]), 70, stream(0)).unwrap())
    };
    assert_eq!(in_pool(1), in_pool(4));
    // More samples begin with the same ones.
    let few = world.experiment(&intervention(&[(1, 0.0)]), 7, stream(0)).unwrap();
    assert!(few.columns().iter().zip(in_pool(2).columns()).all(|(few, many)| few[..] == many[..7]));
    assert_ne!(world.experiment(&intervention(&[(1, 0.0)]), 7, stream(1)).unwrap(), few);
}

#[test]
fn the_order_of_the_genes_does_not_matter() {
    let network = generated(Organism::YeastLike, 10, 2);
    let to = |node: usize| 9 - node;
    let turned = |inputs: &[Input]| -> Vec<Input> {
        inputs.iter().map(|input| Input { regulator: to(input.regulator), ..*input }).collect()
    };
    let module = |module: &Module| Module {
        complex: module.complex,
        activators: turned(&module.activators),
        deactivators: turned(&module.deactivators),
    };
    let gene = |gene: &Gene| Gene { modules: gene.modules.iter().map(module).collect(), ..gene.clone() };
    let genes = network.genes().iter().rev().map(gene).collect();
    let names = network.names().iter().rev().cloned().collect();
    let reversed = Network::new(network.name(), names, genes).unwrap();
    let (a, b) = (Grn::new(network, Measurement::default()), Grn::new(reversed, Measurement::default()));
    let (first, second) = (
        a.experiment(&intervention(&[(2, 0.0)]), 20, stream(0)).unwrap(),
        b.experiment(&intervention(&[(to(2), 0.0)]), 20, stream(0)).unwrap(),
    );
    assert_eq!(second.reordered(first.names()).unwrap(), first);
}

#[test]
fn factors_act_on_transcription_and_the_measured_level_is_in_the_data() {
    let network = named(&["A", "B"], vec![free(1.0), regulated_by(0)]).unwrap();
    let quiet = |of| Grn::new(network.clone(), Measurement { of, deterministic: true, faithful: true });
    let level = |of, settings: &[(usize, f64)]| {
        let data = quiet(of).experiment(&intervention(settings), 3, stream(0)).unwrap();
        assert_eq!(data.targets(2), &NodeSet::of(2, settings.iter().map(|setting| setting.0)));
        assert_eq!(data.column(0)[0], data.column(0)[2]);
        [data.column(0)[0], data.column(1)[0]]
    };
    let bound = |a: f64| (a / 0.3).powi(2) / (1.0 + (a / 0.3).powi(2));
    for of in [Measure::Mrna, Measure::Protein] {
        for (a, b) in [(1.0, 1.0), (0.0, 1.0), (0.5, 1.0), (3.0, 1.0), (0.5, 2.0)] {
            let settings: &[(usize, f64)] = if b == 1.0 { &[(0, a)] } else { &[(0, a), (1, b)] };
            let [got_a, got_b] = level(of, settings);
            assert!((got_a - a).abs() < 1e-3 && (got_b - b * bound(a)).abs() < 2e-3, "{got_a} {got_b}");
        }
        assert!((level(of, &[])[1] - bound(1.0)).abs() < 1e-3);
    }
    // A noisy knock-out: the target is at 0 except for a rare remainder, and its effect follows.
    let data =
        Grn::new(network, Measurement::default()).experiment(&intervention(&[(0, 0.0)]), 50, stream(0));
    assert!(data.unwrap().columns().iter().flatten().all(|level| (0.0..0.05).contains(level)));
}

#[test]
fn impossible_interventions_are_refused() {
    let world = Grn::new(named(&["A"], vec![free(1.0)]).unwrap(), Measurement::default());
    let message = |settings: &[(usize, f64)], n| {
        world.experiment(&intervention(settings), n, stream(0)).unwrap_err().to_string()
    };
    assert_eq!(
        message(&[(0, -0.5)], 1),
        "gene \"A\" cannot be transcribed -0.5 times as fast: a factor is at least 0 (knock-out) and at most 1000"
    );
    assert!(message(&[(0, 1e4)], 1).contains("at most 1000"));
    assert_eq!(message(&[(3, 1.0)], 1), "node 3 is a target, but the world has only 1 variables");
    assert!(message(&[], 0).contains("no rows"));
}

/// A free gene at level 1: mean 1 and variance 0.05² in the long run; both z-scores below 4.5.
#[test]
fn a_free_gene_has_the_stationary_moments() {
    let world = Grn::new(
        named(&["A"], vec![free(1.0)]).unwrap(),
        Measurement { faithful: false, ..Measurement::default() },
    );
    let n = 4000;
    let data = world.experiment(&Intervention::none(), n, stream(0)).unwrap();
    let mean = data.column(0).iter().sum::<f64>() / n as f64;
    let variance = data.column(0).iter().map(|x| (x - 1.0).powi(2)).sum::<f64>() / n as f64;
    let expected = 0.0025;
    // The Stratonovich reading moves the mean by 0.05²/4 at a decay of any size.
    assert!((mean - 1.0 - expected / 4.0).abs() < 4.5 * (expected / n as f64).sqrt(), "{mean}");
    assert!((variance / expected - 1.0).abs() < 4.5 * (2.0 / n as f64).sqrt() + 0.03, "{variance}");
}

#[test]
fn a_cycle_can_be_simulated_but_is_not_a_dag() {
    let network = named(&["A", "B", "C"], vec![regulated_by(1), regulated_by(0), regulated_by(1)]).unwrap();
    let message = network.dag().unwrap_err().to_string();
    assert!(
        message
            == "the gene network has a cycle, A -> B -> A; it can be simulated, but a network without cycles is needed here"
            || message.contains("B -> A -> B"),
        "{message}"
    );
    assert!(
        Grn::new(network.clone(), Measurement::default())
            .experiment(&Intervention::none(), 2, stream(0))
            .is_ok()
    );
    let regulations = network.regulations();
    assert!(regulations[0][1] && regulations[1][0] && regulations[1][2] && !regulations[2][1]);
    let itself = named(&["A"], vec![regulated_by(0)]).unwrap();
    assert!(itself.dag().unwrap_err().to_string().contains("A -> A"));
    assert_eq!(Network::from_sbml(itself.to_sbml().as_bytes()).unwrap(), itself);
}

/// Means over twenty networks of 50 genes lie where the published networks of that size lie.
#[test]
fn generated_networks_have_the_statistics_of_their_kind_and_survive_their_file() {
    for (organism, edges, regulators, hub, loops) in [
        (Organism::EcoliLike, 60.0..82.0, 9.0..14.0, 12.0..20.0, 5.0..20.0),
        (Organism::YeastLike, 77.0..173.0, 26.0..37.0, 8.0..23.0, 30.0..174.0),
    ] {
        let mut means = [0.0; 4];
        for seed in 0..20 {
            let network = generated(organism, 50, seed);
            let dag = network.dag().unwrap();
            let out: Vec<usize> = (0..50).map(|node| dag.children(node).len()).collect();
            let loops_of =
                |a: usize, c: usize| dag.children(a).iter().filter(|&b| dag.has_edge(b, c)).count();
            let found = [
                dag.edge_count(),
                out.iter().filter(|&&children| children > 0).count(),
                *out.iter().max().unwrap(),
                dag.edges().map(|(a, c)| loops_of(a, c)).sum(),
            ];
            (0..4).for_each(|k| means[k] += found[k] as f64 / 20.0);
            assert!((0..50).all(|node| dag.parents(node).len() <= 12));
            network.genes().iter().for_each(check_kinetics);
            assert_eq!(Network::from_sbml(network.to_sbml().as_bytes()).unwrap(), network);
        }
        for (mean, range) in means.iter().zip([edges, regulators, hub, loops]) {
            assert!(range.contains(mean), "{organism:?}: {means:?}");
        }
    }
    assert_eq!(generated(Organism::EcoliLike, 20, 1), generated(Organism::EcoliLike, 20, 1));
    assert_ne!(generated(Organism::EcoliLike, 20, 1), generated(Organism::EcoliLike, 20, 2));
    for genes in [2, 3, 2000] {
        assert!(generated(Organism::YeastLike, genes, 1).dag().unwrap().edge_count() > 0);
    }
    let refused = Generated { organism: Organism::EcoliLike, genes: 1 }.draw(Seed::new(1)).unwrap_err();
    assert_eq!(refused.to_string(), "a generated network has 2 to 2000 genes, not 1");
}

fn check_kinetics(gene: &Gene) {
    let half_life = std::f64::consts::LN_2 / gene.mrna_decay;
    assert!((5.0..=50.0).contains(&half_life) && gene.transcription == gene.mrna_decay);
    assert!(gene.inputs().all(|i| (1.0..=10.0).contains(&i.hill) && (0.01..=1.0).contains(&i.dissociation)));
    assert!(gene.activation.iter().all(|a| (0.0..=1.0).contains(a)));
    let most = gene.activation.iter().copied().fold(0.0, f64::max);
    assert!((most - 1.0).abs() < 1e-12, "{:?}", gene.activation);
}

#[test]
fn published_networks_are_read_and_written() {
    let Some(folder) = shared("dream4") else { return };
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let network = Network::read(&path).unwrap();
        assert_eq!(Network::from_sbml(network.to_sbml().as_bytes()).unwrap(), network);
        // The networks of DREAM3 have no cycles, those of DREAM4 all have.
        assert_eq!(network.dag().is_ok(), network.name().starts_with("InSilico"), "{}", path.display());
        read += 1;
    }
    assert_eq!(read, 25);
}

/// The toy network's file with one piece replaced, and why it is refused.
#[test]
fn a_bad_file_is_refused_with_the_reaction_and_the_parameter() {
    let good = named(&["A", "B_x"], vec![free(1.0), regulated_by(0)]).unwrap().to_sbml();
    let p = |id: &str, value: &str| format!(r#"<parameter id="{id}" name="{id}" value="{value}" />"#);
    let delta = p("delta", "0.05");
    let cases: Vec<(String, String, &str)> = vec![
        (
            delta.clone(),
            p("delta", "1.5"),
            "reaction \"A_degradation\": the parameter \"delta\" is 1.5, but must be above 0 and below 1 per minute, the step of the simulation",
        ),
        (
            delta.clone(),
            p("delta", "NaN"),
            "reaction \"A_degradation\": the parameter \"delta\" is NaN, but must be",
        ),
        (delta.clone(), String::new(), "reaction \"A_degradation\": the parameter \"delta\" is missing"),
        (
            delta.clone(),
            p("delta", "fast"),
            "reaction \"A_degradation\": the parameter \"delta\" is \"fast\", which is not a number",
        ),
        (
            delta.clone(),
            format!("{delta}{delta}"),
            "reaction \"A_degradation\": the parameter \"delta\" is given twice",
        ),
        (
            delta.clone(),
            format!("{delta}{}", p("gamma", "1")),
            "reaction \"A_degradation\": the parameter \"gamma\" is unknown",
        ),
        (
            p("k_1", "0.3"),
            p("k_1", "0.0"),
            "reaction \"B_x_synthesis\": the parameter \"k_1\" is 0, but must be above 0",
        ),
        (
            p("n_1", "2.0"),
            p("n_1", "1e9"),
            "reaction \"B_x_synthesis\": the parameter \"n_1\" is 1000000000, but must be above 0 and at most 100",
        ),
        (p("n_1", "2.0"), String::new(), "reaction \"B_x_synthesis\": the parameter \"n_1\" is missing"),
        (p("a_1", "1.0"), String::new(), "reaction \"B_x_synthesis\": the parameter \"a_1\" is missing"),
        (
            p("a_1", "1.0"),
            p("a_1", "-1"),
            "reaction \"B_x_synthesis\": the parameter \"a_1\" is -1, but must be at least 0",
        ),
        (
            p("bindsAsComplex_1", "0.0"),
            p("bindsAsComplex_1", "0.5"),
            "the parameter \"bindsAsComplex_1\" is 0.5, but must be a whole number from 0 to 1",
        ),
        (
            p("bindsAsComplex_1", "0.0"),
            String::new(),
            "reaction \"B_x_synthesis\": the modules have 0 inputs (numActivators and numDeactivators together), but there are 1 modifiers",
        ),
        (p("numDeactivators_1", "0.0"), p("numDeactivators_1", "1.0"), "the modules have 2 inputs"),
        (
            "modifierSpeciesReference species=\"A\"".into(),
            "modifierSpeciesReference species=\"a\"".into(),
            "reaction \"B_x_synthesis\": the modifier \"a\" is not a species of the file; did you mean \"A\"?",
        ),
        (
            "modifierSpeciesReference species=\"A\"".into(),
            "modifierSpeciesReference".into(),
            "\"B_x_synthesis\": an element <modifierSpeciesReference> has no attribute \"species\"",
        ),
        (
            "reaction id=\"A_synthesis\"".into(),
            "reaction id=\"C_synthesis\"".into(),
            "reaction \"C_synthesis\": its id must be GENE_synthesis or GENE_degradation, where GENE is a species in the file",
        ),
        (
            "reaction id=\"A_synthesis\"".into(),
            "reaction id=\"A_degradation\"".into(),
            "reaction \"A_degradation\" is given twice",
        ),
        ("<species id=\"A\"".into(), "<species id=\"B_x\"".into(), "both called \"B_x\""),
        (
            "<species id=\"A\"".into(),
            "<species id=\"C\" /><species id=\"A\"".into(),
            "there is no reaction \"C_synthesis\"",
        ),
        ("<listOfSpecies>".into(), "<listOfGenes>".into(), "this is not readable as XML"),
        ("<model name".into(), "<model nam".into(), ""),
    ];
    for (from, to, expected) in cases {
        assert!(good.contains(&from), "{from}");
        let bad = good.replacen(&from, &to, 1);
        match Network::from_sbml(bad.as_bytes()) {
            Ok(network) => assert!(expected.is_empty() && network.name().is_empty(), "{to} is accepted"),
            Err(error) => {
                let message = error.to_string();
                assert!(
                    !expected.is_empty() && message.contains(expected),
                    "{message}\n  instead of\n{expected}"
                );
            }
        }
    }
    assert!(named(&["_void_"], vec![free(1.0)]).unwrap_err().to_string().contains("_void_"));
    assert!(
        Network::read(Path::new("nowhere.xml"))
            .unwrap_err()
            .to_string()
            .starts_with("nowhere.xml: there is no such file")
    );
}

#[test]
fn documents_with_entities_are_refused() {
    let bomb = r#"<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><sbml><model name="&b;"/></sbml>"#;
    let outside = r#"<!DOCTYPE b [<!ENTITY a SYSTEM "file:///etc/passwd">]><sbml><model name="&a;"/></sbml>"#;
    let elsewhere = r#"<!DOCTYPE b SYSTEM "http://localhost/x.dtd"><sbml><model/></sbml>"#;
    for text in [bomb, outside, elsewhere] {
        assert_eq!(Network::from_sbml(text.as_bytes()), Err(NetworkError::DocumentType));
    }
    // As deep as a file may be: no stack overflows.
    let deep = "<a>".repeat(1 << 20);
    assert!(Network::from_sbml(deep.as_bytes()).is_err());
    let closed = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
    assert!(Network::from_sbml(closed.as_bytes()).is_err());
    assert!(Network::from_sbml(&vec![b' '; (1 << 25) + 1]).unwrap_err().to_string().contains("more than"));
    assert!(Network::from_sbml(b"\xff\xfe").unwrap_err().to_string().contains("not UTF-8"));
}
