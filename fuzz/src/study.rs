//! What studies read.

use seabed::settings::Keys;
use seabed_study::expand;

/// A study from any text: every run of its grid has settings that are written and read again.
pub fn study(bytes: &[u8]) {
    let Ok(keys) = Keys::parse(&String::from_utf8_lossy(bytes), "fuzz.toml") else { return };
    match expand(&keys) {
        Ok(runs) => {
            for run in runs.iter().take(10) {
                let back = Keys::parse(&run.config.to_toml(), "written.toml").expect("what we write is read");
                assert_eq!(
                    back.settings::<seabed_study::Config>().expect("what we write is read"),
                    run.config
                );
            }
        }
        Err(error) => assert!(error.to_string().len() < 4096 + 4 * 1000, "a message is for people"),
    }
}
