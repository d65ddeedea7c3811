//! Selected rows to bytes, a piece at a time: the cursor of one answer.
//!
//! It holds the chains that it reads, so an answer is of one snapshot however slow the client is. It writes into the
//! buffer piece by piece, so no answer is built whole. Nothing is allocated per row. JSON column by column uses the
//! same loop, once per column. Never: a filter, a socket.

use super::frame::VALUES;
use super::layout::{AnswerLayout, Walk};
use super::number::BLOCK;
use super::template::builder::RowPlan;
use super::template::{Cells, Template};
use crate::picked::Picked;
use engine::exercise;
use engine::store::chain::{Chain, Slice};
use http::limits::PIECE_BYTES;
use http::{Progress, Stream};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Average bytes of a cell without its key, rounded up: digits, marks of the format.
const CELL_BYTES: usize = 16;
/// Upper bound on the bytes around all rows.
const HEAD_BYTES: usize = 64 * 1024;

/// An answer that is being written.
pub struct RowStream {
    layout: AnswerLayout,
    /// The name of each field.
    names: Vec<Cow<'static, str>>,
    /// Remaining rows; each entry is dropped after its last row.
    picked: Vec<Option<Picked>>,
    template: Option<Template>,
    stage: Stage,
    /// Current column, if the answer goes column by column.
    column: usize,
    /// Position of the next row: chain, range, row.
    at: RowPosition,
    /// Slice that the template is bound to: (chain, slice).
    bound: Option<(usize, usize)>,
    is_first: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Body,
    /// Rows only: the caller writes the text around them.
    Bare,
    Done,
}

#[derive(Clone, Copy, Default)]
struct RowPosition {
    chain: usize,
    range: usize,
    row: u32,
    slice: usize,
}

impl Stream for RowStream {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        if self.stage == Stage::Head {
            self.layout.push_head(out, &self.names);
            self.stage = Stage::Body;
        }
        let stop = out.len() + PIECE_BYTES;
        let progress = if self.walks_columns() { self.fill_columns(out, stop) } else { self.fill_rows(out, stop) };
        if self.stage == Stage::Body && progress == Progress::Done {
            self.layout.push_foot(out);
            self.stage = Stage::Done;
        }
        progress
    }

    fn most_bytes(&self) -> Option<usize> {
        let rows: usize = self.picked.iter().flatten().map(Picked::count).sum();
        let row: usize = self.names.iter().map(|name| name.len() + CELL_BYTES).sum();
        Some(rows * row + HEAD_BYTES)
    }
}

impl RowStream {
    /// An answer of these rows.
    #[must_use]
    pub fn new(layout: AnswerLayout, picked: Vec<Picked>) -> Self {
        let picked: Vec<Option<Picked>> = picked.into_iter().filter(|p| !p.rows.is_empty()).map(Some).collect();
        let (at, names) = (RowPosition::default(), layout.names());
        let stage = Stage::Head;
        Self { layout, names, picked, template: None, stage, column: 0, at, bound: None, is_first: true }
    }

    /// These rows as a part of an answer, without the text around all rows. The separator stands before the first of
    /// them, unless it `is_first` of all.
    #[must_use]
    pub fn part(layout: AnswerLayout, picked: Vec<Picked>, is_first: bool) -> Self {
        let layout = AnswerLayout { walk: Walk::Rows, ..layout };
        Self { stage: Stage::Bare, is_first, ..Self::new(layout, picked) }
    }

    /// Appends the values of these rows to the text of each column, with commas between them.
    pub fn push_columns(layout: &AnswerLayout, picked: &[Picked], columns: &mut [Vec<u8>]) {
        for (column, out) in columns.iter_mut().enumerate().take(layout.fields.len()) {
            let is_first = out.is_empty();
            let mut one = Self { column, is_first, ..Self::new(layout.clone(), picked.to_vec()) };
            let mut fill = |out: &mut Vec<u8>| one.fill_rows(out, out.len() + PIECE_BYTES);
            while fill(out) == Progress::More {}
        }
    }

    fn walks_columns(&self) -> bool {
        self.layout.walk == Walk::Columns && self.layout.frame.nested
    }

    /// Appends values, column after column, until the piece is full.
    fn fill_columns(&mut self, out: &mut Vec<u8>, stop: usize) -> Progress {
        while let Some(name) = self.names.get(self.column) {
            let is_begun = self.at.chain > 0 || self.template.is_some();
            if !is_begun {
                out.extend_from_slice(if self.column > 0 { b",\"" } else { b"\"" });
                (self.layout.frame.escape)(out, name);
                out.extend_from_slice(b"\":[");
            }
            if self.fill_rows(out, stop) == Progress::More {
                return Progress::More;
            }
            out.push(b']');
            self.column += 1;
            (self.at, self.template, self.bound) = (RowPosition::default(), None, None);
            self.is_first = true;
        }
        Progress::Done
    }

