//! The interface of polled vendors: the requests of a name, the reading of responses, and rate limits. Each vendor is
//! one small file beside this one. Never: a socket, a clock.

use super::failure::Failure;
use super::plan::VendorTerms;
use super::sign_in::SignIn;
use feeds::{DeclaredDividend, Grade};
use host::secret::{Keys, Secret};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::{ContractKey, RootTable, Symbol};
use kernel::limits;
use kernel::records::Batch;
use kernel::report::Report;
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Path and query, as sent; never a key.
    pub target: String,
    /// Requested data.
    pub what: Asks,
}

/// Data that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// A chain, or a part of one.
    Chain,
    /// A chain, with the vendor's other spelling of the name.
    ChainOtherSpelling,
    /// The price of the underlying.
    Spot,
    /// The expirations of the name.
    Expirations,
    /// Yields of a year.
    Yields,
    /// Overnight rates, which another server has.
    Overnight,
    /// Dividends of a stock.
    Dividends,
    /// Dividends of a fund.
    DividendsOfFund,
}

/// Kind of data that a vendor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    /// Chains of names.
    Chains,
    /// Dividends of names.
    Dividends,
    /// Rates, which are polled like a name.
    Rates,
}

impl Question {
    /// A request for some data.
    #[must_use]
    pub fn new(what: Asks, target: impl Into<String>) -> Self {
        Self { target: target.into(), what }
    }

    /// The path, for the log: the query may be long, and its text may come from the vendor.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// A response with data, and its request.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// Requested name.
    pub name: Symbol,
    /// The request.
    pub request: &'a Question,
    /// Path of the document in reports of readers.
    pub source: &'a Path,
    /// The body.
    pub bytes: &'a [u8],
    /// Time of the request.
    pub asked_at: Timestamp,
    /// Sessions and Eastern time.
    pub calendar: &'a Calendar,
}

/// A running sweep of a name: the data so far, and the requests to come.
#[derive(Debug)]
pub struct Sweep {
    /// Requests to come.
    pub wanted: VecDeque<Question>,
    /// Records so far.
    pub batch: Batch,
    /// Counts and refused rows so far.
    pub report: Report,
    /// Whether the quotes are live or delayed.
    pub grade: Grade,
    /// Declared dividends so far; projections follow from all of them.
    pub declared: Vec<DeclaredDividend>,
    /// Contracts so far.
    contracts: HashSet<(Symbol, ContractKey)>,
}

impl Sweep {
    /// A sweep that begins with some requests.
    #[must_use]
    pub fn new(wanted: impl IntoIterator<Item = Question>) -> Self {
        let wanted = wanted.into_iter().collect();
        let (batch, report, declared) = (Batch::default(), Report::default(), Vec::new());
        Self { wanted, batch, report, grade: Grade::Live, declared, contracts: HashSet::new() }
    }

    /// Adds the records of a response.
    ///
    /// # Errors
    /// The response is not the requested data, has quotes but no new contract (such pages would have no end), or the
    /// sweep exceeds [`limits::SWEEP_RECORDS`].
    pub fn add(&mut self, read: (Batch, Report)) -> Result<(), Failure> {
        let (batch, report) = read;
        if let Some(error) = report.errors.first() {
            return Err(Failure::of_error(error));
        }
        let before = self.contracts.len();
        self.contracts.extend(batch.quotes.iter().map(|quote| (quote.underlying, quote.contract)));
        if !batch.quotes.is_empty() && self.contracts.len() == before {
            return Err(Failure::Malformed);
        }
        let all = [&self.batch, &batch].map(|batch| batch.quotes.len() + batch.spots.len());
        if !limits::SWEEP_RECORDS.holds((all.iter().sum::<usize>() + self.declared.len()) as f64) {
            return Err(Failure::TooLarge);
        }
        self.batch.quotes.extend(batch.quotes);
        self.batch.spots.extend(batch.spots);
        self.report.absorb(report);
        Ok(())
    }

    /// Adds the declared dividends of a response.
    ///
    /// # Errors
    /// The response is not the requested data.
    pub fn declare(&mut self, read: (Vec<DeclaredDividend>, Report)) -> Result<(), Failure> {
        let (declared, report) = read;
        self.declared.extend(declared);
        self.add((Batch::default(), report))
    }
}

/// A vendor.
pub trait Vendor: Send + Sync {
    /// The kind of data that the vendor delivers.
    fn data_kind(&self) -> DataKind {
        DataKind::Chains
    }

