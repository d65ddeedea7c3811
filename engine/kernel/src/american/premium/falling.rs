//! How the exercise boundary of a put falls to 0 where its window closes before an ex-date.
//!
//! In the last days of a window waiting is worth the dividend in all likelihood, and exercise the interest until the
//! date. With b = 0 the boundary is where the chance of ending above the later boundary is worth as much as that
//! interest: a level that falls in proportion to η. With b > 0 it also lies below the line in X on which the interest
//! is worth the borrow that waiting saves, and turns from the one to the other within a few hundredths of ln X. A
//! polynomial cannot follow that turn, but it can be computed: the polynomial is what the boundary exceeds this shape
//! by. Never: a premium.

use crate::american::settings::{FALLING, SAME};
use crate::elementary::exp;
use crate::lanes::{Block, Lanes, Mask};

/// How fine a window of puts is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fineness {
    /// It begins at a later date: what it leaves of its own is spread until now.
    Later,
    /// It begins where a table does, whose premium is differentiated.
    First,
}

impl Fineness {
    /// Collocation points of a boundary.
    pub(super) fn points(self) -> usize {
        if self == Self::First { FALLING.points_first } else { FALLING.points }
    }
}

/// What counts at X = 0 at one time of a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// What exercise gains over waiting for the date.
    pub(super) gain: f64,
    /// What it loses on a unit of X.
    pub(super) borrow: f64,
    /// ln of the X at which the two are the same.
    pub(super) edge: f64,
    /// √(years until the date).
    pub(super) root: f64,
}

impl Line {
    /// `wait` years before the date.
    pub(super) fn new(gain: f64, borrow: f64, wait: f64) -> Self {
        let gain = gain.max(SAME.divisor);
        let edge = if borrow > 0.0 { (gain / borrow).ln() } else { f64::INFINITY };
        Self { gain, borrow, edge, root: wait.sqrt() }
    }
}

/// How the boundary of one window falls, by collocation point and lane.
#[derive(Clone)]
pub(super) struct Falling {
    pub(super) fineness: Fineness,
    /// ln(X/K) at which the chance of ending above the later boundary is worth what exercise gains at X = 0.
    pub(super) level: Vec<Block>,
    /// The ln X by which that value falls to 1/e of it.
    pub(super) scale: Vec<Block>,
    /// λ of the equations, in deviations of the time left.
    pub(super) pace: Vec<Block>,
    /// What the boundary exceeds the shape by.
    pub(super) excess: Vec<Block>,
}

impl Falling {
    /// The shape at the collocation points.
    pub(super) fn at_points(&self, lines: impl Iterator<Item = Line>, ln_k: Block, sigma: Block) -> Vec<Block> {
        let levels = self.level.iter().zip(&self.scale).zip(lines);
        levels.map(|((level, scale), line)| shape(*level + ln_k, *scale, &line, sigma)).collect()
    }

    /// Where the lanes turn from the level to the line, about: the last cell of `FALLING` where they do not. `lines`: η
    /// and line of the points.
    pub(super) fn corner(&self, lines: impl Iterator<Item = (f64, Line)>, ln_k: Block) -> usize {
        let mut before: Option<(f64, f64)> = None;
        for ((eta, line), level) in lines.zip(&self.level) {
            if line.borrow <= 0.0 {
                return FALLING.cells;
            }
            // by how much the line lies above the level, on average
            let gap = Block::splat(line.edge) - ln_k - *level;
            let above = (0..Block::N).map(|lane| gap.lane(lane)).sum::<f64>() / Block::N as f64;
            if above <= 0.0 {
                let turn = before.map_or(0.0, |(from, gap)| from + (eta - from) * gap / (gap - above));
                return ((turn / FALLING.cell).round() as usize).min(FALLING.cells - 1);
            }
            before = Some((eta, above));
        }
        FALLING.cells
    }

    /// ln B but for the excess, at a place with the weights `row` of the points.
    pub(super) fn fixed(&self, row: &[f64], line: &Line, ln_k: Block, sigma: Block) -> Block {
        let of = |values: &[Block]| {
            row.iter().zip(values).fold(Block::splat(0.0), |sum, (w, value)| value.mul_add(Block::splat(*w), sum))
        };
        shape(of(&self.level) + ln_k, of(&self.scale), line, sigma)
    }
}

/// ln of the X at which the chance value, 1 at `level` and falling like the tail of a normal distribution below it, and
/// the borrow add up to what exercise gains.
///
/// # Accuracy  `FALLING.shaped`
fn shape(level: Block, scale: Block, line: &Line, sigma: Block) -> Block {
    let Line { borrow, edge, root, .. } = *line;
    if borrow <= 0.0 {
        return level;
    }
    let c = Block::splat;
    let edge = c(edge);
    let (steep, bend) = (c(1.0) / scale, c(1.0) / (sigma * sigma * (root * root)));
    let mut x = level.min(edge);
    for _ in 0..FALLING.shape_steps {
        let away = x - level;
        let speed = steep - away * bend;
        let (chance, lost) = (exp(away * (steep - away * bend * 0.5)), exp(x - edge));
        let (missed, slope) = (chance + lost - 1.0, chance * speed + lost);
        let bent = chance * (speed * speed - bend) + lost;
        // Halley's method, and at most twice as far as Newton's
        let square = slope * slope;
        let step = missed * slope / (square - missed * bent * 0.5).max(square * 0.5);
        x -= step;
        if (step * slope).abs().lt(c(FALLING.shaped)).all() {
            break;
        }
    }
    x
}
