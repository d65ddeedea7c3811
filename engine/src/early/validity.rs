//! Limits of reuse of early exercise, and their cost: for each kept layer and each quantity that moves, the greatest
//! move before the layer is computed again, and the errors that this admits. Tests measure every row;
//! docs/american-errors.md shows the table. Never: a premium.

use super::settings::{BESIDE, BY_VOLATILITY, EXPANSION, FROM_LATTICE, NO_PREMIUM, SEARCHED};

/// Greatest moves of a market away from an expansion point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarketLimits {
    /// Move of the spot, standard deviations to expiry.
    pub spot: f64,
    /// Move of a volatility, parts of itself.
    pub sigma: f64,
    /// Move of the time to expiry, parts of itself.
    pub time: f64,
    /// Moves of rate and borrow rate, times the time to expiry.
    pub rates: f64,
    /// True if time counts as a move of volatility in the last days without dividends.
    pub scales: bool,
}

/// From one expansion point.
pub const ONE_POINT: MarketLimits = MarketLimits {
    spot: EXPANSION.spot,
    sigma: EXPANSION.sigma,
    time: EXPANSION.time,
    rates: EXPANSION.rates,
    scales: true,
};
/// Limits for blocks without a premium.
pub const NOTHING: MarketLimits =
    MarketLimits { spot: NO_PREMIUM.spot, time: NO_PREMIUM.time, scales: false, ..ONE_POINT };
/// The premium at other volatilities and on the next trading day.
pub const OTHER_VOLATILITIES: MarketLimits = MarketLimits {
    spot: BY_VOLATILITY.spot,
    sigma: BY_VOLATILITY.sigma,
    time: BY_VOLATILITY.time,
    rates: BY_VOLATILITY.rates,
    scales: false,
};
/// From a lattice.
pub const OF_LATTICE: MarketLimits = MarketLimits {
    spot: FROM_LATTICE.spot,
    sigma: FROM_LATTICE.sigma,
    time: FROM_LATTICE.time,
    rates: FROM_LATTICE.rates,
    scales: false,
};

/// A layer of early exercise that is kept from pass to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryLayer {
    /// The fact that a block has no premium.
    NoPremium,
    /// An expansion from one point.
    OnePoint,
    /// Expansions from two points in the spot.
    TwoPoints,
    /// An expansion from a lattice.
    FromLattice,
    /// The premium at other volatilities and on the next trading day.
    ByVolatility,
    /// A volatility that was searched for.
    Searched,
}

impl MemoryLayer {
    /// Name in the table of docs/american-errors.md.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoPremium => "no premium",
            Self::OnePoint => "one point",
            Self::TwoPoints => "two points",
            Self::FromLattice => "lattice (preliminary)",
            Self::ByVolatility => "by volatility",
            Self::Searched => "search",
        }
    }
}

/// A quantity that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The spot, standard deviations to expiry.
    Spot,
    /// The volatility, parts of itself.
    Volatility,
    /// The time to expiry, parts of itself.
    Time,
    /// The rate, times the time to expiry.
    Rate,
    /// The borrow rate, times the time to expiry.
    Borrow,
}

impl Moved {
    /// Name in the table of docs/american-errors.md, with the unit.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spot => "spot, deviations",
            Self::Volatility => "volatility, of itself",
            Self::Time => "time, of itself",
            Self::Rate => "rate × time",
            Self::Borrow => "borrow × time",
        }
    }
}

/// One row of the table: a layer is valid while one quantity has moved by no more than `most`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Validity {
    /// The layer.
    pub layer: MemoryLayer,
    /// The quantity.
    pub moved: Moved,
    /// Greatest move, in the unit of `moved`.
    pub most: f64,
    /// The values that it serves: names as in [`kernel::greeks::Greek`], `iv` an implied volatility, `next day` the
    /// premium on the next trading day.
    pub names: &'static [&'static str],
    /// The error of each that this admits, at 99 % of the contracts of the test, against tables that are built again;
    /// of a Greek as of golden/tolerances.csv, of a volatility as a part of itself, of the next day as a part of 5 % of
    /// the spot.
    pub errors: &'static [f64],
    /// The test that measures it.
    pub test: &'static str,
}

impl Validity {
    /// The error of a value that the row admits; `None`: the layer does not serve it.
    #[must_use]
    pub fn error(&self, name: &str) -> Option<f64> {
        self.names.iter().zip(self.errors).find(|(of, _)| **of == name).map(|(_, error)| *error)
    }
}

const fn carried(layer: MemoryLayer, moved: Moved, most: f64, errors: &'static [f64; 10]) -> Validity {
    let names = &["price", "delta", "gamma", "speed", "vega", "vanna", "volga", "theta", "rho", "epsilon"];
    Validity { layer, moved, most, names, errors, test: "carried_values_are_as_stale_as_the_table_says" }
}

const fn by_volatility(moved: Moved, most: f64, errors: &'static [f64; 2]) -> Validity {
    let test = "premiums_by_volatility_are_as_stale_as_the_table_says";
    Validity { layer: MemoryLayer::ByVolatility, moved, most, names: &["iv", "next day"], errors, test }
}

const fn searched(moved: Moved, most: f64, errors: &'static [f64; 1]) -> Validity {
    let test = "remembered_searches_are_as_stale_as_the_table_says";
    Validity { layer: MemoryLayer::Searched, moved, most, names: &["iv"], errors, test }
}

