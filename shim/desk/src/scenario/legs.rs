//! Contracts and shares of a request, expiry by expiry, and the moments of its grid for each chain.

use crate::listed::{ListedPlace, find};
use api::refusal::Refusal;
use api::selection::unserved::warning;
use api::selection::{not_yet, select};
use api::vendors::native_scenario::{ROWS_MOST, SUMMED_MOST, ScenarioRequest, ScenarioSubject, TABLES_MOST};
use engine::scenario::{ScenarioGrid, Unvalued};
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::{ContractKey, RootTable};
use kernel::position::{Instrument, PositionLine};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Maximum number of values computed at once: enough for whole blocks, few enough to stay in caches.
const AT_ONCE: usize = 60_000;
/// Warning if no position matches the request.
const NO_POSITION: &str = "no position matches";
const NO_SUCH_TIME: &str = "lies before the values";

/// Instruments that are revalued together.
#[derive(Clone, Debug)]
pub enum Leg {
    /// Contracts of one expiry.
    Contracts {
        /// The chain that lists them.
        chain: Arc<Chain>,
        /// Their slice.
        slice: usize,
        /// Rows of the contracts, with quantities.
        held: Vec<HeldRow>,
    },
    /// Shares.
    Shares {
        /// The chain of the underlying.
        chain: Arc<Chain>,
        /// The account.
        account: Arc<str>,
        /// Number of shares.
        quantity: f64,
    },
    /// An instrument without a value.
    Unvalued {
        /// The account.
        account: Arc<str>,
        /// The instrument.
        instrument: Instrument,
        /// Quantity held.
        quantity: f64,
        /// Reason why it has no value.
        why: Unvalued,
    },
}

/// A row of a slice, and the quantity held.
#[derive(Clone, Debug)]
pub struct HeldRow {
    /// The row.
    pub row: usize,
    /// The account.
    pub account: Arc<str>,
    /// Number of contracts; NaN: values are per share.
    pub quantity: f64,
}

/// Contracts and shares of a request.
#[derive(Clone, Debug)]
pub struct Legs {
    /// Legs in the order of the answer.
    pub legs: Vec<Leg>,
    /// Warning for the client, if any.
    pub warning: Option<String>,
    /// The moments of the grid, by underlying.
    moments: HashMap<kernel::contract::Symbol, Vec<Timestamp>>,
}

impl Legs {
    /// Finds the contracts and shares of a request.
    ///
    /// # Errors
    /// There are no values yet, a name is not served and the request wants a refusal then, a moment lies in the past,
    /// or there are too many values.
    pub fn of(
        request: &ScenarioRequest,
        snapshot: &Snapshot,
        book: &[PositionLine],
        roots: &RootTable,
        calendar: &Calendar,
    ) -> Result<Self, Refusal> {
        let (legs, warning) = match &request.subject {
            ScenarioSubject::Contracts { selection, quantities } => {
                let picked = select(snapshot, selection)?;
                let warning = warning(request.unserved, snapshot, selection, picked.is_empty())?;
                let quantity_of: HashMap<ContractKey, f64> =
                    selection.contracts.iter().map(|key| key.served()).zip(quantities.iter().copied()).collect();
                let one = if request.is_of_positions() { 1.0 } else { f64::NAN };
                let nobody: Arc<str> = "".into();
                let mut legs = Vec::new();
                for picked in &picked {
                    for (slice, of) in picked.chain.slices.iter().enumerate() {
                        let held = picked.rows_of(of).map(|row| {
                            let row = row as usize;
                            let key = of.contract(picked.chain.strike_milli[row], picked.chain.right[row]);
                            let quantity = quantity_of.get(&key.served()).copied().unwrap_or(one);
                            HeldRow { row, account: Arc::clone(&nobody), quantity }
                        });
                        let held: Vec<HeldRow> = held.collect();
                        push_contracts(&mut legs, &picked.chain, slice, held, request.grid.len());
                    }
                }
                (legs, warning)
            }
            ScenarioSubject::Positions(accounts) => {
                if snapshot.number == 0 {
                    return Err(not_yet(snapshot, "positions"));
                }
                let is_asked = |line: &&PositionLine| {
                    accounts.is_empty() || accounts.iter().any(|account| **account == *line.account)
                };
                let lines = book.iter().filter(is_asked);
                let legs = of_positions(lines, snapshot, roots, request.grid.len());
                let warning = legs.is_empty().then(|| NO_POSITION.to_owned());
                (legs, warning)
            }
        };
        let n: usize = legs.iter().map(Leg::len).sum();
        let most = if request.sum.is_some() { SUMMED_MOST } else { ROWS_MOST };
        if n.saturating_mul(request.grid.len()) > most {
            return Err(Refusal::Conflict {
                reason: "too many values (5 million as rows, 20 million summed): ask for fewer contracts, spots, vols \
                         or moments",
            });
        }
        // legs of an expiry follow one another
        let expiry = |leg: &Leg| match leg {
            Leg::Contracts { chain, slice, .. } => Some((Arc::as_ptr(chain), *slice)),
            Leg::Shares { .. } | Leg::Unvalued { .. } => None,
        };
        let mut expiries: Vec<_> = legs.iter().filter_map(expiry).collect();
        expiries.dedup();
        if expiries.len().saturating_mul(request.grid.at.len()) > TABLES_MOST {
            return Err(Refusal::Conflict {
                reason: "too many expiries times moments (50000 at most): ask for fewer names, expiries or moments",
            });
        }
        let mut moments = HashMap::new();
        for chain in legs.iter().filter_map(Leg::chain) {
            if let Entry::Vacant(entry) = moments.entry(chain.underlying) {
                entry.insert(moments_of(&request.grid, chain, calendar)?);
            }
        }
        Ok(Self { legs, warning, moments })
    }

