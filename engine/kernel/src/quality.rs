//! The scale of quality of American values, for passes, files, pricers and commands. Never: how a method meets it.

/// Accuracy of American values, ascending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quality {
    /// About 1e-4 of a price, at once: without tables.
    Preliminary,
    /// Within the bounds of golden/tolerances.csv, from tables that serve a range of strikes and volatilities.
    #[default]
    Full,
    /// The most accurate: each contract is solved alone, at some hundred times the cost.
    Reference,
}

impl Quality {
    /// Every quality.
    pub const ALL: [Self; 3] = [Self::Preliminary, Self::Full, Self::Reference];

    /// The name in options and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Preliminary => "preliminary",
            Self::Full => "full",
            Self::Reference => "reference",
        }
    }

    /// True if values are final; false if a better pass follows.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Full | Self::Reference)
    }
}
