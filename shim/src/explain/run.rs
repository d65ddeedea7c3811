//! `greeksd explain`: queries a daemon, or computes the name from a feed. Never: the contents of an explanation.

use super::document::{ExplainDocument, MarketPart, Surroundings};
use super::text::text;
use crate::chains::ChainSource;
use crate::config::ExplainArgs;
use crate::log::say;
use api::cursor::percent_encode;
use api::openapi::EXPLAIN;
use engine::explain::explain;
use host::printable::printable;
use host::secret::Keys;
use kernel::contract::osi::OSI_LEN;
use kernel::contract::{ContractKey, RootTable};
use sources::poll::client::{AnswerBounds, Client, Received, ServerBase};
use std::io::Write;
use std::process::ExitCode;

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
    let mut source = ChainSource::open(&args.feed, &args.source, keys)?;
    let name = RootTable::embedded().underlying_of(contract.root);
    let chain = source.first_of(&[name, contract.root])?;
    let found = explain(&chain, contract).ok_or_else(|| {
        let (name, feeds) = (chain.underlying, args.feed.join(" --feed "));
        format!("the feed does not list that contract; `greeksd view {name} --feed {feeds}` shows the listed ones")
    })?;
    let market = MarketPart {
        feed: args.feed.join(", "),
        simulated: source.is_simulated(),
        market_open: source.is_open(),
        ..MarketPart::default()
    };
    let zone = Some(source.calendar().zone().clone());
    Ok(ExplainDocument::of(&chain, &found, &Surroundings { market, zone }))
}
