//! Metrics of a client's names: the rows as they were last sent, and the changed ones. Never: a connection.

use api::metrics::{Metric, NameMetrics};
use api::rows::frame::json_text;
use api::rows::number::{Print, push_as};
use api::vendors::native_stream::StreamedMetrics;
use engine::closes::{Closes, LastSessions, NamePast};
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use engine::term::{Tenors, TermStructure};
use kernel::calendar::Calendar;
use kernel::contract::Symbol;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

/// Rows that a client has or is being sent.
#[derive(Debug, Default)]
pub(super) struct MetricsImage {
    rows: HashMap<Symbol, SentRow>,
    /// Rows that wait to be sent.
    waiting: VecDeque<String>,
}

/// A row as it was last sent.
#[derive(Debug)]
struct SentRow {
    /// The chain and the changes of the closes that it is of: with both it is the same row.
    of: (Weak<Chain>, u64),
    text: String,
}

impl MetricsImage {
    /// Adds the rows that differ from those of the client.
    pub(super) fn look(&mut self, wanted: &StreamedMetrics, snapshot: &Snapshot, closes: &Closes, calendar: &Calendar) {
        let mut sessions: Option<LastSessions> = None;
        for &name in &wanted.names {
            let Some(chain) = snapshot.chain(name) else { continue };
            let of = (Arc::downgrade(chain), closes.number());
            let before = self.rows.get(&name);
            if before.is_some_and(|before| before.of.1 == of.1 && Weak::ptr_eq(&before.of.0, &of.0)) {
                continue;
            }
            let today = calendar.eastern(chain.valued_at).date();
            let known = sessions.take().filter(|known| known.are_before(today));
            let sessions = sessions.insert(known.unwrap_or_else(|| LastSessions::before(today, calendar)));
            let text = row(wanted, chain, closes, sessions, calendar);
            if before.is_none_or(|before| before.text != text) {
                self.waiting.push_back(text.clone());
            }
            self.rows.insert(name, SentRow { of, text });
        }
    }

    /// Takes waiting rows of so many bytes, with commas between them. `None`: nothing waits.
    pub(super) fn next(&mut self, bytes: usize) -> Option<String> {
        let mut rows = self.waiting.pop_front()?;
        while rows.len() < bytes {
            let Some(row) = self.waiting.pop_front() else { break };
            rows.push(',');
            rows.push_str(&row);
        }
        Some(rows)
    }

    /// True if more rows wait.
    pub(super) fn has_more(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// The row of a name as an object.
fn row(
    wanted: &StreamedMetrics,
    chain: &Chain,
    closes: &Closes,
    sessions: &LastSessions,
    calendar: &Calendar,
) -> String {
    let term = TermStructure::of(chain, calendar);
    let tenors = Tenors::new(&term.clock, chain.valued_at);
    let past = NamePast::of(chain, &term, &tenors, closes, sessions, calendar);
    let metrics = NameMetrics::new(chain, &term, &tenors, &past);
    let mut out = format!("{{\"underlying\":{}", json_text(chain.underlying.as_str()));
    for column in &wanted.columns {
        let text = match (column.find)(&metrics) {
            Metric::Number(x) => {
                let mut text = Vec::new();
                push_as(&mut text, x, Print::UpTo(6));
                String::from_utf8_lossy(&text).into_owned()
            }
            Metric::Word(word) => json_text(&word),
            Metric::Missing(_) => "null".to_owned(),
        };
        out.push_str(&format!(",\"{}\":{text}", column.name));
    }
    out.push('}');
    out
}
