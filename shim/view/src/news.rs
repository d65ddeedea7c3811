//! Applies fetched data to the state. Answers that are no longer wanted change nothing. Never: a request.

use super::fetch::News;
use super::metrics::{ExposureRow, ExposureScope, Exposures};
use super::model::{ChainRows, DaemonFacts, ExpiryRow, NameFacts, WatchRow};
use super::pages::TextPage;
use super::state::{FLASH_MS, NameStatus, Offline, Overlay, State};
use super::wants::Subject;

/// Effect of an event outside the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// No effect.
    None,
    /// Quit.
    Quit,
    /// Copy a text to the clipboard.
    Copy(String),
    /// Suspend until the shell continues the program.
    Suspend,
    /// Redraw the whole screen.
    Redraw,
}

impl State {
    /// Takes in fetched data.
    pub(crate) fn on_news(&mut self, news: News) -> Effect {
        if !matches!(news, News::Offline(_)) {
            self.last_answer = self.now;
        }
        match news {
            News::Daemon(facts) => self.on_daemon(facts),
            News::Offline(why) => self.on_offline(why),
            News::AnyName(names) => self.on_any_name(&names),
            News::Name(name, facts) if self.is_on(&name) => self.on_name(facts),
            News::Moments(name, as_of, moments) if self.is_on(&name) && self.as_of == as_of => {
                self.moments = Some(moments);
            }
            News::NoMoment(why) => self.on_no_moment(why),
            News::Expiries(name, rows) if self.is_on(&name) => self.on_expiries(rows),
            News::Chain(chain) => self.on_chain(chain),
            News::Detail(pair, values) => self.on_detail(&pair, &values),
            News::Copied(number, csv) if self.copying.as_ref().is_some_and(|(wanted, _)| *wanted == number) => {
                self.copying = None;
                return Effect::Copy(csv);
            }
            News::Watch(rows) => self.on_watch(rows),
            News::Metrics(rows) => self.metrics = rows,
            News::Term(name, rows) if self.is_on(&name) => self.term = rows,
            News::Exposure(name, scope, is_by_strike, rows) if self.is_on(&name) && self.exposure_scope() == scope => {
                self.on_exposure(scope, is_by_strike, rows);
            }
            News::NoExposure(name, refused) if self.is_on(&name) => {
                self.exposures = Exposures { scope: self.exposure_scope(), refused, ..Exposures::default() };
            }
            News::Found(text, names) => self.on_found(text, names),
            News::Text(page, lines) => self.on_text(&page, lines),
            News::Pending(about) => self.on_pending(&about),
            News::NoQuotes => {
                self.without_quotes = true;
                self.say_without_quotes();
            }
            News::Failed(why) => {
                self.copying = None;
                self.say(why);
            }
            News::Name(..)
            | News::Moments(..)
            | News::Expiries(..)
            | News::Copied(..)
            | News::Term(..)
            | News::Exposure(..)
            | News::NoExposure(..) => {}
        }
        Effect::None
    }

    fn is_on(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }

    fn on_daemon(&mut self, facts: DaemonFacts) {
        if self.offline.take().is_some() {
            // it may be another daemon
            self.without_quotes = false;
        }
        self.daemon = Some(facts);
    }

    fn on_offline(&mut self, why: String) {
        let since = self.offline.as_ref().map_or(self.now, |away| away.since);
        self.offline = Some(Offline { why, since });
        if self.copying.take().is_some() {
            self.say("not copied: no connection to the daemon");
        }
    }

    /// Opens the name with the most contracts if there is no name yet.
    fn on_any_name(&mut self, names: &[NameFacts]) {
        let largest = names.iter().filter(|name| name.contracts > 0).max_by_key(|name| name.contracts);
        if let (None, Some(largest)) = (&self.name, largest) {
            self.open(largest.symbol.clone());
        }
    }

    fn on_name(&mut self, facts: Option<NameFacts>) {
        self.name_status = match facts {
            None => NameStatus::NotServed,
            Some(facts) if facts.state == "pending" => NameStatus::Pending,
            Some(facts) => NameStatus::Served(facts),
        };
    }

