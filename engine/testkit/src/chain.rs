//! A chain around one contract: the strikes and volatilities that a pass builds tables for, of which it is one.

use kernel::american::{Band, Pricer, SharedBoundaries};
use kernel::contract::{Right, Style};
use kernel::dividends::Terms;
use kernel::quality::Quality;

/// Strikes on either side, and the ratio of the outermost to the contract's.
const SIDE: i32 = 6;
const REACH: f64 = 1.3;
/// Volatility is proportional to the strike to this power: it falls by a tenth at a strike 30 % higher.
const SKEW: f64 = -0.35;
/// Tables reach this far beyond the volatilities of the chain, in ln sigma, and are kept for as long as so much is
/// left.
const ROOM: f64 = 0.0953;
const ROOM_LEFT: f64 = 0.3 * ROOM;

/// The strikes of the chain, ascending: the contract's and those about it, which no table is laid out for.
#[must_use]
pub fn strikes(k: f64) -> Vec<f64> {
    (-SIDE..=SIDE).map(|i| k * REACH.powf(f64::from(i) / f64::from(SIDE))).collect()
}

/// The volatility of a strike of a chain where that of strike `at` is `sigma`.
#[must_use]
pub fn skewed(sigma: f64, at: f64, strike: f64) -> f64 {
    sigma * (strike / at).powf(SKEW)
}

fn with_room(strikes: &[f64], sigma: &impl Fn(f64) -> f64, room: f64) -> Vec<Band> {
    let band = |&k: &f64| Band { k: (k, k), sigma: (sigma(k) * (-room).exp(), sigma(k) * room.exp()) };
    strikes.iter().map(band).collect()
}

/// A band for each strike of a list with its volatility, as a pass asks for them.
#[must_use]
pub fn bands(strikes: &[f64], sigma: impl Fn(f64) -> f64) -> Vec<Band> {
    with_room(strikes, &sigma, ROOM)
}

/// Brings a pricer up to date as a pass does: tables that still serve stay. True if they did.
pub fn bring_up_to_date(pricer: &mut Pricer, terms: &Terms, strikes: &[f64], sigma: impl Fn(f64) -> f64) -> bool {
    let served = serves(pricer, terms, strikes, &sigma);
    if !served {
        pricer.refit(terms, &with_room(strikes, &sigma, ROOM));
    }
    served
}

/// True if a pass would leave a pricer as it is.
#[must_use]
pub fn serves(pricer: &Pricer, terms: &Terms, strikes: &[f64], sigma: impl Fn(f64) -> f64) -> bool {
    pricer.serves(terms, &with_room(strikes, &sigma, ROOM_LEFT))
}

/// The pricer of the (expiry, right) that a contract belongs to, laid out as a pass does; to be prepared.
#[must_use]
pub fn served(style: Style, right: Right, terms: &Terms, k: f64, sigma: f64) -> Pricer {
    let bands = bands(&strikes(k), |strike| skewed(sigma, k, strike));
    Pricer::laid_out(&SharedBoundaries::default(), style, right, terms, &bands, Quality::Full)
}

/// The pricer of a contract by itself, as accurate as the kernel can be.
#[must_use]
pub fn accurate(style: Style, right: Right, terms: &Terms, k: f64, sigma: f64) -> Pricer {
    Pricer::new(style, right, terms, &Band { k: (k, k), sigma: (sigma, sigma) }, Quality::Reference)
}
