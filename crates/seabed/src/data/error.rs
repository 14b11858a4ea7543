//! What can be wrong with the user's data.
//!
//! Every message names the place, the value and the way out. The pieces of the
//! messages are in [`wording`](super::wording), names have their own error in
//! [`names`](super::names), graphs in [`graph_error`](super::graph_error).

use std::io;

use super::graph_error::GraphFileError;
use super::names::NameError;
use super::wording::{Excerpt, Place, Remedy, argument, did_you_mean, list};

/// Why data cannot be read, written or put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A cell of a variable holds other text.
    #[error("{at}: {text} is not a number; {remedy}")]
    NotANumber {
        /// The cell.
        at: Box<Place>,
        /// What it holds.
        text: Excerpt,
        /// What to do.
        remedy: Remedy,
    },
    /// An empty cell, `NA`, `NaN`, a Parquet null.
    #[error("{at}: {}; {remedy}", missing(.text))]
    Missing {
        /// The cell.
        at: Box<Place>,
        /// What it holds, if anything.
        text: Option<Excerpt>,
        /// What to do.
        remedy: Remedy,
    },
    /// An infinity, or a number beyond the range of a double.
    #[error("{at}: {text} is not a finite number; remove the row or correct the value")]
    NotFinite {
        /// The cell.
        at: Box<Place>,
        /// What it holds.
        text: Excerpt,
    },
    /// A row with more or fewer cells than the header.
    #[error("{at}: the row has {cells}, the header {header}; {}", if cells > header {
        "put quotes around cells that contain a comma"
    } else {
        "empty cells need their commas too"
    })]
    RaggedRow {
        /// The row.
        at: Box<Place>,
        /// Cells of the row.
        cells: Cells,
        /// Cells of the header.
        header: Cells,
    },
    /// An invalid name.
    #[error("{at}: {reason}")]
    Name {
        /// The file.
        at: Box<Place>,
        /// What is wrong with the name.
        reason: NameError,
    },
    /// A file that seems to have no header.
    #[error("{file}: the first line contains numbers, but it must contain the column names")]
    NoHeader {
        /// The file.
        file: String,
    },
    /// A target that is not a variable.
    #[error("{at}: there is no variable {target}{}; the variables are {}", did_you_mean(.suggestion.as_deref()), list(.known))]
    UnknownTarget {
        /// The cell.
        at: Box<Place>,
        /// The name that is not known.
        target: Excerpt,
        /// The variables.
        known: Vec<String>,
        /// What was perhaps meant.
        suggestion: Option<String>,
    },
    /// A word for "no target" where the cell should be empty.
    #[error("{at}: there is no variable {text}; leave the cell empty if the row is observational")]
    NotATarget {
        /// The cell.
        at: Box<Place>,
        /// What it holds.
        text: Excerpt,
    },
    /// A number where the names of targets are expected.
    #[error(
        "{at}: {text} is a number, but this column names the variables that were set; \
         the value goes into the variable's own column"
    )]
    NumericTarget {
        /// The cell.
        at: Box<Place>,
        /// What it holds.
        text: Excerpt,
    },
    /// One target twice in the same row.
    #[error("{at}: {target} is listed twice; list each target once")]
    RepeatedTarget {
        /// The cell.
        at: Box<Place>,
        /// The target.
        target: Excerpt,
    },
    /// Nothing between two separators of targets.
    #[error("{at}: {text} contains an empty name; separate names with a single `;`")]
    EmptyTarget {
        /// The cell.
        at: Box<Place>,
        /// What it holds.
        text: Excerpt,
    },
    /// A header, but nothing below it.
    #[error("{at}: there are no rows; at least one sample is needed")]
    NoRows {
        /// The file.
        at: Box<Place>,
    },
    /// No column is left that could be a variable.
    #[error("{at}: there are no variables; at least one column of numbers is needed")]
    NoVariables {
        /// The file.
        at: Box<Place>,
    },
    /// Bytes that are not UTF-8.
    #[error("{at}: the text is not UTF-8{}; save the file as UTF-8", if *utf16 {
        " but UTF-16 (in Excel: \"Unicode text\")"
    } else {
        " (perhaps Latin-1 or Windows-1252)"
    })]
    NotUtf8 {
        /// The line.
        at: Box<Place>,
        /// Does it look like UTF-16?
        utf16: bool,
    },
    /// A row that would take too much memory.
    #[error("{at}: the row that starts here is longer than {} MiB; is a quotation mark missing?", limit >> 20)]
    RowTooLong {
        /// The row.
        at: Box<Place>,
        /// The longest row that is read, in bytes.
        limit: usize,
    },
    /// A quotation mark that reaches to the end of the file.
    #[error("{at}: a quotation mark opened in this row is never closed")]
    OpenQuote {
        /// The row.
        at: Box<Place>,
    },
    /// More columns or values than any computation here could use.
    #[error("{file}: too many {what} ({found}); the limit is {limit}")]
    TooMany {
        /// The file.
        file: String,
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        found: u64,
        /// How many can be.
        limit: u64,
    },
    /// A file whose columns are not separated by commas.
    #[error("{file}: the columns seem to be separated by {separator}; use commas, and a point for decimals")]
    WrongSeparator {
        /// The file.
        file: String,
        /// In words.
        separator: &'static str,
    },
    /// There is no such file.
    #[error("{file}: there is no such file")]
    NotFound {
        /// The file.
        file: String,
    },
    /// A directory where a file is expected.
    #[error("{file} is a directory; name a file in it")]
    Directory {
        /// The path.
        file: String,
    },
    /// The operating system refused to read.
    #[error("{file} cannot be read: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// Its reason.
        source: io::Error,
    },
    /// The operating system refused to write.
    #[error("{file} cannot be written: {source}")]
    Unwritable {
        /// The file.
        file: String,
        /// Its reason.
        source: io::Error,
    },
    /// Nothing in it.
    #[error("{file} is empty; the first line must contain the column names")]
    EmptyFile {
        /// The file.
        file: String,
    },
    /// A kind of file that is not known.
    #[error("{file}: unknown file type; tables are .csv or .parquet files")]
    UnknownKind {
        /// The file.
        file: String,
    },
    /// `--ignore` of a column that is not there.
    #[error("{file}: there is no column {} to ignore{}; the columns are {}",
        argument(.column), did_you_mean(.suggestion.as_deref()), list(.known))]
    NothingToIgnore {
        /// The file.
        file: String,
        /// The name that is not known.
        column: String,
        /// The columns of the file.
        known: Vec<String>,
        /// What was perhaps meant.
        suggestion: Option<String>,
    },
    /// A Parquet file that is damaged or uses what is not supported.
    #[error("{file} is not a readable Parquet file: {problem}")]
    Parquet {
        /// The file.
        file: String,
        /// What the decoder says.
        problem: String,
    },
    /// A Parquet file where only CSV can be read.
    #[error("{file}: this program was built without the feature `parquet`; use a .csv file")]
    WithoutParquet {
        /// The file.
        file: String,
    },
    /// A Parquet column that does not hold numbers.
    #[error("{at}: the values are of type {kind}, not numbers; {remedy}")]
    ColumnType {
        /// The column.
        at: Box<Place>,
        /// The type, in the words of Parquet.
        kind: String,
        /// What to do.
        remedy: Remedy,
    },
    /// A Parquet column of targets that does not hold text.
    #[error("{at}: the values are of type {kind}; write target names as text, empty where there are none")]
    TargetsType {
        /// The column.
        at: Box<Place>,
        /// The type, in the words of Parquet.
        kind: String,
    },
    /// A Parquet column compressed in a way that is not read.
    #[error("{at}: {codec} compression is not supported; use snappy or zstd")]
    Compression {
        /// The column.
        at: Box<Place>,
        /// The name of the method.
        codec: String,
    },
    /// Columns, rows or targets of a data set that do not fit together.
    #[error("a data set needs one {each}: expected {expected}, got {got}")]
    Shape {
        /// What is counted per what.
        each: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        got: usize,
    },
    /// A target index that is too large.
    #[error("{at}: node {node} is a target, but there are only {variables} variables")]
    TargetBeyond {
        /// The row.
        at: Box<Place>,
        /// 0-based.
        node: usize,
        /// How many variables there are.
        variables: usize,
    },
    /// Tables or lists of names that are not over the same variables.
    #[error("the variables differ: {}", difference(.missing, .unexpected))]
    DifferentNames {
        /// Expected, but not there.
        missing: Vec<String>,
        /// There, but not expected.
        unexpected: Vec<String>,
    },
    /// A graph that cannot be used.
    #[error(transparent)]
    Graph(#[from] GraphFileError),
}

