//! Names of a request that are not served. Never: a row.

use super::{Selection, chain_of, is_pending, not_yet};
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
    /// No rows, and a warning that names them and those that are not computed yet.
    Warned,
    /// A refusal.
    Refused,
}

/// Warning about an answer to a selection; `None`: no warning is needed.
///
/// # Errors
/// A name is not served or not computed yet, and the request asks for a refusal then.
pub fn warning(
    rule: Unserved,
    snapshot: &Snapshot,
    selection: &Selection,
    is_empty: bool,
) -> Result<Option<String>, Refusal> {
    if rule == Unserved::Silent {
        return Ok(None);
    }
    let Absent { unserved, late } = Absent::of(snapshot, selection);
    let (unserved, late) = (unserved_text(unserved), shown(late));
    if rule == Unserved::Refused {
        if let Some(text) = unserved {
            return Err(Refusal::NotServed { text });
        }
        if let Some(names) = late {
            return Err(not_yet(snapshot, &names));
        }
    }
    let late = late.map(|names| format!("not computed yet: {names}"));
    let said: Vec<String> = unserved.into_iter().chain(late).collect();
    Ok(match (said.is_empty(), is_empty) {
        (false, _) => Some(said.join("; ")),
        (true, true) => Some(NO_MATCH.to_owned()),
        (true, false) => None,
    })
}

/// Names and contracts of a selection that are not served, in words; `None`: all are served, or soon will be.
#[must_use]
pub fn unserved(snapshot: &Snapshot, selection: &Selection) -> Option<String> {
    unserved_text(Absent::of(snapshot, selection).unserved)
}

/// Requested names and contracts without rows.
struct Absent {
    /// Names that no chain has, and none will have.
    unserved: Vec<String>,
    /// Names that are computed for the first time.
    late: Vec<String>,
}

impl Absent {
    fn of(snapshot: &Snapshot, selection: &Selection) -> Self {
        let Selection { underlyings, roots, contracts, .. } = selection;
        let will_be = |root| is_pending(snapshot, &Selection { roots: vec![root], ..Selection::default() });
        let mut absent = Self { unserved: Vec::new(), late: Vec::new() };
        let mut sort = |is_there: bool, is_late: &dyn Fn() -> bool, name: &dyn Fn() -> String| {
            if !is_there {
                let kind = if is_late() { &mut absent.late } else { &mut absent.unserved };
                kind.push(name());
            }
        };
        for &name in underlyings {
            sort(chain_of(snapshot, name).is_some(), &|| snapshot.is_pending(name), &|| name.to_string());
        }
        for &root in roots {
            sort(snapshot.chains_of_root(root).next().is_some(), &|| will_be(root), &|| root.to_string());
        }
        for key in contracts {
            sort(lists(snapshot, key), &|| will_be(key.served().root), &|| compact(key));
        }
        absent
    }
}

/// The first of some names, each once, and the number of the others; `None`: there is no name.
fn shown(mut names: Vec<String>) -> Option<String> {
    names.dedup();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("{}{more}", names.join(", ")))
}

fn unserved_text(names: Vec<String>) -> Option<String> {
    shown(names).map(|names| format!("not served: {names} (/l1/symbols lists the names)"))
}

/// The warning as a header in the form of RFC 9111, since no format has a place for it.
#[must_use]
pub fn warning_header(text: &str) -> (&'static str, Cow<'static, str>) {
    ("Warning", format!("199 greeksd \"{text}\"").into())
}

/// True if a snapshot lists a contract.
#[must_use]
pub fn lists(snapshot: &Snapshot, key: &ContractKey) -> bool {
    snapshot.chains_of_root(key.served().root).any(|chain| has(chain, key))
}

/// True if a chain lists a contract.
#[must_use]
pub fn has(chain: &Chain, key: &ContractKey) -> bool {
    let key = key.served();
    let of_key = chain.slices.iter().filter(|slice| (slice.root, slice.expiry) == (key.root, key.expiry));
    of_key.into_iter().any(|slice| {
        let mut rows = slice.rows.clone().map(|row| row as usize);
        rows.any(|row| (chain.strike_milli[row], chain.right[row]) == (key.strike_milli, key.right))
    })
}
