//! What the tests of several crates share: reference files that are too large for the repository, a small HTTP client, and a
//! browser.
#![warn(missing_docs)]

pub mod browser;
pub mod http;

use std::path::{Path, PathBuf};

/// Where `name` is in the folder `shared` beside the clone. Without it the test that asks says so and skips; but where the
/// environment has `CI=true` it fails, for there a test that skips looks like one that passed.
pub fn shared(name: &str) -> Option<PathBuf> {
    let clone = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ci = std::env::var("CI").is_ok_and(|value| value == "true");
    match found(&clone.join("../shared").join(name), ci) {
        Ok(path) => Some(path),
        Err(Missing::Skip) => {
            eprintln!("skipped: there is no {name} in a folder shared beside the clone");
            None
        }
        Err(Missing::Fail) => panic!("there is no {name} in a folder shared beside the clone, and CI=true"),
    }
}

/// What a test does without its reference files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Missing {
    Skip,
    Fail,
}

fn found(path: &Path, ci: bool) -> Result<PathBuf, Missing> {
    match (path.exists(), ci) {
        (true, _) => Ok(path.to_path_buf()),
        (false, true) => Err(Missing::Fail),
        (false, false) => Err(Missing::Skip),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_skips_here_and_fails_in_ci() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for ci in [false, true] {
            assert_eq!(found(&here.join("src/lib.rs"), ci), Ok(here.join("src/lib.rs")));
        }
        assert_eq!(found(&here.join("nowhere"), false), Err(Missing::Skip));
        assert_eq!(found(&here.join("nowhere"), true), Err(Missing::Fail));
    }
}
