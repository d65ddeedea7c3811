//! `greeksd explain`: queries a daemon, or computes the name from a feed. Never: the contents of an explanation.

use super::document::{ExplainDocument, MarketPart, Surroundings};
use super::text::text;
use crate::daemon;
use api::cursor::percent_encode;
use api::selection::unserved::has;
use api::vendors::asked::AskedInstrument;
use api::vendors::native_explain::PATH;
use engine::explain::explain;
use engine::store::chain::Chain;
use host::log::say;
use host::printable::printable;
use jiff::tz::TimeZone;
use kernel::contract::{RootTable, Symbol};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

/// A name that was computed from a feed.
pub struct ComputedName {
    /// The chain.
    pub chain: Arc<Chain>,
    /// True if the quotes are simulated.
    pub is_simulated: bool,
    /// True if the market is open at the time of the clock.
    pub is_open: bool,
    /// Time zone of the calendar.
    pub zone: TimeZone,
}

/// Where an explanation comes from. `C` computes the first of some names that the feed lists.
pub enum ExplainedFrom<'a, C> {
    /// A running daemon.
    Daemon {
        /// Its URL.
        url: &'a str,
        /// The past moment to explain.
        as_of: Option<&'a str>,
    },
    /// Feeds, by their specifications.
    Feeds(&'a [String], C),
}

/// Runs the command for a contract as users write it; `as_json`: with all digits instead of text.
#[must_use]
pub fn run<C>(osym: &str, as_json: bool, from: ExplainedFrom<'_, C>) -> ExitCode
where
    C: FnOnce(&[Symbol]) -> Result<ComputedName, String>,
{
    let written = document(osym, from).and_then(|document| {
        let out =
            if as_json { [document.json(), b"\n".to_vec()].concat() } else { printable(&text(&document)).into_bytes() };
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

fn document<C>(osym: &str, from: ExplainedFrom<'_, C>) -> Result<ExplainDocument, String>
where
    C: FnOnce(&[Symbol]) -> Result<ComputedName, String>,
{
    let asked = AskedInstrument::parse_contract(osym)
        .ok_or_else(|| format!("{osym}: not a contract such as SPY 12/18 712 C or AAPL270115C00200000"))?;
    match from {
        ExplainedFrom::Daemon { url, as_of } => ask(url, osym, as_of),
        ExplainedFrom::Feeds(feeds, compute) => {
            let (roots, root) = (RootTable::embedded(), asked.root());
            explained(feeds, asked, &roots, compute(&[roots.underlying_of(root), root])?)
        }
    }
}

/// Queries a daemon.
fn ask(url: &str, symbol: &str, as_of: Option<&str>) -> Result<ExplainDocument, String> {
    let moment = as_of.map_or_else(String::new, |as_of| format!("&as_of={}", percent_encode(as_of)));
    let (status, bytes) = daemon::get(url, &format!("{PATH}?osym={}{moment}", percent_encode(symbol)))?;
    match status {
        200 => serde_json::from_slice(&bytes).map_err(|error| format!("{url}: not an explanation: {error}")),
        404 | 400 if as_of.is_some() => Err(format!(
            "{url}: no snapshot at this time lists {symbol} there, or the daemon has no past (--feed history:DIR)"
        )),
        404 => Err(format!("{url}: no contract {symbol} is listed there")),
        502 => Err(format!("{url}: {symbol} is not computed yet; try again")),
        status => Err(format!("{url}: status {status}")),
    }
}

/// The explanation from the chain of a feed.
fn explained(
    feeds: &[String],
    asked: AskedInstrument,
    roots: &RootTable,
    name: ComputedName,
) -> Result<ExplainDocument, String> {
    let ComputedName { chain, is_simulated, is_open, zone } = name;
    let today = chain.valued_at.to_zoned_datetime(zone.clone()).date();
    let contract = asked.contract(today, roots, |key| has(&chain, key));
    let found = contract.and_then(|contract| explain(&chain, &contract)).ok_or_else(|| {
        let (name, feeds) = (chain.underlying, feeds.join(" --feed "));
        format!("the feed does not list that contract; `greeksd view {name} --feed {feeds}` shows the listed ones")
    })?;
    let market =
        MarketPart { feed: feeds.join(", "), simulated: is_simulated, market_open: is_open, ..MarketPart::default() };
    Ok(ExplainDocument::of(&chain, &found, &Surroundings { market, zone: Some(zone) }))
}
