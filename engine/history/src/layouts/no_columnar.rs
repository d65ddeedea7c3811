//! The reader of Parquet in a build without the feature `tables`: refuses every file.

use super::refusal::LayoutError;
use super::sink::Sink;
use kernel::report::Report;
use std::fs::File;
use std::path::Path;

/// Refuses a Parquet file.
///
/// # Errors
/// Always.
pub(super) fn read<S: Sink>(file: &Path, _: File, _: &mut S, _: &mut Report) -> Result<(), LayoutError> {
    Err(LayoutError::Packed { file: file.to_path_buf(), how: "Parquet (this build lacks the feature `tables`)" })
}
