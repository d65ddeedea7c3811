//! Text that is constant over one (root, expiry) of an answer. Never: a row.

use crate::rows::clock::{Stamp, When};
use crate::rows::frame::Frame;
use crate::rows::identity::{is_index_root, push_date, push_description_head, push_osi_head};
use crate::rows::layout::AnswerLayout;
use crate::rows::number::{Print, push_as};
use crate::rows::source::SliceNumber;
use engine::store::chain::{Chain, Slice};
use kernel::contract::{Settle, Style};
use std::ops::Range;

/// A piece of the text before a slot.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// Constant text: its range in the template's text.
    Fixed(Range<usize>),
    /// Text that differs by slice.
    OfSlice(SliceText),
    /// Leaves out this many following pieces if the slice has no such number.
    Unless(SliceNumber, usize),
}

/// Text that differs by slice.
#[derive(Clone, Debug)]
pub(super) enum SliceText {
    Underlying,
    /// The underlying, with a prefix if it is an index.
    UnderlyingOrIndex(&'static str),
    Root,
    Expiry,
    Style([&'static str; 2]),
    Settle([&'static str; 2]),
    /// A number, and the range of its substitute in the template's text.
    Number {
        number: SliceNumber,
        factor: f64,
        print: Print,
        missing: Range<usize>,
    },
    Time(When, Stamp),
    DaysToExpiry,
    /// The part of an OSI symbol before its letter, the root padded or not.
    OsiHead(bool),
    /// The part of a description before the strike.
    DescriptionHead,
}

/// Appends the text of `pieces` for a slice.
pub(super) fn push(
    text: &mut Vec<u8>,
    pieces: &[Piece],
    frame: &Frame,
    layout: &AnswerLayout,
    chain: &Chain,
    slice: &Slice,
) {
    let mut next = 0;
    while let Some(piece) = pieces.get(next) {
        next += 1;
        match piece {
            Piece::Fixed(place) => text.extend_from_within(place.clone()),
            Piece::OfSlice(of_slice) => of_slice.push(text, frame, layout, chain, slice),
            Piece::Unless(number, pieces) => next += if number.of(slice).is_nan() { *pieces } else { 0 },
        }
    }
}

impl SliceText {
    fn push(&self, text: &mut Vec<u8>, frame: &Frame, layout: &AnswerLayout, chain: &Chain, slice: &Slice) {
        match self {
            Self::Underlying => (frame.escape)(text, chain.underlying.as_str()),
            Self::UnderlyingOrIndex(prefix) => {
                if is_index_root(chain.underlying, slice.root, &layout.roots) {
                    text.extend_from_slice(prefix.as_bytes());
                }
                (frame.escape)(text, chain.underlying.as_str());
            }
            Self::Root => (frame.escape)(text, slice.root.as_str()),
            Self::Expiry => push_date(text, slice.expiry),
            Self::Style([american, european]) => {
                text.extend_from_slice(if slice.style == Style::American { american } else { european }.as_bytes());
            }
            Self::Settle([am, pm]) => {
                text.extend_from_slice(if slice.settle == Settle::Am { am } else { pm }.as_bytes());
            }
            Self::Number { number, factor, print, missing } => {
                let value = number.of(slice) * factor;
                if value.is_finite() {
                    push_as(text, value, *print);
                } else {
                    text.extend_from_within(missing.clone());
                }
            }
            Self::Time(when, stamp) => text.extend_from_slice(layout.clock.text(*when, *stamp, slice).as_bytes()),
            Self::DaysToExpiry => {
                text.extend_from_slice(layout.clock.days_to(slice.expiry).to_string().as_bytes());
            }
            Self::OsiHead(padded) => push_osi_head(text, slice.root, slice.listed, *padded),
            Self::DescriptionHead => push_description_head(text, slice.root, slice.expiry),
        }
    }
}
