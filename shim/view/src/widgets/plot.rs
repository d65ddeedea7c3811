//! Draws curves: with Braille characters, of eight dots each, or without Unicode with one sign for a point.

use super::pen::Pen;
use crate::palette::Look;
use ratatui::layout::Rect;

/// Width of the labels of the vertical axis.
const LABELS: u16 = 7;

/// A set of points.
pub(crate) struct Points {
    /// Points, ascending by x.
    pub(crate) at: Vec<(f64, f64)>,
    /// Style of the points.
    pub(crate) look: Look,
    /// True if a line connects them.
    pub(crate) is_line: bool,
    /// Sign of a point without Unicode.
    pub(crate) sign: char,
}

/// A plot.
pub(crate) struct Plot {
    /// Title of the plot.
    pub(crate) title: String,
    /// Sets of points; later ones cover earlier ones.
    pub(crate) points: Vec<Points>,
    /// Range of the horizontal axis.
    pub(crate) x: (f64, f64),
    /// Range of the vertical axis, as fractions; its labels are percent.
    pub(crate) y: (f64, f64),
    /// Positions and labels of the horizontal axis.
    pub(crate) ticks: Vec<(f64, String)>,
    /// Positions and styles of vertical lines.
    pub(crate) marks: Vec<(f64, Look)>,
}

/// A raster of dots, several to a character.
struct Raster {
    area: Rect,
    dots: (u16, u16),
    cells: Vec<(u8, Option<(Look, char)>)>,
}

impl Raster {
    fn new(area: Rect, has_braille: bool) -> Self {
        let cells = vec![(0, None); usize::from(area.width) * usize::from(area.height)];
        Self { area, dots: if has_braille { (2, 4) } else { (1, 1) }, cells }
    }

    /// Number of dots across and down.
    fn size(&self) -> (f64, f64) {
        (f64::from(self.area.width * self.dots.0), f64::from(self.area.height * self.dots.1))
    }

    fn set(&mut self, x: f64, y: f64, look: Look, sign: char) {
        let (width, height) = self.size();
        if !(0.0..width).contains(&x) || !(0.0..height).contains(&y) {
            return;
        }
        let (x, y) = (x as u16, y as u16);
        let (across, down) = self.dots;
        let place = usize::from(y / down) * usize::from(self.area.width) + usize::from(x / across);
        if let Some(cell) = self.cells.get_mut(place) {
            cell.0 |= DOTS[usize::from(y % down)][usize::from(x % across)];
            cell.1 = Some((look, sign));
        }
    }

    fn draw(&self, pen: &mut Pen<'_>) {
        let has_braille = self.dots.0 > 1;
        for (place, (dots, look)) in self.cells.iter().enumerate() {
            let Some((look, sign)) = *look else { continue };
            let place = u16::try_from(place).unwrap_or(u16::MAX);
            let (x, y) = (self.area.x + place % self.area.width, self.area.y + place / self.area.width);
            let sign = if has_braille { char::from_u32(0x2800 + u32::from(*dots)).unwrap_or(sign) } else { sign };
            pen.text(x, y, self.area, &sign.to_string(), look);
        }
    }
}

