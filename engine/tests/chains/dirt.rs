//! Bad quotes beside good ones: what they do to the good ones. Of good books 1, 5 and 20 % of the quotes are spoiled,
//! in each of eight ways and in all of them together, and what a first pass makes of the rest is held against the truth
//! of the simulated market, or against the clean pass of a recorded one. The table is printed with `--nocapture`.
#![allow(clippy::float_cmp, reason = "shares are compared with themselves")]

use crate::shape::{not_convex, not_monotone, rows, strike};
use crate::spoil::{Spoiled, Way, spoil};
use engine::pass::{MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::{Book, BookSlice};
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
#[allow(dead_code, reason = "each test takes what it needs of the reader")]
use kernel::calendar::Calendar;
use kernel::contract::{ForwardBasis, Settle, Style, Symbol};
use kernel::records::RateRecord;
use sim::SimMarket;
use std::sync::Arc;
use testkit::recorded;

/// How many of the quotes are spoiled.
const SHARES: [f64; 3] = [0.01, 0.05, 0.20];
/// Up to this share the 99th percentiles are held too; medians, and that nothing is absurd, at every share.
const P99_SHARE_MOST: f64 = 0.05;
/// Bounds on the effect of dirt on good quotes.
struct Bounds {
    /// Which names.
    of: &'static str,
    /// A median error may move by this fraction of what it is without dirt ...
    moved: f64,
    /// ... or by this: volatility, and half-spreads.
    moved_vol: f64,
    moved_theo: f64,
    /// Of a hundred good quotes 99 have their volatility within this, or within so many times what it is without dirt.
    p99_vol: f64,
    p99_times: f64,
}
/// Names whose quotes know the volatility better than to a point.
const ACTIVE: Bounds =
    Bounds { of: "active", moved: 0.20, moved_vol: 1e-4, moved_theo: 0.01, p99_vol: 0.01, p99_times: 0.0 };
/// Names whose quotes do not: a clean pass misses by more than a point at one in a hundred.
const THIN: Bounds = Bounds { of: "thin", moved_theo: 0.02, p99_times: 1.5, ..ACTIVE };
/// Held against their own clean pass, so that quotes that are only missing move the curve within the spreads.
const AGAINST_CLEAN: Bounds =
    Bounds { of: "recorded", moved: 0.0, moved_vol: 5e-4, moved_theo: 0.05, p99_vol: 0.01, p99_times: 0.0 };
/// Bounds that do not hold yet, each with what is allowed meanwhile: names, way, share, measure. Of thin names a fifth
/// of the quotes bad leaves many strikes without a good one; stale wings that are in order with what is left of an
/// expiry can be told by later expiries only; an index of volatility whose pairs are mostly dead has no spot to be held
/// against.
#[rustfmt::skip]
const OPEN: [(&str, &str, f64, &str, f64); 37] = [
    ("active", "DeadBeforeSplit", 0.20, "median vol", 0.0004),
    ("active", "DeadBeforeSplit", 0.20, "median theo", 0.1),
    ("active", "StaleWing", 0.05, "p99 vol", 0.035),
    ("active", "StaleWing", 0.20, "median vol", 0.00035),
    ("active", "StaleWing", 0.20, "median theo", 0.08),
    ("active", "CrossedPair", 0.20, "median theo", 0.065),
    ("active", "Zero", 0.20, "median theo", 0.061),
    ("active", "WrongStrike", 0.20, "median theo", 0.085),
    ("active", "WrongExpiry", 0.20, "median theo", 0.062),
    ("active", "OldSpot", 0.20, "median vol", 0.0003),
    ("active", "OldSpot", 0.20, "median theo", 0.08),
    ("active", "FatFinger", 0.20, "median theo", 0.075),
    ("active", "all", 0.20, "median theo", 0.085),
    ("thin", "DeadBeforeSplit", 0.20, "median vol", 0.035),
    ("thin", "DeadBeforeSplit", 0.20, "median theo", 0.6),
    ("thin", "DeadBeforeSplit", 0.20, "absurd", 12.0),
    ("thin", "StaleWing", 0.01, "median vol", 0.0033),
    ("thin", "StaleWing", 0.01, "p99 vol", 0.085),
    ("thin", "StaleWing", 0.05, "median vol", 0.0036),
    ("thin", "StaleWing", 0.05, "median theo", 0.13),
    ("thin", "StaleWing", 0.05, "p99 vol", 0.15),
    ("thin", "StaleWing", 0.20, "median vol", 0.011),
    ("thin", "StaleWing", 0.20, "median theo", 0.21),
    ("thin", "CrossedPair", 0.05, "p99 vol", 0.08),
    ("thin", "WrongStrike", 0.05, "median vol", 0.0033),
    ("thin", "WrongStrike", 0.05, "p99 vol", 0.08),
    ("thin", "WrongStrike", 0.20, "median vol", 0.0055),
    ("thin", "WrongStrike", 0.20, "median theo", 0.16),
    ("thin", "WrongExpiry", 0.05, "p99 vol", 0.14),
    ("thin", "WrongExpiry", 0.20, "median vol", 0.005),
    ("thin", "WrongExpiry", 0.20, "median theo", 0.16),
    ("thin", "OldSpot", 0.05, "p99 vol", 0.085),
    ("thin", "OldSpot", 0.20, "median vol", 0.0055),
    ("thin", "OldSpot", 0.20, "median theo", 0.18),
    ("thin", "all", 0.05, "p99 vol", 0.07),
    ("thin", "all", 0.20, "median vol", 0.0045),
    ("thin", "all", 0.20, "median theo", 0.14),
];
/// No market has a volatility above this.
const VOL_MOST: f64 = 10.0;
/// Nor a value above this many times the stock (call) or the strike (put).
const VALUE_MOST: f64 = 1.01;
/// Nor a forward further from the spot than this factor.
const FORWARD_MOST: f64 = core::f64::consts::E;
/// A good quote is of a contract that may end in or out of the money.
const DELTAS: core::ops::RangeInclusive<f64> = 0.05..=0.95;
/// A locked quote is no better known than half a tick, currency per share.
const HALF_SPREAD_MIN: f64 = 0.005;
/// Values that rise or bend the wrong way by more than this are counted, currency per share.
const SHAPE_SLACK: f64 = 0.01;

/// Of each kind one: European, without dividends, payers by the quarter and by the month, an adjusted root.
const ACTIVE_NAMES: [&str; 9] = ["XSP", "NVDA", "GLD", "AAPL", "AVGO", "KO", "BA", "GME", "TLT"];
/// On its own forwards, hard to borrow, monthly expiries, wide spreads.
const THIN_NAMES: [&str; 5] = ["VIX", "BYND", "KSS", "HOG", "PRGS"];
const RECORDED: [&str; 5] = ["tsla_2026-08-21", "gdx_2026-08-21", "f_2026-08-21", "msft_2021-05-17", "qqq_2026-06-02"];

/// True values of the contracts of a slice.
struct Truth {
    fwd: f64,
    vol: Vec<f64>,
    theo: Vec<f64>,
    /// Rows with a good quote, before any is spoiled.
    good: Vec<bool>,
}

/// A clean book with what a clean pass makes of it.
struct Clean {
    book: Book,
    curves: RateTable,
    chain: Arc<Chain>,
    /// By slice of the book; none of adjusted roots.
    truth: Vec<Option<Truth>>,
}

/// The chains of a first pass over books.
fn computed<'a>(of: impl Iterator<Item = (&'a Book, &'a RateTable)>) -> Vec<Arc<Chain>> {
    let calendar = Calendar::embedded();
    let mut passes = Passes::new(0, |_| ()).unwrap();
    let mut chains = Vec::new();
    // recorded names have curves of their own
    let of: Vec<(&Book, &RateTable)> = of.collect();
    for same in of.chunk_by(|a, b| core::ptr::eq(a.1, b.1)) {
        let work: Vec<(&Book, Timestamp)> = same.iter().map(|(book, _)| (*book, book.ts)).collect();
        let done = passes.run(MarketData { calendar: &calendar, rates: same[0].1 }, &work);
        chains.extend(done.into_iter().map(|done| done.chain));
    }
    chains
}

