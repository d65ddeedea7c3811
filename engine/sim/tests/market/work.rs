//! The work of passes over a fixed part of the whole market, counted. Processor time cannot be asserted where other
//! programs run too; the work that takes it can.
//!
//! Bounds are a twentieth above the counts that were seen. A change that needs more work raises them and says why;
//! `just beside` shows the cost.

use engine::early::{EarlyWork, Left};
use engine::pass::{FIRST, MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::quality::Quality;
use sim::SimMarket;

/// 15:42 Eastern on a Friday: expiries of the day are minutes away.
const NOW: Timestamp = Timestamp::constant(1_795_207_320, 0);
const SHARE: f64 = 0.01;
/// Passes, a second apart; those of the second half are steady.
const PASSES: usize = 40;

/// Early exercise, and volatilities that were searched for.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    early: EarlyWork,
    searched: u64,
}

/// Work of a cold start, and of each pass after it.
fn run() -> (Done, Vec<Done>) {
    let sim = SimMarket::full(1, 1.0, NOW, SHARE);
    let rates = RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates()));
    let calendar = Calendar::embedded();
    let shared = MarketData { calendar: &calendar, rates: &rates };
    let mut passes = Passes::new(1, |_| ()).unwrap();
    let mut books: Vec<Book> = (0..sim.len()).filter_map(|i| sim.book(i, NOW)).collect();
    let mut at = NOW;
    let mut each = Vec::new();
    for pass in 0..PASSES {
        let work: Vec<_> = books.iter().map(|book| (book, at)).collect();
        let qualities = if pass == 0 { FIRST } else { &[Quality::Full] };
        let mut done = Done::default();
        for of in qualities.iter().flat_map(|&quality| passes.run_to(quality, shared, &work)) {
            done.early += of.report.early;
            done.searched += u64::from(of.report.searched);
        }
        each.push(done);
        at += SignedDuration::from_secs(1);
        books.iter_mut().for_each(|book| _ = sim.update(book, at));
    }
    (each[0], each[PASSES / 2..].to_vec())
}

/// Fails where a count exceeds its bound, or is so far below it that the bound would hold anything.
fn hold(what: &str, counts: &[(&str, u64, u64)]) {
    println!("{what}: {counts:?} (seen, at most)");
    let wrong: Vec<_> = counts.iter().filter(|(_, seen, most)| seen > most || most / 2 > *seen).collect();
    assert!(wrong.is_empty(), "{what}: {wrong:?} (seen, at most)");
}

#[test]
fn passes_do_no_more_than_they_did() {
    let (cold, steady) = run();
    let mut sum = Done::default();
    for pass in &steady {
        sum.early += pass.early;
        sum.searched += pass.searched;
    }
    let (first, later) = (cold.early, sum.early);
    hold(
        "cold start",
        &[
            ("taken", first.taken(), 6539),
            ("reads of boundaries", first.work.reads_boundaries, 4238),
            ("reads of tables", first.work.reads_tables, 2813),
            ("tables", first.work.tables, 1269),
            ("derivatives of tables", first.work.table_rates, 597),
            ("lattices", first.work.lattices, 1267),
            ("searched", cold.searched, 8316),
        ],
    );
    let left = |left: Left| later.left[left as usize];
    hold(
        "twenty steady passes",
        &[
            ("taken", later.taken(), 4303),
            ("of them by volatility", left(Left::Volatility), 2632),
            ("of them by spot", left(Left::Spot), 1499),
            ("by time", left(Left::Time), 115),
            ("by borrow", left(Left::Borrow), 0),
            ("reads of boundaries", later.work.reads_boundaries, 3401),
            ("reads of tables", later.work.reads_tables, 1598),
            ("tables", later.work.tables, 39),
            ("derivatives of tables", later.work.table_rates, 20),
            ("searched", sum.searched, 931),
        ],
    );
    assert!(later.kept > 10 * later.taken(), "{later:?}");
}
