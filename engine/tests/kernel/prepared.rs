//! Reading never builds: what a pricer is not prepared for is missing, and what it is prepared for is read without a
//! solve.

use kernel::american::{Band, Numbers, Pricer, SharedBoundaries};
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::greeks::Greeks;
use kernel::lanes::{Block, Lanes};
use kernel::quality::Quality;
use kernel::work::Work;

const S: f64 = 100.0;
const BAND: Band = Band { k: (70.0, 140.0), sigma: (0.12, 0.6) };
const K: [f64; 8] = [72.0, 85.0, 95.0, 100.0, 105.0, 112.0, 125.0, 138.0];

fn terms(t: f64, r: f64, b: f64, dates: &[(f64, f64)]) -> Terms {
    Terms { t, r, b, divs: dates.iter().map(|&(t, amount)| Dividend { t, amount }).collect() }
}

/// Contracts of each method: no dividends, exercise at one date or at several, between dates, in windows with and
/// without a tip, after the last date, two boundaries.
fn cases() -> Vec<(Right, Terms)> {
    let quarterly = [(0.1, 0.6), (0.35, 0.6), (0.6, 0.6)];
    vec![
        (Right::Put, terms(0.7, 0.04, 0.01, &[])),
        (Right::Call, terms(0.7, 0.02, 0.05, &[])),
        (Right::Call, terms(0.7, 0.04, 0.0, &[(0.6, 2.0)])),
        (Right::Call, terms(0.7, 0.01, 0.0, &quarterly)),
        (Right::Call, terms(0.7, 0.03, 0.05, &quarterly)),
        (Right::Put, terms(0.7, 0.05, 0.01, &quarterly)),
        (Right::Put, terms(0.7, 0.05, -0.02, &quarterly)),
        (Right::Put, terms(0.7, 0.04, 0.0, &[(0.1, 3.0), (0.35, 3.0)])),
        (Right::Put, terms(0.7, -0.01, -0.03, &[])),
    ]
}

fn laid_out(right: Right, terms: &Terms) -> Pricer {
    Pricer::laid_out(&SharedBoundaries::default(), Style::American, right, terms, &BAND, Quality::Full)
}

/// Reads everything at some spots and volatilities; returns what was solved meanwhile.
fn solves(pricer: &Pricer, terms: &Terms) -> u64 {
    let before = Work::of_thread();
    for s in [40.0, 80.0, 95.0, S, 104.0, 130.0, 250.0] {
        for sigma in [0.1, 0.13, 0.3, 0.59, 0.8] {
            let (at, k, sigma) = (pricer.at(terms, s), Block::load(&K), Block::splat(sigma));
            let (greeks, by_vol, boundary) = (at.greeks(k, sigma), at.vol_derivatives(k, sigma), at.boundary(k, sigma));
            std::hint::black_box((greeks, by_vol, boundary));
        }
    }
    let Work { tables, tables_refined, table_rates, boundaries, one_by_one, lattices, .. } = Work::since(&before);
    tables + tables_refined + table_rates + boundaries + one_by_one + lattices
}

#[test]
fn reading_never_builds() {
    for (right, terms) in cases() {
        let mut pricer = laid_out(right, &terms);
        let missing = |pricer: &Pricer| {
            let value = |&k: &f64| pricer.at(&terms, S).vol_derivatives(k, 0.3).value;
            K.iter().map(value).filter(|value| value.is_nan()).count()
        };
        assert_eq!(solves(&pricer, &terms), 0, "{right:?} {terms:?}");
        assert!(missing(&pricer) > 0, "{right:?} {terms:?}: no contract needs a table");
        let (k, sigma) = (Block::load(&K), Block::splat(0.3));
        pricer.prepare(&terms, S, k, sigma, Numbers::Greeks);
        assert_eq!((missing(&pricer), solves(&pricer, &terms)), (0, 0), "{right:?} {terms:?}");
        let (before, bytes) = (Work::of_thread(), pricer.bytes());
        pricer.prepare(&terms, S, k, sigma, Numbers::Greeks);
        let Work { tables, table_rates, boundaries, .. } = Work::since(&before);
        assert_eq!((tables + table_rates + boundaries, pricer.bytes()), (0, bytes), "{right:?} {terms:?}");
    }
}

/// Prepared for one contract or for all: a value has the same bits.
#[test]
fn values_do_not_depend_on_what_else_is_prepared() {
    for (right, terms) in cases() {
        let whole = Pricer::new(Style::American, right, &terms, &BAND, Quality::Full);
        assert_eq!(solves(&whole, &terms), 0);
        for k in K {
            let mut own = laid_out(right, &terms);
            let got: Greeks<f64> = own.prepare(&terms, S, k, 0.3, Numbers::Greeks).greeks(k, 0.3);
            let want: Greeks<f64> = whole.at(&terms, S).greeks(k, 0.3);
            assert_eq!(format!("{got:?}"), format!("{want:?}"), "{right:?} K {k} {terms:?}");
        }
    }
}

/// Values come without the derivatives in the rates, which cost as much again; Greeks without them are missing.
#[test]
fn tables_prepared_for_values_have_no_greeks() {
    let (right, terms) = (Right::Call, terms(0.7, 0.01, 0.0, &[(0.1, 0.6), (0.35, 0.6), (0.6, 0.6)]));
    let mut pricer = laid_out(right, &terms);
    let at = pricer.prepare(&terms, S, 95.0, 0.3, Numbers::ByVolatility);
    let greeks: Greeks<f64> = at.greeks(95.0, 0.3);
    assert!(at.vol_derivatives(95.0, 0.3).value > 5.0 && greeks.value.is_nan());
    let greeks: Greeks<f64> = pricer.prepare(&terms, S, 95.0, 0.3, Numbers::Greeks).greeks(95.0, 0.3);
    assert!(greeks.rho > 0.0);
}
