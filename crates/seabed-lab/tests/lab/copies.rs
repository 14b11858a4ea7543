//! Copies, backups, logs that are missing or left behind, values that changed on the disk, two processes at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use seabed_lab::*;

use crate::common::*;

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

fn rows(path: &Path) -> usize {
    let lab = Lab::open(path, WAIT).unwrap();
    assert_eq!(lab.check().unwrap(), Vec::<String>::new());
    lab.state().unwrap().rows().count()
}

/// A value that changed on the disk is still a number: every command but `check` refuses the file, which stays as it is.
#[test]
fn changed_values_are_noticed_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(10, 1), false).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("UPDATE measured SET cells = '[1,2,3.5]' WHERE id = 7").unwrap();
    let out = folder.path().join("out");
    let refusals = [
        lab.export(&out).map(drop),
        lab.backup(&folder.path().join("copy.lab")),
        lab.record("form.csv", b"a,b,c\n1,2,3\n", false, false, "").map(drop),
        add(&mut lab, folder.path(), &observations(5, 2), false).map(drop),
        lab.undo().map(drop),
        lab.summary().map(drop),
        propose(&mut lab, &request(1, 1)).map(drop),
    ];
    for refusal in refusals {
        let message = refusal.unwrap_err().to_string();
        assert!(message.contains("damaged (the data of action 2 were changed afterwards)"), "{message}");
    }
    assert!(!out.exists() && !folder.path().join("copy.lab").exists());
    assert_eq!(lab.check().unwrap(), ["the data of action 2 were changed afterwards"]);
}

/// What is acknowledged is in the file itself: a copy of it alone, made while the campaign is open, or after a crash,
/// without the log, has everything.
#[test]
fn a_copy_of_the_file_alone_has_everything() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut lab) = new_lab(folder.path());
    for (k, seed) in [1, 2, 3].into_iter().enumerate() {
        add(&mut lab, folder.path(), &observations(10, seed), false).unwrap();
        let copy = folder.path().join(format!("copy-{k}.lab"));
        fs::copy(&path, &copy).unwrap();
        assert_eq!(rows(&copy), 10 * (k + 1));
    }
    let backup = folder.path().join("backup.lab");
    lab.backup(&backup).unwrap();
    assert!(matches!(lab.backup(&backup), Err(LabError::Exists { .. })));
    assert_eq!(rows(&backup), 30);
    assert!(!beside(&backup, "-wal").exists());
}

