//! The viewer at `/`: one page of our own, its scripts and its style, as they stand in this folder. A browser runs them
//! and asks the native API, like any client. Never: text that depends on a request, a file that is not in the program.

use engine::strategy::KnownStrategy;
use http::Answer;
use kernel::columns::{Group, Shape, VIEWED, ViewedColumn};
use kernel::contract::RootTable;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Parts of the daemon that pages show where they are there.
#[derive(Clone, Copy)]
pub struct Offered {
    /// Quotes of the feed are shown.
    pub quotes: bool,
    /// There are positions.
    pub positions: bool,
}

/// Content security policy of the viewer: the browser runs, loads and requests data of this address only. Trusted types
/// refuse text as markup even from our own scripts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// A file of the viewer.
struct Asset {
    /// Path of the file, without a trailing slash.
    path: &'static str,
    content_type: &'static str,
    text: &'static str,
}

const PAGE: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// A file of this folder, under `/app`.
macro_rules! asset {
    ($name:literal, $content_type:expr) => {
        Asset { path: concat!("/app/", $name), content_type: $content_type, text: include_str!($name) }
    };
}

const ASSETS: &[Asset] = &[
    Asset { path: "", content_type: PAGE, text: include_str!("index.html") },
    Asset { path: "/positions", content_type: PAGE, text: include_str!("positions.html") },
    Asset { path: "/scenarios", content_type: PAGE, text: include_str!("scenarios.html") },
    Asset { path: "/scanner", content_type: PAGE, text: include_str!("scanner.html") },
    Asset { path: "/exposures", content_type: PAGE, text: include_str!("exposures.html") },
    asset!("app.css", STYLE),
    asset!("desk.js", SCRIPT),
    asset!("example.js", SCRIPT),
    asset!("explain.js", SCRIPT),
    asset!("exposures.js", SCRIPT),
    asset!("positions.js", SCRIPT),
    asset!("scenarios.js", SCRIPT),
    asset!("legs.js", SCRIPT),
    asset!("scanner.js", SCRIPT),
    asset!("theme.js", SCRIPT),
    asset!("app.js", SCRIPT),
    asset!("api.js", SCRIPT),
    asset!("chain.js", SCRIPT),
    asset!("charts.js", SCRIPT),
    asset!("chooser.js", SCRIPT),
    asset!("dom.js", SCRIPT),
    asset!("moment.js", SCRIPT),
    asset!("numbers.js", SCRIPT),
    asset!("search.js", SCRIPT),
    asset!("tags.js", SCRIPT),
    asset!("watch.js", SCRIPT),
];

/// Counts of the feed, which only some feeds have.
const COUNTS: [ViewedColumn; 2] =
    [count("volume", "Volume", "contracts traded in the session"), count("open_interest", "OpenInt", "contracts open")];

const fn count(name: &'static str, title: &'static str, help: &'static str) -> ViewedColumn {
    ViewedColumn { name, title, group: Group::Quote, shape: Shape::Decimals(0), help }
}

/// The script that holds the table of columns.
const COLUMNS: &str = "/app/columns.js";

/// Tables of [`COLUMNS`]: of columns in the order from the strike outwards, of their groups, of strategies by name, and
/// of indices, which have no shares.
static COLUMNS_TEXT: LazyLock<String> = LazyLock::new(|| {
    // the strike stands in the middle with the curve's volatility beside it; prices are nearest to it, quotes first
    let mut offered: Vec<_> = VIEWED.iter().chain(&COUNTS).filter(|column| column.name != "svc_vol").collect();
    offered.sort_by_key(|column| match column.shape {
        Shape::Price(_) if column.group == Group::Exercise => 3,
        Shape::Price(_) => u8::from(column.group != Group::Quote),
        Shape::Percent(_) => 2,
        Shape::Decimals(_) | Shape::Digits(_) => 3,
    });
    let columns: Vec<_> = offered.into_iter().map(column_row).collect();
    let groups: Vec<_> =
        Group::VIEWED.iter().map(|group| json!({"group": group.name(), "title": group.help()})).collect();
    let indices: BTreeSet<String> = RootTable::embedded().indices().iter().map(|index| index.to_string()).collect();
    let tables = [
        ("COLUMNS", json!(columns)),
        ("GROUPS", json!(groups)),
        ("STRATEGIES", json!(KnownStrategy::names())),
        ("INDICES", json!(indices)),
    ];
    tables.iter().map(|(name, table)| format!("export const {name} = {table};\n")).collect()
});

