//! A process that works on a study, and how others can tell whether it is alive.
//!
//! Every working process has a file in `workers/`, which it locks and writes again every half minute. On the same computer
//! the lock tells for sure; between computers, where file systems may have no locks or only local ones, the age of the file
//! does. Both times in that comparison are the file system's own, so clocks need not agree.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use std::{env, process, thread};

use serde::{Deserialize, Serialize};

use super::StudyError;
use super::folder::{create_own_folder, refuse_link};

/// How often a worker writes its file.
const BEAT: Duration = Duration::from_secs(30);

/// A worker on another computer that was silent for so long is dead: ten times it did not write.
pub(crate) const SILENCE: Duration = Duration::from_secs(300);

/// The folder of the workers' files.
const FOLDER: &str = "workers";

/// What a worker's file says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Card {
    host: String,
    process: u32,
    /// The same for all processes that see each other's locks: the running system.
    machine: String,
}

/// What is known about a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sign {
    /// It works on this computer.
    Alive,
    /// It has ended.
    Dead,
    /// It is elsewhere and wrote its file at this time of the file system.
    Heard(SystemTime),
}

/// A process that works on the study in a folder, as long as this lives.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    beating: Option<JoinHandle<()>>,
}

struct Shared {
    name: String,
    path: PathBuf,
    text: String,
    file: Mutex<File>,
    /// Somebody took this process for dead and removed its file.
    lost: AtomicBool,
    ended: Mutex<bool>,
    wake: Condvar,
}

