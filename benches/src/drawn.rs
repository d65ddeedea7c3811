//! Contracts drawn at random, class by class, the same in every run: what the error map is made of.

use crate::naive::Contract;
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};

/// Contracts of each class.
pub const EACH: usize = 60;
const SPOT: f64 = 100.0;
const HOUR: f64 = 1.0 / (365.0 * 24.0);

/// When dividends go ex, and what they pay.
#[derive(Clone, Copy, Debug)]
enum Payer {
    None,
    /// Step in years, least and greatest amount.
    Every(f64, f64, f64),
    /// One dividend of 5 % to 20 % of the spot, half a day to ten days before expiry.
    Special,
    /// Quarterly, the first in 1 to 20 hours.
    Hours,
}

/// Name, right, longest term in years, payer.
const CLASSES: [(&str, Right, f64, Payer); 12] = [
    ("no dividends, put", Right::Put, 2.0, Payer::None),
    ("no dividends, call", Right::Call, 2.0, Payer::None),
    ("quarterly, put", Right::Put, 2.0, Payer::Every(0.25, 0.2, 0.9)),
    ("quarterly, call", Right::Call, 2.0, Payer::Every(0.25, 0.2, 0.9)),
    ("monthly, put", Right::Put, 1.0, Payer::Every(1.0 / 12.0, 0.2, 0.6)),
    ("monthly, call", Right::Call, 1.0, Payer::Every(1.0 / 12.0, 0.2, 0.6)),
    ("weekly, put", Right::Put, 0.4, Payer::Every(7.0 / 365.0, 0.1, 0.6)),
    ("weekly, call", Right::Call, 0.4, Payer::Every(7.0 / 365.0, 0.1, 0.6)),
    ("special before expiry, put", Right::Put, 0.25, Payer::Special),
    ("special before expiry, call", Right::Call, 0.25, Payer::Special),
    ("hours before ex-date, put", Right::Put, 0.5, Payer::Hours),
    ("hours before ex-date, call", Right::Call, 0.5, Payer::Hours),
];

/// Numbers in [0, 1) that are the same in every run.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }

    fn within(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.next()
    }

    /// Evenly in the logarithm.
    fn ratio(&mut self, lo: f64, hi: f64) -> f64 {
        lo * (hi / lo).powf(self.next())
    }

    fn pick(&mut self, from: &[f64]) -> f64 {
        from[(self.next() * from.len() as f64) as usize]
    }
}

/// [`EACH`] contracts of every class, with its name.
#[must_use]
pub fn drawn() -> Vec<(&'static str, Contract)> {
    let mut draws = Draws(20_261_121);
    let mut all = Vec::new();
    for (name, right, longest, payer) in CLASSES {
        all.extend((0..EACH).map(|_| (name, contract(&mut draws, right, longest, payer))));
    }
    all
}

/// Terms from a week on, strikes within two standard deviations, volatilities of 12 % to 80 %. Rates and borrow as they
/// are quoted: mostly easy to borrow, some not. Calls without dividends are all hard to borrow, others have no premium.
fn contract(draws: &mut Draws, right: Right, longest: f64, payer: Payer) -> Contract {
    let t = draws.ratio(7.0 / 365.0, longest);
    let sigma = draws.ratio(0.12, 0.8);
    let r = draws.within(0.03, 0.055);
    let b = match (right, payer) {
        (Right::Call, Payer::None) => draws.pick(&[0.01, 0.03, 0.08, 0.3]),
        _ => draws.pick(&[0.0, 0.0, 0.003, 0.003, 0.01, 0.06]),
    };
    let k = SPOT * (sigma * t.sqrt() * draws.within(-2.0, 2.0)).exp();
    let (first, step, amount) = match payer {
        Payer::None => (f64::INFINITY, 1.0, 0.0),
        Payer::Every(step, least, most) => (step * draws.within(0.03, 1.0), step, draws.within(least, most)),
        Payer::Special => {
            let before = draws.within(0.5, 10.0f64.min(0.8 * t * 365.0)) / 365.0;
            (t - before, 1.0, SPOT * draws.within(0.05, 0.2))
        }
        Payer::Hours => (draws.within(1.0, 20.0) * HOUR, 0.25, draws.within(0.2, 0.9)),
    };
    let dates = (0..).map(|i| first + step * f64::from(i)).take_while(|&date| date < t);
    let terms = Terms { t, r, b, divs: dates.map(|t| Dividend { t, amount }).collect() };
    Contract { style: Style::American, right, s: SPOT, k, sigma, terms }
}
