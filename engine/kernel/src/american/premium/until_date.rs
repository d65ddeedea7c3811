//! Calls that are exercised before the date that their table describes: the value of exercise from now until the date,
//! as Kim's (1990) integral along the boundary that the table keeps. Never: a solve.

use super::between_grid::weights;
use super::chebyshev::{Local, local};
use super::evaluate::{Clock, MOST_NODES, Units};
use super::exercise::{Inputs, premium_series};
use super::table::{TENSORS, Table, UntilDate};
use super::taylor::{Taylor, at};
use crate::american::boundary::BoundaryPoint;
use crate::american::integral::{Contract, Integrand, Moment, Premium, Rule, rule};
use crate::american::settings::UNTIL_DATE;
use crate::dividends::Terms;
use crate::greeks::from_logs;
use crate::lanes::{Lanes, Mask};
use std::sync::LazyLock;

/// Deviations below the boundary beyond which exercise gains nothing: the normal probability is below 1e-15.
const OUT_OF_REACH: f64 = 8.0;

/// The tensors of the boundary, evaluated at the strike and volatility of each lane.
struct LocalTensors<L> {
    of: [Local<L>; TENSORS],
    /// Values and slopes along l of ∂/∂r, value of ∂/∂b.
    by_rates: [([L; 2], L); TENSORS],
}

/// The boundary at one time, with its derivatives.
struct BoundaryDerivatives<L> {
    edge: BoundaryPoint<L>,
    /// First and second derivative of ln B in ln K.
    k: [L; 2],
    /// ∂/∂r, ∂²/∂r∂l, ∂/∂b.
    r: L,
    r_l: L,
    b: L,
}

impl<L: Lanes> LocalTensors<L> {
    /// ln(B/K) at `eta`.
    fn value(&self, eta: f64) -> L {
        let zero = L::splat(0.0);
        self.of.iter().zip(weights(eta)).fold(zero, |sum, (of, weight)| of.s[0].mul_add(L::splat(weight), sum))
    }

    /// The boundary at `eta` with its derivatives; without `ALL` only those in sigma.
    #[inline(always)]
    fn at<const ALL: bool>(&self, eta: f64, on: &Contract<L>) -> BoundaryDerivatives<L> {
        let c = |v: f64| L::splat(v);
        let zero = c(0.0);
        let (mut s, mut k, mut r, mut b) = ([zero; 4], [zero; 2], [zero; 2], zero);
        for ((of, by_rates), weight) in self.of.iter().zip(&self.by_rates).zip(weights(eta)) {
            let weight = c(weight);
            s = core::array::from_fn(|i| of.s[i].mul_add(weight, s[i]));
            if ALL {
                k = core::array::from_fn(|i| of.k[i].mul_add(weight, k[i]));
                r = core::array::from_fn(|i| by_rates.0[i].mul_add(weight, r[i]));
                b = by_rates.1.mul_add(weight, b);
            }
        }
        let [y, l1, l2, l3] = s;
        let [s1, s2, s3, _] = from_logs([l1, l2, l3, zero], on.inv_sigma);
        let sigma = [s1, s2, s3];
        // the tensors are functions of 1/K
        let inverse = c(1.0) / on.k;
        let k = [c(1.0) - k[0] * inverse, (k[0] + k[1] * inverse) * inverse];
        BoundaryDerivatives { edge: BoundaryPoint { y, sigma, rate: zero, rate_sigma: zero }, k, r: r[0], r_l: r[1], b }
    }
}

/// The yearly cost of exercise at a moment, rK − bA, and its derivatives in r and b.
struct YearlyCost<L> {
    value: L,
    r: L,
    b: L,
}

/// Sums over moments: the premium, and its derivatives in ln K and the rates.
struct UntilDateSums<L> {
    premium: Premium<L>,
    k: [L; 2],
    r: L,
    r_l: L,
    b: L,
}

impl<L: Lanes> UntilDateSums<L> {
    /// Adds the derivatives of a moment `u` years ahead.
    #[inline(always)]
    fn add(
        &mut self,
        f: &Integrand<L>,
        on: &Contract<L>,
        u: f64,
        place: &BoundaryDerivatives<L>,
        cost: &YearlyCost<L>,
    ) {
        let c = |v: f64| L::splat(v);
        let (jump, interest) = (f.bb - f.cost, on.k * on.r);
        let y_l = place.edge.sigma[0] * on.sigma;
        // ∂d/∂l: 1/σ falls, the drift of ln X too
        let d_l = -(f.d + y_l * f.g) - on.sigma * c(u.sqrt());
        let (d_k, d_r, d_b) = (-(place.k[0] * f.g), (c(u) - place.r) * f.g, -((place.b + u) * f.g));
        let d_r_l = -(place.r_l * f.g + d_r);
        let (bb_k, bb_l) = (f.bb * place.k[0], f.bb * y_l);
        self.k[0] += f.m * jump * d_k - interest * f.cash;
        let bend = (bb_k - interest - interest) * d_k - jump * (f.d * d_k * d_k + place.k[1] * f.g);
        self.k[1] += f.m * bend - interest * f.cash;
        let by_r = f.cost * u - cost.r;
        self.r += f.m * jump * d_r + by_r * f.cash;
        self.r_l += f.m * ((bb_l - jump * f.d * d_l) * d_r + jump * d_r_l + by_r * d_l);
        self.b += f.m * jump * d_b + f.stock * (1.0 - on.b * u) - cost.b * f.cash;
    }

