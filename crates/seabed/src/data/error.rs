//! What can be wrong with the user's data.
//!
//! Every message names the place, the value and the way out. The pieces of the
//! messages are in [`wording`](super::wording), names have their own error in
//! [`names`](super::names), graphs in [`graph_error`](super::graph_error).

use std::io;

use super::dialect::Separator;
use super::graph_error::GraphFileError;
use super::missing::SetAside;
use super::names::NameError;
use super::problems::listed;
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
    /// Several cells or rows that cannot be used.
    #[error("{}", listed(.file, .first, *.count))]
    Several {
        /// The file.
        file: String,
        /// The first ones.
        first: Vec<DataError>,
        /// How many there are.
        count: usize,
    },
    /// No row has a value in every column.
    #[error("{file}: no row is complete: {}; {remedy}", lacking(.aside))]
    NoCompleteRow {
        /// The file.
        file: String,
        /// What is missing.
        aside: Box<SetAside>,
        /// What to do about the column that lacks most.
        remedy: Remedy,
    },
    /// A comma that may be one of decimals or of thousands.
    #[error(
        "{at}: {text} may have a decimal comma or a comma between thousands, and no other number of the file tells; \
         say which with --decimal comma or --decimal point"
    )]
    AmbiguousComma {
        /// The first such cell.
        at: Box<Place>,
        /// What it holds.
        text: Excerpt,
    },
    /// Decimal commas and decimal points in one file.
    #[error(
        "{at}: {comma} has a decimal comma, but {point} ({other}) a point; say which is right with --decimal comma or \
         --decimal point: cells of the other kind are then listed"
    )]
    MixedDecimals {
        /// The first cell with a comma.
        at: Box<Place>,
        /// What it holds.
        comma: Excerpt,
        /// The first cell with a point.
        other: Box<Place>,
        /// What it holds.
        point: Excerpt,
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
    #[error("{at}: the row has {cells}, the header {header}; {}", ragged(cells > header, *.separator))]
    RaggedRow {
        /// The row.
        at: Box<Place>,
        /// Cells of the row.
        cells: Cells,
        /// Cells of the header.
        header: Cells,
        /// What separates them.
        separator: Separator,
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
    /// Bytes that are not UTF-8, although the user says so, or in a file that knows nothing else.
    #[error(
        "{at}: the text is not UTF-8 (perhaps Latin-1 or Windows-1252); save the file as UTF-8, or use --encoding latin-1"
    )]
    NotUtf8 {
        /// The line.
        at: Box<Place>,
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
    #[error("{file}: unknown file type; tables are {TABLES} files")]
    UnknownKind {
        /// The file.
        file: String,
    },
    /// A kind of file that can be read but not written.
    #[error("{file}: this kind of file is only read; tables are written as .csv or .parquet")]
    ReadOnlyKind {
        /// The file.
        file: String,
    },
    /// A workbook that cannot be read.
    #[error("{file} is not a readable workbook: {problem}")]
    Workbook {
        /// The file.
        file: String,
        /// What the reader says.
        problem: String,
    },
    /// A workbook without the sheet that was asked for.
    #[error("{file}: there is no sheet {}; the sheets are {}", Excerpt::new(.sheet), list(.known))]
    NoSheet {
        /// The file.
        file: String,
        /// The sheet's name.
        sheet: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A kind of file that needs a feature of the library.
    #[error("{file}: this program was built without the feature `{feature}`; use a .csv file")]
    WithoutFeature {
        /// The file.
        file: String,
        /// The feature.
        feature: &'static str,
    },
    /// Files that are read as one table, with different variables.
    #[error("{file} does not have the variables of {first}: {}; leave columns out with --ignore, or read the files apart",
        difference(.missing, .unexpected))]
    DifferentFiles {
        /// The first file.
        first: String,
        /// The one that differs.
        file: String,
        /// Variables of the first file that are not in it.
        missing: Vec<String>,
        /// Variables of it that are not in the first file.
        unexpected: Vec<String>,
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
        use DataError::{Name, NoRows, NoVariables, NotFinite};
        if let Name { at, .. } | NoRows { at } | NoVariables { at } | NotFinite { at, .. } = &mut self {
            at.file = Some(file.to_string());
        }
        self
    }

    /// Where it is, what is wrong and what to do, for a cell or a row; other errors are all in the second part.
    pub(super) fn parts(&self) -> (Place, String, String) {
        use DataError::{
            EmptyTarget, NotANumber, NotATarget, NotFinite, NumericTarget, RaggedRow, RepeatedTarget,
            UnknownTarget,
        };
        let at = match self {
            NotANumber { at, .. }
            | NotFinite { at, .. }
            | RaggedRow { at, .. }
            | UnknownTarget { at, .. }
            | NotATarget { at, .. }
            | NumericTarget { at, .. }
            | RepeatedTarget { at, .. }
            | EmptyTarget { at, .. } => at,
            other => return (Place::default(), other.to_string(), String::new()),
        };
        let (place, message) = (Place::clone(at), self.to_string());
        let message = message.strip_prefix(&format!("{at}: ")).unwrap_or(&message);
        match self {
            NotANumber { text, remedy, .. } => (place, format!("{text} is not a number"), remedy.to_string()),
            _ => {
                let (what, remedy) = message.split_once("; ").unwrap_or((message, ""));
                (place, what.to_string(), remedy.to_string())
            }
        }
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

/// The names of tables that can be read.
const TABLES: &str = ".csv, .tsv, .txt, .xlsx or .parquet (text also with .gz)";

fn ragged(more: bool, separator: Separator) -> String {
    match (more, separator) {
        (true, Separator::Comma) => {
            "put quotes around cells that contain a comma; numbers with decimal commas need \
                                     semicolons or tabs between the cells"
                .into()
        }
        (true, _) => format!("put quotes around cells that contain {}", separator.plural()),
        (false, _) => format!("empty cells need their {} too", separator.plural()),
    }
}

fn lacking(aside: &SetAside) -> String {
    let (column, count) = aside.columns.first().map_or(("", 0), |(column, count)| (column.as_str(), *count));
    format!("column {} has no value in {count} of {} rows", Excerpt::new(column), aside.of)
}

fn difference(missing: &[String], unexpected: &[String]) -> String {
    let parts = [("missing", missing), ("not expected", unexpected)];
    let shown = parts.iter().filter(|(_, names)| !names.is_empty());
    shown.map(|(what, names)| format!("{what}: {}", list(names))).collect::<Vec<_>>().join("; ")
}
