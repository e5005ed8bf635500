//! A Parquet file that survives its writer. After every row group the footer the file would have is written to
//! `<table>.footer` and moved into place in one step; [`recover`] cuts a killed writer's file behind its last
//! whole row group and puts that footer there.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::RecordError;

/// Rows a row group never exceeds.
const ROW_GROUP_ROWS: usize = 256 * 1024;
/// A Parquet file starts with these four bytes and a recoverable one has at least them.
const MAGIC_LEN: u64 = 4;

/// Writes batches of one schema to one Parquet file.
pub struct TableWriter {
    path: PathBuf,
    writer: ArrowWriter<BufWriter<File>>,
    schema: SchemaRef,
    /// What the footer says of the whole file; the same at every row group.
    file_facts: FileMetaData,
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
        let file_facts = facts_of_an_empty_file(schema.clone(), properties.clone()).map_err(parquet)?;
        let file = File::create_new(path).map_err(|e| RecordError::io(path, e))?;
        let mut writer =
            ArrowWriter::try_new(BufWriter::with_capacity(1 << 18, file), schema.clone(), Some(properties))
                .map_err(parquet)?;
        writer.sync().map_err(|e| RecordError::io(path, e))?;
        let mut table = Self { path: path.to_owned(), writer, schema, file_facts };
        table.write_footer_beside()?;
        Ok(table)
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
        self.write_footer_beside()
    }

    /// Writes the true footer and removes the one beside the file.
    pub fn close(self) -> Result<(), RecordError> {
        let path = self.path;
        self.writer.close().map_err(|e| RecordError::parquet(&path, e))?;
        let beside = footer_path(&path);
        fs::remove_file(&beside).map_err(|e| RecordError::io(&beside, e))
    }

    fn write_footer_beside(&mut self) -> Result<(), RecordError> {
        let row_groups = self.writer.flushed_row_groups().to_vec();
        let footer = footer(&self.file_facts, row_groups).map_err(|e| RecordError::parquet(&self.path, e))?;
        // The file's length stands first, so that recovery knows where to cut.
        let length = self.writer.bytes_written() as u64;
        let target = footer_path(&self.path);
        let fresh = target.with_extension("footer-new");
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&fresh)?;
            file.write_all(&length.to_le_bytes())?;
            file.write_all(&footer)?;
            fs::rename(&fresh, &target)
        };
        write().map_err(|e| RecordError::io(&target, e))
    }
}

/// Makes a table whose writer was killed readable up to its last committed row group. Returns whether anything
/// had to be done; a whole table is left as it is.
pub fn recover(path: &Path) -> Result<bool, RecordError> {
    let beside = footer_path(path);
    let saved = match fs::read(&beside) {
        Ok(saved) => saved,
        Err(_) if is_whole(path) => return Ok(false),
        Err(_) => return Err(RecordError::NotRecoverable { path: path.to_owned() }),
    };
    if !is_whole(path) {
        let (length, footer) =
            saved.split_first_chunk::<8>().ok_or_else(|| RecordError::NotRecoverable { path: path.to_owned() })?;
        let length = u64::from_le_bytes(*length);
        let mend = || -> std::io::Result<bool> {
            let mut file = OpenOptions::new().append(true).open(path)?;
            if length < MAGIC_LEN || file.metadata()?.len() < length {
                return Ok(false);
            }
            file.set_len(length)?;
            file.write_all(footer)?;
            file.sync_all()?;
            Ok(true)
        };
        if !mend().map_err(|e| RecordError::io(path, e))? {
            return Err(RecordError::NotRecoverable { path: path.to_owned() });
        }
    }
    fs::remove_file(&beside).map_err(|e| RecordError::io(&beside, e))?;
    Ok(true)
}

fn footer_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".footer");
    name.into()
}

fn is_whole(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| ParquetMetaDataReader::new().parse_and_finish(&file).is_ok())
}

/// Schema and key-value metadata as the writer itself would put them into the footer.
fn facts_of_an_empty_file(schema: SchemaRef, properties: WriterProperties) -> Result<FileMetaData, ParquetError> {
    let metadata = ArrowWriter::try_new(Vec::new(), schema, Some(properties))?.close()?;
    Ok(metadata.file_metadata().clone())
}

fn footer(facts: &FileMetaData, row_groups: Vec<RowGroupMetaData>) -> Result<Vec<u8>, ParquetError> {
    let facts = FileMetaData::new(
        facts.version(),
        row_groups.iter().map(RowGroupMetaData::num_rows).sum(),
        facts.created_by().map(str::to_owned),
        facts.key_value_metadata().cloned(),
        facts.schema_descr_ptr(),
        facts.column_orders().cloned(),
    );
    let metadata = ParquetMetaData::new(facts, row_groups);
    let mut bytes = Vec::new();
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array};
    use arrow_schema::{Field, Schema};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

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
