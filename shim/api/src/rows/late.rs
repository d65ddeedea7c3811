//! Rows with columns that no pass computes: each chain without them takes the time of many rows, and between two chains
//! others have their turn. Never: a row.

use engine::exercise;
use engine::store::chain::Chain;
use http::{Progress, Stream};
use std::sync::Arc;

/// A body whose chains are computed first, one in each piece.
pub struct LateRows<S> {
    chains: Vec<Arc<Chain>>,
    rows: S,
}

impl<S: Stream> LateRows<S> {
    /// The body `rows`; `chains` are the ones that it reads such columns of.
    pub fn new(chains: Vec<Arc<Chain>>, rows: S) -> Self {
        Self { chains, rows }
    }
}

impl<S: Stream> Stream for LateRows<S> {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        while let Some(chain) = self.chains.pop() {
            if exercise::fill(&chain) {
                return Progress::More;
            }
        }
        self.rows.fill(out)
    }

    fn most_bytes(&self) -> Option<usize> {
        self.rows.most_bytes()
    }
}
