//! Records into rows. Whatever order they come in, the same records make the same books: of two records of one thing
//! the later counts, and at one time a fixed rule decides. Never: a formula, a file, a clock.

use super::book::{Book, BookSlice};
use crate::rates::curve::DiscountCurves;
use jiff::{Timestamp, civil::Date};
use kernel::calendar::{Calendar, Day, VarianceClock, expirations::canonical_expiry};
use kernel::contract::{ContractKey, Deliverable, RootTable, Settle, Symbol, roots::is_flex};
use kernel::error::Reason;
use kernel::limits;
use kernel::records::{Batch, DividendCover, DividendRecord, QuoteRecord, SpotRecord, latest_at};
use kernel::records::{EventRecord, Override, OverrideRecord};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that was quoted: the books, the discount curves, and the calendar and root table that they are read by.
#[derive(Clone, Debug)]
pub struct Store {
    roots: RootTable,
    /// The calendar before a feed's own dates.
    calendar_base: Calendar,
    /// The calendar with what feeds know better.
    calendar: Calendar,
    /// Dates of sessions that feeds know better.
    days: Vec<(Date, Day)>,
    /// Events that feeds know by date.
    events: Vec<EventRecord>,
    curves: DiscountCurves,
    /// Books by underlying.
    books: Vec<Book>,
    /// The time of each book's spot.
    spot_times: BTreeMap<Symbol, Timestamp>,
    dividends: BTreeMap<Symbol, Vec<(Date, f64)>>,
    /// The names whose dividends some source covers.
    dividend_cover: DividendCover,
    /// First ex-date of a dividend that is not declared, by underlying.
    projected_from: BTreeMap<Symbol, Date>,
    /// Deliverables of adjusted roots, by root and first date, ascending.
    deliverables: BTreeMap<Symbol, Vec<(Option<Date>, Deliverable)>>,
    /// Records of a later time are refused.
    latest: Timestamp,
    /// The latest time of any quote that was taken in.
    newest: Option<Timestamp>,
    last: Option<LastPlace>,
    /// Contracts of all books; `None`: to be counted again.
    contracts: Option<usize>,
    keeps_sizes: bool,
}

/// Place of the last quote: the next one most often belongs there too.
#[derive(Clone, Copy, Debug)]
struct LastPlace {
    underlying: Symbol,
    root: Symbol,
    expiry: Date,
    book: usize,
    slice: usize,
    /// The terms of the root depend on the time of the quote.
    is_dated: bool,
}

/// Outcome of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ingested {
    /// Quotes and spots that came, but for spots that went with refused quotes.
    pub received: u64,
    /// Superseded records: the store already had a later one.
    pub superseded: u64,
    /// Refused records, by [`Reason`].
    pub refused: [u64; Reason::ALL.len()],
}

/// Records of batches that the store admitted, each under the underlying that it is filed under.
#[derive(Clone, Debug, Default)]
pub struct Admitted {
    /// Quotes.
    pub quotes: Vec<QuoteRecord>,
    /// Prices of underlyings.
    pub spots: Vec<SpotRecord>,
}

impl Ingested {
    fn count(&mut self, outcome: Result<bool, Reason>) {
        self.received += 1;
        match outcome {
            Ok(applied) => self.superseded += u64::from(!applied),
            Err(reason) => self.refused[reason as usize] += 1,
        }
    }
}

impl Store {
    /// An empty store.
    #[must_use]
    pub fn new(roots: RootTable, calendar: Calendar) -> Self {
        Self {
            roots,
            calendar_base: calendar.clone(),
            calendar,
            days: Vec::new(),
            events: Vec::new(),
            curves: DiscountCurves::default(),
            books: Vec::new(),
            spot_times: BTreeMap::new(),
            dividends: BTreeMap::new(),
            dividend_cover: DividendCover::default(),
            projected_from: BTreeMap::new(),
            deliverables: BTreeMap::new(),
            latest: Timestamp::MAX,
            newest: None,
            last: None,
            contracts: None,
            keeps_sizes: false,
        }
    }

    /// Makes the store keep the sizes of later quotes. No value depends on them.
    pub fn keep_sizes(&mut self) {
        self.keeps_sizes = true;
    }

