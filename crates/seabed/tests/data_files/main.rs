//! Files in and out: what is written reads back to the same bits, and every bad input gets its message.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use proptest::prelude::*;
use seabed::data::{
    DataError, DataWarning, Dataset, Names, ReadOptions, read_csv_from, read_graph_from, read_parquet,
    read_table, write_csv, write_graph, write_parquet, write_table,
};
use seabed::graph::{Dag, NodeSet};

fn ignoring(columns: &[&str]) -> ReadOptions {
    ReadOptions { ignore: columns.iter().map(ToString::to_string).collect() }
}

fn read(text: impl AsRef<[u8]>) -> Result<Dataset, DataError> {
    read_csv_from(text.as_ref(), "t.csv", &ReadOptions::default()).map(|loaded| loaded.dataset)
}

fn csv(dataset: &Dataset) -> Vec<u8> {
    let mut text = Vec::new();
    write_csv(&mut text, dataset).unwrap();
    text
}

/// Equality of data sets in which -0.0 is not 0.0.
fn same_bits(a: &Dataset, b: &Dataset) -> bool {
    let bits = |data: &Dataset, node| data.column(node).iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    a == b && (0..a.variables()).all(|node| bits(a, node) == bits(b, node))
}

fn names() -> impl Strategy<Value = Vec<String>> {
    let name = prop_oneof![
        "[A-Za-z][A-Za-z0-9_]{0,8}",
        "[^\\p{Cc}\\p{Z};\u{feff}]([^\\p{Cc};\u{feff}]{0,6}[^\\p{Cc}\\p{Z};\u{feff}])?",
        "[\",'#]{1,3}",
        "[0-9]{1,4}",
        Just("source".to_string()),
        Just("target".to_string()),
        Just("NA".to_string()),
    ];
    let name =
        name.prop_filter("a name", |name| seabed::data::check_names(std::slice::from_ref(name)).is_ok());
    let sorted = proptest::collection::btree_set(name, 1..8).prop_map(|names| names.into_iter().collect());
    sorted.prop_flat_map(|names: Vec<String>| Just(names).prop_shuffle())
}

fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>().prop_filter("finite", |value| value.is_finite()),
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |value| value.is_finite()),
        Just(-0.0),
        Just(5e-324),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        (-5i32..5).prop_map(f64::from),
    ]
}

fn datasets() -> impl Strategy<Value = Dataset> {
    (names(), 1usize..12).prop_flat_map(|(names, rows)| {
        let n = names.len();
        let column = proptest::collection::vec(finite(), rows);
        let regime = proptest::collection::btree_set(0..n, 0..=n.min(3)).prop_map(move |s| NodeSet::of(n, s));
        let names: Names = names.into();
        (proptest::collection::vec(column, n), proptest::collection::vec(regime, rows))
            .prop_map(move |(columns, targets)| Dataset::new(names.clone(), columns, targets).unwrap())
    })
}

proptest! {
    #[test]
    fn csv_reads_back_to_the_same_bits(data in datasets()) {
        let text = csv(&data);
        let back = read(&text).unwrap();
        prop_assert!(same_bits(&back, &data), "{}", String::from_utf8_lossy(&text));
        prop_assert_eq!(csv(&back), text);
    }

    #[test]
    fn parquet_reads_back_to_the_same_bits(data in datasets()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.parquet");
        write_table(&path, &data).unwrap();
        let back = read_table(&path, &ReadOptions::default()).unwrap().dataset;
        prop_assert!(same_bits(&back, &data));
        let mut again = Vec::new();
        write_parquet(&mut again, &back).unwrap();
        prop_assert_eq!(again, fs::read(&path).unwrap());
    }

    #[test]
    fn the_order_of_rows_and_columns_changes_nothing_else(data in datasets()) {
        let mut names = data.names().to_vec();
        names.reverse();
        let turned = data.reordered(&names).unwrap();
        prop_assert_eq!(turned.regime_of_row(), data.regime_of_row());
        prop_assert!(same_bits(&turned.reordered(data.names()).unwrap(), &data));
        let columns = (0..data.variables()).map(|v| data.column(v).iter().rev().copied().collect()).collect();
        let targets = (0..data.rows()).rev().map(|row| data.targets(row).clone()).collect();
        let upside_down = Dataset::new(data.names().clone(), columns, targets).unwrap();
        prop_assert_eq!(upside_down.regimes(), data.regimes());
    }

    #[test]
    fn graphs_read_back(names in names(), bits in any::<u64>()) {
        let pairs = (0..names.len()).flat_map(|to| (0..to).map(move |from| (from, to)));
        let dag = Dag::from_edges(names.len(), pairs.filter(|(i, j)| bits >> (i * 8 + j) & 1 == 1)).unwrap();
        let mut text = Vec::new();
        write_graph(&mut text, &names, &dag).unwrap();
        let back = read_graph_from(&*text, "g.csv").unwrap();
        prop_assert_eq!(back.to_dag().unwrap(), dag);
        prop_assert_eq!(&back.names, &names);
        let mut turned = names.clone();
        turned.reverse();
        prop_assert_eq!(back.aligned(&turned).unwrap().aligned(&names).unwrap(), back);
    }
}

