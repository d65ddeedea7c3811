//! Value and derivatives of the options of one (expiry, right), American or European, and the choice of their method.
//!
//! The exercise boundary does not depend on the spot. [`Pricer::prepare`] builds the expensive part, boundaries and
//! premium tables, once for the strikes and volatilities of a slice; [`Pricer::at`] evaluates closed forms and never
//! builds.

mod at_date;
mod band;
mod boundary;
mod integral;
mod moment;
mod no_dividends;
mod pays;
pub mod premium;
mod reference;
pub mod settings;
mod shared;
mod start;

use super::black76::{Horizon, european, european_vol};
use super::dividends::Terms;
use super::greeks::{Greeks, SpotInputs, VolDerivatives, exercised, finish};
use super::lanes::{Lanes, Mask};
use crate::contract::{Right, Style};
use crate::quality::Quality;
use crate::work::count;
pub use band::{Band, Counts, Numbers};
use no_dividends::NoDividends;
pub use pays::exercised_now;
pub(crate) use pays::most_premium;
use pays::{Class, class};
use premium::PremiumTables;
use settings::CLASSES;
pub use shared::SharedBoundaries;

/// Result of [`Pricer::refit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refit {
    /// The pricer already serves terms and bands.
    Kept,
    /// Tables were added for strikes or volatilities that had none.
    Widened,
    /// All tables were built again: the terms have moved too far.
    Built,
}

/// True if early exercise, other than at once, adds nothing to any American option of a band.
#[must_use]
pub fn never_exercised(right: Right, terms: &Terms, band: &Band) -> bool {
    class(right, terms, band, CLASSES.lost) == Class::European
}

/// Method by which a [`Pricer`] values its contracts.
#[derive(Debug)]
enum Method {
    /// In closed form: European, or never worth exercising early.
    European,
    /// American without dividends.
    NoDividends(NoDividends),
    /// American with dividends, or with two boundaries.
    Premium(PremiumTables),
    /// American with dividends, or with two boundaries, at reference quality: solutions for each contract.
    Reference,
}

/// Prices the contracts of one (expiry, right).
#[derive(Debug)]
pub struct Pricer {
    style: Style,
    right: Right,
    band: Band,
    scheme: Quality,
    shared: SharedBoundaries,
    method: Method,
}

impl Pricer {
    /// A pricer that is prepared for every strike and volatility of `bands`, at any spot: one [`Band`], or a list with
    /// one band per strike. Volatilities between the bands are served where that is free.
    ///
    /// # Cost  tables that no read may need are built too: [`Pricer::laid_out`] with [`Pricer::prepare`] builds fewer
    #[must_use]
    pub fn new<B: AsRef<[Band]> + ?Sized>(
        style: Style,
        right: Right,
        terms: &Terms,
        bands: &B,
        scheme: Quality,
    ) -> Self {
        let mut new = Self::laid_out(&SharedBoundaries::default(), style, right, terms, bands, scheme);
        new.prepare_all();
        new
    }

    /// A pricer for `bands`, as [`Pricer::new`], that is not prepared for any contract; it shares boundaries without
    /// dividends with others.
    #[must_use]
    pub fn laid_out<B: AsRef<[Band]> + ?Sized>(
        shared: &SharedBoundaries,
        style: Style,
        right: Right,
        terms: &Terms,
        bands: &B,
        scheme: Quality,
    ) -> Self {
        let (band, bands) = (Band::around(bands.as_ref()), bands.as_ref());
        let method = match Self::class(style, right, terms, &band, CLASSES.lost) {
            Class::European => Method::European,
            Class::OneBoundary => Method::NoDividends(NoDividends::new(shared, right, terms, band.sigma, scheme)),
            Class::TwoBoundaries | Class::Dividends if scheme == Quality::Reference => Method::Reference,
            Class::TwoBoundaries | Class::Dividends => Method::Premium(PremiumTables::new(shared, right, terms, bands)),
        };
        Self { style, right, band, scheme, shared: shared.clone(), method }
    }

