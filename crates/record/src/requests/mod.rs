//! The `requests` table as it is written while a load runs. Millions of rows a second pass here beside the load they
//! are about, so rows become columns, and columns pages, with as little work as the format allows:
//!
//! 1. [`RequestTable::append`] turns records into columns, a page at a time.
//! 2. `column` encodes a page: small numbers and names by `dictionary`, times and offsets in steps (`encode`).
//! 3. A row group is put into the file by the `parquet` crate, which writes headers and footer.

mod column;
mod dictionary;
mod encode;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::DataType;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;

use crate::footer::FooterBeside;
use crate::request::{self, ErrorClass, Op, Phase, Request};
use crate::{RecordError, footer};
use column::{Column, Form, Values};

/// Rows of a page: its columns stay in the second-level cache until they are encoded.
const PAGE: usize = 4096;
/// Rows a row group never exceeds.
const ROW_GROUP_ROWS: usize = 1 << 20;

/// Columns in the order of [`request::schema`].
const FORMS: [(&str, Form); 13] = [
    ("seq", Form::Steps),
    ("phase", Form::Names(Phase::NAMES)),
    ("planned_ns", Form::Steps),
    ("issued_ns", Form::Steps),
    ("first_byte_ns", Form::StepsOrNull),
    ("done_ns", Form::Steps),
    ("op", Form::Names(Op::NAMES)),
    ("object", Form::FewNarrow),
    ("offset", Form::Steps),
    ("bytes", Form::Few),
    ("status", Form::FewNarrow),
    ("error", Form::Names(ErrorClass::NAMES)),
    ("stream", Form::FewNarrow),
];
const PLANNED: usize = 2;
const ISSUED: usize = 3;

/// Writes the `requests` table of one run.
pub struct RequestTable {
    path: PathBuf,
    file: SerializedFileWriter<BufWriter<File>>,
    footer: FooterBeside,
    page: Rows,
    columns: Vec<Column>,
    /// Rows of the open row group that stand in finished pages.
    paged: usize,
}

/// The rows of the open page, by column.
#[derive(Default)]
struct Rows {
    numbers: [Vec<i64>; FORMS.len()],
    keys: [Vec<u8>; FORMS.len()],
}

