//! Steady passes over the embedded market, what each took and what it had to take anew.
#![allow(clippy::print_stdout, reason = "the report")]
use greeksd_benches::cpu::of_process;
use greeksd_benches::market::{NOW, Sim, passes};
use jiff::SignedDuration;

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (sim, mut passes) = (Sim::of(&names), passes());
    let mut books = sim.books(&passes);
    let mut at = NOW;
    let passes_run = std::env::var("PASSES").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    for n in 0..passes_run {
        let mut computed = Vec::new();
        let t = of_process(1, || computed = sim.pass(&books, at, &mut passes));
        let (mut slices, mut contracts, mut searched, mut refreshed) = (0, 0, 0, 0);
        for c in &computed {
            slices += c.report.slices;
            contracts += c.report.contracts;
            searched += c.report.searched;
            refreshed += c.report.refreshed;
        }
        println!(
            "pass {n}: {t:?} for {slices} slices, {contracts} contracts: {:.3} us a contract; searched {searched}, refreshed {refreshed} blocks",
            t.as_secs_f64() * 1e6 / f64::from(contracts)
        );
        at += SignedDuration::from_secs(1);
        sim.update(&mut books, at, &passes);
    }
}
