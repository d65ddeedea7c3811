//! Computes a table of quotes to a table of Greeks: a job of `history` with input and output in memory. Never: a
//! formula.

use crate::arguments::{self, as_keyword};
use crate::errors::{InputError, JobError};
use crate::frame::Frame;
use crate::refused::RefusedRow;
use crate::work::{WorkWatch, watched};
use history::gather::FileRead;
use history::job::{HistoryJob, JobOutcome};
use history::layouts::{columns_read, read_table, table_text};
use history::plan::OutputLayout;
use history::reference::{RecordedReference, ReferenceSet};
use history::reference_documents::{ReferenceDocument, ReferenceDocuments};
use history::row::HistoryRow;
use history::tables::MemoryForm;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use kernel::records::QuoteRecord;
use kernel::report::Report;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tools::batch::{read_options, recipe, threads};

/// Name of the table of quotes in errors and refused rows; no symbol has these characters.
const QUOTES: &str = "<quotes>";

/// A table or a file of reference data.
#[derive(FromPyObject)]
enum GivenReference<'py> {
    Table(PyRef<'py, Frame>),
    File(PathBuf),
}

/// Counts of quotes of poor quality, for warnings to the caller.
#[derive(Default)]
struct Quoted {
    /// For each expiry at each time, by strike: true for call and put if quoted on both sides.
    expiries: HashMap<(Timestamp, Symbol, Date), HashMap<u32, [bool; 2]>>,
    crossed: u64,
    one_sided: u64,
}

impl Quoted {
    fn note(&mut self, quote: &QuoteRecord) {
        let (has_bid, has_ask) = (quote.bid > 0.0, quote.ask > 0.0);
        let is_crossed = has_bid && has_ask && quote.bid > quote.ask;
        self.crossed += u64::from(is_crossed);
        self.one_sided += u64::from(has_bid != has_ask);
        let contract = quote.contract;
        let strikes = self.expiries.entry((quote.ts, contract.root, contract.expiry)).or_default();
        strikes.entry(contract.strike_milli).or_default()[contract.right as usize] |= has_bid && has_ask && !is_crossed;
    }

    /// Number of expiries without a strike whose call and put are both quoted on both sides.
    fn without_pair(&self) -> u64 {
        let has_pair = |strikes: &HashMap<u32, [bool; 2]>| strikes.values().any(|sides| sides == &[true, true]);
        self.expiries.values().filter(|strikes| !has_pair(strikes)).count() as u64
    }
}

/// Arguments of `greeks` besides the quotes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct GreeksArguments<'py> {
    dividends: Vec<GivenReference<'py>>,
    rates: Vec<GivenReference<'py>>,
    zero_rates: bool,
    calendar: Vec<GivenReference<'py>>,
    deliverables: Vec<GivenReference<'py>>,
    overrides: Vec<GivenReference<'py>>,
    events: Vec<GivenReference<'py>>,
    /// Time of the quotes: RFC 3339, or Eastern time without an offset.
    at: Option<String>,
    /// Options of `greeksd batch`.
    options: Vec<OsString>,
    /// Folder for data that do not fit into memory.
    work: PathBuf,
}

/// Result of `greeks`.
#[derive(IntoPyObject)]
pub(crate) struct GreeksDone {
    frame: Frame,
    refused: Vec<RefusedRow>,
    /// Day, underlying, name of the reason, and the reason.
    failed: Vec<(String, String, String, String)>,
    /// Day, source, and the date of the curve.
    rates: Vec<(String, String, Option<String>)>,
    counts: HashMap<&'static str, u64>,
    layout: &'static str,
}