/// The slice of a chain that a slice of its book became.
fn slice_of<'a>(chain: &'a Chain, quoted: &BookSlice) -> &'a Slice {
    chain.slices.iter().find(|s| s.root == quoted.root && s.expiry == quoted.expiry).unwrap()
}

fn column<'a>(chain: &'a Chain, quoted: &BookSlice, col: Col) -> &'a [f64] {
    &chain.columns.get(col)[rows(slice_of(chain, quoted))]
}

/// Rows with two sides whose contract may end in or out of the money.
fn good_rows(chain: &Chain, quoted: &BookSlice) -> Vec<bool> {
    let delta = column(chain, quoted, Col::Delta);
    let two_sided = |row: usize| quoted.bid[row] > 0.0 && quoted.ask[row] > quoted.bid[row];
    (0..quoted.rows()).map(|row| two_sided(row) && DELTAS.contains(&delta[row].abs())).collect()
}

/// The well-known names of the simulated market, whose truth is known.
fn simulated(names: &[&str]) -> Vec<Clean> {
    let now: Timestamp = "2026-10-14T15:00:00Z".parse().unwrap();
    let market = SimMarket::at(1, now);
    let curves = RateTable::of(RateSource::Simulated, DiscountCurves::new(&market.rates()));
    let chosen = market.underlyings().enumerate().filter(|(_, name)| names.contains(&name.as_str()));
    let books: Vec<Book> = chosen.map(|(i, _)| market.book(i, now).unwrap()).collect();
    assert_eq!(books.len(), names.len());
    let chains = computed(books.iter().map(|book| (book, &curves)));
    let truth = |chain: &Chain, quoted: &BookSlice| {
        let truth = market.truth(quoted.root, quoted.expiry, now).unwrap();
        let mut good = good_rows(chain, quoted);
        let faulty = |row: usize| market.fault(quoted.root, quoted.expiry, row, now).is_some();
        good.iter_mut().enumerate().for_each(|(row, good)| *good &= !faulty(row));
        Truth {
            fwd: truth.fwd,
            vol: quoted.strike_milli.iter().map(|&k| truth.sigma(f64::from(k) / 1000.0)).collect(),
            theo: market.values(quoted.root, quoted.expiry, now).unwrap(),
            good,
        }
    };
    let clean = |(book, chain): (Book, Arc<Chain>)| {
        let truth = book.slices.iter().map(|s| (!s.adjusted).then(|| truth(&chain, s))).collect();
        Clean { book, curves: curves.clone(), chain, truth }
    };
    books.into_iter().zip(chains).map(clean).collect()
}

