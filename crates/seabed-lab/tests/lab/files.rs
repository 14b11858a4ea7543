//! Files that are not campaigns, or are damaged: refused and left unchanged.

use std::fs;
use std::path::Path;

use seabed_lab::*;

use crate::common::*;

/// The error on opening; the file and its folder must stay as they were.
fn refusal(path: &Path) -> LabError {
    let before = fs::read(path).ok();
    let names = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let folder = path.parent().unwrap();
    let beside = names(folder);
    let error = Lab::open(path, WAIT).err().unwrap_or_else(|| panic!("{} was opened", path.display()));
    assert_eq!(fs::read(path).ok(), before, "the file was changed");
    assert_eq!(names(folder), beside, "something was left beside the file");
    error
}

#[test]
fn files_that_are_not_campaigns_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("empty"), "").unwrap();
    fs::write(at("table.csv"), "a,b\n1,2\n").unwrap();
    let other = rusqlite::Connection::open(at("other.db")).unwrap();
    other.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1);").unwrap();
    drop(other);
    for (name, part) in [
        ("empty", "it is empty"),
        ("table.csv", "another kind of file"),
        ("other.db", "the database of another program"),
        ("nothing", "there is no such file"),
        ("", "it is a folder"),
    ] {
        let error =
            if name.is_empty() { Lab::open(folder.path(), WAIT).err().unwrap() } else { refusal(&at(name)) };
        let message = error.to_string();
        assert!(matches!(error, LabError::NotACampaign { .. }) && message.contains(part), "{message}");
    }
    assert!(!at("nothing").exists());
}

#[test]
fn newer_damaged_and_truncated_campaigns_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(300, 1), false).unwrap();
    let sound = lab.state().unwrap();
    drop(lab);
    let whole = fs::read(&path).unwrap();
    let with = |name: &str, bytes: &[u8]| {
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("x.lab"), bytes).unwrap();
        folder.join("x.lab")
    };
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&99u32.to_be_bytes());
    let error = refusal(&with("newer", &newer));
    assert!(matches!(error, LabError::Newer { found: 99, .. }), "{error}");
    for cut in [50, 99, 100, 4096, whole.len() / 2, whole.len() - 1] {
        let error = refusal(&with(&format!("cut-{cut}"), &whole[..cut]));
        assert!(matches!(error, LabError::Damaged { .. }), "{cut}: {error}");
    }
    // Noise over the inner pages.
    let mut draws = draws(3);
    for page in 1..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096..(page + 1) * 4096].iter_mut().for_each(|byte| *byte = draws.bits() as u8);
        let error = refusal(&with(&format!("noise-{page}"), &damaged));
        assert!(matches!(error, LabError::Damaged { .. }), "{error}");
    }
    // Bits that flip anywhere: never a panic; a file that is still read has what was written.
    for k in 0..200 {
        let mut flipped = whole.clone();
        flipped[draws.below(whole.len())] ^= 1 << draws.below(8);
        let path = with(&format!("flip-{k}"), &flipped);
        if let Ok(lab) = Lab::open(&path, WAIT) {
            assert!(lab.state().map_or(true, |state| state == sound), "flip {k}");
            let _ = lab.check();
        }
    }
    assert!(
        Lab::create(&path, VARIABLES, 1, "").is_err_and(|error| matches!(error, LabError::Exists { .. }))
    );
    assert_eq!(fs::read(&path).unwrap(), whole);
    Lab::open(&path, WAIT).unwrap();
}

/// A digit that changes on the disk is still a number: only the fingerprint reveals it.
#[test]
fn a_changed_value_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(10, 1), false).unwrap();
    lab.record("extra.csv", b"a,b,c\n1,2,3\n", false, false, "").unwrap();
    lab.undo().unwrap();
    assert_eq!(lab.check().unwrap(), Vec::<String>::new());
    let other = rusqlite::Connection::open(&path).unwrap();
    // What is in force, and what chance depends on.
    let undone: String =
        other.query_row("SELECT undone FROM action WHERE id = 3", [], |row| row.get(0)).unwrap();
    let seed: i64 = other.query_row("SELECT seed FROM campaign", [], |row| row.get(0)).unwrap();
    for (sql, back, action) in [
        (
            "UPDATE action SET undone = NULL WHERE id = 3",
            format!("UPDATE action SET undone = '{undone}' WHERE id = 3"),
            3,
        ),
        ("UPDATE campaign SET seed = 99", format!("UPDATE campaign SET seed = {seed}"), 1),
    ] {
        other.execute_batch(sql).unwrap();
        let expected = format!("the data of action {action} were changed afterwards");
        assert!(lab.check().unwrap().contains(&expected), "{sql}");
        other.execute_batch(&back).unwrap();
        assert_eq!(lab.check().unwrap(), Vec::<String>::new());
    }
    for (sql, action) in [
        ("UPDATE measured SET cells = '[1,2,3.5]' WHERE id = 7", 2),
        ("UPDATE record SET cells = '[1,2,4]'", 3),
        ("UPDATE action SET note = 'mine' WHERE id = 1", 1),
        ("DELETE FROM record", 3),
    ] {
        other.execute_batch(sql).unwrap();
        let problems = lab.check().unwrap();
        let expected = format!("the data of action {action} were changed afterwards");
        assert!(problems.contains(&expected), "{sql}: {problems:?}");
    }
}

/// What was learned is derived, but status and reports are made from it.
#[test]
fn a_changed_summary_of_a_belief_is_found_and_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(25, 1), false).unwrap();
    propose(&mut lab, &request(1, 1)).unwrap();
    assert_eq!(lab.check().unwrap(), Vec::<String>::new());
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("UPDATE belief SET summary = json_replace(summary, '$.rows', 26)").unwrap();
    let said = "the summary of belief 1 was changed afterwards";
    assert_eq!(lab.check().unwrap(), [said]);
    let error = lab.summary().unwrap_err();
    assert!(matches!(error, LabError::Damaged { .. }) && error.to_string().contains(said), "{error}");
}
