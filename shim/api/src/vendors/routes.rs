//! All layers, and the routes: from a raw path to its layer and the words in the path.
//!
//! A path is split at `/` before it is decoded, so that `BRK%2FB` is one segment. Never: a parameter of the query.

use super::layer::Layer;
use super::{
    alpaca, alphavantage, intrinio, intrinio_past, livevol, marketdata, native, native_exposure, native_metrics,
    native_symbols, orats, orats_term, polygon, polygon_analytics, thetadata_lists, thetadata_v2, thetadata_v2_bulk,
    thetadata_v2_past, thetadata_v3, thetadata_v3_past, tradier,
};
use http::percent::decode_strict;

/// The names of the layers: in the metrics, on the page of examples and in `docs/compat.md`.
pub const NAMES: [&str; 11] = [
    "native",
    "alphavantage",
    "orats",
    "livevol",
    "thetadata_v3",
    "thetadata_v2",
    "tradier",
    "alpaca",
    "intrinio",
    "marketdata",
    "polygon",
];

/// Every endpoint of every layer, in the order in which paths are tried.
pub const LAYERS: &[&Layer] = &[
    &native::NATIVE,
    &native_symbols::SYMBOLS,
    &native_metrics::METRICS,
    &native_exposure::EXPOSURE,
    &alphavantage::OPTIONS,
    &orats::STRIKES,
    &orats::STRIKES_JSON,
    &orats::STRIKES_CSV,
    &orats::HIST_STRIKES,
    &orats::HIST_STRIKES_JSON,
    &orats::HIST_STRIKES_CSV,
    &orats::HIST_OPTIONS,
    &orats_term::TICKERS,
    &orats_term::TICKERS_JSON,
    &orats_term::SUMMARIES,
    &orats_term::HIST_SUMMARIES,
    &orats_term::CORES,
    &orats_term::HIST_CORES,
    &orats_term::MONIES,
    &orats_term::HIST_MONIES,
    &livevol::QUOTES,
    &livevol::QUOTES_LIVE,
    &livevol::QUOTES_DELAYED,
    &thetadata_v3::GREEKS,
    &thetadata_v3_past::GREEKS,
    &thetadata_v3_past::QUOTE,
    &thetadata_v3_past::EOD,
    &thetadata_v3_past::QUOTE_AT,
    &thetadata_lists::SYMBOLS,
    &thetadata_lists::EXPIRATIONS,
    &thetadata_lists::STRIKES,
    &thetadata_lists::DATES,
    &thetadata_lists::CONTRACTS,
    &thetadata_v3::REST,
    &thetadata_v2::GREEKS,
    &thetadata_v2::SECOND_ORDER,
    &thetadata_v2::ALL_GREEKS,
    &thetadata_v2_past::HISTORY,
    &thetadata_v2_past::QUOTE_AT,
    &thetadata_v2_bulk::HISTORY,
    &thetadata_v2_bulk::QUOTE_AT,
    &thetadata_lists::OLDER_ROOTS,
    &thetadata_lists::OLDER_EXPIRATIONS,
    &thetadata_lists::OLDER_STRIKES,
    &thetadata_lists::OLDER_DATES,
    &thetadata_lists::OLDER_CONTRACTS,
    &thetadata_v2::REST,
    &tradier::CHAIN,
    &tradier::EXPIRATIONS,
    &tradier::QUOTES,
    &tradier::STRIKES,
    &alpaca::CONTRACTS,
    &alpaca::CHAIN,
    &alpaca::REST,
    &intrinio::CHAIN,
    // before the paths of Intrinio, which take everything that begins with /options
    &polygon_analytics::ANALYTICS,
    &intrinio_past::CHAIN_EOD,
    &intrinio_past::PRICES_EOD,
    &intrinio_past::GREEKS_BY_TICKER,
    &intrinio_past::GREEKS,
    &intrinio::EXPIRATIONS,
    &intrinio::EXPIRATIONS_EOD,
    &intrinio::EXPIRATIONS_REALTIME,
    &intrinio::REST,
    &marketdata::CHAIN,
    &marketdata::QUOTES,
    &marketdata::EXPIRATIONS,
    &marketdata::STRIKES,
    &marketdata::LOOKUP,
    &marketdata::USER,
    &marketdata::STATUS,
    &marketdata::REST,
    &polygon::CHAIN,
    &polygon::CONTRACT,
    &polygon::UNIVERSAL,
    &polygon::REST,
];

