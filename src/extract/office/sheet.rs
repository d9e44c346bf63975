//! Workbooks of Excel and LibreOffice: sheet after sheet, each row a line, with the cells that hold
//! something.

use std::fmt::{Display, Write as _};
use std::io::Cursor;

use calamine::{Data, DataRef, Ods, Range, Reader, Sheet, SheetType, Xls, Xlsb, Xlsx};

use crate::data::{Locator, LocatorMap, MediaType, TextLayout};
use crate::extract::nested::Unread;
use crate::extract::{Extracted, Unreadable, one_line, stem};

/// Rows beyond this many are located by the last one that was.
const MARKS_MAX: usize = 100_000;

/// Which kind of workbook the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::extract) enum Workbook {
    /// Office Open XML.
    Xlsx,
    /// Excel's binary format in a ZIP file.
    Xlsb,
    /// Excel 97 to 2003.
    Xls,
    OpenDocument,
}

/// Title: the file's name, since workbooks hardly ever have another.
///
/// # Errors
/// When the workbook is damaged, encrypted or holds no value.
pub(in crate::extract) fn read(
    bytes: Vec<u8>,
    name: &str,
    kind: Workbook,
) -> Result<Extracted, Unreadable> {
    let mut table = Table::default();
    let bytes = Cursor::new(bytes);
    match kind {
        Workbook::Xlsx => read_xlsx(bytes, &mut table)?,
        Workbook::Xlsb => read_ranges(Xlsb::new(bytes), &mut table)?,
        Workbook::Xls => read_ranges(Xls::new(bytes), &mut table)?,
        Workbook::OpenDocument => read_ranges(Ods::new(bytes), &mut table)?,
    }
    let Table { mut text, locators, mut unread, .. } = table;
    if text.is_empty() {
        return Err(unread.into_reason());
    }
    unread.write(&mut text, "Sheets not read to their end:");
    Ok(Extracted {
        media_type: MediaType::Spreadsheet,
        title: stem(name).to_owned(),
        text,
        layout: TextLayout::Plain,
        has_lines: false,
        locators,
    })
}

/// Cell by cell: a sheet with one value in its far corner must not take the memory of a full one.
fn read_xlsx(bytes: Cursor<Vec<u8>>, table: &mut Table) -> Result<(), Unreadable> {
    let mut workbook = Xlsx::new(bytes).map_err(|error| unreadable(&error))?;
    for sheet in workbook.sheets_metadata().to_vec() {
        table.begin_sheet(&sheet.name);
        let read = workbook.worksheet_cells_reader(&sheet.name).and_then(|mut cells| {
            while let Some(cell) = cells.next_cell()? {
                if !matches!(cell.get_value(), DataRef::Empty) {
                    table.cell(cell.get_position(), &Data::from(cell.get_value().clone()));
                }
            }
            Ok(())
        });
        table.end_sheet(&sheet, read);
    }
    Ok(())
}

fn read_ranges<R>(workbook: Result<R, R::Error>, table: &mut Table) -> Result<(), Unreadable>
where
    R: Reader<Cursor<Vec<u8>>>,
    R::Error: Display,
{
    let mut workbook = workbook.map_err(|error| unreadable(&error))?;
    for sheet in workbook.sheets_metadata().to_vec() {
        table.begin_sheet(&sheet.name);
        let read = workbook.worksheet_range(&sheet.name).map(|range| table.range(&range));
        table.end_sheet(&sheet, read);
    }
    Ok(())
}

fn unreadable(error: &impl Display) -> Unreadable {
    let what = error.to_string();
    if what.to_lowercase().contains("password") {
        Unreadable::Encrypted
    } else {
        Unreadable::Damaged { what: what.into() }
    }
}

#[derive(Debug, Default)]
struct Table {
    text: String,
    locators: LocatorMap,
    sheet: String,
    /// The row that is open, from zero.
    row: Option<u32>,
    marks: usize,
    /// Whether the sheet has been named in the text.
    is_named: bool,
    unread: Unread,
}

impl Table {
    fn begin_sheet(&mut self, name: &str) {
        name.clone_into(&mut self.sheet);
        self.is_named = false;
    }

    /// Sheets of charts cannot be read as sheets of cells, and miss nothing.
    fn end_sheet<E: Display>(&mut self, sheet: &Sheet, read: Result<(), E>) {
        self.end_row();
        if let (Err(error), SheetType::WorkSheet) = (read, sheet.typ) {
            self.unread.push(&sheet.name, &unreadable(&error));
        }
    }

    fn range(&mut self, range: &Range<Data>) {
        let (top, left) = range.start().unwrap_or_default();
        for (row, column, value) in range.used_cells() {
            self.cell((top + row as u32, left + column as u32), value);
        }
    }

