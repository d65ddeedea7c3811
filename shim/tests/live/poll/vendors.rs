//! Answers of each vendor for a name in its own format, and the options to poll it.

use host::secret::Keys;
use jiff::civil::{Date, date};
use jiff::{Timestamp, tz::TimeZone};
use kernel::contract::{ContractKey, Right, Symbol};
use kernel::records::{Activity, QuoteRecord};
use sources::poll::dividends::{self, DividendsOnly};
use sources::poll::plan::VendorTerms;
use sources::poll::vendor::{Adjust, PolledVendor, Vendor};
use sources::poll::{alpaca, cboe, massive, nasdaq, schwab, theta, tradier, treasury};
use std::path::PathBuf;
use std::sync::LazyLock;
use testkit::documents::Quoted;

/// Half of a spread.
const WIDE: f64 = 0.2;

/// A key of the tests.
pub(crate) const KEY: &str = "Kq7vT2m9xW4z";

/// A file with the refresh token of a broker.
static TOKEN_FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(format!("greeksd-token-{}.json", std::process::id()));
    host::private::replace(&path, |file| {
        std::io::Write::write_all(file, format!("{{\"refresh_token\":\"{KEY}\"}}").as_bytes())
    })
    .unwrap();
    path
});

/// The environment variables of every vendor, with a key in each.
pub(crate) fn environment() -> Vec<(&'static str, String)> {
    let value = |name: &str| if name == schwab::KEYS[2] { TOKEN_FILE.display().to_string() } else { KEY.to_owned() };
    host::secret::KEY_NAMES.map(|name| (name, value(name))).to_vec()
}

/// A vendor under test, with the kind of data that it is polled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestedVendor {
    Cboe,
    Theta,
    Tradier,
    Massive,
    Alpaca,
    Schwab,
    Treasury,
    Nasdaq,
    MassiveDividends,
    TradierDividends,
}

/// State of the market in the answers of a vendor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VendorState {
    pub(crate) name: &'static str,
    pub(crate) spot: f64,
    pub(crate) ts: Timestamp,
    pub(crate) expiry: Date,
    /// Time of the first contract, if it differs from the others.
    pub(crate) stray: Option<Timestamp>,
    /// True for contracts that are listed: number of the strike from the lowest, and right.
    pub(crate) keep: fn(usize, Right) -> bool,
}

impl VendorState {
    /// All contracts of ACME.
    pub(crate) fn whole(spot: f64, ts: Timestamp) -> Self {
        Self { name: "ACME", spot, ts, expiry: date(2026, 12, 18), stray: None, keep: |_, _| true }
    }

    /// Forty contracts of one expiry, whose quotes are too wide to contradict a dividend of a quarter.
    pub(crate) fn quoted(self) -> Quoted {
        let underlying = Symbol::parse(self.name).unwrap();
        let contracts = (0..20u32).flat_map(|i| [(i, Right::Call), (i, Right::Put)]);
        let quotes = contracts.filter(|&(i, right)| (self.keep)(i as usize, right)).map(|(i, right)| {
            let strike = 76.0 + 2.5 * f64::from(i);
            // about the value at 30 %: intrinsic value plus a hump at the money
            let away = (strike / self.spot).ln() / 0.08;
            let value = (right.phi() * (self.spot - strike)).max(0.0) + 0.032 * self.spot * (-0.7 * away * away).exp();
            let cents = |price: f64| (price * 100.0).round() / 100.0;
            let stray = self.stray.filter(|_| (i, right) == (0, Right::Call));
            QuoteRecord {
                ts: stray.unwrap_or(self.ts),
                underlying,
                contract: ContractKey {
                    root: underlying,
                    expiry: self.expiry,
                    strike_milli: (strike * 1000.0) as u32,
                    right,
                },
                bid: cents((value - WIDE).max(0.0)),
                ask: cents(value + WIDE),
                bid_size: 10.0,
                ask_size: 12.0,
                activity: Activity::default(),
            }
        });
        Quoted { underlying, spot: self.spot, ts: self.ts, quotes: quotes.collect() }
    }
}

