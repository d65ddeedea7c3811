//! Overrides of the quotes by a user: values are those of the forced inputs, everything else stays as it is bit
//! for bit, and when it is no longer said the old numbers are back.

use engine::pass::{MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use engine::store::overrides::Overrides;
use feeds::overrides::parse_overrides;
use jiff::Timestamp;
use kernel::black76::{Horizon, european_vol};
use kernel::calendar::{Calendar, years_between};
use kernel::contract::{RootTable, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::lanes::Mask;
use kernel::lattice::Lattice;
use sim::SimMarket;
use sim::symbols::well_known;
use std::path::Path;
use std::sync::Arc;

/// A European index with two roots, a payer of dividends, a stock without any, an index of volatility.
const NAMES: [&str; 4] = ["SPX", "KO", "AMD", "VIX"];
/// Layers of the lattice that American values are held against, and how far the two may be apart, of the strike.
const LAYERS: usize = 400;
const LATTICE_ERROR: f64 = 2e-4;
/// Greatest move of a forward, as a part of it, that moves no borrow rate kept from pass to pass (`CARRY.still`).
const STILL: f64 = 5e-5;

struct Market {
    at: Timestamp,
    calendar: Calendar,
    curves: RateTable,
    books: Vec<Book>,
}

impl Market {
    fn new() -> Self {
        let at: Timestamp = "2026-11-18T11:00:00-05:00".parse().unwrap();
        let names: Vec<_> = well_known().into_iter().filter(|n| NAMES.contains(&n.symbol.as_str())).collect();
        let sim = SimMarket::with_universe(1, at, &names);
        let books: Vec<Book> = (0..sim.len()).filter_map(|i| sim.book(i, at)).collect();
        assert_eq!(books.len(), NAMES.len());
        Self {
            at,
            calendar: Calendar::embedded(),
            curves: RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates())),
            books,
        }
    }

    fn run(&self, passes: &mut Passes, rows: &str) -> Vec<Arc<Chain>> {
        passes.set_overrides(overrides(rows));
        let work: Vec<(&Book, Timestamp)> = self.books.iter().map(|book| (book, self.at)).collect();
        let done = passes.run(MarketData { calendar: &self.calendar, rates: &self.curves }, &work);
        done.into_iter().map(|computed| computed.chain).collect()
    }

    /// A first pass with these rows.
    fn first(&self, rows: &str) -> Vec<Arc<Chain>> {
        self.run(&mut Passes::new(1, |_| ()).unwrap(), rows)
    }

    fn terms(&self, name: &str, slice: &Slice) -> Terms {
        let book = self.books.iter().find(|book| book.underlying.as_str() == name).unwrap();
        let t = years_between(self.at, slice.settles_at);
        let timed = book.dividends.iter().map(|&(date, amount)| (self.calendar.ex_instant(date), amount));
        let divs = timed.map(|(ex, amount)| Dividend { t: years_between(self.at, ex), amount });
        let divs = divs.filter(|d| d.t > 0.0 && d.t <= t).collect();
        Terms { t, r: slice.disc_rate, b: slice.borr_rate, divs }
    }
}

fn overrides(rows: &str) -> Overrides {
    let text = format!("underlying,root,expiry,what,value\n{rows}");
    let (records, report) = parse_overrides(Path::new("o.csv"), text.as_bytes());
    assert_eq!(report.places, []);
    Overrides::new(&records, &RootTable::embedded())
}

fn of<'a>(chains: &'a [Arc<Chain>], name: &str) -> &'a Chain {
    chains.iter().find(|chain| chain.underlying.as_str() == name).unwrap()
}

/// The slice of a chain that expires about so many days from now, of its first root there.
fn about(chain: &Chain, days: f64) -> usize {
    let away = |i: &usize| (chain.slices[*i].days - days).abs();
    (0..chain.slices.len()).min_by(|a, b| away(a).total_cmp(&away(b))).unwrap()
}

/// Everything of a slice, bit for bit.
fn whole(chain: &Chain, i: usize) -> String {
    let slice = &chain.slices[i];
    let rows = slice.rows.start as usize..slice.rows.end as usize;
    let columns: Vec<Vec<u64>> = Col::ALL
        .iter()
        .map(|&col| chain.columns.get(col)[rows.clone()].iter().map(|x| x.to_bits()).collect())
        .collect();
    format!("{slice:?} {:?} {columns:?}", &chain.dropped[rows])
}

/// Where two lists of chains differ: name and place of the slice.
fn differences(a: &[Arc<Chain>], b: &[Arc<Chain>]) -> Vec<(String, usize)> {
    let mut out = Vec::new();
    for (a, b) in a.iter().zip(b) {
        assert_eq!((a.underlying, a.slices.len()), (b.underlying, b.slices.len()));
        let differ = (0..a.slices.len()).filter(|&i| whole(a, i) != whole(b, i));
        out.extend(differ.map(|i| (a.underlying.to_string(), i)));
    }
    out
}

