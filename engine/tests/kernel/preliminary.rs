//! Accuracy of early exercise from lattices, as in the preliminary pass.

use engine::early::{EarlyExercise, Valuation, plain};
use engine::store::ladder::Ladder;
use kernel::american::{Counts, SharedBoundaries};
use kernel::contract::{Right, Style};
use kernel::dividends::Terms;
use kernel::greeks::{Greek, Greeks};
use kernel::lanes::{Block, Lanes};
use kernel::quality::Quality;
use std::collections::BTreeMap;
use testkit::golden::{GoldenRow as Row, rows};
use testkit::ruler::golden_error;

const STEP: f64 = 1.0 / 365.0;

/// The Greeks of a row from lattices.
fn greeks(row: &Row) -> Greeks<Block> {
    let strike_milli = [(row.k * 1000.0).round() as u32; 2];
    let ladder = Ladder::new(&strike_milli, &[Right::Call, Right::Put]);
    let here =
        Valuation { style: Style::American, quality: Quality::Preliminary, s: row.s, terms: &row.terms, step: STEP };
    let mut early = EarlyExercise::default();
    let sigma = vec![row.sigma.unwrap(); ladder.strikes().len()];
    early.update(&SharedBoundaries::default(), &here, &ladder, &sigma);
    let (k, sigma) = (ladder.block(0), Block::splat(sigma[0]));
    let mut greeks = plain(row.right, &here, k, sigma);
    early.add(&here, row.right, 0, k, sigma, &mut greeks);
    greeks
}

/// Errors by Greek, with the contract that has each.
fn errors(file: &str) -> BTreeMap<Greek, Vec<(f64, String)>> {
    let mut errors: BTreeMap<Greek, Vec<(f64, String)>> = BTreeMap::new();
    for row in rows(file) {
        let found = greeks(&row);
        let found = Greeks::from_fn(|greek| found.get(greek).lane(0));
        for &greek in Greek::DERIVATIVES {
            let Some(off) = golden_error(&row, greek, &found) else { continue };
            assert!(off.is_finite(), "{} {}", row.id, greek.name());
            errors.entry(greek).or_default().push((off, row.id.clone()));
        }
    }
    errors
}

/// Greatest errors of the median, of nine in ten and of 99 in a hundred contracts.
const BOUNDS: [(&str, [[f64; 3]; 2]); 6] = [
    //          without dividends        with
    ("price", [[1e-5, 4e-4, 5e-3], [6e-5, 7e-4, 4e-3]]),
    ("delta", [[1e-5, 4e-4, 1e-2], [2e-4, 2e-3, 4e-2]]),
    ("gamma", [[1e-4, 4e-3, 2e-1], [1e-3, 2e-2, 5e-1]]),
    ("vega", [[1e-4, 8e-3, 2e-1], [4e-3, 2e-1, 6e-1]]),
    ("theta", [[1e-4, 5e-3, 9e-1], [1e-3, 2e-2, 3e-1]]),
    ("rho", [[1e-3, 4e-2, 2e-1], [8e-3, 6e-2, 8e-1]]),
];

#[test]
fn lattices_are_good_enough_for_a_first_look() {
    let mut over = Vec::new();
    for (kind, file) in ["american_nodiv.csv", "american_div.csv"].into_iter().enumerate() {
        println!("{file}: p50, p90, p99, worst");
        for (greek, mut errors) in errors(file) {
            let name = greek.name();
            errors.sort_by(|a, b| a.0.total_cmp(&b.0));
            let at = |p: f64| errors[((errors.len() - 1) as f64 * p) as usize].0;
            let (worst, id) = &errors[errors.len() - 1];
            let seen = [at(0.5), at(0.9), at(0.99)];
            println!("{name:>10} {:8.1e} {:8.1e} {:8.1e} {worst:8.1e} {id}", seen[0], seen[1], seen[2]);
            let Some((_, bounds)) = BOUNDS.iter().find(|(bound, _)| *bound == name) else { continue };
            for (seen, bound) in seen.iter().zip(bounds[kind]) {
                if *seen > bound {
                    over.push(format!("{file} {name}: {seen:.1e} where {bound:.0e} is allowed"));
                }
            }
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}

/// A call that is never worth exercising, and a put deep in the money that is exercised at once.
#[test]
fn certain_cases_need_no_lattice() {
    let terms = Terms { t: 0.5, r: 0.04, b: 0.0, divs: Vec::new() };
    let ladder = Ladder::new(&[150_000; 2], &[Right::Call, Right::Put]);
    let here = Valuation { style: Style::American, quality: Quality::Preliminary, s: 100.0, terms: &terms, step: STEP };
    let mut early = EarlyExercise::default();
    let (k, sigma) = (ladder.block(0), Block::splat(0.2));
    early.update(&SharedBoundaries::default(), &here, &ladder, &[0.2; 8]);
    let value = |right: Right| {
        let mut greeks = plain(right, &here, k, sigma);
        early.add(&here, right, 0, k, sigma, &mut greeks);
        [greeks.value.lane(0), greeks.delta.lane(0), greeks.theta.lane(0)]
    };
    let european = plain(Right::Call, &here, k, sigma);
    assert_eq!(value(Right::Call)[0].to_bits(), european.value.lane(0).to_bits());
    assert_eq!(value(Right::Put).map(f64::to_bits), [50.0f64, -1.0, 0.0].map(f64::to_bits));
}

/// Expansions from a lattice serve preliminary passes until the market moves, and none that may use tables.
#[test]
fn tables_take_over_from_lattices() {
    let terms = Terms { t: 0.5, r: 0.04, b: 0.0, divs: Vec::new() };
    let strike_milli: Vec<u32> = (14..26).map(|i| i * 5_000).collect();
    let ladder = Ladder::new(&strike_milli, &[Right::Put; 12]);
    let here = Valuation { style: Style::American, quality: Quality::Preliminary, s: 100.0, terms: &terms, step: STEP };
    let mut early = EarlyExercise::default();
    let mut taken = |quality: Quality, sigma: f64| {
        let here = Valuation { quality, ..here };
        (
            early.update(&SharedBoundaries::default(), &here, &ladder, &[sigma; 16]).taken(),
            early.tables() != Counts::default(),
        )
    };
    assert_eq!(taken(Quality::Preliminary, 0.3), (4, false), "two rights of two blocks, and no table");
    assert_eq!(taken(Quality::Preliminary, 0.309), (0, false), "a volatility nearby");
    assert_eq!(taken(Quality::Preliminary, 0.33), (4, false), "one further off");
    assert_eq!(taken(Quality::Full, 0.33), (4, true));
    assert_eq!(taken(Quality::Full, 0.33), (0, true));
    assert_eq!(taken(Quality::Preliminary, 0.33), (0, true), "what is better stays");
}
