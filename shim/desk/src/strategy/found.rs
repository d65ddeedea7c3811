//! The legs of a request in a market, with their quotes. Never: a format.

use crate::listed::{CONTRACT, check_shares, find, multiplier, name_of};
use api::refusal::Refusal;
use api::selection::not_yet;
use api::selection::unserved::lists;
use api::vendors::asked::AskedInstrument;
use api::vendors::native_strategy::{LEGS_MOST, StrategySubject};
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use engine::store::quotes::QuoteNumber;
use engine::strategy::{HeldLeg, KnownLeg, KnownStrategy, StrategyLeg};
use jiff::civil::Date;
use kernel::contract::{RootTable, Symbol, strike_of};
use kernel::position::{Instrument, PositionLine};
use std::sync::Arc;

/// Legs of one underlying, found in its chain.
#[derive(Clone, Debug)]
pub(super) struct FoundLegs {
    pub(super) chain: Arc<Chain>,
    pub(super) legs: Vec<FoundLeg>,
    /// Positions that are not listed, or have expired.
    pub(super) missing: usize,
}

/// A leg with its quote.
#[derive(Clone, Debug)]
pub(super) struct FoundLeg {
    /// Shares or contracts; negative if sold.
    pub(super) quantity: f64,
    pub(super) multiplier: f64,
    pub(super) held: HeldLeg,
    /// Price paid; NaN: unknown.
    pub(super) paid: f64,
    pub(super) quote: Quote,
}

/// Prices and sensitivities of one share, or of a contract per share; NaN: missing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quote {
    pub(super) bid: f64,
    pub(super) mid: f64,
    pub(super) ask: f64,
    pub(super) value: f64,
    pub(super) vol: f64,
    /// Delta, gamma, vega, theta, rho.
    pub(super) greeks: [f64; 5],
}

impl Quote {
    fn of_shares(chain: &Chain) -> Self {
        let spot = if chain.spot > 0.0 { chain.spot } else { chain.implied_spot };
        let greeks = [1.0, 0.0, 0.0, 0.0, 0.0];
        Self { bid: spot, mid: spot, ask: spot, value: spot, vol: f64::NAN, greeks }
    }

    fn of_row(chain: &Chain, row: usize) -> Self {
        let quoted = |number| chain.quotes.as_ref().map_or(f64::NAN, |quotes| quotes.get(row, number));
        let get = |col: Col| chain.columns.get(col)[row];
        Self {
            bid: quoted(QuoteNumber::Bid),
            mid: quoted(QuoteNumber::Mid),
            ask: quoted(QuoteNumber::Ask),
            value: get(Col::SvcTheo),
            vol: get(Col::SvcVol),
            greeks: [Col::Delta, Col::Gamma, Col::Vega, Col::Theta, Col::Rho].map(get),
        }
    }
}

impl FoundLeg {
    /// Shares, or contracts times their multiplier.
    pub(super) fn units(&self) -> f64 {
        self.quantity * self.multiplier
    }
}

impl FoundLegs {
    /// Finds the legs of a request; `today` gives dates without a year theirs.
    ///
    /// # Errors
    /// There are no values yet, a leg is not listed or is shares of an index, or legs are of several underlyings.
    pub(super) fn of(
        subject: &StrategySubject,
        book: &[PositionLine],
        snapshot: &Snapshot,
        roots: &RootTable,
        today: Date,
    ) -> Result<Self, Refusal> {
        match subject {
            StrategySubject::Legs { legs: asked, prices } => {
                let mut legs = Vec::new();
                for (n, leg) in asked.iter().enumerate() {
                    if let AskedInstrument::Share(underlying) = leg.instrument {
                        check_shares(underlying, roots)?;
                    }
                    let (chain, held) = listed(leg.instrument, snapshot, roots, today)?;
                    let paid = prices.get(n).copied().unwrap_or(f64::NAN);
                    legs.push((chain, held, leg.quantity.unwrap_or(1.0), paid));
                }
                Self::together(legs, 0)
            }
            StrategySubject::Proposed { underlying, strategy, expiry } => {
                Self::proposed(*underlying, *strategy, *expiry, snapshot, roots)
            }
            StrategySubject::Positions { underlying, accounts } => {
                if snapshot.number == 0 {
                    return Err(not_yet(snapshot, "positions"));
                }
                let name = roots.canonical(*underlying);
                let is_asked = |line: &&PositionLine| {
                    name_of(line.instrument, roots) == name
                        && (accounts.is_empty() || accounts.iter().any(|account| **account == *line.account))
                };
                let lines: Vec<&PositionLine> = book.iter().filter(is_asked).collect();
                let found = lines.iter().filter_map(|line| {
                    let place = find(line.instrument, snapshot, roots).ok()?;
                    let held = place.slice.map_or(HeldLeg::Shares, |slice| HeldLeg::Contract { slice, row: place.row });
                    Some((place.chain, held, line.quantity, line.price))
                });
                let found: Vec<_> = found.collect();
                let missing = lines.len() - found.len();
                Self::together(found, missing)
            }
        }
    }