/// A recorded chain as a book and its discount curve.
fn recorded_book(name: &str) -> (Book, RateTable) {
    let recorded = recorded::load(name);
    let (symbol, date) = name.split_once('_').unwrap();
    let (calendar, date): (Calendar, Date) = (Calendar::embedded(), date.parse().unwrap());
    let underlying = Symbol::parse(&symbol.to_uppercase()).unwrap();
    let after = |from: Timestamp, years: f64| from + SignedDuration::from_secs_f64(years * 365.0 * 86_400.0);
    let first = &recorded.slices[0];
    let settles = |s: &recorded::RecordedSlice| calendar.settlement(s.expiry.parse().unwrap(), Settle::Pm);
    let now = after(settles(first), -first.t);
    let slice = |s: &recorded::RecordedSlice| BookSlice {
        root: Symbol::parse(&s.root).unwrap(),
        expiry: s.expiry.parse().unwrap(),
        listed: s.expiry.parse().unwrap(),
        style: s.style,
        settle: Settle::Pm,
        settles_at: after(now, s.t),
        basis: ForwardBasis::Spot,
        multiplier: 100,
        adjusted: false,
        deliverables: Vec::new(),
        strike_milli: s.strike_milli.clone(),
        right: s.right.clone(),
        bid: s.bid.clone(),
        ask: s.ask.clone(),
        counts: Vec::new(),
        ts: vec![now; s.bid.len()],
        stale: true,
    };
    assert!(recorded.slices.iter().all(|s| s.style == Style::American), "{name} settles at the close");
    let ex_date = |years: f64| calendar.eastern(after(now, years)).date();
    let book = Book {
        underlying,
        spot: recorded.spot,
        ts: now,
        dividends: recorded.slices.last().unwrap().divs.iter().map(|d| (ex_date(d.t), d.amount)).collect(),
        projected_from: None,
        dividends_known: true,
        slices: recorded.slices.iter().map(slice).collect(),
    };
    let rate = |s: &recorded::RecordedSlice| RateRecord { date, tenor_days: s.t * 365.0, rate: s.r };
    let points: Vec<RateRecord> = recorded.slices.iter().map(rate).collect();
    (book, RateTable::of(RateSource::User, DiscountCurves::new(&points)))
}

