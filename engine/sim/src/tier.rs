//! Liquidity of names, from the index to the long tail.

/// Liquidity of a name: spreads, placeholder asks, ticks, strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Cash-settled index options.
    Index,
    /// The three broad funds.
    Broad,
    /// The most active stocks and funds.
    Mega,
    /// Names with Friday weeklies.
    Weekly,
    /// Active names without weeklies.
    Monthly,
    /// The long tail.
    Tail,
}

/// The steps that prices are quoted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticks {
    /// 0.01 throughout.
    Cents,
    /// The penny programme: 0.01 below 3.00 and 0.05 from there on.
    Penny,
    /// 0.05 below 3.00 and 0.10 from there on.
    Nickel,
}

impl Tier {
    /// Tick sizes of most classes of the tier.
    pub(super) const fn ticks(self) -> Ticks {
        match self {
            Self::Broad => Ticks::Cents,
            Self::Mega | Self::Weekly => Ticks::Penny,
            Self::Index | Self::Monthly | Self::Tail => Ticks::Nickel,
        }
    }
}
