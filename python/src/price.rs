//! Prices a table of contracts with explicit parameters to a table with all values. Never: a formula.

use crate::errors::InputError;
use crate::frame::Frame;
use crate::refused::RefusedRow;
use crate::work::{WorkWatch, watched};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use engine::explicit::{ExplicitValues, ParameterCell, ParameterColumns};
use history::layouts::TableCells;
use history::schema::unit_text;
use history::watch::{JobPhase, JobWatch};
use kernel::quality::Quality;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Name of the table in errors.
const CONTRACTS: &str = "<contracts>";
/// Number of rows that a thread takes at once.
const AT_ONCE: usize = 256;
const SHARE: &str = "currency per share";

type RowOutcome = Result<ExplicitValues, String>;

/// Doubtful numbers by row, from 0: probably in another unit.
type Doubts = BTreeMap<u64, String>;

/// Result of `price`.
#[derive(IntoPyObject)]
pub(crate) struct PriceDone {
    frame: Frame,
    refused: Vec<RefusedRow>,
    /// Doubtful numbers by row.
    doubts: Doubts,
}

/// The names of the columns that are read, among `names`.
#[pyfunction]
pub(crate) fn contract_columns(names: Vec<String>) -> Vec<String> {
    let place = |name: &str| names.iter().position(|own| own.trim().eq_ignore_ascii_case(name));
    let columns = ParameterColumns::new(place);
    columns.map(|columns| columns.inputs().iter().map(|&(_, at)| names[at].clone()).collect()).unwrap_or_default()
}

/// Prices contracts with explicit parameters.
#[pyfunction]
pub(crate) fn price(
    py: Python<'_>,
    contracts: &Frame,
    accurate: bool,
    threads: usize,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<PriceDone> {
    let quality = if accurate { Quality::Reference } else { Quality::Full };
    let names: Vec<&str> = contracts.schema.fields().iter().map(|field| field.name().trim()).collect();
    let place = |name: &str| names.iter().position(|own| own.eq_ignore_ascii_case(name));
    let columns = ParameterColumns::new(place).map_err(|why| InputError::new_err(format!("{CONTRACTS}: {why}")))?;
    let watch = WorkWatch::default();
    watch.begin(JobPhase::Computing, contracts.rows() as u64);
    let doubts = Mutex::new(Doubts::new());
    let work = || -> Result<(Frame, Vec<RefusedRow>), ArrowError> {
        let schema = Arc::new(schema(&columns, &contracts.schema));
        let (mut batches, mut refused, mut before) = (Vec::new(), Vec::new(), 0);
        for batch in &contracts.batches {
            let outcomes = outcomes(&columns, batch, quality, threads, &watch, |row, doubt| {
                doubts.lock().unwrap_or_else(PoisonError::into_inner).entry(before + row as u64).or_insert(doubt);
            });
            if watch.is_stopped() {
                break;
            }
            for (row, outcome) in (before..).zip(&outcomes) {
                if let Err(why) = outcome {
                    refused.push(RefusedRow::of_table(CONTRACTS, row, why));
                }
            }
            before += batch.num_rows() as u64;
            batches.push(table(&columns, &schema, batch, &outcomes)?);
        }
        Ok((Frame { schema, batches }, refused))
    };
    let (frame, refused) = watched(py, &watch, progress.as_ref(), work)?
        .map_err(|error| InputError::new_err(format!("{CONTRACTS}: {error}")))?;
    Ok(PriceDone { frame, refused, doubts: doubts.into_inner().unwrap_or_else(PoisonError::into_inner) })
}

/// Columns of the result: the given parameters, and the values with their units.
fn schema(columns: &ParameterColumns, given: &Schema) -> Schema {
    let input = |&(name, at): &(&'static str, usize)| {
        Field::new(name, given.field(at).data_type().clone(), true).with_metadata(facts(input_unit(name), ""))
    };
    let number = |name: &str, facts| Field::new(name, DataType::Float64, true).with_metadata(facts);
    let implied = columns.is_implied().then(|| number("iv", facts(VOLATILITY, "implied volatility")));
    let values = columns.values().map(|column| match column.col {
        Some(col) => number(column.name, facts(unit_text(col), col.meaning())),
        None => number(column.name, facts(SHARE, "forward")),
    });
    let error = Field::new("error", DataType::Utf8, true).with_metadata(facts("", "why a row has no value"));
    Schema::new(columns.inputs().iter().map(input).chain(implied).chain(values).chain([error]).collect::<Vec<_>>())
}

const VOLATILITY: &str = "per square root of a year, decimal";

fn input_unit(name: &str) -> &'static str {
    match name {
        "s" | "k" | "price" => SHARE,
        "t_years" => "years of 365 days",
        "r" | "b" => "per year, decimal, continuously compounded",
        "sigma" => VOLATILITY,
        "divs" => "t:amount;t:amount, years and currency per share",
        _ => "",
    }
}