/// Recorded chains, whose clean pass stands for the truth.
fn recorded() -> Vec<Clean> {
    let books: Vec<(Book, RateTable)> = RECORDED.iter().map(|name| recorded_book(name)).collect();
    let chains = computed(books.iter().map(|(book, curves)| (book, curves)));
    let clean = |((book, curves), chain): ((Book, RateTable), Arc<Chain>)| {
        let truth = |quoted: &BookSlice| Truth {
            fwd: slice_of(&chain, quoted).fwd_price,
            vol: column(&chain, quoted, Col::SvcVol).to_vec(),
            theo: column(&chain, quoted, Col::SvcTheo).to_vec(),
            good: good_rows(&chain, quoted),
        };
        let known = |quoted: &BookSlice| slice_of(&chain, quoted).fwd_price > 0.0;
        let truth = book.slices.iter().map(|s| known(s).then(|| truth(s))).collect();
        Clean { book, curves, chain, truth }
    };
    books.into_iter().zip(chains).map(clean).collect()
}

/// Errors of good quotes, and what no market has.
#[derive(Default)]
struct Errors {
    vol: Vec<f64>,
    /// In half-spreads.
    theo: Vec<f64>,
    /// Relative, the greatest.
    fwd: f64,
    absurd: Vec<String>,
    not_monotone: usize,
    not_convex: usize,
}

/// A missing number is infinitely wrong.
fn away(seen: f64, want: f64) -> f64 {
    let away = (seen - want).abs();
    if away.is_nan() { f64::INFINITY } else { away }
}

impl Errors {
    /// Of one name, on its good quotes that are not spoiled.
    fn add(&mut self, clean: &Clean, spoiled: &Spoiled, chain: &Chain) {
        for ((quoted, truth), spoiled) in clean.book.slices.iter().zip(&clean.truth).zip(spoiled) {
            let Some(truth) = truth else { continue };
            let (vol, theo) = (column(chain, quoted, Col::SvcVol), column(chain, quoted, Col::SvcTheo));
            for row in (0..quoted.rows()).filter(|&row| truth.good[row] && !spoiled[row]) {
                let half = (0.5 * (quoted.ask[row] - quoted.bid[row])).max(HALF_SPREAD_MIN);
                self.vol.push(away(vol[row], truth.vol[row]));
                self.theo.push(away(theo[row], truth.theo[row]) / half);
            }
            self.fwd = self.fwd.max(away(slice_of(chain, quoted).fwd_price / truth.fwd, 1.0));
        }
        self.absurd.extend(chain.slices.iter().flat_map(|slice| absurd(chain, slice)));
        self.not_monotone += not_monotone(chain, SHAPE_SLACK).len();
        self.not_convex += not_convex(chain, SHAPE_SLACK).len();
    }

