//! Settings of early exercise: what each method of the room was set to, in which unit, what a larger and a smaller
//! value cost, and what chose it. Where no record says that, the test is named which bounds the errors with the value
//! in use. Numbers of mathematics (coefficients of a formula, lanes of a register) stand beside their formula.

use crate::settings;

settings! {
    /// When two things count as the same, and when something counts as nothing: in every file of the room.
    SAME: SameSettings {
        /// Times nearer to each other are one; right before an ex-date is this much before it.
        instant: f64 = 1e-12, "years", Judgement("30 µs: above the rounding of a time of centuries, below any time between two dates");
        /// Dates nearer to each other are one; a shorter interval between two dates is none.
        date: f64 = 1e-9, "years", Judgement("30 ms: dates come in days, and their years carry rounding only");
        /// A value that exceeds the exercise value by less counts as exercised now (docs/model.md).
        exercised: f64 = 1e-9, "of the strike", Judgement("far below the error of any table, far above rounding");
        /// A gain from exercise, or a shortfall behind it, below this is none.
        no_gain: f64 = 1e-13, "of the strike", Judgement("rounding of a difference of two values of about the strike");
        /// A rate below this has no sign worth a method of its own.
        no_rate: f64 = 1e-9, "per year", Judgement("1e-7 of the strike over a hundred years");
        /// A root in ln X is found to this.
        root: f64 = 1e-13, "1", Judgement("rounding of ln X of about 5 is 1e-15; a hundred times that, so that a search ends");
        /// Least divisor where a quotient is only compared or capped afterwards.
        divisor: f64 = 1e-300, "1", Judgement("far above the least double, far below any amount or rate");
        /// Deviates are cut off here: beyond, the normal distribution is 0 or 1 and its density 0.
        deviate: f64 = 38.0, "standard deviations", Judgement("e^(−38²/2) is 1e-314, the last digits of a double");
        /// What is left of a strike after dividends, where only its logarithm is needed: at least this.
        strike_left: f64 = 1e-3, "of the strike", Judgement("a call with a strike of a thousandth is the stock");
        /// What a late exercise loses at most, in units of rate·X·σ·t^1.5: ∫√(u/2π)du from 0 to 1.
        late_loss: f64 = 0.27, "1", Measured("the integral is 0.266, rounded up to stay a bound");
    }

    /// Which options are never worth exercising early (`classes.rs`).
    CLASSES: ClassSettings {
        /// A premium below this counts as none. Larger drops prices, smaller builds boundaries for nothing.
        negligible: f64 = 1e-7, "of the strike (put), the stock (call)", Judgement("a fiftieth of the price tolerance");
        /// A call may lose this by exercise now or at expiry only, when its pricer is chosen.
        lost: f64 = 5e-6, "of the value", Judgement("borrow implied from quotes is noise about 0 for most names, which must not build tables");
        /// The same while the pricer is kept: above `lost`, so that noise about it does not build in turn.
        lost_kept: f64 = 2e-5, "of the value", Judgement("four times what the choice admits");
        /// Where exercise first earns must lie above the strike by this for the bound on the loss to hold.
        rest_least: f64 = 0.5, "of that spot", Bounded("american_values_without_dividends_meet_their_bounds");
    }

    /// The exercise boundary without dividends (`boundary.rs`).
    BOUNDARY: BoundarySettings {
        /// Collocation points, the one at expiry not counted. More cost with the third power.
        points: usize = 12, "1", Bounded("american_values_without_dividends_meet_their_bounds");
        /// Nodes of the inner quadrature of a point. More cost in proportion.
        inner: usize = 20, "1", Bounded("american_values_without_dividends_meet_their_bounds");
        /// Collocation points with `Quality::Reference`.
        points_accurate: usize = 16, "1", Bounded("accurate_american_values_without_dividends_meet_their_bounds");
        /// Nodes of the inner quadrature with `Quality::Reference`.
        inner_accurate: usize = 32, "1", Bounded("accurate_american_values_without_dividends_meet_their_bounds");
        /// The ratio of volatilities that one table spans at most, at eight nodes. Larger is less accurate.
        sigma_ratio: f64 = 2.5, "1", Bounded("american_values_without_dividends_meet_their_bounds");
        /// The same with `Quality::Reference`.
        sigma_ratio_accurate: f64 = 1.6, "1", Bounded("accurate_american_values_without_dividends_meet_their_bounds");
        /// Half of the range of ln σ at least: on a shorter one, derivatives in σ divide by almost nothing.
        sigma_half_least: f64 = 0.05, "1", Bounded("american_values_without_dividends_meet_their_bounds");
        /// Step of the one-sided difference of the equations in a rate.
        bump: f64 = 1e-6, "per year", Judgement("the root of rounding, less the size of a rate");
        /// The same is at most this part of the put's rate, which must not cross 0.
        bump_part: f64 = 0.01, "of the rate", Judgement("the equations bend over the size of the rate");
        /// Steps of Newton's method at most.
        most_steps: usize = 30, "1", Measured("4 to 10 are taken, 13 at most in golden/");
        /// A step of ln B below this ends the iteration: the next one would be about its square.
        converged: f64 = 2e-5, "of σ√t", Judgement("its square is below rounding of ln B");
        /// The part of the way to B(0+) that a step leaves at least.
        step_left: f64 = 0.1, "of the way", Bounded("boundaries_exist_for_hard_terms");
        /// A start lies at least this far below B(0+), as it does where a neighbour's boundary was carried too far.
        below_start: f64 = 1e-3, "of σ√t", Bounded("boundaries_exist_for_hard_terms");
        /// How far the borrow rate may move: this times size^⅔·t^(−⅓), size being the greater of the two rates. What a
        /// cubic leaves is of fourth order in the move over the rate, times rate and time. Smaller solves more often.
        reach: f64 = 0.0215, "(per year)^⅓·years^⅓", Bounded("moved_boundaries_agree_with_fresh_ones");
        /// The same as a part of the greater rate, at most.
        reach_most: f64 = 0.3, "of the greater rate", Bounded("moved_boundaries_agree_with_fresh_ones");
        /// The same as a part of the distance from r, where B(0+) has a kink.
        reach_to_kink: f64 = 0.2, "of |r − b|", Bounded("moved_boundaries_agree_with_fresh_ones");
        /// The same at the kink.
        reach_at_kink: f64 = 0.005, "of the greater rate", Bounded("moved_boundaries_agree_with_fresh_ones");
        /// The same at least, whatever the rates.
        reach_least: f64 = 1e-6, "per year", Judgement("an interval of no length has no cubic");
        /// The part of its width that a range next to the kink keeps beyond the middle.
        kept_at_kink: f64 = 0.05, "of the reach", Bounded("moved_boundaries_agree_with_fresh_ones");
        /// Times below this count as this, where a reach grows with a power of 1/time.
        time_least: f64 = 1e-4, "years", Judgement("an hour: any move of a rate is worth nothing then");
        /// Standard deviations from the strike at which a call's premium is below 1e-7 of the stock.
        far: f64 = 4.0, "standard deviations", Judgement("the normal probability beyond is 3e-5, times what a boundary so far off can earn");
        /// The same in ln X besides, at low volatility.
        far_extra: f64 = 0.7, "1", Bounded("american_values_without_dividends_meet_their_bounds");
        /// A table serves this fraction of its range beyond either end, so that noise about an end does not build
        /// tables in turn.
        beyond: f64 = 0.2, "of the range", Bounded("moved_boundaries_agree_with_fresh_ones");
        /// An end of the range nearer than this to its middle has nothing to add.
        no_bend: f64 = 1e-9, "of the range", Judgement("the second difference would divide by its square");
        /// The derivative in r follows from the one in b by an identity with the factor b/r: beyond this ratio it is
        /// taken the other way.
        far_above: f64 = 3.0, "1", Judgement("the factor is the loss of digits");
        /// The rate may move by this from where the boundary was solved.
        rate_part: f64 = 5e-3, "of the greater rate", Bounded("moved_boundaries_agree_with_fresh_ones");
        /// Decay times after which the boundary is the perpetual one.
        settled: f64 = 25.0, "1", Measured("e^−25 is 1e-11");
        /// The rate of that decay is at least this.
        decay_least: f64 = 1e-9, "per year", Judgement("a boundary never settles then, whatever the life");
        /// Bjerksund and Stensland's exponent exceeds 1 by this at least.
        exponent_least: f64 = 1e-6, "1", Judgement("the perpetual boundary divides by it");
        /// Their boundary rises by this from expiry to the perpetual one at least.
        rise_least: f64 = 1e-6, "of B(0+)", Judgement("its exponential divides by it");
        /// A start differs from B(0+) by this at least.
        start_least: f64 = 1e-7, "of B(0+)", Judgement("ln²(B/B(0+)) has its root there");
        /// Values of ln²(B/B(0+)) below this are 0, in a solve.
        height_least: f64 = 1e-20, "1", Judgement("a part of 1e-10 of the boundary");
        /// Values of ln²(B/B(0+))/σ² below this are 0, when a table is read: interpolation may dip there.
        height_read: f64 = 1e-12, "years", Judgement("a boundary 1e-6 deviations from its end");
    }

    /// Rules over the time in which exercise earns, for any spot: without dividends and in the recursion.
    SPOT_NODES: SpotNodeSettings {
        /// √(−ln(part of the life left)) at the last node. Smaller cuts off e^(−its square) of the time.
        last: f64 = 4.6, "1", Measured("e^(−4.6²) is 6e-10");
        /// Where nodes begin to spread out for a spot a deviation and more from the boundary, in √(time/life); each
        /// class of distance has half of that of the class before.
        nearest: f64 = 0.5, "√(time/life)", Bounded("american_values_without_dividends_meet_their_bounds");
    }

    /// Kim's integral without dividends (`integral.rs`).
    INTEGRAL: IntegralSettings {
        /// Nodes of the quadrature. More cost in proportion, for every contract of every pass.
        nodes: usize = 24, "1", Bounded("american_values_without_dividends_meet_their_bounds");
        /// The same with `Quality::Reference`.
        nodes_accurate: usize = 64, "1", Bounded("accurate_american_values_without_dividends_meet_their_bounds");
        /// Nodes that each class of distance takes besides.
        more_close: usize = 3, "1", Bounded("values_meet_at_the_exercise_boundary");
        /// How many times as many nodes a great drift takes.
        more_drift: usize = 3, "1", Bounded("a_boundary_that_settles_early_in_a_long_life_is_still_resolved");
        /// A drift over the life above this is great: a spot drifts across the boundary, and the integrand is a step.
        drift: f64 = 4.0, "standard deviations", Bounded("a_boundary_that_settles_early_in_a_long_life_is_still_resolved");
        /// Classes of distance from the boundary, each half as far as the one before. Fewer lose the spot next to it.
        distances: usize = 11, "1", Bounded("values_meet_at_the_exercise_boundary");
    }

    /// American options without dividends (`no_dividends.rs`).
    NO_DIVIDENDS: NoDividendSettings {
        /// Time to expiry may shrink to this part: the nodes of a boundary lie densest next to expiry.
        age: f64 = 0.5, "of the time to expiry", Bounded("moved_boundaries_agree_with_fresh_ones");
        /// An option this far out of the money is worth no exercise before expiry.
        far_out: f64 = 6.5, "standard deviations", Judgement("the premium there is below 1e-10 of the strike");
        /// A premium whose exercise begins later changes over this part of the deviation of ln X until then.
        wait: f64 = 2.0, "of the deviation", Bounded("values_and_slopes_are_those_of_the_recursion");
        /// Volatilities that differ by less are the same end of a table.
        same_sigma: f64 = 1e-3, "of the volatility", Judgement("ends of adjoining tables differ by rounding, neighbours by a factor");
    }

    /// Boundaries that names share (`shared.rs`). Wider cells are solved less often, and serve their edges worse.
    SHARED: SharedSettings {
        /// Cells of time; a boundary serves every time up to the later end of its cell.
        time_cell: f64 = 0.02, "of the time", Bounded("every_cell_serves_its_terms");
        /// Cells of the rate. They may be narrow: names have the curve in common.
        rate_cell: f64 = 1e-4, "of the rate", Bounded("every_cell_serves_its_terms");
        /// Cells of the borrow rate. What its cubic leaves grows with the third power of that in derivatives.
        borrow_part: f64 = 0.25, "of the reach of a boundary", Bounded("american_values_without_dividends_do_not_jump");
        /// The same, where the reach is a part of the rate itself.
        borrow_ratio: f64 = 1.12, "1", Bounded("american_values_without_dividends_do_not_jump");
        /// A borrow rate nearer to the rate than this is a cell of its own: the boundary has a kink there.
        at_kink: f64 = 0.05, "of the greater rate", Bounded("every_cell_serves_its_terms");
        /// Cells of volatility, as a ratio.
        sigma_cell: f64 = 1.8, "1", Judgement("narrow enough that ultima does not jump at their ends");
        /// The least volatility.
        sigma_least: f64 = 1e-4, "per √year", Judgement("a hundredth of a percent: the boundary is that of no volatility");
        /// Rates below this are cells of their own.
        small: f64 = 1e-4, "per year", Judgement("cells of a size of its own would never end towards 0");
        /// Boundaries kept on each shelf though nobody may hold them: the last ones made.
        kept: usize = 256, "1", Measured("a batch of 335 recorded names takes 0.83 of the time for it, and 7 to 15 MB more");
        /// Shelves, so that threads seldom wait for each other; a power of two.
        shelves: usize = 16, "1", Judgement("a few times the threads of a machine");
    }

    /// Reference values with dividends: steps of differences of recursions (`reference.rs`). Larger ones leave higher
    /// orders, smaller ones the noise of the recursion.
    REFERENCE: ReferenceValueSettings {
        /// Step of σ; seven points are taken.
        sigma_step: f64 = 0.012, "of σ", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Step of K at most.
        strike_step: f64 = 4e-3, "of K", Bounded("the_accurate_scheme_meets_its_bounds");
        /// The same in deviations of ln X until the next ex-date.
        strike_deviation: f64 = 0.2, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// The same at least.
        strike_least: f64 = 5e-4, "of K", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Step of r and b.
        rate_step: f64 = 2e-4, "per year", Bounded("the_accurate_scheme_meets_its_bounds");
        /// The same at most, for a rate that must keep its sign.
        rate_part: f64 = 0.5, "of the rate", Judgement("half way to 0");
        /// Rates nearer to 0 are 0: their difference is taken on one side.
        no_rate: f64 = 1e-7, "per year", Judgement("a step of half of it would divide rounding by it");
    }

    /// The recursion over ex-dates (`recursion/mod.rs`, `recursion/option.rs`, `recursion/interval.rs`).
    RECURSION: RecursionSettings {
        /// A spot sees the boundary of a put's next interval by its distance where the ex-date is nearer than this;
        /// else at the moments that all earlier values share.
        next_near: f64 = 0.1, "of the next interval", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Deviations of the remaining life that a premium is tabulated beyond the strike and every later boundary.
        domain: f64 = 7.5, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// The same in ln X besides, at low volatility.
        domain_extra: f64 = 0.2, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Boundaries that lie further from the strike, in ln X, count as none.
        far: f64 = 3.0, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// The same in deviations of the whole life besides.
        far_deviations: f64 = 8.0, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Points at which a call's exercise right before an ex-date is looked for. Fewer may miss a short region.
        scan: usize = 60, "1", Bounded("values_exceed_payoff_and_european_value");
        /// The search begins this many deviations below a strike that the dividends exceed.
        scan_deviations: f64 = 8.0, "standard deviations", Judgement("as far as boundaries count");
        /// The same in ln X besides.
        scan_extra: f64 = 2.0, "1", Judgement("as far as boundaries count, at low volatility");
        /// Step of ln X in which the slope of a gain is taken at the end of the domain.
        slope_step: f64 = 1e-3, "1", Judgement("the gain is a line in X there, so that the step hardly matters");
        /// ln X that stands for no limit below.
        bottom: f64 = -50.0, "1", Judgement("1e-22 of a unit of currency");
        /// X that a limit is at least, where only its logarithm is needed.
        spot_least: f64 = 1e-9, "currency per share", Judgement("no stock trades there");
        /// What a strike is at least after the dividend on the day of expiry.
        strike_least: f64 = 1e-9, "of the strike", Judgement("a call with such a strike is the stock");
    }

    /// Collocation of a boundary of the recursion (`recursion/collocation.rs`, `recursion/rules.rs`,
    /// `recursion/stretch.rs`).
    COLLOCATION: CollocationSettings {
        /// Points of a boundary. More cost with the square.
        points: usize = 18, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Nodes of the flow from a point on. More cost in proportion.
        inner: usize = 32, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Most nodes of a Gauss rule that is kept.
        most_nodes: usize = 64, "1", Judgement("above the most that any quadrature of the recursion takes");
        /// Between samples of an open end, in η.
        tail_step: f64 = 0.4, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Steps after which the quadratic through those samples is a line.
        tail_bends: f64 = 3.0, "steps", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// η² after which what is left of a stretch counts as nothing, as seen from a point within.
        last_eta2: f64 = 21.0, "1", Measured("e^−21 is 8e-10");
        /// Where nodes begin to spread out before an end that the boundary keeps.
        nearest: f64 = 1.5, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// The same where it runs away at the most; each class of pace is half of the one before.
        nearest_open: f64 = 1.2, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Classes of pace.
        paces: usize = 8, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// A pace is at least this.
        pace_least: f64 = 1e-9, "1", Judgement("below the last class, so that its logarithm is finite");
        /// The pace in λ, the factor between value and slope, is at least this.
        lambda_least: f64 = 0.02, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Classes of distance of a spot from the boundary, each half as far as the one before.
        distances: usize = 8, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Steps of Newton's method at most.
        most_steps: usize = 25, "1", Measured("the median is 6, 99 of 100 take 17");
        /// Largest step of ln B that ends the iteration.
        converged: f64 = 1e-11, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// The same when steps shrink no more.
        stalled: f64 = 1e-8, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Steps that are above this part of the one before shrink no more.
        shrinks: f64 = 0.5, "1", Judgement("Newton's method squares its error");
        /// A stretch is solved if its last step was below this.
        solved_step: f64 = 1e-6, "1", Judgement("the error of values is of second order in it");
        /// Or if its equations hold to this.
        solved_residual: f64 = 1e-9, "of the strike", Judgement("a hundredth of the error aimed at");
        /// A boundary that last moved by more is given up for its start.
        kept_step: f64 = 1e-4, "of the greatest step", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// The greatest step of ln B.
        longest: f64 = 0.5, "of the deviation over the stretch", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// A step after which the equations miss by this many times as much is taken back.
        worse: f64 = 1.5, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Unless they miss by less than this.
        worse_least: f64 = 1e-12, "of the strike", Judgement("rounding goes up and down");
        /// Or the step is shorter than this.
        taken_back_least: f64 = 1e-9, "1", Judgement("a hundred times the step that ends the iteration");
        /// What is left of a step that is taken back.
        taken_back: f64 = 0.4, "of the step", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// The part of the way to a limit that a step across it leaves.
        limit_left: f64 = 0.1, "of the way", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// A call's boundary that starts below this stays where it is.
        pinned_below: f64 = 0.1, "of the strike", Judgement("dividends exceed the strike, and exercise is certain");
        /// The value of holding is carried by its Taylor series over this.
        carried: f64 = 0.08, "of its deviation", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Nodes of a finished stretch that earlier values sum over.
        fixed_nodes: usize = 24, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Their greatest η.
        fixed_eta: f64 = 4.4, "1", Measured("e^(−4.4²) is 4e-9");
        /// A reach that falls short of its class by less is of the class.
        same_reach: f64 = 1e-9, "1", Judgement("rounding of η");
    }

    /// Where the iteration for a boundary starts (`recursion/start.rs`).
    START: StartSettings {
        /// Points of the coarse boundary.
        points: usize = 8, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Nodes of the flow from each.
        nodes: usize = 16, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Their greatest η.
        eta: f64 = 3.6, "1", Measured("e^(−3.6²) is 2e-6");
        /// The pace of a boundary is at most this, where the flow that it earns is reckoned.
        pace_most: f64 = 3.0, "1", Measured("the share is 0.41 there, ½ of a boundary at rest");
        /// And at least this.
        pace_least: f64 = 1e-6, "1", Judgement("the share is its square over 2");
        /// 1 over a pace below this is a boundary at rest.
        at_rest: f64 = 1e-3, "1", Judgement("the share is ½ to this");
        /// First step down in the search from the top of a region.
        down: f64 = 0.02, "of the deviation", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// The same at least.
        down_least: f64 = 1e-4, "of σ·√year", Judgement("next to the end of an interval the deviation vanishes");
        /// By which steps down grow.
        down_grows: f64 = 1.5, "1", Judgement("fifty times the first after ten steps");
        /// The bracket of a root with a flow, about the one without: so far below a lower boundary.
        below: f64 = 0.5, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// A root without a flow bounds the one with it to this.
        above: f64 = 1e-12, "1", Judgement("rounding of the root");
        /// A bracketed root is found to this in ln X.
        found: f64 = 1e-12, "1", Judgement("far below what a start must meet; a search ends there");
        /// Steps of that search at most.
        most_steps: usize = 80, "1", Judgement("halvings alone take 50");
        /// Steps of Newton's method on a Taylor series at most.
        series_steps: usize = 12, "1", Judgement("Newton's method squares its error, from a tenth of a deviation");
        /// Points that a Taylor series is taken about at most.
        series_points: usize = 7, "1", Judgement("each goes half a deviation");
        /// A step on a Taylor series at most.
        series_step: f64 = 0.3, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// A step to the next point at most.
        point_step: f64 = 0.5, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// A root without flow nearer to the point is read from the same series.
        near: f64 = 0.1, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// So is one with flow.
        near_with_flow: f64 = 0.35, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// And one from the series about it.
        near_again: f64 = 0.4, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// First step outwards in the search for a point of the coarse boundary.
        out: f64 = 0.25, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// The same at least, where the point after is found.
        out_least: f64 = 1e-6, "1", Judgement("a step of 0 would not move");
        /// By which steps outwards grow.
        out_grows: f64 = 1.6, "1", Judgement("a hundred times the first after ten steps");
        /// The greatest step outwards, in ln X.
        out_most: f64 = 6.0, "1", Judgement("boundaries further away count as none");
        /// Steps outwards at most.
        out_steps: usize = 40, "1", Judgement("more than it takes to the greatest");
        /// A call's boundary that is found further from its limit than this is not relied on.
        far: f64 = 3.0, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Then the start lies here.
        instead: f64 = 0.7, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// A point of the coarse boundary is found to this.
        close: f64 = 1e-4, "standard deviations", Judgement("three digits, and one to spare");
        /// Steps of false position at most.
        false_steps: usize = 14, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Every so many steps one halves the bracket.
        halves: usize = 5, "steps", Judgement("false position may keep one end");
    }

    /// Windows of exercise of puts before an ex-date (`recursion/window.rs`).
    WINDOW: WindowSettings {
        /// Windows and parts of them that are shorter count as none.
        shortest: f64 = 1e-7, "years", Judgement("three seconds: exercise earns 1e-8 of the strike");
        /// The corner is where the value of holding exceeds the payoff by this part of what exercise gains at X = 0.
        corner: f64 = 0.015, "of the gain", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Halvings in the search for the corner.
        corner_steps: usize = 9, "1", Judgement("the corner may lie anywhere near");
        /// −ln(time before the window closes, of its length) where that search begins.
        corner_most: f64 = 18.0, "1", Measured("e^−18 of a year is half a second");
        /// A corner this round is none: deviations of ln X over the part after it.
        round_corner: f64 = 0.2, "standard deviations", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Where the boundary is solved beyond the corner, earlier values see the window close along the line from when
        /// it closes within so many deviations of ln X.
        cut: f64 = 0.05, "standard deviations", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Steps of Newton's method to the boundary where a window begins to close.
        closing_steps: usize = 8, "1", Judgement("Newton's method squares its error; the line is close");
        /// The greatest of them.
        closing_step: f64 = 0.3, "of the deviation until the ex-date", Judgement("the value of holding bends over a deviation");
        /// The step that ends it.
        closing_found: f64 = 1e-9, "1", Judgement("the error of values is of second order in it");
        /// A late part that is shorter is left out.
        late_part: f64 = 1e-4, "of the window", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// An early part that is shorter is joined to the late one.
        early_part: f64 = 0.1, "of the late part", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// η of the last collocation point at least, for a part that ends at a corner or tip.
        reach_early: f64 = 1.6, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// The same for the late part.
        reach_late: f64 = 2.4, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// The same at most.
        reach_most: f64 = 3.0, "1", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// The points reach so near to the end of a window, of the time from there to the ex-date.
        resolved: f64 = 0.005, "of that time", Bounded("value_and_slope_are_those_of_the_payoff_at_the_boundary");
        /// Nodes of the lower boundary.
        lower_nodes: usize = 16, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// The lower boundary is looked for so far below the tip.
        lower: f64 = 12.0, "ln X", Judgement("6e-6 of the tip");
        /// A boundary is not looked for further below its limit.
        deepest: f64 = 14.0, "ln X", Judgement("1e-6 of the limit");
        /// η at which an early part meets the late one.
        join: f64 = 4.3, "1", Measured("e^(−4.3²) of the part is left, 9e-9");
        /// An end is at least this long before the ex-date, where a reach divides by it.
        gap_least: f64 = 1e-6, "years", Judgement("half a minute before an ex-date");
        /// Times at which the last gain at X = 0 is looked for.
        gain_scan: usize = 16, "1", Bounded("values_exceed_payoff_and_european_value");
        /// Halvings between two of them.
        gain_halvings: usize = 60, "1", Judgement("rounding of a time");
        /// Places at which a region above X = 0 is looked for.
        tip_scan: usize = 24, "1", Bounded("values_exceed_payoff_and_european_value");
        /// How far down: deviations of the whole life, in ln X.
        tip_deviations: f64 = 10.0, "standard deviations", Bounded("values_exceed_payoff_and_european_value");
        /// The same besides.
        tip_extra: f64 = 1.0, "ln X", Bounded("values_exceed_payoff_and_european_value");
        /// The same at most.
        tip_deepest: f64 = 6.0, "ln X", Judgement("0.25 % of the strike");
        /// Right before the end of an interval: this part of it.
        before_end: f64 = 1e-9, "of the interval", Judgement("the value of holding has a kink at the end");
        /// Steps of Newton's method to the least value of holding over the payoff.
        least_steps: usize = 12, "1", Judgement("Newton's method squares its error");
        /// The greatest step of that.
        least_step: f64 = 0.5, "standard deviations", Judgement("the bend changes over a deviation");
        /// The step that ends it.
        least_found: f64 = 1e-3, "standard deviations", Judgement("the value is stationary there");
        /// Steps to the time of the tip.
        tip_steps: usize = 40, "1", Judgement("halvings alone give twelve digits");
        /// The step that ends it.
        tip_found: f64 = 1e-10, "of the interval", Judgement("the flow at the tip vanishes");
        /// Which counts as this long at least.
        tip_length_least: f64 = 1e-3, "years", Judgement("eight hours of an interval");
    }

    /// Two exercise boundaries at once (`recursion/pair.rs`).
    PAIR: PairSettings {
        /// Steps of Newton's method at most.
        most_steps: usize = 30, "1", Bounded("two_boundaries_agree_with_a_tree");
        /// Where the two meet after the interval's begin, its length is shortened by this until they are found.
        shorter: f64 = 0.8, "1", Bounded("exercise_between_two_boundaries_has_values");
        /// How often at most.
        tries: i32 = 24, "1", Measured("0.8²⁴ is half a percent of the interval");
        /// Nodes of the second boundary in earlier values.
        fixed_nodes: usize = 32, "1", Bounded("two_boundaries_agree_with_a_tree");
        /// Where the starts lie, of the deviation over the time left.
        pull: f64 = 0.6, "standard deviations", Bounded("exercise_between_two_boundaries_has_values");
        /// The start of the far one, of that.
        pull_far: f64 = 0.8, "1", Bounded("exercise_between_two_boundaries_has_values");
        /// A start at most, of the way to the other one's end.
        start_most: f64 = 0.4, "of the distance", Judgement("below half, so that the two do not cross");
        /// A step at most, of the distance of the ends.
        step_most: f64 = 0.1, "of the distance", Judgement("the two must not cross");
        /// The step of ln B that ends the iteration.
        converged: f64 = 1e-9, "1", Bounded("two_boundaries_agree_with_a_tree");
        /// The same when steps shrink no more.
        stalled: f64 = 1e-5, "1", Bounded("two_boundaries_agree_with_a_tree");
        /// After this many steps.
        stalled_after: usize = 4, "1", Judgement("the first steps may be damped");
        /// Steps that are above this part of the one before shrink no more.
        shrinks: f64 = 0.3, "1", Judgement("Newton's method squares its error");
    }

    /// The premium right before an ex-date, in the recursion (`recursion/premium.rs`).
    DATE_PREMIUM: DatePremiumSettings {
        /// Standard deviations of the kernel that a quadrature covers to either side.
        kernel: f64 = 8.0, "standard deviations", Measured("the normal probability beyond is 1e-15");
        /// Nodes of a quadrature over a narrow part of the kernel.
        fewest: f64 = 32.0, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// The same over all of it.
        all_of_kernel: f64 = 48.0, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// Deviations of its own after which the European option of the other right counts as nothing.
        opposite: f64 = 8.0, "standard deviations", Measured("the normal probability beyond is 1e-15");
        /// A series is sampled at this many points first.
        samples: usize = 40, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// And at twice as many up to this, until its last terms are small.
        most_samples: usize = 160, "1", Bounded("the_accurate_scheme_meets_its_bounds");
        /// That small.
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
        /// And by this.
        b_part: f64 = 0.1, "of the greater rate", Bounded("moved_tables_agree_with_fresh_ones");
        /// How far terms shifted in time may miss the dates that the tables were built on.
        date_slack: f64 = 1e-7, "years", Judgement("three seconds: instants of one date differ by rounding of their years");
        /// Dividends that differ by less are the same.
        same_amount: f64 = 1e-9, "of the amount", Judgement("rounding of an amount");
        /// A table of a date to come is read until this long before it.
        until: f64 = 1e-6, "years", Judgement("half a minute: the deviation until then is a divisor");
        /// A premium below this counts as none. Larger drops it, smaller builds tables for nothing.
        negligible: f64 = 2.5e-7, "of the spot", Judgement("a twentieth of the price tolerance of an option far out of the money");
        /// By how much a value must fall short of a fixed plan to give way to it.
        short: f64 = 2e-5, "of the strike", Judgement("more than a table's error");
        /// The same of a table at an ex-date, which follows the best plan but for a window or two.
        short_ahead: f64 = 2e-5, "of the strike", Judgement("ten times that of a table of now");
        /// A table of the premium now may age by this.
        age: f64 = 4.5 / 365.0, "years", Judgement("over a long weekend");
        /// And by this, of the way to the next date.
        age_part: f64 = 0.05, "of the way", Bounded("tables_serve_the_day_and_small_moves_of_the_rates");
    }

    /// From when on exercise can pay (`premium/classify.rs`).
    CLASSIFY: ClassifySettings {
        /// A put's first exercise window is passed over if it is shorter than this.
        window_years: f64 = 0.012, "years", Judgement("the premium lost is below 1e-4");
        /// And than this.
        window_part: f64 = 0.4, "of the way to the ex-date", Judgement("the premium lost is below 1e-4");
        /// Strikes at which ex-dates change are one within this ratio.
        same_strike: f64 = 1.02, "1", Bounded("tiles_cover_the_bands_that_they_are_laid_for");
        /// That of a put is found this close, as a ratio.
        close: f64 = 1.001, "1", Judgement("strikes of a chain lie further apart");
        /// The interest that waiting must exceed, of itself: less, so that equality counts as worth exercising.
        interest: f64 = 0.999, "of the interest", Bounded("calls_with_dividends_meet_their_bounds");
        /// Deviations of ln X up to which a call's gain from borrow is reckoned.
        highest: f64 = 2.0, "standard deviations", Bounded("calls_with_dividends_meet_their_bounds");
        /// The same at most, in ln X.
        highest_most: f64 = 1.5, "ln X", Bounded("calls_with_dividends_meet_their_bounds");
        /// The rate is at least this, where the wait for a dividend divides by it.
        rate_least: f64 = 1e-6, "per year", Judgement("such a wait is longer than any life");
    }

    /// Where tables lie (`premium/layout.rs`).
    LAYOUT: LayoutSettings {
        /// Strikes of a table span this ratio at least: fewer would have noisy derivatives.
        strikes_least: f64 = 1.1, "1", Bounded("borders_of_tables_do_not_show");
        /// Logarithm of the strike ratio that a table of calls that are exercised at dates only spans at most where σ√t
        /// is less. A narrow tile is more often exercised once, or never; a wide one is built less often.
        strikes_call: f64 = 0.18, "1", Bounded("calls_with_dividends_meet_their_bounds");
        /// The same of puts, and of calls that are exercised between dates.
        strikes_wide: f64 = 0.36, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// A table of puts spans strikes whose first window lasts up to this many times longer than that of the lowest.
        window_grows: f64 = 1.0, "of that time", Bounded("puts_with_dividends_meet_their_bounds");
        /// Deviations by which the strike less the dividends may move against the strike within a table of such calls.
        front_deviations: f64 = 0.35, "standard deviations", Bounded("calls_with_dividends_meet_their_bounds");
        /// A table of calls is fitted this much beyond where another one takes over: wider, they do not meet the payoff
        /// at their boundary.
        beyond_call: f64 = 1.0, "1", Bounded("borders_of_tables_do_not_show");
        /// The same of puts: third derivatives are worst at the ends.
        beyond_put: f64 = 1.1, "1", Bounded("borders_of_tables_do_not_show");
        /// Least ratio of volatilities of a table: on short intervals derivatives in σ get noisy.
        sigma_least: f64 = 1.7, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// Greatest ratio of volatilities of a table: larger is less accurate, smaller builds more tables.
        sigma_most: f64 = 2.0, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// The greatest ratio of calls that are exercised between dates is such that what lies at the strike moves by
        /// so many deviations along their series.
        far_deviations: f64 = 2.5, "standard deviations", Bounded("calls_with_dividends_meet_their_bounds");
        /// It is at least this.
        sigma_far: f64 = 1.2, "1", Bounded("calls_with_dividends_meet_their_bounds");
        /// A range that exceeds a whole number of parts by less is that many.
        whole: f64 = 1e-9, "parts", Judgement("rounding of a logarithm");
    }

    /// Reading a table of a date to come (`premium/evaluate.rs`). More nodes cost in proportion, for every contract.
    EVALUATE: EvaluateSettings {
        /// Standard deviations of the integral back from an ex-date.
        window: f64 = 5.8, "standard deviations", Bounded("options_with_dividends_meet_their_bounds");
        /// Its nodes.
        nodes: usize = 20, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// A date nearer than this is soon: derivatives of order n divide the error by (σ√time)^n.
        soon: f64 = 0.01, "years", Bounded("values_differenced_agree_with_their_own_derivatives");
        /// Standard deviations then.
        window_soon: f64 = 8.4, "standard deviations", Bounded("values_differenced_agree_with_their_own_derivatives");
        /// Nodes then.
        nodes_soon: usize = 40, "1", Bounded("values_differenced_agree_with_their_own_derivatives");
        /// An integral over less counts as nothing.
        length_least: f64 = 1e-12, "units of σ", Judgement("rounding of a distance of about 1");
        /// Most terms of a Chebyshev series.
        most_terms: usize = 96, "1", Bounded("what_is_hard_to_resolve_keeps_price_and_delta");
    }

    /// Exercise at one date in closed form (`premium/exercise.rs`).
    ONE_DATE: OneDateSettings {
        /// Steps of Newton's method to the exercise point.
        steps: usize = 14, "1", Measured("from 5 on they hardly move it");
        /// Standard deviations above the strike where an exercise point is as good as none.
        nowhere: f64 = 9.0, "standard deviations", Measured("what is lost is below 1e-15 of the strike");
        /// What exercise keeps, and the put that it gives up, count as this at least.
        least: f64 = 1e-15, "of the strike", Judgement("their logarithms are compared");
        /// A slope of value less payoff below this is that of no exercise point.
        found: f64 = 1e-9, "1", Judgement("the derivatives of the point divide by it");
        /// Correlation above which the integral over the correlation loses digits.
        steep: f64 = 0.97, "1", Measured("twenty nodes leave 6e-15 there; 1e-12 above");
        /// −product of two deviates that is as good as infinite there.
        product_most: f64 = 300.0, "1", Measured("e^(300/2) is 1e65, whose square is a double");
    }

    /// Calls that are exercised between dates: the boundary there (`premium/between_dates.rs`).
    BETWEEN: BetweenDatesSettings {
        /// Collocation points of a boundary. More cost with the square.
        points: usize = 12, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// η of the last of them; beyond it the boundary approaches its end.
        reach: f64 = 2.7, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// Exercise of calls over a time in which borrow is worth less is left out.
        earns_least: f64 = 6e-6, "of the stock", Measured("below 4e-6 most boundaries are lost in rounding, and tables of now in their place miss 2e-3; from 6e-6 on all are found; what is left out is below 1e-6");
        /// Nodes of the flow from a point on. More cost in proportion.
        inner: usize = 16, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// Terms of a series between two dates, up to the usual length (`DATES.usual`).
        terms: usize = 22, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// The boundary of a date is found to this.
        found: f64 = 1e-5, "standard deviations", Judgement("premiums are of second order in it");
        /// Nodes of the flow from a date on, for a spot at any distance from the boundary.
        spot_nodes: usize = 20, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// Where they begin to spread out, in √(time/life).
        spot_nearest: f64 = 0.05, "√(time/life)", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// ln s that the distance of a boundary from the kink at its end was fitted on: from here.
        fitted_from: f64 = -17.0, "ln s", Measured("the obstacle problem solved by its integral equation; 0.05 deviations off at most");
        /// To here.
        fitted_to: f64 = 1.0, "ln s", Measured("the obstacle problem solved by its integral equation; 0.05 deviations off at most");
        /// Deviations above rK/b where the boundary lies if it does not begin at the kink.
        above_level: f64 = 0.639, "standard deviations", Measured("Wilmott, Howison and Dewynne (1995): 0.4517·√2");
        /// A cost of waiting below this is none.
        cost_least: f64 = 1e-6, "of the strike, per year", Judgement("its logarithm is capped by the fit");
        /// Steps of Newton's method at most.
        most_steps: usize = 20, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// The step that ends it.
        converged: f64 = 3e-4, "deviations of the time left", Judgement("Newton's method squares its error");
        /// The value of holding is carried so far by its Taylor series.
        carried: f64 = 0.03, "deviations until the date", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// A boundary whose last step was longer is not found; steps that are shorter and shrink no more are rounding.
        solved: f64 = 1e-3, "deviations of the time left", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// Deviations below the boundary at which there is nothing to gain.
        out_of_reach: f64 = 7.0, "standard deviations", Measured("the normal probability beyond is 1e-12");
        /// Equations that are missed by less are missed by rounding.
        missed: f64 = 1e-12, "of the strike", Judgement("a hundred times the rounding of a difference of two values");
        /// Where two roots meet, steps shrink no more. After so many, the two bounds below decide.
        stalled_after: usize = 7, "1", Judgement("four steps are taken as a rule");
        /// The longest last step of such a boundary.
        stalled: f64 = 0.02, "deviations of the time left", Bounded("boundaries_of_short_windows_are_found");
        /// The most by which its equations are missed.
        missed_stalled: f64 = 1e-7, "of the strike", Bounded("boundaries_of_short_windows_are_found");
        /// Deviates of a moment are cut off here.
        deviate: f64 = 30.0, "standard deviations", Measured("with all of them, to e^−708, a window with b = 0.3 % takes 0.5 ms in place of 0.2");
        /// Exercise between dates counts as none where it begins to earn this far above the strike.
        far: f64 = 1.2, "ln X", Judgement("few contracts lie so deep in the money");
        /// And this many deviations of the whole term further.
        far_deviations: f64 = 1.5, "standard deviations", Judgement("a spot at the strike gets there once in a million times, one that lies as deep once in ten");
    }

    /// Calls that are exercised right before ex-dates (`premium/dates.rs`).
    DATES: DateSettings {
        /// Terms of a series between two dates, up to the usual length.
        terms: usize = 26, "1", Measured("with thirty weekly dividends 26 leave 4e-8 of the strike, 22 leave 7e-8");
        /// The usual length: a longer series has more terms in proportion.
        usual: f64 = 9.5, "standard deviations", Judgement("4.5 below K − A, 5 above K");
        /// Nodes of the expectation.
        nodes: usize = 15, "1", Measured("20 nodes over 6 deviations would leave a tenth of the error of the terms");
        /// Standard deviations that it covers to either side.
        window: f64 = 5.5, "standard deviations", Measured("20 nodes over 6 deviations would leave a tenth of the error of the terms");
        /// The same with derivatives, for a spot at which exercise is near: what is cut off shows in them.
        window_above: f64 = 8.0, "standard deviations", Measured("the normal probability beyond is below 1e-15");
        /// Nodes that are summed side by side, since a series summed alone waits for its own last step; a divisor of
        /// their number.
        side_by_side: usize = 3, "1", Measured("with AVX2, which has half the registers, tables with dividends take 0.85 to 0.94 of the time that five take; with AVX-512 as long");
        /// Standard deviations below K − A down to which a series reaches.
        far: f64 = 4.5, "standard deviations", Bounded("premiums_are_those_of_the_recursion");
        /// K − A counts as this much of K at least, there.
        far_least: f64 = 0.3, "of the strike", Bounded("premiums_are_those_of_the_recursion");
        /// Standard deviations above K where a date at which nothing is exercised is cut in two.
        top: f64 = 5.0, "standard deviations", Bounded("premiums_are_those_of_the_recursion");
        /// Standard deviations above K beyond which no boundary is looked for.
        nowhere: f64 = 5.0, "standard deviations", Judgement("what exercise could gain there is below 1e-7 of K");
        /// Places at which a region that ends is looked for.
        scan: usize = 8, "1", Judgement("a region that lies between two of them is worth next to nothing");
        /// Steps of the search at most.
        steps: usize = 60, "1", Bounded("premiums_are_those_of_the_recursion");
        /// Steps after which every second one halves the bracket.
        halved_after: usize = 10, "1", Bounded("premiums_between_dates_are_those_of_the_recursion");
        /// The first of them.
        first_step: f64 = 0.25, "standard deviations", Judgement("a quarter of what ln X moves by");
        /// The step that ends it.
        found: f64 = 1e-8, "standard deviations", Bounded("premiums_are_those_of_the_recursion");
        /// A region that reaches so many deviations until the date above its begin counts as endless.
        endless: f64 = 3.0, "standard deviations", Judgement("a spot leaves it in one case of a thousand");
        /// The same in ln X besides.
        endless_extra: f64 = 0.1, "1", Judgement("a tenth of the spot");
        /// Step in which the slope of a premium is taken where a date is cut in two.
        slope_step: f64 = 1e-3, "standard deviations", Judgement("the premium is a line in X there");
        /// A series spans this at least.
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
        /// The same of calls that are exercised between dates: they cost more.
        strikes_between: usize = 4, "1", Bounded("calls_with_dividends_meet_their_bounds");
        /// The same of puts.
        strikes_put: usize = 4, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// A boundary with greater highest Chebyshev terms in 1/K or ln σ is not followed by the table's nodes.
        bend_most: f64 = 4e-3, "units of σ", Bounded("calls_with_dividends_meet_their_bounds");
        /// The same of puts.
        bend_most_put: f64 = 1e-3, "units of σ", Bounded("puts_whose_dividend_is_about_the_interest_keep_their_price");
        /// The same of puts with the strikes of `refined_strikes`: a table without a common boundary would miss more.
        bend_most_put_refined: f64 = 2e-3, "units of σ", Bounded("american_values_with_dividends_do_not_jump");
        /// A boundary whose terms are greater is not followed by the strikes of `refined_strikes` either.
        bend_hopeless: f64 = 0.1, "units of σ", Bounded("calls_with_dividends_meet_their_bounds");
        /// The same of puts.
        bend_hopeless_put: f64 = 0.06, "units of σ", Measured("golden/interest.csv: eight strikes leave a tenth of what five leave, or less");
        /// Where not all have a boundary, a table begins so far from the strike at most: of the deviation of ln X over
        /// the whole life.
        anchor_deviations: f64 = 3.8, "standard deviations", Bounded("options_with_dividends_meet_their_bounds");
        /// Deviations that a series of `terms` covers; a longer one takes more in proportion.
        usual: f64 = 7.6, "standard deviations", Bounded("options_with_dividends_meet_their_bounds");
        /// Deviations that a put's series from its boundaries on covers at most: further away nobody reaches the
        /// boundary, and the series does not resolve what later dates leave close to the strike. A call's may be as
        /// long as its terms grow with it.
        covered_put: f64 = 14.0, "standard deviations", Bounded("corners_keep_price_and_delta");
        /// A table of such puts begins at its highest boundary where that lies so far below the strike at least.
        anchor_least: f64 = 2.0, "standard deviations", Bounded("puts_whose_dividend_is_about_the_interest_keep_their_price");
        /// Terms at the end of a series are dropped where all are below this: where it is only integrated.
        worth_integrating: f64 = 3e-8, "of the strike", Bounded("options_with_dividends_meet_their_bounds");
        /// The same where the series is differentiated.
        worth_differentiating: f64 = 1e-9, "of the strike", Bounded("values_differenced_agree_with_their_own_derivatives");
        /// Terms grow with the width that a series covers, up to this many times as many.
        wider_most: f64 = 2.5, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// Terms that a series takes, in units of the scheme's, where a boundary lies within it.
        more_anchored: f64 = 1.3, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// The square of the same, per life over the time to the next ex-date, of a table of now.
        more_soon: f64 = 0.3, "1", Bounded("options_with_dividends_meet_their_bounds");
        /// That time is at least this.
        soon_least: f64 = 1e-6, "years", Judgement("half a minute: the number of terms is capped anyway");
        /// A put's ln(B/K) is below 0 by this at least, where its logarithm is tabulated.
        placed_least: f64 = 1e-9, "ln X", Judgement("the boundary is at the strike");
    }

    /// How a table moves with the rates (`premium/rates.rs`, `premium/table.rs`).
    RATES: TableRateSettings {
        /// Step of r to either side. Larger leaves more of the third order, smaller more of what boundaries are off by.
        step_r: f64 = 1e-4, "per year", Bounded("puts_with_dividends_meet_their_bounds");
        /// Step of b. Larger leaves more of the second order, smaller more of what boundaries are off by.
        step_b: f64 = 4e-5, "per year", Bounded("puts_with_dividends_meet_their_bounds");
        /// The most steps of Newton's method from the boundary at one rate to that at the next; two or three as a rule.
        follow_steps: usize = 4, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// A shorter step ends that search.
        followed: f64 = 2e-3, "deviations of the time left", Bounded("puts_with_dividends_meet_their_bounds");
        /// Below this b of a put its step is `wide_step` to either side.
        borrow_small: f64 = 1e-3, "per year", Bounded("puts_with_dividends_meet_their_bounds");
        /// That step.
        wide_step: f64 = 5e-4, "per year", Bounded("puts_with_dividends_meet_their_bounds");
        /// Volatility nodes of the derivatives.
        sigma_nodes: usize = 4, "1", Bounded("moved_tables_agree_with_fresh_ones");
        /// Strike nodes of the derivatives.
        strike_nodes: usize = 3, "1", Bounded("moved_tables_agree_with_fresh_ones");
        /// The same of calls that are exercised between dates: with as many, all nodes are the lanes of one solve.
        strikes_line: usize = 2, "1", Bounded("calls_with_dividends_meet_their_bounds");
        /// Dividends above this take all nodes: they bend the derivatives along the strikes.
        collected_most: f64 = 0.08, "of the strike", Measured("beside a dividend of a sixth of the spot a line leaves a fifth of rho");
        /// A put's boundary that `unit_move` of a rate moves by more is no place to measure from.
        boundary_moves: f64 = 0.02, "of σ√τ", Bounded("moved_tables_agree_with_fresh_ones");
        /// Nor is a call's whose move bends more between the nodes: the highest Chebyshev terms in ln σ and 1/K.
        boundary_bends: f64 = 0.03, "of σ√τ", Bounded("moved_tables_agree_with_fresh_ones");
        /// The move of a rate that these are given for.
        unit_move: f64 = 1e-3, "per year", Judgement("twice what a table moves by");
        /// Terms at the end of a series are dropped where all are below this.
        worth: f64 = 2e-5, "of the strike, per unit of the rate", Bounded("moved_tables_agree_with_fresh_ones");
        /// The part of the table's terms that the derivatives need.
        terms: f64 = 0.75, "1", Bounded("moved_tables_agree_with_fresh_ones");
        /// The same where they are measured from a moving boundary: they have no kink.
        terms_moving: f64 = 0.5, "1", Bounded("moved_tables_agree_with_fresh_ones");
    }

    /// Boundaries that fall to 0 where a put's window closes (`premium/falling.rs`, `premium/between_dates.rs`).
    FALLING: FallingSettings {
        /// Collocation points. More cost with the square.
        points: usize = 10, "1", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// The same of the first window of a table.
        points_first: usize = 12, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// The same of windows that only show how they move with the rates.
        points_rates: usize = 8, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// Nodes of the flow from a point on. More cost in proportion.
        inner: usize = 16, "1", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// The same of the first window.
        inner_first: usize = 22, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// The same of windows that only show how they move with the rates.
        inner_rates: usize = 12, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// Where they begin to spread out, in √(time/life).
        nearest: f64 = 0.2, "√(time/life)", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Nodes of the flow from a date on.
        spot_nodes: usize = 28, "1", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// The same of the first window: its value is differentiated.
        spot_nodes_first: usize = 48, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// The same of windows that only show how they move with the rates.
        spot_nodes_rates: usize = 20, "1", Bounded("puts_with_dividends_meet_their_bounds");
        /// A window shorter than this part of the wait from its end to the date does not start from another strike's
        /// boundary: Newton's method may then settle beside its own.
        near_least: f64 = 0.5, "of the wait", Bounded("boundaries_of_short_windows_are_found");
        /// Cells of η in which a boundary may turn: quadratures are dense there.
        cells: usize = 54, "1", Judgement("up to the last collocation point");
        /// Their width.
        cell: f64 = 0.05, "1", Judgement("lanes of a block turn at places further apart");
        /// One node in so many lies behind the turn.
        behind: usize = 2, "1", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// How far in ξ nodes reach behind the turn: the boundary falls by the square of it.
        fallen: f64 = 2.0, "1", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Steps of Newton's method at most to each point of the level.
        steps: usize = 24, "1", Judgement("the next point is near; the first one may lie a few deviations off");
        /// The search starts at most so far below where exercise loses: it climbs by one deviation a step.
        climb: f64 = 5.0, "deviations until the date", Bounded("boundaries_of_short_windows_are_found");
        /// The greatest of them towards exercise.
        step: f64 = 1.0, "ln X", Judgement("where a window closes the boundary falls by several units");
        /// The step that ends it.
        found: f64 = 0.05, "standard deviations until the date", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Steps of Halley's method at most to the shape.
        shape_steps: usize = 8, "1", Judgement("each step trebles the digits");
        /// The step that ends it, times the slope there.
        shaped: f64 = 0.02, "1", Judgement("the step after it would be a twelfth of the third power: 7e-7");
        /// A boundary is found where its equations are missed by less.
        missed: f64 = 1e-9, "of the strike", Bounded("premiums_of_puts_are_those_of_the_recursion");
    }

    /// How a put's window ends with b < 0 (`tip.rs`).
    TIP: TipSettings {
        /// Where −b is below this, the window closes as with b = 0: the tip lies so low that nothing near it counts.
        borrow_least: f64 = 2.5e-4, "per year", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// A window in which exercise gains less, and not at X = 0, counts as none.
        gain_least: f64 = 1e-5, "of the strike", Judgement("all that is lost by it");
        /// The last collocation point lies so near to the tip, of the time from where exercise at X = 0 stops to gain
        /// to the date; beyond it the boundary approaches the tip.
        resolved: f64 = 0.005, "of that time", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Places at which the least value of holding over exercise is looked for, below the strike.
        scan: usize = 10, "1", Judgement("five deviations down; the value is smooth over half of one");
        /// Their distance.
        scan_step: f64 = 0.5, "deviations until the date", Judgement("five deviations down; the value is smooth over half of one");
        /// Steps of Newton's method to the tip at most.
        steps: usize = 30, "1", Judgement("six as a rule");
        /// The greatest step in ln X, and away from a guess.
        step: f64 = 0.5, "deviations until the date", Judgement("the bend changes over a deviation");
        /// The greatest step in time.
        time_step: f64 = 0.5, "of the time until the date", Judgement("the tip may lie anywhere before the date");
        /// The step in ln X that ends the search for the tip: the value is stationary there.
        level_found: f64 = 1e-3, "deviations until the date", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// The step in time that ends it.
        found: f64 = 1e-8, "of the time until the date", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Steps of Newton's method on a Taylor series.
        series_steps: usize = 6, "1", Judgement("Newton's method squares its error");
        /// The step that ends it.
        root: f64 = 1e-3, "deviations until the date", Judgement("the step after it would be 1e-6");
        /// The greatest of them.
        series_step: f64 = 0.25, "deviations until the date", Judgement("the bend changes over a deviation");
        /// Places from which the explicit boundary is looked for at most.
        places: usize = 6, "1", Judgement("one or two as a rule");
        /// It is found where it lies so near to the place.
        near: f64 = 0.03, "deviations until the date", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// Nodes of the lower boundary.
        lower_nodes: usize = 10, "1", Bounded("premiums_of_puts_are_those_of_the_recursion");
        /// A boundary is found where its equations are missed by less.
        missed: f64 = 1e-9, "of the strike", Bounded("premiums_of_puts_are_those_of_the_recursion");
    }

    /// Windows of puts (`premium/windows.rs`).
    PUT_WINDOW: PutWindowSettings {
        /// A shorter window counts as none.
        shortest: f64 = 2e-4, "years", Judgement("two hours: exercise earns 1e-5 of the strike, where X is next to nothing");
        /// Its end is found to this.
        found: f64 = 1e-13, "years", Judgement("rounding of a time");
    }

    /// Whether a table without a boundary to measure from is resolved (`premium/resolution.rs`).
    RESOLUTION: ResolutionSettings {
        /// What the check may find. Smaller builds more tables again, larger leaves prices off by half of it.
        resolved: f64 = 6e-4, "of the price's unit", Measured("about half of what it finds is the worst price error of a table");
        /// A series that bends at a place misses there about this much of its last terms' size times their number.
        tail: f64 = 0.15, "1", Bounded("ordinary_tables_are_built_once_and_unresolved_ones_are_counted");
        /// A tensor misses this fraction of its highest term in the volatility.
        sigma_top: f64 = 0.3, "1", Bounded("ordinary_tables_are_built_once_and_unresolved_ones_are_counted");
        /// Deviations below the strike where a put is worth what the best plan fixed in advance is.
        far: f64 = 3.0, "standard deviations", Bounded("what_is_hard_to_resolve_keeps_price_and_delta");
        /// How many terms count as the last.
        last: usize = 4, "1", Judgement("a term may be small by chance, four are not");
        /// Intervals along the series at whose ends the check looks.
        places: usize = 40, "1", Judgement("more than the terms of a series");
        /// The price's unit is at least this, as in golden/tolerances.csv.
        unit_least: f64 = 0.05, "of the spot", Judgement("the unit of every price error (golden/README.md)");
    }

    /// Exercise of calls until the date of their table (`premium/until_date.rs`).
    UNTIL_DATE: UntilDateSettings {
        /// Deviations below the boundary at which there is nothing to gain.
        out_of_reach: f64 = 8.0, "standard deviations", Measured("the normal probability beyond is below 1e-15");
        /// Nodes of the integral.
        nodes: usize = 32, "1", Bounded("calls_with_dividends_meet_their_bounds");
        /// Where they begin to spread out, in √(time/life).
        nearest: f64 = 0.01, "√(time/life)", Bounded("calls_with_dividends_meet_their_bounds");
    }
}

