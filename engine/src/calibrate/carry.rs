//! Forward and borrow of every expiry of a name, and the spot that its options are quoted against, from what each
//! expiry's pairs imply alone.
//!
//! An expiry's own borrow b is what makes its parity forward from the spot: z = b·t is how far the forward lies below
//! the one without borrow, in logarithms. Were the options quoted against the spot S·e^δ, it would be b·t − δ. So z is
//! measured with the forward's error, b is a random walk in ln t about a level that is small until quotes imply
//! otherwise, and δ is small too: one least-squares problem a name, three diagonals and a border. Measurements that
//! do not fit lose weight, the sooner the fewer pairs they have. Everything is in logarithms of the forward, so that no
//! absurd value can claim a small error, and an expiry of hours, whose z is all spot and noise, carries no information
//! about borrow. Nothing is clamped: b below zero and above one are real.
//!
//! An expiry is valued on its measured forward, weighted against the one expected from the others; from the
//! published spot where the two agree within their errors, otherwise from the implied spot.
//! Source: docs/model.md, step 3; the random walk is a local-level model (Durbin and Koopman 2012, chapter 2), robust
//! by iterated reweighting (Huber and Ronchetti 2009, chapter 7). Never: a quote.

use super::forward::Parity;
use super::implied_spot::{ImpliedSpot, SpotSource};
use super::input::SliceInput;
use super::settings::{CARRY, REFERENCE};
use kernel::contract::ForwardBasis;
use kernel::dividends::{Dividend, escrowed, escrowed_by_rate};
use kernel::limits;
use kernel::solve::weighted_median;

/// Forward, borrow and spot that an expiry is valued on.
#[derive(Clone, Copy, Debug)]
pub struct Carry {
    /// Forward, currency per share; NaN: unknown.
    pub fwd: f64,
    /// Standard error of the forward; NaN if the expiry has no usable call/put pair.
    pub fwd_error: f64,
    /// Borrow rate to publish.
    pub b: f64,
    /// The underlying price to publish: the spot, or F where parity is the basis.
    pub und: f64,
    /// The spot that F and b imply together; values are computed from it.
    pub s: f64,
    /// The name's spot, published or implied: the reference of borrow.
    pub spot: f64,
    /// True if the forward found is impossible, so that it is missing.
    pub refused: bool,
}

/// The borrow rate for which (s − A(0))·e^((r−b)t) = fwd, by Newton: A(0) depends on b.
///
/// # Domain   fwd > 0 and s above the dividends; NaN elsewhere
/// # Accuracy 1e-13 relative in fwd
#[must_use]
pub fn implied_borrow(s: f64, fwd: f64, t: f64, r: f64, divs: &[Dividend]) -> f64 {
    let x = s - escrowed(divs, r, 0.0, t);
    if !(x > 0.0 && fwd > 0.0 && t > 0.0) {
        return f64::NAN;
    }
    let mut b = r - (fwd / x).ln() / t;
    if divs.is_empty() {
        return b;
    }
    // converges quadratically, as b moves A(0) little against the spot: a few steps are the rule, thirty a limit
    for _ in 0..30 {
        let x = s - escrowed(divs, r - b, 0.0, t);
        if x <= 0.0 || x.is_nan() {
            return f64::NAN;
        }
        // d/db of ln((s − A)·e^((r−b)t)): dA/db = −dA/dr.
        let slope = escrowed_by_rate(divs, r - b, t) / x - t;
        let step = ((x / fwd).ln() + (r - b) * t) / slope;
        b -= step;
        if step.abs() * t < 1e-14 {
            break;
        }
    }
    b
}

/// The forward of a spot at a borrow rate.
#[must_use]
pub fn forward_at(s: f64, input: &SliceInput, b: f64) -> f64 {
    let carry = input.r - b;
    (s - escrowed(input.divs, carry, 0.0, input.t)) * (carry * input.t).exp()
}

/// The spot that gives the forward at a borrow rate.
#[must_use]
pub fn effective_spot(fwd: f64, input: &SliceInput, b: f64) -> f64 {
    let carry = input.r - b;
    fwd * (-carry * input.t).exp() + escrowed(input.divs, carry, 0.0, input.t)
}

/// Measurement of one expiry.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// Index of the slice in the chain.
    slice: usize,
    t: f64,
    /// Own borrow times t; NaN: no pair.
    z: f64,
    /// Variance of z by the pairs alone.
    own: f64,
    /// Degrees of freedom of the error of z.
    freedom: f64,
    /// 1/variance as used, after reweighting; 0: nothing measured, or no influence on the name.
    w: f64,
    /// True for an adjusted root, which counts for its own forward alone.
    is_adjusted: bool,
}

