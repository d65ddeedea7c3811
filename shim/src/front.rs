//! Pages for people: the viewer at `/`, and at `/examples` the state of feed and snapshot with links to a request of
//! each layer and format. Never: a computation; a script on the page of examples.

pub mod viewer;

use api::rows::frame::{Heading, escape_html, push_top};
use api::vendors::routes::layer_at;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use std::sync::Arc;

/// The formats, in the order of the columns.
const FORMATS: [&str; 4] = ["json", "csv", "ndjson", "html"];

/// One request for each layer, with the placeholders `{symbol}`, `{date}` and `{format}`.
pub const EXAMPLES: &[(&str, &str)] = &[
    ("native", "/l1/greeks?underlying={symbol}&exp={date}&greeks=all&format={format}"),
    ("alphavantage", "/query?function=REALTIME_OPTIONS&symbol={symbol}&require_greeks=true&datatype={format}"),
    ("orats", "/datav2/strikes?ticker={symbol}&delta=.2,.8&format={format}"),
    (
        "livevol",
        "/allaccess/market/option-and-underlying-quotes?symbol={symbol}&min_expiry={date}&max_expiry={date}&format={format}",
    ),
    ("thetadata_v3", "/v3/option/snapshot/greeks/all?symbol={symbol}&expiration={date}&format={format}"),
    ("thetadata_v2", "/v2/bulk_snapshot/option/all_greeks?root={symbol}&exp=0&format={format}"),
    ("tradier", "/v1/markets/options/chains?symbol={symbol}&expiration={date}&greeks=true&format={format}"),
    ("alpaca", "/v1beta1/options/snapshots/{symbol}?expiration_date={date}&format={format}"),
    ("intrinio", "/options/chain/{symbol}/{date}/realtime?format={format}"),
    ("marketdata", "/v1/options/chain/{symbol}?expiration={date}&format={format}"),
    ("polygon", "/v3/snapshot/options/{symbol}?expiration_date={date}&format={format}"),
];

/// Questions, and the requests that answer them.
const QUESTIONS: &[(&str, &str)] = &[
    (
        "Term structure: one row per expiry",
        "/l1/greeks?underlying={symbol}&center=atf&right=call&greeks=core,chain&format=html",
    ),
    (
        "25-delta calls, five strikes around",
        "/l1/greeks?underlying={symbol}&center=25&strike_count=5&right=call&format=html",
    ),
    (
        "Strikes around the money, all Greeks",
        "/l1/greeks?underlying={symbol}&center=atm&strike_count=11&max_days=60&greeks=all&format=html",
    ),
    (
        "What if: 10 % down to 10 % up, now and in a week",
        "/l1/scenario?underlying={symbol}&center=atf&max_days=60&spot=-10..10:5&at=now,7d&format=html",
    ),
    ("A chain for pandas, polars or DuckDB (Parquet)", "/l1/greeks?underlying={symbol}&exp={date}&format=parquet"),
    ("The same as an Arrow stream", "/l1/greeks?underlying={symbol}&exp={date}&format=arrow"),
    ("What is served: one row per underlying", "/l1/symbols?format=html"),
    ("The viewer: chain, smile and term structure", "/"),
    ("Positions: value, profit and Greeks", "/positions"),
    ("Scenarios: profit by spot, volatility and time", "/scenarios"),
    ("Every endpoint with its parameters and fields (OpenAPI)", "/openapi.json"),
    ("Health of the service", "/health"),
    ("Counters for Prometheus", "/metrics"),
];

/// HTML between the questions and the examples of the layers.
const BETWEEN: &str = "</tbody></table>\n\
    <h2 style=\"margin:18px 0 6px 18px;font-size:15px\">Layers, with an example in each format</h2>\n\
    <table>\n<tbody>\n";

/// State of the service, shown above the examples.
pub struct ServiceState {
    /// The feed, as given to the program.
    pub feed: String,
    /// `ok`, `held`, `stale` or `starting`.
    pub word: &'static str,
    /// The snapshot's time and origin.
    pub note: Vec<String>,
}

