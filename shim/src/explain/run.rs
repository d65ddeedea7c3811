//! `greeksd explain`: queries a daemon, or computes the name from a feed. Never: the contents of an explanation.

use super::document::{ExplainDocument, MarketPart, Surroundings};
use super::text::text;
use crate::config::ExplainArgs;
use crate::log::say;
use crate::market::overrides::OverridesFile;
use crate::market::spec::{FeedSpec, OpenTerms};
use api::cursor::percent_encode;
use api::openapi::EXPLAIN;
use engine::explain::explain;
use engine::pass::Passes;
use engine::store::chain::Chain;
use host::clock::MarketClock;
use host::printable::printable;
use host::secret::Keys;
use kernel::contract::osi::OSI_LEN;
use kernel::contract::{ContractKey, RootTable, Symbol};
use sources::Moment;
use sources::poll::client::{AnswerBounds, Client, Received, ServerBase};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a feed may take to list the name.
const FEED_MOST: Duration = Duration::from_secs(60);
/// The pause between two looks at a feed.
const FEED_PAUSE: Duration = Duration::from_millis(50);

/// Runs the command.
#[must_use]
pub fn run(args: &ExplainArgs, keys: &Keys) -> ExitCode {
    let written = document(args, keys).and_then(|document| {
        let out = if args.json {
            [document.json(), b"\n".to_vec()].concat()
        } else {
            printable(&text(&document)).into_bytes()
        };
        std::io::stdout().write_all(&out).map_err(|error| format!("cannot write: {error}"))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say(&format!("greeksd explain: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn document(args: &ExplainArgs, keys: &Keys) -> Result<ExplainDocument, String> {
    let contract = ContractKey::parse_osi(&args.osym)
        .ok_or_else(|| format!("{}: not the OSI symbol of a contract, such as AAPL270115C00200000", args.osym))?;
    if args.feed.is_empty() { ask(&args.url, &contract, args.as_of.as_deref()) } else { compute(args, keys, &contract) }
}

/// Queries a daemon.
fn ask(url: &str, contract: &ContractKey, as_of: Option<&str>) -> Result<ExplainDocument, String> {
    let base = ServerBase::parse(url)?;
    let client = Client::new(base, Vec::new(), None, AnswerBounds::default())?;
    let mut osi = [0; OSI_LEN];
    let n = contract.write_compact(&mut osi);
    let symbol = String::from_utf8_lossy(&osi[..n]).into_owned();
    let moment = as_of.map_or_else(String::new, |as_of| format!("&as_of={}", percent_encode(as_of)));
    let received = client.get(&format!("{EXPLAIN}?osym={symbol}{moment}"), None);
    match received.map_err(|failed| {
        format!(
            "{url}: {}: is a daemon running there? (`greeksd serve` starts one, --feed does without)",
            failed.failure.name()
        )
    })? {
        Received::Body { status: 200, bytes, .. } => {
            serde_json::from_slice(&bytes).map_err(|error| format!("{url}: not an explanation: {error}"))
        }
        Received::Body { status: 404 | 400, .. } if as_of.is_some() => Err(format!(
            "{url}: no snapshot at this time lists {symbol} there, or the daemon has no past (--feed history:DIR)"
        )),
        Received::Body { status: 404, .. } => Err(format!("{url}: no contract {symbol} is listed there")),
        Received::Body { status: 502, .. } => Err(format!("{url}: {symbol} is not computed yet; try again")),
        Received::Body { status, .. } => Err(format!("{url}: status {status}")),
        Received::Unchanged => Err(format!("{url}: no response")),
    }
}

/// Computes the name from a feed.
fn compute(args: &ExplainArgs, keys: &Keys, contract: &ContractKey) -> Result<ExplainDocument, String> {
    let specs = args.feed.iter().map(|feed| FeedSpec::parse(feed)).collect::<Result<Vec<_>, _>>()?;
    let clock = args.now.map_or(MarketClock::Running, MarketClock::Fixed);
    let overrides = args.overrides.as_deref();
    let terms = OpenTerms {
        clock,
        allow_remote: false,
        keys: keys.clone(),
        authorities: None,
        asked: Arc::default(),
        record: None,
        is_replay: false,
        recorded: FeedSpec::recorded(&specs, overrides)?,
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
    let name = RootTable::embedded().underlying_of(contract.root);
    let began = Instant::now();
    let chain = loop {
        let moment = Moment { now: clock.now(), latest: clock.latest(), elapsed: began.elapsed(), log: &say };
        feed.poll(&moment);
        let listed = [name, contract.root].into_iter().find(|name| feed.contracts(*name, moment.now) > 0);
        if let Some(listed) = listed {
            break chain_of(feed.as_mut(), listed, &moment, &mut passes)?;
        }
        if began.elapsed() > FEED_MOST || !feed.lists_later() {
            return Err(format!("the feed lists no contract of {name}"));
        }
        std::thread::sleep(FEED_PAUSE);
    };
    let found = explain(&chain, contract).ok_or_else(|| {
        let (name, feeds) = (chain.underlying, args.feed.join(" --feed "));
        format!("the feed does not list that contract; `greeksd view {name} --feed {feeds}` shows the listed ones")
    })?;
    let calendar = &feed.reference().calendar;
    let market = MarketPart {
        feed: args.feed.join(", "),
        simulated: feed.is_simulated(),
        market_open: calendar.is_open(clock.now()),
        ..MarketPart::default()
    };
    Ok(ExplainDocument::of(&chain, &found, &Surroundings { market, zone: Some(calendar.zone().clone()) }))
}

fn chain_of(
    feed: &mut dyn crate::market::feed::Feed,
    name: Symbol,
    moment: &Moment<'_>,
    passes: &mut Passes,
) -> Result<Arc<Chain>, String> {
    let reference = feed.reference().clone();
    feed.requeue(&[name]);
    let books = feed.books(&[name], moment.now, passes);
    let last = passes.run_first(reference.market(), &books).pop();
    last.map(|computed| computed.chain).ok_or_else(|| format!("{name}: not computed because of an internal error"))
}