impl Measured {
    fn new(slice: usize, input: &SliceInput, parity: &Parity, s: f64, source: SpotSource) -> Self {
        let t = input.t;
        // z and not b: the error of b is the forward's error over t, which has no bound in the last hours; the error of
        // z is the forward's
        let z = implied_borrow(s * input.scale(), parity.fwd, t, input.r, input.divs) * t;
        // relative to the forward, so that an absurd forward near zero has a large error, however tight its quotes
        let own = (parity.error / parity.fwd).powi(2);
        let is_usable = z.is_finite() && own.is_finite();
        let freedom = match source {
            // any borrow is possible then, so a forward on which several pairs agree is no outlier
            SpotSource::Held if parity.pairs >= CARRY.held_pairs => f64::INFINITY,
            _ => (CARRY.freedom_one_pair + CARRY.freedom_per_pair * (f64::from(parity.pairs) - 1.0))
                .clamp(CARRY.freedom_one_pair, CARRY.freedom_most),
        };
        let is_adjusted = input.shares.is_some();
        let w = if is_usable && !is_adjusted { 1.0 / (own + CARRY.expiry_noise * CARRY.expiry_noise) } else { 0.0 };
        Self { slice, t, z: if is_usable { z } else { f64::NAN }, own, freedom, w, is_adjusted }
    }

    /// z; 0 if there is none, which then has no weight.
    fn z_or_zero(&self) -> f64 {
        if self.w > 0.0 { self.z } else { 0.0 }
    }

    fn variance(&self) -> f64 {
        self.own + CARRY.expiry_noise * CARRY.expiry_noise
    }
}

/// Forward, borrow and spot of every slice of a chain; kept for its memory.
#[derive(Debug, Default)]
pub struct Carries {
    measured: Vec<Measured>,
    level: BorrowLevel,
    /// Room for a second fit.
    spare: BorrowLevel,
    /// By slice.
    pub carry: Vec<Carry>,
    /// The spot implied by all options together.
    pub spot: ImpliedSpot,
}

impl Carries {
    /// Computes all carries. `parity` is the forward that each slice implies alone, `reference` approximately the spot
    /// that the options are quoted against, `prior` the borrow of the last pass (NaN: none). If the spot is implied,
    /// the spot in `slices` is not read, and values are computed from the implied spot.
    pub fn set(&mut self, source: SpotSource, slices: &[SliceInput], parity: &[Parity], reference: f64, prior: &[f64]) {
        let Self { measured, level, spare, carry, spot } = self;
        let of_spot = |i: &usize| slices[*i].basis == ForwardBasis::Spot;
        measured.clear();
        measured.extend(
            (0..slices.len()).filter(of_spot).map(|i| Measured::new(i, &slices[i], &parity[i], reference, source)),
        );
        level.fit(measured, source, prior, spare);
        let mut published = slices.first().map_or(f64::NAN, |input| input.s / input.scale());
        *spot = level.spot(measured, reference, published);
        if source == SpotSource::Implied {
            spot.off = false;
            spot.s = held_spot(*spot, measured, slices, parity, prior).unwrap_or(spot.s);
            published = spot.s;
        }
        let valued = if spot.off { spot.s } else { published };
        carry.clear();
        let usual = usual_basis(slices, parity);
        let name = NameSpots { reference, valued, published, source };
        carry.extend((0..slices.len()).map(|i| match slices[i].basis {
            ForwardBasis::Parity => on_its_own(i, slices, parity, usual),
            ForwardBasis::Spot => {
                let at = measured.partition_point(|m| m.slice < i);
                level.carry(at, &measured[at], &slices[i], name.of(slices[i].scale()), prior[i])
            }
        }));
    }
}

/// The spots of a name.
#[derive(Clone, Copy, Debug)]
struct NameSpots {
    /// Reference spot of borrow.
    reference: f64,
    /// Spot of the values.
    valued: f64,
    /// Published spot.
    published: f64,
    source: SpotSource,
}

impl NameSpots {
    /// The spots of this many shares.
    fn of(self, shares: f64) -> Self {
        let Self { reference, valued, published, source } = self;
        Self { reference: reference * shares, valued: valued * shares, published: published * shares, source }
    }
}

impl Carry {
    /// Applies the overrides of the expiry in place of the quotes. F = (S − A)·e^((r−b)t) keeps holding for forward,
    /// borrow and the spot that values are computed from: a given borrow determines the forward, a given forward the
    /// borrow, and both together the spot. If a forward needs a borrow rate beyond [`limits::BORROW`], as one beside
    /// the spot does in the last hours, the borrow stays that of the quotes and the spot follows. Impossible overrides
    /// are ignored: a forward too far from the spot, a borrow rate without a spot or with dividends worth more than the
    /// spot.
    #[must_use]
    pub fn with_overrides(&self, input: &SliceInput) -> Self {
        let known = match (input.basis, input.forced.fwd) {
            (ForwardBasis::Parity, Some(fwd)) => self.on_known_parity(fwd, input),
            (ForwardBasis::Parity, None) => None,
            (ForwardBasis::Spot, Some(fwd)) => self.on_known_forward(fwd, input),
            (ForwardBasis::Spot, None) => input.forced.borrow.and_then(|b| self.on_known_borrow(b, input)),
        };
        known.unwrap_or(*self)
    }

    fn on_known_borrow(&self, b: f64, input: &SliceInput) -> Option<Self> {
        let fwd = forward_at(self.spot, input, b);
        (fwd > 0.0 && fwd.is_finite()).then(|| self.with(fwd, b, self.spot))
    }

