//! American options without dividends and with one boundary: Black-76 plus the premium integral over cached boundaries.

use super::band::Numbers;
use super::boundary::{Boundary, BoundaryAtRates, Rate};
use super::integral::{Contract, Premium, Reach, earned_first, premium};
use super::pays::exercised_now;
use super::settings::NO_DIVIDENDS;
use super::shared::{Ends, SharedBoundaries, SharedBoundary};
use crate::black76::{Horizon, european, european_vol};
use crate::contract::Right;
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::greeks::{Derivatives, VolDerivatives, by_time, from_logs};
use crate::lanes::{Lanes, Mask};
use crate::quality::Quality;

/// Deviations out of the money beyond which the premium, below 1e-10 of the strike, counts as none.
const FAR_OUT: f64 = 6.5;
/// Distance over which a premium changes whose exercise begins later, in deviations of ln X until it begins.
const WAIT: f64 = 2.0;
/// Volatilities within this part of each other are the same end of a table: ends of adjoining tables differ by
/// rounding.
const SAME_SIGMA: f64 = 1e-3;

/// Boundaries of one (terms, right) that together cover a range of volatilities.
#[derive(Clone, Debug)]
pub(super) struct NoDividends {
    right: Right,
    scheme: Quality,
    /// Ascending and adjoining in sigma.
    tables: Box<[SharedBoundary]>,
}

impl NoDividends {
    pub(super) fn new(
        shared: &SharedBoundaries,
        right: Right,
        terms: &Terms,
        sigma: (f64, f64),
        scheme: Quality,
    ) -> Self {
        let tables = SharedBoundary::over(shared, right, terms, sigma, scheme).into();
        Self { right, scheme, tables }
    }

    /// Boundaries of puts from the last ex-date on, `stop` years after `terms`: no dividend is paid after it.
    pub(super) fn last_interval(shared: &SharedBoundaries, terms: &Terms, stop: f64, sigma: (f64, f64)) -> Self {
        let terms = Terms { t: terms.t - stop, divs: Vec::new(), ..*terms };
        Self::new(shared, Right::Put, &terms, sigma, Quality::Full)
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.tables.iter().map(SharedBoundary::bytes).sum::<usize>()
    }

    /// Number of boundaries.
    pub(super) fn len(&self) -> usize {
        self.tables.len()
    }

    /// Adds boundaries at `terms` so that the tables also serve `sigma`. Existing boundaries stay.
    pub(super) fn widen(&mut self, shared: &SharedBoundaries, terms: &Terms, sigma: (f64, f64)) {
        let known = (self.tables[0].domain.sigma.0, self.tables[self.tables.len() - 1].domain.sigma.1);
        let sigma = (sigma.0.min(known.0), sigma.1.max(known.1));
        let wide = SharedBoundary::over(shared, self.right, terms, sigma, self.scheme);
        let (below, above): (Vec<SharedBoundary>, Vec<SharedBoundary>) = wide
            .into_iter()
            .filter(|table| {
                table.domain.sigma.0 < (1.0 - SAME_SIGMA) * known.0
                    || table.domain.sigma.1 > (1.0 + SAME_SIGMA) * known.1
            })
            .partition(|table| table.domain.sigma.0 < known.0);
        let held = core::mem::take(&mut self.tables);
        self.tables = below.into_iter().chain(held).chain(above).collect();
    }

    /// True if the boundaries serve `terms`: the rates lie in their range, and enough of the life is left.
    pub(super) fn serves(&self, terms: &Terms) -> bool {
        self.tables.iter().all(|table| {
            let known = &table.domain;
            terms.t <= known.t
                && terms.t >= NO_DIVIDENDS.age * known.t
                && (known.reaches(terms.r, terms.b) || self.out_of_reach(terms))
        })
    }

    /// True for a call that exercise gains nothing for: b ≤ 0 ≤ r.
    fn out_of_reach(&self, terms: &Terms) -> bool {
        self.right == Right::Call && terms.b <= 0.0 && terms.r >= 0.0
    }

    /// Solves the boundaries that reads of contracts need.
    pub(super) fn prepare<L: Lanes>(&self, terms: &Terms, x: L, k: L, sigma: L, numbers: Numbers) {
        for (table, lanes, needed) in self.unsolved(terms, x, k, sigma) {
            let asked = if numbers == Numbers::Boundary { lanes } else { needed };
            if asked.any() {
                table.solve();
            }
        }
    }

