//! Draws the watch list: price and its change, volatility, its rank and skew of a month, expected move to the next
//! expiry.

use super::pen::Pen;
use crate::metrics::NameMetrics;
use crate::model::WatchRow;
use crate::number::shown;
use crate::palette::Look;
use crate::state::{State, WATCH_MOST};
use kernel::columns::Shape;
use ratatui::layout::Rect;

const HEADINGS: [(&str, u16); 8] =
    [("Price", 8), ("Day%", 6), ("ATM%", 6), ("Chg%", 6), ("Rank%", 6), ("Skew%", 6), ("Move%", 6), ("to", 6)];

/// Draws the watch list; `is_page`: it is the main page, with a cursor.
pub(crate) fn draw(pen: &mut Pen<'_>, area: Rect, state: &State, is_page: bool) {
    if area.is_empty() {
        return;
    }
    pen.rule(area.y, area, "", Look::Faint);
    pen.text(area.x, area.y, area, &format!("Watch {} of {WATCH_MOST} ", state.watch.len()), Look::Heading);
    if state.watch.is_empty() {
        let name = state.name.as_deref().unwrap_or("this name");
        pen.text(area.x + 2, area.y + 1, area, &format!("w puts {name} here"), Look::Plain);
        return;
    }
    let mut heading = pen.line(area.y + 1, area);
    heading.put("  Symbol  ", Look::Faint);
    for (title, width) in HEADINGS {
        heading.cell(width, title, Look::Faint);
    }
    let lines = usize::from(area.height.saturating_sub(2));
    let top = state.watch_at.saturating_sub(lines / 2).min(state.watch.len().saturating_sub(lines));
    for (y, (place, symbol)) in (area.y + 2..area.bottom()).zip(state.watch.iter().enumerate().skip(top)) {
        let row = state.watch_rows.iter().find(|row| row.symbol == *symbol);
        let metrics = state.metrics_of(symbol);
        let is_on = if is_page { place == state.watch_at } else { state.name.as_ref() == Some(symbol) };
        draw_row(pen, Rect { y, height: 1, ..area }, symbol, row, metrics, is_on, state.flashes());
    }
}

fn draw_row(
    pen: &mut Pen<'_>,
    area: Rect,
    symbol: &str,
    row: Option<&WatchRow>,
    metrics: Option<&NameMetrics>,
    is_on: bool,
    flashes: bool,
) {
    let look = if is_on { Look::Chosen } else { Look::Plain };
    let pointer = if is_on { pen.palette.signs.pointer } else { ' ' };
    let moved = row.and_then(|row| pen.palette.moved(row.moved)).filter(|_| flashes && !is_on);
    let value = |of: fn(&WatchRow) -> f64| row.map_or(f64::NAN, of);
    let mut line = pen.line(area.y, area);
    line.put(&format!("{pointer} {symbol:<8}"), look);
    let cells = [
        (value(|row| row.spot), Shape::Decimals(2)),
        (metrics.map_or(f64::NAN, |row| row.day_change), Shape::Percent(2)),
        (value(|row| row.vol), Shape::Percent(2)),
        (value(|row| row.vol - row.prev_vol), Shape::Percent(2)),
        (metrics.map_or(f64::NAN, |row| row.rank), Shape::Percent(0)),
        (metrics.map_or(f64::NAN, |row| row.skew), Shape::Percent(2)),
        (metrics.map_or(f64::NAN, |row| row.expected_move), Shape::Percent(2)),
    ];
    for (place, ((number, shape), (_, width))) in cells.into_iter().zip(HEADINGS).enumerate() {
        let look = moved.filter(|_| place == 0).unwrap_or(look);
        line.cell(width, &shown(number, shape, usize::from(width) - 1), look);
    }
    line.cell(6, metrics.and_then(|row| row.next_expiry.get(5..)).unwrap_or_default(), look);
}