    /// Contracts of a name for a known strategy.
    fn proposed(
        underlying: Symbol,
        strategy: KnownStrategy,
        expiry: Option<Date>,
        snapshot: &Snapshot,
        roots: &RootTable,
    ) -> Result<Self, Refusal> {
        if strategy.has_shares() {
            check_shares(underlying, roots)?;
        }
        let (chain, _) = listed(AskedInstrument::Share(underlying), snapshot, roots, Date::MIN)?;
        let Some(legs) = strategy.propose(&chain, expiry) else {
            let when = expiry.map_or_else(String::new, |expiry| format!(" of {expiry}"));
            let text = format!("{underlying}: no contracts{when} with values for this strategy: {}", strategy.name);
            return Err(Refusal::NotServed { text });
        };
        let legs = legs.into_iter().map(|(held, ratio)| {
            let quantity = if held == HeldLeg::Shares { ratio * CONTRACT } else { ratio };
            (Arc::clone(&chain), held, quantity, f64::NAN)
        });
        Self::together(legs.collect(), 0)
    }

    fn together(legs: Vec<(Arc<Chain>, HeldLeg, f64, f64)>, missing: usize) -> Result<Self, Refusal> {
        if legs.len() > LEGS_MOST {
            return Err(Refusal::Conflict { reason: "more than 100 positions: name an account, or use /l1/scenario" });
        }
        let Some(chain) = legs.first().map(|(chain, ..)| Arc::clone(chain)) else {
            return Err(Refusal::NotListed { reason: "no position matches" });
        };
        let mut found = Vec::new();
        for (of, held, quantity, paid) in legs {
            if of.underlying != chain.underlying {
                return Err(Refusal::Conflict { reason: "legs are of one underlying: a payoff has one spot" });
            }
            let (multiplier, quote) = match held {
                HeldLeg::Shares => (1.0, Quote::of_shares(&chain)),
                HeldLeg::Contract { slice, .. } if chain.slices[slice].adjusted => {
                    return Err(Refusal::Conflict {
                        reason: "legs of adjusted roots deliver something else than shares: they have no payoff here",
                    });
                }
                HeldLeg::Contract { slice, row } => (multiplier(&chain, slice), Quote::of_row(&chain, row)),
            };
            found.push(FoundLeg { quantity, multiplier, held, paid, quote });
        }
        Ok(Self { chain, legs: found, missing })
    }

    /// The legs as the engine takes them.
    pub(super) fn strategy(&self) -> Vec<StrategyLeg> {
        self.legs.iter().map(|leg| StrategyLeg { held: leg.held, units: leg.units() }).collect()
    }

    /// The name of the strategy.
    pub(super) fn name(&self) -> &'static str {
        let shares = self.legs.iter().filter(|leg| leg.held == HeldLeg::Shares).map(FoundLeg::units).sum();
        let known = |leg: &FoundLeg| match leg.held {
            HeldLeg::Shares => None,
            HeldLeg::Contract { slice, row } => Some(KnownLeg {
                right: self.chain.right[row],
                strike_milli: self.chain.strike_milli[row],
                settles_at: self.chain.slices[slice].settles_at,
                units: leg.units(),
            }),
        };
        let contracts: Vec<KnownLeg> = self.legs.iter().filter_map(known).collect();
        engine::strategy::name_of(shares, &contracts)
    }
}

/// The chain of a leg, and its place there.
fn listed(
    asked: AskedInstrument,
    snapshot: &Snapshot,
    roots: &RootTable,
    today: Date,
) -> Result<(Arc<Chain>, HeldLeg), Refusal> {
    let root = asked.root();
    let key = asked.contract(today, roots, |key| lists(snapshot, key));
    let why = match find(key.map_or(Instrument::Share(root), Instrument::Contract), snapshot, roots) {
        Ok(place) => {
            let held = place.slice.map_or(HeldLeg::Shares, |slice| HeldLeg::Contract { slice, row: place.row });
            return Ok((place.chain, held));
        }
        Err(why) => why,
    };
    if snapshot.number == 0 || snapshot.is_pending(roots.underlying_of(root)) {
        return Err(not_yet(snapshot, root.as_str()));
    }
    let what = match key {
        None => root.to_string(),
        Some(key) => {
            let right = if key.right.phi() > 0.0 { "C" } else { "P" };
            format!("{} {} {} {right}", key.root, key.expiry, strike_of(key.strike_milli))
        }
    };
    Err(Refusal::NotServed { text: format!("{what}: {}", why.meaning()) })
}
