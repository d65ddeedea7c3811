//! Results of bracketed searches, kept for the next pass: a search costs twenty valuations, and the price of a contract
//! that needed one mostly stands still. Never: a search.

use crate::early::Valuation;
use crate::early::settings::SEARCHED;
use kernel::contract::Right;
use kernel::lanes::BLOCK;

/// A price without a volatility is searched again when it has moved against the exercise value by this part of its time
/// value and by `STILL_NONE_OF_SPOT`: of a price at its exercise value nothing changes by small moves.
const STILL_NONE: f64 = 0.25;
/// Part of the spot by which a price must have moved beside `STILL_NONE`, for time values of nothing.
const STILL_NONE_OF_SPOT: f64 = 2e-4;

/// One price of one contract, and its volatility. Price and spot have double precision, since small moves are their
/// differences. The other numbers have single precision, far below the error of a search; the whole market holds
/// 800,000 entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct RememberedVol {
    price: f64,
    s: f64,
    key: u32,
    /// Years to expiry.
    t: f32,
    /// Volatility, per √year; NaN: none.
    sigma: f32,
    /// Derivatives of the value at that volatility.
    delta: f32,
    vega: f32,
    volga: f32,
    ultima: f32,
}

/// Key of a volatility, ascending in the order of searches.
pub(super) fn key(block: usize, right: Right, side: usize, lane: usize) -> u32 {
    u32::try_from(((block * 2 + right as usize) * 3 + side) * BLOCK + lane).unwrap_or(u32::MAX)
}

impl RememberedVol {
    /// An entry of a price and its volatility; `derivatives` are delta, vega, volga and ultima there.
    pub(super) fn new(key: u32, price: f64, sigma: f64, here: &Valuation<'_>, derivatives: [f64; 4]) -> Self {
        let [delta, vega, volga, ultima] = derivatives.map(|d| d as f32);
        let (s, t, sigma) = (here.s, here.terms.t as f32, sigma as f32);
        Self { price, s, key, t, sigma, delta, vega, volga, ultima }
    }

    /// Key of the entry; see [`key`].
    pub(super) fn key(&self) -> u32 {
        self.key
    }

    /// Years since the search.
    fn age(&self, here: &Valuation<'_>) -> f64 {
        f64::from(self.t) - here.terms.t
    }

    /// Volatility that it implies for `price` now; `floor` is what the price must exceed.
    fn now(&self, here: &Valuation<'_>, phi: f64, price: f64, floor: f64) -> Recalled {
        let (dp, ds) = (price - self.price, here.s - self.s);
        // prices without a volatility are remembered, too, or each pass would search for them again
        if self.sigma.is_nan() {
            let still = STILL_NONE * (price - floor) + STILL_NONE_OF_SPOT * here.s;
            return if (dp - phi * ds).abs() < still { Recalled::Same(*self, f64::NAN) } else { Recalled::Nothing };
        }
        let gap = dp - f64::from(self.delta) * ds;
        let (vega, sigma) = (f64::from(self.vega), f64::from(self.sigma));
        let newton = gap / vega;
        let (h2, h3) = (f64::from(self.volga) / vega, f64::from(self.ultima) / vega);
        // the inverse series to third order: one evaluation of the last pass in place of a search
        let step = newton * (1.0 - 0.5 * h2 * newton + (0.5 * h2 * h2 - h3 / 6.0) * newton * newton);
        let near = newton.abs().max(step.abs()) < SEARCHED.sigma * sigma
            && ds.abs() < SEARCHED.spot * self.s * sigma * here.terms.t.sqrt()
            && self.age(here) < SEARCHED.time * here.terms.t;
        if near { Recalled::Same(*self, sigma + step) } else { Recalled::About(sigma) }
    }
}

/// Remembered search for a price.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recalled {
    /// The entry is of no use.
    Nothing,
    /// An approximate volatility, from which a search may start.
    About(f64),
    /// The entry still holds; with the volatility now, NaN: none.
    Same(RememberedVol, f64),
}

/// The searches of the last pass, read in their order.
pub(super) struct RememberedVols<'a>(&'a [RememberedVol]);

impl<'a> RememberedVols<'a> {
    pub(super) fn new(all: &'a [RememberedVol]) -> Self {
        Self(all)
    }

