//! Makes a table from columns that Python holds: numbers and instants as bytes, words as texts. Never: a type of a
//! library.

use crate::errors::InputError;
use crate::frame::Frame;
use arrow_array::{
    ArrayRef, Date32Array, Float64Array, Int64Array, NullArray, RecordBatch, StringArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use arrow_schema::{Field, Schema};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

/// NumPy's missing instant (`NaT`).
const NOT_A_TIME: i64 = i64::MIN;

/// A column that Python holds.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct GivenColumn {
    name: String,
    /// `f8`, `i8`, `day` (days since 1970), `s`, `ms`, `us`, `ns`, `text`, or `none` if the values are not used.
    kind: String,
    /// Values of 8 bytes in native byte order.
    data: Option<Vec<u8>>,
    texts: Option<Vec<Option<String>>>,
    /// A byte for each value of `i8`: 1 if the value is missing.
    missing: Option<Vec<u8>>,
    /// True if instants are in UTC; false if they have no zone.
    is_utc: bool,
    /// Number of values of a column of kind `none`.
    rows: usize,
    /// `unit` and `meaning`, if they are known.
    facts: HashMap<String, String>,
}

/// Makes a table of columns; `name` is its name in errors.
#[pyfunction]
pub(crate) fn frame_of_columns(name: &str, columns: Vec<GivenColumn>) -> PyResult<Frame> {
    let refused = |why: String| InputError::new_err(format!("{name}: {why}"));
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    let mut rows = None;
    for column in columns {
        let array = array(&column).ok_or_else(|| refused(format!("{}: unknown kind {}", column.name, column.kind)))?;
        let expected = *rows.get_or_insert(array.len());
        if array.len() != expected {
            return Err(refused(format!(
                "{} has {} rows, and the columns before {expected}",
                column.name,
                array.len()
            )));
        }
        fields.push(Field::new(column.name, array.data_type().clone(), true).with_metadata(column.facts));
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batches = if arrays.is_empty() {
        Vec::new()
    } else {
        vec![RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(|error| refused(error.to_string()))?]
    };
    Ok(Frame { schema, batches })
}

fn array(column: &GivenColumn) -> Option<ArrayRef> {
    let data = column.data.as_deref().unwrap_or_default();
    let eights = || data.as_chunks::<8>().0.iter();
    let counts = || eights().map(|bytes| Some(i64::from_ne_bytes(*bytes)).filter(|&n| n != NOT_A_TIME));
    let zone = column.is_utc.then_some("UTC");
    Some(match column.kind.as_str() {
        "f8" => Arc::new(Float64Array::from_iter_values(eights().map(|bytes| f64::from_ne_bytes(*bytes)))),
        "i8" => {
            let missing = column.missing.as_deref().unwrap_or_default();
            let values = eights().enumerate().map(|(row, bytes)| {
                Some(i64::from_ne_bytes(*bytes)).filter(|_| missing.get(row).is_none_or(|&gone| gone == 0))
            });
            Arc::new(Int64Array::from_iter(values))
        }
        "day" => Arc::new(Date32Array::from_iter(counts().map(|n| n.and_then(|n| i32::try_from(n).ok())))),
        "s" => Arc::new(TimestampSecondArray::from_iter(counts()).with_timezone_opt(zone)),
        "ms" => Arc::new(TimestampMillisecondArray::from_iter(counts()).with_timezone_opt(zone)),
        "us" => Arc::new(TimestampMicrosecondArray::from_iter(counts()).with_timezone_opt(zone)),
        "ns" => Arc::new(TimestampNanosecondArray::from_iter(counts()).with_timezone_opt(zone)),
        "none" => Arc::new(NullArray::new(column.rows)),
        "text" => Arc::new(StringArray::from_iter(column.texts.as_deref().unwrap_or_default())),
        _ => return None,
    })
}
