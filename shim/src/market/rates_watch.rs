//! Updates the discount curve implied by the European chains of a store. Never: the computation of a curve.

use engine::rates::implied::NoImpliedCurve;
use engine::rates::table::{RateLook, RateTable};
use engine::store::european::european_dates;
use engine::store::ingest::Store;
use jiff::civil::Date;
use kernel::contract::Style;
use sources::Moment;
use std::collections::BTreeMap;
use std::time::Duration;

/// Interval between two updates while quotes change: rates move by basis points a day, and an update takes some
/// milliseconds.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Schedule of the implied rates, and the facts that were logged about them.
#[derive(Debug, Default)]
pub(super) struct RatesWatch {
    /// Monotonic time of the last update.
    looked: Option<Duration>,
    /// True if chains have changed since then.
    is_due: bool,
    /// Why the chains of a date imply no curve, as last logged.
    refused: BTreeMap<Date, NoImpliedCurve>,
    /// Dates whose given curve contradicts the chains, which was logged.
    contradicted: BTreeMap<Date, ()>,
}

impl RatesWatch {
    /// Forces an update, since the given curves have changed and must be compared with the chains again.
    pub(super) fn given_curves_changed(&mut self) {
        (self.looked, self.is_due) = (None, true);
        self.contradicted.clear();
    }

    /// Updates the implied curve from European chains with new quotes. Returns true if another curve is in force from
    /// now on.
    pub(super) fn look(&mut self, store: &mut Store, rates: &mut RateTable, moment: &Moment<'_>) -> bool {
        let is_new = |book: &engine::store::book::Book| {
            book.slices.iter().any(|slice| slice.stale && slice.style == Style::European && !slice.adjusted)
        };
        self.is_due |= store.books().iter().any(is_new);
        let is_soon = self.looked.is_some_and(|looked| moment.elapsed < looked.saturating_add(LOOK_EVERY));
        // until there is a curve, there is no pause between two updates
        if !self.is_due || is_soon && rates.newest_implied().is_some() {
            return false;
        }
        (self.looked, self.is_due) = (Some(moment.elapsed), false);
        let (mut has_changed, calendar) = (false, store.calendar());
        for (date, chains) in european_dates(store.books().iter(), calendar) {
            match rates.look_at(date, chains.at, &chains.expiries) {
                RateLook::Adopted => {
                    has_changed = true;
                    self.refused.remove(&date);
                    tracing::info!("rates of {date}: implied by {} European expiries", chains.expiries.len());
                }
                RateLook::Kept => {}
                RateLook::Refused(why) => {
                    if self.refused.insert(date, why) != Some(why) {
                        tracing::warn!("rates of {date} are not implied: {}", why.words());
                    }
                }
            }
            if let Some(apart) = rates.disagreement(chains.at, date)
                && self.contradicted.insert(date, ()).is_none()
            {
                tracing::warn!(
                    "rates of {date}: the given curve has {:.3} % at {} days, European chains imply {:.3} % +- {:.3}; the \
                     given curve is used",
                    apart.given * 100.0,
                    apart.tenor_days,
                    apart.implied * 100.0,
                    apart.error * 100.0
                );
            }
        }
        has_changed
    }
}
