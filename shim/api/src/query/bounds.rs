//! Filters of rights and of numbers. Never: a parameter's name.

use kernel::contract::Right;

/// Which rights a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Rights {
    /// Calls and puts.
    #[default]
    Both,
    /// Calls only.
    Call,
    /// Puts only.
    Put,
}

impl Rights {
    /// Words of the rights: `call`, `put`, `both`.
    pub const WORDS: &'static [(&'static str, Self)] =
        &[("call", Self::Call), ("put", Self::Put), ("both", Self::Both)];
    /// Letters of the rights: `C`, `P`.
    pub const LETTERS: &'static [(&'static str, Self)] = &[("C", Self::Call), ("P", Self::Put)];
    /// Words and letters of the rights.
    pub const ANY: &'static [(&'static str, Self)] =
        &[("call", Self::Call), ("put", Self::Put), ("both", Self::Both), ("c", Self::Call), ("p", Self::Put)];

    /// True if contracts of this right are wanted.
    #[must_use]
    pub fn admit(self, right: Right) -> bool {
        match self {
            Self::Both => true,
            Self::Call => right == Right::Call,
            Self::Put => right == Right::Put,
        }
    }
}

/// Bounds of a number, both inclusive; an open side is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Bounds {
    /// The least number admitted.
    pub least: Option<f64>,
    /// The greatest number admitted.
    pub most: Option<f64>,
}

impl Bounds {
    /// True if a number is within the bounds. A missing number (NaN) is within no bound.
    #[must_use]
    pub fn admit(&self, x: f64) -> bool {
        self.least.is_none_or(|least| x >= least) && self.most.is_none_or(|most| x <= most)
    }

    /// Bounds that admit one number.
    #[must_use]
    pub fn exactly(x: f64) -> Self {
        Self { least: Some(x), most: Some(x) }
    }

    /// Bounds that admit numbers above this one, and it too if `including`.
    #[must_use]
    pub fn above(x: f64, including: bool) -> Self {
        Self { least: Some(if including { x } else { x.next_up() }), most: None }
    }

    /// Bounds that admit numbers below this one, and it too if `including`.
    #[must_use]
    pub fn below(x: f64, including: bool) -> Self {
        Self { least: None, most: Some(if including { x } else { x.next_down() }) }
    }

    /// Bounds that admit what both admit.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let tighter = |a: Option<f64>, b: Option<f64>, choose: fn(f64, f64) -> f64| match (a, b) {
            (Some(a), Some(b)) => Some(choose(a, b)),
            (one, other) => one.or(other),
        };
        Self { least: tighter(self.least, other.least, f64::max), most: tighter(self.most, other.most, f64::min) }
    }
}
