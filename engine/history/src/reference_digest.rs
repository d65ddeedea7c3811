//! Digests of the reference data that a file of Greeks was computed with, one for each of its names: a reader of the
//! file compares them with the present reference data. Never: a file.

use crate::digest::Digest;
use crate::reference::ReferenceSet;
use jiff::civil::Date;
use kernel::contract::Symbol;

/// Key of the digests of the reference data in a file's metadata.
pub const REFERENCE_DIGESTS: &str = "greeksd.known";
/// Key of the source of the discount curve and its date in a file's metadata: `implied 2024-01-03`.
pub const RATES: &str = "greeksd.rates";

/// Digest of the reference data of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitReference {
    /// Dividends up to it count.
    pub last_expiry: Date,
    /// Stands for [`ReferenceSet::digest`] up to it.
    pub digest: Digest,
}

/// The words of names, a blank between two: `KO:2027-01-15:…`.
pub(crate) fn digest_words(names: impl Iterator<Item = (Symbol, UnitReference)>) -> String {
    let word = |(name, known): (Symbol, UnitReference)| format!("{name}:{}:{}", known.last_expiry, known.digest);
    names.map(word).collect::<Vec<_>>().join(" ")
}

/// True if the same is known of a name and day as when these words were written; `None`: none of them is of the name.
pub(crate) fn is_reference_current(words: &str, name: Symbol, day: Date, reference: &ReferenceSet) -> Option<bool> {
    let mut parts = words.split(' ').map(|word| word.split(':'));
    let mut word = parts.find_map(|mut word| (word.next() == Some(name.as_str())).then_some(word))?;
    let (last_expiry, then) = (word.next().and_then(|date| date.parse().ok()), word.next());
    let now = last_expiry.map(|last_expiry| reference.digest(name, day, last_expiry).to_string());
    Some(now.is_some() && now.as_deref() == then)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::ReferenceRecords;
    use jiff::civil::date;
    use kernel::records::DividendRecord;

    #[test]
    fn a_name_whose_dividends_changed_is_not_known_as_before() {
        let [ko, f, spx] = ["KO", "F", "SPX"].map(|name| Symbol::parse(name).unwrap());
        let day = date(2024, 1, 3);
        let with = |ex_date, amount| {
            let dividend = DividendRecord { underlying: ko, ex_date, amount, projected: false };
            ReferenceSet::new(&ReferenceRecords { dividends: vec![dividend], ..ReferenceRecords::default() })
        };
        let then = with(date(2024, 3, 14), 0.485);
        let last_expiry = date(2024, 6, 21);
        let known = |name| (name, UnitReference { last_expiry, digest: then.digest(name, day, last_expiry) });
        let words = digest_words([ko, f].into_iter().map(known));
        let still = |name, reference: &ReferenceSet| is_reference_current(&words, name, day, reference);
        assert_eq!([ko, f, spx].map(|name| still(name, &then)), [Some(true), Some(true), None]);
        // the same sum on another date is another dividend; what goes ex after the last expiry is none
        for (ex_date, amount, same) in
            [(date(2024, 3, 15), 0.485, false), (date(2024, 3, 14), 0.5, false), (date(2024, 3, 14), 0.485, true)]
        {
            let now = with(ex_date, amount);
            assert_eq!([still(ko, &now), still(f, &now)], [Some(same), Some(true)], "{ex_date} {amount}");
        }
        assert_eq!(is_reference_current("KO:soon:0 F", ko, day, &then), Some(false));
        assert_eq!(is_reference_current("KO:soon:0 F", f, day, &then), Some(false));
    }
}
