//! Two boundaries until expiry: with b < r < 0 a put is exercised between them, with r < b < 0 a call.
//!
//! A spot on the outer side of one boundary meets it before the other. So each is that of an option that must be
//! exercised beyond it, and is solved alone (Andersen and Lake 2021). Towards expiry one ends at the strike, the other
//! at rK/b. Before the time at which they meet nothing is exercised. Never: a dividend.

use super::between_dates::{ExerciseBoundary, HoldingLessPayoff, Search, ends};
use super::time_between::{BetweenGrid, Fineness, TimeBetween};
use crate::american::moment::{Contracts, Flow, FlowTime, Moment, MomentBoundary};
use crate::american::start::ABOVE_LEVEL;
use crate::dividends::Terms;
use crate::elementary::ln;
use crate::lanes::{Lanes, Mask};

/// Part of the time to expiry by which it is shortened until the boundaries do not meet within it, and most attempts.
const SHORTER: f64 = 0.8;
/// Most attempts. 0.8²⁴ is half a percent of the interval.
const TRIES: i32 = 24;
/// Halvings of the time in which the boundaries meet.
const HALVINGS: i32 = 5;

/// Two boundaries until expiry.
pub(super) struct BoundaryPair<L: Lanes> {
    /// The boundary that ends at the strike, and the one that ends at rK/b.
    pub(super) near: ExerciseBoundary<L>,
    pub(super) far: ExerciseBoundary<L>,
    /// Value of exercise between the two, seen from the begin of the time asked for.
    pub(super) flow: Flow<L>,
    /// True if they reach back to the begin of the time asked for.
    pub(super) is_whole: bool,
}

impl<L: FlowTime<L>> BoundaryPair<L> {
    /// Solves both boundaries from `from` years from now until expiry, or from the time on at which they meet. `None`:
    /// they meet within a percent of the time.
    ///
    /// # Domain  two_sided; no ex-date after `from`
    pub(super) fn new(phi: f64, terms: &Terms, from: f64, k: L, sigma: L) -> Option<Self> {
        let length = terms.t - from;
        let at = |part: f64| Self::from_time(phi, terms, from, terms.t - length * part, k, sigma);
        if let Some(whole) = at(1.0) {
            return Some(whole);
        }
        let (mut solved, part) = (1..TRIES).find_map(|n| Some((at(SHORTER.powi(n))?, SHORTER.powi(n))))?;
        let (mut low, mut high) = (part, part / SHORTER);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            match at(middle) {
                Some(longer) => (solved, low) = (longer, middle),
                None => high = middle,
            }
        }
        Some(solved)
    }

    /// Both boundaries from `begin` on, seen from `from`; `None`: they meet.
    fn from_time(phi: f64, terms: &Terms, from: f64, begin: f64, k: L, sigma: L) -> Option<Self> {
        let [near_time, far_time] =
            [phi, -phi].map(|phi| TimeBetween::to_date(phi, terms, begin, terms.t, Fineness::Reference));
        let near = ExerciseBoundary::to_date(&near_time, None, None, k, sigma)?;
        let far = Self::far(&far_time, k, sigma)?;
        let meets =
            near.boundaries().zip(far.boundaries()).any(|(near, far)| ((far - near) * phi).le(L::splat(0.0)).any());
        if meets {
            return None;
        }
        let (contracts, ahead, length) =
            (Contracts::new(phi, [terms.r, terms.b], k, sigma), begin - from, terms.t - begin);
        let mut moments = Vec::new();
        for (boundary, sign) in [(&near, 1.0), (&far, -1.0)] {
            for (node, ln_b) in boundary.nodes() {
                let [wait, weight] = [ahead + length * node.wait, length * node.weight * sign];
                let moment = Moment::new(contracts.rates, L::splat(wait), L::splat(weight), L::splat(0.0));
                moments.push(MomentBoundary::with(moment, ln_b));
            }
        }
        let flow = Flow::new(L::moments(moments), contracts);
        let near = near.above(&far);
        Some(Self { near, far, flow, is_whole: ahead <= 0.0 })
    }

    /// The boundary that ends at rK/b: that of a forward which must be exercised on the side of the other boundary.
    fn far(stretch: &TimeBetween, k: L, sigma: L) -> Option<ExerciseBoundary<L>> {
        let [r, b] = stretch.rates;
        let (contracts, end) = (Contracts::new(stretch.phi, [r, b], k, sigma), ln(k * (r / b)));
        let grid = BetweenGrid::at_date(stretch.fineness);
        let points = &stretch.from_points;
        let mut search = Search::to_end(stretch, grid, contracts, None, [k, end]);
        let holding = |left: f64| HoldingLessPayoff::of_forward(&contracts, k, left);
        search.holdings = points.iter().map(|seen| holding(stretch.tau + seen.left)).collect();
        search.limits.fill(end);
        let mut y: Vec<L> =
            points.iter().map(|seen| end + sigma * (ABOVE_LEVEL * stretch.phi * seen.left.sqrt())).collect();
        search.solve::<()>(&mut y, None).then(|| search.found(&y, end, ends(&grid.spot, end)))
    }
}
