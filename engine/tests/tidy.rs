//! The house rules that a reviewer should not have to check: which module may name which, and which words are not used.

#![allow(clippy::unwrap_used, reason = "a test")]

use kernel::settings::Chosen;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use testkit::sources::{Arrows, arrows, circle, public_types, sources, string_literals};

/// The crates of the program, from the leaves to the root, and which others each may name: the walls of the house.
const WALLS: [(&str, &[&str]); 17] = [
    ("engine/kernel", &[]),
    ("engine/feeds", &["kernel"]),
    ("engine", &["kernel"]),
    ("engine/sim", &["engine", "kernel"]),
    ("engine/testkit", &["engine", "kernel"]),
    ("engine/history", &["engine", "feeds", "kernel"]),
    ("shim/host", &[]),
    ("shim/http", &["host"]),
    ("shim/restart", &["engine", "feeds", "host", "kernel"]),
    ("shim/api", &["engine", "feeds", "history", "http", "kernel"]),
    ("shim/sources", &["feeds", "history", "host", "kernel"]),
    ("shim/view", &["host", "kernel", "sources"]),
    ("shim/desk", &["api", "engine", "feeds", "history", "host", "http", "kernel"]),
    ("shim/tools", &["api", "engine", "feeds", "history", "host", "http", "kernel", "restart", "sim", "sources"]),
    (
        "shim",
        &[
            "api", "desk", "engine", "feeds", "history", "host", "http", "kernel", "restart", "sim", "sources",
            "tools", "view",
        ],
    ),
    ("python", &["engine", "history", "host", "kernel", "shim", "tools"]),
    ("python/level", &["launcher"]),
];
/// Libraries that stand behind one wall: which crates may name them.
const BEHIND: [(&str, &[&str]); 13] = [
    ("arrow-array", &["engine/history", "python"]),
    ("crossterm", &["shim/view"]),
    ("httparse", &["shim/http"]),
    ("mio", &["shim/http"]),
    ("parquet", &["engine/history"]),
    ("pyo3", &["python"]),
    ("ratatui", &["shim/view"]),
    ("rayon", &["engine", "shim/tools"]),
    ("ruzstd", &["engine/feeds"]),
    ("tokio", &["shim/sources"]),
    ("ureq", &["shim/sources"]),
    ("wide", &["engine/kernel"]),
    ("zip", &["engine/history"]),
];
/// Modules of the engine from the sources to the right end; an import may only point left.
const FLOW: [&str; 18] = [
    "rates",
    "store",
    "explicit",
    "early",
    "calibrate",
    "surface",
    "price",
    "explain",
    "exercise",
    "term",
    "closes",
    "scenario",
    "strategy",
    "positions",
    "compare",
    "snapshot",
    "pass",
    "lib",
];
/// The modules of the crate `kernel` that are numbers only.
const NUMBERS: [&str; 10] =
    ["american", "black76", "dividends", "elementary", "greeks", "implied", "lanes", "lattice", "normal", "solve"];

/// The folders of the crates' own sources.
fn crates() -> impl Iterator<Item = String> {
    WALLS.iter().map(|(folder, _)| format!("{folder}/src"))
}

/// The dependencies of a crate's program, without those of its tests.
fn dependencies(folder: &str) -> BTreeSet<String> {
    dependencies_of(folder, |section| !section.contains("dev-"))
}

/// The names of what a crate depends on, by some sections of its manifest.
fn dependencies_of(folder: &str, is_wanted: fn(&str) -> bool) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join("Cargo.toml");
    let text = fs::read_to_string(path).unwrap();
    let mut found = BTreeSet::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]") && is_wanted(line);
        } else if let Some(end) = line.find(['.', ' ']).filter(|_| inside && !line.starts_with('#')) {
            found.insert(line[..end].to_owned());
        }
    }
    found
}

#[test]
fn crates_name_only_what_their_walls_admit() {
    let own: BTreeSet<&str> = [
        "api", "desk", "engine", "feeds", "history", "host", "http", "kernel", "launcher", "restart", "shim", "sim",
        "sources", "testkit", "tools", "view",
    ]
    .into();
    for (folder, admitted) in WALLS {
        let named = dependencies(folder);
        assert!(!named.is_empty(), "{folder} names nothing");
        for name in named.iter().filter(|name| own.contains(name.as_str())) {
            assert!(admitted.contains(&name.as_str()), "{folder} depends on {name}");
        }
        for (library, homes) in BEHIND {
            assert!(!named.contains(library) || homes.contains(&folder), "{folder} depends on {library}");
        }
    }
    for (library, homes) in BEHIND {
        assert!(
            homes.iter().all(|folder| dependencies(folder).contains(library)),
            "{library}: a home does not name it"
        );
    }
}

