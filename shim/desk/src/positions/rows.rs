//! Rows of a valued book: their cells, and their text in pieces that readers share. Never: a computation of values.
//!
//! A piece is a fixed number of rows of one level, so that the state of a reader is the number of its next piece.
//! Pieces of the newest book are cached, within a bound; pieces of an older book are written for each reader that still
//! uses it.

use super::by_level::ByLevel;
use super::texts::LevelEvent;
use super::valued::{PositionTotal, ValuedBook, ValuedPosition, bytes_of};
use crate::listed::{facts_of, identity_of_share};
use api::rows::frame::Format;
use api::rows::table::{Fact, TableLines};
use api::vendors::native_positions::{COLUMNS, PositionRequest, PositionRows};
use engine::positions::PositionNumbers;
use kernel::contract::Symbol;
use kernel::position::{Instrument, PositionLine};
use std::collections::HashSet;
use std::sync::Arc;

/// Number of rows in a piece: about 64 KB of text.
pub const PIECE_ROWS: usize = 128;
/// Maximum number of rows in an event.
const EVENT_ROWS: usize = 5_000;

/// The positions of a book that a request picks, with their sums.
#[derive(Debug)]
pub struct PickedRows {
    /// Indices of the positions; `None`: all.
    places: Option<Vec<u32>>,
    sums: ByLevel<Vec<PositionTotal>>,
    index_spot: f64,
}

impl PickedRows {
    /// The positions that a request picks.
    #[must_use]
    pub fn of(book: &ValuedBook, request: &PositionRequest) -> Self {
        let picks = picks(request);
        let is_asked = |position: &ValuedPosition| picks(book.line(position), position.underlying);
        let asked = || (0..).zip(&book.positions).filter(|(_, position)| is_asked(position)).map(|(n, _)| n).collect();
        let is_picky = !(request.accounts.is_empty() && request.underlyings.is_empty());
        let index_spot = request.index.and_then(|index| book.spots.get(&index)).copied().unwrap_or(f64::NAN);
        let asked = Self { places: is_picky.then(asked), index_spot, ..Self::all() };
        // the sums are computed now, so that their bytes are known
        let own = request.levels.iter().filter(|&&level| is_picky && level != PositionRows::Contract);
        own.for_each(|&level| _ = asked.totals(book, level));
        asked
    }

    /// Bytes of indices and sums.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.places.as_ref().map_or(0, |places| places.capacity() * size_of::<u32>()) + bytes_of(&self.sums)
    }

    /// All positions.
    fn all() -> Self {
        Self { places: None, sums: ByLevel::default(), index_spot: f64::NAN }
    }

    /// Number of rows of a level.
    fn count(&self, book: &ValuedBook, level: PositionRows) -> usize {
        match (level, &self.places) {
            (PositionRows::Contract, Some(places)) => places.len(),
            (PositionRows::Contract, None) => book.positions.len(),
            _ => self.totals(book, level).len(),
        }
    }

    fn totals<'a>(&'a self, book: &'a ValuedBook, level: PositionRows) -> &'a [PositionTotal] {
        let Some(places) = &self.places else { return book.totals(level) };
        self.sums.at(level, || book.sum(level, places.iter().map(|&place| &book.positions[place as usize])))
    }

    fn is_all(&self) -> bool {
        self.places.is_none() && self.index_spot.is_nan()
    }

    /// The cells of a piece of a level; empty after the last piece.
    #[must_use]
    pub fn piece(&self, book: &ValuedBook, level: PositionRows, piece: usize) -> Vec<Vec<Fact>> {
        let rows = (piece * PIECE_ROWS..self.count(book, level)).take(PIECE_ROWS);
        if level != PositionRows::Contract {
            let totals = self.totals(book, level);
            return rows.map(|n| total_row(level, &totals[n], self.index_spot)).collect();
        }
        let place = |n: usize| self.places.as_ref().map_or(n, |places| places[n] as usize);
        let position = |n: usize| &book.positions[place(n)];
        rows.map(position).map(|of| position_row(book.line(of), of, self.index_spot)).collect()
    }

    /// The text of a piece, with the separators between its rows; `None` after the last piece.
    #[must_use]
    pub fn text(&self, book: &ValuedBook, format: Format, level: PositionRows, piece: usize) -> Option<Arc<[u8]>> {
        let write = || {
            let (mut lines, mut out) = (TableLines::within(format), Vec::new());
            self.piece(book, level, piece).iter().for_each(|row| lines.push(COLUMNS, row, &mut out));
            (!out.is_empty()).then(|| Arc::from(out))
        };
        if self.is_all() { book.texts.piece((format, level, piece), write) } else { write() }
    }
}

