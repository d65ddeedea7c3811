//! Early-exercise premium of American options with cash dividends, from tables that do not depend on the spot.
//!
//! `PremiumTables::prepare` builds the tables that contracts need (milliseconds), and [`PremiumTables::jet`] reads
//! them (about a microsecond a contract, every pass). The files, in the order of a build:
//!
//! - `layout`: the strikes and volatilities of each table;
//! - `dates` (calls) and `windows` (puts): backwards over ex-dates, from the premium at each (`at_date` of this room's
//!   parent); `periods`: inputs and solution of a date, and the periods between dates; `time_between`, `between_dates`,
//!   `falling`, `tip`, `corner` and `pair`: exercise within them;
//! - `solved`: the solution at all strikes and volatilities; `now`: that of single contracts, for reference values;
//! - `table`: the coefficients that are kept, and their fit; `rates`: their derivatives in the rates;
//! - `evaluate` and `exercise`: reading; `series`: arithmetic.
//!
//! Never: a spot in a table.

mod between_dates;
mod corner;
mod dates;
mod evaluate;
mod exercise;
mod falling;
mod layout;
pub(super) mod now;
mod pair;
mod periods;
mod rates;
mod series;
mod solved;
mod table;
mod time_between;
mod tip;
mod windows;

use super::band::{Band, Counts, Numbers};
use super::no_dividends::NoDividends;
use super::pays::{Depth, Span, deep, exercised_now, most_premium};
use super::shared::SharedBoundaries;
use crate::american::boundary::TIME_LEAST;
use crate::american::settings::{SAME, TABLES};
use crate::black76::{Horizon, european, european_vol};
use crate::contract::Right;
use crate::dividends::{SAME_DATE, SET_BACK, Terms, are_same};
use crate::elementary::{exp, ln};
use crate::greeks::{Derivatives, VolDerivatives, by_time, from_logs};
use crate::lanes::{Lanes, Mask, TwoBlocks};
use evaluate::Clock;
use exercise::{Inputs, best_plan};
use layout::{TablePart, covered, tiles};
use series::{Taylor, at};
use table::{Layout, Table};

/// Greatest move of b as a part of the greater rate.
const B_PART: f64 = 0.1;
/// Greatest age of a table of the premium now, of the time to the next date (part of the way).
const AGE_PART: f64 = 0.05;

/// Years. A table of an ex-date is not read in the last half minute before it, where the deviation, a divisor, goes
/// to 0.
const UNTIL: f64 = 1e-6;
/// Shortfall of a value behind the best plan, parts of the strike, from which on the plan replaces it: more than a
/// table's error.
const SHORT: f64 = 2e-5;

/// Standard deviations above the strike from which a call's table may miss the best plan.
const DEEP: f64 = 2.0;

/// Inputs of an evaluation, one contract per lane, at one spot.
#[derive(Clone, Copy)]
struct Contracts<L: Lanes> {
    spot: L,
    k: L,
    sigma: L,
    /// The lanes whose premium is not negligible.
    needed: L::Mask,
    /// The European values.
    european: L,
}

/// The lanes that are exercised now, and the lanes whose series is the whole value instead of the premium.
type Marks<M> = (M, M);

/// Inputs of the read of one table.
struct Reading<'a, L> {
    terms: &'a Terms,
    on: Inputs<L>,
    european: L,
}

impl<L: Lanes> Reading<'_, L> {
    /// True if b > 0 and some call is so deep in the money that exercise pays at an ex-date where it would not for
    /// spots near the strike.
    fn is_deep_with_borrow(&self, phi: f64) -> bool {
        let (terms, on) = (self.terms, &self.on);
        let may = phi > 0.0 && terms.b > SAME.no_rate;
        may && (on.sigma.value() * (DEEP * terms.t.sqrt())).lt(ln(on.spot.value() / on.strike.value())).any()
    }
}

/// Premium tables of one (expiry, right) over bands of strikes and volatilities.
pub struct PremiumTables {
    right: Right,
    terms: Terms,
    shared: SharedBoundaries,
    /// Tables with the bands that they serve. Where two serve the same contract, the later one is read.
    tiles: Vec<TablePart>,
}

/// Most lanes of one evaluation.
const MOST_LANES: usize = TwoBlocks::N;

