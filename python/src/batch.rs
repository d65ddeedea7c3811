//! `greeksd batch` as a function. Never: an option.

use crate::arguments::{self, as_keyword};
use crate::errors::{InputError, JobError};
use crate::refused::RefusedRow;
use crate::work::{WorkWatch, watched};
use pyo3::prelude::*;
use std::ffi::OsString;
use tools::batch::{BatchError, execute};

/// Result of a job.
#[derive(IntoPyObject)]
pub(crate) struct BatchResult {
    /// The report as JSON.
    report: String,
    refused: Vec<RefusedRow>,
    notes: Vec<String>,
}

/// Computes days of recorded quotes; `options` are the arguments of `greeksd batch`.
#[pyfunction]
pub(crate) fn batch(
    py: Python<'_>,
    options: Vec<OsString>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<BatchResult> {
    let args = arguments::batch(options)?;
    let (watch, mut notes) = (WorkWatch::default(), Vec::new());
    let begin = |noted: &[String]| {
        notes.extend_from_slice(noted);
        Ok(())
    };
    let done = watched(py, &watch, progress.as_ref(), || execute(&args, &watch, begin))?;
    let done = done.map_err(|error| match error {
        BatchError::Arguments(text) => InputError::new_err(as_keyword(&text)),
        BatchError::Job(error) => JobError::new_err(error.to_string()),
    })?;
    let refused = done.refused().map(RefusedRow::of_document).collect();
    Ok(BatchResult { report: done.report(), refused, notes })
}
