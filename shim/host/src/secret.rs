//! Keys of vendors: text that no log, page or error contains. Never: a vendor.

use crate::private;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// Text shown instead of a secret.
const HIDDEN: &str = "(secret)";

/// Text that is never shown; only [`Secret::expose`] returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text, for the request that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A secret that a vendor has handed out.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Text that is no secret, for a list of secrets.
    #[must_use]
    pub fn plain(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The value of an `Authorization` header with this token.
    #[must_use]
    pub fn as_bearer(&self) -> Self {
        Self(format!("Bearer {}", self.0))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// The user's keys, by the name of their environment variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    keys: BTreeMap<String, Secret>,
    /// The key file, if other users can read it.
    open_file: Option<PathBuf>,
}

/// Environment variables of keys.
pub const KEY_NAMES: [&str; 10] = [
    "GREEKSD_TRADIER_TOKEN",
    "GREEKSD_MASSIVE_KEY",
    "GREEKSD_ALPACA_KEY_ID",
    "GREEKSD_ALPACA_SECRET_KEY",
    "GREEKSD_DATABENTO_KEY",
    "GREEKSD_SCHWAB_APP_KEY",
    "GREEKSD_SCHWAB_APP_SECRET",
    "GREEKSD_SCHWAB_TOKEN_FILE",
    "GREEKSD_TASTY_CLIENT_SECRET",
    "GREEKSD_TASTY_REFRESH_TOKEN",
];

impl Keys {
    /// Reads keys from a file of lines `NAME=value`, with the names of the variables, and from the environment, which
    /// overrides the file.
    ///
    /// # Errors
    /// Why the file cannot be read, or a line or a name in it is wrong, without the text of the line.
    pub fn read(file: Option<&Path>, environment: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, String> {
        let mut keys = BTreeMap::new();
        if let Some(path) = file {
            let text = private::read_short(path)
                .and_then(private::text)
                .map_err(|e| format!("key file {}: {e}", path.display()))?;
            for (i, line) in text.lines().enumerate().filter(|(_, line)| is_content(line)) {
                let (name, value) =
                    key_of(line).map_err(|why| format!("key file {}:{}: {why}", path.display(), i + 1))?;
                keys.insert(name.to_owned(), Secret(value.to_owned()));
            }
        }
        for name in KEY_NAMES {
            // a variable that is not UTF-8 is no key
            if let Some(value) = environment(name).and_then(|value| value.into_string().ok()) {
                keys.insert(
                    name.to_owned(),
                    Secret(checked(value.trim()).map_err(|why| format!("{name}: {why}"))?.to_owned()),
                );
            }
        }
        if !keys.is_empty() {
            private::forbid_core_files();
        }
        let open_file = file.filter(|path| private::is_open_to_others(path)).map(Path::to_path_buf);
        Ok(Self { keys, open_file })
    }

    /// Warning if other users can read the key file, for the user.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let path = self.open_file.as_ref()?.display();
        Some(format!("other users can read or change the key file {path}: chmod 600 {path}"))
    }

    /// A key by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.keys.get(name)
    }

    /// A key that must exist.
    ///
    /// # Errors
    /// There is no such key: where to put it.
    pub fn need(&self, name: &str) -> Result<&Secret, String> {
        self.get(name).ok_or_else(|| format!("no key: set {name}, or put it into a file and give --key-file"))
    }
}

fn is_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

fn key_of(line: &str) -> Result<(&'static str, &str), String> {
    let (name, value) = line.split_once('=').ok_or_else(|| "expected NAME=value".to_owned())?;
    let known = KEY_NAMES.into_iter().find(|&known| known == name.trim());
    let known = known.ok_or_else(|| format!("unknown name; the names are {}", KEY_NAMES.join(", ")))?;
    Ok((known, checked(value.trim().trim_matches('"'))?))
}

/// Checks that a value can be sent in a header.
fn checked(value: &str) -> Result<&str, String> {
    let fits = !value.is_empty() && value.len() <= 4096 && value.bytes().all(|b| b.is_ascii_graphic());
    if fits { Ok(value) } else { Err("expected letters, digits and punctuation, without blanks".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let environment = |name: &str| (name == KEY_NAMES[0]).then(|| OsString::from(" hunter2 "));
        let keys = Keys::read(None, &environment).unwrap();
        let key = keys.get(KEY_NAMES[0]).unwrap();
        assert_eq!(key.expose(), "hunter2");
        for shown in [format!("{keys:?}"), format!("{keys:#?}"), format!("{key}"), format!("{key:?}")] {
            assert!(!shown.contains("hunter2") && shown.contains(HIDDEN), "{shown}");
        }
    }

    #[test]
    fn a_file_has_names_and_values_and_its_errors_no_value() {
        let path = std::env::temp_dir().join(format!("greeksd-keys-{}", std::process::id()));
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Keys::read(Some(&path), &|_| None)
        };
        let keys = read("# mine\n\nGREEKSD_MASSIVE_KEY = \"abc\"\nGREEKSD_TRADIER_TOKEN=def\n").unwrap();
        assert_eq!(keys.get("GREEKSD_MASSIVE_KEY").map(Secret::expose), Some("abc"));
        assert_eq!(keys.get("GREEKSD_TRADIER_TOKEN").map(Secret::expose), Some("def"));
        for text in ["hunter2", "HUNTER=hunter2", "GREEKSD_MASSIVE_KEY=hunter2 hunter2", "GREEKSD_MASSIVE_KEY="] {
            let error = read(&format!("\n{text}\n")).unwrap_err();
            assert!(error.contains(":2: ") && !error.contains("hunter2"), "{error}");
        }
        #[cfg(unix)]
        for (mode, warns) in [(0o644, true), (0o660, true), (0o600, false), (0o400, false)] {
            use std::os::unix::fs::PermissionsExt;
            std::fs::write(&path, "GREEKSD_MASSIVE_KEY=hunter2\n").unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let warning = Keys::read(Some(&path), &|_| None).unwrap().warning();
            assert_eq!(warning.is_some_and(|text| text.contains("chmod 600") && !text.contains("hunter2")), warns);
            std::fs::remove_file(&path).unwrap();
        }
        let _ = std::fs::remove_file(&path);
        assert!(Keys::read(Some(&path), &|_| None).unwrap_err().contains("key file"));
    }
}
