//! Metrics of a client's names: the rows as they were last sent, and the changed ones. Never: a connection.

use api::metrics::{NameRow, NameRows, RowInputs};
use api::vendors::native_metrics::push_object;
use api::vendors::native_stream::StreamedMetrics;
use engine::snapshot::Snapshot;
use kernel::contract::Symbol;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};

/// Rows that a client has or is being sent.
#[derive(Debug, Default)]
pub(super) struct MetricsImage {
    rows: HashMap<Symbol, SentRow>,
    /// Names whose rows wait to be sent, each once: a slow reader is sent the latest row of each.
    waiting: VecDeque<Symbol>,
}

/// A row as it was last sent.
#[derive(Debug)]
struct SentRow {
    /// The row of all that ask.
    of: Weak<NameRow>,
    text: String,
    /// True if it is not sent yet.
    waits: bool,
}

impl MetricsImage {
    /// Adds the rows that differ from those of the client.
    pub(super) fn look(
        &mut self,
        wanted: &StreamedMetrics,
        snapshot: &Snapshot,
        rows: &NameRows,
        inputs: RowInputs<'_>,
    ) {
        for &name in &wanted.names {
            let Some(chain) = snapshot.chain(name) else { continue };
            let row = rows.with(&wanted.columns, chain, inputs);
            let before = self.rows.get(&name);
            if before.is_some_and(|before| before.of.as_ptr() == Arc::as_ptr(&row)) {
                continue;
            }
            let mut text = Vec::new();
            push_object(&row, &wanted.columns, &mut text);
            let text = String::from_utf8_lossy(&text).into_owned();
            let has_waited = before.is_some_and(|before| before.waits);
            let waits = has_waited || before.is_none_or(|before| before.text != text);
            if waits && !has_waited {
                self.waiting.push_back(name);
            }
            self.rows.insert(name, SentRow { of: Arc::downgrade(&row), text, waits });
        }
    }

    /// Takes waiting rows of so many bytes, with commas between them. `None`: nothing waits.
    pub(super) fn next(&mut self, bytes: usize) -> Option<String> {
        let mut rows = String::new();
        while rows.len() < bytes {
            let Some(row) = self.waiting.pop_front().and_then(|name| self.rows.get_mut(&name)) else { break };
            row.waits = false;
            if !rows.is_empty() {
                rows.push(',');
            }
            rows.push_str(&row.text);
        }
        (!rows.is_empty()).then_some(rows)
    }

    /// True if more rows wait.
    pub(super) fn has_more(&self) -> bool {
        !self.waiting.is_empty()
    }
}
