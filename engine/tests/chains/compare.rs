//! Why a vendor's Greeks differ: mistakes of which we know that they were made, on the made-up market.

use engine::compare::{
    COMPARED, Comparison, LikelyReason, PutNumbers, RhoDays, ThetaConvention, VendorNumbers, VendorRow, VendorVols,
    compare,
};
use engine::explain::{ValueBasis, value_basis};
use engine::pass::{MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use engine::store::quotes::QuoteNumber;
use jiff::Timestamp;
use kernel::american::{Band, Pricer};
use kernel::calendar::{Calendar, years_between};
use kernel::contract::{Right, Settle, Style};
use kernel::dividends::Terms;
use kernel::greeks::{Greek, Greeks};
use kernel::implied::{ImpliedStatus, implied};
use kernel::quality::Quality;
use sim::SimMarket;
use sim::symbols::well_known;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

const NAMES: [&str; 9] = ["SPX", "KO", "AAPL", "JPM", "AMZN", "VZ", "XOM", "PFE", "T"];

static CHAINS: LazyLock<BTreeMap<String, Arc<Chain>>> = LazyLock::new(|| {
    let at: Timestamp = "2026-11-18T14:00:00-05:00".parse().unwrap();
    let names: Vec<_> = well_known().into_iter().filter(|n| NAMES.contains(&n.symbol.as_str())).collect();
    let sim = SimMarket::with_universe(1, at, &names);
    let books: Vec<Book> = (0..sim.len()).filter_map(|i| sim.book(i, at)).collect();
    let (calendar, curves) =
        (Calendar::embedded(), RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates())));
    let mut passes = Passes::new(2, |_| ()).unwrap();
    passes.keep_quotes();
    let work: Vec<(&Book, Timestamp)> = books.iter().map(|book| (book, at)).collect();
    let mut done = Vec::new();
    for quality in [Quality::Preliminary, Quality::Full] {
        done = passes.run_to(quality, MarketData { calendar: &calendar, rates: &curves }, &work);
    }
    done.into_iter().map(|computed| (computed.chain.underlying.to_string(), computed.chain)).collect()
});

/// How a vendor values an expiry.
struct Vendor {
    style: Style,
    s: f64,
    terms: Terms,
}

/// Every number rounded as Cboe prints it.
const DIGITS: VendorRow = VendorRow { row: 0, sigma: 1e-4, greeks: [1e-4; COMPARED.len()] };

fn rounded(x: f64, step: f64) -> f64 {
    (x / step).round() * step
}

/// The values of a vendor for a chain whose terms `err` makes wrong, slice by slice: volatilities that the middle of
/// quotes implies there, and Greeks at them in `units`.
fn shown(
    chain: &Chain,
    err: &dyn Fn(usize, ValueBasis, Style) -> Vendor,
    units: &dyn Fn(&Greeks<f64>, f64, f64) -> VendorNumbers,
) -> Vec<VendorRow> {
    let mut rows = Vec::new();
    for (i, slice) in chain.slices.iter().enumerate() {
        let Some(basis) = value_basis(chain, i) else { continue };
        let Vendor { style, s, terms } = err(i, basis, slice.style);
        let quotes = chain.quotes.as_ref().unwrap();
        let mut listed: BTreeMap<bool, Vec<(u32, f64, f64, f64)>> = BTreeMap::new();
        for row in slice.rows.clone() {
            let at = row as usize;
            let (k, sigma) = (f64::from(chain.strike_milli[at]) / 1000.0, chain.columns.get(Col::SvcVol)[at]);
            let mid = quotes.get(at, QuoteNumber::Mid);
            let near = (k / slice.fwd_price).ln().abs() < 2.0 * sigma * terms.t.sqrt();
            if near && chain.dropped[at].is_none() && mid > 0.0 {
                listed.entry(chain.right[at] == Right::Put).or_default().push((row, k, mid, sigma));
            }
        }
        for (is_put, contracts) in listed {
            let right = if is_put { Right::Put } else { Right::Call };
            let bands: Vec<Band> =
                contracts.iter().map(|&(_, k, _, v)| Band { k: (k, k), sigma: (0.6 * v, 1.6 * v) }).collect();
            let pricer = Pricer::new(style, right, &terms, bands.as_slice(), Quality::Full);
            let here = pricer.at(&terms, s);
            for (row, k, mid, start) in contracts {
                let found = implied(&here, k, mid, start);
                if found.status(0) != ImpliedStatus::Ok {
                    continue;
                }
                let x = s - terms.a(0.0);
                let greeks = units(&here.greeks(k, found.sigma), found.sigma, x);
                let greeks = greeks.map(|greek| rounded(greek, DIGITS.greeks[0]));
                rows.push(VendorRow { row, sigma: rounded(found.sigma, DIGITS.sigma), greeks });
            }
        }
    }
    rows
}

