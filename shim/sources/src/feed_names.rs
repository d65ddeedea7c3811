//! Symbols in the specification of a polled feed. Never: an option, an address.

use kernel::contract::{RootTable, Symbol};

/// Adds an underlying to a list, once. The item is its symbol, one of its roots, or an index as vendors mark it
/// (`_SPX`, `^SPX`, `$SPX`).
///
/// # Errors
/// Why the item is no symbol, for the user.
pub fn add_name(names: &mut Vec<Symbol>, item: &str) -> Result<(), String> {
    let name = Symbol::parse_underlying(item.trim());
    let name = RootTable::embedded().canonical(name.ok_or_else(|| format!("{item:?} is not a symbol"))?);
    if !names.contains(&name) {
        names.push(name);
    }
    Ok(())
}