    fn cell(&mut self, (row, column): (u32, u32), value: &Data) {
        let value = shown(value);
        if value.is_empty() {
            return;
        }
        if self.row == Some(row) {
            self.text.push_str(" | ");
        } else {
            self.end_row();
            self.begin_row(row, column);
        }
        self.text.push_str(&value);
    }

    fn begin_row(&mut self, row: u32, column: u32) {
        if !self.is_named {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            let _ = writeln!(self.text, "{}", self.sheet);
            self.is_named = true;
        }
        self.row = Some(row);
        if self.marks < MARKS_MAX {
            self.marks += 1;
            let cell = format!("{}{}", column_letters(column), row.saturating_add(1));
            let sheet = self.sheet.clone();
            self.locators.push(self.text.len(), Locator::Cell { sheet, cell });
        }
    }

    fn end_row(&mut self) {
        if self.row.take().is_some() {
            self.text.push('\n');
        }
    }
}

/// A value as a person reads it, on one line.
fn shown(value: &Data) -> String {
    let text = match value {
        Data::Empty | Data::Error(_) => return String::new(),
        Data::DateTime(date) if date.is_datetime() => match date.to_ymd_hms_milli() {
            // Day zero is no day that anyone wrote.
            (_, _, _, hour, minute, second, _) if (0.0..1.0).contains(&date.as_f64()) => {
                format!("{hour:02}:{minute:02}:{second:02}")
            }
            (year, month, day, 0, 0, 0, 0) => format!("{year:04}-{month:02}-{day:02}"),
            (year, month, day, hour, minute, second, _) => {
                format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
            }
        },
        other => other.to_string(),
    };
    let is_hidden = |c: char| c.is_control() && !c.is_whitespace();
    one_line(&text).replace(is_hidden, "")
}

/// `A` for column 0, `AA` for column 26.
fn column_letters(mut column: u32) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(b'A' + (column % 26) as u8);
        match (column / 26).checked_sub(1) {
            Some(next) => column = next,
            None => break,
        }
    }
    letters.iter().rev().map(|letter| char::from(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_letters() {
        for (column, letters) in [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA")] {
            assert_eq!(column_letters(column), letters);
        }
    }

    #[test]
    fn a_time_of_day_is_of_no_day() {
        let shown = |days: f64| {
            let kind = calamine::ExcelDateTimeType::DateTime;
            shown(&Data::DateTime(calamine::ExcelDateTime::new(days, kind, false)))
        };
        assert_eq!(shown(0.5), "12:00:00");
        assert_eq!(shown(46_000.0), "2025-12-09");
        assert_eq!(shown(46_000.25), "2025-12-09 06:00:00");
    }

    #[test]
    fn a_sheet_that_breaks_off_is_named() {
        let package = include_bytes!("../../../tests/corpus/formats/accounts.xlsx").to_vec();
        let mut old = zip::ZipArchive::new(Cursor::new(package)).unwrap();
        let mut new = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for at in 0..old.len() {
            let mut part = old.by_index(at).unwrap();
            let name = part.name().unwrap().into_owned();
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut part, &mut bytes).unwrap();
            if name == "xl/worksheets/sheet1.xml" {
                let row = memchr::memmem::rfind(&bytes, b"</row>").unwrap();
                bytes.truncate(row);
            }
            new.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
            std::io::Write::write_all(&mut new, &bytes).unwrap();
        }
        let bytes = new.finish().unwrap().into_inner();
        let text = read(bytes, "accounts.xlsx", Workbook::Xlsx).unwrap().text;
        assert!(text.contains("\nBroadfork | 1\n"), "{text}");
        let (_, unread) = text.split_once("\nSheets not read to their end:\n\n").unwrap();
        assert!(unread.starts_with("Seeds (the file is damaged: "), "{unread}");
    }

    #[test]
    fn a_row_is_a_line_with_what_its_cells_hold() {
        let mut table = Table::default();
        table.begin_sheet("Empty");
        table.begin_sheet("Trip");
        table.cell((0, 1), &Data::String(" Day\nof  week ".into()));
        table.cell((0, 2), &Data::Float(2.5));
        table.cell((0, 3), &Data::Int(7));
        table.cell((4, 0), &Data::Bool(true));
        table.cell((4, 1), &Data::Empty);
        table.end_row();
        assert_eq!(table.text, "Trip\nDay of week | 2.5 | 7\ntrue\n");
        let cells: Vec<_> = table.locators.iter().map(|(_, cell)| cell.to_string()).collect();
        assert_eq!(cells, ["Trip!B1", "Trip!A5"]);
    }
}
