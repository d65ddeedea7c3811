//! Chains that a job keeps in memory instead of in files, and all of them as one table when it has ended. Never: a
//! byte of a file.

use super::arrays::ArrayForm;
use super::parquet_file::{ROW_GROUP, about};
use super::rows::{TableRows, TableSymbols};
use crate::output::{FileAbout, FileForm, GreeksWriter};
use crate::recipe::Recipe;
use crate::schema::{file_columns, file_groups};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use engine::store::chain::Chain;
use kernel::calendar::Calendar;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A table of Greeks in memory. The files of its job are empty.
#[derive(Debug)]
pub struct MemoryForm {
    recipe: Recipe,
    kept: Arc<Mutex<Vec<Arc<Chain>>>>,
}

impl MemoryForm {
    /// An empty table of a recipe.
    #[must_use]
    pub fn new(recipe: Recipe) -> Self {
        Self { recipe, kept: Arc::default() }
    }

    /// The table: its columns are those of files of the recipe, its rows stand by date, underlying and time, those of a
    /// chain in their native order.
    ///
    /// # Errors
    /// The library refuses the arrays.
    pub fn into_batches(self) -> Result<(SchemaRef, Vec<RecordBatch>), ArrowError> {
        let Self { recipe, kept } = self;
        let mut chains = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
        let calendar = Calendar::embedded();
        chains.sort_by_key(|chain| (calendar.eastern(chain.valued_at).date(), chain.underlying, chain.valued_at));
        let form = ArrayForm::new(file_columns(recipe), file_groups(recipe), &about(recipe));
        // the same words in every batch: not every reader takes others in the middle of a table
        let words = form.words(&TableSymbols::of(chains.iter().map(|chain| &**chain)));
        let mut batches = Vec::new();
        let mut rest = chains.as_slice();
        while !rest.is_empty() {
            let mut rows = 0;
            let is_within = |chain: &&Arc<Chain>| {
                let fits = rows < ROW_GROUP;
                rows += chain.rows() as usize;
                fits
            };
            let (now, later) = rest.split_at(rest.iter().take_while(is_within).count());
            let all: Vec<Range<u32>> = now.iter().map(|chain| 0..chain.rows()).collect();
            let parts = now.iter().zip(&all);
            let parts = parts.map(|(chain, all)| TableRows { chain, rows: std::slice::from_ref(all) });
            batches.push(form.batch(&words, &parts.collect::<Vec<_>>())?);
            rest = later;
        }
        Ok((form.schema(), batches))
    }
}

impl FileForm for MemoryForm {
    fn extension(&self) -> &'static str {
        "memory"
    }

    fn begin(&self, file: File, _: &FileAbout) -> io::Result<Box<dyn GreeksWriter>> {
        Ok(Box::new(MemoryWriter { file, chains: Vec::new(), kept: Arc::clone(&self.kept) }))
    }
}

/// The chains of one file; those of a file that is not finished are not kept.
struct MemoryWriter {
    file: File,
    chains: Vec<Arc<Chain>>,
    kept: Arc<Mutex<Vec<Arc<Chain>>>>,
}

impl GreeksWriter for MemoryWriter {
    fn chain(&mut self, chain: &Arc<Chain>) -> io::Result<()> {
        if chain.rows() > 0 {
            self.chains.push(Arc::clone(chain));
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<File> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.chains);
        Ok(self.file)
    }
}
