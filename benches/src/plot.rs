//! Plots for docs/plots: small SVGs, logarithmic on both axes.

use plotters::coord::Shift;
use plotters::prelude::*;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

/// Result of drawing.
pub type Outcome = Result<(), Box<dyn Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Size of one panel, and of its text.
const PANEL: (u32, u32) = (460, 360);
const TITLE: u32 = 15;
const TEXT: u32 = 12;
const RADIUS: i32 = 2;
const RADIUS_LABELLED: i32 = 3;
/// Blue, orange, green, purple: apart for the colour-blind too.
const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 90, 181), RGBColor(220, 90, 20), RGBColor(20, 130, 80), RGBColor(130, 60, 150)];

/// One panel: a title, what the axes are, and what is in it.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Above the panel.
    pub title: String,
    /// Below it.
    pub x: String,
    /// Beside it.
    pub y: String,
    /// Names and points, each series in a colour of its own.
    pub series: Vec<Series>,
}

/// Points of one colour.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// In the legend; none if empty.
    pub name: String,
    /// x, y.
    pub points: Vec<(f64, f64)>,
    /// Beside each point, if there are any.
    pub labels: Vec<String>,
    /// True if a line joins the points.
    pub joined: bool,
    /// True if the points are rings.
    pub hollow: bool,
}

/// Draws panels side by side into one file.
///
/// # Errors
/// The file cannot be written, or a panel has nothing to show.
pub fn draw(path: &Path, panels: &[Panel]) -> Outcome {
    let size = (PANEL.0 * panels.len() as u32, PANEL.1);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        for (area, panel) in root.split_evenly((1, panels.len())).iter().zip(panels) {
            draw_panel(area, panel)?;
        }
        root.present()?;
    }
    // the same by default
    for default in [" opacity=\"1\"", " stroke=\"none\" stroke-width=\"1\"", " stroke-width=\"1\""] {
        svg = svg.replace(default, "");
    }
    std::fs::write(path, svg)?;
    Ok(())
}

/// The decades around some values.
fn decades(values: impl Iterator<Item = f64>) -> Option<std::ops::Range<f64>> {
    let (lo, hi) = values.filter(|v| *v > 0.0).fold((f64::INFINITY, 0.0f64), |(lo, hi), v| (lo.min(v), hi.max(v)));
    let (lo, hi) = ((lo * 0.6).log10().floor(), (hi * 1.25).log10().ceil());
    (lo < hi && hi.is_finite()).then(|| 10f64.powf(lo)..10f64.powf(hi))
}

/// A power of ten, as a plain number near 1.
fn number(v: &f64) -> String {
    let decade = v.log10().round() as i32;
    match decade {
        0..=3 => format!("{v:.0}"),
        -2..0 => format!("{v:.*}", decade.unsigned_abs() as usize),
        _ => format!("1e{decade}"),
    }
}

fn draw_panel(area: &Area<'_>, panel: &Panel) -> Outcome {
    let points = || panel.series.iter().flat_map(|s| &s.points);
    let x = decades(points().map(|p| p.0)).ok_or("nothing to draw")?;
    let y = decades(points().map(|p| p.1)).ok_or("nothing to draw")?;
    let labelled = panel.series.iter().any(|s| !s.labels.is_empty());
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", TITLE))
        .margin(8)
        .margin_right(if labelled { 60 } else { 12 })
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(x.log_scale(), y.log_scale())?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc(&panel.x)
        .y_desc(&panel.y)
        .x_label_formatter(&number)
        .y_label_formatter(&number)
        .label_style(("sans-serif", TEXT))
        .draw()?;
    for (i, (series, colour)) in panel.series.iter().zip(COLOURS.iter().cycle()).enumerate() {
        draw_series(&mut chart, series, *colour)?;
        let text = ("sans-serif", TEXT).into_font().color(colour);
        // below the point where it would cover its neighbour's, and in every third series
        let close = |j: usize| j > 0 && (series.points[j].0 / series.points[j - 1].0).ln().abs() < 0.7;
        let beside = |j: usize| if i % 3 == 2 || close(j) { (5, 5) } else { (5, -14) };
        let labelled = series.points.iter().zip(&series.labels).enumerate();
        let label = |(j, (&at, label)): (usize, (&(f64, f64), &String))| {
            EmptyElement::at(at) + Text::new(label.clone(), beside(j), &text)
        };
        chart.draw_series(labelled.map(label))?;
    }
    if panel.series.iter().any(|s| !s.name.is_empty()) {
        let rising = panel.series.iter().any(|s| s.joined);
        let place = match (rising, labelled) {
            (true, _) => SeriesLabelPosition::UpperLeft,
            (false, true) => SeriesLabelPosition::LowerRight,
            (false, false) => SeriesLabelPosition::UpperRight,
        };
        chart
            .configure_series_labels()
            .position(place)
            .background_style(WHITE.mix(0.8))
            .label_font(("sans-serif", TEXT))
            .draw()?;
    }
    Ok(())
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<LogCoord<f64>, LogCoord<f64>>>;

fn draw_series(chart: &mut Chart<'_, '_>, series: &Series, colour: RGBColor) -> Outcome {
    if series.joined {
        chart.draw_series(LineSeries::new(series.points.iter().copied(), colour))?;
    }
    let radius = if series.labels.is_empty() { RADIUS } else { RADIUS_LABELLED };
    let style = if series.hollow { colour.stroke_width(1) } else { colour.filled() };
    let dots = chart.draw_series(series.points.iter().map(|&at| Circle::new(at, radius, style)))?;
    if !series.name.is_empty() {
        dots.label(&series.name).legend(move |(x, y)| Circle::new((x + 10, y), radius, style));
    }
    Ok(())
}

/// Draws the time of a pass against the size of the universe. The CSV has the columns `contracts`, `seconds` and
/// `series` (whose lines are drawn apart: cold or steady, one or two threads).
///
/// # Errors
/// The CSV cannot be read or has other columns; as [`draw`].
pub fn pass_time(csv: &Path, svg: &Path) -> Outcome {
    let mut lines: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for row in csv::Reader::from_path(csv)?.deserialize() {
        let row: BTreeMap<String, String> = row?;
        let cell = |name: &str| row.get(name).ok_or_else(|| format!("{}: no column {name}", csv.display()));
        lines
            .entry(cell("series")?.clone())
            .or_default()
            .push((cell("contracts")?.parse()?, cell("seconds")?.parse()?));
    }
    let line = |(name, mut points): (String, Vec<(f64, f64)>)| {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series { name, points, joined: true, ..Series::default() }
    };
    let series = lines.into_iter().map(line).collect();
    let title = "One pass over the universe".to_owned();
    draw(svg, &[Panel { title, x: "contracts".to_owned(), y: "seconds".to_owned(), series }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_drawn_small() {
        let folder = std::env::temp_dir();
        let id = std::process::id();
        let (csv, svg) = (folder.join(format!("pass{id}.csv")), folder.join(format!("pass{id}.svg")));
        std::fs::write(&csv, "contracts,seconds,series\n160000,0.1,steady\n1600000,0.9,steady\n1600000,20,cold\n")
            .expect("a folder for temporary files");
        pass_time(&csv, &svg).expect("a plot");
        let drawn = std::fs::read_to_string(&svg).expect("the plot");
        assert!(drawn.starts_with("<svg") && drawn.contains("steady") && drawn.len() < 20_000, "{}", drawn.len());
        assert!(pass_time(Path::new("nowhere.csv"), &svg).is_err());
        std::fs::remove_file(csv).and_then(|()| std::fs::remove_file(svg)).expect("both files");
    }
}