/// The tables that serve some lanes, and which lanes each serves.
struct Serving<'a, L: Lanes> {
    tables: [Option<(&'a Table, L::Mask)>; MOST_LANES],
    n: usize,
}

impl<'a, L: Lanes> Serving<'a, L> {
    fn push(&mut self, table: &'a Table, lanes: L::Mask) {
        self.tables[self.n] = Some((table, lanes));
        self.n += 1;
    }

    fn iter(&self) -> impl Iterator<Item = (&'a Table, L::Mask)> {
        self.tables[..self.n].iter().flatten().copied()
    }
}

impl PremiumTables {
    /// Lays out the tables for `bands` at `terms`; `PremiumTables::prepare` builds them.
    ///
    /// # Cost  2 ms for the puts of a quarterly payer half a year before expiry, 7 ms two years before, a third of it
    /// for the derivatives in the rates; more where dividends are monthly.
    /// A table serves bands within a strike ratio of 1.43 (put), 1.2 (call) or exp(σ√t), and a volatility ratio of 2
    #[must_use]
    pub fn new(shared: &SharedBoundaries, right: Right, terms: &Terms, bands: &[Band]) -> Self {
        let terms = live(terms);
        let tiles = tiles(right, &terms, bands);
        PremiumTables { right, terms, shared: shared.clone(), tiles }
    }

    /// The tables built so far.
    fn built(&self) -> impl Iterator<Item = &Table> {
        self.tiles.iter().flat_map(TablePart::built)
    }

    /// Builds what reads of contracts need at `terms`, which the tables must serve.
    pub(super) fn prepare<L: Lanes>(&mut self, terms: &Terms, s: f64, k: L, sigma: L, numbers: Numbers) {
        let spot = self.spot(terms, s);
        let needed = self.needed(terms, spot, k, sigma);
        let mut picked = Vec::new();
        let pick = |tile, depth, lanes| picked.push((tile, depth, lanes));
        match numbers {
            Numbers::ByVolatility => self.pick::<L, true>(terms, [spot, k, sigma], needed, pick),
            Numbers::Greeks | Numbers::Boundary => self.pick::<L, false>(terms, [spot, k, sigma], needed, pick),
        }
        let by_rates = numbers > Numbers::ByVolatility || self.has_moved(terms);
        for (tile, depth, lanes) in picked {
            self.build(tile, depth, by_rates, |span, last| last.prepare_from(span.within(k, sigma).1, lanes));
        }
    }

    /// Builds all tables.
    pub(super) fn prepare_all(&mut self) {
        for tile in 0..self.tiles.len() {
            self.build(tile, Depth::Usual, true, |_, last| last.prepare_all());
            if self.tiles[tile].has_deep() {
                self.build(tile, Depth::Deep, true, |_, last| last.prepare_all());
            }
        }
    }

    /// Builds what is missing of a table; `last` solves the boundaries that a table of a last interval needs.
    fn build(&mut self, tile: usize, depth: Depth, by_rates: bool, last: impl FnOnce(&Span, &NoDividends)) {
        let table = self.tiles[tile].build(&self.shared, self.right.phi(), &self.terms, depth);
        if let Layout::LastInterval(boundaries) = &table.layout {
            last(&table.span, boundaries);
        }
        if by_rates {
            table.solve_rates(&self.terms);
        }
    }

    /// The tables of the `needed` lanes; a lane whose table is not built, or with `BY_RATES` not its derivatives in the
    /// rates, has none. `BEYOND` as of [`Self::pick`].
    fn serving<L: Lanes, const BEYOND: bool>(
        &self,
        terms: &Terms,
        [spot, k, sigma]: [L; 3],
        needed: L::Mask,
    ) -> Serving<'_, L> {
        let mut serving = Serving { tables: [None; MOST_LANES], n: 0 };
        let by_rates = !BEYOND || self.has_moved(terms);
        self.pick::<L, BEYOND>(terms, [spot, k, sigma], needed, |tile, depth, lanes| {
            let built = self.tiles[tile].table(depth);
            let Some(table) = built.filter(|table| !by_rates || table.rates.is_some() || !table.has_premium()) else {
                return;
            };
            let lanes = match &table.layout {
                Layout::LastInterval(last) => lanes & last.is_prepared(table.span.within(k, sigma).1),
                _ => lanes,
            };
            serving.push(table, lanes);
        });
        serving
    }

    /// Hands `to` the tiles of the `needed` lanes, by index, with depth and lanes. With `BEYOND` a lane whose
    /// volatility no tile of its strike serves gets the tile with the nearest volatilities.
    #[inline(always)]
    fn pick<L: Lanes, const BEYOND: bool>(
        &self,
        terms: &Terms,
        [spot, k, sigma]: [L; 3],
        needed: L::Mask,
        mut to: impl FnMut(usize, Depth, L::Mask),
    ) {
        let mut left = needed;
        let deep = self.tiles.iter().any(TablePart::has_deep).then(|| deep(terms, spot, k, sigma));
        let mut by_depth = |i: usize, lanes: L::Mask| {
            let deep = deep.filter(|_| self.tiles[i].has_deep()).map(|deep| lanes & deep).filter(|deep| deep.any());
            if let Some(deep) = deep {
                to(i, Depth::Deep, deep);
            }
            let usual = deep.map_or(lanes, |deep| lanes & !deep);
            if usual.any() {
                to(i, Depth::Usual, usual);
            }
        };
        for (i, tile) in self.tiles.iter().enumerate().rev() {
            if !left.any() {
                return;
            }
            let inside = left & tile.holds(k, sigma);
            if inside.any() {
                by_depth(i, inside);
                left = left & !inside;
            }
        }
        if BEYOND && left.any() {
            self.nearest(k, sigma, left, by_depth);
        }
    }

    /// Hands `to`, for the lanes `left` whose volatility no tile serves, the tile of their strike with the nearest
    /// volatilities.
    fn nearest<L: Lanes>(&self, k: L, sigma: L, mut left: L::Mask, mut to: impl FnMut(usize, L::Mask)) {
        let none = L::splat(f64::INFINITY);
        let away = |tile: &TablePart| {
            let (low, high) = tile.sigma();
            let ratio = (L::splat(low) / sigma).max(sigma * (1.0 / high));
            L::select(tile.holds_strike(k), ratio, none)
        };
        let least = self.tiles.iter().fold(none, |least, tile| least.min(away(tile)));
        for (i, tile) in self.tiles.iter().enumerate().rev() {
            let lanes = left & away(tile).le(least) & least.lt(none);
            if lanes.any() {
                to(i, lanes);
                left = left & !lanes;
            }
        }
    }

    /// Least and greatest volatility that the lanes' tables serve; NaN where there is none.
    pub(super) fn sigma_range<L: Lanes>(&self, k: L, sigma: L) -> (L, L) {
        let nan = L::splat(f64::NAN);
        let mut range = (nan, nan);
        for tile in &self.tiles {
            let (holds, (low, high)) = (tile.holds(k, sigma), tile.sigma());
            range = (L::select(holds, L::splat(low), range.0), L::select(holds, L::splat(high), range.1));
        }
        range
    }

    /// True if tables serve all of `band`.
    pub(super) fn holds(&self, band: &Band) -> bool {
        covered(band, &self.tiles)
    }

    /// The lanes whose premium is not negligible.
    fn needed<L: Lanes>(&self, terms: &Terms, spot: L, k: L, sigma: L) -> L::Mask {
        L::splat(TABLES.negligible).lt(most_premium(self.right, terms, spot, k, sigma) / spot)
    }

    /// True if the tables still serve `terms`: the same dividends are to come, no date that a table describes has
    /// passed, and the rates have moved by little. The limits depend on the term and on the tables built.
    ///
    /// # Accuracy  against tables built at the moved rates: price 2e-5 of max(V, 5 % of S), delta 1e-4, gamma, vega and
    /// theta 2e-3, away from the exercise boundary; a table aged by a day: 1e-5: `moved_tables_agree_with_fresh_ones`
    #[must_use]
    pub fn serves(&self, terms: &Terms) -> bool {
        let terms = live(terms);
        let age = self.terms.t - terms.t;
        let same = are_same(&self.terms.divs, &terms.divs, age);
        let size = self.terms.r.abs().max(self.terms.b.abs());
        let aligned = (TABLES.b_move * size.powf(2.0 / 3.0) / self.terms.t.max(TIME_LEAST).sqrt()).min(B_PART * size);
        // exercise anywhere between the dates of a call is harder to follow
        let coarse = self.built().any(|table| table.until.is_some() || table.is_anchored());
        let b_move = if coarse { TABLES.rate_move } else { aligned.max(TABLES.rate_move) };
        same && (terms.r - self.terms.r).abs() <= TABLES.rate_move
            && (terms.b - self.terms.b).abs() <= b_move
            && terms.t > 0.0
            && age > -SET_BACK
            && self.built().all(|t| t.serves_age(age, &self.terms) && t.serves_rates(&self.terms, &terms))
    }

    /// Makes the tables serve `bands`: keeps the tables that they meet, drops those that the last bands did not meet
    /// either, adds missing ones. A curve with few quotes may turn between two shapes.
    pub fn widen(&mut self, bands: &[Band]) {
        self.tiles.retain_mut(|tile| {
            let is_idle = !bands.iter().any(|band| tile.meets(band));
            let was_idle = core::mem::replace(&mut tile.is_idle, is_idle);
            !(was_idle && is_idle)
        });
        let missing: Vec<Band> = bands.iter().filter(|band| !self.holds(band)).copied().collect();
        self.tiles.splice(..0, tiles(self.right, &self.terms, &missing));
    }

    /// Numbers of the tables built so far, by kind.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for table in self.built() {
            counts.refined += usize::from(table.refined);
            match table.layout {
                Layout::European | Layout::LowerStrike(_) => counts.european += 1,
                Layout::Now | Layout::AtExDate => counts.aligned += 1,
                Layout::Once | Layout::LastInterval(_) => counts.closed += 1,
                Layout::Anchored | Layout::AnchoredAtExDate => counts.anchored += 1,
            }
        }
        counts
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let tables: usize = self.built().map(Table::bytes).sum();
        size_of::<Self>() + size_of_val(&*self.tiles) + size_of_val(&*self.terms.divs) + tables
    }

    /// Value and derivatives at fixed X, and the lanes where exercising now is optimal (their jet is undefined).
    /// A lane outside the tables, that is not prepared, or with S ≤ A(0) is NaN.
    ///
    /// # Shapes    k, sigma and the result: one contract per lane; no lane looks at another
    /// # Units     as [`Derivatives`]: per 1.00 of volatility and rate, per year
    /// # Domain    `terms` that [`PremiumTables::serves`]. Where dividends are worth most of the spot, and where b < 0
    /// leaves a call's exercise region an end close by, derivatives are less accurate than below
    /// # Accuracy  golden/american_div.csv, 200 hard rows, at p99: price 5e-6 of max(V, 5 % of S), delta 1e-5, gamma,
    /// vega, theta and speed 4e-4, rho and epsilon 5e-3, ultima 5e-2; at p90 gamma, vega and theta 3e-6, rho, epsilon
    /// and ultima 3e-4: `options_with_dividends_meet_their_bounds`
    /// # Cost      0.25 µs a contract where exercise is possible now, 0.7 µs where it begins at an ex-date, 2 to 4 µs
    /// more next to the boundary of a call that is exercised until then
    #[must_use]
    pub fn jet<L: Lanes>(&self, terms: &Terms, s: f64, k: L, sigma: L) -> (Derivatives<L>, L::Mask) {
        let (phi, horizon, spot) = (self.right.phi(), Horizon::from(terms), self.spot(terms, s));
        let needed = self.needed(terms, spot, k, sigma);
        let serving = self.serving::<L, false>(terms, [spot, k, sigma], needed);
        let strike = strike(k, &serving);
        let mut jet = european(phi, &horizon, spot, strike, sigma);
        if strike.lt(k).any() {
            jet.d = european(phi, &horizon, spot, k, sigma).d;
        }
        let contracts = Contracts { spot, k, sigma, needed, european: jet.v };
        let (premium, (exercised, whole)) = self.premium::<L, true>(terms, &contracts, &serving);
        if whole.any() {
            jet = Derivatives::select(whole, &Derivatives::nothing(jet.d), &jet);
        }
        add_premium(&mut jet, &premium, spot, k, sigma);
        (jet, exercised | self.at_intrinsic(jet.v, s, k, &serving))
    }

    /// Value and volatility derivatives, and the lanes where exercising now is optimal; see [`PremiumTables::jet`].
    /// Beyond the volatilities of a strike's tables the premium is extrapolated linearly, for searches.
    #[must_use]
    pub fn vol_derivatives<L: Lanes>(&self, terms: &Terms, s: f64, k: L, sigma: L) -> (VolDerivatives<L>, L::Mask) {
        let spot = self.spot(terms, s);
        let needed = self.needed(terms, spot, k, sigma);
        let serving = self.serving::<L, true>(terms, [spot, k, sigma], needed);
        let strike = strike(k, &serving);
        let mut jet = european_vol(self.right.phi(), &Horizon::from(terms), spot, strike, sigma);
        let contracts = Contracts { spot, k, sigma, needed, european: jet.value };
        let (premium, (exercised, whole)) = self.premium::<L, false>(terms, &contracts, &serving);
        if whole.any() {
            let zero = L::splat(0.0);
            jet = VolDerivatives::select(whole, &VolDerivatives::straight(zero, zero), &jet);
        }
        let [vega, volga, ultima] = by_sigma(&premium, sigma);
        let premium = VolDerivatives { value: premium.value(), vega, volga, ultima };
        jet = jet.zip(&premium, |jet, premium| jet + premium);
        (jet, exercised | self.at_intrinsic(jet.value, s, k, &serving))
    }

    /// The spot at which exercise becomes optimal now, in lanes whose table begins at that boundary; else NaN.
    #[must_use]
    pub fn boundary<L: Lanes>(&self, terms: &Terms, s: f64, k: L, sigma: L) -> L {
        let spot = self.spot(terms, s);
        let needed = self.needed(terms, spot, k, sigma);
        let (collected, none) = (L::splat(terms.a(0.0)), L::splat(f64::NAN));
        self.serving::<L, false>(terms, [spot, k, sigma], needed).iter().fold(none, |boundary, (table, inside)| {
            let (on, clock) = (Inputs::new(spot, k, sigma), self.clock::<false>(terms, table));
            let x = match (&table.layout, &table.until) {
                (Layout::Now, _) => table.boundary_series(&clock, &on).value(),
                (Layout::AtExDate, Some(until)) => table.boundary_until_date(until, &clock, &on),
                _ => return boundary,
            };
            L::select(inside, exp(x) + collected, boundary)
        })
    }

    /// X, or NaN where the dividends are worth more than the spot.
    fn spot<L: Lanes>(&self, terms: &Terms, s: f64) -> L {
        let x = s - terms.a(0.0);
        L::splat(if x > 0.0 { x } else { f64::NAN })
    }

    /// The lanes whose value is the intrinsic value or less, and whose option may be worth exercising. With b > 0 a
    /// call always may, far enough in the money, even if its table has no premium.
    fn at_intrinsic<L: Lanes>(&self, value: L, s: f64, k: L, serving: &Serving<'_, L>) -> L::Mask {
        let borrowed_call = self.right == Right::Call && self.terms.b > 0.0;
        let american = serving.iter().filter(|(t, _)| borrowed_call || !matches!(t.layout, Layout::European));
        let may = american.fold(k.lt(k), |some, (_, inside)| some | inside);
        // far below the payoff no table is needed: volatility is small, the forward far on the other side
        exercised_now(self.right, value, L::splat(s), k, may)
    }

    /// The premium as a series, each lane from the table that serves it; 0 in the lanes that need none.
    ///
    /// # Shapes  one contract per lane; `serving`: each lane in at most one table
    /// # Domain  `terms` that [`PremiumTables::serves`]; NaN where a premium is needed and no table serves
    fn premium<L: Lanes, const ALL: bool>(
        &self,
        terms: &Terms,
        contracts: &Contracts<L>,
        serving: &Serving<'_, L>,
    ) -> (Taylor<L>, Marks<L::Mask>) {
        let Contracts { spot, k, sigma, needed, european } = *contracts;
        let nothing = L::select(needed, L::splat(f64::NAN), L::splat(0.0));
        let mut out = Taylor(core::array::from_fn(|_| nothing));
        let (mut exercised, mut whole) = (spot.lt(spot), spot.lt(spot));
        for (table, inside) in serving.iter() {
            let (clamped_k, clamped_sigma) = table.span.within(k, sigma);
            let on = Inputs::new(spot, clamped_k, clamped_sigma);
            let (mut premium, before) = table.premium::<L, ALL>(&self.clock::<ALL>(terms, table), &on);
            if !table.is_dated() {
                advance_time(terms, self.terms.t - terms.t, clamped_sigma, &mut premium);
            }
            if !ALL {
                extrapolate(clamped_sigma, sigma, &mut premium);
            }
            whole =
                whole | (inside & self.with_best_plan(table, &Reading { terms, on, european }, before, &mut premium));
            out = Taylor(core::array::from_fn(|i| L::select(inside, premium.0[i], out.0[i])));
            if matches!(table.layout, Layout::Now | Layout::AtExDate) {
                exercised = exercised | (inside & before);
            }
        }
        (out, (exercised, whole))
    }

    /// Replaces the premium by the value of the best date fixed in advance where a table without a boundary ends
    /// (`beyond`), and where the value read lies below it, as that of a call deep in the money may. Returns these
    /// lanes, whose series is the whole value. Elsewhere keeps the premium from falling below 0.
    fn with_best_plan<L: Lanes>(
        &self,
        table: &Table,
        at: &Reading<'_, L>,
        beyond: L::Mask,
        premium: &mut Taylor<L>,
    ) -> L::Mask {
        let (phi, zero) = (self.right.phi(), L::splat(0.0));
        replace_where(premium, premium.value().lt(zero), &Taylor::constant(zero));
        let anchored = matches!(table.layout, Layout::Anchored);
        let ahead = matches!(table.layout, Layout::AnchoredAtExDate);
        let ends = ahead || table.is_dated() && phi > 0.0 && at.terms.b < 0.0;
        if !(anchored || ends || at.is_deep_with_borrow(phi)) {
            return zero.lt(zero);
        }
        let plan = best_plan(phi, at.terms, &at.on);
        let value = at.european + premium.value();
        let short = (value + at.on.strike.value() * SHORT).lt(plan.value());
        let whole = if anchored { short | (beyond & zero.lt(plan.value())) } else { short };
        replace_where(premium, whole, &plan);
        whole
    }

    /// Moves of r and b since the build.
    fn moved(&self, terms: &Terms) -> [f64; 2] {
        [terms.r - self.terms.r, terms.b - self.terms.b]
    }

    /// True if r or b are not those of the build.
    fn has_moved(&self, terms: &Terms) -> bool {
        self.moved(terms).iter().any(|by| *by != 0.0)
    }

    /// The inputs from `terms` for a read of `table`.
    fn clock<'a, const ALL: bool>(&self, terms: &Terms, table: &'a Table) -> Clock<'a> {
        let age = if table.is_dated() { self.terms.t - terms.t } else { 0.0 };
        let (stop, moved) = (table.stop - age, self.moved(terms));
        // a call collects the dividend of the date, a put does not
        let [a, a_r] = terms.collected(stop, stop - 3.0 * SAME_DATE * self.right.phi());
        let needed = ALL || self.has_moved(terms);
        let rates = table.rates.as_deref().filter(|_| needed && table.has_premium());
        Clock { r: terms.r, b: terms.b, t: self.terms.t - age, stop, a, a_r, rates, moved }
    }
}