    fn on_known_forward(&self, fwd: f64, input: &SliceInput) -> Option<Self> {
        let far = (forward_at(self.spot, input, 0.0) / fwd).ln().abs();
        let own = implied_borrow(self.spot, fwd, input.t, input.r, input.divs);
        let (b, s) = match input.forced.borrow {
            None if limits::BORROW.holds(own) => (own, self.spot),
            known => {
                let b = known.unwrap_or(self.b);
                (b, effective_spot(fwd, input, b))
            }
        };
        (far <= CARRY.ln_forward_most && s > 0.0 && s.is_finite()).then(|| self.with(fwd, b, s))
    }

    /// S := F and b := r.
    fn on_known_parity(&self, fwd: f64, input: &SliceInput) -> Option<Self> {
        let carry = Self { und: fwd, spot: fwd, ..self.with(fwd, input.r, fwd) };
        ((fwd / input.s).ln().abs() < CARRY.ln_parity_most).then_some(carry)
    }

    fn with(&self, fwd: f64, b: f64, s: f64) -> Self {
        Self { fwd, fwd_error: f64::NAN, b, s, refused: false, ..*self }
    }
}

/// Borrow by expiry and the spot's displacement, with their covariance.
#[derive(Clone, Debug, Default)]
struct BorrowLevel {
    /// Borrow, by expiry.
    b: Vec<f64>,
    /// δ.
    delta: f64,
    /// Variance of b by expiry, δ held.
    var_b: Vec<f64>,
    /// Derivative of b in δ, by expiry.
    by_delta: Vec<f64>,
    /// Variance of δ with and without its prior.
    var_delta: f64,
    var_delta_free: f64,
    walk: Vec<f64>,
    diag: Vec<f64>,
    rhs: Vec<f64>,
    gain: Vec<f64>,
}

impl BorrowLevel {
    /// Fits borrow and δ to the measurements, and sets the weights of the measurements. Student errors have several
    /// likely solutions, and premiums at the one make another a little likelier: borrow stays at the one that follows
    /// from `prior`, the borrow of the last pass by slice, unless another is clearly likelier.
    ///
    /// # Shapes   an entry an expiry, ascending in time
    /// # Domain   any measurements, none included
    /// # Source   iterated reweighting (Huber and Ronchetti 2009, chapter 7)
    /// # Cost     some rounds, each linear in the expiries, twice with a prior; the first δ is quadratic in them
    fn fit(&mut self, measured: &mut [Measured], source: SpotSource, prior: &[f64], spare: &mut Self) {
        let first = if source == SpotSource::Held { 0.0 } else { first_delta(measured) };
        self.begin(measured.len(), first);
        if measured.is_empty() {
            return;
        }
        if source == SpotSource::Held {
            // the size of borrow sets how much it may differ between expiries, so it is estimated first
            let size = median_borrow(measured);
            self.b.fill(size);
        }
        // before the first solution borrow is unknown, and its plausible range is part of the error
        if self.delta.abs() > 0.0 {
            self.reweigh(measured, CARRY.level);
        }
        self.rounds(measured, source);
        if !measured.iter().all(|m| prior[m.slice].is_finite()) {
            return;
        }
        let unlikely = self.unlikely(measured, source);
        spare.begin(measured.len(), self.delta);
        measured.iter().zip(&mut spare.b).for_each(|(m, b)| *b = prior[m.slice]);
        spare.reweigh(measured, 0.0);
        spare.rounds(measured, source);
        if spare.unlikely(measured, source) > unlikely + CARRY.likelier {
            self.reweigh(measured, 0.0);
        } else {
            core::mem::swap(self, spare);
        }
    }

    /// Begins a fit of `n` expiries at a δ, borrow at 0.
    fn begin(&mut self, n: usize, delta: f64) {
        (self.delta, self.var_delta, self.var_delta_free) = (delta, 0.0, f64::INFINITY);
        for column in [
            &mut self.b,
            &mut self.var_b,
            &mut self.by_delta,
            &mut self.walk,
            &mut self.diag,
            &mut self.rhs,
            &mut self.gain,
        ] {
            column.clear();
            column.resize(n, 0.0);
        }
    }

    /// Solves at the weights of `measured`, then at those of each solution, until it moves no more: a stationary point
    /// of the likelihood. Which one depends on where δ and b begin.
    fn rounds(&mut self, measured: &mut [Measured], source: SpotSource) {
        for _ in 0..CARRY.rounds {
            if self.solve(measured, source) < CARRY.settled {
                break;
            }
            self.reweigh(measured, 0.0);
        }
    }

    /// Reduces the weight of measurements that do not fit; `level`: how far borrow may be from where it is, per year.
    fn reweigh(&self, measured: &mut [Measured], level: f64) {
        for (i, m) in measured.iter_mut().enumerate().filter(|(_, m)| m.w > 0.0) {
            let (miss, borrow) = (self.miss(i, m), level * m.t);
            // the weight of a Student error (Lange, Little and Taylor 1989), its degrees of freedom by the pairs
            let variance = m.variance() + borrow * borrow;
            m.w = 1.0 / (m.variance() * (1.0 + miss * miss / (m.freedom * variance)));
        }
    }

    fn miss(&self, i: usize, m: &Measured) -> f64 {
        m.z - (self.b[i] * m.t - self.delta)
    }

