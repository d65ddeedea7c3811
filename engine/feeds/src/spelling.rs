//! Roots, strikes and contracts as feeds spell them. Never: a record.

use kernel::contract::{ContractKey, Symbol, roots::is_flex, strike_milli};
use kernel::error::Reason;
use kernel::limits;

/// The contract of an OSI symbol.
///
/// # Errors
/// Not a symbol, a FLEX series, or an expiry beyond the years allowed.
pub fn parse_contract(osi: &str) -> Result<ContractKey, Reason> {
    served(ContractKey::parse_osi(osi).ok_or(Reason::NotASymbol)?)
}

/// A root of at most six bytes, its dot taken out.
///
/// # Errors
/// Not a symbol, or a FLEX series.
pub fn parse_root(text: &str) -> Result<Symbol, Reason> {
    let root = Symbol::parse_underlying(text).map(Symbol::bare);
    let root = root.filter(|r| r.as_str().len() <= 6).ok_or(Reason::NotASymbol)?;
    if is_flex(root) { Err(Reason::Flex) } else { Ok(root) }
}

/// A strike in thousandths.
///
/// # Errors
/// Out of range, or not a whole number of thousandths.
pub fn parse_strike(strike: f64) -> Result<u32, Reason> {
    strike_milli(strike).ok_or(Reason::OutOfRange)
}

fn served(contract: ContractKey) -> Result<ContractKey, Reason> {
    let year = f64::from(contract.expiry.year());
    match () {
        // FLEX options have terms that their symbol does not show
        () if is_flex(contract.root) => Err(Reason::Flex),
        () if !limits::YEAR.holds(year) => Err(Reason::NotADate),
        () => Ok(contract),
    }
}
