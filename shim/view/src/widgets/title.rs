//! Draws the two lines on top: name, price, status and market time; then the pages, or a problem.

use super::pen::Pen;
use crate::layout::Page;
use crate::model::{DaemonFacts, NameFacts};
use crate::number::{MISSING, count, shown};
use crate::palette::Look;
use crate::state::{NameStatus, State};
use kernel::columns::Shape;
use ratatui::layout::Rect;

/// Width of a line of a reason.
const REASON_WIDTH: usize = 56;

/// Draws the two lines.
pub(crate) fn draw(pen: &mut Pen<'_>, area: Rect, state: &State) {
    let badges = badges(state);
    let name = state.name.as_deref().unwrap_or("greeksd");
    let look = state.palette_of_spot();
    let sign = match state.spot_moved {
        1.. => pen.palette.signs.up,
        0 => ' ',
        _ => pen.palette.signs.down,
    };
    let mut line = pen.line(area.y, area);
    line.put(" ", Look::Plain).put(name, Look::Name);
    if state.spot().is_finite() {
        line.put("  ", Look::Plain).put(&shown(state.spot(), Shape::Decimals(2), 12), look);
        line.put(&format!(" {sign} "), look);
    }
    for (badge, look) in &badges {
        line.put(" ", Look::Plain).put(&format!(" {badge} "), *look);
    }
    let free = usize::from(area.right().saturating_sub(line.x() + 1));
    if let Some(time) = market_lines(state).into_iter().find(|time| time.len() <= free) {
        pen.right(area.x, area.y, area.width, area, &time, Look::Faint);
    }
    let second = area.y + 1;
    match trouble(state) {
        Some((text, look)) => {
            let padded = format!(" {text:<width$}", width = usize::from(area.width));
            pen.text(area.x, second, area, &padded, look);
        }
        None => pages(pen, second, area, state),
    }
}

impl State {
    /// Style of the price: marked while its change is new.
    fn palette_of_spot(&self) -> Look {
        match self.spot_moved.signum() {
            1 if self.flashes() => Look::Up,
            -1 if self.flashes() => Look::Down,
            _ => Look::Spot,
        }
    }
}

fn pages(pen: &mut Pen<'_>, y: u16, area: Rect, state: &State) {
    let right = state.daemon.as_ref().map_or_else(Default::default, |daemon| {
        let what = if state.is_own { "feed" } else { "daemon on" };
        let counts = format!("{} names, {} contracts ", count(daemon.names), count(daemon.contracts));
        let rates = if daemon.rates.is_empty() { String::new() } else { format!("rates {}", daemon.rates) };
        let apart = if rates.is_empty() { "" } else { ", " };
        [
            format!("{what} {}, {rates}{apart}{counts}", daemon.feed),
            format!("{what} {}, {rates} ", daemon.feed),
            format!("{rates} "),
        ]
    });
    let mut line = pen.line(y, area);
    line.put(" ", Look::Plain);
    for (place, page) in Page::ALL.into_iter().enumerate() {
        let (key, title) = (place + 1, page.title());
        if page == state.page {
            line.put(&format!("[{key} {title}]"), Look::Chosen);
        } else {
            line.put(&format!(" {key} {title} "), Look::Faint);
        }
    }
    let free = usize::from(area.right().saturating_sub(line.x() + 1));
    if let Some(text) = right.iter().find(|text| text.chars().count() <= free) {
        pen.right(area.x, y, area.width, area, text, Look::Faint);
    }
}

/// Market time, and whether the market is open: texts from the longest to the shortest.
fn market_lines(state: &State) -> Vec<String> {
    let Some(daemon) = &state.daemon else { return Vec::new() };
    if state.as_of.is_some() {
        return vec!["[ ] earlier, later; n latest ".to_owned(), "[ ] n ".to_owned()];
    }
    let market = if daemon.is_open { "open" } else { "closed" };
    let time = clock_of(&daemon.time);
    match time.split_once(' ') {
        Some((day, clock)) => vec![
            format!("{day} {clock} ET, market {market} "),
            format!("{clock} ET, market {market} "),
            format!("{clock} ET, {market} "),
            format!("{clock} "),
        ],
        None => vec![format!("market {market} ")],
    }
}

/// Shortens `2026-11-20T15:42:00.000-05:00` to `2026-11-20 15:42:00`.
pub(crate) fn clock_of(time: &str) -> String {
    match (time.get(..10), time.get(11..19)) {
        (Some(day), Some(clock)) => format!("{day} {clock}"),
        _ => String::new(),
    }
}

