//! Lists of available roots, expirations, strikes, days or contracts, without a quote or a Greek. Never: a vendor's
//! shape, the place of recorded days.

use crate::listing::{ListedSlice, Listing};
use crate::query::{Bounds, Rights};
use crate::refusal::Refusal;
use crate::rows::frame::{ColumnHead, Format, Heading};
use crate::rows::table::{self, Fact};
use crate::selection::is_within;
use engine::snapshot::Snapshot;
use jiff::civil::Date;
use kernel::contract::{Right, RootTable, Symbol, strike_of};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Kind of the entries of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatalogKind {
    /// Roots.
    Roots,
    /// Underlyings, with the first and the last day of each.
    Underlyings,
    /// Dates of expiry, by name.
    Expirations,
    /// Strikes, by name.
    Strikes,
    /// Days with data.
    Days,
    /// Contracts.
    Contracts,
}

/// Filter of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogQuestion {
    /// Kind of the entries.
    pub kind: CatalogKind,
    /// Underlyings (with all their roots) or roots; empty: all.
    pub names: Vec<Symbol>,
    /// Day; `None`: any.
    pub day: Option<Date>,
    /// Date of expiry; `None`: any.
    pub expiry: Option<Date>,
    /// First and last date of expiry; `None`: no bound.
    pub expiries: (Option<Date>, Option<Date>),
    /// Bounds of the strike.
    pub strike: Bounds,
    /// Calls, puts or both.
    pub rights: Rights,
    /// Maximum number of calendar days to expiry.
    pub most_days: Option<i64>,
}

impl CatalogQuestion {
    /// A filter that admits every entry of a kind.
    #[must_use]
    pub fn all(kind: CatalogKind) -> Self {
        let (strike, rights) = (Bounds::default(), Rights::Both);
        let expiries = (None, None);
        Self { kind, names: Vec::new(), day: None, expiry: None, expiries, strike, rights, most_days: None }
    }
}

/// An entry of a list; it has the values that its kind needs. Entries ascend by name, date, strike and right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CatalogEntry {
    /// The name as requested; the root if the request has no name.
    pub name: Option<Symbol>,
    /// The date of expiry, the day, or the first day of an underlying.
    pub date: Option<Date>,
    /// The last day of an underlying.
    pub last: Option<Date>,
    /// Strike, thousandths of a dollar.
    pub strike_milli: Option<u32>,
    /// Call or put.
    pub right: Option<Right>,
}

/// A list as a layer answers it.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// Filter of the entries.
    pub question: CatalogQuestion,
    /// Output format.
    pub format: Format,
    /// Shape of the list in JSON.
    pub json: CatalogJson,
    /// Columns of the list.
    pub columns: &'static [CatalogColumn],
    /// Further headers.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// Refusal instead of an empty list; `None`: the list is sent empty.
    pub when_empty: Option<Refusal>,
}

/// Shape of a list in JSON.
#[derive(Clone, Copy, Debug)]
pub enum CatalogJson {
    /// `{"symbol":[…],"strike":[…]}`.
    Columns,
    /// Arrays, or the bare values of a single column, behind a header with the names of the columns.
    Headed(fn(&str) -> String),
    /// `{"data":[{"ticker":…},…]}`.
    Records,
}

/// A column of a list.
#[derive(Clone, Copy, Debug)]
pub struct CatalogColumn {
    /// Its name.
    pub name: &'static str,
    /// True if it shows numbers.
    pub is_number: bool,
    /// Value of the column for an entry.
    pub find: fn(&CatalogEntry) -> Fact,
}

impl Catalog {
    /// Returns the body of the response.
    #[must_use]
    pub fn body(&self, entries: &BTreeSet<CatalogEntry>) -> Vec<u8> {
        let columns = self.columns.iter().map(|&CatalogColumn { name, is_number, .. }| ColumnHead { name, is_number });
        let columns: Vec<ColumnHead<'_>> = columns.collect();
        let row = |entry: &CatalogEntry| self.columns.iter().map(|column| (column.find)(entry)).collect();
        let rows: Vec<Vec<Fact>> = entries.iter().map(row).collect();
        match (self.format, self.json) {
            (Format::Json, CatalogJson::Columns) => table::write_columns(&columns, &rows),
            (Format::Json, CatalogJson::Headed(header)) => {
                let names: Vec<String> = columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
                let mut out = header(&names.join(",")).into_bytes();
                out.extend_from_slice(&table::write_arrays(&rows));
                out.push(b'}');
                out
            }
            (Format::Json, CatalogJson::Records) => {
                let records = table::write(Format::Json, &Heading::default(), &columns, &rows);
                [br#"{"data":"#.as_slice(), records.trim_ascii_end(), b"}"].concat()
            }
            (format, _) => table::write(format, &Heading::default(), &columns, &rows),
        }
    }
}

/// Lists the contracts of a snapshot that are listed on a day.
#[must_use]
pub fn of_snapshot(
    question: &CatalogQuestion,
    snapshot: &Snapshot,
    today: Date,
    roots: &RootTable,
) -> BTreeSet<CatalogEntry> {
    let mut found = CatalogSearch::new(question, roots);
    let underlyings: Vec<Symbol> = question.names.iter().map(|&name| roots.underlying_of(name)).collect();
    if question.day.is_none_or(|only| only == today) {
        let is_meant = |underlying: &Symbol| underlyings.is_empty() || underlyings.contains(underlying);
        for chain in snapshot.chains().iter().filter(|chain| is_meant(&chain.underlying)) {
            found.add(chain.underlying, today, &Listing::of_chain(chain));
        }
    }
    found.into_entries()
}

/// A search for the entries of a list, underlying by underlying.
#[derive(Debug)]
pub struct CatalogSearch<'a> {
    question: &'a CatalogQuestion,
    roots: &'a RootTable,
    entries: BTreeSet<CatalogEntry>,
    /// The first and the last day of each underlying.
    spans: BTreeMap<Symbol, (Date, Date)>,
}