    /// The negative logarithm of the likelihood of the solution, up to a constant.
    fn unlikely(&self, measured: &[Measured], source: SpotSource) -> f64 {
        let errors = measured.iter().enumerate().filter(|(_, m)| m.w > 0.0).map(|(i, m)| {
            let square = self.miss(i, m).powi(2) / m.variance();
            if m.freedom.is_finite() { m.freedom * (square / m.freedom).ln_1p() } else { square }
        });
        let levels = self.b.iter().map(|b| b * b * self.level_weight(*b, source));
        let walk = (1..self.b.len()).map(|i| self.walk[i] * (self.b[i] - self.b[i - 1]).powi(2));
        0.5 * (errors.sum::<f64>()
            + levels.sum::<f64>()
            + walk.sum::<f64>()
            + self.delta * self.delta * self.spot_weight(source))
    }

    /// Weight of a borrow rate of 0 without data. Expiries share it, so that a name with many is not held nearer to
    /// zero than one with few.
    fn level_weight(&self, b: f64, source: SpotSource) -> f64 {
        let unknown = if source == SpotSource::Held { CARRY.held_level } else { CARRY.level };
        let level = unknown + CARRY.level_of_itself * b.abs();
        1.0 / (level * level * self.b.len() as f64)
    }

    /// Weight of a δ of 0 without data. It falls as δ grows: a spot is off by seconds of noise or by a split, seldom by
    /// anything between; an implied spot is measured from the spot that most pairs agree on, whose error is their
    /// disagreement.
    fn spot_weight(&self, source: SpotSource) -> f64 {
        let noise = match source {
            SpotSource::Published => CARRY.spot_noise,
            SpotSource::Implied => REFERENCE.agrees,
            SpotSource::Held => CARRY.held_noise,
        };
        1.0 / (noise * noise + self.delta * self.delta / CARRY.spot_freedom)
    }

    /// The least-squares problem at the weights of `measured`: ½Σ w(z − b·t + δ)² + walk + level + spot. Returns by how
    /// much δ, or b over the time to some expiry, has moved, in logarithms of the spot.
    ///
    /// # Shapes   one unknown b a measurement, ascending in time, and δ: tridiagonal with a border of one
    /// # Units    b per year, δ in logarithms of the spot
    /// # Domain   weights of zero measure nothing; with none at all b is 0 where the walk leads it, and δ 0
    /// # Source   LDLᵀ of a tridiagonal matrix and its border, by elimination (Golub and Van Loan 2013, 4.3); the
    /// diagonal of the inverse by the same recursion backwards
    fn solve(&mut self, measured: &[Measured], source: SpotSource) -> f64 {
        let n = measured.len();
        for (i, m) in measured.iter().enumerate() {
            self.diag[i] = m.w * m.t * m.t + self.level_weight(self.b[i], source);
            self.rhs[i] = m.w * m.t * m.z_or_zero();
            self.by_delta[i] = m.w * m.t;
        }
        for i in 1..n {
            // in ln t: borrow of a week and a month differ about as much as borrow of a month and four months
            let apart = (measured[i].t / measured[i - 1].t).ln().clamp(CARRY.ln_t_near, CARRY.ln_t_far);
            let drift = CARRY.drift + CARRY.drift_of_itself * 0.5 * (self.b[i] + self.b[i - 1]).abs();
            let w = 1.0 / (drift * drift * apart);
            self.walk[i] = w;
            self.diag[i] += w;
            self.diag[i - 1] += w;
        }
        // LDLᵀ of the three diagonals, then both right-hand sides
        for i in 1..n {
            self.gain[i] = self.walk[i] / self.diag[i - 1];
            self.diag[i] -= self.walk[i] * self.gain[i];
            self.rhs[i] += self.gain[i] * self.rhs[i - 1];
            self.by_delta[i] += self.gain[i] * self.by_delta[i - 1];
        }
        for i in (0..n).rev() {
            let (ahead, rhs, by) = match i + 1 < n {
                true => (self.gain[i + 1], self.rhs[i + 1], self.by_delta[i + 1]),
                false => (0.0, 0.0, 0.0),
            };
            self.rhs[i] = self.rhs[i] / self.diag[i] + ahead * rhs;
            self.by_delta[i] = self.by_delta[i] / self.diag[i] + ahead * by;
            let var = if i + 1 < n { self.var_b[i + 1] } else { 0.0 };
            self.var_b[i] = 1.0 / self.diag[i] + ahead * ahead * var;
        }
        // the equation of δ after elimination of borrow
        let (mut precision, mut sum) = (0.0, 0.0);
        for (i, m) in measured.iter().enumerate() {
            precision += m.w * (1.0 - m.t * self.by_delta[i]);
            sum += m.w * (m.t * self.rhs[i] - m.z_or_zero());
        }
        let precision = precision.max(0.0);
        let spot = self.spot_weight(source);
        let before = core::mem::replace(&mut self.delta, sum / (precision + spot));
        (self.var_delta, self.var_delta_free) = (1.0 / (precision + spot), 1.0 / precision);
        let mut moved = (self.delta - before).abs();
        for (i, m) in measured.iter().enumerate() {
            let b = self.rhs[i] + self.by_delta[i] * self.delta;
            let before = core::mem::replace(&mut self.b[i], b);
            moved = moved.max((b - before).abs() * m.t);
        }
        moved
    }

