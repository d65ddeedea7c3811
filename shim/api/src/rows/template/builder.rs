//! Compiles a table of fields and a frame to a row with open slots. Never: a number of a row.

use super::slice_text::{Piece, SliceText};
use super::{Copied, DROPPED_MAX, NumberSource, SHORT, SliceSlot, Slot, SlotValue, Template};
use crate::rows::clock::{STAMP_MAX, When};
use crate::rows::field::{Cell, Field, Hidden, Missing, Nest, QuoteCell, SliceNumber, Source, Text, Unpriced};
use crate::rows::frame::Frame;
use crate::rows::layout::AnswerLayout;
use crate::rows::number::{NUMBER_MAX, Print, TextBlock, push_as};
use engine::exercise::ADVICE;
use engine::store::columns::Col;
use std::borrow::Cow;

/// A column that every contract with Greeks has.
const PRICED: Col = Col::Delta;

/// Plan of a row.
#[derive(Clone, Copy)]
pub struct RowPlan<'a> {
    /// The columns.
    pub fields: &'a [Field],
    /// Names of the columns in the format, one for each field.
    pub names: &'a [Cow<'static, str>],
    /// Layout of the answer.
    pub layout: &'a AnswerLayout,
    /// Text around cells and rows.
    pub frame: &'static Frame,
}

/// An object or array that is being compiled.
struct Level {
    keyed: bool,
    /// True if the next member is the first.
    is_first: bool,
    /// Slot that replaces the object for contracts without Greeks.
    unless: Option<usize>,
}

/// Compiles one row.
struct RowBuilder<'a> {
    to: Template,
    frame: &'static Frame,
    layout: &'a AnswerLayout,
    levels: Vec<Level>,
    /// Start of the text that belongs to no piece or slot yet.
    mark: usize,
    /// Pieces before the next slot, if its text differs by slice.
    before: Vec<Piece>,
}

impl Template {
    /// Compiles the row of an answer; `shows_quotes`: chains have quotes.
    #[must_use]
    pub fn compile(plan: &RowPlan<'_>, shows_quotes: bool) -> Self {
        let RowPlan { fields, names, layout, frame } = *plan;
        let to = Self {
            frame,
            shows_quotes,
            has_late: false,
            text: Vec::new(),
            n_fixed: 0,
            slots: Vec::new(),
            pieces: Vec::new(),
            of_slice: Vec::new(),
            row_max: 0,
            fixed_max: 0,
            zone: layout.clock.zone().clone(),
            und_price: f64::NAN,
            numbers: Vec::new(),
        };
        let row = Level { keyed: frame.keys, is_first: true, unless: None };
        let (levels, before) = (vec![row], Vec::new());
        let mut builder = RowBuilder { to, frame, layout, levels, mark: 0, before };
        builder.row(fields, names);
        let mut template = builder.to;
        template.n_fixed = template.text.len();
        template.numbers.resize_with(template.slots.len(), TextBlock::default);
        template
    }
}

