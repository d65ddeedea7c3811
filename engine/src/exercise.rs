//! Whether to exercise early: the spot at which it is right, and what waiting costs. Computed for a finished chain when
//! it is first asked for. Never: a quote, a table that is kept.
//!
//! A call with an ex-date before expiry is held up to it: exercise right before a date is worth more than before that,
//! but for borrowed stock. Every other contract is held until the next session. docs/model.md has the definitions.

use crate::explain::{ValueBasis, value_basis};
use crate::store::chain::{Chain, Slice};
use crate::store::columns::{Col, LateColumns};
use core::ops::Range;
use kernel::american::{Band, Numbers, Pricer, SharedBoundaries};
use kernel::black76::{Horizon, european_vol};
use kernel::contract::{Right, Style, strike_of};
use kernel::dividends::Terms;
use kernel::elementary::ln;
use kernel::lanes::{BLOCK, Block, Lanes};
use kernel::lattice::HeldCall;
use kernel::normal::norm_cdf;
use kernel::quality::Quality;

/// Layers of the lattices of calls with later ex-dates.
const LAYERS: usize = 48;
/// A value so little above what exercise pays, parts of the strike, is that of exercise.
const SAME: f64 = 1e-9;
/// Steps of Simpson's rule over the time until the next session.
const STEPS: usize = 8;

/// Advice on a contract, as [`Col::ExerciseState`] has it; its place is that number.
pub const ADVICE: [&str; 3] = ["no", "before_ex", "now"];

/// The numbers of a column, which are computed first if no pass does.
#[must_use]
pub fn column(chain: &Chain, col: Col) -> &[f64] {
    if col.late().is_some() {
        fill(chain);
    }
    chain.columns.get(col)
}

/// Fills the columns of early exercise of a chain, unless they are; true if this call has.
///
/// # Missing contracts without value, adjusted roots, chains of before a restart or of files
/// # Cost    a microsecond a contract without ex-dates or with one; milliseconds an expiry with several, tables of puts
pub fn fill(chain: &Chain) -> bool {
    let mut is_new = false;
    chain.columns.fill_late(|mut out| {
        is_new = true;
        for (index, slice) in chain.slices.iter().enumerate() {
            fill_slice(chain, index, slice, &mut out);
        }
        out
    });
    is_new
}

fn fill_slice(chain: &Chain, index: usize, slice: &Slice, out: &mut LateColumns) {
    let rows = slice.rows.start as usize..slice.rows.end as usize;
    let theo = chain.columns.get(Col::SvcTheo);
    if slice.style == Style::European {
        let priced = rows.filter(|&row| theo[row].is_finite());
        priced.for_each(|row| out[place(Col::ExerciseState)][row] = 0.0);
        return;
    }
    let Some(basis) = value_basis(chain, index).filter(|_| !slice.adjusted) else { return };
    for right in [Right::Call, Right::Put] {
        fill_right(chain, rows.clone(), right, &basis, out);
    }
}

const fn place(col: Col) -> usize {
    match col.late() {
        Some(place) => place,
        None => 0,
    }
}

fn fill_right(chain: &Chain, rows: Range<usize>, right: Right, basis: &ValueBasis, out: &mut LateColumns) {
    let Some(evidence) = &chain.evidence else { return };
    let (theo, vol) = (chain.columns.get(Col::SvcTheo), chain.columns.get(Col::SvcVol));
    let is_valued = |&row: &usize| chain.right[row] == right && theo[row].is_finite() && vol[row] > 0.0;
    let rows: Vec<usize> = rows.filter(is_valued).collect();
    if rows.is_empty() {
        return;
    }
    let strike = |row: usize| strike_of(chain.strike_milli[row]);
    let band = |&row: &usize| Band { k: (strike(row), strike(row)), sigma: (vol[row], vol[row]) };
    let bands: Vec<Band> = rows.iter().map(band).collect();
    let mut of = RightHeld::new(&evidence.boundaries, right, &basis.terms, basis.s, basis.step, &bands);
    for rows in rows.chunks(BLOCK) {
        let of_lane = |lane: usize| rows[lane.min(rows.len() - 1)];
        let lanes = |number: &dyn Fn(usize) -> f64| {
            Block::load(&core::array::from_fn::<f64, BLOCK, _>(|lane| number(of_lane(lane))))
        };
        let (k, sigma, value) = (lanes(&strike), lanes(&|row| vol[row]), lanes(&|row| theo[row]));
        let found = of.block(k, sigma, value);
        for (col, numbers) in found {
            let mut stored = [0.0; BLOCK];
            numbers.store(&mut stored);
            rows.iter().zip(stored).for_each(|(&row, x)| out[place(col)][row] = x);
        }
    }
}

