//! The numbers of a strategy, and the forms in which they are written. Never: a lookup of a contract.

use super::found::{FoundLeg, FoundLegs};
use crate::listed::{facts_of, identity_of_share};
use crate::tables::table_of;
use api::rows::clock::Stamp;
use api::rows::frame::{ColumnHead, Format, Heading, json_text};
use api::rows::table::{self, Fact};
use api::vendors::native_strategy::{EntryPrice, LEG, NET, PAYOFF, StrategyRequest, StrategyRows, WHOLE};
use engine::scenario::ScenarioTables;
use engine::strategy::{HeldLeg, Payoff, Strategy};
use jiff::tz::TimeZone;
use std::io;

/// Why there is no payoff.
const NO_VALUE: &str = "a leg or the entry has no value";

/// A strategy with its numbers.
pub(super) struct StrategyDocument<'a> {
    found: &'a FoundLegs,
    entry: EntryPrice,
    /// Currency paid, by [`EntryPrice`]; negative if received.
    cost: f64,
    payoff: Option<Payoff>,
    /// Probability of a profit at the first settlement.
    chance: f64,
}

/// The cost of all legs at a price; NaN: one is unknown.
fn cost_at(legs: &[FoundLeg], price: EntryPrice) -> f64 {
    let each = |leg: &FoundLeg| {
        let quote = &leg.quote;
        let is_bought = leg.units() > 0.0;
        let price = match price {
            EntryPrice::Mid => quote.mid,
            EntryPrice::Ask if is_bought => quote.ask,
            EntryPrice::Ask => quote.bid,
            EntryPrice::Bid if is_bought => quote.bid,
            EntryPrice::Bid => quote.ask,
            EntryPrice::Value => quote.value,
            EntryPrice::Paid => leg.paid,
        };
        leg.units() * price
    };
    legs.iter().map(each).sum()
}

impl<'a> StrategyDocument<'a> {
    pub(super) fn of(found: &'a FoundLegs, request: &StrategyRequest, tables: &ScenarioTables) -> Self {
        let known = [EntryPrice::Paid, EntryPrice::Mid];
        let first = known.into_iter().find(|&price| cost_at(&found.legs, price).is_finite());
        let entry = request.entry.or(first).unwrap_or(EntryPrice::Value);
        let cost = cost_at(&found.legs, entry);
        let legs = found.strategy();
        let strategy = Strategy { chain: &found.chain, legs: &legs };
        let payoff = if cost.is_finite() { strategy.payoff(cost, tables) } else { None };
        let chance =
            payoff.as_ref().zip(strategy.distribution()).map_or(f64::NAN, |(payoff, spot)| payoff.chance(&spot));
        Self { found, entry, cost, payoff, chance }
    }

    /// The answer's bytes.
    ///
    /// # Errors
    /// A binary table cannot be written.
    pub(super) fn write(&self, request: &StrategyRequest, note: &[String], zone: &TimeZone) -> io::Result<Vec<u8>> {
        if request.format == Format::Json && request.table.is_none() {
            return Ok(self.json(zone));
        }
        let (columns, rows) = match request.rows {
            StrategyRows::Legs => (LEG.to_vec(), self.legs()),
            StrategyRows::Net => {
                let whole = WHOLE.iter().chain(NET).copied().collect();
                (whole, vec![[self.whole(), self.net()].concat()])
            }
            StrategyRows::Payoff => (PAYOFF.to_vec(), self.points()),
        };
        if let Some(format) = request.table {
            return table_of(format, &columns, &rows);
        }
        let lines = note.iter().cloned().chain([self.summary()]).collect();
        let title = format!("{} · {}", self.found.chain.underlying, self.found.name());
        Ok(table::write(request.format, &Heading { title, lines }, &columns, &rows))
    }

