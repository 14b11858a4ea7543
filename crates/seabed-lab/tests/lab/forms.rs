//! Good and bad input: data files and filled-in forms.

use seabed::num::random::Draws;
use seabed_lab::*;

use crate::common::*;

#[test]
fn bad_data_are_refused_as_a_whole_and_odd_data_cause_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(20, 1), false).unwrap();
    let before = content(&lab.state().unwrap());
    for (text, part) in [
        ("a,b\n1,2\n", "there is no column \"c\""),
        ("a,b,c,cc\n1,2,3,4\n", "\"cc\" is not a variable of the campaign; did you mean \"c\"?"),
        ("a,b,c\n", "there are no rows"),
        ("a,b,c\n0,1,2\n", "0 is invalid: the transform `log` accepts numbers above 0"),
        ("a,b,c\n1,x,2\n", "\"x\" is not a number"),
        ("a,b,c,intervention_targets\n1,2,3,d\n", "\"d\" is not a variable"),
        ("a,b,c,status\n1,2,3,done\n", "`seabed lab record`"),
        ("a,a,b,c\n1,1,2,3\n", "two columns are called \"a\""),
    ] {
        let message = add(&mut lab, folder.path(), text, false).unwrap_err().to_string();
        assert!(message.contains(part), "{text}: {message}");
        assert_eq!(content(&lab.state().unwrap()), before);
    }
    let odd = "a,b,c,intervention_targets\n5,0.5,3,b\n1,0,3000,\n2,1,2,a\n200,0,1,a\n,1,1,a\n450,1,1,\n";
    let added = add(&mut lab, folder.path(), odd, false).unwrap();
    assert_eq!((added.rows, added.interventional, added.incomplete), (6, 4, 1));
    for part in [
        "b was set to values",
        "a was set to values",
        "a was set, but its value is missing",
        "c: row 2 has 3000",
        "1 values of a are far outside its bounds 0.1 to 100, first in row 6 (450)",
    ] {
        assert!(added.warnings.iter().any(|warning| warning.contains(part)), "{part}: {:?}", added.warnings);
    }
}

/// 200 forms with something wrong, missing, moved or mangled: never a panic, and never a change unless accepted; what is
/// accepted keeps the campaign sound.
#[test]
fn mangled_forms_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(30, 1), false).unwrap();
    let proposed = propose(&mut lab, &request(4, 2)).unwrap();
    let blank = form(&lab, proposed.id);
    let filled: String =
        blank.lines().map(|line| line.replace(",,", ",1.5,").replace(",,", ",2.5,") + "\n").collect();
    assert!(filled != blank);
    let mut draws = draws(11);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..200 {
        let bytes = mangled(filled.as_bytes(), &mut draws);
        let before = content(&lab.state().unwrap());
        match lab.record("mangled.csv", &bytes, draws.below(2) == 0, false, "") {
            Err(_) => {
                refused += 1;
                assert_eq!(content(&lab.state().unwrap()), before);
            }
            Ok(recorded) => {
                accepted += 1;
                assert_eq!(recorded.action.is_some(), content(&lab.state().unwrap()) != before);
                if recorded.action.is_some() {
                    lab.undo().unwrap();
                }
            }
        }
    }
    assert_eq!(lab.check().unwrap(), Vec::<String>::new());
    assert!(
        accepted > 20 && refused > 50,
        "{accepted} accepted, {refused} refused: the mangling is too strong or weak"
    );
    // The intact form is still accepted.
    assert_eq!(lab.record("form.csv", filled.as_bytes(), false, false, "").unwrap().done, 8);
}

