//! Rows of Parquet files and of tables in memory, batch by batch; of the readers the only one that names `parquet` and
//! `arrow`. Types come from the table's own schema, not from what another library noted beside it. Never: a meaning of
//! a column.

use super::cells::{Cell, Cells, Fault};
use super::header::{self, bare};
use super::options::ReadOptions;
use super::packed::unreadable;
use super::refusal::LayoutError;
use super::sink::Sink;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, new_empty_array};
use arrow_schema::{DataType, Fields, Schema, TimeUnit};
use feeds::text::Dialect;
use jiff::civil::{DateTime, Time};
use jiff::{Timestamp, tz::TimeZone};
use kernel::calendar::shift::date_of_epoch_day;
use kernel::error::{FeedError, Reason, Refused};
use kernel::limits;
use kernel::report::Report;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use std::fs::File;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Rows of a batch.
const BATCH: usize = 8192;

type QuoteFileReader = ParquetRecordBatchReaderBuilder<File>;

/// Reads every row of a Parquet file. What cannot be read behind some place is an error of the report.
///
/// # Errors
/// The list of columns at its end is damaged or missing, the sink does not know them, or they are compressed in a way
/// that is not read.
pub(super) fn read<S: Sink>(file: &Path, from: File, sink: &mut S, report: &mut Report) -> Result<(), LayoutError> {
    let size = from.metadata().map_or(0, |facts| facts.len());
    // rows that are all alike take no bytes: a file of a megabyte can name any number of them
    let most = (limits::PARQUET_ROWS.most as u64).saturating_add(size);
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = guarded(|| QuoteFileReader::try_new_with_options(from, options).ok()).flatten();
    let builder = builder.ok_or_else(|| unreadable(file, ErrorKind::InvalidData))?;
    sink.header(file, &numbered(builder.schema().fields()))?;
    let places = sink.places();
    admit_compression(file, &builder, &places)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), places.iter().copied());
    let reader = guarded(|| builder.with_projection(mask).with_batch_size(BATCH).build().ok()).flatten();
    let mut reader = reader.ok_or_else(|| unreadable(file, ErrorKind::InvalidData))?;
    let (name, mut before) = (Arc::new(file.to_path_buf()), 0);
    loop {
        match guarded(|| reader.next()) {
            Some(None) => return Ok(()),
            Some(Some(Ok(batch))) => {
                take_batch(&batch, &places, sink, |line, (field, reason), value| {
                    report.refuse(Refused { file: Arc::clone(&name), line: before + line, field, reason, value });
                });
                before += batch.num_rows() as u64;
                report.records += batch.num_rows() as u64;
                if before > most {
                    report.errors.push(FeedError::TooLarge { file: file.to_path_buf() });
                    return Ok(());
                }
            }
            Some(Some(Err(_))) | None => {
                report.errors.push(FeedError::Io { file: file.to_path_buf(), kind: ErrorKind::InvalidData });
                return Ok(());
            }
        }
    }
}

/// Rows of a table in memory.
pub type TableBatch = RecordBatch;
/// Names and types of its columns.
pub type TableSchema = Schema;

/// Reads every row of a table in memory, as [`read`] does those of a file; `refused` gets each row that cannot be used,
/// from 0.
///
/// # Errors
/// The sink does not know the columns.
pub(super) fn read_batches<S: Sink>(
    source: &Path,
    schema: &TableSchema,
    batches: &mut dyn Iterator<Item = TableBatch>,
    sink: &mut S,
    report: &mut Report,
    refused: &mut dyn FnMut(u64, &Refused),
) -> Result<(), LayoutError> {
    sink.header(source, &numbered(schema.fields()))?;
    let (name, places) = (Arc::new(source.to_path_buf()), sink.places());
    for batch in batches {
        let Ok(read) = batch.project(&places) else { return Err(unreadable(source, ErrorKind::InvalidData)) };
        let before = report.records;
        take_batch(&read, &places, sink, |line, (field, reason), value| {
            let place = Refused { file: Arc::clone(&name), line: before + line, field, reason, value };
            refused(before + line - 1, &place);
            report.refuse(place);
        });
        report.records += batch.num_rows() as u64;
    }
    Ok(())
}

/// The cells of some rows in memory, for callers that read tables themselves.
pub struct TableCells<'a>(Vec<Values<'a>>);

