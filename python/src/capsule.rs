//! Streams of Arrow to and from Python, by PyCapsules: the only file with foreign pointers. Never: a value.
#![allow(unsafe_code, reason = "the interface of Arrow for C is made of pointers")]

use crate::errors::InputError;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// Reads the whole stream of an object that has `__arrow_c_stream__`.
pub(crate) fn read(name: &str, source: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let refused = |why: String| InputError::new_err(format!("{name}: {why}"));
    let object = source.call_method0("__arrow_c_stream__")?;
    let capsule = object.cast::<PyCapsule>().map_err(|_| refused("__arrow_c_stream__ gave no capsule".to_owned()))?;
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: a capsule of this name holds such a stream (Arrow's PyCapsule interface), which is moved out of it once:
    // the capsule is left with a released one. It is alive here.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast::<FFI_ArrowArrayStream>()) };
    let read = move || {
        let reader = RecordBatchStreamReader::try_new(stream)?;
        let schema = reader.schema();
        let batches = reader.map(|batch| {
            let batch = batch?;
            // the data may come from a file with unchecked offsets, so they are validated before anything is read
            batch.columns().iter().try_for_each(|column| column.to_data().validate_full())?;
            Ok(batch)
        });
        batches.collect::<Result<Vec<_>, ArrowError>>().map(|batches| (schema, batches))
    };
    // the stream may be Python code, which takes the interpreter's lock itself; the library panics where a column is
    // not as long as its batch, or its name is not text
    let read = source.py().detach(|| catch_unwind(AssertUnwindSafe(read)));
    let read = read.map_err(|_| {
        refused(
            "columns of unequal length, names that are not UTF-8, or arrays that do not fit their schema".to_owned(),
        )
    })?;
    read.map_err(|error| refused(error.to_string()))
}

/// A capsule with a stream of batches.
pub(crate) fn stream<'py>(
    py: Python<'py>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}

/// A capsule with a schema.
pub(crate) fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| InputError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}
