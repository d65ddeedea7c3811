//! State of the viewer: fetched data, choices of the user, and what follows from them. Time is passed in, in
//! milliseconds. Never: a terminal, a request, a clock.

use super::column::{Column, N_COLUMNS};
use super::layout::{Areas, Page};
use super::lines::{ChainLine, chain_lines, scrolled};
use super::metrics::{ExposureScope, Exposures, NameMetrics, TermClock, TermPoint};
use super::model::{ChainRows, DaemonFacts, ExpiryRow, Moments, NameFacts, SliceKey, StrikeRow, WatchRow};
use super::pages::TextPage;
use super::wants::Wants;
use kernel::columns::Group;
use std::collections::BTreeSet;

/// Maximum number of names on the watch list.
pub const WATCH_MOST: usize = 20;
/// Time for which changes are marked, milliseconds.
pub(crate) const FLASH_MS: u64 = 900;
/// Time for which a message is shown, milliseconds.
pub(crate) const MESSAGE_MS: u64 = 5_000;
/// Time without an answer after which the screen shows it, milliseconds.
pub(crate) const SILENCE_MS: u64 = 3_000;
/// Minimum days of the first shown expiry, if there is such a one.
const FIRST_DAYS: f64 = 7.0;
/// Default columns.
const FIRST_COLUMNS: [&str; 6] = ["svc_theo", "svc_vol", "delta", "gamma", "vega", "theta"];

/// A box over the screen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Overlay {
    /// All keys.
    Help,
    /// The search box.
    Search(Search),
    /// The choice of columns: the selected line.
    Columns(usize),
    /// All numbers of the contracts of a strike.
    Detail(Box<Detail>),
    /// A page of text.
    Text(TextView),
}

/// A page of text, scrolled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextView {
    /// Subject of the page.
    pub(crate) page: TextPage,
    /// Lines of the page; `None`: not fetched yet.
    pub(crate) lines: Option<Vec<String>>,
    /// First visible line.
    pub(crate) top: usize,
}

/// The search box.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Search {
    /// Typed text.
    pub(crate) text: String,
    /// Names found last.
    pub(crate) found: Vec<NameFacts>,
    /// Text of that search.
    pub(crate) found_for: Option<String>,
    /// Index of the selected name.
    pub(crate) at: usize,
}

/// All numbers of two contracts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Detail {
    /// Symbols of call and put.
    pub(crate) pair: [String; 2],
    /// Numbers of call and put; `None`: not fetched yet.
    pub(crate) values: [Option<[f64; N_COLUMNS]>; 2],
}

/// The selected row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Cursor {
    /// The strike nearest to the forward, even if that moves.
    #[default]
    AtMoney,
    /// The strike nearest to this one.
    Strike(f64),
}

/// Status of the name on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum NameStatus {
    /// The daemon has not answered yet.
    #[default]
    Unknown,
    /// The name is being computed for the first time.
    Pending,
    /// The daemon does not serve the name.
    NotServed,
    /// The daemon serves the name, with this status.
    Served(NameFacts),
}

/// Failure to reach the daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offline {
    /// Reason, in words.
    pub(crate) why: String,
    /// Time of the first failure, milliseconds.
    pub(crate) since: u64,
}

