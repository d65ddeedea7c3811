//! A row with blanks: what is constant over one (root, expiry) as text, and between it the cells that differ by row.
//!
//! Compiled once per slice from the layer's table and the format's frame. Everything constant in a slice (keys, names,
//! expiry, the head of the OSI symbol, forward and rates) melts into the text between two cells, so a row costs one copy
//! and one number per cell that really differs. Never: a format's or a vendor's name.

use super::field::{Cell, Field, Missing, Source, Text};
use super::frame::Frame;
use super::identity::{osi_letter, push_date, push_osi_head};
use super::number::{NUMBER_MAX, Print, osi_digits, put_as, put_milli};
use engine::contract::{Right, Settle, Style};
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;

/// Text up to this length is copied with one fixed-size store.
const SHORT: usize = 16;

/// A row with blanks. Reused from slice to slice.
#[derive(Debug, Default)]
pub struct Template {
    text: Vec<u8>,
    blanks: Vec<Blank>,
    /// Where the text before the next blank starts.
    mark: usize,
    row_max: usize,
}

/// The text before a cell that differs by row, and the cell.
#[derive(Clone, Copy, Debug)]
struct Blank {
    before: Copied,
    filled: Filled,
}

/// A piece of the template's text; its first bytes stand here, so that a short one needs no second look-up.
#[derive(Clone, Copy, Debug)]
struct Copied {
    head: [u8; SHORT],
    start: usize,
    len: usize,
}

/// What fills a blank.
#[derive(Clone, Copy, Debug)]
enum Filled {
    Number {
        col: Col,
        factor: f64,
        print: Print,
        missing: Copied,
    },
    Strike,
    Right([Copied; 2]),
    /// Letter and digits of an OSI symbol.
    OsiTail,
    /// Nothing: the end of the row.
    End,
}

/// The columns of one chain, looked up once, and its identity rows.
pub struct Cells<'a> {
    columns: [&'a [f64]; Col::ALL.len()],
    strike_milli: &'a [u32],
    right: &'a [Right],
}

impl<'a> Cells<'a> {
    /// Looks up every column.
    #[must_use]
    pub fn of(chain: &'a Chain) -> Self {
        let columns = std::array::from_fn(|i| chain.columns.get(Col::ALL[i]));
        Self { columns, strike_milli: &chain.strike_milli, right: &chain.right }
    }
}

impl Template {
    /// Compiles the row of one slice.
    pub fn compile(&mut self, fields: &[Field], frame: &Frame, groups: &str, chain: &Chain, slice: &Slice) {
        self.text.clear();
        self.blanks.clear();
        self.mark = 0;
        self.row_max = 0;
        self.push(frame.row_open);
        for (i, field) in fields.iter().enumerate() {
            if i > 0 {
                self.push(frame.cell_between);
            }
            if frame.keys {
                self.push("\"");
                (frame.escape)(&mut self.text, field.name);
                self.push("\":");
            }
            self.push(if field.is_number() { frame.number_open } else { frame.text_open });
            match field.cell {
                Cell::Text(text) => self.words(text, frame, groups, chain, slice),
                Cell::Number { source, factor, print, missing } => {
                    self.number(source, factor, print, missing, frame, slice)
                }
                Cell::Strike => self.blank(Filled::Strike, SHORT),
                Cell::Verbatim("null") => self.push(frame.null),
                Cell::Verbatim(text) => self.push(text),
            }
            self.push(frame.cell_close);
        }
        self.push(frame.row_close);
        self.blank(Filled::End, 0);
    }

    /// The most bytes that one row writes.
    #[must_use]
    pub fn row_max(&self) -> usize {
        self.row_max
    }

