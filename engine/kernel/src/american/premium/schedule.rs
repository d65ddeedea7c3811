//! What is solved from expiry back to the start of a table, and in which steps of time.
//! Never: a grid in space, a lane.

use super::classify::gap_before;
use crate::american::settings::{GRID, SAME};
use crate::dividends::Terms;

/// What all lanes share.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// +1 call, −1 put.
    pub(super) phi: f64,
    pub(super) terms: Terms,
    /// The date at which to stop, years from now, right after its dividend if it is an ex-date.
    pub(super) stop: f64,
    /// True if exercise between ex-dates is worth watching for.
    pub(super) continuous: bool,
}

/// Time steps from expiry back to the stop date. Problems that are compared share one.
#[derive(Clone, Debug)]
pub(super) struct Schedule(Vec<Leg>);

impl Schedule {
    /// From the last leg in time to the first.
    pub(super) fn legs(&self) -> &[Leg] {
        &self.0
    }
}

/// Steps between two dates, from the later one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) count: usize,
    /// True if it begins at expiry, and whether it ends at an ex-date to cross.
    pub(super) first: bool,
    pub(super) crosses: bool,
}

impl Problem {
    /// Expiry, the ex-dates between, the stop date: descending.
    fn dates(&self) -> Vec<f64> {
        let inside = |t: f64| t > self.stop + SAME.date && t < self.terms.t - SAME.date;
        let mut dates = vec![self.terms.t];
        dates.extend(self.terms.divs.iter().rev().map(|d| d.t).filter(|&t| inside(t)));
        dates.push(self.stop);
        dates.dedup_by(|a, b| (*a - *b).abs() < SAME.date);
        dates
    }

    /// About `steps` steps. Where puts between the two strikes begin to wait for a dividend, their boundaries come up
    /// from nothing one after the other: those moments are ends of legs.
    pub(super) fn schedule(&self, low: f64, high: f64, steps: usize) -> Schedule {
        let dates = self.dates();
        let roots: f64 = dates.windows(2).map(|w| (w[0] - w[1]).max(0.0).sqrt()).sum();
        let mut legs = Vec::new();
        for (piece, ends) in dates.windows(2).enumerate() {
            let (from, to) = (ends[0], ends[1]);
            let share = (from - to).max(0.0).sqrt() / roots;
            let count = self.steps(dates.len() - 1, (steps as f64 * share).ceil() as usize);
            let part = |from: f64, until: f64| (count as f64 * (from - until) / (ends[0] - to)).ceil() as usize;
            let mut left = (from, count);
            let inside = |turn: &f64| to + SAME.date < *turn && *turn < from - SAME.date;
            let turns = [high, low].map(|k| from - self.wait_before(from, k));
            for turn in turns.into_iter().filter(inside) {
                if left.0 - turn > SAME.date {
                    let here = part(left.0, turn).max(GRID.turn_steps);
                    legs.push(Leg { from: left.0, to: turn, count: here, first: piece == 0, crosses: false });
                    left = (turn, count.saturating_sub(here).max(GRID.rest_steps));
                }
            }
            let crosses = to > self.stop + SAME.date;
            if left.0 - to > SAME.date {
                legs.push(Leg { from: left.0, to, count: left.1, first: piece == 0, crosses });
            } else if crosses {
                legs.push(Leg { from: left.0, to, count: 0, first: piece == 0, crosses });
            }
        }
        Schedule(legs)
    }

    /// How long before the ex-date `date` a put is not exercised: there its boundary comes up from nothing.
    fn wait_before(&self, date: f64, k: f64) -> f64 {
        let here = self.terms.divs.iter().filter(|d| (d.t - date).abs() < SAME.date && date < self.terms.t);
        let amount: f64 = here.map(|d| d.amount).sum();
        if self.phi < 0.0 && amount > 0.0 { gap_before(amount, k, self.terms.r) } else { 0.0 }
    }

    /// True if this is a call that is watched for exercise between ex-dates.
    pub(super) fn watched_call(&self) -> bool {
        self.phi > 0.0 && self.continuous
    }

    /// Time steps of a piece whose share of all is `share`.
    fn steps(&self, pieces: usize, share: usize) -> usize {
        share.max(if self.watched_call() {
            GRID.watched_steps
        } else {
            (GRID.piece_steps / pieces).clamp(GRID.piece_least, GRID.piece_most)
        })
    }

    /// Dividends on the day of expiry, which a call's exercise still collects.
    pub(super) fn at_expiry(&self) -> f64 {
        let last = self.terms.divs.iter().filter(|d| (d.t - self.terms.t).abs() < SAME.date);
        if self.phi > 0.0 { last.map(|d| d.amount).sum() } else { 0.0 }
    }
}
