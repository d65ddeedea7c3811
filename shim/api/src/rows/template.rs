//! A row with open slots: the text that is constant over one (root, expiry), and between it the cells that differ by
//! row.
//!
//! It is compiled once per answer from the layer's table and the format's frame ([`builder`]), and bound to one slice
//! after another. Binding rewrites only the text of the slice: names, expiry, the head of the OSI symbol, forward,
//! rates. A row then costs one copy of text and one number per cell that differs by row; the numbers of [`BLOCK`]
//! consecutive rows are made side by side. Never: a format's or a vendor's name.

pub mod builder;
mod slice_text;

use super::clock::{Stamp, put_time};
use super::frame::Frame;
use super::identity::osi_letter;
use super::layout::{AnswerLayout, Per};
use super::number::{BLOCK, Print, TextBlock, osi_digits, put_as, put_milli};
use super::source::{Derived, DerivedInputs, is_in_the_money};
use engine::exercise::ADVICE;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use engine::store::drop_reason::DropReason;
use engine::store::quotes::{ChainQuotes, QuoteNumber};
use jiff::tz::TimeZone;
use kernel::contract::{Right, strike_of};
use slice_text::Piece;
use std::ops::Range;

/// Text up to this length is copied with one fixed-size store.
const SHORT: usize = 16;

/// A row with open slots.
#[derive(Debug)]
pub struct Template {
    frame: &'static Frame,
    shows_quotes: bool,
    /// Columns that no pass computes are among those shown.
    has_late: bool,
    /// Text that is the same in every row of the answer, then, from `n_fixed` on, the text of the current slice.
    text: Vec<u8>,
    n_fixed: usize,
    slots: Vec<Slot>,
    /// Pieces of the texts before slots that differ by slice.
    pieces: Vec<Piece>,
    of_slice: Vec<SliceSlot>,
    /// Maximum bytes of one row, without the text of a slice.
    row_max: usize,
    fixed_max: usize,
    /// Zone of times that differ by row.
    zone: TimeZone,
    /// Underlying price of the current slice.
    und_price: f64,
    /// Numbers of the current block of rows, by slot.
    numbers: Vec<TextBlock>,
}

/// A slot whose preceding text differs by slice, and the pieces of that text.
#[derive(Clone, Debug)]
struct SliceSlot {
    slot: usize,
    pieces: Range<usize>,
}

/// The text before a cell that differs by row, and the cell.
#[derive(Clone, Copy, Debug)]
struct Slot {
    before: Copied,
    value: SlotValue,
}

/// A piece of the template's text; its first bytes are copied here, so that a short one needs no second look-up.
#[derive(Clone, Copy, Debug, Default)]
struct Copied {
    head: [u8; SHORT],
    start: usize,
    len: usize,
}

impl Copied {
    /// The text from `start` on.
    fn new(text: &[u8], start: usize) -> Self {
        let piece = &text[start..];
        let mut head = [0; SHORT];
        let n_head = piece.len().min(SHORT);
        head[..n_head].copy_from_slice(&piece[..n_head]);
        Self { head, start, len: piece.len() }
    }
}

/// Maximum bytes of a reason for which a quote is not used, with quotation marks.
const DROPPED_MAX: usize = 16;

/// Content of a slot.
#[derive(Clone, Copy, Debug)]
enum SlotValue {
    Number {
        col: Col,
        factor: f64,
        print: Print,
        missing: Copied,
    },
    /// A number other than a column of the row's own contract.
    Other {
        source: NumberSource,
        factor: f64,
        print: Print,
        missing: Copied,
    },
    Strike,
    StrikeAs(Print),
    StrikeMilli,
    Right([Copied; 2]),
    /// The words of the advice on exercise, and what stands for none.
    Advice([Copied; ADVICE.len()], Copied),
    /// The words for no and yes.
    InTheMoney([Copied; 2]),
    /// The time of the contract's quote.
    QuoteTime(Stamp),
    /// Why the contract's quote is not used, between quotation marks, or the text for none.
    Dropped {
        quote: &'static str,
        none: Copied,
    },
    /// Letter and digits of an OSI symbol.
    OsiTail,
    /// If the number is missing, the text `instead` replaces everything up to the slot `then`.
    Unless {
        col: Col,
        instead: Copied,
        then: usize,
    },
    /// No cell: the end of the row, or of a part that may be left out.
    Nothing,
}

/// Source of a number other than a column of the row's own contract.
#[derive(Clone, Copy, Debug)]
enum NumberSource {
    Side(Right, Col),
    Derived(Derived),
    /// A number of the quote; in rows by strike, of the contract of this right.
    Quote(Option<Right>, QuoteNumber),
}

