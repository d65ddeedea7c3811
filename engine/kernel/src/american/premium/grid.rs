//! The nodes that one solve of a pack of lanes stands on. Never: a value at a node.

use crate::lanes::Lanes;

/// The lanes' own numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid<L> {
    pub(super) k: L,
    pub(super) sigma: L,
    /// ln X at the edge where exercise pays most, and at the other.
    pub(super) edge: L,
    pub(super) far: L,
    /// Space intervals.
    pub(super) intervals: usize,
}

impl<L: Lanes> Grid<L> {
    /// From node to node, signed.
    pub(super) fn step(&self) -> L {
        (self.far - self.edge) * (1.0 / self.intervals as f64)
    }
}