    /// Shows only the reason if there is no snapshot of the moment.
    fn on_no_moment(&mut self, why: String) {
        self.copying = None;
        self.forget_chain();
        self.no_moment = Some(why);
    }

    fn on_expiries(&mut self, rows: Vec<ExpiryRow>) {
        self.no_moment = None;
        let before = self.spot();
        let days_before = self.expiry().map(|row| row.days);
        self.expiries = rows;
        let spot = self.spot();
        if before.is_finite() && spot.is_finite() {
            self.spot_moved = direction(spot, before);
            if self.spot_moved != 0 {
                self.flash_until = self.now + FLASH_MS;
            }
        }
        self.choose_expiry(days_before);
        self.scroll(false);
    }

    fn on_chain(&mut self, mut chain: ChainRows) {
        let is_wanted = self.is_on(&chain.name) && self.slice.as_ref() == Some(&chain.key);
        if !is_wanted {
            return;
        }
        let is_new = self.rows().is_none();
        chain.compare(&self.chain);
        if chain.rows.iter().flat_map(|row| row.sides()).any(|side| side.moved.iter().any(|moved| *moved != 0)) {
            self.flash_until = self.now + FLASH_MS;
        }
        self.chain = chain;
        self.scroll(is_new);
        self.follow_detail();
    }

    fn on_detail(&mut self, pair: &[String; 2], values: &[(String, [f64; super::column::N_COLUMNS])]) {
        let Some(Overlay::Detail(detail)) = &mut self.overlay else { return };
        if detail.pair == *pair {
            let of = |osym: &String| values.iter().find(|(found, _)| found == osym).map(|(_, values)| *values);
            detail.values = [of(&pair[0]), of(&pair[1])];
        }
    }

    fn on_text(&mut self, page: &TextPage, lines: Vec<String>) {
        let Some(Overlay::Text(view)) = &mut self.overlay else { return };
        if view.page == *page {
            view.top = view.top.min(lines.len().saturating_sub(1));
            view.lines = Some(lines);
        }
    }

    fn on_exposure(&mut self, scope: ExposureScope, is_by_strike: bool, mut rows: Vec<ExposureRow>) {
        if self.exposures.scope != scope || !self.exposures.refused.is_empty() {
            self.exposures = Exposures { scope, ..Exposures::default() };
        }
        if is_by_strike {
            rows.retain(|row| row.strike.is_finite());
            self.exposures.rows = rows;
        } else {
            self.exposures.sum = rows.pop();
        }
    }

    fn on_watch(&mut self, mut rows: Vec<WatchRow>) {
        for row in &mut rows {
            let before = self.watch_rows.iter().find(|before| before.symbol == row.symbol);
            row.moved = before.map_or(0, |before| direction(row.spot, before.spot));
        }
        if rows.iter().any(|row| row.moved != 0) {
            self.flash_until = self.now + FLASH_MS;
        }
        self.watch_rows = rows;
    }

    fn on_found(&mut self, text: String, names: Vec<NameFacts>) {
        let Some(Overlay::Search(search)) = &mut self.overlay else { return };
        if search.text == text {
            let is_other = search.found_for.as_ref() != Some(&text);
            search.at = if is_other { 0 } else { search.at.min(names.len().saturating_sub(1)) };
            (search.found, search.found_for) = (names, Some(text));
        }
    }

    fn on_pending(&mut self, subject: &Subject) {
        match subject {
            Subject::Expiries(name) | Subject::Chain(name, _) if self.is_on(name) => {
                self.name_status = NameStatus::Pending;
            }
            Subject::Copy(..) => {
                self.copying = None;
                self.say("not copied: still being computed");
            }
            _ => {}
        }
    }
}

/// Direction of a number: -1, 0, 1; 0 if one of them is missing.
fn direction(new: f64, old: f64) -> i8 {
    i8::from(new > old) - i8::from(new < old)
}
