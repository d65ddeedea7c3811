//! Faults of a surface, counted on recorded markets: values above the ask where nobody bids, butterflies, total
//! variance that falls from one expiry to the next; and what it must do, be inside of the quotes.

use super::moments::{Moment, chains};
use core::ops::Range;
use engine::store::book::{Book, BookSlice};
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use kernel::contract::Right;
use kernel::normal::norm_cdf;

/// A butterfly that costs less than minus this counts, currency per share: half a cent.
const BUTTERFLY: f64 = 5e-3;
/// Falls of total variance by more than these parts of it count.
const FALLS: [f64; 2] = [0.01, 0.02];

/// The counts of a market.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    /// Contracts out of the money with an ask alone; of these: valued above it.
    lone: usize,
    above: usize,
    /// Contracts out of the money with two sides; of these: valued within them.
    two_sided: usize,
    inside: usize,
    /// Butterflies below zero by more than [`BUTTERFLY`]; of European values beyond rounding, and by more than that.
    butterflies: usize,
    european: [usize; 2],
    /// Strikes compared with the next expiry; falls.
    places: usize,
    falls: [usize; FALLS.len()],
}

fn rows(slice: &Slice) -> Range<usize> {
    slice.rows.start as usize..slice.rows.end as usize
}

impl Figures {
    /// The figures of a moment.
    fn of(moment: &Moment) -> Self {
        let mut books = moment.books.clone();
        books.retain(Book::has_spot);
        books.sort_by_key(|book| book.underlying);
        let mut figures = Self::default();
        for (chain, book) in chains(&books, moment.market(), |book| book.ts).iter().zip(&books) {
            figures.add(chain, book);
        }
        figures
    }

    fn add(&mut self, chain: &Chain, book: &Book) {
        for slice in chain.slices.iter().filter(|slice| !slice.adjusted) {
            let of = book.slices.iter().find(|s| s.root == slice.root && s.expiry == slice.expiry).unwrap();
            self.count_quotes(chain, slice, of);
            self.count_butterflies(chain, slice);
        }
        for (slice, next) in chain.slices.iter().flat_map(|slice| Some((slice, next_of(chain, slice)?))) {
            self.count_falls(chain, slice, next);
        }
    }

    fn count_quotes(&mut self, chain: &Chain, slice: &Slice, of: &BookSlice) {
        let theo = &chain.columns.get(Col::SvcTheo)[rows(slice)];
        for (row, &theo) in theo.iter().enumerate().filter(|(_, theo)| theo.is_finite()) {
            let otm = (of.right[row] == Right::Call) == (1e-3 * f64::from(of.strike_milli[row]) >= slice.fwd_price);
            let (bid, ask) = (of.bid[row], of.ask[row]);
            if !otm || ask.is_nan() || ask <= 0.0 {
                continue;
            }
            // values are published with six decimals
            let (over, under) = (theo > ask + 1e-6, theo < bid - 1e-6);
            if bid > 0.0 {
                self.two_sided += 1;
                self.inside += usize::from(!over && !under);
            } else {
                self.lone += 1;
                self.above += usize::from(over);
            }
        }
    }

    /// Of the values, and of European ones at the same volatilities: what those do not have is none of the surface.
    fn count_butterflies(&mut self, chain: &Chain, slice: &Slice) {
        let (theo, vols) = (chain.columns.get(Col::SvcTheo), chain.columns.get(Col::SvcVol));
        let t = slice.days / 365.0;
        for right in [Right::Call, Right::Put] {
            let of: Vec<usize> =
                rows(slice).filter(|&row| chain.right[row] == right && theo[row].is_finite()).collect();
            for three in of.windows(3) {
                let k = [0, 1, 2].map(|i| 1e-3 * f64::from(chain.strike_milli[three[i]]));
                let below = below_zero(k, [0, 1, 2].map(|i| theo[three[i]]));
                self.butterflies += usize::from(below > BUTTERFLY);
                let european =
                    below_zero(k, [0, 1, 2].map(|i| european(slice.fwd_price, k[i], vols[three[i]] * t.sqrt())));
                for (count, most) in self.european.iter_mut().zip([3e-6, BUTTERFLY]) {
                    *count += usize::from(right == Right::Call && european > most);
                }
                if below.max(european) > BUTTERFLY {
                    println!(
                        "  {} {} {} {right:?}: {below:.4} below zero, European {european:.4}",
                        slice.root, slice.expiry, k[1]
                    );
                }
            }
        }
    }

