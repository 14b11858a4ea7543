//! Measurements and who was intervened on, and the files that they come in.
//!
//! A [`Dataset`] is the checked table that everything later works on. Variables
//! are known by name here and by [`Node`](crate::graph::Node), the index of the
//! name, everywhere else. Files are read and written by [`files`], whatever their
//! kind; graphs have files of their own.

mod cell;
pub mod csv;
mod dataset;
mod error;
pub mod files;
mod graph_error;
pub mod graph_file;
mod layout;
mod loaded;
mod names;
mod observed;
#[cfg(feature = "parquet")]
pub mod parquet;
mod records;
mod sheet;
mod targets;
mod wording;

pub use self::csv::{read_csv, read_csv_from, write_csv};
#[cfg(feature = "parquet")]
pub use self::parquet::{read_parquet, write_parquet};
pub use dataset::{Dataset, MOST_VALUE};
pub use error::{Cells, DataError};
pub use files::{
    check_table_path, check_writable, read_table, read_table_observed, write_atomically, write_table,
};
pub use graph_error::GraphFileError;
pub use graph_file::{GraphFile, read_graph, read_graph_from, write_graph, write_matrix};
pub use layout::ReadOptions;
pub use loaded::{DataWarning, Loaded};
pub use names::{NameError, Names, TARGET_SEPARATOR, TARGETS_COLUMN, check_names, closest, position};
pub use observed::ObservedReader;
pub use sheet::{Sheet, SheetRow, cell_value};
pub use wording::{Excerpt, Place, Remedy, did_you_mean};
