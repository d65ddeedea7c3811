//! What the viewer knows and shows: data, and what follows from it. Pure; time comes in as milliseconds. Never: a
//! terminal, a request, a clock.

use super::column::{Column, N_COLUMNS};
use super::layout::{Areas, Page};
use super::lines::{ChainLine, chain_lines, scrolled};
use super::model::{ChainRows, DaemonFacts, ExpiryRow, Moments, NameFacts, SliceKey, StrikeRow, WatchRow};
use super::pages::TextPage;
use super::wants::Wants;
use kernel::columns::Group;
use std::collections::BTreeSet;

/// Names on the watch list at most.
pub const WATCH_MOST: usize = 20;
/// How long what changed is marked, in milliseconds.
pub(crate) const FLASH_MS: u64 = 900;
/// How long a message stands, in milliseconds.
pub(crate) const MESSAGE_MS: u64 = 5_000;
/// After how long without an answer the screen says so, in milliseconds.
pub(crate) const SILENCE_MS: u64 = 3_000;
/// The first expiry that is shown has at least so many days, if there is one.
const FIRST_DAYS: f64 = 7.0;
/// Columns of somebody who has chosen none.
const FIRST_COLUMNS: [&str; 6] = ["svc_theo", "svc_vol", "delta", "gamma", "vega", "theta"];

/// What lies over the screen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Overlay {
    /// All keys.
    Help,
    /// The search box.
    Search(Search),
    /// The choice of columns: the line that is on.
    Columns(usize),
    /// Everything about the contracts of a strike.
    Detail(Box<Detail>),
    /// A page of text.
    Text(TextView),
}

/// A page of text, scrolled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextView {
    /// What it is of.
    pub(crate) page: TextPage,
    /// Its lines; `None`: they are on their way.
    pub(crate) lines: Option<Vec<String>>,
    /// The first line that is shown.
    pub(crate) top: usize,
}

/// The search box.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Search {
    /// What was typed.
    pub(crate) text: String,
    /// The names that were found last.
    pub(crate) found: Vec<NameFacts>,
    /// The text that they were found for.
    pub(crate) found_for: Option<String>,
    /// The name that is on.
    pub(crate) at: usize,
}

/// Everything about two contracts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Detail {
    /// Call and put.
    pub(crate) pair: [String; 2],
    /// Their numbers, as far as they are there.
    pub(crate) values: [Option<[f64; N_COLUMNS]>; 2],
}

/// The row that is on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Cursor {
    /// The strike nearest to the forward, wherever that is.
    #[default]
    AtMoney,
    /// The strike nearest to this.
    Strike(f64),
}

/// Status of the name on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum NameStatus {
    /// The daemon has not answered yet.
    #[default]
    Unknown,
    /// It is computed for the first time.
    Pending,
    /// The daemon does not serve it.
    NotServed,
    /// The daemon serves it; these are its facts.
    Served(NameFacts),
}

/// Why the daemon cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Away {
    /// In words.
    pub(crate) why: String,
    /// Since when, in milliseconds.
    pub(crate) since: u64,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    /// The time, in milliseconds since the start.
    pub(crate) now: u64,
    /// The size of the screen.
    pub(crate) size: (u16, u16),
    /// Where the daemon is, in words.
    pub(crate) place: String,
    /// The daemon is a part of this program.
    pub(crate) is_own: bool,
    /// The last message of the daemon.
    pub(crate) daemon: Option<DaemonFacts>,
    /// It does not answer.
    pub(crate) away: Option<Away>,
    /// Time of the daemon's last answer.
    pub(crate) heard: u64,
    /// It shows no quotes.
    pub(crate) without_quotes: bool,
    /// The page.
    pub(crate) page: Page,
    /// What lies over it.
    pub(crate) overlay: Option<Overlay>,
    /// The name on the screen.
    pub(crate) name: Option<String>,
    /// The past moment that is looked at, as the API takes `as_of`; `None`: the present.
    pub(crate) as_of: Option<String>,
    /// The snapshots around it.
    pub(crate) moments: Option<Moments>,
    /// Why there is no snapshot of it.
    pub(crate) no_moment: Option<String>,
    /// How it stands with it.
    pub(crate) standing: NameStatus,
    /// Its expiries.
    pub(crate) expiries: Vec<ExpiryRow>,
    /// How its price moved last.
    pub(crate) spot_moved: i8,
    /// The slice that is on.
    pub(crate) slice: Option<SliceKey>,
    /// The rows that were fetched last; of another slice while those of this one are on their way.
    pub(crate) chain: ChainRows,
    /// The row that is on.
    pub(crate) cursor: Cursor,
    /// The first line of the chain on the screen.
    pub(crate) top: usize,
    /// Columns that somebody chose, nearest to the strike first.
    pub(crate) own_columns: Vec<Column>,
    /// The group that is shown in their place.
    pub(crate) group: Option<Group>,
    /// How many columns are left out next to the strike.
    pub(crate) shift: usize,
    /// The watch list.
    pub(crate) watch: Vec<String>,
    /// What was fetched of it last.
    pub(crate) watch_rows: Vec<WatchRow>,
    /// The name of it that is on.
    pub(crate) watch_at: usize,
    /// The contracts that are to be copied, with the number of the copy.
    pub(crate) copying: Option<(u64, [String; 2])>,
    /// Copies that were asked for.
    pub(crate) copies: u64,
    /// Until when what changed is marked.
    pub(crate) flash_until: u64,
    /// The message in the footer, and until when it is shown.
    pub(crate) message: Option<(String, u64)>,
}

