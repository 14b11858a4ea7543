//! Measurements and who was intervened on, and the files that they come in.
//!
//! A [`Dataset`] is the checked table that everything later works on. Variables
//! are known by name here and by [`Node`](crate::graph::Node), the index of the
//! name, everywhere else. Files are read and written by [`files`], whatever their
//! kind; graphs have files of their own.

mod cell;
pub mod csv;
mod dataset;
#[cfg(any(feature = "parquet", feature = "xlsx"))]
mod decoder;
mod dialect;
mod encoding;
mod error;
pub mod files;
mod graph_error;
pub mod graph_file;
mod layout;
mod loaded;
mod missing;
mod names;
mod number;
mod observed;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "parquet")]
mod parquet_content;
mod problems;
mod raw;
mod records;
mod sheet;
mod source;
mod summary;
mod targets;
mod traps;
mod wording;
mod xlsx;

pub use self::csv::{read_csv, read_csv_from, write_csv};
#[cfg(feature = "parquet")]
pub use self::parquet::{read_parquet, read_parquet_from, write_parquet};
pub use cell::Numbers;
pub use dataset::{Dataset, MOST_VALUE};
#[cfg(any(feature = "parquet", feature = "xlsx"))]
pub use decoder::DECODER_THREAD;
pub use dialect::Separator;
pub use encoding::Encoding;
pub use error::{Cells, DataError};
pub use files::{
    STANDARD_INPUT, check_table_path, check_writable, is_table_path, read_raw_table, read_table, read_tables,
    write_atomically, write_table,
};
pub use graph_error::GraphFileError;
pub use graph_file::{GraphFile, read_graph, read_graph_from, write_graph, write_matrix};
pub use layout::ReadOptions;
pub use loaded::{DataWarning, Loaded};
pub use missing::SetAside;
pub use names::{NameError, Names, TARGET_SEPARATOR, TARGETS_COLUMN, check_names, closest, position};
pub use number::Decimal;
pub use observed::ObservedReader;
pub use raw::RawTable;
pub use sheet::{Sheet, SheetRow};
pub use summary::{DataSummary, ValueKind, VariableSummary};
pub use traps::{far_values, far_values_in_brief, traps};
pub use wording::{Excerpt, Place, Remedy, did_you_mean};
pub use xlsx::{WorkbookCell, write_workbook};
