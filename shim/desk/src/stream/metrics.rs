//! Metrics of a client's names: the rows as they were last sent, and the changed ones. Never: a connection.

use api::metrics::{NameRow, NameRows};
use api::vendors::native_metrics::push_object;
use api::vendors::native_stream::StreamedMetrics;
use engine::closes::Closes;
use engine::snapshot::Snapshot;
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
    /// The row of all that ask.
    of: Weak<NameRow>,
    text: String,
}

impl MetricsImage {
    /// Adds the rows that differ from those of the client.
    pub(super) fn look(
        &mut self,
        wanted: &StreamedMetrics,
        snapshot: &Snapshot,
        closes: &Closes,
        rows: &NameRows,
        calendar: &Calendar,
    ) {
        for &name in &wanted.names {
            let Some(chain) = snapshot.chain(name) else { continue };
            let row = rows.row(chain, closes, calendar);
            let before = self.rows.get(&name);
            if before.is_some_and(|before| before.of.as_ptr() == Arc::as_ptr(&row)) {
                continue;
            }
            let mut text = Vec::new();
            push_object(&row, &wanted.columns, &mut text);
            let text = String::from_utf8_lossy(&text).into_owned();
            if before.is_none_or(|before| before.text != text) {
                self.waiting.push_back(text.clone());
            }
            self.rows.insert(name, SentRow { of: Arc::downgrade(&row), text });
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