    /// The requests that a sweep of a name begins with on an Eastern date.
    fn begin(&self, name: Symbol, today: Date) -> Vec<Question>;

    /// The requests for the prices of some names together, if the vendor has such.
    fn spots(&self, names: &[Symbol]) -> Vec<Question> {
        let _ = names;
        Vec::new()
    }

    /// The first request for the dividends of a name, if the vendor has them besides its chains.
    fn dividends(&self, name: Symbol, today: Date) -> Option<Question> {
        let _ = (name, today);
        None
    }

    /// Reads a response into the sweep, and adds the requests that follow from it.
    ///
    /// # Errors
    /// The response is not the requested data.
    fn read(&self, data: &Document<'_>, sweep: &mut Sweep) -> Result<(), Failure>;

    /// Headers of every request.
    fn headers(&self) -> Vec<(&'static str, Secret)> {
        Vec::new()
    }

    /// The sign-in whose token every request has.
    fn sign_in(&self) -> Option<SignIn> {
        None
    }

    /// Environment variables of the keys.
    fn keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// The failure of a status; `None`: the response has data.
    fn failure_of(&self, status: u16) -> Option<Failure> {
        Failure::of_status(status)
    }

    /// The request to send instead of one that has failed.
    fn instead(&self, name: Symbol, request: &Question, failure: Failure) -> Option<Question> {
        let _ = (name, request, failure);
        None
    }

    /// True if a sweep is usable without the response to a request.
    fn may_miss(&self, request: &Question, failure: Failure) -> bool {
        let _ = (request, failure);
        false
    }
}

/// An opened vendor, or why it cannot be opened, for the user.
pub type OpenedVendor = Result<Box<dyn Vendor>, String>;

/// A polled vendor: one row of the [table of vendors](super::registry).
pub struct PolledVendor {
    /// The word before the colon of `--feed`.
    pub word: &'static str,
    /// Address of the server.
    pub base: &'static str,
    /// Address of a second server, for some requests.
    pub second_base: Option<&'static str>,
    /// Rate limits and intervals of the polling, unless options change them.
    pub terms: VendorTerms,
    /// Limits of a public website, which options cannot exceed.
    pub public_limits: Option<PublicLimits>,
    /// Warning that is logged when the feed is opened.
    pub notice: Option<&'static str>,
    /// True if the vendor has prices of many names in one answer.
    pub has_spots: bool,
    /// Kinds of data.
    pub data_kinds: &'static [DataKind],
    /// Name that stands for the vendor's whole data in the polling plan, if requests name no symbol.
    pub whole: Option<&'static str>,
    /// Opens the vendor with the user's keys and options.
    pub open: fn(&Keys, &Adjust) -> OpenedVendor,
}

/// Limits of polling a public website.
#[derive(Clone, Copy, Debug)]
pub struct PublicLimits {
    /// Minimum interval between two sweeps of a name.
    pub every_least: Duration,
    /// Maximum number of names, unless the user raises it.
    pub names_most: usize,
    /// The limits in words.
    pub text: &'static str,
}

impl PolledVendor {
    /// True if the vendor has chains, and dividends that can be requested without them.
    #[must_use]
    pub fn has_both(&self) -> bool {
        self.data_kinds.contains(&DataKind::Chains) && self.data_kinds.contains(&DataKind::Dividends)
    }
}

impl PartialEq for PolledVendor {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

impl fmt::Debug for PolledVendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word)
    }
}

/// Options of the user for a vendor, where they differ from the vendor's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Adjust {
    /// Seconds between two sweeps of a name.
    pub every_s: Option<f64>,
    /// Maximum number of requests per minute.
    pub per_minute: Option<f64>,
    /// Maximum number of concurrent sweeps.
    pub at_once: Option<usize>,
    /// Maximum number of names.
    pub most: Option<usize>,
    /// Seconds between two requests for the prices of all names; 0: none.
    pub spots_s: Option<f64>,
    /// Alpaca: use the indicative quotes of the free plan.
    pub indicative: bool,
    /// Massive, Tradier: requests for dividends.
    pub dividends: DividendsWanted,
}

/// Which data to request from a vendor with chains and dividends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DividendsWanted {
    /// Chains, and dividends once a day.
    #[default]
    Beside,
    /// Dividends only.
    Only,
    /// Chains only.
    No,
}