impl RowBuilder<'_> {
    fn row(&mut self, fields: &[Field], names: &[Cow<'static, str>]) {
        let mut start = 0;
        self.push(self.frame.row_between);
        if let (true, Some(Field { cell: Cell::RowKey(text), .. })) = (self.frame.nested, fields.first()) {
            self.words(*text);
            self.push(":");
            start = 1;
        }
        self.push(self.frame.row_open);
        for (field, name) in fields.iter().zip(names).skip(start) {
            match field.cell {
                Cell::Open(nest) if self.frame.nested => self.open(name, nest),
                Cell::Close if self.frame.nested => self.close(),
                Cell::Open(_) | Cell::Close => {}
                _ => self.member(field, name),
            }
        }
        self.push(self.frame.row_close);
        if self.mark < self.to.text.len() || !self.before.is_empty() {
            self.slot(SlotValue::Nothing, 0);
        }
    }

    /// Adds one cell with the text before and after it.
    fn member(&mut self, field: &Field, name: &str) {
        let omitted = match field.cell {
            Cell::Number { source, missing: Missing::Omit, .. } if self.frame.nested => Some(source),
            _ => None,
        };
        let unless = match omitted {
            Some(Source::Own(col)) => Some(self.begin_replaced(col, "")),
            Some(Source::Derived(number)) if number.needs_greeks() => Some(self.begin_replaced(PRICED, "")),
            _ => None,
        };
        let left_out = match omitted {
            Some(Source::Slice(number)) => Some(self.begin_omitted(number)),
            _ => None,
        };
        self.key(name);
        self.push(if field.is_number() { self.frame.number_open } else { self.frame.text_open });
        self.cell(field.cell);
        self.push(self.frame.cell_close);
        self.end_replaced(unless);
        if let Some(at) = left_out {
            self.end_omitted(at);
        }
    }

    /// Begins a part that slices without the number leave out; it ends at [`Self::end_omitted`].
    fn begin_omitted(&mut self, number: SliceNumber) -> usize {
        self.close_piece();
        self.before.push(Piece::Unless(number, 0));
        self.before.len() - 1
    }

    fn end_omitted(&mut self, at: usize) {
        self.close_piece();
        let pieces = self.before.len() - at - 1;
        if let Piece::Unless(_, behind) = &mut self.before[at] {
            *behind = pieces;
        }
    }

    fn cell(&mut self, cell: Cell) {
        match cell {
            Cell::Text(text) | Cell::RowKey(text) => self.words(text),
            Cell::Number { source, factor, print, missing } => self.number(source, factor, print, missing),
            Cell::Strike if matches!(self.frame.print, Some(Print::Point(_))) => self.strike(Print::Point(3)),
            Cell::Strike => self.slot(SlotValue::Strike, SHORT),
            Cell::StrikeAs { json, table } => self.strike(if self.frame.tabular { table } else { json }),
            Cell::StrikeMilli => self.slot(SlotValue::StrikeMilli, NUMBER_MAX),
            Cell::Verbatim("null") => self.push(self.frame.null),
            Cell::Verbatim(text) => self.push(text),
            Cell::InTheMoney => self.choice(["false", "true"], SlotValue::InTheMoney),
            Cell::Quoted(quoted) => self.quoted(quoted),
            Cell::Time(When::Quote, stamp) if self.to.shows_quotes => {
                let quote = if stamp.is_number() { "" } else { self.frame.quote };
                self.push(quote);
                self.slot(SlotValue::QuoteTime(stamp), STAMP_MAX);
                self.push(quote);
            }
            Cell::Time(when, stamp) => {
                let quote = if stamp.is_number() { "" } else { self.frame.quote };
                self.push(quote);
                match when {
                    When::Snapshot | When::Quote => self.push(&self.layout.clock.snapshot(stamp)),
                    When::Asked => self.push(&self.layout.clock.asked(stamp)),
                    When::Settlement | When::ExpiryFour => self.of_slice(SliceText::Time(when, stamp)),
                }
                self.push(quote);
            }
            Cell::Dropped if self.to.shows_quotes => {
                let before = self.take_before();
                let none = self.piece(self.frame.null);
                let value_max = DROPPED_MAX.max(none.len);
                self.slot_after(before, SlotValue::Dropped { quote: self.frame.quote, none }, value_max);
            }
            Cell::Dropped => self.push(self.frame.null),
            Cell::DaysToExpiry => self.of_slice(SliceText::DaysToExpiry),
            Cell::Open(_) | Cell::Close => {}
        }
    }

    /// Begins an object or array.
    fn open(&mut self, name: &str, nest: Nest) {
        let mut unless = (nest.unpriced == Unpriced::Omit).then(|| self.begin_replaced(PRICED, ""));
        self.key(name);
        unless = match nest.unpriced {
            Unpriced::Null => Some(self.begin_replaced(PRICED, self.frame.null)),
            Unpriced::Empty => Some(self.begin_replaced(PRICED, "{}")),
            Unpriced::Whole | Unpriced::Omit => unless,
        };
        self.push(if nest.keyed { "{" } else { "[" });
        self.levels.push(Level { keyed: nest.keyed, is_first: true, unless });
    }

    fn close(&mut self) {
        let Some(level) = self.levels.pop() else { return };
        self.push(if level.keyed { "}" } else { "]" });
        self.end_replaced(level.unless);
    }

    /// Adds the separator from the member before, and the key.
    fn key(&mut self, name: &str) {
        let Some(level) = self.levels.last_mut() else { return };
        let keyed = level.keyed;
        if !std::mem::take(&mut level.is_first) {
            self.push(self.frame.cell_between);
        }
        if keyed {
            self.push("\"");
            (self.frame.escape)(&mut self.to.text, name);
            self.push("\":");
        }
    }

    /// Begins a part that rows without the number replace by `instead`; it ends at [`Self::end_replaced`].
    fn begin_replaced(&mut self, col: Col, instead: &str) -> usize {
        let before = self.take_before();
        let instead = self.piece(instead);
        self.slot_after(before, SlotValue::Unless { col, instead, then: 0 }, SHORT.max(instead.len));
        self.to.slots.len() - 1
    }

    /// Ends the part that rows without the number replace.
    fn end_replaced(&mut self, unless: Option<usize>) {
        let Some(unless) = unless else { return };
        self.slot(SlotValue::Nothing, 0);
        let here = self.to.slots.len();
        if let SlotValue::Unless { then, .. } = &mut self.to.slots[unless].value {
            *then = here;
        }
    }

    fn words(&mut self, text: Text) {
        if matches!(text, Text::Exercise) {
            return self.advice();
        }
        self.push(self.frame.quote);
        match text {
            Text::Underlying => self.of_slice(SliceText::Underlying),
            Text::UnderlyingOrIndex(prefix) => self.of_slice(SliceText::UnderlyingOrIndex(prefix)),
            Text::Root => self.of_slice(SliceText::Root),
            Text::Expiry => self.of_slice(SliceText::Expiry),
            Text::Today => self.layout.clock.push_today(&mut self.to.text),
            Text::Style(words) => self.of_slice(SliceText::Style(words)),
            Text::Settle(words) => self.of_slice(SliceText::Settle(words)),
            Text::Groups => (self.frame.escape)(&mut self.to.text, &self.layout.groups),
            Text::Fixed(text) => (self.frame.escape)(&mut self.to.text, text),
            Text::Right(words) => self.choice(words, SlotValue::Right),
            Text::Exercise => {}
            Text::Description(words) => {
                self.of_slice(SliceText::DescriptionHead);
                self.slot(SlotValue::StrikeAs(Print::Fixed(2)), NUMBER_MAX);
                self.push(" ");
                self.choice(words, SlotValue::Right);
            }
            Text::OsiAfter(prefix) => {
                self.push(prefix);
                self.osi(false);
            }
            Text::OsiPadded => self.osi(true),
            Text::OsiCompact => self.osi(false),
        }
        self.push(self.frame.quote);
    }

    fn osi(&mut self, padded: bool) {
        self.of_slice(SliceText::OsiHead(padded));
        self.slot(SlotValue::OsiTail, SHORT);
    }

    /// Adds one of two words, chosen by row.
    fn choice(&mut self, words: [&str; 2], value: impl Fn([Copied; 2]) -> SlotValue) {
        let before = self.take_before();
        let words = words.map(|word| self.piece(word));
        let value_max = words.map(|word| word.len).into_iter().fold(SHORT, usize::max);
        self.slot_after(before, value(words), value_max);
    }

    /// Adds the advice on exercise, or what stands for a missing number.
    fn advice(&mut self) {
        self.to.has_late = true;
        let (before, quote) = (self.take_before(), self.frame.quote);
        let words = ADVICE.map(|word| self.piece(&format!("{quote}{word}{quote}")));
        let missing = self.piece(self.frame.null);
        let value_max = words.iter().map(|word| word.len).fold(SHORT.max(missing.len), usize::max);
        self.slot_after(before, SlotValue::Advice(words, missing), value_max);
    }

    /// Adds a strike with the layer's decimals.
    fn strike(&mut self, print: Print) {
        let quote = self.quote_of(print);
        self.push(quote);
        self.slot(SlotValue::StrikeAs(print), NUMBER_MAX);
        self.push(quote);
    }

    /// Adds a number of the quote, or its substitute.
    fn quoted(&mut self, quoted: QuoteCell) {
        let QuoteCell { side, number, print, missing, hidden } = quoted;
        if self.to.shows_quotes {
            let print = self.print(print);
            let quote = self.quote_of(print);
            let source = NumberSource::Quote(side, number);
            self.push(quote);
            self.by_row(missing, print, |missing| SlotValue::Other { source, factor: 1.0, print, missing });
            self.push(quote);
            return;
        }
        match hidden {
            Hidden::Verbatim(text) => self.cell(Cell::Verbatim(text)),
            Hidden::Zero => self.number(Source::Zero, 1.0, print, missing),
        }
    }

    /// Format of a number: the column's, unless the frame has its own. Counts stay whole.
    fn print(&self, print: Print) -> Print {
        match (print, self.frame.print) {
            (Print::Words(_) | Print::UpTo(0), _) | (_, None) => print,
            (_, Some(print)) => print,
        }
    }

    fn number(&mut self, source: Source, factor: f64, print: Print, missing: Missing) {
        let print = self.print(print);
        let quote = self.quote_of(print);
        self.push(quote);
        match source {
            Source::Zero => push_as(&mut self.to.text, 0.0, print),
            Source::Slice(number) => {
                self.close_piece();
                self.push_missing(missing, print);
                let missing = self.mark..self.to.text.len();
                self.mark = missing.end;
                self.of_slice(SliceText::Number { number, factor, print, missing });
            }
            Source::Own(col) => {
                self.to.has_late |= col.late().is_some();
                self.by_row(missing, print, |missing| SlotValue::Number { col, factor, print, missing });
            }
            Source::Side(right, col) => {
                let source = NumberSource::Side(right, col);
                self.by_row(missing, print, |missing| SlotValue::Other { source, factor, print, missing });
            }
            Source::Derived(derived) => {
                let source = NumberSource::Derived(derived);
                self.by_row(missing, print, |missing| SlotValue::Other { source, factor, print, missing });
            }
        }
        self.push(quote);
    }

    /// Adds a number that differs by row, and its substitute.
    fn by_row(&mut self, missing: Missing, print: Print, value: impl Fn(Copied) -> SlotValue) {
        let before = self.take_before();
        self.push_missing(missing, print);
        let missing = self.take();
        self.slot_after(before, value(missing), NUMBER_MAX.max(missing.len));
    }

    fn quote_of(&self, print: Print) -> &'static str {
        if matches!(print, Print::Words(_)) { self.frame.quote } else { "" }
    }

    fn push_missing(&mut self, missing: Missing, print: Print) {
        match missing {
            Missing::Null | Missing::Omit => self.push(self.frame.null),
            Missing::Zero => push_as(&mut self.to.text, 0.0, print),
            Missing::Dash => self.push("-"),
        }
    }

    fn push(&mut self, text: &str) {
        self.to.text.extend_from_slice(text.as_bytes());
    }

    /// Adds text that differs by slice.
    fn of_slice(&mut self, text: SliceText) {
        self.close_piece();
        self.before.push(Piece::OfSlice(text));
    }

    /// Makes a piece of the text pushed since the last one.
    fn close_piece(&mut self) {
        let end = self.to.text.len();
        if self.mark < end {
            self.before.push(Piece::Fixed(self.mark..end));
            self.mark = end;
        }
    }

    /// Adds a text outside of the row, for a slot to refer to.
    fn piece(&mut self, text: &str) -> Copied {
        self.push(text);
        self.take()
    }

    /// Takes the text pushed since the last slot or piece.
    fn take(&mut self) -> Copied {
        let piece = Copied::new(&self.to.text, self.mark);
        self.mark = self.to.text.len();
        piece
    }

    /// Closes the text before a slot; `None`: it differs by slice.
    fn take_before(&mut self) -> Option<Copied> {
        if self.before.is_empty() {
            return Some(self.take());
        }
        self.close_piece();
        let start = self.to.pieces.len();
        self.to.pieces.append(&mut self.before);
        self.to.of_slice.push(SliceSlot { slot: self.to.slots.len(), pieces: start..self.to.pieces.len() });
        None
    }

    /// Closes the text so far and leaves a slot of at most `value_max` bytes.
    fn slot(&mut self, value: SlotValue, value_max: usize) {
        let before = self.take_before();
        self.slot_after(before, value, value_max);
    }

    fn slot_after(&mut self, before: Option<Copied>, value: SlotValue, value_max: usize) {
        self.to.fixed_max += before.map_or(0, |before| before.len.max(SHORT)) + value_max;
        self.to.slots.push(Slot { before: before.unwrap_or_default(), value });
    }
}
