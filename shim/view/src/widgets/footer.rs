//! Draws the last line: the latest message, else the keys that apply.

use super::pen::Pen;
use crate::layout::Page;
use crate::palette::Look;
use crate::state::{Overlay, State};
use ratatui::layout::Rect;

/// Keys, and their effects in a word.
type Hints = &'static [(&'static str, &'static str)];

const PAGE: Hints = &[
    ("?", "keys"),
    ("Left/Right", "expiry"),
    ("Up/Down", "strike"),
    ("Tab", "page"),
    ("/", "search"),
    ("Enter", "details"),
    ("c", "columns"),
    ("w", "watch"),
    ("y", "copy"),
    ("a", "at the money"),
    ("g", "groups"),
    ("q", "end"),
];
const TERM: Hints = &[
    ("?", "keys"),
    ("Left/Right", "expiry"),
    ("t", "clock"),
    ("Tab", "page"),
    ("/", "search"),
    ("w", "watch"),
    ("q", "end"),
];
const EXPOSURE: Hints = &[
    ("?", "keys"),
    ("Up/Down", "strike"),
    ("t", "this expiry, all"),
    ("Left/Right", "expiry"),
    ("Tab", "page"),
    ("/", "search"),
    ("q", "end"),
];
const WATCH: Hints = &[
    ("?", "keys"),
    ("Up/Down", "name"),
    ("Enter", "open"),
    ("w", "add or remove"),
    ("Tab", "page"),
    ("/", "search"),
    ("q", "end"),
];
const SEARCH: Hints = &[("Up/Down", "name"), ("Enter", "open"), ("Esc", "back")];
const ANY: Hints = &[("any key", "back")];

/// Draws the footer.
pub(crate) fn draw(pen: &mut Pen<'_>, area: Rect, state: &State) {
    if let Some((text, _)) = &state.message {
        pen.text(area.x + 1, area.y, area, text, Look::Strong);
        return;
    }
    let hints = match &state.overlay {
        Some(Overlay::Help) => ANY,
        Some(Overlay::Search(_)) => SEARCH,
        Some(Overlay::Columns(_) | Overlay::Detail(_) | Overlay::Text(_)) => &[],
        None if state.page == Page::Watch => WATCH,
        None if state.page == Page::Term => TERM,
        None if state.page == Page::Exposure => EXPOSURE,
        None => PAGE,
    };
    let mut x = area.x + 1;
    for (key, says) in hints {
        let width = u16::try_from(key.len() + says.len() + 3).unwrap_or(u16::MAX);
        // a hint is shown whole or not at all
        if x + width > area.right() + 2 {
            break;
        }
        let mut line = pen.line(area.y, Rect { x, width: area.right() - x, ..area });
        line.put(key, Look::Key).put(" ", Look::Plain).put(says, Look::Faint);
        x += width;
    }
}