/// The strike of the European part: a dividend on the day of expiry lowers a call's.
fn strike<L: Lanes>(k: L, serving: &Serving<'_, L>) -> L {
    serving.iter().fold(k, |strike, (table, inside)| match table.layout {
        Layout::LowerStrike(amount) => L::select(inside, k - amount, strike),
        _ => strike,
    })
}

/// Carries a premium from the end of a table's volatilities along its tangent, in the lanes that lie beyond.
fn extrapolate<L: Lanes>(end: L, sigma: L, premium: &mut Taylor<L>) {
    let beyond = end.lt(sigma) | sigma.lt(end);
    if !beyond.any() {
        return;
    }
    let c = |v: f64| L::splat(v);
    let slope = premium.0[at::L] / end;
    let linear = slope * sigma;
    let value = (sigma - end).mul_add(slope, premium.value());
    for (i, term) in [(at::ONE, value), (at::L, linear), (at::LL, linear * 0.5), (at::LLL, linear * c(1.0 / 6.0))] {
        premium.0[i] = L::select(beyond, term, premium.0[i]);
    }
}

/// Moves a premium `dt` years forward in time, to first order.
fn advance_time<L: Lanes>(terms: &Terms, dt: f64, sigma: L, premium: &mut Taylor<L>) {
    let c = |v: f64| L::splat(v);
    let p = premium.0;
    let variance = sigma * sigma;
    let aged = |v: L, by_x: L, by_xx: L| by_time(terms.r, terms.b, variance * 0.5, [v, by_x, by_xx]);
    let two = c(2.0);
    let moves = [
        (at::ONE, aged(p[at::ONE], p[at::X], two * p[at::XX])),
        (at::X, aged(p[at::X], two * p[at::XX], c(6.0) * p[at::XXX])),
        (at::XX, aged(p[at::XX], c(3.0) * p[at::XXX], c(12.0) * p[at::XXXX])),
        (at::L, aged(p[at::L], p[at::XL], two * p[at::XXL]) + variance * (p[at::X] - two * p[at::XX])),
    ];
    for (i, by_t) in moves {
        premium.0[i] = by_t.mul_add(c(dt), premium.0[i]);
    }
}