    /// Applies the entry of a key to `price`; unused entries before it go to `kept`.
    pub(super) fn get(
        &mut self,
        key: u32,
        here: &Valuation<'_>,
        phi: f64,
        price: f64,
        floor: f64,
        kept: &mut Vec<RememberedVol>,
    ) -> Recalled {
        // both lists ascend by key, so a pass reads the memory once from front to back
        let before = self.0.iter().take_while(|first| first.key < key).count();
        self.keep(before, here, kept);
        match self.0.split_first() {
            Some((first, rest)) if first.key == key => {
                self.0 = rest;
                first.now(here, phi, price, floor)
            }
            _ => Recalled::Nothing,
        }
    }

    /// Moves the remaining entries to `kept`.
    pub(super) fn rest(mut self, here: &Valuation<'_>, kept: &mut Vec<RememberedVol>) {
        self.keep(self.0.len(), here, kept);
    }

    fn keep(&mut self, n: usize, here: &Valuation<'_>, kept: &mut Vec<RememberedVol>) {
        let (unused, rest) = self.0.split_at(n);
        // a price that is missing in this pass often returns in the next, as a bid that comes and goes
        kept.extend(unused.iter().filter(|one| one.age(here) < SEARCHED.kept));
        self.0 = rest;
    }
}

/// Replaces a slice's memory by `found`. It is copied and not swapped: `found` is memory of a thread, as large as the
/// widest slice needs, and every slice would come to hold as much.
///
/// # Cost  bytes held are at most twice those that are needed
pub(super) fn replace(held: &mut Vec<RememberedVol>, found: &[RememberedVol]) {
    held.clear();
    if held.capacity() > 2 * found.len() {
        held.shrink_to(found.len());
    }
    held.reserve_exact(found.len());
    held.extend_from_slice(found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::contract::Style;
    use kernel::dividends::Terms;
    use kernel::quality::Quality;

    #[test]
    fn a_slice_holds_no_more_than_it_remembers() {
        let terms = Terms { t: 0.1, r: 0.04, b: 0.0, divs: Vec::new() };
        let here = Valuation { style: Style::American, quality: Quality::Full, s: 100.0, terms: &terms, step: 0.003 };
        let mut found: Vec<RememberedVol> = Vec::with_capacity(1000);
        found.extend((0..100).map(|key| RememberedVol::new(key, 40.0, 1.5, &here, [-0.9, 5.0, 20.0, 10.0])));
        let mut held = Vec::new();
        for (n, most) in [(100, 100), (60, 100), (40, 40), (41, 41), (0, 0)] {
            replace(&mut held, &found[..n]);
            assert!(held.iter().map(RememberedVol::key).eq(0..n as u32));
            assert!(held.capacity() <= most, "{n}: {}", held.capacity());
        }
    }

    #[test]
    fn searches_are_remembered_while_they_say_something() {
        let terms = |t: f64| Terms { t, r: 0.04, b: 0.0, divs: Vec::new() };
        let (now, soon, late) = (terms(0.1), terms(0.1 - 2e-6), terms(0.098));
        let here = |terms| Valuation { style: Style::American, quality: Quality::Full, s: 100.0, terms, step: 0.003 };
        let put = [-0.9, 5.0, 20.0, 10.0];
        let all: Vec<RememberedVol> =
            [3, 8, 9].map(|key| RememberedVol::new(key, 40.0, 1.5, &here(&now), put)).to_vec();
        let mut kept = Vec::new();
        let mut before = RememberedVols::new(&all);
        let (phi, price, floor) = (-1.0, 40.1, 39.9);
        assert!(
            matches!(before.get(8, &here(&soon), phi, price, floor, &mut kept), Recalled::Same(_, vol) if (vol - 1.52).abs() < 1e-3)
        );
        assert!(matches!(before.get(8, &here(&soon), phi, price, floor, &mut kept), Recalled::Nothing));
        before.rest(&here(&soon), &mut kept);
        assert_eq!(kept.iter().map(RememberedVol::key).collect::<Vec<_>>(), [3, 9]);
        // two hundredths of the time later it is a hint, and entries without a request are gone
        kept.clear();
        let mut before = RememberedVols::new(&all);
        assert!(matches!(before.get(8, &here(&late), phi, price, floor, &mut kept), Recalled::About(_)));
        before.rest(&here(&late), &mut kept);
        assert!(kept.is_empty());
    }
}
