//! Records as our own lines: what [`lines`](super::lines) reads, the other way round. A number is written so that the
//! same one is read again. Never: a file, a compression.

use core::fmt::Arguments;
use jiff::Timestamp;
use kernel::contract::osi::OSI_LEN;
use kernel::contract::{Right, RootTable, Symbol};
use kernel::records::{DividendRecord, QuoteRecord, RateRecord, SpotRecord};
use std::io::Write;

/// Years whose expirations an OSI symbol can hold.
const OSI_YEARS: core::ops::Range<i16> = 2000..2100;

/// Writes records as lines.
#[derive(Debug)]
pub struct LineWriter {
    roots: RootTable,
    /// Root and underlying of the last quote, and true if the root implies the underlying.
    last: Option<(Symbol, Symbol, bool)>,
}

impl LineWriter {
    /// A writer for readers with the same root table.
    #[must_use]
    pub fn new(roots: RootTable) -> Self {
        Self { roots, last: None }
    }

    /// Everything that was quoted of a name so far is forgotten.
    pub fn forget(&self, name: Symbol, out: &mut Vec<u8>) {
        put(out, format_args!("{{\"forget\":\"{}\"}}\n", name.as_str()));
    }

    /// A quote.
    pub fn quote(&mut self, quote: &QuoteRecord, out: &mut Vec<u8>) {
        let contract = quote.contract;
        // an OSI symbol has two digits of a year, which are read as of this century
        if OSI_YEARS.contains(&contract.expiry.year()) {
            let mut symbol = [0; OSI_LEN];
            let length = contract.write_compact(&mut symbol);
            out.extend_from_slice(b"{\"osym\":\"");
            out.extend_from_slice(&symbol[..length]);
        } else {
            let right = if contract.right == Right::Call { "call" } else { "put" };
            let (whole, milli) = (contract.strike_milli / 1000, contract.strike_milli % 1000);
            let (root, expiry) = (contract.root.as_str(), contract.expiry);
            put(
                out,
                format_args!(
                    "{{\"root\":\"{root}\",\"expiry\":\"{expiry}\",\"strike\":{whole}.{milli:03},\"right\":\"{right}"
                ),
            );
        }
        out.extend_from_slice(b"\"");
        if !self.is_root_enough(contract.root, quote.underlying) {
            put(out, format_args!(",\"underlying\":\"{}\"", quote.underlying.as_str()));
        }
        for (name, price) in [("bid", quote.bid), ("ask", quote.ask)] {
            // a side that is not quoted stands there, so that its absence is no slip
            match price.is_nan() {
                true => put(out, format_args!(",\"{name}\":null")),
                false => put(out, format_args!(",\"{name}\":{price}")),
            }
        }
        let counts = [
            ("bid_size", quote.bid_size),
            ("ask_size", quote.ask_size),
            ("volume", quote.activity.volume),
            ("open_interest", quote.activity.open_interest),
        ];
        for (name, size) in counts {
            if !size.is_nan() {
                put(out, format_args!(",\"{name}\":{size}"));
            }
        }
        put_time(quote.ts, out);
    }

    /// The price of an underlying.
    pub fn spot(&self, spot: &SpotRecord, out: &mut Vec<u8>) {
        put(out, format_args!("{{\"symbol\":\"{}\",\"price\":{}", spot.underlying.as_str(), spot.price));
        put_time(spot.ts, out);
    }

    /// A dividend; an amount of 0 takes it away.
    pub fn dividend(&self, dividend: &DividendRecord, out: &mut Vec<u8>) {
        let DividendRecord { underlying, ex_date, amount, projected } = dividend;
        let status = if *projected { ",\"status\":\"projected\"" } else { "" };
        let name = underlying.as_str();
        put(out, format_args!("{{\"symbol\":\"{name}\",\"ex_date\":\"{ex_date}\",\"amount\":{amount}{status}}}\n"));
    }

    /// A point of a discount curve; a rate of NaN takes it away.
    pub fn rate(&self, point: &RateRecord, out: &mut Vec<u8>) {
        let RateRecord { date, tenor_days, rate } = point;
        put(out, format_args!("{{\"date\":\"{date}\",\"tenor_days\":{tenor_days},\"rate\":"));
        match rate.is_nan() {
            true => put(out, format_args!("null}}\n")),
            false => put(out, format_args!("{rate}}}\n")),
        }
    }

    /// True if a reader knows the underlying by the root.
    fn is_root_enough(&mut self, root: Symbol, underlying: Symbol) -> bool {
        match self.last {
            Some((last, of, is_enough)) if (last, of) == (root, underlying) => is_enough,
            _ => {
                let is_enough = self.roots.underlying_of(root) == underlying;
                self.last = Some((root, underlying, is_enough));
                is_enough
            }
        }
    }
}

