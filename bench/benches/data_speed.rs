//! How long a large table takes to write and to read, as CSV and as Parquet, and how much memory.
//!
//!     cargo bench -p seabed-bench --bench data_speed [-- ROWS COLUMNS]
//!
//! The default is a million rows of 50 columns, about a gigabyte of CSV in a temporary directory.

use std::path::Path;
use std::time::Instant;

use seabed::data::{Dataset, Names, ReadOptions, read_table, write_table};
use seabed::graph::NodeSet;
use seabed_bench::{cpu_time, status_kb};

fn main() {
    // cargo bench adds `--bench`.
    let sizes: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let (rows, columns) = (*sizes.first().unwrap_or(&1_000_000), *sizes.get(1).unwrap_or(&50));
    let directory = tempfile::tempdir().expect("a temporary directory");
    println!("{rows} rows x {columns} columns");
    {
        let dataset = table(rows, columns);
        for file in ["table.csv", "table.parquet"] {
            let path = directory.path().join(file);
            timed(&format!("write {file}"), || write_table(&path, &dataset).expect("it is written"));
        }
    }
    for file in ["table.csv", "table.parquet"] {
        let path = directory.path().join(file);
        let read = timed(&format!("read  {file}"), || read(&path));
        let megabytes = std::fs::metadata(&path).map_or(0, |m| m.len()) >> 20;
        println!("      {megabytes} MB on disk, peak memory so far {} MB", status_kb("VmHWM:") >> 10);
        assert_eq!((read.rows(), read.variables()), (rows, columns));
    }
}

fn read(path: &Path) -> Dataset {
    read_table(path, &ReadOptions::default()).expect("it is read").dataset
}

/// Measurements with all digits, a tenth of the rows interventional.
fn table(rows: usize, columns: usize) -> Dataset {
    let mut state = 1u64;
    let mut uniform = || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let names: Names = (0..columns).map(|k| format!("X{k}")).collect();
    let values = (0..columns).map(|_| (0..rows).map(|_| 8.0 * uniform() - 4.0).collect()).collect();
    let targets = (0..rows).map(|r| match r % 10 {
        0 => NodeSet::of(columns, [r / 10 % columns]),
        _ => NodeSet::empty(columns),
    });
    Dataset::new(names, values, targets.collect()).expect("the table is well formed")
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (wall, cpu) = (Instant::now(), cpu_time().as_secs_f64());
    let result = work();
    println!("{what}: {:.2} s, CPU {:.2} s", wall.elapsed().as_secs_f64(), cpu_time().as_secs_f64() - cpu);
    result
}
