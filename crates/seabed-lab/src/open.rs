//! Creating and opening campaign files: files that are not campaigns, are damaged or have a later version are recognised
//! before anything could be written to them.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::memory::Memory;
use super::signature::Signature;
use super::variables::Variables;
use super::{Lab, LabError, digest, time};

/// "sbed" in the header of the file, where SQLite keeps room for it.
const APPLICATION: u32 = 0x7362_6564;

/// `MIGRATIONS[k]` brings a file from version k to k + 1; fingerprints are of more in every version.
const MIGRATIONS: [&str; 3] = [include_str!("schema.sql"), "", include_str!("version_3.sql")];

const VERSION: u32 = MIGRATIONS.len() as u32;

/// No database is smaller, in bytes.
const LEAST_PAGE: u64 = 512;

impl Lab {
    /// Creates a campaign. The file gets its name only when it is complete; an existing one is never replaced.
    pub fn create(path: &Path, variables: &str, seed: u64, note: &str) -> Result<(), LabError> {
        Self::create_signed(path, variables, seed, note, &Signature::default())
    }

    /// As [`Lab::create`], with who asked for it.
    pub fn create_signed(
        path: &Path,
        variables: &str,
        seed: u64,
        note: &str,
        signature: &Signature,
    ) -> Result<(), LabError> {
        let checked = Variables::from_toml(variables, "variables")?;
        let database = |source| LabError::Database { path: path.to_path_buf(), source };
        let image = (|| {
            let mut memory = Connection::open_in_memory()?;
            migrate(&mut memory, 0)?;
            let change = memory.transaction()?;
            change.execute("INSERT INTO campaign VALUES (1, ?1)", [seed as i64])?;
            let what = format!("{} variables", checked.names().len());
            let now = time::now();
            change.execute(
                "INSERT INTO action (kind, what, at, note) VALUES ('new', ?1, ?2, ?3)",
                [what.as_str(), &now, note],
            )?;
            change.execute("INSERT INTO variables VALUES (1, ?1)", [variables])?;
            signature.store(&change, 1)?;
            digest::seal(&change, 1)?;
            change.commit()?;
            Ok(memory.serialize("main")?.to_vec())
        })();
        let mut image: Vec<u8> = image.map_err(database)?;
        // Write-ahead logging from the start: an in-memory database has no such mode, but its header can be edited.
        image[18..20].fill(2);
        write_new(path, &image)
    }

    /// Opens a campaign; where another process writes to it, waits up to `wait`. One that cannot be written to, because its
    /// folder or its disk is read-only, can be read all the same: from a copy, which is gone when it is closed.
    pub fn open(path: &Path, wait: Duration) -> Result<Self, LabError> {
        Self::open_sharing(path, wait, &Memory::default())
    }

    /// As [`Lab::open`], for a process with several connections to the same file: the file is looked through by the first only,
    /// and what one has read, the others need not read.
    pub fn open_sharing(path: &Path, wait: Duration, memory: &Memory) -> Result<Self, LabError> {
        check_header(path)?;
        match Self::open_at(path, path, None, wait, memory.clone()) {
            Err(LabError::Database { source, .. }) if source.is_read_only() => {
                let (copy, place) = copied(path).map_err(LabError::file(path))?;
                Self::open_at(path, &place, Some(copy), wait, Memory::default())
            }
            opened => opened,
        }
    }

    /// Writes a copy of the campaign, as it is at this moment, to a new file, whoever else is working on it. The copy needs
    /// nothing beside it.
    pub fn backup(&mut self, path: &Path) -> Result<(), LabError> {
        self.state()?;
        let image = self.connection.serialize("main").map(|image| image.to_vec());
        write_new(path, &image.map_err(|error| self.failed(error))?)
    }