    fn class(style: Style, right: Right, terms: &Terms, band: &Band, lost: f64) -> Class {
        match style {
            Style::European => Class::European,
            Style::American => class(right, terms, band, lost),
        }
    }

    /// True if the tables still serve these terms (time passed, r and b moved a little) and these bands.
    #[must_use]
    pub fn serves<B: AsRef<[Band]> + ?Sized>(&self, terms: &Terms, bands: &B) -> bool {
        self.holds(bands.as_ref()) && self.serves_terms(terms)
    }

    /// True if the tables still serve these terms.
    #[must_use]
    pub fn serves_terms(&self, terms: &Terms) -> bool {
        self.serves_with(terms, &self.band)
    }

    /// True if there are tables for all of `bands`.
    fn holds(&self, bands: &[Band]) -> bool {
        match &self.method {
            Method::Premium(tables) => bands.iter().all(|band| tables.holds(band)),
            _ => bands.iter().all(|band| self.band.holds(band)),
        }
    }

    /// True if the method suits the terms and its tables serve them.
    fn serves_with(&self, terms: &Terms, band: &Band) -> bool {
        let class = || Self::class(self.style, self.right, terms, band, CLASSES.lost_kept);
        match &self.method {
            Method::European => class() == Class::European,
            Method::NoDividends(tables) => {
                tables.serves(terms) && matches!(class(), Class::OneBoundary | Class::European)
            }
            Method::Premium(tables) => tables.serves(terms),
            Method::Reference => matches!(class(), Class::TwoBoundaries | Class::Dividends | Class::European),
        }
    }

    /// Makes the pricer serve `terms` and `bands` at the least cost: tables that serve them stay, and none is built
    /// before [`Pricer::prepare`]. Callers whose bands move often should ask for wider ones.
    pub fn refit<B: AsRef<[Band]> + ?Sized>(&mut self, terms: &Terms, bands: &B) -> Refit {
        let bands = bands.as_ref();
        let wide = self.band.with(&Band::around(bands));
        if !self.serves_with(terms, &wide) {
            *self = Self::laid_out(&self.shared, self.style, self.right, terms, bands, self.scheme);
            return Refit::Built;
        }
        if self.holds(bands) {
            return Refit::Kept;
        }
        match &mut self.method {
            Method::European | Method::Reference => {}
            Method::NoDividends(tables) => tables.widen(&self.shared, terms, wide.sigma),
            Method::Premium(tables) => tables.widen(bands),
        }
        self.band = wide;
        Refit::Widened
    }

    /// Numbers of boundaries and tables, by kind.
    #[must_use]
    pub fn counts(&self) -> Counts {
        match &self.method {
            Method::European => Counts { european: 1, ..Counts::default() },
            Method::NoDividends(tables) => Counts { boundaries: tables.len(), ..Counts::default() },
            Method::Premium(tables) => tables.counts(),
            Method::Reference => Counts { aligned: 1, ..Counts::default() },
        }
    }

    fn count_read(&self) {
        count(|work| match &self.method {
            Method::European => work.reads_european += 1,
            Method::NoDividends(_) => work.reads_boundaries += 1,
            Method::Premium(_) => work.reads_tables += 1,
            Method::Reference => {}
        });
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + match &self.method {
                Method::European | Method::Reference => 0,
                Method::NoDividends(tables) => tables.bytes(),
                Method::Premium(tables) => tables.bytes(),
            }
    }

