//! Definition of a layer: a path, a parser of parameters and a table of fields; and the answer made from them. A query
//! is parsed once into a [`LayerRequest`], which knows neither a clock nor a snapshot; its rows are asked for with a
//! [`RequestContext`], for the present, one past moment or each of many. Code common to all layers is here. Never:
//! arithmetic, a loop over rows, a vendor.

mod requests;

use super::body::JSON;
use super::facts::{FactForm, FactRow};
use super::ignored;
use crate::catalog::{self, Catalog, CatalogEntry};
use crate::cursor::percent_encode;
use crate::edition;
use crate::limits::{ROWS_AT_ONCE, SYMBOLS_AT_ONCE};
use crate::past::PastQuestion;
use crate::past::day::RequestDays;
use crate::picked::Picked;
use crate::query::Query;
use crate::query::parameter::Parameters;
use crate::refusal::Refusal;
use crate::rows::binary::{TableStream, content_type};
use crate::rows::clock::Clock;
use crate::rows::field::Field;
use crate::rows::frame::{ARRAYS, ColumnHead, Format, Heading};
use crate::rows::layout::{AnswerLayout, Around, Per, Walk};
use crate::rows::listing;
use crate::rows::stream::{LateRows, RowStream};
use crate::rows::table::{self, Fact};
use crate::selection::filters::{FilterContext, VendorFilters, filter_picked};
use crate::selection::order::{self, Page};
use crate::selection::scan::{Scan, scan};
use crate::selection::symbols::{FreshnessTerms, SymbolFacts, symbols};
use crate::selection::unserved::{Unserved, warning, warning_header};
use crate::selection::{Selection, is_heavy, not_yet, select};
use engine::snapshot::Snapshot;
use engine::store::columns::Group;
use history::tables::TableFormat;
use http::Answer;
use kernel::contract::{ContractKey, RootTable, Symbol};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

pub use requests::{FactRows, FactTable, List, NameList, RequestContext, SymbolColumn, SymbolList};

/// Header of a page of symbols with more to follow: the value for the parameter `cursor`.
const NEXT_CURSOR: &str = "Next-Cursor";

/// One endpoint of a layer of the interface.
#[derive(Debug)]
pub struct Layer {
    /// Name of the layer, by which its requests are counted.
    pub name: &'static str,
    /// Path without a trailing slash. `{name}` is one segment, `{name*}` the rest; both are read with
    /// [`Query::segment`].
    pub path: &'static str,
    /// Parameters that it reads; accepted parameters without effect are in [`ignored`].
    pub parameters: Parameters,
    /// True if every parameter that is not in the table is refused.
    pub is_strict: bool,
    /// Kind of answer, with the parser of the parameters.
    pub serve: Serve,
    /// Spells a refusal: content type and body.
    pub refuse: fn(&Refusal) -> (&'static str, String),
    /// Headers of every answer, refusals too.
    pub headers: &'static [(&'static str, Value)],
}

