//! Calls around their next ex-date: the spot from which exercise right before it pays, and the value of a holder who
//! lets it pass. Never: a quote, a table.

use super::trinomial::{LatticeContract, LatticeGrid, Mean};
use crate::black76::{Horizon, european};
use crate::contract::Right;
use crate::dividends::{Dividend, SAME_DATE, Terms};
use crate::lanes::{Lanes, Mask};

/// Newton's steps for a boundary: it is approached from below, where the gain of exercise is concave.
const STEPS: usize = 12;
/// Boundaries further from the strike than so many times it are none.
const FAR: f64 = 8.0;
/// Slope of the gain of exercise below which it does not come to pay.
const FLAT: f64 = 1e-9;
/// Accuracy of a boundary, parts of the strike.
const ENOUGH: f64 = 1e-7;

/// American calls of one expiry around their next ex-date.
#[derive(Debug)]
pub struct HeldCall {
    terms: Terms,
    /// Dividends of the next ex-date, currency per share.
    paid: f64,
    /// Terms right after that date; `None`: nothing is left of the term then.
    after: Option<Terms>,
    /// Lattices of after and of now, at full and at half the steps; `None`: only the next date can be exercised before,
    /// so that the European value is exact.
    grids: Option<[[LatticeGrid; 2]; 2]>,
}

impl HeldCall {
    /// The calls of `terms`, with lattices of about `steps` layers where later exercise may pay; `None` without an
    /// ex-date before expiry.
    ///
    /// # Domain `steps` of 12 or more, t > 0
    #[must_use]
    pub fn new(terms: &Terms, steps: usize) -> Option<Self> {
        let next = terms.divs.iter().map(|d| d.t).find(|&t| t > 0.0 && t <= terms.t)?;
        let is_next = |d: &&Dividend| d.t > 0.0 && d.t < next + SAME_DATE;
        let paid = terms.divs.iter().filter(is_next).map(|d| d.amount).sum();
        let later = terms.divs.iter().filter(|d| d.t >= next + SAME_DATE && d.t <= terms.t);
        let divs: Vec<Dividend> = later.map(|d| Dividend { t: d.t - next, amount: d.amount }).collect();
        let left = terms.t - next;
        let after = (left > SAME_DATE).then_some(Terms { t: left, r: terms.r, b: terms.b, divs });
        let is_exercised_later = |after: &&Terms| !after.divs.is_empty() || after.b > 0.0 || after.r < 0.0;
        let grids = after.as_ref().filter(is_exercised_later).map(|after| {
            let pair = |terms: &Terms, until: f64| {
                [2, 1].map(|parts| {
                    let mut grid = LatticeGrid::new(terms, Right::Call, steps, parts, Mean::Pieces);
                    if terms.b <= 0.0 && terms.r >= 0.0 {
                        grid.exercise_at_dates_only(terms);
                    }
                    grid.wait_until(until);
                    grid
                })
            };
            [pair(after, 0.0), pair(terms, next)]
        });
        Some(Self { terms: terms.clone(), paid, after, grids })
    }

    /// The spot from which exercise right before the next ex-date is worth more than holding; NaN: none is.
    ///
    /// # Accuracy 1e-7 of the strike where no later exercise pays, else that of the lattice
    pub fn boundary<L: Lanes>(&self, k: L, sigma: L) -> L {
        let Some(after) = &self.after else { return k };
        // the strike is a lower bound, and each bound starts the search of the next, which values holding higher
        let plain = self.search(after, k, sigma, k, |_| [L::splat(0.0); 2]);
        let Some([grids, _]) = &self.grids else { return plain };
        if !plain.le(plain).any() {
            return plain;
        }
        let escrow = after.a(0.0);
        let start = L::select(plain.le(plain), plain, k * FAR);
        self.search(after, k, sigma, start, |s| {
            let x = (s - L::splat(self.paid + escrow)).max(k * ENOUGH);
            refined(grids, x, k, sigma)
        })
    }

    /// The greatest root of the gain of exercise above `start`, with `premium` and its slope beside the European value.
    fn search<L: Lanes>(&self, after: &Terms, k: L, sigma: L, start: L, premium: impl Fn(L) -> [L; 2]) -> L {
        let horizon = Horizon::from(after);
        let (missing, far) = (L::splat(f64::NAN), k * FAR);
        let out = L::splat(self.paid + after.a(0.0));
        let mut s = start;
        for _ in 0..STEPS {
            let x = (s - out).max(k * ENOUGH);
            let held = european(1.0, &horizon, x, k, sigma);
            let [added, by_x] = premium(s);
            let (gain, slope) = (s - k - held.v - added, L::splat(1.0) - held.x[0] - by_x);
            let newton = L::select(L::splat(FLAT).lt(slope), L::splat(0.0) - gain / slope, far);
            let step = L::select(s.lt(far), newton, L::splat(0.0));
            s = (s + step.max(L::splat(0.0))).min(far);
            if step.le(k * ENOUGH).all() {
                break;
            }
        }
        L::select(s.lt(far), s, missing)
    }

    /// The value at `spot` of a call that is not exercised up to and including the next ex-date.
    pub fn value<L: Lanes>(&self, spot: f64, k: L, sigma: L) -> L {
        let x = L::splat(spot - self.terms.a(0.0));
        let plain = european(1.0, &Horizon::from(&self.terms), x, k, sigma).v;
        match &self.grids {
            Some([_, grids]) => plain + refined(grids, x, k, sigma)[0],
            None => plain,
        }
    }
}

/// The premium and its slope from two lattices: the error falls with the length of a step.
fn refined<L: Lanes>([fine, coarse]: &[LatticeGrid; 2], x: L, k: L, sigma: L) -> [L; 2] {
    let contract = LatticeContract::new(1.0, x, k, sigma);
    let [fine, coarse] = [fine, coarse].map(|grid| grid.held(&contract));
    core::array::from_fn(|i| fine[i] + fine[i] - coarse[i])
}