/// The spot of each name and the one that its options imply, bit for bit.
fn spots(chains: &[Arc<Chain>]) -> String {
    let of = |chain: &Arc<Chain>| (chain.spot, chain.implied_spot, chain.implied_spot_error, chain.spot_off);
    format!("{:?}", chains.iter().map(of).collect::<Vec<_>>())
}

/// Every value of a slice against a valuation of its own at what the row shows; how many there were.
fn check_values(market: &Market, chain: &Chain, i: usize) -> usize {
    let slice = &chain.slices[i];
    let terms = market.terms(chain.underlying.as_str(), slice);
    let s = terms.a(0.0) + slice.fwd_price * (-(terms.r - terms.b) * terms.t).exp();
    let horizon = Horizon::from(&terms);
    let mut seen = 0;
    for row in slice.rows.start as usize..slice.rows.end as usize {
        let (k, right) = (f64::from(chain.strike_milli[row]) / 1000.0, chain.right[row]);
        let (sigma, shown) = (chain.columns.get(Col::SvcVol)[row], chain.columns.get(Col::SvcTheo)[row]);
        let european = european_vol(right.phi(), &horizon, s - terms.a(0.0), k, sigma).value;
        let (value, error) = if slice.style == Style::European {
            (european, 1e-9)
        } else {
            let premium = Lattice::new(&terms, s, right, LAYERS).premium(k, sigma);
            let exercised = (s - k) * right.phi();
            (if premium.exercised.any() { exercised } else { european + premium.value }, LATTICE_ERROR)
        };
        assert!((value - shown).abs() <= error * k, "{} {right:?} {k}: {shown} for {value}", chain.underlying);
        seen += 1;
    }
    seen
}

#[test]
fn a_forced_forward_is_the_forward_and_the_borrow_follows_from_it() {
    let market = Market::new();
    let before = market.first("");
    for (name, times) in [("SPX", 1.004), ("KO", 0.985), ("AMD", 1.01)] {
        let chain = of(&before, name);
        let i = about(chain, 60.0);
        let slice = &chain.slices[i];
        let fwd = (slice.fwd_price * times * 100.0).round() / 100.0;
        let place = format!("{name},{},{}", slice.root, slice.expiry);
        let after = market.first(&format!("{place},forward,{fwd}\n"));
        let forced = &of(&after, name).slices[i];
        assert_eq!([forced.fwd_price, forced.und_price].map(f64::to_bits), [fwd, chain.spot].map(f64::to_bits));
        let terms = market.terms(name, forced);
        assert!((terms.fwd(chain.spot) / fwd - 1.0).abs() < 1e-12, "{name}: {forced:?}");
        let kept = |slice: &Slice| [slice.disc_rate, slice.divs].map(f64::to_bits);
        assert_eq!(kept(forced), kept(slice));
        assert!(check_values(&market, of(&after, name), i) > 20);
        // neighbours may be put in calendar order with its curve, and are told what they were
        for (place, (a, b)) in chain.slices.iter().zip(&of(&after, name).slices).enumerate() {
            assert!(place == i || a == b, "{name}: {a:?} {b:?}");
        }
        assert_eq!(spots(&before), spots(&after));
        assert!(differences(&before, &after).iter().all(|(other, _)| other == name), "other names stay");
        // the same told by the borrow
        let by_borrow = market.first(&format!("{place},borrow,{}\n", forced.borr_rate));
        let [one, other] = [&after, &by_borrow].map(|chains| of(chains, name));
        assert!((other.slices[i].fwd_price / fwd - 1.0).abs() < 1e-12);
        for row in forced.rows.start as usize..forced.rows.end as usize {
            let [one, other] = [one, other].map(|chain| chain.columns.get(Col::SvcTheo)[row]);
            assert!((one - other).abs() < 1e-6 * chain.spot, "{name}, row {row}: {one} {other}");
        }
    }
}

#[test]
fn the_forward_of_an_index_of_volatility_is_its_price() {
    let market = Market::new();
    let before = market.first("");
    let i = about(of(&before, "VIX"), 60.0);
    let expiry = of(&before, "VIX").slices[i].expiry;
    let after = market.first(&format!("VIX,,{expiry},forward,23.25\n"));
    let Slice { fwd_price, und_price, borr_rate, disc_rate, .. } = of(&after, "VIX").slices[i];
    assert_eq!([fwd_price, und_price, borr_rate].map(f64::to_bits), [23.25, 23.25, disc_rate].map(f64::to_bits));
    assert!(check_values(&market, of(&after, "VIX"), i) > 20);
}