    fn spot(&self, measured: &[Measured], reference: f64, published: f64) -> ImpliedSpot {
        let s = reference * self.delta.exp();
        let error = self.var_delta_free.min(1.0).sqrt();
        if !(s > 0.0 && measured.iter().any(|m| m.w > 0.0)) {
            return ImpliedSpot::default();
        }
        let off = (s / published).ln().abs();
        let elsewhere = (reference / published).ln().abs() > CARRY.spot_off;
        let off = published.is_nan() || elsewhere || off > CARRY.spot_off.max(CARRY.spot_off_errors * error);
        ImpliedSpot { s, error: error * s, off }
    }

    /// Mean and variance of b·t − δ at expiry `i` implied by all others.
    fn expected(&self, i: usize, m: &Measured) -> (f64, f64) {
        let t = m.t;
        let mean = self.b[i] * t - self.delta;
        let by = t * self.by_delta[i] - 1.0;
        let var = (t * t * self.var_b[i] + by * by * self.var_delta).max(1e-16);
        // precisions add, so that of the others is that of all less its own
        let others = 1.0 / var - m.w;
        if m.w <= 0.0 || others <= 1e-9 / var {
            return if m.w > 0.0 { (0.0, f64::INFINITY) } else { (mean, var) };
        }
        ((mean / var - m.w * m.z) / others, 1.0 / others)
    }

    /// Forward, borrow and spot that expiry `i` is valued on.
    ///
    /// # Units    forward and spot in currency per share, borrow per year, `prior` too; NaN: none
    /// # Domain   a forward beyond `CARRY.ln_forward_most`, or a name without a spot, gives a carry of NaN; the first
    /// is refused
    /// # Source   docs/model.md, step 3: precision-weighted mean of what the expiry measures and what the others expect
    fn carry(&self, i: usize, m: &Measured, input: &SliceInput, name: NameSpots, prior: f64) -> Carry {
        let (expected, var) = self.expected(i, m);
        let var = var + CARRY.expiry_noise * CARRY.expiry_noise;
        let (mut z, mut error) = (expected, f64::NAN);
        if m.w > 0.0 || m.is_adjusted && m.z.is_finite() {
            let miss = m.z - expected;
            // Student's weight again, now against the others alone, as an expiry must not confirm itself
            let own = m.own.max(1e-16) * (1.0 + miss * miss / (m.freedom * (m.own + var)));
            z = (m.z / own + expected / var) / (1.0 / own + 1.0 / var);
            error = (1.0 / (1.0 / own + 1.0 / var)).sqrt();
        }
        // from the reference spot as measured, to the one that it is valued at
        let smooth = if self.b[i].is_finite() { self.b[i] } else { 0.0 };
        let fwd = forward_at(name.reference, input, z / input.t);
        let most = if name.source == SpotSource::Held { CARRY.held_ln_forward_most } else { CARRY.ln_forward_most };
        let far = z.abs() > most || !(fwd > 0.0 && fwd.is_finite());
        if far || name.valued.is_nan() || name.valued <= 0.0 {
            let nan = f64::NAN;
            return Carry {
                fwd: nan,
                fwd_error: nan,
                b: nan,
                und: name.published,
                s: nan,
                spot: name.valued,
                refused: far,
            };
        }
        let choice =
            ForwardChoice { input, spot: name.valued, fwd, error: if error.is_nan() { var.sqrt() } else { error } };
        let (fwd, b, s) =
            choice.at_prior(prior).or_else(|| choice.at_own(smooth)).unwrap_or_else(|| choice.at_smooth(smooth));
        Carry { fwd, fwd_error: error * fwd, b, und: name.published, s, spot: name.valued, refused: false }
    }
}

/// Inputs of the choice of a spot and a borrow rate for a forward.
struct ForwardChoice<'a> {
    input: &'a SliceInput<'a>,
    spot: f64,
    fwd: f64,
    /// Standard error of the forward, relative to it.
    error: f64,
}

impl ForwardChoice<'_> {
    /// Carry on the borrow rate of the last pass, if that nearly gives the forward: tables of early exercise then stay
    /// valid.
    fn at_prior(&self, prior: f64) -> Option<(f64, f64, f64)> {
        let still = CARRY
            .still
            .max((CARRY.still_errors * self.error).min(CARRY.still_most))
            .max(self.error - CARRY.still_unknown);
        let fwd = forward_at(self.spot, self.input, prior);
        ((fwd / self.fwd).ln().abs() <= still).then_some((fwd, prior, self.spot))
    }

    /// Carry on the borrow rate that gives the forward from the spot, if that rate is near the smooth one.
    fn at_own(&self, smooth: f64) -> Option<(f64, f64, f64)> {
        let b = implied_borrow(self.spot, self.fwd, self.input.t, self.input.r, self.input.divs);
        let near = (b - smooth).abs() <= CARRY.own_borrow + CARRY.own_borrow_of_itself * smooth.abs();
        if near {
            return Some((self.fwd, b, self.spot));
        }
        // in the last days, a forward that agrees with the spot within its error is computed from the spot
        let fwd = forward_at(self.spot, self.input, smooth);
        ((fwd / self.fwd).ln().abs() <= self.error).then_some((fwd, smooth, self.spot))
    }

    /// Carry on the smooth borrow rate and the spot that it implies.
    fn at_smooth(&self, smooth: f64) -> (f64, f64, f64) {
        (self.fwd, smooth, effective_spot(self.fwd, self.input, smooth))
    }
}

