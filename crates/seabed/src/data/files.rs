//! Tables by the name of their file, and files that are either complete or not there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::csv::{part_from, write_csv_view};
use super::dataset::Dataset;
use super::error::DataError;
use super::layout::ReadOptions;
use super::loaded::Loaded;
use super::names::closest;
use super::observed::ObservedReader;
#[cfg(feature = "parquet")]
use super::parquet::{part_of_parquet, write_parquet_view};
use super::raw::{RawTable, TableView};
use crate::observer::Observer;

/// How a table is stored.
enum Kind {
    /// Text or a workbook, perhaps compressed; the bytes tell.
    Text,
    #[cfg(feature = "parquet")]
    Parquet,
}

/// The name that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// Reads a table: `.csv`, `.tsv`, `.txt`, `.xlsx` or `.parquet`, text also compressed (`.gz`), or standard input (`-`).
pub fn read_table(path: &Path, options: &ReadOptions) -> Result<Loaded, DataError> {
    read_tables(&[path], options, &())
}

/// Reads several files as one table, watched: columns are matched by name, and a file without a column of targets holds
/// observations. A column to ignore must be in one of the files. Parquet, which takes a fraction of the time, is not watched.
pub fn read_tables(
    paths: &[impl AsRef<Path>],
    options: &ReadOptions,
    observer: &dyn Observer,
) -> Result<Loaded, DataError> {
    let Some((first, others)) = paths.split_first() else {
        return Err(DataError::NotFound { file: String::new() });
    };
    if others.is_empty() {
        return read_raw_table(first.as_ref(), options, observer)?.complete();
    }
    let mut unknown = options.ignore.clone();
    let mut all: Option<Loaded> = None;
    for path in paths {
        let path = path.as_ref();
        let part = read_ignoring_some(path, options, &mut unknown, observer)?;
        let Some(all) = &mut all else {
            all = Some(part);
            continue;
        };
        all.dataset.append(&part.dataset).map_err(|error| match error {
            DataError::DifferentNames { missing, unexpected } => DataError::DifferentFiles {
                first: shown(first.as_ref()),
                file: shown(path),
                missing,
                unexpected,
            },
            other => other,
        })?;
        all.notes.extend(part.notes);
        all.warnings.extend(part.warnings);
    }
    let all = all.expect("there is a first file");
    match unknown.first() {
        None => Ok(all.examined()),
        Some(column) => Err(DataError::NothingToIgnore {
            file: format!("{} files", paths.len()),
            column: column.clone(),
            known: all.dataset.names().to_vec(),
            suggestion: closest(column, all.dataset.names()).map(str::to_string),
        }),
    }
}

/// Reads one of several files: those columns are ignored that it has. Names found are removed from `unknown`.
fn read_ignoring_some(
    path: &Path,
    options: &ReadOptions,
    unknown: &mut Vec<String>,
    observer: &dyn Observer,
) -> Result<Loaded, DataError> {
    let mut options = options.clone();
    loop {
        match read_raw_table(path, &options, observer).and_then(RawTable::complete_part) {
            Err(DataError::NothingToIgnore { column, .. }) => {
                options.ignore.retain(|name| name.trim() != column);
            }
            other => {
                unknown.retain(|name| !options.ignore.contains(name));
                return other;
            }
        }
    }
}

/// Reads a single file, as [`read_tables`] does, with its gaps.
pub fn read_raw_table(
    path: &Path,
    options: &ReadOptions,
    observer: &dyn Observer,
) -> Result<RawTable, DataError> {
    let name = shown(path);
    if path == Path::new(STANDARD_INPUT) {
        return part_from(ObservedReader::new(io::stdin().lock(), 0, observer), &name, options);
    }
    match kind(path)? {
        Kind::Text => {
            let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
            let (bytes, file) = opened.map_err(|source| DataError::unreadable(name.clone(), source))?;
            part_from(ObservedReader::new(file, bytes, observer), &name, options)
        }
        #[cfg(feature = "parquet")]
        Kind::Parquet => part_of_parquet(path, options),
    }
}

/// The file as messages call it.
fn shown(path: &Path) -> String {
    if path == Path::new(STANDARD_INPUT) { "standard input".into() } else { path.display().to_string() }
}

/// Writes a table, `.csv` or `.parquet`, [atomically](write_atomically).
pub fn write_table(path: &Path, dataset: &Dataset) -> Result<(), DataError> {
    write_view(path, &dataset.into())
}

pub(super) fn write_view(path: &Path, table: &TableView<'_>) -> Result<(), DataError> {
    let kind = written_kind(path)?;
    let written = write_atomically(path, |writer| match kind {
        Kind::Text => write_csv_view(writer, table),
        #[cfg(feature = "parquet")]
        Kind::Parquet => write_parquet_view(writer, table),
    });
    written.map_err(|source| DataError::Unwritable { file: path.display().to_string(), source })
}

/// Is the path the name of a table that can be written? For programs that write other files first.
pub fn check_table_path(path: &Path) -> Result<(), DataError> {
    written_kind(path).map(|_| ())
}

/// Is this the name of a table that can be read, rather than of something else?
pub fn is_table_path(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT) || (kind(path).is_ok() && !path.is_dir())
}

fn written_kind(path: &Path) -> Result<Kind, DataError> {
    match (kind(path)?, extension(path).as_deref()) {
        (Kind::Text, extension) if extension != Some("csv") => {
            Err(DataError::ReadOnlyKind { file: path.display().to_string() })
        }
        (kind, _) => Ok(kind),
    }
}

