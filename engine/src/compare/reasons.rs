//! The mistakes and choices that vendors' Greeks are known for, and what each does to the terms of an expiry.
//! Never: a residual.

use super::work::Work;
use super::world::World;
use crate::contract::Style;
use crate::kernel::dividends::Terms;
use jiff::civil::Date;

/// Steps of a fit; Greeks are nearly linear in what is fitted.
const ROUNDS: usize = 4;
/// The greatest change of a rate, per year, and of a spot, as a part.
const RATE_MOST: f64 = 0.5;
const SPOT_MOST: f64 = 0.2;
/// The greatest change of time, years: three days.
const TIME_MOST: f64 = 3.0 / 365.0;
/// Smaller ones are not named.
const RATE_LEAST: f64 = 5e-4;
const SPOT_LEAST: f64 = 1e-4;
const TIME_LEAST: f64 = 30.0 / (60.0 * 24.0 * 365.0);
/// The step that slopes are taken over: of a rate and a spot 0.001 %, of time five minutes.
const STEP: f64 = 1e-5;
/// A borrow rate below this is none.
const BORROW_NONE: f64 = 1e-4;

/// Why a vendor's Greeks differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LikelyReason {
    /// They do not, beyond their digits.
    Agrees,
    /// The volatility alone: at the vendor's ours are the same.
    Volatility,
    /// A dividend that the vendor does not count.
    MissingDividend {
        /// Its ex-date.
        date: Date,
        /// Currency per share.
        amount: f64,
    },
    /// The vendor counts none.
    NoDividends,
    /// The vendor counts with no borrow rate.
    NoBorrow,
    /// Another borrow rate: the vendor's less ours, per year.
    Borrow(f64),
    /// Another discount rate: the vendor's less ours, per year.
    Rate(f64),
    /// Another spot: the vendor's less ours, as a part of it.
    Spot(f64),
    /// Another time to settlement: the vendor's less ours, years. Its values are of another moment than its quotes.
    Time(f64),
    /// Settlement in the afternoon taken as in the morning, or the other way round.
    OtherSettlement,
    /// Time counted in whole calendar days.
    WholeDays,
    /// Time counted in trading days, of 252 to the year.
    TradingDays,
    /// American contracts valued as European ones.
    EuropeanModel,
    /// None of these.
    Unknown,
}

impl LikelyReason {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Volatility => "volatility",
            Self::MissingDividend { .. } => "missing_dividend",
            Self::NoDividends => "no_dividends",
            Self::NoBorrow => "no_borrow",
            Self::Borrow(_) => "borrow",
            Self::Rate(_) => "rate",
            Self::Spot(_) => "spot",
            Self::Time(_) => "time",
            Self::OtherSettlement => "am_pm",
            Self::WholeDays => "whole_days",
            Self::TradingDays => "trading_days",
            Self::EuropeanModel => "european_model",
            Self::Unknown => "unknown",
        }
    }

    /// Whether a number that was fitted for it is one that anybody would mean: two sources of rates, or two clocks a minute
    /// apart, differ by as much.
    pub(super) fn is_worth_naming(self) -> bool {
        match self {
            Self::Borrow(by) | Self::Rate(by) => by.abs() >= RATE_LEAST,
            Self::Spot(by) => by.abs() >= SPOT_LEAST,
            Self::Time(by) => by.abs() >= TIME_LEAST,
            _ => true,
        }
    }

    /// How many numbers were fitted for it.
    pub(super) const fn numbers(self) -> u8 {
        matches!(self, Self::Borrow(_) | Self::Rate(_) | Self::Spot(_) | Self::Time(_)) as u8
    }
}

/// What a number is fitted for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fitted {
    Borrow,
    Rate,
    Spot,
    Time,
}

impl Fitted {
    pub(super) const ALL: [Self; 4] = [Self::Borrow, Self::Rate, Self::Spot, Self::Time];

