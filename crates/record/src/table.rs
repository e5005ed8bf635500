//! A Parquet file of any columns that survives its writer (see `footer`).

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::RecordError;
use crate::footer::{self, FooterBeside};

/// Rows a row group never exceeds.
const ROW_GROUP_ROWS: usize = 256 * 1024;

/// Writes batches of one schema to one Parquet file.
pub struct TableWriter {
    path: PathBuf,
    writer: ArrowWriter<BufWriter<File>>,
    schema: SchemaRef,
    footer: FooterBeside,
}

impl TableWriter {
    /// Creates `path`; an existing file is an error. `metadata` becomes the file's key-value metadata.
    pub fn create(path: &Path, schema: SchemaRef, metadata: &[(String, String)]) -> Result<Self, RecordError> {
        let parquet = |e| RecordError::parquet(path, e);
        let key_values = metadata.iter().map(|(k, v)| KeyValue::new(k.clone(), v.clone())).collect();
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).map_err(parquet)?))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_key_value_metadata(Some(key_values));
        // Times, counters and offsets rarely repeat but go in small steps: differences are cheaper to make than a
        // dictionary, and smaller.
        for field in schema.fields().iter().filter(|f| matches!(f.data_type(), DataType::Int64 | DataType::UInt64)) {
            let column = ColumnPath::from(field.name().as_str());
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
        let properties = properties.build();
        let facts = footer::facts_of_an_empty_file(schema.clone(), properties.clone()).map_err(parquet)?;
        let file = File::create_new(path).map_err(|e| RecordError::io(path, e))?;
        let mut writer =
            ArrowWriter::try_new(BufWriter::with_capacity(1 << 18, file), schema.clone(), Some(properties))
                .map_err(parquet)?;
        writer.sync().map_err(|e| RecordError::io(path, e))?;
        let footer = FooterBeside::create(path, facts, writer.bytes_written() as u64)?;
        Ok(Self { path: path.to_owned(), writer, schema, footer })
    }

    /// Adds rows to the open row group; a full one is closed by itself, without a recoverable footer. The columns
    /// must be those of the table, in name, type and order: the writer below would take others in silence.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordError> {
        let columns = |schema: &SchemaRef| -> Vec<(String, DataType)> {
            schema.fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect()
        };
        if !Arc::ptr_eq(batch.schema_ref(), &self.schema) && columns(batch.schema_ref()) != columns(&self.schema) {
            return Err(RecordError::OtherColumns { path: self.path.clone() });
        }
        self.writer.write(batch).map_err(|e| RecordError::parquet(&self.path, e))
    }

    /// Rows that a kill would lose now.
    pub fn rows_in_progress(&self) -> usize {
        self.writer.in_progress_rows()
    }

    /// Closes the open row group: what was written until now survives a kill.
    pub fn commit(&mut self) -> Result<(), RecordError> {
        self.writer.flush().map_err(|e| RecordError::parquet(&self.path, e))?;
        self.writer.sync().map_err(|e| RecordError::io(&self.path, e))?;
        self.footer.write(self.writer.flushed_row_groups().to_vec(), self.writer.bytes_written() as u64)
    }

    /// Writes the true footer and removes the one beside the file.
    pub fn close(self) -> Result<(), RecordError> {
        self.writer.close().map_err(|e| RecordError::parquet(&self.path, e))?;
        self.footer.remove()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use arrow_array::{ArrayRef, Int64Array};
    use arrow_schema::{Field, Schema};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::recover;

    fn schema() -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("t", DataType::Int64, false)]))
    }

    fn batch(values: std::ops::Range<i64>) -> RecordBatch {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
        RecordBatch::try_new(schema(), vec![column]).unwrap()
    }

    fn rows(path: &Path) -> Vec<i64> {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
        let column = |b: RecordBatch| b.column(0).as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec();
        reader.flat_map(|b| column(b.unwrap())).collect()
    }

    /// The table as a kill leaves it: two committed row groups, a third begun, no footer.
    fn killed(folder: &Path) -> PathBuf {
        let path = folder.join("t.parquet");
        let mut table = TableWriter::create(&path, schema(), &[("k".into(), "v".into())]).unwrap();
        table.write(&batch(0..10)).unwrap();
        table.commit().unwrap();
        table.write(&batch(10..15)).unwrap();
        table.commit().unwrap();
        table.write(&batch(15..20)).unwrap();
        std::mem::forget(table);
        path
    }

    #[test]
    fn a_killed_table_is_readable_up_to_its_last_row_group() {
        let folder = tempfile::tempdir().unwrap();
        let path = killed(folder.path());
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"half a page").unwrap();
        assert!(recover(&path).unwrap());
        assert_eq!(rows(&path), (0..15).collect::<Vec<_>>());
        assert!(!recover(&path).unwrap());
    }

    #[test]
    fn a_closed_table_needs_no_recovery_and_keeps_all_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let mut table = TableWriter::create(&path, schema(), &[]).unwrap();
        table.write(&batch(0..7)).unwrap();
        table.close().unwrap();
        assert!(!recover(&path).unwrap());
        assert_eq!(rows(&path), (0..7).collect::<Vec<_>>());
    }

    #[test]
    fn a_table_killed_before_its_first_row_is_an_empty_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        std::mem::forget(TableWriter::create(&path, schema(), &[]).unwrap());
        assert!(recover(&path).unwrap());
        assert_eq!(rows(&path), Vec::<i64>::new());
    }

    #[test]
    fn a_file_that_lost_committed_bytes_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = killed(folder.path());
        OpenOptions::new().write(true).open(&path).unwrap().set_len(20).unwrap();
        assert!(matches!(recover(&path), Err(RecordError::NotRecoverable { .. })));
    }
}
