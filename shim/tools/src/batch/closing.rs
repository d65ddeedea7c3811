//! Files of Greeks that leave the closing row of each name behind, in a folder of closes. Never: a format of Greeks.

use crate::closes::ClosesFolder;
use engine::closes::ClosingRow;
use engine::store::chain::Chain;
use history::output::{FileAbout, FileForm, GreeksWriter};
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// A form of files, and the folder that closing rows of its chains are added to.
pub(super) struct ClosingForm {
    form: Box<dyn FileForm>,
    closes: Arc<ClosingRows>,
}

/// A folder of closes that several files are written to at once.
struct ClosingRows {
    folder: Mutex<ClosesFolder>,
    calendar: Calendar,
}

impl ClosingForm {
    pub(super) fn new(form: Box<dyn FileForm>, folder: ClosesFolder, calendar: Calendar) -> Self {
        Self { form, closes: Arc::new(ClosingRows { folder: Mutex::new(folder), calendar }) }
    }
}

impl FileForm for ClosingForm {
    fn extension(&self) -> &'static str {
        self.form.extension()
    }

    fn begin(&self, file: File, about: &FileAbout) -> io::Result<Box<dyn GreeksWriter>> {
        let (writer, closes) = (self.form.begin(file, about)?, Arc::clone(&self.closes));
        Ok(Box::new(ClosingWriter { writer, closes, days: BTreeMap::new() }))
    }
}

struct ClosingWriter {
    writer: Box<dyn GreeksWriter>,
    closes: Arc<ClosingRows>,
    /// The last closing row of each name, by day.
    days: BTreeMap<Date, BTreeMap<Symbol, ClosingRow>>,
}

impl GreeksWriter for ClosingWriter {
    fn chain(&mut self, chain: &Arc<Chain>) -> io::Result<()> {
        if let Some(row) = ClosingRow::of(chain, &self.closes.calendar) {
            self.days.entry(row.close.day).or_default().insert(row.underlying, row);
        }
        self.writer.chain(chain)
    }

    /// Adds the rows before the file gets its name: a job that is killed between the two computes the file again.
    fn finish(self: Box<Self>) -> io::Result<File> {
        let Self { writer, closes, days } = *self;
        let folder = closes.folder.lock().unwrap_or_else(PoisonError::into_inner);
        for (day, rows) in days {
            let rows: Vec<ClosingRow> = rows.into_values().collect();
            folder.add(day, &rows, Date::MAX)?;
        }
        writer.finish()
    }
}