    /// Solves all boundaries.
    pub(super) fn prepare_all(&self) {
        self.tables.iter().for_each(SharedBoundary::solve);
    }

    /// Solves the boundaries that [`Self::premium_from`] needs for some `lanes`.
    pub(super) fn prepare_from<L: Lanes>(&self, sigma: L, lanes: L::Mask) {
        let needed = |table: &&SharedBoundary| (lanes & table.lanes(sigma, self.ends(table))).any();
        self.tables.iter().filter(needed).for_each(SharedBoundary::solve);
    }

    /// The lanes whose volatility has a boundary.
    pub(super) fn is_prepared<L: Lanes>(&self, sigma: L) -> L::Mask {
        let solved = self.tables.iter().filter(|table| table.get().is_some());
        solved.fold(self.nowhere(sigma), |some, table| some | table.lanes(sigma, self.ends(table)))
    }

    /// The strikes; NaN in lanes that need a boundary which is not solved.
    #[inline(always)]
    pub(super) fn prepared<L: Lanes>(&self, terms: &Terms, x: L, k: L, sigma: L) -> L {
        let missing = self.unsolved(terms, x, k, sigma);
        missing.fold(k, |k, (_, _, needed)| L::select(needed, L::splat(f64::NAN), k))
    }

    /// The boundaries that are not solved, the lanes of each, and which of these it gives a premium to.
    #[inline(always)]
    fn unsolved<L: Lanes>(
        &self,
        terms: &Terms,
        x: L,
        k: L,
        sigma: L,
    ) -> impl Iterator<Item = (&SharedBoundary, L::Mask, L::Mask)> {
        self.live(terms).iter().filter(|table| table.get().is_none()).map(move |table| {
            let lanes = table.lanes(sigma, self.ends(table));
            (table, lanes, lanes & !self.far_out(terms, ln(x / k), table.within(sigma)))
        })
    }

    /// The lanes so far out of the money that their premium counts as none; `ln_xk`: ln(X/K).
    #[inline(always)]
    fn far_out<L: Lanes>(&self, terms: &Terms, ln_xk: L, sigma: L) -> L::Mask {
        let phi = self.right.phi();
        // a drift away from the money does not spare the premium: exercise would come before it
        let drift = (phi * (terms.r - terms.b) * terms.t).max(0.0);
        ln_xk.mul_add(L::splat(phi), L::splat(drift)).lt(sigma * terms.t.sqrt() * -FAR_OUT)
    }

    /// Value and derivatives, and the lanes where exercising now is optimal. `terms` must be [served](Self::serves).
    pub(super) fn jet<L: Lanes>(&self, terms: &Terms, x: f64, k: L, sigma: L) -> (Derivatives<L>, L::Mask) {
        let x = L::splat(x);
        let plain = european(self.right.phi(), &Horizon::from(terms), x, k, sigma);
        let mut jet = plain;
        let mut exercised = self.nowhere(sigma);
        for table in self.live(terms) {
            let Some(part) = self.part::<L, true>(table, terms, x, k, sigma) else { continue };
            if part.integrate {
                let gain = premium::<L, true>(&part.at, part.boundary, &part.curve, &part.reach, self.scheme);
                jet = Derivatives::select(part.lanes, &add(&plain, &gain, &part.at, part.boundary.moved), &jet);
            }
            exercised = exercised | part.beyond;
        }
        (jet, exercised | exercised_now(self.right, jet.v, x, k, !self.nowhere(sigma)))
    }

    /// Value and volatility derivatives, and the lanes where exercising now is optimal; see [`Self::jet`].
    pub(super) fn vol_derivatives<L: Lanes>(
        &self,
        terms: &Terms,
        x: f64,
        k: L,
        sigma: L,
    ) -> (VolDerivatives<L>, L::Mask) {
        let x = L::splat(x);
        let plain = european_vol(self.right.phi(), &Horizon::from(terms), x, k, sigma);
        let mut jet = plain;
        let mut exercised = self.nowhere(sigma);
        for table in self.live(terms) {
            let Some(part) = self.part::<L, false>(table, terms, x, k, sigma) else { continue };
            if part.integrate {
                let gain = premium::<L, false>(&part.at, part.boundary, &part.curve, &part.reach, self.scheme);
                let [vega, volga, ultima] = gain.sigma;
                let gain = VolDerivatives { value: gain.v, vega, volga, ultima };
                jet = VolDerivatives::select(part.lanes, &plain.zip(&gain, |plain, gain| plain + gain), &jet);
            }
            exercised = exercised | part.beyond;
        }
        (jet, exercised | exercised_now(self.right, jet.value, x, k, !self.nowhere(sigma)))
    }

