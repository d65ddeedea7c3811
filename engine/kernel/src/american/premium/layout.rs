//! Layout of the tables of one (expiry, right): tiles over the strikes and volatilities of the bands asked for.
//!
//! A chain's smile spans little over strikes close to each other, so that one solve with few nodes serves a group of
//! them. Strikes whose calls are exercised before different ex-dates go into different groups: in one table their
//! boundaries would begin and end within its strikes. Never: a solve.

use super::super::band::Band;
use super::table::Table;
use crate::american::pays::{Depth, Span, changes, continuous, first_window};
use crate::american::settings::{LAYOUT, SAME};
use crate::american::shared::SharedBoundaries;
use crate::contract::Right;
use crate::dividends::Terms;
use crate::lanes::Lanes;

/// Deviations by which ln(strike less dividends) may move against ln(strike) within a table of calls exercised between
/// dates.
const FRONT_DEVIATIONS: f64 = 0.35;
/// Factor by which a table of puts is fitted beyond the volatilities that it serves: third derivatives are worst at the
/// ends.
const BEYOND_PUT: f64 = 1.1;
/// Deviations by which the place of the strike may move along the series of calls exercised between dates. It bounds
/// the volatility ratio of their table.
const FAR_DEVIATIONS: f64 = 2.5;

/// A range that exceeds a whole number of parts by less is cut into that number: the rounding of a logarithm.
const WHOLE: f64 = 1e-9;

/// A range of strikes and volatilities with its tables, by depth. They are built for contracts that need them only: a
/// chain lists many strikes whose premium is 0, and their tables would be most of the cost of a start.
pub(super) struct TablePart {
    /// The contracts served.
    serves: Span,
    /// The contracts that the tables are fitted on: all of `serves`, and more.
    span: Span,
    tables: [Option<Box<Table>>; 2],
    /// False: the usual table serves spots deep in the money too.
    has_deep: bool,
    /// True if it met none of the bands that were last asked for.
    pub(super) is_idle: bool,
}

impl TablePart {
    /// The lanes whose strike and volatility the tile serves.
    pub(super) fn holds<L: Lanes>(&self, k: L, sigma: L) -> L::Mask {
        let c = |v: f64| L::splat(v);
        let (lo, hi) = self.serves.sigma;
        self.holds_strike(k) & c(lo).le(sigma) & sigma.le(c(hi))
    }

    /// The lanes whose strike the tile serves.
    pub(super) fn holds_strike<L: Lanes>(&self, k: L) -> L::Mask {
        let (lo, hi) = self.serves.k;
        L::splat(lo).le(k) & k.le(L::splat(hi))
    }

    /// Least and greatest volatility served.
    pub(super) fn sigma(&self) -> (f64, f64) {
        self.serves.sigma
    }

    fn new(right: Right, terms: &Terms, serves: Span, span: Span) -> Self {
        let continuous = |depth| Span { depth, ..span }.continuous(right.phi(), terms);
        let has_deep = continuous(Depth::Deep) != continuous(Depth::Usual);
        Self { serves, span, tables: [None, None], has_deep, is_idle: false }
    }

    /// The tables built so far.
    pub(super) fn built(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().flatten().map(|table| &**table)
    }

    /// True if spots deep in the money have a table of their own.
    pub(super) fn has_deep(&self) -> bool {
        self.has_deep
    }

    /// The table of a depth; `None`: it is not built.
    pub(super) fn table(&self, depth: Depth) -> Option<&Table> {
        self.tables[depth as usize].as_deref()
    }

    /// The table of a depth, built if it is missing.
    pub(super) fn build(&mut self, shared: &SharedBoundaries, phi: f64, terms: &Terms, depth: Depth) -> &mut Table {
        let span = Span { depth, ..self.span };
        self.tables[depth as usize].get_or_insert_with(|| Box::new(Table::build(shared, phi, terms, &span)))
    }

    /// True if the tile serves any part of `band`.
    pub(super) fn meets(&self, band: &Band) -> bool {
        let meet = |a: (f64, f64), b: (f64, f64)| a.0 <= b.1 && b.0 <= a.1;
        meet(self.serves.k, band.k) && meet(self.serves.sigma, band.sigma)
    }
}

/// True if `tiles` together serve all of `band`.
pub(super) fn covered(band: &Band, tiles: &[TablePart]) -> bool {
    let Some(i) = tiles.iter().position(|tile| tile.meets(band)) else { return false };
    let (Span { k, sigma, .. }, rest) = (tiles[i].serves, &tiles[i + 1..]);
    let middle = (band.k.0.max(k.0), band.k.1.min(k.1));
    let left = [
        (band.k.0 < k.0, (band.k.0, k.0), band.sigma),
        (k.1 < band.k.1, (k.1, band.k.1), band.sigma),
        (band.sigma.0 < sigma.0, middle, (band.sigma.0, sigma.0)),
        (sigma.1 < band.sigma.1, middle, (sigma.1, band.sigma.1)),
    ];
    left.iter().all(|&(is, k, sigma)| !is || covered(&Band { k, sigma }, rest))
}