impl core::fmt::Debug for PremiumTables {
    /// Numbers of tables, without their coefficients.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("PremiumTables").field(&self.counts()).finish()
    }
}

impl Table {
    /// True if the table has coefficients.
    pub(super) fn has_premium(&self) -> bool {
        !matches!(self.layout, Layout::European | Layout::LowerStrike(_) | Layout::Once | Layout::LastInterval(_))
    }

    /// True if the table describes a later date, until which it does not age.
    fn is_dated(&self) -> bool {
        matches!(self.layout, Layout::Once | Layout::LastInterval(_) | Layout::AtExDate | Layout::AnchoredAtExDate)
    }

    /// True if the shared boundaries that the table reads serve `terms`; `own`: the terms of the build.
    fn serves_rates(&self, own: &Terms, terms: &Terms) -> bool {
        let Layout::LastInterval(last) = &self.layout else { return true };
        last.serves(&Terms { t: own.t - self.stop, divs: Vec::new(), ..*terms })
    }

    fn serves_age(&self, age: f64, terms: &Terms) -> bool {
        let next = terms.divs.first().map_or(terms.t, |d| d.t);
        match self.layout {
            Layout::European | Layout::LowerStrike(_) => true,
            Layout::Once | Layout::LastInterval(_) | Layout::AtExDate | Layout::AnchoredAtExDate => {
                age < self.stop - UNTIL
            }
            Layout::Now | Layout::Anchored => age <= TABLES.age.min(AGE_PART * next),
        }
    }
}

