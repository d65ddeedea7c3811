//! `greeksd scenario`: computes names from a feed, and answers a scenario request without a daemon. Never: a formula.

use super::legs::Legs;
use super::rows::{Cut, ScenarioClient, ScenarioWriter};
use crate::listed::name_of;
use crate::positions::file::read_positions;
use api::query::Query;
use api::rows::frame::Heading;
use api::vendors::native_scenario::{self, ScenarioRequest, ScenarioSubject};
use engine::scenario::ScenarioTables;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use host::log::say;
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use kernel::position::PositionLine;
use std::io::{StdoutLock, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Bytes that tables of early exercise may take.
const TABLES: usize = 1 << 30;

/// Chains of single names, computed from a feed.
pub trait FeedChains {
    /// The calendar of the feed.
    fn calendar(&self) -> &Calendar;

    /// Computes a name.
    ///
    /// # Errors
    /// Why there is no chain of the name, for the user.
    fn chain(&mut self, name: Symbol) -> Result<Arc<Chain>, String>;
}

/// Runs the command for the parameters of a request; `positions` is their file, and `open` opens the feed.
#[must_use]
pub fn run<C: FeedChains>(
    parameters: &[String],
    positions: Option<&Path>,
    open: impl FnOnce() -> Result<C, String>,
) -> ExitCode {
    match write(parameters, positions, open) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say(&format!("greeksd scenario: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn write<C: FeedChains>(
    parameters: &[String],
    positions: Option<&Path>,
    open: impl FnOnce() -> Result<C, String>,
) -> Result<(), String> {
    let query = with_positions(parameters.join("&"), positions.is_some());
    // an option has the form of a parameter, so that a request of a daemon can be given as it is
    let mut request = native_scenario::parse(&Query::parse(&query)).map_err(|refusal| refusal.to_string())?;
    let roots = RootTable::embedded();
    let book = match positions {
        Some(path) => {
            let (lines, complaints) = read_positions(path)?;
            complaints.iter().for_each(|complaint| say(&format!("refused: {complaint}")));
            lines
        }
        None => Vec::new(),
    };
    if positions.is_none() && matches!(request.subject, ScenarioSubject::Positions(_)) {
        return Err("positions: give their file, --positions FILE".to_owned());
    }
    let names = names(&request, &book, &roots);
    let mut source = open()?;
    let calendar = source.calendar().clone();
    let mut chains = Vec::new();
    for name in names {
        match source.chain(name) {
            Ok(chain) => chains.push(chain),
            // a position in what the feed does not list is listed with the reason
            Err(why) if matches!(request.subject, ScenarioSubject::Positions(_)) => say(&why),
            Err(why) => return Err(why),
        }
    }
    let snapshot = Snapshot::new(1, chains, Vec::new());
    settle(&mut request);
    let legs = Legs::of(&request, &snapshot, &book, &roots, &calendar).map_err(|refusal| refusal.to_string())?;
    legs.warning.iter().for_each(|warning| say(warning));
    let tables = ScenarioTables::new(TABLES);
    let writer = ScenarioWriter::new(&request, &legs, &tables, calendar.zone());
    let heading = Heading { title: "Scenarios".to_owned(), lines: Vec::new() };
    let mut client = LocalClient { out: std::io::stdout().lock(), failed: String::new() };
    writer.write(&heading, &mut client).map_err(|cut| match cut {
        Cut::Gone | Cut::Crowded => format!("cannot write: {}", client.failed),
        Cut::TooManyGroups => "a sum has more than a million values".to_owned(),
    })
}

/// Whoever reads what the command writes.
struct LocalClient {
    out: StdoutLock<'static>,
    failed: String,
}

impl ScenarioClient for LocalClient {
    fn goes_on(&mut self, _: usize) -> Result<(), Cut> {
        Ok(())
    }

    fn takes(&mut self, piece: Vec<u8>) -> Result<(), Cut> {
        self.out.write_all(&piece).map_err(|error| {
            self.failed = error.to_string();
            Cut::Gone
        })
    }
}

/// The query, with all positions of the file where nothing is named.
fn with_positions(query: String, has_file: bool) -> String {
    // with `underlying` alone, contracts are meant; `positions=*` beside it chooses among positions
    let names = ["underlying=", "root=", "osym=", "positions="];
    let is_named = query.split('&').any(|pair| names.iter().any(|name| pair.starts_with(name)));
    if has_file && !is_named { format!("{query}&positions=*") } else { query }
}

/// Names in the order of a request.
fn names(request: &ScenarioRequest, book: &[PositionLine], roots: &RootTable) -> Vec<Symbol> {
    let mut names: Vec<Symbol> = match &request.subject {
        ScenarioSubject::Contracts { selection, named } => {
            let of_named = named.iter().map(|holding| holding.instrument.root());
            let of_roots = selection.roots.iter().copied().chain(of_named);
            selection.underlyings.iter().copied().chain(of_roots.map(|root| roots.underlying_of(root))).collect()
        }
        ScenarioSubject::Positions(_) => book.iter().map(|line| name_of(line.instrument, roots)).collect(),
    };
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

/// A file of all positions is meant where an account is not named.
fn settle(request: &mut ScenarioRequest) {
    if let ScenarioSubject::Positions(subject) = &mut request.subject {
        subject.accounts.retain(|account| !account.is_empty());
    }
}
