//! Conventions of a vendor's Greeks, found from its numbers, as its documents often omit them. Never: an input of a
//! value.

use super::world::{Contract, Point, VendorNumbers, World};
use kernel::contract::Right;
use kernel::greeks::{Greek, Greeks};

/// Step of volatility for the derivatives of Greeks in it, as a part.
const VOL_BUMP: f64 = 1e-4;
/// Days of a year, calendar and trading.
const DAYS: (f64, f64) = (365.0, 252.0);
/// Maximum relative difference that counts, as a bad row must not decide.
const MISS_MOST: f64 = 0.5;
/// Maximum part of the difference that a foreign definition of theta, and of rho, may leave.
const CLEARLY: (f64, f64) = (0.75, 0.9);
/// Candidate multiples of vega and rho per 1 %.
const FACTORS: [f64; 4] = [1.0, 100.0, 0.01, 10_000.0];

/// Convention of theta.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThetaConvention {
    /// dV/dt of a calendar day, as ours.
    #[default]
    CalendarDay,
    /// dV/dt of a trading day: of 252 to the year.
    TradingDay,
    /// −½σ²S²Γ of a calendar day: without interest and carry.
    DriftlessCalendarDay,
    /// −½σ²S²Γ of a trading day: without interest and carry.
    DriftlessTradingDay,
    /// dV/dt of a year.
    Year,
    /// The value a calendar day later less the value now, which differs from the derivative in the last days.
    NextDay,
    /// The value a calendar day later less the value now, without interest and carry.
    DriftlessNextDay,
    /// rV − ½σ²S²Γ of a calendar day: the forward stays where it is. Never above 0.
    ForwardCalendarDay,
    /// The value a calendar day later less the value now, at the same forward. Never above 0.
    ForwardNextDay,
}

impl ThetaConvention {
    /// Every convention.
    pub const ALL: [Self; 9] = [
        Self::CalendarDay,
        Self::TradingDay,
        Self::DriftlessCalendarDay,
        Self::DriftlessTradingDay,
        Self::Year,
        Self::NextDay,
        Self::DriftlessNextDay,
        Self::ForwardCalendarDay,
        Self::ForwardNextDay,
    ];

    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CalendarDay => "calendar_day",
            Self::TradingDay => "trading_day",
            Self::DriftlessCalendarDay => "driftless_calendar_day",
            Self::DriftlessTradingDay => "driftless_trading_day",
            Self::Year => "year",
            Self::NextDay => "next_day",
            Self::DriftlessNextDay => "driftless_next_day",
            Self::ForwardCalendarDay => "forward_calendar_day",
            Self::ForwardNextDay => "forward_next_day",
        }
    }

    /// The convention in the same unit, with interest and carry, as a derivative.
    const fn plain(self) -> Self {
        match self {
            Self::TradingDay | Self::DriftlessTradingDay => Self::TradingDay,
            Self::Year => Self::Year,
            _ => Self::CalendarDay,
        }
    }

    fn of(self, greeks: &Greeks<f64>, world: &World, point: Point) -> f64 {
        let x = world.x();
        let driftless = -0.5 * point.sigma * point.sigma * x * x * greeks.gamma;
        let forward = world.terms.r * greeks.value + driftless;
        match self {
            Self::CalendarDay => greeks.theta / DAYS.0,
            Self::TradingDay => greeks.theta / DAYS.1,
            Self::DriftlessCalendarDay => driftless / DAYS.0,
            Self::DriftlessTradingDay => driftless / DAYS.1,
            Self::Year => greeks.theta,
            Self::NextDay => greeks.theta / DAYS.0 + world.next_day_bend(point),
            Self::DriftlessNextDay => driftless / DAYS.0 + world.next_day_bend(point),
            Self::ForwardCalendarDay => (forward / DAYS.0).min(0.0),
            Self::ForwardNextDay => (forward / DAYS.0 + world.next_day_bend(point)).min(0.0),
        }
    }
}

/// The days over which interest is counted in rho.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RhoDays {
    /// From now to expiry.
    #[default]
    ToExpiry,
    /// From the settlement of a trade of today to that of one at expiry: each a business day later.
    BetweenSettlements,
}

impl RhoDays {
    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToExpiry => "to_expiry",
            Self::BetweenSettlements => "between_settlements",
        }
    }
}

