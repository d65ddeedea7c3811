//! The output file: after an error the previous file stays. Never: a row.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file that is written under another name and replaces the previous one when it is whole. A pipe or a device is
/// written to directly.
#[derive(Debug)]
pub(super) struct OutputFile {
    file: File,
    /// Temporary and final path; an unfinished file is removed.
    beside: Option<(PathBuf, PathBuf)>,
}

impl OutputFile {
    /// Opens the output at `path`.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let there = fs::metadata(path).ok();
        if there.as_ref().is_some_and(|facts| !facts.is_file()) {
            return Ok(Self { file: File::options().write(true).open(path)?, beside: None });
        }
        // a link stays a link, and a file keeps its permissions
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
        name.push(format!(".{}.unfinished", std::process::id()));
        let unfinished = path.with_file_name(name);
        let output = Self { file: File::create(&unfinished)?, beside: Some((unfinished, path)) };
        if let Some(facts) = there {
            // renaming would replace a file that must not be written to
            if facts.permissions().readonly() {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            output.file.set_permissions(facts.permissions())?;
        }
        Ok(output)
    }

    /// The file to write to.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Renames the file to its final path.
    pub(super) fn finish(mut self) -> io::Result<()> {
        match self.beside.take() {
            Some((unfinished, path)) => fs::rename(&unfinished, path).inspect_err(|_| _ = fs::remove_file(&unfinished)),
            None => Ok(()),
        }
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some((unfinished, _)) = &self.beside {
            let _ = fs::remove_file(unfinished);
        }
    }
}

/// True if two paths lead to one file.
pub(super) fn are_same(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(a), Ok(b)) = (fs::metadata(a), fs::metadata(b)) {
        use std::os::unix::fs::MetadataExt;
        return a.is_file() && a.dev() == b.dev() && a.ino() == b.ino();
    }
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