#[test]
fn bad_tables_say_what_to_do() {
    let cases: &[(&[u8], &str)] = &[
        (
            b"a,b\n1,x\n",
            "t.csv, row 1 (line 2), column \"b\": \"x\" is not a number; if this column is not a variable, leave it out with --ignore b",
        ),
        (
            b"a,my note\n1,x\n",
            "t.csv, row 1 (line 2), column \"my note\": \"x\" is not a number; if this column is not a variable, leave it out with --ignore \"my note\"",
        ),
        (
            b"a,b\n1,2\n1,\"3,5\"\n",
            "t.csv, row 2 (line 3), column \"b\": \"3,5\" is not a number; write decimals with a point: 3.5",
        ),
        (
            b"a,who\n1,a\n",
            "t.csv, row 1 (line 2), column \"who\": \"a\" is not a number; if this column lists the variables that were intervened on, call it \"intervention_targets\"",
        ),
        (
            b"a,targets\n1,\n",
            "t.csv, row 1 (line 2), column \"targets\": the cell is empty; if this column lists the variables that were intervened on, call it \"intervention_targets\"",
        ),
        (
            b"a,b\n1,\n",
            "t.csv, row 1 (line 2), column \"b\": the cell is empty; fill in a number or remove the row (nothing is imputed)",
        ),
        (
            b"a,b\n1,NA\n",
            "t.csv, row 1 (line 2), column \"b\": \"NA\" stands for a missing value; fill in a number or remove the row (nothing is imputed)",
        ),
        (
            b"a,b\n1,nan\n",
            "t.csv, row 1 (line 2), column \"b\": \"nan\" stands for a missing value; fill in a number or remove the row (nothing is imputed)",
        ),
        (
            b"a,b\n1,-Inf\n",
            "t.csv, row 1 (line 2), column \"b\": \"-Inf\" is not a finite number; remove the row or correct the value",
        ),
        (
            b"a,b\n1,1e999\n",
            "t.csv, row 1 (line 2), column \"b\": \"1e999\" is not a finite number; remove the row or correct the value",
        ),
        (
            b"a,b\n1,\x00\x1b[31m\n",
            "t.csv, row 1 (line 2), column \"b\": \"\\0\\u{1b}[31m\" is not a number; if this column is not a variable, leave it out with --ignore b",
        ),
        (
            b"a,b\n1,2\n1,2,3\n",
            "t.csv, row 2 (line 3): the row has 3 cells, the header 2 cells; put quotes around cells that contain a comma",
        ),
        (
            b"a,b\r\n1,2\r\n\r\n1\r\n",
            "t.csv, row 2 (line 4): the row has 1 cell, the header 2 cells; empty cells need their commas too",
        ),
        (b"a,b,a\n1,2,3\n", "t.csv: columns 1 and 3 are both called \"a\"; give each column its own name"),
        (
            b",b\n1,2\n",
            "t.csv: column 1 has no name; if it is a row index, write the file without it (pandas: index=False, R: row.names=FALSE)",
        ),
        (
            b"a,b;c\n1,2\n",
            "t.csv: the name \"b;c\" of column 2 contains `;`, which separates the names of targets; rename it",
        ),
        (
            b"a,\"b\nc\"\n1,2\n",
            "t.csv: the name \"b\\nc\" of column 2 contains a line break or another control character; rename it",
        ),
        (b"0.5,1.25\n1,2\n", "t.csv: the first line contains numbers, but it must contain the column names"),
        (
            b"erk,mek,intervention_targets\n1,2,meck\n",
            "t.csv, row 1 (line 2), column \"intervention_targets\": there is no variable \"meck\"; did you mean \"mek\"?; the variables are erk, mek",
        ),
        (
            b"erk,mek,intervention_targets\n1,2,\"erk,mek\"\n",
            "t.csv, row 1 (line 2), column \"intervention_targets\": there is no variable \"erk,mek\"; did you mean \"erk;mek\"?; the variables are erk, mek",
        ),
        (
            b"a,b,intervention_targets\n1,2,glucose\n",
            "t.csv, row 1 (line 2), column \"intervention_targets\": there is no variable \"glucose\"; the variables are a, b",
        ),
        (
            b"a,intervention_targets\n1,NA\n",
            "t.csv, row 1 (line 2), column \"intervention_targets\": there is no variable \"NA\"; leave the cell empty if the row is observational",
        ),
        (
            b"a,intervention_targets\n1,2.5\n",
            "t.csv, row 1 (line 2), column \"intervention_targets\": \"2.5\" is a number, but this column names the variables that were set; the value goes into the variable's own column",
        ),
        (
            b"a,intervention_targets\n1,a;a\n",
            "t.csv, row 1 (line 2), column \"intervention_targets\": \"a\" is listed twice; list each target once",
        ),
        (
            b"a,intervention_targets\n1,a;\n",
            "t.csv, row 1 (line 2), column \"intervention_targets\": \"a;\" contains an empty name; separate names with a single `;`",
        ),
        (b"a,b\n", "t.csv: there are no rows; at least one sample is needed"),
        (
            b"intervention_targets\na\n",
            "t.csv: there are no variables; at least one column of numbers is needed",
        ),
        (
            b"a,b\n1,2\n1,caf\xe9\n",
            "t.csv, row 2 (line 3): the text is not UTF-8 (perhaps Latin-1 or Windows-1252); save the file as UTF-8",
        ),
        (
            b"caf\xe9,b\n1,2\n",
            "t.csv, line 1: the text is not UTF-8 (perhaps Latin-1 or Windows-1252); save the file as UTF-8",
        ),
        (
            b"\xff\xfea\0,\0b\0\n\0",
            "t.csv, line 1: the text is not UTF-8 but UTF-16 (in Excel: \"Unicode text\"); save the file as UTF-8",
        ),
        (
            b"a\0,\0b\0\n\0",
            "t.csv, line 1: the text is not UTF-8 but UTF-16 (in Excel: \"Unicode text\"); save the file as UTF-8",
        ),
        (
            b"a;b\n1,5;2\n",
            "t.csv: the columns seem to be separated by semicolons; use commas, and a point for decimals",
        ),
        (
            b"a\tb\n1\t2\n",
            "t.csv: the columns seem to be separated by tabs; use commas, and a point for decimals",
        ),
        (
            b"a,b\n1,2\n1,\"2\n1,2\n",
            "t.csv, row 2 (line 3): a quotation mark opened in this row is never closed",
        ),
        (b"", "t.csv is empty; the first line must contain the column names"),
        (b"\xef\xbb\xbf\n\n", "t.csv is empty; the first line must contain the column names"),
    ];
    for (text, message) in cases {
        let found = read(text).map_or_else(|error| error.to_string(), |_| "it was read".to_string());
        assert_eq!(&found, message, "{:?}", String::from_utf8_lossy(text));
    }
    let long = format!("a\n{}\n", "x".repeat(100));
    assert_eq!(
        read(long).unwrap_err().to_string(),
        format!(
            "t.csv, row 1 (line 2), column \"a\": \"{}\"... is not a number; \
             if this column is not a variable, leave it out with --ignore a",
            "x".repeat(40)
        )
    );
}