/// Chain rows behind one row of an answer: the contract, and in rows by strike the call and the put.
#[derive(Clone, Copy, Debug)]
pub struct RowRef {
    /// Row of the contract, for its identity and columns.
    pub own: usize,
    /// The call's row, if it is listed.
    pub call: Option<usize>,
    /// The put's row, if it is listed.
    pub put: Option<usize>,
}

/// Columns and identity of one chain, looked up once.
pub struct Cells<'a> {
    columns: [&'a [f64]; Col::ALL.len()],
    strike_milli: &'a [u32],
    right: &'a [Right],
    quotes: Option<&'a ChainQuotes>,
    dropped: &'a [Option<DropReason>],
}

impl RowRef {
    /// The row of the contract of a right, in rows by strike.
    fn of(self, right: Right) -> Option<usize> {
        if right == Right::Call { self.call } else { self.put }
    }

    /// Number of chain rows.
    #[inline]
    #[must_use]
    pub fn n_rows(self) -> u32 {
        if self.call.is_some() && self.put.is_some() { 2 } else { 1 }
    }
}

impl<'a> Cells<'a> {
    /// Looks up every column.
    #[must_use]
    pub fn of(chain: &'a Chain) -> Self {
        let columns = std::array::from_fn(|i| chain.columns.get(Col::ALL[i]));
        Self {
            columns,
            strike_milli: &chain.strike_milli,
            right: &chain.right,
            quotes: chain.quotes.as_deref(),
            dropped: &chain.dropped,
        }
    }

    /// The first rows of an answer from a run of chain rows, and their number; unused places repeat the first.
    #[must_use]
    pub fn block(&self, run: Range<u32>, per: Per) -> ([RowRef; BLOCK], usize) {
        let of = |row| match per {
            Per::Contract => RowRef { own: row as usize, call: None, put: None },
            Per::Strike => self.strike(row),
        };
        let (mut block, mut row, mut n) = ([of(run.start); BLOCK], run.start, 0);
        while n < BLOCK && row < run.end {
            block[n] = of(row);
            row += block[n].n_rows();
            n += 1;
        }
        (block, n)
    }

    /// The rows of the strike that begins at a row: the call's, or the put's where no call is listed.
    fn strike(&self, row: u32) -> RowRef {
        let own = row as usize;
        if self.right[own] == Right::Put {
            return RowRef { own, call: None, put: Some(own) };
        }
        let next = own + 1;
        let paired = self.strike_milli.get(next) == Some(&self.strike_milli[own]) && self.right[next] == Right::Put;
        RowRef { own, call: Some(own), put: paired.then_some(next) }
    }

    fn strike_of(&self, row: usize) -> f64 {
        strike_of(self.strike_milli[row])
    }

    /// The value of a number; NaN: missing.
    fn read(&self, source: NumberSource, row_ref: RowRef, und_price: f64) -> f64 {
        match source {
            NumberSource::Side(right, col) => row_ref.of(right).map_or(f64::NAN, |row| self.columns[col as usize][row]),
            NumberSource::Quote(side, number) => {
                let row = side.map_or(Some(row_ref.own), |right| row_ref.of(right));
                row.zip(self.quotes).map_or(f64::NAN, |(row, quotes)| quotes.get(row, number))
            }
            NumberSource::Derived(derived) => {
                let (strike, right) = (self.strike_of(row_ref.own), self.right[row_ref.own]);
                derived.of(&DerivedInputs {
                    strike,
                    right,
                    theo: self.columns[Col::SvcTheo as usize][row_ref.own],
                    und_price,
                })
            }
        }
    }
}

impl Template {
    /// Maximum bytes of one row.
    #[must_use]
    pub fn row_max(&self) -> usize {
        self.row_max
    }

    /// True if it shows columns that no pass computes.
    #[must_use]
    pub fn has_late(&self) -> bool {
        self.has_late
    }

    /// True if it was compiled for chains with quotes.
    #[must_use]
    pub fn shows_quotes(&self) -> bool {
        self.shows_quotes
    }

    /// Writes the text of a slice.
    pub fn bind(&mut self, layout: &AnswerLayout, chain: &Chain, slice: &Slice) {
        self.text.truncate(self.n_fixed);
        self.und_price = slice.und_price;
        self.row_max = self.fixed_max;
        for SliceSlot { slot, pieces } in &self.of_slice {
            let start = self.text.len();
            slice_text::push(&mut self.text, &self.pieces[pieces.clone()], self.frame, layout, chain, slice);
            let before = Copied::new(&self.text, start);
            self.row_max += before.len.max(SHORT);
            self.slots[*slot].before = before;
        }
    }

