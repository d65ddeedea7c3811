//! Options of `greeksd batch` from Python: command and module share their names, checks and messages. Never: an option.

use crate::errors::InputError;
use pyo3::PyErr;
use shim::config::{self, ConfigError, Invocation};
use std::ffi::OsString;
use tools::arguments::BatchArgs;

/// Parses the arguments of `greeksd batch`, without the names of program and command.
///
/// # Errors
/// Why an argument is refused, in words.
pub(crate) fn batch(arguments: Vec<OsString>) -> Result<Box<BatchArgs>, PyErr> {
    let command = ["greeksd", "batch"].map(OsString::from);
    match config::read(command.into_iter().chain(arguments), &|_| None) {
        Ok(Invocation::Batch(args)) if !args.plan => Ok(args),
        Ok(_) => Err(InputError::new_err("not arguments of batch")),
        Err(ConfigError::Usage(error)) => {
            let text = error.to_string();
            let first = text.split("\n\n").next().unwrap_or_default();
            Err(InputError::new_err(as_keyword(first.trim_start_matches("error: "))))
        }
        Err(ConfigError::Value(text)) => Err(InputError::new_err(as_keyword(&text))),
    }
}

/// Turns a message about an option into one about the keyword of that name.
pub(crate) fn as_keyword(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, part) in text.split("--").enumerate() {
        let word = part.find(|c: char| !(c.is_ascii_alphabetic() || c == '-')).unwrap_or(part.len());
        let (word, rest) = if at == 0 { ("", part) } else { part.split_at(word) };
        out.push_str(&word.replace('-', "_"));
        out.push_str(rest);
    }
    out
}
