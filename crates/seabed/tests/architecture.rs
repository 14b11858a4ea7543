//! The modules follow the flow of the method, and each one uses only those before it.

use std::fs;
use std::path::{Path, PathBuf};

/// In the order of the flow: a module may use those to its left.
const FLOW: [&str; 10] =
    ["num", "graph", "data", "scm", "belief", "posterior", "design", "world", "evaluate", "campaign"];

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

#[test]
fn dependencies_point_one_way() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let place = |module: &str| FLOW.iter().position(|name| *name == module);
    let mut seen = 0;
    for entry in fs::read_dir(&source).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let module = folder.file_name().unwrap().to_str().unwrap().to_string();
        let here = place(&module).unwrap_or_else(|| panic!("{module} has no place in the flow: {FLOW:?}"));
        for file in rust_files(&folder) {
            for used in used_modules(&fs::read_to_string(&file).unwrap()) {
                if let Some(there) = place(&used) {
                    assert!(there <= here, "{} uses {used}, which comes after {module}", file.display());
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 20, "only {seen} uses found: the test no longer reads the sources");
}

#[test]
fn the_reader_of_sources_sees_every_way_to_name_a_module() {
    assert_eq!(used_modules("use crate::num::random;"), ["num"]);
    assert_eq!(used_modules("use crate::{graph::Dag, scm::{Scm, Ensemble}};")[..2], ["graph", "scm"]);
    assert_eq!(used_modules("fn f() -> crate::data::Names {}"), ["data"]);
    assert!(used_modules("// crate::world\n/// [`x`](crate::world)").is_empty());
}
