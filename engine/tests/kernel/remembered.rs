//! Values carried from an expansion point, compared with the tables read on the spot: nothing that is
//! still held may be further off than the tables themselves.

use engine::early::{EarlyExercise, Valuation, plain};
use engine::store::ladder::Ladder;
use kernel::american::{Band, Pricer, SharedBoundaries};
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::greeks::{AtTheMoney, Greek, Greeks};
use kernel::lanes::{BLOCK, Block, Lanes};
use kernel::quality::Quality;
use std::collections::BTreeMap;
use testkit::ruler::error;

const STEP: f64 = 1.0 / 365.0;
const SIGMA: f64 = 0.3;

/// Greatest error of a Greek at the 90th percentile.
const BOUNDS: [(Greek, f64); 10] = [
    (Greek::Value, 1e-4),
    (Greek::Delta, 2e-4),
    (Greek::Gamma, 3e-3),
    (Greek::Vega, 3e-3),
    (Greek::Theta, 3e-3),
    (Greek::Rho, 5e-3),
    (Greek::Vanna, 5e-3),
    (Greek::Volga, 5e-3),
    (Greek::Speed, 2e-2),
    (Greek::Zomma, 2e-2),
];

/// Moves of the spot in deviations, of the volatility and of the time in parts of themselves, one after the other, each
/// from where the first expansion point was set.
type Path = &'static [(f64, f64, f64)];

#[test]
fn premiums_carried_from_one_anchor_are_those_of_the_tables() {
    let paths: [Path; 3] = [&[(0.0045, 0.0, 0.0)], &[(-0.0045, 0.0018, 0.0)], &[(0.002, -0.0018, 3e-4)]];
    check(&paths, 1.0);
}

#[test]
fn premiums_read_between_two_anchors_are_those_of_the_tables() {
    let paths: [Path; 3] = [
        &[(0.02, 0.0, 0.0), (0.035, 0.0, 0.0), (0.07, 0.0018, 0.0)],
        &[(-0.04, 0.0015, 0.0), (-0.01, 0.0015, 3e-4), (0.015, -0.0018, 3e-4)],
        &[(0.045, 0.0, 0.0), (0.09, 0.0, 0.0), (0.1, -0.0018, 3e-4), (0.07, 0.0, 3e-4)],
    ];
    check(&paths, 0.5);
}

/// At least the part `least` of the blocks must be read from what is remembered.
fn check(paths: &[Path], least: f64) {
    let quarterly: Vec<Dividend> = [0.11, 0.36].map(|t| Dividend { t, amount: 0.6 }).to_vec();
    let cases = [(0.5, 0.003, Vec::new()), (0.08, 0.003, Vec::new()), (0.5, 0.12, Vec::new()), (0.5, 0.003, quarterly)];
    let strike_milli: Vec<u32> = (14..27).flat_map(|i| [i * 5_000; 2]).collect();
    let right: Vec<Right> = strike_milli.iter().enumerate().map(|(i, _)| [Right::Call, Right::Put][i % 2]).collect();
    let ladder = Ladder::new(&strike_milli, &right);
    let mut errors: BTreeMap<&str, (f64, Vec<f64>)> = BTreeMap::new();
    let (mut held, mut asked) = (0, 0);
    for (t, b, divs) in cases {
        let terms = Terms { t, r: 0.04, b, divs };
        for path in paths {
            let here =
                Valuation { style: Style::American, quality: Quality::Full, s: 100.0, terms: &terms, step: STEP };
            let mut early = EarlyExercise::default();
            let sigma = vec![SIGMA; ladder.strikes().len()];
            early.update(&SharedBoundaries::default(), &here, &ladder, &sigma);
            for &(ds, dv, dt) in *path {
                let later = dt * t;
                let divs = terms.divs.iter().map(|d| Dividend { t: d.t - later, amount: d.amount }).collect();
                let now = Terms { t: t - later, r: terms.r, b, divs };
                let s = 100.0 * (1.0 + ds * SIGMA * t.sqrt());
                let sigma = vec![SIGMA * (1.0 + dv); ladder.strikes().len()];
                let here = Valuation { style: Style::American, quality: Quality::Full, s, terms: &now, step: STEP };
                let fresh = early.update(&SharedBoundaries::default(), &here, &ladder, &sigma).taken() as usize;
                asked += 2 * ladder.blocks();
                held += 2 * ladder.blocks() - fresh;
                for right in [Right::Call, Right::Put] {
                    let band = Band { k: (70.0, 130.0), sigma: (0.25, 0.36) };
                    let pricer = Pricer::new(Style::American, right, &now, &band, Quality::Full);
                    let at = pricer.at(&now, s);
                    for block in 0..ladder.blocks() {
                        let (k, vol) = (ladder.block(block), Block::splat(sigma[0]));
                        let exact: Greeks<Block> = at.greeks(k, vol);
                        let mut carried = plain(right, &here, k, vol);
                        early.add(&here, right, block, k, vol, &mut carried);
                        for (lane, (greek, bound)) in (0..BLOCK).flat_map(|lane| BOUNDS.map(|bound| (lane, bound))) {
                            let (got, want) = (carried.get(greek).lane(lane), exact.get(greek).lane(lane));
                            let at = AtTheMoney { s, k: k.lane(lane), sigma: sigma[0], t: now.t };
                            let off = error(greek, got, want, 0.0, &at);
                            errors.entry(greek.name()).or_insert((bound, Vec::new())).1.push(off);
                        }
                    }
                }
            }
        }
    }
    println!("{held} of {asked} blocks held");
    assert!(held as f64 >= least * asked as f64, "only {held} of {asked} blocks were carried");
    for (name, (bound, mut errors)) in errors {
        errors.sort_by(f64::total_cmp);
        let at = |p: f64| errors[((errors.len() - 1) as f64 * p) as usize];
        println!("{name:6} median {:.1e}, 90 % {:.1e}, 99 % {:.1e}, worst {:.1e}", at(0.5), at(0.9), at(0.99), at(1.0));
        assert!(at(0.9) < bound, "{name}: 90 % within {:.1e}, not {bound:.0e}", at(0.9));
    }
}

