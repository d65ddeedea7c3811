//! Sinks of the rows of a table, whatever their source: quotes, or closing prices. Never: a source.

use super::cells::{Cell, Cells, Fault};
use super::columns::{Layout, Meaning};
use super::facts::{Closes, Facts};
use super::header::Plan;
use super::options::{ColumnMap, ReadOptions};
use super::recorded_lines::RecordedLines;
use super::refusal::LayoutError;
use super::responses::TABLES;
use super::rows::{Assembler, price};
use super::shown::ShownNumbers;
use super::vendors::{LAYOUTS, PRICES};
use crate::row::HistoryRow;
use kernel::contract::Symbol;
use kernel::error::Reason;
use kernel::limits;
use std::path::Path;

/// A consumer of the rows of a table.
pub(super) trait Sink {
    /// Receives the names of the columns, before any row.
    ///
    /// # Errors
    /// The sink cannot use a table with these columns.
    fn header(&mut self, file: &Path, names: &[String]) -> Result<(), LayoutError>;

    /// The places of the columns that the sink reads, ascending.
    fn places(&self) -> Vec<usize>;

    /// Receives a row.
    ///
    /// # Errors
    /// The fault of the row.
    fn row<C: Cells>(&mut self, row: &C) -> Result<(), Fault>;

    /// The user's options for the table.
    fn options(&self) -> &ReadOptions;

    /// The place of a column by its name in the layout.
    fn place_of(&self, name: &str) -> Option<usize>;

    /// The value of a row in the column of a name; empty: no value, or no such column.
    fn value<C: Cells>(&self, row: &C, name: &str) -> String {
        self.place_of(name).and_then(|at| row.cell(at).ok()).map(Cell::shown).unwrap_or_default()
    }
}

/// The layouts that a table may have.
fn layouts(facts: &Facts<'_>) -> Vec<&'static Layout> {
    LAYOUTS.into_iter().chain(TABLES).filter(|layout| facts.accepts(layout)).collect()
}

/// Meanings that a table may lack, because the user's options give them.
fn given_by(options: &ReadOptions) -> &'static [Meaning] {
    if options.time.is_some() { &[Meaning::QuoteTime, Meaning::UnixTime, Meaning::DayMillis] } else { &[] }
}

/// The places of the columns of a table that are read; none if the table has no known layout.
pub(super) fn used(names: &[String], options: &ReadOptions) -> Vec<usize> {
    let facts = Facts::new(options);
    let plan = Plan::of(Path::new(""), names, &layouts(&facts), &options.columns, given_by(options));
    plan.map(|plan| plan.without_shown().places()).unwrap_or_default()
}

/// A sink that passes quotes to a function.
pub(super) struct Quotes<'a, 'g> {
    facts: &'a Facts<'a>,
    give: &'g mut dyn FnMut(HistoryRow, &ShownNumbers),
    /// The table that is being read.
    table: Option<(Assembler<'a>, Vec<usize>)>,
    /// The layout of the first table.
    pub(super) layout: Option<&'static str>,
    /// Dividends and rates of recordings.
    pub(super) reference: RecordedLines,
}

impl<'a, 'g> Quotes<'a, 'g> {
    pub(super) fn new(facts: &'a Facts<'a>, give: &'g mut dyn FnMut(HistoryRow, &ShownNumbers)) -> Self {
        Self { facts, give, table: None, layout: None, reference: RecordedLines::default() }
    }

    /// Begins a table with the columns of `plan`.
    ///
    /// # Errors
    /// Neither a column nor the name of the file gives the underlying.
    pub(super) fn begin(&mut self, file: &Path, plan: Plan) -> Result<(), LayoutError> {
        let plan = if self.facts.reads_shown { plan } else { plan.without_shown() };
        let layout = plan.layout.name;
        let tells = [Meaning::Underlying, Meaning::Root, Meaning::Contract, Meaning::CallContract];
        let named = if tells.into_iter().any(|meaning| plan.get(meaning).is_some()) {
            None
        } else {
            let named = self.facts.underlying_of_file(file);
            Some(named.ok_or_else(|| LayoutError::NoUnderlying { file: file.to_path_buf(), layout })?)
        };
        let places = plan.places();
        self.table = Some((Assembler::new(plan, self.facts, named), places));
        self.layout.get_or_insert(layout);
        Ok(())
    }

