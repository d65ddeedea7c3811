//! Errors of the configuration. Never: an exit code.

use std::fmt;

/// An error of the configuration.
#[derive(Debug)]
pub enum ConfigError {
    /// A fault of the command line or the environment; also the texts of `--help` and `--version`.
    Usage(clap::Error),
    /// A fault of the file or of a combination of values, with a hint.
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