/// The text of every source file under a path, tests included.
fn code_under(path: &Path) -> String {
    match fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| code_under(&entry.unwrap().path())).collect(),
        Err(_) if path.extension().is_some_and(|ending| ending == "rs") => fs::read_to_string(path).unwrap(),
        Err(_) => String::new(),
    }
}

#[test]
fn every_dependency_is_named_in_its_crate() {
    let is_named = |text: &str, library: &str| {
        let library = library.replace('-', "_");
        text.match_indices(&library).any(|(at, _)| {
            let (before, after) = (text[..at].chars().next_back(), &text[at + library.len()..]);
            let is_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !is_word && ["::", ";", " as "].iter().any(|next| after.starts_with(next))
        })
    };
    for folder in WALLS.iter().map(|(folder, _)| *folder).chain(["benches"]) {
        let program: String = sources(&format!("{folder}/src")).into_iter().map(|source| source.text).collect();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
        let tests: String =
            ["src", "tests", "benches", "examples"].iter().map(|of| code_under(&root.join(of))).collect();
        for library in dependencies(folder) {
            let is_used = is_named(&program, &library) || (folder == "benches" && is_named(&tests, &library));
            assert!(is_used, "{folder} depends on {library} and does not name it");
        }
        for library in dependencies_of(folder, |section| section.contains("dev-")) {
            assert!(is_named(&tests, &library), "the tests of {folder} depend on {library} and do not name it");
        }
    }
}

