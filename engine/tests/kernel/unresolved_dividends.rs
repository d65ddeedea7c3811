//! Contracts whose tables are hard to resolve, against golden/unresolved.csv: a special dividend tomorrow, exercise
//! windows of a day or two, calls hours before an ex-date, strikes among which a put's first exercise date changes.
//! Each is read from a table for a whole group of strikes, and those that are not resolved at first are built again and
//! counted.

use kernel::american::{Band, Counts, Numbers, Pricer, SharedBoundaries};
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::greeks::Greek;
use kernel::quality::Quality;
use testkit::golden::{GoldenRow as Row, rows};
use testkit::ruler::golden_error;

/// The rows of one case, and greatest errors.
struct Case {
    name: &'static str,
    price: f64,
    delta: f64,
}

const CASES: [Case; 7] = [
    Case { name: "special", price: 1e-5, delta: 5e-5 },
    Case { name: "windows", price: 2e-5, delta: 2e-5 },
    Case { name: "window_end", price: 2e-5, delta: 1e-4 },
    Case { name: "hours", price: 3e-5, delta: 1e-4 },
    Case { name: "straddled", price: 2e-4, delta: 1e-3 },
    Case { name: "bent", price: 1e-4, delta: 4e-3 },
    Case { name: "many_strikes", price: 1e-4, delta: 2e-4 },
];

/// A pricer for the strikes of all `rows` with the terms of the first, not prepared for any.
fn pricer(rows: &[&Row], scheme: Quality) -> Pricer {
    let sigma = rows[0].sigma.unwrap();
    let least = rows.iter().fold(f64::INFINITY, |least, row| least.min(row.k));
    let most = rows.iter().fold(0.0, |most: f64, row| most.max(row.k));
    let band = Band { k: (least, most), sigma: (sigma / 1.3, sigma * 1.3) };
    Pricer::laid_out(&SharedBoundaries::default(), rows[0].style, rows[0].right, &rows[0].terms, &band, scheme)
}