fn mangled(form: &[u8], draws: &mut Draws) -> Vec<u8> {
    let mut lines: Vec<Vec<String>> = String::from_utf8_lossy(form)
        .lines()
        .map(|line| line.split(',').map(String::from).collect())
        .collect();
    for _ in 0..1 + draws.below(2) {
        let (row, rows) = (draws.below(lines.len()), lines.len());
        let column = draws.below(lines[row].len().max(1));
        let words = [
            "",
            "NA",
            "1e999",
            "-1e308",
            "x",
            "1,5",
            "\"",
            "E999",
            "E001",
            "e2",
            "failed",
            "done",
            "pending",
            "maybe",
            "0",
            "-1",
            "2",
            "99999999999",
            "a;b",
            "a",
            "\u{0}",
            "ß",
            "nan",
            "a;b;c;d",
        ];
        match draws.below(8) {
            0..=3 => {
                if let Some(cell) = lines[row].get_mut(column) {
                    *cell = words[draws.below(words.len())].to_string();
                }
            }
            4 => {
                lines.remove(row);
            }
            5 => {
                let copy = lines[row].clone();
                lines.insert(draws.below(rows), copy);
            }
            6 => {
                if column < lines[row].len() {
                    lines[row].remove(column);
                }
            }
            _ => {
                let mut bytes: Vec<u8> =
                    lines.iter().map(|line| line.join(",")).collect::<Vec<_>>().join("\n").into_bytes();
                let at = draws.below(bytes.len().max(1));
                match draws.below(3) {
                    0 => bytes.truncate(at),
                    1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = draws.bits() as u8),
                    _ => bytes.extend_from_within(at..),
                }
                return bytes;
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    (lines.iter().map(|line| line.join(",")).collect::<Vec<_>>().join("\n") + "\n").into_bytes()
}

/// What a laboratory does with a form, case by case.
#[test]
fn forms_are_recorded_correctly() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(30, 1), false).unwrap();
    let mut ask = request(2, 1);
    ask.max_repeats = Some(1);
    let proposed = propose(&mut lab, &ask).unwrap();
    let state = lab.state().unwrap();
    let on = |name: &str| {
        let at = proposed.designed.batch.iter().position(|e| e.targets[0].0 == name).unwrap();
        (experiment_name(proposed.experiments[at]), proposed.designed.batch[at].targets[0].1)
    };
    let ((a, set), (b, _)) = (on("a"), on("b"));
    assert_eq!(state.pending().count(), 2);
    let record = |lab: &mut Lab, rows: &str, amend: bool| {
        let text = format!("experiment,replicate,a,b,c,intervention_targets,status,note\n{rows}");
        lab.record("form.csv", text.as_bytes(), amend, false, "")
    };
    let refused = |lab: &mut Lab, rows: &str, part: &str| {
        let message = record(lab, rows, false).unwrap_err().to_string();
        assert!(message.contains(part), "{rows}: {message}");
    };
    // A proposed value need not be filled in; a note is the laboratory's own.
    assert_eq!(record(&mut lab, &format!("{a},1,,0.5,,,,hello\n"), false).unwrap().done, 1);
    let newest = |lab: &Lab, name: &str, replicate: u32| {
        let id: i64 = name[1..].parse().unwrap();
        let state = lab.state().unwrap();
        state.experiments.iter().find(|e| e.id == id).unwrap().newest(replicate).unwrap().clone()
    };
    assert_eq!(newest(&lab, &a, 1).row.cells, [Some(set), Some(0.5), None]);
    // The missing cell arrives later: completed, without `amend`.
    assert_eq!(record(&mut lab, &format!("{a},1,,0.5,2,,,\n"), false).unwrap().changed, 1);
    // A contradiction is a correction, and the old value stays in the history.
    refused(
        &mut lab,
        &format!("{a},1,,0.6,2,,,\n"),
        "is already recorded with b = 0.5, but here it is 0.6; to correct it",
    );
    refused(&mut lab, &format!("{a},1,,,,,failed,\n"), "as done, but here it is failed");
    assert_eq!(record(&mut lab, &format!("{a},1,,0.6,2,,,\n"), true).unwrap().changed, 1);
    let histories = |lab: &Lab| -> Vec<usize> {
        lab.state()
            .unwrap()
            .live()
            .flat_map(|e| e.records.values().map(Vec::len).collect::<Vec<_>>())
            .collect()
    };
    assert_eq!(histories(&lab), [3]);
    refused(&mut lab, &format!("{a},1,1,1,1,b,,\n"), "sets \"a\", not \"b\"");
    refused(&mut lab, "E900,1,1,1,1,,,\n", "there is no experiment E900");
    refused(&mut lab, "17,1,1,1,1,,,\n", "experiments are called E001");
    refused(&mut lab, &format!("{a},0,1,1,1,,,\n"), "count from 1");
    refused(&mut lab, &format!("{a},1,1,1,1,,perhaps,\n"), "is not a status");
    refused(&mut lab, &format!("{b},1,,,,,done,\n"), "nothing was measured");
    refused(&mut lab, &format!("{b},1,1,,,,pending,\n"), "the status is pending");
    refused(&mut lab, &format!("{b},1,1,,1,,,\n{b},1,2,,1,,,\n"), "with other values");
    refused(&mut lab, ",2,1,1,1,a,,\n", "a replicate belongs to an experiment");
    refused(&mut lab, ",,,,,a,failed,\n", "cannot fail");
    // A failure; a second try as a replicate that was not planned, at a value that was not proposed.
    assert_eq!(record(&mut lab, &format!("{b},,,,,b,failed,\n"), false).unwrap().failed, 1);
    assert_eq!(lab.state().unwrap().pending().count(), 0);
    assert_eq!(record(&mut lab, &format!("{b},2,3,0.25,1,b,,\n"), false).unwrap().done, 1);
    assert_eq!(newest(&lab, &b, 2).row.cells, [Some(3.0), Some(0.25), Some(1.0)]);
    // Not proposed; the same row again is the same measurement.
    let extra = record(&mut lab, ",,2,0,1,a;b,,\n,,2,0,1,,,\n", false).unwrap();
    assert_eq!((extra.done, extra.extra.len()), (2, 2));
    assert_eq!(record(&mut lab, ",,2,0,1,a;b,,\n,,2,0,1,,,\n", false).unwrap().known, 2);
    // The form of an undone proposal is not mistaken for another's.
    let second = propose(&mut lab, &request(1, 1)).unwrap();
    lab.undo().unwrap();
    refused(&mut lab, &format!("{},1,1,1,1,,,\n", experiment_name(second.experiments[0])), "it was undone");
    let third = propose(&mut lab, &request(1, 1)).unwrap();
    assert!(third.id > second.id && third.experiments[0] > second.experiments[0], "numbers are never reused");
}
