//! The campaigns that are served: one file, or all of a folder. Names from outside are looked up among those that are there,
//! and never become paths; the name of a new campaign is made of letters and digits.
//!
//! Every campaign has connections of its own for reading, so that a page never waits for a fit, and one for changes, so that
//! those who change wait for each other in order. They share what was read.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use seabed_lab::{Lab, LabError, Memory, Signature};

use crate::call::Answer;
use crate::failure::Failure;
use crate::overviews::WorkedOut;

/// How long a change waits for another program that writes to the campaign.
const WAIT: Duration = Duration::from_secs(20);

/// Connections for reading of each campaign; who finds all of them in use waits for one.
const READERS: usize = 8;

/// Campaigns that are kept open.
const MOST_OPEN: usize = 32;

/// Answers that are kept for each campaign.
const ANSWERS: usize = 64;

/// Where the campaigns are.
#[derive(Clone, Debug)]
pub enum Place {
    /// One file, which need not be there yet.
    File(PathBuf),
    /// All files `*.lab` of a folder.
    Folder(PathBuf),
}

/// All campaigns.
pub struct Library {
    pub place: Place,
    open: Mutex<HashMap<String, Arc<Campaign>>>,
}

/// A campaign.
pub struct Campaign {
    pub id: String,
    pub path: PathBuf,
    readers: Mutex<Readers>,
    returned: Condvar,
    writer: Mutex<Option<Opened>>,
    answers: Mutex<Answers>,
    worked_out: Mutex<Option<Arc<WorkedOut>>>,
    working_out: Mutex<()>,
    /// What the connections share, and of which file it is.
    memory: Mutex<(FileNumber, Memory)>,
    /// The version that listeners were told.
    told: Mutex<String>,
    /// When it was asked for last.
    used: Mutex<Instant>,
}

#[derive(Default)]
struct Answers {
    version: String,
    known: HashMap<String, Answer>,
}

#[derive(Default)]
struct Readers {
    idle: Vec<Opened>,
    in_use: usize,
}

/// Which file it is: another one may have taken its name.
type FileNumber = Option<(u64, u64)>;

struct Opened {
    lab: Lab,
    file: FileNumber,
}

/// Whatever a thread that panicked left, the data are in the file.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Library {
    pub fn new(place: Place) -> Self {
        Self { place, open: Mutex::default() }
    }

    /// The ids of the campaigns that are there, with their paths, in alphabetical order.
    pub fn list(&self) -> Vec<(String, PathBuf)> {
        let paths: Vec<PathBuf> = match &self.place {
            Place::File(path) => {
                if path.exists() {
                    vec![path.clone()]
                } else {
                    Vec::new()
                }
            }
            Place::Folder(folder) => {
                let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                let paths = entries.map(|entry| entry.path());
                paths.filter(|path| path.extension() == Some(OsStr::new("lab")) && path.is_file()).collect()
            }
        };
        let named = |path: PathBuf| Some((path.file_stem()?.to_str()?.to_string(), path));
        let mut list: Vec<(String, PathBuf)> = paths.into_iter().filter_map(named).collect();
        list.sort();
        list
    }

    /// The campaign with this id.
    pub fn find(&self, id: &str) -> Result<Arc<Campaign>, Failure> {
        let found = self.list().into_iter().find(|(known, _)| known == id);
        let Some((id, path)) = found else {
            return Err(Failure::not_found("there is no such campaign here"));
        };
        let mut open = lock(&self.open);
        let campaign = open.entry(id.clone()).or_insert_with(|| Arc::new(Campaign::new(id, path))).clone();
        *lock(&campaign.used) = Instant::now();
        // Every connection keeps files open, of which a process may have only so many.
        let mut awake: Vec<&Arc<Campaign>> = open.values().filter(|campaign| campaign.is_awake()).collect();
        if awake.len() > MOST_OPEN {
            awake.sort_by_key(|campaign| *lock(&campaign.used));
            awake.iter().take(awake.len() - MOST_OPEN).for_each(|campaign| campaign.rest());
        }
        Ok(campaign)
    }

    /// The campaigns that are open for reading.
    pub fn in_use(&self) -> Vec<Arc<Campaign>> {
        lock(&self.open).values().filter(|campaign| campaign.is_awake()).cloned().collect()
    }

    /// Where a new campaign goes: its id and its path.
    pub fn place_for(&self, name: &str) -> Result<(String, PathBuf), Failure> {
        match &self.place {
            Place::File(path) => {
                let id = path.file_stem().and_then(OsStr::to_str).unwrap_or("campaign");
                Ok((id.to_string(), path.clone()))
            }
            Place::Folder(folder) => {
                let id = plain(name);
                if id.is_empty() {
                    return Err(Failure::invalid(
                        "the name of a campaign needs at least one letter or digit (A to Z, 0 to 9)",
                    ));
                }
                let path = folder.join(format!("{id}.lab"));
                Ok((id, path))
            }
        }
    }
}

/// A name of lower-case letters, digits and dashes: `Müller's cells 2` becomes `m-ller-s-cells-2`.
fn plain(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let joined = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    joined[..joined.len().min(60)].trim_end_matches('-').to_string()
}

impl Campaign {
    fn new(id: String, path: PathBuf) -> Self {
        let (readers, returned, writer, answers) = Default::default();
        let (worked_out, working_out, memory, told) = Default::default();
        let used = Mutex::new(Instant::now());
        Self { id, path, readers, returned, writer, answers, worked_out, working_out, memory, told, used }
    }