/// The page of examples.
#[must_use]
pub fn examples(snapshot: &Snapshot, state: &ServiceState) -> Vec<u8> {
    let (symbol, date) = subject(snapshot);
    let n: u64 = snapshot.chains().iter().map(|chain| u64::from(chain.rows())).sum();
    let mut lines = vec!["Greeks of US listed options, computed on this machine.".to_owned()];
    lines.push(format!("Feed {} · {} · {}", state.feed, state.word, state.note.join(" · ")));
    lines.push(format!("{} underlyings · {n} contracts · snapshot {}", snapshot.chains().len(), snapshot.number));
    let mut page = Vec::new();
    push_top(&mut page, &Heading { title: "greeksd".to_owned(), lines });
    let fill = |pattern: &str| pattern.replace("{symbol}", &symbol).replace("{date}", &date);
    page.extend_from_slice(b"<main>\n<table>\n<tbody>\n");
    for (what, pattern) in QUESTIONS {
        let target = fill(pattern);
        push_row(&mut page, what, &[(&target, &target)]);
    }
    page.extend_from_slice(BETWEEN.as_bytes());
    for (name, pattern) in EXAMPLES.iter().filter(|(_, pattern)| is_served(pattern)) {
        let pattern = fill(pattern);
        let targets = FORMATS.map(|format| pattern.replace("{format}", format));
        let path = pattern.split('?').next().unwrap_or_default();
        let mut links: Vec<(&str, &str)> =
            FORMATS.iter().zip(&targets).map(|(format, target)| (target.as_str(), *format)).collect();
        links.push((targets[0].as_str(), path));
        push_row(&mut page, name, &links);
    }
    page.extend_from_slice(b"</tbody></table>\n</main>\n</body></html>\n");
    page
}

fn is_served(pattern: &str) -> bool {
    layer_at(pattern.split('?').next().unwrap_or_default()).is_some()
}

/// One row: words, then links of (target, text).
fn push_row(page: &mut Vec<u8>, what: &str, links: &[(&str, &str)]) {
    page.extend_from_slice(b"<tr><td class=w>");
    escape_html(page, what);
    page.extend_from_slice(b"</td>");
    for (target, text) in links {
        page.extend_from_slice(b"<td class=w><a href=\"");
        escape_html(page, target);
        page.extend_from_slice(b"\">");
        escape_html(page, text);
        page.extend_from_slice(b"</a></td>");
    }
    page.extend_from_slice(b"</tr>\n");
}

/// A name of the snapshot, if possible one with Greeks, and one of its later expiries: placeholders of the examples.
fn subject(snapshot: &Snapshot) -> (String, String) {
    let named = |name: &&str| snapshot.chains().iter().find(|chain| chain.underlying.as_str() == *name);
    let known = ["SPY", "AAPL", "SPX"].iter().find_map(named).or_else(|| {
        let computed = |chain: &&Arc<Chain>| chain.uncomputed.is_none();
        snapshot.chains().iter().find(computed).or(snapshot.chains().first())
    });
    let expiry = |chain: &Chain| chain.slices.get(chain.slices.len() / 3).map(|slice| slice.expiry.to_string());
    let symbol = known.map_or_else(|| "SPY".to_owned(), |chain| chain.underlying.to_string());
    (symbol, known.and_then(|chain| expiry(chain)).unwrap_or_else(|| "*".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::vendors::routes::NAMES;

    #[test]
    fn every_layer_has_an_example_under_its_name() {
        let names: Vec<&str> = EXAMPLES.iter().map(|&(name, _)| name).collect();
        assert_eq!(names, NAMES);
        for (name, pattern) in EXAMPLES {
            let layer = layer_at(pattern.split('?').next().unwrap_or_default()).map(|(layer, _)| layer.name);
            assert_eq!(layer, Some(*name), "{pattern}");
        }
    }
}