    fn sort(&mut self) {
        self.vol.sort_unstable_by(f64::total_cmp);
        self.theo.sort_unstable_by(f64::total_cmp);
    }
}

/// Numbers of a slice that no market has.
fn absurd(chain: &Chain, slice: &Slice) -> Vec<String> {
    let (vol, theo) = (chain.columns.get(Col::SvcVol), chain.columns.get(Col::SvcTheo));
    let priced = rows(slice).any(|row| !vol[row].is_nan());
    let what = |text: String| format!("{} {}: {text}", slice.root, slice.expiry);
    let mut out = Vec::new();
    let far = (slice.fwd_price / chain.spot).ln().abs() > FORWARD_MOST.ln();
    if far || slice.fwd_price.is_infinite() || slice.borr_rate.is_infinite() {
        out.push(what(format!("forward {} borrow {}", slice.fwd_price, slice.borr_rate)));
    }
    for row in rows(slice) {
        let most = VALUE_MOST * chain.spot.max(strike(chain, row));
        let wrong = |&col: &Col| {
            let x = chain.columns.get(col)[row];
            x.is_infinite() || (priced && x.is_nan() && !col.nullable())
        };
        if Col::ALL.iter().any(wrong) || vol[row] > VOL_MOST || theo[row] > most {
            out.push(what(format!(
                "{} {:?} vol {} theo {}",
                strike(chain, row),
                chain.right[row],
                vol[row],
                theo[row]
            )));
        }
    }
    out
}

fn quantile(sorted: &[f64], p: f64) -> f64 {
    sorted.get(((sorted.len().max(1) - 1) as f64 * p).round() as usize).copied().unwrap_or(f64::NAN)
}

/// The effect of one kind of dirt: the errors beside it, and those of the clean pass on the same quotes.
struct Row {
    ways: String,
    share: f64,
    spoiled: usize,
    clean: Errors,
    dirty: Errors,
}

const HEADER: &str = "way              share  spoiled    good |  vol50 (clean)    vol90    vol99   volmax | theo50 (clean)  theo90  theo99  theomax |  fwd max (clean) | absurd  mono  convex (clean)";

impl Row {
    fn show(&self) {
        let [of_vol, of_theo] = [&self.dirty.vol, &self.dirty.theo];
        let [v50, v90, v99, vmax] = [0.5, 0.9, 0.99, 1.0].map(|p| quantile(of_vol, p));
        let [t50, t90, t99, tmax] = [0.5, 0.9, 0.99, 1.0].map(|p| quantile(of_theo, p));
        let (c50, ct50) = (quantile(&self.clean.vol, 0.5), quantile(&self.clean.theo, 0.5));
        let (share, spoiled, good) = (100.0 * self.share, self.spoiled, of_vol.len());
        let Errors { fwd, absurd, not_monotone, not_convex, .. } = &self.dirty;
        let absurd = absurd.len();
        println!(
            "{:16} {share:4.0}% {spoiled:8} {good:7} | {v50:.5} {c50:.5} {v90:8.5} {v99:8.4} {vmax:8.3} | {t50:.4} {ct50:.4} {t90:8.3} {t99:8.2} {tmax:8.0} | {fwd:8.2e} {:.1e} | {absurd:6} {not_monotone:5} {not_convex:5} ({} {})",
            self.ways, self.clean.fwd, self.clean.not_monotone, self.clean.not_convex
        );
    }

