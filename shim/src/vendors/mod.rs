//! The layers: which path answers in whose shape. A layer is a table of fields and a parser of parameters; everything
//! else is the same for all of them and stands here once.
//!
//! Never: arithmetic, a loop over rows.

pub mod native;

use crate::http::limits::PIECE_BYTES;
use crate::http::{Answer, Stream};
use crate::query::Query;
use crate::refusal::Refusal;
use crate::rows::field::Field;
use crate::rows::frame::{Format, Heading};
use crate::rows::write::{CHUNK, Rows, Sheet};
use crate::select::{Ask, Picked, select};
use engine::snapshot::Snapshot;

/// Every layer, in the order in which paths are tried.
pub const LAYERS: &[&Layer] = &[&native::NATIVE];

/// Seconds after which a client may ask again where nothing has been computed yet.
const RETRY_AFTER_S: &str = "1";

/// One layer of the interface.
#[derive(Debug)]
pub struct Layer {
    /// Under which name its requests are counted.
    pub name: &'static str,
    /// Its path, without a trailing slash.
    pub path: &'static str,
    /// Reads the parameters.
    pub parse: fn(&Query<'_>) -> Result<Order, Refusal>,
    /// Spells a refusal: content type and body.
    pub refuse: fn(&Refusal) -> (&'static str, String),
}

/// What a request orders: which rows, and what of them in which form.
#[derive(Clone, Debug)]
pub struct Order {
    /// Which rows.
    pub ask: Ask,
    /// In which form.
    pub format: Format,
    /// Which columns.
    pub fields: Vec<Field>,
    /// The names of their groups, for the columns that say so.
    pub groups: String,
    /// What was asked for, for a reader.
    pub title: String,
}

/// The layer that answers at a path (decoded, without a trailing slash).
#[must_use]
pub fn layer_at(path: &str) -> Option<&'static Layer> {
    LAYERS.iter().copied().find(|layer| layer.path == path)
}

impl Layer {
    /// The answer to a query, from one snapshot. `note` tells what the heading of a page says about the snapshot.
    #[must_use]
    pub fn answer(&self, query: &str, snapshot: &Snapshot, note: &dyn Fn() -> Vec<String>) -> Answer {
        let query = Query::parse(query);
        match (self.parse)(&query).and_then(|order| Ok((select(snapshot, &order.ask)?, order))) {
            Ok((picked, order)) => self.rows(order, picked, note),
            Err(refusal) => self.refusal(&refusal),
        }
    }

    fn rows(&self, order: Order, picked: Vec<Picked>, note: &dyn Fn() -> Vec<String>) -> Answer {
        let frame = order.format.frame();
        let mut heading = Heading::default();
        if order.format == Format::Html {
            heading.title = order.title;
            heading.lines = note();
            heading.lines.push(count_line(&picked, &order.groups));
        }
        let sheet = Sheet { fields: order.fields, frame, groups: order.groups, heading };
        Answer::stream(self.name, frame.content_type, Rows::new(sheet, picked))
    }

    fn refusal(&self, refusal: &Refusal) -> Answer {
        let (content_type, body) = (self.refuse)(refusal);
        let answer = Answer::full(self.name, refusal.status(), content_type, body);
        if *refusal == Refusal::NoSnapshot { answer.with_header("Retry-After", RETRY_AFTER_S) } else { answer }
    }
}

// What the cursor appends per call is what the server wants per call.
const _: () = assert!(CHUNK == PIECE_BYTES);

impl Stream for Rows {
    fn fill(&mut self, out: &mut Vec<u8>) -> bool {
        !Self::fill(self, out)
    }
}

fn count_line(picked: &[Picked], groups: &str) -> String {
    let n: usize = picked.iter().map(Picked::count).sum();
    format!("{n} {} · {groups}", if n == 1 { "row" } else { "rows" })
}
