//! Settings of early exercise: numbers that trade accuracy for time, with their unit, the cost of a larger or smaller
//! value, and the reason for the value. Where no reason is on record, a test is named that bounds the errors with the
//! value in use. All other numbers (caps of iterations, ends of searches, guards of divisors) are constants of their
//! formula.

use crate::dividends::SAME_DATE;
use crate::settings;

/// Tolerances of every file of the room: differences that count as none, amounts that count as nothing.
pub(super) struct Tolerances {
    /// Times nearer to each other are one, years; right before an ex-date is this much before it: 30 µs, above the
    /// rounding of a time of centuries.
    pub(super) instant: f64,
    /// Dates nearer to each other are one, years; a shorter interval between two dates is none.
    pub(super) date: f64,
    /// A gain from exercise, or a shortfall behind it, below this part of the strike is rounding.
    pub(super) no_gain: f64,
    /// A rate below this, per year, counts as 0, and its sign selects no method: 1e-7 of the strike in a hundred years.
    pub(super) no_rate: f64,
    /// Tolerance of a root in ln X, a hundred times its rounding, so that a search ends.
    pub(super) root: f64,
    /// Least divisor of a quotient that is only compared or capped.
    pub(super) divisor: f64,
    /// Least part of the strike that dividends leave, where only its logarithm is needed: such a call is the stock.
    pub(super) strike_left: f64,
}

/// The tolerances in use.
pub(super) const SAME: Tolerances = Tolerances {
    instant: 1e-12,
    date: SAME_DATE,
    no_gain: 1e-13,
    no_rate: 1e-9,
    root: 1e-13,
    divisor: 1e-300,
    strike_left: 1e-3,
};

