//! From a table of fields, a frame and a slice to a row with open slots. Never: a row's own number.

use super::{Copied, NumberSource, SHORT, Slot, SlotValue, Template};
use crate::rows::clock::{STAMP_MAX, When};
use crate::rows::field::{Cell, Field, Hidden, Missing, Nest, QuoteCell, Source, Text, Unpriced};
use crate::rows::frame::Frame;
use crate::rows::identity::{is_index_root, push_date, push_description_head, push_osi_head};
use crate::rows::layout::AnswerLayout;
use crate::rows::number::{NUMBER_MAX, Print, put_as};
use engine::contract::{Settle, Style};
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use std::borrow::Cow;

/// The column that every contract with Greeks has.
const PRICED: Col = Col::Delta;

/// What a row is compiled from.
#[derive(Clone, Copy)]
pub struct RowPlan<'a> {
    /// The columns.
    pub fields: &'a [Field],
    /// Their names in the format, one for each field.
    pub names: &'a [Cow<'static, str>],
    /// What the rest of the answer is.
    pub layout: &'a AnswerLayout,
    /// What stands around cells and rows.
    pub frame: &'a Frame,
}

/// An object or array that is being compiled.
struct Level {
    keyed: bool,
    /// Whether its next member is its first.
    is_first: bool,
    /// The slot that leaves it out for contracts without Greeks.
    unless: Option<usize>,
}

/// One row in the making.
struct RowBuilder<'a> {
    to: &'a mut Template,
    frame: &'a Frame,
    layout: &'a AnswerLayout,
    chain: &'a Chain,
    slice: &'a Slice,
    levels: Vec<Level>,
}

impl Template {
    /// Compiles the row of one slice.
    pub fn compile(&mut self, plan: &RowPlan<'_>, chain: &Chain, slice: &Slice) {
        self.text.clear();
        self.slots.clear();
        self.mark = 0;
        self.row_max = 0;
        self.zone = Some(plan.layout.clock.zone().clone());
        let row = Level { keyed: plan.frame.keys, is_first: true, unless: None };
        let mut builder =
            RowBuilder { to: self, frame: plan.frame, layout: plan.layout, chain, slice, levels: vec![row] };
        builder.row(plan.fields, plan.names);
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
        if self.to.mark < self.to.text.len() {
            self.slot(SlotValue::Nothing, 0);
        }
    }

    /// One cell, with what stands before and after it.
    fn member(&mut self, field: &Field, name: &str) {
        let omitted = match field.cell {
            Cell::Number { source, missing: Missing::Omit, .. } if self.frame.nested => Some(source),
            _ => None,
        };
        let unless = match omitted {
            Some(Source::Own(col)) => Some(self.unless(col, "")),
            Some(Source::Derived(number)) if number.needs_greeks() => Some(self.unless(PRICED, "")),
            Some(Source::Slice(number)) if number.of(self.slice).is_nan() => return,
            _ => None,
        };
        self.key(name);
        self.push(if field.is_number() { self.frame.number_open } else { self.frame.text_open });
        self.cell(field.cell);
        self.push(self.frame.cell_close);
        self.then_here(unless);
    }

