//! Files in and out: what is written reads back to the same bits, and what others write is read.

mod refusals;

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use seabed::data::{
    DataError, Dataset, Names, ReadOptions, read_csv_from, read_graph_from, read_parquet, read_table,
    write_csv, write_graph, write_parquet, write_table,
};
use seabed::graph::{Dag, NodeSet};

fn ignoring(columns: &[&str]) -> ReadOptions {
    ReadOptions::ignoring(&columns.iter().map(ToString::to_string).collect::<Vec<_>>())
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
