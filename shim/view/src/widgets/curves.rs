//! Draws the two plots: volatilities by strike, and volatilities at the money by expiry.

use super::pen::Pen;
use super::plot::{self, Plot, Points, round_steps};
use crate::column::Column;
use crate::metrics::{TermClock, TermPoint};
use crate::model::{ExpiryRow, StrikeRow};
use crate::number::{shown, strike};
use crate::palette::Look;
use crate::state::State;
use kernel::columns::Shape;
use ratatui::layout::Rect;

/// Minimum absolute delta of a strike in the smile: further ones have no useful quotes.
const DELTA_LEAST: f64 = 0.005;
/// Margin above and below a curve, relative to its height.
const MARGIN: f64 = 0.08;
/// Labels of the term structure by variance time: variance days and text.
const VARIANCE_TERMS: [(f64, &str); 8] = [
    (1.0, "1"),
    (5.0, "5"),
    (21.0, "21"),
    (63.0, "63"),
    (126.0, "126"),
    (252.0, "252"),
    (504.0, "504"),
    (756.0, "756"),
];
/// Labels of the term structure: days and text.
const TERMS: [(f64, &str); 11] = [
    (1.0, "1d"),
    (7.0, "1w"),
    (30.0, "1m"),
    (61.0, "2m"),
    (91.0, "3m"),
    (182.0, "6m"),
    (274.0, "9m"),
    (365.0, "1y"),
    (730.0, "2y"),
    (1095.0, "3y"),
    (1826.0, "5y"),
];

/// Draws the smile of the selected slice.
pub(crate) fn smile(pen: &mut Pen<'_>, area: Rect, state: &State) {
    let name = |column| Column::named(column);
    let (Some(vol), Some(delta), Some(bid), Some(ask)) =
        (name("svc_vol"), name("delta"), name("bid_vol"), name("ask_vol"))
    else {
        return;
    };
    let fwd = state.expiry().map_or(f64::NAN, |row| row.fwd);
    let rows = state.rows().map_or(&[][..], |chain| &chain.rows);
    let of = |row: &StrikeRow, column: Column| row.outside(fwd).map_or(f64::NAN, |side| side.get(column));
    let quoted: Vec<&StrikeRow> = rows.iter().filter(|row| of(row, delta).abs() >= DELTA_LEAST).collect();
    let points = |column, look, is_line, sign| {
        let at = quoted.iter().map(|row| (row.strike, of(row, column))).collect();
        Points { at, look, is_line, sign }
    };
    let curve = points(vol, Look::Curve, true, '*');
    let x = range(curve.at.iter().map(|(x, _)| *x));
    let y = widened(range(curve.at.iter().map(|(_, y)| *y)));
    let ticks = round_steps(x.0, x.1, f64::from(area.width) / 14.0).into_iter().map(|at| (at, strike(at))).collect();
    let expiry = state.slice.as_ref().map_or("", |key| &key.expiry);
    let title = format!("Smile {expiry}: curve, bid and ask by strike");
    let marks = [(state.spot(), Look::Spot), (fwd, Look::Forward)];
    let marks = marks.into_iter().filter(|(at, _)| at.is_finite()).collect();
    let points = vec![points(ask, Look::Ask, false, 'a'), points(bid, Look::Bid, false, 'b'), curve];
    plot::draw(pen, area, &Plot { title, points, x, y, ticks, marks });
}

