//! Why the program cannot begin. Never: how it is shown but as text.

use std::fmt;

/// Why the program cannot begin.
#[derive(Debug)]
pub enum ConfigError {
    /// The command line or the environment; also how `--help` and `--version` end.
    Usage(clap::Error),
    /// The file or a combination of values, with a hint.
    Value(String),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(error) => write!(f, "{error}"),
            Self::Value(text) => write!(f, "error: {text}"),
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<clap::Error> for ConfigError {
    fn from(error: clap::Error) -> Self {
        Self::Usage(error)
    }
}