    /// Is a connection for reading open?
    fn is_awake(&self) -> bool {
        !lock(&self.readers).idle.is_empty()
    }

    /// Closes the connections that nobody is using, and forgets what was read.
    fn rest(&self) {
        lock(&self.readers).idle.clear();
        *lock(&self.memory) = Default::default();
        *lock(&self.answers) = Answers::default();
        *lock(&self.worked_out) = None;
        if let Ok(mut writer) = self.writer.try_lock() {
            *writer = None;
        }
    }

    /// A connection of its own, for long work.
    pub fn open(&self) -> Result<Lab, LabError> {
        Ok(self.opened()?.lab)
    }

    /// What was worked out last.
    pub fn worked_out(&self) -> Option<Arc<WorkedOut>> {
        lock(&self.worked_out).clone()
    }

    /// Held by who works something out.
    pub fn working_out(&self) -> MutexGuard<'_, ()> {
        lock(&self.working_out)
    }

    pub fn keep(&self, known: Arc<WorkedOut>) {
        *lock(&self.worked_out) = Some(known);
    }

    /// Reads something.
    pub fn read<T>(&self, work: impl FnOnce(&Lab) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut place = Reader { campaign: self, opened: self.reader() };
        if place.opened.as_ref().is_none_or(|opened| opened.file != number(&self.path)) {
            place.opened = None;
            place.opened = Some(self.opened()?);
        }
        match &place.opened {
            Some(opened) => work(&opened.lab),
            None => Err(Failure::environment("the campaign cannot be opened")),
        }
    }

    /// The place of a reader, with a connection if one is open.
    fn reader(&self) -> Option<Opened> {
        let mut readers = lock(&self.readers);
        while readers.in_use >= READERS {
            readers = self.returned.wait(readers).unwrap_or_else(PoisonError::into_inner);
        }
        readers.in_use += 1;
        readers.idle.pop()
    }

    /// Answers from what is known, or reads and remembers it until the campaign changes.
    pub fn answer(
        &self,
        what: &str,
        work: impl FnOnce(&Lab) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        self.read(|lab| {
            let version = lab.version()?;
            {
                let answers = lock(&self.answers);
                if let Some(answer) = answers.known.get(what).filter(|_| answers.version == version) {
                    return Ok(answer.clone());
                }
            }
            let answer = work(lab)?;
            let mut answers = lock(&self.answers);
            if answers.version != version || answers.known.len() >= ANSWERS {
                *answers = Answers { version, known: HashMap::new() };
            }
            answers.known.insert(what.to_string(), answer.clone());
            Ok(answer)
        })
    }

    /// Changes something, signed.
    pub fn change<T>(
        &self,
        signature: Signature,
        work: impl FnOnce(&mut Lab) -> Result<T, LabError>,
    ) -> Result<T, LabError> {
        let mut writer = lock(&self.writer);
        let mut opened = match writer.take().filter(|opened| opened.file == number(&self.path)) {
            Some(opened) => opened,
            None => self.opened()?,
        };
        opened.lab.sign(signature);
        let done = work(&mut opened.lab);
        *writer = Some(opened);
        done
    }

    /// The version, if listeners were not told it yet.
    pub fn news(&self) -> Option<String> {
        let version = self.read(|lab| Ok(lab.version()?)).ok()?;
        let mut told = lock(&self.told);
        (*told != version).then(|| {
            told.clone_from(&version);
            version
        })
    }

    fn opened(&self) -> Result<Opened, LabError> {
        let file = number(&self.path);
        let memory = {
            let mut known = lock(&self.memory);
            if known.0 != file {
                *known = (file, Memory::default());
            }
            known.1.clone()
        };
        Ok(Opened { lab: Lab::open_sharing(&self.path, WAIT, &memory)?, file })
    }
}

/// The place of a reader, which is given back also if the reader panics.
struct Reader<'c> {
    campaign: &'c Campaign,
    opened: Option<Opened>,
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let mut readers = lock(&self.campaign.readers);
        readers.in_use -= 1;
        // A connection whose user panicked may be in the middle of something.
        if !std::thread::panicking() {
            readers.idle.extend(self.opened.take());
        }
        self.campaign.returned.notify_one();
    }
}

/// Which file has this name.
#[cfg(unix)]
fn number(path: &Path) -> FileNumber {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn number(path: &Path) -> FileNumber {
    path.exists().then_some((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_plain_ones() {
        for (name, id) in [
            ("Cells 2", "cells-2"),
            ("../../etc/passwd", "etc-passwd"),
            ("Müller's", "m-ller-s"),
            ("..", ""),
            ("CON.lab", "con-lab"),
            ("\u{1f9a0}", ""),
        ] {
            assert_eq!(plain(name), id);
        }
        assert_eq!(plain(&"x".repeat(300)).len(), 60);
    }

    #[test]
    fn only_what_is_in_the_folder_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::write(folder.path().join("secret.lab"), "").unwrap();
        fs::write(inner.join("a b.lab"), "").unwrap();
        fs::write(inner.join("notes.txt"), "").unwrap();
        let library = Library::new(Place::Folder(inner));
        assert!(library.find("a b").is_ok());
        for name in ["../secret", "secret", "notes", "notes.txt", "a b.lab", "", ".", "/a b"] {
            assert!(library.find(name).is_err(), "{name}");
        }
    }
}
