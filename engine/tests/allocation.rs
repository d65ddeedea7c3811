//! A steady pass allocates nothing for its contracts.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(unsafe_code, reason = "an allocator that counts can be had no other way")]

use engine::pass::{MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::columns::Col;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use sim::SimMarket;
use sim::symbols::well_known;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Passes until everything has its room, and passes that are measured.
const WARM: u32 = 5;
const MEASURED: u32 = 20;

#[test]
fn a_steady_pass_allocates_what_it_publishes_and_little_else() {
    let mut at: Timestamp = "2026-11-18T11:00:00-05:00".parse().unwrap();
    let wanted = ["SPX", "AAPL", "F", "IWM"];
    let names: Vec<_> = well_known().into_iter().filter(|n| wanted.contains(&n.symbol.as_str())).collect();
    let sim = SimMarket::with_universe(1, at, &names);
    let (calendar, curves) =
        (Calendar::embedded(), RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates())));
    let mut passes = Passes::new(1, |_| ()).unwrap();
    let mut books: Vec<Book> = (0..sim.len()).filter_map(|i| sim.book(i, at)).collect();
    let (mut calls, mut bytes, mut published, mut slices) = (0, 0, 0, 0);
    for pass in 0..WARM + MEASURED {
        let work: Vec<(&Book, Timestamp)> = books.iter().map(|book| (book, at)).collect();
        let before = (CALLS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
        let done = passes.run(MarketData { calendar: &calendar, rates: &curves }, &work);
        if pass >= WARM {
            calls += CALLS.load(Ordering::Relaxed) - before.0;
            bytes += BYTES.load(Ordering::Relaxed) - before.1;
            published +=
                done.iter().map(|c| c.chain.rows() as usize * Col::ALL.len() * size_of::<f64>()).sum::<usize>();
            slices += done.iter().map(|c| c.report.slices as usize).sum::<usize>();
        }
        at += SignedDuration::from_secs(1);
        books.iter_mut().for_each(|book| _ = sim.update(book, at));
    }
    let (each, share) = (calls as f64 / slices as f64, bytes as f64 / published as f64);
    println!("{each:.1} allocations a slice, {share:.2} bytes for each that is published");
    assert!(slices > 1000 && each < 6.0, "{each:.1} allocations a slice, of {slices}");
    assert!(share < 1.25, "{share:.2} bytes for each that is published");
}
