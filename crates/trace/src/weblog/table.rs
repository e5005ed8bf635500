//! The replay table and the objects table, version 1, as Parquet. Both are written under temporary names and moved into
//! place together, so that a reader never sees half of one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::{ArrowDictionaryKeyType, Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, DictionaryArray, Int64Array, PrimitiveArray, RecordBatch, StringArray, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use iojoule_record::{RecordError, TableWriter};

use super::WeblogError;
use super::objects::{Object, Objects};
use super::sort::Kept;

const BATCH: usize = 64 * 1024;

fn replay_schema() -> SchemaRef {
    let names = |key| DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
    Arc::new(Schema::new(vec![
        Field::new("planned_ns", DataType::Int64, false),
        Field::new("method", names(DataType::Int8), false),
        Field::new("object", DataType::UInt32, false),
        Field::new("path", names(DataType::Int32), false),
        Field::new("size", DataType::Int64, true),
        Field::new("client", DataType::UInt32, false),
        Field::new("status", DataType::UInt16, false),
    ]))
}

/// Takes requests in time order.
pub(crate) struct ReplayWriter<'a> {
    table: TableWriter,
    schema: SchemaRef,
    objects: &'a [Object],
    methods: &'a [String],
    rows: Vec<(i64, Kept)>,
}

impl<'a> ReplayWriter<'a> {
    pub fn create(
        path: &Path,
        metadata: &[(String, String)],
        objects: &'a [Object],
        methods: &'a [String],
    ) -> Result<Self, WeblogError> {
        let schema = replay_schema();
        let table = TableWriter::create(path, schema.clone(), metadata)?;
        Ok(Self { table, schema, objects, methods, rows: Vec::with_capacity(BATCH) })
    }

    pub fn push(&mut self, planned_ns: i64, kept: Kept) -> Result<(), WeblogError> {
        self.rows.push((planned_ns, kept));
        if self.rows.len() == BATCH { self.flush() } else { Ok(()) }
    }

    pub fn close(mut self) -> Result<(), WeblogError> {
        self.flush()?;
        Ok(self.table.close()?)
    }

    fn flush(&mut self) -> Result<(), WeblogError> {
        let rows = &self.rows;
        let path = |object: u32| self.objects[object as usize].path.as_str();
        let known = |size: i64| (size != Kept::NO_SIZE).then_some(size);
        let columns =
            dictionary::<Int8Type>(rows.iter().map(|(_, k)| (k.method.into(), &*self.methods[usize::from(k.method)])))
                .and_then(|methods| {
                    let paths = dictionary::<Int32Type>(rows.iter().map(|(_, k)| (k.object, path(k.object))))?;
                    let columns: Vec<ArrayRef> = vec![
                        Arc::new(Int64Array::from_iter_values(rows.iter().map(|(ns, _)| *ns))),
                        methods,
                        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|(_, k)| k.object))),
                        paths,
                        Arc::new(Int64Array::from_iter(rows.iter().map(|(_, k)| known(k.size)))),
                        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|(_, k)| k.client))),
                        Arc::new(UInt16Array::from_iter_values(rows.iter().map(|(_, k)| k.status))),
                    ];
                    RecordBatch::try_new(self.schema.clone(), columns)
                });
        self.table.write(&columns.map_err(arrow)?)?;
        self.rows.clear();
        Ok(())
    }
}

/// A dictionary column of the texts that occur, in order of their first occurrence.
fn dictionary<'a, K: ArrowDictionaryKeyType>(
    texts: impl Iterator<Item = (u32, &'a str)>,
) -> Result<ArrayRef, ArrowError>
where
    K::Native: TryFrom<usize>,
{
    let mut places: HashMap<u32, usize> = HashMap::new();
    let mut values = Vec::new();
    let mut keys = Vec::new();
    for (number, text) in texts {
        let place = *places.entry(number).or_insert_with(|| {
            values.push(text);
            values.len() - 1
        });
        keys.push(K::Native::try_from(place).map_err(|_| ArrowError::DictionaryKeyOverflowError)?);
    }
    let keys = PrimitiveArray::<K>::from_iter_values(keys);
    Ok(Arc::new(DictionaryArray::try_new(keys, Arc::new(StringArray::from_iter_values(values)))?))
}

/// Writes the objects table; returns the bytes a content tree of it holds.
pub(crate) fn write_objects(path: &Path, objects: &Objects) -> Result<u64, WeblogError> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("object", DataType::UInt32, false),
        Field::new("path", DataType::Utf8, false),
        Field::new("file", DataType::Utf8, false),
        Field::new("size", DataType::UInt64, false),
        Field::new("size_rule", DataType::Utf8, false),
    ]));
    let metadata = [("iojoule.kind", "objects"), ("iojoule.version", "1")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let mut table = TableWriter::create(path, schema.clone(), &metadata)?;
    let sizes = objects.sizes();
    for (at, (part, sizes)) in objects.list.chunks(BATCH).zip(sizes.chunks(BATCH)).enumerate() {
        let first = (at * BATCH) as u32;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from_iter_values(first..first + part.len() as u32)),
            Arc::new(StringArray::from_iter_values(part.iter().map(|o| &o.path))),
            Arc::new(StringArray::from_iter_values(part.iter().map(Object::file))),
            Arc::new(UInt64Array::from_iter_values(sizes.iter().map(|(size, _)| *size))),
            Arc::new(StringArray::from_iter_values(sizes.iter().map(|(_, rule)| *rule))),
        ];
        table.write(&RecordBatch::try_new(schema.clone(), columns).map_err(arrow)?)?;
    }
    table.close()?;
    Ok(sizes.iter().map(|(size, _)| size).sum())
}

fn arrow(error: ArrowError) -> WeblogError {
    WeblogError::Record(RecordError::Parquet { path: PathBuf::new(), source: error.into() })
}
