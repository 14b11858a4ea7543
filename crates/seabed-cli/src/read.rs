//! Reads the user's tables, whatever program wrote them, and says what was found out about them.

use std::path::{Path, PathBuf};

use clap::Args;
use seabed::data::{
    DataWarning, Decimal, Encoding, Loaded, ReadOptions, STANDARD_INPUT, Separator, read_tables,
};

use crate::failure::Failure;
use crate::progress::{Bar, stop_on_interrupt};

/// How a table is written, where the file does not tell by itself.
#[derive(Args)]
pub struct TableOptions {
    /// A column of the data to leave out (repeatable).
    #[arg(long, value_name = "COLUMN")]
    pub ignore: Vec<String>,
    /// What separates the cells: comma, semicolon, tab, bar or space [default: found out].
    #[arg(long, value_name = "NAME")]
    separator: Option<Separator>,
    /// What begins the decimals: point or comma [default: found out].
    #[arg(long, value_name = "NAME")]
    decimal: Option<Decimal>,
    /// The encoding: utf-8, utf-16 or latin-1 [default: found out].
    #[arg(long, value_name = "NAME")]
    encoding: Option<Encoding>,
    /// The sheet of a workbook [default: the first that is not empty].
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
    /// A text that stands for a missing value, besides the usual ones: -999 (repeatable).
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    missing: Vec<String>,
}

impl TableOptions {
    pub fn read_options(&self) -> ReadOptions {
        ReadOptions {
            ignore: self.ignore.clone(),
            separator: self.separator,
            decimal: self.decimal,
            encoding: self.encoding,
            sheet: self.sheet.clone(),
            missing: self.missing.clone(),
        }
    }

    /// Was any of the options given?
    pub fn given(&self) -> Option<&'static str> {
        let options = [
            (!self.ignore.is_empty(), "--ignore"),
            (self.separator.is_some(), "--separator"),
            (self.decimal.is_some(), "--decimal"),
            (self.encoding.is_some(), "--encoding"),
            (self.sheet.is_some(), "--sheet"),
            (!self.missing.is_empty(), "--missing"),
        ];
        options.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }
}

/// Prints warnings.
pub fn warn(warnings: &[String]) {
    for warning in warnings {
        tell!("warning: {warning}");
    }
}

/// The data of one or several files as one table; what is to be told is told.
pub fn read_data(paths: &[PathBuf], options: &TableOptions) -> Result<Loaded, Failure> {
    stop_on_interrupt();
    if paths.iter().filter(|path| *path == Path::new(STANDARD_INPUT)).count() > 1 {
        return Err(Failure::Input(anyhow::anyhow!("- is standard input, which can be read only once")));
    }
    let loaded = read_tables(paths, &options.read_options(), &Bar::new())?;
    for note in &loaded.notes {
        tell!("note: {note}");
    }
    for warning in &loaded.warnings {
        tell!("warning: {warning}");
    }
    Ok(loaded)
}

/// What `--json` says about how the data were read.
pub fn told(loaded: &Loaded) -> Vec<String> {
    let warnings = loaded.warnings.iter().map(DataWarning::to_string);
    loaded.notes.iter().cloned().chain(warnings).collect()
}
