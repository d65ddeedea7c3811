//! The row that readers of all layouts produce.

use kernel::records::QuoteRecord;

/// One quote of one snapshot of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryRow {
    /// The quote; its time is that of the snapshot.
    pub quote: QuoteRecord,
    /// The price of the underlying beside it, dollars a share; NaN: the file has none.
    pub spot: f64,
}
