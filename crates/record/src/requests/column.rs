//! One column of the open row group: its pages, encoded as they fill, and what the footer says of them.

use std::collections::BTreeSet;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::dictionary::Dictionary;
use super::encode;

const ZSTD_LEVEL: i32 = 1;
/// A column is compressed where that makes its first page smaller than this share.
const WORTH_IT: f64 = 0.85;

/// How a column's values are told.
#[derive(Clone, Copy)]
pub enum Form {
    /// Numbers that go in steps.
    Steps,
    /// Such numbers, `i64::MIN` where there is none.
    StepsOrNull,
    /// Numbers of which few differ, of 64 bits or of 32; in steps where more than a dictionary's do.
    Few,
    FewNarrow,
    /// Places in a list of names.
    Names(&'static [&'static str]),
}

/// The values of one page.
pub enum Values<'a> {
    Numbers(&'a [i64]),
    Keys(&'a [u8]),
}

pub struct Column {
    descr: ColumnDescPtr,
    form: Form,
    unsigned: bool,
    /// Pages end to end, before compression.
    raw: Vec<u8>,
    pages: Vec<PageEnd>,
    dictionary: Dictionary,
    names_used: BTreeSet<&'static str>,
    rows: u64,
    nulls: u64,
    /// Least and most value of the row group, and of the last page in steps.
    range: Option<(i64, i64)>,
    page_range: (i64, i64),
    present: Vec<i64>,
    keys: Vec<u8>,
}

struct PageEnd {
    end: usize,
    rows: u32,
    encoding: Encoding,
}

impl Column {
    pub fn new(descr: ColumnDescPtr, form: Form, unsigned: bool) -> Self {
        Self {
            descr,
            form,
            unsigned,
            raw: Vec::new(),
            pages: Vec::new(),
            dictionary: Dictionary::default(),
            names_used: BTreeSet::new(),
            rows: 0,
            nulls: 0,
            range: None,
            page_range: (0, 0),
            present: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Adds one page of values.
    pub fn page(&mut self, values: Values) {
        let (rows, encoding) = match (values, self.form) {
            (Values::Keys(keys), Form::Names(names)) => (keys.len(), self.names(keys, names)),
            (Values::Numbers(numbers), Form::StepsOrNull) => (numbers.len(), self.perhaps_null(numbers)),
            (Values::Numbers(numbers), Form::Few | Form::FewNarrow) => (numbers.len(), self.few(numbers)),
            (Values::Numbers(numbers), _) => (numbers.len(), self.steps(numbers)),
            (Values::Keys(_), _) => unreachable!("only columns of names have keys"),
        };
        self.rows += rows as u64;
        self.pages.push(PageEnd { end: self.raw.len(), rows: rows as u32, encoding });
    }

    /// Adds the page `other` got last: its values are known to be this column's too.
    pub fn page_of(&mut self, other: &Column) {
        let start = other.pages.len().checked_sub(2).map_or(0, |i| other.pages[i].end);
        let Some(page) = other.pages.last() else { return };
        self.raw.extend_from_slice(&other.raw[start..page.end]);
        self.pages.push(PageEnd { end: self.raw.len(), ..*page });
        self.rows += u64::from(page.rows);
        self.widen(other.page_range);
    }

    fn steps(&mut self, numbers: &[i64]) -> Encoding {
        self.sum_up(numbers);
        encode::delta(numbers, matches!(self.form, Form::FewNarrow), &mut self.raw);
        Encoding::DELTA_BINARY_PACKED
    }

    fn perhaps_null(&mut self, numbers: &[i64]) -> Encoding {
        let mut present = std::mem::take(&mut self.present);
        present.clear();
        present.extend(numbers.iter().filter(|n| **n != i64::MIN));
        self.nulls += (numbers.len() - present.len()) as u64;
        self.keys.clear();
        self.keys.extend(numbers.iter().map(|n| u8::from(*n != i64::MIN)));
        // Definition levels stand before the values, with their length in four bytes.
        let start = self.raw.len();
        self.raw.extend_from_slice(&[0; 4]);
        encode::hybrid(&self.keys, 1, &mut self.raw);
        let length = (self.raw.len() - start - 4) as u32;
        self.raw[start..start + 4].copy_from_slice(&length.to_le_bytes());
        let encoding = if present.is_empty() { Encoding::PLAIN } else { self.steps(&present) };
        self.present = present;
        encoding
    }

    fn few(&mut self, numbers: &[i64]) -> Encoding {
        if !self.dictionary.keys(numbers, &mut self.keys) {
            return self.steps(numbers);
        }
        let width = self.dictionary.width();
        self.raw.push(width);
        encode::hybrid(&self.keys, width, &mut self.raw);
        Encoding::RLE_DICTIONARY
    }

    fn names(&mut self, keys: &[u8], names: &'static [&'static str]) -> Encoding {
        let mut used = [false; 256];
        keys.iter().for_each(|k| used[*k as usize] = true);
        self.names_used.extend(names.iter().zip(used).filter_map(|(name, used)| used.then_some(*name)));
        let width = (names.len() as u32).next_power_of_two().trailing_zeros() as u8;
        self.raw.push(width);
        encode::hybrid(keys, width, &mut self.raw);
        Encoding::RLE_DICTIONARY
    }

    fn sum_up(&mut self, numbers: &[i64]) {
        // Unsigned numbers are in order once their highest bit is turned.
        let turn = if self.unsigned { i64::MIN } else { 0 };
        let (least, most) =
            numbers.iter().fold((i64::MAX, i64::MIN), |(least, most), n| (least.min(n ^ turn), most.max(n ^ turn)));
        self.widen((least ^ turn, most ^ turn));
    }

    fn widen(&mut self, page: (i64, i64)) {
        let (least, most) = page;
        self.page_range = page;
        let turn = if self.unsigned { i64::MIN } else { 0 };
        let (a, b) = self.range.unwrap_or((least, most));
        self.range = Some(((a ^ turn).min(least ^ turn) ^ turn, (b ^ turn).max(most ^ turn) ^ turn));
    }

    /// Everything as it will stand in the file, and its entry for the footer. The column is empty again.
    pub fn close(&mut self) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let mut packer = Packer::judge(&self.raw[..self.pages.first().map_or(0, |p| p.end)])?;
        let mut sink = TrackedWrite::new(Vec::with_capacity(self.raw.len() / 2 + 1024));
        let mut writer = SerializedPageWriter::new(&mut sink);
        let (mut unpacked, mut packed) = (0, 0);
        let mut write = |page: CompressedPage| -> Result<u64, ParquetError> {
            let spec = writer.write_page(page)?;
            unpacked += spec.uncompressed_size as i64;
            packed += spec.compressed_size as i64;
            Ok(spec.bytes_written)
        };
        let mut dictionary_bytes = None;
        if let Some((count, plain)) = self.dictionary_page() {
            let buf = packer.pack(&plain)?;
            let page = Page::DictionaryPage { buf, num_values: count, encoding: Encoding::PLAIN, is_sorted: false };
            dictionary_bytes = Some(write(CompressedPage::new(page, plain.len()))?);
        }
        let mut start = 0;
        for page in &self.pages {
            let plain = &self.raw[start..page.end];
            start = page.end;
            let data = Page::DataPage {
                buf: packer.pack(plain)?,
                num_values: page.rows,
                encoding: page.encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            write(CompressedPage::new(data, plain.len()))?;
        }
        let encodings: BTreeSet<Encoding> = [Encoding::RLE]
            .into_iter()
            .chain(dictionary_bytes.map(|_| Encoding::PLAIN))
            .chain(self.pages.iter().map(|p| p.encoding))
            .collect();
        let metadata = ColumnChunkMetaData::builder(self.descr.clone())
            .set_compression(packer.compression)
            .set_encodings(encodings.into_iter().collect())
            .set_total_compressed_size(packed)
            .set_total_uncompressed_size(unpacked)
            .set_num_values(self.rows as i64)
            .set_dictionary_page_offset(dictionary_bytes.map(|_| 0))
            .set_data_page_offset(dictionary_bytes.unwrap_or(0) as i64)
            .set_statistics(self.statistics())
            .build()?;
        let (bytes_written, rows_written) = (packed as u64, self.rows);
        self.clear();
        let close = ColumnCloseResult {
            bytes_written,
            rows_written,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((sink.into_inner()?.into(), close))
    }

    /// How many entries the dictionary has, and they themselves; none where no page uses it.
    fn dictionary_page(&self) -> Option<(u32, Vec<u8>)> {
        if !self.pages.iter().any(|p| p.encoding == Encoding::RLE_DICTIONARY) {
            return None;
        }
        if let Form::Names(names) = self.form {
            let entry = |name: &&str| [&(name.len() as u32).to_le_bytes(), name.as_bytes()].concat();
            return Some((names.len() as u32, names.iter().flat_map(entry).collect()));
        }
        let bytes = if matches!(self.form, Form::FewNarrow) { 4 } else { 8 };
        let values = self.dictionary.values();
        Some((values.len() as u32, values.iter().flat_map(|v| v.to_le_bytes().into_iter().take(bytes)).collect()))
    }

    fn statistics(&mut self) -> Statistics {
        let nulls = Some(self.nulls);
        if let Form::Names(_) = self.form {
            let text = |name: Option<&&'static str>| name.map(|n| ByteArray::from(*n));
            return Statistics::byte_array(
                text(self.names_used.first()),
                text(self.names_used.last()),
                None,
                nulls,
                false,
            );
        }
        let values = self.dictionary.values().to_vec();
        if !values.is_empty() {
            self.sum_up(&values);
        }
        let (least, most) = self.range.unzip();
        if matches!(self.form, Form::FewNarrow) {
            return Statistics::int32(least.map(|n| n as i32), most.map(|n| n as i32), None, nulls, false);
        }
        Statistics::int64(least, most, None, nulls, false)
    }

    fn clear(&mut self) {
        self.raw.clear();
        self.pages.clear();
        self.dictionary.clear();
        self.names_used.clear();
        (self.rows, self.nulls, self.range) = (0, 0, None);
    }
}

/// Compresses the pages of one column of one row group, or leaves them all as they are.
struct Packer {
    compression: Compression,
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl Packer {
    /// Bit-packed numbers rarely shrink further: the first page tells whether the processor time is well spent.
    fn judge(first: &[u8]) -> Result<Self, ParquetError> {
        let mut zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL)?;
        let shrinks = first.len() > 64 && (zstd.compress(first)?.len() as f64) < WORTH_IT * first.len() as f64;
        Ok(match shrinks {
            true => Self { compression: Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?), zstd: Some(zstd) },
            false => Self { compression: Compression::UNCOMPRESSED, zstd: None },
        })
    }

    fn pack(&mut self, plain: &[u8]) -> Result<Bytes, ParquetError> {
        match &mut self.zstd {
            Some(zstd) => Ok(zstd.compress(plain)?.into()),
            None => Ok(Bytes::copy_from_slice(plain)),
        }
    }
}