/// The terms with their live dividends only.
fn live(terms: &Terms) -> Terms {
    let mut out = terms.clone();
    out.divs.retain(|d| d.t > 0.0 && d.t <= terms.t && d.amount > 0.0);
    out
}

/// Replaces `premium` by `by` in `lanes`.
fn replace_where<L: Lanes>(premium: &mut Taylor<L>, lanes: L::Mask, by: &Taylor<L>) {
    for (p, by) in premium.0.iter_mut().zip(by.0) {
        *p = L::select(lanes, by, *p);
    }
}

/// Adds a premium's series in (ln X, ln σ, ln K, r, b) to derivatives in (X, σ, K, r, b).
fn add_premium<L: Lanes>(jet: &mut Derivatives<L>, premium: &Taylor<L>, x: L, k: L, sigma: L) {
    let c = |v: f64| L::splat(v);
    let p = &premium.0;
    let (ix, ik, is) = (c(1.0) / x, c(1.0) / k, c(1.0) / sigma);
    let by_x = from_logs([p[at::X], p[at::XX] * 2.0, p[at::XXX] * 6.0, p[at::XXXX] * 24.0], ix);
    jet.v += p[at::ONE];
    for (sum, premium) in jet.x.iter_mut().zip(by_x) {
        *sum += premium;
    }
    for (sum, premium) in jet.sigma.iter_mut().zip(by_sigma(premium, sigma)) {
        *sum += premium;
    }
    jet.x_sigma += p[at::XL] * ix * is;
    jet.xx_sigma += (p[at::XXL] * 2.0 - p[at::XL]) * ix * ix * is;
    jet.r += p[at::R];
    jet.r_sigma += p[at::RL] * is;
    jet.b += p[at::B];
    jet.k[0] += p[at::Q] * ik;
    jet.k[1] += (p[at::QQ] * 2.0 - p[at::Q]) * ik * ik;
}

/// Vega, volga and ultima of a premium.
fn by_sigma<L: Lanes>(premium: &Taylor<L>, sigma: L) -> [L; 3] {
    let (p, none) = (&premium.0, L::splat(0.0));
    let logs = [p[at::L], p[at::LL] * 2.0, p[at::LLL] * 6.0, none];
    let [vega, volga, ultima, _] = from_logs(logs, L::splat(1.0) / sigma);
    [vega, volga, ultima]
}
