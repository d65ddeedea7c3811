//! Parses the specification of a feed and opens it: the only module that names the kinds of feeds. Polled vendors are
//! rows of a [table](sources::poll::registry).

use super::feed::Feed;
use super::sim::SimFeed;
use super::store_feed::StoreFeed;
use crate::config::RatesMode;
use crate::past::folder::RecordedFolder;
use engine::rates::table::RateTable;
use host::clock::MarketClock;
use host::secret::Keys;
use kernel::contract::Symbol;
use kernel::error::said_by_system;
use restart::folder::SavedMarket;
use restart::last_curve::LastCurve;
use sim::SimOptions;
use sources::QuoteSource;
use sources::databento_spec::DatabentoSpec;
use sources::dir::DirectorySource;
use sources::feed_names::add_name;
use sources::lines::{reading::start_stdin, tcp};
use sources::poll::client::{AnswerBounds, Client, ServerBase};
use sources::poll::dividends::{self, DividendsOnly};
use sources::poll::plan::VendorTerms;
use sources::poll::registry::vendor_of;
use sources::poll::sign_in::SignIn;
use sources::poll::sweep::Sweeps;
use sources::poll::vendor::{Adjust, DataKind, DividendsWanted, PolledVendor, Vendor};
use sources::poll::{PollSource, PollTerms};
use sources::recorded::{RecordedSource, Shown};
use sources::recorder::RecordTap;
use sources::requested::RequestedNames;
use sources::tasty_spec::TastySpec;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, fs};

/// Hint for an unknown kind of feed.
const WANT: &str = "expected sim, sim:full, sim:seed=N, dir:PATH, history:DIR, tcp:PORT, tcp:ADDRESS:PORT, stdin:, or treasury:, or \
    cboe:, theta:, tradier:, massive:, alpaca:, schwab:, tasty:, nasdaq: or databento: with names (cboe:SPY,QQQ)";

/// Why the simulated market is not opened beside others.
const ALONE: &str = "the simulated market cannot be combined with other feeds";

/// Seconds between two requests for the prices of all names of a vendor.
const SPOTS_S: f64 = 2.0;

/// A feed, as the user specifies it.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedSpec {
    /// The simulated market.
    Sim(SimOptions),
    /// A market folder, or one chain file.
    Dir(PathBuf),
    /// A folder of recorded quotes of many days.
    History(PathBuf),
    /// Lines over connections to this address.
    Tcp(SocketAddr),
    /// Lines from standard input.
    Stdin,
    /// A vendor polled over HTTP.
    Poll(PollSpec),
    /// Databento's live gateway.
    Databento(DatabentoSpec),
    /// The stream of tastytrade.
    Tasty(TastySpec),
}

/// A vendor polled over HTTP.
#[derive(Clone, Debug, PartialEq)]
pub struct PollSpec {
    vendor: &'static PolledVendor,
    names: Vec<Symbol>,
    adjust: Adjust,
    /// Address to query instead of the vendor's own.
    base: Option<ServerBase>,
}

/// Settings that feeds are opened with.
#[derive(Clone)]
pub struct OpenTerms {
    /// Clock of the market.
    pub clock: MarketClock,
    /// True if feeds may listen on addresses that other machines can reach.
    pub allow_remote: bool,
    /// Keys of vendors.
    pub keys: Keys,
    /// CA certificates for vendors' servers, instead of those of the system.
    pub authorities: Option<PathBuf>,
    /// Names of recent requests.
    pub requested: Arc<RequestedNames>,
    /// Recorder of incoming data.
    pub record: Option<RecordTap>,
    /// True if the clock was started at an instant: recorded days are replayed along it.
    pub is_replay: bool,
    /// Recorded days, if one of the feeds is a folder of them.
    pub recorded: Option<Arc<RecordedFolder>>,
    /// Source of the discount curves.
    pub rates: RatesMode,
    /// Folder of the last discount curve; `None`: it is not saved.
    pub last_rates: Option<PathBuf>,
}

