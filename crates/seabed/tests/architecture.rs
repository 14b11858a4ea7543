//! Modules and crates use what the tables of ARCHITECTURE.md say, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Edges = BTreeMap<String, BTreeSet<String>>;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of the table whose first heading is `what`: first cell -> names in the last cell.
fn table(text: &str, what: &str) -> Edges {
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(String::from).collect::<BTreeSet<_>>();
    let rows = text.lines().skip_while(|line| !line.starts_with(&format!("| {what} |"))).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
            (names(cells[0]).into_iter().next().unwrap(), names(cells[cells.len() - 1]))
        })
        .collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = |path: PathBuf| if path.is_dir() { rust_files(&path) } else { vec![path] };
    entries.flat_map(files).filter(|path| path.extension().is_some_and(|e| e == "rs")).collect()
}

/// The modules that the code of a source text names as `crate::module`; links in comments are free to point anywhere.
fn used_modules(source: &str) -> Vec<String> {
    let code =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let direct = code.match_indices("crate::").map(|(at, prefix)| word(&code[at + prefix.len()..]));
    // `use crate::{a::X, b::Y};` names its modules in braces.
    let grouped = code.match_indices("crate::{").flat_map(|(at, prefix)| {
        let group = code[at + prefix.len()..].split(';').next().unwrap_or("");
        group.split(['{', ',', '}']).map(|part| word(part.trim())).collect::<Vec<_>>()
    });
    direct.chain(grouped).filter(|module| !module.is_empty()).collect()
}

/// What the modules of the library really use; tests of a module may use any.
fn real_edges(modules: &BTreeSet<String>) -> Edges {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut edges = Edges::new();
    for entry in fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap().to_string();
        if ["lib", "error"].contains(&module.as_str()) {
            continue;
        }
        assert!(modules.contains(&module), "{module} has no row in ARCHITECTURE.md");
        let used = edges.entry(module.clone()).or_default();
        let files = if path.is_dir() { rust_files(&path) } else { vec![path] };
        for file in files.iter().filter(|file| !file.components().any(|part| part.as_os_str() == "tests")) {
            let text = fs::read_to_string(file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            used.extend(
                used_modules(code).into_iter().filter(|used| modules.contains(used) && *used != module),
            );
        }
    }
    edges
}

#[test]
fn modules_use_what_the_table_says() {
    let text = fs::read_to_string(project().join("ARCHITECTURE.md")).unwrap();
    let said = table(&text, "module");
    let modules: BTreeSet<String> = said.keys().cloned().collect();
    assert!(modules.len() > 9, "the table of modules was not found");
    let real = real_edges(&modules);
    for (module, uses) in &said {
        let real = &real[module];
        let more: Vec<_> = real.difference(uses).collect();
        let less: Vec<_> = uses.difference(real).collect();
        assert!(more.is_empty(), "{module} uses {more:?}, which ARCHITECTURE.md does not allow");
        assert!(less.is_empty(), "ARCHITECTURE.md lets {module} use {less:?}, which it does not");
    }
}

/// Dependencies among our own crates are those of the table; the command uses all.
#[test]
fn crates_use_what_the_table_says() {
    let text = fs::read_to_string(project().join("ARCHITECTURE.md")).unwrap();
    for (name, uses) in table(&text, "crate") {
        let manifest = fs::read_to_string(project().join("crates").join(&name).join("Cargo.toml")).unwrap();
        let normal = manifest.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
        let ours: BTreeSet<String> = normal
            .lines()
            .filter(|line| line.starts_with("seabed"))
            .map(|line| line.split([' ', '.', '=']).next().unwrap().to_string())
            .collect();
        if name != "seabed-cli" {
            assert_eq!(ours, uses, "{name}");
        }
        let heavy = ["rusqlite", "parquet", "roxmltree", "clap"];
        let pulled =
            |line: &&str| heavy.iter().any(|name| line.starts_with(name)) && !line.contains("optional");
        let pulled: Vec<&str> = normal.lines().filter(pulled).collect();
        assert!(name != "seabed" || pulled.is_empty(), "the method pulls {pulled:?}");
    }
}

#[test]
fn the_reader_of_sources_sees_every_way_to_name_a_module() {
    assert_eq!(used_modules("use crate::num::random;"), ["num"]);
    assert_eq!(used_modules("use crate::{graph::Dag, scm::{Scm, Ensemble}};")[..2], ["graph", "scm"]);
    assert_eq!(used_modules("fn f() -> crate::data::Names {}"), ["data"]);
    assert!(used_modules("// crate::world\n/// [`x`](crate::world)").is_empty());
    let edges = table("| module | x | uses |\n|---|---|---|\n| `a` | b | `c`, `d` |\n", "module");
    assert_eq!(edges["a"], ["c", "d"].map(String::from).into());
}
