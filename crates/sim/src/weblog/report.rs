//! What the clients of a simulated web server saw, and how much of it the server's memory spared the drives.

use std::path::Path;

use arrow_schema::SchemaRef;
use iojoule_record::{ErrorClass, Op, Phase, Request, TableWriter, request};
use iojoule_units::ModelNs;
use serde::Serialize;

use super::table::Method;
use super::visit::Visit;
use crate::distribution::Figures;
use crate::{Distribution, SimError};

/// What became of the web requests. Times are of those for a file, after the warm-up; a file from memory takes none.
#[derive(Clone, Debug, Serialize)]
pub struct WebReport {
    pub requests: u64,
    pub outcomes: Outcomes,
    /// From arrival to the first read of the file's data; of HEAD and 304, to its metadata.
    pub latency_ms: Figures,
    /// From arrival to the last.
    pub completion_ms: Figures,
    /// Of the files' data, to the same requests.
    pub bytes: u64,
    /// Blocks of 4 KiB asked for, and those of them that memory held.
    pub blocks: u64,
    pub blocks_from_memory: u64,
    /// Requests to the array.
    pub reads: u64,
    pub access_time_writes: u64,
    pub files: u64,
    pub file_bytes: u64,
}

/// Web requests by what they needed of the server's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    /// GET answered 2xx: the file's data.
    pub data: u64,
    /// HEAD, or GET answered 304: its metadata.
    pub metadata: u64,
    /// Anything else: nothing.
    pub nothing: u64,
    /// Of the first two, those that memory alone answered.
    pub from_memory: u64,
    /// Those whose blocks no drive holds any more.
    pub lost: u64,
}

/// The sums behind a [`WebReport`], and the table of requests where one is written.
#[derive(Default)]
pub(super) struct Book {
    pub outcomes: Outcomes,
    pub latency: Distribution,
    pub completion: Distribution,
    pub bytes: u64,
    warmup: ModelNs,
    table: Option<Table>,
}

impl Book {
    /// Requests that arrive before `warmup` are not in the times; with `tables` every request becomes a row of
    /// `web.parquet` there.
    pub fn begin(&mut self, warmup: ModelNs, tables: Option<&Path>) -> Result<(), SimError> {
        self.warmup = warmup;
        self.table = tables.map(|folder| Table::create(&folder.join("web.parquet"))).transpose()?;
        Ok(())
    }

    /// A visit has ended.
    pub fn add(&mut self, visit: &Visit) -> Result<(), SimError> {
        let outcomes = &mut self.outcomes;
        match visit.row.status {
            200..=299 if visit.row.method == Method::Get => outcomes.data += 1,
            _ => outcomes.metadata += 1,
        }
        outcomes.from_memory += u64::from(visit.issued.is_none());
        outcomes.lost += u64::from(!visit.served);
        let phase = if visit.arrived < self.warmup { Phase::Warmup } else { Phase::Measure };
        if phase == Phase::Measure && visit.served {
            self.bytes += visit.bytes;
            self.latency.add(visit.first.unwrap_or(visit.last) - visit.arrived);
            self.completion.add(visit.last - visit.arrived);
        }
        match &mut self.table {
            Some(table) => table.add(visit, phase),
            None => Ok(()),
        }
    }

    pub fn close(&mut self) -> Result<(), SimError> {
        self.table.take().map_or(Ok(()), Table::close)
    }
}

/// `tables/web.parquet`: the columns of every `requests` table, on the simulated clock. `issued_ns` is the first
/// request to the array, or the arrival where memory answered; `stream` the client.
struct Table {
    table: TableWriter,
    schema: SchemaRef,
    rows: Vec<Request>,
}

const BATCH: usize = 16 * 1024;

impl Table {
    fn create(path: &Path) -> Result<Self, SimError> {
        let schema = request::schema();
        let facts = [("iojoule.kind", "requests"), ("iojoule.clock", "simulated")].map(|(k, v)| (k.into(), v.into()));
        let table = TableWriter::create(path, schema.clone(), &facts)?;
        Ok(Self { table, schema, rows: Vec::with_capacity(BATCH) })
    }

    fn add(&mut self, visit: &Visit, phase: Phase) -> Result<(), SimError> {
        self.rows.push(Request {
            seq: visit.number,
            planned_ns: visit.arrived.0,
            issued_ns: visit.issued.unwrap_or(visit.arrived).0,
            first_byte_ns: visit.first.unwrap_or(visit.last).0,
            done_ns: visit.last.0,
            offset: 0,
            bytes: visit.bytes,
            object: visit.row.object,
            stream: visit.row.client,
            status: visit.row.status,
            phase,
            op: if visit.row.method == Method::Head { Op::Head } else { Op::Get },
            error: if visit.served { ErrorClass::None } else { ErrorClass::Io },
        });
        if self.rows.len() == BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), SimError> {
        let batch = request::batch(&self.schema, &self.rows).map_err(|e| SimError::Internal(e.to_string()))?;
        self.rows.clear();
        Ok(self.table.write(&batch)?)
    }

    fn close(mut self) -> Result<(), SimError> {
        self.flush()?;
        Ok(self.table.close()?)
    }
}
