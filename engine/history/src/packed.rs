//! A row as 93 bytes whose order is that of the rows: by day, underlying, time, expiry, root, strike and right. Rows of
//! any files in any order are sorted as bytes, and so are always the same. Never: a file.

use crate::row::HistoryRow;
use jiff::{Timestamp, civil::Date};
use kernel::contract::{ContractKey, Right, Symbol};
use kernel::records::{Activity, QuoteRecord};

/// Bytes of a row.
pub const ROW_BYTES: usize = 93;
/// Bytes of the key of a row: two rows with one key are quotes of one contract at one time.
const KEY_BYTES: usize = 37;
/// Bytes of the unit of a row: day and underlying.
const UNIT_BYTES: usize = 12;

/// A row, ready to be sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackedRow([u8; ROW_BYTES]);

impl PackedRow {
    /// Packs a row of the unit of `day` and `underlying`. `None`: its time is further from now than files may have it.
    #[must_use]
    pub fn new(day: Date, underlying: Symbol, row: &HistoryRow) -> Option<Self> {
        let HistoryRow { quote, spot } = row;
        let ContractKey { root, expiry, strike_milli, right } = quote.contract;
        let nanoseconds = i64::try_from(quote.ts.as_nanosecond()).ok()?;
        let mut out = Out { bytes: [0; ROW_BYTES], at: 0 };
        out.put(&date_bytes(day)?);
        out.put(&symbol_bytes(underlying));
        // times before 1970 stand before those after it
        out.put(&(nanoseconds.cast_unsigned() ^ 1 << 63).to_be_bytes());
        out.put(&date_bytes(expiry)?);
        out.put(&symbol_bytes(root));
        out.put(&strike_milli.to_be_bytes());
        out.put(&[u8::from(right == Right::Put)]);
        let Activity { volume, open_interest } = quote.activity;
        // the price of the underlying last: `merged` sets it alone
        for number in [quote.bid, quote.ask, quote.bid_size, quote.ask_size, volume, open_interest, *spot] {
            // one NaN for all
            let number = if number.is_nan() { f64::NAN } else { number };
            out.put(&number.to_bits().to_be_bytes());
        }
        Some(Self(out.bytes))
    }

    /// The row again; its quote is filed under the unit's underlying. `None`: the bytes are no row.
    #[must_use]
    pub fn row(&self) -> Option<HistoryRow> {
        let mut rest = In(&self.0[4..]);
        let underlying = rest.symbol()?;
        let nanoseconds = (u64::from_be_bytes(rest.take()?) ^ 1 << 63).cast_signed();
        let expiry = rest.date()?;
        let root = rest.symbol()?;
        let strike_milli = u32::from_be_bytes(rest.take()?);
        let right = match rest.take::<1>()? {
            [0] => Right::Call,
            [1] => Right::Put,
            _ => return None,
        };
        let mut number = || rest.take().map(u64::from_be_bytes).map(f64::from_bits);
        let [bid, ask, bid_size, ask_size] = [number()?, number()?, number()?, number()?];
        let [volume, open_interest, spot] = [number()?, number()?, number()?];
        let ts = Timestamp::from_nanosecond(i128::from(nanoseconds)).ok()?;
        let contract = ContractKey { root, expiry, strike_milli, right };
        let activity = Activity { volume, open_interest };
        let quote = QuoteRecord { ts, underlying, contract, bid, ask, bid_size, ask_size, activity };
        Some(HistoryRow { quote, spot })
    }

    /// The day and the underlying of its unit.
    #[must_use]
    pub fn unit(&self) -> Option<(Date, Symbol)> {
        let mut rest = In(&self.0);
        Some((rest.date()?, rest.symbol()?))
    }

    /// True if another row is of the same unit.
    #[must_use]
    pub fn is_of_unit(&self, other: &Self) -> bool {
        self.0[..UNIT_BYTES] == other.0[..UNIT_BYTES]
    }

    /// True if another row is a quote of the same contract at the same time.
    #[must_use]
    pub fn is_same_quote(&self, other: &Self) -> bool {
        self.0[..KEY_BYTES] == other.0[..KEY_BYTES]
    }

    /// Merges two rows of the same contract and time, in any order: the quote of higher precedence counts
    /// ([`QuoteRecord::precedence`]), with the higher of the two prices of the underlying.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        let (Some(a), Some(b)) = (self.row(), other.row()) else { return self.max(other) };
        let spot = [a.spot, b.spot].into_iter().filter(|spot| !spot.is_nan()).max_by(f64::total_cmp);
        let counts = a.quote.precedence(&b.quote).then(self.cmp(&other)).is_ge();
        let mut merged = if counts { self } else { other };
        merged.0[ROW_BYTES - 8..].copy_from_slice(&spot.unwrap_or(f64::NAN).to_bits().to_be_bytes());
        merged
    }

    /// The bytes of the row.
    #[must_use]
    pub fn bytes(&self) -> &[u8; ROW_BYTES] {
        &self.0
    }

    /// A row of its bytes.
    #[must_use]
    pub fn of_bytes(bytes: [u8; ROW_BYTES]) -> Self {
        Self(bytes)
    }
}

