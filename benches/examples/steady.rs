//! Passes over a synthetic market one after the other, a second apart: what each took and what it had to take again.
//!
//! `cargo run --release -p greeksd-benches --example steady -- [full[=SHARE] | NAME...]`; `PASSES=n` for other than 12,
//! `PRELIMINARY=n` runs n preliminary passes first.
#![allow(clippy::print_stdout, reason = "the report")]

use greeksd_benches::cpu::{Took, timed};
use greeksd_benches::market::{NOW, Sim, passes};
use jiff::SignedDuration;
use kernel::american::Counts;
use kernel::quality::Quality;

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u32>().ok());
    let (passes_run, preliminary) = (number("PASSES").unwrap_or(12), number("PRELIMINARY").unwrap_or(0));
    let mut passes = passes();
    let sim = match names.first().and_then(|name| name.strip_prefix("full")) {
        Some(share) => Sim::full(share.trim_start_matches('=').parse().unwrap_or(1.0)),
        None => Sim::of(&names),
    };
    let (mut books, Took { wall, processor }) = timed(|| sim.books(&passes));
    println!("{} books in {wall:.2?}, processor {processor:.2?}", books.len());
    let mut at = NOW;
    for n in 0..passes_run {
        let (computed, Took { wall, processor }) = timed(|| {
            let quality = if n < preliminary { Quality::Preliminary } else { Quality::Full };
            sim.pass_at(quality, &books, at, &mut passes)
        });
        let (mut slices, mut contracts, mut searched, mut refreshed) = (0, 0, 0, 0);
        let mut tables = Counts::default();
        for done in &computed {
            slices += done.report.slices;
            contracts += done.report.contracts;
            searched += done.report.searched;
            refreshed += done.report.refreshed;
            tables += done.report.tables;
        }
        let each = processor.as_secs_f64() * 1e6 / f64::from(contracts.max(1));
        let resident = memory_stats::memory_stats().map_or(0, |stats| stats.physical_mem / 1_000_000);
        println!(
            "pass {n}: {wall:.1?}, processor {processor:.1?}, {each:.3} us a contract of {contracts} in {slices} slices; \
             {searched} searches, {refreshed} blocks anew; {resident} MB resident"
        );
        println!("  {tables:?}");
        drop(computed);
        at += SignedDuration::from_secs(1);
        let ((), Took { wall, processor }) = timed(|| sim.update(&mut books, at, &passes));
        println!("  quotes a second later in {wall:.1?}, processor {processor:.1?}");
    }
}