    /// The reason with this number.
    pub(super) const fn at(self, number: f64) -> LikelyReason {
        match self {
            Self::Borrow => LikelyReason::Borrow(number),
            Self::Rate => LikelyReason::Rate(number),
            Self::Spot => LikelyReason::Spot(number),
            Self::Time => LikelyReason::Time(number),
        }
    }

    const fn most(self) -> f64 {
        match self {
            Self::Borrow | Self::Rate => RATE_MOST,
            Self::Spot => SPOT_MOST,
            Self::Time => TIME_MOST,
        }
    }
}

/// What values of an expiry are computed on by who makes this mistake; `None`: it changes nothing there.
pub(super) fn changed(reason: LikelyReason, work: &Work) -> Option<World> {
    let World { style, s, terms } = &work.base;
    let with = |terms: Terms| Some(World { style: *style, s: *s, terms });
    let without = |gone: &dyn Fn(Date) -> bool| {
        let left: Vec<_> = work.dates.iter().filter(|(date, _)| !gone(*date)).map(|&(_, dividend)| dividend).collect();
        (left.len() < terms.divs.len()).then(|| Terms { divs: left, ..terms.clone() })
    };
    let later = |t: f64| (t > 0.0 && (t - terms.t).abs() > 0.0).then(|| Terms { t, ..terms.clone() });
    match reason {
        LikelyReason::MissingDividend { date, .. } => with(without(&|own| own == date)?),
        LikelyReason::NoDividends if work.dates.len() > 1 => with(without(&|_| true)?),
        LikelyReason::NoBorrow if terms.b.abs() > BORROW_NONE => with(Terms { b: 0.0, ..terms.clone() }),
        LikelyReason::Borrow(by) => with(Terms { b: terms.b + by, ..terms.clone() }),
        LikelyReason::Rate(by) => with(Terms { r: terms.r + by, ..terms.clone() }),
        LikelyReason::Spot(by) => Some(World { style: *style, s: s * (1.0 + by), terms: terms.clone() }),
        LikelyReason::Time(by) if terms.t + by > 0.0 => with(Terms { t: terms.t + by, ..terms.clone() }),
        LikelyReason::OtherSettlement => with(later(work.clocks.other_settlement)?),
        LikelyReason::WholeDays => with(later(work.clocks.whole_days)?),
        LikelyReason::TradingDays => with(later(work.clocks.trading_days)?),
        LikelyReason::EuropeanModel if *style == Style::American => {
            Some(World { style: Style::European, s: *s, terms: terms.clone() })
        }
        _ => None,
    }
}

/// A reason with the number that explains most of all expiries together; one without a number as it is.
///
/// # Domain   any expiries; a number beyond what can be is cut there
/// # Source   Gauss and Newton's step, its slopes those of European values: early exercise hardly bends them
pub(super) fn fit(reason: LikelyReason, works: &[Work]) -> LikelyReason {
    let fitted = match reason {
        LikelyReason::Borrow(_) => Fitted::Borrow,
        LikelyReason::Rate(_) => Fitted::Rate,
        LikelyReason::Spot(_) => Fitted::Spot,
        LikelyReason::Time(_) => Fitted::Time,
        other => return other,
    };
    let mut number = 0.0;
    for _ in 0..ROUNDS {
        let mut sums = (0.0, 0.0);
        for work in works {
            let plain =
                |number: f64| changed(fitted.at(number), work).map(|world| World { style: Style::European, ..world });
            let worlds = (changed(fitted.at(number), work), plain(number + STEP), plain(number));
            let (Some(world), Some(ahead), Some(here)) = worlds else { continue };
            let own = work.residual.step(&world, &ahead, &here, STEP);
            (sums.0, sums.1) = (sums.0 + own.0, sums.1 + own.1);
        }
        let step = if sums.1 > 0.0 { sums.0 / sums.1 } else { 0.0 };
        number = (number + step).clamp(-fitted.most(), fitted.most());
        if step.abs() < STEP {
            break;
        }
    }
    fitted.at(number)
}
