//! What laboratories read.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use seabed_lab::{AddOptions, Lab, Variables};

/// A variables file from any text.
pub fn variables(bytes: &[u8]) {
    if let Err(error) = Variables::from_toml(&String::from_utf8_lossy(bytes), "fuzz.toml") {
        assert!(error.to_string().len() < 4096 + 4 * 1000, "a message is for people");
    }
}

const THREE: &str = "[[variable]]\nname = \"a\"\ntransform = \"log\"\nintervene = true\nbounds = [0.1, 100]\n\
                     [[variable]]\nname = \"b\"\nintervene = true\nlevels = [-1, 0, 1]\n[[variable]]\nname = \"c\"\n";

/// Experiments that forms name: E001 to E003.
const EXPERIMENTS: &str =
    "experiment,replicate,a,b,c,intervention_targets,status\n,,2,0.5,,a,\n,,,1,2,b,\n,,3,1,,b,\n";

/// Inputs after which a campaign is begun anew, because what is undone stays in the file.
const FRESH_AFTER: usize = 500;

thread_local! {
    static CAMPAIGN: RefCell<Option<(tempfile::TempDir, Lab, usize)>> = const { RefCell::new(None) };
}

/// A filled-in form, or measurements, from any bytes: taken in and undone, or refused.
pub fn form(bytes: &[u8]) {
    CAMPAIGN.with_borrow_mut(|kept| {
        if kept.as_ref().is_none_or(|(_, _, used)| *used == FRESH_AFTER) {
            *kept = Some(campaign());
        }
        let Some((folder, lab, used)) = kept else { return };
        *used += 1;
        let before = lab.state().expect("sound").rows().count();
        for amend in [false, true] {
            match lab.record("fuzz.csv", bytes, amend, false, "") {
                Ok(recorded) if recorded.action.is_some() => drop(lab.undo().expect("the last action")),
                Ok(_) => {}
                Err(error) => assert!(error.to_string().len() < 4096, "a message is for people"),
            }
        }
        let file = folder.path().join("fuzz.csv");
        std::fs::write(&file, bytes).expect("a temporary file");
        let added = lab.add(&file, &AddOptions { only_new: true, ..AddOptions::default() }, &());
        if added.is_ok_and(|added| added.action.is_some()) {
            lab.undo().expect("the last action");
        }
        let after = lab.state().expect("sound");
        assert_eq!(after.rows().count(), before, "what is undone is gone");
    });
}

fn campaign() -> (tempfile::TempDir, Lab, usize) {
    // In memory where there is such a folder: every action is synced to disk.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.expect("a temporary folder");
    let path = folder.path().join("fuzz.lab");
    Lab::create(&path, THREE, 1, "").expect("a campaign");
    let mut lab = Lab::open(&path, Duration::from_secs(10)).expect("a campaign");
    lab.record("form.csv", EXPERIMENTS.as_bytes(), false, false, "").expect("a form");
    (folder, lab, 0)
}