    /// Total variance at the strikes of an expiry, at equal forward moneyness, against the next one's between its
    /// strikes.
    fn count_falls(&mut self, chain: &Chain, slice: &Slice, next: &Slice) {
        let variance = |slice: &Slice| -> Vec<[f64; 2]> {
            let vol = chain.columns.get(Col::SvcVol);
            let strikes = rows(slice)
                .filter(|&row| row == rows(slice).start || chain.strike_milli[row] != chain.strike_milli[row - 1]);
            let at = |row: usize| {
                [(1e-3 * f64::from(chain.strike_milli[row]) / slice.fwd_price).ln(), vol[row].powi(2) * slice.days]
            };
            strikes.map(at).filter(|[k, w]| k.is_finite() && w.is_finite()).collect()
        };
        let (here, there) = (variance(slice), variance(next));
        for [k, w] in here {
            let at = there.partition_point(|[other, _]| *other <= k);
            let (Some([k0, w0]), Some([k1, w1])) = (at.checked_sub(1).and_then(|i| there.get(i)), there.get(at)) else {
                continue;
            };
            let later = w0 + (w1 - w0) * (k - k0) / (k1 - k0);
            self.places += 1;
            for (count, most) in self.falls.iter_mut().zip(FALLS) {
                *count += usize::from(w - later > most * w);
            }
        }
    }

    /// Prints them as a row of a table.
    fn print(&self, name: &str) {
        let part = |of: usize, all: usize, unit: f64| unit * of as f64 / all as f64;
        println!(
            "{name}: above a lone ask {} of {} ({:.3} %); inside {:.4} of {}; butterflies {}, European {} (small ones {}); falls over 1 % {:.2}, over 2 % {:.2} per 10,000 of {}",
            self.above,
            self.lone,
            part(self.above, self.lone, 100.0),
            part(self.inside, self.two_sided, 1.0),
            self.two_sided,
            self.butterflies,
            self.european[1],
            self.european[0],
            part(self.falls[0], self.places, 1e4),
            part(self.falls[1], self.places, 1e4),
            self.places
        );
    }
}

/// By how much a butterfly of three values is below zero.
fn below_zero(k: [f64; 3], value: [f64; 3]) -> f64 {
    let part = (k[2] - k[1]) / (k[2] - k[0]);
    value[1] - (part * value[0] + (1.0 - part) * value[2])
}

/// The value of a European call without a discount; below the forward, that of the put and what the call has more.
fn european(fwd: f64, k: f64, sd: f64) -> f64 {
    let d1 = (fwd / k).ln() / sd + 0.5 * sd;
    let phi = if k < fwd { -1.0 } else { 1.0 };
    phi * (fwd * norm_cdf(phi * d1) - k * norm_cdf(phi * (d1 - sd))) + (fwd - k).max(0.0)
}

/// The next expiry of the same root that has a curve.
fn next_of<'a>(chain: &'a Chain, slice: &Slice) -> Option<&'a Slice> {
    let after = chain.slices.iter().filter(|other| other.root == slice.root && other.settles_at > slice.settles_at);
    after.filter(|other| other.fwd_price > 0.0).min_by_key(|other| other.settles_at)
}

#[test]
#[ignore = "needs recorded chains: just chains FOLDER"]
fn surfaces_of_recorded_markets_keep_what_they_must() {
    for moment in Moment::all() {
        let figures = Figures::of(&moment);
        figures.print(&moment.name);
        assert!(figures.inside as f64 > 0.94 * figures.two_sided as f64, "{figures:?}");
    }
}
