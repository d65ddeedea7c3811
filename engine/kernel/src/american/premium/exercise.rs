//! Value now of exercise at one later date, from the last ex-date on, and at the best date fixed in advance.
//!
//! On the exercise side of the boundary at `ts` the premium is payoff less European value, both exactly known; its
//! expectation needs normals in one and two dimensions only (as in Roll 1977, Geske 1979, Whaley 1981, for any
//! boundary). Their correlation √(ts/T) is free of σ, so all derivatives are elementary.
//! Never: a table.

use super::series::{Taylor, at};
use crate::american::integral::Premium;
use crate::american::no_dividends::NoDividends;
use crate::american::settings::SAME;
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::lanes::{Lanes, Mask};
use crate::normal::{INV_SQRT_2PI, bell, norm_cdf, norm_cdf_given};
use crate::normal_pair::{Correlation, partials};

/// Steps of Newton's method to the exercise point. From 5 on they hardly move it.
const STEPS: usize = 14;
/// Deviations above the strike beyond which an exercise point counts as none: the loss is below 1e-15 of the strike.
const NOWHERE: f64 = 9.0;
/// Least amount that exercise keeps, and least put that it gives up, parts of the strike: their logarithms are
/// compared.
const LEAST: f64 = 1e-15;
/// Least slope of value less payoff, by which the derivatives of the exercise point divide.
const FOUND: f64 = 1e-9;
/// Terms of exercise at one later date.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exercise {
    pub(super) phi: f64,
    pub(super) r: f64,
    pub(super) b: f64,
    /// Years to the date of exercise and to expiry, `ts` < `t`.
    pub(super) ts: f64,
    pub(super) t: f64,
    /// Dividends that exercise collects, as of `ts`, and their derivative in r (minus that in b).
    pub(super) a: f64,
    pub(super) a_r: f64,
}

/// Inputs of a price as series, one contract per lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs<V> {
    /// X, ln X.
    pub(super) spot: Taylor<V>,
    pub(super) x: Taylor<V>,
    /// K, ln K.
    pub(super) strike: Taylor<V>,
    pub(super) log_strike: Taylor<V>,
    /// σ, 1/σ.
    pub(super) sigma: Taylor<V>,
    pub(super) inverse_sigma: Taylor<V>,
}

impl<V: Lanes> Inputs<V> {
    /// The series of one contract per lane.
    #[inline(never)]
    pub(super) fn new(spot: V, k: V, sigma: V) -> Self {
        let one = V::splat(1.0);
        let c = |v: f64| V::splat(v);
        let exponential = Taylor::constant(spot)
            .with(at::X, spot)
            .with(at::XX, spot * 0.5)
            .with(at::XXX, spot * c(1.0 / 6.0))
            .with(at::XXXX, spot * c(1.0 / 24.0));
        Inputs {
            spot: exponential,
            x: Taylor::constant(ln(spot)).with(at::X, one),
            strike: Taylor::strike(k),
            log_strike: Taylor::constant(ln(k)).with(at::Q, one),
            sigma: Taylor::power_of_sigma(sigma, 1.0),
            inverse_sigma: Taylor::power_of_sigma(one / sigma, -1.0),
        }
    }
}

/// The premium of Kim's integral as a series in X and σ; without `ALL` in σ only.
#[inline(always)]
pub(super) fn premium_series<V: Lanes, const ALL: bool>(premium: &Premium<V>, sigma: V) -> Taylor<V> {
    let c = |v: f64| V::splat(v);
    let [s1, s2, s3] = premium.sigma;
    let (first, variance) = (s1 * sigma, sigma * sigma);
    let second = variance * s2;
    let in_sigma = Taylor::constant(premium.v)
        .with(at::L, first)
        .with(at::LL, (second + first) * 0.5)
        .with(at::LLL, (variance * sigma * s3 + second * 3.0 + first) * c(1.0 / 6.0));
    if !ALL {
        return in_sigma;
    }
    let [l1, l2, l3, l4] = premium.l;
    in_sigma
        .with(at::X, l1)
        .with(at::XX, l2 * 0.5)
        .with(at::XXX, l3 * c(1.0 / 6.0))
        .with(at::XXXX, l4 * c(1.0 / 24.0))
        .with(at::XL, premium.l_sigma * sigma)
        .with(at::XXL, premium.ll_sigma * sigma * 0.5)
}

