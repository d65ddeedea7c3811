//! The tables of both rights of one expiry, kept for as long as they serve. Never: a quote.

use crate::contract::{Right, Style};
use crate::kernel::american::{Band, Pricer, Scheme};
use crate::kernel::dividends::Terms;
use crate::kernel::lanes::{Block, Lanes};

/// Least and greatest volatility that is looked for, per √year.
pub const VOL: (f64, f64) = (1e-3, 20.0);
/// Any strike.
const STRIKES: (f64, f64) = (1e-6, 1e9);
/// Tables reach this factor beyond the strikes asked for, so that they serve while the spot moves.
const STRIKE_ROOM: f64 = 1.02;
/// Tables reach this factor beyond the volatilities asked for: with it most smiles need one table in volatility.
const BAND_MARGIN: f64 = 1.2;

/// Pricers of calls and puts, kept for as long as they serve.
#[derive(Debug, Default)]
pub(super) struct Pricers(Option<[Pricer; 2]>);

impl Pricers {
    /// Makes the pricers of both rights serve, with room for a while; tables that still do stay.
    pub(super) fn serve(&mut self, style: Style, terms: &Terms, band: &Band) {
        let roomy = with_room(band);
        match &mut self.0 {
            Some(pair) => {
                for pricer in pair.iter_mut().filter(|p| !p.serves(terms, band)) {
                    pricer.refit(terms, &roomy);
                }
            }
            none => {
                *none =
                    Some([Right::Call, Right::Put].map(|right| Pricer::new(style, right, terms, &roomy, Scheme::Fast)));
            }
        }
    }

    /// Whether those at hand serve.
    pub(super) fn serves(&self, terms: &Terms, band: &Band) -> bool {
        self.0.as_ref().is_some_and(|pair| pair.iter().all(|p| p.serves(terms, band)))
    }

    /// Those at hand.
    pub(super) fn get(&self) -> Option<&[Pricer; 2]> {
        self.0.as_ref()
    }
}

/// Pricers of calls and puts as if no right could be exercised early; they cost nothing to build.
#[must_use]
pub fn european(terms: &Terms) -> [Pricer; 2] {
    let band = Band { k: STRIKES, sigma: VOL };
    [Right::Call, Right::Put].map(|right| Pricer::new(Style::European, right, terms, &band, Scheme::Fast))
}

/// The least and the greatest of some volatilities, inside [`VOL`].
#[must_use]
pub fn span(vols: &[f64]) -> (f64, f64) {
    let (low, high) = vols.iter().fold((VOL.1, VOL.0), |(low, high), &v| (low.min(v), high.max(v)));
    (low.min(high), high)
}

/// A lower and a higher volatility inside the band of the tables.
pub(super) fn nodes((low, high): (f64, f64), sigma: Block) -> (Block, Block) {
    let c = |v: f64| Block::splat(v);
    let down = (sigma * c(1.0 / BAND_MARGIN)).max(c(low * (1.0 + 1e-9)));
    let up = (sigma * c(BAND_MARGIN)).min(c(high * (1.0 - 1e-9)));
    (down, up)
}

/// A wider band, so that quotes can move for a while.
fn with_room(band: &Band) -> Band {
    Band {
        k: (band.k.0 / STRIKE_ROOM, band.k.1 * STRIKE_ROOM),
        sigma: (band.sigma.0 / BAND_MARGIN, band.sigma.1 * BAND_MARGIN),
    }
}