    /// Bytes of the legs.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let held: usize = self.legs.iter().map(Leg::len).sum();
        self.legs.len() * size_of::<Leg>() + held * size_of::<HeldRow>()
    }

    /// The moments of the grid for a chain.
    #[must_use]
    pub fn moments(&self, chain: &Chain) -> &[Timestamp] {
        self.moments.get(&chain.underlying).map_or(&[], Vec::as_slice)
    }
}

impl Leg {
    /// Number of positions.
    fn len(&self) -> usize {
        if let Self::Contracts { held, .. } = self { held.len() } else { 1 }
    }

    fn chain(&self) -> Option<&Arc<Chain>> {
        match self {
            Self::Contracts { chain, .. } | Self::Shares { chain, .. } => Some(chain),
            Self::Unvalued { .. } => None,
        }
    }
}

fn moments_of(grid: &ScenarioGrid, chain: &Chain, calendar: &Calendar) -> Result<Vec<Timestamp>, Refusal> {
    let instant = |moment: &engine::scenario::ScenarioMoment| {
        let valued_at = calendar.eastern(chain.valued_at);
        moment.instant(calendar, chain.valued_at).ok_or_else(|| {
            let date = valued_at.date();
            Refusal::invalid(
                "at",
                &format!("{NO_SUCH_TIME} of {}", chain.underlying),
                format!("a moment from {date} on"),
            )
        })
    };
    grid.at.iter().map(instant).collect()
}

/// Appends contracts of a slice in groups of a bounded number of values.
fn push_contracts(legs: &mut Vec<Leg>, chain: &Arc<Chain>, slice: usize, held: Vec<HeldRow>, scenarios: usize) {
    let most = (AT_ONCE / scenarios.max(1)).clamp(1, 256);
    for held in held.chunks(most) {
        legs.push(Leg::Contracts { chain: Arc::clone(chain), slice, held: held.to_vec() });
    }
}

/// Positions in the native order of their contracts, shares of an underlying before its contracts; what is not listed
/// comes last.
fn of_positions<'a>(
    lines: impl Iterator<Item = &'a PositionLine>,
    snapshot: &Snapshot,
    roots: &RootTable,
    scenarios: usize,
) -> Vec<Leg> {
    let (mut found, mut last) = (Vec::new(), Vec::new());
    for line in lines {
        match find(line.instrument, snapshot, roots) {
            Ok(place) => found.push((place, line)),
            Err(why) => last.push(Leg::Unvalued {
                account: Arc::clone(&line.account),
                instrument: line.instrument,
                quantity: line.quantity,
                why,
            }),
        }
    }
    found.sort_by(|a, b| (a.0.order(), &a.1.account).cmp(&(b.0.order(), &b.1.account)));
    let mut legs = Vec::new();
    let mut rest = found.as_slice();
    while let Some((place, line)) = rest.first() {
        let Some(slice) = place.slice else {
            let (chain, account) = (Arc::clone(&place.chain), Arc::clone(&line.account));
            legs.push(Leg::Shares { chain, account, quantity: line.quantity });
            rest = &rest[1..];
            continue;
        };
        let is_same = |other: &&(ListedPlace, &PositionLine)| {
            Arc::ptr_eq(&other.0.chain, &place.chain) && other.0.slice == Some(slice)
        };
        let n = rest.iter().take_while(is_same).count();
        let held = rest[..n].iter().map(|(place, line)| HeldRow {
            row: place.row,
            account: Arc::clone(&line.account),
            quantity: line.quantity,
        });
        push_contracts(&mut legs, &place.chain, slice, held.collect(), scenarios);
        rest = &rest[n..];
    }
    legs.extend(last);
    legs
}
