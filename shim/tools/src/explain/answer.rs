//! `GET /l1/explain?osym=`: answers requests for explanations.
//!
//! A value by the reference scheme may take a tenth of a second, so a thread of its own computes it, and the number of
//! these threads is bounded. Never: the contents of an explanation.

use super::document::{ExplainDocument, Surroundings};
use super::text::text;
use api::cursor::compact;
use api::query::Query;
use api::refusal::Refusal;
use api::selection::not_yet;
use api::selection::unserved::{has, lists};
use api::vendors::asked::AskedInstrument;
use api::vendors::native;
use api::vendors::native_explain::{self, ExplainQuestion, ExplanationForm};
use engine::explain::explain;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use host::faults;
use host::threads::{self, WorkPermits};
use http::{Answer, Awaited};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kernel::contract::{ContractKey, RootTable};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// Name of the route in metrics.
pub const ROUTE: &str = "explain";
/// Maximum number of concurrent explanations; further requests get status 503.
pub const AT_ONCE: usize = 4;

/// Permits for concurrent explanations.
#[derive(Clone, Debug, Default)]
pub struct Explaining(WorkPermits);

impl Explaining {
    /// The answer to a question about a contract of a snapshot.
    ///
    /// # Errors
    /// The contract is not listed, its values are not there yet, or too many explanations are being computed.
    pub fn of_snapshot(
        &self,
        snapshot: &Snapshot,
        question: ExplainQuestion,
        roots: &RootTable,
        mut around: Surroundings,
    ) -> Result<Answer, Refusal> {
        let ExplainQuestion { contract, form, past } = question;
        if let Some(refusal) = past.and_then(|past| past.if_live) {
            return Err(refusal);
        }
        let contract = found_as(contract, snapshot.time, roots, &around, |key| lists(snapshot, key))?;
        let chain = listing(snapshot, &contract)?;
        around.market.snapshot = snapshot.number;
        self.begin(chain, contract, form, around)
    }

    /// The answer to a question about a contract of a chain.
    ///
    /// # Errors
    /// Too many explanations are being computed.
    pub fn of_chain(
        &self,
        chain: Arc<Chain>,
        question: &ExplainQuestion,
        roots: &RootTable,
        around: Surroundings,
    ) -> Result<Answer, Refusal> {
        let contract = found_as(question.contract, chain.valued_at, roots, &around, |key| has(&chain, key))?;
        self.begin(chain, contract, question.form, around)
    }

    /// Computes an answer on another thread.
    fn begin(
        &self,
        chain: Arc<Chain>,
        contract: ContractKey,
        form: ExplanationForm,
        around: Surroundings,
    ) -> Result<Answer, Refusal> {
        let place = self.0.take(AT_ONCE).ok_or(Refusal::Busy)?;
        let (done, answer) = channel();
        let work = move || {
            let _place = place;
            faults::here("explain");
            // the client may have disconnected
            let _ = done.send(found(&chain, &contract, &around, form));
        };
        threads::spawn_answering("explain", work).map_err(|_| Refusal::Busy)?;
        Ok(Answer::awaited(ROUTE, AwaitedExplanation(answer)))
    }
}

/// Parses a query.
///
/// # Errors
/// The refusal of a query that is malformed.
pub fn question_of(query: &str) -> Result<ExplainQuestion, Refusal> {
    native_explain::parse(&Query::parse(query))
}

/// The contract that is meant on the date of some values.
fn found_as(
    asked: AskedInstrument,
    valued_at: Timestamp,
    roots: &RootTable,
    around: &Surroundings,
    is_listed: impl Fn(&ContractKey) -> bool,
) -> Result<ContractKey, Refusal> {
    let today = valued_at.to_zoned_datetime(around.zone.clone().unwrap_or(TimeZone::UTC)).date();
    asked.contract(today, roots, is_listed).ok_or(Refusal::NotListed { reason: "shares have no explanation" })
}

/// The chain that lists a contract.
fn listing(snapshot: &Snapshot, contract: &ContractKey) -> Result<Arc<Chain>, Refusal> {
    let root = contract.served().root;
    if let Some(chain) = snapshot.chains_of_root(root).find(|chain| has(chain, contract)) {
        return Ok(Arc::clone(chain));
    }
    let is_coming = snapshot.number == 0 || snapshot.is_pending(root);
    Err(if is_coming { not_yet(snapshot, root.as_str()) } else { not_listed(contract) })
}

fn not_listed(contract: &ContractKey) -> Refusal {
    Refusal::NotServed { text: format!("no such contract is listed: {}", compact(contract)) }
}

fn found(chain: &Chain, contract: &ContractKey, around: &Surroundings, form: ExplanationForm) -> Answer {
    let Some(found) = explain(chain, contract) else {
        return refused(&not_listed(contract));
    };
    let document = ExplainDocument::of(chain, &found, around);
    match form {
        ExplanationForm::Json => Answer::full(ROUTE, 200, "application/json", document.json()),
        ExplanationForm::Text => Answer::full(ROUTE, 200, "text/plain; charset=utf-8", text(&document)),
    }
}

/// The answer to a refused request.
#[must_use]
pub fn refused(refusal: &Refusal) -> Answer {
    native::refused(ROUTE, refusal)
}

/// An explanation that is being computed.
struct AwaitedExplanation(Receiver<Answer>);

impl Awaited for AwaitedExplanation {
    fn look(&mut self) -> Option<Answer> {
        match self.0.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            // the thread has panicked
            Err(TryRecvError::Disconnected) => {
                Some(Answer::full(ROUTE, 500, "application/json", r#"{"error":"internal error"}"#))
            }
        }
    }
}
