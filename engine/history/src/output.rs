//! Writers of files of Greeks. A file appears whole or not at all. Never: a computation.

use engine::store::chain::Chain;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file format of Greeks.
pub trait FileForm: Sync {
    /// Extension of file names.
    fn extension(&self) -> &'static str;

    /// Begins a file; formats with metadata store `about`.
    ///
    /// # Errors
    /// The file cannot be written.
    fn begin(&self, file: File, about: &FileAbout) -> io::Result<Box<dyn GreeksWriter>>;

    /// True if a file is finished only after those of all earlier days.
    fn is_in_order(&self) -> bool {
        false
    }

    /// True if all that is written beside a file is there; `file` as in [`FileAbout`].
    fn has_rest(&self, _file: &str) -> bool {
        true
    }
}

/// Place and metadata of a file: the data that it was computed from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileAbout {
    /// Path in the folder of outputs, with slashes.
    pub file: String,
    /// Digests of the reference data of each name
    /// ([`REFERENCE_DIGESTS`](crate::reference_digest::REFERENCE_DIGESTS)).
    pub known: String,
    /// The source of the discount curve and its date ([`RATES`](crate::reference_digest::RATES)).
    pub rates: String,
}

/// Writer of one file of Greeks.
pub trait GreeksWriter: Send {
    /// Appends the rows of a chain.
    ///
    /// # Errors
    /// They cannot be written.
    fn chain(&mut self, chain: &Arc<Chain>) -> io::Result<()>;

    /// Ends the file, and gives it back.
    ///
    /// # Errors
    /// The rest cannot be written.
    fn finish(self: Box<Self>) -> io::Result<File>;
}

/// A file that is first written elsewhere, and appears under its name once it is whole and on the disk.
pub struct UnfinishedFile {
    writer: Box<dyn GreeksWriter>,
    unfinished: PathBuf,
    path: PathBuf,
}

impl UnfinishedFile {
    /// Begins a file at `unfinished` that [`Self::finish`] moves to `path`, on the same disk; `about` as of
    /// [`FileForm::begin`].
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(form: &dyn FileForm, about: &FileAbout, unfinished: PathBuf, path: PathBuf) -> io::Result<Self> {
        let writer = form.begin(File::create(&unfinished)?, about)?;
        Ok(Self { writer, unfinished, path })
    }

    /// Appends the rows of a chain.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn chain(&mut self, chain: &Arc<Chain>) -> io::Result<()> {
        self.writer.chain(chain)
    }

    /// Moves the file to its place. Returns its length in bytes.
    ///
    /// # Errors
    /// The file cannot be written or moved.
    pub fn finish(self) -> io::Result<u64> {
        let file = self.writer.finish()?;
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        drop(file);
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        fs::rename(&self.unfinished, &self.path)?;
        sync_folder(folder)?;
        Ok(bytes)
    }

    /// Removes the unfinished file.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn discard(self) -> io::Result<()> {
        drop(self.writer);
        fs::remove_file(self.unfinished)
    }
}

/// Syncs a folder, so that names in it survive a loss of power, on systems where that is possible.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