/// The implied spot at the borrow rates of the last pass, if it is within a standard error of the freely implied one;
/// `None`: it is not. An error of the spot is common to all expiries, so without this borrow would move in all of them
/// at once, and tables of early exercise with it.
fn held_spot(
    free: ImpliedSpot,
    measured: &[Measured],
    slices: &[SliceInput],
    parity: &[Parity],
    prior: &[f64],
) -> Option<f64> {
    let weighted = measured.iter().filter(|m| m.w > 0.0 && prior[m.slice].is_finite());
    let mut spots: Vec<(f64, f64)> =
        weighted.map(|m| (effective_spot(parity[m.slice].fwd, &slices[m.slice], prior[m.slice]), m.w)).collect();
    weighted_median(&mut spots).filter(|s| (s - free.s).abs() <= free.error.max(CARRY.still * free.s))
}

/// The median forward of some expiries, currency per share; NaN: none has one.
pub(super) fn median_forward(parity: impl Iterator<Item = Parity>) -> f64 {
    let mut fwds: Vec<(f64, f64)> = parity.filter(|p| p.fwd > 0.0).map(|p| (p.fwd, f64::from(p.pairs))).collect();
    weighted_median(&mut fwds).unwrap_or(f64::NAN)
}

/// Start of the search for δ: a line through the measurements, robust against half of them; 0 if they are too few to
/// separate δ from borrow.
fn first_delta(measured: &[Measured]) -> f64 {
    let weighted: Vec<&Measured> = measured.iter().filter(|m| m.w > 0.0).collect();
    if weighted.len() < CARRY.delta_expiries {
        return 0.0;
    }
    // weighted Theil-Sen slope of z in t, as z = b·t − δ is a line if all expiries have the same borrow
    let mut slopes: Vec<(f64, f64)> = Vec::new();
    for (i, a) in weighted.iter().enumerate() {
        for b in &weighted[i + 1..] {
            let apart = b.t - a.t;
            if apart > CARRY.delta_years_apart {
                slopes.push(((b.z - a.z) / apart, apart * apart / (1.0 / a.w + 1.0 / b.w)));
            }
        }
    }
    let Some(slope) = weighted_median(&mut slopes) else { return 0.0 };
    let mut deltas: Vec<(f64, f64)> =
        weighted.iter().map(|m| (slope * m.t - m.z, 1.0 / (1.0 / m.w + (CARRY.level * m.t).powi(2)))).collect();
    weighted_median(&mut deltas).filter(|delta| delta.abs() > CARRY.delta_noises * CARRY.spot_noise).unwrap_or(0.0)
}

/// Weighted median of the borrow rates that expiries imply by themselves; 0: no expiry has one.
fn median_borrow(measured: &[Measured]) -> f64 {
    let weighted = measured.iter().filter(|m| m.w > 0.0);
    let mut own: Vec<(f64, f64)> = weighted.map(|m| (m.z / m.t, m.t / (m.t + CARRY.delta_years_apart))).collect();
    weighted_median(&mut own).unwrap_or(0.0)
}

/// Median of ln(F/S) where parity is the basis; NaN: no pair.
fn usual_basis(slices: &[SliceInput], parity: &[Parity]) -> f64 {
    let own = slices.iter().zip(parity).filter(|(input, p)| input.basis == ForwardBasis::Parity && p.fwd > 0.0);
    let mut basis: Vec<(f64, f64)> = own.map(|(input, p)| ((p.fwd / input.s).ln(), 1.0)).collect();
    weighted_median(&mut basis).unwrap_or(f64::NAN)
}

