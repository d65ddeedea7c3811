//! Cboe's delayed quotes: one document for a name, with every root and the price of the underlying. Unofficial, delayed
//! by fifteen minutes, and for personal use: it is polled at a low rate, and the log shows a notice.

use super::failure::Failure;
use super::plan::VendorTerms;
use super::vendor::{Asks, DataKind, Document, PolledVendor, PublicLimits, Question, Sweep, Vendor};
use feeds::Grade;
use feeds::cboe::parse_cboe;
use jiff::civil::Date;
use kernel::contract::{RootTable, Symbol};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// One request a second, one sweep of a name a minute.
const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(60),
    every_closed: Duration::from_secs(900),
    per_minute: 60.0,
    burst: 1.0,
    at_once: 1,
    delay: Duration::from_secs(900),
};

/// Row of the table of vendors.
pub static ROW: PolledVendor = PolledVendor {
    word: "cboe",
    base: "https://cdn.cboe.com",
    second_base: None,
    terms: TERMS,
    public_limits: Some(PublicLimits {
        every_least: TERMS.every,
        names_most: 20,
        text: "one request per second and one sweep per minute",
    }),
    notice: Some(
        "quotes of Cboe's website: 15 minutes late, not an official product, for personal use only; Cboe \
    may block programs and forbids redistribution",
    ),
    has_spots: false,
    data_kinds: &[DataKind::Chains],
    whole: None,
    open: |_, _| Ok(Box::new(Cboe::new(RootTable::embedded()))),
};

/// Cboe's website.
#[derive(Debug)]
pub struct Cboe {
    roots: RootTable,
    /// Names that the vendor spells differently than expected: an index without `_`, or another name with it.
    other_spellings: Mutex<BTreeSet<Symbol>>,
}

impl Cboe {
    /// The vendor.
    #[must_use]
    pub fn new(roots: RootTable) -> Self {
        Self { roots, other_spellings: Mutex::default() }
    }

    fn request(&self, name: Symbol, what: Asks) -> Question {
        let is_other_spelling = what == Asks::ChainOtherSpelling;
        let mark = if self.roots.is_index(name) == is_other_spelling { "" } else { "_" };
        Question::new(what, format!("/api/global/delayed_quotes/options/{mark}{name}.json"))
    }

    fn other_spellings(&self) -> std::sync::MutexGuard<'_, BTreeSet<Symbol>> {
        self.other_spellings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Vendor for Cboe {
    fn begin(&self, name: Symbol, _: Date) -> Vec<Question> {
        let is_other_spelling = self.other_spellings().contains(&name);
        vec![self.request(name, if is_other_spelling { Asks::ChainOtherSpelling } else { Asks::Chain })]
    }

    fn read(&self, data: &Document<'_>, sweep: &mut Sweep) -> Result<(), Failure> {
        sweep.grade = Grade::Delayed;
        sweep.add(parse_cboe(data.source, data.bytes, data.name, data.calendar))?;
        if data.request.what == Asks::ChainOtherSpelling {
            self.other_spellings().insert(data.name);
        }
        Ok(())
    }

    /// The vendor answers the wrong spelling with 403 or 404.
    fn instead(&self, name: Symbol, request: &Question, failure: Failure) -> Option<Question> {
        let may_be_misspelt = matches!(failure, Failure::NotFound | Failure::Refused) && request.what == Asks::Chain;
        may_be_misspelt.then(|| self.request(name, Asks::ChainOtherSpelling))
    }
}
