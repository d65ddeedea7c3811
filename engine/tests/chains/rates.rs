//! The discount curve that European chains imply: of the simulated market, whose rates are known, clean and spoiled;
//! and of recorded chains beside the Treasury's curve.

use crate::market_folder::poll;
use engine::rates::curve::DiscountCurves;
use engine::rates::implied::TENOR_DAYS;
use engine::rates::table::{RateLook, RateTable};
use engine::store::book::Book;
use engine::store::european::european_dates;
use engine::store::ingest::Store;
use feeds::dir::DirFeed;
use history::layouts::read_chains;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Style};
use sim::SimMarket;
use std::time::Instant;
use testkit::random::Random;

const NOW: &str = "2026-11-20T15:42:00-05:00";

fn european(market: &SimMarket, at: Timestamp) -> Vec<Book> {
    let books = market.underlyings().enumerate().filter_map(|(i, _)| market.book(i, at));
    books.filter(|book| book.slices.iter().any(|slice| slice.style == Style::European)).collect()
}

/// Spoils a part of the quotes: random prices, stale ones, crossed ones, no bid.
fn spoil(books: &mut [Book], part: f64, draw: &mut Random) {
    for slice in books.iter_mut().flat_map(|book| &mut book.slices) {
        for row in 0..slice.bid.len() {
            if draw.unit() >= part {
                continue;
            }
            let (bid, ask) = (&mut slice.bid[row], &mut slice.ask[row]);
            match (draw.unit() * 5.0) as u32 {
                0 => (*bid, *ask) = (*bid * (0.3 + draw.unit()), *ask * (0.3 + draw.unit())),
                1 => (*bid, *ask) = (*bid * 1.1, *ask * 1.1),
                2 => (*bid, *ask) = (*bid * 0.93, *ask * 0.93),
                3 => (*bid, *ask) = (*ask, *bid),
                _ => *bid = f64::NAN,
            }
        }
    }
}

/// The largest difference to true rates beyond 30 days, in basis points, and in the larger of two basis points and
/// three times the standard error that the curve states.
fn off_by(books: &[Book], truth: &DiscountCurves) -> (f64, f64) {
    let (calendar, mut table) = (Calendar::embedded(), RateTable::default());
    let (mut points, mut allowed): (f64, f64) = (0.0, 0.0);
    for (date, of_date) in european_dates(books.iter(), &calendar) {
        assert_eq!(table.look_at(date, of_date.at, &of_date.expiries), RateLook::Adopted);
        let (got, want) = (table.implied_on(of_date.at, date).unwrap(), truth.on(date).unwrap());
        let longest = of_date.expiries.iter().map(|expiry| expiry.t).fold(0.0, f64::max);
        for (days, error) in TENOR_DAYS.iter().zip(&got.errors).filter(|(days, _)| **days > 30.0) {
            let years = days / 365.0;
            if years < longest {
                let off = (got.curve.rate(years) - want.rate(years)).abs() * 1e4;
                (points, allowed) = (points.max(off), allowed.max(off / (3.0 * error * 1e4).max(2.0)));
            }
        }
    }
    (points, allowed)
}

#[test]
fn chains_of_a_market_imply_its_rates() {
    let at: Timestamp = NOW.parse().unwrap();
    for seed in 1..=3 {
        let market = SimMarket::at(seed, at);
        let truth = DiscountCurves::new(&market.rates());
        for part in [0.0, 0.01, 0.05, 0.2] {
            let mut books = european(&market, at);
            assert!(books.len() >= 3, "{}", books.len());
            spoil(&mut books, part, &mut Random::new(seed));
            let (points, allowed) = off_by(&books, &truth);
            println!("seed {seed}, {part} spoiled: {points:.2} bp");
            assert!(allowed <= 1.0, "seed {seed}, {part} spoiled: {points} bp, {allowed} of what is allowed");
        }
    }
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn recorded_chains_imply_what_boxes_are_traded_at() {
    let (batch, _) = poll(&mut DirFeed::open(&testkit::recorded::folder(), read_chains).unwrap());
    let mut store = Store::new(RootTable::embedded(), Calendar::embedded());
    store.ingest(&batch, Timestamp::MAX);
    let recorded = store.curves().clone();
    let mut table = RateTable::default();
    for (date, of_date) in european_dates(store.books().iter(), store.calendar()) {
        let began = Instant::now();
        let became = table.look_at(date, of_date.at, &of_date.expiries);
        println!("{date}: {} expiries, {became:?}, {:?}", of_date.expiries.len(), began.elapsed());
        let implied = table.implied_on(of_date.at, date).unwrap();
        println!("{:?}", implied.names);
        println!("  days  implied  error bp  recorded  difference bp");
        for (days, error) in TENOR_DAYS.iter().zip(&implied.errors) {
            let years = days / 365.0;
            let (rate, treasury) = (implied.curve.rate(years), recorded.on(date).unwrap().rate(years));
            let over = (rate - treasury) * 1e4;
            println!("{days:6} {:8.3} {:9.2} {:9.3} {over:14.1}", rate * 100.0, error * 1e4, treasury * 100.0);
            if *days >= 60.0 && *days <= 1095.0 {
                assert!((0.0..60.0).contains(&over), "boxes stand a little over Treasuries: {over} bp at {days} days");
            }
        }
    }
}
