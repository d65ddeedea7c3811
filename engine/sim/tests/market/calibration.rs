//! Calibration against the known truth of the synthetic market: forwards within a tenth of the parity half-spread,
//! volatilities within half the spread, at the median; the table by name is printed.

use engine::pass::{Computed, MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::{Book, BookSlice};
use engine::store::chain::Slice;
use engine::store::columns::Col;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::Right;
use sim::symbols::well_known;
use sim::{SimMarket, SliceTruth};

/// One or two names of every kind: European, American, all sorts of payers, hard to borrow, adjusted, illiquid.
const NAMES: [&str; 14] =
    ["SPX", "NDX", "RUT", "VIX", "SPY", "AAPL", "TSLA", "KO", "GME", "BYND", "TLT", "NVDY", "DDS", "MATX"];

/// Errors in units of the half-spread.
#[derive(Default)]
struct Errors {
    forward: Vec<f64>,
    vol: Vec<f64>,
    missing: u32,
}

impl Errors {
    fn extend(&mut self, other: Self) {
        self.forward.extend(other.forward);
        self.vol.extend(other.vol);
        self.missing += other.missing;
    }

    fn show(&mut self, name: &str) {
        let [f50, f90] = [0.5, 0.9].map(|p| quantile(&mut self.forward, p));
        let [v50, v90] = [0.5, 0.9].map(|p| quantile(&mut self.vol, p));
        println!("{name:6} {f50:9.3} {f90:8.3} {v50:10.3} {v90:8.3} {:8}", self.missing);
    }
}

fn quantile(of: &mut [f64], p: f64) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(((of.len().max(1) - 1) as f64 * p) as usize).copied().unwrap_or(f64::NAN)
}

/// Half the width of the interval that call and put leave to the forward: the median of the five strikes nearest to it.
fn parity_half_spread(slice: &BookSlice, fwd: f64) -> f64 {
    let mut pairs: Vec<(f64, f64)> = (1..slice.right.len())
        .filter(|&i| slice.strike_milli[i] == slice.strike_milli[i - 1])
        .map(|i| {
            let width = slice.ask[i] - slice.bid[i] + slice.ask[i - 1] - slice.bid[i - 1];
            ((f64::from(slice.strike_milli[i]) / 1000.0 - fwd).abs(), width / 2.0)
        })
        .filter(|&(_, half)| half > 0.0)
        .collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    quantile(&mut pairs.iter().take(5).map(|p| p.1).collect::<Vec<_>>(), 0.5)
}

/// Errors of the volatilities out of the money, where bid and ask both have one.
fn vol_errors(quoted: &BookSlice, computed: &Computed, rows: &Slice, truth: &SliceTruth) -> Vec<f64> {
    let column = |col: Col| &computed.chain.columns.get(col)[rows.rows.start as usize..rows.rows.end as usize];
    let (bid, ask, svc) = (column(Col::BidVol), column(Col::AskVol), column(Col::SvcVol));
    let mut out = Vec::new();
    for i in 0..quoted.right.len() {
        let strike = f64::from(quoted.strike_milli[i]) / 1000.0;
        let outside = (strike >= truth.fwd) == (quoted.right[i] == Right::Call);
        if outside && ask[i] > bid[i] {
            out.push((svc[i] - truth.sigma(strike)).abs() / (0.5 * (ask[i] - bid[i])));
        }
    }
    out
}

fn errors(market: &SimMarket, book: &Book, computed: &Computed, now: Timestamp) -> Errors {
    let mut errors = Errors::default();
    for (quoted, slice) in book.slices.iter().zip(&computed.chain.slices).filter(|(q, _)| !q.adjusted) {
        assert_eq!((quoted.root, quoted.expiry), (slice.root, slice.expiry), "rows of both in native order");
        let truth = market.truth(quoted.root, quoted.expiry, now).unwrap();
        if slice.fwd_price.is_nan() {
            errors.missing += 1;
            continue;
        }
        errors.forward.push((slice.fwd_price - truth.fwd).abs() / parity_half_spread(quoted, truth.fwd));
        errors.vol.extend(vol_errors(quoted, computed, slice, &truth));
    }
    errors
}

#[test]
fn calibration_finds_the_truth_within_the_spread() {
    let now: Timestamp = "2026-10-14T15:00:00Z".parse().unwrap();
    let universe: Vec<_> = well_known().into_iter().filter(|n| NAMES.contains(&n.symbol.as_str())).collect();
    let market = SimMarket::with_universe(1, now, &universe);
    assert_eq!(market.len(), NAMES.len());
    let mut passes = Passes::new(0, |_| ()).unwrap();
    let books = passes.map(0..market.len(), |i| market.book(i, now).unwrap());
    let (calendar, curves) =
        (Calendar::embedded(), RateTable::of(RateSource::Simulated, DiscountCurves::new(&market.rates())));
    let work: Vec<_> = books.iter().map(|b| (b, b.ts)).collect();
    let computed = passes.run(MarketData { calendar: &calendar, rates: &curves }, &work);

    println!("errors over the half-spread:\nname    forward50      p90      vol50      p90  missing");
    let mut all = Errors::default();
    for (book, computed) in books.iter().zip(&computed) {
        let mut of_name = errors(&market, book, computed, now);
        of_name.show(book.underlying.as_str());
        all.extend(of_name);
    }
    all.show("all");
    assert_eq!(all.missing, 0, "expiries without a forward");
    assert!(all.forward.len() > 150 && all.vol.len() > 3000, "{} and {}", all.forward.len(), all.vol.len());
    let (forward, vol) = (quantile(&mut all.forward, 0.5), quantile(&mut all.vol, 0.5));
    assert!(forward < 0.1, "forwards miss by {forward} of the parity half-spread at the median");
    assert!(vol < 0.5, "volatilities miss by {vol} of the half-spread at the median");
}
