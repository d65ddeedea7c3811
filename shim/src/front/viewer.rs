//! The viewer at `/`: one page of our own, its scripts and its style, as they stand in this folder. A browser runs them and
//! asks the native API, like any client. Never: text that depends on a request, a file that is not in the program.

use http::Answer;

/// What a browser may do for the viewer: run and load what came from this address, ask this address, and nothing else. With
/// trusted types it refuses text as markup even where a script of ours would try.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// A file of the viewer.
struct Asset {
    /// Its path, without a trailing slash.
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
    asset!("app.css", STYLE),
    asset!("theme.js", SCRIPT),
    asset!("app.js", SCRIPT),
    asset!("api.js", SCRIPT),
    asset!("chain.js", SCRIPT),
    asset!("charts.js", SCRIPT),
    asset!("columns.js", SCRIPT),
    asset!("dom.js", SCRIPT),
    asset!("search.js", SCRIPT),
];

/// The answer at a path without a trailing slash, if a file of the viewer is there. `route` is what it is counted under.
#[must_use]
pub fn answer_at(path: &str, route: &'static str) -> Option<Answer> {
    let asset = ASSETS.iter().find(|asset| asset.path == path)?;
    let answer = Answer::full(route, 200, asset.content_type, asset.text);
    Some(if asset.content_type == PAGE { answer.with_header("Content-Security-Policy", POLICY) } else { answer })
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
                    assert!(answer_at(&path, "x").is_some(), "{} names {path}", asset.path);
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
        let lines = text("/app/columns.js").lines().filter_map(|line| line.trim().strip_prefix("column(\""));
        let columns: Vec<Vec<&str>> = lines.map(|line| line.split("\", \"").collect()).collect();
        assert!(columns.len() > 20);
        for column in &columns {
            let field = FIELDS.iter().find(|field| field.name == column[1]);
            let group = field.and_then(|field| field.group).map(|group| format!("{group:?}").to_lowercase());
            assert_eq!(group.as_deref(), Some(column[2]), "{}", column[1]);
        }
        let is_number = |name: &str| columns.iter().any(|column| column[1] == name);
        let offered = ["core", "extra", "exotic"];
        for field in FIELDS.iter().filter(|field| field.name != "und_price") {
            let group = field.group.map(|group| format!("{group:?}").to_lowercase());
            if group.is_some_and(|group| offered.contains(&group.as_str())) && field.name != "svc_vol" {
                assert!(is_number(field.name), "{} is offered nowhere", field.name);
            }
        }
    }
}