settings! {
    /// Classes of options, among them those that are never worth exercising early (`pays.rs`).
    CLASSES: ClassSettings {
        /// A premium below this counts as none. Larger drops prices, smaller builds boundaries for nothing.
        negligible: f64 = 1e-7, "of the strike (put), the stock (call)", Judgement("a fiftieth of the price tolerance");
        /// Loss that a call may suffer by exercise now or at expiry only, when the pricer is chosen.
        lost: f64 = 5e-6, "of the value", Judgement("borrow implied from quotes is noise about 0 for most names, which must not build tables");
        /// Loss that a call may suffer by exercise now or at expiry only, while the pricer is kept. It exceeds `lost`,
        /// so that noise about `lost` does not rebuild pricers in turn.
        lost_kept: f64 = 2e-5, "of the value", Judgement("four times what the choice admits");
    }

    /// The exercise boundary without dividends (`boundary.rs`).
    BOUNDARY: BoundarySettings {
        /// Collocation points, not counting the one at expiry. The cost grows with the third power.
        points: usize = 12, "1", Bounded("american_values_without_dividends_meet_their_bounds");
        /// Nodes of the inner quadrature of a point. The cost grows in proportion.
        inner: usize = 20, "1", Bounded("american_values_without_dividends_meet_their_bounds");
        /// Collocation points with `Quality::Reference`.
        points_accurate: usize = 16, "1", Bounded("accurate_american_values_without_dividends_meet_their_bounds");
        /// Nodes of the inner quadrature with `Quality::Reference`.
        inner_accurate: usize = 32, "1", Bounded("accurate_american_values_without_dividends_meet_their_bounds");
        /// Greatest ratio of volatilities that one table spans with eight nodes. Larger is less accurate.
        sigma_ratio: f64 = 2.5, "1", Bounded("american_values_without_dividends_meet_their_bounds");
        /// Greatest ratio of volatilities that one table spans with `Quality::Reference`.
        sigma_ratio_accurate: f64 = 1.6, "1", Bounded("accurate_american_values_without_dividends_meet_their_bounds");
        /// The borrow rate may move by this times size^⅔·t^(−⅓), where size is the greater of the two rates. The error
        /// of a cubic is of fourth order in the move over the rate, times rate and time. Smaller solves more often.
        reach: f64 = 0.0215, "(per year)^⅓·years^⅓", Bounded("moved_boundaries_agree_with_fresh_ones");
    }

    /// Rules over the time in which exercise earns, for any spot.
    SPOT_NODES: SpotNodeSettings {
        /// √(−ln(part of the life left)) at the last node. The rule leaves out a part e^(−last²) of the time.
        last: f64 = 4.6, "1", Measured("e^(−4.6²) is 6e-10");
        /// √(time/life) from which nodes spread out, for a spot a deviation or more from the boundary. It halves from
        /// one class of distance to the next.
        nearest: f64 = 0.5, "√(time/life)", Bounded("american_values_without_dividends_meet_their_bounds");
    }

    /// Kim's integral without dividends (`integral.rs`).
    INTEGRAL: IntegralSettings {
        /// Nodes of the quadrature. The cost grows in proportion, for every contract of every pass.
        nodes: usize = 24, "1", Bounded("american_values_without_dividends_meet_their_bounds");
        /// Nodes of the quadrature with `Quality::Reference`.
        nodes_accurate: usize = 64, "1", Bounded("accurate_american_values_without_dividends_meet_their_bounds");
        /// Nodes that each nearer class of distance adds.
        more_close: usize = 3, "1", Bounded("values_meet_at_the_exercise_boundary");
        /// Factor of the number of nodes where the drift is great.
        more_drift: usize = 3, "1", Bounded("a_boundary_that_settles_early_in_a_long_life_is_still_resolved");
    }

    /// American options without dividends (`no_dividends.rs`).
    NO_DIVIDENDS: NoDividendSettings {
        /// Part of the time to expiry that must be left: the nodes of a boundary lie densest next to expiry.
        age: f64 = 0.5, "of the time to expiry", Bounded("moved_boundaries_agree_with_fresh_ones");
    }

    /// Boundaries that names share (`shared.rs`). Wider cells are solved less often, and serve their edges worse.
    SHARED: SharedSettings {
        /// Width of a cell of time. A boundary serves every time up to the later end of its cell.
        time_cell: f64 = 0.02, "of the time", Bounded("every_cell_serves_its_terms");
        /// Width of a cell of the rate. It may be narrow: all names share the curve.
        rate_cell: f64 = 1e-4, "of the rate", Bounded("every_cell_serves_its_terms");
        /// Width of a cell of the borrow rate. The error of the cubic in derivatives grows with its third power.
        borrow_part: f64 = 0.25, "of the reach of a boundary", Bounded("american_values_without_dividends_do_not_jump");
        /// Ratio of the ends of a cell of the borrow rate, where the reach is a part of the rate itself.
        borrow_ratio: f64 = 1.12, "1", Bounded("american_values_without_dividends_do_not_jump");
        /// Ratio of the ends of a cell of volatility.
        sigma_cell: f64 = 1.8, "1", Judgement("narrow enough that ultima does not jump at their ends");
        /// Boundaries that each shard keeps without a holder: the latest ones.
        kept: usize = 256, "1", Measured("a batch of 335 recorded names takes 0.83 of the time for it, and 7 to 15 MB more");
    }

    /// Premium tables: when they are read, and for how long (`premium/mod.rs`).
    TABLES: PremiumTableSettings {
        /// r may move by this before tables are built again, and b where there is no boundary to measure from. Larger
        /// makes derivatives in r and b stale, smaller builds more often.
        rate_move: f64 = 5e-4, "per year", Bounded("moved_tables_agree_with_fresh_ones");
        /// b may move by this times size^⅔·t^(−½), size being the greater of the two rates.
        b_move: f64 = 3.5e-3, "(per year)^⅓·√years", Bounded("moved_tables_agree_with_fresh_ones");
        /// A premium below this counts as none. Larger drops it, smaller builds tables for nothing.
        negligible: f64 = 2.5e-7, "of the spot", Judgement("a twentieth of the price tolerance of an option far out of the money");
        /// Greatest age of a table of the premium now.
        age: f64 = 4.5 / 365.0, "years", Judgement("over a long weekend");
    }

    /// Layout of tables (`premium/layout.rs`).
    LAYOUT: LayoutSettings {
        /// Least ratio of the strikes of a table: derivatives over fewer are noisy.
        strikes_least: f64 = 1.1, "1", Bounded("borders_of_tables_do_not_show");
        /// Logarithm of the strike ratio that a table of calls exercised at dates only may span, where it exceeds σ√t.
        /// A narrow tile is more often exercised once, or never; a wide one is built less often.
        strikes_call: f64 = 0.18, "1", Bounded("calls_with_dividends_meet_their_bounds");
        /// Logarithm of the strike ratio that a table of puts, or of calls exercised between dates, may span where it
        /// exceeds σ√t.
        strikes_wide: f64 = 0.36, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// Least ratio of volatilities of a table: derivatives in σ over a shorter range are noisy.
        sigma_least: f64 = 1.7, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// Greatest ratio of volatilities of a table: larger is less accurate, smaller builds more tables.
        sigma_most: f64 = 2.0, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// Lower bound of the volatility ratio of a table whose strike moves far along its series.
        sigma_far: f64 = 1.2, "1", Bounded("calls_with_dividends_meet_their_bounds");
    }

    /// Reading a table of a date to come (`premium/evaluate.rs`). More nodes cost in proportion, for every contract.
    EVALUATE: EvaluateSettings {
        /// Standard deviations of the integral back from an ex-date.
        window: f64 = 5.8, "standard deviations", Bounded("options_with_dividends_meet_their_bounds");
        /// Nodes of the integral back from an ex-date.
        nodes: usize = 20, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// Standard deviations of the integral back from an ex-date that is soon.
        window_soon: f64 = 8.4, "standard deviations", Bounded("values_differenced_agree_with_their_own_derivatives");
        /// Nodes of the integral back from an ex-date that is soon.
        nodes_soon: usize = 40, "1", Bounded("values_differenced_agree_with_their_own_derivatives");
        /// Most terms of a Chebyshev series.
        most_terms: usize = 96, "1", Bounded("what_is_hard_to_resolve_keeps_price_and_delta");
    }

    /// Calls that are exercised between dates: the boundary there (`premium/between_dates.rs`).
    BETWEEN: BetweenDatesSettings {
        /// Collocation points of a boundary. The cost grows with the square.
        points: usize = 12, "1", Bounded("premiums_between_dates_are_those_of_the_reference");
        /// η of the last collocation point; beyond it the boundary approaches its end.
        reach: f64 = 2.7, "1", Bounded("premiums_between_dates_are_those_of_the_reference");
        /// Exercise of calls over a time in which borrow is worth less is left out.
        earns_least: f64 = 6e-6, "of the stock", Measured("below 4e-6 most boundaries are lost in rounding, and tables of now in their place miss 2e-3; from 6e-6 on all are found; what is left out is below 1e-6");
        /// Nodes of the flow from each collocation point. The cost grows in proportion.
        inner: usize = 16, "1", Bounded("premiums_between_dates_are_those_of_the_reference");
        /// Collocation points of a later period: no table reads its boundary, and its flow is smoothed until then.
        points_later: usize = 8, "1", Measured("7 leave seven times the error at a borrow of 4 %, 12 no less; tables of weekly payers take 0.6 of the time");
        /// Nodes of the flow from each point of a later period.
        inner_later: usize = 12, "1", Measured("16 leave as much");
        /// Nodes of the flow of a later period from a date on.
        spot_nodes_later: usize = 18, "1", Measured("16 leave twice the error with quarterly dividends, 12 thirty times");
        /// Terms of a series between two dates, up to the usual length (`DATES.usual`).
        terms: usize = 22, "1", Bounded("premiums_between_dates_are_those_of_the_reference");
        /// Nodes of the flow from a date on, for a spot at any distance from the boundary.
        spot_nodes: usize = 20, "1", Bounded("premiums_between_dates_are_those_of_the_reference");
        /// √(time/life) from which the nodes of the flow from a date on spread out.
        spot_nearest: f64 = 0.05, "√(time/life)", Bounded("premiums_between_dates_are_those_of_the_reference");
    }

    /// Calls that are exercised right before ex-dates (`premium/dates.rs`).
    DATES: DateSettings {
        /// Terms of a series between two dates, of a usual length or less.
        terms: usize = 26, "1", Measured("with thirty weekly dividends 26 leave 4e-8 of the strike, 22 leave 7e-8");
        /// Nodes of the expectation of a premium.
        nodes: usize = 15, "1", Measured("20 nodes over 6 deviations would leave a tenth of the error of the terms");
        /// Standard deviations that the expectation covers to either side.
        window: f64 = 5.5, "standard deviations", Measured("20 nodes over 6 deviations would leave a tenth of the error of the terms");
        /// Standard deviations that the expectation covers with derivatives: hours before a date they show what is cut
        /// off.
        window_above: f64 = 6.5, "standard deviations", Measured("5.5 leave 1e-3 of delta, 6.2 and 8 as little as 1.6e-5");
        /// Nodes that are summed side by side, since each step of a series depends on the step before; a divisor of
        /// `nodes`.
        side_by_side: usize = 3, "1", Measured("with AVX2, which has half the registers, tables with dividends take 0.85 to 0.94 of the time that five take; with AVX-512 as long");
    }
    /// Sizes of a table (`premium/table.rs`). More of anything costs in proportion.
    SIZES: SizeSettings {
        /// Terms of the Chebyshev series.
        terms: usize = 32, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// Volatility nodes, whatever the quality.
        sigma_nodes: usize = 6, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// A wider strike range takes one more node.
        wide_range: f64 = 1.21, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// Strike nodes of a table that fewer did not resolve.
        refined_strikes: usize = 8, "1", Bounded("what_is_hard_to_resolve_keeps_price_and_delta");
        /// Strike nodes of calls that are exercised at dates only.
        strikes_at_dates: usize = 5, "1", Measured("three strike nodes leave 6e-5 of a price");
        /// Strike nodes of calls that are exercised between dates: they cost more.
        strikes_between: usize = 4, "1", Bounded("calls_with_dividends_meet_their_bounds");
        /// Strike nodes of puts.
        strikes_put: usize = 4, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// Greatest bend of a boundary that the nodes of a table follow: its highest Chebyshev term in 1/K or ln σ.
        bend_most: f64 = 4e-3, "units of σ", Bounded("calls_with_dividends_meet_their_bounds");
        /// Greatest bend of a put's boundary that the nodes of a table follow.
        bend_most_put: f64 = 1e-3, "units of σ", Bounded("puts_whose_dividend_is_about_the_interest_keep_their_price");
        /// Greatest bend of a put's boundary that `refined_strikes` nodes follow: a table without a common boundary
        /// would miss more.
        bend_most_put_refined: f64 = 2e-3, "units of σ", Bounded("american_values_with_dividends_do_not_jump");
        /// Last terms of a series that is only integrated are dropped where all contracts are below this.
        worth_integrating: f64 = 3e-8, "of the strike", Bounded("options_with_dividends_meet_their_bounds");
        /// Last terms of a series that is differentiated are dropped where all contracts are below this.
        worth_differentiating: f64 = 1e-9, "of the strike", Bounded("values_differenced_agree_with_their_own_derivatives");
        /// Greatest factor by which the terms of a series grow with its length.
        wider_most: f64 = 2.5, "1", Bounded("options_with_dividends_meet_their_bounds");
    }

    /// Derivatives of a table in the rates (`premium/rates.rs`, `premium/table.rs`).
    RATES: TableRateSettings {
        /// Volatility nodes of the derivatives.
        sigma_nodes: usize = 4, "1", Bounded("moved_tables_agree_with_fresh_ones");
        /// Strike nodes of the derivatives.
        strike_nodes: usize = 3, "1", Bounded("moved_tables_agree_with_fresh_ones");
        /// Strike nodes of the derivatives of calls that are exercised between dates: all nodes are then the lanes of
        /// one solve.
        strikes_line: usize = 2, "1", Bounded("calls_with_dividends_meet_their_bounds");
        /// Last terms of a series of derivatives are dropped where all contracts are below this.
        worth: f64 = 2e-5, "of the strike, per unit of the rate", Bounded("moved_tables_agree_with_fresh_ones");
        /// Part of the table's terms that the derivatives take.
        terms: f64 = 0.75, "1", Bounded("moved_tables_agree_with_fresh_ones");
    }

    /// Boundaries that fall to 0 where a put's window closes (`premium/falling.rs`, `premium/between_dates.rs`).
    FALLING: FallingSettings {
        /// Collocation points. The cost grows with the square.
        points: usize = 8, "1", Measured("10 leave 0.4 to 1.0 of the error, 0.8 where it exceeds 1e-6 of the strike (borrow of 1 to 3 %); tables take 1.1 times as long");
        /// Collocation points of the first window of a table.
        points_first: usize = 12, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// Collocation points of windows that only show how a table moves with the rates.
        points_rates: usize = 8, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// Nodes of the flow from each point. The cost grows in proportion.
        inner: usize = 12, "1", Bounded("premiums_of_puts_are_those_of_the_reference");
        /// Nodes of the flow from each point of the first window.
        inner_first: usize = 16, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// Nodes of the flow from each point of windows that only show how a table moves with the rates.
        inner_rates: usize = 9, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// √(time/life) from which the nodes of the flow from a point on spread out.
        nearest: f64 = 0.2, "√(time/life)", Bounded("premiums_of_puts_are_those_of_the_reference");
        /// Nodes of the flow from a date on.
        spot_nodes: usize = 20, "1", Bounded("premiums_of_puts_are_those_of_the_reference");
        /// Nodes of the flow from the begin of the first window on: its value is differentiated.
        spot_nodes_first: usize = 40, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// Nodes of the flow from a date on, of windows that only show how a table moves with the rates.
        spot_nodes_rates: usize = 15, "1", Bounded("puts_with_dividends_meet_their_bounds");
    }

    /// The tip of a put's window with b < 0 (`premium/tip.rs`).
    TIP: TipSettings {
        /// Where −b is below this, the window is solved as with b = 0: the tip lies too low to matter.
        borrow_least: f64 = 1e-4, "per year", Measured("at 1e-4 a tip leaves 1.2e-6 of the strike and so does none; at 2e-4 none leaves four times as much, at 6e-5 a tip");
        /// Nodes of the lower boundary.
        lower_nodes: usize = 10, "1", Bounded("premiums_of_puts_are_those_of_the_reference");
    }

    /// Reference values: the solves of tables, as fine as pays (`premium/now.rs`).
    REFERENCE: FinestSettings {
        /// Collocation points of a boundary. The cost grows with the square.
        points: usize = 24, "1", Measured("20 leave twice the error next to a corner");
        /// η of the last collocation point of a boundary that approaches an end.
        reach: f64 = 3.2, "1", Measured("2.7 lose the boundaries before a corner");
        /// η of the last collocation point of a boundary that falls to 0.
        reach_falling: f64 = 3.0, "1", Measured("2.7 leave twice the error of a price, 3.2 as much");
        /// Nodes of the flow from each point. The cost grows in proportion.
        inner: usize = 32, "1", Measured("20 leave 1e-9 of the strike more, 48 no less");
        /// Nodes of the flow from a date on, for a spot at any distance from the boundary.
        spot_nodes: usize = 64, "1", Measured("96 leave as much");
        /// Terms of a series of a usual length.
        terms: usize = 100, "1", Measured("80 leave ten times the error of dual gamma where a call's region ends");
    }

    /// Exercise of calls until the date of their table (`premium/evaluate.rs`).
    UNTIL_DATE: UntilDateSettings {
        /// Nodes of the integral.
        nodes: usize = 32, "1", Bounded("calls_with_dividends_meet_their_bounds");
        /// √(time/life) from which the nodes spread out.
        nearest: f64 = 0.01, "√(time/life)", Bounded("calls_with_dividends_meet_their_bounds");
    }
}

