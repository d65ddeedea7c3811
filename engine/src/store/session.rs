//! The volatilities that a session ended with: what `prev_vol` shows in the next one, kept across a restart as a plain
//! CSV file (`root,expiry,strike,right,svc_vol`, strike in thousandths).

use super::book::BookSlice;
use super::chain::Chain;
use super::columns::Col;
use jiff::civil::Date;
use kernel::contract::{ContractKey, Right, Symbol};
use std::collections::BTreeMap;

/// Volatilities of the previous session, during a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionBefore<'a> {
    /// The last chain of this session, which shows them.
    pub shown: Option<&'a Chain>,
    /// Closing volatilities of the previous session.
    pub vols: &'a SessionVols,
}

impl SessionBefore<'_> {
    /// `prev_vol` of a slice, by row; NaN: none. Volatilities that this session has already shown stay.
    pub fn prev_vols(&self, slice: &BookSlice, column: &mut [f64]) {
        let same = |chain: &Chain| {
            let of = chain.slices.iter().find(|s| s.root == slice.root && s.expiry == slice.expiry)?;
            let rows = of.rows.start as usize..of.rows.end as usize;
            let listed =
                chain.strike_milli[rows.clone()] == slice.strike_milli && chain.right[rows.clone()] == slice.right;
            listed.then_some(rows)
        };
        if let Some((chain, rows)) = self.shown.and_then(|chain| Some((chain, same(chain)?))) {
            column.copy_from_slice(&chain.columns.get(Col::PrevVol)[rows]);
            return;
        }
        for (row, (&strike, &right)) in slice.strike_milli.iter().zip(&slice.right).enumerate() {
            column[row] = self.vols.get(slice.root, slice.expiry, strike, right).unwrap_or(f64::NAN);
        }
    }
}

/// Volatilities of one (root, expiry), sorted by (strike, right).
type Rows = Vec<(u32, Right, f64)>;

/// The fitted volatilities of one session, by contract.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionVols {
    slices: BTreeMap<(Symbol, Date), Rows>,
}

impl SessionVols {
    /// The volatilities of a finished chain.
    #[must_use]
    pub fn of(chain: &Chain) -> Self {
        let mut vols = Self::default();
        vols.add(chain);
        vols
    }

    /// Bytes held beside itself, about: the tree's own nodes are left out.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let rows = self.slices.values().map(Rows::capacity).sum::<usize>();
        rows * size_of::<(u32, Right, f64)>() + self.slices.len() * size_of::<((Symbol, Date), Rows)>()
    }

    /// Adds the volatilities of another chain.
    pub fn add(&mut self, chain: &Chain) {
        let vol = chain.columns.get(Col::SvcVol);
        for slice in &chain.slices {
            let rows = slice.rows.start as usize..slice.rows.end as usize;
            let known: Rows =
                rows.filter(|&i| vol[i].is_finite()).map(|i| (chain.strike_milli[i], chain.right[i], vol[i])).collect();
            if !known.is_empty() {
                self.slices.insert((slice.root, slice.expiry), known);
            }
        }
    }

    /// Replaces volatilities by later ones of the same session, contract by contract; the others stay.
    pub fn update(&mut self, later: Self) {
        for (slice, rows) in later.slices {
            let before = self.slices.remove(&slice).unwrap_or_default();
            let mut both: BTreeMap<(u32, Right), f64> = before.into_iter().map(|(k, r, vol)| ((k, r), vol)).collect();
            both.extend(rows.into_iter().map(|(k, r, vol)| ((k, r), vol)));
            self.slices.insert(slice, both.into_iter().map(|((k, r), vol)| (k, r, vol)).collect());
        }
    }

    /// The volatility of one contract, if it had one.
    #[must_use]
    pub fn get(&self, root: Symbol, expiry: Date, strike_milli: u32, right: Right) -> Option<f64> {
        let rows = self.slices.get(&(root, expiry))?;
        let i = rows.binary_search_by_key(&(strike_milli, right), |&(k, r, _)| (k, r)).ok()?;
        Some(rows[i].2)
    }

    /// True if there are no volatilities.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty()
    }

    /// The file's text: a header, then one line per contract, in order.
    ///
    /// # Errors
    /// Errors of the writer `to`.
    pub fn write(&self, to: impl std::io::Write) -> std::io::Result<()> {
        let mut out = csv::Writer::from_writer(to);
        out.write_record(["root", "expiry", "strike", "right", "svc_vol"])?;
        for ((root, expiry), rows) in &self.slices {
            let expiry = expiry.to_string();
            for &(strike, right, vol) in rows {
                let right = if right == Right::Call { "call" } else { "put" };
                out.write_record([root.as_str(), &expiry, &strike.to_string(), right, &vol.to_string()])?;
            }
        }
        out.flush()
    }

    /// Reads what [`SessionVols::write`] wrote. A line that is none of it is left out and counted.
    #[must_use]
    pub fn read(from: impl std::io::Read) -> (Self, usize) {
        let mut vols: BTreeMap<ContractKey, f64> = BTreeMap::new();
        let mut refused = 0;
        for record in csv::ReaderBuilder::new().flexible(true).from_reader(from).records() {
            let Ok(record) = record else {
                refused += 1;
                break;
            };
            match contract_vol(&record) {
                Some((contract, vol)) => {
                    vols.insert(contract, vol);
                }
                None => refused += 1,
            }
        }
        let mut slices: BTreeMap<(Symbol, Date), Rows> = BTreeMap::new();
        for (c, vol) in vols {
            slices.entry((c.root, c.expiry)).or_default().push((c.strike_milli, c.right, vol));
        }
        (Self { slices }, refused)
    }
}