    /// The sums as a series.
    fn series<const ALL: bool>(&self, sigma: L) -> Taylor<L> {
        let series = premium_series::<L, ALL>(&self.premium, sigma);
        if !ALL {
            return series;
        }
        series
            .with(at::Q, self.k[0])
            .with(at::QQ, self.k[1] * 0.5)
            .with(at::R, self.r)
            .with(at::RL, self.r_l)
            .with(at::B, self.b)
    }
}

impl Table {
    /// Value of exercise from now until the table's date, and the lanes that are exercised now.
    ///
    /// # Shapes    one contract per lane
    /// # Accuracy  `premiums_between_dates_are_those_of_the_recursion`
    /// # Cost      nothing for a spot far below the boundary; else 2 to 4 µs a contract
    #[inline(never)]
    pub(super) fn until_date<L: Lanes, const ALL: bool>(
        &self,
        until: &UntilDate,
        clock: &Clock,
        on: &Inputs<L>,
    ) -> (Taylor<L>, L::Mask) {
        let c = |v: f64| L::splat(v);
        let zero = c(0.0);
        let (x, sigma, ln_k) = (on.x.value(), on.sigma.value(), on.log_strike.value());
        let width = sigma * clock.stop.sqrt();
        let nothing = (Taylor::constant(zero), x.lt(x));
        if !(ln_k + until.lowest - width * OUT_OF_REACH).lt(x).any() {
            return nothing;
        }
        let tensors = self.tensors::<L, ALL>(until, clock, on);
        let away = (ln_k + tensors.value(self.eta(clock.stop)) - x) / width;
        let now = away.lt(zero);
        let idle = now | c(OUT_OF_REACH).lt(away);
        if idle.all() {
            return (nothing.0, now);
        }
        static RULE: LazyLock<Rule> = LazyLock::new(|| rule(UNTIL_DATE.nodes, UNTIL_DATE.nearest));
        let (r, b) = (clock.r, clock.b);
        let terms = Terms { t: clock.stop, r, b, divs: Vec::new() };
        let contract = Contract::new(self.phi, &terms, 0.0, on.spot.value(), on.strike.value(), sigma);
        let mut sums = UntilDateSums { premium: Premium::zero(), k: [zero; 2], r: zero, r_l: zero, b: zero };
        for &(part, rest, weight) in RULE.iter() {
            let (u, left) = (clock.stop * part, clock.stop * rest);
            let place = tensors.at::<ALL>(self.eta(left), &contract);
            let grown = (-(r - b) * left).exp();
            let (escrow, by_r) = (clock.a * grown, (clock.a_r - clock.a * left) * grown);
            let cost =
                YearlyCost { value: contract.k * r - b * escrow, r: contract.k - b * by_r, b: c(b * by_r - escrow) };
            let moment = Moment::new(&contract, u, weight * clock.stop);
            let f = Integrand::new(&contract, &moment, &place.edge, cost.value);
            f.add_sigma::<ALL>(&contract, &moment, &place.edge, &mut sums.premium);
            if ALL {
                f.add_spot(&contract, &mut sums.premium);
                sums.add(&f, &contract, u, &place, &cost);
            }
        }
        (sums.series::<ALL>(sigma), now)
    }

    /// ln of the X at which exercise becomes optimal now.
    pub(super) fn boundary_until_date<L: Lanes>(&self, until: &UntilDate, clock: &Clock, on: &Inputs<L>) -> L {
        on.log_strike.value() + self.tensors::<L, false>(until, clock, on).value(self.eta(clock.stop))
    }

    /// η `left` years before the table's date.
    fn eta(&self, left: f64) -> f64 {
        (self.stop / left).ln().max(0.0).sqrt()
    }

    /// The tensors of the boundary at the rates of the clock.
    ///
    /// # Shapes  one contract per lane
    fn tensors<L: Lanes, const ALL: bool>(&self, until: &UntilDate, clock: &Clock, on: &Inputs<L>) -> LocalTensors<L> {
        let zero = L::splat(0.0);
        let units: Units<L> = self.units(on);
        let n = self.sigma.len() * self.strike.len();
        let mut at = LocalTensors {
            of: [Local { s: [zero; 4], k: [zero; 2] }; TENSORS],
            by_rates: [([zero; 2], zero); TENSORS],
        };
        let moves = clock.rates.map(|rates| &rates.until);
        // a boundary moves with ln b: it lies above rK/b
        let [by_r, by_b] = clock.moved;
        let own_b = clock.b - by_b;
        let (moved, per_b) = if own_b > 0.0 && clock.b > 0.0 {
            ([by_r, own_b * (clock.b / own_b).ln()], own_b / clock.b)
        } else {
            (clock.moved, 1.0)
        };
        for i in 0..TENSORS {
            let mut c = [0.0; MOST_NODES];
            for (c, own) in c.iter_mut().zip(&until.boundary[i * n..(i + 1) * n]) {
                *c = f64::from(*own);
            }
            if let Some(by) = moves.and_then(|moves| moves.get(i)) {
                for (part, factor) in by.iter().zip(moved) {
                    self.shift(&mut c, part, factor);
                }
                if ALL {
                    let (r, b) = self.rate_slopes(by, units);
                    at.by_rates[i] = (r, b * per_b);
                }
            }
            at.of[i] = local::<L, ALL>(&c[..n], self.sigma.at(units.sigma), self.strike.at(units.strike));
        }
        at
    }
}