#[test]
fn bad_graphs_say_what_to_do() {
    let cases = [
        ("source,target,weight\na,b,1\n", "g.csv: an edge list has the columns source,target and no others"),
        ("source,target\na,a\n", "g.csv, row 1 (line 2): \"a\" has an edge to itself; remove it"),
        (
            "source,target\na\n",
            "g.csv, row 1 (line 2): the row has 1 cell, the header 2 cells; empty cells need their commas too",
        ),
        ("source,target\na,\n", "g.csv, row 1 (line 2): a node has no name; fill it in"),
        (
            "a,b\n0,1\n",
            "g.csv: the matrix has 2 columns and 1 rows, but it must be square; an edge list begins with the line source,target",
        ),
        (
            "a,b\n0,1\n0,0\n0,0\n",
            "g.csv: the matrix has 2 columns and more than 2 rows, but it must be square; an edge list begins with the line source,target",
        ),
        (
            "a,b\n0,0.7\n0,0\n",
            "g.csv, row 1 (line 2), column \"b\": \"0.7\" is neither 0 nor 1; an edge list begins with the line source,target",
        ),
        (
            "from,to\na,b\n",
            "g.csv, row 1 (line 2), column \"from\": \"a\" is neither 0 nor 1; an edge list begins with the line source,target",
        ),
        ("a,b\n0,1\n0,1\n", "g.csv, row 2 (line 3), column \"b\": \"b\" has an edge to itself; remove it"),
        (
            ",a,b\nb,0,1\na,0,0\n",
            "g.csv, row 1 (line 2): the row is called \"b\", but rows must be in the order of the columns, and \"a\" comes next",
        ),
        (
            "a;b\n0;1\n",
            "g.csv: the columns seem to be separated by semicolons; use commas, and a point for decimals",
        ),
        ("", "g.csv is empty; the first line must contain the column names"),
    ];
    for (text, message) in cases {
        let found =
            read_graph_from(text.as_bytes(), "g.csv").map_or_else(|e| e.to_string(), |_| "read".into());
        assert_eq!(found, message, "{text:?}");
    }
    let dag = |text: &str| read_graph_from(text.as_bytes(), "g.csv").unwrap().to_dag();
    assert_eq!(
        dag("source,target\nC,A\nA,B\nB,C\nA,D\n").unwrap_err().to_string(),
        "the graph has a cycle: C -> A -> B -> C"
    );
    assert_eq!(
        dag("A,B\n0,1\n1,0\n").unwrap_err().to_string(),
        "the graph has a cycle: A -> B -> A (an edge in both directions is undirected; \
         here every edge needs one direction)"
    );
    let names = ["erk", "mek", "raf"].map(String::from);
    let aligned = |text: &str| read_graph_from(text.as_bytes(), "g.csv").unwrap().aligned(&names);
    assert_eq!(
        aligned("source,target\nmeck,raf\n").unwrap_err().to_string(),
        "the graph has a node \"meck\" that is not a variable; did you mean \"mek\"?; \
         the variables are erk, mek, raf"
    );
    assert_eq!(
        aligned("raf,mek\n0,1\n0,0\n").unwrap_err().to_string(),
        "the graph lacks the variables erk; a matrix must have them all (an edge list need not)"
    );
}

