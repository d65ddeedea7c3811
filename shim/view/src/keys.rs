//! Handles keys. Footer and help show the table of all keys. Never: a terminal.

use super::column::Column;
use super::layout::Page;
use super::metrics::TermClock;
use super::model::Moments;
use super::news::Effect;
use super::pages::TextPage;
use super::state::{Cursor, Detail, NameStatus, Overlay, Search, State, TextView, WATCH_MOST};
use kernel::columns::Group;

/// A pressed key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A character.
    Char(char),
    /// A character with Ctrl.
    Ctrl(char),
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// An arrow.
    Left,
    /// An arrow.
    Right,
    /// An arrow with Shift.
    ShiftUp,
    /// An arrow with Shift.
    ShiftDown,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// Return.
    Enter,
    /// Escape.
    Esc,
    /// Backspace.
    Backspace,
    /// Tab.
    Tab,
    /// Tab with Shift.
    BackTab,
}

/// All keys in groups: keys, and their effects.
pub(crate) const KEYS: &[(&str, &[(&str, &str)])] = &[
    (
        "Move",
        &[
            ("Left Right", "previous, next expiry; f, l: first, last"),
            ("Up Down", "lower, higher strike; name in the watch list"),
            ("PgUp PgDn", "by ten strikes; Home, End: first, last strike"),
            ("a", "follow the strike at the money"),
            ("[ ] n", "previous, next snapshot of recorded days; n: the latest"),
        ],
    ),
    (
        "Look",
        &[
            ("1 2 3 4 5", "chain, smile, term, watch list, exposure; Tab: next"),
            ("t", "term by calendar or variance time; exposure of one expiry"),
            ("Enter", "details of this strike, then explanation; watched name"),
            ("e p v V", "explain strike; positions; what if of strike, positions"),
            ("g c", "columns of a group, or your own; choose those"),
            (", .", "shift columns towards, away from the strike"),
        ],
    ),
    (
        "Do",
        &[
            ("/ s", "search for a symbol"),
            ("w", "add this name to the watch list, or remove it"),
            ("y", "copy call and put of this strike as CSV"),
            ("Ctrl-L ?", "redraw the screen; show these keys"),
            ("q Ctrl-C", "quit"),
        ],
    ),
];

/// Maximum length of a symbol in a search.
const SYMBOL_MOST: usize = 12;
/// Number of rows of a page key.
const PAGE_ROWS: isize = 10;

impl State {
    /// Handles a key.
    pub(crate) fn on_key(&mut self, key: Key) -> Effect {
        match key {
            Key::Ctrl('c' | 'd') => return Effect::Quit,
            Key::Ctrl('z') => return Effect::Suspend,
            Key::Ctrl('l') => return Effect::Redraw,
            _ => {}
        }
        match self.overlay.take() {
            None => self.on_page_key(key),
            Some(Overlay::Help) => Effect::None,
            Some(Overlay::Search(search)) => {
                self.on_search_key(search, key);
                Effect::None
            }
            Some(Overlay::Columns(at)) => {
                self.on_columns_key(at, key);
                Effect::None
            }
            Some(Overlay::Detail(detail)) => self.on_detail_key(detail, key),
            Some(Overlay::Text(view)) => {
                self.on_text_key(view, key);
                Effect::None
            }
        }
    }