impl RequestTable {
    /// Creates `path`; an existing file is an error.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let parquet = |e| RecordError::parquet(path, e);
        let schema = request::schema();
        let descr = ArrowSchemaConverter::new().convert(&schema).map_err(parquet)?;
        let mut properties = WriterProperties::builder().set_offset_index_disabled(true).build();
        let facts = footer::facts_of_an_empty_file(schema.clone(), properties.clone()).map_err(parquet)?;
        add_encoded_arrow_schema_to_metadata(&schema, &mut properties);
        let out = File::create_new(path).map_err(|e| RecordError::io(path, e))?;
        let out = BufWriter::with_capacity(1 << 18, out);
        let mut file =
            SerializedFileWriter::new(out, descr.root_schema_ptr(), Arc::new(properties)).map_err(parquet)?;
        let columns = schema.fields().iter().zip(FORMS).zip(file.schema_descr().columns());
        let columns = columns.map(|((field, (name, form)), descr)| {
            debug_assert_eq!(field.name(), name);
            let unsigned = matches!(field.data_type(), DataType::UInt64 | DataType::UInt32 | DataType::UInt16);
            Column::new(descr.clone(), form, unsigned)
        });
        let columns = columns.collect();
        file.flush().map_err(|e| RecordError::io(path, e))?;
        let footer = FooterBeside::create(path, facts, file.bytes_written() as u64)?;
        Ok(Self { path: path.to_owned(), file, footer, page: Rows::default(), columns, paged: 0 })
    }

    /// Adds rows to the open row group.
    pub fn append(&mut self, mut requests: &[Request]) -> Result<(), RecordError> {
        while !requests.is_empty() {
            let (now, later) = requests.split_at(requests.len().min(PAGE - self.page.len()));
            self.page.extend(now);
            requests = later;
            if self.page.len() == PAGE {
                self.end_page();
                if self.paged >= ROW_GROUP_ROWS {
                    self.end_row_group()?;
                }
            }
        }
        Ok(())
    }

    /// Rows that a kill would lose now.
    pub fn rows_in_progress(&self) -> usize {
        self.paged + self.page.len()
    }

    /// Closes the open row group: what was written until now survives a kill.
    pub fn commit(&mut self) -> Result<(), RecordError> {
        self.end_page();
        self.end_row_group()?;
        self.file.flush().map_err(|e| RecordError::io(&self.path, e))?;
        self.footer.write(self.file.flushed_row_groups().to_vec(), self.file.bytes_written() as u64)
    }

    /// Writes the true footer and removes the one beside the file.
    pub fn close(mut self) -> Result<(), RecordError> {
        self.end_page();
        self.end_row_group()?;
        self.file.close().map_err(|e| RecordError::parquet(&self.path, e))?;
        self.footer.remove()
    }

    fn end_page(&mut self) {
        if self.page.len() == 0 {
            return;
        }
        self.paged += self.page.len();
        // In a closed loop a request is planned at the instant it leaves: the column is not encoded twice.
        let same = self.page.numbers[PLANNED] == self.page.numbers[ISSUED];
        for (at, (_, form)) in FORMS.iter().enumerate() {
            if at == ISSUED && same {
                let [planned, issued] = &mut self.columns[PLANNED..=ISSUED] else { unreachable!("two columns") };
                issued.page_of(planned);
            } else if let Form::Names(_) = form {
                self.columns[at].page(Values::Keys(&self.page.keys[at]));
            } else {
                self.columns[at].page(Values::Numbers(&self.page.numbers[at]));
            }
        }
        self.page.clear();
    }

    fn end_row_group(&mut self) -> Result<(), RecordError> {
        if self.paged == 0 {
            return Ok(());
        }
        self.paged = 0;
        let mut write = || -> Result<(), ParquetError> {
            let mut group = self.file.next_row_group()?;
            for column in &mut self.columns {
                let (bytes, closed) = column.close()?;
                group.append_column(&bytes, closed)?;
            }
            group.close().map(drop)
        };
        write().map_err(|e| RecordError::parquet(&self.path, e))
    }
}

impl Rows {
    fn len(&self) -> usize {
        self.numbers[0].len()
    }

    fn extend(&mut self, requests: &[Request]) {
        let [seq, _, planned, issued, first_byte, done, _, object, offset, bytes, status, _, stream] =
            &mut self.numbers;
        let [_, phase, _, _, _, _, op, _, _, _, _, error, _] = &mut self.keys;
        // A column at a time, of as many rows as the first-level cache holds.
        for part in requests.chunks(128) {
            let rows = part.iter();
            seq.extend(rows.clone().map(|r| r.seq as i64));
            planned.extend(rows.clone().map(|r| r.planned_ns));
            issued.extend(rows.clone().map(|r| r.issued_ns));
            first_byte.extend(rows.clone().map(|r| r.first_byte_ns));
            done.extend(rows.clone().map(|r| r.done_ns));
            offset.extend(rows.clone().map(|r| r.offset as i64));
            bytes.extend(rows.clone().map(|r| r.bytes as i64));
            object.extend(rows.clone().map(|r| i64::from(r.object)));
            status.extend(rows.clone().map(|r| i64::from(r.status)));
            stream.extend(rows.clone().map(|r| i64::from(r.stream)));
            phase.extend(rows.clone().map(|r| r.phase as u8));
            op.extend(rows.clone().map(|r| r.op as u8));
            error.extend(rows.map(|r| r.error as u8));
        }
    }

    fn clear(&mut self) {
        self.numbers.iter_mut().for_each(Vec::clear);
        self.keys.iter_mut().for_each(Vec::clear);
    }
}