impl TestedVendor {
    pub(crate) const ALL: [Self; 10] = [
        Self::Cboe,
        Self::Theta,
        Self::Tradier,
        Self::Massive,
        Self::Alpaca,
        Self::Schwab,
        Self::Treasury,
        Self::Nasdaq,
        Self::MassiveDividends,
        Self::TradierDividends,
    ];

    pub(crate) fn word(self) -> &'static str {
        let words =
            ["cboe", "theta", "tradier", "massive", "alpaca", "schwab", "treasury", "nasdaq", "massive", "tradier"];
        words[self as usize]
    }

    /// True if the vendor is polled for chains.
    pub(crate) fn has_chains(self) -> bool {
        self != Self::Treasury && !self.has_dividends_only()
    }

    /// True if the vendor is polled for dividends only.
    pub(crate) fn has_dividends_only(self) -> bool {
        matches!(self, Self::Nasdaq | Self::MassiveDividends | Self::TradierDividends)
    }

    /// True if the vendor has the prices of many names in one answer.
    pub(crate) fn has_spots(self) -> bool {
        self.row().has_spots
    }

    fn row(self) -> &'static PolledVendor {
        match self {
            Self::Cboe => &cboe::ROW,
            Self::Theta => &theta::ROW,
            Self::Tradier | Self::TradierDividends => &tradier::ROW,
            Self::Massive | Self::MassiveDividends => &massive::ROW,
            Self::Alpaca => &alpaca::ROW,
            Self::Schwab => &schwab::ROW,
            Self::Treasury => &treasury::ROW,
            Self::Nasdaq => &nasdaq::ROW,
        }
    }

    pub(crate) fn vendor(self) -> Box<dyn Vendor> {
        let given = environment();
        let value = |name: &str| given.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        let keys = Keys::read(None, &value).unwrap();
        let vendor = (self.row().open)(&keys, &Adjust::default()).unwrap();
        match self {
            Self::MassiveDividends | Self::TradierDividends => Box::new(DividendsOnly(vendor)),
            _ => vendor,
        }
    }

    pub(crate) fn terms(self) -> VendorTerms {
        match self {
            Self::MassiveDividends | Self::TradierDividends => dividends::TERMS,
            _ => self.row().terms,
        }
    }

    /// The answer to a request.
    pub(crate) fn answer(self, target: &str, market: VendorState) -> String {
        let VendorState { name, spot, ts, .. } = market;
        let (bid, ask, millis) = (spot - 0.01, spot + 0.01, ts.as_millisecond());
        let path = target.split('?').next().unwrap_or_default();
        match self {
            _ if path == "/stocks/v1/dividends" => {
                let row = |day: &str| {
                    format!(
                        "{{\"cash_amount\":{:.4},\"currency\":\"USD\",\"declaration_date\":\"2026-05-01\",\
                         \"distribution_type\":\"recurring\",\"ex_dividend_date\":\"{day}\",\"frequency\":4,\
                         \"historical_adjustment_factor\":0.99,\"id\":\"E1\",\"pay_date\":\"2026-12-15\",\
                         \"record_date\":\"{day}\",\"split_adjusted_cash_amount\":{:.4},\"ticker\":\"{name}\"}}",
                        spot / 100.0,
                        spot / 100.0,
                    )
                };
                let rows = ["2026-12-01", "2026-08-31", "2026-06-01"].map(row).join(",");
                let results = format!("\"results\":[{rows}],");
                let is_none = market.quoted().quotes.is_empty();
                format!("{{\"request_id\":1,{}\"status\":\"OK\"}}", if is_none { "" } else { &results })
            }
            _ if path == "/beta/markets/fundamentals/dividends" => {
                let row = |day: &str| {
                    format!(
                        "{{\"share_class_id\":\"0P0\",\"dividend_type\":\"CD\",\"ex_date\":\"{day}\",\
                         \"cash_amount\":{:.4},\"currency_i_d\":\"USD\",\"declaration_date\":\"2026-05-01\",\
                         \"frequency\":4,\"pay_date\":\"2026-12-15\",\"record_date\":\"{day}\"}}",
                        spot / 100.0
                    )
                };
                let rows = ["2026-12-01", "2026-08-31", "2026-06-01"].map(row).join(",");
                let entry = format!(
                    "{{\"request\":\"{name}\",\"type\":\"Symbol\",\"results\":[{{\"type\":\"Company\",\
                     \"tables\":{{\"cash_dividends\":null}}}},{{\"type\":\"Stock\",\
                     \"tables\":{{\"cash_dividends\":[{rows}]}}}}]}}"
                );
                format!("[{}]", if market.quoted().quotes.is_empty() { "" } else { &entry })
            }
            Self::MassiveDividends | Self::TradierDividends => panic!("{target}: dividends alone are asked for"),
            Self::Cboe => market.quoted().cboe(),
            Self::Theta if path == "/v3/option/snapshot/quote" => market.quoted().thetadata_csv(),
            Self::Theta => {
                let header =
                    "timestamp,symbol,bid_size,bid_exchange,bid,bid_condition,ask_size,ask_exchange,ask,ask_condition";
                let at = TimeZone::get("America/New_York").unwrap().to_datetime(ts);
                format!("{header}\n{at},{name},1,1,{bid:.2},0,1,1,{ask:.2},0\n")
            }
            Self::Tradier if path.ends_with("/expirations") => {
                let none = market.quoted().quotes.is_empty();
                let dates = format!("{{\"date\":[\"{}\"]}}", market.expiry);
                format!("{{\"expirations\":{}}}", if none { "null" } else { &dates })
            }
            Self::Tradier if path.ends_with("/quotes") => format!(
                "{{\"quotes\":{{\"quote\":{{\"symbol\":\"{name}\",\"last\":{spot},\"bid\":{bid:.2},\"ask\":{ask:.2},\
                 \"bid_date\":{millis},\"ask_date\":{millis},\"trade_date\":{millis}}}}}}}"
            ),
            Self::Tradier => market.quoted().tradier(),
            Self::Massive => market.quoted().massive(),
            Self::Alpaca if path.starts_with("/v2/stocks") => format!(
                "{{\"{name}\":{{\"latestTrade\":{{\"t\":\"{ts}\",\"p\":{spot}}},\"latestQuote\":{{\"t\":\"{ts}\",\
                 \"ap\":{ask:.2},\"bp\":{bid:.2},\"as\":1,\"bs\":2}}}}}}"
            ),
            Self::Alpaca => market.quoted().alpaca(),
            Self::Schwab if path == "/v1/oauth/token" => {
                format!("{{\"expires_in\":1800,\"access_token\":\"{KEY}\",\"refresh_token\":\"{KEY}\"}}")
            }
            Self::Schwab if path.ends_with("/expirationchain") => {
                let one = format!("{{\"expirationDate\":\"{}\",\"standard\":true}}", market.expiry);
                let is_none = market.quoted().quotes.is_empty();
                format!("{{\"status\":\"SUCCESS\",\"expirationList\":[{}]}}", if is_none { "" } else { &one })
            }
            Self::Schwab if path.ends_with("/quotes") => format!(
                "{{\"{name}\":{{\"assetMainType\":\"EQUITY\",\"symbol\":\"{name}\",\"realtime\":true,\"quote\":{{\
                 \"bidPrice\":{bid:.2},\"askPrice\":{ask:.2},\"lastPrice\":{spot},\"quoteTime\":{millis},\
                 \"tradeTime\":{millis}}}}}}}"
            ),
            Self::Schwab => market.quoted().schwab(),
            Self::Treasury if target.contains("/sofr/") => {
                format!(
                    "{{\"refRates\":[{{\"effectiveDate\":\"2026-11-18\",\"type\":\"SOFR\",\"percentRate\":{}}}]}}",
                    spot / 25.0
                )
            }
            Self::Nasdaq => {
                let row = |day: &str| {
                    format!("{{\"exOrEffDate\":\"{day}\",\"type\":\"CASH\",\"amount\":\"${:.4}\"}}", spot / 100.0)
                };
                let rows = ["12/01/2026", "08/31/2026", "06/01/2026"].map(row).join(",");
                let is_none = market.quoted().quotes.is_empty();
                let data = format!("{{\"dividends\":{{\"rows\":[{rows}]}}}}");
                format!("{{\"data\":{}}}", if is_none { "null" } else { &data })
            }
            Self::Treasury => format!("Date,\"1 Mo\",\"3 Mo\"\n11/19/2026,{},{}\n", spot / 25.0, spot / 25.0),
        }
    }
}