    fn cell(&mut self, cell: Cell) {
        match cell {
            Cell::Text(text) | Cell::RowKey(text) => self.words(text),
            Cell::Number { source, factor, print, missing } => self.number(source, factor, print, missing),
            Cell::Strike => self.slot(SlotValue::Strike, SHORT),
            Cell::StrikeAs { json, table } => self.strike(if self.frame.tabular { table } else { json }),
            Cell::StrikeMilli => self.slot(SlotValue::StrikeMilli, NUMBER_MAX),
            Cell::Verbatim("null") => self.push(self.frame.null),
            Cell::Verbatim(text) => self.push(text),
            Cell::InTheMoney => {
                let und_price = self.slice.und_price;
                self.choice(["false", "true"], |words| SlotValue::InTheMoney(words, und_price));
            }
            Cell::Quoted(quoted) => self.quoted(quoted),
            Cell::Time(When::Quote, stamp) if self.chain.quotes.is_some() => {
                let quote = if stamp.is_number() { "" } else { self.frame.quote };
                self.push(quote);
                self.slot(SlotValue::QuoteTime(stamp), STAMP_MAX);
                self.push(quote);
            }
            Cell::Time(when, stamp) => {
                let quote = if stamp.is_number() { "" } else { self.frame.quote };
                let text = self.layout.clock.text(when, stamp, self.slice);
                self.push(quote);
                self.push(&text);
                self.push(quote);
            }
            Cell::DaysToExpiry => {
                let days = self.layout.clock.days_to(self.slice.expiry);
                self.push(&days.to_string());
            }
            Cell::Open(_) | Cell::Close => {}
        }
    }

    /// An object or array begins.
    fn open(&mut self, name: &str, nest: Nest) {
        let mut unless = (nest.unpriced == Unpriced::Omit).then(|| self.unless(PRICED, ""));
        self.key(name);
        unless = match nest.unpriced {
            Unpriced::Null => Some(self.unless(PRICED, self.frame.null)),
            Unpriced::Empty => Some(self.unless(PRICED, "{}")),
            Unpriced::Whole | Unpriced::Omit => unless,
        };
        self.push(if nest.keyed { "{" } else { "[" });
        self.levels.push(Level { keyed: nest.keyed, is_first: true, unless });
    }

    fn close(&mut self) {
        let Some(level) = self.levels.pop() else { return };
        self.push(if level.keyed { "}" } else { "]" });
        self.then_here(level.unless);
    }

    /// What separates a member from the one before it, and its key.
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

    /// What follows, up to [`Self::then_here`], is left out for rows without the number.
    fn unless(&mut self, col: Col, instead: &str) -> usize {
        let before = self.take();
        self.push(instead);
        let instead = self.take();
        self.slot_after(before, SlotValue::Unless { col, instead, then: 0 }, SHORT.max(instead.len));
        self.to.slots.len() - 1
    }

    /// Rows without the number go on here.
    fn then_here(&mut self, unless: Option<usize>) {
        let Some(unless) = unless else { return };
        self.slot(SlotValue::Nothing, 0);
        let here = self.to.slots.len();
        if let SlotValue::Unless { then, .. } = &mut self.to.slots[unless].value {
            *then = here;
        }
    }

