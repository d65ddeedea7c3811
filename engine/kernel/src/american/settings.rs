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
    /// Standard deviations at which deviates are cut off: e^(−38²/2) is 1e-314, the last digits of a double.
    pub(super) deviate: f64,
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
    deviate: 38.0,
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
        /// Greatest move of the borrow rate as a part of the greater rate.
        reach_most: f64 = 0.3, "of the greater rate", Bounded("moved_boundaries_agree_with_fresh_ones");
        /// Greatest move of the borrow rate as a part of its distance from r, where B(0+) has a kink.
        reach_to_kink: f64 = 0.2, "of |r − b|", Bounded("moved_boundaries_agree_with_fresh_ones");
        /// Move of the borrow rate that is allowed at the kink r = b.
        reach_at_kink: f64 = 0.005, "of the greater rate", Bounded("moved_boundaries_agree_with_fresh_ones");
        /// Standard deviations from the strike at which a call's premium is below 1e-7 of the stock.
        far: f64 = 4.0, "standard deviations", Judgement("the normal probability beyond is 3e-5, times what a boundary so far off can earn");
        /// Part of its range by which a table also serves rates beyond either end, so that noise about an end does not
        /// build tables in turn.
        beyond: f64 = 0.2, "of the range", Bounded("moved_boundaries_agree_with_fresh_ones");
        /// Greatest move of the rate from where the boundary was solved.
        rate_part: f64 = 5e-3, "of the greater rate", Bounded("moved_boundaries_agree_with_fresh_ones");
    }

    /// Rules over the time in which exercise earns, for any spot: without dividends and in the recursion.
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
        /// A drift over the life above this is great: the spot drifts across the boundary, and the integrand is a step.
        drift: f64 = 4.0, "standard deviations", Bounded("a_boundary_that_settles_early_in_a_long_life_is_still_resolved");
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

    /// Reference values with dividends: steps of differences of recursions (`reference.rs`). Larger ones leave higher
    /// orders, smaller ones the noise of the recursion.
    REFERENCE: ReferenceValueSettings {
        /// Step of σ, for differences over seven points.
        sigma_step: f64 = 0.012, "of σ", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Upper bound of the step of K.
        strike_step: f64 = 4e-3, "of K", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Step of K in deviations of ln X until the next ex-date.
        strike_deviation: f64 = 0.2, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Lower bound of the step of K.
        strike_least: f64 = 5e-4, "of K", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Step of r and b.
        rate_step: f64 = 2e-4, "per year", Bounded("the_accurate_scheme_meets_its_bounds");
    }

    /// The recursion over ex-dates (`recursion/mod.rs`, `recursion/option.rs`, `recursion/interval.rs`).
    RECURSION: RecursionSettings {
        /// A spot integrates along the boundary of a put's next interval by its own distance where the ex-date is
        /// nearer than this; else at the moments that all earlier values share.
        next_near: f64 = 0.1, "of the next interval", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Deviations of the remaining life that a premium is tabulated beyond the strike and every later boundary.
        domain: f64 = 7.5, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Distance in ln X that is added to `domain`, for low volatilities.
        domain_extra: f64 = 0.2, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Boundaries that lie further than this from the strike in ln X count as none; see `far_deviations`.
        far: f64 = 3.0, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Deviations of ln X over the whole life that are added to `far`.
        far_deviations: f64 = 8.0, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Points of the search for a call's exercise region right before an ex-date. Fewer may miss a short region.
        scan: usize = 60, "1", Bounded("values_exceed_payoff_and_european_value");
        /// The search begins this many deviations below a strike that the dividends exceed.
        scan_deviations: f64 = 8.0, "standard deviations", Judgement("as far as boundaries count");
        /// Distance in ln X that is added to `scan_deviations`.
        scan_extra: f64 = 2.0, "1", Judgement("as far as boundaries count, at low volatility");
        /// Step of ln X in which the slope of a gain is taken at the end of the domain.
        slope_step: f64 = 1e-3, "1", Judgement("the gain is a line in X there, so that the step hardly matters");
        /// ln X that stands for no lower limit.
        bottom: f64 = -50.0, "1", Judgement("1e-22 of a unit of currency");
        /// Lower bound of X where only its logarithm is needed.
        spot_least: f64 = 1e-9, "currency per share", Judgement("no stock trades there");
        /// Lower bound of the strike less the dividend on the day of expiry.
        strike_least: f64 = 1e-9, "of the strike", Judgement("a call with such a strike is the stock");
    }

    /// Collocation of a boundary of the recursion (`recursion/collocation.rs`, `recursion/rules.rs`,
    /// `recursion/stretch.rs`).
    COLLOCATION: CollocationSettings {
        /// Points of a boundary. The cost grows with the square.
        points: usize = 18, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Nodes of the flow from each point. The cost grows in proportion.
        inner: usize = 32, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Most nodes of a Gauss rule that is kept.
        most_nodes: usize = 64, "1", Judgement("above the most that any quadrature of the recursion takes");
        /// Distance in η between the samples of a boundary beyond its last point.
        tail_step: f64 = 0.4, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Steps of `tail_step` after which the quadratic through the samples becomes a line.
        tail_bends: f64 = 3.0, "steps", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// η² beyond which the rest of a stretch counts as nothing, seen from a point within it.
        last_eta2: f64 = 21.0, "1", Measured("e^−21 is 8e-10");
        /// ξ from which nodes spread out, where the boundary approaches an end.
        nearest: f64 = 1.5, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// ξ from which nodes spread out, where the boundary runs away slowest. It halves from one class of pace to the
        /// next.
        nearest_open: f64 = 1.2, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Classes of pace.
        paces: usize = 8, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Lower bound of a pace.
        pace_least: f64 = 1e-9, "1", Judgement("below the last class, so that its logarithm is finite");
        /// Lower bound of the pace in λ, the weight of smooth pasting.
        lambda_least: f64 = 0.02, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Classes of distance of a spot from the boundary, each half as far as the one before.
        distances: usize = 8, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Most steps of Newton's method.
        most_steps: usize = 25, "1", Measured("the median is 6, 99 of 100 take 17");
        /// A largest step of ln B below this ends the iteration.
        converged: f64 = 1e-11, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// A largest step of ln B below this ends the iteration once steps no longer shrink.
        stalled: f64 = 1e-8, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Steps that exceed this part of the one before no longer shrink.
        shrinks: f64 = 0.5, "1", Judgement("Newton's method squares its error");
        /// A stretch is solved if its last step was below this.
        solved_step: f64 = 1e-6, "1", Judgement("the error of values is of second order in it");
        /// A stretch is also solved if its equations hold to this.
        solved_residual: f64 = 1e-9, "of the strike", Judgement("a hundredth of the error aimed at");
        /// A boundary whose last step exceeded this is replaced by its start.
        kept_step: f64 = 1e-4, "of the greatest step", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// The greatest step of ln B.
        longest: f64 = 0.5, "of the deviation over the stretch", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// A step is taken back if the residual of the equations grows by this factor.
        worse: f64 = 1.5, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// No step is taken back while the residual is below this.
        worse_least: f64 = 1e-12, "of the strike", Judgement("rounding goes up and down");
        /// A shorter step is not taken back.
        taken_back_least: f64 = 1e-9, "1", Judgement("a hundred times the step that ends the iteration");
        /// Part of a step that remains when it is taken back.
        taken_back: f64 = 0.4, "of the step", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Part of the distance to a limit that a step across it leaves.
        limit_left: f64 = 0.1, "of the way", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// A call's boundary that starts below this stays where it is.
        pinned_below: f64 = 0.1, "of the strike", Judgement("dividends exceed the strike, and exercise is certain");
        /// A Taylor series extrapolates the value of holding over at most this.
        carried: f64 = 0.08, "of its deviation", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Nodes of a solved stretch that earlier values sum over.
        fixed_nodes: usize = 24, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// η of the last of the `fixed_nodes`.
        fixed_eta: f64 = 4.4, "1", Measured("e^(−4.4²) is 4e-9");
        /// A reach that falls short of its class by less belongs to the class.
        same_reach: f64 = 1e-9, "1", Judgement("rounding of η");
    }

    /// Start of the iteration for a boundary (`recursion/start.rs`).
    START: StartSettings {
        /// Points of the coarse boundary.
        points: usize = 8, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Nodes of the flow from each coarse point.
        nodes: usize = 16, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// η of the last of the `nodes`.
        eta: f64 = 3.6, "1", Measured("e^(−3.6²) is 2e-6");
        /// Upper bound of a pace in the part of the flow that a moving boundary earns.
        pace_most: f64 = 3.0, "1", Measured("the share is 0.41 there, ½ of a boundary at rest");
        /// Lower bound of a pace in the part of the flow that a moving boundary earns.
        pace_least: f64 = 1e-6, "1", Judgement("the share is its square over 2");
        /// A boundary counts as at rest if 1/pace is below this.
        at_rest: f64 = 1e-3, "1", Judgement("the share is ½ to this");
        /// First step down in the search from the top of a region.
        down: f64 = 0.02, "of the deviation", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Lower bound of the first step down.
        down_least: f64 = 1e-4, "of σ·√year", Judgement("next to the end of an interval the deviation vanishes");
        /// Factor from one step down to the next.
        down_grows: f64 = 1.5, "1", Judgement("fifty times the first after ten steps");
        /// The search for a lower boundary with a flow begins this far below the root without it.
        below: f64 = 0.5, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// A root without a flow bounds the root with it from above, up to this.
        above: f64 = 1e-12, "1", Judgement("rounding of the root");
        /// Tolerance of a bracketed root in ln X.
        found: f64 = 1e-12, "1", Judgement("far below what a start must meet; a search ends there");
        /// Most steps of the bracketed search.
        most_steps: usize = 80, "1", Judgement("halvings alone take 50");
        /// Most steps of Newton's method on a Taylor series.
        series_steps: usize = 12, "1", Judgement("Newton's method squares its error, from a tenth of a deviation");
        /// Most points about which a Taylor series is taken.
        series_points: usize = 7, "1", Judgement("each goes half a deviation");
        /// Longest step on a Taylor series.
        series_step: f64 = 0.3, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Longest step to the next point of a Taylor series.
        point_step: f64 = 0.5, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// A root without flow that is nearer to the point is read from the same series.
        near: f64 = 0.1, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// A root with flow that is nearer to the point is read from the same series.
        near_with_flow: f64 = 0.35, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// A root with flow is read from the series about the root before it, if nearer than this.
        near_again: f64 = 0.4, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// First step outwards in the search for a point of the coarse boundary.
        out: f64 = 0.25, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Lower bound of the first step outwards, where the next point is already found.
        out_least: f64 = 1e-6, "1", Judgement("a step of 0 would not move");
        /// Factor from one step outwards to the next.
        out_grows: f64 = 1.6, "1", Judgement("a hundred times the first after ten steps");
        /// Longest step outwards, in ln X.
        out_most: f64 = 6.0, "1", Judgement("boundaries further away count as none");
        /// Most steps outwards.
        out_steps: usize = 40, "1", Judgement("more than it takes to the greatest");
        /// A call's boundary is rejected if it is found further from its limit than this.
        far: f64 = 3.0, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Distance from the limit at which a rejected boundary starts.
        instead: f64 = 0.7, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Tolerance of a point of the coarse boundary.
        close: f64 = 1e-4, "standard deviations", Judgement("three digits, and one to spare");
    }

    /// Windows of exercise of puts before an ex-date (`recursion/window.rs`).
    WINDOW: WindowSettings {
        /// Windows and parts of windows that are shorter count as none.
        shortest: f64 = 1e-7, "years", Judgement("three seconds: exercise earns 1e-8 of the strike");
        /// The corner is where the value of holding exceeds the payoff by this part of the gain from exercise at X = 0.
        corner: f64 = 0.015, "of the gain", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Halvings in the search for the corner.
        corner_steps: usize = 9, "1", Judgement("the corner may lie anywhere near");
        /// Greatest −ln(time before the window closes, of its length) in the search for the corner.
        corner_most: f64 = 18.0, "1", Measured("e^−18 of a year is half a second");
        /// A corner counts as none if ln X deviates by more than this over the part after it.
        round_corner: f64 = 0.2, "standard deviations", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Where the boundary is solved beyond the corner, earlier values approximate it by the line once the window
        /// closes within so many deviations of ln X.
        cut: f64 = 0.05, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Steps of Newton's method to the boundary where a window begins to close.
        closing_steps: usize = 8, "1", Judgement("Newton's method squares its error; the line is close");
        /// Longest step to the boundary where a window begins to close.
        closing_step: f64 = 0.3, "of the deviation until the ex-date", Judgement("the value of holding bends over a deviation");
        /// A shorter step ends the search for the boundary where a window begins to close.
        closing_found: f64 = 1e-9, "1", Judgement("the error of values is of second order in it");
        /// A shorter late part is left out.
        late_part: f64 = 1e-4, "of the window", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// A shorter early part is joined to the late one.
        early_part: f64 = 0.1, "of the late part", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Least η of the last collocation point, for a part that ends at a corner or tip.
        reach_early: f64 = 1.6, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Least η of the last collocation point, for the late part.
        reach_late: f64 = 2.4, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Greatest η of the last collocation point.
        reach_most: f64 = 3.0, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Distance of the last collocation point from the end of the window.
        resolved: f64 = 0.005, "of that time", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Nodes of the lower boundary.
        lower_nodes: usize = 16, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Depth of the search for the lower boundary, below the tip.
        lower: f64 = 12.0, "ln X", Judgement("6e-6 of the tip");
        /// Depth of the search for a boundary, below its limit.
        deepest: f64 = 14.0, "ln X", Judgement("1e-6 of the limit");
        /// η at which an early part meets the late one.
        join: f64 = 4.3, "1", Measured("e^(−4.3²) of the part is left, 9e-9");
        /// Lower bound of the time from the end of a window to the ex-date, where a reach divides by it.
        gap_least: f64 = 1e-6, "years", Judgement("half a minute before an ex-date");
        /// Times at which the search for the last gain at X = 0 looks.
        gain_scan: usize = 16, "1", Bounded("values_exceed_payoff_and_european_value");
        /// Places at which the search for a region above X = 0 looks.
        tip_scan: usize = 24, "1", Bounded("values_exceed_payoff_and_european_value");
        /// Depth of the search for a region above X = 0, in deviations of ln X over the whole life.
        tip_deviations: f64 = 10.0, "standard deviations", Bounded("values_exceed_payoff_and_european_value");
        /// Distance in ln X that is added to `tip_deviations`.
        tip_extra: f64 = 1.0, "ln X", Bounded("values_exceed_payoff_and_european_value");
        /// Greatest depth of the search for a region above X = 0.
        tip_deepest: f64 = 6.0, "ln X", Judgement("0.25 % of the strike");
        /// Distance from the end of an interval at which values right before it are taken.
        before_end: f64 = 1e-9, "of the interval", Judgement("the value of holding has a kink at the end");
        /// Most steps of Newton's method to the least excess of holding over the payoff.
        least_steps: usize = 12, "1", Judgement("Newton's method squares its error");
        /// Longest step to the least excess of holding over the payoff.
        least_step: f64 = 0.5, "standard deviations", Judgement("the bend changes over a deviation");
        /// A shorter step ends the search for the least excess of holding over the payoff.
        least_found: f64 = 1e-3, "standard deviations", Judgement("the value is stationary there");
        /// Most steps of the search for the time of the tip.
        tip_steps: usize = 40, "1", Judgement("halvings alone give twelve digits");
        /// A shorter step ends the search for the time of the tip.
        tip_found: f64 = 1e-10, "of the interval", Judgement("the flow at the tip vanishes");
        /// Lower bound of the length of the interval that `tip_found` refers to.
        tip_length_least: f64 = 1e-3, "years", Judgement("eight hours of an interval");
    }

    /// Two exercise boundaries at once (`recursion/pair.rs`).
    PAIR: PairSettings {
        /// Most steps of Newton's method.
        most_steps: usize = 30, "1", Bounded("two_boundaries_agree_with_a_tree");
        /// Where the two boundaries meet after the interval begins, its length is shortened by this factor until both
        /// are found.
        shorter: f64 = 0.8, "1", Bounded("exercise_between_two_boundaries_has_values");
        /// Most attempts to solve both boundaries, each over a shorter time.
        tries: i32 = 24, "1", Measured("0.8²⁴ is half a percent of the interval");
        /// Nodes of the second boundary in earlier values.
        fixed_nodes: usize = 32, "1", Bounded("two_boundaries_agree_with_a_tree");
        /// Distance of the starts from their ends, in deviations of ln X over the time left.
        pull: f64 = 0.6, "standard deviations", Bounded("exercise_between_two_boundaries_has_values");
        /// Factor of that distance for the boundary that ends at rK/b.
        pull_far: f64 = 0.8, "1", Bounded("exercise_between_two_boundaries_has_values");
        /// Greatest distance of a start from its end, of the distance to the other boundary's end.
        start_most: f64 = 0.4, "of the distance", Judgement("below half, so that the two do not cross");
        /// Longest step, of the distance between the ends.
        step_most: f64 = 0.1, "of the distance", Judgement("the two must not cross");
        /// A step of ln B below this ends the iteration.
        converged: f64 = 1e-9, "1", Bounded("two_boundaries_agree_with_a_tree");
        /// A step of ln B below this ends the iteration once steps no longer shrink.
        stalled: f64 = 1e-5, "1", Bounded("two_boundaries_agree_with_a_tree");
        /// Steps after which `stalled` applies.
        stalled_after: usize = 4, "1", Judgement("the first steps may be damped");
        /// Steps that exceed this part of the one before no longer shrink.
        shrinks: f64 = 0.3, "1", Judgement("Newton's method squares its error");
    }

    /// The premium right before an ex-date, in the recursion (`recursion/premium.rs`).
    DATE_PREMIUM: DatePremiumSettings {
        /// Standard deviations of the kernel that a quadrature covers to either side.
        kernel: f64 = 8.0, "standard deviations", Measured("the normal probability beyond is 1e-15");
        /// Nodes of a quadrature over a narrow part of the kernel.
        fewest: f64 = 32.0, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Nodes of a quadrature over the whole kernel.
        all_of_kernel: f64 = 48.0, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Deviations of its own beyond which the European option of the other right counts as worthless.
        opposite: f64 = 8.0, "standard deviations", Measured("the normal probability beyond is 1e-15");
        /// Least number of samples of a series.
        samples: usize = 40, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Greatest number of samples: they double until the last terms are below `resolved`.
        most_samples: usize = 160, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Size of the last terms of a resolved series.
        resolved: f64 = 3e-9, "of the strike", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Terms below this are dropped.
        dropped: f64 = 1e-12, "of the strike", Judgement("a thousandth of what is resolved");
    }

    /// Premium tables: when they are read, and for how long (`premium/mod.rs`).
    TABLES: PremiumTableSettings {
        /// r may move by this before tables are built again, and b where there is no boundary to measure from. Larger
        /// makes derivatives in r and b stale, smaller builds more often.
        rate_move: f64 = 5e-4, "per year", Bounded("moved_tables_agree_with_fresh_ones");
        /// b may move by this times size^⅔·t^(−½), size being the greater of the two rates.
        b_move: f64 = 3.5e-3, "(per year)^⅓·√years", Bounded("moved_tables_agree_with_fresh_ones");
        /// Greatest move of b as a part of the greater rate.
        b_part: f64 = 0.1, "of the greater rate", Bounded("moved_tables_agree_with_fresh_ones");
        /// A premium below this counts as none. Larger drops it, smaller builds tables for nothing.
        negligible: f64 = 2.5e-7, "of the spot", Judgement("a twentieth of the price tolerance of an option far out of the money");
        /// Greatest age of a table of the premium now.
        age: f64 = 4.5 / 365.0, "years", Judgement("over a long weekend");
        /// Greatest age of a table of the premium now, of the time to the next date.
        age_part: f64 = 0.05, "of the way", Bounded("tables_serve_the_day_and_small_moves_of_the_rates");
    }

    /// From when on exercise can pay (`premium/classify.rs`).
    CLASSIFY: ClassifySettings {
        /// A put's first exercise window is ignored if it is shorter than this and than `window_part`.
        window_years: f64 = 0.012, "years", Judgement("the premium lost is below 1e-4");
        /// A put's first exercise window is ignored if it is shorter than this and than `window_years`.
        window_part: f64 = 0.4, "of the way to the ex-date", Judgement("the premium lost is below 1e-4");
        /// Deviations of ln X up to which a call's gain from borrow is computed.
        highest: f64 = 2.0, "standard deviations", Bounded("calls_with_dividends_meet_their_bounds");
        /// Upper bound of `highest` in ln X.
        highest_most: f64 = 1.5, "ln X", Bounded("calls_with_dividends_meet_their_bounds");
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
        /// Deviations by which ln(strike less dividends) may move against ln(strike) within a table of calls exercised
        /// between dates.
        front_deviations: f64 = 0.35, "standard deviations", Bounded("calls_with_dividends_meet_their_bounds");
        /// Factor by which a table of puts is fitted beyond the volatilities that it serves: third derivatives are
        /// worst at the ends.
        beyond_put: f64 = 1.1, "1", Bounded("borders_of_tables_do_not_show");
        /// Least ratio of volatilities of a table: derivatives in σ over a shorter range are noisy.
        sigma_least: f64 = 1.7, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// Greatest ratio of volatilities of a table: larger is less accurate, smaller builds more tables.
        sigma_most: f64 = 2.0, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// Deviations by which the place of the strike may move along the series of calls exercised between dates. It
        /// bounds the volatility ratio of their table.
        far_deviations: f64 = 2.5, "standard deviations", Bounded("calls_with_dividends_meet_their_bounds");
        /// Lower bound of the volatility ratio that `far_deviations` admits.
        sigma_far: f64 = 1.2, "1", Bounded("calls_with_dividends_meet_their_bounds");
    }

    /// Reading a table of a date to come (`premium/evaluate.rs`). More nodes cost in proportion, for every contract.
    EVALUATE: EvaluateSettings {
        /// Standard deviations of the integral back from an ex-date.
        window: f64 = 5.8, "standard deviations", Bounded("options_with_dividends_meet_their_bounds");
        /// Nodes of the integral back from an ex-date.
        nodes: usize = 20, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// A date nearer than this is soon: derivatives of order n divide the error by (σ√time)^n.
        soon: f64 = 0.01, "years", Bounded("values_differenced_agree_with_their_own_derivatives");
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
        points: usize = 12, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// η of the last collocation point; beyond it the boundary approaches its end.
        reach: f64 = 2.7, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// Exercise of calls over a time in which borrow is worth less is left out.
        earns_least: f64 = 6e-6, "of the stock", Measured("below 4e-6 most boundaries are lost in rounding, and tables of now in their place miss 2e-3; from 6e-6 on all are found; what is left out is below 1e-6");
        /// Nodes of the flow from each collocation point. The cost grows in proportion.
        inner: usize = 16, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// Terms of a series between two dates, up to the usual length (`DATES.usual`).
        terms: usize = 22, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// Tolerance of a call's boundary right before a date.
        found: f64 = 1e-5, "standard deviations", Judgement("premiums are of second order in it");
        /// Nodes of the flow from a date on, for a spot at any distance from the boundary.
        spot_nodes: usize = 20, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// √(time/life) from which the nodes of the flow from a date on spread out.
        spot_nearest: f64 = 0.05, "√(time/life)", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// Least ln s of the fit of the distance between a boundary and the kink at its end.
        fitted_from: f64 = -17.0, "ln s", Measured("the obstacle problem solved by its integral equation; 0.05 deviations off at most");
        /// Greatest ln s of the fit of the distance between a boundary and the kink at its end.
        fitted_to: f64 = 1.0, "ln s", Measured("the obstacle problem solved by its integral equation; 0.05 deviations off at most");
        /// Distance of the boundary above rK/b, where it does not begin at the kink.
        above_level: f64 = 0.639, "standard deviations", Measured("Wilmott, Howison and Dewynne (1995): 0.4517·√2");
        /// A cost of waiting below this counts as none.
        cost_least: f64 = 1e-6, "of the strike, per year", Judgement("its logarithm is capped by the fit");
        /// Most steps of Newton's method.
        most_steps: usize = 20, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// A shorter step ends the iteration.
        converged: f64 = 3e-4, "deviations of the time left", Judgement("Newton's method squares its error");
        /// A Taylor series extrapolates the value of holding over at most this.
        carried: f64 = 0.03, "deviations until the date", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// A boundary whose last step was longer is not found; steps that are shorter and no longer shrink are
        /// rounding.
        solved: f64 = 1e-3, "deviations of the time left", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// Deviations below the boundary beyond which exercise gains nothing.
        out_of_reach: f64 = 7.0, "standard deviations", Measured("the normal probability beyond is 1e-12");
        /// A residual of the equations below this is rounding.
        missed: f64 = 1e-12, "of the strike", Judgement("a hundred times the rounding of a difference of two values");
        /// Steps after which `stalled` and `missed_stalled` apply: where two roots meet, steps no longer shrink.
        stalled_after: usize = 7, "1", Judgement("four steps are taken as a rule");
        /// Longest last step of a boundary whose steps no longer shrink.
        stalled: f64 = 0.02, "deviations of the time left", Bounded("boundaries_of_short_windows_are_found");
        /// Greatest residual of the equations of a boundary whose steps no longer shrink.
        missed_stalled: f64 = 1e-7, "of the strike", Bounded("boundaries_of_short_windows_are_found");
        /// Cut-off of the deviates of a moment.
        deviate: f64 = 30.0, "standard deviations", Measured("with all of them, to e^−708, a window with b = 0.3 % takes 0.5 ms in place of 0.2");
        /// Exercise between dates counts as none where it begins to earn this far above the strike; see
        /// `far_deviations`.
        far: f64 = 1.2, "ln X", Judgement("few contracts lie so deep in the money");
        /// Deviations of ln X over the whole term that are added to `far`.
        far_deviations: f64 = 1.5, "standard deviations", Judgement("a spot at the strike gets there once in a million times, one that lies as deep once in ten");
    }

    /// Calls that are exercised right before ex-dates (`premium/dates.rs`).
    DATES: DateSettings {
        /// Terms of a series between two dates, of the length `usual` or less.
        terms: usize = 26, "1", Measured("with thirty weekly dividends 26 leave 4e-8 of the strike, 22 leave 7e-8");
        /// Length of a series from which its terms grow in proportion.
        usual: f64 = 9.5, "standard deviations", Judgement("4.5 below K − A, 5 above K");
        /// Nodes of the expectation of a premium.
        nodes: usize = 15, "1", Measured("20 nodes over 6 deviations would leave a tenth of the error of the terms");
        /// Standard deviations that the expectation covers to either side.
        window: f64 = 5.5, "standard deviations", Measured("20 nodes over 6 deviations would leave a tenth of the error of the terms");
        /// Standard deviations that the expectation covers with derivatives, for a spot at which exercise is near: they
        /// show what is cut off.
        window_above: f64 = 8.0, "standard deviations", Measured("the normal probability beyond is below 1e-15");
        /// Nodes that are summed side by side, since each step of a series depends on the step before; a divisor of
        /// `nodes`.
        side_by_side: usize = 3, "1", Measured("with AVX2, which has half the registers, tables with dividends take 0.85 to 0.94 of the time that five take; with AVX-512 as long");
        /// Standard deviations below K − A down to which a series reaches.
        far: f64 = 4.5, "standard deviations", Bounded("premiums_are_those_of_the_recursion");
        /// Lower bound of K − A where a series begins `far` below it.
        far_least: f64 = 0.3, "of the strike", Bounded("premiums_are_those_of_the_recursion");
        /// Standard deviations above K where a date at which nothing is exercised is cut in two.
        top: f64 = 5.0, "standard deviations", Bounded("premiums_are_those_of_the_recursion");
        /// Standard deviations above K beyond which no boundary is looked for.
        nowhere: f64 = 5.0, "standard deviations", Judgement("what exercise could gain there is below 1e-7 of K");
        /// Places at which a region that ends is looked for.
        scan: usize = 8, "1", Judgement("a region that lies between two of them is worth next to nothing");
        /// Most steps of the search for a boundary.
        steps: usize = 60, "1", Bounded("premiums_are_those_of_the_recursion");
        /// Steps after which every second one halves the bracket.
        halved_after: usize = 10, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// First step of the search for a boundary.
        first_step: f64 = 0.25, "standard deviations", Judgement("a quarter of what ln X moves by");
        /// A shorter step ends the search for a boundary.
        found: f64 = 1e-8, "standard deviations", Bounded("premiums_are_those_of_the_recursion");
        /// A region counts as endless if it reaches this far above its begin, in deviations until the date; see
        /// `endless_extra`.
        endless: f64 = 3.0, "standard deviations", Judgement("a spot leaves it in one case of a thousand");
        /// Distance in ln X that is added to `endless`.
        endless_extra: f64 = 0.1, "1", Judgement("a tenth of the spot");
        /// Step of ln X for the slope of a premium where a date is cut in two.
        slope_step: f64 = 1e-3, "standard deviations", Judgement("the premium is a line in X there");
        /// Lower bound of the length of a series.
        reach_least: f64 = 0.1, "standard deviations", Judgement("a series over nothing divides by it");
    }
    /// Sizes of a table (`premium/tabulate.rs`, `premium/table.rs`). More of anything costs in proportion.
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
        /// Bend of a boundary from which `refined_strikes` nodes do not follow it either.
        bend_hopeless: f64 = 0.1, "units of σ", Bounded("calls_with_dividends_meet_their_bounds");
        /// Bend of a put's boundary from which `refined_strikes` nodes do not follow it either.
        bend_hopeless_put: f64 = 0.06, "units of σ", Measured("golden/interest.csv: eight strikes leave a tenth of what five leave, or less");
        /// Greatest distance from the strike at which a table begins where some contracts have no boundary, in
        /// deviations of ln X over the whole life.
        anchor_deviations: f64 = 3.8, "standard deviations", Bounded("options_with_dividends_meet_their_bounds");
        /// Deviations that a series of `terms` covers; a longer one takes more in proportion.
        usual: f64 = 7.6, "standard deviations", Bounded("options_with_dividends_meet_their_bounds");
        /// Greatest length of a put's series from its boundaries on: further away no spot reaches the boundary, and the
        /// series does not resolve the effect of later dates next to the strike. The terms of a call's series grow with
        /// its length.
        covered_put: f64 = 14.0, "standard deviations", Bounded("corners_keep_price_and_delta");
        /// A table of puts without a common boundary begins at its highest boundary if that lies at least this far
        /// below the strike.
        anchor_least: f64 = 2.0, "standard deviations", Bounded("puts_whose_dividend_is_about_the_interest_keep_their_price");
        /// Last terms of a series that is only integrated are dropped where all contracts are below this.
        worth_integrating: f64 = 3e-8, "of the strike", Bounded("options_with_dividends_meet_their_bounds");
        /// Last terms of a series that is differentiated are dropped where all contracts are below this.
        worth_differentiating: f64 = 1e-9, "of the strike", Bounded("values_differenced_agree_with_their_own_derivatives");
        /// Greatest factor by which the terms of a series grow with its length.
        wider_most: f64 = 2.5, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// Factor of the terms of a series that has a boundary within it.
        more_anchored: f64 = 1.3, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// Square of the factor of the terms of a table of now, per life over the time to the next ex-date.
        more_soon: f64 = 0.3, "1", Bounded("options_with_dividends_meet_their_bounds");
    }

    /// Derivatives of a table in the rates (`premium/rates.rs`, `premium/table.rs`).
    RATES: TableRateSettings {
        /// Step of r to either side. Larger leaves more of the third order, smaller more of the error of boundaries.
        step_r: f64 = 1e-4, "per year", Bounded("puts_with_dividends_meet_their_bounds");
        /// Step of b. Larger leaves more of the second order, smaller more of the error of boundaries.
        step_b: f64 = 4e-5, "per year", Bounded("puts_with_dividends_meet_their_bounds");
        /// Most steps of Newton's method from the boundary at one rate to that at the next; two or three as a rule.
        follow_steps: usize = 4, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// A shorter step ends the search for the boundary at the next rate.
        followed: f64 = 2e-3, "deviations of the time left", Bounded("puts_with_dividends_meet_their_bounds");
        /// A put whose |b| is below this has the step `wide_step` of b, to either side.
        borrow_small: f64 = 1e-3, "per year", Bounded("puts_with_dividends_meet_their_bounds");
        /// Step of b to either side, below `borrow_small`.
        wide_step: f64 = 5e-4, "per year", Bounded("puts_with_dividends_meet_their_bounds");
        /// Volatility nodes of the derivatives.
        sigma_nodes: usize = 4, "1", Bounded("moved_tables_agree_with_fresh_ones");
        /// Strike nodes of the derivatives.
        strike_nodes: usize = 3, "1", Bounded("moved_tables_agree_with_fresh_ones");
        /// Strike nodes of the derivatives of calls that are exercised between dates: all nodes are then the lanes of
        /// one solve.
        strikes_line: usize = 2, "1", Bounded("calls_with_dividends_meet_their_bounds");
        /// Dividends above this take all nodes: they bend the derivatives along the strikes.
        collected_most: f64 = 0.08, "of the strike", Measured("beside a dividend of a sixth of the spot a line leaves a fifth of rho");
        /// Greatest move of a put's boundary, for a move of a rate by `unit_move`, where derivatives are measured from
        /// the boundary.
        boundary_moves: f64 = 0.02, "of σ√τ", Bounded("moved_tables_agree_with_fresh_ones");
        /// Greatest bend between the nodes of the move of a call's boundary, where derivatives are measured from it:
        /// the highest Chebyshev terms in ln σ and 1/K.
        boundary_bends: f64 = 0.03, "of σ√τ", Bounded("moved_tables_agree_with_fresh_ones");
        /// Last terms of a series of derivatives are dropped where all contracts are below this.
        worth: f64 = 2e-5, "of the strike, per unit of the rate", Bounded("moved_tables_agree_with_fresh_ones");
        /// Part of the table's terms that the derivatives take.
        terms: f64 = 0.75, "1", Bounded("moved_tables_agree_with_fresh_ones");
        /// Part of the table's terms that derivatives take where they are measured from a moving boundary: they have no
        /// kink.
        terms_moving: f64 = 0.5, "1", Bounded("moved_tables_agree_with_fresh_ones");
    }

    /// Boundaries that fall to 0 where a put's window closes (`premium/falling.rs`, `premium/between_dates.rs`).
    FALLING: FallingSettings {
        /// Collocation points. The cost grows with the square.
        points: usize = 10, "1", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Collocation points of the first window of a table.
        points_first: usize = 12, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// Collocation points of windows that only show how a table moves with the rates.
        points_rates: usize = 8, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// Nodes of the flow from each point. The cost grows in proportion.
        inner: usize = 16, "1", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Nodes of the flow from each point of the first window.
        inner_first: usize = 22, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// Nodes of the flow from each point of windows that only show how a table moves with the rates.
        inner_rates: usize = 12, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// √(time/life) from which the nodes of the flow from a point on spread out.
        nearest: f64 = 0.2, "√(time/life)", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Nodes of the flow from a date on.
        spot_nodes: usize = 28, "1", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Nodes of the flow from the begin of the first window on: its value is differentiated.
        spot_nodes_first: usize = 48, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// Nodes of the flow from a date on, of windows that only show how a table moves with the rates.
        spot_nodes_rates: usize = 20, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// A window shorter than this part of the wait from its end to the date does not start from another strike's
        /// boundary: Newton's method may then settle beside its own.
        near_least: f64 = 0.5, "of the wait", Bounded("boundaries_of_short_windows_are_found");
        /// Cells of η in which a boundary may turn: quadratures are dense there.
        cells: usize = 54, "1", Judgement("up to the last collocation point");
        /// Width in η of a cell.
        cell: f64 = 0.05, "1", Judgement("lanes of a block turn at places further apart");
        /// Of every so many nodes one lies behind the turn.
        behind: usize = 2, "1", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Distance in ξ that nodes reach behind the turn: the boundary falls by the square of it.
        fallen: f64 = 2.0, "1", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Most steps of Newton's method to each point of the level.
        steps: usize = 24, "1", Judgement("the next point is near; the first one may lie a few deviations off");
        /// Greatest distance of the first start below where exercise loses: the search climbs by one deviation a step.
        climb: f64 = 5.0, "deviations until the date", Bounded("boundaries_of_short_windows_are_found");
        /// Longest step towards exercise.
        step: f64 = 1.0, "ln X", Judgement("where a window closes the boundary falls by several units");
        /// A shorter step ends the search for a point of the level.
        found: f64 = 0.05, "standard deviations until the date", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Most steps of Halley's method to the shape.
        shape_steps: usize = 8, "1", Judgement("each step trebles the digits");
        /// A step times the slope below this ends the search for the shape.
        shaped: f64 = 0.02, "1", Judgement("the step after it would be a twelfth of the third power: 7e-7");
        /// A boundary is found if the residual of its equations is below this.
        missed: f64 = 1e-9, "of the strike", Bounded("premiums_of_puts_are_those_of_the_recursion");
    }

    /// The tip of a put's window with b < 0 (`premium/tip.rs`).
    TIP: TipSettings {
        /// Where −b is below this, the window is solved as with b = 0: the tip lies too low to matter.
        borrow_least: f64 = 2.5e-4, "per year", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// A window counts as none if exercise gains less in it, and nothing at X = 0.
        gain_least: f64 = 1e-5, "of the strike", Judgement("all that is lost by it");
        /// Distance of the last collocation point from the tip, of the time from the last gain at X = 0 to the date;
        /// beyond it the boundary approaches the tip.
        resolved: f64 = 0.005, "of that time", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Places below the strike at which the search for the least excess of holding over exercise looks.
        scan: usize = 10, "1", Judgement("five deviations down; the value is smooth over half of one");
        /// Distance between the places of `scan`.
        scan_step: f64 = 0.5, "deviations until the date", Judgement("five deviations down; the value is smooth over half of one");
        /// Most steps of Newton's method to the tip.
        steps: usize = 30, "1", Judgement("six as a rule");
        /// Longest step in ln X, and greatest distance from a guess.
        step: f64 = 0.5, "deviations until the date", Judgement("the bend changes over a deviation");
        /// Longest step in time.
        time_step: f64 = 0.5, "of the time until the date", Judgement("the tip may lie anywhere before the date");
        /// A shorter step in ln X ends the search for the tip, together with `found`: the value is stationary there.
        level_found: f64 = 1e-3, "deviations until the date", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// A shorter step in time ends the search for the tip, together with `level_found`.
        found: f64 = 1e-8, "of the time until the date", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Steps of Newton's method on a Taylor series.
        series_steps: usize = 6, "1", Judgement("Newton's method squares its error");
        /// A shorter step on a Taylor series ends the search for its root.
        root: f64 = 1e-3, "deviations until the date", Judgement("the step after it would be 1e-6");
        /// Longest step on a Taylor series.
        series_step: f64 = 0.25, "deviations until the date", Judgement("the bend changes over a deviation");
        /// Most places from which the explicit boundary is approximated.
        places: usize = 6, "1", Judgement("one or two as a rule");
        /// The explicit boundary is found if it lies this near to the place.
        near: f64 = 0.03, "deviations until the date", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Nodes of the lower boundary.
        lower_nodes: usize = 10, "1", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// A boundary is found if the residual of its equations is below this.
        missed: f64 = 1e-9, "of the strike", Bounded("premiums_of_puts_are_those_of_the_recursion");
    }

    /// Windows of puts (`premium/windows.rs`).
    PUT_WINDOW: PutWindowSettings {
        /// A shorter window counts as none.
        shortest: f64 = 2e-4, "years", Judgement("two hours: exercise earns 1e-5 of the strike, where X is next to nothing");
        /// Tolerance of the end of a window.
        found: f64 = 1e-13, "years", Judgement("rounding of a time");
    }

    /// The check of a table that begins at an anchor (`premium/resolution.rs`).
    RESOLUTION: ResolutionSettings {
        /// Greatest error that the check may estimate. Smaller builds more tables again, larger leaves prices off by
        /// half of it.
        resolved: f64 = 6e-4, "of the price's unit", Measured("about half of what it finds is the worst price error of a table");
        /// Error of a series at a bend, of the size of its last terms times their number.
        tail: f64 = 0.15, "1", Bounded("ordinary_tables_are_built_once_and_unresolved_ones_are_counted");
        /// Error of a tensor, of its highest term in the volatility.
        sigma_top: f64 = 0.3, "1", Bounded("ordinary_tables_are_built_once_and_unresolved_ones_are_counted");
        /// Deviations below the strike from which a put is worth the best plan fixed in advance.
        far: f64 = 3.0, "standard deviations", Bounded("what_is_hard_to_resolve_keeps_price_and_delta");
        /// Number of terms that count as the last ones.
        last: usize = 4, "1", Judgement("a term may be small by chance, four are not");
        /// Intervals along the series at whose ends the check looks.
        places: usize = 40, "1", Judgement("more than the terms of a series");
        /// Lower bound of the price's unit, as in golden/tolerances.csv.
        unit_least: f64 = 0.05, "of the spot", Judgement("the unit of every price error (golden/README.md)");
    }

    /// Exercise of calls until the date of their table (`premium/until_date.rs`).
    UNTIL_DATE: UntilDateSettings {
        /// Nodes of the integral.
        nodes: usize = 32, "1", Bounded("calls_with_dividends_meet_their_bounds");
        /// √(time/life) from which the nodes spread out.
        nearest: f64 = 0.01, "√(time/life)", Bounded("calls_with_dividends_meet_their_bounds");
    }
}

/// Strikes of the puts that approximate the gain of exercise while a window closes: distances below the boundary in
/// deviations of ln X until the ex-date. The gain from holding to the ex-date fades over about half a deviation.
pub(super) const CLOSING_STRIKES: [f64; 5] = [0.2, 0.45, 0.75, 1.15, 1.8];

/// Values of η at the last collocation point of a boundary of the recursion; a boundary with an end takes the last one.
/// They are few, so that whatever depends on them is computed once. A larger η is closer to the end of the boundary.
///
/// Bounded: `value_and_slope_are_those_of_the_payoff_at_the_boundary`
pub(super) const REACHES: [f64; 6] = [1.6, 2.0, 2.4, 2.7, 3.0, 3.2];

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