struct Out {
    bytes: [u8; ROW_BYTES],
    at: usize,
}

impl Out {
    fn put(&mut self, bytes: &[u8]) {
        let end = self.at + bytes.len();
        self.bytes[self.at..end].copy_from_slice(bytes);
        self.at = end;
    }
}

struct In<'a>(&'a [u8]);

impl In<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn symbol(&mut self) -> Option<Symbol> {
        let bytes: [u8; 8] = self.take()?;
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        Symbol::parse(core::str::from_utf8(&bytes[..end]).ok()?)
    }

    fn date(&mut self) -> Option<Date> {
        let [y0, y1, month, day] = self.take()?;
        let year = i16::try_from(u16::from_be_bytes([y0, y1])).ok()?;
        Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
    }
}

fn symbol_bytes(symbol: Symbol) -> [u8; 8] {
    let mut out = [0; 8];
    for (to, from) in out.iter_mut().zip(symbol.as_str().bytes()) {
        *to = from;
    }
    out
}

fn date_bytes(date: Date) -> Option<[u8; 4]> {
    let [y0, y1] = u16::try_from(date.year()).ok()?.to_be_bytes();
    Some([y0, y1, date.month().unsigned_abs(), date.day().unsigned_abs()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn row(ts: &str, root: &str, expiry: Date, strike_milli: u32, right: Right) -> HistoryRow {
        let contract = ContractKey { root: Symbol::parse(root).unwrap(), expiry, strike_milli, right };
        let (bid, ask, bid_size, ask_size) = (1.25, 1.5, f64::NAN, 10.0);
        let underlying = Symbol::parse("SPX").unwrap();
        let ts = ts.parse().unwrap();
        let activity = Activity { volume: 12.0, open_interest: f64::NAN };
        let quote = QuoteRecord { ts, underlying, contract, bid, ask, bid_size, ask_size, activity };
        HistoryRow { quote, spot: 4500.5 }
    }

    fn packed(row: &HistoryRow, day: Date) -> PackedRow {
        PackedRow::new(day, row.quote.underlying, row).unwrap()
    }

    /// Equal, NaN too.
    fn same(a: &HistoryRow, b: &HistoryRow) -> bool {
        format!("{a:?}") == format!("{b:?}")
    }

    #[test]
    fn a_row_comes_back_as_it_was() {
        for ts in ["2024-01-03T21:00:00Z", "2024-01-03T14:30:00.123456789Z", "1969-12-31T23:59:59.5Z"] {
            let row = row(ts, "SPXW", date(2024, 1, 19), 4_500_000, Right::Put);
            let packed = packed(&row, date(2024, 1, 3));
            assert!(same(&packed.row().unwrap(), &row), "{packed:?}");
            assert_eq!(packed.unit(), Some((date(2024, 1, 3), row.quote.underlying)));
        }
    }

    #[test]
    fn bytes_stand_in_the_order_of_rows() {
        let (a, b) = (date(2024, 1, 19), date(2024, 12, 1));
        let rows = [
            row("1969-01-03T14:30:00Z", "SPX", a, 1000, Right::Call),
            row("2024-01-03T14:30:00Z", "SPX", a, 999, Right::Put),
            row("2024-01-03T14:30:00Z", "SPX", a, 1000, Right::Call),
            row("2024-01-03T14:30:00Z", "SPX", a, 1000, Right::Put),
            row("2024-01-03T14:30:00Z", "SPX", a, 70_000, Right::Call),
            row("2024-01-03T14:30:00Z", "SPXW", a, 1000, Right::Call),
            row("2024-01-03T14:30:00Z", "SPX", b, 1000, Right::Call),
            row("2024-01-03T14:30:00.000000001Z", "SPX", a, 1000, Right::Call),
        ];
        let day = date(2024, 1, 3);
        assert!(rows.map(|row| packed(&row, day)).is_sorted());
        assert!(packed(&rows[7], day) < packed(&rows[0], date(2024, 1, 4)));
    }

    #[test]
    fn of_two_quotes_one_counts_whichever_comes_first() {
        let base = row("2024-01-03T14:30:00Z", "SPX", date(2024, 1, 19), 1000, Right::Call);
        let mut better = base;
        (better.quote.bid, better.spot) = (1.3, f64::NAN);
        let mut other = base;
        (other.quote.underlying, other.spot) = (base.quote.underlying, 4501.0);
        let day = date(2024, 1, 3);
        let [base, better, other] = [base, better, other].map(|row| packed(&row, day));
        assert!(base.is_same_quote(&better) && base.is_of_unit(&better));
        let want = |merged: PackedRow, bid: f64, spot: f64| {
            let row = merged.row().unwrap();
            assert_eq!([row.quote.bid, row.spot].map(f64::to_bits), [bid, spot].map(f64::to_bits));
        };
        want(base.merged(better), 1.3, 4500.5);
        want(better.merged(base), 1.3, 4500.5);
        want(base.merged(other), 1.25, 4501.0);
        // in any order of three
        assert_eq!(base.merged(better).merged(other), other.merged(base).merged(better));
    }
}