impl Adjust {
    /// Sets an option, as the user wrote it.
    ///
    /// # Errors
    /// Why the option or its value is refused, for the user.
    pub fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        let number = |least: f64, most: f64| {
            let number = value.parse().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| format!("{option}: expected a number from {least} to {most}"))
        };
        match option {
            "every" => self.every_s = Some(number(0.1, 86_400.0)?),
            "rate" => self.per_minute = Some(number(1.0, 60_000.0)?),
            "at-once" => self.at_once = Some(number(1.0, 16.0)? as usize),
            "spots" if value == "no" => self.spots_s = Some(0.0),
            "spots" => self.spots_s = Some(number(0.5, 3600.0)?),
            "names" => self.most = Some(number(1.0, 10_000.0)? as usize),
            "quotes" if matches!(value, "opra" | "indicative") => self.indicative = value == "indicative",
            "quotes" => return Err("quotes: expected opra or indicative".to_owned()),
            "dividends" => {
                self.dividends = match value {
                    "yes" => DividendsWanted::Beside,
                    "only" => DividendsWanted::Only,
                    "no" => DividendsWanted::No,
                    _ => return Err("dividends: expected yes, only or no".to_owned()),
                }
            }
            _ => {
                return Err(format!(
                    "unknown option {option}; the options are every, rate, at-once, names, quotes, spots and dividends"
                ));
            }
        }
        Ok(())
    }

    /// The rate limits of a vendor with these changes.
    #[must_use]
    pub fn apply(&self, terms: VendorTerms) -> VendorTerms {
        let every = self.every_s.map(std::time::Duration::from_secs_f64);
        VendorTerms {
            every: every.unwrap_or(terms.every),
            every_closed: every.map_or(terms.every_closed, |every| every.max(terms.every_closed.min(every * 15))),
            per_minute: self.per_minute.unwrap_or(terms.per_minute),
            burst: terms.burst,
            at_once: self.at_once.unwrap_or(terms.at_once),
            delay: terms.delay,
        }
    }
}

/// Maximum number of names in one request for prices.
const NAMES_AT_ONCE: usize = 100;

/// Requests for the prices of names, a hundred in each: `target` is the address up to the list, `spelt` spells a name
/// in it.
pub fn requests_of_spots(target: &str, names: &[Symbol], spelt: impl Fn(Symbol) -> String) -> Vec<Question> {
    let list = |names: &[Symbol]| names.iter().map(|&name| spelt(name)).collect::<Vec<_>>().join(",");
    names.chunks(NAMES_AT_ONCE).map(|names| Question::new(Asks::Spot, format!("{target}{}", list(names)))).collect()
}

/// The option roots of an underlying, as vendors spell them.
#[must_use]
pub fn roots_of(roots: &RootTable, name: Symbol) -> Vec<Symbol> {
    let known: Vec<Symbol> = roots.roots_of(name).collect();
    if known.is_empty() { vec![name.bare()] } else { known }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::contract::Right;
    use kernel::records::Activity;
    use kernel::records::QuoteRecord;

    /// A page of contracts of one expiry.
    fn page(strikes: std::ops::Range<u32>) -> (Batch, Report) {
        let underlying = Symbol::parse("ACME").unwrap();
        let contract = |strike_milli| ContractKey {
            root: underlying,
            expiry: jiff::civil::date(2026, 12, 18),
            strike_milli,
            right: Right::Call,
        };
        let (nan, ts) = (f64::NAN, Timestamp::UNIX_EPOCH);
        let quote = |strike| QuoteRecord {
            ts,
            underlying,
            contract: contract(strike),
            bid: 1.0,
            ask: 2.0,
            bid_size: nan,
            ask_size: nan,
            activity: Activity::default(),
        };
        (Batch { quotes: strikes.map(quote).collect(), ..Batch::default() }, Report::default())
    }

    #[test]
    fn pages_end_where_nothing_new_comes_or_too_much() {
        let mut sweep = Sweep::new([]);
        assert_eq!(sweep.add(page(0..250)), Ok(()));
        assert_eq!(sweep.add(page(100..300)), Ok(()), "some are new");
        assert_eq!(sweep.add(page(0..0)), Ok(()), "a price has no contracts");
        assert_eq!(sweep.add(page(0..300)), Err(Failure::Malformed));
        let mut sweep = Sweep::new([]);
        let added = (0..10).map(|i| sweep.add(page(i * 40_000..(i + 1) * 40_000)));
        let taken = added.take_while(Result::is_ok).count();
        assert_eq!((taken, sweep.batch.quotes.len()), (6, 240_000));
        assert_eq!(sweep.add(page(400_000..440_000)), Err(Failure::TooLarge));
    }
}
