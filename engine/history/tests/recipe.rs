//! Measurements behind the passes of a unit: errors of several recipes against values that no further pass changes, and
//! their cost. Ignored: it prints figures, and needs recorded chains for the first part.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that prints")]

mod support;

use engine::pass::{MarketData, Passes};
use engine::store::chain::Chain;
use engine::store::columns::Col;
use engine::store::ingest::Store;
use history::recipe::unit_underlying;
use history::reference::{ReferenceRecords, ReferenceSet};
use history::row::HistoryRow;
use jiff::{SignedDuration, Timestamp};
use kernel::quality::Quality::{self, Full as F, Preliminary as P};
use kernel::records::{Batch, SpotRecord};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

type Snapshots = Vec<(Timestamp, Vec<HistoryRow>)>;

/// The chains of the snapshots of one name, and the seconds of the passes.
fn chains(unit: &Snapshots, reference: &ReferenceSet, first: &[Quality], later: &[Quality]) -> (Vec<Arc<Chain>>, f64) {
    let mut passes = Passes::new(1, |_| ()).unwrap();
    let (mut chains, mut seconds) = (Vec::new(), 0.0);
    for (i, (at, rows)) in unit.iter().enumerate() {
        let underlying = unit_underlying(&rows[0], reference);
        let mut store = Store::new(reference.roots().clone(), reference.calendar().clone());
        let batch = Batch {
            quotes: rows.iter().map(|row| row.quote).collect(),
            spots: vec![SpotRecord { ts: *at, underlying, price: rows[0].spot }],
            dividends: Some(reference.dividends(underlying).to_vec()),
            ..Batch::default()
        };
        store.ingest(&batch, *at);
        let market = MarketData { calendar: reference.calendar(), rates: reference.rates() };
        let began = Instant::now();
        let mut last = None;
        for &quality in if i == 0 { first } else { later } {
            last = passes.run_to(quality, market, &[(store.book(underlying).unwrap(), *at)]).pop();
        }
        seconds += began.elapsed().as_secs_f64();
        chains.extend(last.map(|computed| computed.chain));
    }
    (chains, seconds)
}

/// Prints how far recipes are from the last of them, which has enough passes.
fn compare(what: &str, units: &[Snapshots], reference: &ReferenceSet, recipes: &[(&str, &[Quality], &[Quality])]) {
    let all: Vec<Vec<(Vec<Arc<Chain>>, f64)>> = recipes
        .iter()
        .map(|(_, first, later)| units.iter().map(|unit| chains(unit, reference, first, later)).collect())
        .collect();
    let best = all.last().unwrap();
    println!("{what}: difference of values, bp of the underlying; of volatilities, 1e-4");
    println!(
        "{:>24} {:>8} {:>8} {:>8} {:>8} | {:>8} {:>8} | µs a contract",
        "", "half", "90 %", "99 %", "most", "90 %", "99 %"
    );
    for ((name, ..), of_recipe) in recipes.iter().zip(&all) {
        let (mut value, mut vol, mut seconds) = (Vec::new(), Vec::new(), 0.0);
        for ((chains, took), (reference, _)) in of_recipe.iter().zip(best) {
            seconds += took;
            for (a, b) in chains.iter().zip(reference) {
                let of = |col| a.columns.get(col).iter().zip(b.columns.get(col)).map(|(a, b)| (a - b).abs());
                value.extend(of(Col::SvcTheo).map(|d| 1e4 * d / b.spot).filter(|d| !d.is_nan()));
                vol.extend(of(Col::SvcVol).map(|d| 1e4 * d).filter(|d| !d.is_nan()));
            }
        }
        let at = |list: &mut Vec<f64>, part: f64| {
            list.sort_by(f64::total_cmp);
            list[((list.len() - 1) as f64 * part) as usize]
        };
        println!(
            "{name:>24} {:8.5} {:8.4} {:8.3} {:8.2} | {:8.4} {:8.3} | {:6.1}",
            at(&mut value, 0.5),
            at(&mut value, 0.9),
            at(&mut value, 0.99),
            at(&mut value, 1.0),
            at(&mut vol, 0.9),
            at(&mut vol, 0.99),
            1e6 * seconds / value.len() as f64
        );
    }
}