/// Contract whose theta, vega and rho a vendor shows for a put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PutNumbers {
    /// The put's own numbers.
    #[default]
    Own,
    /// The numbers of the call of the put's strike.
    Calls,
}

impl PutNumbers {
    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Calls => "calls",
        }
    }
}

/// Conventions of a vendor's Greeks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conventions {
    /// Convention of theta.
    pub theta: ThetaConvention,
    /// Multiple of vega per 1 % of volatility.
    pub vega_times: f64,
    /// Multiple of rho per 1 % of rate.
    pub rho_times: f64,
    /// Days over which interest is counted in rho.
    pub rho_days: RhoDays,
    /// Contract whose theta, vega and rho the vendor shows for a put.
    pub put_numbers: PutNumbers,
}

impl Default for Conventions {
    fn default() -> Self {
        Self {
            theta: ThetaConvention::CalendarDay,
            vega_times: 1.0,
            rho_times: 1.0,
            rho_days: RhoDays::ToExpiry,
            put_numbers: PutNumbers::Own,
        }
    }
}

/// The vendor's numbers of a contract, our raw Greeks of it and of the call of its strike, and the world and point of
/// these.
type Seen<'a> = (VendorNumbers, OfStrike, &'a World, Point);

/// Raw Greeks of a contract and of the call of its strike.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfStrike {
    pub(super) own: Greeks<f64>,
    pub(super) call: Greeks<f64>,
}

impl OfStrike {
    /// The Greeks of some contracts in a world.
    fn all(world: &World, contracts: &[Contract]) -> Vec<Self> {
        let calls: Vec<Contract> = contracts.iter().map(|c| Contract { right: Right::Call, ..*c }).collect();
        let own = world.greeks(contracts).into_iter();
        own.zip(world.greeks(&calls)).map(|(own, call)| Self { own, call }).collect()
    }
}

