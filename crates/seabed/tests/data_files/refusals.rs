//! Every bad input gets its message and what is unusual is told; none makes the reader panic or wait.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use seabed::data::{
    DataWarning, ReadOptions, read_csv_from, read_graph_from, read_parquet, read_table, write_table,
};

use super::{ignoring, read};

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
            b"a,who\n1,a\n",
            "t.csv, row 1 (line 2), column \"who\": \"a\" is not a number; if this column lists the variables that were intervened on, call it \"intervention_targets\"",
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
            "t.csv, row 2 (line 3): the row has 3 cells, the header 2 cells; put quotes around cells that contain a comma; numbers with decimal commas need semicolons or tabs between the cells",
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