/// The words of a path, by the names that the layer's pattern gives them.
pub type Segments = Vec<(&'static str, String)>;

/// The layer that answers at a raw path, with or without a trailing slash, and the words in the path.
#[must_use]
pub fn layer_at(raw_path: &str) -> Option<(&'static Layer, Segments)> {
    LAYERS.iter().find_map(|layer| Some((*layer, segments_of(layer.path, raw_path)?)))
}

/// The words of a raw path that has the form of a pattern, with or without a trailing slash.
#[must_use]
pub fn segments_of(pattern: &'static str, raw_path: &str) -> Option<Segments> {
    matching(pattern, raw_path.strip_suffix('/').unwrap_or(raw_path))
}

/// The words of a path that has the form of a pattern. A pattern without words is compared as a whole.
fn matching(pattern: &'static str, path: &str) -> Option<Segments> {
    if !pattern.contains('{') {
        return (decode_strict(path)? == pattern).then(Segments::new);
    }
    let mut segments = Segments::new();
    let mut rest = Some(path);
    for piece in pattern.split('/') {
        let at = rest?;
        let variable = piece.strip_prefix('{').and_then(|piece| piece.strip_suffix('}'));
        if let Some(name) = variable.and_then(|name| name.strip_suffix('*')) {
            segments.push((name, decode_strict(at)?.into_owned()));
            return Some(segments);
        }
        let (segment, after) = at.split_once('/').map_or((at, None), |(segment, after)| (segment, Some(after)));
        let segment = decode_strict(segment)?;
        match variable {
            Some(_) if segment.is_empty() => return None,
            Some(name) => segments.push((name, segment.into_owned())),
            None if segment != piece => return None,
            None => {}
        }
        rest = after;
    }
    rest.is_none().then_some(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(pattern: &'static str, path: &str) -> Option<String> {
        let words = matching(pattern, path)?;
        Some(words.iter().map(|(name, word)| format!("{name}={word}")).collect::<Vec<_>>().join(" "))
    }

    /// A path of a pattern's form.
    fn sample(pattern: &str) -> String {
        let word = |piece: &str| {
            match piece {
                variable if variable.ends_with("*}") => "some/thing",
                variable if variable.starts_with('{') => "ACME",
                fixed => fixed,
            }
            .to_owned()
        };
        pattern.split('/').map(word).collect::<Vec<_>>().join("/")
    }

    #[test]
    fn no_path_is_shadowed_by_one_before_it() {
        for layer in LAYERS {
            for path in [sample(layer.path), sample(layer.path) + "/"] {
                let found = layer_at(&path).map(|(found, _)| found.path);
                assert_eq!(found, Some(layer.path), "{path} is meant for {}", layer.name);
            }
        }
        for page in ["/", "/examples", "/openapi.json", "/app/app.js", "/health", "/metrics"] {
            assert!(layer_at(page).is_none(), "{page} is no layer's");
        }
    }

    #[test]
    fn every_layer_has_one_name_everywhere() {
        let table = include_str!("../../../../docs/compat.md");
        for name in NAMES {
            assert!(LAYERS.iter().any(|layer| layer.name == name), "{name} has no endpoint");
            assert!(table.contains(&format!("`{name}`")), "{name} is not in docs/compat.md");
        }
        for layer in LAYERS {
            assert!(NAMES.contains(&layer.name), "{} is not among the names", layer.name);
        }
    }

    #[test]
    fn a_pattern_takes_segments_apart_before_they_are_decoded() {
        let chain = "/options/chain/{symbol}/{date}/realtime";
        assert_eq!(words(chain, "/options/chain/BRK%2FB/%2A/realtime").as_deref(), Some("symbol=BRK/B date=*"));
        assert_eq!(words(chain, "/options/chain/BRK/B/2026-12-18/realtime"), None);
        assert_eq!(words(chain, "/options/chain//2026-12-18/realtime"), None);
        assert_eq!(words(chain, "/options/chain/A/2026-12-18"), None);
        assert_eq!(words("/l1/greeks", "/l1%2Fgreeks").as_deref(), Some(""));
        assert_eq!(words("/l1/greeks", "/l1/%67reeks").as_deref(), Some(""));
        assert_eq!(words("/v2/{rest*}", "/v2/a/b").as_deref(), Some("rest=a/b"));
        assert_eq!(words("/v2/{rest*}", "/v2"), None);
    }
}