/// e^(−rate·t), where `rate` moves with the monomial `monomial`.
pub(super) fn discount<V: Lanes>(rate: f64, t: f64, monomial: usize) -> Taylor<V> {
    let df = (-rate * t).exp();
    Taylor::constant(V::splat(df)).with(monomial, V::splat(-t * df))
}

/// (r − b)·t as a series.
pub(super) fn carry<V: Lanes>(r: f64, b: f64, t: f64) -> Taylor<V> {
    let c = |v: f64| V::splat(v);
    Taylor::constant(c((r - b) * t)).with(at::R, c(t)).with(at::B, c(-t))
}

/// e^(−r·ts)·E[payoff − European value at ts, where X is on the exercise side of the boundary].
///
/// # Shapes    `z`: the series of (ln B − x − (r−b)·ts)/(σ√ts) + σ√ts/2
/// # Accuracy  1e-14 of X and K below a correlation of 0.925, 1e-12 above
/// # Source    normals in two dimensions: Drezner and Wesolowsky (1990), Genz (2004)
#[inline(never)]
pub(super) fn exercised_later<V: Lanes>(e: &Exercise, on: &Inputs<V>, z: &Taylor<V>) -> Taylor<V> {
    let c = |v: f64| V::splat(v);
    let phi = c(e.phi);
    let (root_s, root_t) = (e.ts.sqrt(), e.t.sqrt());
    let a2 = z.scale(-phi);
    let a1 = a2 + on.sigma.scale(phi * root_s);
    let spread = on.sigma.scale(c(root_t));
    let forward = on.x - on.log_strike + carry(e.r, e.b, e.t);
    let d1 = ((forward * on.inverse_sigma).scale(c(1.0 / root_t)) + spread.scale(c(0.5))).scale(phi);
    let d2 = d1 - spread.scale(phi);
    let rho = Correlation::new((e.ts / e.t).sqrt());
    let collected = Taylor::constant(c(e.a)).with(at::R, c(e.a_r)).with(at::B, c(-e.a_r));
    let share = discount(e.b, e.ts, at::B) * normal(&a1) - discount(e.b, e.t, at::B) * normal_pair(&a1, &d1, &rho);
    let cash = discount(e.r, e.ts, at::R) * (on.strike - collected) * normal(&a2)
        - discount(e.r, e.t, at::R) * on.strike * normal_pair(&a2, &d2, &rho);
    (on.spot * share - cash).scale(phi)
}

/// A call as of `ts` that is European afterwards. At the exercise point its value is X + A − K, so that the put's value
/// equals the amount that exercise keeps: A and the borrow less the interest on the strike.
struct CallAtExercise<'a, V> {
    e: &'a Exercise,
    k: V,
    ln_k: V,
    tau: f64,
    df: V,
    df_b: V,
    width: V,
}

impl<'a, V: Lanes> CallAtExercise<'a, V> {
    fn new(e: &'a Exercise, on: &Inputs<V>) -> Self {
        let tau = e.t - e.ts;
        let c = |v: f64| V::splat(v);
        Self {
            e,
            k: on.strike.value(),
            ln_k: on.log_strike.value(),
            tau,
            df: c((-e.r * tau).exp()),
            df_b: c((-e.b * tau).exp()),
            width: on.sigma.value() * c(tau.sqrt()),
        }
    }

    fn d1(&self, x: V) -> V {
        (x - self.ln_k + (self.e.r - self.e.b) * self.tau) / self.width + self.width * 0.5
    }

    /// X, N(−d1) and N(−d2) at ln X = `x`.
    fn at(&self, x: V) -> [V; 3] {
        let d1 = self.d1(x);
        [exp(x), norm_cdf(-d1), norm_cdf(self.width - d1)]
    }

    /// Amount that exercise keeps at a spot.
    fn kept(&self, spot: V) -> V {
        let one = V::splat(1.0);
        V::splat(self.e.a) + spot * (one - self.df_b) - self.k * (one - self.df)
    }

