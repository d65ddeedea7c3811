//! Files of Greeks: what writes them, and how they appear whole or not at all. Never: a computation.

use engine::store::chain::Chain;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A form that Greeks are written in.
pub trait FileForm: Sync {
    /// What the names of such files end in.
    fn extension(&self) -> &'static str;

    /// Begins a file; `about` is for a form that has a place for it.
    ///
    /// # Errors
    /// It cannot be written.
    fn begin(&self, file: File, about: &FileAbout) -> io::Result<Box<dyn GreeksWriter>>;
}

/// What a file says of the data that it was computed from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileAbout {
    /// What was known beside the quotes of each name
    /// ([`REFERENCE_DIGESTS`](crate::reference_digest::REFERENCE_DIGESTS)).
    pub known: String,
    /// The source of the discount curve and its date ([`RATES`](crate::reference_digest::RATES)).
    pub rates: String,
}

/// One file of Greeks in the making.
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

/// A file that is written elsewhere first: it appears under its name when it is whole and on the disk.
pub struct UnfinishedFile {
    writer: Box<dyn GreeksWriter>,
    unfinished: PathBuf,
    path: PathBuf,
}

impl UnfinishedFile {
    /// A file that will be `path` and is `unfinished`, on the same disk, until then; `about` as [`FileForm::begin`]
    /// takes it.
    ///
    /// # Errors
    /// It cannot be created.
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

    /// Puts the file in its place; how long it is.
    ///
    /// # Errors
    /// It cannot be written, or not put there.
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

    /// Takes away what was written.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn discard(self) -> io::Result<()> {
        drop(self.writer);
        fs::remove_file(self.unfinished)
    }
}

/// Makes the names in a folder outlive a loss of power, where folders can be synced.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