/// A column as the scripts read it. `key` names it in the address of the page, `field` in the native record.
fn column_row(column: &ViewedColumn) -> serde_json::Value {
    let key = column.name.trim_start_matches("svc_").replace('_', "");
    let (kind, decimals) = match column.shape {
        Shape::Price(decimals) => ("price", decimals),
        Shape::Percent(decimals) => ("percent", decimals),
        Shape::Decimals(0) => ("count", 0),
        Shape::Decimals(decimals) | Shape::Digits(decimals) => ("greek", decimals),
    };
    json!({
        "key": key, "field": column.name, "group": column.group.name(), "title": column.title, "help": column.help,
        "kind": kind, "decimals": decimals,
    })
}

/// True if a file of the viewer is at a path without a trailing slash.
#[must_use]
pub fn has(path: &str) -> bool {
    path == COLUMNS || asset_at(path).is_some()
}

fn asset_at(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

/// The file of the viewer at a path that [`has`] one. `route` is what it is counted under, `offered` says what the
/// scripts may ask for.
#[must_use]
pub fn answer_at(path: &str, route: &'static str, offered: Offered) -> Answer {
    let Some(asset) = asset_at(path) else {
        let Offered { quotes, positions } = offered;
        let offers = json!({ "quotes": quotes, "positions": positions });
        return Answer::full(route, 200, SCRIPT, format!("{}export const OFFERS = {offers};\n", *COLUMNS_TEXT));
    };
    let answer = Answer::full(route, 200, asset.content_type, asset.text);
    if asset.content_type == PAGE { answer.with_header("Content-Security-Policy", POLICY) } else { answer }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::vendors::native::FIELDS;

    fn text(path: &str) -> &'static str {
        ASSETS.iter().find(|asset| asset.path == path).map_or("", |asset| asset.text)
    }

    #[test]
    fn what_the_files_name_is_there() {
        let mut named = 0;
        for asset in ASSETS {
            for quoted in asset.text.split(['"', '\'']) {
                let path = quoted.strip_prefix("./").filter(|path| path.ends_with(".js"));
                let path = path.map_or_else(|| quoted.to_owned(), |path| format!("/app/{path}"));
                if path.starts_with("/app/") {
                    named += 1;
                    assert!(has(&path), "{} names {path}", asset.path);
                }
            }
        }
        assert!(named >= ASSETS.len() - 1, "every file is named somewhere");
    }

    #[test]
    fn nothing_comes_from_elsewhere_and_no_text_becomes_markup() {
        for asset in ASSETS {
            // the name of the space that drawings are in is no address that is asked
            let text = asset.text.replace("http://www.w3.org/2000/svg", "");
            for word in
                ["http://", "https://", "//cdn", "innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "@import"]
            {
                assert!(!text.contains(word), "{} has {word}", asset.path);
            }
        }
        assert!(!text("").contains(" style=") && !text("").contains("onclick"), "the policy would refuse it");
    }

    #[test]
    fn every_column_that_is_offered_is_one_of_the_api() {
        let table = COLUMNS_TEXT.lines().next().and_then(|line| line.strip_prefix("export const COLUMNS = ")).unwrap();
        let columns: Vec<serde_json::Value> = serde_json::from_str(table.trim_end_matches(';')).unwrap();
        assert_eq!(columns.len(), VIEWED.len() + COUNTS.len() - 1);
        for column in &columns {
            let field = FIELDS.iter().find(|field| column["field"] == field.name).unwrap();
            assert_eq!(field.group.map(Group::name), column["group"].as_str(), "{}", field.name);
        }
        let keys: Vec<&str> = columns.iter().filter_map(|column| column["key"].as_str()).take(5).collect();
        assert_eq!(keys, ["bid", "ask", "mid", "theo", "bidvol"]);
        let usual = text("/app/numbers.js").lines().find_map(|line| line.strip_prefix("const WIDE = ")).unwrap();
        let usual: Vec<String> = serde_json::from_str(usual.trim_end_matches(';')).unwrap();
        for key in usual {
            assert!(columns.iter().any(|column| column["key"] == key.as_str()), "{key}");
        }
    }
}
