//! The shape of the sources: which file names which. For the tests that hold the house rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The files or modules that each file or module names.
pub type Arrows = BTreeMap<String, BTreeSet<String>>;

/// A source file: its module path, and its code without comments and without its test module.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Path below the folder, with slashes.
    pub file: String,
    /// Names of the modules that lead to it.
    pub module: Vec<String>,
    /// The whole text.
    pub text: String,
    /// The lines that are code: no comments, nothing from its test module on.
    pub code: String,
}

/// Every source file under a folder of the workspace, such as `engine/src`, but for files of tests.
///
/// # Panics
/// The folder is not there.
#[must_use]
pub fn sources(under: &str) -> Vec<SourceFile> {
    fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, out);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(under);
    let mut paths = Vec::new();
    walk(&base, &mut paths);
    paths.sort();
    let source = |path: &PathBuf| {
        let file = path.strip_prefix(&base).unwrap().to_string_lossy().replace('\\', "/");
        let name = file.trim_end_matches(".rs").trim_end_matches("/mod");
        let module = name.split('/').map(str::to_owned).collect();
        let text = fs::read_to_string(path).unwrap();
        let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
        let code = lines.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        SourceFile { file, module, text, code }
    };
    let own_tests = |s: &SourceFile| ["tests.rs", "testing.rs"].iter().any(|name| s.file.ends_with(name));
    paths.iter().map(source).filter(|s| !own_tests(s)).collect()
}

/// Returns the string literals of code in Rust or JavaScript, without their quotes. Comments are not code: a line that
/// begins with one is left out by [`SourceFile::code`]; one at the end of a line is skipped here.
#[must_use]
pub fn string_literals(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut chars = code.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|&c| c != '\n').is_some() {},
            '\'' => {
                // a character such as '"' or '\\''; a lifetime has no closing quote
                let mut ahead = chars.clone();
                let is_escaped = ahead.next() == Some('\\');
                let length = if is_escaped { 2 } else { 1 };
                if chars.clone().nth(length) == Some('\'') {
                    chars.nth(length);
                }
            }
            '"' => {
                let mut literal = String::new();
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        // a line that continues: its break and indentation are no part of the text
                        '\\' if chars.peek() == Some(&'\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                        '\\' => literal.extend(chars.next()),
                        c => literal.push(c),
                    }
                }
                found.push(literal);
            }
            _ => {}
        }
    }
    found
}

/// Every path that a file names, as it is written: `use` trees taken apart, and paths within the code.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for statement in code.split("use ").skip(1) {
        let Some((tree, _)) = statement.split_once(';') else { continue };
        expand(&mut Vec::new(), &tree.split_whitespace().collect::<String>(), &mut found);
    }
    let words: Vec<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).collect();
    found.extend(words.iter().filter(|w| w.contains("::")).map(|w| w.split("::").map(str::to_owned).collect()));
    found
}

/// The paths of one `use` tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(before: &mut Vec<String>, tree: &str, out: &mut Vec<Vec<String>>) {
    let (head, group) = tree.split_once('{').map_or((tree, None), |(head, rest)| (head, Some(rest)));
    let depth = before.len();
    before.extend(head.split("::").filter(|s| !s.is_empty()).map(str::to_owned));
    match group.and_then(|group| group.strip_suffix('}')) {
        None => out.push(before.clone()),
        Some(inner) => {
            let (mut level, mut start) = (0, 0);
            for (i, c) in inner.char_indices().chain([(inner.len(), ',')]) {
                match c {
                    '{' => level += 1,
                    '}' => level -= 1,
                    ',' if level == 0 => {
                        expand(before, &inner[start..i], out);
                        start = i + 1;
                    }
                    _ => {}
                }
            }
        }
    }
    before.truncate(depth);
}

