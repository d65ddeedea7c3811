//! The table of polled vendors. A new vendor is a reader of its documents in the crate `feeds`, a file beside this one
//! with its row, and a line here. Never: a request.

use super::vendor::PolledVendor;
use super::{alpaca, cboe, massive, nasdaq, schwab, theta, tradier, treasury};

/// Every polled vendor.
pub static VENDORS: [&PolledVendor; 8] =
    [&cboe::ROW, &theta::ROW, &tradier::ROW, &massive::ROW, &alpaca::ROW, &schwab::ROW, &treasury::ROW, &nasdaq::ROW];

/// The vendor with this word in `--feed`.
#[must_use]
pub fn vendor_of(word: &str) -> Option<&'static PolledVendor> {
    VENDORS.into_iter().find(|row| row.word == word)
}
