//! Workbooks: the values of one sheet as the text of a table, and a table as a workbook.
//!
//! Reading gives CSV, so that a sheet means what the same table in a text file would mean; formulas are read by the values
//! that were last computed. Writing needs no more than a zip archive of a few lines of XML: texts stay texts, so nothing in
//! them is run as a formula, and numbers are numbers in every country.

#[cfg(feature = "xlsx")]
use std::io::Cursor;
use std::io::{self, Write};

#[cfg(feature = "xlsx")]
use calamine::{Data, Reader, Xlsx};
use zip::write::{SimpleFileOptions, ZipWriter};

#[cfg(feature = "xlsx")]
use super::error::DataError;

/// The cells of a sheet as CSV, empty rows as empty lines; and the sheet's name, if it was chosen among several.
#[cfg(feature = "xlsx")]
pub(super) fn sheet_text(
    bytes: Vec<u8>,
    file: &str,
    sheet: Option<&str>,
) -> Result<(Vec<u8>, Option<String>), DataError> {
    let damaged = |problem: String| DataError::Workbook { file: file.to_string(), problem };
    let mut book: Xlsx<_> = calamine::open_workbook_from_rs(Cursor::new(bytes))
        .map_err(|error: calamine::XlsxError| damaged(error.to_string()))?;
    let known = book.sheet_names().to_vec();
    let names: Vec<String> = match sheet {
        Some(sheet) if known.iter().any(|name| name == sheet) => vec![sheet.to_string()],
        Some(sheet) => {
            let (file, sheet) = (file.to_string(), sheet.to_string());
            return Err(DataError::NoSheet { file, sheet, known });
        }
        None => known.clone(),
    };
    for name in &names {
        let range = book.worksheet_range(name).map_err(|error| damaged(error.to_string()))?;
        let Some((first, _)) = range.start() else { continue };
        let mut table = vec![b'\n'; first as usize];
        for row in range.rows() {
            let cells: Vec<String> = row.iter().map(cell_text).collect();
            // A line of separators alone would be a row.
            if cells.iter().all(String::is_empty) {
                table.push(b'\n');
                continue;
            }
            let mut line = csv::Writer::from_writer(&mut table);
            line.write_record(&cells).map_err(|error| damaged(error.to_string()))?;
            line.flush().map_err(|error| damaged(error.to_string()))?;
        }
        return Ok((table, Some(name.clone()).filter(|_| sheet.is_none() && known.len() > 1)));
    }
    Err(DataError::EmptyFile { file: file.to_string() })
}

/// The value of a cell as a text file would have it.
#[cfg(feature = "xlsx")]
fn cell_text(cell: &Data) -> String {
    match cell {
        Data::Float(value) if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value}"),
        Data::Float(value) => format!("{value:?}"),
        Data::Int(value) => value.to_string(),
        Data::Bool(value) => value.to_string(),
        Data::Error(error) => error.to_string(),
        Data::Empty => String::new(),
        // A duration is a number of days; a date is no number.
        Data::DateTime(time) if time.is_duration() => format!("{:?}", time.as_f64()),
        Data::DateTime(time) => {
            let (year, month, day, hour, minute, ..) = time.to_ymd_hms_milli();
            let date = format!("{year}-{month:02}-{day:02}");
            if (hour, minute) == (0, 0) { date } else { format!("{date} {hour:02}:{minute:02}") }
        }
        // Line breaks would shift the numbers of the lines.
        other => other.to_string().replace(['\n', '\r'], " "),
    }
}

/// A cell to be written.
#[derive(Clone, PartialEq, Debug)]
pub enum WorkbookCell {
    /// Nothing.
    Empty,
    /// A number.
    Number(f64),
    /// A text, never a formula.
    Text(String),
}

/// Writes a workbook (.xlsx) with one sheet of the given rows.
pub fn write_workbook(
    out: &mut dyn Write,
    sheet: &str,
    rows: impl IntoIterator<Item = Vec<WorkbookCell>>,
) -> io::Result<()> {
    let mut archive = ZipWriter::new(io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut table = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<worksheet \
         xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetData>",
    );
    for row in rows {
        table += "<row>";
        for cell in row {
            match cell {
                WorkbookCell::Empty => table += "<c/>",
                WorkbookCell::Number(value) => table += &format!("<c><v>{value:?}</v></c>"),
                WorkbookCell::Text(text) => {
                    table += &format!(
                        "<c t=\"inlineStr\"><is><t xml:space=\"preserve\">{}</t></is></c>",
                        escaped(&text)
                    );
                }
            }
        }
        table += "</row>";
    }
    table += "</sheetData></worksheet>";
    let book = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<workbook \
         xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" \
         xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"><sheets><sheet name=\"{}\" \
         sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>",
        escaped(sheet)
    );
    let parts = [
        ("[Content_Types].xml", CONTENT_TYPES),
        ("_rels/.rels", RELATIONS),
        ("xl/workbook.xml", &book),
        ("xl/_rels/workbook.xml.rels", BOOK_RELATIONS),
        ("xl/worksheets/sheet1.xml", &table),
    ];
    for (name, text) in parts {
        archive.start_file(name, options).map_err(io::Error::other)?;
        archive.write_all(text.as_bytes())?;
    }
    out.write_all(&archive.finish().map_err(io::Error::other)?.into_inner())
}

fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_string(),
        '<' => "&lt;".to_string(),
        '>' => "&gt;".to_string(),
        '"' => "&quot;".to_string(),
        // XML has no other control characters.
        c if c.is_control() && c != '\t' => " ".to_string(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

const CONTENT_TYPES: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<Types \
    xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Default Extension=\"rels\" \
    ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/><Default Extension=\"xml\" \
    ContentType=\"application/xml\"/><Override PartName=\"/xl/workbook.xml\" \
    ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml\"/><Override \
    PartName=\"/xl/worksheets/sheet1.xml\" \
    ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml\"/></Types>";

const RELATIONS: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<Relationships \
    xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"rId1\" \
    Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" \
    Target=\"xl/workbook.xml\"/></Relationships>";

const BOOK_RELATIONS: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<Relationships \
    xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"rId1\" \
    Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\" \
    Target=\"worksheets/sheet1.xml\"/></Relationships>";
