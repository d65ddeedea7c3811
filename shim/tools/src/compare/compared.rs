//! One name of a vendor's file beside our chain of it. Never: a text.

use engine::compare::{Comparison, VendorRow};
use engine::store::chain::Chain;
use std::sync::Arc;

/// One name, its chain and how the vendor's numbers compare with it.
pub(super) struct Compared {
    pub(super) chain: Arc<Chain>,
    pub(super) rows: Vec<VendorRow>,
    pub(super) found: Comparison,
}
