//! Reads `greeksd.toml`, which has one key for each option of `serve`.

use super::error::ConfigError;
use super::options::OPTIONS;
use super::origin::Origin;
use super::value::{self, FEEDS_APART};
use host::private;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use strsim::levenshtein;

/// The keys of the file: the options of `serve`, without those of one start (`--config`, `--print-config`).
fn keys() -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().map(|option| option.key)
}

/// Values of a file, spelled as on the command line.
#[derive(Debug, Default)]
pub(super) struct File {
    path: PathBuf,
    values: BTreeMap<&'static str, String>,
    /// Ignored keys.
    ignored: Vec<&'static str>,
}

impl File {
    /// Reads the file in the current folder, else the one in the platform's configuration folder, else none.
    pub(super) fn find(home: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let here = PathBuf::from("greeksd.toml");
        for path in [Some(here.clone()), value::config_file(home)].into_iter().flatten() {
            // the user did not name the file, and opening a pipe would block the start
            match private::read_short_regular(&path).and_then(private::text) {
                Ok(text) if path == here => return Self::parse(&path, &text).map(Self::found_here),
                Ok(text) => return Self::parse(&path, &text),
                Err(error) if error.kind() == ErrorKind::NotFound || error.kind() == ErrorKind::NotADirectory => {}
                Err(error) => return Err(unreadable(&path, &error)),
            }
        }
        Ok(Self::default())
    }

    /// Reads a file that the user named.
    pub(super) fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = private::read_short(path).and_then(private::text).map_err(|error| unreadable(path, &error))?;
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let fail = |text: String| ConfigError::Value(format!("{}: {text}", path.display()));
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| fail(error.to_string()))?;
        let mut values = BTreeMap::new();
        for (key, value) in &table {
            let name = key.replace('_', "-");
            let known = keys().find(|&known| known == name);
            let known = known.ok_or_else(|| fail(format!("unknown key `{key}`; {}", hint(&name))))?;
            let text = spell(known, value)
                .ok_or_else(|| fail(format!("{key}: expected text, a number or a list of texts")))?;
            values.insert(known, text);
        }
        Ok(Self { path: path.to_owned(), values, ignored: Vec::new() })
    }

    /// Ignores keys that only the user may set: somebody else may have put a file into the current folder.
    fn found_here(mut self) -> Self {
        let of_user = OPTIONS.iter().filter(|option| option.is_of_user).map(|option| option.key);
        self.ignored = of_user.filter(|key| self.values.remove(key).is_some()).collect();
        // requests with keys would go to that address
        if self.values.get("feed").is_some_and(|feeds| feeds.contains('@')) {
            self.values.remove("feed");
            self.ignored.push("feed");
        }
        self
    }

    /// Path of the file and its ignored keys, in words; `None` without a file.
    pub(super) fn note(&self) -> Option<String> {
        let path = (!self.path.as_os_str().is_empty()).then(|| self.path.display().to_string())?;
        Some(match self.ignored.as_slice() {
            [] => path,
            ignored => format!("{path} in the current folder; ignored keys: {}", ignored.join(", ")),
        })
    }

    /// True if the file has this key and it is ignored.
    pub(super) fn ignores(&self, name: &str) -> bool {
        self.ignored.contains(&name)
    }

    /// The value of a key, spelled as on the command line.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The origin of the values of this file.
    pub(super) fn origin(&self) -> Origin {
        Origin::File(self.path.clone())
    }

    /// The error of a value that its option does not accept.
    pub(super) fn refuse(&self, name: &str, text: &str, hint: &str) -> ConfigError {
        ConfigError::Value(format!("{}: {name} = {text}: {hint}", self.path.display()))
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> ConfigError {
    ConfigError::Value(format!("cannot read the configuration {}: {error}", path.display()))
}

/// Spells a TOML value as on the command line.
fn spell(key: &str, value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        toml::Value::Datetime(time) => Some(time.to_string()),
        toml::Value::Array(items) => {
            let items: Option<Vec<&str>> = items.iter().map(toml::Value::as_str).collect();
            // a feed contains commas
            Some(items?.join(&if key == "feed" { FEEDS_APART } else { ',' }.to_string()))
        }
        toml::Value::Table(_) => None,
    }
}

/// Suggests the nearest key, else lists all keys.
fn hint(name: &str) -> String {
    let closest = keys().map(|key| (levenshtein(key, name), key)).min_by_key(|(letters, _)| *letters);
    match closest.filter(|(letters, _)| *letters <= 2) {
        Some((_, key)) => format!("did you mean `{key}`?"),
        None => format!("the keys are {}", keys().collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<File, String> {
        File::parse(Path::new("greeksd.toml"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_spelt_as_on_the_command_line() {
        let text = "listen = [\"127.0.0.1:1\", \"[::1]:1\"]\nallow_remote = true\nrefresh = 0.5\nthreads = 3\n\
                    now = 2026-11-20T15:42:00-05:00\nstate-dir = 'C:\\x'\n";
        let file = parse(text).unwrap();
        let rows = [
            ("listen", Some("127.0.0.1:1,[::1]:1")),
            ("allow-remote", Some("true")),
            ("refresh", Some("0.5")),
            ("threads", Some("3")),
            ("now", Some("2026-11-20T15:42:00-05:00")),
            ("state-dir", Some("C:\\x")),
            ("feed", None),
        ];
        for (name, value) in rows {
            assert_eq!(file.get(name), value, "{name}");
        }
    }

    #[test]
    fn a_file_that_lies_here_says_neither_who_may_come_nor_where_to_write() {
        let text = "allow-remote = true\nstate-dir = 'x'\nallow-host = ['a', 'b']\nrefresh = 0.5\n";
        let named = parse(text).unwrap();
        assert_eq!(named.note().as_deref(), Some("greeksd.toml"));
        assert_eq!((named.get("allow-remote"), named.get("allow-host")), (Some("true"), Some("a,b")));
        let found = named.found_here();
        assert_eq!((found.get("allow-remote"), found.get("state-dir"), found.get("allow-host")), (None, None, None));
        assert_eq!(found.get("refresh"), Some("0.5"));
        assert_eq!((found.ignores("state-dir"), found.ignores("refresh")), (true, false));
        let note = "greeksd.toml in the current folder; ignored keys: allow-remote, state-dir, allow-host";
        assert_eq!(found.note().as_deref(), Some(note));
        assert_eq!(File::default().note(), None);
    }

    #[test]
    fn what_is_unknown_or_malformed_is_refused_with_a_hint() {
        let rows = [
            ("lisen = 'x'", "unknown key `lisen`; did you mean `listen`?"),
            ("state_dirs = 'x'", "did you mean `state-dir`?"),
            ("banana = 1", "the keys are listen, allow-remote"),
            ("[feed]\nkind = 'sim'", "feed: expected text"),
            ("feed = ", "TOML parse error at line 1"),
        ];
        for (text, want) in rows {
            let error = parse(text).expect_err(text);
            assert!(error.contains(want) && error.contains("greeksd.toml"), "{text}: {error}");
        }
    }
}