/// Factors of λ, the weight of smooth pasting, to try where Newton's method does not converge. More values find more
/// boundaries, and cost in proportion where there is none.
///
/// Bounded: `boundaries_of_short_windows_are_found`
pub(super) const PACES: [f64; 4] = [0.3, 3.0, 0.01, 0.1];

/// Volatilities at which a table without a boundary is checked, in units of their axis. More values find more errors
/// between the nodes, and cost in proportion.
///
/// Bounded: `ordinary_tables_are_built_once_and_unresolved_ones_are_counted`
pub(super) const CHECKED_SIGMAS: [f64; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];

/// Strikes at which a table without a boundary is checked, in units of their axis.
///
/// Bounded: `ordinary_tables_are_built_once_and_unresolved_ones_are_counted`
pub(super) const CHECKED_STRIKES: [f64; 3] = [-1.0, 0.0, 1.0];

/// η² beyond which the rest of a stretch counts as nothing, seen from a point within it. e^−21 is 8e-10.
pub(super) const LAST_ETA2: f64 = 21.0;

/// ξ from which nodes spread out, where the boundary approaches an end.
pub(super) const NEAREST_TO_END: f64 = 1.5;

/// Lower bound of the pace in λ, the weight of smooth pasting.
pub(super) const LAMBDA_LEAST: f64 = 0.02;

/// Steps that exceed this part of the one before no longer shrink. Newton's method squares its error.
pub(super) const SHRINKS: f64 = 0.5;

/// Part of the distance to a limit that a step across it leaves (of the way).
pub(super) const LIMIT_LEFT: f64 = 0.1;

/// Upper bound of a pace in the part of the flow that a moving boundary earns. The share is 0.41 there, ½ of a boundary
/// at rest.
pub(super) const PACE_MOST: f64 = 3.0;

/// Tolerance of the end of a window (years). Rounding of a time.
pub(super) const WINDOW_FOUND: f64 = 1e-13;
