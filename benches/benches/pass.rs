//! A pass over the embedded market on every core: cold (nothing kept), steady (tables kept, quotes a second later), and
//! one chain alone; beside it the plain trees on a sample of the same contracts at the same volatilities. Times are
//! processor time, all threads together.
#![allow(missing_docs, reason = "criterion's macros")]
#![allow(clippy::print_stdout, reason = "what was passed over belongs beside its time")]

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use engine::pass::{Computed, Passes};
use engine::store::book::Book;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use greeksd_benches::cpu::of_process;
use greeksd_benches::market::{NOW, Sim, passes};
use greeksd_benches::naive::{Contract, black_scholes, bumped, tree};
use jiff::{SignedDuration, Timestamp};
use kernel::contract::Style;
use kernel::dividends::{Dividend, Terms};
use std::hint::black_box;
use std::time::Duration;

/// Every so many contracts one is priced by the plain versions.
const SAMPLED: usize = 499;

/// A market that runs: books at instants a second apart.
struct Running {
    sim: Sim,
    books: Vec<Book>,
    at: Timestamp,
    passes: Passes,
}

impl Running {
    /// After its first pass.
    fn of(names: &[&str]) -> Self {
        let (sim, mut passes) = (Sim::of(names), passes());
        let books = sim.books(&passes);
        drop(sim.pass(&books, NOW, &mut passes));
        Self { sim, books, at: NOW, passes }
    }

    /// The processor time of `n` passes, each a second after the one before.
    fn run(&mut self, n: u64) -> Duration {
        let one = |_| {
            self.at += SignedDuration::from_secs(1);
            self.sim.update(&mut self.books, self.at, &self.passes);
            of_process(1, || drop(black_box(self.sim.pass(&self.books, self.at, &mut self.passes))))
        };
        (0..n).map(one).sum()
    }
}

fn pass(c: &mut Criterion) {
    let mut all = Running::of(&[]);
    let contracts = all.sim.contracts();
    println!("{} names, {contracts} contracts, {} threads", all.books.len(), all.passes.threads());
    let mut group = c.benchmark_group("pass");
    group.sampling_mode(SamplingMode::Flat).sample_size(10).throughput(Throughput::Elements(contracts));
    group.bench_function("cold", |b| {
        b.iter_custom(|n| of_process(n, || drop(black_box(all.sim.pass(&all.books, NOW, &mut passes())))));
    });
    let computed = all.sim.pass(&all.books, NOW, &mut all.passes);
    let sample = sample(&all.books, &computed);
    group.bench_function("steady", |b| b.iter_custom(|n| all.run(n)));
    group.throughput(Throughput::Elements(sample.len() as u64));
    group.bench_function("plain prices and Greeks of a sample", |b| {
        b.iter_custom(|n| {
            of_process(n, || {
                sample.iter().for_each(|o| {
                    black_box(plain(o));
                })
            })
        });
    });
    group.finish();
}

/// One name of many contracts: from a tick to what can be published.
fn tick(c: &mut Criterion) {
    let mut spx = Running::of(&["SPX"]);
    let mut group = c.benchmark_group("tick");
    group.sample_size(20).throughput(Throughput::Elements(spx.sim.contracts()));
    group.bench_function("SPX", |b| b.iter_custom(|n| spx.run(n)));
    group.finish();
}

/// Work of the plain versions for one contract once calibration is done: value and every Greek.
fn plain(o: &Contract) -> f64 {
    let greeks = match o.style {
        Style::European => bumped(o, 0.01, black_scholes),
        Style::American => bumped(o, 0.15, |o| tree(o, 501)),
    };
    greeks.value
}

/// Every so many-th contract that has a volatility.
fn sample(books: &[Book], computed: &[Computed]) -> Vec<Contract> {
    let of_book = |(book, done): (&Book, &Computed)| -> Vec<Contract> {
        let chain = &done.chain;
        let of_slice = |slice: &Slice| -> Vec<Contract> {
            let terms = terms(book, slice);
            slice.rows.clone().filter_map(|row| contract(chain, slice, &terms, row as usize)).collect()
        };
        chain.slices.iter().flat_map(of_slice).collect()
    };
    books.iter().zip(computed).flat_map(of_book).step_by(SAMPLED).collect()
}

/// Time, rates and (to the day) dividends of a slice.
fn terms(book: &Book, slice: &Slice) -> Terms {
    let today = NOW.to_zoned_datetime(jiff::tz::TimeZone::UTC).date();
    let years = |date: jiff::civil::Date| f64::from((date - today).get_days()) / 365.0;
    let t = slice.days / 365.0;
    let coming = book.dividends.iter().map(|&(date, amount)| Dividend { t: years(date), amount });
    Terms { t, r: slice.disc_rate, b: slice.borr_rate, divs: coming.filter(|d| d.t > 0.0 && d.t < t).collect() }
}

fn contract(chain: &Chain, slice: &Slice, terms: &Terms, row: usize) -> Option<Contract> {
    let sigma = chain.columns.get(Col::SvcVol)[row];
    let (right, s, k) = (chain.right[row], slice.und_price, f64::from(chain.strike_milli[row]) / 1000.0);
    let contract = Contract { style: slice.style, right, s, k, sigma, terms: terms.clone() };
    (sigma > 0.0 && s > terms.a(0.0)).then_some(contract)
}

criterion_group!(benches, pass, tick);
criterion_main!(benches);
