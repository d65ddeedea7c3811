//! Values and Greeks of one slice, a block of strikes and one right at a time: the European part in closed form, and
//! the early-exercise premium. Call or put is decided once per block and never inside a kernel.

use super::chances::chances;
use super::publish::{ValuedBlock, publish};
use crate::calibrate::SliceState;
use crate::early::{BlockMethod, Valuation, plain};
use crate::store::columns::ColumnRows;
use crate::store::evidence::ValueMethod;
use kernel::black76::{Horizon, european_vol};
use kernel::contract::{Right, Style};
use kernel::greeks::SpotInputs;
use kernel::lanes::{BLOCK, Block, Lanes};

/// Decrease of an expiry's total variance until a later moment, by the variance clock
/// ([`kernel::calendar::VarianceClock`]). In a pass that moment is this clock time on the next trading day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lapse {
    /// Variance days to settlement, market events among them.
    pub days: f64,
    /// Variance days to the later moment.
    pub step: f64,
    /// Total variance of the name's own event, if it comes before settlement; variance days do not contain it.
    pub event: f64,
    /// Probability that the event comes after the later moment, 0 to 1.
    pub event_left: f64,
}

impl Lapse {
    /// Total variances at strikes, less that of the event.
    fn without_event<L: Lanes>(&self, variance: L) -> L {
        L::splat(0.0).max(variance - L::splat(self.event))
    }

    /// Total variances at the later moment, from those at strikes now.
    #[must_use]
    pub fn left<L: Lanes>(&self, variance: L) -> L {
        let usual = self.without_event(variance);
        usual * (1.0 - self.step / self.days).clamp(0.0, 1.0) + (variance - usual) * self.event_left
    }

    /// Total variance of one variance day, from those at strikes now.
    #[must_use]
    pub fn of_day<L: Lanes>(&self, variance: L) -> L {
        self.without_event(variance) * (1.0 / self.days)
    }
}