    /// Opens the campaign of `path` at `place`, where it or its copy is.
    fn open_at(
        path: &Path,
        place: &Path,
        copy: Option<tempfile::TempDir>,
        wait: Duration,
        memory: Memory,
    ) -> Result<Self, LabError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(place, flags);
        let connection = opened.map_err(|error| classify_sqlite_error(path, error))?;
        let (signature, seen, told) = Default::default();
        let mut lab = Self { path: path.to_path_buf(), connection, copy, signature, seen, told, memory };
        lab.connection.busy_timeout(wait).map_err(|error| classify_sqlite_error(path, error))?;
        let version = lab.prepare().map_err(|error| lab.failed(error))?;
        if version > VERSION {
            return Err(LabError::Newer { path: lab.path, found: version, known: VERSION });
        }
        if lab.memory.is_unchecked() {
            let problems = lab.problems("quick_check").map_err(|error| lab.failed(error))?;
            if let Some(problem) = problems.into_iter().next() {
                return Err(LabError::Damaged { path: lab.path, problem });
            }
            lab.memory.note_checked();
        }
        if version < VERSION {
            let migrated = migrate(&mut lab.connection, version);
            migrated.map_err(|error| lab.failed(error))?;
        }
        Ok(lab)
    }

    /// Sets the connection up without writing.
    fn prepare(&self) -> rusqlite::Result<u32> {
        self.connection.pragma_update(None, "foreign_keys", true)?;
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        self.connection.query_row("SELECT user_version FROM pragma_user_version", [], |row| row.get(0))
    }

    /// What SQLite finds wrong with the file.
    pub(super) fn problems(&self, pragma: &str) -> rusqlite::Result<Vec<String>> {
        let mut query = self.connection.prepare(&format!("PRAGMA {pragma}"))?;
        let lines: Result<Vec<String>, _> = query.query_map([], |row| row.get(0))?.collect();
        Ok(lines?.into_iter().filter(|line| line != "ok").collect())
    }

    /// An error of the database as the user should see it.
    pub(super) fn failed(&self, error: rusqlite::Error) -> LabError {
        classify_sqlite_error(&self.path, error)
    }
}

/// Writes a file that gets its name only when it is complete; an existing one is never replaced.
fn write_new(path: &Path, content: &[u8]) -> Result<(), LabError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let write = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".seabed-").suffix(".part");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        // The error of the temporary file names that file, which means nothing to the user.
        let part = builder.tempfile_in(folder);
        let mut part = part.map_err(|error| std::io::Error::from(error.kind()))?;
        part.write_all(content)?;
        part.as_file().sync_all()?;
        part.persist_noclobber(path).map_err(|error| error.error)?;
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    };
    write().map_err(|error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => LabError::Exists { path: path.to_path_buf() },
        _ => LabError::File { path: path.to_path_buf(), source: error },
    })
}

/// A copy of a campaign, with the log beside it if there is one.
fn copied(path: &Path) -> std::io::Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("campaign.lab");
    let image = as_it_is(path).and_then(|mut file| file.serialize("main").map(|image| image.to_vec()));
    fs::write(&place, image.map_err(std::io::Error::other)?)?;
    let log = beside(path, "-wal");
    if log.exists() {
        fs::write(beside(&place, "-wal"), fs::read(log)?)?;
    }
    Ok((folder, place))
}

fn migrate(connection: &mut Connection, from: u32) -> rusqlite::Result<()> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated it meanwhile.
    let now: u32 = change.query_row("SELECT user_version FROM pragma_user_version", [], |row| row.get(0))?;
    for (version, step) in MIGRATIONS.iter().enumerate().skip(from.max(now) as usize) {
        change.execute_batch(step)?;
        digest::seal_anew(&change, version)?;
        if version == 2 {
            digest::seal_beliefs(&change)?;
        }
        change.pragma_update(None, "user_version", version as u32 + 1)?;
    }
    change.pragma_update(None, "application_id", APPLICATION)?;
    change.commit()
}