    /// The bounds that do not hold.
    fn failures(&self, bounds: &Bounds) -> Vec<String> {
        let mut out = Vec::new();
        let mut hold = |held: bool, what: String| {
            if !held {
                out.push(format!("{} at {:.0} %: {what}", self.ways, 100.0 * self.share));
            }
        };
        let medians = |of: fn(&Errors) -> &Vec<f64>| [&self.clean, &self.dirty].map(|e| quantile(of(e), 0.5));
        let mut within = |what: &str, [clean, dirty]: [f64; 2], most: f64| {
            let open = OPEN.iter().find(|o| (o.0, o.1, o.3) == (bounds.of, &self.ways, what) && o.2 == self.share);
            let most = open.map_or(most, |open| most.max(open.4));
            hold(dirty <= most, format!("{what} error goes from {clean:.6} to {dirty:.6}, {most:.6} is allowed"));
        };
        for (what, [clean, dirty], slack) in [
            ("median vol", medians(|e| &e.vol), bounds.moved_vol),
            ("median theo", medians(|e| &e.theo), bounds.moved_theo),
        ] {
            within(what, [clean, dirty], clean + slack.max(bounds.moved * clean));
        }
        let [clean, dirty] = [&self.clean, &self.dirty].map(|e| quantile(&e.vol, 0.99));
        if self.share <= P99_SHARE_MOST {
            within("p99 vol", [clean, dirty], bounds.p99_vol.max(bounds.p99_times * clean));
        }
        let absurd = &self.dirty.absurd;
        within("absurd", [&self.clean.absurd, absurd].map(|all| all.len() as f64), 0.0);
        if let Some(one) = absurd.first() {
            println!("  absurd: {one}");
        }
        out
    }
}

/// Spoils a share of every book and computes all of them again.
fn run(clean: &[Clean], ways: &[Way], share: f64) -> Row {
    let mut spoiled: Vec<Spoiled> = Vec::new();
    let mut books: Vec<Book> = clean.iter().map(|c| c.book.clone()).collect();
    for (book, of) in books.iter_mut().zip(clean) {
        let mut mask: Spoiled = book.slices.iter().map(|s| vec![false; s.rows()]).collect();
        for (seed, &way) in (1..).zip(ways) {
            spoil(book, &mut mask, &of.chain, way, share / ways.len() as f64, seed);
        }
        spoiled.push(mask);
    }
    let chains = computed(books.iter().zip(clean).map(|(book, of)| (book, &of.curves)));
    let (mut before, mut after) = (Errors::default(), Errors::default());
    for ((of, spoiled), chain) in clean.iter().zip(&spoiled).zip(&chains) {
        before.add(of, spoiled, &of.chain);
        after.add(of, spoiled, chain);
    }
    before.sort();
    after.sort();
    let named = match ways {
        [] => "clean".to_owned(),
        [way] => format!("{way:?}"),
        _ => "all".to_owned(),
    };
    let spoiled = spoiled.iter().flatten().flatten().filter(|&&bad| bad).count();
    Row { ways: named, share, spoiled, clean: before, dirty: after }
}

/// The whole table, and what of the bounds does not hold.
fn hold(clean: &[Clean], bounds: &Bounds) {
    let quotes: usize = clean.iter().map(|c| c.book.rows()).sum();
    println!("{} names, {quotes} quotes\n{HEADER}", clean.len());
    run(clean, &[], 0.0).show();
    let each = Way::ALL.iter().map(std::slice::from_ref).chain([&Way::ALL[..]]);
    let mut failures = Vec::new();
    for ways in each {
        for share in SHARES {
            let row = run(clean, ways, share);
            row.show();
            failures.extend(row.failures(bounds));
        }
    }
    assert!(failures.is_empty(), "{} bounds do not hold:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn bad_quotes_leave_good_ones_of_active_names_alone() {
    hold(&simulated(&ACTIVE_NAMES), &ACTIVE);
}

#[test]
fn bad_quotes_leave_good_ones_of_thin_names_alone() {
    hold(&simulated(&THIN_NAMES), &THIN);
}

#[test]
#[ignore = "needs ../shared/realdata; run with --ignored --nocapture"]
fn bad_quotes_leave_good_ones_of_recorded_chains_alone() {
    hold(&recorded(), &AGAINST_CLEAN);
}