/// Strikes of the puts that are earned while a window closes, in deviations from there to the ex-date below the
/// boundary. What holding may gain at the ex-date fades over about half a deviation.
pub(super) const CLOSING_STRIKES: [f64; 5] = [0.2, 0.45, 0.75, 1.15, 1.8];

/// η of the last collocation point of a boundary of the recursion, the last one of a boundary with an end; a few values
/// only, so that what depends on it is computed once. Further reaches closer to the end, with the same points.
///
/// Bounded: `value_and_slope_are_those_of_the_payoff_at_the_boundary`
pub(super) const REACHES: [f64; 6] = [1.6, 2.0, 2.4, 2.7, 3.0, 3.2];

/// λ of the equations of a boundary, times its own, where Newton's method does not settle. More finds more boundaries,
/// and costs in proportion where there is none.
///
/// Bounded: `boundaries_of_short_windows_are_found`
pub(super) const PACES: [f64; 4] = [0.3, 3.0, 0.01, 0.1];

/// Where the check of a table without a boundary looks: volatilities, in units of their axis. More finds more between
/// the nodes, and costs in proportion.
///
/// Bounded: `ordinary_tables_are_built_once_and_unresolved_ones_are_counted`
pub(super) const CHECKED_SIGMAS: [f64; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];

/// The same for strikes.
///
/// Bounded: `ordinary_tables_are_built_once_and_unresolved_ones_are_counted`
pub(super) const CHECKED_STRIKES: [f64; 3] = [-1.0, 0.0, 1.0];

/// Correlations up to which so many nodes take the integral over the correlation, to 1e-13 of the normal distribution
/// in two dimensions.
///
/// Measured: against 80 nodes, over deviates from −6 to 6
pub(super) const CORRELATIONS: [(f64, usize); 8] =
    [(0.2, 5), (0.4, 6), (0.5, 7), (0.6, 8), (0.75, 10), (0.85, 12), (0.925, 14), (1.0, 20)];

/// The greatest number of nodes: that of the last rule.
pub(super) const CORRELATION_NODES: usize = CORRELATIONS[CORRELATIONS.len() - 1].1;
