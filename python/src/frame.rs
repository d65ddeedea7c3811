//! A table in memory for Python: its construction, and access to its columns. Never: a computation.

use crate::capsule;
use crate::errors::InputError;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, SchemaRef, TimeUnit};
use history::layouts::TableCells;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyCapsule, PyDict};
use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

/// An Arrow table.
#[pyclass(frozen, module = "greeksd")]
pub(crate) struct Frame {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

/// A column, from which Python builds an array.
#[derive(IntoPyObject)]
struct FrameColumn<'py> {
    /// `f8`, `i4`, `i8`, `us` (microseconds in UTC), `day`, `word` or `text`.
    kind: &'static str,
    /// Values in native byte order; for words their indices, -1 if missing.
    data: Option<Bound<'py, PyByteArray>>,
    /// A byte for each value: 1 if it is missing; `None` if no value is missing.
    missing: Option<Bound<'py, PyByteArray>>,
    /// The words of a column of words, or the texts of a column of text.
    texts: Option<Vec<Option<String>>>,
}

/// Reads an object that has `__arrow_c_stream__`; `name` is its name in errors.
#[pyfunction]
pub(crate) fn frame_of_stream(name: &str, source: &Bound<'_, PyAny>) -> PyResult<Frame> {
    capsule::read(name, source).map(|(schema, batches)| Frame { schema, batches })
}

/// Reads an Arrow IPC stream.
#[pyfunction]
pub(crate) fn frame_of_ipc(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Frame> {
    let read = py.detach(|| {
        let reader = StreamReader::try_new(Cursor::new(bytes), None)?;
        let schema = reader.schema();
        reader.collect::<Result<Vec<_>, _>>().map(|batches| Frame { schema, batches })
    });
    read.map_err(|error| InputError::new_err(format!("not a whole stream of Arrow: {error}")))
}

#[pymethods]
impl Frame {
    /// The stream of Arrow's PyCapsule interface; a requested schema is ignored.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        capsule::stream(py, self.schema.clone(), self.batches.clone())
    }

    /// The schema of Arrow's PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema(py, &self.schema)
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.rows()
    }

    /// The columns: name to `type`, `unit` and `meaning`.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        for field in self.schema.fields() {
            let facts = PyDict::new(py);
            facts.set_item("type", field.data_type().to_string())?;
            field.metadata().iter().try_for_each(|(key, value)| facts.set_item(key, value))?;
            fields.set_item(field.name(), facts)?;
        }
        Ok(fields)
    }

    /// Metadata of the table.
    fn metadata(&self) -> HashMap<String, String> {
        self.schema.metadata().into()
    }

    /// Consecutive rows of the table.
    fn rows_of(&self, first: usize, count: usize) -> Self {
        let mut skipped = 0;
        let part = |batch: &RecordBatch| {
            let from = first.saturating_sub(skipped).min(batch.num_rows());
            let until = first.saturating_add(count).saturating_sub(skipped).min(batch.num_rows());
            skipped += batch.num_rows();
            batch.slice(from, until.saturating_sub(from))
        };
        Self { schema: self.schema.clone(), batches: self.batches.iter().map(part).collect() }
    }

    /// Some columns of the table, in the order of the names.
    fn columns_of(&self, names: Vec<String>) -> PyResult<Self> {
        let place = |name: &String| self.schema.index_of(name).map_err(|_| PyKeyError::new_err(name.clone()));
        let places = names.iter().map(place).collect::<PyResult<Vec<usize>>>()?;
        let failed = |error: ArrowError| InputError::new_err(error.to_string());
        let schema = Arc::new(self.schema.project(&places).map_err(failed)?);
        let batches = self.batches.iter().map(|batch| batch.project(&places)).collect::<Result<_, _>>();
        Ok(Self { schema, batches: batches.map_err(failed)? })
    }

    /// The table as an Arrow IPC stream.
    fn ipc<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let written = py.detach(|| {
            let mut writer = StreamWriter::try_new(Vec::new(), &self.schema)?;
            self.batches.iter().try_for_each(|batch| writer.write(batch))?;
            writer.into_inner()
        });
        written.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| InputError::new_err(error.to_string()))
    }

    /// A column by its name.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let at = self.schema.index_of(name).map_err(|_| PyKeyError::new_err(name.to_owned()))?;
        self.column_at(py, at).into_pyobject(py).map(Bound::into_any)
    }
}