    fn on_page_key(&mut self, key: Key) -> Effect {
        match key {
            Key::Char('q') => return Effect::Quit,
            Key::Char('?') => self.overlay = Some(Overlay::Help),
            Key::Char('/' | 's') => self.overlay = Some(Overlay::Search(Search::default())),
            Key::Char('c') => self.overlay = Some(Overlay::Columns(0)),
            Key::Char('w') => self.toggle_watch(),
            Key::Tab => self.page = self.page.beside(true),
            Key::BackTab => self.page = self.page.beside(false),
            Key::Char('1') => self.page = Page::Chain,
            Key::Char('2') => self.page = Page::Smile,
            Key::Char('3') => self.page = Page::Term,
            Key::Char('4') => self.page = Page::Watch,
            Key::Char('5') => self.page = Page::Exposure,
            Key::Char('t') if self.page == Page::Exposure => self.of_one_expiry = !self.of_one_expiry,
            Key::Char('t') => self.next_clock(),
            Key::Char('[') => self.step_moment(|moments| moments.previous.clone(), "no earlier snapshot"),
            Key::Char(']') => self.step_moment(|moments| moments.next.clone(), "no later snapshot"),
            Key::Char('n') => self.go_to_latest(),
            Key::Char('p' | 'v' | 'V') if self.as_of.is_some() => {
                self.say("positions and scenarios are of the present; n goes back to it");
            }
            Key::Char('p') => self.open_page(TextPage::Positions),
            Key::Char('V') => self.open_page(TextPage::PositionScenario),
            _ if self.page == Page::Watch && self.on_watch_key(key) => {}
            Key::Char('e') => self.explain(false),
            Key::Char('E') => self.explain(true),
            Key::Char('v') => {
                if let Some(pair) = self.pair() {
                    self.open_page(TextPage::Scenario(pair));
                }
            }
            Key::Enter => self.open_detail(),
            Key::Char('g') => self.next_group(),
            Key::Char('.' | '>') => self.shift = (self.shift + 1).min(self.columns().len().saturating_sub(1)),
            Key::Char(',' | '<') => self.shift = self.shift.saturating_sub(1),
            Key::Char('y') => self.copy(),
            _ => self.on_move_key(key),
        }
        Effect::None
    }

    fn on_move_key(&mut self, key: Key) {
        match key {
            Key::Left => self.step_expiry(-1),
            Key::Right => self.step_expiry(1),
            Key::Char('f') => self.step_expiry(isize::MIN / 2),
            Key::Char('l') => self.step_expiry(isize::MAX / 2),
            Key::Up | Key::Char('k') => self.step_row(-1),
            Key::Down | Key::Char('j') => self.step_row(1),
            Key::PageUp => self.step_row(-PAGE_ROWS),
            Key::PageDown => self.step_row(PAGE_ROWS),
            Key::Home => self.step_row(isize::MIN / 2),
            Key::End => self.step_row(isize::MAX / 2),
            Key::Char('a') => {
                self.cursor = Cursor::AtMoney;
                self.scroll(true);
            }
            _ => {}
        }
    }

    /// Goes to the previous or next snapshot; `none` is shown if there is none.
    fn step_moment(&mut self, to: fn(&Moments) -> Option<String>, none: &str) {
        match self.moments.as_ref().map(to) {
            Some(Some(moment)) => {
                // shown until the answer comes
                self.moments = Some(Moments { time: Some(moment.clone()), ..Moments::default() });
                self.look_at(Some(moment));
            }
            Some(None) => self.say(none),
            None if self.has_past() => self.say("the snapshots of this name are not known yet"),
            None => self.say("this feed has no past days; greeksd serve --feed history:DIR has"),
        }
    }

    fn go_to_latest(&mut self) {
        if self.as_of.is_none() {
            self.say("this is the latest snapshot");
        }
        self.moments = None;
        self.look_at(None);
    }

    /// Moves to another expiry; the cursor stays at the same strike, or at the money.
    fn step_expiry(&mut self, step: isize) {
        let Some(place) = self.expiry_place() else { return };
        let place = place.saturating_add_signed(step).min(self.expiries.len() - 1);
        self.slice = Some(self.expiries[place].key.clone());
    }

    fn step_row(&mut self, step: isize) {
        let (place, strikes) = if self.page == Page::Exposure {
            (self.exposure_place(), self.exposure_strikes())
        } else {
            let rows = self.rows().map_or(&[][..], |chain| &chain.rows);
            (self.row_place(), rows.iter().map(|row| row.strike).collect())
        };
        let Some(place) = place else { return };
        self.cursor = Cursor::Strike(strikes[place.saturating_add_signed(step).min(strikes.len() - 1)]);
        self.scroll(false);
    }

    fn next_clock(&mut self) {
        let (clock, says) = match self.clock {
            TermClock::Calendar => (TermClock::Variance, "term structure by variance time, without the event"),
            TermClock::Variance => (TermClock::Calendar, "term structure by calendar time"),
        };
        self.clock = clock;
        self.say(says);
    }