/// An older copy takes the place of the file, but a log of the newer one is left beside it: what is read is one of the
/// states that the campaign was in, or it is refused.
#[test]
fn a_log_left_behind_mixes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut lab) = new_lab(folder.path());
    let (mut copies, mut logs) = (vec![fs::read(&path).unwrap()], Vec::new());
    let mut known = vec![0];
    for seed in 1..=4 {
        add(&mut lab, folder.path(), &observations(40, seed), false).unwrap();
        known.push(40 * seed as usize);
        copies.push(fs::read(&path).unwrap());
        logs.push(fs::read(beside(&path, "-wal")).unwrap());
    }
    drop(lab);
    let (mut sound, mut refused) = (0, 0);
    for copy in &copies {
        for log in &logs {
            let trial = tempfile::tempdir().unwrap();
            let path = trial.path().join("x.lab");
            fs::write(&path, copy).unwrap();
            fs::write(beside(&path, "-wal"), log).unwrap();
            let read = Lab::open(&path, WAIT).and_then(|lab| lab.state());
            match read {
                Ok(state) => {
                    assert!(known.contains(&state.rows().count()));
                    sound += 1;
                }
                Err(LabError::Damaged { .. }) => refused += 1,
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert_eq!(sound + refused, copies.len() * logs.len());
    assert!(sound > 0);
}

/// Several processes, here connections of several threads, add to one campaign at once: nothing is lost.
#[test]
fn several_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, lab) = new_lab(folder.path());
    drop(lab);
    thread::scope(|scope| {
        for k in 0..4u64 {
            let (path, folder) = (&path, folder.path());
            scope.spawn(move || {
                let mut lab = Lab::open(path, WAIT).unwrap();
                for round in 0..5 {
                    let file = folder.join(format!("{k}-{round}.csv"));
                    fs::write(&file, observations(3, 100 * k + round)).unwrap();
                    lab.add(&file, &AddOptions::default(), &()).unwrap();
                    if round == 2 {
                        lab.backup(&folder.join(format!("backup-{k}.lab"))).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(rows(&path), 4 * 5 * 3);
    for k in 0..4 {
        let copied = rows(&folder.path().join(format!("backup-{k}.lab")));
        assert!(copied >= 9 && copied.is_multiple_of(3), "{copied}");
    }
}

/// The campaign is read again only after somebody has changed it; beliefs are no change of it.
#[test]
fn a_campaign_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(20, 1), false).unwrap();
    let (before, version) = (lab.state().unwrap(), lab.version().unwrap());
    assert!(Arc::ptr_eq(&before, &lab.state().unwrap()));
    let mut other = Lab::open(&path, WAIT).unwrap();
    other.learn(Some(request(1, 1).posterior), &()).unwrap();
    assert!(Arc::ptr_eq(&before, &lab.state().unwrap()));
    assert_ne!(lab.version().unwrap(), version);
    other.record("extra.csv", b"a,b,c\n1,2,3\n", false, false, "").unwrap();
    let after = lab.state().unwrap();
    assert_eq!(after.rows().count(), before.rows().count() + 1);
    other.undo().unwrap();
    lab.undo().unwrap();
    assert_eq!(lab.state().unwrap().rows().count(), 0);
}

/// A request that is repeated is recognised, whoever else has changed the campaign since.
#[test]
fn a_signed_request_is_done_once() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut lab) = new_lab(folder.path());
    let signature =
        |content: &str| Signature { who: "Zoë".into(), key: Some("k".into()), content: content.into() };
    let record = |lab: &mut Lab, signature: Signature| {
        lab.sign(signature);
        lab.record("extra.csv", b"a,b,c\n1,2,3\n", false, true, "")
    };
    assert_eq!(record(&mut lab, signature("x")).unwrap().action, Some(2));
    let mut other = Lab::open(&path, WAIT).unwrap();
    assert!(matches!(record(&mut other, signature("x")), Err(LabError::Repeated { action: 2 })));
    assert!(matches!(record(&mut other, signature("y")), Err(LabError::KeyReused { action: 2 })));
    assert_eq!(record(&mut other, Signature::default()).unwrap().action, Some(3));
    let state = other.state().unwrap();
    assert_eq!(state.actions.iter().map(|action| &*action.who).collect::<Vec<_>>(), ["", "Zoë", ""]);
    assert_eq!(other.check().unwrap(), Vec::<String>::new());
}

/// Trying again to undo a certain action undoes nothing else.
#[test]
fn an_action_is_undone_once() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(10, 1), false).unwrap();
    add(&mut lab, folder.path(), &observations(10, 2), false).unwrap();
    lab.undo_if(Some(3)).unwrap();
    let again = lab.undo_if(Some(3)).unwrap_err().to_string();
    assert_eq!(again, "action 3 is not the last one in force, which is action 2; nothing was undone");
    assert_eq!(lab.state().unwrap().rows().count(), 10);
}

/// The connections of a process share what was read: a change by one is seen by the others, rows that were read are not read
/// again, and everybody sees what somebody sees who reads the whole file.
#[test]
fn connections_share_what_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let (path, lab) = new_lab(folder.path());
    drop(lab);
    let memory = Memory::default();
    let mut writer = Lab::open_sharing(&path, WAIT, &memory).unwrap();
    let reader = Lab::open_sharing(&path, WAIT, &memory).unwrap();
    add(&mut writer, folder.path(), &observations(10, 1), false).unwrap();
    let before = reader.state().unwrap();
    assert!(Arc::ptr_eq(&before, &writer.state().unwrap()));
    let (version, alone) = (reader.version().unwrap(), || Lab::open(&path, WAIT).unwrap());
    writer.record("form.csv", b"a,b,c\n1,0,3\n", false, false, "").unwrap();
    let after = reader.state().unwrap();
    assert_eq!(after.rows().count(), 11);
    assert!(Arc::ptr_eq(&before.sources[0].rows, &after.sources[0].rows));
    assert_eq!(*after, *alone().state().unwrap());
    assert_ne!(reader.version().unwrap(), version);
    for _ in 0..2 {
        writer.undo().unwrap();
        assert_eq!(*reader.state().unwrap(), *alone().state().unwrap());
        assert_eq!(reader.version().unwrap(), alone().version().unwrap());
        assert_eq!(reader.version().unwrap(), writer.version().unwrap());
    }
    assert!(reader.state().unwrap().sources.is_empty());
}