#[test]
fn bad_paths_say_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let message = |name: &str| {
        let path = directory.path().join(name);
        let error = read_table(&path, &ReadOptions::default()).unwrap_err().to_string();
        error.replace(&directory.path().join("").display().to_string(), "")
    };
    fs::create_dir(directory.path().join("folder.csv")).unwrap();
    fs::create_dir(directory.path().join("folder.parquet")).unwrap();
    fs::write(directory.path().join("text.parquet"), "a,b\n1,2\n").unwrap();
    assert_eq!(message("none.csv"), "none.csv: there is no such file");
    assert_eq!(message("none.parquet"), "none.parquet: there is no such file");
    assert_eq!(message("folder.csv"), "folder.csv is a directory; name a file in it");
    assert_eq!(message("folder.parquet"), "folder.parquet is a directory; name a file in it");
    assert!(message("text.parquet").starts_with("text.parquet is not a readable Parquet file: "));
    let dataset = read("a\n1\n").unwrap();
    let error = write_table(&directory.path().join("none/t.csv"), &dataset).unwrap_err();
    assert!(error.to_string().contains("t.csv cannot be written: there is no folder "), "{error}");
}

#[test]
fn columns_are_left_out_by_name() {
    let text = "a,note,b\n1,caf\u{e9},2\n3,,4\n";
    let loaded = read_csv_from(text.as_bytes(), "t.csv", &ignoring(&["note"])).unwrap();
    assert_eq!(&**loaded.dataset.names(), ["a", "b"]);
    assert_eq!(loaded.dataset.column(1), [2.0, 4.0]);
    let error = read_csv_from(text.as_bytes(), "t.csv", &ignoring(&["notes"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.csv: there is no column notes to ignore; did you mean \"note\"?; the columns are a, note, b"
    );
}

#[test]
fn unusual_columns_give_warnings() {
    let text = "id,a,b\n0,1,2\n1,1,3\n2,1,5\n3,1,5\n4,1,5\n";
    let loaded = read_csv_from(text.as_bytes(), "t.csv", &ReadOptions::default()).unwrap();
    let told: Vec<String> = loaded.warnings.iter().map(DataWarning::to_string).collect();
    assert_eq!(
        told,
        [
            "column \"a\" is 1 in every row: nothing can be learnt about its causes or effects",
            "column \"id\" looks like a row number; if it is not a variable, leave it out with --ignore id",
        ]
    );
}

#[test]
fn a_pandas_file_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/pandas.parquet");
    let data = read_parquet(&path, &ignoring(&["note"])).unwrap().dataset;
    let names = ["double", "single", "long", "int", "byte", "word", "flag", "naïve, \"name\""];
    assert_eq!(&**data.names(), names);
    assert_eq!(
        data.column(0).iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
        [0.1f64.to_bits(), (-0.0f64).to_bits(), 1, f64::MAX.to_bits()]
    );
    assert_eq!(data.column(1), [0.5, 1.5, -2.25, f64::from(0.1f32)]);
    assert_eq!(data.column(2), [1.0, -2.0, 9007199254740992.0, 0.0]);
    assert_eq!(data.column(3), [1.0, -2.0, 3.0, 2147483647.0]);
    assert_eq!(data.column(4), [0.0, 255.0, 128.0, 7.0]);
    assert_eq!(data.column(5), [0.0, 4294967295.0, 5.0, 6.0]);
    assert_eq!(data.column(6), [1.0, 0.0, 1.0, 1.0]);
    let targets: Vec<Vec<usize>> = (0..4).map(|row| data.targets(row).iter().collect()).collect();
    assert_eq!(targets, [vec![], vec![0], vec![], vec![0, 2]]);
    let error = read_parquet(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "pandas.parquet, column \"note\": the values are of type UTF8, not numbers; \
             if this column is not a variable, leave it out with --ignore note"
        ),
        "{error}"
    );
}

