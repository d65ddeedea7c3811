//! Draws the chain: calls and puts on either side of the strike, contracts in the money shaded, spot and forward and
//! changes marked.

use super::expiries::weekday;
use super::pen::Pen;
use super::title::nothing;
use crate::column::{COLUMN_WIDTH, Column};
use crate::lines::ChainLine;
use crate::model::{Side, StrikeRow};
use crate::number::{MISSING, shown, strike};
use crate::palette::Look;
use crate::state::State;
use kernel::columns::Shape;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

/// Width of the strike with a gap on either side.
const STRIKE_WIDTH: u16 = 13;

/// Positions of the columns of the chain.
struct Grid<'c> {
    area: Rect,
    /// Left end of the calls, and of the strike.
    calls: u16,
    strike: u16,
    /// Shown columns, nearest to the strike first.
    columns: &'c [Column],
}

impl Grid<'_> {
    /// Left end of the column with this index, on the side of the calls or of the puts.
    fn x(&self, place: usize, is_call: bool) -> u16 {
        let from_strike = u16::try_from(place).unwrap_or(u16::MAX) * COLUMN_WIDTH;
        if is_call { self.strike - from_strike - COLUMN_WIDTH } else { self.strike + STRIKE_WIDTH + from_strike }
    }

    /// Right end of the puts.
    fn end(&self) -> u16 {
        self.strike + STRIKE_WIDTH + (self.strike - self.calls)
    }
}

/// Number of columns that fit on each side.
pub(crate) fn room(width: u16) -> usize {
    usize::from(width.saturating_sub(STRIKE_WIDTH) / 2 / COLUMN_WIDTH)
}

/// Draws the chain.
pub(crate) fn draw(pen: &mut Pen<'_>, area: Rect, state: &State) {
    let columns = state.columns();
    let shift = state.shift.min(columns.len().saturating_sub(1));
    let shown = &columns[shift..(shift + room(area.width)).min(columns.len())];
    let side = u16::try_from(shown.len()).unwrap_or(0) * COLUMN_WIDTH;
    let calls = area.x + area.width.saturating_sub(2 * side + STRIKE_WIDTH) / 2;
    let grid = Grid { area, calls, strike: calls + side, columns: shown };
    heading(pen, &grid, state, shift, columns.len() - shift - shown.len());
    let (lines, chosen) = state.lines();
    if lines.is_empty() {
        let text = nothing(state);
        for (y, line) in (area.y + 2 + area.height / 4..area.bottom()).zip(&text) {
            pen.middle(y, area, line, Look::Plain);
        }
        return;
    }
    for (y, (place, line)) in (area.y + 2..area.bottom()).zip(lines.iter().enumerate().skip(state.top)) {
        match *line {
            ChainLine::Mark { spot, other } => mark(pen, &grid, y, state, spot, other),
            ChainLine::Row(row) => {
                if let Some(row) = state.rows().and_then(|chain| chain.rows.get(row)) {
                    draw_row(pen, &grid, y, row, chosen == Some(place), state);
                }
            }
        }
    }
}

fn heading(pen: &mut Pen<'_>, grid: &Grid<'_>, state: &State, nearer: usize, further: usize) {
    let area = grid.area;
    pen.rule(area.y, area, "", Look::Faint);
    let group = state.group.map_or_else(String::new, |group| format!("{}, ", group.name()));
    let hidden = match (nearer, further) {
        (0, 0) => String::new(),
        _ => format!("{} of {} columns, ", grid.columns.len(), state.columns().len()),
    };
    let more = format!("{group}{hidden}");
    let more = more.strip_suffix(", ").map_or_else(String::new, |more| format!("({more}) "));
    let calls = format!("Calls {more}");
    pen.text(area.x, area.y, area, &calls, Look::Heading);
    if let Some(expiry) = state.expiry() {
        let title = format!(" {} {} {} ", expiry.key.root, weekday(&expiry.key), expiry.key.expiry);
        pen.middle(area.y, area, &title, Look::Strong);
    }
    pen.right(area.x, area.y, area.width, area, " Puts", Look::Heading);
    for (place, column) in grid.columns.iter().enumerate() {
        for is_call in [true, false] {
            pen.right(grid.x(place, is_call), area.y + 1, COLUMN_WIDTH, area, column.facts().title, Look::Faint);
        }
    }
    let heading = Rect { x: grid.strike, width: STRIKE_WIDTH, ..area };
    pen.middle(area.y + 1, heading, "Strike", Look::Faint);
}