impl State {
    /// Before anything is known.
    pub(crate) fn new(place: String, is_own: bool, name: Option<String>, watch: Vec<String>) -> Self {
        Self {
            now: 0,
            size: (80, 24),
            place,
            is_own,
            daemon: None,
            away: None,
            heard: 0,
            without_quotes: false,
            page: Page::Chain,
            overlay: None,
            name,
            as_of: None,
            moments: None,
            no_moment: None,
            standing: NameStatus::Unknown,
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
            copying: None,
            copies: 0,
            flash_until: 0,
            message: None,
        }
    }

    /// Where everything stands.
    pub(crate) fn areas(&self) -> Areas {
        Areas::of(self.size.0, self.size.1)
    }

    /// The columns, nearest to the strike first.
    pub(crate) fn columns(&self) -> Vec<Column> {
        self.group.map_or_else(|| self.own_columns.clone(), Column::of)
    }

    /// What is to be fetched: what can be seen.
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
        Wants {
            any_name: self.name.is_none(),
            name: self.name.clone(),
            as_of: self.as_of.clone(),
            moments: self.has_past(),
            slice: slice.map(|key| (key, groups)),
            detail,
            copy: self.copying.clone(),
            watch: if sees(Page::Watch) { self.watch.clone() } else { Vec::new() },
            search,
            text,
            without_quotes: self.without_quotes,
        }
    }

    /// The expiry that is on.
    pub(crate) fn expiry(&self) -> Option<&ExpiryRow> {
        self.expiries.get(self.expiry_place()?)
    }

    /// Its place among the expiries.
    pub(crate) fn expiry_place(&self) -> Option<usize> {
        let key = self.slice.as_ref()?;
        self.expiries.iter().position(|row| row.key == *key)
    }

    /// The price of the name.
    pub(crate) fn spot(&self) -> f64 {
        self.expiries.first().map_or(f64::NAN, |row| row.spot)
    }

    /// The rows of the slice that is on, if they are there.
    pub(crate) fn rows(&self) -> Option<&ChainRows> {
        let is_it = |key: &SliceKey| self.chain.key == *key && self.name.as_deref() == Some(&self.chain.name);
        self.slice.as_ref().filter(|key| is_it(key)).map(|_| &self.chain)
    }

    /// The lines of the chain, and which of them is on.
    pub(crate) fn lines(&self) -> (Vec<ChainLine>, Option<usize>) {
        let Some(chain) = self.rows() else { return (Vec::new(), None) };
        let fwd = self.expiry().map_or(f64::NAN, |row| row.fwd);
        let lines = chain_lines(chain, self.spot(), fwd);
        let at = self.row_place().and_then(|place| lines.iter().position(|line| *line == ChainLine::Row(place)));
        (lines, at)
    }

    /// The place of the row that is on.
    pub(crate) fn row_place(&self) -> Option<usize> {
        let price = match self.cursor {
            Cursor::Strike(strike) => strike,
            Cursor::AtMoney => self.expiry().map(|row| row.fwd).filter(|fwd| fwd.is_finite()).unwrap_or(self.spot()),
        };
        let chain = self.rows()?;
        // a name without a price has a first row
        if price.is_finite() { chain.nearest(price) } else { (!chain.rows.is_empty()).then_some(0) }
    }

    /// The row that is on.
    pub(crate) fn row(&self) -> Option<&StrikeRow> {
        self.rows()?.rows.get(self.row_place()?)
    }

    /// The contracts of the row that is on.
    pub(crate) fn pair(&self) -> Option<[String; 2]> {
        let row = self.row()?;
        let osym = |side: &Option<super::model::Side>| side.as_ref().map_or_else(String::new, |side| side.osym.clone());
        Some([osym(&row.call), osym(&row.put)])
    }

    /// Keeps the row that is on where it can be seen; `afresh`: in the middle.
    pub(crate) fn scroll(&mut self, afresh: bool) {
        let (lines, at) = self.lines();
        let shown = self.areas().chain_lines();
        if let Some(at) = at {
            let top = if afresh { at.saturating_sub(shown / 2) } else { self.top };
            self.top = scrolled(top, at, shown.max(1), lines.len());
        }
    }

    /// Goes to another name.
    pub(crate) fn open(&mut self, name: String) {
        if self.name.as_deref() == Some(&name) {
            return;
        }
        self.name = Some(name);
        self.standing = NameStatus::Unknown;
        self.moments = None;
        self.forget_chain();
        self.cursor = Cursor::AtMoney;
        self.top = 0;
    }

    /// Forgets the numbers of the name.
    pub(crate) fn forget_chain(&mut self) {
        self.expiries.clear();
        self.chain = ChainRows::default();
        self.spot_moved = 0;
        self.no_moment = None;
    }

    /// True if the feed has recorded days.
    pub(crate) fn has_past(&self) -> bool {
        self.daemon.as_ref().is_some_and(|daemon| daemon.feed.starts_with("history:"))
    }

    /// The time of the snapshot on the screen, `2024-01-03 10:30:00`, where it is of the past.
    pub(crate) fn past_time(&self) -> Option<String> {
        let as_of = self.as_of.as_ref()?;
        let time = self.moments.as_ref().and_then(|moments| moments.time.as_ref()).unwrap_or(as_of);
        Some(time.chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect())
    }

    /// Looks at another moment; `None`: the present.
    pub(crate) fn look_at(&mut self, as_of: Option<String>) {
        if self.as_of != as_of {
            self.as_of = as_of;
            self.no_moment = None;
            self.standing = NameStatus::Unknown;
        }
    }

    /// Selects an existing expiry: the same date, else one as many days away, else the first that is a week away.
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

    /// Keeps what is shown of a strike with the row that is on.
    pub(crate) fn follow_detail(&mut self) {
        let pair = self.pair();
        let (Some(Overlay::Detail(detail)), Some(pair)) = (&mut self.overlay, pair) else { return };
        if detail.pair != pair {
            **detail = Detail { pair, ..Detail::default() };
        }
    }

    /// Says that there are no quotes, where columns are shown that need them.
    pub(crate) fn say_without_quotes(&mut self) {
        let needs = self.columns().iter().any(|column| column.facts().group == Group::Quote);
        if self.without_quotes && needs {
            self.say("this daemon serves no quotes; start it with --show-quotes");
        }
    }

    /// Says something for a while.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.message = Some((text.into(), self.now + MESSAGE_MS));
    }

    /// Time goes on.
    pub(crate) fn advance(&mut self, now: u64) {
        self.now = now;
        if self.message.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.message = None;
        }
    }

    /// The screen has another size.
    pub(crate) fn resize(&mut self, size: (u16, u16)) {
        self.size = size;
        self.scroll(false);
    }

    /// True if what changed is marked now.
    pub(crate) fn flashes(&self) -> bool {
        self.now < self.flash_until
    }

    /// Milliseconds since the last answer, where that is long.
    pub(crate) fn silence(&self) -> Option<u64> {
        Some(self.now.saturating_sub(self.heard)).filter(|silence| *silence >= SILENCE_MS)
    }

    /// When the screen changes by itself, in milliseconds from now.
    pub(crate) fn next_wake(&self) -> Option<u64> {
        let ends = [Some(self.flash_until), self.message.as_ref().map(|(_, until)| *until)];
        // a silence is counted in seconds
        let silence = Some(if self.silence().is_some() { self.now + 1_000 } else { self.heard + SILENCE_MS });
        let waits = ends.into_iter().chain([silence]).flatten().filter(|at| *at > self.now).map(|at| at - self.now);
        waits.min()
    }
}
