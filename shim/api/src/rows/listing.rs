//! Lists of expirations and strikes, for the neighbours of a layer that clients ask first: a few kilobytes of JSON.
//! Never: a Greek.

use super::clock::{Clock, Stamp};
use super::identity::push_date;
use super::number::{NUMBER_MAX, put_milli};
use crate::picked::Expiration;

/// A piece of the text of one expiration.
#[derive(Clone, Copy, Debug)]
pub enum ListingPiece {
    /// Constant text.
    Text(&'static str),
    /// `2026-12-18`, without quotes.
    Date,
    /// Midnight Eastern of the date in another spelling.
    Midnight(Stamp),
    /// The strikes, with commas between them.
    Strikes,
}

/// A date as JSON.
pub const QUOTED_DATE: &[ListingPiece] = &[ListingPiece::Text("\""), ListingPiece::Date, ListingPiece::Text("\"")];

/// Writes `open`, the expirations with commas between them, and `close`.
#[must_use]
pub fn write(open: &str, expirations: &[Expiration], item: &[ListingPiece], close: &str, clock: &Clock) -> Vec<u8> {
    let mut out = open.as_bytes().to_vec();
    for (i, expiration) in expirations.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        for piece in item {
            match piece {
                ListingPiece::Text(text) => out.extend_from_slice(text.as_bytes()),
                ListingPiece::Date => push_date(&mut out, expiration.date),
                ListingPiece::Midnight(stamp) => {
                    out.extend_from_slice(clock.at_hour(expiration.date, 0, *stamp).as_bytes())
                }
                ListingPiece::Strikes => push_strikes(&mut out, &expiration.strikes_milli),
            }
        }
    }
    out.extend_from_slice(close.as_bytes());
    out
}

/// Appends strikes with commas between them.
pub fn push_strikes(out: &mut Vec<u8>, strikes_milli: &[u32]) {
    let mut buf = [0; NUMBER_MAX];
    for (i, &milli) in strikes_milli.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        let end = put_milli(&mut buf, 0, milli);
        out.extend_from_slice(&buf[..end]);
    }
}