/// The units of the native record.
fn native(greeks: &Greeks<f64>, _: f64, _: f64) -> VendorNumbers {
    COMPARED.map(|greek| greeks.get(greek) / greek.unit().divisor())
}

fn right_terms(_: usize, basis: ValueBasis, style: Style) -> Vendor {
    Vendor { style, s: basis.s, terms: basis.terms }
}

fn compared(name: &str, err: &dyn Fn(usize, ValueBasis, Style) -> Vendor) -> Comparison {
    let chain = &CHAINS[name];
    compare(chain, &Calendar::embedded(), &shown(chain, err, &native), &DIGITS, 2)
}

/// How many expiries have the right reason first, of those that the mistake acts on; prints what the others have.
fn right_first(
    what: &str,
    names: &[&str],
    err: &dyn Fn(usize, ValueBasis, Style) -> Vendor,
    acts: &dyn Fn(&Chain, usize) -> bool,
    is_right: &dyn Fn(LikelyReason) -> bool,
) -> (usize, usize) {
    let (mut right, mut n) = (0, 0);
    for name in names {
        let chain = &CHAINS[*name];
        for expiry in compared(name, err).expiries.iter().filter(|expiry| acts(chain, expiry.slice)) {
            n += 1;
            if is_right(expiry.reasons[0].reason) {
                right += 1;
            } else {
                let slice = &chain.slices[expiry.slice];
                println!(
                    "  {what}: {name} {} {} days {:.1}: {} contracts, rms {:.1e}, at vendor {:.1e}, digits {:.1e}: {:?}",
                    slice.root,
                    slice.expiry,
                    slice.days,
                    expiry.contracts,
                    expiry.rms,
                    expiry.rms_at_vendor_vol,
                    expiry.rms_of_digits,
                    expiry.reasons
                );
            }
        }
    }
    println!("{what}: the right reason first in {right} of {n} expiries");
    (right, n)
}

fn nine_in_ten((right, n): (usize, usize), least: usize) {
    assert!(n >= least, "{n} expiries");
    assert!(10 * right >= 9 * n, "{right} of {n}");
}

fn first_dividend(chain: &Chain) -> jiff::civil::Date {
    chain.evidence.as_ref().unwrap().dividends[0].ex_date
}

fn everywhere(_: &Chain, _: usize) -> bool {
    true
}

#[test]
fn a_vendor_that_values_as_we_do_agrees() {
    for name in NAMES {
        for expiry in compared(name, &right_terms).expiries {
            let reason = expiry.reasons[0].reason;
            assert!(matches!(reason, LikelyReason::Agrees | LikelyReason::Volatility), "{name} {expiry:?}");
            assert!(expiry.rms_at_vendor_vol < 1.5 * expiry.rms_of_digits, "{name} {expiry:?}");
        }
    }
}

#[test]
fn a_missing_dividend_is_found() {
    let names = ["KO", "AAPL", "JPM", "VZ", "XOM", "PFE", "T"];
    let mut sums = (0, 0);
    for name in names {
        let date = first_dividend(&CHAINS[name]);
        let err = |_: usize, mut basis: ValueBasis, style: Style| {
            let gone = basis.dividends.iter().position(|dividend| dividend.ex_date == date);
            gone.map(|at| basis.terms.divs.remove(at));
            Vendor { style, s: basis.s, terms: basis.terms }
        };
        let acts = |chain: &Chain, slice: usize| chain.slices[slice].expiry >= date;
        let is_right = |reason: LikelyReason| match reason {
            LikelyReason::MissingDividend { date: found, .. } => found == date,
            _ => false,
        };
        let found = right_first("missing dividend", &[name], &err, &acts, &is_right);
        sums = (sums.0 + found.0, sums.1 + found.1);
    }
    nine_in_ten(sums, 20);
}

