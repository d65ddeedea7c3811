//! Schwab's Trader API: the expirations of a name, a chain for each, the price of the underlying.

use super::failure::Failure;
use super::plan::VendorTerms;
use super::sign_in::{RefreshToken, SignIn, TokenForm, TokenTerms};
use super::vendor::{Asks, DataKind, Document, PolledVendor, Question, Sweep, Vendor, requests_of_spots};
use feeds::schwab::{parse_schwab_chain, parse_schwab_expirations, parse_schwab_quotes};
use host::secret::{Keys, Secret};
use jiff::SignedDuration;
use jiff::civil::Date;
use kernel::contract::{RootTable, Symbol};
use std::time::Duration;

/// Environment variables of the application's key and secret, and of the file with the refresh token.
pub const KEYS: [&str; 3] = ["GREEKSD_SCHWAB_APP_KEY", "GREEKSD_SCHWAB_APP_SECRET", "GREEKSD_SCHWAB_TOKEN_FILE"];
/// The vendor permits 120 requests a minute; a sweep takes one for each expiration and two more. Whole chains of an
/// index are larger than its gateway passes on.
const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(30),
    every_closed: Duration::from_secs(900),
    per_minute: 110.0,
    burst: 10.0,
    at_once: 1,
    delay: Duration::ZERO,
};
const TOKEN: TokenTerms = TokenTerms {
    vendor: "schwab",
    path: "/v1/oauth/token",
    form: TokenForm::Form,
    lasts: Some(SignedDuration::from_hours(7 * 24)),
    page: "docs/feeds/brokers.md",
};

/// Address of the prices of names.
const QUOTES: &str = "/marketdata/v1/quotes?fields=quote&symbols=";

/// Row of the table of vendors.
pub static ROW: PolledVendor = PolledVendor {
    word: "schwab",
    base: "https://api.schwabapi.com",
    second_base: None,
    terms: TERMS,
    public_limits: None,
    notice: None,
    has_spots: true,
    data_kinds: &[DataKind::Chains],
    whole: None,
    open: |keys, _| Ok(Box::new(Schwab::new(RootTable::embedded(), keys)?)),
};

/// The vendor with the keys of the user.
#[derive(Debug)]
pub struct Schwab {
    roots: RootTable,
    key: Secret,
    secret: Secret,
    file: Secret,
}

impl Schwab {
    /// The vendor.
    ///
    /// # Errors
    /// A key is missing.
    pub fn new(roots: RootTable, keys: &Keys) -> Result<Self, String> {
        let [key, secret, file] = [keys.need(KEYS[0])?, keys.need(KEYS[1])?, keys.need(KEYS[2])?].map(Secret::clone);
        Ok(Self { roots, key, secret, file })
    }

    /// A name in an address: class shares have a slash, indices a dollar sign.
    fn spelt(&self, name: Symbol) -> String {
        let mark = if self.roots.is_index(name) { "%24" } else { "" };
        format!("{mark}{}", name.as_str().replace('.', "%2F"))
    }
}

impl Vendor for Schwab {
    fn begin(&self, name: Symbol, _: Date) -> Vec<Question> {
        let name = self.spelt(name);
        vec![
            Question::new(Asks::Expirations, format!("/marketdata/v1/expirationchain?symbol={name}")),
            Question::new(Asks::Spot, format!("{QUOTES}{name}")),
        ]
    }

    fn spots(&self, names: &[Symbol]) -> Vec<Question> {
        requests_of_spots(QUOTES, names, |name| self.spelt(name))
    }

    fn read(&self, data: &Document<'_>, sweep: &mut Sweep) -> Result<(), Failure> {
        let Document { source, bytes, name, asked_at, .. } = *data;
        let (batch, grade, report) = match data.request.what {
            Asks::Expirations => {
                let (dates, report) = parse_schwab_expirations(source, bytes);
                let name = self.spelt(name);
                let chain = |date| {
                    let what = "contractType=ALL&strategy=SINGLE&includeUnderlyingQuote=false";
                    let target = format!("/marketdata/v1/chains?symbol={name}&{what}&fromDate={date}&toDate={date}");
                    Question::new(Asks::Chain, target)
                };
                sweep.wanted.extend(dates.into_iter().map(chain));
                (kernel::records::Batch::default(), sweep.grade, report)
            }
            Asks::Spot => parse_schwab_quotes(source, bytes, asked_at),
            _ => parse_schwab_chain(source, bytes, name, asked_at),
        };
        sweep.grade = sweep.grade.max(grade);
        sweep.add((batch, report))
    }

    fn keys(&self) -> &'static [&'static str] {
        &KEYS
    }

    fn headers(&self) -> Vec<(&'static str, Secret)> {
        vec![("accept", Secret::plain("application/json"))]
    }

    fn sign_in(&self) -> Option<SignIn> {
        let file = RefreshToken::File(self.file.expose().into());
        Some(SignIn::new(TOKEN, Some(self.key.clone()), self.secret.clone(), file))
    }

    /// An expiration may have passed since it was listed.
    fn may_miss(&self, request: &Question, failure: Failure) -> bool {
        request.what == Asks::Chain && failure == Failure::Empty
    }
}
