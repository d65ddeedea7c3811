//! Names of a request that are not served. Never: a row.

use super::{Selection, chain_of, is_pending};
use crate::cursor::compact;
use crate::refusal::Refusal;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use kernel::contract::ContractKey;
use std::borrow::Cow;

/// Maximum number of names in a warning.
const SHOWN: usize = 10;
/// Reason for an empty answer if all names are served.
const NO_MATCH: &str = "no contract matches";

/// Treatment of names and contracts that are not served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unserved {
    /// No rows, no warning.
    #[default]
    Silent,
    /// No rows, and a warning that names them.
    Warned,
    /// A refusal.
    Refused,
}

/// Warning about an answer to a selection; `None`: no warning is needed.
///
/// # Errors
/// A name is not served, and the request asks for a refusal then.
pub fn warning(
    rule: Unserved,
    snapshot: &Snapshot,
    selection: &Selection,
    is_empty: bool,
) -> Result<Option<String>, Refusal> {
    match (rule, unserved(snapshot, selection)) {
        (Unserved::Silent, _) => Ok(None),
        (Unserved::Refused, Some(text)) => Err(Refusal::NotServed { text }),
        (Unserved::Warned, Some(text)) => Ok(Some(text)),
        (_, None) => Ok(is_empty.then(|| NO_MATCH.to_owned())),
    }
}

/// Names and contracts of a selection that are not served, in words; `None`: all are served, or soon will be.
#[must_use]
pub fn unserved(snapshot: &Snapshot, selection: &Selection) -> Option<String> {
    let Selection { underlyings, roots, contracts, .. } = selection;
    let is_name = |name| snapshot.is_pending(name) || chain_of(snapshot, name).is_some();
    let will_be = |root| is_pending(snapshot, &Selection { roots: vec![root], ..Selection::default() });
    let is_root = |root| snapshot.chains_of_root(root).next().is_some() || will_be(root);
    let is_contract = |key: &ContractKey| {
        let key = key.served();
        snapshot.chains_of_root(key.root).any(|chain| has(chain, &key)) || will_be(key.root)
    };
    let names = underlyings.iter().filter(|&&name| !is_name(name)).map(ToString::to_string);
    let roots = roots.iter().filter(|&&root| !is_root(root)).map(ToString::to_string);
    let contracts = contracts.iter().filter(|key| !is_contract(key)).map(compact);
    let mut all: Vec<String> = names.chain(roots).chain(contracts).collect();
    all.dedup();
    let more = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!all.is_empty()).then(|| format!("not served: {}{more} (/l1/symbols lists the names)", all.join(", ")))
}

/// The warning as a header in the form of RFC 9111, since no format has a place for it.
#[must_use]
pub fn warning_header(text: &str) -> (&'static str, Cow<'static, str>) {
    ("Warning", format!("199 greeksd \"{text}\"").into())
}

/// True if a chain lists a contract.
fn has(chain: &Chain, key: &ContractKey) -> bool {
    let of_key = chain.slices.iter().filter(|slice| (slice.root, slice.expiry) == (key.root, key.expiry));
    of_key.into_iter().any(|slice| {
        let mut rows = slice.rows.clone().map(|row| row as usize);
        rows.any(|row| (chain.strike_milli[row], chain.right[row]) == (key.strike_milli, key.right))
    })
}