/// State of the viewer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    /// Time since the start, milliseconds.
    pub(crate) now: u64,
    /// Size of the screen: columns and rows.
    pub(crate) size: (u16, u16),
    /// Address of the daemon, in words.
    pub(crate) place: String,
    /// True if the daemon runs within this process.
    pub(crate) is_own: bool,
    /// Last status of the daemon.
    pub(crate) daemon: Option<DaemonFacts>,
    /// Failure to reach the daemon, if it does not answer.
    pub(crate) offline: Option<Offline>,
    /// Time of the daemon's last answer.
    pub(crate) last_answer: u64,
    /// True if the daemon serves no quotes.
    pub(crate) without_quotes: bool,
    /// The page of the main area.
    pub(crate) page: Page,
    /// The box over the screen.
    pub(crate) overlay: Option<Overlay>,
    /// The name on the screen.
    pub(crate) name: Option<String>,
    /// Shown past moment, spelled as `as_of` in the API; `None`: the present.
    pub(crate) as_of: Option<String>,
    /// Snapshots around the shown moment.
    pub(crate) moments: Option<Moments>,
    /// Why there is no snapshot of the moment.
    pub(crate) no_moment: Option<String>,
    /// Status of the name.
    pub(crate) name_status: NameStatus,
    /// Expiries of the name.
    pub(crate) expiries: Vec<ExpiryRow>,
    /// Last direction of the price: -1, 0, 1.
    pub(crate) spot_moved: i8,
    /// The selected slice.
    pub(crate) slice: Option<SliceKey>,
    /// Rows fetched last; of another slice until those of this one come.
    pub(crate) chain: ChainRows,
    /// The selected row.
    pub(crate) cursor: Cursor,
    /// First visible line of the chain.
    pub(crate) top: usize,
    /// Columns chosen by the user, nearest to the strike first.
    pub(crate) own_columns: Vec<Column>,
    /// Group that is shown instead of the chosen columns.
    pub(crate) group: Option<Group>,
    /// Number of hidden columns next to the strike.
    pub(crate) shift: usize,
    /// The watch list.
    pub(crate) watch: Vec<String>,
    /// Rows of the watch list fetched last.
    pub(crate) watch_rows: Vec<WatchRow>,
    /// Index of the selected name of the watch list.
    pub(crate) watch_at: usize,
    /// Numbers of the watched names and of the one on the screen, fetched last.
    pub(crate) metrics: Vec<NameMetrics>,
    /// Numbers of the expiries of the name.
    pub(crate) term: Vec<TermPoint>,
    /// Clock of the term structure.
    pub(crate) clock: TermClock,
    /// True if exposures are of the selected expiry alone.
    pub(crate) of_one_expiry: bool,
    /// Exposures of the name.
    pub(crate) exposures: Exposures,
    /// Contracts to copy, with the number of the copy.
    pub(crate) copying: Option<(u64, [String; 2])>,
    /// Number of requested copies.
    pub(crate) copies: u64,
    /// Time until which changes are marked.
    pub(crate) flash_until: u64,
    /// Message in the footer, and the time until which it is shown.
    pub(crate) message: Option<(String, u64)>,
}

impl State {
    /// The state at the start.
    pub(crate) fn new(place: String, is_own: bool, name: Option<String>, watch: Vec<String>) -> Self {
        Self {
            now: 0,
            size: (80, 24),
            place,
            is_own,
            daemon: None,
            offline: None,
            last_answer: 0,
            without_quotes: false,
            page: Page::Chain,
            overlay: None,
            name,
            as_of: None,
            moments: None,
            no_moment: None,
            name_status: NameStatus::Unknown,
            expiries: Vec::new(),
            spot_moved: 0,
            slice: None,
            chain: ChainRows::default(),
            cursor: Cursor::AtMoney,
            top: 0,
            own_columns: FIRST_COLUMNS.into_iter().filter_map(Column::named).collect(),
            group: None,
            shift: 0,
            watch,
            watch_rows: Vec::new(),
            watch_at: 0,
            metrics: Vec::new(),
            term: Vec::new(),
            clock: TermClock::Calendar,
            of_one_expiry: false,
            exposures: Exposures::default(),
            copying: None,
            copies: 0,
            flash_until: 0,
            message: None,
        }
    }

    /// Areas of the screen.
    pub(crate) fn areas(&self) -> Areas {
        Areas::of(self.size.0, self.size.1)
    }

    /// Shown columns, nearest to the strike first.
    pub(crate) fn columns(&self) -> Vec<Column> {
        self.group.map_or_else(|| self.own_columns.clone(), Column::of)
    }

    /// Data to fetch: the visible ones.
    pub(crate) fn wants(&self) -> Wants {
        let areas = self.areas();
        let sees = |page| areas.shows(page, self.page);
        let mut groups = BTreeSet::from([Group::Core]);
        if sees(Page::Chain) {
            groups.extend(self.columns().iter().map(|column| column.facts().group));
        }
        if sees(Page::Smile) {
            groups.insert(Group::Extra);
        }
        let slice = self.slice.clone().filter(|_| sees(Page::Chain) || sees(Page::Smile));
        let (mut search, mut detail, mut text) = (None, None, None);
        match &self.overlay {
            Some(Overlay::Search(box_)) => search = Some(box_.text.clone()),
            Some(Overlay::Detail(shown)) => detail = Some(shown.pair.clone()),
            Some(Overlay::Text(shown)) => text = Some(shown.page.clone()),
            Some(Overlay::Help | Overlay::Columns(_)) | None => {}
        }
        let (sees_term, sees_watch) = (sees(Page::Term), sees(Page::Watch));
        let mut metrics = if sees_watch { self.watch.clone() } else { Vec::new() };
        metrics.extend(self.name.clone().filter(|_| sees_term));
        metrics.sort_unstable();
        metrics.dedup();
        Wants {
            any_name: self.name.is_none(),
            name: self.name.clone(),
            as_of: self.as_of.clone(),
            moments: self.has_past(),
            slice: slice.map(|key| (key, groups)),
            detail,
            copy: self.copying.clone(),
            term: sees_term || sees(Page::Exposure),
            metrics,
            exposure: sees(Page::Exposure).then(|| self.exposure_scope()),
            watch: if sees_watch { self.watch.clone() } else { Vec::new() },
            search,
            text,
            without_quotes: self.without_quotes,
        }
    }

