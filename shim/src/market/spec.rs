//! A feed as its user names it, and the feed itself made of that: the only place that knows which kinds there are.

use super::dir::DirectoryFeed;
use super::feed::Feed;
use super::sim::SimFeed;
use engine::error::FeedError;
use jiff::Timestamp;
use sim::SimOptions;
use std::path::PathBuf;

/// A feed as the user names it.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedSpec {
    /// The embedded market.
    Sim(SimOptions),
    /// A market folder, or one chain file.
    Dir(PathBuf),
}

impl FeedSpec {
    /// Reads `sim`, `sim:OPTIONS` (`sim:full`) or `dir:PATH`.
    ///
    /// # Errors
    /// What is wrong, for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "sim" => Ok(Self::Sim(SimOptions::default())),
            Some(("sim", options)) => {
                SimOptions::parse(options).map(Self::Sim).map_err(|e| format!("feed {text}: {e}"))
            }
            Some(("dir", path)) if !path.is_empty() => Ok(Self::Dir(PathBuf::from(path))),
            _ => Err(format!("feed {text}: want sim, sim:full, sim:seed=N or dir:PATH")),
        }
    }

    /// Opens the feed; nothing is read yet but what tells that it is there. `fixed` is the instant of a clock that
    /// stands still.
    ///
    /// # Errors
    /// The folder or file is not there.
    pub fn open(&self, now: Timestamp, fixed: Option<Timestamp>) -> Result<Box<dyn Feed>, FeedError> {
        Ok(match self {
            Self::Sim(options) => Box::new(SimFeed::open(*options, now)),
            Self::Dir(path) => Box::new(DirectoryFeed::open(path, fixed)?),
        })
    }
}
