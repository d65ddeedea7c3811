//! The made-up market: the same for a seed, like a real one, its truth consistent and known.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails; tables are printed")]

mod calibration;
mod events;
mod small;
mod whole;
mod work;

use engine::store::book::Book;

/// Every number of a book, by bits.
fn bytes(book: &Book) -> Vec<u64> {
    let mut out = vec![book.spot.to_bits(), book.ts.as_second() as u64];
    for s in &book.slices {
        out.extend(s.strike_milli.iter().map(|&k| u64::from(k)));
        out.extend(s.bid.iter().chain(&s.ask).map(|x| x.to_bits()));
        out.extend(s.ts.iter().map(|t| t.as_second() as u64));
    }
    out
}
