//! The response that lists the contents of an archive, once its index is read. Never: a row.

use super::market::PastMarket;
use crate::past::archive::Archive;
use api::catalog::{Catalog, CatalogEntry, CatalogQuestion, CatalogSearch};
use api::refusal::Refusal;
use api::rows::clock::Clock;
use api::vendors::layer::Layer;
use http::{Answer, Awaited};
use kernel::contract::{RootTable, Symbol};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Maximum number of entries of one list: more than a day of the complete market has.
const ENTRIES_MOST: usize = 3_000_000;

/// A pending list of the contents of an archive.
pub(super) struct AwaitedCatalog {
    pub(super) market: Arc<PastMarket>,
    pub(super) layer: &'static Layer,
    pub(super) catalog: Catalog,
    pub(super) clock: Clock,
}

impl Awaited for AwaitedCatalog {
    fn look(&mut self) -> Option<Answer> {
        let market = &self.market;
        let found = of_archive(&self.catalog.question, &*market.archive, &market.roots)?;
        Some(self.layer.listed(&self.catalog, found, &self.clock))
    }
}

/// Contents of the archive. `None`: the index is not read yet.
///
/// # Errors
/// The list has more than [`ENTRIES_MOST`] entries.
fn of_archive(
    question: &CatalogQuestion,
    archive: &dyn Archive,
    roots: &RootTable,
) -> Option<Result<BTreeSet<CatalogEntry>, Refusal>> {
    let underlyings: Vec<Symbol> = question.names.iter().map(|&name| roots.underlying_of(name)).collect();
    let days = archive.days(&underlyings)?;
    let mut found = CatalogSearch::new(question, roots);
    for day in days.into_iter().filter(|&day| question.day.is_none_or(|only| day == only)) {
        let names = if underlyings.is_empty() { archive.names(day) } else { underlyings.clone() };
        for name in names {
            for listing in archive.listings(name, day) {
                found.add(name, day, &listing);
            }
            if found.count() > ENTRIES_MOST {
                return Some(Err(Refusal::Conflict { reason: "the list is too long: give a symbol" }));
            }
        }
    }
    Some(Ok(found.into_entries()))
}