/// Kind of an endpoint's answer, with the parser of its parameters.
#[derive(Debug)]
pub enum Serve {
    /// Rows of contracts.
    Rows(fn(&Query<'_>) -> Result<Reply, Refusal>),
    /// A list of expirations, in JSON.
    Listing(fn(&Query<'_>) -> Result<List, Refusal>),
    /// A list of underlyings.
    Symbols(fn(&Query<'_>) -> Result<SymbolList, Refusal>),
    /// A table of numbers of underlyings.
    Facts(fn(&Query<'_>) -> Result<FactTable, Refusal>),
    /// A catalog: a list of roots, dates, strikes or contracts.
    Catalog(fn(&Query<'_>) -> Result<Catalog, Refusal>),
    /// JSON about underlyings, from their chains.
    Names(fn(&Query<'_>) -> Result<NameList, Refusal>),
    /// JSON that needs no market data.
    Text(fn(&Query<'_>) -> Result<String, Refusal>),
}

/// Headers of one answer beside those of its layer.
pub type Headers = Vec<(&'static str, Cow<'static, str>)>;

/// The value of a header.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A constant value.
    Fixed(&'static str),
    /// Seconds since 1970 of the next midnight Eastern.
    NextMidnight,
}

/// A parsed request for rows: selection, columns and form of the answer.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Selected contracts.
    pub selection: Selection,
    /// Past moments; `None`: the present.
    pub past: Option<PastQuestion>,
    /// Days that depend on the date of the answer. They replace those of `selection` and `past` in
    /// [`LayerRequest::settle`].
    pub days: Option<Box<RequestDays>>,
    /// Vendor's filters of the selected rows.
    pub filters: VendorFilters,
    /// Order and page of the rows.
    pub page: Page,
    /// A search for a few of the rows; `None`: all rows.
    pub scan: Option<Scan>,
    /// Output format.
    pub format: Format,
    /// Binary table format, which replaces `format`; `None`: text.
    pub table: Option<TableFormat>,
    /// Columns of the answer.
    pub fields: Vec<Field>,
    /// Part of the request that needs quotes, if any: the request is refused where quotes are not shown.
    pub needs_quotes: Option<&'static str>,
    /// Treatment of names that are not served.
    pub unserved: Unserved,
    /// Meaning of one row.
    pub per: Per,
    /// Direction in which JSON is written.
    pub walk: Walk,
    /// Text around the rows in JSON.
    pub around: Wrap,
    /// Text that the layer's parser leaves for its [`Wrap::Of`].
    pub memo: String,
    /// True if a table begins without the names of its columns.
    pub headless: bool,
    /// Further headers.
    pub headers: Headers,
    /// Refusal instead of an answer without rows, in layers that have no empty answer.
    pub when_empty: Option<Refusal>,
    /// Names of the field groups, for columns that list them.
    pub groups: String,
    /// Title: the request in words.
    pub title: String,
}

/// Text around the rows in JSON.
#[derive(Clone, Debug)]
pub enum Wrap {
    /// Constant text.
    Constant(Around),
    /// Text that depends on the page.
    Of(fn(&Ending<'_>) -> Around),
}

impl Default for Wrap {
    fn default() -> Self {
        Self::Constant(Around::ARRAY)
    }
}

impl Wrap {
    /// Constant text around the rows.
    #[must_use]
    pub const fn text(open: &'static str, close: &'static str) -> Self {
        Self::Constant(Around::constant(open, close))
    }
}

/// Data for the text around a page.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// The last contract of the page, if more rows follow it.
    pub next: Option<ContractKey>,
    /// The parsed request.
    pub reply: &'a Reply,
    /// The host in the client's request, as the client spells it.
    pub host: Option<&'a str>,
    /// The times of the answer.
    pub clock: &'a Clock,
}

/// A parsed request, or the refusal of one that cannot be parsed. It holds no clock and no snapshot: it may be answered
/// on another thread than it was parsed on, and for any number of past moments.
#[derive(Clone, Debug)]
pub struct LayerRequest {
    content: Result<Box<dyn Content>, Refusal>,
    /// True if the selection takes so long that it would delay other requests.
    pub is_heavy: bool,
}

/// Needs of an answer beside the snapshot of the present.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// A past moment, or many; `None`: the present.
    pub past: Option<PastQuestion>,
    /// Requested names, underlyings or roots.
    pub names: Vec<Symbol>,
    /// True if the request is for the rows of every name.
    pub everything: bool,
    /// Prefixes of the symbols to list, if it lists symbols.
    pub prefixes: Option<Vec<Symbol>>,
    /// The requested catalog, if any.
    pub catalog: Option<Catalog>,
}

/// Content of a request: one implementation for each kind of [`Serve`].
trait Content: CloneBoxed + Debug + Send + Sync {
    /// Resolves the days that depend on the date of the answer, and returns what the answer needs.
    fn settle(&mut self, _: &Clock) -> Result<Needs, Refusal> {
        Ok(Needs::default())
    }

    fn is_heavy(&self, _: &Snapshot) -> bool {
        false
    }

    fn answer(self: Box<Self>, layer: &Layer, context: &RequestContext<'_>, clock: &Clock) -> Result<Answer, Refusal>;

    /// The requested rows, if the request is for rows.
    fn into_reply(self: Box<Self>) -> Option<Reply> {
        None
    }

    /// The requested table, if the request is for numbers of underlyings.
    fn table(&self) -> Option<&FactTable> {
        None
    }
}

/// Clones a content whose type is not known.
trait CloneBoxed {
    fn boxed(&self) -> Box<dyn Content>;
}

impl<C: Content + Clone + 'static> CloneBoxed for C {
    fn boxed(&self) -> Box<dyn Content> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Content> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl LayerRequest {
    /// Resolves the days that depend on the date of the answer, which `clock` knows, and returns what the answer needs.
    /// Called before each answer; a request may be settled again for another date.
    pub fn settle(&mut self, clock: &Clock) -> Needs {
        let settled = self.content.as_mut().ok().map(|content| content.settle(clock));
        settled.transpose().map(Option::unwrap_or_default).unwrap_or_else(|refusal| {
            self.content = Err(refusal);
            Needs::default()
        })
    }

    /// The requested table, if the request is for numbers of underlyings.
    #[must_use]
    pub fn table(&self) -> Option<&FactTable> {
        self.content.as_ref().ok().and_then(|content| content.table())
    }
}

/// Settles days that depend on a date; returns the past moments.
fn settle_days(
    days: Option<&RequestDays>,
    selection: &mut Selection,
    past: &mut Option<PastQuestion>,
    clock: &Clock,
) -> Result<Needs, Refusal> {
    selection.today = clock.today();
    if let Some(days) = days {
        days.choose_expiries(selection, clock.today(), clock.zone());
        *past = days.question(clock.today(), clock.zone())?;
    }
    Ok(Needs { past: past.clone(), names: selection.names(), everything: selection.everything, ..Needs::default() })
}

/// True if days that are settled, or not yet, are of the past.
fn is_past(past: Option<&PastQuestion>, days: Option<&RequestDays>) -> bool {
    past.is_some() || days.is_some_and(|days| days.past.is_some())
}

impl Content for Reply {
    fn settle(&mut self, clock: &Clock) -> Result<Needs, Refusal> {
        settle_days(self.days.as_deref(), &mut self.selection, &mut self.past, clock)
    }

    fn is_heavy(&self, snapshot: &Snapshot) -> bool {
        let looks_at_rows = self.selection.looks_at_rows()
            || self.filters != VendorFilters::default()
            || self.page != Page::default()
            || self.scan.is_some();
        let is_slow = is_past(self.past.as_ref(), self.days.as_deref()) || self.shows_late();
        is_slow || is_heavy(snapshot, &self.selection, looks_at_rows)
    }

    fn answer(self: Box<Self>, layer: &Layer, context: &RequestContext<'_>, clock: &Clock) -> Result<Answer, Refusal> {
        layer.rows(*self, context, clock.clone())
    }

    fn into_reply(self: Box<Self>) -> Option<Reply> {
        Some(*self)
    }
}

impl Content for List {
    fn settle(&mut self, clock: &Clock) -> Result<Needs, Refusal> {
        settle_days(self.days.as_deref(), &mut self.selection, &mut self.past, clock)
    }

    fn is_heavy(&self, snapshot: &Snapshot) -> bool {
        is_past(self.past.as_ref(), self.days.as_deref()) || is_heavy(snapshot, &self.selection, true)
    }

    fn answer(self: Box<Self>, layer: &Layer, context: &RequestContext<'_>, clock: &Clock) -> Result<Answer, Refusal> {
        layer.list(&self, context, clock)
    }
}

impl Content for SymbolList {
    fn settle(&mut self, _: &Clock) -> Result<Needs, Refusal> {
        Ok(Needs { past: self.past.clone(), prefixes: Some(self.selection.prefixes.clone()), ..Needs::default() })
    }

    fn is_heavy(&self, _: &Snapshot) -> bool {
        self.past.is_some() || self.selection.limit.is_none_or(|limit| limit > SYMBOLS_AT_ONCE)
    }

    fn answer(self: Box<Self>, layer: &Layer, context: &RequestContext<'_>, clock: &Clock) -> Result<Answer, Refusal> {
        Ok(layer.symbols(&self, context, clock))
    }
}

impl Content for FactTable {
    fn settle(&mut self, clock: &Clock) -> Result<Needs, Refusal> {
        settle_days(None, &mut self.selection, &mut self.past, clock)
    }

    fn is_heavy(&self, snapshot: &Snapshot) -> bool {
        self.past.is_some() || is_heavy(snapshot, &self.selection, true)
    }

    fn answer(self: Box<Self>, layer: &Layer, context: &RequestContext<'_>, clock: &Clock) -> Result<Answer, Refusal> {
        layer.facts(&self, context, clock)
    }

    fn table(&self) -> Option<&FactTable> {
        Some(self)
    }
}

impl Content for Catalog {
    // without a day, the list is about all recorded days
    fn settle(&mut self, _: &Clock) -> Result<Needs, Refusal> {
        Ok(Needs { catalog: Some(self.clone()), ..Needs::default() })
    }

    fn is_heavy(&self, _: &Snapshot) -> bool {
        true
    }

    fn answer(self: Box<Self>, layer: &Layer, context: &RequestContext<'_>, clock: &Clock) -> Result<Answer, Refusal> {
        let found = catalog::of_snapshot(&self.question, context.snapshot, clock.today(), context.roots);
        // before the first snapshot it is unknown whether the list is empty
        let is_early = context.snapshot.number == 0 && self.when_empty.is_none();
        if is_early { Err(not_yet(context.snapshot, "")) } else { layer.list_entries(&self, &found) }
    }
}

impl Content for NameList {
    fn settle(&mut self, _: &Clock) -> Result<Needs, Refusal> {
        Ok(Needs { past: self.past.clone(), names: self.symbols.clone(), ..Needs::default() })
    }

    fn is_heavy(&self, _: &Snapshot) -> bool {
        self.past.is_some()
    }

    fn answer(self: Box<Self>, layer: &Layer, context: &RequestContext<'_>, clock: &Clock) -> Result<Answer, Refusal> {
        Ok(Answer::full(layer.name, 200, JSON, (self.write)(&self.names, context, clock)?))
    }
}

/// JSON that needs no row.
impl Content for String {
    fn answer(self: Box<Self>, layer: &Layer, _: &RequestContext<'_>, _: &Clock) -> Result<Answer, Refusal> {
        Ok(Answer::full(layer.name, 200, JSON, *self))
    }
}

/// Rows and the form of their answer.
pub struct RowSet {
    /// Form of the answer.
    pub layout: AnswerLayout,
    /// The rows.
    pub picked: Vec<Picked>,
    /// Further headers.
    pub headers: Headers,
    /// Refusal instead of an answer without rows, in layers that have no empty answer.
    pub when_empty: Option<Refusal>,
    /// Binary table format, which replaces the text; `None`: text.
    pub table: Option<TableFormat>,
}

impl Layer {
    /// Parses a query. Called once for each request, whichever thread answers it and for however many past moments.
    /// `snapshot` is about that which will be shown.
    #[must_use]
    pub fn parse(&self, query: &Query<'_>, snapshot: &Snapshot) -> LayerRequest {
        #[cfg(test)]
        query.expect_only(self.parameters);
        let content = self.parse_content(query);
        // pages without data (health, metrics) ignore every parameter
        let has_data = !matches!(self.serve, Serve::Text(_));
        let content = content.and_then(|content| {
            if has_data { ignored::check(self.name, self.path, query).map(|()| content) } else { Ok(content) }
        });
        let is_heavy = content.as_ref().is_ok_and(|content| content.is_heavy(snapshot));
        LayerRequest { content, is_heavy }
    }

    fn parse_content(&self, query: &Query<'_>) -> Result<Box<dyn Content>, Refusal> {
        fn boxed<C: Content + 'static>(parsed: Result<C, Refusal>) -> Result<Box<dyn Content>, Refusal> {
            parsed.map(|content| -> Box<dyn Content> { Box::new(content) })
        }
        let parsed = match self.serve {
            Serve::Rows(parse) => boxed(parse(query)),
            Serve::Listing(parse) => boxed(parse(query)),
            Serve::Symbols(parse) => boxed(parse(query)),
            Serve::Facts(parse) => boxed(parse(query)),
            Serve::Catalog(parse) => boxed(parse(query)),
            Serve::Names(parse) => boxed(parse(query)),
            Serve::Text(write) => boxed(write(query)),
        };
        if self.is_strict {
            query.only(self.parameters)?;
        }
        parsed
    }

    /// Answers a settled request from one snapshot. `clock` is that of `context`.
    #[must_use]
    pub fn answer(&self, request: LayerRequest, context: &RequestContext<'_>, clock: Clock) -> Answer {
        let answered = request.content.and_then(|content| content.answer(self, context, &clock));
        self.with_headers(answered.unwrap_or_else(|refusal| self.refusal(&refusal)), &clock)
    }

    /// Answers with a catalog.
    #[must_use]
    pub fn listed(&self, catalog: &Catalog, found: Result<BTreeSet<CatalogEntry>, Refusal>, clock: &Clock) -> Answer {
        let answered = found.and_then(|found| self.list_entries(catalog, &found));
        self.with_headers(answered.unwrap_or_else(|refusal| self.refusal(&refusal)), clock)
    }

    fn list_entries(&self, catalog: &Catalog, found: &BTreeSet<CatalogEntry>) -> Result<Answer, Refusal> {
        if let (true, Some(refusal)) = (found.is_empty(), &catalog.when_empty) {
            return Err(refusal.clone());
        }
        let mut answer = Answer::full(self.name, 200, catalog.format.frame().content_type, catalog.body(found));
        answer.headers.clone_from(&catalog.headers);
        Ok(answer)
    }

    /// Answers a request with a refusal.
    #[must_use]
    pub fn refused(&self, refusal: &Refusal, clock: &Clock) -> Answer {
        self.with_headers(self.refusal(refusal), clock)
    }

    /// Adds the headers of the layer.
    #[must_use]
    pub fn with_headers(&self, mut answer: Answer, clock: &Clock) -> Answer {
        for &(name, value) in self.headers {
            answer = answer.with_header(name, value.text(clock));
        }
        answer
    }

    /// The rows of one of several snapshots; it may have none.
    ///
    /// # Errors
    /// The layer's refusals; [`Refusal::UnknownPath`] if the endpoint has no rows.
    pub fn rows_of_one(&self, request: LayerRequest, context: &RequestContext<'_>) -> Result<RowSet, Refusal> {
        let mut reply = request.content?.into_reply().ok_or(Refusal::UnknownPath)?;
        let when_empty = reply.when_empty.take();
        // a name may be missing in the snapshots before its listing
        reply.unserved = Unserved::Silent;
        let mut rows = self.row_set(reply, context, context.clock())?;
        // the number of rows is that of one snapshot
        rows.layout.heading.lines.pop();
        Ok(RowSet { when_empty, ..rows })
    }

    fn rows(&self, reply: Reply, context: &RequestContext<'_>, clock: Clock) -> Result<Answer, Refusal> {
        // a page also shows the state of the feed, which changes within an edition
        let edition = context.edition.filter(|_| reply.format != Format::Html);
        let has_late = reply.shows_late();
        let RowSet { layout, picked, headers, table, .. } = self.row_set(reply, context, clock)?;
        let kind = table.map_or(layout.frame.content_type, content_type);
        // one chain alone is computed with its rows
        let late = picked.iter().filter(|_| has_late && picked.len() > 1);
        let chains = late.map(|of| Arc::clone(&of.chain)).collect();
        let mut answer = match table {
            None => Answer::stream(self.name, kind, LateRows::new(chains, RowStream::new(layout, picked))),
            Some(format) => {
                let table = TableStream::new(format, &layout.fields, &layout.groups, picked);
                Answer::stream(self.name, kind, LateRows::new(chains, table))
            }
        };
        answer.headers = headers;
        Ok(answer.of_edition(edition))
    }

    fn row_set(&self, mut reply: Reply, context: &RequestContext<'_>, clock: Clock) -> Result<RowSet, Refusal> {
        if let Some(reason) = reply.needs_quotes.filter(|_| !context.shows_quotes) {
            return Err(Refusal::SwitchedOff { reason });
        }
        let filter_context =
            FilterContext { rights: reply.selection.rights, today: clock.today(), calendar: context.calendar };
        let picked = filter_picked(select(context.snapshot, &reply.selection)?, &reply.filters, &filter_context)?;
        let picked = match &reply.scan {
            Some(wanted) => scan(picked, wanted),
            None => picked,
        };
        let (picked, next) = order::page(picked, &reply.page);
        if let (true, Some(refusal)) = (picked.is_empty(), &reply.when_empty) {
            return Err(refusal.clone());
        }
        if context.is_crowded && is_large(&picked) {
            return Err(Refusal::Crowded);
        }
        let warning = warning(reply.unserved, context.snapshot, &reply.selection, picked.is_empty())?;
        let mut heading = Heading::default();
        if reply.format == Format::Html {
            heading.title.clone_from(&reply.title);
            heading.lines = (context.note)();
            heading.lines.extend(warning.clone());
            heading.lines.push(count_line(&picked, &reply));
        }
        reply.headers.extend(warning.as_deref().map(warning_header));
        let (headers, roots) = (std::mem::take(&mut reply.headers), Arc::clone(context.roots));
        let table = reply.table;
        let layout = reply.into_layout(next, context.host, heading, clock, roots);
        Ok(RowSet { layout, picked, headers, when_empty: None, table })
    }

    fn list(&self, list: &List, context: &RequestContext<'_>, clock: &Clock) -> Result<Answer, Refusal> {
        let expirations = order::expirations(&select(context.snapshot, &list.selection)?);
        if let (true, Some(refusal)) = (expirations.is_empty(), &list.when_empty) {
            return Err(refusal.clone());
        }
        let around = (list.around)(clock);
        let body = listing::write(&around.open, &expirations, &list.item, &around.close, clock);
        Ok(Answer::full(self.name, 200, JSON, body))
    }

    fn facts(&self, of: &FactTable, context: &RequestContext<'_>, clock: &Clock) -> Result<Answer, Refusal> {
        let picked = select(context.snapshot, &of.selection)?;
        let warning = warning(of.unserved, context.snapshot, &of.selection, picked.is_empty())?;
        let rows = of.shown(&picked, context, clock)?;
        let is_page = of.form == FactForm::Text(Format::Html);
        let mut heading = Heading::default();
        if is_page {
            of.title.clone_into(&mut heading.title);
            heading.lines = (context.note)();
            heading.lines.extend(warning.clone());
            heading.lines.push(counted(rows.len(), "row"));
        }
        let mut answer = of.form.answer(self.name, heading, of.heads, rows, clock);
        answer.headers.extend(warning.as_deref().map(warning_header));
        Ok(answer.of_edition(context.edition.filter(|_| !is_page)))
    }

    /// The answer with the rows of all snapshots, in their order or in that of the request.
    #[must_use]
    pub fn facts_of_many(&self, of: &FactTable, mut rows: Vec<FactRow>, clock: &Clock) -> Answer {
        of.cut(&mut rows);
        let heading = Heading { title: of.title.to_owned(), lines: vec![counted(rows.len(), "row")] };
        self.with_headers(of.form.answer(self.name, heading, of.heads, rows, clock), clock)
    }

    fn symbols(&self, list: &SymbolList, context: &RequestContext<'_>, clock: &Clock) -> Answer {
        let terms = FreshnessTerms { now: context.now, is_open: context.market_open };
        let (facts, has_more) = symbols(context.snapshot, &list.selection, terms);
        let mut heading = Heading::default();
        if list.format == Format::Html {
            heading.title = "Symbols".to_owned();
            heading.lines = (context.note)();
            heading.lines.push(counted(facts.len(), "symbol"));
        }
        let heads: Vec<ColumnHead<'_>> =
            list.columns.iter().map(|&SymbolColumn { name, is_number, .. }| ColumnHead { name, is_number }).collect();
        let row = |facts: &SymbolFacts| list.columns.iter().map(|c| (c.find)(facts, clock, context.feed)).collect();
        let rows: Vec<Vec<Fact>> = facts.iter().map(row).collect();
        let body = table::write(list.format, &heading, &heads, &rows);
        // the ages in the answer change with every second
        let edition = Some(edition::single());
        let answer = Answer::full(self.name, 200, list.format.frame().content_type, body).of_edition(edition);
        match facts.last() {
            Some(last) if has_more => answer.with_header(NEXT_CURSOR, percent_encode(last.symbol.as_str())),
            _ => answer,
        }
    }

    fn refusal(&self, refusal: &Refusal) -> Answer {
        let (content_type, body) = (self.refuse)(refusal);
        let answer = Answer::full(self.name, refusal.status(), content_type, body);
        refusal.with_retry_after(answer)
    }
}

impl Reply {
    /// True if it shows columns that no pass computes.
    fn shows_late(&self) -> bool {
        self.fields.iter().any(|field| field.group == Some(Group::Exercise))
    }

    /// The layout of the answer. `next` and `host` are those of [`Ending`].
    #[must_use]
    pub fn into_layout(
        self,
        next: Option<ContractKey>,
        host: Option<&str>,
        heading: Heading,
        clock: Clock,
        roots: Arc<RootTable>,
    ) -> AnswerLayout {
        let around = match &self.around {
            Wrap::Constant(around) => around.clone(),
            Wrap::Of(make) => make(&Ending { next, reply: &self, host, clock: &clock }),
        };
        AnswerLayout {
            fields: self.fields,
            frame: match (self.format, self.walk) {
                (Format::Json, Walk::Arrays) => &ARRAYS,
                (format, _) => format.frame(),
            },
            groups: self.groups,
            heading,
            header: !self.headless,
            around,
            walk: self.walk,
            per: self.per,
            clock,
            roots,
        }
    }
}

impl Value {
    fn text(self, clock: &Clock) -> Cow<'static, str> {
        match self {
            Self::Fixed(text) => Cow::Borrowed(text),
            Self::NextMidnight => Cow::Owned(clock.next_midnight()),
        }
    }
}

/// True if a slow reader of the answer would hold much of a snapshot: several names, or a large one.
fn is_large(picked: &[Picked]) -> bool {
    picked.len() > 1 || picked.iter().any(|one| one.count() > ROWS_AT_ONCE as usize)
}

fn count_line(picked: &[Picked], reply: &Reply) -> String {
    let n: usize = picked.iter().map(Picked::count).sum();
    let what = match reply.per {
        Per::Contract => "row",
        Per::Strike => "contract",
    };
    let groups = if reply.groups.is_empty() { String::new() } else { format!(" · {}", reply.groups) };
    format!("{}{groups}", counted(n, what))
}

/// `1 name`, `2 names`.
#[must_use]
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
pub(crate) mod testing {
    use super::RequestContext;
    use crate::metrics::NameRows;
    use engine::snapshot::Snapshot;
    use jiff::Timestamp;
    use kernel::calendar::Calendar;
    use kernel::contract::RootTable;
    use std::sync::Arc;

    /// Does something in the context of a daemon without a name, on a Friday afternoon in November 2026.
    pub(crate) fn in_context(does: impl FnOnce(&RequestContext<'_>)) {
        let (calendar, roots) = (Calendar::embedded(), Arc::new(RootTable::embedded()));
        let now = Timestamp::constant(1_795_207_327, 0);
        let mut snapshot = Snapshot::empty(Vec::new());
        snapshot.time = now;
        let zone = calendar.zone().clone();
        does(&RequestContext {
            snapshot: &snapshot,
            closes: Arc::default(),
            rows: &NameRows::default(),
            now,
            asked: None,
            zone: &zone,
            calendar: &calendar,
            roots: &roots,
            host: None,
            is_crowded: false,
            market_open: true,
            feed: "sim",
            shows_quotes: false,
            edition: None,
            note: &Vec::new,
        });
    }
}