/// The top module that a file belongs to: `store/book.rs` is of `store`.
fn module(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

fn forbid(under: &str, within: impl Fn(&str) -> bool, words: &[&str], why: &str) {
    for source in sources(under).iter().filter(|source| within(&source.file)) {
        for line in source.code.lines() {
            for word in words {
                assert!(!line.contains(word), "{under}/{}: `{word}`: {why}\n  {line}", source.file);
            }
        }
    }
}

#[test]
fn arrows_point_left() {
    for source in sources("engine/src") {
        let (file, own) = (&source.file, module(&source.file));
        for line in source.code.lines() {
            let Some(rest) = line.split("crate::").nth(1) else { continue };
            let used = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
            let place = |m: &str| FLOW.iter().position(|x| *x == m);
            let allowed = used == own || matches!((place(used), place(own)), (Some(left), Some(right)) if left < right);
            assert!(allowed, "engine/src/{file} ({own}) uses {used}, which stands to its right\n  {line}");
        }
    }
}

#[test]
fn each_library_is_named_in_one_room() {
    const OUTSIDE: [&str; 4] = ["std::env", "SystemTime::now", "Instant::now", "Timestamp::now"];
    for pure in ["engine/kernel/src", "engine/feeds/src", "engine/src", "engine/history/src"] {
        forbid(pure, |_| true, &OUTSIDE, "no clock, no environment");
    }
    forbid("engine/kernel/src", |f| f != "lanes.rs", &["use wide", "wide::"], "only lanes.rs names `wide`");
    forbid(
        "engine/kernel/src",
        |f| NUMBERS.contains(&module(f)),
        &["jiff", "Timestamp", "Symbol"],
        "kernels know numbers only",
    );
    forbid("engine/src", |f| module(f) != "pass", &["rayon"], "only pass names `rayon`");
    forbid("engine/feeds/src", |f| f != "json.rs", &["serde_json"], "only json.rs names a JSON library");
    forbid("engine/feeds/src", |f| f != "databento.rs", &["ruzstd"], "only databento.rs names `ruzstd`");
    forbid(
        "engine/history/src",
        |f| module(f) != "tables" && !["layouts/columnar.rs", "layouts/pushed_rows.rs"].contains(&f),
        &["parquet::", "arrow_array", "arrow_ipc", "arrow_schema"],
        "only readers and writers of Arrow and Parquet name their libraries",
    );
    forbid(
        "shim/sources/src",
        |f| f != "poll/client.rs",
        &["ureq::", "use ureq"],
        "only poll/client.rs names `ureq`; who asks a server has a `Client` of it",
    );
    forbid(
        "shim/sources/src",
        |f| f != "databento.rs",
        &["databento::dbn", "databento::live", "tokio"],
        "only databento.rs names `databento` and its runtime",
    );
    forbid(
        "shim/sources/src",
        |f| f != "socket.rs",
        &["tungstenite::", "rustls::"],
        "only socket.rs names `tungstenite`; who streams has a `Socket` of it",
    );
    forbid(
        "shim/view/src",
        |f| f != "terminal.rs",
        &["crossterm", "stdout()", "std::env", "Timestamp::now"],
        "the state and the screen of the viewer are pure",
    );
    forbid("shim/view/src", |f| f.starts_with("widgets/"), &["&mut State", "Instant"], "widgets draw what is there");
    forbid("shim/api/src", |f| f.starts_with("rows/"), &["vendors::"], "rows know columns and tables only");
    for source in sources("shim/api/src").iter().filter(|source| source.file.starts_with("rows/")) {
        let of_stream = ["http::{Progress, Stream}", "http::limits::PIECE_BYTES"];
        let beyond = of_stream.iter().fold(source.code.clone(), |code, name| code.replace(name, ""));
        assert!(
            !beyond.contains("http::"),
            "{}: rows are a `Stream` for the server, and know no more of it",
            source.file
        );
    }
}

#[test]
fn rooms_have_names_of_the_domain() {
    for under in crates() {
        for source in sources(&under) {
            let file = &source.file;
            for bad in ["util", "helper", "manager", "common", "handler", "misc"] {
                assert!(!file.contains(bad), "{under}/{file}: `{bad}` is no noun of the domain");
            }
            assert!(source.text.starts_with("//!"), "{under}/{file} has no docs");
            let lines = source.code.lines().count();
            assert!(lines <= 600, "{under}/{file} has {lines} lines of code");
        }
    }
}

/// Lists of all variants are written by hand; one that is left out would never be counted or shown.
#[test]
fn lists_of_all_variants_are_whole() {
    let mut seen = 0;
    for source in ["engine/kernel/src", "engine/feeds/src", "engine/src"].into_iter().flat_map(sources) {
        let (file, text) = (&source.file, &source.text);
        for (at, start) in text.match_indices("pub const ALL: [Self; ") {
            let listed = text[at + start.len()..].split(']').next().unwrap();
            let name = text[..at].rsplit("impl ").next().unwrap().split(' ').next().unwrap();
            let body = text.split(&format!("pub enum {name} {{")).nth(1).unwrap().split("\n}").next().unwrap();
            let variants = body.lines().filter(|line| line.trim_start().starts_with(char::is_uppercase)).count();
            assert_eq!(listed, variants.to_string(), "{file}: {name}");
            seen += 1;
        }
    }
    assert!(seen >= 3, "{seen} lists");
}

/// Each number of a method is in its room's table, with its unit and the reason for its value; a test that is a reason
/// exists.
#[test]
fn settings_have_a_unit_and_a_reason() {
    let rooms = [
        engine::calibrate::settings::ALL,
        engine::surface::settings::ALL,
        engine::early::settings::ALL,
        kernel::american::settings::ALL,
    ];
    let code = code_under(Path::new(env!("CARGO_MANIFEST_DIR")));
    let mut seen = 0;
    for (method, settings) in rooms.into_iter().flatten() {
        for setting in *settings {
            let name = format!("{method}.{}", setting.name);
            assert!(setting.value.is_finite() && !setting.unit.is_empty(), "{name}");
            match setting.chosen {
                Chosen::Test(test) | Chosen::Bounded(test) => {
                    assert!(code.contains(&format!("fn {test}(")), "{name}: no test {test}");
                }
                Chosen::Measured(why) | Chosen::Judgement(why) => assert!(!why.is_empty(), "{name}: no reason"),
            }
            seen += 1;
        }
    }
    assert!(seen > 150, "{seen} settings");
}

/// A setting that nothing reads is no choice any more; what trades no accuracy for time is a constant of its formula.
#[test]
fn settings_of_early_exercise_are_few_and_read() {
    let rooms = sources("engine/kernel/src");
    let all = [engine::early::settings::ALL, kernel::american::settings::ALL];
    let seen: usize = all.into_iter().flatten().map(|(_, settings)| settings.len()).sum();
    assert!(seen <= 120, "{seen} settings of early exercise");
    for (method, settings) in kernel::american::settings::ALL {
        for setting in *settings {
            let name = format!("{method}.{}", setting.name);
            assert!(rooms.iter().any(|source| source.code.contains(&name)), "nothing reads {name}");
        }
    }
}

#[test]
fn no_file_and_no_module_stands_in_a_circle() {
    for under in crates() {
        let (files, modules) = arrows(&sources(&under));
        let found = |what: &str, arrows: &Arrows| {
            let circle = circle(arrows).map(|circle| circle.join(" -> "));
            assert_eq!(circle, None, "a circle of {what} in {under}");
        };
        found("files", &files);
        found("modules", &modules);
    }
}

/// A public name with two meanings has to be looked up each time; modules tell private ones apart.
#[test]
fn no_two_public_types_have_one_name() {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for under in crates() {
        for (name, files) in public_types(&sources(&under)) {
            homes.entry(name).or_default().extend(files.into_iter().map(|file| format!("{under}/{file}")));
        }
    }
    assert!(homes.len() > 150, "{} types", homes.len());
    for (name, files) in homes {
        assert_eq!(files.len(), 1, "{name} stands in {}", files.join(" and in "));
    }
}

/// Returns the functions whose parameters take a tuple apart, by name: such a tuple is a struct without a name.
fn with_tuple_parameters(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ").filter(|(at, _)| !code[..*at].ends_with(|c: char| c.is_alphanumeric())) {
        let rest = &code[at + 3..];
        let name = &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())];
        let (mut angles, mut depth, mut begins, mut before) = (0, 0, false, ' ');
        for c in rest[name.len()..].chars() {
            match c {
                '<' if depth == 0 => angles += 1,
                '>' if depth == 0 && before != '-' => angles -= 1,
                _ if angles > 0 => {}
                '(' if depth == 1 && begins => {
                    found.push(name);
                    break;
                }
                '(' | '[' | '<' => (depth, begins) = (depth + 1, depth == 0),
                ')' if depth <= 1 => break,
                '>' if before == '-' => {}
                ')' | ']' | '>' => depth -= 1,
                ',' if depth == 1 => begins = true,
                c if !c.is_whitespace() => begins = false,
                _ => {}
            }
            before = c;
        }
    }
    found
}