/// Least and greatest volatility ratio of a table. A lesser ratio is widened, since derivatives in the volatility are
/// noisy on short intervals; a greater one is cut.
///
/// Exercise of a call between dates earns from rK/b on. Where rK/b is far above the strike, the distance of the strike
/// from the boundary, where the premium bends, moves fast with the volatility.
fn sigma_ratios(right: Right, terms: &Terms, sigma: f64) -> (f64, f64) {
    let Terms { t, r, b, .. } = *terms;
    if right == Right::Put
        || terms.divs.is_empty()
        || b <= 0.0
        || r <= b
        || !continuous(1.0, terms, sigma, Depth::Usual)
    {
        return (LAYOUT.sigma_least, LAYOUT.sigma_most);
    }
    let most = (FAR_DEVIATIONS * sigma * t.sqrt() / (r / b).ln()).exp();
    let most = most.clamp(LAYOUT.sigma_far, LAYOUT.sigma_most);
    (most.min(LAYOUT.sigma_least), most)
}

/// Logarithm of the greatest strike ratio of a table that begins at the strike of `band`.
fn strikes(right: Right, terms: &Terms, band: &Band) -> f64 {
    let deviation = (band.sigma.0 * band.sigma.1 * terms.t).sqrt();
    let between = continuous(right.phi(), terms, band.sigma.1, Depth::Usual);
    if right == Right::Call && !between {
        return LAYOUT.strikes_call.max(deviation);
    }
    let wide = LAYOUT.strikes_wide.max(deviation);
    if right == Right::Put {
        return wide.min(window_strikes(terms, band.k.0)).max(LAYOUT.strikes_least.ln());
    }
    if terms.r <= terms.b {
        return wide;
    }
    // the place of the strike less the dividends moves by this along a series that begins at a boundary far above
    let collected = terms.a(0.0) / band.k.0;
    let moved = collected / (1.0 - collected).max(SAME.strike_left);
    wide.min(FRONT_DEVIATIONS * deviation / moved).max(LAYOUT.strikes_least.ln())
}

/// Logarithm of the strike ratio over which a put's first window grows by about its length again: shortly before a
/// window closes its boundary falls away within a few strikes.
fn window_strikes(terms: &Terms, k: f64) -> f64 {
    first_window(terms, k).map_or(f64::INFINITY, |(length, wait)| length / wait)
}

/// The tiles of `bands`; bands close to each other share one.
///
/// # Domain  any bands, in any order; those that overlap are served once
pub(super) fn tiles(right: Right, terms: &Terms, bands: &[Band]) -> Vec<TablePart> {
    let mut bands = bands.to_vec();
    bands.sort_by(|a, b| a.k.0.total_cmp(&b.k.0));
    // fitted on more volatilities than they serve, calls do not meet the payoff at their boundary; third derivatives of
    // puts are worst at the ends
    let beyond = if right == Right::Call { 1.0 } else { BEYOND_PUT };
    let most = |k: f64, sigma: (f64, f64)| strikes(right, terms, &Band { k: (k, k), sigma }).exp();
    let cuts = changes(right.phi(), terms, &bands);
    let mut tiles = Vec::new();
    let mut rest = &bands[..];
    while let Some(first) = rest.first() {
        let (low, spread) = (first.k.0, first.sigma);
        let widest = low * most(low, spread);
        let with = |band: &&Band| band.k.1 <= widest && !cuts.iter().any(|&cut| low < cut && cut < band.k.1);
        let (group, others) = rest.split_at(rest.iter().take_while(with).count().max(1));
        rest = others;
        let high = group.iter().fold(low, |high, band| high.max(band.k.1));
        let sigma = group.iter().fold(0.0, |most: f64, band| most.max(band.sigma.1));
        let (least, widest) = sigma_ratios(right, terms, sigma);
        for k in split_at(low, high, &cuts, |k| most(k, spread)) {
            for sigma in volatilities(group, least, widest, beyond) {
                let [serves, span] = [sigma.0, sigma.1].map(|sigma| Span { k, sigma, depth: Depth::Usual });
                tiles.push(TablePart::new(right, terms, serves, span));
            }
        }
    }
    tiles
}