/// Along a fine sweep of the spot expansion points come and go: what is carried may not step aside from the tables by
/// more than a small part of the tolerance from one point to the next.
#[test]
fn a_sweep_of_the_spot_crosses_anchors_without_a_jump() {
    let strike_milli: Vec<u32> = (16..25).flat_map(|i| [i * 5_000; 2]).collect();
    let right: Vec<Right> = strike_milli.iter().enumerate().map(|(i, _)| [Right::Call, Right::Put][i % 2]).collect();
    let ladder = Ladder::new(&strike_milli, &right);
    let quarterly: Vec<Dividend> = [0.11, 0.36].map(|t| Dividend { t, amount: 0.6 }).to_vec();
    for (divs, bounds) in [(Vec::new(), [3e-7, 1e-5, 3e-4, 1e-4]), (quarterly, [1e-8, 1e-7, 1e-5, 1e-6])] {
        let terms = Terms { t: 0.5, r: 0.04, b: 0.003, divs };
        let sigma = vec![SIGMA; ladder.strikes().len()];
        let band = Band { k: (70.0, 130.0), sigma: (0.25, 0.36) };
        let pricers = [Right::Call, Right::Put].map(|r| Pricer::new(Style::American, r, &terms, &band, Quality::Full));
        let mut early = EarlyExercise::default();
        let mut before: BTreeMap<(usize, usize, usize), [f64; 4]> = BTreeMap::new();
        let (mut jumps, mut anchors) = ([0.0f64; 4], 0);
        for i in 0..300 {
            let s = 100.0 * (1.0 + f64::from(i) * 0.001 * SIGMA * 0.5f64.sqrt());
            let here = Valuation { style: Style::American, quality: Quality::Full, s, terms: &terms, step: STEP };
            anchors += early.update(&SharedBoundaries::default(), &here, &ladder, &sigma).taken();
            for right in [Right::Call, Right::Put] {
                let at = pricers[right as usize].at(&terms, s);
                let money: Greeks<Block> = at.greeks(Block::splat(100.0), Block::splat(SIGMA));
                for block in 0..ladder.blocks() {
                    let (k, vol) = (ladder.block(block), Block::splat(SIGMA));
                    let exact: Greeks<Block> = at.greeks(k, vol);
                    let mut carried = plain(right, &here, k, vol);
                    early.add(&here, right, block, k, vol, &mut carried);
                    for lane in 0..BLOCK {
                        let of = |f: fn(&Greeks<Block>) -> Block| {
                            (f(&carried).lane(lane) - f(&exact).lane(lane), f(&money).lane(lane))
                        };
                        let errors = [of(|g| g.value).0 / s, of(|g| g.delta).0]
                            .into_iter()
                            .chain([of(|g| g.gamma), of(|g| g.vega)].map(|(error, size)| error / size));
                        let errors: Vec<f64> = errors.collect();
                        let errors = [errors[0], errors[1], errors[2], errors[3]];
                        if let Some(last) = before.insert((right as usize, block, lane), errors) {
                            for (jump, (new, old)) in jumps.iter_mut().zip(errors.iter().zip(last)) {
                                *jump = jump.max((new - old).abs());
                            }
                        }
                    }
                }
            }
        }
        println!("{anchors} anchors; greatest jump of price, delta, gamma, vega: {jumps:?}");
        assert!(anchors > 12, "only {anchors} anchors were crossed");
        for (jump, bound) in jumps.iter().zip(bounds) {
            assert!(*jump < bound, "{jumps:?} against {bounds:?}");
        }
    }
}
