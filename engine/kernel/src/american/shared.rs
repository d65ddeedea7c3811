//! Boundaries without dividends, shared by names: they depend on rates, time and volatility only.
//!
//! Time, rates and volatilities fall into cells, and with [`Quality::Full`] one boundary is solved for a whole cell:
//! the boundary that a contract reads depends on its own terms alone, not on the order of requests. A boundary is
//! solved once, for whichever pricer needs it first. The cache drops it once no pricer holds it and enough others are
//! newer: names that are computed one after the other would otherwise each solve what the one before has just dropped.
//! Never: a strike, a spot.

use super::band::sigma_ratio;
use super::boundary::{Boundary, Domain};
use super::settings::SHARED;
use crate::contract::Right;
use crate::dividends::Terms;
use crate::lanes::Lanes;
use crate::quality::Quality;
use crate::work::count;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// A borrow rate nearer to the rate than this part of the greater one has a cell of its own, beside the kink.
const AT_KINK: f64 = 0.05;
/// Least volatility, per √year: a boundary at a hundredth of a percent is that of none.
const SIGMA_LEAST: f64 = 1e-4;
/// Rates below this, per year, have cells of their own: cells in proportion to a rate never end towards 0.
const SMALL: f64 = 1e-4;
/// Shards of the cache, a power of two, a few for each thread of a machine, so that threads seldom wait for each other.
const SHARDS: usize = 16;

/// True for the first and for the last boundary of a range of volatilities: these also serve all that lies beyond.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) first: bool,
    pub(super) last: bool,
}

/// A boundary that all pricers of its cell share, solved by the first that needs it.
#[derive(Clone, Debug)]
pub(super) struct SharedBoundary {
    pub(super) domain: Domain,
    scheme: Quality,
    boundary: Arc<OnceLock<Boundary>>,
}

impl SharedBoundary {
    /// Adjoining boundaries that cover a range of volatilities: one per cell, or cut from the range itself where cells
    /// do not apply.
    pub(super) fn over(
        shared: &SharedBoundaries,
        right: Right,
        terms: &Terms,
        sigma: (f64, f64),
        scheme: Quality,
    ) -> Vec<Self> {
        let sigma = (sigma.0.max(SIGMA_LEAST), sigma.1.max(SIGMA_LEAST));
        if scheme < Quality::Reference {
            let at = |sigma: f64| (sigma.ln() / SHARED.sigma_cell.ln()).floor() as i32;
            let edge = |i: i32| SHARED.sigma_cell.powi(i);
            let cells = (at(sigma.0)..=at(sigma.1)).map(|i| cell(right, terms, (edge(i), edge(i + 1))));
            if let Some(cells) = cells.collect::<Option<Vec<Domain>>>() {
                return cells.into_iter().map(|domain| shared.boundary(domain, scheme)).collect();
            }
        }
        let n = ((sigma.1 / sigma.0).ln() / sigma_ratio(scheme).ln()).ceil().max(1.0);
        let edge = |i: i32| sigma.0 * (sigma.1 / sigma.0).powf(f64::from(i) / n);
        let domain = |i: i32| Domain::new(right, terms.r, terms.b, terms.t, (edge(i), edge(i + 1)));
        (0..n as i32).map(|i| shared.boundary(domain(i), scheme)).collect()
    }

    /// The boundary; `None`: no pricer has solved it.
    pub(super) fn get(&self) -> Option<&Boundary> {
        self.boundary.get()
    }

    /// Solves the boundary, if no pricer has.
    pub(super) fn solve(&self) {
        self.boundary.get_or_init(|| {
            count(|work| work.boundaries += 1);
            Boundary::new(&self.domain, self.scheme)
        });
    }

    /// The lanes whose volatility the boundary serves; at either of the `ends` these include all beyond.
    pub(super) fn lanes<L: Lanes>(&self, sigma: L, ends: Ends) -> L::Mask {
        let low = if ends.first { f64::NEG_INFINITY } else { self.domain.sigma.0 };
        let high = if ends.last { f64::INFINITY } else { self.domain.sigma.1 };
        L::splat(low).le(sigma) & sigma.lt(L::splat(high))
    }

    /// Volatilities clamped to the boundary's range.
    pub(super) fn within<L: Lanes>(&self, sigma: L) -> L {
        sigma.max(L::splat(self.domain.sigma.0)).min(L::splat(self.domain.sigma.1))
    }

    /// Bytes held, those of a shared boundary divided by the number of its holders.
    pub(super) fn bytes(&self) -> usize {
        let solved = self.boundary.get().map_or(0, Boundary::bytes);
        size_of::<Self>() + solved / Arc::strong_count(&self.boundary)
    }
}

/// The domain of the cell of `terms`, over the volatilities `sigma`; `None` where names share little: stock that is
/// hard to borrow, and boundaries that settle early in a long life.
fn cell(right: Right, terms: &Terms, sigma: (f64, f64)) -> Option<Domain> {
    let Terms { t, r, b, .. } = *terms;
    let later = ((t.ln() / SHARED.time_cell).ceil() * SHARED.time_cell).exp().max(t);
    let middle = if r.abs() < SMALL { r } else { geometric(r, SHARED.rate_cell) };
    let at = |b: f64| Domain::new(right, middle, b, later, sigma);
    let serves = |domain: &Domain| domain.holds(b) && domain.reaches(r, b) && clear_of_kink(domain, r, b);
    let linear = || {
        let width = 2.0 * SHARED.borrow_part * at(0.0).reach();
        at((b / width).round() * width)
    };
    let of_its_size = || at(geometric(b, SHARED.borrow_ratio.ln()));
    let alike = b.abs() <= r.abs() && [sigma.0, sigma.1].iter().all(|&s| at(b).settles_at((s, s)) > later);
    let shared = alike.then(linear).filter(serves);
    shared.or_else(|| (alike && b.abs() > SMALL).then(of_its_size).filter(serves))
}