/// The carry S := F and b := r, for names whose parity is the basis. An expiry without pairs, or with a forward unlike
/// all others, takes F from its neighbours in time, else the spot.
fn on_its_own(i: usize, slices: &[SliceInput], parity: &[Parity], usual: f64) -> Carry {
    let known = |j: &usize| {
        let basis = (parity[*j].fwd / slices[*j].s).ln();
        basis.abs() < CARRY.ln_parity_most && (basis - usual).abs() < CARRY.ln_parity_apart
    };
    let fwd = if known(&i) {
        parity[i].fwd
    } else {
        match ((0..i).rev().find(known), (i + 1..slices.len()).find(known)) {
            (Some(lo), Some(hi)) => {
                let part = (slices[i].t - slices[lo].t) / (slices[hi].t - slices[lo].t).max(1e-9);
                parity[lo].fwd + part * (parity[hi].fwd - parity[lo].fwd)
            }
            (Some(j), None) | (None, Some(j)) => parity[j].fwd,
            (None, None) => slices[i].s,
        }
    };
    let refused = parity[i].fwd.is_finite() && !known(&i);
    Carry { fwd, fwd_error: parity[i].error, b: slices[i].r, und: fwd, s: fwd, spot: fwd, refused }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::ForcedCarry;
    use crate::calibrate::testing::slice;
    use kernel::dividends::Terms;

    fn carries(slices: &[SliceInput], parity: &[Parity], prior: &[f64]) -> Carries {
        let mut carries = Carries::default();
        carries.set(SpotSource::Published, slices, parity, slices[0].s, prior);
        carries
    }

    fn parity(fwd: f64, error: f64) -> Parity {
        Parity { fwd, error, sd: 0.1, pairs: 9 }
    }

    #[test]
    fn implied_borrow_inverts_the_forward_with_dividends() {
        let divs = [Dividend { t: 0.1, amount: 1.2 }, Dividend { t: 0.4, amount: 1.3 }];
        for b in [-0.02, 0.0, 0.3, 2.5] {
            let terms = Terms { t: 0.5, r: 0.04, b, divs: divs.to_vec() };
            let back = implied_borrow(90.0, terms.fwd(90.0), 0.5, 0.04, &divs);
            assert!((back - b).abs() < 1e-12, "{b} came back as {back}");
        }
        assert!(implied_borrow(2.0, 1.0, 0.5, 0.04, &divs).is_nan(), "dividends worth more than the spot");
    }

    #[test]
    fn what_a_user_knows_of_borrow_forward_or_both_tells_the_rest() {
        let own = slice(50.0, 0.3, &[]);
        let divs = [Dividend { t: 0.05, amount: 0.7 }];
        let input = SliceInput { divs: &divs, ..own.input() };
        let implied = carries(&[input], &[parity(forward_at(50.0, &input, 0.02), 0.01)], &[f64::NAN]).carry[0];
        let with_overrides =
            |fwd, borrow| implied.with_overrides(&SliceInput { forced: ForcedCarry { fwd, borrow }, ..input });
        let same = |carry: Carry, want: Carry| format!("{carry:?}") == format!("{want:?}");
        assert!(same(with_overrides(None, None), implied));
        let want = (50.0 - 0.7 * (-(0.04f64 - 0.4) * 0.05).exp()) * ((0.04 - 0.4) * 0.3f64).exp();
        let by_borrow = with_overrides(None, Some(0.4));
        assert!((by_borrow.fwd - want).abs() < 1e-9 && (by_borrow.b - 0.4).abs() < 1e-15, "{want}: {by_borrow:?}");
        let by_forward = with_overrides(Some(want), None);
        assert!(by_forward.fwd.to_bits() == want.to_bits() && (by_forward.b - 0.4).abs() < 1e-12, "{by_forward:?}");
        assert!((by_forward.s - 50.0).abs() < 1e-15 && (by_forward.und - 50.0).abs() < 1e-15, "{by_forward:?}");
        let both = with_overrides(Some(want), Some(0.1));
        assert!((both.b - 0.1).abs() < 1e-15 && (forward_at(both.s, &input, 0.1) - want).abs() < 1e-12, "{both:?}");
        assert!(
            (both.und - 50.0).abs() < 1e-15 && both.s < 46.0,
            "the spot follows and the published one stays: {both:?}"
        );
        // a digit too many is no forward
        assert!(
            same(with_overrides(Some(500.0), None), implied) && same(with_overrides(Some(5.0), Some(0.1)), implied)
        );
        let more = [Dividend { t: 0.05, amount: 70.0 }];
        let absurd = SliceInput { divs: &more, forced: ForcedCarry { fwd: None, borrow: Some(0.4) }, ..input };
        let carry = carries(&[absurd], &[Parity::NONE], &[f64::NAN]).carry[0].with_overrides(&absurd);
        assert!(carry.fwd.is_nan(), "dividends worth more than the spot: {carry:?}");
    }

    #[test]
    fn a_known_forward_beside_the_spot_in_the_last_hours_is_no_borrow() {
        let last = slice(100.0, 0.5 / 8760.0, &[]);
        let input = last.input();
        let implied = carries(&[input], &[parity(100.0, 0.01)], &[f64::NAN]).carry[0];
        let known =
            implied.with_overrides(&SliceInput { forced: ForcedCarry { fwd: Some(101.0), borrow: None }, ..input });
        assert!((known.b - implied.b).abs() < 1e-15 && (known.s - 101.0).abs() < 1e-3, "{known:?}");
        assert!((forward_at(known.s, &input, known.b) - 101.0).abs() < 1e-12, "{known:?}");
    }

    #[test]
    fn a_known_forward_of_an_index_that_is_none_is_its_price() {
        let own = slice(20.0, 0.1, &[]);
        let input = SliceInput { basis: ForwardBasis::Parity, ..own.input() };
        let implied = carries(&[input], &[parity(22.0, 0.05)], &[f64::NAN]).carry[0];
        let forced = ForcedCarry { fwd: Some(23.5), borrow: Some(0.3) };
        let Carry { fwd, b, und, s, .. } = implied.with_overrides(&SliceInput { forced, ..input });
        assert_eq!([fwd, b, und, s].map(f64::to_bits), [23.5, input.r, 23.5, 23.5].map(f64::to_bits));
    }

    #[test]
    fn last_days_keep_their_forward_and_take_the_neighbours_borrow() {
        let near = slice(100.0, 1.0 / 365.0, &[]);
        let far = slice(100.0, 0.25, &[]);
        let (near, far) = (near.input(), far.input());
        // both were quoted against the same spot, a tenth of a percent below the published one
        let fwd_far = 99.9 * (0.25 * (near.r - 0.02)).exp();
        let carry = carries(&[near, far], &[parity(99.9, 0.005), parity(fwd_far, 0.01)], &[f64::NAN; 2]).carry;
        assert!((carry[0].fwd - 99.9).abs() < 0.01 && (carry[0].b - 0.02).abs() < 0.03, "{:?}", carry[0]);
        let back = carry[0].s * ((near.r - carry[0].b) * near.t).exp();
        assert!((back - carry[0].fwd).abs() < 1e-10, "the spot that it is valued at gives the forward back: {back}");
        assert!((carry[1].b - 0.02).abs() < 6e-3 && (carry[1].fwd / fwd_far - 1.0).abs() < 1e-4, "{:?}", carry[1]);
    }

    #[test]
    fn an_expiry_without_pairs_takes_its_neighbours_borrow() {
        let ts = [0.1, 0.3, 0.6].map(|t| slice(50.0, t, &[]));
        let inputs: Vec<_> = ts.iter().map(|s| s.input()).collect();
        let fwd = |i: usize| 50.0 * ((inputs[i].r - 0.8) * inputs[i].t).exp();
        let parities = [parity(fwd(0), 0.01), Parity::NONE, parity(fwd(2), 0.01)];
        let carry = carries(&inputs, &parities, &[f64::NAN; 3]).carry;
        assert!((carry[1].b - 0.8).abs() < 0.02 && (carry[1].fwd / fwd(1) - 1.0).abs() < 0.01, "{:?}", carry[1]);
        let none = carries(&inputs[..1], &[Parity::NONE], &[f64::NAN]).carry;
        assert!(none[0].b.abs() < 1e-12, "nothing known: no borrow");
    }

    #[test]
    fn one_absurd_pair_of_the_last_day_moves_nothing() {
        let (near, far) = (slice(100.0, 6.0 / 8760.0, &[]), slice(100.0, 0.154, &[]));
        let (near, far) = (near.input(), far.input());
        let truth = forward_at(100.0, &far, 0.0);
        for wrong in [60.0, 93.0, 104.0, 400.0] {
            let one = Parity { pairs: 1, ..parity(wrong, 0.6) };
            let out = carries(&[near, far], &[one, parity(truth, 0.05)], &[f64::NAN; 2]);
            assert!((out.carry[1].fwd / truth - 1.0).abs() < 2e-4, "{wrong}: {:?}", out.carry[1]);
            assert!((out.carry[0].fwd / 100.0 - 1.0).abs() < 5e-3 && !out.spot.off, "{wrong}: {:?}", out.carry[0]);
        }
    }

    #[test]
    fn a_spot_that_lags_is_found_by_all_expiries_together() {
        let ts = [0.01, 0.03, 0.06, 0.1, 0.3, 0.6].map(|t| slice(100.0, t, &[]));
        let inputs: Vec<_> = ts.iter().map(|s| s.input()).collect();
        let parities: Vec<_> = inputs.iter().map(|i| parity(forward_at(102.0, i, 0.01), 0.02)).collect();
        let out = carries(&inputs, &parities, &[f64::NAN; 6]);
        assert!(out.spot.off && (out.spot.s - 102.0).abs() < 0.05 && out.spot.error < 0.1, "{:?}", out.spot);
        for (carry, parity) in out.carry.iter().zip(&parities) {
            assert!((carry.fwd / parity.fwd - 1.0).abs() < 2e-4 && (carry.b - 0.01).abs() < 0.02, "{carry:?}");
            assert!((carry.und - 100.0).abs() < 1e-12, "the published spot is published");
        }
    }

    #[test]
    fn where_spot_and_options_agree_values_use_the_published_spot() {
        let ts = [0.02, 0.1, 0.4].map(|t| slice(100.0, t, &[]));
        let inputs: Vec<_> = ts.iter().map(|s| s.input()).collect();
        let off = [1.0001, 0.9999, 1.0002];
        let parities: Vec<_> =
            inputs.iter().zip(off).map(|(i, off)| parity(off * forward_at(100.0, i, 0.03), 0.02)).collect();
        let out = carries(&inputs, &parities, &[f64::NAN; 3]);
        for (carry, input) in out.carry.iter().zip(&inputs) {
            assert!((carry.s - 100.0).abs() < 1e-12, "{carry:?}");
            assert!((forward_at(100.0, input, carry.b) / carry.fwd - 1.0).abs() < 1e-12, "{carry:?}");
        }
        let prior = [0.031, 0.0301, 0.0301];
        let again = carries(&inputs, &parities, &prior);
        assert!((again.carry[1].b - prior[1]).abs() < 1e-15, "what is known no better stays: {:?}", again.carry[1]);
    }
}
