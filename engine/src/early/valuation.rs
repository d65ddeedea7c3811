//! Inputs and quality of the valuation of a slice. Never: a table, a state.

use super::method::{bits, mask};
use super::settings::LATTICE;
use kernel::american::exercised_now;
use kernel::black76::{Horizon, european as black};
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms, escrowed};
use kernel::greeks::{Greeks, SpotInputs, finish};
use kernel::lanes::{Block, Lanes};
use kernel::quality::Quality;

/// Layers of the lattices that value early exercise at a quality; `None`: tables.
pub(super) const fn lattice_layers(quality: Quality) -> Option<usize> {
    match quality {
        Quality::Preliminary => Some(LATTICE.preliminary),
        Quality::Full | Quality::Reference => None,
    }
}

/// Inputs of the valuation of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Valuation<'a> {
    /// Exercise style.
    pub style: Style,
    /// Accuracy of early exercise.
    pub quality: Quality,
    /// The spot to value at, currency per share.
    pub s: f64,
    /// Time, rates and dividends.
    pub terms: &'a Terms,
    /// Years to the same clock time on the next trading day.
    pub step: f64,
}

impl Valuation<'_> {
    /// Spot and terms at the same clock time on the next trading day, all else equal: dividends that go ex meanwhile
    /// leave the spot, the others come nearer. `None`: the contract settles before.
    #[must_use]
    pub fn next_session(&self) -> Option<(f64, Terms)> {
        let (terms, step) = (self.terms, self.step);
        (terms.t > step).then(|| {
            let later = terms.divs.iter().filter(|d| d.t > step);
            let divs = later.map(|d| Dividend { t: d.t - step, amount: d.amount }).collect();
            (self.next_spot(), Terms { t: terms.t - step, r: terms.r, b: terms.b, divs })
        })
    }

    /// Horizon and X of the next trading day, as of [`Valuation::next_session`].
    #[must_use]
    pub fn next_horizon(&self) -> Option<(Horizon, f64)> {
        let Terms { t, r, b, divs } = self.terms;
        let x = self.next_spot() - escrowed(divs, r - b, self.step, *t);
        (*t > self.step).then(|| (Horizon::new(t - self.step, *r, *b), x))
    }

    /// The spot less the dividends that go ex before the next trading day, and before settlement.
    #[must_use]
    pub fn next_spot(&self) -> f64 {
        let until = self.step.min(self.terms.t);
        self.s - self.terms.divs.iter().filter(|d| d.t <= until).map(|d| d.amount).sum::<f64>()
    }

    /// A bound that every value exceeds: exercise now where that is allowed, or at expiry at the forward.
    pub(crate) fn floor<L: Lanes>(&self, right: Right, k: L) -> L {
        let phi = right.phi();
        let at_expiry = (L::splat(self.terms.fwd(self.s)) - k) * self.terms.df() * phi;
        let now = if self.style == Style::American { (L::splat(self.s) - k) * phi } else { at_expiry };
        at_expiry.max(now).max(L::splat(0.0))
    }
}

/// European Greeks here.
#[must_use]
pub fn plain(right: Right, here: &Valuation<'_>, k: Block, sigma: Block) -> Greeks<Block> {
    let market = SpotInputs::new(here.terms, here.s);
    finish(&black(right.phi(), &Horizon::from(here.terms), Block::splat(market.x), k, sigma), &market, sigma)
}

/// The lanes whose value is what exercising now pays.
pub(super) fn lanes_at_intrinsic(right: Right, s: f64, k: Block, value: Block) -> u8 {
    bits(exercised_now(right, value, Block::splat(s), k, mask(u8::MAX)))
}
