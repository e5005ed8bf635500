//! One request: the record an engine thread fills, and the columns it becomes.
//!
//! Table `requests`, version 1: `seq u64, phase, planned_ns i64, issued_ns i64, first_byte_ns i64?, done_ns i64,
//! op, object u32, offset u64, bytes u64, status u16, error, stream u32`. Times are host nanoseconds; `phase`,
//! `op` and `error` are dictionaries. `first_byte_ns` is null where no byte came. `status` is 0 where the
//! protocol gave none. `stream` is the connection (HTTP) or the submitting job (block).

use std::sync::Arc;

use arrow_array::{
    ArrayRef, DictionaryArray, Int8Array, Int64Array, RecordBatch, StringArray, UInt16Array, UInt32Array, UInt64Array,
    types::Int8Type,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

/// Version of the `requests` table; raised when a column changes.
pub const SCHEMA_VERSION: u32 = 1;

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($variant),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            pub const NAMES: &'static [&'static str] = &[$($text),+];

            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }
    };
}

names! {
    /// A named span of a run.
    Phase { Prepare = "prepare", Idle = "idle", Warmup = "warmup", Measure = "measure", Cooldown = "cooldown" }
}

names! {
    /// What was asked of the target.
    Op {
        Read = "read", Write = "write", Trim = "trim", Flush = "flush",
        Get = "GET", Head = "HEAD", Post = "POST", Put = "PUT", Delete = "DELETE", Options = "OPTIONS", Other = "OTHER",
    }
}

names! {
    /// Why a request did not succeed; `None` is success. `Dropped` was never issued, because the cap on open
    /// connections was reached and the policy there is `drop`.
    ErrorClass {
        None = "", Connect = "connect", Timeout = "timeout", Reset = "reset", Http4xx = "http_4xx", Http5xx = "http_5xx",
        ShortBody = "short_body", ClientStop = "client_stop", Dropped = "dropped", Protocol = "protocol", Io = "io",
        ShortIo = "short_io", Corrupt = "corrupt",
    }
}

/// The record of one request. `first_byte_ns` is [`Request::NEVER`] where no byte came.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub seq: u64,
    pub planned_ns: i64,
    pub issued_ns: i64,
    pub first_byte_ns: i64,
    pub done_ns: i64,
    pub offset: u64,
    pub bytes: u64,
    pub object: u32,
    pub stream: u32,
    pub status: u16,
    pub phase: Phase,
    pub op: Op,
    pub error: ErrorClass,
}

impl Request {
    pub const NEVER: i64 = i64::MIN;

    /// True where the request was answered in full and without an error.
    pub fn succeeded(&self) -> bool {
        self.error == ErrorClass::None
    }
}

fn dictionary(name: &str) -> Field {
    Field::new(name, DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)), false)
}

/// The Arrow schema of the `requests` table.
pub fn schema() -> SchemaRef {
    let fields = vec![
        Field::new("seq", DataType::UInt64, false),
        dictionary("phase"),
        Field::new("planned_ns", DataType::Int64, false),
        Field::new("issued_ns", DataType::Int64, false),
        Field::new("first_byte_ns", DataType::Int64, true),
        Field::new("done_ns", DataType::Int64, false),
        dictionary("op"),
        Field::new("object", DataType::UInt32, false),
        Field::new("offset", DataType::UInt64, false),
        Field::new("bytes", DataType::UInt64, false),
        Field::new("status", DataType::UInt16, false),
        dictionary("error"),
        Field::new("stream", DataType::UInt32, false),
    ];
    let version = ("iojoule.schema_version".to_owned(), SCHEMA_VERSION.to_string());
    Arc::new(Schema::new_with_metadata(fields, [version]))
}

/// Columns of `records`, in order, under [`schema`].
pub fn batch(schema: &SchemaRef, records: &[Request]) -> Result<RecordBatch, ArrowError> {
    let dictionary = |names: &'static [&'static str], key: fn(&Request) -> u8| -> Result<ArrayRef, ArrowError> {
        let keys: Int8Array = records.iter().map(|r| Some(key(r) as i8)).collect();
        let values = Arc::new(StringArray::from(names.to_vec()));
        Ok(Arc::new(DictionaryArray::<Int8Type>::try_new(keys, values)?))
    };
    let first_byte = records.iter().map(|r| (r.first_byte_ns != Request::NEVER).then_some(r.first_byte_ns));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(records.iter().map(|r| r.seq))),
        dictionary(Phase::NAMES, |r| r.phase as u8)?,
        Arc::new(Int64Array::from_iter_values(records.iter().map(|r| r.planned_ns))),
        Arc::new(Int64Array::from_iter_values(records.iter().map(|r| r.issued_ns))),
        Arc::new(first_byte.collect::<Int64Array>()),
        Arc::new(Int64Array::from_iter_values(records.iter().map(|r| r.done_ns))),
        dictionary(Op::NAMES, |r| r.op as u8)?,
        Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.object))),
        Arc::new(UInt64Array::from_iter_values(records.iter().map(|r| r.offset))),
        Arc::new(UInt64Array::from_iter_values(records.iter().map(|r| r.bytes))),
        Arc::new(UInt16Array::from_iter_values(records.iter().map(|r| r.status))),
        dictionary(ErrorClass::NAMES, |r| r.error as u8)?,
        Arc::new(UInt32Array::from_iter_values(records.iter().map(|r| r.stream))),
    ];
    RecordBatch::try_new(schema.clone(), columns)
}