    /// Every book, by underlying.
    #[must_use]
    pub fn books(&self) -> &[Book] {
        &self.books
    }

    /// Mutable books, for a pass that clears stale marks.
    pub fn books_mut(&mut self) -> &mut [Book] {
        // the caller may drop slices, and the place of the last quote with them
        self.last = None;
        self.contracts = None;
        &mut self.books
    }

    /// Marks the slices of some underlyings as changed, or as read.
    pub fn mark(&mut self, names: &[Symbol], stale: bool) {
        for name in names {
            if let Ok(i) = self.books.binary_search_by_key(name, |book| book.underlying) {
                self.books[i].mark(stale);
            }
        }
    }

    /// The book of an underlying.
    #[must_use]
    pub fn book(&self, underlying: Symbol) -> Option<&Book> {
        let i = self.books.binary_search_by_key(&underlying, |b| b.underlying).ok()?;
        Some(&self.books[i])
    }

    /// The latest time of any quote that was taken in, which one wrong time stamp can move.
    #[must_use]
    pub fn newest(&self) -> Option<Timestamp> {
        self.newest
    }

    /// The discount curves.
    #[must_use]
    pub fn curves(&self) -> &DiscountCurves {
        &self.curves
    }

    /// The first ex-date of an underlying whose dividend is projected and not declared; `None`: all are declared.
    #[must_use]
    pub fn projected_from(&self, underlying: Symbol) -> Option<Date> {
        self.projected_from.get(&self.roots.canonical(underlying)).copied()
    }

    /// The calendar, a feed's own dates included.
    #[must_use]
    pub fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    /// The root table.
    #[must_use]
    pub fn roots(&self) -> &RootTable {
        &self.roots
    }

    /// Adds a batch received at `now`, the latest time of the caller's clocks: records more than
    /// [`limits::AHEAD_HOURS`] later are refused.
    ///
    /// A price whose name and time occur only in refused quotes of the batch is left out too.
    pub fn ingest(&mut self, batch: &Batch, now: Timestamp) -> Ingested {
        self.ingest_with_admitted(batch, now, None)
    }

    /// [`Self::ingest`], which also adds the admitted records to `admitted`.
    ///
    /// # Domain   any batch; what cannot be used is counted
    pub fn ingest_with_admitted(
        &mut self,
        batch: &Batch,
        now: Timestamp,
        mut admitted: Option<&mut Admitted>,
    ) -> Ingested {
        self.latest = latest_at(now);
        if let Some(days) = &batch.days {
            self.days.clone_from(days);
        }
        if let Some(events) = &batch.events {
            self.events.clone_from(events);
        }
        if batch.days.is_some() || batch.events.is_some() {
            self.set_calendar();
        }
        let before = self.forget(&batch.reset);
        if let Some(dividends) = &batch.dividends {
            self.set_dividends(dividends, &batch.dividend_cover);
        }
        if let Some(deliverables) = &batch.deliverables {
            self.set_deliverables(deliverables);
        }
        if let Some(rates) = &batch.rates {
            self.set_curves(DiscountCurves::new(rates));
        }
        let mut out = Ingested::default();
        let order = in_order(&batch.quotes);
        let names = order.iter().map(|&at| batch.quotes[at].underlying);
        let made = self.make_books(names.chain(batch.spots.iter().map(|spot| spot.underlying)));
        let refused = self.take_quotes(&batch.quotes, &order, &mut out, admitted.as_deref_mut());
        for spot in batch.spots.iter().filter(|spot| !refused.contains(&(spot.underlying, spot.ts))) {
            let outcome = self.spot(spot);
            out.count(outcome);
            if let (Some(admitted), Ok(true)) = (&mut admitted, outcome) {
                admitted.spots.push(SpotRecord { underlying: self.roots.canonical(spot.underlying), ..*spot });
            }
        }
        self.drop_empty(&made);
        if batch.rates.is_none() && batch.days.is_none() && batch.events.is_none() {
            before.iter().for_each(|book| self.restore_stale_marks(book));
        }
        out
    }

