//! Assumptions of a name that many of its quotes contradict, and the alternatives to them.
//!
//! Call and put of one strike share one volatility. If they differ at most strikes of an expiry, an assumption is wrong
//! rather than so many quotes: its forward, or the spot that exercise pays at. The published spot, small borrow and the
//! given dividends are then replaced in turn, and the alternative that the fewest pairs contradict is taken. Among
//! equally good alternatives the most usual wins: borrow of some percent before a spot that is one percent off, an
//! unpaid dividend before borrow far below zero. Never: a calibration.

use super::alternative::Alternative;
use super::forward::Parity;
use super::input::SliceInput;
use super::settings::{CARRY, CLEANING, DOUBT};
use super::slice_work::SliceWork;
use crate::store::doubt::Doubt;
use crate::store::drop_reason::DropReason;
use kernel::contract::{ForwardBasis, Right, Style};
use kernel::dividends::escrowed;
use kernel::solve::weighted_median;

/// Pairs of a name, by whether they agree with an assumption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Pairs of call and put, both firm.
    pub(super) pairs: u32,
    /// Pairs that contradict the assumption.
    pub(super) against: u32,
    /// Pairs that any assumption agrees with.
    open: u32,
    /// True if an expiry contradicts the assumption.
    pub(super) is_contradicted: bool,
}

