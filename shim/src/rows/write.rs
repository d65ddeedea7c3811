//! Selected rows to bytes, a chunk at a time: the cursor of one answer.
//!
//! It holds the chains that it reads, so an answer is of one snapshot however slowly it is taken, and writes behind what
//! is already in the buffer, so no answer is ever built whole. Nothing is allocated per row. Never: a filter, a socket.

use super::field::Field;
use super::frame::{Frame, Heading};
use super::template::{Cells, Template};
use crate::select::Picked;
use engine::store::chain::Slice;

/// About how many bytes one call of [`Rows::fill`] appends.
pub const CHUNK: usize = 64 * 1024;

/// What an answer shows, and in which form.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Its columns.
    pub fields: Vec<Field>,
    /// What stands around cells and rows.
    pub frame: &'static Frame,
    /// The field groups that it holds, for the columns that say so.
    pub groups: String,
    /// What it says about itself, where the format has a place for it.
    pub heading: Heading,
}

/// One answer in the making.
pub struct Rows {
    sheet: Sheet,
    picked: Vec<Picked>,
    template: Template,
    stage: Stage,
    /// The chain, the range in it and the row in that to write next.
    at: Place,
    /// The slice that the template was compiled for: (chain, slice).
    compiled: Option<(usize, usize)>,
    is_first: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Body,
    Done,
}

#[derive(Clone, Copy, Default)]
struct Place {
    chain: usize,
    range: usize,
    row: u32,
    slice: usize,
}

impl Rows {
    /// An answer of these rows.
    #[must_use]
    pub fn new(sheet: Sheet, picked: Vec<Picked>) -> Self {
        let picked: Vec<Picked> = picked.into_iter().filter(|p| !p.rows.is_empty()).collect();
        let (template, at) = (Template::default(), Place::default());
        Self { sheet, picked, template, stage: Stage::Head, at, compiled: None, is_first: true }
    }

    /// Appends the next chunk, about [`CHUNK`] bytes; whether there is more to come.
    pub fn fill(&mut self, out: &mut Vec<u8>) -> bool {
        if self.stage == Stage::Head {
            (self.sheet.frame.head)(out, &self.sheet.heading, &self.sheet.fields);
            self.stage = Stage::Body;
        }
        if self.stage == Stage::Body && !self.fill_rows(out) {
            out.extend_from_slice(self.sheet.frame.foot.as_bytes());
            self.stage = Stage::Done;
        }
        self.stage != Stage::Done
    }

    /// Appends rows until the chunk is full; whether rows are left.
    fn fill_rows(&mut self, out: &mut Vec<u8>) -> bool {
        let mut end = out.len();
        let stop = end + CHUNK;
        while self.at.chain < self.picked.len() {
            if end >= stop {
                out.truncate(end);
                return true;
            }
            end = self.fill_chain(out, end, stop);
        }
        out.truncate(end);
        false
    }

    /// Writes rows of the chain at hand until it ends or `stop` is reached; the end of the text.
    fn fill_chain(&mut self, out: &mut Vec<u8>, mut end: usize, stop: usize) -> usize {
        let Self { sheet, picked, template, at, compiled, is_first, .. } = self;
        let Picked { chain, rows } = &picked[at.chain];
        let cells = Cells::of(chain);
        let between = sheet.frame.row_between.as_bytes();
        while let Some(range) = rows.get(at.range) {
            at.row = at.row.max(range.start);
            while at.row < range.end {
                at.slice = slice_of(&chain.slices, at.slice, at.row);
                let Some(slice) = chain.slices.get(at.slice) else { break };
                if *compiled != Some((at.chain, at.slice)) {
                    template.compile(&sheet.fields, sheet.frame, &sheet.groups, chain, slice);
                    *compiled = Some((at.chain, at.slice));
                }
                let need = template.row_max() + between.len();
                let run_end = range.end.min(slice.rows.end);
                while at.row < run_end {
                    if end >= stop {
                        return end;
                    }
                    if out.len() < end + need {
                        // Twice what was written so far: a short answer must not pay for a whole chunk of zeros.
                        let written = (end + CHUNK).saturating_sub(stop);
                        out.resize((end + 2 * need + written).min(stop + need), 0);
                    }
                    if !std::mem::take(is_first) {
                        out[end..end + between.len()].copy_from_slice(between);
                        end += between.len();
                    }
                    end = template.put_row(&cells, at.row as usize, out, end);
                    at.row += 1;
                }
            }
            at.range += 1;
        }
        *at = Place { chain: at.chain + 1, ..Place::default() };
        end
    }
}

/// The slice that holds a row, looked for from `hint` on.
fn slice_of(slices: &[Slice], hint: usize, row: u32) -> usize {
    let ahead = slices[hint.min(slices.len())..].iter().position(|slice| row < slice.rows.end);
    ahead.map_or(slices.len(), |n| hint + n)
}