    /// Adds quotes in an order of theirs ([`in_order`]). Returns the names and times of which every quote was refused.
    ///
    /// # Domain   any quotes, in any order; each is checked by [`Store::quote`]
    fn take_quotes(
        &mut self,
        quotes: &[QuoteRecord],
        order: &[usize],
        out: &mut Ingested,
        mut admitted: Option<&mut Admitted>,
    ) -> BTreeSet<(Symbol, Timestamp)> {
        let of = |quote: &QuoteRecord| (quote.underlying, quote.ts);
        let (mut refused, mut quoted) = (Vec::new(), BTreeSet::new());
        for &at in order {
            let outcome = self.add_quote(&quotes[at]);
            if let (Ok(true), Some(place)) = (outcome, &self.last) {
                let underlying = self.books[place.book].underlying;
                quoted.insert(underlying);
            }
            out.count(outcome);
            if outcome.is_err() {
                refused.push(at);
            }
            if let (Some(admitted), Ok(true), Some(place)) = (&mut admitted, outcome, &self.last) {
                admitted.quotes.push(QuoteRecord { underlying: self.books[place.book].underlying, ..quotes[at] });
            }
        }
        for book in self.books.iter_mut().filter(|book| quoted.contains(&book.underlying)) {
            book.date();
        }
        let mut lost: BTreeSet<(Symbol, Timestamp)> = refused.iter().map(|&at| of(&quotes[at])).collect();
        if !lost.is_empty() {
            refused.sort_unstable();
            let taken = quotes.iter().enumerate().filter(|(at, _)| refused.binary_search(at).is_err());
            taken.for_each(|(_, quote)| _ = lost.remove(&of(quote)));
        }
        lost
    }

    /// Adds the price of an underlying. Returns false if one of higher precedence is present.
    ///
    /// # Errors
    /// The price is out of its bound, its time lies ahead ([`Store::ingest`]), or it is of one name more than
    /// [`limits::NAMES`].
    pub fn spot(&mut self, record: &SpotRecord) -> Result<bool, Reason> {
        if !limits::SPOT.holds(record.price) {
            return Err(Reason::OutOfRange);
        }
        self.check_time(record.ts)?;
        let underlying = self.roots.canonical(record.underlying);
        let i = self.book_or_new(underlying)?;
        let book = &mut self.books[i];
        let time = self.spot_times.entry(underlying).or_insert(Timestamp::MIN);
        let later = record.precedence(&SpotRecord { ts: *time, price: book.spot, ..*record }).is_gt();
        if !book.spot.is_nan() && !later {
            return Ok(false);
        }
        *time = record.ts;
        book.spot = record.price;
        book.mark(true);
        Ok(true)
    }

    /// Adds a quote. Returns false if one of higher precedence is present ([`QuoteRecord::precedence`]).
    ///
    /// # Errors
    /// A FLEX series, a number out of its bound, a time that lies ahead ([`Store::ingest`]), or a contract that has
    /// settled by the time of the quote, or one more than there may be: of the strikes of an expiry
    /// ([`limits::STRIKES`]), of expiries of a name ([`limits::EXPIRIES`]), of contracts ([`limits::INSTRUMENTS`]), of
    /// names ([`limits::NAMES`]).
    pub fn quote(&mut self, record: &QuoteRecord) -> Result<bool, Reason> {
        let outcome = self.add_quote(record);
        if let (Ok(true), Some(place)) = (outcome, &self.last) {
            self.books[place.book].date();
        }
        outcome
    }

    /// Adds a quote as [`Self::quote`] does, without updating the time of the book.
    fn add_quote(&mut self, record: &QuoteRecord) -> Result<bool, Reason> {
        check(record)?;
        self.check_time(record.ts)?;
        let contracts = self.contracts();
        let is_full = !limits::INSTRUMENTS.holds(contracts as f64 + 1.0);
        let at = self.place(record, is_full)?;
        let book = &mut self.books[at.book];
        let slice = &mut book.slices[at.slice];
        if record.ts >= slice.settles_at {
            return Err(Reason::Expired);
        }
        let before = slice.rows();
        if is_full && slice.search(record.contract.strike_milli, record.contract.right).is_err() {
            return Err(Reason::TooMany);
        }
        let taken = slice.upsert(record, self.keeps_sizes);
        self.contracts = Some(contracts + slice.rows() - before);
        self.newest = self.newest.max(Some(record.ts));
        taken
    }