    fn json(&self, zone: &TimeZone) -> Vec<u8> {
        let none = Heading::default();
        let rows = |columns: &[ColumnHead<'_>], rows: &[Vec<Fact>]| table::write(Format::Json, &none, columns, rows);
        let object = |columns: &[ColumnHead<'_>], row: Vec<Fact>| {
            let mut written = rows(columns, &[row]);
            // without the brackets of a list
            written.pop();
            written.split_off(1)
        };
        let (columns, cells): (Vec<_>, Vec<_>) =
            WHOLE.iter().copied().zip(self.whole()).filter(|(column, _)| column.name != "breakevens").unzip();
        let breakevens: Vec<Vec<Fact>> = self.breakevens().into_iter().map(|s| vec![Fact::Number(s)]).collect();
        let time = Stamp::EasternOffsetMillis.text(&self.found.chain.valued_at.to_zoned_datetime(zone.clone()));
        let mut out = object(&columns, cells);
        out.pop();
        for (name, value) in [
            ("snapshot_time", json_text(&time).into_bytes()),
            ("breakevens", table::write_arrays(&breakevens)),
            ("net", object(NET, self.net())),
            ("legs", rows(LEG, &self.legs())),
            ("payoff", table::write_arrays(&self.points())),
        ] {
            out.extend_from_slice(format!(",\"{name}\":").as_bytes());
            out.extend_from_slice(&value);
        }
        out.push(b'}');
        out
    }

    /// The cells of [`WHOLE`].
    fn whole(&self) -> Vec<Fact> {
        let chain = &self.found.chain;
        let legs = self.found.strategy();
        let first = Strategy { chain, legs: &legs }.first();
        let side = if self.cost < 0.0 { "credit" } else { "debit" };
        let bound =
            |of: fn(&Payoff) -> Option<f64>| self.payoff.as_ref().and_then(of).map_or(Fact::Missing, Fact::Number);
        let breakevens = self.breakevens().into_iter().map(|s| format!("{}", (s * 1e6).round() / 1e6)).collect();
        vec![
            Fact::Word(self.found.name().to_owned()),
            Fact::Word(chain.underlying.to_string()),
            Fact::Number(if chain.spot > 0.0 { chain.spot } else { chain.implied_spot }),
            first.map_or(Fact::Missing, |slice| Fact::Word(chain.slices[slice].expiry.to_string())),
            if self.cost.is_finite() { Fact::Word(side.to_owned()) } else { Fact::Missing },
            Fact::Word(self.entry.name().to_owned()),
            Fact::Number(self.cost),
            Fact::Words(breakevens),
            bound(Payoff::largest_gain),
            bound(Payoff::largest_loss),
            Fact::Number(self.chance),
            Fact::Count(self.found.missing as u64),
            if self.payoff.is_some() { Fact::Missing } else { Fact::Word(NO_VALUE.to_owned()) },
        ]
    }

    /// The cells of [`NET`]: sums in currency, delta in shares.
    fn net(&self) -> Vec<Fact> {
        let legs = &self.found.legs;
        let prices = [EntryPrice::Bid, EntryPrice::Mid, EntryPrice::Ask, EntryPrice::Value];
        let costs = prices.map(|price| cost_at(legs, price));
        let greek = |n: usize| legs.iter().map(|leg| leg.units() * leg.quote.greeks[n]).sum::<f64>();
        costs.into_iter().chain((0..5).map(greek)).map(Fact::Number).collect()
    }

    /// The rows of [`LEG`].
    fn legs(&self) -> Vec<Vec<Fact>> {
        let chain = &self.found.chain;
        let row = |leg: &FoundLeg| {
            let identity = match leg.held {
                HeldLeg::Shares => identity_of_share(chain.underlying),
                HeldLeg::Contract { slice, row } => {
                    let key = chain.slices[slice].contract(chain.strike_milli[row], chain.right[row]);
                    facts_of(chain.underlying, &key)
                }
            };
            let quote = &leg.quote;
            let prices = [leg.multiplier, quote.bid, quote.mid, quote.ask, quote.value, quote.vol];
            let numbers = prices.into_iter().chain(quote.greeks).map(Fact::Number);
            std::iter::once(Fact::Number(leg.quantity)).chain(identity).chain(numbers).collect()
        };
        self.found.legs.iter().map(row).collect()
    }

    fn breakevens(&self) -> Vec<f64> {
        self.payoff.as_ref().map_or_else(Vec::new, Payoff::breakevens)
    }

    /// The rows of [`PAYOFF`], those of breakevens among them.
    fn points(&self) -> Vec<Vec<Fact>> {
        let Some(payoff) = &self.payoff else { return Vec::new() };
        let mut points: Vec<[f64; 2]> = payoff.points().to_vec();
        points.extend(self.breakevens().into_iter().map(|s| [s, 0.0]));
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        points.dedup_by(|a, b| (a[0] - b[0]).abs() <= 1e-9 * b[0]);
        points.into_iter().map(|point| point.map(Fact::Number).to_vec()).collect()
    }

    /// The strategy in a line.
    fn summary(&self) -> String {
        let Some(payoff) = &self.payoff else { return NO_VALUE.to_owned() };
        let side = if self.cost < 0.0 { "credit" } else { "debit" };
        let bound = |of: Option<f64>| of.map_or_else(|| "without bound".to_owned(), |profit| format!("{profit:.2}"));
        let even: Vec<String> = payoff.breakevens().iter().map(|s| format!("{s:.2}")).collect();
        let even = if even.is_empty() { "none".to_owned() } else { even.join(", ") };
        let chance =
            if self.chance.is_finite() { format!(" · profit {:.1} %", 100.0 * self.chance) } else { String::new() };
        format!(
            "{side} {:.2} at {} · gain {} · loss {} · breakeven {even}{chance}",
            self.cost.abs(),
            self.entry.name(),
            bound(payoff.largest_gain()),
            bound(payoff.largest_loss()),
        )
    }
}