fn extension(path: &Path) -> Option<String> {
    path.extension().and_then(|extension| extension.to_str()).map(str::to_lowercase)
}

fn kind(path: &Path) -> Result<Kind, DataError> {
    let file = || path.display().to_string();
    let compressed = extension(path).as_deref() == Some("gz");
    let inner =
        if compressed { path.file_stem().map(Path::new).and_then(extension) } else { extension(path) };
    match inner.as_deref() {
        Some("csv" | "tsv" | "tab" | "txt" | "dat" | "xlsx" | "xlsm") => Ok(Kind::Text),
        #[cfg(feature = "parquet")]
        Some("parquet") if !compressed => Ok(Kind::Parquet),
        #[cfg(not(feature = "parquet"))]
        Some("parquet") if !compressed => Err(DataError::WithoutFeature { file: file(), feature: "parquet" }),
        _ if path.is_dir() => Err(DataError::Directory { file: file() }),
        _ => Err(DataError::UnknownKind { file: file() }),
    }
}

/// Writes a file so that readers see the old one or the new one, whole, and nothing is left behind on failure.
///
/// The bytes go to a temporary file in the same directory, are synced to disk, and take the place of `path`
/// only then. A symbolic link within its folder keeps pointing at its file, one that leads out of it is refused, and the
/// permissions of a file that is replaced are
/// kept. What is not a regular file (`/dev/stdout`, a pipe) is written to directly.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    let Some(Part { path, before, part }) = open_part(path)? else {
        let mut writer = BufWriter::new(OpenOptions::new().write(true).open(path)?);
        write(&mut writer)?;
        return writer.flush();
    };
    let mut writer = BufWriter::with_capacity(1 << 16, part.as_file());
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    if let Some(before) = before {
        part.as_file().set_permissions(before.permissions())?;
    }
    part.as_file().sync_all()?;
    part.persist(&path).map_err(|error| error.error)?;
    sync_directory(directory_of(&path))
}

/// Can [`write_atomically`] write this file? For programs that work long before they write. Leaves nothing behind.
pub fn check_writable(path: &Path) -> io::Result<()> {
    open_part(path).map(|_| ())
}

/// Where a file really is; refused if it is a symbolic link that leads out of its folder, because whoever made the link
/// decides what is replaced there.
fn within_folder(path: &Path) -> io::Result<PathBuf> {
    let place = fs::canonicalize(path)?;
    let is_link = fs::symlink_metadata(path)?.is_symlink();
    if is_link && !place.starts_with(fs::canonicalize(directory_of(path))?) {
        let problem =
            format!("it is a symbolic link to {}, outside of its folder; name that file", place.display());
        return Err(io::Error::other(problem));
    }
    Ok(place)
}

/// A temporary file, which is to take the place of `path` and of what was there `before`.
struct Part {
    path: PathBuf,
    before: Option<fs::Metadata>,
    part: tempfile::NamedTempFile,
}

/// None for what is not a regular file: it is written to directly.
fn open_part(path: &Path) -> io::Result<Option<Part>> {
    let before = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        // Standard output may be a regular file, but replacing it would cut it off from whoever writes to it.
        Ok(metadata) if !metadata.is_file() || path.starts_with("/dev") || path.starts_with("/proc") => {
            return Ok(None);
        }
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let path: PathBuf = if before.is_some() { within_folder(path)? } else { path.to_path_buf() };
    let directory = directory_of(&path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".seabed-").suffix(".part");
    #[cfg(unix)]
    {
        // Temporary files are private by default; output gets the permissions of any new file.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // The error of the temporary file names that file, which means nothing to the user.
    let part = builder.tempfile_in(directory).map_err(|error| {
        if directory.is_dir() {
            io::Error::from(error.kind())
        } else {
            io::Error::new(error.kind(), format!("there is no folder {}", directory.display()))
        }
    })?;
    Ok(Some(Part { path, before, part }))
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The new name is on disk only when the directory is synced; systems that cannot open directories do not need this.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        write_atomically(&path, |w| w.write_all(b"old")).unwrap();
        let failed = write_atomically(&path, |w| {
            w.write_all(&[b'x'; 1 << 20])?;
            Err(io::Error::other("the disk is full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "the disk is full");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(entries(directory.path()), ["a.txt"]);
        write_atomically(&path, |w| w.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        write_atomically(&link, |w| w.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);

        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("theirs"), "old").unwrap();
        let out = directory.path().join("out");
        symlink(elsewhere.path().join("theirs"), &out).unwrap();
        let refusal = write_atomically(&out, |w| w.write_all(b"new")).unwrap_err().to_string();
        assert!(refusal.starts_with("it is a symbolic link to "), "{refusal}");
        assert_eq!(fs::read(elsewhere.path().join("theirs")).unwrap(), b"old");

        let fresh = directory.path().join("fresh");
        write_atomically(&fresh, |w| w.write_all(b"x")).unwrap();
        fs::write(directory.path().join("plain"), "x").unwrap();
        let mode = |name: &str| fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("fresh"), mode("plain"));
    }

    #[test]
    fn other_extensions_are_refused() {
        let error = read_table(Path::new("data.pdf"), &ReadOptions::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "data.pdf: unknown file type; tables are .csv, .tsv, .txt, .xlsx or .parquet (text also with .gz) files"
        );
        let error = check_table_path(Path::new("data.xlsx")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "data.xlsx: this kind of file is only read; tables are written as .csv or .parquet"
        );
    }
}
