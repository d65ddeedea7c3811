//! Computes chains of single names from a feed, for commands that run without a daemon. Never: the use of a chain.

use crate::config::{ExplainArgs, ExplainPositionsArgs, ScenarioArgs, SourceArgs};
use crate::market::feed::Feed;
use crate::market::overrides::OverridesFile;
use crate::market::spec::{FeedSpec, OpenTerms};
use crate::past::folder::RecordedFolder;
use api::cursor::percent_encode;
use api::vendors::native_positions::PATH;
use desk::explained;
use desk::scenario::{self, FeedChains};
use engine::pass::Passes;
use engine::store::chain::Chain;
use host::clock::MarketClock;
use host::log::say;
use host::secret::Keys;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use sources::Moment;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tools::daemon;
use tools::explain::{self, ComputedName, ExplainedFrom};

/// Time limit for a feed to list a name.
const FEED_MOST: Duration = Duration::from_secs(60);
/// Polling interval of the feed.
const FEED_PAUSE: Duration = Duration::from_millis(50);

/// Runs `greeksd explain`; the keys of vendors are for its feeds.
#[must_use]
pub fn explain(args: &ExplainArgs, keys: &Keys) -> ExitCode {
    let compute = |names: &[Symbol]| {
        let mut source = ChainSource::open(&args.feed, &args.source, keys)?;
        let chain = source.first_of(names)?;
        let (is_simulated, is_open) = (source.is_simulated(), source.is_open());
        Ok(ComputedName { chain, is_simulated, is_open, zone: source.calendar().zone().clone() })
    };
    let from = match args.feed.is_empty() {
        true => ExplainedFrom::Daemon { url: &args.url, as_of: args.as_of.as_deref() },
        false => ExplainedFrom::Feeds(&args.feed, compute),
    };
    explain::run(&args.osym, args.json, from)
}

/// Runs `greeksd scenario`; the keys of vendors are for its feeds.
#[must_use]
pub fn scenario(args: &ScenarioArgs, keys: &Keys) -> ExitCode {
    let open = || ChainSource::open(&args.feed, &args.source, keys);
    scenario::run(&args.query, args.positions.as_deref(), open)
}

/// Runs `greeksd positions explain`; the keys of vendors are for its feeds.
#[must_use]
pub fn explain_positions(args: &ExplainPositionsArgs, keys: &Keys) -> ExitCode {
    let since = percent_encode(&args.since);
    let until = args.as_of.iter().map(|as_of| format!("as_of={}", percent_encode(as_of)));
    let format = (!args.query.iter().any(|pair| pair.starts_with("format="))).then(|| "format=csv".to_owned());
    let own = std::iter::once(format!("explain=since:{since}")).chain(until).chain(format);
    let query: String = own.chain(args.query.iter().cloned()).collect::<Vec<_>>().join("&");
    match &args.positions {
        Some(book) => {
            let open = |now: Option<Timestamp>| {
                let source = SourceArgs { now: now.or(args.source.now), ..args.source.clone() };
                ChainSource::open(&args.feed, &source, keys)
            };
            explained::run(&query, book, open)
        }
        None => daemon::show("positions explain", &args.url, &format!("{PATH}?{query}")),
    }
}

/// An open feed, and the passes that compute its names.
pub struct ChainSource {
    feed: Box<dyn Feed>,
    passes: Passes,
    clock: MarketClock,
    began: Instant,
    named: String,
    /// Recorded days, read by a thread.
    recorded: Option<Arc<RecordedFolder>>,
}

impl ChainSource {
    /// Opens feeds, and the file of overrides.
    ///
    /// # Errors
    /// Which feed or file cannot be opened, and why.
    pub fn open(feeds: &[String], args: &SourceArgs, keys: &Keys) -> Result<Self, String> {
        let specs = feeds.iter().map(|feed| FeedSpec::parse(feed)).collect::<Result<Vec<_>, _>>()?;
        let clock = args.now.map_or(MarketClock::Running, MarketClock::Fixed);
        let overrides = args.overrides.as_deref();
        let recorded = FeedSpec::recorded(&specs, overrides)?;
        let terms = OpenTerms {
            clock,
            allow_remote: false,
            keys: keys.clone(),
            authorities: None,
            requested: Arc::default(),
            record: None,
            is_replay: false,
            recorded: recorded.clone(),
            rates: args.rates,
            last_rates: None,
        };
        let mut feed = FeedSpec::open(&specs, &terms)?;
        feed.keep_sizes();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut passes = Passes::new(threads, |_| ()).map_err(|error| format!("no threads: {error}"))?;
        passes.keep_quotes();
        if let Some(path) = overrides {
            let read = OverridesFile::open(path)?.poll(Duration::ZERO, &|complaint| say(complaint));
            read.into_iter().for_each(|overrides| passes.set_overrides(overrides));
        }
        Ok(Self { feed, passes, clock, began: Instant::now(), named: feeds.join(", "), recorded })
    }

    /// True if the quotes are simulated.
    fn is_simulated(&self) -> bool {
        self.feed.is_simulated()
    }

    /// True if the market is open at the time of the clock.
    fn is_open(&self) -> bool {
        self.calendar().is_open(self.clock.now())
    }

    /// Computes the first of `names` that the feed lists: an underlying, else its root.
    ///
    /// # Errors
    /// The feed lists none of the names within a minute, or the computation fails.
    fn first_of(&mut self, names: &[Symbol]) -> Result<Arc<Chain>, String> {
        loop {
            let (clock, elapsed) = (self.clock, self.began.elapsed());
            let moment = Moment { now: clock.now(), latest: clock.latest(), elapsed, log: &say };
            self.feed.poll(&moment);
            let listed = names.iter().copied().find(|&name| self.feed.contracts(name, moment.now) > 0);
            if let Some(listed) = listed {
                return self.compute(listed, &moment);
            }
            let by = clock.fixed().map(|at| self.calendar().eastern(at).date());
            let has_days = self.recorded.as_ref().is_some_and(|folder| folder.may_have(by));
            let is_reading = has_days && self.feed.outstanding().is_starting;
            if elapsed > FEED_MOST || !(self.feed.lists_later() || is_reading) {
                let name = names.first().map(ToString::to_string).unwrap_or_default();
                return Err(format!("{}: the feed lists no contract of {name}", self.named));
            }
            std::thread::sleep(FEED_PAUSE);
        }
    }

    fn compute(&mut self, name: Symbol, moment: &Moment<'_>) -> Result<Arc<Chain>, String> {
        let reference = self.feed.reference().clone();
        self.feed.requeue(&[name]);
        let books = self.feed.books(&[name], moment.now, &self.passes);
        let last = self.passes.run_first(reference.market(), &books).pop();
        last.map(|computed| computed.chain).ok_or_else(|| format!("{name}: not computed because of an internal error"))
    }
}

impl FeedChains for ChainSource {
    fn calendar(&self) -> &Calendar {
        &self.feed.reference().calendar
    }

    fn chain(&mut self, name: Symbol) -> Result<Arc<Chain>, String> {
        self.first_of(&[name])
    }
}