/// Contracts of one right of an expiry.
struct RightHeld<'a> {
    right: Right,
    terms: &'a Terms,
    s: f64,
    /// Years to the next session.
    step: f64,
    until: Until,
}

/// The time until which a contract is held.
enum Until {
    /// The next ex-date, of calls that have one before expiry.
    ExDate(Box<HeldCall>),
    /// The next session.
    Session(Pricer),
}

impl<'a> RightHeld<'a> {
    fn new(shared: &SharedBoundaries, right: Right, terms: &'a Terms, s: f64, step: f64, bands: &[Band]) -> Self {
        let until = match HeldCall::new(terms, LAYERS) {
            Some(held) if right == Right::Call => Until::ExDate(Box::new(held)),
            _ => Until::Session(Pricer::laid_out(shared, Style::American, right, terms, bands, Quality::Full)),
        };
        Self { right, terms, s, step, until }
    }

    /// Boundary, cost of waiting and advice of contracts worth `value`.
    fn block(&mut self, k: Block, sigma: Block, value: Block) -> [(Col, Block); 3] {
        let Self { right, terms, s, step, .. } = *self;
        let (zero, one, missing) = (Block::splat(0.0), Block::splat(1.0), Block::splat(f64::NAN));
        let (spot, phi) = (Block::splat(s), right.phi());
        let payoff = (spot - k) * phi;
        let (boundary, holding, is_held) = match &mut self.until {
            Until::ExDate(held) => (held.boundary(k, sigma), held.value(s, k, sigma), one),
            Until::Session(pricer) => {
                let at = pricer.prepare(terms, s, k, sigma, Numbers::Boundary);
                let boundary = at.boundary(k, sigma);
                let until = step.min(terms.t);
                let holding = if until < terms.t {
                    value - gained(right, terms, s, until, [k, sigma, boundary])
                } else {
                    european_vol(phi, &Horizon::from(terms), Block::splat(s - terms.a(0.0)), k, sigma).value
                };
                (boundary, holding, zero)
            }
        };
        let is_now = zero.lt(payoff) & value.le(payoff + k * SAME);
        let before = Block::select(boundary.le(spot), is_held, zero);
        let state = Block::select(is_now, Block::splat(2.0), before);
        let cost = Block::select(zero.lt(payoff), payoff - holding, missing);
        [(Col::ExerciseBoundary, boundary), (Col::CostOfWaiting, cost), (Col::ExerciseState, state)]
    }
}

