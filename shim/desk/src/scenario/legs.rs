//! Contracts and shares of a request, expiry by expiry, and the moments of its grid for each chain.

use crate::listed::{ListedPlace, betas_of, check_shares, find, name_of};
use api::refusal::Refusal;
use api::selection::unserved::{lists, warning};
use api::selection::{Selection, not_yet, select};
use api::vendors::native_scenario::{
    HeldSubject, NamedHolding, ROWS_MOST, SUMMED_MOST, ScenarioRequest, ScenarioSubject, TABLES_MOST,
};
use engine::scenario::{EventWithoutSize, ExerciseOutcome, NameLapse, ScenarioGrid, ScenarioValue, Unvalued};
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::{ContractKey, RootTable, Symbol};
use kernel::position::{Instrument, PositionLine};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Maximum number of values computed at once: enough for whole blocks, few enough to stay in caches.
const AT_ONCE: usize = 60_000;
/// Warning if no position matches the request.
const NO_POSITION: &str = "no position matches";
const NO_SUCH_TIME: &str = "lies before the values";
/// Names follow that move as the index does, since no position gives their beta.
const WITHOUT_BETA: &str = "no beta, moved as the index:";
/// Names have an event in the request, and no contract.
const EVENT_OF_NOTHING: &str = "event of a name without contracts here:";

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
        /// The outcome of exercise.
        delivery: ExerciseOutcome,
    },
    /// Shares.
    Shares {
        /// The chain of the underlying.
        chain: Arc<Chain>,
        /// The account.
        account: Arc<str>,
        /// Number of shares.
        quantity: f64,
        /// Price paid per share; NaN: unknown.
        price: f64,
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
    /// Price paid, as quoted; NaN: unknown.
    pub price: f64,
}

/// Contracts and shares of a request.
#[derive(Clone, Debug)]
pub struct Legs {
    /// Legs in the order of the answer.
    pub legs: Vec<Leg>,
    /// Warning for the client, if any.
    pub warning: Option<String>,
    /// The moments of the grid, by underlying.
    moments: HashMap<Symbol, Vec<Timestamp>>,
    /// How volatility runs out, of names where it does.
    lapses: HashMap<Symbol, NameLapse>,
    /// The scenarios of names that move by beta.
    grids: HashMap<Symbol, ScenarioGrid>,
}