fn contract_vol(record: &csv::StringRecord) -> Option<(ContractKey, f64)> {
    let right = match record.get(3)? {
        "call" => Right::Call,
        "put" => Right::Put,
        _ => return None,
    };
    let contract = ContractKey {
        root: Symbol::parse(record.get(0)?)?,
        expiry: record.get(1)?.parse().ok()?,
        strike_milli: record.get(2)?.parse().ok()?,
        right,
    };
    let vol: f64 = record.get(4)?.parse().ok()?;
    (vol.is_finite() && vol > 0.0).then_some((contract, vol))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn vols() -> SessionVols {
        let root = Symbol::parse("SPXW").unwrap();
        let rows = vec![(5_000_000, Right::Call, 0.1234567890123), (5_000_000, Right::Put, 0.2)];
        SessionVols { slices: [((root, date(2026, 12, 18)), rows)].into() }
    }

    #[test]
    fn a_written_session_reads_back_bit_for_bit() {
        let mut file = Vec::new();
        vols().write(&mut file).unwrap();
        assert_eq!(SessionVols::read(&file[..]), (vols(), 0));
    }

    #[test]
    fn later_volatilities_replace_those_of_the_same_contract_alone() {
        let (mut whole, key) = (vols(), (Symbol::parse("SPXW").unwrap(), date(2026, 12, 18)));
        let later = vec![(4_900_000, Right::Put, 0.3), (5_000_000, Right::Put, 0.25)];
        whole.update(SessionVols { slices: [(key, later)].into() });
        let all =
            [(4_900_000, Right::Put, 0.3), (5_000_000, Right::Call, 0.1234567890123), (5_000_000, Right::Put, 0.25)];
        assert_eq!(whole.slices[&key], all);
        let (bytes, before) = (whole.bytes(), vols().bytes());
        assert!(before > 2 * 13 && bytes >= before + 13, "{before} bytes of two contracts, {bytes} of three");
        whole.update(SessionVols::default());
        assert_eq!(whole.slices[&key], all);
    }

    #[test]
    fn bad_lines_are_counted_and_the_rest_is_kept() {
        let mut file = Vec::new();
        vols().write(&mut file).unwrap();
        file.extend_from_slice(b"SPXW,2026-12-18,x,call,0.2\nSPXW,2026-12-18,1000,call,NaN\n\xff\xfe,1\n");
        let (read, refused) = SessionVols::read(&file[..]);
        assert_eq!((read, refused), (vols(), 3));
    }
}