    fn next_group(&mut self) {
        let place = self.group.and_then(|group| Group::VIEWED.iter().position(|of| *of == group));
        self.group = Group::VIEWED.get(place.map_or(0, |place| place + 1)).copied();
        self.shift = 0;
        let says = self.group.map_or("your columns".to_owned(), |group| format!("{}: {}", group.name(), group.help()));
        self.say(says);
        self.say_without_quotes();
    }

    fn copy(&mut self) {
        match self.pair() {
            Some(pair) => {
                self.copies += 1;
                self.copying = Some((self.copies, pair));
            }
            None => self.say("no strike to copy"),
        }
    }

    fn toggle_watch(&mut self) {
        let Some(name) = self.name.clone() else { return };
        if let Some(place) = self.watch.iter().position(|watched| *watched == name) {
            self.watch.remove(place);
            self.watch_rows.retain(|row| row.symbol != name);
            self.watch_at = self.watch_at.min(self.watch.len().saturating_sub(1));
            self.say(format!("{name} is removed from the watch list"));
        } else if self.name_status == NameStatus::NotServed {
            self.say(format!("{name} is not served"));
        } else if self.watch.len() < WATCH_MOST {
            self.say(format!("{name} is on the watch list"));
            self.watch.push(name);
        } else {
            self.say(format!("the watch list is full: {WATCH_MOST} names"));
        }
    }

    /// Handles a key of the watch list; returns false for other keys.
    fn on_watch_key(&mut self, key: Key) -> bool {
        let last = self.watch.len().saturating_sub(1);
        match key {
            Key::Up | Key::Char('k') => self.watch_at = self.watch_at.saturating_sub(1),
            Key::Down | Key::Char('j') => self.watch_at = (self.watch_at + 1).min(last),
            Key::Home => self.watch_at = 0,
            Key::End => self.watch_at = last,
            Key::Enter => {
                if let Some(name) = self.watch.get(self.watch_at).cloned() {
                    self.open(name);
                    self.page = Page::Chain;
                }
            }
            _ => return false,
        }
        true
    }

    fn on_search_key(&mut self, mut search: Search, key: Key) {
        match key {
            Key::Esc => return,
            Key::Enter => {
                if let Some(name) = chosen(&search) {
                    self.open(name);
                    if self.page == Page::Watch {
                        self.page = Page::Chain;
                    }
                }
                return;
            }
            Key::Up => search.at = search.at.saturating_sub(1),
            Key::Down | Key::Tab => search.at = (search.at + 1).min(search.found.len().saturating_sub(1)),
            Key::PageUp => search.at = search.at.saturating_sub(10),
            Key::PageDown => search.at = (search.at + 10).min(search.found.len().saturating_sub(1)),
            Key::Backspace => {
                search.text.pop();
            }
            Key::Ctrl('u') => search.text.clear(),
            Key::Char(c) if is_of_symbol(c) && search.text.len() < SYMBOL_MOST => {
                search.text.push(c.to_ascii_uppercase());
            }
            _ => {}
        }
        self.overlay = Some(Overlay::Search(search));
    }

    /// All columns: first the shown ones in their order, then the others.
    pub(crate) fn column_list(&self) -> Vec<Column> {
        let others = Column::all().filter(|column| !self.own_columns.contains(column));
        self.own_columns.iter().copied().chain(others).collect()
    }

    fn on_columns_key(&mut self, at: usize, key: Key) {
        let list = self.column_list();
        let Some(&column) = list.get(at) else { return };
        let mut at = at;
        match key {
            Key::Esc | Key::Enter | Key::Char('c' | 'q') => {
                self.shift = 0;
                return;
            }
            Key::Up | Key::Char('k') => at = at.saturating_sub(1),
            Key::Down | Key::Char('j') => at = (at + 1).min(list.len() - 1),
            Key::Home => at = 0,
            Key::End => at = list.len() - 1,
            Key::Char(' ' | 'x') => {
                self.group = None;
                self.toggle_column(column);
                at = self.column_list().iter().position(|of| *of == column).unwrap_or(at);
            }
            Key::ShiftUp | Key::Char('K' | '-') => at = self.move_column(at, -1),
            Key::ShiftDown | Key::Char('J' | '+') => at = self.move_column(at, 1),
            Key::Char('r') => {
                self.own_columns = Self::new(String::new(), false, None, Vec::new()).own_columns;
                at = 0;
            }
            _ => {}
        }
        self.overlay = Some(Overlay::Columns(at));
    }