impl<'a> TableCells<'a> {
    /// The cells of a batch.
    #[must_use]
    pub fn of(batch: &'a RecordBatch) -> Self {
        Self(batch.columns().iter().map(Values::of).collect())
    }

    /// A cell as a number, where it is one: NaN where it is missing.
    #[must_use]
    pub fn number(&self, column: usize, row: usize) -> Option<f64> {
        match self.0.get(column)?.cell(row).ok()? {
            Cell::Empty => Some(f64::NAN),
            Cell::Number(x) => Some(x),
            Cell::Whole(n) => Some(n as f64),
            _ => None,
        }
    }

    /// A cell as a file of text has it; `None`: its type has no text.
    #[must_use]
    pub fn text(&self, column: usize, row: usize) -> Option<String> {
        self.0.get(column)?.cell(row).ok().map(cell_text)
    }
}

/// A table in memory as the text of a file, for readers of text.
///
/// # Errors
/// A column whose type has no text, by its name.
pub fn table_text(schema: &Schema, batches: &[RecordBatch]) -> Result<Vec<u8>, String> {
    let mut text = csv::Writer::from_writer(Vec::new());
    let names = names(schema.fields());
    text.write_record(&names).map_err(|error| error.to_string())?;
    for batch in batches {
        let columns: Vec<Values<'_>> = batch.columns().iter().map(Values::of).collect();
        for row in 0..batch.num_rows() {
            for (column, name) in columns.iter().zip(&names) {
                let cell = column.cell(row).map_err(|reason| format!("row {row}: {name}: {}", reason.name()))?;
                text.write_field(cell_text(cell)).map_err(|error| error.to_string())?;
            }
            text.write_record(None::<&[u8]>).map_err(|error| error.to_string())?;
        }
    }
    text.into_inner().map_err(|error| error.to_string())
}

/// A cell as a file of text has it. Midnight is what libraries write for a date.
fn cell_text(cell: Cell<'_>) -> String {
    let date_or_time =
        |at: DateTime, time: String| if at.time() == Time::midnight() { at.date().to_string() } else { time };
    match cell {
        Cell::Empty => String::new(),
        Cell::Text(text) => text.to_owned(),
        Cell::Number(x) => x.to_string(),
        Cell::Whole(n) => n.to_string(),
        Cell::Date(date) => date.to_string(),
        Cell::Civil(at) => date_or_time(at, at.to_string()),
        Cell::Time(at) => date_or_time(TimeZone::UTC.to_datetime(at), at.to_string()),
    }
}

/// The names of columns; a column of columns has no value, and no name.
fn names(fields: &Fields) -> Vec<String> {
    let is_plain = |kind: &DataType| !kind.is_nested() || matches!(kind, DataType::Dictionary(..));
    let name = |field: &Arc<arrow_schema::Field>| {
        if is_plain(field.data_type()) { bare(field.name()).to_owned() } else { String::new() }
    };
    fields.iter().map(name).collect()
}

/// The names of `fields`, with a number behind each that stands there before.
fn numbered(fields: &Fields) -> Vec<String> {
    header::names(names(fields).iter().map(String::as_bytes))
}

/// The result of `read`; `None` if the library panics. It checks most damage, and asserts the rest: a file must not end
/// the program, and a stream is no fault of it.
pub(super) fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).ok()
}

/// True if the columns that are read are compressed in ways that are.
fn admit_compression(file: &Path, builder: &QuoteFileReader, places: &[usize]) -> Result<(), LayoutError> {
    let schema = builder.parquet_schema();
    for group in builder.metadata().row_groups() {
        for (leaf, column) in group.columns().iter().enumerate() {
            if leaf >= schema.num_columns() || !places.contains(&schema.get_column_root_idx(leaf)) {
                continue;
            }
            let how = match column.compression() {
                Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) | Compression::ZSTD(_) => {
                    continue;
                }
                Compression::BROTLI(_) => "Parquet compressed with Brotli",
                Compression::LZ4 | Compression::LZ4_RAW => "Parquet compressed with LZ4",
                Compression::LZO => "Parquet compressed with LZO",
            };
            return Err(LayoutError::Packed { file: file.to_path_buf(), how });
        }
    }
    Ok(())
}

