//! What stands in the document for a reader: what a parameter is for, and an example of a word of a path. Never: which
//! parameters there are, their forms; those are the parsers'.

/// Description of the API.
pub(super) const ABOUT: &str = "All layers read one engine, so a contract has identical Greeks everywhere. Native units: \
    vega, rho and epsilon per 1 %, theta per calendar day, charm, veta and color per year, all per share. Each response comes \
    from one snapshot. No API key is needed; vendors' keys are accepted and ignored, in headers and parameters. Vendors' \
    layers ignore unknown parameters; the native API refuses them.";

/// A parameter: the layer that it means this in (empty: all), its name, what it is for.
type Row = (&'static str, &'static str, &'static str);

const PARAMETERS: &[Row] = &[
    ("native", "underlying", "Underlyings with all their roots, comma-separated: SPX selects SPX and SPXW"),
    ("native", "root", "Roots, comma-separated"),
    ("native", "osym", "Contracts as padded or compact OSI symbols, comma-separated"),
    ("native", "exp", "Expiration dates, comma-separated; * selects all [default: *]"),
    ("native", "min_exp", "First expiration"),
    ("native", "max_exp", "Last expiration"),
    ("native", "min_strike", "Minimum strike"),
    ("native", "max_strike", "Maximum strike"),
    ("native", "min_days", "Minimum days to settlement"),
    ("native", "max_days", "Maximum days to settlement"),
    ("native", "min_delta", "Minimum absolute delta"),
    ("native", "max_delta", "Maximum absolute delta"),
    (
        "native",
        "greeks",
        "Field groups, comma-separated; all is core, extra, exotic and chain; quote needs a daemon with --show-quotes [default: core]",
    ),
    (
        "native",
        "center",
        "Centre of the strikes of each expiry: atm (spot), atf (forward), or a delta: of the call (0.25 or 25), or negative, of the put (-0.25 or -25)",
    ),
    ("native", "strike_count", "Strikes around the centre [default: 1]"),
    ("native", "as_of", "Date or time; selects the last snapshot at or before it; for feeds with past data"),
    ("native", "start", "Start of a series of snapshots"),
    ("native", "end", "End of a series of snapshots"),
    ("native", "interval", "Interval between snapshots of a series: 30s, 15m, 1h, 1d"),
    ("native", "symbol", "Prefixes of symbols, comma-separated"),
    ("native", "limit", "Maximum number of rows; the header Next-Cursor gives the cursor of the next page"),
    ("native", "cursor", "Cursor of the page: only symbols after this one"),
    ("alphavantage", "function", "REALTIME_OPTIONS, or HISTORICAL_OPTIONS for feeds with past data"),
    ("alphavantage", "require_greeks", "Must be true: all rows have Greeks"),
    ("alphavantage", "date", "Date [default: the last day]"),
    ("alphavantage", "contract", "OSI symbol of one contract"),
    ("orats", "ticker", "Symbol of the underlying"),
    ("orats", "dte", "Range of calendar days to expiry: min,max"),
    ("orats", "delta", "Range of the call delta: min,max"),
    ("orats", "tradeDate", "Date, for feeds with past data"),
    ("orats", "expirDate", "Expiration date"),
    ("orats", "strike", "Strike"),
    ("livevol", "root", "Only this root"),
    ("livevol", "date", "Date of the close, for feeds with past data; other feeds ignore it"),
    ("livevol", "option_type", "C or P [default: both]"),
    ("livevol", "min_strike", "Minimum strike"),
    ("livevol", "max_strike", "Maximum strike"),
    ("livevol", "min_expiry", "First expiration"),
    ("livevol", "max_expiry", "Last expiration"),
    ("thetadata_v3", "expiration", "Expiration date; * selects all"),
    ("thetadata_v3", "strike", "Strike; * selects all"),
    ("thetadata_v3", "max_dte", "Maximum calendar days to expiry"),
    ("thetadata_v3", "strike_range", "Number of strikes above and below the money, for each expiry"),
    ("thetadata_v3", "start_time", "Start time of day [default: the open]"),
    ("thetadata_v3", "end_time", "End time of day [default: the close]"),
    ("thetadata_v3", "interval", "Interval between rows [default: 1s]"),
    ("thetadata_v3", "time_of_day", "Time of day"),
    ("thetadata_v3", "date", "Date"),
    ("thetadata_v3", "start_date", "Start date"),
    ("thetadata_v3", "end_date", "End date"),
    ("thetadata_v2", "root", "Symbol of the underlying"),
    ("thetadata_v2", "exp", "Expiration date, YYYYMMDD; in snapshots, 0 selects all"),
    ("thetadata_v2", "strike", "Strike in thousandths"),
    ("thetadata_v2", "ivl", "Interval between rows in milliseconds; for at_time, milliseconds since midnight"),
    ("thetadata_v2", "rth", "true starts rows at the open of the session [default: true]"),
    ("thetadata_v2", "start_time", "Start time of day, milliseconds since midnight"),
    ("thetadata_v2", "end_time", "End time of day, milliseconds since midnight"),
    ("thetadata_v2", "start_date", "Start date, YYYYMMDD"),
    ("thetadata_v2", "end_date", "End date, YYYYMMDD"),
    ("thetadata_v2", "use_csv", "true selects CSV"),
    ("tradier", "expiration", "Expiration date [default: all]"),
    ("tradier", "greeks", "true adds the Greeks"),
    ("tradier", "contractSize", "true adds the contract size"),
    ("tradier", "expirationType", "true adds the expiration type"),
    ("tradier", "strikes", "true adds the strikes"),
    ("tradier", "symbols", "Symbols, comma-separated"),
    ("alpaca", "symbols", "Contracts, OSI symbols, comma-separated"),
    ("alpaca", "root_symbol", "Only this root"),
    ("alpaca", "type", "call or put"),
    ("alpaca", "strike_price_gte", "Minimum strike"),
    ("alpaca", "strike_price_lte", "Maximum strike"),
    ("alpaca", "expiration_date", "Expiration date"),
    ("alpaca", "expiration_date_gte", "First expiration"),
    ("alpaca", "expiration_date_lte", "Last expiration"),
    ("alpaca", "updated_since", "Only contracts valued at or after this time"),
    ("alpaca", "limit", "Contracts per page [default: 100]"),
    ("alpaca", "page_token", "next_page_token of the previous page"),
    ("intrinio", "type", "call or put"),
    ("intrinio", "strike", "Strike"),
    ("intrinio", "strike_greater_than", "Strikes above this"),
    ("intrinio", "strike_less_than", "Strikes below this"),
    ("intrinio", "include_related_symbols", "true includes adjusted roots"),
    ("intrinio", "show_stats", "Adds Greeks and volatility [default: true]"),
    ("intrinio", "show_extended_price", "Adds price fields"),
    ("intrinio", "moneyness", "Moneyness: all, in, out of or near the money"),
    ("intrinio", "after", "First expiration"),
    ("intrinio", "before", "Last expiration"),
    ("marketdata", "side", "call or put"),
    ("marketdata", "nonstandard", "true includes adjusted roots"),
    ("marketdata", "expiration", "Expiration date, or all"),
    ("marketdata", "from", "First expiration; for one contract, the start date"),
    ("marketdata", "to", "End of the expirations, exclusive; for one contract, the end date"),
    ("marketdata", "dte", "Calendar days to expiry, numbers or ranges, comma-separated"),
    ("marketdata", "range", "itm, otm or all"),
    ("marketdata", "strikeLimit", "Number of strikes around the money"),
    ("marketdata", "am", "true selects AM-settled contracts only, false excludes them"),
    ("marketdata", "pm", "true selects PM-settled contracts only, false excludes them"),
    ("marketdata", "weekly", "true selects weekly expirations, false excludes them"),
    ("marketdata", "monthly", "true selects monthly expirations, false excludes them"),
    ("marketdata", "quarterly", "true selects quarterly expirations, false excludes them"),
    ("marketdata", "month", "Expirations of this month, 1 to 12"),
    ("marketdata", "year", "Expirations of this year"),
    ("marketdata", "strike", "Strikes, numbers or ranges, comma-separated"),
    ("marketdata", "delta", "Deltas, numbers or ranges, comma-separated"),
    ("marketdata", "date", "Date, for feeds with past data"),
    ("marketdata", "dateformat", "Format of times"),
    ("marketdata", "human", "true gives columns readable names"),
    ("marketdata", "columns", "Only these columns, comma-separated"),
    ("marketdata", "offset", "Number of rows to skip"),
    ("marketdata", "limit", "Maximum number of rows"),
    ("marketdata", "headers", "false omits the header of a table"),
    ("polygon", "cursor", "Cursor from next_url"),
    ("polygon", "limit", "Contracts per page [default: 10]"),
    ("polygon", "sort", "Sort key"),
    ("polygon", "order", "asc or desc"),
    ("polygon", "contract_type", "call or put"),
    ("polygon", "strike_price", "Strike"),
    ("polygon", "strike_price.gte", "Minimum strike"),
    ("polygon", "strike_price.lte", "Maximum strike"),
    ("polygon", "strike_price.gt", "Strikes above this"),
    ("polygon", "strike_price.lt", "Strikes below this"),
    ("polygon", "expiration_date", "Expiration date"),
    ("polygon", "expiration_date.gte", "First expiration"),
    ("polygon", "expiration_date.lte", "Last expiration"),
    ("polygon", "expiration_date.gt", "Expirations after this"),
    ("polygon", "expiration_date.lt", "Expirations before this"),
    ("", "format", "Format of the response"),
    ("", "datatype", "Format of the response"),
    ("", "right", "Calls, puts or both"),
    ("", "symbol", "Symbol of the underlying"),
    ("", "apikey", "Accepted and ignored"),
    ("", "token", "Accepted and ignored"),
];

/// Words of paths: name, what it is, and examples; several are all that there are.
const SEGMENTS: &[(&str, &str, &[&str])] = &[
    ("symbol", "Symbol of the underlying", &["SPY"]),
    ("underlying", "Symbol of the underlying", &["SPY"]),
    ("expiration", "Expiration date", &["2026-12-18"]),
    ("order", "Which Greeks", &["all", "first_order", "second_order", "third_order", "implied_volatility"]),
    (
        "what",
        "Kind of data",
        &["quote", "eod", "greeks", "greeks_second_order", "greeks_third_order", "all_greeks", "implied_volatility"],
    ),
    ("contract", "OSI symbol of the contract", &["O:SPY261218C00720000"]),
    ("optionSymbol", "OSI symbol of the contract", &["SPY261218C00720000"]),
];

/// Former names of fields, each with its present name. A description marks them as deprecated.
const DEPRECATED: &[(&str, &str)] = &[("rough", "preliminary")];

/// The present name of a deprecated field; `None`: the field is not deprecated.
pub(super) fn present_name(field: &str) -> Option<&'static str> {
    DEPRECATED.iter().find(|(former, _)| *former == field).map(|&(_, present)| present)
}