    /// The exercise point at ln X = `x` with its derivatives.
    fn series(&self, x: V) -> Taylor<V> {
        let c = |v: f64| V::splat(v);
        let Self { e, k, tau, df, df_b, .. } = *self;
        let one = c(1.0);
        let [spot, n1, n2] = self.at(x);
        let (share, cash) = (spot * df_b * (one - n1), k * df * (one - n2));
        let by_x = spot - share;
        let vega = spot * df_b * bell(self.d1(x)) * c(INV_SQRT_2PI * tau.sqrt());
        let found = (spot * c(FOUND)).lt(by_x.abs());
        let inverse = V::select(found, one / by_x, c(0.0));
        Taylor::constant(x)
            .with(at::L, self.width * c(1.0 / tau.sqrt()) * vega * inverse)
            .with(at::Q, (k - cash) * inverse)
            .with(at::R, (cash * tau - e.a_r) * inverse)
            .with(at::B, (c(e.a_r) - share * tau) * inverse)
    }
}

/// ln of the X above which a call is exercised at `ts`, if it is European afterwards.
///
/// # Shapes    first derivatives only: the value of the option is stationary in the exercise point, so these make its
/// own derivatives right up to the third order
/// # Accuracy  without such an X within `NOWHERE`, that distance itself: the value is off by less than 1e-15
/// of K
#[inline(never)]
pub(super) fn exercise_point<V: Lanes>(e: &Exercise, on: &Inputs<V>) -> Taylor<V> {
    let c = |v: f64| V::splat(v);
    let call = CallAtExercise::new(e, on);
    let CallAtExercise { k, ln_k, df, df_b, width, .. } = call;
    let one = c(1.0);
    let top = ln_k + width * NOWHERE;
    let least = k * c(LEAST);
    // the put is worth its intrinsic value at least, so that the point lies above K − A: where that is far below K,
    // close above
    let low = ln((k - e.a).max(k * c(SAME.strike_left)));
    let start = ln_k + width * width * 0.5;
    let mut x = V::select(low.lt(start - width - width), low, start);
    for _ in 0..STEPS {
        let [spot, n1, n2] = call.at(x);
        let put = (k * df * n2 - spot * df_b * n1).max(least);
        let kept = call.kept(spot);
        let slope = spot * df_b * n1 / put + V::select(kept.gt(least), spot * (one - df_b) / kept.max(least), c(0.0));
        let step = ln(put / kept.max(least)) / slope;
        x = (x + step.max(-width).min(width + width)).min(top);
    }
    call.series(x)
}

/// ln of the X up to which a call with b < 0 is exercised at `ts`: further up waiting earns more than the dividends are
/// worth. Lanes without such an X, which are not exercised at all, have `point`, so that their region is empty; `None`:
/// no lane's end is in reach of the spot.
///
/// # Shapes  as [`exercise_point`]
#[inline(never)]
pub(super) fn exercise_end<V: Lanes>(e: &Exercise, on: &Inputs<V>, point: &Taylor<V>) -> Option<Taylor<V>> {
    let c = |v: f64| V::splat(v);
    let call = CallAtExercise::new(e, on);
    let CallAtExercise { k, df, df_b, width, .. } = call;
    let one = c(1.0);
    // the amount that exercise keeps is 0 there, the put above 0: further down the gain is concave
    let most = (c(e.a) - k * (one - df)) / (df_b - one);
    let (is_some, least) = (c(0.0).lt(most), k * c(SAME.strike_left));
    let reached = on.x.value() + c((e.r - e.b) * e.ts) + on.sigma.value() * c(NOWHERE * e.ts.sqrt());
    let is_far = ln(most.max(least)).gt(reached.max(on.log_strike.value()) + width * NOWHERE);
    if (is_far & is_some).all() {
        return None;
    }
    let mut spot = most.max(least);
    let mut found = is_some;
    for _ in 0..STEPS {
        let [_, n1, n2] = call.at(ln(spot));
        let slope = one - df_b * (one - n1);
        found = found & slope.lt(c(0.0));
        let gain = call.kept(spot) - (k * df * n2 - spot * df_b * n1);
        spot = V::select(found, spot - gain / slope, spot);
    }
    let end = call.series(ln(spot));
    Some(Taylor(core::array::from_fn(|i| V::select(found, end.0[i], point.0[i]))))
}

/// N of a series.
#[inline(never)]
pub(super) fn normal<V: Lanes>(d: &Taylor<V>) -> Taylor<V> {
    let x = d.value();
    let e = bell(x);
    let density = e * V::splat(INV_SQRT_2PI);
    let x2 = x * x;
    let one = V::splat(1.0);
    let three = V::splat(3.0);
    d.compose([norm_cdf_given(x, e), density, -(x * density), (x2 - one) * density, -((x2 - three) * x * density)])
}

