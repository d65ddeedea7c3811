//! Files of Greeks that leave more of each name behind: its closing row in a folder of closes, its metrics in files of
//! their own. Never: a format of Greeks, a column.

use api::metrics::{NameDraft, NameRow, ValuationTimes};
use api::vendors::facts::FactForm;
use api::vendors::native_metrics;
use engine::closes::{Closes, ClosingRow};
use engine::store::chain::Chain;
use history::manifest::write_whole;
use history::output::{FileAbout, FileForm, GreeksWriter};
use history::plan::named;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use restart::closes::ClosesFolder;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A form of files, and what is written beside them.
pub(super) struct BesideForm {
    form: Box<dyn FileForm>,
    beside: Arc<Beside>,
}

/// Folders that several files are written to at once.
struct Beside {
    closes: Option<Mutex<GrowingCloses>>,
    metrics: Option<MetricsFolder>,
    times: ValuationTimes,
    calendar: Calendar,
    roots: RootTable,
}

/// A folder of closes, and all that it holds.
struct GrowingCloses {
    folder: ClosesFolder,
    known: Arc<Closes>,
}

/// A folder of files of metrics, and their form.
pub(super) struct MetricsFolder {
    pub(super) path: PathBuf,
    pub(super) form: FactForm,
}

impl MetricsFolder {
    /// The file of metrics beside a file of Greeks.
    fn file(&self, file: &str) -> PathBuf {
        self.path.join(named(file, "metrics"))
    }

    /// Writes a file: all of it, or none.
    fn write(&self, file: &str, rows: Vec<NameRow>, calendar: &Calendar) -> io::Result<()> {
        let (path, bytes) = (self.file(file), native_metrics::file(self.form, rows, calendar)?);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        write_whole(&path, &bytes)
    }
}

impl BesideForm {
    pub(super) fn new(
        form: Box<dyn FileForm>,
        closes: Option<ClosesFolder>,
        metrics: Option<MetricsFolder>,
        calendar: Calendar,
    ) -> Self {
        let growing = |folder: ClosesFolder| {
            // only ranks and realised volatilities look back
            let known = if metrics.is_some() { folder.closes() } else { Closes::default() };
            Mutex::new(GrowingCloses { folder, known: Arc::new(known) })
        };
        let closes = closes.map(growing);
        let (times, roots) = (ValuationTimes::default(), RootTable::embedded());
        Self { form, beside: Arc::new(Beside { closes, metrics, times, calendar, roots }) }
    }
}

impl FileForm for BesideForm {
    fn extension(&self) -> &'static str {
        self.form.extension()
    }

    fn begin(&self, file: File, about: &FileAbout) -> io::Result<Box<dyn GreeksWriter>> {
        let (writer, beside) = (self.form.begin(file, about)?, Arc::clone(&self.beside));
        let file = about.file.clone();
        Ok(Box::new(BesideWriter { writer, beside, file, days: BTreeMap::new(), drafts: Vec::new() }))
    }

    /// Metrics count the closes of earlier days.
    fn is_in_order(&self) -> bool {
        self.beside.metrics.is_some() && self.beside.closes.is_some()
    }

    fn has_rest(&self, file: &str) -> bool {
        self.beside.metrics.as_ref().is_none_or(|folder| folder.file(file).exists())
    }
}

struct BesideWriter {
    writer: Box<dyn GreeksWriter>,
    beside: Arc<Beside>,
    /// Path of the file of Greeks, in the folder of outputs.
    file: String,
    /// The last closing row of each name, by day.
    days: BTreeMap<Date, BTreeMap<Symbol, ClosingRow>>,
    /// The metrics of each chain.
    drafts: Vec<NameDraft>,
}

impl GreeksWriter for BesideWriter {
    fn chain(&mut self, chain: &Arc<Chain>) -> io::Result<()> {
        let Beside { metrics, times, calendar, roots, .. } = &*self.beside;
        let draft = metrics.as_ref().map(|_| NameDraft::new(chain, times, calendar, roots).in_full(chain, roots));
        let closing = draft.as_ref().map_or_else(|| ClosingRow::of(chain, calendar), |draft| draft.closing);
        if let Some(row) = closing {
            self.days.entry(row.close.day).or_default().insert(row.underlying, row);
        }
        self.drafts.extend(draft);
        self.writer.chain(chain)
    }

    /// Writes metrics and closing rows before the file gets its name: a job that is killed between them computes the
    /// file again.
    fn finish(self: Box<Self>) -> io::Result<File> {
        let Self { writer, beside, file, days, drafts } = *self;
        let Beside { closes, metrics, times, calendar, .. } = &*beside;
        let closes = || closes.as_ref().map(|closes| closes.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(folder) = metrics {
            let known = closes().map(|closes| Arc::clone(&closes.known)).unwrap_or_default();
            let rows = drafts.into_iter().map(|draft| draft.row(&known, times, calendar)).collect();
            folder.write(&file, rows, calendar)?;
        }
        if let Some(mut closes) = closes() {
            for (day, rows) in days {
                let rows: Vec<ClosingRow> = rows.into_values().collect();
                closes.folder.add(day, &rows, Date::MAX)?;
                if metrics.is_some() {
                    Arc::make_mut(&mut closes.known).add(&rows);
                }
            }
        }
        writer.finish()
    }
}