#[test]
fn borrow_rate_and_spot_are_told_apart_with_their_size() {
    let borrow = |_: usize, mut basis: ValueBasis, style: Style| {
        basis.terms.b -= 0.01;
        Vendor { style, s: basis.s, terms: basis.terms }
    };
    let is_borrow = |reason: LikelyReason| matches!(reason, LikelyReason::Borrow(by) if (by + 0.01).abs() < 0.002);
    nine_in_ten(right_first("borrow", &NAMES, &borrow, &everywhere, &is_borrow), 60);
    let rate = |_: usize, mut basis: ValueBasis, style: Style| {
        basis.terms.r += 0.005;
        Vendor { style, s: basis.s, terms: basis.terms }
    };
    let is_rate = |reason: LikelyReason| matches!(reason, LikelyReason::Rate(by) if (by - 0.005).abs() < 0.001);
    nine_in_ten(right_first("rate", &NAMES, &rate, &everywhere, &is_rate), 60);
    let spot = |_: usize, basis: ValueBasis, style: Style| Vendor { style, s: 0.997 * basis.s, terms: basis.terms };
    let is_spot = |reason: LikelyReason| matches!(reason, LikelyReason::Spot(by) if (by + 0.003).abs() < 0.0006);
    nine_in_ten(right_first("spot", &NAMES, &spot, &everywhere, &is_spot), 60);
}

#[test]
fn settlement_at_the_open_taken_as_at_the_close_is_found() {
    let chain = &CHAINS["SPX"];
    let err = |slice: usize, mut basis: ValueBasis, style: Style| {
        let of = &chain.slices[slice];
        basis.terms.t = years_between(chain.valued_at, Calendar::embedded().settlement(of.expiry, Settle::Pm));
        Vendor { style, s: basis.s, terms: basis.terms }
    };
    let acts = |chain: &Chain, slice: usize| chain.slices[slice].settle == Settle::Am;
    let is_right = |reason: LikelyReason| reason == LikelyReason::OtherSettlement;
    nine_in_ten(right_first("am as pm", &["SPX"], &err, &acts, &is_right), 5);
}

#[test]
fn a_european_model_of_american_contracts_is_found_where_it_matters() {
    let err = |_: usize, basis: ValueBasis, _: Style| Vendor { style: Style::European, s: basis.s, terms: basis.terms };
    let season = |chain: &Chain, slice: usize| chain.slices[slice].days > 90.0;
    let is_right = |reason: LikelyReason| reason == LikelyReason::EuropeanModel;
    nine_in_ten(right_first("european model", &["KO", "JPM", "VZ", "PFE", "T"], &err, &season, &is_right), 4);
}

#[test]
fn units_are_found_before_anything_else() {
    let chain = &CHAINS["JPM"];
    let odd = |greeks: &Greeks<f64>, sigma: f64, x: f64| {
        let mut numbers = native(greeks, sigma, x);
        numbers[2] = greeks.get(Greek::Vega);
        numbers[3] = -0.5 * sigma * sigma * x * x * greeks.gamma / 365.0;
        numbers[4] = greeks.get(Greek::Rho) / 10_000.0;
        numbers
    };
    let found = compare(chain, &Calendar::embedded(), &shown(chain, &right_terms, &odd), &DIGITS, 2);
    assert_eq!(found.conventions.theta, ThetaConvention::DriftlessCalendarDay);
    assert!((found.conventions.vega_times - 100.0).abs() < 1e-9 && (found.conventions.rho_times - 0.01).abs() < 1e-9);
    for expiry in &found.expiries {
        let definition = LikelyReason::Theta(ThetaConvention::DriftlessCalendarDay);
        assert!(expiry.reasons.iter().any(|of| of.reason == definition && of.removes > 0.5), "{expiry:?}");
        assert!(!expiry.is_unknown, "{expiry:?}");
    }
    let by_trading_day = |greeks: &Greeks<f64>, sigma: f64, x: f64| {
        let mut numbers = native(greeks, sigma, x);
        numbers[3] = greeks.get(Greek::Theta) / 252.0;
        numbers
    };
    let found = compare(chain, &Calendar::embedded(), &shown(chain, &right_terms, &by_trading_day), &DIGITS, 2);
    assert_eq!(found.conventions.theta, ThetaConvention::TradingDay);
    assert!((found.conventions.native(3, 252.0) - 252.0 * 252.0 / 365.0).abs() < 1e-9);
}