impl Frame {
    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn column_at<'py>(&self, py: Python<'py>, at: usize) -> FrameColumn<'py> {
        let arrays: Vec<&ArrayRef> = self.batches.iter().map(|batch| batch.column(at)).collect();
        let bytes = |bytes: Vec<u8>| Some(PyByteArray::new(py, &bytes));
        let missing = arrays.iter().any(|array| array.null_count() > 0).then(|| {
            let all = arrays.iter().flat_map(|array| (0..array.len()).map(|row| u8::from(array.is_null(row))));
            PyByteArray::new(py, &all.collect::<Vec<u8>>())
        });
        macro_rules! plain {
            ($kind:literal, $type:ty) => {
                FrameColumn {
                    kind: $kind,
                    data: bytes(of_each(&arrays, |array, out| {
                        array.as_primitive::<$type>().values().iter().for_each(|x| out.extend(x.to_ne_bytes()));
                    })),
                    missing,
                    texts: None,
                }
            };
        }
        match self.schema.field(at).data_type() {
            DataType::Float64 => plain!("f8", Float64Type),
            DataType::Int32 => plain!("i4", Int32Type),
            DataType::Int64 => plain!("i8", Int64Type),
            DataType::Date32 => plain!("day", Date32Type),
            DataType::Timestamp(unit, Some(_)) => {
                let data = bytes(of_each(&arrays, |array, out| {
                    micros(array, *unit).into_iter().for_each(|x| out.extend(x.to_ne_bytes()));
                }));
                FrameColumn { kind: "us", data, missing, texts: None }
            }
            DataType::Dictionary(keys, _) if **keys == DataType::Int32 => {
                let (places, words) = words(&arrays);
                let data = bytes(places.iter().flat_map(|place| place.to_ne_bytes()).collect());
                FrameColumn { kind: "word", data, missing: None, texts: Some(words) }
            }
            _ => {
                let text = |batch: &RecordBatch| {
                    let cells = TableCells::of(batch);
                    let text = |row| if batch.column(at).is_null(row) { None } else { cells.text(at, row) };
                    (0..batch.num_rows()).map(text).collect::<Vec<_>>()
                };
                let texts = self.batches.iter().flat_map(text).collect();
                FrameColumn { kind: "text", data: None, missing: None, texts: Some(texts) }
            }
        }
    }
}

/// Instants in microseconds, rounded down.
fn micros(array: &ArrayRef, unit: TimeUnit) -> Vec<i64> {
    let scaled = |values: &[i64], factor: i64| values.iter().map(|x| x.saturating_mul(factor)).collect();
    match unit {
        TimeUnit::Second => scaled(array.as_primitive::<TimestampSecondType>().values(), 1_000_000),
        TimeUnit::Millisecond => scaled(array.as_primitive::<TimestampMillisecondType>().values(), 1000),
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values().to_vec(),
        TimeUnit::Nanosecond => {
            array.as_primitive::<TimestampNanosecondType>().values().iter().map(|x| x.div_euclid(1000)).collect()
        }
    }
}

fn of_each(arrays: &[&ArrayRef], append: impl Fn(&ArrayRef, &mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    arrays.iter().for_each(|array| append(array, &mut out));
    out
}

/// The words of several arrays in one dictionary, and the index of each row's word.
fn words(arrays: &[&ArrayRef]) -> (Vec<i32>, Vec<Option<String>>) {
    let (mut places, mut words, mut place_by_word) = (Vec::new(), Vec::new(), HashMap::new());
    for array in arrays {
        let own = array.as_dictionary::<Int32Type>();
        let texts = own.values().as_string_opt::<i32>();
        let mut place_of = |key: usize| -> i32 {
            let Some(texts) = texts.filter(|texts| key < texts.len() && texts.is_valid(key)) else { return -1 };
            *place_by_word.entry(texts.value(key).to_owned()).or_insert_with(|| {
                words.push(Some(texts.value(key).to_owned()));
                i32::try_from(words.len() - 1).unwrap_or(-1)
            })
        };
        let own_places: Vec<i32> = (0..own.values().len()).map(&mut place_of).collect();
        places.extend((0..own.len()).map(|row| {
            let key = own.is_valid(row).then(|| own.keys().value(row)).and_then(|key| usize::try_from(key).ok());
            key.and_then(|key| own_places.get(key).copied()).unwrap_or(-1)
        }));
    }
    (places, words)
}