    /// Builds what reads of contracts need at a spot and at terms that the pricer [`Pricer::serves`], if it is missing,
    /// and returns the pricer there.
    ///
    /// # Shapes  one contract per lane; lanes outside the bands need nothing
    /// # Cost    a look where nothing is missing; milliseconds a table
    pub fn prepare<'a, L: Lanes>(
        &'a mut self,
        terms: &'a Terms,
        s: f64,
        k: L,
        sigma: L,
        numbers: Numbers,
    ) -> PricerAt<'a> {
        match &mut self.method {
            // at reference quality each read computes its contract, and nothing is kept
            Method::European | Method::Reference => {}
            Method::NoDividends(tables) => tables.prepare(terms, L::splat(s - terms.a(0.0)), k, sigma, numbers),
            Method::Premium(tables) => tables.prepare(terms, s, k, sigma, numbers),
        }
        self.at(terms, s)
    }

    /// Builds what a read of any contract may need, at any spot.
    pub fn prepare_all(&mut self) {
        match &mut self.method {
            Method::European | Method::Reference => {}
            Method::NoDividends(tables) => tables.prepare_all(),
            Method::Premium(tables) => tables.prepare_all(),
        }
    }

    /// The pricer at a spot and at terms that it [`Pricer::serves`], for contracts that it is prepared for.
    #[must_use]
    pub fn at<'a>(&'a self, terms: &'a Terms, s: f64) -> PricerAt<'a> {
        PricerAt { pricer: self, terms, s }
    }
}

/// A [`Pricer`] at one spot: evaluates strikes and volatilities, one contract per lane.
#[derive(Clone, Copy, Debug)]
pub struct PricerAt<'a> {
    pricer: &'a Pricer,
    terms: &'a Terms,
    s: f64,
}