    /// Drops every contract that has settled: by `at`, or where that is `None` by the time of its own book. How many.
    pub fn expire(&mut self, at: Option<Timestamp>) -> usize {
        self.last = None;
        self.contracts = None;
        self.books.iter_mut().map(|book| book.expire(at.unwrap_or(book.ts))).sum()
    }

    /// Number of contracts in all books.
    fn contracts(&mut self) -> usize {
        *self.contracts.get_or_insert_with(|| self.books.iter().map(Book::rows).sum())
    }

    fn check_time(&self, ts: Timestamp) -> Result<(), Reason> {
        if ts > self.latest { Err(Reason::FromTheFuture) } else { Ok(()) }
    }

    /// Takes the books of names away, all at once: each book alone would move those behind it.
    fn forget(&mut self, names: &[Symbol]) -> Vec<Book> {
        if names.is_empty() {
            return Vec::new();
        }
        let names: BTreeSet<Symbol> = names.iter().map(|&name| self.roots.canonical(name)).collect();
        names.iter().for_each(|name| _ = self.spot_times.remove(name));
        self.last = None;
        self.contracts = None;
        self.books.extract_if(.., |book| names.contains(&book.underlying)).collect()
    }

    /// Restores the stale marks of slices that were read again and equal those of `before`: equal quotes have equal
    /// values.
    fn restore_stale_marks(&mut self, before: &Book) {
        let Ok(i) = self.books.binary_search_by_key(&before.underlying, |b| b.underlying) else { return };
        let book = &mut self.books[i];
        let place = |slices: &[BookSlice], of: &BookSlice| slices.binary_search_by_key(&of.order(), BookSlice::order);
        let is_here = |old: &BookSlice| place(&book.slices, old).is_ok_and(|at| book.slices[at].has_same_quotes(old));
        let same = book.spot.to_bits() == before.spot.to_bits()
            && (book.ts, &book.dividends, book.projected_from) == (before.ts, &before.dividends, before.projected_from)
            && before.slices.iter().all(is_here);
        if same {
            for slice in &mut book.slices {
                slice.stale = place(&before.slices, slice).map_or(true, |at| before.slices[at].stale);
            }
        }
    }

    fn set_calendar(&mut self) {
        let base = self.calendar_base.clone().with_overrides(self.days.iter().copied());
        self.calendar = with_events(base, &self.events, &self.roots);
        for slice in self.books.iter_mut().flat_map(|b| &mut b.slices) {
            slice.settles_at = self.calendar.settlement(slice.listed, slice.settle);
            // A date may also be the next trading day of any contract.
            slice.stale = true;
        }
    }

    fn set_curves(&mut self, curves: DiscountCurves) {
        if curves != self.curves {
            self.books.iter_mut().for_each(|book| book.mark(true));
            self.curves = curves;
        }
    }

    fn set_dividends(&mut self, records: &[DividendRecord], cover: &DividendCover) {
        self.dividends.clear();
        let listed = records.iter().map(|d| d.underlying).chain(cover.names.iter().copied());
        // a name that a source has spoken of stays covered, also when it has no dividends left
        self.dividend_cover.names.extend(listed.map(|name| self.roots.canonical(name)));
        self.projected_from.clear();
        let mut by_name: BTreeMap<Symbol, Vec<&DividendRecord>> = BTreeMap::new();
        for d in records.iter().filter(|d| d.amount > 0.0 && limits::DIVIDEND.holds(d.amount)) {
            by_name.entry(self.roots.canonical(d.underlying)).or_default().push(d);
        }
        for (name, mut dates) in by_name {
            dates.sort_by(|a, b| a.ex_date.cmp(&b.ex_date).then(b.amount.total_cmp(&a.amount)));
            // one dividend under two spellings of its name: the larger amount counts, as in one file
            dates.dedup_by_key(|d| d.ex_date);
            self.projected_from.extend(dates.iter().find(|d| d.projected).map(|d| (name, d.ex_date)));
            self.dividends.insert(name, dates.iter().map(|d| (d.ex_date, d.amount)).collect());
        }
        for book in &mut self.books {
            let dividends = self.dividends.get(&book.underlying).cloned().unwrap_or_default();
            let projected_from = self.projected_from.get(&book.underlying).copied();
            let is_known = self.dividend_cover.covers(book.underlying);
            if (&book.dividends, book.projected_from, book.dividends_known) != (&dividends, projected_from, is_known) {
                (book.dividends, book.projected_from, book.dividends_known) = (dividends, projected_from, is_known);
                book.mark(true);
            }
        }
    }

