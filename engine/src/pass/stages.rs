//! Times of the stages of a pass, by a clock that the caller gives. Never: a value.

use std::sync::atomic::{AtomicU64, Ordering};

/// A stage of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Quotes to forward, borrow and volatilities, without early exercise.
    Calibrate,
    /// Update of early exercise.
    Early,
    /// Curves.
    Surface,
    /// Values and Greeks, without early exercise.
    Price,
}

impl Stage {
    /// Every stage, in their order.
    pub const ALL: [Self; 4] = [Self::Calibrate, Self::Early, Self::Surface, Self::Price];

    /// Name of the stage in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Calibrate => "calibrate",
            Self::Early => "early_exercise",
            Self::Surface => "surface",
            Self::Price => "price",
        }
    }
}

/// Nanoseconds that threads spent in each stage, by [`Stage`].
pub type StageTimes = [u64; Stage::ALL.len()];

/// Nanoseconds of steps that run in parallel on several threads.
#[derive(Debug, Default)]
pub(super) struct SideTimes {
    /// Sum over all steps.
    steps: AtomicU64,
    /// Elapsed until the last step ended.
    wall: AtomicU64,
}

impl SideTimes {
    pub(super) fn step(&self, nanos: u64) {
        self.steps.fetch_add(nanos, Ordering::Relaxed);
    }

    pub(super) fn wall(&self, nanos: u64) {
        self.wall.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Nanoseconds of all threads in a piece of work with these steps, given its elapsed time `whole`.
    pub(super) fn spent(self, whole: u64) -> u64 {
        whole.saturating_sub(self.wall.into_inner()) + self.steps.into_inner()
    }
}