/// Fills the columns of a slice with everything that depends on `svc_vol`: `sigma` by strike, padded; where it is NaN
/// rows stay missing. Premiums of early exercise are read from `state`, which must be up to date. Returns how many rows
/// have Greeks.
///
/// # Units   native: vega, rho, epsilon per 1 %, theta per calendar day, the rest as in [`kernel::greeks::Greeks`]
/// # Missing a row without volatility, or without model value (S ≤ A(0)), keeps NaN.
pub(super) fn value_slice(
    here: &Valuation<'_>,
    state: &SliceState,
    sigma: &[f64],
    bends_at: impl Fn(Block) -> [Block; 2],
    lapse: &Lapse,
    columns: &mut ColumnRows<'_>,
    methods: &mut [Option<ValueMethod>],
) -> u32 {
    let SliceState { ladder, early, .. } = state;
    let american = here.style == Style::American;
    let mut priced = 0;
    let (next_spot, next_horizon) = (here.next_spot(), here.next_horizon());
    let x = SpotInputs::new(here.terms, here.s).x;
    for block in 0..ladder.blocks() {
        let (k, sigma) = (ladder.block(block), Block::load(&sigma[block * BLOCK..]));
        let bends = bends_at(k);
        for right in [Right::Call, Right::Put] {
            let mut greeks = plain(right, here, k, sigma);
            let added = american.then(|| early.add(here, right, block, k, sigma, &mut greeks));
            let payoff = (Block::splat(next_spot) - k) * Block::splat(right.phi());
            let next = |sigma: Block| match &next_horizon {
                Some((horizon, x)) => {
                    let european = european_vol(right.phi(), horizon, Block::splat(*x), k, sigma).value;
                    added.map_or(european, |added| added.next.value(european, payoff))
                }
                None => payoff.max(Block::splat(0.0)),
            };
            let method = added.map_or_else(BlockMethod::european, |added| added.method);
            let variance = sigma * sigma * here.terms.t;
            let by_clock = |(horizon, _): &(Horizon, f64)| (lapse.left(variance) * (1.0 / horizon.t)).sqrt();
            let [decay, decay_vt] =
                [sigma, next_horizon.as_ref().map_or(sigma, by_clock)].map(|s| next(s) - greeks.value);
            let theta_vt = Block::splat(0.0) - greeks.gamma * lapse.of_day(variance) * (0.5 * x * x);
            let chances = chances(right, here, k, sigma, [greeks.d1, greeks.d2], bends);
            let valued =
                ValuedBlock { ladder, right, block, sigma, greeks, decay, decay_vt, theta_vt, chances, method };
            priced += publish(&valued, columns, methods);
        }
    }
    priced
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::SliceWork;
    use crate::store::columns::{Col, Columns};
    use crate::store::ladder::Ladder;
    use kernel::dividends::Terms;
    use kernel::lanes::BLOCK;
    use kernel::quality::Quality;

    /// Days, variance days and variance days to the next trading day of an option; strike, spot, rates, volatility.
    type Recorded = ([f64; 3], [f64; 5]);

    /// Value, decay, decay in variance time, theta, theta in variance time of a call.
    fn call(([days, days_vt, step_vt], [k, s, r, b, sigma]): Recorded, event: f64) -> [f64; 5] {
        let mut out = SliceWork::default();
        out.clear_rows(2);
        out.state.ladder = Ladder::new(&[(1000.0 * k) as u32; 2], &[Right::Call, Right::Put]);
        let terms = Terms { t: days / 365.0, r, b, divs: Vec::new() };
        let here = Valuation { style: Style::European, quality: Quality::Full, s, terms: &terms, step: 1.0 / 365.0 };
        let lapse = Lapse { days: days_vt, step: step_vt, event, event_left: 1.0 };
        let (sigma, flat) = ([sigma; BLOCK], |_| [Block::splat(0.0); 2]);
        let mut columns = Columns::missing(2);
        let mut rows = columns.split(core::iter::once(2)).remove(0);
        assert_eq!(value_slice(&here, &out.state, &sigma, flat, &lapse, &mut rows, &mut out.methods), 2);
        [Col::SvcTheo, Col::Decay, Col::DecayVt, Col::Theta, Col::ThetaVt].map(|col| rows.get(col)[0])
    }

    /// SPX at the close of Thursday 14 September 2023: options of Monday, and of Wednesday when the Federal Reserve met
    const MONDAY: Recorded =
        ([1432.25 / 360.0, 2.138_190_476, 1.0], [4510.0, 4_509.040_608, 0.054_739_604, 0.016_132_880, 0.076_888_67]);
    const WEDNESDAY: Recorded =
        ([2152.25 / 360.0, 5.438_190_476, 1.0], [4510.0, 4_508.914_966, 0.054_540_846, 0.013_733_676, 0.094_977_25]);

    #[test]
    fn a_weekend_is_little_of_what_an_option_of_monday_has_to_lose() {
        let of = |recorded: Recorded, wanted: [f64; 5]| {
            for (found, wanted) in call(recorded, 0.0).into_iter().zip(wanted) {
                assert!((found - wanted).abs() < 1e-3, "{found} is not {wanted}");
            }
        };
        of(MONDAY, [14.909_755, -2.185_980, -4.144_078, -2.055_520, -3.374_589]);
        of(WEDNESDAY, [22.832_846, -2.166_846, -2.366_782, -2.083_557, -2.008_154]);
    }

    #[test]
    fn an_event_to_come_is_not_lost() {
        let [value, _, plain, _, theta] = call(MONDAY, 0.0);
        let variance = 0.076_888_67_f64.powi(2) * MONDAY.0[0] / 365.0;
        let [same, _, with, _, with_theta] = call(MONDAY, 0.5 * variance);
        assert!(
            (same - value).abs() < 1e-12 && with > plain && (with_theta - 0.5 * theta).abs() < 1e-9,
            "{with} {plain}"
        );
    }

    #[test]
    fn variance_runs_out_by_days_and_that_of_an_event_with_it() {
        let lane = |x: Block| x.lane(0);
        let plain = Lapse { days: 5.0, step: 1.15, event: 0.0, event_left: 0.0 };
        let w = Block::splat(0.01);
        assert!((lane(plain.left(w)) - 0.01 * 3.85 / 5.0).abs() < 1e-15);
        assert!((lane(plain.of_day(w)) - 0.002).abs() < 1e-15);
        let before = Lapse { event: 0.004, event_left: 0.25, ..plain };
        assert!((lane(before.left(w)) - (0.006 * 3.85 / 5.0 + 0.001)).abs() < 1e-15);
        assert!((lane(before.of_day(w)) - 0.0012).abs() < 1e-15);
        // far from the money a curve may have less than the event's: all of it is the event's
        let w = Block::splat(0.003);
        assert!((lane(before.left(w)) - 0.00075).abs() < 1e-15 && lane(before.of_day(w)) == 0.0);
        // the next session may be later than settlement
        assert!(lane(Lapse { step: 9.0, ..plain }.left(w)) == 0.0);
    }
}
