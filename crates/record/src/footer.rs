//! The footer a table under way would have, kept beside it. After every row group it is written to `<table>.footer`
//! and moved into place in one step; [`recover`] cuts a killed writer's file behind its last whole row group and puts
//! that footer there.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;

use crate::RecordError;

/// A Parquet file starts with these four bytes and a recoverable one has at least them.
const MAGIC_LEN: u64 = 4;

/// The footer beside one table.
pub(crate) struct FooterBeside {
    table: PathBuf,
    /// What the footer says of the whole file; the same at every row group.
    facts: FileMetaData,
}

impl FooterBeside {
    /// Of a table without rows, `length` bytes long.
    pub fn create(table: &Path, facts: FileMetaData, length: u64) -> Result<Self, RecordError> {
        let beside = Self { table: table.to_owned(), facts };
        beside.write(Vec::new(), length)?;
        Ok(beside)
    }

    /// Replaces the footer by that of a table of these row groups, `length` bytes long.
    pub fn write(&self, row_groups: Vec<RowGroupMetaData>, length: u64) -> Result<(), RecordError> {
        let footer = footer(&self.facts, row_groups).map_err(|e| RecordError::parquet(&self.table, e))?;
        let target = footer_path(&self.table);
        let fresh = target.with_extension("footer-new");
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&fresh)?;
            // The file's length stands first, so that recovery knows where to cut.
            file.write_all(&length.to_le_bytes())?;
            file.write_all(&footer)?;
            fs::rename(&fresh, &target)
        };
        write().map_err(|e| RecordError::io(&target, e))
    }

    /// Removes it: the table has its own.
    pub fn remove(self) -> Result<(), RecordError> {
        let beside = footer_path(&self.table);
        fs::remove_file(&beside).map_err(|e| RecordError::io(&beside, e))
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
pub(crate) fn facts_of_an_empty_file(
    schema: SchemaRef,
    properties: WriterProperties,
) -> Result<FileMetaData, ParquetError> {
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