/// The volatility ranges of a group of bands: for each table the range that it serves, and the range that it is fitted
/// on.
fn volatilities(group: &[Band], least: f64, most: f64, beyond: f64) -> Vec<((f64, f64), (f64, f64))> {
    let mut ranges: Vec<(f64, f64)> = group.iter().map(|band| band.sigma).collect();
    ranges.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut together: Vec<(f64, f64)> = Vec::new();
    for range in ranges {
        match together.last_mut() {
            Some(last) if range.1 <= last.0 * most || range.1 <= last.1 => last.1 = last.1.max(range.1),
            _ => together.push(range),
        }
    }
    let mut out = Vec::new();
    for range in together {
        let parts = split(range.0, range.1, most);
        let last = parts.len() - 1;
        for (i, &part) in parts.iter().enumerate() {
            let mut fitted = widened(part.0, part.1, least);
            let (low, high) = (if i == 0 { fitted.0 } else { part.0 }, if i == last { fitted.1 } else { part.1 });
            if i > 0 {
                fitted.0 = fitted.0.min(part.0 / beyond);
            }
            if i < last {
                fitted.1 = fitted.1.max(part.1 * beyond);
            }
            out.push(((low, high), fitted));
        }
    }
    out
}

/// Strike ranges between the `cuts`, none wider than what `most` gives for its least strike and none narrower than
/// `LAYOUT.strikes_least` unless cuts leave no room.
fn split_at(low: f64, high: f64, cuts: &[f64], most: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let inside = cuts.iter().copied().filter(|&cut| low < cut && cut < high);
    let ends: Vec<f64> = core::iter::once(low).chain(inside).chain([high]).collect();
    let between = |from: f64, to: f64| {
        let (below, above) = (
            cuts.iter().copied().filter(|&cut| cut <= from).fold(0.0, f64::max),
            cuts.iter().copied().filter(|&cut| to <= cut).fold(f64::INFINITY, f64::min),
        );
        let (wide_from, wide_to) = widened(from, to, LAYOUT.strikes_least);
        let from = wide_from.min(above / LAYOUT.strikes_least).max(below);
        (from, wide_to.max(from * LAYOUT.strikes_least).min(above))
    };
    let parts = |ends: &[f64]| {
        let (mut from, to) = between(ends[0], ends[1]);
        let mut parts = Vec::new();
        while from < to {
            let next = from * most(from).max(LAYOUT.strikes_least);
            let until = if next * LAYOUT.strikes_least < to { next } else { to };
            parts.push((from, until));
            from = until;
        }
        parts
    };
    ends.windows(2).flat_map(parts).collect()
}

/// Cuts the range from `lo` to `hi` into parts of equal ratio, none wider than `most`.
fn split(lo: f64, hi: f64, most: f64) -> Vec<(f64, f64)> {
    let n = ((hi / lo).ln() / most.ln() - WHOLE).ceil().max(1.0) as usize;
    let edge = |i: usize| if i == n { hi } else { lo * (hi / lo).powf(i as f64 / n as f64) };
    (0..n).map(|i| (edge(i), edge(i + 1))).collect()
}

/// Widens the range from `lo` to `hi` about its geometric middle to a ratio of `least` or more.
fn widened(lo: f64, hi: f64, least: f64) -> (f64, f64) {
    let widen = (least / (hi / lo)).max(1.0).sqrt();
    (lo / widen, hi * widen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dividends::Dividend;

    fn around(k: f64, sigma: f64) -> Band {
        Band { k: (k, k), sigma: (sigma / 1.1, sigma * 1.1) }
    }

    fn terms(amount: f64) -> Terms {
        let divs = [0.1, 0.35].map(|t| Dividend { t, amount }).to_vec();
        Terms { t: 0.5, r: 0.04, b: 0.0, divs }
    }

    #[test]
    fn tiles_cover_the_bands_that_they_are_laid_for() {
        let bands: Vec<Band> = (0..30).map(|i| around(50.0 + 5.0 * f64::from(i), 0.6 - 0.01 * f64::from(i))).collect();
        let wide = Band { k: (50.0, 200.0), sigma: (0.1, 1.0) };
        for right in [Right::Call, Right::Put] {
            let tiles = tiles(right, &terms(0.9), &bands);
            assert!(bands.iter().all(|band| covered(band, &tiles)));
            assert!(tiles.len() <= 16, "{right:?}: {}", tiles.len());
            assert!(!covered(&around(100.0, 1.5), &tiles) && !covered(&wide, &tiles));
            let tiles = super::tiles(right, &terms(0.9), &[wide]);
            assert!(covered(&wide, &tiles) && covered(&around(120.0, 0.3), &tiles));
        }
    }

    #[test]
    fn strikes_whose_ex_dates_differ_share_no_tile() {
        // interest on the strike from the first ex-date to the second: 0.00995·K
        let cut = 0.9 / (1.0 - (-0.04f64 * 0.25).exp());
        let bands = [around(0.97 * cut, 0.3), around(1.03 * cut, 0.3)];
        let tiles = tiles(Right::Call, &terms(0.9), &bands);
        let of = |band: &Band| tiles.iter().position(|tile| tile.meets(band));
        assert_ne!(of(&bands[0]), of(&bands[1]));
    }
}