impl Verdict {
    /// The verdict of a calibrated name. Overridden expiries, adjusted roots and forwards without a spot do not count.
    ///
    /// # Cost     a few ns a strike
    pub(super) fn of(inputs: &[SliceInput<'_>], slices: &[SliceWork]) -> Self {
        let mut all = Self::default();
        let contributes =
            |input: &SliceInput| input.basis == ForwardBasis::Spot && input.shares.is_none() && !input.forced.is_any();
        for (input, slice) in inputs.iter().zip(slices).filter(|(input, _)| contributes(input)) {
            let (pairs, open, against) = pairs(input, slice);
            all.pairs += pairs;
            all.against += against;
            all.open += open;
            let decided = f64::from(pairs - open);
            all.is_contradicted |= against >= DOUBT.pairs_least && f64::from(against) >= DOUBT.majority * decided;
        }
        all
    }

    /// True if clearly fewer pairs contradict this alternative than the number that contradict the `first` assumption.
    pub(super) fn is_better_than(&self, first: u32) -> bool {
        f64::from(self.against) <= DOUBT.better * f64::from(first)
    }

    /// Loss of an alternative: the number of contradicting pairs in steps of `DOUBT.alike`, then how `unusual` it is.
    pub(super) fn loss(&self, unusual: f64) -> f64 {
        let step = (DOUBT.alike * f64::from(self.pairs)).max(1.0);
        // an alternative that leaves quotes without information is not better for it
        let lost = f64::from(self.against) + DOUBT.open_counts * f64::from(self.open);
        (lost / step).floor() * 1e3 + unusual
    }
}

/// Numbers of pairs of an expiry: all, those that agree with any carry, those that contradict its carry.
fn pairs(input: &SliceInput<'_>, slice: &SliceWork) -> (u32, u32, u32) {
    let ladder = &slice.state.ladder;
    let is_firm = |&row: &usize| {
        let is_of_itself = matches!(slice.fault[row], None | Some(DropReason::OutOfBounds | DropReason::NoArbitrage));
        is_of_itself && input.bid[row] > 0.0 && input.ask[row] > 0.0
    };
    let (mut all, mut open, mut against) = (0, 0, 0);
    for (strike, &k) in ladder.strikes()[..ladder.len()].iter().enumerate() {
        let row = |right: Right| ladder.row(right, strike).filter(is_firm);
        let (Some(call), Some(put)) = (row(Right::Call), row(Right::Put)) else { continue };
        all += 1;
        let (Some(call), Some(put)) = (vols(input, slice, call, k), vols(input, slice, put, k)) else {
            against += 1;
            continue;
        };
        let (inside, outside) = if k < slice.s { (call, put) } else { (put, call) };
        if inside[0] * DOUBT.open < outside[0] && inside[1] > DOUBT.open * outside[1] {
            open += 1;
        } else if apart(call, put) || apart(put, call) {
            against += 1;
        }
    }
    (all, open, against)
}

/// True if the volatilities of two quotes do not overlap.
fn apart(one: [f64; 2], other: [f64; 2]) -> bool {
    one[0] > other[1] * (1.0 + DOUBT.vols_alike)
}

/// The least and the greatest volatility between bid and ask of a row; `None`: no volatility gives a price between
/// them.
fn vols(input: &SliceInput<'_>, slice: &SliceWork, row: usize, k: f64) -> Option<[f64; 2]> {
    if slice.fault[row] == Some(DropReason::OutOfBounds) || slice.fwd.is_nan() {
        return None;
    }
    let (low, high) = (slice.vol_bid[row], slice.vol_ask[row]);
    let low = if low > 0.0 { low } else { 0.0 };
    if high > 0.0 {
        return Some([low, high]);
    }
    // the price is about what exercise pays: any low volatility gives it, and a first look finds none slightly above it
    // either
    let exercise = (slice.s - k) * input.right[row].phi();
    let (bid, ask) = (input.bid[row], input.ask[row]);
    let above = if input.quality.is_final() { 0.0 } else { DOUBT.unseen * (ask - bid) };
    let is_exercised = input.style == Style::American
        && exercise > 0.0
        && ask >= exercise - CLEANING.half_spread_least
        && bid <= exercise + above + CLEANING.half_spread_least;
    is_exercised.then_some([0.0, f64::INFINITY])
}

/// How unusual an alternative is: 0 is usual.
pub(super) fn unusual(
    instead: &Alternative,
    published: f64,
    implied: f64,
    inputs: &[SliceInput<'_>],
    slices: &[SliceWork],
) -> f64 {
    let doubts = |of: f64, unit: f64| (of / unit).powi(2).ln_1p();
    match instead.doubt {
        Doubt::Spot => doubts((implied / published).ln(), DOUBT.spot),
        Doubt::Borrow => {
            let own = inputs.iter().zip(slices).filter(|(input, _)| input.basis == ForwardBasis::Spot);
            let b = own.map(|(_, slice)| slice.borr).filter(|b| b.is_finite());
            let most = b.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
            doubts(most, if most < 0.0 { DOUBT.borrow_below } else { DOUBT.borrow })
        }
        Doubt::Dividends => {
            let most = instead.paid().iter().fold(1.0, |most: f64, &part| most.max(part));
            DOUBT.dividend + doubts(most - 1.0, 1.0)
        }
    }
}

/// Alternatives to the given dividends: another part of one of them, or one part of all. `slices` are calibrated
/// without any dividend.
///
/// # Domain   a published spot; without a forward beyond an ex-date nothing is known
/// # Source   S − F·e^(−rt) is what dividends before t are worth while borrow is small
pub(super) fn paid_parts(inputs: &[SliceInput<'_>], slices: &[SliceWork]) -> Vec<Alternative> {
    let given = inputs.iter().filter(|input| input.shares.is_none()).map(|input| input.divs);
    let Some(given) = given.max_by_key(|divs| divs.len()).filter(|divs| !divs.is_empty()) else { return Vec::new() };
    let s = inputs.iter().find(|input| input.shares.is_none()).map_or(f64::NAN, |input| input.s);
    let seen: Vec<PaidSoFar> =
        inputs.iter().zip(slices).filter_map(|(input, slice)| PaidSoFar::of(input, slice)).collect();
    let mut found = Vec::new();
    // one part of all dividends
    let parts = seen.iter().filter(|seen| seen.given > 0.0).map(|seen| (seen.paid / seen.given, seen.weight));
    let of_all = weighted_median(&mut parts.collect::<Vec<_>>());
    // or another part of the one dividend that leaves the least unexplained
    let of_one = (0..given.len())
        .filter_map(|i| {
            let worth = |seen: &PaidSoFar| given[i].amount * (-seen.r * given[i].t).exp();
            let after = seen.iter().filter(|seen| given[i].t <= seen.t);
            let part = |seen: &PaidSoFar| 1.0 + (seen.paid - seen.given) / worth(seen);
            let part = weighted_median(&mut after.map(|seen| (part(seen), seen.weight)).collect::<Vec<_>>())?;
            let part = part_of(part, given[i].amount, s)?;
            let left = |seen: &PaidSoFar| {
                let more = if given[i].t <= seen.t { (part - 1.0) * worth(seen) } else { 0.0 };
                // a robust square, so that one unexplained expiry does not decide
                (seen.weight * (seen.paid - seen.given - more).powi(2)).ln_1p()
            };
            Some((seen.iter().map(left).sum::<f64>(), i, part))
        })
        .min_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, i, part)) = of_one {
        found.push(Alternative::paying((0..given.len()).map(|other| if other == i { part } else { 1.0 }).collect()));
    }
    let all = given.iter().map(|d| d.amount).sum();
    found
        .extend(of_all.and_then(|part| part_of(part, all, s)).map(|part| Alternative::paying(vec![part; given.len()])));
    found
}

/// Counted part of a dividend of this amount; `None`: all of it.
fn part_of(part: f64, amount: f64, s: f64) -> Option<f64> {
    let near = |to: f64| (part - to).abs() * amount < DOUBT.dividend_near * s;
    match part.is_finite() && !near(1.0) {
        true => Some(if near(0.0) { 0.0 } else { part.clamp(0.0, DOUBT.dividend_most) }),
        false => None,
    }
}

/// Dividends until an expiry: as given, and as its forward implies.
struct PaidSoFar {
    t: f64,
    r: f64,
    /// Present value of the dividends given.
    given: f64,
    /// Present value of the dividends that the forward implies.
    paid: f64,
    weight: f64,
}

impl PaidSoFar {
    fn of(input: &SliceInput<'_>, slice: &SliceWork) -> Option<Self> {
        let Parity { fwd, error, .. } = slice.parity;
        let contributes = input.basis == ForwardBasis::Spot && input.shares.is_none() && fwd > 0.0 && input.s > 0.0;
        let (t, r) = (input.t, input.r);
        let borrow = CARRY.level * t * input.s;
        let noise = CARRY.spot_noise * input.s;
        contributes.then(|| Self {
            t,
            r,
            given: escrowed(input.divs, r, 0.0, t),
            paid: input.s - fwd * (-r * t).exp(),
            weight: 1.0 / (error * error + borrow * borrow + noise * noise),
        })
    }
}
