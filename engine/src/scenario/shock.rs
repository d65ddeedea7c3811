//! Shocks and results: the axes of a grid of scenarios, and one value of it.

use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, Span, Timestamp};
use kernel::calendar::{Calendar, EventDate};
use kernel::contract::Symbol;

/// Unit of a move of the spot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SpotUnit {
    /// Percent of the spot.
    #[default]
    Percent,
    /// Currency per share, added to it.
    Points,
    /// The spot itself, currency per share.
    Level,
}

/// Unit of a move of volatility.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VolUnit {
    /// Points of volatility: 1 is 0.01.
    #[default]
    Points,
    /// Percent of the volatility.
    Relative,
}

/// Rule for the volatility of a contract when the forward moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VolRule {
    /// The volatility of its strike.
    #[default]
    StickyStrike,
    /// The volatility of the strike with the same ratio to the forward before the move.
    StickyMoneyness,
}

/// Clock by which the variance of an expiry runs out on the way to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ScenarioClock {
    /// Calendar time: an expiry keeps its volatility.
    #[default]
    Calendar,
    /// The variance clock: sessions, nights, closed dates, news of the market and the event of the name.
    Variance,
}

/// Weights of a shift of volatility, by expiry.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum VolWeights {
    /// 1 for every expiry.
    #[default]
    Equal,
    /// √(30 / days to settlement): short expiries move more.
    SquareRoot,
    /// A weight for each expiry; 1 for all others.
    ByExpiry(Vec<(Date, f64)>),
}

/// Time at which a scenario is valued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScenarioMoment {
    /// At the moment of the chain.
    Now,
    /// At the same clock time on the next trading day.
    NextSession,
    /// A time after the chain's: calendar days, at the same clock time, then hours.
    Later {
        /// Days.
        days: i32,
        /// Hours.
        hours: i32,
    },
    /// At an instant.
    At(Timestamp),
    /// At an Eastern date and clock time.
    Clock(DateTime),
    /// At the close of a date; 16:00 Eastern where it has no session.
    Close(Date),
}

impl ScenarioMoment {
    /// Returns the instant, for a chain that is valued at `now`: `now` itself where the moment lies before it, on the
    /// same Eastern date. `None`: it lies on an earlier date, or beyond what the calendar has.
    #[must_use]
    pub fn instant(self, calendar: &Calendar, now: Timestamp) -> Option<Timestamp> {
        let at = match self {
            Self::Now => now,
            Self::NextSession => calendar.next_trading_day(now),
            Self::Later { days, hours } => {
                let later = calendar.eastern(now).checked_add(Span::new().try_days(days).ok()?).ok()?;
                calendar.instant(later).checked_add(SignedDuration::from_hours(hours.into())).ok()?
            }
            Self::At(at) => at,
            Self::Clock(at) => calendar.instant(at),
            Self::Close(date) => match calendar.session(date) {
                Some((_, close)) => close,
                None => calendar.instant(date.at(16, 0, 0, 0)),
            },
        };
        let is_today = calendar.eastern(at).date() == calendar.eastern(now).date();
        if at >= now { Some(at) } else { is_today.then_some(now) }
    }
}

/// A grid of scenarios: each spot with each volatility at each moment; rates, borrow and dividends are moved in all of
/// them.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioGrid {
    /// Moves of the spot.
    pub spot: Vec<f64>,
    /// Unit of the moves of the spot.
    pub spot_unit: SpotUnit,
    /// Shifts of volatility.
    pub vol: Vec<f64>,
    /// Unit of the shifts of volatility.
    pub vol_unit: VolUnit,
    /// Rule for volatilities when the spot moves.
    pub vol_rule: VolRule,
    /// Weights of the shifts by expiry.
    pub vol_weights: VolWeights,
    /// Moments.
    pub at: Vec<ScenarioMoment>,
    /// Clock of volatility on the way to them.
    pub clock: ScenarioClock,
    /// Events of names, in the place of those that are known or found; only by the variance clock.
    pub events: Vec<(Symbol, EventDate)>,
    /// Added to every discount rate, per year, decimal.
    pub rate: f64,
    /// Added to every borrow rate, per year, decimal.
    pub borrow: f64,
    /// Every dividend is multiplied by this.
    pub dividends: f64,
}

/// The outcome of exercise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExerciseOutcome {
    /// Shares for the strike, long or short, which then move with the spot.
    #[default]
    Shares,
    /// The difference to the strike in cash.
    Cash,
}

impl Default for ScenarioGrid {
    /// One scenario, in which nothing moves.
    fn default() -> Self {
        Self {
            spot: vec![0.0],
            spot_unit: SpotUnit::default(),
            vol: vec![0.0],
            vol_unit: VolUnit::default(),
            vol_rule: VolRule::default(),
            vol_weights: VolWeights::default(),
            at: vec![ScenarioMoment::Now],
            clock: ScenarioClock::default(),
            events: Vec::new(),
            rate: 0.0,
            borrow: 0.0,
            dividends: 1.0,
        }
    }
}

