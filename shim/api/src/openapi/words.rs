//! What stands in the document for a reader: what a parameter is for, and an example of a word of a path. Never: which
//! parameters there are, their forms; those are the parsers'.

/// About the whole.
pub(super) const ABOUT: &str = "Every layer reads one engine, so a contract has the same Greeks everywhere. Native units: \
    vega, rho and epsilon per 1 %, theta per calendar day, charm, veta and color per year, all per share. Responses are of \
    one snapshot. No key is needed; those of vendors are accepted and ignored, in headers and parameters. Parameters that \
    a vendor's layer does not know are ignored; the native API refuses them.";

/// A parameter: the layer that it means this in (empty: all), its name, what it is for.
type Row = (&'static str, &'static str, &'static str);

const PARAMETERS: &[Row] = &[
    ("native", "underlying", "Every root of each underlying, comma-separated: SPX is SPX and SPXW"),
    ("native", "root", "Exactly these roots, comma-separated"),
    ("native", "osym", "These contracts, padded or compact OSI symbols, comma-separated"),
    ("native", "exp", "Expiration dates, comma-separated; all of them without it, or with *"),
    ("native", "min_exp", "First expiration"),
    ("native", "max_exp", "Last expiration"),
    ("native", "min_strike", "Least strike"),
    ("native", "max_strike", "Greatest strike"),
    ("native", "min_days", "Least days to settlement"),
    ("native", "max_days", "Most days to settlement"),
    ("native", "min_delta", "Least absolute delta"),
    ("native", "max_delta", "Greatest absolute delta"),
    (
        "native",
        "greeks",
        "Field groups, comma-separated; all is core, extra, exotic and chain; quote needs a daemon that shows quotes [default: core]",
    ),
    (
        "native",
        "center",
        "atm (spot), atf (forward), or a delta, for each expiry: of the call (0.25 or 25), or negative of the put (-0.25 or -25)",
    ),
    ("native", "strike_count", "Strikes around the centre [default: 1]"),
    ("native", "as_of", "The last snapshot at or before a date or time; of feeds with a past"),
    ("native", "start", "First moment of a series of snapshots"),
    ("native", "end", "Last moment of a series of snapshots"),
    ("native", "interval", "From one snapshot of a series to the next: 30s, 15m, 1h, 1d"),
    ("native", "symbol", "What symbols begin with, comma-separated"),
    ("native", "limit", "Most rows; the header Next-Cursor says where more follow"),
    ("native", "cursor", "Only symbols after this one"),
    ("alphavantage", "function", "REALTIME_OPTIONS, or HISTORICAL_OPTIONS of feeds with a past"),
    ("alphavantage", "require_greeks", "Must be true: without Greeks there is nothing to show"),
    ("alphavantage", "date", "The day; the last one without it"),
    ("alphavantage", "contract", "At most this contract, an OSI symbol"),
    ("orats", "ticker", "The underlying's symbol; of a list the first"),
    ("orats", "dte", "Calendar days to expiry: min,max"),
    ("orats", "delta", "Delta of the call: min,max"),
    ("orats", "tradeDate", "The day, of feeds with a past"),
    ("orats", "expirDate", "The date of expiry"),
    ("orats", "strike", "The strike"),
    ("livevol", "root", "Only this root"),
    ("livevol", "date", "The close of this day, where days are recorded; a feed of the present takes any text"),
    ("livevol", "option_type", "C or P; both without it"),
    ("livevol", "min_strike", "Least strike"),
    ("livevol", "max_strike", "Greatest strike"),
    ("livevol", "min_expiry", "First expiration"),
    ("livevol", "max_expiry", "Last expiration"),
    ("thetadata_v3", "expiration", "The date of expiry; * is all of them"),
    ("thetadata_v3", "strike", "The strike; * is all of them"),
    ("thetadata_v3", "max_dte", "Most calendar days to expiry"),
    ("thetadata_v3", "strike_range", "So many strikes above and below the money, for each expiry"),
    ("thetadata_v3", "start_time", "First time of day [default: the open]"),
    ("thetadata_v3", "end_time", "Last time of day [default: the close]"),
    ("thetadata_v3", "interval", "From one row to the next [default: 1s]"),
    ("thetadata_v3", "time_of_day", "The time of day"),
    ("thetadata_v3", "date", "The day"),
    ("thetadata_v3", "start_date", "The first day"),
    ("thetadata_v3", "end_date", "The last day"),
    ("thetadata_v2", "root", "The underlying's symbol"),
    ("thetadata_v2", "exp", "The date of expiry, YYYYMMDD; 0 is all of them in snapshots"),
    ("thetadata_v2", "strike", "The strike in thousandths"),
    ("thetadata_v2", "ivl", "Milliseconds from one row to the next; of at_time the milliseconds since midnight"),
    ("thetadata_v2", "rth", "Whether rows begin with the session [default: true]"),
    ("thetadata_v2", "start_time", "First time of day, milliseconds since midnight"),
    ("thetadata_v2", "end_time", "Last time of day, milliseconds since midnight"),
    ("thetadata_v2", "start_date", "The first day, YYYYMMDD"),
    ("thetadata_v2", "end_date", "The last day, YYYYMMDD"),
    ("thetadata_v2", "use_csv", "true asks for CSV"),
    ("tradier", "expiration", "The date of expiry; all of them without it"),
    ("tradier", "greeks", "true adds the Greeks"),
    ("tradier", "contractSize", "true adds the size of contracts"),
    ("tradier", "expirationType", "true adds the type of expirations"),
    ("tradier", "strikes", "true adds the strikes"),
    ("tradier", "symbols", "Symbols, comma-separated"),
    ("alpaca", "symbols", "Contracts, OSI symbols, comma-separated"),
    ("alpaca", "root_symbol", "Only this root"),
    ("alpaca", "type", "call or put"),
    ("alpaca", "strike_price_gte", "Least strike"),
    ("alpaca", "strike_price_lte", "Greatest strike"),
    ("alpaca", "expiration_date", "The date of expiry"),
    ("alpaca", "expiration_date_gte", "First expiration"),
    ("alpaca", "expiration_date_lte", "Last expiration"),
    ("alpaca", "updated_since", "Only what was valued since this time"),
    ("alpaca", "limit", "Contracts of a page [default: 100]"),
    ("alpaca", "page_token", "next_page_token of the page before"),
    ("intrinio", "type", "call or put"),
    ("intrinio", "strike", "The strike"),
    ("intrinio", "strike_greater_than", "Strikes above this"),
    ("intrinio", "strike_less_than", "Strikes below this"),
    ("intrinio", "include_related_symbols", "Adjusted roots too"),
    ("intrinio", "show_stats", "Adds Greeks and volatility [default: true]"),
    ("intrinio", "show_extended_price", "Adds fields of prices"),
    ("intrinio", "moneyness", "Which side of the money"),
    ("intrinio", "after", "First expiration"),
    ("intrinio", "before", "Last expiration"),
    ("marketdata", "side", "call or put"),
    ("marketdata", "nonstandard", "Adjusted roots too"),
    ("marketdata", "expiration", "The date of expiry, or all"),
    ("marketdata", "from", "First expiration; of a contract the first day"),
    ("marketdata", "to", "Last expiration, left out itself; of a contract the last day"),
    ("marketdata", "dte", "Calendar days to expiry, numbers or ranges, comma-separated"),
    ("marketdata", "range", "itm, otm or all"),
    ("marketdata", "strikeLimit", "So many strikes around the money"),
    ("marketdata", "am", "Whether contracts that settle in the morning are shown"),
    ("marketdata", "pm", "Whether contracts that settle in the afternoon are shown"),
    ("marketdata", "weekly", "Whether weekly expirations are shown"),
    ("marketdata", "monthly", "Whether monthly expirations are shown"),
    ("marketdata", "quarterly", "Whether quarterly expirations are shown"),
    ("marketdata", "month", "Expirations of this month, 1 to 12"),
    ("marketdata", "year", "Expirations of this year"),
    ("marketdata", "strike", "Strikes, numbers or ranges, comma-separated"),
    ("marketdata", "delta", "Deltas, numbers or ranges, comma-separated"),
    ("marketdata", "date", "The day, of feeds with a past"),
    ("marketdata", "dateformat", "How times are written"),
    ("marketdata", "human", "Names for readers"),
    ("marketdata", "columns", "Only these columns, comma-separated"),
    ("marketdata", "offset", "Rows to leave out at the beginning"),
    ("marketdata", "limit", "Most rows"),
    ("marketdata", "headers", "false leaves the header of a table out"),
    ("polygon", "cursor", "That of next_url"),
    ("polygon", "limit", "Contracts of a page [default: 10]"),
    ("polygon", "sort", "What the rows are sorted by"),
    ("polygon", "order", "asc or desc"),
    ("polygon", "contract_type", "call or put"),
    ("polygon", "strike_price", "The strike"),
    ("polygon", "strike_price.gte", "Least strike"),
    ("polygon", "strike_price.lte", "Greatest strike"),
    ("polygon", "strike_price.gt", "Strikes above this"),
    ("polygon", "strike_price.lt", "Strikes below this"),
    ("polygon", "expiration_date", "The date of expiry"),
    ("polygon", "expiration_date.gte", "First expiration"),
    ("polygon", "expiration_date.lte", "Last expiration"),
    ("polygon", "expiration_date.gt", "Expirations after this"),
    ("polygon", "expiration_date.lt", "Expirations before this"),
    ("", "format", "The form of the answer"),
    ("", "datatype", "The form of the answer"),
    ("", "right", "Calls, puts or both"),
    ("", "symbol", "The underlying's symbol"),
    ("", "apikey", "Accepted and ignored"),
    ("", "token", "Accepted and ignored"),
];

/// Words of paths: name, what it is, and examples; several are all that there are.
const SEGMENTS: &[(&str, &str, &[&str])] = &[
    ("symbol", "The underlying's symbol", &["SPY"]),
    ("underlying", "The underlying's symbol", &["SPY"]),
    ("expiration", "The date of expiry", &["2026-12-18"]),
    ("order", "Which Greeks", &["all", "first_order", "second_order", "third_order", "implied_volatility"]),
    (
        "what",
        "What of the contract",
        &["quote", "eod", "greeks", "greeks_second_order", "greeks_third_order", "all_greeks", "implied_volatility"],
    ),
    ("contract", "The contract's OSI symbol", &["O:SPY261218C00720000"]),
    ("optionSymbol", "The contract's OSI symbol", &["SPY261218C00720000"]),
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
