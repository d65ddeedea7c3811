//! The origin of a value of the configuration.

use std::fmt;
use std::path::PathBuf;

/// The origin of a value of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The value is the default.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An environment variable.
    Environment(&'static str),
    /// The command line.
    CommandLine,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::CommandLine => f.write_str("command line"),
        }
    }
}
