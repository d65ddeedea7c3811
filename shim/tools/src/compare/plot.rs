//! A comparison as a picture: the vendor's deltas less ours against the distance from the money, a panel a name, the
//! points coloured by the likely reason of their expiry. Never: a library.

use super::report::{NameReport, Point, Report};
use std::fmt::Write;

/// Maximum number of panels, one for each name.
const PANELS_MOST: usize = 24;
/// Size and margins of a panel, pixels.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 40.0;
const RIGHT: f64 = 180.0;
const BOTTOM: f64 = 40.0;
/// Half the width of the horizontal axis, standard deviations.
const REACH: f64 = 4.0;
/// Fraction of the points that the vertical axis covers.
const SHOWN: f64 = 0.98;
/// Minimum half height of the vertical axis, a difference of deltas.
const RANGE_LEAST: f64 = 1e-4;
/// Colours of the reasons, the most frequent reason first.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000"];

/// The plot as SVG.
pub(super) fn svg(report: &Report) -> String {
    let panels = report.names.len().min(PANELS_MOST);
    let mut out = String::new();
    // writing to a string does not fail
    let _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{:.0}" font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#ffffff"/>"##,
        HEIGHT * panels.max(1) as f64
    );
    for (i, name) in report.names.iter().take(panels).enumerate() {
        let _ = panel(name, &report.layout, HEIGHT * i as f64, &mut out);
    }
    out.push_str("</svg>\n");
    out
}

/// Draws the panel of a name, `down` pixels from the top.
fn panel(of: &NameReport, layout: &str, down: f64, out: &mut String) -> std::fmt::Result {
    let (inner_width, inner_height) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let range = range(&of.points);
    let x = |at: f64| LEFT + inner_width * (at + REACH) / (2.0 * REACH);
    let y = |at: f64| down + TOP + inner_height * 0.5 * (1.0 - at / range);
    writeln!(
        out,
        r##"<text x="{LEFT}" y="{:.1}" font-size="14">{}: delta of {} minus ours</text>"##,
        down + TOP - 14.0,
        escaped(&of.underlying),
        escaped(layout)
    )?;
    writeln!(
        out,
        r##"<rect x="{LEFT}" y="{:.1}" width="{inner_width:.1}" height="{inner_height:.1}" fill="none" stroke="#999999"/>"##,
        down + TOP
    )?;
    for at in [-1.0, 0.0, 1.0] {
        let level = y(at * range);
        writeln!(
            out,
            r##"<line x1="{LEFT}" x2="{:.1}" y1="{level:.1}" y2="{level:.1}" stroke="#dddddd"/><text x="{:.1}" y="{:.1}" text-anchor="end">{:.4}</text>"##,
            LEFT + inner_width,
            LEFT - 6.0,
            level + 4.0,
            at * range
        )?;
    }
    for at in [-4.0, -2.0, 0.0, 2.0, 4.0] {
        writeln!(
            out,
            r##"<text x="{:.1}" y="{:.1}" text-anchor="middle">{at}</text>"##,
            x(at),
            down + HEIGHT - BOTTOM + 16.0
        )?;
    }
    writeln!(
        out,
        r##"<text x="{:.1}" y="{:.1}" text-anchor="middle">strike relative to the forward, standard deviations</text>"##,
        LEFT + 0.5 * inner_width,
        down + HEIGHT - BOTTOM + 32.0
    )?;
    let colour = |expiry: usize| {
        let first = of.expiries[expiry].reasons.first().map_or("unknown", |reason| reason.reason);
        let place = of.reasons.iter().position(|(reason, _)| reason == first).unwrap_or(COLOURS.len() - 1);
        COLOURS[place.min(COLOURS.len() - 1)]
    };
    for point in of.points.iter().filter(|point| point.x.abs() <= REACH) {
        writeln!(
            out,
            r##"<circle cx="{:.1}" cy="{:.1}" r="2" fill="{}" fill-opacity="0.5"/>"##,
            x(point.x),
            y(point.y.clamp(-range, range)),
            colour(point.expiry)
        )?;
    }
    for (i, (reason, n)) in of.reasons.iter().take(COLOURS.len()).enumerate() {
        let (left, level) = (LEFT + inner_width + 14.0, down + TOP + 12.0 + 18.0 * i as f64);
        writeln!(
            out,
            r##"<circle cx="{left:.1}" cy="{:.1}" r="4" fill="{}"/><text x="{:.1}" y="{level:.1}">{} ({n})</text>"##,
            level - 4.0,
            COLOURS[i],
            left + 10.0,
            escaped(reason)
        )?;
    }
    Ok(())
}

/// Half the height of the vertical axis, a difference of deltas.
fn range(points: &[Point]) -> f64 {
    let mut sizes: Vec<f64> = points.iter().map(|point| point.y.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let at = (sizes.len() as f64 * SHOWN) as usize;
    sizes.get(at.min(sizes.len().saturating_sub(1))).copied().unwrap_or(RANGE_LEAST).max(RANGE_LEAST)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
