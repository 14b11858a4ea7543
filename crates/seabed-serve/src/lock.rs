//! One server per campaign: a second start is told the address of the first.
//!
//! The lock is one that the system drops when its process ends, however it ends; the file beside it only says where the
//! server is. Whoever may read it may use the server: it is the owner's alone.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::ServeError;

/// Held as long as the server runs.
pub struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Takes the lock of a file or folder; an error with the address if a server has it.
    pub fn take(path: PathBuf) -> Result<Self, ServeError> {
        let failed = |source| ServeError::Lock { path: path.clone(), source };
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(ServeError::Served { address: address_in(&mut file) });
                }
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
            // Who had it before may have removed the file between our two steps.
            if is_at(&file, &path) {
                return Ok(Self { path, file });
            }
        }
    }

    /// The address of the server that has the lock of a file or folder, if there is one.
    pub fn holder(path: &Path) -> Option<String> {
        let mut file = File::open(path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(address_in(&mut file)),
            _ => None,
        }
    }

    /// Says where the server is.
    pub fn tell(&mut self, address: &str) -> Result<(), ServeError> {
        let write = |file: &mut File| -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(address.as_bytes())?;
            file.flush()
        };
        write(&mut self.file).map_err(|source| ServeError::Lock { path: self.path.clone(), source })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn address_in(file: &mut File) -> String {
    let mut address = String::new();
    let _ = file.take(1000).read_to_string(&mut address);
    if address.is_empty() { "an address that it has not told yet".into() } else { address }
}

/// Is this the file that has the name now?
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let number = |metadata: io::Result<fs::Metadata>| metadata.ok().map(|m| (m.dev(), m.ino()));
    number(file.metadata()).is_some_and(|here| Some(here) == number(fs::metadata(path)))
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_server_is_told_the_address_and_a_stale_file_does_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock");
        fs::write(&path, "http://127.0.0.1:1/, a server that was killed").unwrap();
        assert_eq!(Lock::holder(&path), None);
        let mut first = Lock::take(path.clone()).unwrap();
        first.tell("http://127.0.0.1:2/").unwrap();
        assert_eq!(Lock::holder(&path).as_deref(), Some("http://127.0.0.1:2/"));
        let refusal = Lock::take(path.clone()).err().unwrap().to_string();
        assert!(refusal.contains("http://127.0.0.1:2/"), "{refusal}");
        drop(first);
        assert!(!path.exists());
        Lock::take(path).unwrap();
    }
}
