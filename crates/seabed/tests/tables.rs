//! Tables as spreadsheets, instruments and colleagues write them: what each gives, or the message it gets.
//!
//! `tables/expected.txt` says for every file, and perhaps for some options, what is told and what the data are.

use std::fs;
use std::path::{Path, PathBuf};

use seabed::data::{ReadOptions, Sheet, WorkbookCell, read_table, read_tables, write_csv, write_workbook};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables")
}

/// The options that a line of `expected.txt` names as the command would.
fn options(words: &[&str]) -> ReadOptions {
    let mut options = ReadOptions::default();
    for pair in words.chunks(2) {
        let &[name, value] = pair else { panic!("{words:?}") };
        match name {
            "--ignore" => options.ignore.push(value.into()),
            "--separator" => options.separator = Some(value.parse().unwrap()),
            "--decimal" => options.decimal = Some(value.parse().unwrap()),
            "--encoding" => options.encoding = Some(value.parse().unwrap()),
            "--sheet" => options.sheet = Some(value.into()),
            "--missing" => options.missing.push(value.into()),
            _ => panic!("{name}"),
        }
    }
    options
}

/// What reading gives, as text.
fn found(file: &str, options: &ReadOptions) -> String {
    let folder = folder();
    let read = read_table(&folder.join(file), options);
    let text = match read {
        Err(error) => format!("error: {error}\n"),
        Ok(loaded) => {
            let notes = loaded.notes.iter().map(|note| format!("note: {note}\n"));
            let warnings = loaded.warnings.iter().map(|warning| format!("warning: {warning}\n"));
            let mut table = Vec::new();
            write_csv(&mut table, &loaded.dataset).unwrap();
            notes.chain(warnings).chain([String::from_utf8(table).unwrap()]).collect()
        }
    };
    text.replace(&folder.join("").display().to_string(), "")
}

#[test]
fn every_table_gives_what_is_expected() {
    let path = folder().join("expected.txt");
    let expected = fs::read_to_string(&path).unwrap();
    let mut sections = expected.split("## ");
    let mut now = sections.next().unwrap().to_string();
    let mut named = Vec::new();
    for section in sections {
        let title = section.lines().next().unwrap();
        let words: Vec<&str> = title.split(' ').collect();
        named.push(words[0].to_string());
        now += &format!("## {title}\n{}\n", found(words[0], &options(&words[1..])));
    }
    if std::env::var_os("SEABED_UPDATE_TABLES").is_some() {
        fs::write(&path, &now).unwrap();
    } else {
        for (now, before) in now.split("## ").zip(expected.split("## ")) {
            assert_eq!(now, before);
        }
        assert_eq!(now, expected);
    }
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "expected.txt" || named.contains(&name), "{name} is not in expected.txt");
    }
    named.dedup();
    assert!(named.len() >= 40);
}

#[test]
fn several_files_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let observed = write("observed.csv", "a,b\n1,2\n3,4\n");
    let set = write("set.csv", "b;a;intervention_targets;note\n5,5;6;b;x\n7;n.d.;;y\n");
    let options = ReadOptions::ignoring(&["note".into()]);
    let loaded = read_tables(&[&observed, &set], &options, &()).unwrap();
    let mut text = Vec::new();
    write_csv(&mut text, &loaded.dataset).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), "a,b,intervention_targets\n1.0,2.0,\n3.0,4.0,\n6.0,5.5,b\n");
    assert_eq!((loaded.notes.len(), loaded.warnings.len()), (1, 1));
    let message = |paths: &[&PathBuf], options: &ReadOptions| {
        let message = read_tables(paths, options, &()).unwrap_err().to_string();
        message.replace(&folder.path().join("").display().to_string(), "")
    };
    assert_eq!(
        message(&[&observed, &write("other.csv", "a,c\n1,2\n")], &ReadOptions::default()),
        "other.csv does not have the variables of observed.csv: missing: b; not expected: c; leave columns out with \
         --ignore, or read the files apart"
    );
    assert_eq!(
        message(&[&observed, &set], &ReadOptions::ignoring(&["note".into(), "notes".into()])),
        "2 files: there is no column notes to ignore; the columns are a, b"
    );
}

#[test]
fn a_workbook_that_we_write_is_read() {
    let text = |text: &str| WorkbookCell::Text(text.into());
    let rows = vec![
        vec![text("größe <&>"), text("=1+1")],
        vec![WorkbookCell::Number(0.1), WorkbookCell::Empty],
        vec![WorkbookCell::Number(-5e-324), text(" \"x\" ")],
    ];
    let mut book = Vec::new();
    write_workbook(&mut book, "form", rows).unwrap();
    let sheet = Sheet::read(&book[..], "form.xlsx", &ReadOptions::default()).unwrap();
    assert_eq!(sheet.header, ["größe <&>", "=1+1"]);
    let cells: Vec<&[String]> = sheet.rows.iter().map(|row| &row.cells[..]).collect();
    assert_eq!(cells, [["0.1", ""], ["-5e-324", "\"x\""]]);
    assert_eq!(sheet.rows[1].place.to_string(), "form.xlsx, row 2 (line 3)");
}