    /// Expiries of the exposures on the screen.
    pub(crate) fn exposure_scope(&self) -> ExposureScope {
        self.slice.clone().filter(|_| self.of_one_expiry).map_or(ExposureScope::All, ExposureScope::One)
    }

    /// Numbers of a name.
    pub(crate) fn metrics_of(&self, name: &str) -> Option<&NameMetrics> {
        self.metrics.iter().find(|row| row.symbol == name)
    }

    /// Numbers of an expiry.
    pub(crate) fn term_of(&self, key: &SliceKey) -> Option<&TermPoint> {
        self.term.iter().find(|point| point.expiry == key.expiry)
    }

    /// Exposures of the name, once those of the wanted expiries were fetched.
    pub(crate) fn exposures(&self) -> Option<&Exposures> {
        Some(&self.exposures).filter(|found| found.scope == self.exposure_scope())
    }

    /// Strikes of the exposures.
    pub(crate) fn exposure_strikes(&self) -> Vec<f64> {
        self.exposures().map_or_else(Vec::new, |found| found.rows.iter().map(|row| row.strike).collect())
    }

    /// Index of the selected strike of the exposures: the one nearest to the spot until another is chosen.
    pub(crate) fn exposure_place(&self) -> Option<usize> {
        let price = match self.cursor {
            Cursor::Strike(strike) => strike,
            Cursor::AtMoney => self.spot(),
        };
        let strikes = self.exposure_strikes();
        let price = if price.is_finite() { price } else { f64::MAX };
        (0..strikes.len()).min_by(|&a, &b| (strikes[a] - price).abs().total_cmp(&(strikes[b] - price).abs()))
    }

    /// The selected expiry.
    pub(crate) fn expiry(&self) -> Option<&ExpiryRow> {
        self.expiries.get(self.expiry_place()?)
    }

    /// Index of the selected expiry.
    pub(crate) fn expiry_place(&self) -> Option<usize> {
        let key = self.slice.as_ref()?;
        self.expiries.iter().position(|row| row.key == *key)
    }

    /// Price of the name.
    pub(crate) fn spot(&self) -> f64 {
        self.expiries.first().map_or(f64::NAN, |row| row.spot)
    }

    /// Rows of the selected slice, if they were fetched.
    pub(crate) fn rows(&self) -> Option<&ChainRows> {
        let is_it = |key: &SliceKey| self.chain.key == *key && self.name.as_deref() == Some(&self.chain.name);
        self.slice.as_ref().filter(|key| is_it(key)).map(|_| &self.chain)
    }

    /// Lines of the chain, and the index of the selected one.
    pub(crate) fn lines(&self) -> (Vec<ChainLine>, Option<usize>) {
        let Some(chain) = self.rows() else { return (Vec::new(), None) };
        let fwd = self.expiry().map_or(f64::NAN, |row| row.fwd);
        let strikes: Vec<f64> = chain.rows.iter().map(|row| row.strike).collect();
        let lines = chain_lines(&strikes, self.spot(), fwd);
        let at = self.row_place().and_then(|place| lines.iter().position(|line| *line == ChainLine::Row(place)));
        (lines, at)
    }

    /// Index of the selected row.
    pub(crate) fn row_place(&self) -> Option<usize> {
        let price = match self.cursor {
            Cursor::Strike(strike) => strike,
            Cursor::AtMoney => self.expiry().map(|row| row.fwd).filter(|fwd| fwd.is_finite()).unwrap_or(self.spot()),
        };
        let chain = self.rows()?;
        // without a price the first row is selected
        if price.is_finite() { chain.nearest(price) } else { (!chain.rows.is_empty()).then_some(0) }
    }

    /// The selected row.
    pub(crate) fn row(&self) -> Option<&StrikeRow> {
        self.rows()?.rows.get(self.row_place()?)
    }

    /// Symbols of call and put of the selected row; empty for a contract that is not listed.
    pub(crate) fn pair(&self) -> Option<[String; 2]> {
        let row = self.row()?;
        let osym = |side: &Option<super::model::Side>| side.as_ref().map_or_else(String::new, |side| side.osym.clone());
        Some([osym(&row.call), osym(&row.put)])
    }