#[test]
fn a_rate_counted_between_settlements_and_a_rate_that_differs_are_told_apart() {
    // the way Cboe counts: a Wednesday's trades settle on Thursday, those of an expiry on Friday on Monday
    let chain = &CHAINS["JPM"];
    let calendar = Calendar::embedded();
    let today = calendar.eastern(chain.valued_at).date();
    let after = |day: jiff::civil::Date| {
        let mut day = day.tomorrow().unwrap();
        while !calendar.is_session(day) {
            day = day.tomorrow().unwrap();
        }
        day
    };
    let mut rows = Vec::new();
    for (i, slice) in chain.slices.iter().enumerate() {
        let days = f64::from(after(today).until(after(slice.expiry)).unwrap().get_days());
        let counted = days / slice.days;
        let settled = |greeks: &Greeks<f64>, sigma: f64, x: f64| {
            let mut numbers = native(greeks, sigma, x);
            numbers[4] *= counted;
            numbers
        };
        let own = |row: &VendorRow| chain.slices[i].rows.contains(&row.row);
        rows.extend(shown(chain, &right_terms, &settled).into_iter().filter(own));
    }
    let found = compare(chain, &calendar, &rows, &DIGITS, 2);
    assert_eq!(found.conventions.rho_days, RhoDays::BetweenSettlements);
    for expiry in &found.expiries {
        let slice = &chain.slices[expiry.slice];
        let counted = f64::from(after(today).until(after(slice.expiry)).unwrap().get_days()) / slice.days;
        let is_named = expiry.reasons.iter().any(|of| of.reason == LikelyReason::SettlementDays);
        assert!((counted - 1.0).abs() < 0.1 || is_named, "{counted} {expiry:?}");
        assert!(!expiry.is_unknown && expiry.rms_at_vendor_vol < 1.5 * expiry.rms_of_digits, "{expiry:?}");
    }
    let (alone, two) = (compare(chain, &calendar, &rows, &DIGITS, 1), compare(chain, &calendar, &rows, &DIGITS, 3));
    assert!(alone == found && two == found, "the same on any number of threads");
}

/// The rows of a vendor that shows theta, vega and rho of the call beside each put, of one volatility a strike.
fn with_calls_numbers(chain: &Chain, rows: &[VendorRow]) -> Vec<VendorRow> {
    let mut all: Vec<VendorRow> =
        rows.iter().filter(|row| chain.right[row.row as usize] == Right::Call).copied().collect();
    let calls = all.clone();
    for (i, slice) in chain.slices.iter().enumerate() {
        let Some(basis) = value_basis(chain, i) else { continue };
        let own: Vec<&VendorRow> = calls.iter().filter(|row| slice.rows.contains(&row.row)).collect();
        let k = |row: &VendorRow| f64::from(chain.strike_milli[row.row as usize]) / 1000.0;
        let bands: Vec<Band> =
            own.iter().map(|row| Band { k: (k(row), k(row)), sigma: (0.9 * row.sigma, 1.1 * row.sigma) }).collect();
        if bands.is_empty() {
            continue;
        }
        let pricer = Pricer::new(slice.style, Right::Put, &basis.terms, bands.as_slice(), Quality::Full);
        let here = pricer.at(&basis.terms, basis.s);
        for call in own {
            let put = native(&here.greeks(k(call), call.sigma), 0.0, 0.0);
            let [delta, gamma] = [put[0], put[1]].map(|greek| rounded(greek, DIGITS.greeks[0]));
            let [.., vega, theta, rho] = call.greeks;
            all.push(VendorRow { row: call.row + 1, sigma: call.sigma, greeks: [delta, gamma, vega, theta, rho] });
        }
    }
    all
}

#[test]
fn puts_that_show_the_calls_theta_vega_and_rho_are_seen_through() {
    let mut named = 0;
    for name in ["SPX", "KO", "AAPL", "JPM", "XOM", "VZ"] {
        let chain = &CHAINS[name];
        let rows = shown(chain, &right_terms, &native);
        let own = compare(chain, &Calendar::embedded(), &rows, &DIGITS, 2);
        assert_eq!(own.conventions.put_numbers, PutNumbers::Own, "{name}");
        let found = compare(chain, &Calendar::embedded(), &with_calls_numbers(chain, &rows), &DIGITS, 2);
        assert_eq!(found.conventions.put_numbers, PutNumbers::Calls, "{name}");
        for expiry in &found.expiries {
            assert!(!expiry.is_unknown, "{name} {expiry:?}");
            named += usize::from(expiry.reasons.iter().any(|of| of.reason == LikelyReason::CallsNumbers));
            // what puts show explains no delta, and nothing of a call
            for (greek, right) in [(Greek::Delta, Right::Put), (Greek::Gamma, Right::Put), (Greek::Rho, Right::Call)] {
                assert_ne!(expiry.reason_of(greek, right), LikelyReason::CallsNumbers, "{name} {expiry:?}");
            }
        }
    }
    assert!(named >= 30, "{named} expiries");
}