fn facts(unit: &str, meaning: &str) -> HashMap<String, String> {
    let facts = [("unit", unit), ("meaning", meaning)].into_iter().filter(|(_, text)| !text.is_empty());
    facts.map(|(key, text)| (key.to_owned(), text.to_owned())).collect()
}

/// Prices the rows of a batch on `threads` threads.
fn outcomes(
    columns: &ParameterColumns,
    batch: &RecordBatch,
    quality: Quality,
    threads: usize,
    watch: &WorkWatch,
    doubt: impl Fn(usize, String) + Sync,
) -> Vec<RowOutcome> {
    let (rows, next) = (batch.num_rows(), AtomicUsize::new(0));
    let done: Mutex<Vec<(usize, Vec<RowOutcome>)>> = Mutex::default();
    let worker = || {
        let cells = TableCells::of(batch);
        loop {
            let first = next.fetch_add(AT_ONCE, Ordering::Relaxed);
            if first >= rows || watch.is_stopped() {
                return;
            }
            let part: Vec<RowOutcome> = (first..rows.min(first + AT_ONCE))
                .map(|row| {
                    let cell = |at: usize| match cells.number(at, row) {
                        Some(x) => ParameterCell::Number(x),
                        None => ParameterCell::Text(cells.text(at, row).map_or(Cow::Borrowed("?"), Cow::Owned)),
                    };
                    let contract = columns.contract(cell);
                    contract.iter().flat_map(|contract| contract.doubts()).for_each(|why| doubt(row, why));
                    contract.and_then(|contract| columns.value(&contract, quality))
                })
                .collect();
            watch.advance(part.len() as u64, 0);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((first, part));
        }
    };
    std::thread::scope(|scope| {
        // this thread is one of them
        let others = threads.clamp(1, rows.div_ceil(AT_ONCE).max(1)) - 1;
        (0..others).for_each(|_| _ = scope.spawn(worker));
        worker();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|&(first, _)| first);
    done.into_iter().flat_map(|(_, part)| part).collect()
}

/// The rows of a batch with their values.
fn table(
    columns: &ParameterColumns,
    schema: &SchemaRef,
    given: &RecordBatch,
    outcomes: &[RowOutcome],
) -> Result<RecordBatch, ArrowError> {
    let numbers = |of: &dyn Fn(&ExplicitValues) -> f64| -> ArrayRef {
        let number = |outcome: &RowOutcome| outcome.as_ref().ok().map(of).filter(|x| x.is_finite());
        Arc::new(Float64Array::from_iter(outcomes.iter().map(number)))
    };
    let inputs = columns.inputs().iter().map(|&(_, at)| Arc::clone(given.column(at)));
    let implied = columns.is_implied().then(|| numbers(&|values| values.sigma + 0.0));
    let values = columns.values().map(|column| numbers(&|values| column.number(values)));
    let errors = StringArray::from_iter(outcomes.iter().map(|outcome| outcome.as_ref().err()));
    let error: ArrayRef = Arc::new(errors);
    let arrays = inputs.chain(implied).chain(values).chain([error]).collect();
    RecordBatch::try_new(Arc::clone(schema), arrays)
}
