//! Draws the boxes over the screen: keys, search, the choice of columns, all numbers of a strike, pages of text.

use super::pen::Pen;
use crate::column::{Column, N_COLUMNS};
use crate::keys::KEYS;
use crate::number::{count, shown, strike};
use crate::palette::Look;
use crate::state::{Detail, Overlay, Search, State, TextView};
use ratatui::layout::Rect;

/// Draws the box over the screen, if there is one.
pub(crate) fn draw(pen: &mut Pen<'_>, screen: Rect, state: &State) {
    // title and footer stay visible
    let within = Rect { y: screen.y + 2, height: screen.height.saturating_sub(3), ..screen };
    match &state.overlay {
        Some(Overlay::Help) => help(pen, within),
        Some(Overlay::Search(box_)) => search(pen, within, box_),
        Some(Overlay::Columns(at)) => columns(pen, within, state, *at),
        Some(Overlay::Detail(shown)) => detail(pen, within, state, shown),
        Some(Overlay::Text(view)) => text(pen, within, view),
        None => {}
    }
}

fn help(pen: &mut Pen<'_>, within: Rect) {
    let lines: usize = KEYS.iter().map(|(_, keys)| keys.len() + 1).sum();
    let height = u16::try_from(lines + 2).unwrap_or(u16::MAX);
    let inner = pen.frame(within, 72, height, "Keys");
    let mut y = inner.y;
    for (group, keys) in KEYS {
        pen.text(inner.x, y, inner, group, Look::Heading);
        y += 1;
        for (key, says) in *keys {
            pen.text(inner.x + 1, y, inner, key, Look::Key);
            pen.text(inner.x + 13, y, inner, says, Look::Plain);
            y += 1;
        }
    }
}

fn search(pen: &mut Pen<'_>, within: Rect, search: &Search) {
    let inner = pen.frame(within, 60, within.height.min(18), "Search");
    if inner.is_empty() {
        return;
    }
    let mut line = pen.line(inner.y, inner);
    line.put("Symbol: ", Look::Faint).put(&search.text, Look::Name).put("_", Look::Key);
    let y = inner.y + 1;
    let mut heading = pen.line(y, inner);
    heading.put("  Symbol      ", Look::Faint).cell(10, "Expiries", Look::Faint).cell(12, "Contracts", Look::Faint);
    heading.put("   State", Look::Faint);
    let is_of_text = search.found_for.as_ref() == Some(&search.text);
    if search.found.is_empty() && is_of_text {
        pen.text(inner.x + 2, y + 1, inner, "no symbol begins with this", Look::Plain);
    }
    let lines = usize::from(inner.height.saturating_sub(2));
    let top = search.at.saturating_sub(lines / 2).min(search.found.len().saturating_sub(lines));
    for (y, (place, name)) in (y + 1..inner.bottom()).zip(search.found.iter().enumerate().skip(top)) {
        let look = match (place == search.at, is_of_text) {
            (_, false) => Look::Faint,
            (true, true) => Look::Chosen,
            (false, true) => Look::Plain,
        };
        let pointer = if place == search.at { pen.palette.signs.pointer } else { ' ' };
        let mut line = pen.line(y, inner);
        line.put(&format!("{pointer} {:<12}", name.symbol), look).cell(10, &count(name.expiries), look);
        let state = if name.is_preliminary { format!("{}, preliminary", name.state) } else { name.state.clone() };
        line.cell(12, &count(name.contracts), look).put(&format!("   {state:<17}"), look);
    }
}

fn text(pen: &mut Pen<'_>, within: Rect, view: &TextView) {
    let inner = pen.frame(within, within.width, within.height, &view.page.title());
    if inner.is_empty() {
        return;
    }
    match &view.lines {
        None => pen.middle(inner.y + inner.height / 2, inner, "loading", Look::Faint),
        Some(lines) => {
            for (y, line) in (inner.y..inner.bottom() - 1).zip(lines.iter().skip(view.top)) {
                pen.text(inner.x, y, inner, line, Look::Plain);
            }
        }
    }
    let mut line = pen.line(inner.bottom() - 1, inner);
    for (key, says) in [("Up Down", "scroll"), ("PgUp PgDn", "by ten lines"), ("Esc", "close")] {
        line.put(key, Look::Key).put(&format!(" {says}  "), Look::Faint);
    }
}

