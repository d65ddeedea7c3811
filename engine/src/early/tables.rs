//! The tables of both rights of one expiry, kept for as long as they serve. Never: a quote.

use super::settings::{TABLES, VOL};
use super::valuation::Valuation;
use super::work::EarlyWork;
use kernel::american::{Band, Pricer, Refit, SharedBoundaries};
use kernel::contract::{Right, Style};
use kernel::dividends::Terms;
use kernel::lanes::{Block, Lanes};
use kernel::quality::Quality;

/// Pricers of calls and puts, kept for as long as they serve.
#[derive(Debug, Default)]
pub(super) struct Pricers {
    quality: Quality,
    pair: Option<[Pricer; 2]>,
}

impl Pricers {
    /// Makes the pricers of both rights serve the bands, with room to spare; tables that still do stay. `near` and
    /// `bands` as of [`bands`].
    pub(super) fn serve(
        &mut self,
        shared: &SharedBoundaries,
        here: &Valuation<'_>,
        terms: &Terms,
        near: &[Band],
        bands: &[Band],
        work: &mut EarlyWork,
    ) {
        let Valuation { style, quality, .. } = *here;
        if self.quality < quality {
            (self.quality, self.pair) = (quality, None);
        }
        match &mut self.pair {
            Some(pair) => {
                for pricer in pair.iter_mut().filter(|p| !p.serves(terms, near)) {
                    match pricer.refit(terms, bands) {
                        Refit::Kept => {}
                        Refit::Widened => work.widened += 1,
                        Refit::Built => work.rebuilt += 1,
                    }
                }
            }
            none => {
                *none = Some(
                    [Right::Call, Right::Put]
                        .map(|right| Pricer::laid_out(shared, style, right, terms, bands, self.quality)),
                );
            }
        }
    }

    /// Whether those at hand serve these terms, by right.
    pub(super) fn serve_terms(&self, terms: &Terms) -> [bool; 2] {
        let of = |right: usize| self.pair.as_ref().is_some_and(|pair| pair[right].serves_terms(terms));
        [of(0), of(1)]
    }

    /// Bytes held beside itself.
    pub(super) fn bytes(&self) -> usize {
        self.pair.iter().flatten().map(|pricer| pricer.bytes() - size_of::<Pricer>()).sum()
    }

    /// The pricers of both rights, if laid out.
    pub(super) fn get(&self) -> Option<&[Pricer; 2]> {
        self.pair.as_ref()
    }

    /// The pricer of one right, if laid out.
    pub(super) fn of(&mut self, right: Right) -> Option<&mut Pricer> {
        self.pair.as_mut().map(|pair| &mut pair[right as usize])
    }
}

/// Pricers of calls and puts as if no right could be exercised early; they cost nothing to build.
#[must_use]
pub fn european(terms: &Terms) -> [Pricer; 2] {
    let band = Band { k: (f64::MIN_POSITIVE, f64::MAX), sigma: VOL };
    [Right::Call, Right::Put].map(|right| Pricer::new(Style::European, right, terms, &band, Quality::Full))
}

/// A lower and a higher volatility inside the range of the tables.
pub(super) fn nodes(low: Block, high: Block, sigma: Block) -> (Block, Block) {
    let c = |v: f64| Block::splat(v);
    let down = (low * c(1.0 + 1e-9)).max(sigma * c(1.0 / TABLES.beyond));
    let up = (high * c(1.0 - 1e-9)).min(sigma * TABLES.beyond);
    (down, up)
}

/// The least and the greatest of some volatilities, inside [`VOL`].
pub(super) fn span(vols: &[f64]) -> (f64, f64) {
    let (low, high) = vols.iter().fold((VOL.1, VOL.0), |(low, high), &v| (low.min(v), high.max(v)));
    (low.min(high), high)
}

/// Bands of strikes and volatilities that tables must serve: at least, and with room for moves of quotes.
pub(super) fn bands(strikes: &[f64], sigma: &[f64]) -> [Vec<Band>; 2] {
    [TABLES.beyond_left * TABLES.beyond.ln(), TABLES.beyond.ln()].map(|room| {
        let known = strikes.iter().zip(sigma).filter(|(_, sigma)| sigma.is_finite() && **sigma > 0.0);
        let mut bands: Vec<Band> =
            known.map(|(&k, &sigma)| Band { k: (k, k), sigma: (sigma * (-room).exp(), sigma * room.exp()) }).collect();
        bands.dedup();
        bands
    })
}
