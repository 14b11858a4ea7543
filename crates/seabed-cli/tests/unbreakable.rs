//! What must never happen: a crash, work or files lost, a wrong input taken in silence.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn seabed(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seabed"));
    command.current_dir(folder).args(arguments.split_whitespace());
    command
}

#[cfg(unix)]
mod signals {
    use std::io::Read;
    use std::time::Duration;

    use super::*;

    /// A loop of many short fits: whenever the signal comes, the next fit sees it.
    const LOOP: &str = "rounds = 900\ntiming = false\n[world]\nnodes = 4\nmechanism = \"linear\"\nobservations = 20\n\
                        [posterior]\nkind = \"bootstrap\"\ndraws = 5\n[design]\nstrategy = \"random\"\nbatch = 1\n";

    fn signal(process: u32, name: &str) {
        assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
    }

    /// The loop is interrupted after its first round.
    fn interrupted(name: &str) -> (Option<i32>, String) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("c.toml"), LOOP).unwrap();
        let mut run = seabed(folder.path(), "run c.toml");
        let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The heading is printed after the first round.
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 10]).unwrap();
        signal(child.id(), name);
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    #[test]
    fn schedulers_and_closed_terminals_interrupt_as_ctrl_c_does() {
        for name in ["-INT", "-TERM", "-HUP"] {
            let (code, said) = interrupted(name);
            assert_eq!(code, Some(130), "{name}: {said}");
            assert!(said.contains("interrupted; nothing is lost"), "{name}: {said}");
        }
    }

    /// A command under `nohup` outlives its terminal.
    #[test]
    fn nohup_is_obeyed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("c.toml"), LOOP.replace("900", "20")).unwrap();
        let mut child = Command::new("nohup")
            .current_dir(folder.path())
            .args([env!("CARGO_BIN_EXE_seabed"), "run", "c.toml"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 10]).unwrap();
        signal(child.id(), "-HUP");
        std::thread::sleep(Duration::from_millis(10));
        assert!(child.wait_with_output().unwrap().status.success());
    }

    /// Nobody reads the notes of a study, or they cannot be written: it goes on.
    #[test]
    fn a_study_does_not_need_its_notes_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("c.toml"), LOOP.replace("900", "[1, 2]")).unwrap();
        let all = |errors: Stdio, out: &str| {
            let mut sweep = seabed(folder.path(), &format!("sweep c.toml --out {out}"));
            sweep.stderr(errors).output().unwrap()
        };
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ended = all(full.into(), "full");
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        // A pipe without a reader.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(all(writer.into(), "closed").status.code(), Some(0));
        let results = |out: &str| fs::read(folder.path().join(out).join("results.csv")).unwrap();
        assert_eq!(results("full"), results("closed"));
    }
}