/// Every unit of a folder of chains, with what is known beside them.
fn recorded(folder: &Path) -> (Vec<Snapshots>, ReferenceSet) {
    let near = |name: &str| std::fs::read(folder.join(name)).or_else(|_| std::fs::read(folder.join("..").join(name)));
    let bytes = |name: &str| near(name).unwrap_or_default();
    let (dividends, _) = feeds::reference::parse_dividends(Path::new("d"), &bytes("dividends.csv"));
    let (rates, _) = feeds::reference::parse_rates(Path::new("r"), &bytes("rates.csv"));
    let reference = ReferenceSet::new(&ReferenceRecords { dividends, rates, ..Default::default() });
    let chains = folder.join("chains");
    let chains = if chains.is_dir() { chains } else { folder.to_path_buf() };
    let mut units: BTreeMap<_, BTreeMap<Timestamp, Vec<HistoryRow>>> = BTreeMap::new();
    let mut files: Vec<_> = std::fs::read_dir(chains).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.to_string_lossy().contains(".csv")) {
        support::read(file, &mut |row| {
            let day = reference.calendar().eastern(row.quote.ts).date();
            let unit = units.entry((unit_underlying(&row, &reference), day)).or_default();
            unit.entry(row.quote.ts).or_default().push(row);
        });
    }
    (units.into_values().map(|unit| unit.into_iter().collect()).collect(), reference)
}

#[test]
#[ignore = "prints figures; wants GREEKSD_REALDATA, a folder of recorded chains"]
fn passes_of_a_first_snapshot() {
    let folder = std::env::var_os("GREEKSD_REALDATA").expect("GREEKSD_REALDATA");
    let (units, reference) = recorded(Path::new(&folder));
    let recipes: &[(&str, &[Quality], &[Quality])] = &[
        ("full", &[F], &[]),
        ("full, full", &[F, F], &[]),
        ("preliminary, full", &[P, F], &[]),
        ("preliminary, preliminary, full", &[P, P, F], &[]),
        ("preliminary, full, full", &[P, F, F], &[]),
        ("full 3 times", &[F, F, F], &[]),
        ("preliminary, full 6 times", &[P, F, F, F, F, F, F], &[]),
    ];
    compare("full", &units, &reference, recipes);
    let recipes: &[(&str, &[Quality], &[Quality])] = &[
        ("preliminary", &[P], &[]),
        ("preliminary, preliminary", &[P, P], &[]),
        ("preliminary 3 times", &[P, P, P], &[]),
        ("preliminary 6 times", &[P; 6], &[]),
        ("preliminary, full 6 times", &[P, F, F, F, F, F, F], &[]),
    ];
    compare("preliminary", &units, &reference, recipes);
}

#[test]
#[ignore = "prints figures"]
fn passes_of_later_snapshots() {
    let first = support::time("2026-11-18T14:45:00Z");
    let reference = support::reference();
    for minutes in [1, 15] {
        let unit = |name: usize| -> Snapshots {
            let moments = (0..20).map(|i| first + SignedDuration::from_mins(i * minutes));
            moments.map(|at| (at, support::rows(&support::market(at), name, at))).collect()
        };
        let units: Vec<Snapshots> = (0..3).map(unit).collect();
        let recipes: &[(&str, &[Quality], &[Quality])] = &[
            ("preliminary; preliminary", &[P, P], &[P]),
            ("full; full", &[F], &[F]),
            ("preliminary, full, full; full", &[P, F, F], &[F]),
            ("preliminary, full, full; full twice", &[P, F, F], &[F, F]),
            ("full; full 6 times", &[P, F, F, F, F, F, F], &[F, F, F, F, F, F]),
        ];
        compare(&format!("{minutes} min apart"), &units, &reference, recipes);
    }
}