impl Conventions {
    /// The conventions under which most of a vendor's numbers are nearest to ours.
    ///
    /// # Domain   any expiries; without contracts ours
    pub(super) fn found<'a>(expiries: impl Iterator<Item = (&'a World, &'a [Contract])>) -> Self {
        // at the vendor's volatilities and at ours: one of the two is near the volatility of the vendor's Greeks
        let mut seen: [Vec<Seen<'_>>; 2] = [Vec::new(), Vec::new()];
        for (world, contracts) in expiries {
            let at_ours: Vec<Contract> = contracts.iter().map(|c| Contract { sigma: c.ours, ..*c }).collect();
            for (seen, contracts) in seen.iter_mut().zip([contracts, &at_ours]) {
                let greeks = OfStrike::all(world, contracts);
                seen.extend(contracts.iter().zip(greeks).map(|(c, g)| (c.vendor, g, world, c.point())));
            }
        }
        let miss = |conventions: Self, place: usize| -> f64 {
            let of = |(vendor, greeks, world, point): &Seen<'_>| {
                let own = conventions.printed(greeks, world, *point)[place];
                ((vendor[place] - own).abs() / vendor[place].abs().max(own.abs())).min(MISS_MOST)
            };
            seen.iter().map(|seen| mean(seen.iter().map(of))).fold(f64::INFINITY, f64::min)
        };
        let best = |of: &dyn Fn(usize) -> Self, place: usize, choices: usize| {
            // of equals the first, which is our convention
            (0..choices).min_by(|&a, &b| miss(of(a), place).total_cmp(&miss(of(b), place))).unwrap_or(0)
        };
        let nearest = |put_numbers: PutNumbers| {
            let ours = Self { put_numbers, ..Self::default() };
            let thetas = ThetaConvention::ALL;
            let theta = thetas[best(&|i| Self { theta: thetas[i], ..ours }, 3, thetas.len())];
            let [defined, plain] = [theta, theta.plain()].map(|theta| miss(Self { theta, ..ours }, 3));
            let theta = if defined < CLEARLY.0 * plain { theta } else { theta.plain() };
            let vega = best(&|i| Self { vega_times: FACTORS[i], ..ours }, 2, FACTORS.len());
            let rho = best(&|i| Self { rho_times: FACTORS[i], ..ours }, 4, FACTORS.len());
            let to_expiry = Self { theta, vega_times: FACTORS[vega], rho_times: FACTORS[rho], ..ours };
            let settled = Self { rho_days: RhoDays::BetweenSettlements, ..to_expiry };
            if miss(settled, 4) < CLEARLY.1 * miss(to_expiry, 4) { settled } else { to_expiry }
        };
        let (own, calls) = (nearest(PutNumbers::Own), nearest(PutNumbers::Calls));
        // of rho, the sign alone decides, if the vendor has a rho
        let is_calls = |place: usize| miss(calls, place) < CLEARLY.0 * miss(own, place);
        if is_calls(4) || (is_calls(3) && miss(own, 4).is_infinite()) { calls } else { own }
    }

    /// These conventions with theta as the derivative in time, with interest and carry; `None`: theta already is.
    pub(super) fn with_plain_theta(self) -> Option<Self> {
        let theta = self.theta.plain();
        (theta != self.theta).then_some(Self { theta, ..self })
    }

    /// These conventions with rho to expiry; `None`: rho already is.
    pub(super) fn with_plain_rho(self) -> Option<Self> {
        (self.rho_days != RhoDays::ToExpiry).then_some(Self { rho_days: RhoDays::ToExpiry, ..self })
    }

    /// These conventions with theta, vega and rho of puts as their own; `None`: they already are.
    pub(super) fn with_own_puts(self) -> Option<Self> {
        (self.put_numbers != PutNumbers::Own).then_some(Self { put_numbers: PutNumbers::Own, ..self })
    }

    /// Derivatives of each number of European contracts in volatility.
    pub(super) fn vol_slopes(self, world: &World, contracts: &[Contract]) -> Vec<VendorNumbers> {
        let moved: Vec<Contract> =
            contracts.iter().map(|c| Contract { sigma: c.sigma * (1.0 + VOL_BUMP), ..*c }).collect();
        let plain = world.european();
        let (here, there) = (self.numbers(&plain, contracts), self.numbers(&plain, &moved));
        let slope = |i: usize| {
            core::array::from_fn(|place| {
                let slope = (there[i][place] - here[i][place]) / (VOL_BUMP * contracts[i].sigma);
                if slope.is_finite() { slope } else { 0.0 }
            })
        };
        (0..contracts.len()).map(slope).collect()
    }

    /// Greeks of a world as the vendor would print them.
    pub(super) fn numbers(self, world: &World, contracts: &[Contract]) -> Vec<VendorNumbers> {
        let printed = |(contract, greeks): (&Contract, OfStrike)| self.printed(&greeks, world, contract.point());
        let own = |greeks: Greeks<f64>| OfStrike { own: greeks, call: greeks };
        let greeks = match self.put_numbers {
            PutNumbers::Own => world.greeks(contracts).into_iter().map(own).collect(),
            PutNumbers::Calls => OfStrike::all(world, contracts),
        };
        contracts.iter().zip(greeks).map(printed).collect()
    }

    /// Greeks as the vendor would print them, but for its digits.
    pub(super) fn printed(self, of: &OfStrike, world: &World, point: Point) -> VendorNumbers {
        let (greeks, point) = match self.put_numbers {
            PutNumbers::Own => (&of.own, point),
            PutNumbers::Calls => (&of.call, Point { right: Right::Call, ..point }),
        };
        let unit = |greek: Greek| greeks.get(greek) / greek.unit().divisor();
        let counted = if self.rho_days == RhoDays::BetweenSettlements { world.settled } else { 1.0 };
        [
            of.own.delta,
            of.own.gamma,
            unit(Greek::Vega) * self.vega_times,
            self.theta.of(greeks, world, point),
            unit(Greek::Rho) * self.rho_times * counted,
        ]
    }

    /// A vendor's number in the unit of the native record, theta in the vendor's convention, per calendar day.
    #[must_use]
    pub fn native(self, place: usize, number: f64) -> f64 {
        match place {
            2 => number / self.vega_times,
            3 => match self.theta {
                ThetaConvention::TradingDay | ThetaConvention::DriftlessTradingDay => number * DAYS.1 / DAYS.0,
                ThetaConvention::Year => number / DAYS.0,
                _ => number,
            },
            4 => number / self.rho_times,
            _ => number,
        }
    }
}

/// Returns the mean of the finite values, or infinity if there is none.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.filter(|value| value.is_finite()).fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    if n > 0.0 { sum / n } else { f64::INFINITY }
}