    /// The premium of exercise that begins `from` years from now, and its derivatives in the rates; without `FULL` only
    /// those in sigma. `terms`: as of now, with all dividends paid before `from`.
    ///
    /// # Domain    terms that are [served](Self::serves) once exercise begins; 0 in lanes that are not
    /// [prepared](Self::is_prepared)
    pub(super) fn premium_from<L: Lanes, const FULL: bool>(
        &self,
        terms: &Terms,
        from: f64,
        x: L,
        k: L,
        sigma: L,
    ) -> (Premium<L>, RateDerivatives<L>) {
        let c = |v: f64| L::splat(v);
        let (mut all, mut rates) = (Premium::zero(), [c(0.0); 3]);
        for table in &self.tables {
            let lanes = table.lanes(sigma, self.ends(table));
            let Some(boundary) = table.get().filter(|_| lanes.any()) else { continue };
            let at = Contract::new(self.right.phi(), terms, from, x, k, table.within(sigma));
            let (table, life) = (boundary, terms.t - from);
            let curve = table.at_rates::<FULL>(terms.r, terms.b);
            let ln_b = curve.at_time::<false>(life).ln_b(at.sigma, table.place(at.sigma).0);
            let width = at.sigma * c(life.sqrt());
            let waits = c(WAIT * (from / life).sqrt());
            let reach = Reach {
                distance: L::select(lanes, ((at.ln_xk - ln_b).abs() / width).max(waits), c(f64::INFINITY)),
                drift: L::select(lanes, c((terms.r - terms.b).abs() * terms.t) / width, c(0.0)),
            };
            let gain = premium::<L, FULL>(&at, table, &curve, &reach, self.scheme);
            if FULL {
                let first = earned_first(&at, table, &curve);
                let by_rates = by_rates(&gain, &at, first, table.moved);
                rates = core::array::from_fn(|i| L::select(lanes, by_rates[i], rates[i]));
            }
            all = Premium::select(lanes, &gain, &all);
        }
        (all, rates)
    }

    /// The spot at which exercise becomes optimal; NaN where it never does.
    pub(super) fn boundary<L: Lanes>(&self, terms: &Terms, k: L, sigma: L) -> L {
        let c = |v: f64| L::splat(v);
        let mut boundary = c(f64::NAN);
        for table in self.live(terms) {
            let lanes = table.lanes(sigma, self.ends(table));
            let within = table.within(sigma);
            let Some(table) = table.get().filter(|_| lanes.any()) else { continue };
            let curve = table.at_rates::<false>(terms.r, terms.b);
            let ln_b = curve.at_time::<false>(terms.t).ln_b(within, table.place(within).0);
            boundary = L::select(lanes, k * exp(ln_b), boundary);
        }
        boundary
    }

    /// The tables to read at `terms`.
    fn live(&self, terms: &Terms) -> &[SharedBoundary] {
        if self.out_of_reach(terms) { &[] } else { &self.tables }
    }

    /// The ends of the range of volatilities at which `table` lies.
    fn ends(&self, table: &SharedBoundary) -> Ends {
        let is = |other: Option<&SharedBoundary>| other.is_some_and(|other| core::ptr::eq(other, table));
        Ends { first: is(self.tables.first()), last: is(self.tables.last()) }
    }

    fn nowhere<L: Lanes>(&self, sigma: L) -> L::Mask {
        sigma.lt(L::splat(f64::NEG_INFINITY))
    }