/// P(Z₁ ≤ a, Z₂ ≤ d) of two series, correlation `rho`.
#[inline(never)]
fn normal_pair<V: Lanes>(a: &Taylor<V>, d: &Taylor<V>, rho: &Correlation) -> Taylor<V> {
    let c = |v: f64| V::splat(v);
    let n = partials(a.value(), d.value(), rho);
    let (a, d) = (a.moving(), d.moving());
    const FACTORIAL: [f64; 5] = [1.0, 1.0, 2.0, 6.0, 24.0];
    let coefficient = |i: usize, j: usize| n[i][j] * c(1.0 / (FACTORIAL[i] * FACTORIAL[j]));
    // the powers of a that go with d^j, by Horner's rule, and then those of d
    let along_a = |j: usize| {
        let top = 4 - j;
        let mut sum = a.scale(coefficient(top, j)).plus(coefficient(top - 1, j));
        for i in (0..top - 1).rev() {
            sum = (sum * a).plus(coefficient(i, j));
        }
        sum
    };
    let mut sum = d.scale(coefficient(0, 4)) + along_a(3);
    for j in (0..3).rev() {
        sum = sum * d + along_a(j);
    }
    sum
}

/// The premium, as a series, of puts that are not exercised before the last ex-date, `from` years from now: no dividend
/// is paid after it, so that it is Kim's integral from the date on, over `boundaries` without dividends. Without `ALL`
/// in sigma only; `terms`: rates and time to expiry.
///
/// # Cost  as without dividends: 0.35 µs a contract
#[inline(never)]
pub(super) fn last_interval<L: Lanes, const ALL: bool>(
    boundaries: &NoDividends,
    terms: &Terms,
    from: f64,
    on: &Inputs<L>,
) -> Taylor<L> {
    let (spot, k, sigma) = (on.spot.value(), on.strike.value(), on.sigma.value());
    let (gain, [by_r, by_r_sigma, by_b]) = boundaries.premium_from::<L, ALL>(terms, from, spot, k, sigma);
    let series = premium_series::<L, ALL>(&gain, sigma);
    if !ALL {
        return series;
    }
    // of first degree in X and K
    let [l1, l2, ..] = gain.l;
    series
        .with(at::Q, gain.v - l1)
        .with(at::QQ, (gain.v - l1 - l1 + l2) * 0.5)
        .with(at::R, by_r)
        .with(at::RL, by_r_sigma * sigma)
        .with(at::B, by_b)
}

/// Exercise at `t`: φ·(share·X − df·(K − A)) now.
#[derive(Clone, Copy, Debug)]
struct Date<L> {
    t: L,
    share: L,
    df: L,
    a: L,
    a_r: L,
}

impl<L: Lanes> Date<L> {
    fn new(terms: &Terms, t: f64, a: f64, a_r: f64) -> Self {
        let c = |v: f64| L::splat(v);
        Date { t: c(t), share: c((-terms.b * t).exp()), df: c((-terms.r * t).exp()), a: c(a), a_r: c(a_r) }
    }

    fn value(&self, phi: f64, on: &Inputs<L>) -> L {
        L::splat(phi) * (on.spot.value() * self.share - self.df * (on.strike.value() - self.a))
    }

    fn select(mask: L::Mask, yes: &Self, no: &Self) -> Self {
        Date {
            t: L::select(mask, yes.t, no.t),
            share: L::select(mask, yes.share, no.share),
            df: L::select(mask, yes.df, no.df),
            a: L::select(mask, yes.a, no.a),
            a_r: L::select(mask, yes.a_r, no.a_r),
        }
    }

    /// The value as a series.
    fn series(&self, phi: f64, on: &Inputs<L>) -> Taylor<L> {
        let share = Taylor::constant(self.share).with(at::B, -(self.share * self.t));
        let df = Taylor::constant(self.df).with(at::R, -(self.df * self.t));
        let collected = Taylor::constant(self.a).with(at::R, self.a_r).with(at::B, -self.a_r);
        (on.spot * share - df * (on.strike - collected)).scale(L::splat(phi))
    }
}

