//! Passes over a part of the whole market: by size and by threads, what a slice costs that has few strikes, and how
//! long one name waits, alone and while a sweep runs. A tenth of the market by default; on two threads all of it with
//! `GREEKSD_FULL=1`, which takes minutes to start. Criterion's times are processor time, all threads together; time on
//! the wall is printed beside it. Writes target/market.csv and docs/plots/pass_time.svg.
#![allow(missing_docs, reason = "criterion's macros")]
#![allow(clippy::print_stdout, reason = "wall time, sizes and memory belong beside processor time")]

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use engine::pass::{Computed, Passes};
use engine::store::book::Book;
use greeksd_benches::cpu::{Took, timed};
use greeksd_benches::market::{NOW, Sim};
use greeksd_benches::plot::pass_time;
use jiff::{SignedDuration, Timestamp};
use sim::symbols::Name;
use sim::tier::Tier;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// Parts of the whole market that are passed over.
const TENTH: [f64; 3] = [0.01, 0.03, 0.10];
const WHOLE: [f64; 3] = [0.10, 0.50, 1.00];
/// Passes until what is kept has settled.
const SETTLING: usize = 4;
/// One tail name of so many is in the market of short slices.
const TAIL_SAMPLED: u32 = 97;
/// Contracts that the market loop computes between two looks at the feed, for each thread.
const PORTION: usize = 20_000;

/// A market that runs: books at instants a second apart.
struct Running {
    sim: Sim,
    books: Vec<Book>,
    at: Timestamp,
}

impl Running {
    fn new(sim: Sim, passes: &Passes) -> Self {
        let mut books = sim.books(passes);
        // large and small names mixed, so that each part of the books is like the whole
        books.sort_by_key(|book| {
            book.underlying.as_str().bytes().fold(7u32, |h, b| h.wrapping_mul(16_777_619) ^ u32::from(b))
        });
        Self { sim, books, at: NOW }
    }

    /// After some passes.
    fn settled(sim: Sim, passes: &mut Passes) -> Self {
        let mut market = Self::new(sim, passes);
        (0..SETTLING).for_each(|_| _ = market.second(market.books.len(), passes));
        market
    }

    fn tick(&mut self, passes: &Passes) {
        self.at += SignedDuration::from_secs(1);
        self.sim.update(&mut self.books, self.at, passes);
    }

    /// A pass over the first `n` books, with the quotes of a second later.
    fn second(&mut self, n: usize, passes: &mut Passes) -> Took {
        self.tick(passes);
        timed(|| drop(self.sim.pass(&self.books[..n], self.at, passes))).1
    }

    fn contracts(&self, n: usize) -> usize {
        self.books[..n].iter().map(Book::rows).sum()
    }
}

/// The lines of target/market.csv, and what was measured of one bench.
#[derive(Default)]
struct Notes {
    csv: String,
    took: Vec<Took>,
}

impl Notes {
    /// Runs a bench whose iterations take what `work` says.
    fn bench(&mut self, group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut work: impl FnMut() -> Took) -> Took {
        self.took.clear();
        group.bench_function(name, |b| {
            b.iter_custom(|n| {
                let mut one = || {
                    let took = work();
                    self.took.push(took);
                    took.processor
                };
                (0..n).map(|_| one()).sum()
            });
        });
        let median = |of: fn(&Took) -> Duration| {
            let mut all: Vec<Duration> = self.took.iter().map(of).collect();
            all.sort_unstable();
            all.get(all.len() / 2).copied().unwrap_or_default()
        };
        let took = Took { wall: median(|took| took.wall), processor: median(|took| took.processor) };
        println!("  median of {}: processor {:.2?}, wall {:.2?}", self.took.len(), took.processor, took.wall);
        took
    }

    fn point(&mut self, contracts: usize, seconds: f64, series: &str) {
        _ = writeln!(self.csv, "{contracts},{seconds},\"{series}\"");
    }
}

fn group<'a>(c: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group.warm_up_time(Duration::from_millis(50)).measurement_time(Duration::from_millis(500));
    group
}

