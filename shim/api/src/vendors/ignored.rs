//! Parameters that are accepted and have no effect, each with its reason, and the rule that none of them selects data.
//! Never: what a parser reads.
//!
//! The pages of `docs/compat` and `/openapi.json` have the same list; a test compares them.

use crate::query::Query;
use crate::refusal::Refusal;

/// A parameter that a vendor or its clients have and that has no effect here.
#[derive(Clone, Copy, Debug)]
pub struct IgnoredParameter {
    /// Name of the layer; empty: all layers but the native one.
    layer: &'static str,
    /// Beginning of the paths where it has no effect; empty: all paths of the layer.
    path: &'static str,
    /// Name of the parameter.
    pub name: &'static str,
    /// Reason why it has no effect.
    pub reason: &'static str,
}

const fn row(layer: &'static str, path: &'static str, name: &'static str, reason: &'static str) -> IgnoredParameter {
    IgnoredParameter { layer, path, name, reason }
}

const NO_KEY: &str = "no key is needed";
const OF_THE_PRESENT: &str = "clients add it to every request; only endpoints of the past select days";
const ONE_ENGINE: &str = "there is one engine";
const ONE_FEED: &str = "the feed is that of the daemon";
const OWN_INPUTS: &str = "values use the inputs of the daemon";
const NO_MARKET_DATA: &str = "applied to zeros it would empty the chain";
const LIST: &str = "a list is whole, in JSON";
const BULK: &str = "the interface does not have it on this path";
const ONE_PAGE: &str = "every row is in one response, in order of time";
const DOT: &str = "the name has a dot";
const DATES: &str = "/v1/options/expirations/";
const STRIKES: &str = "/v1/options/strikes/";

const IGNORED: &[IgnoredParameter] = &[
    row("", "", "apikey", NO_KEY),
    row("", "", "api_key", NO_KEY),
    row("", "", "apiKey", NO_KEY),
    row("", "", "token", NO_KEY),
    row("", "", "start_date", OF_THE_PRESENT),
    row("", "", "end_date", OF_THE_PRESENT),
    row("alphavantage", "", "entitlement", ONE_FEED),
    row("alphavantage", "", "source", ONE_FEED),
    row("alphavantage", "", "outputsize", "a chain is always whole"),
    row("orats", "", "fields", "every column is sent"),
    row("livevol", "", "seq_no", "snapshots have no numbers of that kind"),
    row("thetadata_v3", "", "annual_dividend", OWN_INPUTS),
    row("thetadata_v3", "", "rate_type", OWN_INPUTS),
    row("thetadata_v3", "", "rate_value", OWN_INPUTS),
    row("thetadata_v3", "", "stock_price", OWN_INPUTS),
    row("thetadata_v3", "", "version", ONE_ENGINE),
    row("thetadata_v3", "", "min_time", "every contract is of one snapshot"),
    row("thetadata_v3", "", "use_market_value", OWN_INPUTS),
    row("thetadata_v2", "", "annual_div", OWN_INPUTS),
    row("thetadata_v2", "", "rate", OWN_INPUTS),
    row("thetadata_v2", "", "rate_value", OWN_INPUTS),
    row("thetadata_v2", "", "under_price", OWN_INPUTS),
    row("thetadata_v2", "", "pretty_time", "times are milliseconds"),
    row("thetadata_v2", "/v2/bulk_snapshot/", "strike", BULK),
    row("thetadata_v2", "/v2/bulk_snapshot/", "strike_range", BULK),
    row("tradier", "", "includeAllRoots", "all roots are always there"),
    row("tradier", "/v1/markets/quotes", "greeks", "an underlying has none"),
    row("tradier", "/v1/markets/options/expirations", "format", LIST),
    row("tradier", "/v1/markets/options/strikes", "format", LIST),
    row("tradier", "/v1/markets/quotes", "format", LIST),
    row("alpaca", "", "feed", ONE_FEED),
    row("intrinio", "", "source", ONE_FEED),
    row("intrinio", "", "stock_price_source", ONE_FEED),
    row("intrinio", "", "delay", ONE_FEED),
    row("intrinio", "", "model", ONE_ENGINE),
    row("intrinio", "", "iv_mode", ONE_ENGINE),
    row("intrinio", "", "recalculate_stats", ONE_ENGINE),
    row("intrinio", "", "page_size", ONE_PAGE),
    row("intrinio", "", "next_page", ONE_PAGE),
    row("intrinio", "/options/expirations/", "format", LIST),
    row("marketdata", "", "mode", ONE_FEED),
    row("marketdata", "", "maxage", ONE_FEED),
    row("marketdata", "", "minBid", NO_MARKET_DATA),
    row("marketdata", "", "maxBid", NO_MARKET_DATA),
    row("marketdata", "", "minAsk", NO_MARKET_DATA),
    row("marketdata", "", "maxAsk", NO_MARKET_DATA),
    row("marketdata", "", "maxBidAskSpread", NO_MARKET_DATA),
    row("marketdata", "", "maxBidAskSpreadPct", NO_MARKET_DATA),
    row("marketdata", DATES, "format", LIST),
    row("marketdata", DATES, "columns", LIST),
    row("marketdata", DATES, "human", LIST),
    row("marketdata", DATES, "headers", LIST),
    row("marketdata", DATES, "limit", LIST),
    row("marketdata", DATES, "offset", LIST),
    row("marketdata", STRIKES, "format", LIST),
    row("marketdata", STRIKES, "columns", LIST),
    row("marketdata", STRIKES, "human", LIST),
    row("marketdata", STRIKES, "headers", LIST),
    row("marketdata", STRIKES, "limit", LIST),
    row("marketdata", STRIKES, "offset", LIST),
    row("marketdata", STRIKES, "dateformat", LIST),
    row("polygon", "/options/v1/analytics", "limit", ONE_PAGE),
    row("polygon", "/options/v1/analytics", "sort", ONE_PAGE),
    row("polygon", "", "strike_price_gte", DOT),
    row("polygon", "", "strike_price_gt", DOT),
    row("polygon", "", "strike_price_lte", DOT),
    row("polygon", "", "strike_price_lt", DOT),
];

