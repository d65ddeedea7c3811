//! Bracketed searches for volatilities outside of remembered early exercise: quotes of contracts deep in the money,
//! whose spread covers many times the last curve's volatility. Early exercise comes from a lattice, whose error is a
//! small part of such a spread; tables for volatilities that no curve has would cost more. Never: the quote of a
//! contract that the curve passes near.

use super::remembered::RememberedVol;
use crate::early::settings::LATTICE;
use crate::early::{VOL, Valuation};
use kernel::black76::{Horizon, european, european_vol};
use kernel::contract::{Right, Style};
use kernel::greeks::VolDerivatives;
use kernel::implied::{VolBounds, implied_by};
use kernel::lanes::{BLOCK, Block, Lanes, Pack};
use kernel::lattice::{Lattice, LatticePremium};

/// A pending search for the volatility of a price.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// Key of the volatility; see [`super::remembered::key`].
    pub(super) key: u32,
    pub(super) right: Right,
    /// Row of the slice, and 0 mid, 1 bid, 2 ask.
    pub(super) row: usize,
    pub(super) which: usize,
    pub(super) k: f64,
    pub(super) price: f64,
    /// Start of the search, per √year, and whether it is near the solution.
    pub(super) start: f64,
    pub(super) near: bool,
}

/// Runs the searches `open`; early exercise counts if the values are final. Passes each volatility to `put`, NaN for
/// none, and entries that the next pass may reuse to `keep`.
pub(super) fn search(
    here: &Valuation<'_>,
    open: &mut [Open],
    mut put: impl FnMut(&Open, f64),
    keep: &mut Vec<RememberedVol>,
) {
    // by right, as a lattice serves one; by key, so that the same prices share a block in every run
    open.sort_unstable_by_key(|o| (o.right, o.key));
    for of in open.chunk_by(|a, b| a.right == b.right) {
        let american = here.quality.is_final() && here.style == Style::American;
        let lattice = american.then(|| Lattice::new(here.terms, here.s, of[0].right, LATTICE.search));
        for some in of.chunks(BLOCK) {
            if some.len() <= Pack::<1>::N {
                solve::<Pack<1>>(here, lattice.as_ref(), some, &mut put, keep);
            } else {
                solve::<Block>(here, lattice.as_ref(), some, &mut put, keep);
            }
        }
    }
}

/// Searches volatilities of up to a block of prices of one right, and passes them to `put` and `keep`.
///
/// # Units    prices in currency per share, volatilities per √year
/// # Accuracy 3e-3 of the volatility for one in ten (`LATTICE.search`)
/// # Source   bracketed Newton on European value and lattice premium
fn solve<L: Lanes>(
    here: &Valuation<'_>,
    lattice: Option<&Lattice>,
    open: &[Open],
    put: &mut impl FnMut(&Open, f64),
    keep: &mut Vec<RememberedVol>,
) {
    let lanes = |f: &dyn Fn(&Open) -> f64| {
        // idle lanes repeat the last price: they converge with it and cost no step of their own
        let values: [f64; BLOCK] = core::array::from_fn(|i| f(&open[i.min(open.len() - 1)]));
        L::load(&values)
    };
    let (k, price, start) = (lanes(&|o| o.k), lanes(&|o| o.price), lanes(&|o| o.start));
    let right = open[0].right;
    let at = Value { here, right, lattice, k, horizon: Horizon::from(here.terms) };
    let payoff = (L::splat(here.s) - k) * L::splat(right.phi());
    // NaN compares false everywhere: a European price is never at its exercise value
    let exercise = if lattice.is_some() { payoff.max(L::splat(0.0)) } else { L::splat(f64::NAN) };
    let limits = VolBounds { floor: here.floor(right, k), exercise, band: VOL };
    // deep in the money, the time value is about the European value of the other right
    let time_value = VolBounds { floor: L::splat(0.0), exercise: L::splat(f64::NAN), band: VOL };
    let other = |sigma: L| european_vol(-right.phi(), &at.horizon, at.x(), k, sigma);
    let guess = implied_by(&time_value, other, k, price - limits.floor, start).sigma;
    let near = lanes(&|o| f64::from(u8::from(o.near))).gt(L::splat(0.5));
    let in_the_money = payoff.gt(L::splat(0.0)) & guess.gt(L::splat(0.0));
    let start = L::select(near | !in_the_money, start, guess);
    // at half the steps first; the correction by all steps changes little from there on
    let zero = L::splat(0.0);
    let first = implied_by(&limits, |sigma| at.preliminary(sigma, zero), k, price, start).sigma;
    // at the edge of exercise, there may be a solution at all steps and none at half of them
    let first = L::select(first.gt(zero), first, start);
    let (jet, slope, correction) = at.by_sigma(first);
    let sigma = implied_by(&limits, |sigma| at.preliminary(sigma, correction), k, price, first).sigma;
    let delta = european(right.phi(), &at.horizon, at.x(), k, sigma).x[0] + slope;
    for (lane, open) in open.iter().enumerate() {
        let vol = sigma.lane(lane);
        put(open, vol);
        let derivatives = [delta, jet.vega, jet.volga, jet.ultima].map(|d| d.lane(lane));
        keep.push(RememberedVol::new(open.key, open.price, vol, here, derivatives));
    }
}