    /// Scrolls so that the selected row is visible; `afresh`: in the middle.
    pub(crate) fn scroll(&mut self, afresh: bool) {
        let (lines, at) = self.lines();
        let shown = self.areas().chain_lines();
        if let Some(at) = at {
            let top = if afresh { at.saturating_sub(shown / 2) } else { self.top };
            self.top = scrolled(top, at, shown.max(1), lines.len());
        }
    }

    /// Opens another name.
    pub(crate) fn open(&mut self, name: String) {
        if self.name.as_deref() == Some(&name) {
            return;
        }
        self.name = Some(name);
        self.name_status = NameStatus::Unknown;
        self.moments = None;
        self.forget_chain();
        self.cursor = Cursor::AtMoney;
        self.top = 0;
    }

    /// Drops the data of the name.
    pub(crate) fn forget_chain(&mut self) {
        self.expiries.clear();
        self.chain = ChainRows::default();
        self.term.clear();
        self.exposures = Exposures::default();
        self.spot_moved = 0;
        self.no_moment = None;
    }

    /// True if the feed has recorded days.
    pub(crate) fn has_past(&self) -> bool {
        self.daemon.as_ref().is_some_and(|daemon| daemon.feed.starts_with("history:"))
    }

    /// Time of a past snapshot on the screen, `2024-01-03 10:30:00`; `None`: the present.
    pub(crate) fn past_time(&self) -> Option<String> {
        let as_of = self.as_of.as_ref()?;
        let time = self.moments.as_ref().and_then(|moments| moments.time.as_ref()).unwrap_or(as_of);
        Some(time.chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect())
    }

    /// Shows another moment; `None`: the present.
    pub(crate) fn look_at(&mut self, as_of: Option<String>) {
        if self.as_of != as_of {
            self.as_of = as_of;
            self.no_moment = None;
            self.name_status = NameStatus::Unknown;
        }
    }

    /// Selects an existing expiry: the same date, else the nearest number of days, else the first at least a week away.
    pub(crate) fn choose_expiry(&mut self, days_before: Option<f64>) {
        if self.expiries.is_empty() || self.expiry_place().is_some() {
            return;
        }
        let wanted = self.slice.as_ref().map(|key| key.expiry.as_str());
        let same_day = self.expiries.iter().find(|row| Some(row.key.expiry.as_str()) == wanted);
        let distance = |days: f64, row: &ExpiryRow| (row.days - days).abs();
        let near = days_before
            .and_then(|days| self.expiries.iter().min_by(|a, b| distance(days, a).total_cmp(&distance(days, b))));
        let later = self.expiries.iter().find(|row| row.days >= FIRST_DAYS);
        self.slice = same_day.or(near).or(later).or(self.expiries.last()).map(|row| row.key.clone());
    }

    /// Makes open details follow the selected row.
    pub(crate) fn follow_detail(&mut self) {
        let pair = self.pair();
        let (Some(Overlay::Detail(detail)), Some(pair)) = (&mut self.overlay, pair) else { return };
        if detail.pair != pair {
            **detail = Detail { pair, ..Detail::default() };
        }
    }

    /// Shows a message that there are no quotes, if shown columns need them.
    pub(crate) fn say_without_quotes(&mut self) {
        let needs = self.columns().iter().any(|column| column.facts().group == Group::Quote);
        if self.without_quotes && needs {
            self.say("this daemon serves no quotes; start it with --show-quotes");
        }
    }

    /// Shows a message for some time.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.message = Some((text.into(), self.now + MESSAGE_MS));
    }

    /// Sets the time.
    pub(crate) fn advance(&mut self, now: u64) {
        self.now = now;
        if self.message.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.message = None;
        }
    }

    /// Sets the size of the screen.
    pub(crate) fn resize(&mut self, size: (u16, u16)) {
        self.size = size;
        self.scroll(false);
    }

    /// True while changes are marked.
    pub(crate) fn flashes(&self) -> bool {
        self.now < self.flash_until
    }

    /// Milliseconds since the last answer, if that is long ago.
    pub(crate) fn silence(&self) -> Option<u64> {
        Some(self.now.saturating_sub(self.last_answer)).filter(|silence| *silence >= SILENCE_MS)
    }

    /// Time until the screen changes by itself, milliseconds.
    pub(crate) fn next_wake(&self) -> Option<u64> {
        let ends = [Some(self.flash_until), self.message.as_ref().map(|(_, until)| *until)];
        // the screen counts a silence in seconds
        let silence = Some(if self.silence().is_some() { self.now + 1_000 } else { self.last_answer + SILENCE_MS });
        let waits = ends.into_iter().chain([silence]).flatten().filter(|at| *at > self.now).map(|at| at - self.now);
        waits.min()
    }
}
