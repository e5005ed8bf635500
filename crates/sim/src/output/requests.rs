//! `tables/requests.parquet` of a simulated run: the columns of every `requests` table, on the simulated clock. `planned_ns`
//! is the arrival, `issued_ns` the start at the first drive, `done_ns` the answer; there is no first byte.

use std::path::Path;

use arrow_schema::SchemaRef;
use iojoule_array::Completion;
use iojoule_disk::Op;
use iojoule_record::{ErrorClass, Phase, Request, TableWriter, request};
use iojoule_units::SECTOR;

use super::{BATCH, COMMIT_EVERY, simulated};
use crate::SimError;

/// A row per request.
pub struct RequestsTable {
    table: TableWriter,
    schema: SchemaRef,
    rows: Vec<Request>,
    batches: u32,
}

impl RequestsTable {
    pub fn create(path: &Path) -> Result<Self, SimError> {
        let schema = simulated(&request::schema());
        let table = TableWriter::create(path, schema.clone(), &[])?;
        Ok(Self { table, schema, rows: Vec::with_capacity(BATCH), batches: 0 })
    }

    /// Adds the row of a request that has ended.
    #[inline]
    pub fn add(&mut self, completion: &Completion, phase: Phase) -> Result<(), SimError> {
        let request = &completion.request;
        self.rows.push(Request {
            seq: request.id,
            planned_ns: completion.arrived.0,
            issued_ns: completion.started.0,
            first_byte_ns: Request::NEVER,
            done_ns: completion.done.0,
            offset: request.lba.0 * SECTOR,
            bytes: u64::from(request.sectors) * SECTOR,
            object: 0,
            stream: 0,
            status: 0,
            phase,
            op: if request.op == Op::Read { iojoule_record::Op::Read } else { iojoule_record::Op::Write },
            error: if completion.served { ErrorClass::None } else { ErrorClass::Io },
        });
        if self.rows.len() == BATCH { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), SimError> {
        let batch = request::batch(&self.schema, &self.rows).map_err(|e| SimError::Internal(e.to_string()))?;
        self.table.write(&batch)?;
        self.rows.clear();
        self.batches += 1;
        if self.batches.is_multiple_of(COMMIT_EVERY) { Ok(self.table.commit()?) } else { Ok(()) }
    }

    /// Writes what is gathered, and the end of the file.
    pub fn close(mut self) -> Result<(), SimError> {
        self.write()?;
        Ok(self.table.close()?)
    }
}