/// The file that a path of `own` leads into, if it is one of this crate.
fn target<'s>(sources: &'s [SourceFile], own: &[String], path: &[String]) -> Option<&'s SourceFile> {
    let child = |name: &String| {
        sources
            .iter()
            .any(|s| s.module.len() == own.len() + 1 && s.module[..own.len()] == *own && s.module.last() == Some(name))
    };
    let (mut at, mut rest): (Vec<String>, &[String]) = match path.first()?.as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (own.to_vec(), &path[1..]),
        "super" => (own[..own.len() - 1].to_vec(), &path[1..]),
        _ if child(&path[0]) => (own.to_vec(), path),
        _ => return None,
    };
    let mut found = sources.iter().find(|s| s.module == at);
    while let Some((name, after)) = rest.split_first() {
        if name == "super" {
            at.pop();
        } else {
            at.push(name.clone());
        }
        match sources.iter().find(|s| s.module == at) {
            Some(source) => found = Some(source),
            None => break,
        }
        rest = after;
    }
    found
}

/// The arrows between files, and between the top modules.
#[must_use]
pub fn arrows(sources: &[SourceFile]) -> (Arrows, Arrows) {
    let (mut files, mut modules) = (Arrows::new(), Arrows::new());
    for source in sources.iter().filter(|s| !["main.rs", "lib.rs"].contains(&s.file.as_str())) {
        for path in paths(&source.code) {
            let Some(target) = target(sources, &source.module, &path) else { continue };
            if target.file != source.file {
                files.entry(source.file.clone()).or_default().insert(target.file.clone());
            }
            if target.module[0] != source.module[0] {
                modules.entry(source.module[0].clone()).or_default().insert(target.module[0].clone());
            }
        }
    }
    (files, modules)
}

/// The first circle among the arrows, from a name back to it.
#[must_use]
pub fn circle(arrows: &Arrows) -> Option<Vec<String>> {
    fn visit(arrows: &Arrows, at: &str, trail: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
        if let Some(start) = trail.iter().position(|name| name == at) {
            return Some([&trail[start..], &[at.to_owned()]].concat());
        }
        if !done.contains(at) {
            trail.push(at.to_owned());
            for next in arrows.get(at).into_iter().flatten() {
                let found = visit(arrows, next, trail, done);
                if found.is_some() {
                    return found;
                }
            }
            trail.pop();
            done.insert(at.to_owned());
        }
        None
    }
    let mut done = BTreeSet::new();
    arrows.keys().find_map(|name| visit(arrows, name, &mut Vec::new(), &mut done))
}

/// Public types by name, with the files that they stand in: those that are written out, and the tables of `settings!`.
#[must_use]
pub fn public_types(sources: &[SourceFile]) -> BTreeMap<String, Vec<String>> {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources {
        for line in source.code.lines().map(str::trim_start).filter(|line| line.starts_with("pub ")) {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let kind = words.iter().position(|word| ["struct", "enum", "trait", "type"].contains(word));
            // without a name: a macro makes it
            if let Some(name) = kind.and_then(|kind| words.get(kind + 1)).filter(|name| !name.is_empty()) {
                homes.entry((*name).to_owned()).or_default().push(source.file.clone());
            }
        }
        for line in source.code.lines().map(str::trim_start) {
            let table = line.split_once(": ").and_then(|(id, table)| Some((id, table.strip_suffix("Settings {")?)));
            if let Some((_, method)) = table.filter(|(id, _)| id.chars().all(|c| c.is_ascii_uppercase())) {
                homes.entry(format!("{method}Settings")).or_default().push(source.file.clone());
            }
        }
    }
    homes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_found() {
        let arrows = |pairs: &[(&str, &str)]| {
            let mut arrows = Arrows::new();
            pairs.iter().for_each(|(a, b)| _ = arrows.entry((*a).to_owned()).or_default().insert((*b).to_owned()));
            arrows
        };
        assert_eq!(circle(&arrows(&[("a", "b"), ("b", "c"), ("a", "c")])), None);
        assert_eq!(circle(&arrows(&[("a", "b"), ("b", "c"), ("c", "b")])).unwrap(), ["b", "c", "b"]);
        let mut found = Vec::new();
        expand(&mut Vec::new(), "super::{a,b::{c,d},e::F}", &mut found);
        let joined: Vec<String> = found.iter().map(|path| path.join("::")).collect();
        assert_eq!(joined, ["super::a", "super::b::c", "super::b::d", "super::e::F"]);
    }
}