impl<'a> CatalogSearch<'a> {
    /// Begins a search.
    #[must_use]
    pub fn new(question: &'a CatalogQuestion, roots: &'a RootTable) -> Self {
        Self { question, roots, entries: BTreeSet::new(), spans: BTreeMap::new() }
    }

    /// Returns the number of entries found.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.len() + self.spans.len()
    }

    /// Returns the entries found.
    #[must_use]
    pub fn into_entries(mut self) -> BTreeSet<CatalogEntry> {
        let of = |(name, (first, last))| CatalogEntry {
            name: Some(name),
            date: Some(first),
            last: Some(last),
            ..CatalogEntry::default()
        };
        self.entries.extend(self.spans.into_iter().map(of));
        self.entries
    }

    /// Adds the contracts that an underlying had on a day.
    pub fn add(&mut self, underlying: Symbol, day: Date, listing: &Listing) {
        if self.question.kind == CatalogKind::Underlyings {
            let (first, last) = self.spans.entry(underlying).or_insert((day, day));
            (*first, *last) = ((*first).min(day), (*last).max(day));
            return;
        }
        for slice in listing.slices() {
            let days = day.until(slice.expiry).map_or(i64::MAX, |span| i64::from(span.get_days()));
            let (first, last) = self.question.expiries;
            let is_meant = is_within(slice.expiry, self.question.expiry, self.question.expiry)
                && is_within(slice.expiry, first, last)
                && self.question.most_days.is_none_or(|most| days <= most);
            let names: Vec<Symbol> = if is_meant { self.named(underlying, slice.root).collect() } else { Vec::new() };
            for name in names {
                self.add_slice(name, day, slice);
            }
        }
    }

    /// Returns the requested names under which a root is listed: its underlying and its own.
    fn named(&self, underlying: Symbol, root: Symbol) -> impl Iterator<Item = Symbol> {
        let asked = &self.question.names;
        let is_it = move |name: &Symbol| *name == root || self.roots.canonical(*name) == *name && *name == underlying;
        let all = asked.is_empty().then_some(root);
        asked.iter().copied().filter(is_it).chain(all)
    }

    fn add_slice(&mut self, name: Symbol, day: Date, slice: &ListedSlice) {
        let CatalogQuestion { kind, strike, rights, .. } = *self.question;
        let is_any = strike == Bounds::default() && rights == Rights::Both;
        let of_strike = |milli: u32| strike.admit(strike_of(milli));
        let wanted = |right: Right| rights.admit(right);
        let contracts = || {
            let strikes = slice.strikes.iter().filter(|listed| of_strike(listed.milli));
            strikes.flat_map(|listed| {
                let rights = [Right::Call, Right::Put].into_iter().filter(|&right| wanted(right) && listed.has(right));
                rights.map(|right| (listed.milli, right))
            })
        };
        if !is_any && contracts().next().is_none() {
            return;
        }
        let named = CatalogEntry { name: Some(name), ..CatalogEntry::default() };
        match kind {
            CatalogKind::Roots => _ = self.entries.insert(CatalogEntry { name: Some(slice.root), ..named }),
            CatalogKind::Underlyings => {}
            CatalogKind::Expirations => _ = self.entries.insert(CatalogEntry { date: Some(slice.expiry), ..named }),
            CatalogKind::Days => {
                self.entries.insert(CatalogEntry { date: Some(day), ..CatalogEntry::default() });
            }
            CatalogKind::Strikes => {
                let strikes = contracts().map(|(milli, _)| CatalogEntry { strike_milli: Some(milli), ..named });
                self.entries.extend(strikes);
            }
            CatalogKind::Contracts => {
                let contract = |(milli, right)| CatalogEntry {
                    date: Some(slice.expiry),
                    strike_milli: Some(milli),
                    right: Some(right),
                    ..named
                };
                self.entries.extend(contracts().map(contract));
            }
        }
    }
}
