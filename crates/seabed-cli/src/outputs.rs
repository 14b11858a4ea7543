//! What a command is about to write, checked before it works: that it can be written, that it is not also read, and that
//! it replaces nothing but what seabed made. And what it is about to take: memory and time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::{env, process};

use clap::Args;
use seabed::belief;
use seabed::data::{
    Dataset, ReadOptions, Sheet, check_writable, read_graph, read_table, write_atomically, write_matrix,
};
use seabed::observer::Effort;
use seabed::posterior::State;
use seabed::scm::Scm;
use seabed::world::grn::Network;
use seabed_lab::is_blank_form;
use seabed_report::is_report;

use crate::failure::Failure;

/// The option of commands that work for long and replace no file.
#[derive(Args)]
pub struct ForceWork {
    /// Begin work that looks too large for this computer.
    #[arg(long)]
    force: bool,
}

impl ForceWork {
    /// As [`check_effort`].
    pub fn check_effort(&self, effort: Effort) -> Result<(), Failure> {
        check_effort(effort, self.force)
    }
}

/// The option of all commands that write files.
#[derive(Args)]
pub struct Force {
    /// Replace existing files even if seabed did not make them, and begin work that looks too large for this computer.
    #[arg(long)]
    force: bool,
}

/// Refuses work that would not fit in memory or would take more than a day, unless it is confirmed.
pub fn check_effort(effort: Effort, force: bool) -> Result<(), Failure> {
    match effort.too_large() {
        None => Ok(()),
        Some(problem) if force => {
            tell!("note: {problem}");
            Ok(())
        }
        Some(problem) => {
            Err(Failure::Input(anyhow::anyhow!("{problem}; choose less, or begin with --force all the same")))
        }
    }
}

/// A file that will be written.
pub struct Output<'a> {
    pub path: &'a Path,
    pub kind: Kind<'a>,
}

/// What a file holds, and so how one that seabed made is recognised.
#[derive(Clone, Copy)]
pub enum Kind<'a> {
    Belief,
    State,
    /// A form for the laboratory; one that is filled in is the laboratory's.
    Form,
    /// A table with this header.
    Header(&'a [&'a str]),
    /// These data. Nothing tells simulated data from measured ones, so only the same may be replaced.
    Data(&'a dyn Fn() -> Option<Dataset>),
    Model,
    Graph,
    Network,
    /// A page or a figure.
    Report,
}

impl Output<'_> {
    /// Is it there already, as seabed made it?
    pub fn is_made(&self) -> bool {
        self.kind.made(self.path)
    }
}

impl Kind<'_> {
    /// Did seabed make the file at this path?
    fn made(&self, path: &Path) -> bool {
        let text = || fs::read_to_string(path).unwrap_or_default();
        let sheet =
            || File::open(path).ok().and_then(|file| Sheet::read(file, "", &ReadOptions::default()).ok());
        match self {
            Self::Belief => belief::read(path).is_ok(),
            Self::State => State::from_json(&text()).is_ok(),
            Self::Form => sheet().is_some_and(|sheet| is_blank_form(&sheet)),
            Self::Header(header) => sheet().is_some_and(|sheet| sheet.header == *header),
            Self::Data(data) => {
                let there = read_table(path, &ReadOptions::default()).ok().map(|loaded| loaded.dataset);
                there.is_some() && there == data()
            }
            // Made by hand, these are not laid out as seabed lays them out.
            Self::Model => Scm::read(path).is_ok_and(|scm| scm.to_json() == text()),
            Self::Network => Network::read(path).is_ok_and(|network| network.to_sbml() == text()),
            Self::Graph => read_graph(path).is_ok_and(|graph| {
                let mut matrix = Vec::new();
                write_matrix(&mut matrix, &graph.names, &graph.adjacency).is_ok()
                    && matrix == text().as_bytes()
            }),
            Self::Report => is_report(&text()),
        }
    }
}

impl Force {
    /// As [`check_effort`].
    pub fn check_effort(&self, effort: Effort) -> Result<(), Failure> {
        check_effort(effort, self.force)
    }

    /// Refuses outputs that cannot be written, have the name of another one or of an input, or would replace what
    /// seabed did not make.
    pub fn check(&self, outputs: &[Output<'_>], inputs: &[&Path]) -> Result<(), Failure> {
        for (k, output) in outputs.iter().enumerate() {
            let path = output.path;
            if outputs[..k].iter().any(|other| same(other.path, path)) {
                return Err(refused(path, "two outputs have this name; give each its own file"));
            }
            self.check_replaced(output, inputs)?;
            check_writable(path).map_err(|error| Failure::writing(Some(path), error))?;
        }
        Ok(())
    }

    /// The same, without a look at whether it can be written: for a file that may never be.
    pub fn check_replaced(&self, output: &Output<'_>, inputs: &[&Path]) -> Result<(), Failure> {
        let path = output.path;
        if inputs.iter().any(|input| same(input, path)) {
            return Err(refused(path, "this file is read, so it cannot be written; name another one"));
        }
        if self.force || !path.is_file() || special(path) || output.kind.made(path) {
            return Ok(());
        }
        let problem = match output.kind {
            Kind::Form => "it is not an empty form",
            Kind::Data(_) => "it holds something else",
            _ => "seabed did not make it",
        };
        Err(refused(
            path,
            &format!(
                "the file already exists, and {problem}; choose another name, or replace it with --force"
            ),
        ))
    }

    /// The same for a folder into which `files` are written: they may be there if it is `ours`.
    pub fn check_folder(
        &self,
        folder: &Path,
        ours: bool,
        files: &[&str],
        inputs: &[&Path],
    ) -> Result<(), Failure> {
        if ours {
            return Ok(());
        }
        for file in files {
            let path = folder.join(file);
            if inputs.iter().any(|input| same(input, &path)) {
                return Err(refused(
                    &path,
                    "this file is read, so it cannot be written; name another folder",
                ));
            }
            if path.exists() && !self.force {
                return Err(refused(
                    &path,
                    "it already exists, and seabed did not make it; choose another folder with --out, or replace it \
                     with --force",
                ));
            }
        }
        Ok(())
    }
}

/// Writes a result. If its place cannot be written any more, it goes to the folder for temporary files, and the failure
/// names it: work of hours is not thrown away.
pub fn save(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let write = |path: &Path| write_atomically(path, |out| out.write_all(bytes));
    let Err(error) = write(path) else { return Ok(()) };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = env::temp_dir().join(format!("seabed-{}-{name}", process::id()));
    if beside.exists() || write(&beside).is_err() {
        return Err(Failure::writing(Some(path), error));
    }
    Err(Failure::Work(anyhow::anyhow!(
        "{} cannot be written: {error}; what belongs there is in {}",
        path.display(),
        beside.display()
    )))
}

fn refused(path: &Path, problem: &str) -> Failure {
    Failure::Input(anyhow::anyhow!("{}: {problem}", path.display()))
}

/// A terminal, a pipe: written to, never replaced.
fn special(path: &Path) -> bool {
    path.starts_with("/dev") || path.starts_with("/proc")
}

/// Do both names mean the same file?
fn same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| -> Option<PathBuf> {
        fs::canonicalize(path).ok().or_else(|| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            Some(fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?.join(path.file_name()?))
        })
    };
    a == b && !special(a) || matches!((place(a), place(b)), (Some(a), Some(b)) if a == b && !special(&a))
}