/// Recognises a file that is not a campaign, or is damaged, before SQLite could write to it or beside it.
fn check_header(path: &Path) -> Result<(), LabError> {
    let no = |why: &str| LabError::NotACampaign { path: path.to_path_buf(), why: why.to_string() };
    let damaged = |problem: String| LabError::Damaged { path: path.to_path_buf(), problem };
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(no("there is no such file"));
        }
        other => other.map_err(LabError::file(path))?,
    };
    match (metadata.is_dir(), metadata.is_file(), metadata.len()) {
        (true, ..) => return Err(no("it is a folder")),
        (_, false, _) => return Err(no("it is another kind of file")),
        (_, _, 0) => return Err(no("it is empty")),
        _ => {}
    }
    // With a log beside it, some pages may not be in the file yet.
    let logged = fs::metadata(beside(path, "-wal")).is_ok_and(|metadata| metadata.len() > 0);
    let read = || -> rusqlite::Result<(i64, i64, i64)> {
        let file = as_it_is(path)?;
        let number =
            |pragma: &str| file.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0));
        let (application, version) = (number("application_id")?, number("user_version")?);
        if application != i64::from(APPLICATION) || version > i64::from(VERSION) || logged {
            return Ok((application, version, 0));
        }
        Ok((application, version, number("page_size")? * number("page_count")?))
    };
    let (application, version, length) = match read() {
        Ok(numbers) => numbers,
        Err(error) => {
            return match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::NotADatabase) => Err(no("it is another kind of file")),
                Some(rusqlite::ErrorCode::DatabaseCorrupt) if logged => Ok(()),
                Some(rusqlite::ErrorCode::DatabaseCorrupt) => {
                    Err(damaged(format!("the file is truncated after {} bytes", metadata.len())))
                }
                _ => Err(classify_sqlite_error(path, error)),
            };
        }
    };
    let truncated = || damaged(format!("the file is truncated after {} bytes", metadata.len()));
    if application != i64::from(APPLICATION) {
        // What is missing reads as zeros.
        let whole = metadata.len() >= LEAST_PAGE;
        return Err(if whole { no("it is the database of another program") } else { truncated() });
    }
    if version > i64::from(VERSION) {
        let found = u32::try_from(version).unwrap_or(u32::MAX);
        return Err(LabError::Newer { path: path.to_path_buf(), found, known: VERSION });
    }
    if (metadata.len() as i64) < length {
        return Err(truncated());
    }
    Ok(())
}

/// The file by itself, without its log and without locks; nothing is written to it or beside it.
///
/// The file is never opened but by SQLite: whenever a process closes a file, the system drops all locks that the process
/// has on it, those of other connections too. SQLite knows this and waits with the closing.
fn as_it_is(path: &Path) -> rusqlite::Result<Connection> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut address = String::from("file:");
    if cfg!(windows) {
        address.push('/');
    }
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\\' if cfg!(windows) => address.push('/'),
            b'/' | b':' | b'-' | b'.' | b'_' => address.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => address.push(byte.into()),
            byte => address.push_str(&format!("%{byte:02x}")),
        }
    }
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(address + "?immutable=1", flags)
}

/// The file that SQLite keeps beside another.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    name.into()
}

pub(super) fn classify_sqlite_error(path: &Path, error: rusqlite::Error) -> LabError {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DatabaseLocked, NotADatabase};
    let path = path.to_path_buf();
    match error.sqlite_error_code() {
        Some(DatabaseBusy | DatabaseLocked) => LabError::Busy { holder: holder(&path), path },
        Some(DatabaseCorrupt | NotADatabase) => {
            LabError::Damaged { path, problem: "its pages do not fit together".into() }
        }
        _ => LabError::Database { path, source: error.into() },
    }
}

/// The process that holds the lock for writing, which SQLite keeps on byte 120 of the file of shared memory, where the
/// system lists all locks. The file itself is not opened: see [`as_it_is`].
#[cfg(target_os = "linux")]
fn holder(path: &Path) -> Option<i32> {
    use std::os::unix::fs::MetadataExt;
    // The numbers of devices are not always those that the list has; that of the file is telling enough.
    let file = format!(":{}", fs::metadata(beside(path, "-shm")).ok()?.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        // `7: POSIX  ADVISORY  WRITE 1234 fd:01:5678 120 120`; who waits for it has `->` before the kind.
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "POSIX", _, "WRITE", process, at, first, last] = words[..] else { return None };
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().unwrap_or(u64::MAX));
        let here = at.ends_with(&file) && (first..=last).contains(&120);
        process.parse().ok().filter(|process: &i32| here && *process > 0)
    })
}

#[cfg(not(target_os = "linux"))]
fn holder(_: &Path) -> Option<i32> {
    None
}
