//! Why the Greeks that vendors printed beside recorded chains differ from ours: the reason of each expiry, the part of
//! the difference that it explains, and the time that it takes. Ignored: it needs recorded chains.
//!
//! `GREEKSD_REALDATA=FOLDER cargo test --release -p greeksd-history --test reasons -- --ignored --nocapture`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that prints")]

use engine::compare::{Comparison, LikelyReason, VendorRow, compare};
use engine::store::chain::Chain;
use history::layouts::{ReadOptions, read_shown};
use history::recipe::{Recipe, UnitPasses, unit_underlying};
use history::reference::{ReferenceRecords, ReferenceSet};
use history::row::HistoryRow;
use kernel::contract::ContractKey;
use kernel::quality::Quality;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Chains whose Greeks are Cboe's, and whether these are all first Greeks.
const CBOE: [&str; 4] = ["clx_2026-07-24", "f_2026-08-21", "gdx_2026-08-21", "tsla_2026-08-21"];
/// A reason passes its own test where correcting for it removes so much of the difference.
const PASSES: f64 = 0.5;

/// The chain of a file, what the vendor shows of it, and the last place of each number.
fn chain(path: &Path, reference: &ReferenceSet) -> (Arc<Chain>, Vec<VendorRow>, VendorRow) {
    let mut quotes = Vec::new();
    let mut decimals = [None; 6];
    let mut take = |row: HistoryRow, shown: &history::layouts::ShownNumbers| {
        quotes.push((row, shown.values));
        decimals.iter_mut().zip(shown.decimals).for_each(|(most, own): (&mut Option<u8>, _)| *most = own.max(*most));
    };
    read_shown(path, &ReadOptions::default(), &mut take).unwrap();
    let recipe = Recipe { quality: Quality::Full, quotes: true };
    let mut passes = UnitPasses::new(reference, recipe).unwrap();
    passes.begin(unit_underlying(&quotes[0].0, reference));
    let newest = quotes.iter().map(|(row, _)| row.quote.ts).max().unwrap();
    let rows: Vec<HistoryRow> = quotes.iter().map(|(row, _)| *row).collect();
    let chain = passes.snapshot(newest, &rows).unwrap().computed.unwrap().chain;
    let mut places: HashMap<ContractKey, u32> = HashMap::new();
    for slice in &chain.slices {
        for row in slice.rows.clone() {
            let (strike_milli, right) = (chain.strike_milli[row as usize], chain.right[row as usize]);
            places.insert(ContractKey { root: slice.root, expiry: slice.expiry, strike_milli, right }, row);
        }
    }
    let vendor = |(row, [sigma, greeks @ ..]): &(HistoryRow, [f64; 6])| {
        Some(VendorRow { row: *places.get(&row.quote.contract)?, sigma: *sigma, greeks: *greeks })
    };
    let [sigma, greeks @ ..] = decimals.map(|places| places.map_or(f64::NAN, |n| 10f64.powi(-i32::from(n))));
    let digits = VendorRow { row: 0, sigma, greeks };
    (Arc::clone(&chain), quotes.iter().filter_map(vendor).collect(), digits)
}

/// Prints the expiries of a name; returns how many have a reason that passes its test, and how many there are.
fn print(name: &str, chain: &Chain, found: &Comparison, seconds: f64) -> (usize, usize) {
    let inside = found.inside;
    println!(
        "{name}: {:.2} s; theta {}, volatilities {}; inside {} {} of {}",
        seconds,
        found.conventions.theta.name(),
        found.vols.name(),
        inside.ours,
        inside.vendor,
        inside.quoted
    );
    let mut passed = 0;
    for expiry in &found.expiries {
        let slice = &chain.slices[expiry.slice];
        let best = expiry.reasons[0];
        let passes = best.reason == LikelyReason::Agrees || best.explained >= PASSES;
        passed += usize::from(passes);
        let by_greek = expiry.served.map(|rms| format!("{:.2}", 100.0 * rms)).join(" ");
        let left = expiry.left.map(|rms| format!("{:.2}", 100.0 * rms)).join(" ");
        let all: Vec<String> = expiry
            .reasons
            .iter()
            .map(|of| format!("{:?} {:.0} % ({:.0} %)", of.reason, 100.0 * of.explained, 100.0 * of.removes))
            .collect();
        println!(
            "  {} {:6.1} days {} served {:.3} defined {:.3} [{by_greek}] vol {:.3} [{left}] digits {:.3} {} {}",
            slice.expiry,
            slice.days,
            expiry.contracts,
            100.0 * expiry.rms,
            100.0 * expiry.rms_defined,
            100.0 * expiry.rms_at_vendor_vol,
            100.0 * expiry.rms_of_digits,
            if passes { "+" } else { "-" },
            all.join("; ")
        );
    }
    (passed, found.expiries.len())
}

#[test]
#[ignore = "needs recorded chains"]
fn most_expiries_have_a_reason_that_passes_its_test() {
    let folder = PathBuf::from(std::env::var_os("GREEKSD_REALDATA").expect("GREEKSD_REALDATA names the folder"));
    let bytes = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let (dividends, _) = feeds::reference::parse_dividends(Path::new("d"), &bytes("dividends.csv"));
    let (rates, _) = feeds::reference::parse_rates(Path::new("r"), &bytes("rates.csv"));
    let reference = ReferenceSet::new(&ReferenceRecords { dividends, rates, ..Default::default() });
    let mut sums = (0, 0);
    let others = ["msft_2021-05-17", "spy_2023-09-14", "spx_2023-09-14"];
    for name in CBOE.into_iter().chain(others) {
        let (chain, rows, digits) = chain(&folder.join(format!("chains/{name}.csv.gz")), &reference);
        let began = Instant::now();
        let found = compare(&chain, reference.calendar(), &rows, &digits, 2);
        let (passed, n) = print(name, &chain, &found, began.elapsed().as_secs_f64());
        println!("  {passed} of {n}");
        if CBOE.contains(&name) {
            sums = (sums.0 + passed, sums.1 + n);
        }
    }
    println!("Cboe: {} of {} expiries have a reason that removes at least half of the difference", sums.0, sums.1);
    assert!(10 * sums.0 >= 8 * sums.1);
}