fn columns(pen: &mut Pen<'_>, within: Rect, state: &State, at: usize) {
    let list = state.column_list();
    let height = u16::try_from(list.len() + 3).unwrap_or(u16::MAX);
    let inner = pen.frame(within, 66, height, "Columns, nearest to the strike first");
    if inner.is_empty() {
        return;
    }
    let lines = usize::from(inner.height - 1);
    let top = at.saturating_sub(lines / 2).min(list.len().saturating_sub(lines));
    for (y, (place, column)) in (inner.y..inner.bottom() - 1).zip(list.iter().enumerate().skip(top)) {
        let facts = column.facts();
        let look = if place == at { Look::Chosen } else { Look::Plain };
        let sign = if state.own_columns.contains(column) { 'x' } else { ' ' };
        let text = format!("[{sign}] {:<8} {:<7} {:<44}", facts.title, facts.group.name(), facts.help);
        pen.text(inner.x, y, inner, &text, look);
    }
    let mut line = pen.line(inner.bottom() - 1, inner);
    for (key, says) in [("Space", "show, hide"), ("K J", "nearer, further"), ("r", "reset"), ("Esc", "done")] {
        line.put(key, Look::Key).put(&format!(" {says}  "), Look::Faint);
    }
}

fn detail(pen: &mut Pen<'_>, within: Rect, state: &State, detail: &Detail) {
    let row = state.row().map_or(f64::NAN, |row| row.strike);
    let expiry = state.expiry().map_or("", |row| &row.key.expiry);
    let title = format!("{} {} {}", state.name.as_deref().unwrap_or_default(), expiry, strike(row));
    // without room for a line each, the second half stands beside the first
    let needed = u16::try_from(N_COLUMNS + 4).unwrap_or(u16::MAX);
    let is_whole = within.height >= needed;
    let (width, height) =
        if is_whole { (78, needed) } else { (66, u16::try_from(N_COLUMNS.div_ceil(2) + 5).unwrap_or(u16::MAX)) };
    let inner = pen.frame(within, width, height, &title);
    if inner.is_empty() {
        return;
    }
    let blocks = if is_whole { 1 } else { 2 };
    let per_block = N_COLUMNS.div_ceil(blocks);
    for block in 0..blocks {
        let x = inner.x + u16::try_from(block).unwrap_or(0) * 32;
        let area = Rect { x, width: inner.right().saturating_sub(x), ..inner };
        let mut line = pen.line(inner.y, area);
        line.cell(8, "", Look::Faint).cell(11, "Call", Look::Heading).cell(11, "Put", Look::Heading);
        for (y, column) in (inner.y + 1..inner.bottom()).zip(Column::all().skip(block * per_block).take(per_block)) {
            draw_numbers(pen, area, y, column, detail, is_whole);
        }
    }
    let last = inner.bottom() - 1;
    let mut line = pen.line(last, inner);
    for (key, says) in [("Up Down", "strike"), ("Left Right", "expiry"), ("y", "copy"), ("Esc", "close")] {
        line.put(key, Look::Key).put(&format!(" {says}  "), Look::Faint);
    }
}

fn draw_numbers(pen: &mut Pen<'_>, area: Rect, y: u16, column: Column, detail: &Detail, is_whole: bool) {
    let facts = column.facts();
    let mut line = pen.line(y, area);
    line.put(&format!("{:<8}", facts.title), Look::Faint);
    for values in &detail.values {
        let value = values.as_ref().map_or(f64::NAN, |values| values[column.place()]);
        line.cell(11, &shown(value, facts.shape, 10), Look::Plain);
    }
    if is_whole {
        line.gap(2).put(facts.help, Look::Faint);
    }
}