/// True for the lines, with their underlyings, that a request picks.
pub(crate) fn picks(request: &PositionRequest) -> impl Fn(&PositionLine, Symbol) -> bool + '_ {
    // a request may name thousands of accounts and underlyings
    let accounts: HashSet<&str> = request.accounts.iter().map(String::as_str).collect();
    let underlyings: HashSet<Symbol> = request.underlyings.iter().copied().collect();
    move |line, underlying| {
        (accounts.is_empty() || accounts.contains(&*line.account))
            && (underlyings.is_empty() || underlyings.contains(&underlying))
    }
}

/// The event with the first rows of a level of a book, for streams.
pub fn event_of(book: &ValuedBook, level: PositionRows) -> &Arc<LevelEvent> {
    book.texts.events.at(level, || written_event(book, level))
}

/// Makes the sums and events that readers asked of the book before: a thread of HTTP would let others wait while it
/// sums 100,000 lines. Returns the events.
pub fn make_as(book: &ValuedBook, before: &ValuedBook) -> impl Iterator<Item = Arc<LevelEvent>> {
    book.sums.make_as(&before.sums, |level| book.sum(level, book.positions.iter()));
    book.texts.events.make_as(&before.texts.events, |level| written_event(book, level));
    book.texts.events.made().map(Arc::clone)
}

fn written_event(book: &ValuedBook, level: PositionRows) -> Arc<LevelEvent> {
    let (asked, mut rows) = (PickedRows::all(), Vec::new());
    for piece in 0..EVENT_ROWS.div_ceil(PIECE_ROWS) {
        let most = EVENT_ROWS - piece * PIECE_ROWS;
        let Some(text) = asked.text(book, Format::Json, level, piece) else { break };
        rows.extend_from_slice(if rows.is_empty() { b"" } else { b"," });
        // a line feed would end the field of the event
        let lines = text.split(|&byte| byte == b'\n').take(most);
        lines.for_each(|line| rows.extend_from_slice(line));
    }
    if rows.ends_with(b",") {
        rows.pop();
    }
    let (snapshot, is_cut) = (book.snapshot, asked.count(book, level) > EVENT_ROWS);
    LevelEvent::new(&format!("{{\"snapshot\":{snapshot},\"cut\":{is_cut},\"rows\":["), &rows)
}

fn position_row(line: &PositionLine, of: &ValuedPosition, index_spot: f64) -> Vec<Fact> {
    let mut row = vec![Fact::Word(PositionRows::Contract.name().to_owned()), Fact::Word(line.account.to_string())];
    row.extend(match line.instrument {
        Instrument::Share(_) => identity_of_share(of.underlying),
        Instrument::Contract(key) => facts_of(of.underlying, &key),
    });
    let missing = u64::from(of.unvalued.is_some());
    row.extend([Fact::Number(line.quantity), Fact::Number(line.price), Fact::Count(1), Fact::Count(missing)]);
    row.push(of.unvalued.map_or(Fact::Missing, |why| Fact::Word(why.name().to_owned())));
    row.extend([of.spot, of.unit_value, of.vol].map(Fact::Number));
    row.extend(numbers(&of.numbers, index_spot));
    row
}

fn total_row(level: PositionRows, of: &PositionTotal, index_spot: f64) -> Vec<Fact> {
    let word = |text: Option<String>| text.map_or(Fact::Missing, Fact::Word);
    let missing = || Fact::Missing;
    let mut row = vec![
        Fact::Word(level.name().to_owned()),
        word(of.account.as_ref().map(ToString::to_string)),
        word(of.underlying.map(|name| name.to_string())),
        missing(),
        word(of.expiry.map(|date| date.to_string())),
    ];
    row.extend([missing(), missing(), missing(), missing(), missing()]);
    row.extend([Fact::Count(of.positions as u64), Fact::Count(of.missing as u64)]);
    row.extend([missing(), missing(), missing(), missing()]);
    row.extend(numbers(&of.numbers, index_spot));
    row
}

fn numbers(of: &PositionNumbers, index_spot: f64) -> [Fact; 12] {
    [
        of.value,
        of.profit,
        of.session_profit,
        of.dollar_delta,
        of.gamma_1pct,
        of.vega,
        of.theta,
        of.decay,
        of.rho,
        of.epsilon,
        of.beta_delta,
        of.beta_delta / index_spot,
    ]
    .map(Fact::Number)
}