/// True if `domain` and the rates lie on the same side of r = b, and not at it.
fn clear_of_kink(domain: &Domain, r: f64, b: f64) -> bool {
    let gap = domain.r - domain.b;
    gap.abs() > AT_KINK * domain.r.abs().max(domain.b.abs()) && gap * (r - b) > 0.0
}

/// The middle of the cell of `x`, where cells have the width `width` in ln |x|.
fn geometric(x: f64, width: f64) -> f64 {
    ((x.abs().ln() / width).round() * width).exp().copysign(x)
}

/// Identity of a boundary: equal keys have equal boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    right: Right,
    scheme: Quality,
    numbers: [u64; 5],
}

impl Key {
    fn new(domain: &Domain, scheme: Quality) -> Self {
        let Domain { t, r, b, sigma, .. } = *domain;
        Key { right: domain.right, scheme, numbers: [t, r, b, sigma.0, sigma.1].map(f64::to_bits) }
    }
}

/// The boundaries that pricers share, for any number of threads. A clone is a handle to the same ones.
#[derive(Clone, Debug, Default)]
pub struct SharedBoundaries(Arc<[Mutex<CacheShard>; SHARDS]>);

impl SharedBoundaries {
    /// The cached boundary of `domain`, or a new one.
    fn boundary(&self, domain: Domain, scheme: Quality) -> SharedBoundary {
        let key = Key::new(&domain, scheme);
        let mixed = key.numbers.iter().fold(0u64, |mixed, n| (mixed ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let shard = &self.0[(mixed >> (u64::BITS - SHARDS.ilog2())) as usize];
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let boundary = shard.held.get(&key).and_then(Weak::upgrade).unwrap_or_else(|| shard.add(key));
        SharedBoundary { domain, scheme, boundary }
    }
}

/// A part of the cache: boundaries by key, and the latest ones, which it keeps alive.
#[derive(Debug, Default)]
struct CacheShard {
    held: HashMap<Key, Weak<OnceLock<Boundary>>>,
    recent: VecDeque<Arc<OnceLock<Boundary>>>,
}

impl CacheShard {
    fn add(&mut self, key: Key) -> Arc<OnceLock<Boundary>> {
        if self.recent.len() == SHARED.kept {
            self.recent.pop_front();
        }
        if self.held.len() == self.held.capacity() {
            self.held.retain(|_, held| held.strong_count() > 0);
        }
        let new = Arc::new(OnceLock::new());
        self.held.insert(key, Arc::downgrade(&new));
        self.recent.push_back(Arc::clone(&new));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(t: f64, r: f64, b: f64) -> Terms {
        Terms { t, r, b, divs: vec![] }
    }

    #[test]
    fn terms_that_are_close_share_a_boundary() {
        let shared = SharedBoundaries::default();
        let of = |t, r, b, sigma| SharedBoundary::over(&shared, Right::Put, &terms(t, r, b), sigma, Quality::Full);
        let one = of(0.52, 0.04, 0.0011, (0.21, 0.3));
        let other = of(0.521, 0.040001, 0.0009, (0.25, 0.31));
        assert!(one.iter().any(|one| other.iter().any(|other| Arc::ptr_eq(&one.boundary, &other.boundary))));
        let away = of(0.52, 0.04, 0.02, (0.21, 0.3));
        assert!(!Arc::ptr_eq(&one[0].boundary, &away[0].boundary));
        assert!(one[0].get().is_none());
        other[0].solve();
        assert!(one[0].get().is_some());
    }

    #[test]
    fn every_cell_serves_its_terms() {
        let all = SharedBoundaries::default();
        for right in [Right::Call, Right::Put] {
            for r in [1e-6, 0.003, 0.04, 0.06] {
                let borrow = [-0.03, -0.004, 0.0, 1e-9, 1e-4, 0.003, 0.0399, 0.04, 0.041, 0.2, 2.0];
                for b in borrow.into_iter().filter(|&b| right == Right::Put || b > 0.0) {
                    for t in [1e-5, 0.003, 0.2, 2.7] {
                        for shared in SharedBoundary::over(&all, right, &terms(t, r, b), (0.1, 0.9), Quality::Full) {
                            let Domain { t: latest, .. } = shared.domain;
                            assert!(shared.domain.reaches(r, b), "{right:?} {r} {b} {t}: {:?}", shared.domain);
                            assert!(t <= latest && latest <= 1.2 * t);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn boundaries_that_nobody_holds_are_forgotten_after_as_many_others() {
        let mut shard = CacheShard::default();
        let key = |i: usize| {
            let domain = Domain::new(Right::Put, 0.03, 0.0, 0.5 + i as f64, (0.2, 0.3));
            Key::new(&domain, Quality::Full)
        };
        let (first, held) = (Arc::downgrade(&shard.add(key(0))), shard.add(key(1)));
        for i in 2..=SHARED.kept {
            assert!(first.upgrade().is_some(), "forgotten after {i}");
            shard.add(key(i));
        }
        assert!(first.upgrade().is_none());
        (SHARED.kept + 1..4 * SHARED.kept).for_each(|i| _ = shard.add(key(i)));
        let found = shard.held[&key(1)].upgrade().expect("somebody holds it");
        assert!(Arc::ptr_eq(&found, &held));
        assert!(shard.held.len() <= 4 * SHARED.kept && shard.recent.len() == SHARED.kept);
    }
}