fn take_batch<S: Sink>(
    batch: &RecordBatch,
    places: &[usize],
    sink: &mut S,
    mut refuse: impl FnMut(u64, Fault, String),
) {
    let columns: Vec<Values<'_>> = batch.columns().iter().map(Values::of).collect();
    let ReadOptions { decimal, dates, .. } = *sink.options();
    let dialect = Dialect { decimal, dates, ..Dialect::default() };
    for row in 0..batch.num_rows() {
        let cells = BatchRow { columns: &columns, places, row, dialect };
        if let Err(fault) = sink.row(&cells) {
            refuse(row as u64 + 1, fault, sink.value(&cells, fault.0));
        }
    }
}

struct BatchRow<'a> {
    columns: &'a [Values<'a>],
    /// The places in the file of the columns of the batch.
    places: &'a [usize],
    row: usize,
    dialect: Dialect,
}

impl Cells for BatchRow<'_> {
    fn cell(&self, at: usize) -> Result<Cell<'_>, Reason> {
        let column = self.places.binary_search(&at).ok().and_then(|i| self.columns.get(i));
        column.map_or(Ok(Cell::Empty), |column| column.cell(self.row))
    }

    fn dialect(&self) -> Dialect {
        self.dialect
    }
}

/// The values of a column of a batch, by their type.
pub(super) enum Values<'a> {
    Text(&'a arrow_array::StringArray),
    LargeText(&'a arrow_array::LargeStringArray),
    TextView(&'a arrow_array::StringViewArray),
    /// An index into the values of a dictionary.
    Word(&'a ArrayRef, fn(&ArrayRef, usize) -> Option<usize>, Box<Values<'a>>),
    /// No value at all.
    Nothing,
    Bytes(&'a arrow_array::BinaryArray),
    Double(&'a arrow_array::Float64Array),
    Single(&'a arrow_array::Float32Array),
    Whole(&'a ArrayRef, fn(&ArrayRef, usize) -> Option<i64>),
    Decimal(&'a arrow_array::Decimal128Array, f64),
    Date(&'a arrow_array::Date32Array),
    LongDate(&'a arrow_array::Date64Array),
    /// Nanoseconds since 1970, in UTC or on no zone's clock.
    Instant(&'a ArrayRef, fn(&ArrayRef, usize) -> Option<i128>, bool),
    /// A type that no column of quotes has.
    Other,
}

macro_rules! whole {
    ($type:ty) => {
        |array: &ArrayRef, row: usize| i64::try_from(array.as_primitive::<$type>().value(row)).ok()
    };
}

macro_rules! word {
    ($type:ty) => {
        |array: &ArrayRef, row: usize| {
            let words = array.as_dictionary::<$type>();
            words.keys().is_valid(row).then(|| words.keys().value(row)).and_then(|key| usize::try_from(key).ok())
        }
    };
}

macro_rules! instant {
    ($type:ty, $each:literal) => {
        |array: &ArrayRef, row: usize| i128::from(array.as_primitive::<$type>().value(row)).checked_mul($each)
    };
}

impl<'a> Values<'a> {
    /// True if a column of this type has values.
    pub(super) fn reads(kind: &DataType) -> bool {
        let none = new_empty_array(kind);
        !matches!(Values::of(&none), Values::Other)
    }

    pub(super) fn of(array: &'a ArrayRef) -> Self {
        match array.data_type() {
            DataType::Null => Self::Nothing,
            DataType::Utf8 => Self::Text(array.as_string()),
            DataType::LargeUtf8 => Self::LargeText(array.as_string()),
            DataType::Utf8View => Self::TextView(array.as_string_view()),
            DataType::Dictionary(keys, _) => {
                let read: fn(&ArrayRef, usize) -> Option<usize> = match **keys {
                    DataType::Int8 => word!(Int8Type),
                    DataType::Int16 => word!(Int16Type),
                    DataType::Int32 => word!(Int32Type),
                    DataType::Int64 => word!(Int64Type),
                    DataType::UInt8 => word!(UInt8Type),
                    DataType::UInt16 => word!(UInt16Type),
                    DataType::UInt32 => word!(UInt32Type),
                    DataType::UInt64 => word!(UInt64Type),
                    _ => return Self::Other,
                };
                Self::Word(array, read, Box::new(Self::of(array.as_any_dictionary().values())))
            }
            DataType::Binary => Self::Bytes(array.as_binary()),
            DataType::Float64 => Self::Double(array.as_primitive::<Float64Type>()),
            DataType::Float32 => Self::Single(array.as_primitive::<Float32Type>()),
            DataType::Int8 => Self::Whole(array, whole!(Int8Type)),
            DataType::Int16 => Self::Whole(array, whole!(Int16Type)),
            DataType::Int32 => Self::Whole(array, whole!(Int32Type)),
            DataType::Int64 => Self::Whole(array, whole!(Int64Type)),
            DataType::UInt8 => Self::Whole(array, whole!(UInt8Type)),
            DataType::UInt16 => Self::Whole(array, whole!(UInt16Type)),
            DataType::UInt32 => Self::Whole(array, whole!(UInt32Type)),
            DataType::UInt64 => Self::Whole(array, whole!(UInt64Type)),
            DataType::Decimal128(_, scale) => {
                Self::Decimal(array.as_primitive::<Decimal128Type>(), 10f64.powi(i32::from(*scale)))
            }
            DataType::Date32 => Self::Date(array.as_primitive::<Date32Type>()),
            DataType::Date64 => Self::LongDate(array.as_primitive::<Date64Type>()),
            DataType::Timestamp(unit, zone) => {
                let read: fn(&ArrayRef, usize) -> Option<i128> = match unit {
                    TimeUnit::Second => instant!(TimestampSecondType, 1_000_000_000),
                    TimeUnit::Millisecond => instant!(TimestampMillisecondType, 1_000_000),
                    TimeUnit::Microsecond => instant!(TimestampMicrosecondType, 1000),
                    TimeUnit::Nanosecond => instant!(TimestampNanosecondType, 1),
                };
                Self::Instant(array, read, zone.is_some())
            }
            _ => Self::Other,
        }
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Text(array) => array.is_null(row),
            Self::LargeText(array) => array.is_null(row),
            Self::TextView(array) => array.is_null(row),
            Self::Word(array, ..) => array.is_null(row),
            Self::Nothing => true,
            Self::Bytes(array) => array.is_null(row),
            Self::Double(array) => array.is_null(row) || array.value(row).is_nan(),
            Self::Single(array) => array.is_null(row) || array.value(row).is_nan(),
            Self::Decimal(array, _) => array.is_null(row),
            Self::Date(array) => array.is_null(row),
            Self::LongDate(array) => array.is_null(row),
            Self::Whole(array, _) | Self::Instant(array, ..) => array.is_null(row),
            Self::Other => false,
        }
    }

    pub(super) fn cell(&self, row: usize) -> Result<Cell<'_>, Reason> {
        if self.is_null(row) {
            return Ok(Cell::Empty);
        }
        match self {
            Self::Text(array) => Cell::of_text(array.value(row).as_bytes()),
            Self::LargeText(array) => Cell::of_text(array.value(row).as_bytes()),
            Self::TextView(array) => Cell::of_text(array.value(row).as_bytes()),
            Self::Word(array, read, words) => {
                read(array, row).map_or(Err(Reason::Malformed), |place| words.cell(place))
            }
            Self::Nothing => Ok(Cell::Empty),
            Self::Bytes(array) => Cell::of_text(array.value(row)),
            Self::Double(array) => Ok(Cell::Number(array.value(row))),
            // the number that was meant: 105.1 and not the nearest one of 24 bits
            Self::Single(array) => {
                array.value(row).to_string().parse().map(Cell::Number).map_err(|_| Reason::NotANumber)
            }
            Self::Whole(array, read) => read(array, row).map(Cell::Whole).ok_or(Reason::OutOfRange),
            Self::Decimal(array, unit) => Ok(Cell::Number(array.value(row) as f64 / unit)),
            Self::Date(array) => date_of_epoch_day(array.value(row).into()).map(Cell::Date).ok_or(Reason::NotADate),
            Self::LongDate(array) => {
                let days = i32::try_from(array.value(row).div_euclid(86_400_000)).map_err(|_| Reason::NotADate)?;
                date_of_epoch_day(days.into()).map(Cell::Date).ok_or(Reason::NotADate)
            }
            Self::Instant(array, read, is_utc) => {
                let ts = read(array, row).and_then(|nanos| Timestamp::from_nanosecond(nanos).ok());
                let ts = ts.ok_or(Reason::NotATime)?;
                Ok(if *is_utc { Cell::Time(ts) } else { Cell::Civil(TimeZone::UTC.to_datetime(ts)) })
            }
            Self::Other => Err(Reason::NotAWord),
        }
    }
}