/// Value of the right to exercise in the next `until` years: interest on the strike less borrow on the spot, while the
/// spot is beyond the boundary, which stays where it is meanwhile. 0 where there is no boundary.
///
/// # Source   Kim (1990), "The analytic valuation of American options"
fn gained(right: Right, terms: &Terms, s: f64, until: f64, [k, sigma, boundary]: [Block; 3]) -> Block {
    let (phi, escrow) = (right.phi(), terms.a(0.0));
    let (x, at) = (Block::splat(s - escrow), boundary - Block::splat(escrow));
    let distance = ln(x / at);
    let rate = |u: f64| {
        // the first node lies at once: a spot beyond the boundary is beyond it
        let deviation = sigma * u.max(until * 1e-9).sqrt();
        let drift = (terms.r - terms.b) * u;
        let d1 = (distance + Block::splat(drift)) / deviation + deviation * 0.5;
        let d2 = d1 - deviation;
        let strike = k * (terms.r * (-terms.r * u).exp()) * norm_cdf(d2 * phi);
        let spot = (x * (terms.b * (-terms.b * u).exp()) + Block::splat(terms.b * escrow * (-terms.r * u).exp()))
            * norm_cdf(d1 * phi);
        (strike * -phi) + spot * phi
    };
    let h = until / STEPS as f64;
    let weighted = |i: usize| rate(i as f64 * h) * if i == 0 || i == STEPS { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
    let sum = (0..=STEPS).map(weighted).fold(Block::splat(0.0), |sum, x| sum + x) * (h / 3.0);
    Block::select(boundary.le(boundary), sum, Block::splat(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::dividends::Dividend;

    /// A contract: right, strike, spot, volatility, terms.
    type Sample = (Right, f64, f64, f64, Terms);

    fn terms(t: f64, r: f64, b: f64, divs: &[(f64, f64)]) -> Terms {
        let divs = divs.iter().filter(|d| d.0 <= t).map(|&(t, amount)| Dividend { t, amount });
        Terms { t, r, b, divs: divs.collect() }
    }

    const STEP: f64 = 1.0 / 365.0;

    /// Boundary, cost and advice.
    fn found(&(right, k, s, sigma, ref terms): &Sample) -> [f64; 3] {
        let band = Band { k: (k, k), sigma: (sigma, sigma) };
        let value = valued(right, terms, &band, &[s])[0];
        let mut of = RightHeld::new(&SharedBoundaries::default(), right, terms, s, STEP, &[band]);
        of.block(Block::splat(k), Block::splat(sigma), Block::splat(value)).map(|(_, x)| {
            let mut lanes = [0.0; BLOCK];
            x.store(&mut lanes);
            lanes[0]
        })
    }

    /// American values by the tables, at some spots; the payoff right before settlement.
    fn valued(right: Right, terms: &Terms, band: &Band, spots: &[f64]) -> Vec<f64> {
        let pricer = Pricer::new(Style::American, right, terms, band, Quality::Full);
        let value = |&s: &f64| pricer.at(terms, s).greeks(band.k.0, band.sigma.0).value;
        spots.iter().map(value).collect()
    }

    /// The terms `at` years later, without the dividends until then, and those.
    fn later(terms: &Terms, at: f64) -> (Terms, f64) {
        let (gone, left): (Vec<Dividend>, _) = terms.divs.iter().copied().partition(|d| d.t <= at + 1e-9);
        let divs = left.into_iter().map(|d: Dividend| Dividend { t: d.t - at, ..d }).collect();
        (Terms { t: terms.t - at, divs, ..*terms }, gone.iter().map(|d| d.amount).sum())
    }

    /// The value of holding until `at`: the mean of the values then, over the distribution of the spot.
    fn held(of: &Sample, at: f64) -> f64 {
        let &(right, k, s, sigma, ref terms) = of;
        let (after, _) = later(terms, at);
        let (x, deviation) = (s - terms.a(0.0), sigma * at.sqrt());
        let n = 400;
        let z: Vec<f64> = (0..=n).map(|i| 16.0 * f64::from(i) / f64::from(n) - 8.0).collect();
        let grown = x * ((terms.r - terms.b) * at - 0.5 * deviation * deviation).exp();
        let spots: Vec<f64> = z.iter().map(|z| grown * (deviation * z).exp() + after.a(0.0)).collect();
        let values = valued(right, &after, &Band { k: (k, k), sigma: (sigma, sigma) }, &spots);
        let density = |z: f64| (-0.5 * z * z).exp() / core::f64::consts::TAU.sqrt();
        let sum: f64 = z.iter().zip(values).map(|(&z, value)| value * density(z)).sum();
        sum * 16.0 / f64::from(n) * (-terms.r * at).exp()
    }

    /// Contracts about the money and in it: no dividend, one, some; borrowed stock.
    fn samples() -> Vec<Sample> {
        let divs: [&[(f64, f64)]; 4] = [&[], &[(0.01, 0.8)], &[(0.08, 0.5), (0.33, 0.5)], &[(0.02, 1.2), (0.27, 1.2)]];
        let mut all = Vec::new();
        for t in [0.06, 0.2, 0.6] {
            for (i, divs) in divs.into_iter().enumerate() {
                for (r, b) in [(0.05, 0.0), (0.03, 0.02), (0.045, 0.1)] {
                    for (moneyness, sigma) in [(0.75, 0.3), (0.88, 0.2), (0.97, 0.45), (1.03, 0.25)] {
                        for right in [Right::Call, Right::Put] {
                            let s = 100.0 + i as f64;
                            let k = if right == Right::Call { s * moneyness } else { s / moneyness };
                            all.push((right, k, s, sigma, terms(t, r, b, divs)));
                        }
                    }
                }
            }
        }
        all
    }

    #[test]
    fn boundary_and_cost_are_those_of_integrals_over_the_tables() {
        let (mut bounded, mut costly, mut wrong) = (0, 0, Vec::new());
        let mut check = |is_right: bool, what: &dyn Fn() -> String| wrong.extend((!is_right).then(what));
        for of in samples() {
            let (right, k, s, sigma, ref terms) = of;
            let band = Band { k: (k, k), sigma: (sigma, sigma) };
            let [boundary, cost, state] = found(&of);
            let next = terms.divs.first().map(|d| d.t).filter(|_| right == Right::Call);
            // borrowed stock is exercised between the layers of a lattice too
            let within = k * if next.is_some() && terms.b > 0.0 { 5e-4 } else { 1e-4 };
            let payoff = right.phi() * (s - k);
            if payoff > 0.0 {
                let wanted = payoff - held(&of, next.unwrap_or(STEP));
                check((cost - wanted).abs() < within, &|| format!("{of:?}: cost {cost} is not {wanted}"));
                costly += usize::from(cost > 0.0);
            } else {
                check(cost.is_nan(), &|| format!("{of:?}: cost {cost}"));
            }
            let Some(at) = next else { continue };
            let (after, paid) = later(terms, at);
            let gain = |spot: f64| spot - k - valued(right, &after, &band, &[spot - paid])[0];
            let (place, is_there) = if boundary.is_finite() { (boundary, true) } else { (4.0 * k, false) };
            let found = gain(place);
            let is_right = if is_there { found.abs() < within } else { found < within };
            check(is_right, &|| format!("{of:?}: boundary {boundary}, gain {found}"));
            check((state as i32 == 1) == (boundary <= s && state as i32 != 2), &|| format!("{of:?}: state {state}"));
            bounded += usize::from(is_there);
        }
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
        assert!(bounded > 40 && costly > 20, "{bounded} {costly}");
    }

    /// Boundaries and costs of waiting by QuantLib 1.44: finite differences of contracts that are exercised on many
    /// dates after that until which they are held (`waiting` in `tests/scenario/run.py`). NaN: no boundary is compared.
    #[test]
    #[expect(clippy::approx_constant, reason = "a volatility")]
    fn boundary_and_cost_are_those_of_finite_differences() {
        let frozen = [
            (Right::Call, 107.1, 114.75, 0.428, terms(0.532, 0.0483, 0.0, &[(0.0985, 0.49)]), [f64::NAN, -11.40964]),
            (
                Right::Put,
                116.9,
                95.87,
                0.377,
                terms(0.663, 0.047, 0.0, &[(0.0657, 0.62), (0.3251, 0.93)]),
                [f64::NAN, -4.08300],
            ),
            (Right::Call, 39.0, 41.57, 0.248, terms(0.191, 0.0475, 0.02, &[]), [f64::NAN, -0.88124]),
            (Right::Put, 71.9, 59.15, 0.199, terms(0.568, 0.0385, 0.0, &[(0.0059, 0.75)]), [f64::NAN, -0.73493]),
            (Right::Call, 55.5, 65.13, 0.494, terms(0.19, 0.0462, 0.0, &[(0.0366, 0.61)]), [77.4944, -1.58187]),
            (Right::Put, 124.6, 121.34, 0.479, terms(0.183, 0.0407, 0.02, &[(0.0329, 0.85)]), [f64::NAN, -8.64900]),
            (Right::Call, 46.0, 57.48, 0.255, terms(0.092, 0.0381, 0.0, &[]), [f64::NAN, -0.16297]),
            (Right::Put, 136.9, 121.35, 0.258, terms(0.27, 0.0446, 0.0, &[(0.0189, 1.07)]), [f64::NAN, -1.78510]),
            (Right::Call, 116.5, 124.56, 0.491, terms(0.087, 0.0207, 0.02, &[(0.0148, 0.52)]), [141.8018, -3.27998]),
            (
                Right::Put,
                166.4,
                134.53,
                0.352,
                terms(0.288, 0.0203, 0.0, &[(0.0128, 1.82), (0.2636, 1.55)]),
                [f64::NAN, -3.92205],
            ),
            (Right::Call, 135.6, 151.56, 0.271, terms(0.662, 0.0306, 0.0, &[]), [f64::NAN, -8.00994]),
            (Right::Put, 139.4, 133.07, 0.412, terms(0.12, 0.0439, 0.02, &[(0.002, 1.79)]), [f64::NAN, -5.84963]),
            (Right::Call, 43.9, 50.94, 0.364, terms(0.271, 0.0475, 0.0, &[(0.0503, 0.48)]), [66.3999, -1.13943]),
            (Right::Put, 93.7, 77.49, 0.212, terms(0.256, 0.0223, 0.0, &[(0.0361, 1.08)]), [f64::NAN, -1.02289]),
            (Right::Call, 143.7, 158.4, 0.292, terms(0.397, 0.0271, 0.02, &[]), [f64::NAN, -5.34799]),
            (Right::Put, 144.2, 139.16, 0.298, terms(0.346, 0.0217, 0.0, &[(0.0056, 1.24)]), [f64::NAN, -7.70721]),
            (Right::Call, 128.4, 140.61, 0.406, terms(0.135, 0.0485, 0.0, &[(0.0216, 0.71)]), [f64::NAN, -3.38280]),
            (Right::Put, 104.5, 92.15, 0.446, terms(0.147, 0.0288, 0.02, &[(0.0294, 1.15)]), [f64::NAN, -2.99961]),
            (Right::Call, 86.0, 98.58, 0.318, terms(0.524, 0.0287, 0.0, &[]), [f64::NAN, -4.49507]),
            (Right::Put, 63.1, 57.58, 0.496, terms(0.295, 0.0488, 0.0, &[(0.0309, 0.43)]), [f64::NAN, -3.83678]),
        ];
        let mut wrong = Vec::new();
        for (right, k, s, sigma, terms, [wanted, waits]) in frozen {
            let of = (right, k, s, sigma, terms);
            let [boundary, cost, _] = found(&of);
            let is_off = |found: f64, wanted: f64, within: f64| found.is_nan() || (found - wanted).abs() > within * k;
            // the boundary moves by much where the gain of exercise is flat
            let is_bound_off = !wanted.is_nan() && is_off(boundary, wanted, 2e-3);
            if is_off(cost, waits, 2e-4) || is_bound_off {
                wrong.push(format!("{of:?}: {boundary} {cost} for {wanted} {waits}"));
            }
        }
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}