#[test]
fn a_forward_and_a_borrow_together_tell_the_spot_that_values_use() {
    let market = Market::new();
    let before = market.first("");
    let i = about(of(&before, "AMD"), 60.0);
    let (expiry, fwd) = (of(&before, "AMD").slices[i].expiry, (of(&before, "AMD").slices[i].fwd_price * 0.97).round());
    let after = market.first(&format!("AMD,,{expiry},forward,{fwd}\nAMD,,{expiry},borrow,0.01\n"));
    let slice = &of(&after, "AMD").slices[i];
    let shown = [slice.fwd_price, slice.borr_rate, slice.und_price];
    assert_eq!(shown.map(f64::to_bits), [fwd, 0.01, of(&before, "AMD").spot].map(f64::to_bits));
    assert!(check_values(&market, of(&after, "AMD"), i) > 20);
}

#[test]
fn a_shift_moves_the_curve_that_values_are_of_and_nothing_else() {
    let market = Market::new();
    let before = market.first("");
    for name in ["SPX", "KO"] {
        let chain = of(&before, name);
        let i = about(chain, 60.0);
        let Slice { root, expiry, rows, .. } = chain.slices[i].clone();
        let after = market.first(&format!("{name},{root},{expiry},vol_shift,2.5\n"));
        assert_eq!(differences(&before, &after), [(name.to_owned(), i)], "one expiry changes");
        assert_eq!(spots(&before), spots(&after));
        let shifted = of(&after, name);
        assert_eq!((&shifted.slices, &shifted.dropped), (&chain.slices, &chain.dropped));
        for col in [Col::BidVol, Col::MidVol, Col::AskVol, Col::ConfVol, Col::PrevVol] {
            let bits = |chain: &Chain| chain.columns.get(col).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(chain), bits(shifted), "{col:?}");
        }
        let rows = rows.start as usize..rows.end as usize;
        let [curve, shown] = [chain, shifted].map(|chain| &chain.columns.get(Col::SvcVol)[rows.clone()]);
        for (curve, shown) in curve.iter().zip(shown) {
            assert_eq!((curve + 0.025).to_bits(), shown.to_bits(), "{name}: {curve} {shown}");
        }
        assert!(check_values(&market, shifted, i) > 20);
    }
}

#[test]
fn a_shift_that_leaves_no_volatility_leaves_no_value() {
    let market = Market::new();
    let (before, after) = (market.first(""), market.first("KO,,,vol_shift,-18\n"));
    let [before, after] = [&before, &after].map(|chains| of(chains, "KO").columns.get(Col::SvcVol));
    let kept = |vol: f64| vol - 0.18 >= 1e-3;
    assert!(before.iter().any(|&vol| kept(vol)) && before.iter().any(|&vol| !kept(vol)), "both are there");
    for (before, after) in before.iter().zip(after) {
        assert_eq!(after.is_finite(), kept(*before), "{before} {after}");
    }
}

#[test]
fn when_nothing_is_said_any_more_the_old_numbers_are_back() {
    let market = Market::new();
    let expiry = |chains: &[Arc<Chain>], name: &str| {
        let chain = of(chains, name);
        chain.slices[about(chain, 60.0)].expiry
    };
    let first = market.first("");
    let rows: String = ["SPX", "KO", "AMD"]
        .map(|name| {
            let fwd = (of(&first, name).spot * 1.02).round();
            format!("{name},,{},forward,{fwd}\n{name},,,vol_shift,-3\n", expiry(&first, name))
        })
        .concat();
    let mut plain = Passes::new(1, |_| ()).unwrap();
    let mut told = Passes::new(1, |_| ()).unwrap();
    let mut last = [Vec::new(), Vec::new()];
    for rows in ["", rows.as_str(), rows.as_str(), "", ""] {
        last = [market.run(&mut plain, ""), market.run(&mut told, rows)];
    }
    // what is kept from pass to pass are first guesses and, of American values, what is remembered of early exercise
    let differ = differences(&last[0], &last[1]);
    for (name, i) in differ {
        let [one, other] = [0, 1].map(|which| of(&last[which], &name));
        let (a, b) = (&one.slices[i], &other.slices[i]);
        assert!(a == b || a.style == Style::American, "{name}: a European forward is the same bits: {a:?} {b:?}");
        assert!(
            (a.fwd_price / b.fwd_price - 1.0).abs() < STILL && (a.borr_rate - b.borr_rate).abs() < 1e-3,
            "{a:?} {b:?}"
        );
        for row in a.rows.start as usize..a.rows.end as usize {
            let [a, b] = [one, other].map(|chain| chain.columns.get(Col::SvcTheo)[row]);
            assert!((a - b).abs() < 1e-4 * one.spot, "{name}, row {row}: {a} {b}");
        }
    }
}