impl From<NameError> for DataError {
    fn from(reason: NameError) -> Self {
        Self::Name { at: Box::default(), reason }
    }
}

impl DataError {
    /// The kind of error.
    pub fn kind(&self) -> crate::ErrorKind {
        match self {
            Self::Unwritable { .. } => crate::ErrorKind::Environment,
            Self::Unreadable { source, .. } if super::observed::was_stopped(source) => {
                crate::ErrorKind::Stopped
            }
            _ => crate::ErrorKind::Input,
        }
    }

    /// The error for a file that the operating system cannot read.
    pub(super) fn unreadable(file: String, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { file },
            io::ErrorKind::IsADirectory => Self::Directory { file },
            _ => Self::Unreadable { file, source },
        }
    }

    /// The same error with the file that it happened in.
    pub(super) fn in_file(mut self, file: &str) -> Self {
        use DataError::{Missing, Name, NoRows, NoVariables, NotFinite};
        if let Name { at, .. }
        | NoRows { at }
        | NoVariables { at }
        | NotFinite { at, .. }
        | Missing { at, .. } = &mut self
        {
            at.file = Some(file.to_string());
        }
        self
    }
}

/// A number of cells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cells(pub usize);

impl std::fmt::Display for Cells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cell{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

fn missing(text: &Option<Excerpt>) -> String {
    text.as_ref().map_or("the cell is empty".into(), |text| format!("{text} stands for a missing value"))
}

fn difference(missing: &[String], unexpected: &[String]) -> String {
    let parts = [("missing", missing), ("not expected", unexpected)];
    let shown = parts.iter().filter(|(_, names)| !names.is_empty());
    shown.map(|(what, names)| format!("{what}: {}", list(names))).collect::<Vec<_>>().join("; ")
}