impl FeedSpec {
    /// Parses one feed: `sim`, `sim:OPTIONS` (`sim:full`), `dir:PATH`, `history:DIR`, `tcp:PORT`, `tcp:ADDRESS:PORT`,
    /// `stdin:`, `VENDOR:NAMES[,OPTION=VALUE]…[@ADDRESS]`.
    ///
    /// # Errors
    /// Why the text is refused, for the user.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: String| format!("feed {text}: {why}");
        let parsed = match text.split_once(':') {
            None if text == "sim" => Ok(Self::Sim(SimOptions::default())),
            Some(("sim", options)) => SimOptions::parse(options).map(Self::Sim).map_err(|e| e.to_string()),
            Some(("dir", path)) if !path.is_empty() => Ok(Self::Dir(PathBuf::from(path))),
            Some(("history", path)) if !path.is_empty() => Ok(Self::History(PathBuf::from(path))),
            Some(("tcp", address)) => {
                let here = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
                let address = address.parse().or_else(|_| address.parse().map(here));
                address.map(Self::Tcp).map_err(|_| "expected tcp:PORT or tcp:ADDRESS:PORT".to_owned())
            }
            Some(("stdin", "")) => Ok(Self::Stdin),
            Some(("databento", rest)) => DatabentoSpec::parse(rest).map(Self::Databento),
            Some(("tasty", rest)) => TastySpec::parse(rest).map(Self::Tasty),
            Some((vendor, rest)) => match vendor_of(vendor) {
                Some(vendor) => PollSpec::parse(vendor, rest).map(Self::Poll),
                None => Err(WANT.to_owned()),
            },
            None => Err(WANT.to_owned()),
        };
        parsed.map_err(wrong)
    }

    /// Checks what a start can refuse of some feeds before anything is made for them: which go together, and whether
    /// their folders are there.
    ///
    /// # Errors
    /// Why a feed cannot be opened, or not with the others, for the user.
    pub fn check(specs: &[Self]) -> Result<(), String> {
        let has_others = specs.len() > 1;
        if specs.iter().filter(|spec| **spec == Self::Stdin).count() > 1 {
            return Err("feed stdin: give it only once".to_owned());
        }
        for spec in specs {
            let checked = match spec {
                Self::Sim(_) if has_others => Err(ALONE.to_owned()),
                Self::Dir(path) => DirectorySource::open(path, has_others).map(drop).map_err(|e| e.to_string()),
                Self::History(path) => fs::metadata(path).map(drop).map_err(|e| said_by_system(e.kind())),
                _ => Ok(()),
            };
            checked.map_err(|why| format!("feed {spec}: {why}"))?;
        }
        Ok(())
    }

    /// Checks that the data of some feeds can be recorded.
    ///
    /// # Errors
    /// Why they are not recorded, for the user.
    pub fn check_recorded(specs: &[Self]) -> Result<(), String> {
        if specs.iter().any(|spec| matches!(spec, Self::Sim(_))) {
            return Err("feed sim: the simulated market is not recorded, for its seed reproduces it; `greeksd generate DIR --every 1m` \
                 writes days of it"
                .to_owned());
        }
        Ok(())
    }

    /// Opens feeds in order of precedence. It checks that they exist, and reads no quotes yet.
    ///
    /// # Errors
    /// Why a feed cannot be opened, or not with the others, for the user.
    pub fn open(specs: &[Self], terms: &OpenTerms) -> Result<Box<dyn Feed>, String> {
        if let [Self::Sim(options)] = specs {
            return Ok(Box::new(SimFeed::open(*options, terms.clock.now(), terms.rates)));
        }
        Self::check(specs)?;
        let open = |spec: &Self| spec.source(specs.len() > 1, terms).map_err(|why| format!("feed {spec}: {why}"));
        let sources = specs.iter().map(open).collect::<Result<_, _>>()?;
        let rates = match terms.rates {
            RatesMode::Auto => RateTable::default(),
            RatesMode::Zero => RateTable::zero(),
        };
        let last = terms.last_rates.as_deref().map(LastCurve::open);
        let feed = StoreFeed::new(sources, terms.clock.fixed()).with_rates(rates).with_last_curve(last);
        Ok(Box::new(feed.recording_to(terms.record.clone())))
    }

    /// Opens the folder of recorded days among some feeds; `overrides` is the file of overrides.
    ///
    /// # Errors
    /// Why there is more than one such folder, or it cannot be opened, for the user.
    pub fn recorded(specs: &[Self], overrides: Option<&Path>) -> Result<Option<Arc<RecordedFolder>>, String> {
        let mut folders =
            specs.iter().filter_map(|spec| if let Self::History(path) = spec { Some(path) } else { None });
        let Some(path) = folders.next() else { return Ok(None) };
        if folders.next().is_some() {
            return Err("feed history: give only one folder".to_owned());
        }
        let opened = RecordedFolder::open(path, overrides);
        opened.map(Some).map_err(|why| format!("feed history:{}: {why}", path.display()))
    }

    /// The saved market that some feeds continue. Recorded folders are identified by their canonical paths.
    #[must_use]
    pub fn saved_market(specs: &[Self]) -> SavedMarket {
        let mut paths = Vec::new();
        for spec in specs {
            match spec {
                Self::Dir(path) | Self::History(path) => {
                    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
                    paths.push(real.display().to_string());
                }
                Self::Tcp(_) | Self::Stdin | Self::Databento(_) | Self::Tasty(_) => return SavedMarket::Live,
                Self::Poll(poll) if poll.has_chains() => return SavedMarket::Live,
                Self::Sim(_) | Self::Poll(_) => {}
            }
        }
        SavedMarket::Recorded(paths.join(", "))
    }

    /// True if none of the feeds has quotes, so that nothing can be served.
    #[must_use]
    pub fn lack_quotes(specs: &[Self]) -> bool {
        specs.iter().all(|spec| matches!(spec, Self::Poll(poll) if !poll.has_chains()))
    }

    fn source(&self, has_others: bool, terms: &OpenTerms) -> Result<Box<dyn QuoteSource>, String> {
        Ok(match self {
            Self::Sim(_) => return Err(ALONE.to_owned()),
            Self::Dir(path) => Box::new(DirectorySource::open(path, has_others).map_err(|e| e.to_string())?),
            Self::History(_) => {
                let recorded = terms.recorded.clone().ok_or("not opened")?;
                let shown = if terms.is_replay { Shown::Replay } else { Shown::LastBy(terms.clock.fixed()) };
                let source = RecordedSource::start(self.to_string(), recorded, shown, terms.clock);
                Box::new(source.map_err(|e| e.to_string())?)
            }
            Self::Tcp(address) if !terms.allow_remote && !address.ip().is_loopback() => {
                return Err("it can be reached from other machines, which could push any quotes; give \
                    --allow-remote if that is intended, or listen on 127.0.0.1"
                    .to_owned());
            }
            Self::Tcp(address) => Box::new(tcp::start(*address, terms.clock).map_err(|e| match e.kind() {
                ErrorKind::AddrInUse => "another program, perhaps another greeksd, listens there".to_owned(),
                _ => e.to_string(),
            })?),
            Self::Stdin => Box::new(start_stdin(terms.clock).map_err(|e| e.to_string())?),
            Self::Poll(poll) => Box::new(poll.source(self.to_string(), terms)?),
            Self::Databento(session) => session.source(self.to_string(), &terms.keys, terms.clock)?,
            Self::Tasty(session) => {
                let authorities = terms.authorities.as_deref();
                Box::new(session.source(self.to_string(), &terms.keys, authorities, terms.clock)?)
            }
        })
    }
}

