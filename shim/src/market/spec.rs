//! A feed as its user names it, and the feed itself made of that: the only place that knows which kinds there are.

use super::feed::Feed;
use super::sim::SimFeed;
use super::store_feed::StoreFeed;
use crate::source::Source;
use crate::source::dir::DirectorySource;
use crate::source::lines::{stdin, tcp};
use jiff::Timestamp;
use sim::SimOptions;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// What a feed may be, for whoever named something else.
const WANT: &str = "want sim, sim:full, sim:seed=N, dir:PATH, tcp:PORT, tcp:ADDRESS:PORT or stdin:";

/// A feed as the user names it.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedSpec {
    /// The embedded market.
    Sim(SimOptions),
    /// A market folder, or one chain file.
    Dir(PathBuf),
    /// Lines over connections to this address.
    Tcp(SocketAddr),
    /// Lines from standard input.
    Stdin,
}

/// What feeds are opened with.
#[derive(Clone, Copy, Debug)]
pub struct OpenTerms {
    /// Now.
    pub now: Timestamp,
    /// The instant of a clock that stands still.
    pub fixed: Option<Timestamp>,
    /// Feeds may listen where other machines can reach them.
    pub allow_remote: bool,
}

impl FeedSpec {
    /// Reads one feed: `sim`, `sim:OPTIONS` (`sim:full`), `dir:PATH`, `tcp:PORT`, `tcp:ADDRESS:PORT`, `stdin:`.
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
            Some(("tcp", address)) => {
                let here = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
                let address = address.parse().or_else(|_| address.parse().map(here));
                address.map(Self::Tcp).map_err(|_| format!("feed {text}: want tcp:PORT or tcp:ADDRESS:PORT"))
            }
            Some(("stdin", "")) => Ok(Self::Stdin),
            _ => Err(format!("feed {text}: {WANT}")),
        }
    }

    /// Opens feeds that go together, the ones before going before the ones after; nothing is read yet but what tells that
    /// they are there.
    ///
    /// # Errors
    /// A feed that does not go with others, or cannot be opened: why, for the user.
    pub fn open(specs: &[Self], terms: &OpenTerms) -> Result<Box<dyn Feed>, String> {
        if let [Self::Sim(options)] = specs {
            return Ok(Box::new(SimFeed::open(*options, terms.now)));
        }
        if specs.iter().filter(|spec| **spec == Self::Stdin).count() > 1 {
            return Err("feed stdin: there is one standard input".to_owned());
        }
        let sources = specs.iter().map(|spec| spec.source(specs.len() > 1, terms)).collect::<Result<_, _>>()?;
        Ok(Box::new(StoreFeed::new(sources, terms.fixed)))
    }

    fn source(&self, has_others: bool, terms: &OpenTerms) -> Result<Box<dyn Source>, String> {
        Ok(match self {
            Self::Sim(_) => {
                return Err("feed sim: the embedded market is whole, and goes with no other feed".to_owned());
            }
            Self::Dir(path) => {
                let opened = DirectorySource::open(path, has_others);
                Box::new(opened.map_err(|e| format!("feed dir:{}: {e}", path.display()))?)
            }
            Self::Tcp(address) if !terms.allow_remote && !address.ip().is_loopback() => {
                return Err(format!(
                    "feed tcp:{address}: can be reached from other machines, and whoever reaches it says what quotes are; \
                     say --allow-remote if that is meant, or listen on 127.0.0.1"
                ));
            }
            Self::Tcp(address) => Box::new(tcp::start(*address).map_err(|e| format!("feed tcp:{address}: {e}"))?),
            Self::Stdin => Box::new(stdin::start().map_err(|e| format!("feed stdin: {e}"))?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_are_read_as_their_user_names_them() {
        let tcp = |address: &str| Ok(FeedSpec::Tcp(address.parse().unwrap()));
        for (text, spec) in [
            ("sim", Ok(FeedSpec::Sim(SimOptions::default()))),
            ("dir:a;b", Ok(FeedSpec::Dir(PathBuf::from("a;b")))),
            ("tcp:2113", tcp("127.0.0.1:2113")),
            ("tcp:[::1]:2113", tcp("[::1]:2113")),
            ("stdin:", Ok(FeedSpec::Stdin)),
        ] {
            assert_eq!(FeedSpec::parse(text), spec, "{text}");
        }
        for text in ["", "dir:", "tcp:", "tcp:localhost:1", "tcp:70000", "stdin:x", "kafka:x"] {
            let error = FeedSpec::parse(text).unwrap_err();
            assert!(error.starts_with(&format!("feed {text}: want ")), "{error}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let terms = OpenTerms { now: Timestamp::UNIX_EPOCH, fixed: None, allow_remote: false };
        let open = |texts: &[&str]| {
            let specs: Vec<FeedSpec> = texts.iter().map(|text| FeedSpec::parse(text).unwrap()).collect();
            FeedSpec::open(&specs, &terms).map(|feed| feed.is_simulated())
        };
        assert_eq!(open(&["sim"]), Ok(true));
        assert!(open(&["sim", "tcp:0"]).unwrap_err().contains("no other feed"));
        assert!(open(&["stdin:", "stdin:"]).unwrap_err().contains("one standard input"));
        assert!(open(&["tcp:0.0.0.0:0"]).unwrap_err().contains("--allow-remote"));
        assert_eq!(open(&["tcp:0"]), Ok(false));
    }
}
