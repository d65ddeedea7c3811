//! All values of a contract: European, American without and with dividends, each beside a plain scalar version with
//! bumped Greeks. Times are processor time. The accuracy of both on golden rows is printed first.
#![allow(missing_docs, reason = "criterion's macros")]
#![allow(clippy::print_stdout, reason = "accuracy belongs beside speed")]

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use greeksd_benches::cpu::of_thread;
use greeksd_benches::golden::{quantile, read};
use greeksd_benches::naive::{Contract, black_scholes, bumped, tree};
use greeksd_benches::workload::{Slice, engine_greeks, slices};
use kernel::american::Pricer;
use kernel::contract::Style;
use kernel::greeks::Greeks;
use std::hint::black_box;

/// Steps of the plain tree.
const STEPS: usize = 501;
/// Bumps, in standard deviations: a tree needs wider ones than a formula.
const FORMULA_BUMP: f64 = 0.01;
const TREE_BUMP: f64 = 0.15;

fn by_formula(o: &Contract) -> Greeks<f64> {
    bumped(o, FORMULA_BUMP, black_scholes)
}

fn by_tree(o: &Contract) -> Greeks<f64> {
    bumped(o, TREE_BUMP, |o| tree(o, STEPS))
}

/// Median and 90th percentile of the errors of both versions, on every `each`-th row of a golden file.
fn show_accuracy(file: &str, each: usize, naive: impl Fn(&Contract) -> Greeks<f64> + Copy) {
    let rows = read(file, each);
    println!("errors on {} rows of golden/{file}, median and 90th percentile:", rows.len());
    for name in ["price", "delta", "gamma", "vega", "theta", "speed", "zomma", "ultima"] {
        let [ours50, ours90] = [0.5, 0.9].map(|p| quantile(&rows, p, name, engine_greeks));
        let [plain50, plain90] = [0.5, 0.9].map(|p| quantile(&rows, p, name, naive));
        println!("  {name:7} engine {ours50:7.0e} {ours90:7.0e}   plain {plain50:7.0e} {plain90:7.0e}");
    }
}

fn contracts(slices: &[Slice]) -> u64 {
    slices.iter().map(Slice::contracts).sum()
}

fn priced(slices: &[Slice]) -> Vec<(&Slice, Pricer)> {
    slices.iter().map(|slice| (slice, slice.pricer())).collect()
}

/// All values from tables that are there.
fn cached(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, slices: &[Slice]) {
    let priced = priced(slices);
    group.throughput(Throughput::Elements(contracts(slices)));
    group.bench_function(name, |b| {
        b.iter_custom(|n| of_thread(n, || priced.iter().for_each(|(slice, pricer)| slice.value(pricer))))
    });
}

/// Value and volatility derivatives only, at a borrow rate that has moved a little since the tables were built: what a
/// pass looks for implied volatilities with.
fn cached_vol(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, slices: &[Slice]) {
    let priced = priced(slices);
    group.throughput(Throughput::Elements(contracts(slices)));
    group.bench_function(name, |b| {
        b.iter_custom(|n| of_thread(n, || priced.iter().for_each(|(slice, pricer)| slice.value_by_vol(pricer, 2e-5))))
    });
}

/// The tables of one (expiry, right): what a pass does once, and again when rates or dividends have moved. Rates are
/// others each time: boundaries of the same are kept.
fn build(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, slices: &[Slice]) {
    let (rates, mut turn) = (slices.iter().map(|slice| slice.terms.r).collect::<Vec<_>>(), 0u32);
    let mut slices = slices.to_vec();
    group.throughput(Throughput::Elements(slices.len() as u64)).sample_size(10);
    group.bench_function(name, |b| {
        b.iter_custom(|n| {
            of_thread(n, || {
                turn = (turn + 1) % 1000;
                for (slice, rate) in slices.iter_mut().zip(&rates) {
                    slice.terms.r = rate * (1.0 + 3e-4 * f64::from(turn));
                }
                drop(black_box(priced(&slices)));
            })
        })
    });
}

/// The plain version on a few contracts: the middle one of every slice.
fn plain(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, slices: &[Slice], greeks: fn(&Contract) -> Greeks<f64>) {
    let few: Vec<Contract> = slices.iter().map(|slice| slice.contract(slice.contracts() as usize / 2)).collect();
    group.throughput(Throughput::Elements(few.len() as u64));
    group.bench_function(name, |b| {
        b.iter_custom(|n| {
            of_thread(n, || {
                few.iter().for_each(|o| {
                    black_box(greeks(o));
                })
            })
        })
    });
}

fn european(c: &mut Criterion) {
    show_accuracy("european.csv", 1, by_formula);
    let slices = slices(Style::European, 0.01, 0.0);
    let mut group = c.benchmark_group("european");
    cached(&mut group, "all values", &slices);
    let priced = priced(&slices);
    group.bench_function("all values, one lane", |b| {
        b.iter_custom(|n| of_thread(n, || priced.iter().for_each(|(slice, pricer)| slice.value_singly(pricer))));
    });
    plain(&mut group, "plain, bumped", &slices, by_formula);
    let few: Vec<Contract> = slices.iter().map(|slice| slice.contract(7)).collect();
    group.bench_function("plain, price only", |b| {
        b.iter_custom(|n| {
            of_thread(n, || {
                few.iter().for_each(|o| {
                    black_box(black_scholes(black_box(o)));
                })
            })
        });
    });
    group.finish();
}

fn american(c: &mut Criterion) {
    show_accuracy("american_nodiv.csv", 8, by_tree);
    let slices = slices(Style::American, 0.01, 0.0);
    let mut group = c.benchmark_group("american");
    cached(&mut group, "all values", &slices);
    cached_vol(&mut group, "volatility derivatives", &slices);
    build(&mut group, "tables of an expiry and right", &slices);
    plain(&mut group, "plain, tree bumped", &slices, by_tree);
    group.finish();
}

fn dividends(c: &mut Criterion) {
    show_accuracy("american_div.csv", 8, by_tree);
    let mut group = c.benchmark_group("dividends");
    for (name, b) in [("no borrow", 0.0), ("borrow 1 %", 0.01)] {
        let slices = slices(Style::American, b, 0.5);
        cached(&mut group, &format!("all values, {name}"), &slices);
        cached_vol(&mut group, &format!("volatility derivatives, {name}"), &slices);
        build(&mut group, &format!("tables of an expiry and right, {name}"), &slices);
    }
    plain(&mut group, "plain, tree bumped", &slices(Style::American, 0.01, 0.5), by_tree);
    group.finish();
}

criterion_group!(benches, european, american, dividends);
criterion_main!(benches);
