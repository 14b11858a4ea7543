//! What the library reads.

use std::io::{Cursor, Write};

use seabed::Campaign;
use seabed::belief::GraphBelief;
use seabed::data::{
    Dataset, Names, ReadOptions, Sheet, WorkbookCell, read_csv_from, read_graph_from, read_parquet_from,
    write_csv, write_matrix, write_parquet, write_workbook,
};
use seabed::design::DesignSettings;
use seabed::num::fingerprint;
use seabed::observer::{Observer, Progress};
use seabed::posterior::{Fit, FitError, Knowledge, Posterior, PosteriorSettings, Start, State};
use seabed::scm::{Ensemble, Scm};
use seabed::settings::{Keys, SettingsError};
use seabed::world::grn::Network;

/// A table from any bytes.
pub fn csv(bytes: &[u8]) {
    for ignore in [vec![], vec!["note".to_string()]] {
        let loaded = match read_csv_from(bytes, "fuzz.csv", &ReadOptions::ignoring(&ignore)) {
            Ok(loaded) => loaded,
            Err(error) => {
                assert!(error.to_string().len() < 4096, "a message is for people");
                continue;
            }
        };
        let data = loaded.dataset;
        let mut text = Vec::new();
        write_csv(&mut text, &data).expect("memory takes everything");
        let back = read_csv_from(&*text, "written.csv", &ReadOptions::default())
            .expect("what we write is read")
            .dataset;
        assert_eq!(back, data);
        for node in 0..data.variables() {
            let (a, b) = (data.column(node), back.column(node));
            assert!(a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}

/// A graph from any bytes.
pub fn graph(bytes: &[u8]) {
    let Ok(graph) = read_graph_from(bytes, "fuzz.csv") else { return };
    // A cycle is an error, never a panic.
    let _ = graph.to_dag();
    let aligned = graph.aligned(&graph.names).expect("its own names fit");
    assert_eq!(aligned.adjacency, graph.adjacency);
    if graph.names.is_empty() {
        return;
    }
    let mut text = Vec::new();
    write_matrix(&mut text, &graph.names, &graph.adjacency).expect("memory takes everything");
    let back = read_graph_from(&*text, "written.csv").expect("what we write is read");
    assert_eq!((back.names, back.adjacency), (graph.names, graph.adjacency));
}

/// A model or an ensemble from any bytes, JSON or archive.
pub fn scm_json(bytes: &[u8]) {
    match Scm::from_json(bytes, "fuzz.json") {
        Ok(scm) => assert_eq!(
            Scm::from_json(scm.to_json().as_bytes(), "written.json").expect("what we write is read"),
            scm
        ),
        Err(error) => assert!(error.to_string().len() < 4096, "a message is for people"),
    }
    if let Ok(ensemble) = Ensemble::from_bytes(bytes, "fuzz") {
        for written in [ensemble.to_json().into_bytes(), ensemble.to_npz()] {
            assert_eq!(Ensemble::from_bytes(&written, "written").expect("what we write is read"), ensemble);
        }
    }
}

/// The parts of an ensemble's archive, of two draws over two variables.
const MEMBERS: [&str; 8] = [
    "header.json",
    "weights.npy",
    "adjacency.npy",
    "noise_sd.npy",
    "kind.npy",
    "hidden.npy",
    "parameters.npy",
    "graphs.json",
];

/// An archive of which one part, by the first byte, has any content: the checksums of the archive hide most changes of its
/// bytes from the reader.
pub fn npz(bytes: &[u8]) {
    scm_json(bytes);
    let Some((which, content)) = bytes.split_first() else { return };
    let sound = two_draws().to_npz();
    let mut old = zip::ZipArchive::new(Cursor::new(&sound[..])).expect("written above");
    let mut new = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let changed = MEMBERS[usize::from(*which) % MEMBERS.len()];
    for name in MEMBERS {
        let mut part = Vec::new();
        if name == changed {
            part = content.to_vec();
        } else if let Ok(mut member) = old.by_name(name) {
            std::io::Read::read_to_end(&mut member, &mut part).expect("memory can be read");
        } else {
            continue;
        }
        new.start_file(name, stored).expect("memory takes everything");
        new.write_all(&part).expect("memory takes everything");
    }
    let archive = new.finish().expect("memory takes everything").into_inner();
    scm_json(&archive);
    if let Err(error) = seabed::belief::from_bytes(&archive, "fuzz.npz") {
        assert!(error.to_string().len() < 4096, "a message is for people");
    }
}

fn two_draws() -> Ensemble {
    let draw = |from: &str, to: &str| {
        format!(
            r#"{{"nodes":[{{"name":"{from}","parents":[],"mechanism":{{"type":"linear","weights":[]}},"noise_sd":1}},
            {{"name":"{to}","parents":["{from}"],"mechanism":{{"type":"linear","weights":[2]}},"noise_sd":1}}]}}"#
        )
    };
    let text =
        format!(r#"{{"names":["A","B"],"weights":[1,3],"draws":[{},{}]}}"#, draw("A", "B"), draw("B", "A"));
    Ensemble::from_bytes(text.as_bytes(), "seed").expect("an ensemble")
}

/// A belief about graphs from any bytes.
pub fn graph_belief(bytes: &[u8]) {
    match GraphBelief::from_json(bytes, "fuzz.json") {
        Ok(belief) => {
            let back = GraphBelief::from_json(belief.to_json().as_bytes(), "written.json");
            assert_eq!(back.expect("what we write is read").to_json(), belief.to_json());
        }
        Err(error) => assert!(error.to_string().len() < 4096, "a message is for people"),
    }
}

/// A Parquet file from any bytes.
pub fn parquet(bytes: &[u8]) {
    match read_parquet_from(bytes.to_vec(), "fuzz.parquet", &ReadOptions::default()) {
        Ok(loaded) => {
            let mut written = Vec::new();
            write_parquet(&mut written, &loaded.dataset).expect("memory takes everything");
            let back = read_parquet_from(written, "written.parquet", &ReadOptions::default());
            assert_eq!(back.expect("what we write is read").dataset, loaded.dataset);
        }
        Err(error) => assert!(error.to_string().len() < 4096, "a message is for people"),
    }
}

/// A sheet that people fill in, from any bytes.
pub fn sheet(bytes: &[u8]) {
    match Sheet::read(bytes, "fuzz.csv", &ReadOptions::default()) {
        Ok(sheet) => assert!(sheet.rows.iter().all(|row| row.cells.len() == sheet.header.len())),
        Err(error) => assert!(error.to_string().len() < 4096, "a message is for people"),
    }
}

/// A gene network from any bytes.
pub fn sbml(bytes: &[u8]) {
    match Network::from_sbml(bytes) {
        Ok(network) => {
            // A cycle is an error, never a panic.
            let _ = network.dag();
            let back = Network::from_sbml(network.to_sbml().as_bytes()).expect("what we write is read");
            assert_eq!(back, network);
        }
        Err(error) => assert!(error.to_string().len() < 4096, "a message is for people"),
    }
}

/// Settings from any text, as a file of a study: its runs, and what a fit and a design make of the keys.
pub fn settings(bytes: &[u8]) {
    let keys = Keys::parse(&String::from_utf8_lossy(bytes), "fuzz.toml");
    checked(keys.and_then(|keys| keys.alternatives(&["grid", "range"], &["seed"], "design", 64)));
}

/// Lines of `KEY=VALUE`, as `--set` takes them.
pub fn set(bytes: &[u8]) {
    let mut keys = Keys::none("fuzz");
    let text = String::from_utf8_lossy(bytes);
    let set = text.lines().try_for_each(|line| keys.set(line));
    checked(set.map(|()| vec![keys]));
}

fn checked(keys: Result<Vec<Keys>, SettingsError>) {
    let of_all = keys.and_then(|all| {
        all.iter().try_for_each(|keys| {
            let fit = keys.settings::<PosteriorSettings>().and_then(|fit| fit.check(None).map(drop));
            let design = keys.settings::<DesignSettings>().map(|design| design.check().is_ok());
            let back = Keys::parse(&keys.to_toml(), "written.toml").expect("what we write is read");
            assert_eq!(back.flattened(), keys.flattened());
            fit.and(design.map(drop))
        })
    });
    if let Err(error) = of_all {
        assert!(error.to_string().len() < 4096 + 4 * 1000, "a message is for people");
    }
}

/// The saved state of a fit from any bytes, resumed.
pub fn state(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // As it is, and with the checksum of what it holds, so that this is looked at too.
    let _ = State::from_json(&text);
    let held = text.split_once("\"state\":").map_or(&*text, |(_, held)| held.trim_end_matches('}'));
    let closed = |braces: usize| {
        let held = format!("{held}{}", "}".repeat(braces));
        let checksum = fingerprint::of_bytes(held.bytes());
        format!("{{\"seabed-state\":2,\"checksum\":\"{checksum:016x}\",\"state\":{held}}}")
    };
    let Some(state) = (0..4).find_map(|braces| State::from_json(&closed(braces)).ok()) else { return };
    assert_eq!(State::from_json(&state.to_json()).expect("what we write is read"), state);
    let _ = state.describe();
    // It ends, is stopped with a state that is read again, or is refused.
    match resumed(state) {
        Ok(fit) => {
            let probabilities = fit.ensemble.edge_probabilities();
            assert!(probabilities.iter().flatten().all(|p| p.is_finite()));
        }
        Err(FitError::Stopped(state)) => {
            State::from_json(&state.to_json()).expect("what we write is read");
        }
        Err(error) => assert!(error.to_string().len() < 4096, "a message is for people"),
    }
}

/// What comes of a state of a fit of the small data, if it is stopped at once.
pub fn resumed(state: State) -> Result<Fit, FitError> {
    let posterior = match &state {
        State::Bootstrap(state) => Posterior::Bootstrap(state.settings.clone()),
        State::Dibs(state) => Posterior::Dibs(state.settings.clone()),
        State::Mcmc(state) => Posterior::Mcmc(state.settings.clone()),
        _ => panic!("a new kind of state"),
    };
    posterior.fit(&small_data(), &Knowledge::none(2), Start::Resumed(Box::new(state)), &Stops)
}

/// The data that the states among the seeds are fits of.
pub fn small_data() -> Dataset {
    let columns = vec![vec![0.5, 1.0, -2.0, 0.25, 3.0, 1.5], vec![1.0, 2.5, -3.0, 0.0, 6.5, 2.0]];
    Dataset::from_columns(&["a", "b"], columns, &[]).expect("two columns of six numbers")
}

/// Stops every fit at once.
pub struct Stops;

impl Observer for Stops {
    fn progress(&self, _: &Progress<'_>) -> bool {
        false
    }
}

/// A saved campaign from any text, with the checksum of what it holds.
pub fn campaign(bytes: &[u8]) {
    let Ok(mut value) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
    if let Some(fields) = value.as_object_mut() {
        fields.remove("checksum");
        let checksum = fingerprint::of_bytes(value.to_string().into_bytes());
        value["checksum"] = format!("{checksum:016x}").into();
    }
    match Campaign::from_json(&value.to_string()) {
        Ok(campaign) => {
            let text = campaign.to_json();
            assert_eq!(Campaign::from_json(&text).expect("what we write is read").to_json(), text);
        }
        Err(error) => assert!(error.to_string().len() < 4096, "a message is for people"),
    }
}

/// A workbook whose sheet has any content: the checksums of the archive hide most changes of its bytes from the reader.
pub fn workbook(bytes: &[u8]) {
    let mut sound = Vec::new();
    write_workbook(&mut sound, "s", [vec![WorkbookCell::Empty]]).expect("memory takes everything");
    let mut old = zip::ZipArchive::new(Cursor::new(&sound[..])).expect("written above");
    let mut new = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for name in WORKBOOK {
        let mut part = Vec::new();
        if name.ends_with("sheet1.xml") {
            part = bytes.to_vec();
        } else {
            let mut member = old.by_name(name).expect("written above");
            std::io::Read::read_to_end(&mut member, &mut part).expect("memory can be read");
        }
        new.start_file(name, stored).expect("memory takes everything");
        new.write_all(&part).expect("memory takes everything");
    }
    let archive = new.finish().expect("memory takes everything").into_inner();
    csv(&archive);
    sheet(&archive);
}

/// The parts of a workbook.
const WORKBOOK: [&str; 5] = [
    "[Content_Types].xml",
    "_rels/.rels",
    "xl/workbook.xml",
    "xl/_rels/workbook.xml.rels",
    "xl/worksheets/sheet1.xml",
];

/// Background knowledge about three variables from any text.
pub fn knowledge(bytes: &[u8]) {
    let names: Names = ["a", "b", "c"].map(String::from).into();
    match Knowledge::from_toml(&String::from_utf8_lossy(bytes), &names) {
        Ok(knowledge) => {
            let back = Knowledge::from_form(&knowledge.to_form(&names), &names);
            assert_eq!(back.expect("what we write is read"), knowledge);
        }
        Err(error) => assert!(error.to_string().len() < 4096, "a message is for people"),
    }
}
