//! Rows of Parquet files, batch by batch; the only file that names `parquet` and `arrow`. Types come from the file's
//! own schema, not from what another library noted beside it. Never: a meaning of a column.

use super::cells::{Cell, Cells};
use super::packed::unreadable;
use super::refusal::LayoutError;
use super::sink::Sink;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
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
    let fields = builder.schema().fields().clone();
    let name = |field: &Arc<arrow_schema::Field>| {
        // a column of columns has no value
        if field.data_type().is_nested() { String::new() } else { field.name().trim().to_owned() }
    };
    sink.header(file, &fields.iter().map(name).collect::<Vec<_>>())?;
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
                take_batch(&batch, &places, sink, |line, (field, reason)| {
                    report.refuse(Refused { file: Arc::clone(&name), line: before + line, field, reason });
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

/// What a reading of bytes gives; `None` where the library gives up on them. It has bounds for most damage, and asserts
/// for the rest: a file must not end the program.
fn guarded<T>(read: impl FnOnce() -> T) -> Option<T> {
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
    mut refuse: impl FnMut(u64, (&'static str, Reason)),
) {
    let columns: Vec<Values<'_>> = batch.columns().iter().map(Values::of).collect();
    for row in 0..batch.num_rows() {
        if let Err(fault) = sink.row(&BatchRow { columns: &columns, places, row }) {
            refuse(row as u64 + 1, fault);
        }
    }
}

struct BatchRow<'a> {
    columns: &'a [Values<'a>],
    /// The places in the file of the columns of the batch.
    places: &'a [usize],
    row: usize,
}

impl Cells for BatchRow<'_> {
    fn cell(&self, at: usize) -> Result<Cell<'_>, Reason> {
        let column = self.places.binary_search(&at).ok().and_then(|i| self.columns.get(i));
        column.map_or(Ok(Cell::Empty), |column| column.cell(self.row))
    }
}

/// The values of a column of a batch, by their type.
enum Values<'a> {
    Text(&'a arrow_array::StringArray),
    Bytes(&'a arrow_array::BinaryArray),
    Double(&'a arrow_array::Float64Array),
    Single(&'a arrow_array::Float32Array),
    Whole(&'a ArrayRef, fn(&ArrayRef, usize) -> Option<i64>),
    Decimal(&'a arrow_array::Decimal128Array, f64),
    Date(&'a arrow_array::Date32Array),
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

macro_rules! instant {
    ($type:ty, $each:literal) => {
        |array: &ArrayRef, row: usize| i128::from(array.as_primitive::<$type>().value(row)).checked_mul($each)
    };
}

impl<'a> Values<'a> {
    fn of(array: &'a ArrayRef) -> Self {
        match array.data_type() {
            DataType::Utf8 => Self::Text(array.as_string()),
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
            DataType::Timestamp(unit, zone) => {
                let read: fn(&ArrayRef, usize) -> Option<i128> = match unit {
                    TimeUnit::Second => return Self::Other,
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
            Self::Bytes(array) => array.is_null(row),
            Self::Double(array) => array.is_null(row) || array.value(row).is_nan(),
            Self::Single(array) => array.is_null(row) || array.value(row).is_nan(),
            Self::Decimal(array, _) => array.is_null(row),
            Self::Date(array) => array.is_null(row),
            Self::Whole(array, _) | Self::Instant(array, ..) => array.is_null(row),
            Self::Other => false,
        }
    }

    fn cell(&self, row: usize) -> Result<Cell<'_>, Reason> {
        if self.is_null(row) {
            return Ok(Cell::Empty);
        }
        match self {
            Self::Text(array) => Cell::of_text(array.value(row).as_bytes()),
            Self::Bytes(array) => Cell::of_text(array.value(row)),
            Self::Double(array) => Ok(Cell::Number(array.value(row))),
            // the number that was meant: 105.1 and not the nearest one of 24 bits
            Self::Single(array) => {
                array.value(row).to_string().parse().map(Cell::Number).map_err(|_| Reason::NotANumber)
            }
            Self::Whole(array, read) => read(array, row).map(Cell::Whole).ok_or(Reason::OutOfRange),
            Self::Decimal(array, unit) => Ok(Cell::Number(array.value(row) as f64 / unit)),
            Self::Date(array) => date_of_epoch_day(array.value(row).into()).map(Cell::Date).ok_or(Reason::NotADate),
            Self::Instant(array, read, is_utc) => {
                let ts = read(array, row).and_then(|nanos| Timestamp::from_nanosecond(nanos).ok());
                let ts = ts.ok_or(Reason::NotATime)?;
                Ok(if *is_utc { Cell::Time(ts) } else { Cell::Civil(TimeZone::UTC.to_datetime(ts)) })
            }
            Self::Other => Err(Reason::NotAWord),
        }
    }
}