/// The time in the coarsest unit that holds it, and the end of the line.
fn put_time(ts: Timestamp, out: &mut Vec<u8>) {
    let ns = ts.as_nanosecond();
    // the coarsest unit without loss: most times are whole seconds, and a day has millions of them
    let unit = [1_000_000_000, 1_000_000, 1_000].into_iter().find(|unit| ns % unit == 0).unwrap_or(1);
    put(out, format_args!(",\"time\":{}}}\n", ns / unit));
}

fn put(out: &mut Vec<u8>, text: Arguments<'_>) {
    // memory takes everything
    let _ = out.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::parse_lines;
    use jiff::civil::date;
    use kernel::contract::ContractKey;
    use kernel::records::{Activity, Batch};
    use proptest::prelude::*;
    use std::path::Path;

    fn sym(text: &str) -> Symbol {
        Symbol::parse_underlying(text).unwrap()
    }

    fn read(lines: &[u8]) -> Batch {
        let (batch, report) = parse_lines(Path::new("x"), lines);
        assert_eq!(report.places, [], "{}", String::from_utf8_lossy(lines));
        batch
    }

    /// A quote as bits, for NaN is NaN here.
    fn bits(q: &QuoteRecord) -> (Timestamp, Symbol, ContractKey, [u64; 6]) {
        let Activity { volume, open_interest } = q.activity;
        let numbers = [q.bid, q.ask, q.bid_size, q.ask_size, volume, open_interest];
        (q.ts, q.underlying, q.contract, numbers.map(f64::to_bits))
    }

    fn price() -> impl Strategy<Value = f64> {
        prop_oneof![Just(f64::NAN), Just(0.0), 0.0..1e7f64, (0..100_000u32).prop_map(|cents| f64::from(cents) / 100.0)]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            (bid, ask, bid_size, ask_size) in (price(), price(), price(), price()),
            (volume, open_interest) in (price(), price()),
            ns in 631_152_000_000_000_000i64..4_102_444_799_000_000_000,
            unit in prop::sample::select(vec![1i64, 1_000, 1_000_000, 1_000_000_000]),
            strike_milli in 1u32..100_000_000,
            (year, put) in (1990i16..2100, any::<bool>()),
            (root, underlying) in prop::sample::select(vec![
                ("SPXW", "SPX"), ("AAPL", "AAPL"), ("AAPL1", "AAPL"), ("OLD1", "NEW"), ("BRKB", "BRK.B"), ("META", "FB"),
            ]),
        ) {
            let right = if put { Right::Put } else { Right::Call };
            let contract = ContractKey { root: sym(root), expiry: date(year, 2, 28), strike_milli, right };
            let ts = Timestamp::from_nanosecond(i128::from(ns / unit * unit)).unwrap();
            let quote = QuoteRecord { ts, underlying: sym(underlying), contract, bid, ask, bid_size, ask_size, activity: Activity { volume, open_interest } };
            let mut out = Vec::new();
            LineWriter::new(RootTable::embedded()).quote(&quote, &mut out);
            let back = read(&out);
            prop_assert_eq!(back.quotes.iter().map(bits).collect::<Vec<_>>(), vec![bits(&quote)]);
        }
    }

    #[test]
    fn the_other_lines_are_read_again() {
        let (mut out, writer) = (Vec::new(), LineWriter::new(RootTable::embedded()));
        let spot = SpotRecord { ts: Timestamp::constant(1_795_207_320, 5), underlying: sym("BRK.B"), price: 0.1 + 0.2 };
        let dividend =
            |amount, projected| DividendRecord { underlying: sym("KO"), ex_date: date(2026, 12, 1), amount, projected };
        let rate = |rate| RateRecord { date: date(2026, 11, 20), tenor_days: 30.5, rate };
        writer.forget(sym("BRK.B"), &mut out);
        writer.spot(&spot, &mut out);
        writer.dividend(&dividend(0.51, true), &mut out);
        writer.dividend(&dividend(0.0, false), &mut out);
        writer.rate(&rate(-0.0125), &mut out);
        writer.rate(&rate(f64::NAN), &mut out);
        let back = read(&out);
        assert_eq!((back.reset, back.spots), (vec![sym("BRK.B")], vec![spot]));
        assert_eq!(back.dividends.unwrap(), [dividend(0.51, true), dividend(0.0, false)]);
        let rates = back.rates.unwrap();
        assert!(rates[0] == rate(-0.0125) && rates[1].rate.is_nan(), "{rates:?}");
    }
}