    /// Makes the numbers of a block of rows, for [`Self::put_row_of_block`].
    pub fn fill_block(&mut self, cells: &Cells<'_>, rows: &[RowRef; BLOCK]) {
        for (slot, texts) in self.slots.iter().zip(&mut self.numbers) {
            match slot.value {
                SlotValue::Number { col, factor, print, .. } => {
                    let column = cells.columns[col as usize];
                    texts.fill(print, &rows.map(|row| column[row.own] * factor));
                }
                SlotValue::Other { source, factor, print, .. } => {
                    texts.fill(print, &rows.map(|row| cells.read(source, row, self.und_price) * factor));
                }
                _ => {}
            }
        }
    }

    /// Writes one row at `buf[at..]` and returns its end. The buffer needs room for [`Self::row_max`] bytes.
    #[inline]
    #[must_use]
    pub fn put_row(&self, cells: &Cells<'_>, row_ref: RowRef, buf: &mut [u8], at: usize) -> usize {
        self.put(cells, row_ref, buf, at, |_, _, _| None)
    }

    /// Writes row `k` of the block that was filled last, as [`Self::put_row`].
    #[inline]
    #[must_use]
    pub fn put_row_of_block(&self, cells: &Cells<'_>, row_ref: RowRef, k: usize, buf: &mut [u8], at: usize) -> usize {
        self.put(cells, row_ref, buf, at, |slot, buf, at| self.numbers[slot].put(k, buf, at))
    }

    /// Writes one row; `made` writes the number of a slot if it is in a filled block.
    #[inline(always)]
    fn put(
        &self,
        cells: &Cells<'_>,
        row_ref: RowRef,
        buf: &mut [u8],
        mut at: usize,
        made: impl Fn(usize, &mut [u8], usize) -> Option<usize>,
    ) -> usize {
        let row = row_ref.own;
        let mut next = 0;
        while let Some(slot) = self.slots.get(next) {
            let this = next;
            next += 1;
            at = self.copy(&slot.before, buf, at);
            at = match &slot.value {
                SlotValue::Number { col, factor, print, missing } => match made(this, buf, at) {
                    Some(end) => end,
                    None => self.number(cells.columns[*col as usize][row] * factor, *print, missing, buf, at),
                },
                SlotValue::Other { source, factor, print, missing } => match made(this, buf, at) {
                    Some(end) => end,
                    None => {
                        self.number(cells.read(*source, row_ref, self.und_price) * factor, *print, missing, buf, at)
                    }
                },
                SlotValue::Strike => put_milli(buf, at, cells.strike_milli[row]),
                SlotValue::StrikeAs(print) => put_as(buf, at, cells.strike_of(row), *print),
                SlotValue::StrikeMilli => put_as(buf, at, f64::from(cells.strike_milli[row]), Print::UpTo(0)),
                SlotValue::Right(words) => self.copy(&words[cells.right[row] as usize], buf, at),
                SlotValue::Advice(words, missing) => {
                    let state = cells.columns[Col::ExerciseState as usize][row];
                    self.copy(
                        if state.is_nan() { missing } else { &words[(state as usize).min(words.len() - 1)] },
                        buf,
                        at,
                    )
                }
                SlotValue::InTheMoney(words) => {
                    let yes = is_in_the_money(cells.strike_of(row), cells.right[row], self.und_price);
                    self.copy(&words[usize::from(yes)], buf, at)
                }
                SlotValue::QuoteTime(stamp) => match cells.quotes {
                    Some(quotes) => put_time(buf, at, quotes.time(row), &self.zone, *stamp),
                    None => at,
                },
                SlotValue::Dropped { quote, none } => match cells.dropped.get(row).copied().flatten() {
                    Some(why) => [quote, why.name(), quote].into_iter().fold(at, |at, text| {
                        buf[at..at + text.len()].copy_from_slice(text.as_bytes());
                        at + text.len()
                    }),
                    None => self.copy(none, buf, at),
                },
                SlotValue::OsiTail => {
                    buf[at] = osi_letter(cells.right[row]);
                    buf[at + 1..at + 9].copy_from_slice(&osi_digits(cells.strike_milli[row]));
                    at + 9
                }
                SlotValue::Unless { col, instead, then } => {
                    if cells.columns[*col as usize][row].is_finite() {
                        at
                    } else {
                        next = *then;
                        self.copy(instead, buf, at)
                    }
                }
                SlotValue::Nothing => at,
            };
        }
        at
    }

    #[inline]
    fn number(&self, value: f64, print: Print, missing: &Copied, buf: &mut [u8], at: usize) -> usize {
        if value.is_finite() { put_as(buf, at, value, print) } else { self.copy(missing, buf, at) }
    }

    #[inline(always)]
    fn copy(&self, piece: &Copied, buf: &mut [u8], at: usize) -> usize {
        if piece.len <= SHORT {
            buf[at..at + SHORT].copy_from_slice(&piece.head);
        } else {
            buf[at..at + piece.len].copy_from_slice(&self.text[piece.start..piece.start + piece.len]);
        }
        at + piece.len
    }
}