#[test]
fn no_parameter_takes_a_tuple_apart() {
    assert_eq!(
        with_tuple_parameters("fn f((a, b): (u8, u8)) {} fn g<F: Fn((u8, u8)) -> u8>(f: F, x: (u8, u8)) {}"),
        ["f"]
    );
    assert_eq!(with_tuple_parameters("fn h(\n    a: u8,\n    (b, c): (u8, u8),\n)"), ["h"]);
    for under in crates() {
        for source in sources(&under) {
            let found = with_tuple_parameters(&source.code);
            assert!(found.is_empty(), "{under}/{}: {found:?}: name the struct, or give its parts", source.file);
        }
    }
}

#[test]
fn comments_end_at_120_columns() {
    for under in crates() {
        for source in sources(&under) {
            for (i, line) in source.text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("//")) {
                assert!(line.chars().count() <= 120, "{under}/{}:{}", source.file, i + 1);
            }
        }
    }
}

#[test]
fn source_files_that_comments_and_documents_name_exist() {
    let all: Vec<(String, String)> = ["benches", "engine", "golden", "python", "shim"]
        .iter()
        .flat_map(|under| {
            sources(under).into_iter().map(move |source| (format!("{under}/{}", source.file), source.text))
        })
        .collect();
    let mut seen = 0;
    let mut check = |place: &str, line: &str| {
        for name in line.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs") && !name.contains(' ')) {
            seen += 1;
            let is_it = |file: &String| file == name || file.ends_with(&format!("/{name}"));
            assert!(all.iter().any(|(file, _)| is_it(file)), "{place}: `{name}` is not there");
        }
    };
    for (place, text) in &all {
        text.lines().map(str::trim_start).filter(|line| line.starts_with("//")).for_each(|line| check(place, line));
    }
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        text.lines().for_each(|line| check(&path.display().to_string(), line));
    }
    assert!(seen > 80, "{seen} names");
}