impl Legs {
    /// Finds the contracts and shares of a request.
    ///
    /// # Errors
    /// There are no values yet, a name is not served and the request wants a refusal then, a moment lies in the past,
    /// an event has no size, or there are too many values.
    pub fn of(
        request: &ScenarioRequest,
        snapshot: &Snapshot,
        book: &[PositionLine],
        roots: &RootTable,
        calendar: &Calendar,
    ) -> Result<Self, Refusal> {
        let (legs, warning) = match &request.subject {
            ScenarioSubject::Contracts { selection, named } => {
                let today = calendar.eastern(snapshot.time).date();
                of_contracts(request, selection, named, snapshot, roots, today)?
            }
            ScenarioSubject::Positions(subject) => {
                if snapshot.number == 0 {
                    return Err(not_yet(snapshot, "positions"));
                }
                let lines = book.iter().filter(|line| is_asked(subject, line, roots));
                let legs = of_positions(lines, snapshot, roots, request);
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
        let (mut moments, mut lapses) = (HashMap::new(), HashMap::new());
        for chain in legs.iter().filter_map(Leg::chain) {
            if let Entry::Vacant(entry) = moments.entry(chain.underlying) {
                entry.insert(moments_of(&request.grid, chain, calendar)?);
                let lapse = NameLapse::of(chain, &request.grid, calendar, roots).map_err(without_size)?;
                lapses.extend(lapse.map(|of| (chain.underlying, of)));
            }
        }
        let (grids, without) = by_beta(request, &legs, book, roots);
        let is_nowhere = |name: &Symbol| !moments.contains_key(&roots.canonical(*name));
        let nowhere: BTreeSet<Symbol> = request.grid.events.iter().map(|(name, _)| *name).filter(is_nowhere).collect();
        let named = |why: &str, names: &BTreeSet<Symbol>| {
            let names: Vec<String> = names.iter().map(Symbol::to_string).collect();
            (!names.is_empty()).then(|| format!("{why} {}", names.join(",")))
        };
        let warning = warning.or_else(|| named(EVENT_OF_NOTHING, &nowhere)).or_else(|| named(WITHOUT_BETA, &without));
        Ok(Self { legs, warning, moments, lapses, grids })
    }

    /// Bytes of the legs, and of the values of the largest one.
    #[must_use]
    pub fn bytes(&self, scenarios: usize) -> usize {
        let held: usize = self.legs.iter().map(Leg::len).sum();
        let values = self.legs.iter().map(Leg::len).max().unwrap_or_default() * scenarios;
        self.legs.len() * size_of::<Leg>() + held * size_of::<HeldRow>() + values * size_of::<ScenarioValue>()
    }

    /// The scenarios of a chain; `asked` are those of the request.
    #[must_use]
    pub fn grid<'a>(&'a self, chain: &Chain, asked: &'a ScenarioGrid) -> &'a ScenarioGrid {
        self.grids.get(&chain.underlying).unwrap_or(asked)
    }

    /// How the volatility of a chain runs out; `None`: it stays.
    #[must_use]
    pub fn lapse(&self, chain: &Chain) -> Option<&NameLapse> {
        self.lapses.get(&chain.underlying)
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

/// True if a line is of the accounts, underlyings and expiries that are asked for.
fn is_asked(subject: &HeldSubject, line: &PositionLine, roots: &RootTable) -> bool {
    let HeldSubject { accounts, underlyings, expiries } = subject;
    let name = name_of(line.instrument, roots);
    let expiry = match line.instrument {
        Instrument::Share(_) => None,
        Instrument::Contract(key) => Some(key.served().expiry),
    };
    (accounts.is_empty() || accounts.iter().any(|account| **account == *line.account))
        && (underlyings.is_empty() || underlyings.iter().any(|&asked| roots.canonical(asked) == name))
        && expiries.as_ref().is_none_or(|asked| expiry.is_some_and(|expiry| asked.contains(&expiry)))
}

/// The outcome of exercise of a name: an index is paid in cash.
fn delivery(request: &ScenarioRequest, roots: &RootTable, underlying: Symbol) -> ExerciseOutcome {
    if roots.is_index(underlying) { ExerciseOutcome::Cash } else { request.delivery }
}

/// The scenarios of names whose beta is not one, and the names without a beta.
fn by_beta(
    request: &ScenarioRequest,
    legs: &[Leg],
    book: &[PositionLine],
    roots: &RootTable,
) -> (HashMap<Symbol, ScenarioGrid>, BTreeSet<Symbol>) {
    let (mut grids, mut without) = (HashMap::new(), BTreeSet::new());
    let Some(index) = request.index else { return (grids, without) };
    let betas = betas_of(book, roots);
    for name in legs.iter().filter_map(Leg::chain).map(|chain| chain.underlying) {
        if name == roots.canonical(index) {
            continue;
        }
        match betas.get(&name) {
            None => _ = without.insert(name),
            Some(beta) => {
                let spot = request.grid.spot.iter().map(|by| by * beta).collect();
                grids.insert(name, ScenarioGrid { spot, ..request.grid.clone() });
            }
        }
    }
    (grids, without)
}

/// Contracts of a selection and shares, in the native order, and a warning about those that are not served.
fn of_contracts(
    request: &ScenarioRequest,
    selection: &Selection,
    named: &[NamedHolding],
    snapshot: &Snapshot,
    roots: &RootTable,
    today: Date,
) -> Result<(Vec<Leg>, Option<String>), Refusal> {
    let (nobody, mut selection): (Arc<str>, _) = ("".into(), selection.clone());
    let (mut legs, mut unserved) = (Vec::new(), Vec::new());
    // one contract may be held at several prices
    let mut lots: HashMap<ContractKey, Vec<HeldRow>> = HashMap::new();
    for &NamedHolding { instrument, quantity, price } in named {
        let account = Arc::clone(&nobody);
        if let Some(key) = instrument.contract(today, roots, |key| lists(snapshot, key)) {
            selection.contracts.push(key);
            lots.entry(key.served()).or_default().push(HeldRow { row: 0, account, quantity, price });
            continue;
        }
        check_shares(instrument.root(), roots)?;
        if let Ok(ListedPlace { chain, .. }) = find(Instrument::Share(instrument.root()), snapshot, roots) {
            legs.push(Leg::Shares { chain, account, quantity, price });
        } else {
            unserved.push(roots.canonical(instrument.root()));
        }
    }
    let is_of_contracts = named.is_empty() || !selection.contracts.is_empty();
    let picked = if is_of_contracts { select(snapshot, &selection)? } else { Vec::new() };
    let one = HeldRow {
        row: 0,
        account: nobody,
        quantity: if request.is_of_positions() { 1.0 } else { f64::NAN },
        price: f64::NAN,
    };
    for picked in &picked {
        for (slice, of) in picked.chain.slices.iter().enumerate() {
            let mut held = Vec::new();
            for row in picked.rows_of(of).map(|row| row as usize) {
                let key = of.contract(picked.chain.strike_milli[row], picked.chain.right[row]);
                let lots = lots.get(&key.served()).map_or(core::slice::from_ref(&one), Vec::as_slice);
                held.extend(lots.iter().map(|lot| HeldRow { row, ..lot.clone() }));
            }
            let delivery = delivery(request, roots, picked.chain.underlying);
            push_contracts(&mut legs, &picked.chain, slice, held, delivery, request.grid.len());
        }
    }
    selection.underlyings.extend(unserved);
    let warning = warning(request.unserved, snapshot, &selection, legs.is_empty())?;
    Ok((legs, warning))
}

fn without_size(of: EventWithoutSize) -> Refusal {
    let event = format!("{}:{}", of.name, of.date);
    let wants = format!("an event that expiries show (theirs is {}): give its move, {event}:7%", of.state.name());
    Refusal::invalid("event", &event, wants)
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
fn push_contracts(
    legs: &mut Vec<Leg>,
    chain: &Arc<Chain>,
    slice: usize,
    held: Vec<HeldRow>,
    delivery: ExerciseOutcome,
    scenarios: usize,
) {
    let most = (AT_ONCE / scenarios.max(1)).clamp(1, 256);
    for held in held.chunks(most) {
        legs.push(Leg::Contracts { chain: Arc::clone(chain), slice, held: held.to_vec(), delivery });
    }
}

/// Positions in the native order of their contracts, shares of an underlying before its contracts; what is not listed
/// comes last.
fn of_positions<'a>(
    lines: impl Iterator<Item = &'a PositionLine>,
    snapshot: &Snapshot,
    roots: &RootTable,
    request: &ScenarioRequest,
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
            legs.push(Leg::Shares { chain, account, quantity: line.quantity, price: line.price });
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
            price: line.price,
        });
        let delivery = delivery(request, roots, place.chain.underlying);
        push_contracts(&mut legs, &place.chain, slice, held.collect(), delivery, request.grid.len());
        rest = &rest[n..];
    }
    legs.extend(last);
    legs
}