    /// Sets what contracts of adjusted roots deliver; records of anything else are left aside.
    fn set_deliverables(&mut self, records: &[OverrideRecord]) {
        self.deliverables.clear();
        for record in records {
            if let (Some(root), Override::Deliverable(terms, from)) = (record.scope.root, record.what) {
                self.deliverables.entry(root).or_default().push((from, terms));
            }
        }
        self.deliverables.values_mut().for_each(|terms| terms.sort_by_key(|(from, _)| *from));
        for slice in self.books.iter_mut().flat_map(|book| &mut book.slices).filter(|slice| slice.adjusted) {
            let now = self.deliverables.get(&slice.root).map_or(&[][..], Vec::as_slice);
            if slice.deliverables != now {
                slice.deliverables = now.to_vec();
                slice.stale = true;
            }
        }
    }

    /// The book and the slice that a quote belongs to, made where they are new.
    ///
    /// # Domain   any record; one whose expiry has settled at its own time is refused, and one of a new expiry if the
    /// store `is_full`
    fn place(&mut self, record: &QuoteRecord, is_full: bool) -> Result<LastPlace, Reason> {
        let ContractKey { root, expiry, .. } = record.contract;
        let underlying = record.underlying;
        let same = |p: &LastPlace| !p.is_dated && (p.root, p.expiry, p.underlying) == (root, expiry, underlying);
        if let Some(place) = self.last.filter(same) {
            return Ok(place);
        }
        let facts = self.roots.facts_at(root, underlying, record.ts);
        let order = (canonical_expiry(expiry), facts.settle, root);
        let (book, slice) = match self.find(facts.underlying, order) {
            Some((book, at)) => {
                let slice = &mut self.books[book].slices[at];
                if expiry < slice.listed {
                    (slice.listed, slice.stale) = (expiry, true);
                    slice.settles_at = self.calendar.settlement(expiry, slice.settle);
                }
                (book, at)
            }
            None => {
                let settles_at = self.calendar.settlement(expiry, facts.settle);
                if record.ts >= settles_at {
                    return Err(Reason::Expired);
                }
                if is_full {
                    return Err(Reason::TooMany);
                }
                let book = self.book_or_new(facts.underlying)?;
                let slices = &mut self.books[book].slices;
                if !limits::EXPIRIES.holds(slices.len() as f64 + 1.0) {
                    return Err(Reason::TooMany);
                }
                let slice = slices.partition_point(|s| s.order() < order);
                let mut new = BookSlice::new(facts, expiry, settles_at);
                new.deliverables = self.deliverables.get(&root).cloned().unwrap_or_default();
                slices.insert(slice, new);
                (book, slice)
            }
        };
        let place = LastPlace { underlying, root, expiry, book, slice, is_dated: facts.is_dated };
        self.last = Some(place);
        Ok(place)
    }

    fn find(&self, underlying: Symbol, order: (Date, Settle, Symbol)) -> Option<(usize, usize)> {
        let book = self.books.binary_search_by_key(&underlying, |b| b.underlying).ok()?;
        let slice = self.books[book].slices.binary_search_by_key(&order, BookSlice::order).ok()?;
        Some((book, slice))
    }

    fn book_or_new(&mut self, underlying: Symbol) -> Result<usize, Reason> {
        match self.books.binary_search_by_key(&underlying, |b| b.underlying) {
            Ok(i) => Ok(i),
            Err(_) if !limits::NAMES.holds(self.books.len() as f64 + 1.0) => Err(Reason::TooMany),
            Err(i) => {
                self.books.insert(i, self.new_book(underlying));
                self.last = None;
                Ok(i)
            }
        }
    }