/// The rows of a case, by what shares a pricer.
fn groups<'a>(rows: &'a [Row], name: &str) -> Vec<Vec<&'a Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in rows.iter().filter(|row| row.id.trim_end_matches(|c: char| c.is_ascii_digit()) == name) {
        let same = |group: &&mut Vec<&Row>| {
            let first = group[0];
            (first.right, first.sigma, &first.terms) == (row.right, row.sigma, &row.terms)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

#[test]
fn what_is_hard_to_resolve_keeps_price_and_delta() {
    let rows = rows("unresolved.csv");
    let (mut counts, mut over) = (Counts::default(), Vec::new());
    for case in CASES {
        let (mut price, mut delta) = ((0.0, ""), (0.0, ""));
        for group in groups(&rows, case.name) {
            let mut pricer = pricer(&group, Quality::Full);
            for row in &group {
                let (k, sigma) = (row.k, row.sigma.unwrap());
                let got = pricer.prepare(&row.terms, row.s, k, sigma, Numbers::Greeks).greeks(k, sigma);
                let off = golden_error(row, Greek::Value, &got).unwrap();
                let off_delta = golden_error(row, Greek::Delta, &got).unwrap();
                price = if off > price.0 { (off, row.id.as_str()) } else { price };
                delta = if off_delta > delta.0 { (off_delta, row.id.as_str()) } else { delta };
            }
            counts += pricer.counts();
        }
        println!("{}: price {:.1e} ({}), delta {:.1e} ({})", case.name, price.0, price.1, delta.0, delta.1);
        for (name, (seen, at), bound) in [("price", price, case.price), ("delta", delta, case.delta)] {
            if seen > bound {
                over.push(format!("{}: {name} {seen:.1e} at {at} where {bound:.0e} is allowed", case.name));
            }
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
    assert!(counts.anchored <= 2, "{counts:?}");
}

fn quarterly(t: f64, first: f64, amount: f64) -> Terms {
    let dates = (0..).map(|i| first + 0.25 * f64::from(i)).take_while(|&date| date < t);
    Terms { t, r: 0.04, b: 0.003, divs: dates.map(|t| Dividend { t, amount }).collect() }
}

fn monthly(t: f64, first: f64, amount: f64) -> Vec<Dividend> {
    let dates = (0..).map(|i| first + f64::from(i) / 12.0).take_while(|&date| date < t);
    dates.map(|t| Dividend { t, amount }).collect()
}

fn counted(right: Right, terms: &Terms, k: (f64, f64), sigma: (f64, f64)) -> Counts {
    let (shared, band) = (SharedBoundaries::default(), Band { k, sigma });
    let mut pricer = Pricer::laid_out(&shared, Style::American, right, terms, &band, Quality::Full);
    for k in [k.0, (k.0 * k.1).sqrt(), k.1] {
        let _ = pricer.prepare(terms, 100.0, k, (sigma.0 * sigma.1).sqrt(), Numbers::Greeks);
    }
    pricer.counts()
}

#[test]
fn ordinary_tables_are_built_once_and_unresolved_ones_are_counted() {
    let ordinary = ((93.0, 108.0), (0.18, 0.35));
    for terms in [quarterly(0.8, 0.2, 0.4), quarterly(0.8, 0.05, 0.7), quarterly(0.3, 0.1, 0.5)] {
        for right in [Right::Call, Right::Put] {
            let counts = counted(right, &terms, ordinary.0, ordinary.1);
            assert_eq!(counts.refined, 0, "{right:?} {terms:?}: {counts:?}");
        }
    }
    // a put's dividend that is worth about the interest on the strike until it is paid
    let straddled = Terms { t: 0.4, r: 0.042, b: 0.0038, divs: vec![Dividend { t: 0.21, amount: 0.7 }] };
    let counts = counted(Right::Put, &straddled, (83.0, 115.0), (0.154, 0.26));
    assert_eq!((counts.anchored, counts.refined), (0, 0), "{counts:?}");
    // windows of a day before monthly ex-dates
    let short = Terms { t: 1.0, r: 0.0624, b: 0.027, divs: monthly(1.0, 0.047, 0.497) };
    let counts = counted(Right::Put, &short, (91.0, 99.0), (0.077, 0.13));
    assert_eq!(counts.refined, 0, "{counts:?}");
    // a yield that exercise saves outweighs the dividend of some strikes and volatilities only, and at a positive spot
    let yields = Terms { b: -0.063, r: 0.0423, ..quarterly(0.3, 0.2, 0.6) };
    let counts = counted(Right::Put, &yields, (50.0, 58.0), (0.25, 0.4));
    assert!(counts.refined > 0, "{counts:?}");
    // a volatility of 1000 %: at ex-dates only, and between them too
    let wild = Terms { t: 0.57, r: 0.0427, b: 0.0, divs: monthly(0.57, 0.0459, 0.49) };
    let counts = counted(Right::Call, &wild, (155.0, 180.0), (9.0, 15.0));
    assert_eq!(counts.refined, 0, "{counts:?}");
    let counts = counted(Right::Call, &Terms { b: 0.03, ..wild }, (155.0, 180.0), (9.0, 15.0));
    assert_eq!(counts.refined, 0, "{counts:?}");
}

/// Little time after a great dividend is worth nothing: the call ends right before it, as a European one on X with the
/// strike K − D.
#[test]
fn a_special_dividend_soon_before_expiry_ends_a_call() {
    use kernel::black76::{Horizon, european};
    let (s, k, r, b, date) = (100.0, 97.5, 0.045, 0.003, 0.2);
    for (sigma, amount) in [(0.05, 30.0), (0.14, 12.0), (0.14, 30.0), (0.3, 12.0), (0.3, 60.0)] {
        for days in [0.04, 0.4, 1.3, 3.0] {
            let terms = Terms { t: date + days / 365.0, r, b, divs: vec![Dividend { t: date, amount }] };
            let band = Band { k: (k, k), sigma: (sigma / 1.1, sigma * 1.1) };
            let got =
                Pricer::new(Style::American, Right::Call, &terms, &band, Quality::Full).at(&terms, s).greeks(k, sigma);
            let wanted = european(1.0, &Horizon::new(date, r, b), s - terms.a(0.0), k - amount, sigma);
            let off = ((got.value - wanted.v) / (0.05 * s), got.delta - wanted.x[0]);
            assert!(off.0.abs() <= 1e-6 && off.1.abs() <= 1e-6, "sigma {sigma}, {amount}, {days} days: {off:?}");
        }
    }
}
