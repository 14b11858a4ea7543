//! The command as a user sees it: what it prints, what it writes, how it fails.

use std::fs;
use std::io::Write;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

fn seabed(directory: &Path, arguments: &str) -> Command {
    let mut command = Command::cargo_bin("seabed").expect("the command is built with its tests");
    // The width of help must not depend on the terminal.
    command.current_dir(directory).args(arguments.split_whitespace()).env_remove("COLUMNS");
    command
}

/// Standard output of a command that succeeds.
#[track_caller]
fn output(directory: &Path, arguments: &str) -> String {
    let assert = seabed(directory, arguments).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// Standard error of a command that refuses its input: exit code 2, nothing on standard output.
#[track_caller]
fn refusal(directory: &Path, arguments: &str) -> String {
    let assert = seabed(directory, arguments).assert().code(2).stdout("");
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn files_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn help_is_as_reviewed() {
    let folder = folder();
    for page in [
        "--help",
        "simulate --help",
        "simulate er --help",
        "simulate scm --help",
        "simulate grn --help",
        "fit --help",
        "effects --help",
        "predict --help",
        "design --help",
        "evaluate --help",
        "demo --help",
        "run --help",
        "sweep --help",
        "sweep run-one --help",
        "sweep work --help",
        "report --help",
    ] {
        insta::assert_snapshot!(page.replace(' ', "_"), output(folder.path(), page));
    }
}

/// The first command of the README ends with a report.
#[test]
fn the_first_command_of_the_readme_works() {
    let command = command_of_the_readme(1);
    let folder = folder();
    let printed = output(folder.path(), command.strip_prefix("cargo run --release -- ").unwrap());
    for said in
        ["world  before  chosen  random", "greedy-edges: ", "the first world after its chosen experiments:"]
    {
        assert!(printed.contains(said), "{printed}");
    }
    assert!(printed.ends_with("report written to seabed-demo/report.html\n"), "{printed}");
    let page = fs::read_to_string(folder.path().join("seabed-demo/report.html")).unwrap();
    // The only address is the name of the format in which figures are saved.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    assert!(page.matches("<svg").count() > 6 && !page.contains("http://") && !page.contains("https://"));
}

fn command_of_the_readme(number: usize) -> String {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    readme.split("```sh\n").nth(number).unwrap().split("\n```").next().unwrap().to_string()
}

/// The second command of the README, in a folder that looks like a clone, prints what the README promises.
#[test]
fn the_second_command_of_the_readme_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let command = command_of_the_readme(2);
    let folder = folder();
    fs::create_dir_all(folder.path().join("target")).unwrap();
    fs::create_dir_all(folder.path().join("examples")).unwrap();
    fs::copy(root.join("examples/guess.csv"), folder.path().join("examples/guess.csv")).unwrap();
    let parts: Vec<&str> = command.split(" && ").collect();
    assert_eq!(parts.len(), 2);
    let outputs: Vec<String> = parts
        .iter()
        .map(|part| output(folder.path(), part.strip_prefix("cargo run --release -- ").unwrap()))
        .collect();
    insta::assert_snapshot!("readme", outputs.concat());
}

/// Follows a guide in an empty folder: writes its files (```` ```toml file=NAME ````, or csv) and runs its commands
/// (```` ```sh ````), in order. Returns the folder and the number of commands.
fn follow_guide(guide: &str) -> (TempDir, usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(guide);
    let text = fs::read_to_string(path).unwrap();
    let folder = folder();
    let mut commands = 0;
    // Every other part is inside a block; its first line names the kind.
    for block in text.split("```").skip(1).step_by(2) {
        let (kind, body) = block.split_once('\n').unwrap();
        if let Some((_, name)) = kind.split_once(" file=") {
            fs::write(folder.path().join(name), body).unwrap();
        }
        for command in body.lines().filter(|_| kind == "sh") {
            output(folder.path(), command.strip_prefix("seabed ").unwrap());
            commands += 1;
        }
    }
    (folder, commands)
}

#[test]
fn the_guide_to_studies_works() {
    let (folder, commands) = follow_guide("studies.md");
    assert_eq!(commands, 11);
    assert_eq!(fs::read_to_string(folder.path().join("loop/metrics.csv")).unwrap().lines().count(), 5);
    for file in
        ["loop/report.html", "study/report.html", "study/results.parquet", "planned/runs/0017/metrics.csv"]
    {
        assert!(folder.path().join(file).exists(), "{file}");
    }
}

#[test]
fn the_guide_to_posteriors_works() {
    let (folder, commands) = follow_guide("posteriors.md");
    assert_eq!(commands, 7);
    assert!(folder.path().join("belief.npz").exists());
}

#[test]
fn the_guide_to_tables_works() {
    let (folder, commands) = follow_guide("tables.md");
    assert_eq!(commands, 1);
    let told = seabed(folder.path(), "fit plate.csv --ignore sample --posterior bootstrap --draws 5")
        .assert()
        .success();
    let told = String::from_utf8(told.get_output().stderr.clone()).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/tables.md");
    let guide = fs::read_to_string(path).unwrap();
    for line in guide.lines().filter_map(|line| line.strip_prefix("    ")) {
        assert!(told.lines().any(|other| other == line), "not told: {line}\nbut\n{told}");
    }
}

#[test]
fn the_guide_to_effects_works() {
    let (folder, commands) = follow_guide("effects.md");
    assert_eq!(commands, 5);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/effects.md");
    let guide = fs::read_to_string(path).unwrap();
    let code = guide.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let run = |python: &str, code: &str| {
        std::process::Command::new(python).args(["-c", code]).current_dir(folder.path()).output()
    };
    let has_numpy = |python: &&str| run(python, "import numpy").is_ok_and(|output| output.status.success());
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(has_numpy) else {
        // Not by a macro whose output is kept from who runs the tests.
        let notice = "skipped: there is no python3 with numpy to read the belief with";
        let _ = writeln!(std::io::stderr(), "{notice}");
        return;
    };
    let read = run(python, code).unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    assert!(String::from_utf8_lossy(&read.stdout).contains("('X1', "));
}

/// A belief knows the range of its data: values are proposed within it, as from the data themselves.
#[test]
fn a_belief_remembers_its_data() {
    let folder = folder();
    let mut table = String::from("raf,mek\n");
    for k in 0..40 {
        let raf = 2.0 + 4.0 * f64::from(k * 7 % 40) / 40.0;
        table += &format!("{raf},{}\n", 0.5 * raf + 0.1 * f64::from(k * 13 % 7));
    }
    fs::write(folder.path().join("data.csv"), table).unwrap();
    let fit = "fit data.csv --posterior mcmc-linear --draws 20 --out belief.npz";
    output(folder.path(), fit);
    let design = "--batch 2 --samples 10 --json";
    let from_belief: serde_json::Value =
        serde_json::from_str(&output(folder.path(), &format!("design belief.npz {design}"))).unwrap();
    for experiment in from_belief["batch"].as_array().unwrap() {
        for (name, value) in experiment["targets"].as_object().unwrap() {
            let (least, most) = if name == "raf" { (2.0, 5.9) } else { (1.0, 3.55) };
            assert!((least..=most).contains(&value.as_f64().unwrap()), "{name} = {value}");
        }
        assert!(experiment["decides"].is_array());
    }
    let told = seabed(folder.path(), "predict belief.npz --do raf=50").assert().success();
    let told = String::from_utf8(told.get_output().stderr.clone()).unwrap();
    assert!(told.starts_with("warning: raf = 50 lies beyond the data (2 to 5.9)"), "{told}");
    let effects: serde_json::Value =
        serde_json::from_str(&output(folder.path(), "effects belief.npz --json")).unwrap();
    assert_eq!(effects["effects"].as_array().unwrap().len(), 2);
    assert!(refusal(folder.path(), "effects data.csv").contains("fit them first"));
}

#[test]
fn the_guide_to_gene_networks_works() {
    let (folder, commands) = follow_guide("gene-networks.md");
    assert_eq!(commands, 4);
    let knockout = fs::read_to_string(folder.path().join("knockout.csv")).unwrap();
    assert_eq!(knockout.lines().filter(|line| line.ends_with(",G3")).count(), 20);
    let levels = output(folder.path(), "simulate grn --network network.xml --knockout G3 --deterministic");
    assert_eq!(levels, output(folder.path(), "simulate grn --network network.xml --do G3=0 --deterministic"));
    let other =
        |options: &str| output(folder.path(), &format!("simulate grn --network network.xml --n 3 {options}"));
    assert_ne!(other("--measure protein"), other(""));
    assert_ne!(other("--gnw-faithful=false"), other("--gnw-faithful=true"));
    // The file is the network: the same cells.
    assert_eq!(
        other("--seed 1"),
        output(folder.path(), "simulate grn --generate ecoli-like --genes 10 --n 3 --seed 1")
    );
}

#[test]
fn gene_networks_that_cannot_be_simulated_are_refused() {
    let folder = folder();
    let refused = |arguments: &str| refusal(folder.path(), &format!("simulate grn {arguments}"));
    assert!(refused("").contains("--network"));
    assert!(refused("--network nowhere.xml").contains("nowhere.xml: there is no such file"));
    fs::write(folder.path().join("bad.xml"), "<!DOCTYPE a><sbml/>").unwrap();
    assert!(refused("--network bad.xml").contains("bad.xml: the file has a document type declaration"));
    let made = |rest: &str| refused(&format!("--generate yeast-like --genes 5 {rest}"));
    assert!(
        refused("--generate ecoli-like --genes 1").contains("a generated network has 2 to 2000 genes, not 1")
    );
    assert!(made("--knockout G9").contains("--knockout: there is no variable \"G9\""));
    assert!(made("--do G1=-1").contains("a factor is at least 0"));
    assert!(made("--do G1=1 --knockout G1").contains("is a target twice"));
    assert_eq!(files_in(folder.path()), ["bad.xml"]);
}

/// A cycle of two genes is simulated and saved; what needs a DAG names it.
#[test]
fn a_cyclic_gene_network_is_simulated_and_its_graph_refused_as_a_dag() {
    let folder = folder();
    let gene = |gene: &str, regulator: &str| {
        let parameters = [
            ("max", 0.05),
            ("maxTranslation", 0.03),
            ("deltaProtein", 0.03),
            ("bindsAsComplex_1", 0.0),
            ("numActivators_1", 1.0),
            ("numDeactivators_1", 0.0),
            ("a_0", 0.1),
            ("a_1", 1.0),
            ("k_1", 0.3),
            ("n_1", 2.0),
        ];
        let parameters: String =
            parameters.iter().map(|(id, value)| format!("<parameter id='{id}' value='{value}'/>")).collect();
        format!(
            "<reaction id='{gene}_synthesis'><listOfModifiers><modifierSpeciesReference species='{regulator}'/>\
             </listOfModifiers><kineticLaw><listOfParameters>{parameters}</listOfParameters></kineticLaw></reaction>\
             <reaction id='{gene}_degradation'><kineticLaw><listOfParameters><parameter id='delta' value='0.05'/>\
             </listOfParameters></kineticLaw></reaction>"
        )
    };
    let network = format!(
        "<sbml><model><listOfSpecies><species id='A'/><species id='B'/></listOfSpecies><listOfReactions>{}{}\
         </listOfReactions></model></sbml>",
        gene("A", "B"),
        gene("B", "A")
    );
    fs::write(folder.path().join("cycle.xml"), network).unwrap();
    let made = seabed(folder.path(), "simulate grn --network cycle.xml --n 5 --save-graph g.csv --out d.csv")
        .assert()
        .success();
    let note = String::from_utf8(made.get_output().stderr.clone()).unwrap();
    assert!(note.contains("note: the graph has a cycle ("), "{note}");
    assert!(refusal(folder.path(), "evaluate --truth g.csv --data d.csv").contains("cycle"));
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let with_threads = |threads: &str| {
        let folder = folder();
        let run = |arguments: &str| {
            let assert =
                seabed(folder.path(), arguments).env("RAYON_NUM_THREADS", threads).assert().success();
            assert.get_output().stdout.clone()
        };
        run(
            "simulate sf --nodes 12 --seed 3 --n 50 --do X2=1 --out data.csv --save-scm model.json --save-graph g.csv",
        );
        let scores = run("evaluate --truth g.csv --ensemble model.json --data data.csv --json");
        let files =
            ["data.csv", "model.json", "g.csv"].map(|name| fs::read(folder.path().join(name)).unwrap());
        (files, scores)
    };
    assert_eq!(with_threads("1"), with_threads("4"));
}

#[test]
fn experiments_on_one_world_share_the_world_and_not_the_noise() {
    let folder = folder();
    let observed = output(folder.path(), "simulate er --nodes 4 --n 5 --seed 2 --save-scm a.json");
    let set = output(folder.path(), "simulate er --nodes 4 --n 5 --seed 2 --do X1=1 --save-scm b.json");
    let (a, b) = (folder.path().join("a.json"), folder.path().join("b.json"));
    assert_eq!(fs::read(a).unwrap(), fs::read(b).unwrap());
    assert!(set.starts_with("X1,X2,X3,X4,intervention_targets\n1.0,") || set.contains("\n1,"));
    // No number of the observation appears among the outcomes of the experiment.
    let numbers = |text: &str| -> Vec<String> { text.split([',', '\n']).map(String::from).collect() };
    let decimals = |n: &&String| n.len() > 6 && n.contains('.');
    assert!(!numbers(&observed).iter().filter(decimals).any(|n| numbers(&set).contains(n)));
    // The file gives the same world, and the order of the targets does not matter.
    let both =
        |order: &str| output(folder.path(), &format!("simulate scm --scm a.json --n 3 --seed 2 {order}"));
    assert_eq!(both("--do X1=1 --do X3=-2.5"), both("--do X3=-2.5 --do X1=1"));
}

/// The saved model reflects the options.
#[test]
fn options_shape_the_world() {
    let folder = folder();
    let world = |options: &str| -> serde_json::Value {
        output(folder.path(), &format!("simulate er --nodes 8 --seed 3 --save-scm m.json {options}"));
        serde_json::from_str(&fs::read_to_string(folder.path().join("m.json")).unwrap()).unwrap()
    };
    let nodes = |world: &serde_json::Value| world["nodes"].as_array().unwrap().clone();
    let weights = |world: &serde_json::Value| -> Vec<f64> {
        let of_node = |node: &serde_json::Value| node["mechanism"]["weights"].as_array().unwrap().clone();
        nodes(world).iter().flat_map(of_node).map(|w| w.as_f64().unwrap()).collect()
    };
    let mlp = world("--hidden 3");
    assert!(nodes(&mlp).iter().all(|node| node["mechanism"]["b1"].as_array().unwrap().len() == 3));
    let (normal, uniform) = (world("--mechanism linear"), world("--mechanism linear --weights uniform"));
    assert!(weights(&uniform).iter().all(|w| (0.5..=2.0).contains(&w.abs())));
    assert!(weights(&normal).iter().any(|w| !(0.5..=2.0).contains(&w.abs())));
    let sds = |world: &serde_json::Value| -> Vec<f64> {
        nodes(world).iter().map(|node| node["noise_sd"].as_f64().unwrap()).collect()
    };
    assert_eq!(sds(&world("--noise-sd 0.2")), [0.2; 8]);
    let unequal = sds(&world("--noise-sd 0.2 --unequal-noise"));
    assert!((unequal[0] - 0.2).abs() < 1e-12 && (unequal[7] - 2.0).abs() < 1e-12);
    // Standardised: an effect has unit variance, so its noise is no longer the 0.1 of the others.
    let standardised = world("--standardise");
    assert!(sds(&standardised).iter().any(|sd| (sd - 1.0).abs() < 0.02));
    assert!(sds(&standardised).iter().any(|sd| *sd < 0.9));
}

#[test]
fn a_world_that_reveals_its_order_is_noted() {
    let folder = folder();
    let note = |options: &str| {
        let mut command =
            seabed(folder.path(), &format!("simulate er --nodes 12 --seed 1 --mechanism linear {options}"));
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    assert!(note("").contains("note: sorting the variables by variance nearly reveals the causal order"));
    assert!(!note("--standardise").contains("by variance"));
    assert_eq!(note("--do X1=1"), "");
}

/// Columns and draws in another order: matched by name, the same numbers.
#[test]
fn an_ensemble_and_data_in_different_orders_are_matched_by_name() {
    let folder = folder();
    output(
        folder.path(),
        "simulate er --nodes 4 --seed 2 --out data.csv --save-scm model.json --save-graph g.csv",
    );
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let reversed: String = read("data.csv")
        .lines()
        .map(|line| line.split(',').rev().collect::<Vec<_>>().join(",") + "\n")
        .collect();
    fs::write(folder.path().join("reversed.csv"), reversed).unwrap();
    let scores = |data: &str| {
        output(folder.path(), &format!("evaluate --truth g.csv --ensemble model.json --data {data} --json"))
    };
    assert_eq!(scores("data.csv"), scores("reversed.csv"));
}

#[test]
fn a_damaged_parquet_file_prints_an_error_and_nothing_else() {
    let folder = folder();
    output(folder.path(), "simulate er --nodes 3 --out data.parquet --save-graph g.csv");
    let good = fs::read(folder.path().join("data.parquet")).unwrap();
    for at in (4..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 0xFF;
        fs::write(folder.path().join("bad.parquet"), bad).unwrap();
        let output = seabed(folder.path(), "evaluate --truth g.csv --data bad.parquet").output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(!message.contains("panicked"), "byte {at}: {message}");
        assert!(output.status.success() || output.status.code() == Some(2), "byte {at}: {message}");
    }
}

#[test]
fn distances_do_not_depend_on_the_order_of_the_variables() {
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("truth.csv", "A,B,C\n0,1,0\n0,0,1\n0,0,0\n");
    write("estimate.csv", "A,B,C\n0,0,0\n1,0,1\n0,0,0\n");
    write("shuffled.csv", "C,A,B\n0,0,0\n0,0,0\n1,1,0\n");
    write("edges.csv", "source,target\nB,C\nB,A\n");
    write("class.csv", "A,B,C\n0,1,0\n1,0,1\n0,1,0\n");
    let expected = "{\"shd\":1,\"shd_double\":2,\"sid\":3}\n";
    for estimate in ["estimate.csv", "shuffled.csv", "edges.csv"] {
        let got = output(folder.path(), &format!("evaluate --truth truth.csv --estimate {estimate} --json"));
        assert_eq!(got, expected, "{estimate}");
    }
    let class = output(folder.path(), "evaluate --truth truth.csv --estimate class.csv --json");
    assert_eq!(class, "{\"shd\":2,\"shd_double\":2,\"sid_lower\":0,\"sid_upper\":6}\n");
}

#[test]
fn scores_of_an_ensemble_and_its_data_are_printed_as_text_and_as_json() {
    let folder = folder();
    seabed(
        folder.path(),
        "simulate er --nodes 6 --seed 4 --out data.parquet --save-scm model.json --save-graph g.csv",
    )
    .assert()
    .success();
    let arguments = "evaluate --truth g.csv --ensemble model.json --data data.parquet";
    insta::assert_snapshot!("scores", output(folder.path(), arguments));
    let json: serde_json::Value =
        serde_json::from_str(&output(folder.path(), &format!("{arguments} --json"))).unwrap();
    let fields: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    for field in ["eshd", "esid", "auroc", "auprc", "ef1", "brier", "ece"] {
        assert!(fields.contains(&field), "{field}");
    }
    assert_eq!((&json["eshd"], &json["auroc"]), (&0.0.into(), &1.0.into()));
}

/// A world whose rows are observed and set; its data as `data.csv`, its graph as `truth.csv`.
fn linear_world() -> TempDir {
    let folder = folder();
    let simulate = |arguments: &str| {
        output(folder.path(), &format!("simulate er --nodes 6 --mechanism linear --seed 5 {arguments}"))
    };
    let header = "X1,X2,X3,X4,X5,X6,intervention_targets\n";
    let observed = simulate("--n 150 --save-graph truth.csv");
    let mut table: String = header.into();
    table.extend(observed.lines().skip(1).map(|line| format!("{line},\n")));
    for target in ["X1", "X4", "X6"] {
        table.extend(
            simulate(&format!("--n 20 --do {target}=2")).lines().skip(1).map(|line| format!("{line}\n")),
        );
    }
    fs::write(folder.path().join("data.csv"), table).unwrap();
    folder
}

/// Without the seconds, which differ from run to run.
fn without_times(text: &str) -> String {
    let line =
        |line: &str| line.rsplit_once("), ").map_or(line.to_string(), |(start, _)| format!("{start}), … s"));
    text.lines().map(|text| line(text) + "\n").collect()
}

#[test]
fn fit_prints_edges_as_text() {
    let folder = linear_world();
    let resampled = output(folder.path(), "fit data.csv --posterior bootstrap --draws 20 --out belief.npz");
    insta::assert_snapshot!("fit", without_times(&resampled));
    insta::assert_snapshot!(
        "fit_single",
        without_times(&output(folder.path(), "fit data.csv --posterior bootstrap --single"))
    );
    insta::assert_snapshot!(
        "fit_evaluated",
        output(folder.path(), "evaluate --truth truth.csv --ensemble belief.npz")
    );
}

#[test]
fn fit_prints_json() {
    let folder = linear_world();
    let read = |arguments: &str| -> serde_json::Value {
        serde_json::from_str(&output(
            folder.path(),
            &format!("fit data.csv --posterior bootstrap --json {arguments}"),
        ))
        .unwrap()
    };
    let fit = read("--draws 20");
    for field in
        ["names", "edge_probabilities", "draws", "repaired_cyclic", "diagnostics", "seconds", "cpu_seconds"]
    {
        assert!(!fit[field].is_null(), "{field}");
    }
    assert_eq!(fit["diagnostics"]["scores"].as_array().unwrap().len(), 20);
    let single = read("--single");
    for field in ["essential_graph", "representative", "score"] {
        assert!(!single[field].is_null(), "{field}");
    }
    assert_eq!(single["essential_graph"][0].as_array().unwrap().len(), 6);
    // Knowledge holds, whatever the data say.
    fs::write(
        folder.path().join("known.toml"),
        "required = [[\"X1\", \"X6\"]]\ntiers = [[\"X1\", \"X2\", \"X3\"]]\n",
    )
    .unwrap();
    let known = read("--draws 20 --knowledge known.toml");
    assert_eq!(known["edge_probabilities"][0][5], 1.0);
    assert_eq!(known["edge_probabilities"][5][0], 0.0);
}

#[test]
fn design_prints_a_batch_and_writes_a_form() {
    let folder = linear_world();
    output(folder.path(), "fit data.csv --posterior bootstrap --draws 20 --out belief.npz");
    let arguments =
        "design belief.npz --batch 4 --range -3:3 --replicates 2 --out batch.csv --curves curves.csv";
    let printed = output(folder.path(), arguments);
    let times = |text: &str| {
        text.lines().map(|line| line.split("; 0.").next().unwrap().to_string() + "\n").collect::<String>()
    };
    insta::assert_snapshot!("design", times(&printed));
    let form = fs::read_to_string(folder.path().join("batch.csv")).unwrap();
    insta::assert_snapshot!("design_form", form);
    let curves = fs::read_to_string(folder.path().join("curves.csv")).unwrap();
    // Five values of each of the six variables, and more beside the best ones.
    assert!(curves.lines().count() > 1 + 6 * 5, "{curves}");
    // Filled in, the form is data beside the others.
    let filled: String =
        form.lines().map(|line| line.replace(",,", ",1,").replace(",,", ",1,") + "\n").collect();
    fs::write(folder.path().join("filled.csv"), filled).unwrap();
    let fit = "fit data.csv filled.csv --posterior bootstrap --ignore experiment --ignore replicate --ignore status --single";
    seabed(folder.path(), fit).assert().success();
}

#[test]
fn design_prints_json_and_scores_designs_of_the_user() {
    let folder = linear_world();
    output(folder.path(), "fit data.csv --posterior bootstrap --draws 20 --out belief.npz");
    let read = |arguments: &str| -> serde_json::Value {
        serde_json::from_str(&output(folder.path(), &format!("design belief.npz --json {arguments}")))
            .unwrap()
    };
    let batch =
        read("--batch 3 --strategy greedy-cbed --target X1 --target X4 --levels X1=0,1 --cost X4=2.5");
    assert_eq!(batch["batch"].as_array().unwrap().len(), 3);
    for experiment in batch["batch"].as_array().unwrap() {
        let (name, value) = experiment["targets"].as_object().unwrap().iter().next().unwrap();
        assert!(name == "X4" || (name == "X1" && [0.0, 1.0].contains(&value.as_f64().unwrap())));
        assert_eq!(experiment["cost"], if name == "X4" { 2.5 } else { 1.0 });
        assert!(experiment["information"].is_number() && experiment["standard_error"].is_number());
    }
    assert!(batch["batch_information"].is_number() && batch["cpu_seconds"].is_number());
    let scores = read("--score X3=1.5 --score X1=0,X2=2");
    assert_eq!(scores["designs"][1]["targets"], serde_json::json!({"X1": 0.0, "X2": 2.0}));
    let question = read("--score X3=1.5 --goal edge=X3,X2");
    let about = |value: &serde_json::Value| value["designs"][0]["information"].as_f64().unwrap();
    assert!(about(&question) <= about(&scores) + 1e-9);
}

/// From data alone: fitted, then designed; bounds come from the data.
#[test]
fn design_takes_data_too() {
    let folder = linear_world();
    let text = output(folder.path(), "design data.csv --posterior bootstrap --draws 20 --batch 5 --json");
    let batch: serde_json::Value = serde_json::from_str(&text).unwrap();
    let again = output(folder.path(), "design data.csv --posterior bootstrap --draws 20 --batch 5 --json");
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!(batch["batch"], again["batch"]);
    assert_eq!(batch["batch"].as_array().unwrap().len(), 5);
}

/// What `fit` saved of the graphs gives the batch that the data give, and decides on the strategy.
#[test]
fn design_takes_the_graphs_that_fit_saved() {
    let folder = linear_world();
    let read = |arguments: &str| -> serde_json::Value {
        serde_json::from_str(&output(folder.path(), &format!("{arguments} --json"))).unwrap()
    };
    let posterior = "--posterior mcmc-linear --draws 20";
    let constraints = "--batch 3 --samples 20 --range -3:3";
    read(&format!("fit data.csv {posterior} --out belief.npz"));
    read(&format!("fit data.csv {posterior} --out belief.json"));
    let from_data = read(&format!("design data.csv {posterior} {constraints} --strategy greedy-edges"));
    for belief in ["belief.npz", "belief.json"] {
        let saved = read(&format!("design {belief} {constraints}"));
        assert_eq!((&saved["batch"], &saved["strategy"]), (&from_data["batch"], &"greedy-edges".into()));
    }
    let named =
        |options: &str| read(&format!("design belief.npz {constraints} {options}"))["strategy"].clone();
    assert_eq!(named("--utility ancestors"), "greedy-ancestors");
    assert_eq!(named("--utility model"), "greedy-cbed");
    assert_eq!(named("--estimator bound"), "greedy-cbed");
    assert_eq!(named("--goal parents=X2"), "greedy-edges");
    let edges = output(folder.path(), "evaluate --ensemble belief.npz --truth truth.csv");
    assert_eq!(edges, output(folder.path(), "evaluate --ensemble belief.json --truth truth.csv"));
}

#[test]
fn fit_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = linear_world();
    let with_threads = |threads: &str| {
        seabed(folder.path(), "fit data.csv --posterior bootstrap --draws 30 --seed 2 --out belief.npz")
            .env("RAYON_NUM_THREADS", threads)
            .assert()
            .success();
        fs::read(folder.path().join("belief.npz")).unwrap()
    };
    assert_eq!(with_threads("1"), with_threads("4"));
}

#[test]
fn errors_say_what_to_do_and_nothing_is_written() {
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("truth.csv", "source,target\nA,B\nB,C\n");
    write("cyclic.csv", "source,target\nA,B\nB,C\nC,A\n");
    write("other.csv", "A,B,D\n0,1,0\n0,0,0\n0,0,0\n");
    write("class.csv", "source,target\nA,B\nB,A\nC,B\n");
    write("bad.csv", "A,B,C\n1,2,3\n1,x,3\n");
    let node = |name: &str| {
        format!(
            r#"{{"name":"{name}","parents":[],"mechanism":{{"type":"linear","weights":[]}},"noise_sd":1}}"#
        )
    };
    write("model1.json", &format!(r#"{{"names":["A","B"],"nodes":[{},{}]}}"#, node("A"), node("B")));
    write("none.json", "{\"names\": [], \"nodes\": []}");
    write("good.csv", "A,B,C\n1,2,3\n1,4,3.5\n2,5,7\n4,4,4\n0,1,1\n");
    write("short.csv", "A,B\n1,2\n2,4\n");
    write("known.toml", "forbidden = [[\"A\", \"Z\"]]");
    write("model.json", "{\"names\": [\"A\"]}");
    let before = files_in(folder.path());
    let cases = [
        "evaluate --truth truth.csv",
        "evaluate --truth truth.csv --estimate cyclic.csv",
        "evaluate --truth cyclic.csv --estimate truth.csv",
        "evaluate --truth truth.csv --estimate other.csv",
        "evaluate --truth truth.csv --estimate class.csv",
        "evaluate --truth truth.csv --estimate nowhere.csv",
        "evaluate --truth truth.csv --ensemble model.json",
        "evaluate --truth truth.csv --data bad.csv",
        "fit nowhere.csv",
        "fit good.csv --out belief.txt",
        "fit good.csv --knowledge nowhere.toml",
        "fit good.csv --knowledge known.toml",
        "fit good.csv --single",
        "fit good.csv --posterior bootstrap --state s.json",
        "fit good.csv --posterior bootstrap --penalty -1",
        "fit good.csv --posterior bootstrap --start cyclic.csv",
        "fit short.csv --posterior bootstrap --draws 5 --out belief.npz",
        "design model1.json --strategy best",
        "design model1.json --utility best",
        "design model1.json --utility edges",
        "design model1.json --utility model --strategy cbed",
        "design model1.json --target Q",
        "design model1.json --target A --forbid A",
        "design model1.json --range 1",
        "design model1.json --bounds A=2:1 --out out.csv",
        "design model1.json --levels A=x",
        "design model1.json --cost A",
        "design model1.json --budget 0.5",
        "design model1.json --max-repeats 1 --batch 5",
        "design model1.json --goal cause=A",
        "design model1.json --goal edge=A",
        "design model1.json --score A=1,A=2",
        "design model1.json --batch 0",
        "design nowhere.npz",
        "simulate er --do X30=1 --out out.csv",
        "simulate er --do X3 --out out.csv",
        "simulate er --do X3=1e999 --out out.csv",
        "simulate er --do X3=1 --do X3=2 --out out.csv",
        "simulate er --do x3=1 --out out.csv",
        "simulate er --do X3=1,X4=2 --out out.csv",
        "simulate er --mechanism linear --hidden 3 --out out.csv",
        "simulate er --weights uniform --out out.csv",
        "simulate er --out out.csv --save-graph out.csv",
        "simulate er --noise-sd 1e308 --unequal-noise --out out.csv",
        "simulate er --mechanism linear --do X1=1e308 --do X2=1e308 --seed 1 --nodes 3 --edges-per-node 1.5 --out out.csv",
        "simulate scm --scm none.json --do A=1",
        "simulate scm --scm nowhere.json",
        "simulate er --nodes 2 --out out.csv",
        "simulate er --nodes 1 --out out.csv",
        "simulate er --n 0 --out out.csv",
        "simulate er --n 99999999999 --out out.csv",
        "simulate er --noise-sd -1 --out out.csv",
        "simulate er --edges-per-node 0 --out out.csv",
        "simulate sf --edges-per-node 1.5 --out out.csv",
        "simulate scm --scm model.json --out out.csv",
        "simulate er --out out.xlsx --save-scm out.json",
    ];
    let report: String =
        cases.iter().map(|case| format!("$ seabed {case}\n{}\n", refusal(folder.path(), case))).collect();
    insta::assert_snapshot!("refusals", report);
    assert_eq!(files_in(folder.path()), before);
}

#[test]
fn an_unwritable_path_is_a_failure_and_a_closed_pipe_is_not() {
    let folder = folder();
    for (arguments, path) in [
        ("simulate er --out nowhere/data.csv", "nowhere/data.csv"),
        ("simulate er --out data.csv --save-scm nowhere/m.json", "nowhere/m.json"),
    ] {
        let expected = format!("error: {path} cannot be written: there is no folder nowhere\n");
        seabed(folder.path(), arguments).assert().code(1).stdout("").stderr(expected);
    }
    assert!(files_in(folder.path()).is_empty());
    fs::write(folder.path().join("data.csv"), "A,B\n1,2\n2,1\n3,5\n4,4\n").unwrap();
    let expected = "error: nowhere/b.npz cannot be written: there is no folder nowhere\n";
    seabed(folder.path(), "fit data.csv --out nowhere/b.npz").assert().code(1).stdout("").stderr(expected);
    let binary = Command::cargo_bin("seabed").unwrap().get_program().to_owned();
    let script = format!("{} simulate er --n 100000 | head -n 1; exit ${{PIPESTATUS[0]}}", binary.display());
    std::process::Command::new("bash").args(["-c", &script]).output().map_or_else(
        |_| eprintln!("skipped: no bash"),
        |done| {
            assert_eq!(String::from_utf8(done.stderr).unwrap(), "");
            assert_eq!(done.status.code(), Some(0));
        },
    );
}

#[test]
fn dibs_fits_resumes_and_starts_warm() {
    let folder = folder();
    let path = folder.path();
    output(path, "simulate er --nodes 4 --n 30 --seed 2 --mechanism nonlinear --out data.csv");
    let command = "fit data.csv --particles 3 --mc-samples 4 --json --seed 1";
    let value = |arguments: &str| -> serde_json::Value {
        serde_json::from_str(&output(path, &format!("{command} {arguments}"))).unwrap()
    };
    for posterior in ["dibs-nonlinear", "dibs-linear", "dibs-bge"] {
        let fit = value(&format!("--posterior {posterior} --steps 60 --state s.json --out belief.npz"));
        // Where parameters are integrated out, each particle gives five graphs.
        assert_eq!(fit["draws"], if posterior == "dibs-bge" { 15 } else { 3 });
        assert_eq!(fit["diagnostics"]["steps"], 60);
        let warm = value(&format!("--posterior {posterior} --steps 20 --warm-start s.json"));
        assert_eq!(warm["diagnostics"]["steps"], 80);
        // Nothing is left to do: the same result again.
        let again = value(&format!("--posterior {posterior} --resume s.json"));
        assert_eq!(again["edge_probabilities"], fit["edge_probabilities"]);
    }
    assert_eq!(value("--posterior dibs-bge --steps 5 --walk 0")["draws"], 3);
    let joint = value(
        "--posterior dibs-linear --steps 5 --estimator joint --noise known=0.1 --prior sf --standardise false --weights log-joint --all-steps",
    );
    assert!(joint["edge_probabilities"].is_array());
    let refused = |arguments: &str| refusal(path, &format!("{command} {arguments}"));
    assert!(refused("--posterior dibs-linear --resume s.json").contains("belongs to another posterior"));
    assert!(
        refused("--posterior dibs-linear --resume nowhere.json")
            .contains("expected a file written by --state")
    );
    assert!(refused("--posterior dibs-linear --noise known=-1").contains("noise = -1"));
    assert!(refused("--posterior dibs-linear --noise loud").contains("write `learned`"));
}

/// Errors in a configuration are reported before anything is written.
#[test]
fn loops_are_refused_with_a_reason() {
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("key.toml", "[posterior]\nstep = 3\n");
    write("type.toml", "rounds = \"many\"\n");
    write("syntax.toml", "rounds = 3\n[world\n");
    write("strategy.toml", "[design]\nstrategy = \"best\"\n");
    write("world.toml", "[world]\nkind = \"scm\"\n");
    write(
        "batch.toml",
        "rounds = 1\n[world]\nnodes = 3\nmechanism = \"linear\"\n[posterior]\nkind = \"bootstrap\"\n[design]\nbatch = 0\n",
    );
    write("sf.toml", "[world]\nkind = \"sf\"\nedges-per-node = 1.5\n");
    let refusals: Vec<String> = [
        "run key.toml",
        "run type.toml",
        "run syntax.toml",
        "run strategy.toml",
        "run world.toml",
        "run sf.toml",
        "run missing.toml",
        "run key.toml --set posterior.step",
        "run",
        "sweep --preset paper",
        "sweep strategy.toml --set design.strategy=[1]",
        "sweep missing",
        "sweep status .",
        "report .",
    ]
    .iter()
    .map(|arguments| format!("$ seabed {arguments}\n{}", refusal(folder.path(), arguments)))
    .collect();
    insta::assert_snapshot!("loop_refusals", refusals.join("\n"));
    assert!(!files_in(folder.path()).iter().any(|name| !name.ends_with(".toml")));
    assert_eq!(
        refusal(folder.path(), "run batch.toml"),
        "error: batch.toml: design: batch is 0: it must be from 1 to 10000\n"
    );
}

/// A printed configuration can be run, and lists every default.
#[test]
fn configurations_are_printed() {
    let folder = folder();
    let defaults = output(folder.path(), "run --print-config");
    insta::assert_snapshot!("default_config", defaults);
    fs::write(folder.path().join("a.toml"), &defaults).unwrap();
    let resolved = output(folder.path(), "run a.toml --print-config --set posterior.steps=500");
    insta::assert_snapshot!("resolved_config", resolved);
}

#[test]
fn a_run_prints_its_rounds_and_a_study_its_report() {
    let folder = folder();
    fs::write(
        folder.path().join("study.toml"),
        "timing = false\nrounds = 2\nseeds = 3\n[world]\nnodes = 5\nmechanism = \"linear\"\n[posterior]\nkind = \"bootstrap\"\ndraws = 20\n\
         [design]\nbatch = 4\nstrategy = [\"random\", \"greedy-cbed\"]\n",
    )
    .unwrap();
    let settings = "--set seed=1 --set design.strategy=soft-cbed --set timing=false --set seeds=1";
    let refused = refusal(folder.path(), &format!("run study.toml --out run {settings}"));
    assert!(refused.contains("unknown field `seeds`"), "{refused}");
    fs::write(
        folder.path().join("run.toml"),
        "timing = false\nrounds = 2\n[world]\nnodes = 5\nmechanism = \"linear\"\n[posterior]\nkind = \"bootstrap\"\ndraws = 20\n[design]\nbatch = 4\n",
    )
    .unwrap();
    insta::assert_snapshot!("run", output(folder.path(), "run run.toml"));
    insta::assert_snapshot!("run_json", output(folder.path(), "run run.toml --json"));
    insta::assert_snapshot!("run_report", output(folder.path(), "report run"));
    let page = fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    for words in [
        "This run asks which of 5 variables cause which others in a simulated world (er, 5 variables, linear).",
        "from 2 of 2 rounds of 4 experiments, chosen by soft-cbed.",
        "The true graph has ",
        "All rounds are done",
        "<h3>Effects</h3>",
        "<h3>Glossary</h3>",
    ] {
        assert!(page.contains(words), "{words}");
    }
    insta::assert_snapshot!("sweep", output(folder.path(), "sweep study.toml"));
    insta::assert_snapshot!("sweep_status", output(folder.path(), "sweep status study"));
    insta::assert_snapshot!("sweep_report", output(folder.path(), "report study --run 1"));
    let page = fs::read_to_string(folder.path().join("study/report.html")).unwrap();
    assert!(page.contains("greedy-cbed") && page.contains("Run 1") && page.contains("This run asks"));
    assert_eq!(page.matches("<h3>Glossary</h3>").count(), 1);
    assert!(files_in(&folder.path().join("study/figures")).len() > 5);
    let refused = refusal(folder.path(), "report study --baseline cbed");
    assert!(refused.contains("the lines are greedy-cbed, random"), "{refused}");
}

#[test]
fn chains_fit_resume_and_reuse_scores() {
    let folder = linear_world();
    let arguments = |rest: &str| format!("fit data.csv {rest}");
    for posterior in ["mcmc-linear", "mcmc-gp"] {
        let read = |rest: &str| -> serde_json::Value {
            let text = output(folder.path(), &arguments(&format!("--posterior {posterior} --json {rest}")));
            serde_json::from_str(&text).unwrap()
        };
        let first = read("--draws 12 --candidates 4 --max-parents 2 --state s.json --out belief.npz");
        let found = &first["diagnostics"];
        assert_eq!(first["draws"], 12);
        for field in ["sweeps", "kept", "agree", "worst_edge", "least_edge_size", "sets_scored"] {
            assert!(!found[field].is_null(), "{field}");
        }
        assert!(found["score"]["r_hat"].as_f64().unwrap() > 0.9);
        for way in ["--resume s.json", "--warm-start s.json --draws 12 --candidates 4 --max-parents 2"] {
            assert_eq!(read(way)["edge_probabilities"], first["edge_probabilities"], "{way}");
        }
    }
    insta::assert_snapshot!("fit_by_default", without_times(&output(folder.path(), &arguments(""))));
    // Too short for so many draws, and then longer.
    let read = |rest: &str| -> serde_json::Value {
        let text = output(folder.path(), &arguments(&format!("--posterior mcmc-linear --json {rest}")));
        serde_json::from_str(&text).unwrap()
    };
    assert_eq!(read("--draws 400 --sweeps 100 --state short.json")["diagnostics"]["sweeps"], 100);
    assert!(read("--resume short.json --sweeps 400")["diagnostics"]["sweeps"].as_u64().unwrap() > 100);
    let printed = output(folder.path(), &arguments("--posterior mcmc-linear --draws 12 --sweeps 200"));
    assert!(printed.contains("4 chains of 200 sweeps, the first 100 burn-in; R-hat"), "{printed}");
    fs::write(folder.path().join("p.csv"), "from,to,probability\nX1,X2,0.9\nX2,X1,1e-4\n").unwrap();
    output(folder.path(), &arguments("--posterior mcmc-linear --draws 4 --edge-probabilities p.csv"));
    let refused = |rest: &str| refusal(folder.path(), &arguments(rest));
    assert!(refused("--posterior mcmc-linear --resume s.json").contains("belongs to another posterior"));
    fs::write(folder.path().join("p.csv"), "from,to,probability\nX1,X2,often\n").unwrap();
    let wrong = refused("--posterior mcmc-linear --edge-probabilities p.csv");
    assert!(wrong.contains("expected a header `from,to,probability`"), "{wrong}");
    fs::write(folder.path().join("p.csv"), "X1,X2,0.9\n").unwrap();
    let wrong = refused("--posterior mcmc-linear --edge-probabilities p.csv");
    assert!(wrong.contains("wrong header"), "{wrong}");
    fs::write(folder.path().join("p.csv"), "from,to,probability\nX1,X9,0.5\n").unwrap();
    assert!(refused("--posterior mcmc-linear --edge-probabilities p.csv").contains("\"X1\" -> \"X9\""));
}

#[test]
fn one_variable_has_nothing_to_find() {
    let folder = folder();
    fs::write(folder.path().join("one.csv"), "raf\n1\n2\n3\n4\n").unwrap();
    let said = refusal(folder.path(), "fit one.csv");
    assert!(said.contains("there is only one variable, \"raf\": nothing can cause it"), "{said}");
}

/// Doses that were never negative are not proposed negative, and a form has no more digits than can be set.
#[test]
fn values_stay_within_the_data_and_are_rounded() {
    let folder = folder();
    let mut table = String::from("dose,answer\n");
    for k in 0..60 {
        let dose = (0.07 * f64::from(k * 37 % 60)).exp();
        table += &format!("{dose},{}\n", dose.sqrt() + 0.1 * f64::from(k * 13 % 7));
    }
    fs::write(folder.path().join("data.csv"), table).unwrap();
    let design =
        "design data.csv --posterior mcmc-linear --draws 20 --batch 3 --samples 10 --out form.csv --json";
    let batch: serde_json::Value = serde_json::from_str(&output(folder.path(), design)).unwrap();
    for experiment in batch["batch"].as_array().unwrap() {
        let mut targets = experiment["targets"].as_object().unwrap().values();
        assert!(targets.all(|value| value.as_f64().unwrap() >= 1.0), "{experiment}");
    }
    assert!(batch["warnings"].is_array() && batch["data_notes"].is_array());
    let form = fs::read_to_string(folder.path().join("form.csv")).unwrap();
    for cell in form.lines().skip(1).flat_map(|line| line.split(',').skip(2).take(2)) {
        let digits = cell.chars().filter(char::is_ascii_digit).count();
        assert!(digits <= 4, "{form}");
    }
}

/// Few rows, and models that agree although they fail their checks, are said in every output.
#[test]
fn false_certainty_is_warned_of_everywhere() {
    let folder = folder();
    fs::write(folder.path().join("few.csv"), "a,b\n1,2\n2,1\n3,5\n4,3\n5,6\n6,4\n7,9\n8,7\n").unwrap();
    let fit = "fit few.csv --posterior mcmc-linear --draws 20 --json";
    let design = "design few.csv --posterior mcmc-linear --draws 20 --batch 1 --samples 10 --json";
    for line in [fit, design] {
        let value: serde_json::Value = serde_json::from_str(&output(folder.path(), line)).unwrap();
        let first = value["warnings"][0].as_str().unwrap_or_default();
        assert!(first.starts_with("8 rows are few for 2 variables"), "{line}: {}", value["warnings"]);
    }
    output(folder.path(), "lab new x.lab --from few.csv");
    output(folder.path(), "lab new x.lab --variables x.toml");
    output(folder.path(), "lab add x.lab few.csv");
    let status = output(folder.path(), "lab status x.lab");
    assert!(status.contains("warning: 8 rows are few for 2 variables"), "{status}");
    let propose = "lab propose x.lab --posterior mcmc-linear --batch 1 --set posterior.draws=20 --json";
    let proposed: serde_json::Value = serde_json::from_str(&output(folder.path(), propose)).unwrap();
    assert!(proposed["warnings"][0].as_str().unwrap().starts_with("8 rows are few"), "{proposed}");
    output(folder.path(), "lab report x.lab");
    let page = fs::read_to_string(folder.path().join("x.html")).unwrap();
    assert!(page.contains("Caution: 8 rows are few for 2 variables"));
    assert!(page.contains("squared error of edge probabilities") && !page.contains("[nats]"));
}