/// Passes over parts of the market, first cold and then steady; returns the market as it stands.
fn by_size(c: &mut Criterion, threads: usize, parts: [f64; 3], notes: &mut Notes) -> (Running, Passes) {
    let mut passes = Passes::new(threads, |_| ()).expect("threads");
    let mut market = Running::new(Sim::full(parts[2]), &passes);
    let named = if threads == 1 { "1 thread" } else { &format!("{threads} threads") };
    let ends = parts.map(|part| (market.books.len() as f64 * part / parts[2]) as usize);
    let (mut begun, mut cold) = (0, Took::default());
    for end in ends {
        let (_, took) = timed(|| drop(market.sim.pass(&market.books[begun..end], market.at, &mut passes)));
        (begun, cold) = (end, Took { wall: cold.wall + took.wall, processor: cold.processor + took.processor });
        let (Took { wall, processor }, contracts) = (cold, market.contracts(end));
        println!("cold, {end} names, {contracts} contracts, {named}: processor {processor:.2?}, wall {wall:.2?}");
        notes.point(contracts, processor.as_secs_f64(), &format!("cold, core-s, {named}"));
    }
    (0..SETTLING).for_each(|_| _ = market.second(market.books.len(), &mut passes));
    let mut group = group(c, "market");
    for end in ends {
        let contracts = market.contracts(end);
        group.throughput(Throughput::Elements(contracts as u64));
        let name = format!("steady, {contracts} contracts, {named}");
        let took = notes.bench(&mut group, &name, || market.second(end, &mut passes));
        notes.point(contracts, took.processor.as_secs_f64(), &format!("steady, core-s, {named}"));
    }
    let resident = memory_stats::memory_stats().map_or(0, |stats| stats.physical_mem / 1_000_000);
    println!("{resident} MB resident");
    group.finish();
    (market, passes)
}

/// Tail names alone: few strikes a slice, so that what a slice costs by itself shows.
fn by_slice(c: &mut Criterion, notes: &mut Notes) {
    let tail = |name: &Name| name.tier == Tier::Tail && name.rank.is_multiple_of(TAIL_SAMPLED);
    for pays in [false, true] {
        let mut passes = Passes::new(1, |_| ()).expect("threads");
        let sim = Sim::some(|name| tail(name) && (name.payout.yield_ > 0.0) == pays);
        let mut market = Running::settled(sim, &mut passes);
        let (names, slices) = (market.books.len(), market.books.iter().map(|book| book.slices.len()).sum::<usize>());
        let dividends = if pays { "with dividends" } else { "without dividends" };
        println!("{names} tail names {dividends}, {slices} slices, {} contracts", market.contracts(names));
        let mut group = group(c, "slices");
        group.throughput(Throughput::Elements(slices as u64));
        notes.bench(&mut group, &format!("tail names {dividends}"), || market.second(names, &mut passes));
        group.finish();
    }
}

/// The places of the next books of a sweep that make a portion, beside `rows` contracts that are in it already.
fn portion(market: &Running, begin: usize, rows: usize, passes: &Passes) -> core::ops::Range<usize> {
    let (mut rows, mut end) = (rows, begin);
    while rows < PORTION * passes.threads() && end < market.books.len() {
        rows += market.books[end].rows();
        end += 1;
    }
    begin..end
}

/// From a tick of one name to its finished chain: alone; and when it comes just as a portion of a sweep has begun, so
/// that it waits for that one and is computed with the next.
fn latency(c: &mut Criterion, market: &mut Running, passes: &mut Passes, notes: &mut Notes) {
    for symbol in ["SPX", "WEN"] {
        let mut name = Running::settled(Sim::some(|name| name.symbol == symbol), passes);
        let rows = name.contracts(1);
        market.books.retain(|book| book.underlying.as_str() != symbol);
        let mut group = group(c, "latency");
        notes.bench(&mut group, &format!("{symbol}, {rows} contracts, alone"), || name.second(1, passes));
        let mut next = 0;
        let mut one = || {
            if next >= market.books.len() {
                market.tick(passes);
                next = 0;
            }
            let running = portion(market, next, 0, passes);
            let with_name = portion(market, running.end, rows, passes);
            next = with_name.end;
            name.tick(passes);
            timed(|| {
                drop(market.sim.pass(&market.books[running], market.at, passes));
                let others = market.books[with_name].iter().map(|book| (book, market.at));
                let work: Vec<(&Book, Timestamp)> = core::iter::once((&name.books[0], name.at)).chain(others).collect();
                let done: Vec<Computed> = passes.run(market.sim.shared(), &work);
                drop(done);
            })
            .1
        };
        notes.bench(&mut group, &format!("{symbol}, {rows} contracts, during a sweep"), &mut one);
        group.finish();
    }
}

fn market(c: &mut Criterion) {
    let mut notes = Notes { csv: "contracts,seconds,series\n".to_owned(), ..Notes::default() };
    by_slice(c, &mut notes);
    let whole = std::env::var("GREEKSD_FULL").is_ok_and(|value| value == "1");
    drop(by_size(c, 1, TENTH, &mut notes));
    let mut running = by_size(c, 2, if whole { WHOLE } else { TENTH }, &mut notes);
    latency(c, &mut running.0, &mut running.1, &mut notes);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let csv = root.join("target/market.csv");
    std::fs::create_dir_all(root.join("target")).expect("a folder for what is built");
    std::fs::write(&csv, &notes.csv).expect("a file in it");
    pass_time(&csv, &root.join("docs/plots/pass_time.svg")).expect("a plot");
}

criterion_group!(benches, market);
criterion_main!(benches);