/// Draws the mark of the spot, the forward, or both.
fn mark(pen: &mut Pen<'_>, grid: &Grid<'_>, y: u16, state: &State, spot: bool, fwd: bool) {
    let within = Rect { x: grid.calls, width: grid.end() - grid.calls, ..grid.area };
    let look = if spot { Look::Spot } else { Look::Forward };
    let line = pen.palette.signs.rule.to_string().repeat(within.width.into());
    pen.text(within.x, y, within, &line, look);
    let price = |value: f64| shown(value, Shape::Decimals(2), 10);
    let fwd_price = state.expiry().map_or(f64::NAN, |row| row.fwd);
    // the spot stands left of the strike, the forward right of it
    if spot {
        let text = format!(" spot {} ", price(state.spot()));
        let width = u16::try_from(text.len()).unwrap_or(0);
        pen.text(grid.strike.saturating_sub(width).max(within.x), y, within, &text, Look::Spot);
    }
    if fwd {
        let text = format!(" forward {} ", price(fwd_price));
        pen.text(grid.strike + STRIKE_WIDTH, y, within, &text, Look::Forward);
    }
}

fn draw_row(pen: &mut Pen<'_>, grid: &Grid<'_>, y: u16, row: &StrikeRow, is_on: bool, state: &State) {
    let spot = state.spot();
    for (side, is_call) in [(&row.call, true), (&row.put, false)] {
        let is_inside = if is_call { row.strike < spot } else { row.strike > spot };
        for (place, column) in grid.columns.iter().enumerate() {
            let at = Rect { x: grid.x(place, is_call), y, width: COLUMN_WIDTH, height: 1 };
            draw_cell(pen, at, side.as_ref(), *column, is_inside, state.flashes());
        }
    }
    let text = strike(row.strike);
    let look = if is_on { Look::Chosen } else { Look::Strong };
    let cell = Rect { x: grid.strike + 1, y, width: STRIKE_WIDTH - 2, height: 1 };
    let pointer = if is_on { pen.palette.signs.pointer } else { ' ' };
    pen.text(cell.x, y, cell, &format!("{pointer}{text:>width$} ", width = usize::from(cell.width) - 2), look);
    if is_on {
        let whole = Rect { x: grid.calls, y, width: grid.end() - grid.calls, height: 1 };
        pen.buffer.set_style(whole, Modifier::BOLD);
    }
}

fn draw_cell(pen: &mut Pen<'_>, at: Rect, side: Option<&Side>, column: Column, is_inside: bool, flashes: bool) {
    let (text, moved) = match side {
        Some(side) => {
            let shape = column.facts().shape;
            (shown(side.get(column), shape, usize::from(COLUMN_WIDTH) - 1), side.moved[column.place()])
        }
        None => (String::new(), 0),
    };
    let base = if is_inside { pen.style(Look::Inside) } else { pen.style(Look::Plain) };
    let gap = if is_inside { pen.palette.inside_gap() } else { ' ' };
    let moved = pen.palette.moved(moved).filter(|_| flashes);
    let style = match moved {
        Some(look) => base.patch(pen.style(look)),
        None if text == MISSING => base.patch(pen.style(Look::Faint)),
        None => base,
    };
    let padded = format!("{gap}{text:>width$}", width = usize::from(COLUMN_WIDTH) - 1);
    pen.styled(at.x, at.y, at, &padded, style);
}