    fn toggle_column(&mut self, column: Column) {
        match self.own_columns.iter().position(|of| *of == column) {
            Some(_) if self.own_columns.len() == 1 => self.say("one column stays"),
            Some(place) => _ = self.own_columns.remove(place),
            None => {
                self.own_columns.push(column);
                self.say_without_quotes();
            }
        }
    }

    /// Moves a shown column among the shown ones; returns its new index.
    fn move_column(&mut self, at: usize, step: isize) -> usize {
        let to = at.saturating_add_signed(step);
        if at.max(to) >= self.own_columns.len() {
            return at;
        }
        self.group = None;
        self.own_columns.swap(at, to);
        to
    }

    fn open_page(&mut self, page: TextPage) {
        self.overlay = Some(Overlay::Text(TextView { page, lines: None, top: 0 }));
    }

    /// Opens the explanation of the out-of-the-money contract of the strike, or of the `other` one.
    fn explain(&mut self, other: bool) {
        let Some([call, put]) = self.pair() else { return };
        let is_below = self.row().map(|row| row.strike) < self.expiry().map(|expiry| expiry.fwd);
        let osym = if is_below == other { call } else { put };
        if osym.is_empty() {
            self.say("no such contract is listed");
        } else {
            self.open_page(TextPage::Explanation(osym));
        }
    }

    fn on_text_key(&mut self, mut view: TextView, key: Key) {
        let last = view.lines.as_ref().map_or(0, |lines| lines.len().saturating_sub(1));
        match key {
            Key::Esc | Key::Enter | Key::Char('q' | 'e' | 'p' | 'v' | 'V') => return,
            Key::Up | Key::Char('k') => view.top = view.top.saturating_sub(1),
            Key::Down | Key::Char('j') => view.top = (view.top + 1).min(last),
            Key::PageUp => view.top = view.top.saturating_sub(PAGE_ROWS.unsigned_abs()),
            Key::PageDown | Key::Char(' ') => view.top = (view.top + PAGE_ROWS.unsigned_abs()).min(last),
            Key::Home => view.top = 0,
            Key::End => view.top = last,
            _ => {}
        }
        self.overlay = Some(Overlay::Text(view));
    }

    fn open_detail(&mut self) {
        if let Some(pair) = self.pair() {
            self.overlay = Some(Overlay::Detail(Box::new(Detail { pair, ..Detail::default() })));
        }
    }

    /// Handles a key while the details are open: other strikes and expiries can be chosen.
    fn on_detail_key(&mut self, detail: Box<Detail>, key: Key) -> Effect {
        match key {
            Key::Esc | Key::Char('q') => return Effect::None,
            Key::Enter | Key::Char('e') => {
                self.explain(false);
                return Effect::None;
            }
            Key::Char('y') => self.copy(),
            _ => self.on_move_key(key),
        }
        self.overlay = Some(Overlay::Detail(detail));
        self.follow_detail();
        Effect::None
    }
}

/// The selected name; while the list is for another text, its first name that begins with this text, else the text
/// itself.
fn chosen(search: &Search) -> Option<String> {
    let is_of_text = search.found_for.as_ref() == Some(&search.text);
    let mut begins =
        search.found.iter().filter(|name| !search.text.is_empty() && name.symbol.starts_with(&search.text));
    let found = if is_of_text { search.found.get(search.at) } else { begins.next() };
    let typed = || Some(search.text.clone()).filter(|text| !text.is_empty());
    found.map(|name| name.symbol.clone()).or_else(typed)
}

fn is_of_symbol(c: char) -> bool {
    c.is_ascii_alphanumeric() || ".-/".contains(c)
}