impl fmt::Display for FeedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sim(_) => f.write_str("sim"),
            Self::Dir(path) => write!(f, "dir:{}", path.display()),
            Self::History(path) => write!(f, "history:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Stdin => f.write_str("stdin:"),
            Self::Databento(session) => write!(f, "{session}"),
            Self::Tasty(session) => write!(f, "{session}"),
            Self::Poll(PollSpec { vendor, names, base, adjust }) => {
                let names: Vec<&str> =
                    names.iter().map(Symbol::as_str).filter(|&name| Some(name) != vendor.whole).collect();
                write!(f, "{}:{}", vendor.word, names.join(","))?;
                if adjust.dividends == DividendsWanted::Only {
                    f.write_str(",dividends=only")?;
                }
                base.iter().try_for_each(|base| write!(f, "@{base}"))
            }
        }
    }
}

impl PollSpec {
    fn parse(vendor: &'static PolledVendor, text: &str) -> Result<Self, String> {
        let (list, base) = match text.split_once('@') {
            Some((list, base)) => (list, Some(ServerBase::parse(base)?)),
            None => (text, None),
        };
        let (mut names, mut adjust) = (Vec::from_iter(vendor.whole.and_then(Symbol::parse)), Adjust::default());
        let is_whole = !names.is_empty();
        for item in list.split(',').filter(|item| !(is_whole && item.is_empty())) {
            match item.split_once('=') {
                None if is_whole => return Err(format!("{item:?}: {} takes no symbols", vendor.word)),
                Some((option, value)) => adjust.set(option, value)?,
                None => add_name(&mut names, item)?,
            }
        }
        if names.is_empty() {
            return Err(format!("expected symbols, such as {}:SPY,QQQ", vendor.word));
        }
        if adjust.dividends != DividendsWanted::default() && !vendor.has_both() {
            return Err(format!("dividends: not an option of {}; only massive and tradier have it", vendor.word));
        }
        if adjust.spots_s.is_some() && !vendor.has_spots {
            return Err(format!("spots: not an option of {}; alpaca, schwab and tradier have it", vendor.word));
        }
        let spec = Self { vendor, names, adjust, base };
        spec.check()?;
        Ok(spec)
    }