/// Words of a private English that nobody should have to read, each with the plain ones.
const BANNED: [(&str, &str); 18] = [
    ("tell", "imply, or show"),
    ("keeps its say", "keeps its weight"),
    ("gone through", "read"),
    ("what is to be known", "status"),
    ("told", "implied, or given"),
    ("tells", "implies, or shows"),
    ("said", "given, or reported"),
    ("heard", "received"),
    ("of these", "name the noun"),
    ("goes before", "overrides"),
    ("go before", "override"),
    ("seldomer", "less often"),
    ("anew", "again"),
    ("made up", "simulated"),
    ("made-up", "simulated"),
    ("fault of the program", "internal error"),
    ("what was known", "the last data"),
    ("nobody knows", "unknown"),
];

/// Returns the first banned word of a text, as a word of its own.
fn banned(text: &str) -> Option<&'static (&'static str, &'static str)> {
    let text = text.to_lowercase();
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    BANNED.iter().find(|(word, _)| {
        text.match_indices(word)
            .any(|(at, _)| !is_word(text[..at].chars().next_back()) && !is_word(text[at + word.len()..].chars().next()))
    })
}

/// Messages, help, the viewers, the documents, and the docs of the sources.
#[test]
fn texts_are_plain() {
    let check = |place: &str, text: &str| {
        if let Some((word, plain)) = banned(text) {
            panic!("{place}: `{word}` (plain: {plain})\n  {text}");
        }
    };
    let mut seen = 0;
    for under in crates().filter(|under| !under.contains("testkit")) {
        for source in sources(&under) {
            let place = format!("{under}/{}", source.file);
            let literals = string_literals(&source.code);
            seen += literals.len();
            literals.iter().for_each(|text| check(&place, text));
            let docs = source.text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).map(str::trim_start);
            // `of these rows` names its noun, at the end of a line on the next one
            docs.filter(|line| line.starts_with("///") || line.starts_with("//!"))
                .for_each(|line| check(&place, &format!("{line} ").replace("of these ", "")));
        }
    }
    assert!(seen > 3000, "{seen} literals");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for entry in fs::read_dir(root.join("shim/src/front")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let place = path.display().to_string();
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("js") => string_literals(&text).iter().for_each(|text| check(&place, text)),
            Some("html") => text.lines().for_each(|line| check(&place, line)),
            _ => {}
        }
    }
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        text.lines().for_each(|line| check(&path.display().to_string(), line));
    }
}

/// The documents of the top folder, of `golden`, and of `docs` with its folders.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let book = listed(&root.join("docs"));
    let below = book.iter().filter(|path| path.is_dir()).flat_map(|folder| listed(folder));
    let all = listed(&root).into_iter().chain(listed(&root.join("golden"))).chain(below).chain(book.clone());
    all.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// A code span is a path from the root, `just` with a recipe, a command of several words, or names of the sources.
#[test]
fn paths_and_identifiers_of_the_map_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let words_of = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
    };
    let known: BTreeSet<String> = crates()
        .flat_map(|under| sources(&under))
        .flat_map(|source| words_of(&format!("{} {}", source.file, source.text)))
        .collect();
    let justfile = fs::read_to_string(root.join("justfile")).unwrap();
    for name in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root.join(name)).unwrap();
        let prose: String = text.split("```").step_by(2).collect();
        let spans: Vec<&str> = prose.split('`').skip(1).step_by(2).collect();
        assert!(spans.len() > 20, "{name}: {} code spans", spans.len());
        for span in spans {
            let exists = if let Some(recipe) = span.strip_prefix("just ") {
                let recipe = recipe.split(' ').next().unwrap();
                justfile.lines().any(|line| line.split([' ', ':']).next() == Some(recipe))
            } else if span.contains(' ') {
                true
            } else {
                let is_path = span.contains('/') && !span.starts_with('/');
                root.join(span).exists() || !is_path && words_of(span).iter().all(|word| known.contains(word))
            };
            assert!(exists, "{name}: `{span}` is not there");
        }
    }
}

#[test]
fn a_plain_cargo_run_has_one_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let line = text.lines().find(|line| line.starts_with("default-members")).unwrap();
    let programs: Vec<&str> =
        line.split('"').skip(1).step_by(2).filter(|folder| root.join(folder).join("src/main.rs").exists()).collect();
    assert_eq!(programs, ["shim"]);
}