/// Value of exercise at the best date fixed in advance, as a series: the value of an option far from its strike.
#[inline(never)]
pub(super) fn best_plan<L: Lanes>(phi: f64, terms: &Terms, on: &Inputs<L>) -> Taylor<L> {
    let expiry = Date::new(terms, terms.t, 0.0, 0.0);
    let mut best = expiry;
    let now = (0.0, 0.0);
    // right before an ex-date for a call, right after it for a put
    let dates = terms.divs.iter().map(|d| (d.t, if phi > 0.0 { d.t - SAME.instant } else { d.t }));
    for (t, collects_after) in core::iter::once(now).chain(dates) {
        let [a, a_r] = terms.collected(t, collects_after);
        let date = Date::new(terms, t, a, a_r);
        best = Date::select(date.value(phi, on).gt(best.value(phi, on)), &date, &best);
    }
    best.series(phi, on)
}

#[cfg(test)]
mod tests {
    use super::super::PremiumTables;
    use super::*;
    use crate::american::draws::{Draws, every};
    use crate::american::premium::now::Now;
    use crate::american::{Band, Numbers, SharedBoundaries};
    use crate::black76::{Horizon, european};
    use crate::contract::Right;
    use crate::dividends::Dividend;

    const SIGMA: (f64, f64) = (0.15, 0.4);

    fn terms(t: f64, r: f64, b: f64, dates: &[(f64, f64)]) -> Terms {
        Terms { t, r, b, divs: dates.iter().map(|&(t, amount)| Dividend { t, amount }).collect() }
    }

    fn premium(terms: &Terms, x: f64, k: f64, sigma: f64) -> Taylor<f64> {
        let stop = terms.divs.last().expect("a dividend").t;
        let boundaries = NoDividends::last_interval(&SharedBoundaries::default(), terms, stop, SIGMA);
        boundaries.prepare_all();
        last_interval::<f64, true>(&boundaries, terms, stop, &Inputs::new(x.exp(), k, sigma))
    }

