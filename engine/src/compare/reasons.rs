//! Mistakes and conventions found in vendors' Greeks, and their effect on the terms of an expiry.
//! Never: a residual.

use super::conventions::ThetaConvention;
use super::residual::SliceResidual;
use super::work::{RATE_STEP, Work, WorkTables};
use super::world::{Contract, World, WorldPremium, WorldTables};
use jiff::civil::Date;
use kernel::contract::Right;
use kernel::dividends::{Dividend, Terms};
use kernel::greeks::Greek;
use std::sync::Arc;

/// Steps of a fit; Greeks are nearly linear in the fitted number.
const ROUNDS: usize = 4;
/// The greatest change of a rate, per year, and of a spot, as a part.
const RATE_MOST: f64 = 0.5;
const SPOT_MOST: f64 = 0.2;
/// Quarterly dividends that are tried, as parts of the spot. A fit would not work, as early exercise is too far from
/// linear in them.
const DIVIDENDS_TRIED: [f64; 8] = [0.001, 0.002, 0.004, 0.006, 0.009, 0.013, 0.02, 0.03];
/// Number of [`RATE_STEP`]s beyond which early exercise is tabulated again.
const FAR_STEPS: f64 = 1.25;
/// Maximum contracts of an expiry on which dividends are tried.
const CONTRACTS_OF_DIVIDENDS: usize = 8;
/// Maximum expiries on which dividends are tried.
const EXPIRIES_OF_DIVIDENDS: usize = 6;
/// The greatest change of time, years: three days.
const TIME_MOST: f64 = 3.0 / 365.0;
/// Smaller changes are not named: of a rate, per year, and of a spot, as a part.
const RATE_LEAST: f64 = 5e-4;
const SPOT_LEAST: f64 = 1e-4;
const TIME_LEAST: f64 = 30.0 / (60.0 * 24.0 * 365.0);
/// Step of differences: 0.001 % of a rate or a spot, five minutes of time.
const STEP: f64 = 1e-5;
/// Years between dividends that are not given: most American names pay quarterly.
const QUARTER: f64 = 0.25;
/// A borrow rate below this is none.
const BORROW_NONE: f64 = 1e-4;

/// Likely reason for the difference of a vendor's Greeks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LikelyReason {
    /// The Greeks do not differ beyond rounding.
    Agrees,
    /// The vendor defines theta otherwise.
    Theta(ThetaConvention),
    /// The vendor's rho counts interest between the settlements of trades, ours to expiry.
    SettlementDays,
    /// The vendor shows theta, vega and rho of the call of the strike for puts.
    CallsNumbers,
    /// Only the volatility differs: at the vendor's volatility our Greeks are the same.
    Volatility,
    /// A dividend that the vendor does not count.
    MissingDividend {
        /// Ex-date of the dividend.
        date: Date,
        /// Currency per share.
        amount: f64,
    },
    /// The vendor counts no dividend.
    NoDividends,
    /// The vendor counts quarterly dividends, and we have no source of dividends.
    DividendsNotGiven {
        /// Approximate ex-date of the first.
        date: Date,
        /// Amount of each, as a part of the spot.
        part: f64,
    },
    /// The vendor counts with no borrow rate.
    NoBorrow,
    /// Another borrow rate: the vendor's less ours, per year.
    Borrow(f64),
    /// Another discount rate: the vendor's less ours, per year.
    Rate(f64),
    /// Another spot: the vendor's less ours, as a part of it.
    Spot(f64),
    /// Another time to settlement: the vendor's less ours, years. The vendor's values are of another moment than its
    /// quotes.
    Time(f64),
    /// Settlement in the afternoon taken as in the morning, or the other way round.
    OtherSettlement,
    /// Time counted in integer calendar days.
    WholeDays,
    /// Time counted in trading days, of 252 to the year.
    TradingDays,
    /// American contracts valued as European ones.
    EuropeanModel,
    /// No known reason.
    Unknown,
}

impl LikelyReason {
    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Theta(_) => "theta_definition",
            Self::SettlementDays => "settlement_days",
            Self::CallsNumbers => "calls_numbers",
            Self::Volatility => "volatility",
            Self::MissingDividend { .. } => "missing_dividend",
            Self::NoDividends => "no_dividends",
            Self::DividendsNotGiven { .. } => "dividends_not_given",
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

    /// True if the reason can explain a difference of this Greek; a definition explains only its own.
    #[must_use]
    pub fn concerns(self, greek: Greek, right: Right) -> bool {
        match self {
            Self::Theta(_) => greek == Greek::Theta,
            Self::SettlementDays => greek == Greek::Rho,
            Self::CallsNumbers => right == Right::Put && matches!(greek, Greek::Theta | Greek::Vega | Greek::Rho),
            _ => true,
        }
    }

