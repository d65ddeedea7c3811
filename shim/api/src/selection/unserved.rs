//! What a request names that is not served. Never: a row.

use super::{Selection, chain_of, is_pending};
use crate::cursor::compact;
use crate::refusal::Refusal;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use kernel::contract::ContractKey;
use std::borrow::Cow;

/// So many names stand in a warning.
const SHOWN: usize = 10;
/// Why rows are missing, where all that is named is served.
const NO_MATCH: &str = "no contract matches";

/// What becomes of names and contracts that are not served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unserved {
    /// They have no rows, and nothing is said.
    #[default]
    Silent,
    /// They have no rows, and a warning names them.
    Warned,
    /// They are a refusal.
    Refused,
}

/// What a client should know of an answer to a selection, which has rows or none; `None`: nothing.
///
/// # Errors
/// Something is not served, where the request wants all or nothing.
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

/// The names and contracts of a selection that are not served, in words; `None`: all are, or will soon be.
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

/// The header of what a client should know of an answer and no format has room for, in the form of RFC 9111.
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