/// Draws the term structure of the name by its clock, with the event that expiries hold. The axis is the square root of
/// days, so that near expiries have room.
pub(crate) fn term(pen: &mut Pen<'_>, area: Rect, state: &State) {
    let at = |days: f64| days.max(0.0).sqrt();
    let of_rows = |of: fn(&ExpiryRow) -> f64, look, sign| {
        let at = state.expiries.iter().map(|row| (at(row.days), of(row))).collect();
        Points { at, look, is_line: true, sign }
    };
    let days = |point: &TermPoint| match state.clock {
        TermClock::Calendar => point.days,
        TermClock::Variance => point.days_vt,
    };
    let of_points = |of: fn(&TermPoint) -> f64, look, sign| {
        let at = state.term.iter().map(|point| (at(days(point)), of(point))).collect();
        Points { at, look, is_line: true, sign }
    };
    let first_held = state.term.iter().position(|point| point.event_move.is_finite());
    let mut curves = Vec::new();
    let mut title = match state.clock {
        TermClock::Calendar => "Term structure by calendar days: now".to_owned(),
        TermClock::Variance => "Term structure by variance days, without event".to_owned(),
    };
    if state.clock == TermClock::Calendar {
        let before = of_rows(|row| row.prev_vol, Look::Faint, '.');
        if before.at.iter().any(|(_, y)| y.is_finite()) {
            title += ", previous session";
        }
        curves.push(before);
        if first_held.is_some() {
            title += ", without event";
            curves.push(of_points(|point| point.ex_event_vol, Look::Bid, 'o'));
        }
        curves.push(of_rows(|row| row.atm_vol, Look::Curve, '*'));
    } else {
        curves.push(of_points(|point| point.vol_vt, Look::Curve, '*'));
    }
    let x = range(curves.iter().flat_map(|curve| &curve.at).filter(|(_, y)| y.is_finite()).map(|(x, _)| *x));
    let y = widened(range(curves.iter().flat_map(|curve| &curve.at).map(|(_, y)| *y)));
    let labels = if state.clock == TermClock::Calendar { &TERMS[..] } else { &VARIANCE_TERMS };
    let ticks = labels.iter().map(|(days, label)| (at(*days), (*label).to_owned())).collect();
    let chosen = state.expiry().and_then(|row| match state.clock {
        TermClock::Calendar => Some(row.days),
        TermClock::Variance => state.term_of(&row.key).map(days),
    });
    // the event lies between the last expiry without it and the first that holds it
    let event = first_held.map(|held| {
        let before = held.checked_sub(1).map_or(0.0, |before| at(days(&state.term[before])));
        (f64::midpoint(before, at(days(&state.term[held]))), Look::Notice)
    });
    let marks = event.into_iter().chain(chosen.map(|days| (at(days), Look::Forward)));
    let marks = marks.filter(|(at, _)| at.is_finite()).collect();
    let has_line = area.height >= 8;
    let plot_area = Rect { height: area.height - u16::from(has_line), ..area };
    plot::draw(pen, plot_area, &Plot { title, points: curves, x, y, ticks, marks });
    if has_line {
        let mut line = pen.line(area.bottom() - 1, area);
        for text in numbers_of_name(state) {
            let fits = usize::from(area.right().saturating_sub(line.x())) > text.chars().count();
            if fits {
                line.put(&format!(" {text} "), Look::Plain);
            }
        }
    }
}

/// Numbers of the name below its term structure, those that count most first: event, expected move, skew a month ahead.
fn numbers_of_name(state: &State) -> Vec<String> {
    let Some(row) = state.name.as_deref().and_then(|name| state.metrics_of(name)) else { return Vec::new() };
    let percent = |value: f64| shown(value, Shape::Percent(2), 6);
    let event = match row.event_state.as_str() {
        "found" | "dated" => {
            let (size, error) = (percent(row.event_move), percent(row.event_move_se));
            format!("event by {}: {size}% ±{error}", row.event_to.get(5..).unwrap_or_default())
        }
        "none" if row.event_move_max.is_finite() => format!("no event above {}%", percent(row.event_move_max)),
        "none" => "no event".to_owned(),
        _ => "event unknown".to_owned(),
    };
    let next = row.next_expiry.get(5..).unwrap_or_default();
    let month = format!("30d: {}%, skew {}%", percent(row.vol), percent(row.skew));
    let reach = format!("to {next}: move {}%, 1sd {}%", percent(row.expected_move), percent(row.move_sd));
    vec![event, reach, month]
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
}

/// Adds a margin above and below, even to a flat line.
fn widened(range: (f64, f64)) -> (f64, f64) {
    let (least, most) = range;
    let margin = (MARGIN * (most - least)).max(1e-3 * most.abs());
    ((least - margin).max(0.0), most + margin)
}
