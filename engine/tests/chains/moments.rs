//! Recorded markets: their books, and the chains of those. They are not in the repository: `just chains FOLDER`.

use engine::pass::{MarketData, Passes};
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::Book;
use engine::store::chain::Chain;
use engine::store::ingest::Store;
use feeds::dir::DirFeed;
use history::layouts::read_chains;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::RootTable;
use std::path::Path;
use std::sync::Arc;

/// A market folder.
pub(super) struct Moment {
    pub(super) name: String,
    pub(super) books: Vec<Book>,
    calendar: Calendar,
    rates: RateTable,
}

impl Moment {
    /// That of a folder.
    pub(super) fn of(folder: &Path) -> Self {
        let mut store = Store::new(RootTable::embedded(), Calendar::embedded());
        let (batch, _) = DirFeed::open(folder, read_chains).unwrap().poll(core::time::Duration::ZERO).unwrap().unwrap();
        store.ingest(&batch, Timestamp::MAX);
        store.expire(None);
        Self {
            name: folder.file_name().unwrap().to_string_lossy().into_owned(),
            books: store.books().to_vec(),
            calendar: store.calendar().clone(),
            rates: RateTable::of(RateSource::User, store.curves().clone()),
        }
    }

    /// The moments of several hundred names beside the recorded chains, in their order; none where there are none.
    pub(super) fn all() -> Vec<Self> {
        let Ok(moments) = testkit::recorded::folder().join("market335").read_dir() else {
            println!("no market335 beside the recorded chains");
            return Vec::new();
        };
        let folders = moments.map(|entry| entry.unwrap().path()).filter(|path| path.join("chains").is_dir());
        let mut folders: Vec<_> = folders.collect();
        folders.sort();
        folders.iter().map(|folder| Self::of(folder)).collect()
    }

    /// Its calendar and rates.
    pub(super) fn market(&self) -> MarketData<'_> {
        MarketData { calendar: &self.calendar, rates: &self.rates }
    }
}

/// The chains of books in the order of their names, each computed at its own instant and from nothing.
pub(super) fn chains(books: &[Book], market: MarketData<'_>, at: impl Fn(&Book) -> Timestamp) -> Vec<Arc<Chain>> {
    let work: Vec<(&Book, Timestamp)> = books.iter().map(|book| (book, at(book))).collect();
    let mut passes = Passes::new(2, |_| ()).unwrap();
    let mut chains: Vec<_> = passes.run(market, &work).into_iter().map(|done| done.chain).collect();
    chains.sort_by_key(|chain| chain.underlying);
    chains
}
