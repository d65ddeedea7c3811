//! Contracts of a name on a day, by root and expiry. Strikes seldom change from one day to the next, so days with equal
//! strikes share one list. Never: a quote.

use engine::store::chain::Chain;
use jiff::civil::Date;
use kernel::contract::{ContractKey, Right, Symbol};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The contracts of a name on a day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Ascending by root and expiry.
    slices: Vec<ListedSlice>,
}

/// The contracts of one root that expire on one date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSlice {
    /// The root.
    pub root: Symbol,
    /// The date of expiry.
    pub expiry: Date,
    /// Ascending.
    pub strikes: Arc<[ListedStrike]>,
}

/// A strike and its listed rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListedStrike {
    /// Strike, thousandths of a dollar.
    pub milli: u32,
    /// True if the call is listed.
    pub call: bool,
    /// True if the put is listed.
    pub put: bool,
}

impl ListedStrike {
    /// True if the contract of this right is listed.
    #[must_use]
    pub fn has(self, right: Right) -> bool {
        match right {
            Right::Call => self.call,
            Right::Put => self.put,
        }
    }
}

/// Collects contracts for a listing.
#[derive(Clone, Debug, Default)]
pub struct GatheredContracts(BTreeMap<(Symbol, Date), BTreeMap<u32, (bool, bool)>>);

impl GatheredContracts {
    /// Adds a contract.
    pub fn add(&mut self, contract: &ContractKey) {
        let contract = contract.served();
        let strikes = self.0.entry((contract.root, contract.expiry)).or_default();
        let (call, put) = strikes.entry(contract.strike_milli).or_default();
        *call |= contract.right == Right::Call;
        *put |= contract.right == Right::Put;
    }

    /// Returns the listing of the added contracts; it shares lists of strikes with other listings of the pool.
    #[must_use]
    pub fn into_listing(self, pool: &mut StrikePool) -> Listing {
        let slices = self.0.into_iter().map(|((root, expiry), strikes)| {
            let strikes = strikes.into_iter().map(|(milli, (call, put))| ListedStrike { milli, call, put });
            ListedSlice { root, expiry, strikes: pool.share(strikes.collect()) }
        });
        Listing { slices: slices.collect() }
    }
}

/// Lists of strikes, each kept once.
#[derive(Clone, Debug, Default)]
pub struct StrikePool(HashSet<Arc<[ListedStrike]>>);

impl StrikePool {
    fn share(&mut self, strikes: Vec<ListedStrike>) -> Arc<[ListedStrike]> {
        if let Some(known) = self.0.get(&strikes[..]) {
            return Arc::clone(known);
        }
        let strikes: Arc<[ListedStrike]> = strikes.into();
        self.0.insert(Arc::clone(&strikes));
        strikes
    }

    /// Frees lists that no listing uses.
    pub fn sweep(&mut self) {
        self.0.retain(|strikes| Arc::strong_count(strikes) > 1);
    }
}

impl Listing {
    /// The contracts of a chain.
    #[must_use]
    pub fn of_chain(chain: &Chain) -> Self {
        let mut gathered = GatheredContracts::default();
        for slice in &chain.slices {
            for row in slice.rows.clone().map(|row| row as usize) {
                let (Some(&strike_milli), Some(&right)) = (chain.strike_milli.get(row), chain.right.get(row)) else {
                    continue;
                };
                gathered.add(&slice.contract(strike_milli, right));
            }
        }
        gathered.into_listing(&mut StrikePool::default())
    }

    /// Its slices, ascending by root and expiry.
    #[must_use]
    pub fn slices(&self) -> &[ListedSlice] {
        &self.slices
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn contract(strike_milli: u32, right: Right) -> ContractKey {
        ContractKey { root: Symbol::parse("ACME").unwrap(), expiry: date(2026, 12, 18), strike_milli, right }
    }

    #[test]
    fn contracts_stand_once_in_order_and_days_share_their_strikes() {
        let mut pool = StrikePool::default();
        let mut listing = |contracts: &[ContractKey]| {
            let mut gathered = GatheredContracts::default();
            contracts.iter().for_each(|contract| gathered.add(contract));
            gathered.into_listing(&mut pool)
        };
        let (put, call, other) =
            (contract(105_000, Right::Put), contract(100_000, Right::Call), contract(105_000, Right::Call));
        let one = listing(&[put, call, put, other]);
        let again = listing(&[other, put, call]);
        let less = listing(&[call]);
        let [slice] = one.slices() else { panic!("{one:?}") };
        let strike = |milli, call, put| ListedStrike { milli, call, put };
        assert_eq!(slice.strikes[..], [strike(100_000, true, false), strike(105_000, true, true)]);
        assert!(slice.strikes[0].has(Right::Call) && !slice.strikes[0].has(Right::Put));
        assert!(Arc::ptr_eq(&slice.strikes, &again.slices()[0].strikes));
        assert_eq!((less.slices()[0].strikes.len(), pool.0.len()), (1, 2));
        drop((one, again));
        pool.sweep();
        assert_eq!(pool.0.len(), 1);
    }
}