/// Bits of the dots of a Braille character, by row and column.
const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Draws a plot; without a range only its title.
pub(crate) fn draw(pen: &mut Pen<'_>, area: Rect, plot: &Plot) {
    pen.rule(area.y, area, &plot.title, Look::Heading);
    let has_range = |(least, most): (f64, f64)| least.is_finite() && most.is_finite() && least < most;
    if area.height < 5 || area.width < LABELS + 8 || !has_range(plot.x) || !has_range(plot.y) {
        return;
    }
    let inner = Rect { x: area.x + LABELS, y: area.y + 1, width: area.width - LABELS - 1, height: area.height - 2 };
    let place_x = |x: f64| (x - plot.x.0) / (plot.x.1 - plot.x.0);
    for &(x, look) in &plot.marks {
        let column = inner.x + (place_x(x) * f64::from(inner.width)).clamp(0.0, f64::from(inner.width - 1)) as u16;
        let wall = pen.palette.signs.wall.to_string();
        for y in inner.top()..inner.bottom() {
            pen.text(column, y, inner, &wall, look);
        }
    }
    let mut raster = Raster::new(inner, pen.palette.signs.has_braille);
    let (width, height) = raster.size();
    let dot = |(x, y): (f64, f64)| {
        let up = (y - plot.y.0) / (plot.y.1 - plot.y.0);
        (place_x(x) * (width - 1.0), (1.0 - up) * (height - 1.0))
    };
    for points in &plot.points {
        let dots: Vec<(f64, f64)> =
            points.at.iter().filter(|(x, y)| x.is_finite() && y.is_finite()).map(|at| dot(*at)).collect();
        for at in &dots {
            raster.set(at.0.round(), at.1.round(), points.look, points.sign);
        }
        for pair in dots.windows(2).filter(|_| points.is_line) {
            line(&mut raster, pair[0], pair[1], points.look, points.sign);
        }
    }
    raster.draw(pen);
    labels(pen, area, inner, plot);
}

/// Draws a line of dots; one that leaves the raster has at most as many steps as the raster has dots across and down.
fn line(raster: &mut Raster, from: (f64, f64), to: (f64, f64), look: Look, sign: char) {
    let (width, height) = raster.size();
    let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().min(width + height);
    for step in 1..steps as u32 {
        let share = f64::from(step) / steps;
        let at = |a: f64, b: f64| (a + share * (b - a)).round();
        raster.set(at(from.0, to.0), at(from.1, to.1), look, sign);
    }
}

fn labels(pen: &mut Pen<'_>, area: Rect, inner: Rect, plot: &Plot) {
    let lines = (inner.height / 4).clamp(2, 8);
    for i in 0..=lines {
        let share = f64::from(i) / f64::from(lines);
        let y = inner.y + (share * f64::from(inner.height - 1)).round() as u16;
        let value = plot.y.1 - share * (plot.y.1 - plot.y.0);
        pen.right(area.x, y, LABELS - 1, area, &format!("{:.1}%", 100.0 * value), Look::Faint);
    }
    let y = area.bottom() - 1;
    let mut free = area.x;
    for (x, label) in &plot.ticks {
        let share = (x - plot.x.0) / (plot.x.1 - plot.x.0);
        if !(0.0..=1.0).contains(&share) {
            continue;
        }
        let length = u16::try_from(label.len()).unwrap_or(u16::MAX);
        let middle = inner.x + (share * f64::from(inner.width - 1)).round() as u16;
        let start = middle.saturating_sub(length / 2).min(area.right().saturating_sub(length));
        if start >= free {
            free = pen.text(start, y, area, label, Look::Faint) + 2;
        }
    }
}

/// Round numbers within a range, about `about` of them.
pub(crate) fn round_steps(least: f64, most: f64, about: f64) -> Vec<f64> {
    let raw = (most - least) / about;
    if !(raw > 0.0 && raw.is_finite()) {
        return Vec::new();
    }
    let base = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|n| n * base).find(|step| *step >= raw).unwrap_or(raw);
    let first = (least / step).ceil();
    let last = (most / step).floor().min(first + 100.0);
    (0..=(last - first).max(-1.0) as i64).map(|i| (first + i as f64) * step).filter(|x| *x <= most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_within() {
        assert_eq!(round_steps(660.0, 780.0, 6.0), [660.0, 680.0, 700.0, 720.0, 740.0, 760.0, 780.0]);
        assert_eq!(round_steps(0.9, 3.1, 4.0), [1.0, 2.0, 3.0]);
        for range in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert_eq!(round_steps(range.0, range.1, 5.0), [0.0; 0], "{range:?}");
        }
    }
}
