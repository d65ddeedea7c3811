//! Contracts and shares: their place in a snapshot, their multipliers, and the cells that identify them in rows. Never:
//! a value.

use api::refusal::Refusal;
use api::rows::table::Fact;
use api::vendors::native_scenario::IDENTITY;
use engine::scenario::Unvalued;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use kernel::contract::{ContractKey, Right, RootTable, Symbol};
use kernel::contract::{osi::OSI_LEN, strike_of};
use kernel::position::{Instrument, PositionLine};
use std::collections::HashMap;
use std::sync::Arc;

/// Multiplier of a contract, except of adjusted roots.
pub const CONTRACT: f64 = 100.0;

/// Place of an instrument in a snapshot.
#[derive(Clone, Debug)]
pub struct ListedPlace {
    /// The chain.
    pub chain: Arc<Chain>,
    /// Index of the slice; `None`: shares of the underlying.
    pub slice: Option<usize>,
    /// Row of a contract.
    pub row: usize,
}

impl ListedPlace {
    /// Sort key of positions: the native order, shares before contracts.
    #[must_use]
    pub fn order(&self) -> (Symbol, Option<usize>, usize) {
        (self.chain.underlying, self.slice, self.row)
    }
}

/// Finds an instrument.
///
/// # Errors
/// The instrument is not listed, or has expired.
pub fn find(instrument: Instrument, snapshot: &Snapshot, roots: &RootTable) -> Result<ListedPlace, Unvalued> {
    let key = match instrument {
        Instrument::Share(symbol) => {
            let name = roots.canonical(symbol);
            let chain = snapshot.chain(symbol).or_else(|| snapshot.chain(name)).ok_or(Unvalued::NotListed)?;
            return Ok(ListedPlace { chain: Arc::clone(chain), slice: None, row: 0 });
        }
        Instrument::Contract(key) => key.served(),
    };
    let mut last = None;
    for chain in snapshot.chains_of_root(key.root) {
        last = Some(chain.valued_at);
        for (slice, of) in chain.slices.iter().enumerate() {
            if of.root != key.root || of.expiry != key.expiry {
                continue;
            }
            let rows = of.rows.start as usize..of.rows.end as usize;
            let strikes = &chain.strike_milli[rows.clone()];
            let first = rows.start + strikes.partition_point(|&milli| milli < key.strike_milli);
            let row = (first..rows.end)
                .take_while(|&row| chain.strike_milli[row] == key.strike_milli)
                .find(|&row| chain.right[row] == key.right);
            if let Some(row) = row {
                return Ok(ListedPlace { chain: Arc::clone(chain), slice: Some(slice), row });
            }
        }
    }
    // a root without a live contract has no chain: the snapshot gives the date
    let now = last.unwrap_or(snapshot.time);
    let today = now.to_zoned_datetime(jiff::tz::TimeZone::UTC).date();
    Err(if key.expiry < today { Unvalued::Expired } else { Unvalued::NotListed })
}

/// Refuses shares of an index.
///
/// # Errors
/// The underlying is an index.
pub fn check_shares(underlying: Symbol, roots: &RootTable) -> Result<(), Refusal> {
    let is_index = roots.is_index(roots.canonical(underlying));
    if is_index { Err(Refusal::Conflict { reason: "an index has no shares" }) } else { Ok(()) }
}

/// The underlying of an instrument.
#[must_use]
pub fn name_of(instrument: Instrument, roots: &RootTable) -> Symbol {
    match instrument {
        Instrument::Share(symbol) => roots.canonical(symbol),
        Instrument::Contract(key) => roots.underlying_of(key.root),
    }
}

/// Betas by underlying: the first that a line gives counts for all lines of the name.
#[must_use]
pub fn betas_of(lines: &[PositionLine], roots: &RootTable) -> HashMap<Symbol, f64> {
    let mut betas = HashMap::new();
    for line in lines.iter().filter(|line| line.beta.is_finite()) {
        betas.entry(name_of(line.instrument, roots)).or_insert(line.beta);
    }
    betas
}

/// Multiplier from a quoted price to the price of a contract.
#[must_use]
pub fn multiplier(chain: &Chain, slice: usize) -> f64 {
    let own = chain.evidence.as_ref().and_then(|evidence| evidence.slices.get(slice));
    own.and_then(|own| own.deliverable).map_or(CONTRACT, |terms| terms.multiplier)
}

/// The cells of [`IDENTITY`] of a contract.
#[must_use]
pub fn facts_of(underlying: Symbol, key: &ContractKey) -> Vec<Fact> {
    let mut osi = [0; OSI_LEN];
    key.write_padded(&mut osi);
    vec![
        Fact::Word(underlying.to_string()),
        Fact::Word(key.root.to_string()),
        Fact::Word(key.served().expiry.to_string()),
        Fact::Number(strike_of(key.strike_milli)),
        Fact::Word(if key.right == Right::Call { "call" } else { "put" }.to_owned()),
        Fact::Word(String::from_utf8_lossy(&osi).into_owned()),
    ]
}

/// The cells of [`IDENTITY`] of shares.
#[must_use]
pub fn identity_of_share(symbol: Symbol) -> Vec<Fact> {
    let mut cells = vec![Fact::Word(symbol.to_string())];
    cells.resize(IDENTITY.len(), Fact::Missing);
    cells
}

/// The cells of [`IDENTITY`] of an instrument that no chain lists.
#[must_use]
pub fn identity_of(instrument: Instrument) -> Vec<Fact> {
    match instrument {
        Instrument::Share(symbol) => identity_of_share(symbol),
        Instrument::Contract(key) => facts_of(key.root, &key),
    }
}
