//! The one scale of quality, from a first look to the reference: what passes, files, pricers and commands are asked
//! for. Never: how a method meets it.

/// How accurately American values are computed, ascending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quality {
    /// A first look: enough to find forwards and volatilities, so that the tables of the next pass are built where they
    /// will be read.
    Coarse,
    /// At once, without tables: about 1e-4 of a price.
    Preliminary,
    /// From tables that serve a range of strikes and volatilities: within the bounds of golden/tolerances.csv.
    #[default]
    Full,
    /// The finest: tables for one contract, some hundred times as dear.
    Reference,
}

impl Quality {
    /// Every quality.
    pub const ALL: [Self; 4] = [Self::Coarse, Self::Preliminary, Self::Full, Self::Reference];

    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Coarse => "coarse",
            Self::Preliminary => "preliminary",
            Self::Full => "full",
            Self::Reference => "reference",
        }
    }

    /// True if values are final; false: those of a pass that a better one follows.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Full | Self::Reference)
    }
}