    /// The lanes that `table` serves, ready for the integral; `None` where there are none.
    ///
    /// # Domain    terms that are [served](Self::serves)
    #[inline(always)]
    fn part<'a, L: Lanes, const FULL: bool>(
        &self,
        table: &'a SharedBoundary,
        terms: &Terms,
        x: L,
        k: L,
        sigma: L,
    ) -> Option<ServedLanes<'a, L>> {
        let c = |v: f64| L::splat(v);
        let lanes = table.lanes(sigma, self.ends(table));
        let at = Contract::new(self.right.phi(), terms, 0.0, x, k, table.within(sigma));
        let (ln_xk, width) = (at.ln_xk, at.sigma * c(terms.t.sqrt()));
        let far_out = self.far_out(terms, ln_xk, at.sigma);
        let table = table.get().filter(|_| (lanes & !far_out).any())?;
        let curve = table.at_rates::<FULL>(terms.r, terms.b);
        let ln_b = curve.at_time::<false>(terms.t).ln_b(at.sigma, table.place(at.sigma).0);
        let inside = (ln_xk - ln_b) * -self.right.phi();
        let beyond = inside.le(c(0.0)) & lanes;
        let idle = beyond | far_out | !lanes;
        let reach = Reach {
            distance: L::select(idle, c(f64::INFINITY), inside / width),
            drift: L::select(idle, c(0.0), c((terms.r - terms.b).abs() * terms.t) / width),
        };
        Some(ServedLanes { lanes, beyond, integrate: !idle.all(), boundary: table, reach, at, curve })
    }
}

/// Derivatives of a premium in r, in r and sigma, and in b.
type RateDerivatives<L> = [L; 3];

/// The derivatives of a premium P in the rates. The boundary moves by one of them; the other follows, since scaling
/// time gives r·P_r + b·P_b + ½·sigma·P_sigma = t·P_t + from·P_from. P_t + P_from follows from the pricing equation,
/// and P_from = −`first`: the flow at the begin of exercise and its derivative in sigma (0 where exercise may begin
/// now).
#[inline(always)]
fn by_rates<L: Lanes>(gain: &Premium<L>, at: &Contract<L>, first: [L; 2], moved: Rate) -> RateDerivatives<L> {
    let c = |v: f64| L::splat(v);
    let (t, life, r, b) = (c(at.t), c(at.t - at.from), c(at.r), c(at.b));
    let ([l1, l2, ..], [vega, volga, _]) = (gain.l, gain.sigma);
    let half = at.sigma * at.sigma * 0.5;
    let aged = by_time(at.r, at.b, half, [gain.v, l1, l2]);
    let aged_sigma = at.sigma.neg_mul_add(l2 - l1, by_time(at.r, at.b, half, [vega, gain.l_sigma, gain.ll_sigma]));
    let total = life * first[0] - t * aged - c(0.5) * at.sigma * vega;
    let total_sigma = life * first[1] - t * aged_sigma - c(0.5) * at.sigma.mul_add(volga, vega);
    match moved {
        Rate::R => [gain.rate, gain.rate_sigma, (total - r * gain.rate) / b],
        Rate::B => [(total - b * gain.rate) / r, (total_sigma - b * gain.rate_sigma) / r, gain.rate],
    }
}

/// The lanes of a block that one table serves, and the inputs of their integral.
struct ServedLanes<'a, L: Lanes> {
    lanes: L::Mask,
    /// The lanes on the exercise side of the boundary.
    beyond: L::Mask,
    /// True if any lane has a premium to add.
    integrate: bool,
    boundary: &'a Boundary,
    reach: Reach<L>,
    at: Contract<L>,
    curve: BoundaryAtRates,
}

/// European value plus premium, at fixed X. Without dividends the value is homogeneous in (X, K): its derivatives in
/// the strike follow from that.
#[inline(always)]
fn add<L: Lanes>(plain: &Derivatives<L>, gain: &Premium<L>, at: &Contract<L>, moved: Rate) -> Derivatives<L> {
    let c = |v: f64| L::splat(v);
    let inv_x = c(1.0) / at.x;
    let mut jet = *plain;
    jet.v += gain.v;
    for (sum, gain) in jet.x.iter_mut().zip(from_logs(gain.l, inv_x)) {
        *sum += gain;
    }
    for (sum, gain) in jet.sigma.iter_mut().zip(gain.sigma) {
        *sum += gain;
    }
    jet.x_sigma = gain.l_sigma.mul_add(inv_x, jet.x_sigma);
    jet.xx_sigma = (gain.ll_sigma - gain.l_sigma).mul_add(inv_x * inv_x, jet.xx_sigma);
    let inv_k = c(1.0) / at.k;
    jet.k = [(jet.v - at.x * jet.x[0]) * inv_k, at.x * at.x * jet.x[1] * inv_k * inv_k];
    let [by_r, by_r_sigma, by_b] = by_rates(gain, at, [c(0.0); 2], moved);
    jet.r += by_r;
    jet.r_sigma += by_r_sigma;
    jet.b += by_b;
    jet
}