    fn new_book(&self, underlying: Symbol) -> Book {
        let dividends = self.dividends.get(&underlying).cloned().unwrap_or_default();
        let projected_from = self.projected_from.get(&underlying).copied();
        let (spot, ts, slices) = (f64::NAN, Timestamp::MIN, Vec::new());
        let dividends_known = self.dividend_cover.covers(underlying);
        Book { underlying, spot, ts, dividends, projected_from, dividends_known, slices }
    }

    /// Makes empty books of the names that have none, as many as there may be, all at once: each book alone would move
    /// those behind it. Returns the new names.
    fn make_books(&mut self, names: impl Iterator<Item = Symbol>) -> BTreeSet<Symbol> {
        let (mut made, mut last) = (BTreeSet::new(), None);
        for name in names {
            // quotes of one name come in runs
            if last.replace(name) != Some(name) {
                let name = self.roots.canonical(name);
                if self.books.binary_search_by_key(&name, |b| b.underlying).is_err() {
                    made.insert(name);
                }
            }
        }
        let room = (limits::NAMES.most as usize).saturating_sub(self.books.len());
        let made: BTreeSet<Symbol> = made.into_iter().take(room).collect();
        if !made.is_empty() {
            let new: Vec<Book> = made.iter().map(|&name| self.new_book(name)).collect();
            self.books.extend(new);
            // two sorted runs: they are merged
            self.books.sort_by_key(|b| b.underlying);
            self.last = None;
        }
        made
    }

    /// Drops those of the made books of which every record was refused.
    fn drop_empty(&mut self, made: &BTreeSet<Symbol>) {
        if !made.is_empty() {
            let is_empty = |book: &Book| book.slices.is_empty() && book.spot.is_nan();
            self.books.retain(|book| !is_empty(book) || !made.contains(&book.underlying));
            self.last = None;
        }
    }
}

/// The calendar with these events in addition to those that it has of the market, and with the weights among them.
#[must_use]
pub fn with_events(calendar: Calendar, events: &[EventRecord], roots: &RootTable) -> Calendar {
    if events.is_empty() {
        return calendar;
    }
    let of_market = events.iter().filter_map(|event| match event {
        EventRecord::Market(event) => Some(*event),
        EventRecord::Name(..) | EventRecord::Weight(..) => None,
    });
    let of_names = events.iter().filter_map(|event| match event {
        EventRecord::Name(name, event) => Some((roots.canonical(*name), *event)),
        EventRecord::Market(_) | EventRecord::Weight(..) => None,
    });
    let weights = events.iter().fold(*calendar.variance().weights(), |weights, event| match *event {
        EventRecord::Weight(weight, value) => weights.with(weight, value),
        EventRecord::Name(..) | EventRecord::Market(_) => weights,
    });
    let market = VarianceClock::market_events().iter().copied().chain(of_market);
    calendar.with_weights(weights).with_events(market).with_known_events(of_names)
}

/// The places of quotes in the order of their rows: a row is put at the end of its slice then, not before all others.
fn in_order(quotes: &[QuoteRecord]) -> Vec<usize> {
    let key = |quote: &QuoteRecord| {
        let ContractKey { root, expiry, strike_milli, right } = quote.contract;
        (quote.underlying, expiry, root, strike_milli, right)
    };
    let mut order: Vec<usize> = (0..quotes.len()).collect();
    if !quotes.is_sorted_by_key(key) {
        order.sort_by_key(|&at| key(&quotes[at]));
    }
    order
}

/// Refuses a quote that no feed should deliver, whatever it came from.
fn check(record: &QuoteRecord) -> Result<(), Reason> {
    let is_price = |x: f64| x.is_nan() || limits::PRICE.holds(x);
    let is_strike = limits::STRIKE_MILLI.holds(f64::from(record.contract.strike_milli));
    if is_flex(record.contract.root) {
        Err(Reason::Flex)
    } else if is_strike && is_price(record.bid) && is_price(record.ask) {
        Ok(())
    } else {
        Err(Reason::OutOfRange)
    }
}

#[cfg(test)]
mod tests;