impl ScenarioGrid {
    /// Number of scenarios.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spot.len().saturating_mul(self.vol.len()).saturating_mul(self.at.len())
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of a scenario among all: moments outside, then volatilities, spots inside.
    #[must_use]
    pub fn place(&self, at: usize, vol: usize, spot: usize) -> usize {
        (at * self.vol.len() + vol) * self.spot.len() + spot
    }

    /// True if rates, borrow and dividends stay.
    #[must_use]
    pub fn keeps_terms(&self) -> bool {
        self.rate == 0.0 && self.borrow == 0.0 && (self.dividends - 1.0).abs() < f64::EPSILON
    }

    /// The weight of volatility shifts at an expiry, so many days from settlement.
    #[must_use]
    pub fn weight(&self, expiry: Date, days: f64) -> f64 {
        match &self.vol_weights {
            VolWeights::Equal => 1.0,
            VolWeights::SquareRoot => (30.0 / days.max(1.0)).sqrt(),
            VolWeights::ByExpiry(weights) => {
                weights.iter().find(|(date, _)| *date == expiry).map_or(1.0, |&(_, weight)| weight)
            }
        }
    }
}

/// State of a contract in a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScenarioState {
    /// Still held.
    #[default]
    Open,
    /// Expired: its value is its payoff at settlement.
    Settled,
    /// Exercised before an ex-date, where that paid more than holding: its value is the payoff of exercise.
    Exercised,
    /// The model has no value: the spot is not above the dividends to come.
    NoValue,
}

impl ScenarioState {
    /// Name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Settled => "settled",
            Self::Exercised => "exercised",
            Self::NoValue => "no_value",
        }
    }
}

/// Value and core Greeks in one scenario, per share, in native units; NaN: missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScenarioValue {
    /// State of the contract.
    pub state: ScenarioState,
    /// Volatility that the value is computed at.
    pub vol: f64,
    /// Value, currency per share.
    pub value: f64,
    /// Per 1 of spot.
    pub delta: f64,
    /// Per 1 of spot.
    pub gamma: f64,
    /// Per 1 % of volatility.
    pub vega: f64,
    /// Per calendar day.
    pub theta: f64,
    /// Per 1 % of rate.
    pub rho: f64,
}

impl ScenarioValue {
    /// Nothing.
    pub const NO_VALUE: Self = Self {
        state: ScenarioState::NoValue,
        vol: f64::NAN,
        value: f64::NAN,
        delta: f64::NAN,
        gamma: f64::NAN,
        vega: f64::NAN,
        theta: f64::NAN,
        rho: f64::NAN,
    };

    /// A contract that has become cash and, for each share of it, `delta` shares.
    pub(super) const fn ended(state: ScenarioState, value: f64, delta: f64) -> Self {
        Self { state, vol: f64::NAN, value, delta, gamma: 0.0, vega: 0.0, theta: 0.0, rho: 0.0 }
    }

    /// The value of `n` contracts.
    #[must_use]
    pub fn times(self, n: f64) -> Self {
        Self {
            value: n * self.value,
            delta: n * self.delta,
            gamma: n * self.gamma,
            vega: n * self.vega,
            theta: n * self.theta,
            rho: n * self.rho,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn moments_are_counted_from_the_chain() {
        let calendar = Calendar::embedded();
        // a Friday before Thanksgiving week, and before the end of summer time in another year
        let now = at("2026-11-20T15:42:00-05:00");
        let of = |moment: ScenarioMoment| moment.instant(&calendar, now);
        assert_eq!(of(ScenarioMoment::Now), Some(now));
        assert_eq!(of(ScenarioMoment::NextSession), Some(at("2026-11-23T15:42:00-05:00")));
        assert_eq!(of(ScenarioMoment::Later { days: 5, hours: 2 }), Some(at("2026-11-25T17:42:00-05:00")));
        assert_eq!(of(ScenarioMoment::Close("2026-11-27".parse().unwrap())), Some(at("2026-11-27T13:00:00-05:00")));
        assert_eq!(of(ScenarioMoment::Close("2026-11-29".parse().unwrap())), Some(at("2026-11-29T16:00:00-05:00")));
        assert_eq!(of(ScenarioMoment::At(at("2026-11-20T09:30:00-05:00"))), Some(now), "earlier on the same day");
        assert_eq!(of(ScenarioMoment::Close("2026-11-19".parse().unwrap())), None);
        let summer = at("2026-10-30T12:00:00-04:00");
        let later = ScenarioMoment::Later { days: 3, hours: 0 }.instant(&calendar, summer);
        assert_eq!(later, Some(at("2026-11-02T12:00:00-05:00")), "the same clock time");
    }

    #[test]
    fn weights_differ_by_expiry() {
        let expiry: Date = "2026-12-18".parse().unwrap();
        let other: Date = "2027-01-15".parse().unwrap();
        let of = |vol_weights| ScenarioGrid { vol_weights, ..ScenarioGrid::default() };
        assert!((of(VolWeights::SquareRoot).weight(expiry, 120.0) - 0.5).abs() < 1e-12);
        let listed = of(VolWeights::ByExpiry(vec![(expiry, 0.25)]));
        assert!((listed.weight(expiry, 9.0) - 0.25).abs() < 1e-12 && (listed.weight(other, 9.0) - 1.0).abs() < 1e-12);
    }
}