    /// Refuses to poll public websites above their rate limits; other servers have no such limits.
    fn check(&self) -> Result<(), String> {
        let (None, Some(limits)) = (&self.base, &self.vendor.public_limits) else { return Ok(()) };
        let most = self.adjust.most.unwrap_or(limits.names_most);
        if self.names.len() > most {
            return Err(format!("{} symbols; at most {most}, unless names=N raises it", self.names.len()));
        }
        let own = &self.vendor.terms;
        let terms = self.adjust.apply(*own);
        let is_gentle =
            terms.every >= limits.every_least && terms.per_minute <= own.per_minute && terms.at_once <= own.at_once;
        if is_gentle { Ok(()) } else { Err(format!("rate limit: at most {}", limits.text)) }
    }

    /// True if the vendor has quotes, and not only rates or dividends.
    fn has_chains(&self) -> bool {
        self.vendor.data_kinds.contains(&DataKind::Chains) && self.adjust.dividends != DividendsWanted::Only
    }

    /// Interval of requests for the prices of all names together, where the vendor has them.
    fn spots_every(&self) -> Option<Duration> {
        let seconds = self.adjust.spots_s.unwrap_or(SPOTS_S);
        (self.vendor.has_spots && self.has_chains() && seconds > 0.0).then(|| Duration::from_secs_f64(seconds))
    }

    /// Rate limits of the vendor, before options change them.
    fn own_terms(&self) -> VendorTerms {
        if self.adjust.dividends == DividendsWanted::Only { dividends::TERMS } else { self.vendor.terms }
    }

    fn source(&self, name: String, terms: &OpenTerms) -> Result<PollSource, String> {
        let base = self.base.clone().map_or_else(|| ServerBase::parse(self.vendor.base), Ok)?;
        let vendor = self.vendor(&terms.keys)?;
        let (headers, sign_in) = (vendor.headers(), vendor.sign_in());
        if !(base.is_private() || headers.is_empty() && sign_in.is_none()) {
            return Err(format!("{base}: keys are sent over https or to this machine only"));
        }
        if let Some(notice) = self.vendor.notice {
            tracing::warn!("{notice}");
        }
        if let Some(warning) = sign_in.as_ref().and_then(SignIn::warning) {
            tracing::warn!("{warning}");
        }
        let authorities = terms.authorities.as_deref();
        let second = self.vendor.second_base.filter(|_| self.base.is_none());
        let second = second
            .map(|base| Client::new(ServerBase::parse(base)?, Vec::new(), authorities, AnswerBounds::default()))
            .transpose()?;
        let client = Client::new(base, headers, authorities, AnswerBounds::default())?.signed_in(sign_in);
        let poll = PollTerms {
            terms: self.adjust.apply(self.own_terms()),
            spots_every: self.spots_every(),
            asks_dividends: self.adjust.dividends == DividendsWanted::Beside,
            names: self.names.clone(),
            requested: Arc::clone(&terms.requested),
            clock: terms.clock,
        };
        PollSource::start(Sweeps::new(name, vendor, client, second, terms.clock), poll).map_err(|e| e.to_string())
    }