#[test]
fn a_definition_explains_the_greek_that_it_defines_and_no_other() {
    let driftless = |greeks: &Greeks<f64>, sigma: f64, x: f64| {
        let mut numbers = native(greeks, sigma, x);
        numbers[3] = -0.5 * sigma * sigma * x * x * greeks.gamma / 365.0;
        numbers
    };
    let mut found_by_theta = 0;
    for name in ["SPX", "KO", "AAPL", "XOM", "T"] {
        let chain = &CHAINS[name];
        let found = compare(chain, &Calendar::embedded(), &shown(chain, &right_terms, &driftless), &DIGITS, 2);
        for expiry in &found.expiries {
            found_by_theta +=
                usize::from(matches!(expiry.reason_of(Greek::Theta, Right::Call), LikelyReason::Theta(_)));
            for greek in [Greek::Delta, Greek::Gamma, Greek::Vega, Greek::Rho] {
                let reason = expiry.reason_of(greek, Right::Call);
                assert!(!matches!(reason, LikelyReason::Theta(_)), "{name} {greek:?} {expiry:?}");
            }
        }
    }
    assert!(found_by_theta >= 20, "{found_by_theta} expiries");
}

/// Vendors that print what each quote implies, and compute Greeks on a curve of their own.
#[test]
fn greeks_at_another_volatility_than_the_printed_one_are_seen_through() {
    let chain = &CHAINS["VZ"];
    let misprinted = |err: &dyn Fn(usize, ValueBasis, Style) -> Vendor| {
        let mut rows = shown(chain, err, &native);
        for (i, row) in rows.iter_mut().enumerate() {
            row.sigma *= [1.3, 0.8, 1.15][i % 3];
        }
        compare(chain, &Calendar::embedded(), &rows, &DIGITS, 2)
    };
    let found = misprinted(&right_terms);
    assert_eq!(found.vols, VendorVols::Implied);
    for expiry in &found.expiries {
        assert!(matches!(expiry.reasons[0].reason, LikelyReason::Agrees | LikelyReason::Volatility), "{expiry:?}");
    }
    let date = first_dividend(chain);
    let missing = misprinted(&|_: usize, mut basis: ValueBasis, style: Style| {
        let gone = basis.dividends.iter().position(|dividend| dividend.ex_date == date);
        gone.map(|at| basis.terms.divs.remove(at));
        Vendor { style, s: basis.s, terms: basis.terms }
    });
    let after = missing.expiries.iter().filter(|expiry| chain.slices[expiry.slice].expiry >= date);
    let is_right =
        |reason: LikelyReason| matches!(reason, LikelyReason::MissingDividend { date: found, .. } if found == date);
    let firsts: Vec<bool> = after.map(|expiry| is_right(expiry.reasons[0].reason)).collect();
    // a volatility that is sought takes a part of the difference with it: fewer than where it is printed
    let right = firsts.iter().filter(|right| **right).count();
    assert!(firsts.len() >= 4 && 4 * right >= 3 * firsts.len(), "{right} of {}", firsts.len());
}

#[test]
fn nothing_to_compare_is_nothing() {
    let chain = &CHAINS["KO"];
    let none = compare(chain, &Calendar::embedded(), &[], &DIGITS, 2);
    assert!(none.expiries.is_empty());
    let missing = VendorRow { row: u32::MAX, sigma: 0.2, greeks: [1.0; COMPARED.len()] };
    let blank = VendorRow { row: 3, sigma: 0.0, greeks: [f64::NAN; COMPARED.len()] };
    let odd = VendorRow { row: 4, sigma: 1e300, greeks: [f64::INFINITY; COMPARED.len()] };
    assert!(compare(chain, &Calendar::embedded(), &[missing, blank, odd], &DIGITS, 2).expiries.is_empty());
    // a vendor without Greeks worth the name: every one is 0
    let rows: Vec<VendorRow> = shown(chain, &right_terms, &|_, _, _| [0.0; COMPARED.len()]);
    let zeros = compare(chain, &Calendar::embedded(), &rows, &DIGITS, 2);
    assert!(!rows.is_empty() && zeros.expiries.is_empty(), "{zeros:?}");
}