    /// Passes on a row that comes from no table.
    pub(super) fn give(&mut self, row: HistoryRow) {
        (self.give)(row, &ShownNumbers::NONE);
    }
}

impl Sink for Quotes<'_, '_> {
    fn header(&mut self, file: &Path, names: &[String]) -> Result<(), LayoutError> {
        let layouts = layouts(self.facts);
        let options = self.facts.options;
        let plan = Plan::of(file, names, &layouts, &options.columns, given_by(options)).map_err(|refused| {
            let of_prices = Plan::of(file, names, &[&PRICES], &ColumnMap::default(), &[]).is_ok();
            if of_prices { LayoutError::OfPrices { file: file.to_path_buf() } } else { refused }
        })?;
        if self.facts.reads_shown && !plan.has_shown() {
            return Err(LayoutError::NoShown { file: file.to_path_buf(), layout: plan.layout.name });
        }
        let has_time = plan.get(Meaning::QuoteTime).or(plan.get(Meaning::UnixTime)).is_some();
        if !has_time && options.time.is_none() {
            return Err(LayoutError::NoTime { file: file.to_path_buf(), layout: plan.layout.name });
        }
        self.begin(file, plan)
    }

    fn places(&self) -> Vec<usize> {
        self.table.as_ref().map(|(_, places)| places.clone()).unwrap_or_default()
    }

    fn row<C: Cells>(&mut self, row: &C) -> Result<(), Fault> {
        match &mut self.table {
            Some((assembler, _)) => assembler.take(row, self.give),
            None => Ok(()),
        }
    }

    fn options(&self) -> &ReadOptions {
        self.facts.options
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.table.as_ref().and_then(|(assembler, _)| assembler.place_of(name))
    }
}

/// A sink that passes quotes on, and refuses those that the consumer already has.
pub(super) struct UniqueQuotes<'a, 'g, 'r> {
    pub(super) quotes: Quotes<'a, 'g>,
    /// Set by the consumer if it already had the quote.
    pub(super) is_repeated: &'r std::cell::Cell<bool>,
}

impl Sink for UniqueQuotes<'_, '_, '_> {
    fn header(&mut self, file: &Path, names: &[String]) -> Result<(), LayoutError> {
        self.quotes.header(file, names)
    }

    fn places(&self) -> Vec<usize> {
        self.quotes.places()
    }

    fn row<C: Cells>(&mut self, row: &C) -> Result<(), Fault> {
        let outcome = self.quotes.row(row);
        if self.is_repeated.take() { Err((Meaning::Strike.name(), Reason::Duplicate)) } else { outcome }
    }

    fn options(&self) -> &ReadOptions {
        self.quotes.options()
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.quotes.place_of(name)
    }
}

/// A sink that keeps closing prices.
pub(super) struct Prices<'a, 'f> {
    facts: &'f Facts<'a>,
    plan: Option<Plan>,
    /// The prices kept.
    pub(super) closes: Closes,
}

impl<'a, 'f> Prices<'a, 'f> {
    pub(super) fn new(facts: &'f Facts<'a>) -> Self {
        Self { facts, plan: None, closes: Closes::new() }
    }
}

impl Sink for Prices<'_, '_> {
    fn header(&mut self, file: &Path, names: &[String]) -> Result<(), LayoutError> {
        self.plan = Some(Plan::of(file, names, &[&PRICES], &ColumnMap::default(), &[])?);
        Ok(())
    }

    fn places(&self) -> Vec<usize> {
        self.plan.as_ref().map(Plan::places).unwrap_or_default()
    }

    fn row<C: Cells>(&mut self, row: &C) -> Result<(), Fault> {
        let Some(plan) = &self.plan else { return Ok(()) };
        let cell = |meaning| plan.get(meaning).map(|found| (found.name, row.cell(found.at)));
        let (name, at) = cell(Meaning::QuoteTime).unwrap_or(("date", Err(Reason::Missing)));
        let date = at.and_then(|cell| cell.date(row.dialect())).map_err(|reason| (name, reason))?;
        let underlying = match cell(Meaning::Underlying) {
            None => None,
            Some((name, ticker)) => {
                let ticker = ticker.and_then(super::cells::Cell::text).map_err(|reason| (name, reason))?;
                let ticker = Symbol::parse_underlying(ticker);
                Some(self.facts.roots.canonical(ticker.ok_or((name, Reason::NotASymbol))?))
            }
        };
        let close = price(row, plan.get(Meaning::UndPrice))?;
        if !limits::INSTRUMENTS.holds(self.closes.len() as f64) {
            return Err((name, Reason::TooMany));
        }
        if close > 0.0 {
            self.closes.insert((underlying, date), close);
        }
        Ok(())
    }

    fn options(&self) -> &ReadOptions {
        self.facts.options
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.plan.as_ref().and_then(|plan| plan.place_of(name))
    }
}