/// Words in the names of parameters that select a date, time, symbol or expiration.
const SELECTING_WORDS: &[&str] = &[
    "after",
    "before",
    "date",
    "dates",
    "day",
    "days",
    "dte",
    "end",
    "exp",
    "expir",
    "expiration",
    "expirations",
    "expiry",
    "from",
    "month",
    "root",
    "since",
    "start",
    "symbol",
    "symbols",
    "ticker",
    "tickers",
    "time",
    "to",
    "underlying",
    "underlyings",
    "until",
    "year",
];
/// Names of parameters that select a date, time, symbol or expiration, in lower case and without separators.
const SELECTING_NAMES: &[&str] = &["asof", "contract", "contracts", "osym"];

/// The parameters that have no effect on the endpoint at `path` of `layer`.
pub fn ignored<'a>(layer: &'a str, path: &'a str) -> impl Iterator<Item = &'static IgnoredParameter> + use<'a> {
    let of_layer = move |of: &&IgnoredParameter| of.layer == layer || (of.layer.is_empty() && layer != "native");
    IGNORED.iter().filter(of_layer).filter(move |of| path.starts_with(of.path))
}

/// True if a parameter of this name selects a date, time, symbol or expiration: `tradeDate`, `start_time`,
/// `Expiration`.
#[must_use]
pub fn selects_data(name: &str) -> bool {
    let letters = || name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
    if SELECTING_NAMES.iter().any(|known| letters().eq(known.chars())) {
        return true;
    }
    let (mut word, mut follows_lower) = (String::new(), false);
    for letter in name.chars().chain(['_']) {
        let begins = !letter.is_ascii_alphanumeric() || (letter.is_ascii_uppercase() && follows_lower);
        if begins && SELECTING_WORDS.contains(&word.as_str()) {
            return true;
        }
        if begins {
            word.clear();
        }
        if letter.is_ascii_alphanumeric() {
            word.push(letter.to_ascii_lowercase());
        }
        follows_lower = letter.is_ascii_lowercase();
    }
    false
}

/// Refuses a request with a parameter that selects data, where the answer would be of other data. Called after the
/// endpoint has read the query.
///
/// # Errors
/// [`Refusal::WithoutEffect`]: the endpoint does not read such a parameter, and it is not in the list of ignored ones.
/// [`Refusal::Repeated`]: it is given twice with different values.
pub fn check(layer: &str, path: &str, query: &Query<'_>) -> Result<(), Refusal> {
    for (name, value, is_read) in query.usage().filter(|(name, ..)| selects_data(name)) {
        if !is_read {
            match ignored(layer, path).any(|of| of.name == name) {
                true => continue,
                false => return Err(Refusal::without_effect(name)),
            }
        }
        let differs = |&(other, given, is_read): &(&str, &str, bool)| {
            is_read && other.eq_ignore_ascii_case(name) && !given.eq_ignore_ascii_case(value)
        };
        if query.usage().any(|pair| differs(&pair)) {
            return Err(Refusal::repeated(name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendors::layer::Layer;
    use crate::vendors::routes::LAYERS;
    use std::collections::BTreeSet;

    #[test]
    fn names_that_select_data_differ_from_others() {
        for name in
            ["date", "tradeDate", "start_date", "Expiration", "EXPIRATION", "expiration_date.gte", "asOf", "dte"]
        {
            assert!(selects_data(name), "{name}");
        }
        for name in ["dateformat", "timezone", "strike", "contractSize", "entitlement", "feed", "includeAllRoots", ""] {
            assert!(!selects_data(name), "{name}");
        }
    }

    /// The pages of `docs/compat` and the layers that they are about; the page above them is about all.
    const PAGES: [(&str, &[&str]); 10] = [
        ("compat", &[""]),
        ("compat/alphavantage", &["alphavantage"]),
        ("compat/orats", &["orats"]),
        ("compat/livevol", &["livevol"]),
        ("compat/thetadata", &["thetadata_v3", "thetadata_v2"]),
        ("compat/tradier", &["tradier"]),
        ("compat/alpaca", &["alpaca"]),
        ("compat/intrinio", &["intrinio"]),
        ("compat/marketdata", &["marketdata"]),
        ("compat/polygon", &["polygon"]),
    ];

    #[test]
    fn the_documents_have_every_ignored_parameter_and_no_other() {
        for (page, layers) in PAGES {
            let path = format!("{}/../../docs/{page}.md", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(path).unwrap();
            let rows = text.lines().filter(|line| line.starts_with("| ignored"));
            let documented: BTreeSet<&str> = rows.flat_map(|row| row.split('`').skip(1).step_by(2)).collect();
            let own = IGNORED.iter().filter(|of| layers.contains(&of.layer));
            assert_eq!(documented, own.map(|of| of.name).collect(), "{page}");
        }
    }

    #[test]
    fn every_row_is_of_some_endpoint() {
        for of in IGNORED {
            let is_its =
                |layer: &&&Layer| layer.path.starts_with(of.path) && (layer.name == of.layer || of.layer.is_empty());
            assert!(LAYERS.iter().any(|layer| is_its(&layer)), "{of:?}");
        }
    }
}