/// Computes the Greeks of a table of quotes.
#[pyfunction]
pub(crate) fn greeks(
    py: Python<'_>,
    quotes: &Frame,
    arguments: GreeksArguments<'_>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<GreeksDone> {
    let args = arguments::batch(arguments.options.clone())?;
    let documents = arguments.documents()?;
    let read = py.detach(|| documents.read()).map_err(InputError::new_err)?;
    let reference = ReferenceSet::new(&read.records);
    let mut options =
        read_options(&args, reference.calendar()).map_err(|error| InputError::new_err(as_keyword(&error)))?;
    let calendar = reference.calendar();
    let eastern = |text: &str| text.parse().map(|at: DateTime| calendar.instant(at));
    let instant = |text: &str| text.parse::<Timestamp>().or_else(|_| eastern(text));
    let at = arguments.at.as_deref().map(instant).transpose();
    options.time = at.map_err(|error| InputError::new_err(format!("at: {error}")))?.or(options.time);
    let (refused, stopped_by) = (Mutex::new(Vec::new()), Mutex::new(None));
    let quoted = Mutex::new(Quoted::default());
    let read_quotes = |_: &Path, take: &mut dyn FnMut(HistoryRow)| {
        let mut batches = quotes.batches.iter().cloned();
        let mut refuse = |row, place: &kernel::error::Refused| {
            refused.lock().unwrap_or_else(PoisonError::into_inner).push(RefusedRow::of_cell(row, place));
        };
        let mut take = |row: HistoryRow| {
            quoted.lock().unwrap_or_else(PoisonError::into_inner).note(&row.quote);
            take(row);
        };
        match read_table(Path::new(QUOTES), &quotes.schema, &mut batches, &options, &mut take, &mut refuse) {
            Ok(read) => FileRead { layout: read.layout, reference: read.reference, report: read.report, refused: None },
            Err(error) => {
                let text = error.to_string();
                *stopped_by.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.clone());
                let (report, reference) = (Report::default(), RecordedReference::default());
                FileRead { layout: "", reference, report, refused: Some(text) }
            }
        }
    };
    let (recipe, watch) = (recipe(&args), WorkWatch::default());
    let form = MemoryForm::new(recipe);
    let inputs = [PathBuf::from(QUOTES)];
    let job = HistoryJob {
        inputs: &inputs,
        rates_from: &args.rates_from,
        out: &arguments.work,
        reference: &reference,
        recipe,
        layout: OutputLayout::Day,
        form: &form,
        threads: threads(&args),
        allows_partial: args.allow_partial,
        read: &read_quotes,
        watch: &watch,
    };
    let outcome = watched(py, &watch, progress.as_ref(), || history::job::run(&job))?;
    let outcome = outcome.map_err(|error| JobError::new_err(error.to_string()))?;
    if let Some(text) = stopped_by.into_inner().unwrap_or_else(PoisonError::into_inner) {
        // in Python the option `--time` is the keyword `at`
        return Err(InputError::new_err(as_keyword(&text.replace("--time", "--at"))));
    }
    let (schema, batches) = py.detach(|| form.into_batches()).map_err(|error| JobError::new_err(error.to_string()))?;
    let mut refused = refused.into_inner().unwrap_or_else(PoisonError::into_inner);
    refused.extend(read.places.iter().map(RefusedRow::of_document));
    refused.extend(RefusedRow::counted(QUOTES, &outcome.counts.refused));
    let quoted = quoted.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(done(Frame { schema, batches }, refused, &outcome, &quoted))
}

/// The names of the columns that are read, among `names`, with the options of `greeksd batch`; `has_time`: the time of
/// the quotes is given.
#[pyfunction]
pub(crate) fn quote_columns(names: Vec<String>, options: Vec<OsString>, has_time: bool) -> PyResult<Vec<String>> {
    let args = arguments::batch(options)?;
    let read = read_options(&args, &Calendar::embedded());
    let mut options = read.map_err(|error| InputError::new_err(as_keyword(&error)))?;
    options.time = options.time.or(has_time.then_some(Timestamp::UNIX_EPOCH));
    Ok(columns_read(&names, &options).into_iter().map(|at| names[at].clone()).collect())
}

fn done(frame: Frame, refused: Vec<RefusedRow>, outcome: &JobOutcome, quoted: &Quoted) -> GreeksDone {
    let counts = &outcome.counts;
    let failure = |unit: &history::tally::UnitFailure| {
        let (day, name) = (unit.day.to_string(), unit.underlying.as_str().to_owned());
        (day, name, unit.fault.name().to_owned(), unit.fault.to_string())
    };
    let rates = outcome.rates.iter().map(|(day, origin)| {
        (day.to_string(), origin.source.name().to_owned(), origin.as_of.map(|date| date.to_string()))
    });
    GreeksDone {
        frame,
        refused,
        failed: outcome.failed.iter().map(failure).collect(),
        rates: rates.collect(),
        counts: HashMap::from([
            ("rows", outcome.rows),
            ("duplicates", outcome.duplicates),
            ("snapshots", counts.snapshots),
            ("contracts", counts.contracts),
            ("priced", counts.priced),
            ("expiries", quoted.expiries.len() as u64),
            ("expiries_without_pair", quoted.without_pair()),
            ("crossed", quoted.crossed),
            ("one_sided", quoted.one_sided),
        ]),
        layout: outcome.inputs.first().map_or("", |input| input.read.layout),
    }
}

impl GreeksArguments<'_> {
    fn documents(&self) -> PyResult<ReferenceDocuments> {
        Ok(ReferenceDocuments {
            dividends: documents("<dividends>", &self.dividends)?,
            rates: documents("<rates>", &self.rates)?,
            zero_rates: self.zero_rates,
            days: documents("<calendar>", &self.calendar)?,
            deliverables: documents("<deliverables>", &self.deliverables)?,
            overrides: documents("<overrides>", &self.overrides)?,
            events: documents("<events>", &self.events)?,
        })
    }
}

fn documents(name: &str, given: &[GivenReference<'_>]) -> PyResult<Vec<ReferenceDocument>> {
    let document = |given: &GivenReference<'_>| match given {
        GivenReference::File(path) => Ok(ReferenceDocument::File(path.clone())),
        GivenReference::Table(frame) => {
            let text = table_text(&frame.schema, &frame.batches);
            let text = text.map_err(|error| InputError::new_err(format!("{name}: {error}")))?;
            Ok(ReferenceDocument::Text(PathBuf::from(name), text))
        }
    };
    given.iter().map(document).collect()
}
