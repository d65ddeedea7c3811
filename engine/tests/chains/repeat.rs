//! Quotes that are read again give equal numbers, and what a chain remembers of an earlier market does not stay: a
//! warm pass agrees with a cold one. On names with bad data as well as clean ones.

use engine::pass::{Computed, MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::columns::Col;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::quality::Quality;
use sim::SimMarket;

/// Of a hundred contracts 99, and of a thousand 999, keep their volatility within this from the first pass, which takes
/// early exercise out of the forward by a lattice, to the second, which has tables. What is left is in a few names with
/// few good pairs, where the two forwards differ by a part of their standard error and curves of few quotes turn with
/// them.
const SECOND: [f64; 2] = [1.5e-3, 6e-3];
/// Greatest moves from the second pass to the third, when nothing has changed: half of all contracts then agree to
/// 1e-13, and a handful of names whose few quotes contradict each other are what is left.
const AGAIN: [f64; 2] = [2e-4, 5e-2];
/// Greatest moves after another market, a minute before, against a pass that has seen nothing.
const WARM: [f64; 2] = [1e-2, 5e-2];

/// Expiries of the last hours are left out: what a cent of a far strike says of volatility there is noise.
const DAYS_LEAST: f64 = 0.5;

fn quantile(of: &mut [f64], p: f64) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(((of.len().max(1) - 1) as f64 * p) as usize).copied().unwrap_or(f64::NAN)
}

/// |Δ svc_vol| of every contract of two computations of one market; one without a number counts as 1. Prints the names
/// that differ most.
fn differences(what: &str, a: &[Computed], b: &[Computed]) -> Vec<f64> {
    let (mut all, mut names) = (Vec::new(), Vec::new());
    for (a, b) in a.iter().zip(b) {
        assert_eq!(a.chain.underlying, b.chain.underlying, "in one order");
        let past =
            a.chain.slices.iter().find(|slice| slice.days > DAYS_LEAST).map_or(0, |slice| slice.rows.start as usize);
        let vols = a.chain.columns.get(Col::SvcVol)[past..].iter().zip(&b.chain.columns.get(Col::SvcVol)[past..]);
        let of = |(x, y): (&f64, &f64)| match (x.is_nan(), y.is_nan()) {
            (true, true) => 0.0,
            (false, false) => (x - y).abs(),
            _ => 1.0,
        };
        let own: Vec<f64> = vols.map(of).collect();
        let worst = own.iter().copied().fold(0.0, f64::max);
        names.push((worst, own.iter().filter(|d| **d > 1e-3).count(), a.chain.underlying));
        all.extend(own);
    }
    names.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (worst, n, name) in names.iter().take(12).filter(|(worst, ..)| *worst > 1e-4) {
        println!("  {what}: {name} worst {worst:.4}, {n} over 0.001");
    }
    let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|p| quantile(&mut all, p));
    println!("{what}: {} contracts, p50 {p50:.1e} p99 {p99:.1e} p99.9 {p999:.1e}", all.len());
    all
}

fn hold(what: &str, a: &[Computed], b: &[Computed], most: [f64; 2]) {
    let mut all = differences(what, a, b);
    for (p, most) in [0.99, 0.999].into_iter().zip(most) {
        let seen = quantile(&mut all, p);
        assert!(seen < most, "{what}: {seen:.1e} at {p} where {most:.0e} is allowed");
    }
}

struct Made {
    calendar: Calendar,
    curves: RateTable,
    sim: SimMarket,
    at: Timestamp,
}

impl Made {
    /// A hundredth of the names of the whole market, the bad ones among them.
    fn new() -> Self {
        let at: Timestamp = "2026-11-20T20:12:00Z".parse().unwrap();
        let sim = SimMarket::full(7, 1.0, at, 0.02);
        Self {
            calendar: Calendar::embedded(),
            curves: RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates())),
            sim,
            at,
        }
    }

    fn books(&self, at: Timestamp) -> Vec<Book> {
        (0..self.sim.len()).filter_map(|i| self.sim.book(i, at)).collect()
    }

    fn pass(&self, passes: &mut Passes, books: &[Book], quality: Quality) -> Vec<Computed> {
        let market = MarketData { calendar: &self.calendar, rates: &self.curves };
        let work: Vec<(&Book, Timestamp)> = books.iter().map(|book| (book, self.at)).collect();
        passes.run_to(quality, market, &work)
    }
}

#[test]
fn the_same_quotes_give_the_same_numbers_again() {
    let made = Made::new();
    let books = made.books(made.at);
    let mut passes = Passes::new(2, |_| ()).unwrap();
    let first = made.pass(&mut passes, &books, Quality::Full);
    let second = made.pass(&mut passes, &books, Quality::Full);
    let third = made.pass(&mut passes, &books, Quality::Full);
    hold("second against first", &first, &second, SECOND);
    hold("third against second", &second, &third, AGAIN);
}

#[test]
fn an_earlier_market_and_a_preliminary_pass_leave_nothing_behind() {
    let made = Made::new();
    let books = made.books(made.at);
    let mut cold = Passes::new(2, |_| ()).unwrap();
    let cold = made.pass(&mut cold, &books, Quality::Full);
    let mut warm = Passes::new(2, |_| ()).unwrap();
    let earlier = made.books(made.at - SignedDuration::from_mins(1));
    made.pass(&mut warm, &earlier, Quality::Preliminary);
    made.pass(&mut warm, &earlier, Quality::Full);
    let warm = made.pass(&mut warm, &books, Quality::Full);
    hold("warm against cold", &cold, &warm, WARM);
}

/// Distances of forwards, bp, that half of all expiries, nine in ten and 99 of a hundred do not exceed.
fn forwards_apart(a: &[Computed], b: &[Computed]) -> [f64; 3] {
    let mut all = Vec::new();
    for (a, b) in a.iter().zip(b) {
        let both = a.chain.slices.iter().zip(&b.chain.slices).filter(|(x, _)| x.days > DAYS_LEAST);
        all.extend(both.map(|(x, y)| 1e4 * (x.fwd_price / y.fwd_price - 1.0).abs()).filter(|d| d.is_finite()));
    }
    [0.5, 0.9, 0.99].map(|p| quantile(&mut all, p))
}

#[test]
fn quotes_at_rest_have_the_forwards_of_a_first_look() {
    let made = Made::new();
    let market = MarketData { calendar: &made.calendar, rates: &made.curves };
    let began = made.at - SignedDuration::from_mins(3);
    let (mut books, mut warm) = (made.books(began), Passes::new(2, |_| ()).unwrap());
    let mut moved = Vec::new();
    for step in 0..=18 {
        let at = began + SignedDuration::from_secs(10 * step);
        books.iter_mut().for_each(|book| _ = made.sim.update(book, at));
        let work: Vec<_> = books.iter().map(|book| (book, at)).collect();
        moved = if step == 0 { warm.run_first(market, &work) } else { warm.run(market, &work) };
    }
    let later = made.at + SignedDuration::from_mins(1);
    let work: Vec<_> = books.iter().map(|book| (book, later)).collect();
    let first = Passes::new(2, |_| ()).unwrap().run_first(market, &work);
    let still = warm.run(market, &work);
    let (before, after) = (forwards_apart(&moved, &first), forwards_apart(&still, &first));
    println!("forwards, bp from those of a first look: moved {before:.2?}, still {after:.2?}");
    // most of it is what a first look itself leaves open
    assert!(after[0] < 0.3 && after[1] < 2.0 && after[2] < 8.0, "{before:?} {after:?}");
    assert!(before[1] > 2.0 * after[1], "the market has moved: {before:?} {after:?}");
}