impl Worker {
    /// Writes the file of this process, which may have several workers.
    pub(crate) fn new(study: &Path) -> Result<Self, StudyError> {
        let folder = study.join(FOLDER);
        let (host, process) = (host(), process::id());
        let text = serde_json::to_string(&Card { host: host.clone(), process, machine: machine() })
            .expect("texts and a number");
        let (name, path, file) = loop {
            create_own_folder(study, FOLDER)?;
            let chance = RandomState::new().hash_one(process) & 0xff_ffff;
            let name = format!("{host}-{process}-{chance:06x}");
            let path = folder.join(&name);
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => break (name, path, file),
                // The name is taken, or the last worker has just removed the folder.
                Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {}
                Err(error) => return Err(StudyError::file(&path)(error)),
            }
        };
        // Locked before it says where it is: whoever reads that finds the lock.
        let _ = file.lock();
        let shared = Arc::new(Shared {
            name,
            path,
            text,
            file: Mutex::new(file),
            lost: AtomicBool::new(false),
            ended: Mutex::new(false),
            wake: Condvar::new(),
        });
        // On a full disk others see an empty file, whose age still tells.
        let _ = shared.beat();
        let beating = Arc::clone(&shared);
        let beating = thread::Builder::new().name("sign of life".into()).spawn(move || beating.go_on());
        Ok(Self { shared, beating: beating.ok() })
    }

    /// Its name, unique in the study.
    pub(crate) fn name(&self) -> &str {
        &self.shared.name
    }

    /// Was it taken for dead?
    pub(crate) fn is_lost(&self) -> bool {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// What is known about another worker of the same study.
    pub(crate) fn sign_of(&self, other: &str) -> Sign {
        let folder = self.shared.path.parent().expect("in its folder");
        sign_of(&folder.join(other), &machine())
    }

    /// For how long a worker that wrote its file at `heard` has been silent, by the clock of the file system.
    pub(crate) fn silent_since(&self, heard: SystemTime) -> Duration {
        let now = self.shared.beat().unwrap_or(heard);
        now.duration_since(heard).unwrap_or_default()
    }

    /// Has the other worker ended, as far as one can tell?
    pub(crate) fn outlived(&self, other: &str) -> bool {
        match self.sign_of(other) {
            Sign::Alive => false,
            Sign::Dead => true,
            Sign::Heard(at) => self.silent_since(at) >= SILENCE,
        }
    }

    /// Removes the files of workers that have ended, unless one of `needed` is theirs.
    pub(crate) fn bury(&self, needed: &dyn Fn(&str) -> bool) {
        let folder = self.shared.path.parent().expect("in its folder");
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != self.shared.name && !needed(&name) && self.outlived(&name) {
                // Another process may have removed it already.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        *self.shared.ended.lock().expect("no beat panics") = true;
        self.shared.wake.notify_all();
        if let Some(beating) = self.beating.take() {
            let _ = beating.join();
        }
        let _ = fs::remove_file(&self.shared.path);
        // It stays while others have their files there.
        let _ = fs::remove_dir(self.shared.path.parent().expect("in its folder"));
    }
}

impl Shared {
    fn go_on(&self) {
        let mut ended = self.ended.lock().expect("nobody panics with it");
        while !*ended {
            ended = self.wake.wait_timeout(ended, BEAT).expect("nobody panics with it").0;
            if !*ended && matches!(self.beat(), Err(error) if error.kind() == ErrorKind::NotFound) {
                self.lost.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Writes the file again and returns its time, which is the present one of the file system. The content is written, not
    /// only the time set: then a server sets the time by its own clock.
    fn beat(&self) -> io::Result<SystemTime> {
        let mut file = self.file.lock().expect("no beat panics");
        file.seek(SeekFrom::Start(0))?;
        file.write_all(self.text.as_bytes())?;
        file.sync_all()?;
        // By its name: the file may have been removed.
        fs::metadata(&self.path)?.modified()
    }
}

fn sign_of(path: &Path, machine: &str) -> Sign {
    // A link to some other file would have it locked.
    if refuse_link(path).is_err() {
        return Sign::Dead;
    }
    // Opened for writing: some file systems lock only such files. Opening also asks a server for the newest time.
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Sign::Dead,
        Err(_) => {
            return fs::metadata(path).and_then(|known| known.modified()).map_or(Sign::Alive, Sign::Heard);
        }
    };
    let here = || {
        let card: Option<Card> = fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        card.is_some_and(|card| card.machine == machine)
    };
    // Shared: who looks at the same time must not be taken for the worker.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Sign::Alive,
        Ok(()) if here() => Sign::Dead,
        _ => file.metadata().and_then(|known| known.modified()).map_or(Sign::Alive, Sign::Heard),
    }
}

/// The running system. Where it has no number, its name.
fn machine() -> String {
    let number = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    number.map_or_else(|_| host(), |number| number.trim().to_string())
}

/// The name of this computer, in letters that file names can have.
fn host() -> String {
    let told = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let told = told.or_else(|| env::var("HOSTNAME").ok()).or_else(|| env::var("COMPUTERNAME").ok());
    let told = told.unwrap_or_default();
    let short = told.trim().split('.').next().unwrap_or_default();
    let safe: String = short.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
    if safe.is_empty() { "computer".into() } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_alive_until_it_ends_and_its_file_goes_with_it() {
        let study = tempfile::tempdir().unwrap();
        let [one, other] = [0, 1].map(|_| Worker::new(study.path()).unwrap());
        assert_eq!(one.sign_of(other.name()), Sign::Alive);
        assert_eq!(one.sign_of(one.name()), Sign::Alive);
        let name = other.name().to_string();
        drop(other);
        assert_eq!(one.sign_of(&name), Sign::Dead);
        drop(one);
        assert!(!study.path().join(FOLDER).exists());
    }

    /// A file that nobody has locked: on this computer its process is dead, elsewhere only its age tells.
    #[test]
    fn a_worker_elsewhere_is_dead_once_it_was_silent_for_long() {
        let study = tempfile::tempdir().unwrap();
        let worker = Worker::new(study.path()).unwrap();
        let left = |name: &str, machine: &str, ago: Duration| {
            let path = study.path().join(FOLDER).join(name);
            let card = Card { host: "node".into(), process: 7, machine: machine.into() };
            fs::write(&path, serde_json::to_string(&card).unwrap()).unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(SystemTime::now() - ago).unwrap();
        };
        left("killed", &machine(), Duration::ZERO);
        left("working", "another", SILENCE / 2);
        left("silent", "another", SILENCE + Duration::from_secs(5));
        assert!(worker.outlived("killed") && worker.outlived("silent") && !worker.outlived("working"));
        // Half a card, as a full disk leaves it: only its age tells.
        fs::write(study.path().join(FOLDER).join("torn"), "{\"ho").unwrap();
        assert!(!worker.outlived("torn"));
        worker.bury(&|name| name == "silent");
        let left: Vec<bool> =
            ["killed", "working", "silent"].map(|name| study.path().join(FOLDER).join(name).exists()).into();
        assert_eq!(left, [false, true, true]);
    }

    /// Threads that ask at the same moment do not take each other for the worker.
    #[test]
    fn the_dead_are_dead_for_all_who_ask_at_once() {
        let study = tempfile::tempdir().unwrap();
        let worker = Worker::new(study.path()).unwrap();
        let card = Card { host: "node".into(), process: 7, machine: machine() };
        let text = serde_json::to_string(&card).unwrap();
        fs::write(study.path().join(FOLDER).join("killed"), text).unwrap();
        let ask = || (0..500).all(|_| worker.outlived("killed"));
        let told: Vec<bool> = thread::scope(|scope| {
            let asking: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(told, [true; 4]);
    }

    #[test]
    fn who_was_taken_for_dead_learns_it() {
        let study = tempfile::tempdir().unwrap();
        let worker = Worker::new(study.path()).unwrap();
        fs::remove_file(&worker.shared.path).unwrap();
        assert_eq!(worker.shared.beat().unwrap_err().kind(), ErrorKind::NotFound);
        assert!(!worker.is_lost(), "only once it would have been due");
    }
}