impl PricerAt<'_> {
    /// Every Greek, raw units. A lane whose strike or volatility lies outside the band, that is not prepared, or
    /// without model value (S ≤ A(0)), is NaN.
    pub fn greeks<L: Lanes>(&self, k: L, sigma: L) -> Greeks<L> {
        let market = SpotInputs::new(self.terms, self.s);
        let phi = self.pricer.right.phi();
        let k = self.in_band(k, sigma);
        self.pricer.count_read();
        let (jet, now) = match &self.pricer.method {
            Method::European => {
                let jet = european(phi, &Horizon::from(self.terms), L::splat(market.x), k, sigma);
                let now = self.at_intrinsic(jet.v, k);
                (jet, now)
            }
            Method::NoDividends(tables) => tables.jet(self.terms, market.x, k, sigma),
            Method::Premium(tables) => tables.jet(self.terms, self.s, k, sigma),
            Method::Reference => reference::derivatives(self.pricer.right, self.terms, market.x, k, sigma),
        };
        let waiting = finish(&jet, &market, sigma);
        if !now.any() {
            return waiting;
        }
        Greeks::select(now, &exercised(phi, self.s, k, jet.d), &waiting)
    }

    /// Value, vega, volga, ultima only.
    pub fn vol_derivatives<L: Lanes>(&self, k: L, sigma: L) -> VolDerivatives<L> {
        let x = self.s - self.terms.a(0.0);
        let phi = self.pricer.right.phi();
        let k = self.in_band(k, sigma);
        self.pricer.count_read();
        let (jet, now) = match &self.pricer.method {
            Method::European => {
                let jet = european_vol(phi, &Horizon::from(self.terms), L::splat(x), k, sigma);
                let now = self.at_intrinsic(jet.value, k);
                (jet, now)
            }
            Method::NoDividends(tables) => tables.vol_derivatives(self.terms, x, k, sigma),
            Method::Premium(tables) => tables.vol_derivatives(self.terms, self.s, k, sigma),
            Method::Reference => reference::vol_derivatives(self.pricer.right, self.terms, x, k, sigma),
        };
        let payoff = VolDerivatives::straight((L::splat(self.s) - k) * phi, L::splat(0.0));
        VolDerivatives::select(now, &payoff, &jet)
    }

    /// The spot at which exercise becomes optimal now; NaN where no table has that, or exercise never is.
    pub fn boundary<L: Lanes>(&self, k: L, sigma: L) -> L {
        match &self.pricer.method {
            Method::European => L::splat(f64::NAN),
            Method::NoDividends(tables) => tables.boundary(self.terms, k, sigma),
            Method::Premium(tables) => tables.boundary(self.terms, self.s, k, sigma),
            Method::Reference => reference::boundary(self.pricer.right, self.terms, k, sigma),
        }
    }

    /// Least and greatest volatility between which every Greek of each lane is served; NaN where there are none.
    #[must_use]
    pub fn sigma_range<L: Lanes>(&self, k: L, sigma: L) -> (L, L) {
        match &self.pricer.method {
            Method::Premium(tables) => tables.sigma_range(k, sigma),
            _ => (L::splat(self.pricer.band.sigma.0), L::splat(self.pricer.band.sigma.1)),
        }
    }

    /// The least band around all strikes and volatilities served.
    #[must_use]
    pub fn band(&self) -> Band {
        self.pricer.band
    }

    /// Exercise value, max(0, φ(S − K)); NaN for a European option.
    pub(super) fn exercise_value<L: Lanes>(&self, k: L) -> L {
        match self.pricer.style {
            Style::American => L::splat(0.0).max((L::splat(self.s) - k) * L::splat(self.pricer.right.phi())),
            Style::European => L::splat(f64::NAN),
        }
    }

    /// A bound that every value exceeds: exercise now, or at expiry at the forward.
    pub(super) fn floor<L: Lanes>(&self, k: L) -> L {
        let (fwd, df) = (L::splat(self.terms.fwd(self.s)), L::splat(self.terms.df()));
        let at_expiry = (fwd - k) * df * L::splat(self.pricer.right.phi());
        self.exercise_value(k).max(L::splat(0.0).max(at_expiry))
    }

    /// The lanes without a premium that are exercised now. With b > 0 a call may be, far in the money.
    #[inline(always)]
    fn at_intrinsic<L: Lanes>(&self, value: L, k: L) -> L::Mask {
        let s = L::splat(self.s);
        let never = s.lt(s);
        if self.pricer.style == Style::European {
            return never;
        }
        let may = if self.pricer.right == Right::Call && self.terms.b > 0.0 { !never } else { never };
        exercised_now(self.pricer.right, value, s, k, may)
    }

    /// The strike where strike and volatility lie in the band, else NaN.
    #[inline(always)]
    fn in_band<L: Lanes>(&self, k: L, sigma: L) -> L {
        if let Method::Premium(_) = self.pricer.method {
            // tables reach beyond the bands asked for, and return NaN where they end
            return k;
        }
        let within = |v: L, (lo, hi): (f64, f64)| L::splat(lo).le(v) & v.le(L::splat(hi));
        let Band { k: strikes, sigma: vols } = self.pricer.band;
        let k = L::select(within(k, strikes) & within(sigma, vols), k, L::splat(f64::NAN));
        match &self.pricer.method {
            Method::NoDividends(tables) => tables.prepared(self.terms, L::splat(self.s - self.terms.a(0.0)), k, sigma),
            _ => k,
        }
    }
}

/// Random numbers and rows of dividends for the tests of this room.
#[cfg(test)]
pub(crate) mod draws {
    use crate::dividends::Dividend;

    /// A stream of numbers.
    pub(crate) struct Draws(pub(crate) u64);

    impl Draws {
        /// In [0, 1).
        pub(crate) fn unit(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }

        /// In [lo, hi).
        pub(crate) fn between(&mut self, lo: f64, hi: f64) -> f64 {
            lo + (hi - lo) * self.unit()
        }
    }

    /// Dividends of one amount at `first` and every `gap` years after it, before `t`.
    pub(super) fn every(gap: f64, first: f64, t: f64, amount: f64) -> Vec<Dividend> {
        (0..).map(|i| first + gap * f64::from(i)).take_while(|at| *at < t).map(|t| Dividend { t, amount }).collect()
    }
}