    /// Appends rows until the piece is full.
    fn fill_rows(&mut self, out: &mut Vec<u8>, stop: usize) -> Progress {
        let mut end = out.len();
        while self.at.chain < self.picked.len() {
            if end >= stop && self.template.is_some() {
                out.truncate(end);
                return Progress::More;
            }
            end = self.fill_chain(out, end, stop);
        }
        out.truncate(end);
        Progress::Done
    }

    /// Writes rows of the current chain until it ends or `stop` is reached; returns the end of the text.
    fn fill_chain(&mut self, out: &mut Vec<u8>, mut end: usize, stop: usize) -> usize {
        let columns = self.walks_columns().then_some(self.column..self.column + 1);
        let is_last_walk = columns.is_none() || self.column + 1 == self.names.len();
        let Self { layout, names, picked, template, at, bound, is_first, .. } = self;
        let plan = plan(layout, names, columns);
        let Some(Picked { chain, rows }) = &picked[at.chain] else {
            *at = RowPosition { chain: at.chain + 1, ..RowPosition::default() };
            return end;
        };
        let shows_quotes = chain.quotes.is_some();
        if template.as_ref().is_none_or(|template| template.shows_quotes() != shows_quotes) {
            *template = Some(Template::compile(&plan, shows_quotes));
        }
        let Some(template) = template else { return end };
        if template.has_late() {
            engine::exercise::fill(chain);
        }
        let cells = Cells::of(chain);
        let n_between = plan.frame.row_between.len();
        while let Some(range) = rows.get(at.range) {
            at.row = at.row.max(range.start);
            while at.row < range.end {
                at.slice = slice_of(&chain.slices, at.slice, at.row);
                let Some(slice) = chain.slices.get(at.slice) else { break };
                if *bound != Some((at.chain, at.slice)) {
                    template.bind(layout, chain, slice);
                    *bound = Some((at.chain, at.slice));
                }
                let need = template.row_max();
                let run = at.row..range.end.min(slice.rows.end);
                let (block, n) = cells.block(run, layout.per);
                // one row alone costs less than a block
                let is_filled = n >= BLOCK / 2;
                if is_filled {
                    template.fill_block(&cells, &block);
                }
                for (k, &row) in block[..n].iter().enumerate() {
                    if end >= stop {
                        return end;
                    }
                    if out.len() < end + need {
                        // Twice what was written so far: a short answer must not pay for a whole piece of zeros.
                        let written = (end + PIECE_BYTES).saturating_sub(stop);
                        out.resize((end + 2 * need + written).min(stop + need), 0);
                    }
                    let start = end;
                    end = if is_filled {
                        template.put_row_of_block(&cells, row, k, out, end)
                    } else {
                        template.put_row(&cells, row, out, end)
                    };
                    if std::mem::take(is_first) {
                        // A row begins with what stands between two, so that it costs no copy of its own.
                        out.copy_within(start + n_between..end, start);
                        end -= n_between;
                    }
                    at.row += row.n_rows();
                }
            }
            at.range += 1;
            at.row = 0;
        }
        if is_last_walk {
            // an old snapshot is held no longer than its rows take
            picked[at.chain] = None;
        }
        *at = RowPosition { chain: at.chain + 1, ..RowPosition::default() };
        end
    }
}

/// Plan of a row: all columns, or one of them as bare values.
fn plan<'a>(layout: &'a AnswerLayout, names: &'a [Cow<'static, str>], column: Option<Range<usize>>) -> RowPlan<'a> {
    match column {
        None => RowPlan { fields: &layout.fields, names, layout, frame: layout.frame },
        Some(one) => RowPlan { fields: &layout.fields[one.clone()], names: &names[one], layout, frame: &VALUES },
    }
}

/// Index of the slice that holds a row; the search starts at `hint`, as rows mostly ascend.
fn slice_of(slices: &[Slice], hint: usize, row: u32) -> usize {
    let hint = if slices.get(hint).is_some_and(|slice| slice.rows.start <= row) { hint } else { 0 };
    let ahead = slices[hint..].iter().position(|slice| row < slice.rows.end);
    ahead.map_or(slices.len(), |n| hint + n)
}

/// A body with columns that no pass computes: its chains are computed first, one in each piece. Each takes the time of
/// many rows, and between two of them others have their turn.
pub struct LateRows<S> {
    chains: Vec<Arc<Chain>>,
    rows: S,
}

impl<S: Stream> LateRows<S> {
    /// The body `rows`; `chains` are the ones that it reads such columns of.
    pub fn new(chains: Vec<Arc<Chain>>, rows: S) -> Self {
        Self { chains, rows }
    }
}

impl<S: Stream> Stream for LateRows<S> {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        while let Some(chain) = self.chains.pop() {
            if exercise::fill(&chain) {
                return Progress::More;
            }
        }
        self.rows.fill(out)
    }

    fn most_bytes(&self) -> Option<usize> {
        self.rows.most_bytes()
    }
}
