//! Settings of early exercise. Limits of reuse stand in the table of validity too (`validity.rs`), with the errors that
//! they admit.

use kernel::settings;

settings! {
    /// Tables of an expiry, and the volatilities that they are asked for (`tables.rs`).
    TABLES: TableSettings {
        /// Tables reach this factor beyond the volatilities of the curve. Lower builds again sooner, higher builds for
        /// volatilities that no contract has.
        beyond: f64 = 1.1, "1", Judgement("a tenth: what a curve moves by in hours");
        /// Part of `beyond`, in logarithms, that must be left for tables to be kept.
        beyond_left: f64 = 0.3, "1", Judgement("bids and asks lie within 3 % of a curve where tables serve them at all");
    }

    /// Trinomial lattices: values before the tables are built, forwards of a first pass, searches (`lattice.rs`).
    LATTICE: LatticeSettings {
        /// Layers of a preliminary pass.
        preliminary: usize = 48, "layers", Test("lattices_are_good_enough_for_a_first_look");
        /// Layers of the forward of an expiry that is seen for the first time: its error is a small part of what bid
        /// and ask leave open.
        forward: usize = 60, "layers", Judgement("twice those of `search`, as all pairs share its error");
        /// Layers of a search for a volatility that expansions do not reach. Fewer are off by more than a curve would
        /// notice, more cost with their square.
        search: usize = 30, "layers", Measured("with 40 a volatility is 7e-4 of itself off at the median, 3e-3 for one in ten, against 300 layers, and half of that with 60; bid and ask of such a contract lie a third or more apart");
    }

    /// Expansions from one point (`expansion.rs`).
    EXPANSION: ExpansionSettings {
        /// The spot may move by this.
        spot: f64 = 0.005, "standard deviations", Test("carried_values_are_as_stale_as_the_table_says");
        /// A volatility may move by this.
        sigma: f64 = 0.002, "of itself", Measured("at 0.007 speed was 5e-2 stale and epsilon 1e-1, at 0.001 a steady pass took a fifth longer");
        /// The time to expiry may fall by this.
        time: f64 = 4e-4, "of itself", Test("carried_values_are_as_stale_as_the_table_says");
        /// Nearer to an expiry without dividends than this, time is a move of volatility.
        scaled: f64 = 0.02, "years", Measured("with `time` as the limit, a block in the last hours was taken again every second or every few; two in three of all blocks that a steady pass took again");
        /// Rate and borrow rate may move by this over the time to expiry.
        rates: f64 = 2e-6, "1", Test("carried_values_are_as_stale_as_the_table_says");
        /// The spot may come this part of the way to an exercise boundary, where a premium bends.
        on_the_way: f64 = 0.33, "of the distance", Test("carried_values_are_as_stale_as_the_table_says");
    }

    /// Expansions between two points in the spot. Volatility, time and rates move as from one.
    BETWEEN: BetweenSettings {
        /// The two lie so far apart.
        apart: f64 = 0.05, "standard deviations", Test("carried_values_are_as_stale_as_the_table_says");
        /// The spot may leave them by this.
        beside: f64 = 0.5, "of their distance", Test("carried_values_are_as_stale_as_the_table_says");
    }

    /// Blocks without a premium: how far until one may begin. Volatility and rates move as from one point.
    NO_PREMIUM: NoPremiumSettings {
        /// The spot may move by this.
        spot: f64 = 0.05, "standard deviations", Test("carried_values_are_as_stale_as_the_table_says");
        /// The time to expiry may fall by this.
        time: f64 = 0.01, "of itself", Test("carried_values_are_as_stale_as_the_table_says");
    }

    /// The premium at other volatilities and on the next trading day (`by_volatility.rs`).
    BY_VOLATILITY: ByVolatilitySettings {
        /// The spot may move by this.
        spot: f64 = 0.1, "standard deviations", Test("premiums_by_volatility_are_as_stale_as_the_table_says");
        /// A volatility may move by this.
        sigma: f64 = 0.02, "of itself", Test("premiums_by_volatility_are_as_stale_as_the_table_says");
        /// The time to expiry may fall by this.
        time: f64 = 0.0286, "of itself", Test("premiums_by_volatility_are_as_stale_as_the_table_says");
        /// Rate and borrow rate may move by this over the time to expiry.
        rates: f64 = 5.7e-4, "1", Test("premiums_by_volatility_are_as_stale_as_the_table_says");
    }

    /// Expansions from a lattice, which are taken again by the first full pass.
    FROM_LATTICE: FromLatticeSettings {
        /// The spot may move by this.
        spot: f64 = 0.02, "standard deviations", Test("carried_values_are_as_stale_as_the_table_says");
        /// A volatility may move by this: from the quotes of single strikes to the curve through them.
        sigma: f64 = 0.05, "of itself", Test("carried_values_are_as_stale_as_the_table_says");
        /// The time to expiry may fall by this.
        time: f64 = 0.05, "of itself", Test("carried_values_are_as_stale_as_the_table_says");
        /// Rate and borrow rate may move by this over the time to expiry.
        rates: f64 = 1e-3, "1", Test("carried_values_are_as_stale_as_the_table_says");
    }

    /// Volatilities that were searched for (`calibrate/remembered.rs`).
    SEARCHED: SearchedSettings {
        /// A volatility may move by this before it is searched again.
        sigma: f64 = 0.08, "of itself", Test("remembered_searches_are_as_stale_as_the_table_says");
        /// The spot may move by this, at the volatility found.
        spot: f64 = 0.05, "standard deviations", Test("remembered_searches_are_as_stale_as_the_table_says");
        /// The time to expiry may fall by this.
        time: f64 = 0.01, "of itself", Test("remembered_searches_are_as_stale_as_the_table_says");
        /// Unused entries are kept so long, five minutes: quotes come and go.
        kept: f64 = 1e-5, "years", Judgement("a search costs twenty valuations, an entry fifty bytes");
    }
}

/// Least and greatest volatility that is looked for, per √year. Below the least a price does not depend on it; the
/// greatest is that of an hour to expiry at a spread of a tenth of the spot.
pub const VOL: (f64, f64) = (1e-3, 20.0);

/// Greatest distance of the spot from two expansion points, standard deviations.
pub const BESIDE: f64 = BETWEEN.apart * BETWEEN.beside;