#[test]
fn a_damaged_parquet_file_is_an_error() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/pandas.parquet");
    let whole = fs::read(path).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    for length in (0..whole.len()).step_by(7) {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(read_parquet(&path, &ignoring(&["note"])).is_err(), "cut at {length}");
    }
    let mut state = 7u64;
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random(&mut state) % 3 {
            let at = random(&mut state) as usize % bytes.len();
            bytes[at] = random(&mut state) as u8;
        }
        fs::write(&path, &bytes).unwrap();
        // It must never panic; some bytes are data, so some files are still valid.
        let _ = read_parquet(&path, &ignoring(&["note"]));
    }
}

fn random(state: &mut u64) -> u64 {
    // splitmix64
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A header, then the same byte forever; counts the bytes it gave.
struct Endless {
    begin: &'static [u8],
    byte: u8,
    given: usize,
}

impl Read for &mut Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let begin = self.begin.len().min(buffer.len());
        buffer[..begin].copy_from_slice(&self.begin[..begin]);
        buffer[begin..].fill(self.byte);
        self.begin = &self.begin[begin..];
        self.given += buffer.len();
        Ok(buffer.len())
    }
}

#[test]
fn an_endless_row_is_refused_early() {
    let cases: [(&[u8], u8, &str); 5] = [
        (b"a,b\n1,2\n", b'7', "t.csv, row 2 (line 3)"),
        (b"a,b\n1,2\n", b',', "t.csv, row 2 (line 3)"),
        (b"a,b\n1,2\n1,\"", b'\n', "t.csv, row 2 (line 3)"),
        (b"", b'a', "t.csv, line 1"),
        (b"", b',', "t.csv, line 1"),
    ];
    for (begin, byte, place) in cases {
        let mut endless = Endless { begin, byte, given: 0 };
        let error = read_csv_from(&mut endless, "t.csv", &ReadOptions::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{place}: the row that starts here is longer than 16 MiB; is a quotation mark missing?")
        );
        assert!(endless.given < 20 << 20, "{} bytes were read", endless.given);
    }
}

#[test]
fn too_many_columns_are_refused() {
    let mut header = vec![b','; 100_001];
    header.push(b'\n');
    assert_eq!(
        read(header).unwrap_err().to_string(),
        "t.csv: too many columns (100002); the limit is 100000"
    );
}

/// A large table in small: the measurement is in bench/benches/data_speed.rs.
#[test]
fn many_rows_are_read_quickly() {
    let mut text = String::from("a,b,c,intervention_targets\n");
    for row in 0..100_000 {
        let target = ["", "a", "b;c", "c;b"][row % 4];
        text += &format!("{},{:?},{},{target}\n", row, row as f64 / 7.0, -(row as f64));
    }
    let begin = std::time::Instant::now();
    let data = read(&text).unwrap();
    assert!(begin.elapsed().as_secs_f64() < 5.0, "{:?}", begin.elapsed());
    assert_eq!(data.rows(), 100_000);
    assert_eq!(data.regimes().len(), 3);
    assert_eq!(data.column(1)[99_999], 99_999.0 / 7.0);
    assert!(same_bits(&read(&text).unwrap(), &data));
}
