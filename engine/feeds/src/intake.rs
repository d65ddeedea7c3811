//! Collects the data of a document: quotes, each contract once per time, prices of underlyings, and refused records
//! with their places. Never: a format.

use super::json::Listed;
use jiff::Timestamp;
use kernel::contract::ContractKey;
use kernel::contract::Symbol;
use kernel::error::{FeedError, Instead, Reason, Refused};
use kernel::limits;
use kernel::records::{Activity, Batch, QuoteRecord, SpotRecord};
use kernel::report::Report;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Fault of a record: the field and the reason.
pub(super) type Fault = (&'static str, Reason);

/// Adds the field to a fault.
pub(super) fn at<T>(field: &'static str, outcome: Result<T, Reason>) -> Result<T, Fault> {
    outcome.map_err(|reason| (field, reason))
}

/// Quotes in the order in which they came, each contract once at a time.
#[derive(Debug, Default)]
pub(super) struct Distinct {
    quotes: Vec<QuoteRecord>,
    /// The contract of the last quote, while they ascend: none of them occurs twice then.
    last: Option<(Symbol, ContractKey)>,
    /// The place of each contract and time, from the first quote on that does not ascend.
    seen: HashMap<(Symbol, ContractKey, Timestamp), usize>,
}

impl Distinct {
    /// Keeps a quote.
    ///
    /// # Errors
    /// The contract is there with the same time; the one that [`QuoteRecord::precedence`] prefers is kept.
    pub(super) fn keep(&mut self, quote: QuoteRecord) -> Result<(), Reason> {
        let contract = Some((quote.underlying, quote.contract));
        // vendors list contracts in order: while they ascend nothing can be there twice, and no map is built
        if self.seen.is_empty() && self.last < contract {
            self.last = contract;
            self.quotes.push(quote);
            return Ok(());
        }
        if self.seen.is_empty() {
            let place = |(i, q): (usize, &QuoteRecord)| ((q.underlying, q.contract, q.ts), i);
            self.seen = self.quotes.iter().enumerate().map(place).collect();
        }
        match self.seen.entry((quote.underlying, quote.contract, quote.ts)) {
            Entry::Vacant(entry) => {
                entry.insert(self.quotes.len());
                self.quotes.push(quote);
                Ok(())
            }
            Entry::Occupied(entry) => {
                let kept = &mut self.quotes[*entry.get()];
                // which of two survives depends on their values alone, never on the order of arrival
                if quote.precedence(kept).is_gt() {
                    *kept = quote;
                }
                Err(Reason::Duplicate)
            }
        }
    }

    /// Returns the kept quotes.
    pub(super) fn into_quotes(self) -> Vec<QuoteRecord> {
        self.quotes
    }
}

/// Data collected from one document.
#[derive(Debug)]
pub(super) struct Intake {
    source: Arc<PathBuf>,
    quotes: Distinct,
    spots: Vec<SpotRecord>,
    report: Report,
}

impl Intake {
    pub(super) fn new(source: &Path, report: Report) -> Self {
        let source = Arc::new(source.to_path_buf());
        Self { source, quotes: Distinct::default(), spots: Vec::new(), report }
    }

    /// Takes the outcome of one record; `place` is its line or its number, from 1.
    pub(super) fn quote(&mut self, place: usize, field: &'static str, outcome: Result<QuoteRecord, Fault>) {
        let kept = outcome.and_then(|quote| at(field, self.quotes.keep(quote)));
        self.count(place, kept);
    }

    /// Counts one record.
    pub(super) fn count(&mut self, place: usize, outcome: Result<(), Fault>) {
        self.report.records += 1;
        if let Err(fault) = outcome {
            self.refuse(place, fault);
        }
    }

    /// Keeps a quote of a record that was counted.
    pub(super) fn keep(&mut self, place: usize, field: &'static str, quote: QuoteRecord) {
        if let Err(reason) = self.quotes.keep(quote) {
            self.refuse(place, (field, reason));
        }
    }

    /// Lists contracts that have no quote, with their places, as of the latest quote that there is.
    pub(super) fn list_unquoted(
        &mut self,
        underlying: Symbol,
        field: &'static str,
        contracts: Vec<(usize, ContractKey)>,
    ) {
        // a contract without a quote has no time of its own; the page's latest one keeps it listed
        let (none, latest) = (f64::NAN, self.latest());
        for (place, contract) in contracts {
            let ts = latest.ok_or((field, Reason::NotATime));
            let quote = |ts| QuoteRecord {
                ts,
                underlying,
                contract,
                bid: none,
                ask: none,
                bid_size: none,
                ask_size: none,
                activity: Activity::default(),
            };
            self.quote(place, field, ts.map(quote));
        }
    }

    /// Takes the price of an underlying.
    pub(super) fn spot(&mut self, place: usize, outcome: Result<SpotRecord, Fault>) {
        let kept = outcome.map(|spot| self.spots.push(spot));
        self.count(place, kept);
    }

    /// Keeps prices of records that were counted.
    pub(super) fn keep_spots(&mut self, spots: impl IntoIterator<Item = SpotRecord>) {
        self.spots.extend(spots);
    }

    /// How many records were counted.
    pub(super) fn records(&self) -> u64 {
        self.report.records
    }

    fn refuse(&mut self, place: usize, fault: Fault) {
        let (field, reason) = fault;
        self.report.refuse(Refused {
            file: Arc::clone(&self.source),
            line: place as u64,
            field,
            reason,
            value: String::new(),
        });
    }

    /// Says that the document is not the data that was asked for.
    pub(super) fn say_instead(&mut self, what: Instead) {
        self.report.say_instead(&self.source, what);
    }

    /// Reports another document instead, if every record was refused as one of another underlying.
    pub(super) fn report_wrong_name(&mut self) {
        let others = self.report.refused[Reason::OtherUnderlying as usize];
        // a single stray record is refused alone; all of them mean that the wrong name was delivered
        if others > 0 && others == self.report.records {
            self.say_instead(Instead::OtherUnderlying);
        }
    }

    /// The latest time of a quote.
    fn latest(&self) -> Option<Timestamp> {
        self.quotes.quotes.iter().map(|quote| quote.ts).max()
    }

    /// True if there is no quote.
    pub(super) fn is_empty(&self) -> bool {
        self.quotes.quotes.is_empty()
    }

    /// Finishes as [`Self::finish`], with errors of the document itself.
    pub(super) fn finish_with(mut self, errors: Vec<FeedError>) -> (Batch, Report) {
        self.report.errors.extend(errors);
        self.finish()
    }

    /// A batch that adds to what is known, and the report.
    pub(super) fn finish(self) -> (Batch, Report) {
        (Batch { quotes: self.quotes.into_quotes(), spots: self.spots, ..Batch::default() }, self.report)
    }
}

/// The price of an underlying by its quote and its last trade, each `NaN` or 0 where there is none: the middle of a
/// narrow quote ([`limits::SPOT_SPREAD`]), else the trade, else the middle of any quote that is not crossed.
#[must_use]
pub fn price_of(bid: f64, ask: f64, trade: f64) -> Option<PriceFrom> {
    let two_sided = bid > 0.0 && ask >= bid;
    // written so that two large prices cannot overflow
    let middle = bid + (ask - bid) / 2.0;
    match () {
        // a wide market says less of the price than the last trade does
        () if two_sided && limits::SPOT_SPREAD.holds((ask - bid) / middle) => Some(PriceFrom::Quote(middle)),
        () if trade > 0.0 => Some(PriceFrom::Trade(trade)),
        // a wide market is still better than no price
        () if two_sided => Some(PriceFrom::Quote(middle)),
        () => None,
    }
}

/// Where the price of an underlying is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PriceFrom {
    /// The middle of bid and ask.
    Quote(f64),
    /// The last trade.
    Trade(f64),
}

impl PriceFrom {
    /// The price itself, currency per share.
    #[must_use]
    pub fn price(self) -> f64 {
        match self {
            Self::Quote(price) | Self::Trade(price) => price,
        }
    }
}

/// Makes a record of each row, or refuses the row at its place.
pub(super) fn read_listed<T, R>(
    source: &Path,
    mut report: Report,
    rows: &Listed<T>,
    mut read: impl FnMut(&T) -> Result<R, Fault>,
) -> (Vec<R>, Report) {
    if rows.cut {
        // a list that was cut off is not a shorter list: nothing of it is taken
        report.say_instead(source, Instead::TooManyRecords);
        return (Vec::new(), report);
    }
    let file = Arc::new(source.to_path_buf());
    let mut out = Vec::new();
    for (line, row) in (1..).zip(&rows.items) {
        report.records += 1;
        match read(row) {
            Ok(record) => out.push(record),
            Err((field, reason)) => {
                report.refuse(Refused { file: Arc::clone(&file), line, field, reason, value: String::new() })
            }
        }
    }
    (out, report)
}