/// The value of some contracts by their volatility.
struct Value<'a, L> {
    here: &'a Valuation<'a>,
    right: Right,
    /// `None`: European.
    lattice: Option<&'a Lattice>,
    k: L,
    horizon: Horizon,
}

impl<L: Lanes> Value<'_, L> {
    /// Value and volatility derivatives, volga and ultima those of the European part; the slope of the premium, and its
    /// correction.
    fn by_sigma(&self, sigma: L) -> (VolDerivatives<L>, L, L) {
        let zero = L::splat(0.0);
        let Some(lattice) = self.lattice else { return (self.plain(sigma), zero, zero) };
        let premium = lattice.premium(self.k, sigma);
        (self.with(sigma, &premium), premium.slope, premium.correction)
    }

    /// Value and volatility derivatives at half the steps, given the correction.
    fn preliminary(&self, sigma: L, correction: L) -> VolDerivatives<L> {
        let Some(lattice) = self.lattice else { return self.plain(sigma) };
        let premium = lattice.at_half_the_steps(self.k, sigma);
        self.with(sigma, &LatticePremium { value: premium.value + correction, ..premium })
    }

    fn plain(&self, sigma: L) -> VolDerivatives<L> {
        european_vol(self.right.phi(), &self.horizon, self.x(), self.k, sigma)
    }

    fn with(&self, sigma: L, premium: &LatticePremium<L>) -> VolDerivatives<L> {
        let (phi, zero) = (L::splat(self.right.phi()), L::splat(0.0));
        let plain = self.plain(sigma);
        let waiting = VolDerivatives { value: plain.value + premium.value, vega: plain.vega + premium.vega, ..plain };
        let now =
            VolDerivatives { value: (L::splat(self.here.s) - self.k) * phi, vega: zero, volga: zero, ultima: zero };
        VolDerivatives::select(premium.exercised, &now, &waiting)
    }

    fn x(&self) -> L {
        L::splat(self.here.s - self.here.terms.a(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::remembered::{Recalled, RememberedVols};
    use crate::calibrate::testing::worth;
    use crate::early::validity::{MemoryLayer, Moved, TABLE};
    use kernel::dividends::{Dividend, Terms};
    use kernel::quality::Quality;

    fn looked_for(style: Style, terms: &Terms, prices: &[(Right, f64, f64)]) -> (Vec<f64>, usize) {
        let here = Valuation { style, quality: Quality::Full, s: 100.0, terms, step: 1.0 / 365.0 };
        let open = |(row, &(right, k, price)): (usize, &(Right, f64, f64))| Open {
            key: u32::try_from(row).unwrap(),
            right,
            row,
            which: 0,
            k,
            price,
            start: 0.2,
            near: false,
        };
        let mut open: Vec<Open> = prices.iter().enumerate().map(open).collect();
        let (mut found, mut keep) = (vec![f64::INFINITY; prices.len()], Vec::new());
        search(&here, &mut open, |open, vol| found[open.row] = vol, &mut keep);
        (found, keep.len())
    }

    #[test]
    fn a_search_ends_at_the_volatility_that_a_price_was_made_with() {
        let divs = vec![Dividend { t: 0.2, amount: 1.5 }];
        let terms = Terms { t: 0.4, r: 0.05, b: 0.01, divs };
        for style in [Style::European, Style::American] {
            let mut truth = Vec::new();
            for sigma in [0.35, 0.6, 1.4] {
                for (right, k) in [(Right::Call, 85.0), (Right::Put, 120.0), (Right::Call, 101.0)] {
                    truth.push((sigma, (right, k, worth(style, &terms, 100.0, right, k, sigma))));
                }
            }
            // ten of one right are a block and one alone
            let prices: Vec<_> = truth.iter().map(|&(_, price)| price).collect();
            let (found, kept) = looked_for(style, &terms, &prices);
            for (vol, (sigma, price)) in found.iter().zip(truth) {
                assert!((vol / sigma - 1.0).abs() < 5e-3, "{style:?} {price:?}: {vol} for {sigma}");
            }
            assert_eq!(kept, prices.len(), "each is remembered");
        }
    }

    #[test]
    fn a_price_below_what_exercise_pays_has_no_volatility() {
        let terms = Terms { t: 0.4, r: 0.05, b: 0.0, divs: Vec::new() };
        let (found, kept) =
            looked_for(Style::American, &terms, &[(Right::Put, 120.0, 19.9), (Right::Put, 110.0, 12.0)]);
        assert!(found[0].is_nan() && found[1] > 0.0, "{found:?}");
        assert_eq!(kept, 2, "that there is none is remembered too");
        // a European put may be worth less than that
        let (found, _) = looked_for(Style::European, &terms, &[(Right::Put, 120.0, 19.0)]);
        assert!(found[0] > 0.0, "{found:?}");
    }

    /// Compares remembered volatilities at the end of each limit with a search there.
    #[test]
    fn remembered_searches_are_as_stale_as_the_table_says() {
        const WITHIN: f64 = 0.95;
        let divs = vec![Dividend { t: 0.2, amount: 1.5 }];
        let terms = Terms { t: 0.4, r: 0.05, b: 0.01, divs };
        let contracts = [(Right::Call, 85.0), (Right::Call, 70.0), (Right::Put, 120.0), (Right::Put, 140.0)];
        let found = |here: &Valuation<'_>, right: Right, k: f64, price: f64, start: f64| {
            let open = Open { key: 0, right, row: 0, which: 0, k, price, start, near: true };
            let (mut vol, mut keep) = (f64::NAN, Vec::new());
            search(here, &mut [open], |_, found| vol = found, &mut keep);
            (vol, keep)
        };
        let mut wrong = Vec::new();
        for row in TABLE.iter().filter(|row| row.layer == MemoryLayer::Searched) {
            let (mut worst, mut recalled, mut asked) = (0.0_f64, 0, 0);
            for (sigma, by, (right, k)) in [0.35, 0.6, 1.4].into_iter().flat_map(|sigma| {
                [-1.0, 1.0]
                    .into_iter()
                    .flat_map(move |sign| contracts.map(|contract| (sigma, sign * WITHIN * row.most, contract)))
            }) {
                let here =
                    Valuation { style: Style::American, quality: Quality::Full, s: 100.0, terms: &terms, step: 0.003 };
                let price = worth(Style::American, &terms, here.s, right, k, sigma);
                let (_, keep) = found(&here, right, k, price, sigma);
                let (mut s, mut vol, mut then) = (here.s, sigma, terms.clone());
                match row.moved {
                    Moved::Spot => s *= 1.0 + by * sigma * terms.t.sqrt(),
                    Moved::Volatility => vol *= 1.0 + by,
                    _ => {
                        then.t /= 1.0 + by.abs();
                        then.divs[0].t -= terms.t - then.t;
                    }
                }
                let here = Valuation { s, terms: &then, ..here };
                let price = worth(Style::American, &then, s, right, k, vol);
                let (again, _) = found(&here, right, k, price, vol);
                let floor = here.floor(right, k);
                let mut before = RememberedVols::new(&keep);
                asked += 1;
                if let Recalled::Same(_, vol) = before.get(0, &here, right.phi(), price, floor, &mut Vec::new()) {
                    recalled += 1;
                    worst = worst.max((vol / again - 1.0).abs());
                }
            }
            let admitted = row.errors[0];
            println!("{} {}: {recalled} of {asked} recalled, (\"iv\", {worst:.1e})", row.moved.name(), row.most);
            let is_measured = 2 * recalled >= asked && worst <= admitted && admitted <= 10.0 * worst;
            if !is_measured {
                wrong.push(format!("{}: {recalled} of {asked}, {worst:.1e}, not {admitted:.0e}", row.moved.name()));
            }
        }
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