    fn words(&mut self, text: Text) {
        let (frame, chain, slice) = (self.frame, self.chain, self.slice);
        self.push(frame.quote);
        match text {
            Text::Underlying => self.escape(chain.underlying.as_str()),
            Text::UnderlyingOrIndex(prefix) => {
                let is_index = is_index_root(chain.underlying, slice.root, &self.layout.roots);
                self.push(if is_index { prefix } else { "" });
                self.escape(chain.underlying.as_str());
            }
            Text::Root => self.escape(slice.root.as_str()),
            Text::Expiry => push_date(&mut self.to.text, slice.expiry),
            Text::Today => self.layout.clock.push_today(&mut self.to.text),
            Text::Style([american, european]) => {
                self.push(if slice.style == Style::American { american } else { european })
            }
            Text::Settle([am, pm]) => self.push(if slice.settle == Settle::Am { am } else { pm }),
            Text::Groups => self.escape(&self.layout.groups),
            Text::Fixed(text) => self.escape(text),
            Text::Right(words) => self.choice(words, SlotValue::Right),
            Text::Description(words) => {
                push_description_head(&mut self.to.text, slice.root, slice.expiry);
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
        self.push(frame.quote);
    }

    fn osi(&mut self, padded: bool) {
        push_osi_head(&mut self.to.text, self.slice.root, self.slice.expiry, padded);
        self.slot(SlotValue::OsiTail, SHORT);
    }

    /// One of two words, by row.
    fn choice(&mut self, words: [&str; 2], value: impl Fn([Copied; 2]) -> SlotValue) {
        let before = self.take();
        let words = words.map(|word| {
            self.push(word);
            self.take()
        });
        let value_max = words.map(|word| word.len).into_iter().fold(SHORT, usize::max);
        self.slot_after(before, value(words), value_max);
    }

    /// A strike with the layer's decimals.
    fn strike(&mut self, print: Print) {
        let quote = self.quote_of(print);
        self.push(quote);
        self.slot(SlotValue::StrikeAs(print), NUMBER_MAX);
        self.push(quote);
    }

    /// A number of the quote, or what hides it.
    fn quoted(&mut self, quoted: QuoteCell) {
        let QuoteCell { side, number, print, missing, hidden } = quoted;
        if self.chain.quotes.is_some() {
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

    /// How a number is printed here: as the column says, unless the format has a rule of its own. Counts stay whole.
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
            Source::Zero => self.push_number(0.0, print),
            Source::Slice(number) => {
                let value = number.of(self.slice) * factor;
                if value.is_finite() { self.push_number(value, print) } else { self.push_missing(missing, print) }
            }
            Source::Own(col) => {
                self.by_row(missing, print, |missing| SlotValue::Number { col, factor, print, missing });
            }
            Source::Side(right, col) => {
                let source = NumberSource::Side(right, col);
                self.by_row(missing, print, |missing| SlotValue::Other { source, factor, print, missing });
            }
            Source::Derived(derived) => {
                let source = NumberSource::Derived(derived, self.slice.und_price);
                self.by_row(missing, print, |missing| SlotValue::Other { source, factor, print, missing });
            }
        }
        self.push(quote);
    }

    /// A number that differs by row, and what stands there without it.
    fn by_row(&mut self, missing: Missing, print: Print, value: impl Fn(Copied) -> SlotValue) {
        let before = self.take();
        self.push_missing(missing, print);
        let missing = self.take();
        self.slot_after(before, value(missing), NUMBER_MAX.max(missing.len));
    }

    fn quote_of(&self, print: Print) -> &'static str {
        if matches!(print, Print::Words(_)) { self.frame.quote } else { "" }
    }

    fn push_number(&mut self, value: f64, print: Print) {
        let mut buf = [0; NUMBER_MAX];
        let end = put_as(&mut buf, 0, value, print);
        self.to.text.extend_from_slice(&buf[..end]);
    }

    fn push_missing(&mut self, missing: Missing, print: Print) {
        match missing {
            Missing::Null | Missing::Omit => self.push(self.frame.null),
            Missing::Zero => self.push_number(0.0, print),
            Missing::Dash => self.push("-"),
        }
    }

    fn escape(&mut self, text: &str) {
        (self.frame.escape)(&mut self.to.text, text);
    }

    fn push(&mut self, text: &str) {
        self.to.text.extend_from_slice(text.as_bytes());
    }

    /// The text pushed since the last slot, as a piece.
    fn take(&mut self) -> Copied {
        let pushed = &self.to.text[self.to.mark..];
        let mut head = [0; SHORT];
        let n_head = pushed.len().min(SHORT);
        head[..n_head].copy_from_slice(&pushed[..n_head]);
        let piece = Copied { head, start: self.to.mark, len: pushed.len() };
        self.to.mark = self.to.text.len();
        piece
    }

    /// Closes the constant text so far and leaves a slot of at most `value_max` bytes.
    fn slot(&mut self, value: SlotValue, value_max: usize) {
        let before = self.take();
        self.slot_after(before, value, value_max);
    }

    fn slot_after(&mut self, before: Copied, value: SlotValue, value_max: usize) {
        self.to.row_max += before.len.max(SHORT) + value_max;
        self.to.slots.push(Slot { before, value });
    }
}