    /// True if a fitted number is large enough to matter: two sources of rates, or two clocks a minute
    /// apart, differ by as much.
    pub(super) fn is_worth_naming(self) -> bool {
        match self {
            Self::Borrow(by) | Self::Rate(by) => by.abs() >= RATE_LEAST,
            Self::Spot(by) => by.abs() >= SPOT_LEAST,
            Self::Time(by) => by.abs() >= TIME_LEAST,
            _ => true,
        }
    }

    /// Number of parameters that the reason fits.
    pub(super) const fn numbers(self) -> u8 {
        match self {
            Self::DividendsNotGiven { .. } => 2,
            Self::Borrow(_) | Self::Rate(_) | Self::Spot(_) | Self::Time(_) => 1,
            _ => 0,
        }
    }
}

/// The input that a number is fitted for.
#[derive(Clone, Copy, Debug)]
pub(super) enum FittedInput {
    Borrow,
    Rate,
    Spot,
    Time,
}

impl FittedInput {
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

/// Inputs of the values of an expiry with this mistake; `None`: the mistake has no effect there.
///
/// # Domain   any reason; a time that is none has no effect
pub(super) fn changed(reason: LikelyReason, work: &Work) -> Option<World> {
    let base = &work.base;
    let terms = &base.terms;
    // the early-exercise premium hardly changes with time
    let with = |terms: Terms| Some(World { terms, ..base.clone() });
    let without = |gone: &dyn Fn(Date) -> bool| {
        let left: Vec<_> = work.dates.iter().filter(|(date, _)| !gone(*date)).map(|&(_, dividend)| dividend).collect();
        (left.len() < terms.divs.len()).then(|| tabulated(base, Terms { divs: left, ..terms.clone() }, work))
    };
    let towards = |by: f64, other: fn(&WorkTables) -> &(f64, Arc<WorldTables>)| match &work.tables {
        Some(of) => {
            let (step, other) = other(of);
            WorldPremium::Between(Arc::clone(&of.own), Arc::clone(other), base.s, by / step)
        }
        None => WorldPremium::None,
    };
    let borrow = |by: f64| World {
        early: towards(by, |of| &of.by_borrow),
        terms: Terms { b: terms.b + by, ..terms.clone() },
        ..base.clone()
    };
    let later = |t: f64| (t > 0.0 && (t - terms.t).abs() > 0.0).then(|| Terms { t, ..terms.clone() });
    match reason {
        LikelyReason::MissingDividend { date, .. } => without(&|own| own == date),
        LikelyReason::NoDividends if work.dates.len() > 1 => without(&|_| true),
        LikelyReason::DividendsNotGiven { date, part } => {
            let (s, terms) = paying(date, part, work)?;
            Some(tabulated(&World { s, ..base.clone() }, terms, work))
        }
        LikelyReason::NoBorrow if terms.b.abs() > BORROW_NONE => Some(borrow(-terms.b)),
        LikelyReason::Borrow(by) => Some(borrow(by)),
        LikelyReason::Rate(by) => Some(World {
            early: towards(by, |of| &of.by_rate),
            terms: Terms { r: terms.r + by, ..terms.clone() },
            ..base.clone()
        }),
        LikelyReason::Spot(by) => {
            let s = base.s * (1.0 + by);
            let early = match &work.tables {
                Some(of) => WorldPremium::Of(Arc::clone(&of.own), s),
                None => WorldPremium::None,
            };
            Some(World { early, s, ..base.clone() })
        }
        LikelyReason::Time(by) if terms.t + by > 0.0 => with(Terms { t: terms.t + by, ..terms.clone() }),
        LikelyReason::OtherSettlement => with(later(work.clocks.other_settlement)?),
        LikelyReason::WholeDays => with(later(work.clocks.whole_days)?),
        LikelyReason::TradingDays => with(later(work.clocks.trading_days)?),
        LikelyReason::EuropeanModel if !base.is_european() => Some(base.european()),
        _ => None,
    }
}

/// A world with other terms, early exercise tabulated for them.
fn tabulated(base: &World, terms: Terms, work: &Work) -> World {
    let early = match &work.tables {
        Some(_) => WorldPremium::Of(Arc::new(WorldTables::new(&terms, &work.contracts)), base.s),
        None => WorldPremium::None,
    };
    World { early, terms, ..base.clone() }
}

/// The quarterly dividends that leave the least difference over all expiries: each day with [`DIVIDENDS_TRIED`], then a
/// quarter less or more.
///
/// # Domain   any expiries; `None` where dividends are known or no day fits
fn best_dividends(works: &[Work]) -> Option<LikelyReason> {
    // a few contracts of a few expiries: each combination has tables of its own
    let step = works.len().div_ceil(EXPIRIES_OF_DIVIDENDS).max(1);
    let thinned: Vec<(&Work, Vec<Contract>, SliceResidual, f64)> = works
        .iter()
        .rev()
        .step_by(step)
        .map(|work| {
            let residual = work.residual.thinned(CONTRACTS_OF_DIVIDENDS);
            let at_vendor = residual.squared(&work.base);
            (work, residual.contracts().to_vec(), residual, at_vendor)
        })
        .collect();
    let left = |date: Date, part: f64| -> f64 {
        let of = |(work, contracts, residual, at_vendor): &(&Work, Vec<Contract>, SliceResidual, f64)| {
            let (s, terms) = paying(date, part, work)?;
            let early = match &work.tables {
                Some(_) => WorldPremium::Of(Arc::new(WorldTables::new(&terms, contracts)), s),
                None => WorldPremium::None,
            };
            Some(residual.squared(&World { early, s, terms, ..work.base.clone() }) - at_vendor)
        };
        thinned.iter().filter_map(of).sum()
    };
    let days = works.iter().max_by_key(|work| work.ex_times.len())?.ex_times.iter().map(|&(date, _)| date);
    let tried = days.flat_map(|date| DIVIDENDS_TRIED.map(|part| (left(date, part), date, part)));
    let coarse = tried.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let finer = [0.8, 1.25].map(|times| (left(coarse.1, coarse.2 * times), coarse.1, coarse.2 * times));
    let (_, date, part) = finer.into_iter().fold(coarse, |best, other| if other.0 < best.0 { other } else { best });
    Some(LikelyReason::DividendsNotGiven { date, part })
}

/// The published spot and terms with quarterly dividends in the place of the borrow that was fitted without them;
/// `None`: no dividend goes ex before the expiry.
fn paying(date: Date, part: f64, work: &Work) -> Option<(f64, Terms)> {
    let World { s, terms, .. } = &work.base;
    let first = work.ex_times.iter().find(|(of, _)| *of == date).map(|&(_, t)| t)?;
    let times = core::iter::successors(Some(first), |t| Some(t + QUARTER)).take_while(|&t| t < terms.t);
    let spot = if work.published > 0.0 { work.published } else { *s };
    let divs: Vec<Dividend> = times.map(|t| Dividend { t, amount: part * spot }).collect();
    (!divs.is_empty()).then(|| (spot, Terms { divs, b: 0.0, ..terms.clone() }))
}

/// Fits the number of a reason to all expiries together; a reason without a number is unchanged.
///
/// # Domain   any expiries; a number beyond its limit is set to the limit
/// # Source   Gauss and Newton's step, its slopes those of European values: early exercise hardly bends them
pub(super) fn fit(reason: LikelyReason, works: &mut [Work]) -> LikelyReason {
    let fitted = match reason {
        LikelyReason::Borrow(_) => FittedInput::Borrow,
        LikelyReason::Rate(_) => FittedInput::Rate,
        LikelyReason::Spot(_) => FittedInput::Spot,
        LikelyReason::Time(_) => FittedInput::Time,
        LikelyReason::DividendsNotGiven { .. } => return best_dividends(works).unwrap_or(reason),
        other => return other,
    };
    let number = fitted_number(fitted, 0.0, works);
    if number.abs() <= FAR_STEPS * RATE_STEP || !matches!(fitted, FittedInput::Rate | FittedInput::Borrow) {
        return fitted.at(number);
    }
    // this far off, early exercise is not linear, so it is tabulated there
    for work in works.iter_mut() {
        let terms = &work.base.terms;
        let moved = match fitted {
            FittedInput::Rate => Terms { r: terms.r + number, ..terms.clone() },
            _ => Terms { b: terms.b + number, ..terms.clone() },
        };
        if let Some(tables) = &mut work.tables {
            let there = (number, Arc::new(WorldTables::new(&moved, &work.contracts)));
            *(if matches!(fitted, FittedInput::Rate) { &mut tables.by_rate } else { &mut tables.by_borrow }) = there;
        }
    }
    fitted.at(fitted_number(fitted, number, works))
}

/// The number that explains most of the difference over all expiries, searched from `start`.
fn fitted_number(fitted: FittedInput, start: f64, works: &[Work]) -> f64 {
    let mut number = start;
    for _ in 0..ROUNDS {
        let mut sums = (0.0, 0.0);
        for work in works {
            let plain = |number: f64| changed(fitted.at(number), work).map(|world| world.european());
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
    number
}
