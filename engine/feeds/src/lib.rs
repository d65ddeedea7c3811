//! Readers and writers of every format that quotes, prices, dividends, rates, calendars and overrides come in. One file
//! per source; each turns bytes into [`kernel::records`]. Never: a column; a computation but the one that makes records
//! of what is published (`declared.rs`).
//!
//! # Rooms
//!
//! - One file per format or vendor (docs/feeds.md).
//! - `intake.rs`: records with their places, shared by all readers.
//! - `json.rs`: the only file that names a JSON library.
//! - `times.rs`: instants in every spelling; `text/`: encodings, separators, numbers and dates of text files.
//! - `declared.rs`: dividends projected from declared ones.
//! - `conflate.rs`: records that wait, the last of each contract.
//! - `line_writer.rs`, `recording.rs`: recordings, written and read.
#![deny(unsafe_code)]
#![warn(clippy::print_stderr)]
#![warn(clippy::arithmetic_side_effects)]

pub mod alpaca;
pub mod cboe;
pub mod chains;
pub mod conflate;
pub mod csv;
pub mod databento;
pub mod databento_live;
pub mod declared;
pub mod dir;
pub mod dxlink;
pub mod events;
pub mod fields;
pub mod intake;
mod json;
pub mod line_writer;
pub mod lines;
pub mod massive;
pub mod nasdaq;
pub mod overrides;
pub mod positions;
pub mod rates;
pub mod recording;
pub mod reference;
pub mod schwab;
pub mod spelling;
pub mod tasty;
pub mod text;
pub mod thetadata;
pub mod times;
pub mod token;
pub mod tradier;

use jiff::civil::Date;
use kernel::contract::Symbol;
use kernel::records::Batch;

/// Kind of a dividend: whether it comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DividendKind {
    /// One of a series.
    Regular,
    /// Once.
    Special,
}

/// A cash dividend as declared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeclaredDividend {
    /// Underlying symbol.
    pub underlying: Symbol,
    /// Ex-dividend date.
    pub ex_date: Date,
    /// Dollars per share.
    pub amount: f64,
    /// Whether it comes again.
    pub kind: DividendKind,
    /// Payments a year, where the vendor says so.
    pub per_year: Option<u8>,
}

/// Kind of a vendor's quotes: live, delayed or altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// Quotes as made, or without any statement of the vendor.
    Live,
    /// Quotes as made some minutes ago, with the times of that.
    Delayed,
    /// Altered by the vendor: not for fitting.
    Indicative,
}

/// One page of quotes, of a vendor that answers in pages.
#[derive(Clone, Debug)]
pub struct QuotePage {
    /// Records of the page. They are a part of an underlying, so `reset` is empty.
    pub batch: Batch,
    /// Key of the next page; `None`: this is the last one. Massive: the query of its address (after the `?`), to be put
    /// behind the host and path of the first page, so that no document can send a key elsewhere.
    /// Alpaca: the value of `page_token`. Not yet percent-encoded in the second case.
    pub next: Option<String>,
    /// Kind of the quotes.
    pub grade: Grade,
}

/// One page of dividends, of a vendor that answers in pages.
#[derive(Clone, Debug)]
pub struct DividendPage {
    /// Dividends of the page.
    pub dividends: Vec<DeclaredDividend>,
    /// Key of the next page, as in [`QuotePage::next`].
    pub next: Option<String>,
}
