//! Rows of a valued book: their cells, and their text in pieces that all readers share. Never: a request, a value.
//!
//! A piece is a fixed number of rows of one level, so that a reader needs no state but its number. The pieces of the
//! newest book are kept, within a bound; those of an older one are written for each reader that still goes on with it.

use super::valued::{LevelSums, PositionTotal, ValuedBook, ValuedPosition};
use crate::listed::{facts_of, identity_of_share};
use api::rows::frame::Format;
use api::rows::table::{Fact, TableLines};
use api::vendors::native_positions::{COLUMNS, PositionRequest, PositionRows};
use engine::positions::PositionNumbers;
use kernel::contract::Symbol;
use kernel::position::{Instrument, PositionLine};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Rows of a piece: about 64 KB.
pub const PIECE_ROWS: usize = 128;
/// Most bytes of pieces that are kept of a book.
const TEXT_BYTES: usize = 64 << 20;
/// Most rows of positions that are sent at once.
const EVENT_ROWS: usize = 5_000;

/// Some of the positions of a book, with the sums of them.
#[derive(Debug)]
pub struct AskedRows {
    /// The places of the positions; `None`: all.
    places: Option<Vec<u32>>,
    sums: LevelSums,
    index_spot: f64,
}

impl AskedRows {
    /// Those that a request picks.
    #[must_use]
    pub fn of(book: &ValuedBook, request: &PositionRequest) -> Self {
        // a head has room for thousands of names
        let accounts: HashSet<&str> = request.accounts.iter().map(String::as_str).collect();
        let underlyings: HashSet<Symbol> = request.underlyings.iter().copied().collect();
        let is_asked = |position: &ValuedPosition| {
            (accounts.is_empty() || accounts.contains(&*book.line(position).account))
                && (underlyings.is_empty() || underlyings.contains(&position.underlying))
        };
        let asked = || (0..).zip(&book.positions).filter(|(_, position)| is_asked(position)).map(|(n, _)| n).collect();
        let is_picky = !(accounts.is_empty() && underlyings.is_empty());
        let index_spot = request.index.and_then(|index| book.spots.get(&index)).copied().unwrap_or(f64::NAN);
        let asked = Self { places: is_picky.then(asked), index_spot, ..Self::all() };
        // what is a request's own is made now, so that its bytes are known
        let own = request.levels.iter().filter(|&&level| is_picky && level != PositionRows::Contract);
        own.for_each(|&level| _ = asked.totals(book, level));
        asked
    }

    /// Bytes that are its own.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.places.as_ref().map_or(0, |places| places.capacity() * size_of::<u32>()) + self.sums.bytes()
    }

    /// All positions.
    fn all() -> Self {
        Self { places: None, sums: LevelSums::default(), index_spot: f64::NAN }
    }

    /// How many rows a level has.
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

    /// The cells of a piece of a level; none at its end.
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

    /// The text of a piece, with what stands between its rows; `None` at the end of the level.
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

/// The text of a book as far as somebody has asked for it.
#[derive(Debug)]
pub struct BookTexts {
    /// `None`: a newer book has taken its place, and nothing is kept any more.
    pieces: Mutex<Option<KeptPieces>>,
    events: [OnceLock<Arc<LevelEvent>>; 5],
}

/// Pieces by format, level and number, and their bytes.
#[derive(Debug, Default)]
struct KeptPieces {
    texts: HashMap<PieceName, Arc<[u8]>>,
    bytes: usize,
}

type PieceName = (Format, PositionRows, usize);

impl Default for BookTexts {
    fn default() -> Self {
        Self { pieces: Mutex::new(Some(KeptPieces::default())), events: Default::default() }
    }
}

impl BookTexts {
    fn piece(&self, name: PieceName, write: impl FnOnce() -> Option<Arc<[u8]>>) -> Option<Arc<[u8]>> {
        if let Some(known) = self.pieces().as_ref().and_then(|pieces| pieces.texts.get(&name)) {
            return Some(Arc::clone(known));
        }
        // two readers may write the same at once: neither waits for the other
        let new = write()?;
        if let Some(pieces) = self.pieces().as_mut().filter(|pieces| pieces.bytes + new.len() <= TEXT_BYTES)
            && pieces.texts.insert(name, Arc::clone(&new)).is_none()
        {
            pieces.bytes += new.len();
        }
        Some(new)
    }

    fn pieces(&self) -> MutexGuard<'_, Option<KeptPieces>> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of the pieces.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pieces().as_ref().map_or(0, |pieces| pieces.bytes)
    }

    /// Keeps no pieces any more.
    pub fn retire(&self) {
        *self.pieces() = None;
    }
}

/// The first rows of a level, as they are sent to streams.
#[derive(Debug)]
pub struct LevelEvent {
    /// Differs where a row does.
    pub digest: u64,
    /// `None`: it was taken away from streams that are too slow.
    text: Mutex<Option<Arc<[u8]>>>,
}

impl LevelEvent {
    /// The event of a level.
    pub fn of(book: &ValuedBook, level: PositionRows) -> &Arc<Self> {
        book.texts.events[level as usize].get_or_init(|| {
            let (asked, mut rows) = (AskedRows::all(), Vec::new());
            for piece in 0..EVENT_ROWS.div_ceil(PIECE_ROWS) {
                let most = EVENT_ROWS - piece * PIECE_ROWS;
                let Some(text) = asked.text(book, Format::Json, level, piece) else { break };
                rows.extend_from_slice(if rows.is_empty() { b"" } else { b"," });
                // a line feed would end the field
                let lines = text.split(|&byte| byte == b'\n').take(most);
                lines.for_each(|line| rows.extend_from_slice(line));
            }
            if rows.ends_with(b",") {
                rows.pop();
            }
            let mut hasher = DefaultHasher::new();
            hasher.write(&rows);
            let (snapshot, is_cut) = (book.snapshot, asked.count(book, level) > EVENT_ROWS);
            let head = format!("event: positions\ndata: {{\"snapshot\":{snapshot},\"cut\":{is_cut},\"rows\":[");
            let text = [head.as_bytes(), &rows, b"]}\n\n"].concat();
            Arc::new(Self { digest: hasher.finish(), text: Mutex::new(Some(text.into())) })
        })
    }

    /// Its text, unless it was taken away.
    #[must_use]
    pub fn text(&self) -> Option<Arc<[u8]>> {
        self.locked().clone()
    }

    /// Bytes of the text.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.locked().as_ref().map_or(0, |text| text.len())
    }

    /// Takes the text away.
    pub fn take_away(&self) {
        *self.locked() = None;
    }

    fn locked(&self) -> MutexGuard<'_, Option<Arc<[u8]>>> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