    #[test]
    fn values_and_slopes_are_those_of_the_reference() {
        for terms in [
            terms(0.2, 0.04, 0.0, &[(0.1, 0.6)]),
            terms(0.2, 0.04, 0.02, &[(0.0005, 0.6)]),
            terms(1.5, 0.05, 0.0, &[(0.2, 3.0), (0.7, 4.0), (1.2, 4.0)]),
            terms(1.5, 0.05, 0.3, &[(0.2, 3.0), (0.7, 4.0), (1.2, 4.0)]),
        ] {
            for (k, sigma) in [(85.0, 0.2), (100.0, 0.3), (118.0, 0.39)] {
                let solution = Now::alone(-1.0, &terms, k, sigma);
                assert!(solution.boundary().is_nan(), "exercised now");
                for x in [75.0f64, 90.0, 100.0, 120.0].map(f64::ln) {
                    let got = premium(&terms, x, k, sigma).0;
                    let plain = european(-1.0, &Horizon::from(&terms), x.exp(), k, sigma);
                    let [x1, x2, ..] = plain.x;
                    let (first, second) = (x1 * x.exp(), x2 * (2.0 * x).exp() + x1 * x.exp());
                    let want = solution.value(x);
                    for (i, (got, want)) in [
                        (got[at::ONE], want[0] - plain.v),
                        (got[at::X], want[1] - first),
                        (2.0 * got[at::XX], want[2] - second),
                    ]
                    .into_iter()
                    .enumerate()
                    {
                        assert!((got - want).abs() <= 3e-6 * k, "{terms:?} K {k} σ {sigma} at {x}, {i}: {got} {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn derivatives_are_those_of_the_value() {
        let terms = terms(0.5, 0.04, 0.01, &[(0.3, 1.5)]);
        let (x, k, sigma) = (95.0f64.ln(), 100.0, 0.25);
        let own = premium(&terms, x, k, sigma).0;
        let value = |terms: &Terms, k: f64, ln_sigma: f64| premium(terms, x, k, (sigma.ln() + ln_sigma).exp()).0;
        let h = 1e-3;
        let slope = |of: &dyn Fn(f64) -> f64, h: f64| (of(h) - of(-h)) / (2.0 * h);
        let bend = |of: &dyn Fn(f64) -> f64, h: f64| (of(h) - 2.0 * of(0.0) + of(-h)) / (h * h);
        let by_r = |h: f64| Terms { r: terms.r + h, ..terms.clone() };
        let by_b = |h: f64| Terms { b: terms.b + h, ..terms.clone() };
        let rate = 2e-5;
        for (name, got, want) in [
            ("l", own[at::L], slope(&|h| value(&terms, k, h)[at::ONE], h)),
            ("ll", 2.0 * own[at::LL], bend(&|h| value(&terms, k, h)[at::ONE], h)),
            ("lll", 6.0 * own[at::LLL], bend(&|h| value(&terms, k, h)[at::L], h)),
            ("xl", own[at::XL], slope(&|h| value(&terms, k, h)[at::X], h)),
            ("xxl", 2.0 * own[at::XXL], 2.0 * slope(&|h| value(&terms, k, h)[at::XX], h)),
            ("q", own[at::Q], slope(&|h| value(&terms, k * h.exp(), 0.0)[at::ONE], h)),
            ("qq", 2.0 * own[at::QQ], bend(&|h| value(&terms, k * h.exp(), 0.0)[at::ONE], h)),
            ("r", own[at::R], slope(&|h| value(&by_r(h), k, 0.0)[at::ONE], rate)),
            ("rl", own[at::RL], slope(&|h| value(&by_r(h), k, 0.0)[at::L], rate)),
            ("b", own[at::B], slope(&|h| value(&by_b(h), k, 0.0)[at::ONE], rate)),
        ] {
            assert!((got - want).abs() <= 2e-4 * want.abs().max(0.1), "{name}: {got} for {want}");
        }
    }

    #[test]
    fn the_best_plan_is_the_best_of_all_dates() {
        let mut draws = Draws(5);
        for i in 0..300 {
            let phi = if i % 2 == 0 { 1.0 } else { -1.0 };
            let t = draws.between(0.05, 2.0);
            let divs = every(0.25, draws.between(0.01, 0.25), t, draws.between(0.0, 3.0));
            let terms = Terms { t, r: draws.between(-0.02, 0.08), b: draws.between(-0.05, 0.05), divs };
            let (x, k) = (draws.between(40.0, 160.0), draws.between(40.0, 160.0));
            let got = best_plan(phi, &terms, &Inputs::new(x, k, 0.2)).value();
            let at = |t: f64, a: f64| phi * (x * (-terms.b * t).exp() - (k - a) * (-terms.r * t).exp());
            let side = |t: f64| if phi > 0.0 { t - 1e-12 } else { t };
            let dates = terms.divs.iter().map(|d| at(d.t, terms.a(side(d.t))));
            let want = dates.chain([at(0.0, terms.a(0.0)), at(t, 0.0)]).fold(f64::NEG_INFINITY, f64::max);
            assert!((got - want).abs() < 1e-9, "{phi} {terms:?} X {x} K {k}: {got} for {want}");
        }
    }

    /// Far above the strike borrow on X makes an ex-date pay that does not about the strike.
    #[test]
    fn deep_calls_with_borrow_are_worth_the_best_plan() {
        const S: f64 = 100.0;
        let mut draws = Draws(7);
        let mut errors = Vec::new();
        for _ in 0..500 {
            let (t, sigma, k) = (draws.between(0.1, 2.0), draws.between(0.2, 0.8), S / draws.between(1.5, 8.0));
            let (b, amount) = (0.0005 * 40f64.powf(draws.unit()), 0.05 * 20f64.powf(draws.unit()));
            let divs = every(0.25, draws.between(0.005, 0.1), t, amount);
            let terms = Terms { t, r: draws.between(0.01, 0.06), b, divs };
            let band = Band { k: (k, k), sigma: (sigma, sigma) };
            let mut tables = PremiumTables::new(&SharedBoundaries::default(), Right::Call, &terms, &[band]);
            tables.prepare(&terms, S, k, sigma, Numbers::ByVolatility);
            let (read, exercised) = tables.vol_derivatives(&terms, S, k, sigma);
            let (got, x) = (if exercised { S - k } else { read.value }, S - terms.a(0.0));
            let plan = best_plan(1.0, &terms, &Inputs::new(x, k, sigma)).value();
            assert!(got > plan - 3e-5 * k, "{terms:?} K {k} σ {sigma}: {got} for at least {plan}");
            let want = Now::alone(1.0, &terms, k, sigma).value(x.ln())[0].max(S - k);
            errors.push((got - want).abs() / S);
        }
        errors.sort_by(f64::total_cmp);
        let [p90, worst] = [450, 499].map(|i| errors[i]);
        assert!(p90 < 1e-6 && worst < 3e-4, "{p90:e}, {worst:e}");
    }
}