/// The table.
#[rustfmt::skip]
pub const TABLE: &[Validity] = {
    use MemoryLayer::{FromLattice, NoPremium, OnePoint, TwoPoints};
    use Moved::{Borrow, Rate, Spot, Time, Volatility};
    &[
        // price, delta, gamma, speed, vega, vanna, volga, theta, rho, epsilon
        carried(NoPremium, Spot, NOTHING.spot, &[1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7]),
        carried(NoPremium, Time, NOTHING.time, &[1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7]),
        carried(OnePoint, Spot, ONE_POINT.spot, &[1e-8, 1e-7, 6e-5, 3e-2, 6e-7, 9e-5, 3e-2, 3e-7, 3e-2, 3e-2]),
        carried(OnePoint, Volatility, ONE_POINT.sigma, &[1e-8, 4e-6, 5e-5, 3e-2, 2e-6, 2e-2, 2e-4, 7e-5, 2e-4, 3e-2]),
        carried(OnePoint, Time, ONE_POINT.time, &[1e-8, 1e-7, 3e-6, 3e-3, 8e-7, 8e-4, 2e-3, 2e-3, 9e-4, 7e-4]),
        carried(OnePoint, Rate, ONE_POINT.rates, &[2e-8, 3e-5, 3e-4, 5e-4, 2e-6, 5e-4, 5e-4, 7e-4, 6e-4, 8e-4]),
        carried(OnePoint, Borrow, ONE_POINT.rates, &[1e-8, 3e-5, 4e-4, 5e-4, 6e-4, 5e-4, 7e-4, 5e-4, 7e-4, 7e-4]),
        carried(TwoPoints, Spot, BESIDE, &[3e-8, 1e-7, 5e-5, 6e-3, 4e-7, 2e-4, 2e-2, 2e-6, 6e-3, 9e-3]),
        carried(TwoPoints, Volatility, ONE_POINT.sigma, &[1e-8, 1e-6, 7e-5, 2e-2, 4e-5, 3e-3, 6e-3, 2e-4, 4e-3, 6e-2]),
        carried(TwoPoints, Time, ONE_POINT.time, &[1e-8, 2e-7, 8e-6, 1e-2, 4e-6, 6e-4, 8e-3, 2e-3, 4e-3, 5e-3]),
        carried(TwoPoints, Rate, ONE_POINT.rates, &[2e-8, 3e-5, 4e-4, 5e-4, 2e-6, 5e-4, 6e-3, 7e-4, 6e-3, 6e-3]),
        carried(TwoPoints, Borrow, ONE_POINT.rates, &[1e-8, 3e-5, 4e-4, 6e-4, 9e-4, 5e-4, 6e-3, 5e-4, 6e-3, 6e-3]),
        carried(FromLattice, Spot, OF_LATTICE.spot, &[4e-4, 9e-4, 5e-3, 1e-1, 2e-2, 3e-2, 2e-1, 2e-2, 1e-1, 5e-2]),
        carried(FromLattice, Volatility, OF_LATTICE.sigma, &[2e-3, 8e-3, 2e-1, 2e0, 2e-1, 4e-1, 7e-1, 4e-1, 4e-1, 9e-1]),
        carried(FromLattice, Time, OF_LATTICE.time, &[9e-4, 5e-3, 5e-1, 2e0, 2e-1, 3e-1, 7e-1, 9e-1, 2e0, 9e-1]),
        carried(FromLattice, Rate, OF_LATTICE.rates, &[5e-4, 2e-2, 2e-1, 4e-1, 8e-2, 3e-1, 3e-1, 2e-1, 4e-1, 4e-1]),
        carried(FromLattice, Borrow, OF_LATTICE.rates, &[6e-4, 2e-2, 2e-1, 4e-1, 3e-1, 3e-1, 4e-1, 2e-1, 6e-1, 5e-1]),
        by_volatility(Spot, OTHER_VOLATILITIES.spot, &[7e-4, 2e-5]),
        by_volatility(Volatility, OTHER_VOLATILITIES.sigma, &[3e-3, 6e-6]),
        by_volatility(Time, OTHER_VOLATILITIES.time, &[1e-3, 2e-4]),
        by_volatility(Rate, OTHER_VOLATILITIES.rates, &[1e-3, 2e-4]),
        by_volatility(Borrow, OTHER_VOLATILITIES.rates, &[2e-3, 2e-4]),
        searched(Spot, SEARCHED.spot, &[6e-3]),
        searched(Volatility, SEARCHED.sigma, &[2e-2]),
        searched(Time, SEARCHED.time, &[2e-2]),
    ]
};

/// Returns the table in Markdown, as docs/american-errors.md has it.
#[must_use]
pub fn markdown() -> String {
    let mut names: Vec<&str> = Vec::new();
    for &name in TABLE.iter().flat_map(|row| row.names) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut text =
        format!("| remembered | moves by | {} |\n|---|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for row in TABLE {
        text += &format!("| {} | {} {} |", row.layer.name(), row.moved.name(), row.most);
        for name in &names {
            text += &row.error(name).map_or_else(|| " |".to_owned(), |error| format!(" {error:.0e} |"));
        }
        text.push('\n');
    }
    text
}

/// Returns the largest error of a value that any layer of a full pass admits: how stale it can be.
#[must_use]
pub fn staleness(name: &str) -> f64 {
    let full = TABLE.iter().filter(|row| row.layer != MemoryLayer::FromLattice);
    full.filter_map(|row| row.error(name)).fold(0.0, f64::max)
}