    /// Writes one row at `buf[at..]` and gives its end. At least [`Self::row_max`] bytes must be there.
    #[inline]
    #[must_use]
    pub fn put_row(&self, cells: &Cells<'_>, row: usize, buf: &mut [u8], mut at: usize) -> usize {
        for blank in &self.blanks {
            at = self.copy(&blank.before, buf, at);
            at = match &blank.filled {
                Filled::Number { col, factor, print, missing } => {
                    let value = cells.columns[*col as usize][row] * factor;
                    if value.is_finite() { put_as(buf, at, value, *print) } else { self.copy(missing, buf, at) }
                }
                Filled::Strike => put_milli(buf, at, cells.strike_milli[row]),
                Filled::Right(words) => self.copy(&words[cells.right[row] as usize], buf, at),
                Filled::OsiTail => {
                    buf[at] = osi_letter(cells.right[row]);
                    buf[at + 1..at + 9].copy_from_slice(&osi_digits(cells.strike_milli[row]));
                    at + 9
                }
                Filled::End => at,
            };
        }
        at
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

    fn push(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    /// The text pushed since the last blank, as a piece.
    fn take(&mut self) -> Copied {
        let pushed = &self.text[self.mark..];
        let mut head = [0; SHORT];
        let n_head = pushed.len().min(SHORT);
        head[..n_head].copy_from_slice(&pushed[..n_head]);
        let piece = Copied { head, start: self.mark, len: pushed.len() };
        self.mark = self.text.len();
        piece
    }

    /// Closes the constant text so far and leaves a blank of at most `room` bytes.
    fn blank(&mut self, filled: Filled, room: usize) {
        let before = self.take();
        self.blank_after(before, filled, room);
    }

    fn blank_after(&mut self, before: Copied, filled: Filled, room: usize) {
        self.row_max += before.len.max(SHORT) + room;
        self.blanks.push(Blank { before, filled });
    }

    fn words(&mut self, text: Text, frame: &Frame, groups: &str, chain: &Chain, slice: &Slice) {
        self.push(frame.quote);
        match text {
            Text::Underlying => (frame.escape)(&mut self.text, chain.underlying.as_str()),
            Text::Root => (frame.escape)(&mut self.text, slice.root.as_str()),
            Text::Expiry => push_date(&mut self.text, slice.expiry),
            Text::Style([american, european]) => {
                self.push(if slice.style == Style::American { american } else { european })
            }
            Text::Settle([am, pm]) => self.push(if slice.settle == Settle::Am { am } else { pm }),
            Text::Groups => (frame.escape)(&mut self.text, groups),
            Text::Right(words) => {
                let before = self.take();
                let words = words.map(|word| {
                    self.push(word);
                    self.take()
                });
                let room = words.map(|word| word.len).into_iter().fold(SHORT, usize::max);
                self.blank_after(before, Filled::Right(words), room);
            }
            Text::OsiPadded | Text::OsiCompact => {
                push_osi_head(&mut self.text, slice.root, slice.expiry, matches!(text, Text::OsiPadded));
                self.blank(Filled::OsiTail, SHORT);
            }
        }
        self.push(frame.quote);
    }

    fn number(&mut self, source: Source, factor: f64, print: Print, missing: Missing, frame: &Frame, slice: &Slice) {
        let print = match (print, frame.print) {
            (Print::Words(_), _) | (_, None) => print,
            (_, Some(print)) => print,
        };
        let quote = if matches!(print, Print::Words(_)) { frame.quote } else { "" };
        self.push(quote);
        match source {
            Source::Slice(number) => {
                let value = number.of(slice) * factor;
                if value.is_finite() {
                    self.push_number(value, print)
                } else {
                    self.push_missing(missing, print, frame)
                }
            }
            Source::Own(col) => {
                let before = self.take();
                self.push_missing(missing, print, frame);
                let missing = self.take();
                self.blank_after(before, Filled::Number { col, factor, print, missing }, NUMBER_MAX.max(missing.len));
            }
        }
        self.push(quote);
    }

    fn push_number(&mut self, value: f64, print: Print) {
        let mut buf = [0; NUMBER_MAX];
        let end = put_as(&mut buf, 0, value, print);
        self.text.extend_from_slice(&buf[..end]);
    }

    fn push_missing(&mut self, missing: Missing, print: Print, frame: &Frame) {
        match missing {
            Missing::Null => self.push(frame.null),
            Missing::Zero => self.push_number(0.0, print),
            Missing::Dash => self.push("-"),
        }
    }
}
