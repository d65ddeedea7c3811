//! Total variances of a name at a later moment of a scenario, by the variance clock. Never: a value.

use super::shock::{ScenarioClock, ScenarioGrid};
use crate::price::Lapse;
use crate::store::chain::{Chain, Slice};
use crate::term::{EventState, EventTiming, NameEvent, TermStructure};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::{Calendar, EventSpan, VarianceClock};
use kernel::contract::{RootTable, Symbol};

/// The variance clock of a name and its event, in scenarios.
#[derive(Clone, Debug)]
pub struct NameLapse {
    clock: VarianceClock,
    valued_at: Timestamp,
    /// Weight of market events, as a part of their weight for an index.
    market_share: f64,
    event: NameEvent,
    timing: EventTiming,
}

/// An event of a grid without a size, which the expiries of its name do not show either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventWithoutSize {
    /// Its name.
    pub name: Symbol,
    /// Eastern date of the event.
    pub date: Date,
    /// Knowledge of an event of the name.
    pub state: EventState,
}

impl NameLapse {
    /// The clock of a chain; `None`: volatility stays. Events of the grid replace those that are known or found; one
    /// without a size has that of the event that the expiries show at its date.
    ///
    /// # Errors
    /// They show none there.
    pub fn of(
        chain: &Chain,
        grid: &ScenarioGrid,
        calendar: &Calendar,
        roots: &RootTable,
    ) -> Result<Option<Self>, EventWithoutSize> {
        if grid.clock == ScenarioClock::Calendar {
            return Ok(None);
        }
        let is_own = |name: Symbol| roots.canonical(name) == chain.underlying;
        let own = grid.events.iter().filter(|(name, _)| is_own(*name));
        let mut assumed: Vec<EventSpan> = own.map(|(_, event)| calendar.event_span(event)).collect();
        assumed.retain(|event| event.last > chain.valued_at);
        assumed.sort_by_key(|event| event.last);
        if assumed.iter().any(|event| event.size.is_none()) {
            let shown = TermStructure::of(chain, calendar);
            for event in assumed.iter_mut().filter(|event| event.size.is_none()) {
                let (name, date, state) = (chain.underlying, event.date, shown.event.state);
                event.size = Some(shown.size_of(event).ok_or(EventWithoutSize { name, date, state })?);
            }
        }
        let term = match assumed.is_empty() {
            true => TermStructure::of(chain, calendar),
            false => TermStructure::with_known_events(chain, calendar, &assumed),
        };
        let timing = term.event.timing(calendar);
        let (clock, market_share) = (term.clock.clone(), term.market_share);
        Ok(Some(Self { clock, valued_at: chain.valued_at, market_share, event: term.event, timing }))
    }

    /// Decrease of the variance of a slice until a moment.
    pub(super) fn until(&self, slice: &Slice, at: Timestamp) -> Lapse {
        let days = |to: Timestamp| self.clock.days(self.valued_at, to, self.market_share);
        Lapse {
            days: days(slice.settles_at),
            step: days(at),
            event: self.event.variance_in(slice.expiry, slice.settles_at),
            event_left: self.timing.left_at(at),
        }
    }
}
