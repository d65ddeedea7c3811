//! Implied curves of simulated expiries whose rates are known: how clean and spoiled quotes are read.

use super::*;
use kernel::contract::Right;

/// A name's expiries, quoted as options of its forward would be.
struct Quoted {
    underlying: Symbol,
    expiries: Vec<QuotedExpiry>,
}

/// Years, strikes, rights, bids and asks.
type QuotedExpiry = (f64, Vec<u32>, Vec<Right>, Vec<f64>, Vec<f64>);

/// A fixed sequence of numbers in [0, 1).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn true_rate(years: f64) -> f64 {
    0.04 + 0.004 * (-years).exp() - 0.002 * (years - 1.0).tanh()
}

/// Calls and puts of a lognormal forward at one volatility, each side off by part of a spread.
fn quoted(underlying: &str, spot: f64, apart: f64, draws: &mut Draws) -> Quoted {
    let expiry = |years: f64| {
        let (df, forward) = ((-(true_rate(years) + apart) * years).exp(), spot * (0.03 * years).exp());
        let sd = 0.18 * years.sqrt();
        let (mut strikes, mut rights, mut bids, mut asks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for step in -30..=30 {
            let strike = (forward * (f64::from(step) * sd / 12.0).exp() / 5.0).round().max(1.0) * 5.0;
            let milli = (strike * 1000.0) as u32;
            if strikes.last() == Some(&milli) {
                continue;
            }
            // logistic approximation of the normal distribution: any values with C - P = D (F - K) serve
            let d = (forward / strike).ln() / sd;
            let put = df * strike.max(forward) * 0.4 * sd / (1.0 + d * d) + df * (strike - forward).max(0.0);
            let call = put + df * (forward - strike);
            for (right, value) in [(Right::Call, call), (Right::Put, put)] {
                let half = (0.002 * value).max(0.05);
                let shift = (draws.next() - 0.5) * 0.5 * half;
                strikes.push(milli);
                rights.push(right);
                bids.push(((value + shift - half) * 20.0).round() / 20.0);
                asks.push(((value + shift + half) * 20.0).round() / 20.0);
            }
        }
        (years, strikes, rights, bids, asks)
    };
    let years = [0.01, 0.02, 0.04, 0.06, 0.1, 0.17, 0.25, 0.4, 0.5, 0.75, 1.0, 1.5, 2.2, 3.0];
    Quoted { underlying: Symbol::parse(underlying).unwrap(), expiries: years.into_iter().map(expiry).collect() }
}

fn implied(names: &[Quoted], prior: &DiscountCurve) -> Result<ImpliedCurve, NoImpliedCurve> {
    let expiries: Vec<EuropeanExpiry<'_>> = names
        .iter()
        .flat_map(|name| {
            name.expiries.iter().map(|(t, strike_milli, right, bid, ask)| EuropeanExpiry {
                underlying: name.underlying,
                t: *t,
                strike_milli,
                right,
                bid,
                ask,
            })
        })
        .collect();
    implied_curve(&expiries, PriorCurve { curve: prior, age_years: 0.5 })
}

/// The largest error at 30 days and later in standard errors, of which none is taken below half a basis point.
fn worst(curve: &ImpliedCurve) -> f64 {
    let off = |(days, error): (&f64, &f64)| {
        (curve.curve.rate(days / 365.0) - true_rate(days / 365.0)).abs() / error.max(0.5e-4)
    };
    let judged = TENOR_DAYS.iter().zip(&curve.errors).filter(|(days, _)| (30.0..=1095.0).contains(*days));
    judged.map(off).fold(0.0, f64::max)
}

#[test]
fn clean_quotes_imply_their_rates() {
    let mut draws = Draws(1);
    let names = [quoted("SPX", 5000.0, 0.0, &mut draws), quoted("NDX", 20_000.0, 0.0, &mut draws)];
    for prior in [0.02, 0.04, 0.05] {
        let curve = implied(&names, &DiscountCurve::flat(prior)).unwrap();
        assert!(worst(&curve) < 4.0, "prior {prior}: {}", worst(&curve));
        assert!(curve.names.iter().all(|name| name.counts));
    }
}

#[test]
fn the_order_of_names_and_expiries_does_not_matter() {
    let mut draws = Draws(2);
    let mut names = [quoted("SPX", 5000.0, 0.0, &mut draws), quoted("RUT", 2000.0, 0.0, &mut draws)];
    let prior = DiscountCurve::flat(0.04);
    let one = implied(&names, &prior).unwrap();
    names.reverse();
    names.iter_mut().for_each(|name| name.expiries.reverse());
    assert_eq!(implied(&names, &prior).unwrap(), one);
}

#[test]
fn spoiled_quotes_do_not_move_the_curve() {
    for part in [0.01, 0.05, 0.2] {
        let mut draws = Draws(3);
        let mut names = [quoted("SPX", 5000.0, 0.0, &mut draws), quoted("NDX", 20_000.0, 0.0, &mut draws)];
        for (_, _, _, bids, asks) in names.iter_mut().flat_map(|name| &mut name.expiries) {
            for row in 0..bids.len() {
                if draws.next() < part {
                    let factor = match (draws.next() * 4.0) as u32 {
                        0 => 0.5 + draws.next(),
                        1 => 1.0 + 0.2 * draws.next(),
                        2 => 1.0 - 0.2 * draws.next(),
                        _ => f64::NAN,
                    };
                    (bids[row], asks[row]) = (bids[row] * factor, asks[row] * factor);
                }
            }
        }
        let curve = implied(&names, &DiscountCurve::flat(0.045)).unwrap();
        assert!(worst(&curve) < 4.0, "{part}: {}", worst(&curve));
    }
}

#[test]
fn one_bad_chain_does_not_move_the_curve() {
    let mut draws = Draws(4);
    let prior = DiscountCurve::flat(0.045);
    let good = || [("NDX", 20_000.0), ("RUT", 2000.0)];
    for apart in [0.005, -0.01, 0.03, 0.2] {
        let mut names = vec![quoted("SPX", 5000.0, apart, &mut draws)];
        names.extend(good().map(|(name, spot)| quoted(name, spot, 0.0, &mut draws)));
        let curve = implied(&names, &prior).unwrap();
        assert!(worst(&curve) < 4.0, "{apart}: {} {:?}", worst(&curve), curve.names);
        let spx = curve.names.iter().find(|name| name.underlying.as_str() == "SPX").unwrap();
        assert!(!spx.counts, "{apart}: {spx:?}");
    }
    // alone, it is held against the prior
    let alone = [quoted("SPX", 5000.0, 0.05, &mut draws)];
    assert_eq!(implied(&alone, &prior), Err(NoImpliedCurve::Implausible));
    assert_eq!(implied(&[], &prior), Err(NoImpliedCurve::NoExpiry));
}

#[test]
fn an_expiry_that_is_shifted_has_no_say() {
    let mut draws = Draws(5);
    let mut names = [quoted("SPX", 5000.0, 0.0, &mut draws)];
    // the 0.5 year expiry quotes calls against a rate one percent higher
    let (t, strikes, rights, bids, asks) = &mut names[0].expiries[8];
    let slope = (-0.05 * *t).exp() - (-0.04 * *t).exp();
    for row in 0..bids.len() {
        if rights[row] == Right::Call {
            let shift = -slope * f64::from(strikes[row]) / 1000.0;
            (bids[row], asks[row]) = (bids[row] + shift, asks[row] + shift);
        }
    }
    let curve = implied(&names, &DiscountCurve::flat(0.045)).unwrap();
    assert!(worst(&curve) < 4.0, "{}", worst(&curve));
}

#[test]
fn a_curve_yields_to_a_move_and_not_to_noise() {
    let mut draws = Draws(6);
    let prior = DiscountCurve::flat(0.045);
    let first = implied(&[quoted("SPX", 5000.0, 0.0, &mut draws)], &prior).unwrap();
    for _ in 0..20 {
        let again = implied(&[quoted("SPX", 5000.0, 0.0, &mut draws)], &prior).unwrap();
        assert!(!again.supersedes(&first), "noise");
    }
    let moved = implied(&[quoted("SPX", 5000.0, 0.001, &mut draws)], &prior).unwrap();
    assert!(moved.supersedes(&first) && !first.supersedes(&first));
}

#[test]
fn a_given_curve_that_contradicts_the_chains_is_told() {
    let curve = implied(&[quoted("SPX", 5000.0, 0.0, &mut Draws(7))], &DiscountCurve::flat(0.045)).unwrap();
    assert_eq!(curve.disagreement(&DiscountCurve::flat(0.04)), None, "Treasuries lie a little lower");
    let told = curve.disagreement(&DiscountCurve::flat(0.0)).unwrap();
    assert!(told.given.abs() < 1e-12 && told.implied > 0.03 && told.tenor_days >= 30.0, "{told:?}");
}