/// What a parameter of a layer is for.
pub(super) fn of_parameter(layer: &str, name: &str) -> Option<&'static str> {
    let of = |owner: &str| PARAMETERS.iter().find(|(of, known, _)| *of == owner && *known == name);
    of(layer).or_else(|| of("")).map(|&(_, _, words)| words)
}

/// The words of a path's pattern.
pub(super) fn segments(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.split('/').filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'))
}

/// What a word of a path is.
pub(super) fn of_segment(name: &str) -> &'static str {
    SEGMENTS.iter().find(|(known, ..)| *known == name).map_or("", |&(_, words, _)| words)
}

/// Examples of a word of a path; several are all that there are.
pub(super) fn samples_of_segment(name: &str) -> &'static [&'static str] {
    SEGMENTS.iter().find(|(known, ..)| *known == name).map_or(&["SPY"], |&(_, _, samples)| samples)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Rows of the table that nothing reads, of all (layer, parameter) that are read.
    pub(crate) fn unused(read: &[(String, String)]) -> Vec<String> {
        let is_read = |owner: &str, name: &str| {
            read.iter()
                .any(|(layer, known)| known == name && (layer == owner || (owner.is_empty() && !has_own(layer, name))))
        };
        PARAMETERS
            .iter()
            .filter(|(of, name, _)| !is_read(of, name))
            .map(|(of, name, _)| format!("{of} {name}"))
            .collect()
    }

    fn has_own(layer: &str, name: &str) -> bool {
        PARAMETERS.iter().any(|(of, known, _)| *of == layer && *known == name)
    }
}