/// Badges of the status of the values.
fn badges(state: &State) -> Vec<(String, Look)> {
    let mut badges = Vec::new();
    if let Some(time) = state.past_time() {
        badges.push((format!("PAST {time}"), Look::Alarm));
    }
    if state.daemon.as_ref().is_some_and(|daemon| daemon.simulated) {
        badges.push(("SIMULATED".to_owned(), Look::Notice));
    }
    match &state.name_status {
        NameStatus::Served(facts) => badges.extend(badges_of(facts)),
        NameStatus::Pending => badges.push(("PENDING".to_owned(), Look::Notice)),
        NameStatus::NotServed => badges.push(("UNKNOWN".to_owned(), Look::Alarm)),
        NameStatus::Unknown => {}
    }
    let is_unknown =
        |daemon: &DaemonFacts| daemon.dividends_unknown.iter().any(|name| Some(name) == state.name.as_ref());
    if state.daemon.as_ref().is_some_and(is_unknown) {
        badges.push(("DIVS UNKNOWN".to_owned(), Look::Notice));
    }
    if let (Some(daemon), Some(name)) = (&state.daemon, &state.name) {
        let doubted = daemon.doubted.iter().find(|(of, _)| of == name);
        badges.extend(doubted.map(|(_, doubt)| (format!("{} DOUBTED", doubt.to_uppercase()), Look::Notice)));
        if daemon.quotes_missed.contains(name) {
            badges.push(("QUOTES MISSED".to_owned(), Look::Alarm));
        }
    }
    badges
}

fn badges_of(facts: &NameFacts) -> Vec<(String, Look)> {
    let clock = clock_of(&facts.valued_at);
    let state = match facts.state.as_str() {
        "ok" => None,
        "held" => Some((format!("HELD {clock}"), Look::Notice)),
        "stale" => Some((format!("STALE {clock}"), Look::Alarm)),
        "uncomputed" => Some((format!("NO GREEKS: {}", facts.reason.replace('_', " ")), Look::Alarm)),
        other => Some((other.to_uppercase(), Look::Notice)),
    };
    state.into_iter().chain(facts.is_preliminary.then(|| ("PRELIM".to_owned(), Look::Notice))).collect()
}

/// A problem of the connection or of the daemon.
fn trouble(state: &State) -> Option<(String, Look)> {
    let since = |from: u64| state.now.saturating_sub(from) / 1_000;
    if let Some(away) = &state.offline {
        let shown = state.daemon.as_ref().map(|daemon| clock_of(&daemon.time)).filter(|time| !time.is_empty());
        let shown = shown.map_or_else(String::new, |time| format!("; values of {time}"));
        let text = format!("offline for {} s: {}{shown}; {}", since(away.since), away.why, state.place);
        return Some((text, Look::Alarm));
    }
    if state.silence().is_some() && state.as_of.is_some() {
        return Some((format!("this moment is being computed, for {} s", since(state.last_answer)), Look::Notice));
    }
    if state.silence().is_some() {
        return Some((format!("no answer for {} s; {}", since(state.last_answer), state.place), Look::Alarm));
    }
    let daemon = state.daemon.as_ref()?;
    match daemon.status.as_str() {
        "starting" => {
            let done = daemon.names.to_string();
            let text = format!("starting: {done} of {} names computed", daemon.names + daemon.pending);
            Some((text, Look::Notice))
        }
        "stale" => Some(("stale: the market is open, but the feed delivers nothing new".to_owned(), Look::Alarm)),
        "unsaved" => Some(("unsaved: recording or state cannot be written".to_owned(), Look::Alarm)),
        "failed" => Some(("failed: the daemon has stopped computing".to_owned(), Look::Alarm)),
        _ if !daemon.rates_warning.is_empty() => Some((format!("rates: {}", daemon.rates_warning), Look::Notice)),
        _ => None,
    }
}

/// Wraps text into lines of at most [`REASON_WIDTH`] characters.
pub(crate) fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => word.clone_into(line),
            Some(line) if line.chars().count().saturating_add(1 + word.chars().count()) <= REASON_WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Text to show instead of a chain, in lines.
pub(crate) fn nothing(state: &State) -> Vec<String> {
    let name = state.name.as_deref().unwrap_or(MISSING);
    if state.daemon.is_none() && state.is_own {
        return vec!["starting".to_owned()];
    }
    if state.daemon.is_none() {
        return vec![
            format!("no daemon answers at {}", state.place),
            String::new(),
            format!("{:<50}", "greeksd serve            starts one"),
            format!("{:<50}", "greeksd view --feed sim  shows a simulated market"),
            String::new(),
            "this screen continues when a daemon answers".to_owned(),
        ];
    }
    if let Some(why) = &state.no_moment {
        return wrapped(why);
    }
    match &state.name_status {
        _ if state.name.is_none() => vec!["loading names".to_owned()],
        NameStatus::NotServed => vec![format!("{name} is not served"), String::new(), "/ searches".to_owned()],
        NameStatus::Pending => vec![format!("{name} is being computed for the first time")],
        NameStatus::Served(facts) if facts.state == "uncomputed" => {
            vec![format!("{name} has no Greeks: {}", facts.reason.replace('_', " "))]
        }
        NameStatus::Served(_) | NameStatus::Unknown => vec![format!("loading {name}")],
    }
}
