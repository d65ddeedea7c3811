//! Numbers of a name above its contracts: one list of its expiries, volatilities at constant maturities in variance
//! time, and the event that its expiries show. What watch lists, alerts, summaries of vendors and `/l1/metrics` look
//! at. Read from the columns of a finished chain. Definitions: docs/metrics.md. Never: a fit of a curve, text.

mod event;
mod expiries;
mod exposure;
mod interest;
mod tenor;

pub use event::{EventPoint, EventState, EventTiming, NameEvent};
pub use expiries::{TermExpiry, TermStructure, half_spread};
pub use exposure::{Exposure, Exposures, each_exposure, gamma_flip};
pub use interest::{PutsAndCalls, max_pain};
pub use tenor::{TENORS, Tenors};
