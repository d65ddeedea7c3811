//! The symbols of a polled feed, as its user lists them. Never: an option, an address.

use kernel::contract::{RootTable, Symbol};

/// Adds a name of a list, once: of an underlying, of one of its roots, or as vendors mark indices (`_SPX`, `^SPX`,
/// `$SPX`).
///
/// # Errors
/// It is no name, for the user.
pub(super) fn add_name(names: &mut Vec<Symbol>, item: &str) -> Result<(), String> {
    let name = Symbol::parse_underlying(item.trim());
    let name = RootTable::embedded().canonical(name.ok_or_else(|| format!("{item:?} is not a symbol"))?);
    if !names.contains(&name) {
        names.push(name);
    }
    Ok(())
}
