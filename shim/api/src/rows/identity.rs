//! Names of contracts as text: dates and OSI symbols. Never: a price.

use engine::store::chain::Chain;
use jiff::civil::Date;
use kernel::contract::{Right, RootTable, Symbol};

/// Appends `YYYY-MM-DD`.
pub fn push_date(out: &mut Vec<u8>, date: Date) {
    push_year(out, date);
    out.push(b'-');
    push_two(out, date.month());
    out.push(b'-');
    push_two(out, date.day());
}

/// Appends the part of an OSI symbol that is constant over one (root, expiry): the root, padded to six characters if
/// `padded`, and `YYMMDD`.
pub fn push_osi_head(out: &mut Vec<u8>, root: Symbol, expiry: Date, padded: bool) {
    let root = root.as_str().as_bytes();
    out.extend_from_slice(root);
    if padded {
        out.resize(out.len() + 6usize.saturating_sub(root.len()), b' ');
    }
    push_two(out, i8::try_from(expiry.year().rem_euclid(100)).unwrap_or_default());
    push_two(out, expiry.month());
    push_two(out, expiry.day());
}

/// Appends the part of a contract's description that is constant over one (root, expiry): `AAPL Dec 18 2026 $`.
pub fn push_description_head(out: &mut Vec<u8>, root: Symbol, expiry: Date) {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS[usize::from(expiry.month().unsigned_abs() - 1)];
    let text = format!("{root} {month} {} {} $", expiry.day(), expiry.year());
    out.extend_from_slice(text.as_bytes());
}

/// True if an underlying is an index: the root table holds indices, and class shares, which have a dot in their name.
#[must_use]
pub fn is_index_root(underlying: Symbol, root: Symbol, roots: &RootTable) -> bool {
    roots.get(root).is_some() && !underlying.as_str().contains('.')
}

/// True if the underlying of a chain is an index, by any of its roots.
#[must_use]
pub fn is_index(chain: &Chain, roots: &RootTable) -> bool {
    chain.slices.iter().any(|slice| is_index_root(chain.underlying, slice.root, roots))
}

/// The letter of an OSI symbol.
#[must_use]
pub fn osi_letter(right: Right) -> u8 {
    match right {
        Right::Call => b'C',
        Right::Put => b'P',
    }
}

fn push_year(out: &mut Vec<u8>, date: Date) {
    let year = date.year();
    push_two(out, i8::try_from(year / 100).unwrap_or_default());
    push_two(out, i8::try_from(year % 100).unwrap_or_default());
}

/// Two digits of a number from 0 to 99.
fn push_two(out: &mut Vec<u8>, n: i8) {
    let n = n.unsigned_abs();
    out.extend_from_slice(&[b'0' + n / 10, b'0' + n % 10]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn dates_and_symbols_have_fixed_widths() {
        let mut out = Vec::new();
        push_date(&mut out, date(2026, 1, 9));
        assert_eq!(out, b"2026-01-09");
        for (root, padded, wanted) in [
            ("F", true, "F     270115"),
            ("SPXW", true, "SPXW  270115"),
            ("SPXW", false, "SPXW270115"),
            ("GOOGL1", true, "GOOGL1270115"),
        ] {
            out.clear();
            push_osi_head(&mut out, Symbol::parse(root).unwrap(), date(2027, 1, 15), padded);
            assert_eq!(String::from_utf8_lossy(&out), wanted);
        }
    }
}