    fn vendor(&self, keys: &Keys) -> Result<Box<dyn Vendor>, String> {
        let vendor = (self.vendor.open)(keys, &self.adjust)?;
        let is_only = self.adjust.dividends == DividendsWanted::Only;
        Ok(if is_only { Box::new(DividendsOnly(vendor)) } else { vendor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> OpenTerms {
        OpenTerms {
            clock: MarketClock::Running,
            allow_remote: false,
            keys: Keys::default(),
            authorities: None,
            requested: Arc::default(),
            record: None,
            is_replay: false,
            recorded: None,
            rates: RatesMode::Auto,
            last_rates: None,
        }
    }

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
        for text in ["", "dir:", "tcp:", "tcp:localhost:1", "tcp:70000", "stdin:x", "kafka:x", "cboe:every=60"] {
            let error = FeedSpec::parse(text).unwrap_err();
            assert!(error.starts_with(&format!("feed {text}: expected ")), "{error}");
        }
    }

    #[cfg(not(feature = "databento-live"))]
    #[test]
    fn a_program_without_the_live_gateway_says_how_it_is_built_with_it() {
        let said = FeedSpec::parse("databento:SPY").unwrap_err();
        assert!(said.contains("--features databento-live") && said.contains("tcp:"), "{said}");
    }

    #[test]
    fn vendors_have_names_options_and_an_address() {
        let shown = |text: &str| FeedSpec::parse(text).map(|spec| spec.to_string());
        for (text, wanted) in [
            ("cboe:SPY,_SPX,brk/b,SPXW", "cboe:SPY,SPX,BRK.B"),
            ("theta:SPY@http://127.0.0.1:25503/", "theta:SPY@http://127.0.0.1:25503"),
            ("theta:SPY,every=2.5,rate=30,at-once=4", "theta:SPY"),
            ("massive:KO,brk/b,dividends=only", "massive:KO,BRK.B,dividends=only"),
            ("tradier:KO,dividends=no", "tradier:KO"),
            ("schwab:KO,_SPX,spots=no", "schwab:KO,SPX"),
            ("tasty:KO,SPX@http://127.0.0.1:1", "tasty:KO,SPX@http://127.0.0.1:1"),
            ("treasury:", "treasury:"),
            ("treasury:every=7200", "treasury:"),
            ("nasdaq:KO,every=7200", "nasdaq:KO"),
            ("treasury:every=1@http://127.0.0.1:1", "treasury:@http://127.0.0.1:1"),
        ] {
            assert_eq!(shown(text), Ok(wanted.to_owned()), "{text}");
        }
        for (text, wanted) in [
            ("cboe:", "is not a symbol"),
            ("cboe:SPY,S?Y", "is not a symbol"),
            ("theta:SPY,every=0", "every: expected"),
            ("theta:SPY,rate=x", "rate: expected"),
            ("theta:SPY,speed=1", "unknown option speed"),
            ("theta:SPY@127.0.0.1", "expected http://"),
            ("cboe:SPY,every=30", "one sweep per minute"),
            ("massive:KO,dividends=maybe", "expected yes, only or no"),
            ("theta:KO,dividends=only", "massive and tradier have"),
            ("cboe:KO,spots=2", "alpaca, schwab and tradier have"),
            ("tradier:KO,spots=0", "spots: expected a number"),
            ("treasury:SPY", "takes no symbols"),
            ("treasury:every=60", "one request per hour"),
            ("nasdaq:KO,every=60", "one request per symbol and hour"),
            ("cboe:SPY,rate=61", "one request per second"),
        ] {
            assert!(shown(text).unwrap_err().contains(wanted), "{text}: {:?}", shown(text));
        }
        let many: String = (0..21).map(|i| format!(",N{i}")).collect();
        assert!(shown(&format!("cboe:{}", &many[1..])).unwrap_err().contains("at most 20"));
        assert!(shown(&format!("cboe:{},names=30", &many[1..])).is_ok());
        assert!(
            shown("cboe:SPY,every=1@http://127.0.0.1:1").is_ok(),
            "another server may be asked as often as it likes"
        );
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let open = |texts: &[&str]| {
            let specs: Vec<FeedSpec> = texts.iter().map(|text| FeedSpec::parse(text).unwrap()).collect();
            FeedSpec::open(&specs, &terms()).map(|feed| feed.is_simulated())
        };
        assert_eq!(open(&["sim"]), Ok(true));
        assert!(open(&["sim", "tcp:0"]).unwrap_err().contains("other feeds"));
        assert!(open(&["stdin:", "stdin:"]).unwrap_err().contains("give it only once"));
        assert!(open(&["tcp:0.0.0.0:0"]).unwrap_err().contains("--allow-remote"));
        assert!(open(&["tradier:SPY"]).unwrap_err().contains(sources::poll::tradier::KEY));
        assert_eq!(open(&["tcp:0"]), Ok(false));
    }

    #[test]
    fn rates_and_dividends_alone_lack_quotes() {
        let lack = |feeds: &[&str]| {
            let specs: Vec<FeedSpec> = feeds.iter().map(|feed| FeedSpec::parse(feed).unwrap()).collect();
            FeedSpec::lack_quotes(&specs)
        };
        assert!(lack(&["treasury:"]) && lack(&["treasury:", "nasdaq:KO"]) && lack(&["massive:KO,dividends=only"]));
        for feed in ["sim", "dir:m", "tcp:2113", "stdin:", "cboe:KO", "massive:KO"] {
            assert!(!lack(&["treasury:", feed]), "{feed}");
        }
    }
}
