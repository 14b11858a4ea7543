//! Workbooks: the values of one sheet as the text of a table, and a table as a workbook.
//!
//! Reading gives CSV, so that a sheet means what the same table in a text file would mean; formulas are read by the values
//! that were last computed. Writing needs no more than a zip archive of a few lines of XML: texts stay texts, so nothing in
//! them is run as a formula, and numbers are numbers in every country.

#[cfg(feature = "xlsx")]
use std::io::Cursor;
use std::io::{self, Write};

#[cfg(feature = "xlsx")]
use calamine::{Data, Reader, Xlsx, XlsxError};
use zip::write::{SimpleFileOptions, ZipWriter};

#[cfg(feature = "xlsx")]
use super::decoder::decoded;
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
    let unreadable = |source| DataError::unreadable(file.to_string(), source);
    let opened = decoded(move || calamine::open_workbook_from_rs(Cursor::new(bytes))).map_err(unreadable)?;
    let mut book: Xlsx<_> =
        opened.unwrap_or_else(undecodable).map_err(|error: XlsxError| damaged(error.to_string()))?;
    let known = book.sheet_names().to_vec();
    let names: Vec<String> = match sheet {
        Some(sheet) if known.iter().any(|name| name == sheet) => vec![sheet.to_string()],
        Some(sheet) => {
            let (file, sheet) = (file.to_string(), sheet.to_string());
            return Err(DataError::NoSheet { file, sheet, known });
        }
        None => known.clone(),
    };
    let filled = decoded(move || {
        for name in names {
            let cells = cells_of(&mut book, &name)?;
            if !cells.is_empty() {
                return Ok(Some((name, cells)));
            }
        }
        Ok(None)
    });
    let filled = filled.map_err(unreadable)?.unwrap_or_else(undecodable);
    let filled = filled.map_err(|error| damaged(error.to_string()))?;
    let (name, cells) = filled.ok_or_else(|| DataError::EmptyFile { file: file.to_string() })?;
    Ok((text_of(cells).map_err(damaged)?, Some(name).filter(|_| sheet.is_none() && known.len() > 1)))
}

/// The reader panics on a few damaged files.
#[cfg(feature = "xlsx")]
fn undecodable<T>() -> Result<T, XlsxError> {
    Err(XlsxError::Unexpected("it cannot be decoded"))
}

/// Cells with their places (row, column), from 0 on.
#[cfg(feature = "xlsx")]
type Placed = Vec<((u32, u32), String)>;

/// The cells of a sheet that are not empty; a chart has none.
#[cfg(feature = "xlsx")]
fn cells_of(book: &mut Xlsx<Cursor<Vec<u8>>>, name: &str) -> Result<Placed, XlsxError> {
    let mut reader = match book.worksheet_cells_reader(name) {
        Err(XlsxError::NotAWorksheet(_)) => return Ok(Vec::new()),
        reader => reader?,
    };
    let mut cells = Vec::new();
    while let Some(cell) = reader.next_cell()? {
        let value = Data::from(cell.get_value().clone());
        if value != Data::Empty {
            cells.push((cell.get_position(), cell_text(&value)));
        }
    }
    Ok(cells)
}

/// Cells of a table that are hardly filled: two cells in the corners of a sheet stand for 17,000 million.
#[cfg(feature = "xlsx")]
const MOST_HARDLY_FILLED: (u64, u64) = (10_000_000, 100);

/// Cells as CSV, from the first row and from the first column that has any.
#[cfg(feature = "xlsx")]
fn text_of(mut cells: Placed) -> Result<Vec<u8>, String> {
    let columns = || cells.iter().map(|((_, column), _)| *column);
    let (first, last) = (columns().min().unwrap_or(0), columns().max().unwrap_or(0));
    let width = u64::from(last - first) + 1;
    let height = cells.iter().map(|((row, _), _)| u64::from(*row) + 1).max().unwrap_or(0);
    let (most, per_cell) = MOST_HARDLY_FILLED;
    let area = height.saturating_mul(width);
    if area > most && area / per_cell > cells.len() as u64 {
        return Err(format!(
            "its {} cells are spread over {height} rows and {width} columns; delete those that are not of the table",
            cells.len()
        ));
    }
    // Files need not have them in order; of two in one place the later one counts.
    cells.sort_by_key(|(place, _)| *place);
    let mut table = Vec::new();
    let mut row = 0;
    for of_row in cells.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
        let at = of_row[0].0.0;
        table.resize(table.len() + (at - row) as usize, b'\n');
        row = at + 1;
        // A line of separators alone would be a row.
        if of_row.iter().all(|(_, text)| text.is_empty()) {
            table.push(b'\n');
            continue;
        }
        let mut line = vec![""; width as usize];
        of_row.iter().for_each(|((_, column), text)| line[(column - first) as usize] = text);
        let mut writer = csv::Writer::from_writer(&mut table);
        writer.write_record(&line).map_err(|error| error.to_string())?;
        writer.flush().map_err(|error| error.to_string())?;
    }
    Ok(table)
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

#[cfg(all(test, feature = "xlsx"))]
mod tests {
    use super::*;

    /// A workbook whose only row has these cells.
    fn book(cells: &str) -> Vec<u8> {
        let mut written = Vec::new();
        write_workbook(&mut written, "s", [vec![WorkbookCell::Empty]]).unwrap();
        // Nothing is compressed, but there are checksums: the archive is made anew.
        let mut before = zip::ZipArchive::new(Cursor::new(written)).unwrap();
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        for k in 0..before.len() {
            let mut part = before.by_index(k).unwrap();
            let mut text = io::read_to_string(&mut part).unwrap();
            let name = part.name().unwrap().to_string();
            if name == "xl/worksheets/sheet1.xml" {
                let (head, rest) = text.split_once("<row>").unwrap();
                let (_, tail) = rest.split_once("</row>").unwrap();
                text = format!("{head}<row>{cells}</row>{tail}");
            }
            archive.start_file(name, options).unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    fn read(cells: &str) -> Result<String, String> {
        let read = sheet_text(book(cells), "b.xlsx", None).map_err(|error| error.to_string());
        read.map(|(text, _)| String::from_utf8(text).unwrap())
    }

    #[test]
    fn cells_far_apart_are_refused_before_the_sheet_between_them_is_built() {
        let said = read("<c r=\"A1\"><v>1</v></c><c r=\"XFD1048576\"><v>2</v></c>").unwrap_err();
        assert!(said.contains("its 2 cells are spread over 1048576 rows and 16384 columns"), "{said}");
    }

    #[test]
    fn cells_are_placed_whatever_their_order() {
        let cells = "<c r=\"C4\"><v>3</v></c><c r=\"B2\"><v>1</v></c><c r=\"C2\"><v>0</v></c><c r=\"C2\"><v>2</v></c>";
        assert_eq!(read(cells).unwrap(), "\n1,2\n\n,3\n");
        assert!(read("").unwrap_err().contains("b.xlsx"));
        // A number that no sheet has.
        assert!(read("<c r=\"A99999999999\"><v>1</v></c>").is_err());
    }
}
