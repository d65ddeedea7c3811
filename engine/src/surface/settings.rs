//! Tuning parameters of the curves, step by step in the order in which the steps run.
//!
//! A note of what fails at half or at double of a number is from trials on the tests of `tests/chains`: calibration,
//! single repaired cases, and thin names with bad quotes. Numbers without such a note were not tried.

use kernel::settings;

settings! {
    /// Volatilities implied by the rows of one expiry (`quotes.rs`).
    QUOTES: QuoteSettings {
        /// Minimum error of a mid: half of the narrowest meaningful spread. Lower lets locked quotes bend the curve,
        /// higher lets it miss tight ones.
        half_least: f64 = 0.0015, "ln σ", Judgement("of a volatility of 20 % three hundredths of a point; no test fails at half or at double");
        /// How far an ask alone bounds the volatility.
        half_ask_only: f64 = 0.1, "ln σ", Judgement("asks without a bid are several times what the option is worth");
        /// The base does not follow a quote more closely than this: three parameters cannot.
        half_base: f64 = 0.01, "ln σ", Judgement("a percent of the volatility is the misfit of three parameters on liquid names");
        /// Strikes this near to the money take calls and puts, others the out-of-the-money side.
        both_sides: f64 = 1.0, "standard deviations", Judgement("within, both rights are quoted alike; beyond, spreads of the one in the money say nothing");
        /// Time from which strikes in the money count if nothing else is quoted.
        in_the_money_years: f64 = 0.02, "years", Judgement("a week: nearer, what is in the money is worth its intrinsic value");
        /// Maximum points of a base fit.
        points_most: usize = 48, "points", Judgement("the error of three parameters no longer falls, the cost does not end");
        /// The usual volatility is the median of so many rows nearest to the money.
        usual_rows: usize = 5, "rows", Judgement("two of five may be bad");
    }

    /// The three-parameter shape under a curve (`base.rs`).
    BASE: BaseSettings {
        /// Least volatility at the money.
        vol_least: f64 = 0.005, "per √year", Judgement("below any market, as `early` looks down to 0.001");
        /// Greatest volatility at the money.
        vol_most: f64 = 20.0, "per √year", Judgement("above any market, as `early` looks no higher");
        /// Greatest |ρ|: at 1 one wing is flat, and the fit could not leave it.
        rho_most: f64 = 0.98, "1", Judgement("differs from 1 by less than the error of quotes");
        /// Least ψ: at 0 ρ is of no consequence, and the fit could not come back.
        psi_least: f64 = 0.01, "1", Judgement("a smile that nobody can see");
        /// Upper bound of ψ²(1+|ρ|) and ψ√θ(1+|ρ|): the conditions are 4, and what the spline adds needs room.
        butterfly_bound: f64 = 3.9, "1", Judgement("2.5 % of room; the spline is repaired by itself where it needs more");
        /// Gauss-Newton rounds at most.
        rounds: usize = 12, "rounds", Judgement("a limit: five are the rule");
        /// A round that moves no parameter by more is the last.
        settled: f64 = 1e-3, "ln σ, atanh ρ, ln ψ", Judgement("a tenth of `QUOTES.half_base`, and the spline takes what is left");
        /// Maximum move of a parameter in a round.
        step_most: f64 = 0.7, "ln σ, atanh ρ, ln ψ", Judgement("a factor of two at once; from a bad start more would leave the domain");
        /// A quote loses weight when the base is about this far off.
        robust_halves: f64 = 3.0, "half spreads", Judgement("as for the spline");
        /// Added to the diagonal of the normal equations, so that they have an answer.
        ridge: f64 = 1e-6, "of the diagonal", Judgement("changes no answer by more than a part in a million");
        /// ρ of an equity smile, where a fit begins that has no neighbour.
        usual_rho: f64 = -0.3, "1", Judgement("between an index and a single share");
        /// ψ of an equity smile, where a fit begins that has no neighbour.
        usual_psi: f64 = 0.5, "1", Judgement("about doubles the variance four deviations below the forward");
        /// Fewer quotes than this borrow their shape from neighbours.
        quotes_few: usize = 6, "quotes", Judgement("twice the parameters");
        /// How far the level of an expiry with enough quotes may be from their median.
        own_level: f64 = 1.0, "ln σ", Judgement("no more than a hint: quotes have the say");
        /// How far the shape of an expiry with enough quotes may be from the usual one.
        own_shape: f64 = 0.7, "atanh ρ, ln ψ", Judgement("wide, so that six quotes decide");
        /// How far the level of an expiry with few quotes may be from its neighbours',
        borrowed_level: f64 = 0.1, "ln σ", Judgement("expiries a few days apart are within a tenth");
        /// Additional distance of that level per unit of ln t to the nearest neighbour.
        borrowed_level_by_ln_t: f64 = 0.2, "ln σ per ln t", Judgement("terms of volatility move so much by a factor e in time");
        /// Distance in ln t beyond which that level may be no further off.
        borrowed_ln_t_most: f64 = 2.0, "ln t", Judgement("from a week to a year nothing more is forgotten");
        /// How far the shape of an expiry with few quotes may be from its neighbours'.
        borrowed_shape: f64 = 0.15, "atanh ρ, ln ψ", Judgement("shapes in standard deviations hardly differ between neighbours");
        /// Where there is no neighbour: how far the level may be from the median of the few quotes,
        single_level: f64 = 1.0, "ln σ", Judgement("as `own_level`: a hint, where all else is missing");
        /// How far the shape may be from the usual one where there is no neighbour.
        single_shape: f64 = 0.3, "atanh ρ, ln ψ", Judgement("fewer than six quotes cannot determine a shape");
    }

    /// The spline over the base (`fit.rs`, `spline.rs`).
    SPLINE: SplineSettings {
        /// Where the spline's coordinate turns from linear to logarithmic.
        linear: f64 = 1.5, "standard deviations", Judgement("most quotes lie within 1.5 deviations, and are evenly spaced there");
        /// Knot distance. Wider misses bends of tight quotes, narrower costs with its inverse; the penalty makes the
        /// curve nearly the same.
        knot_step: f64 = 0.12, "the spline's coordinate", Judgement("seven knots within 1.5 deviations to either side");
        /// Maximum pieces of a spline.
        pieces_most: f64 = 56.0, "pieces", Judgement("bounds the cost: at `knot_step` twenty deviations to either side, beyond knots are wider");
        /// How far the spline reaches beyond the quotes.
        reach: f64 = 0.6, "the spline's coordinate", Judgement("five knots for the curve to come back to the base");
        /// Maximum reach of knots.
        place_most: f64 = 6.0, "the spline's coordinate", Judgement("three hundred deviations: nothing real is further");
        /// A spline is extended by this many knots at a time at most.
        extension_most: f64 = 96.0, "knots", Judgement("bounds memory whatever strikes are listed");
        /// Standard deviation of the second difference of g at `knot_step` in the first fit. Lower begins stiffer.
        bend: f64 = 0.003, "ln σ", Measured("of thin names with bad quotes five bounds fail at half and seven at double");
        /// Standard deviation of the slope beyond the outermost quotes: the wings run flat, that is, along the base.
        end_slope: f64 = 0.02, "ln σ by the spline's coordinate", Judgement("a wing may leave the base by two percent over the first unit");
        /// 1/variance of every coefficient about zero.
        level_precision: f64 = 1.0, "1/(ln σ)²", Judgement("keeps the problem regular where there is nothing else");
        /// Fits of one curve to its quotes at most, each softer than the one before.
        attempts: usize = 4, "fits", Judgement("`softer` to the third power is 16 times the first bend, enough for index smiles");
        /// Rounds of reweighting in each fit.
        reweights: usize = 3, "rounds", Judgement("a fourth changes weights by less than `weight_settled` in most fits");
        /// Weights that all move by less have settled.
        weight_settled: f64 = 0.01, "of a quote's precision", Judgement("a percent of a weight moves the curve by far less than its error");
        /// Factor by which each further fit lets the spline bend more.
        softer: f64 = 2.5, "1", Judgement("six times the bending energy: fewer fits, and none much softer than it need be");
        /// Enough of the quotes have the curve inside their spread.
        inside_enough: f64 = 0.95, "of the two-sided quotes", Judgement("one in twenty may be bad without being followed");
        /// Fewer two-sided quotes do not choose how far the spline bends.
        predicted_least: f64 = 24.0, "quotes", Measured("at 16 three bounds of thin names with bad quotes fail");
        /// Further degrees of softness tried at most,
        degrees: usize = 4, "fits", Measured("emptied quotes of recorded chains are 1 % further off at the median with 3, 5 % with 6");
        /// Factor by which each further degree lets the spline bend more.
        degree: f64 = 2.0, "1", Measured("emptied quotes of recorded chains are 3 % further off at the median with 1.6");
        /// A further degree is taken if the score of cross-validation falls to this part.
        predicts_better: f64 = 0.99, "1", Measured("1 predicts as well within 1 %, with more fits");
        /// Weight of a parameter in the score of cross-validation.
        parameter_cost: f64 = 1.3, "parameters", Measured("emptied quotes of recorded chains are 2 % further off at the median with 1; Kim and Gu 2004 say 1.2 to 1.4");
        /// A quote loses weight when the curve is about this far off.
        robust_halves: f64 = 3.0, "half spreads", Judgement("a quote three half spreads off has half of its weight");
        /// Tolerance of a bound.
        bound_met: f64 = 3.0, "half widths of the bound", Judgement("within the tolerance of the bound");
        /// Near a bound the spline may bend so much more, so that it moves there and not elsewhere.
        bound_softer: f64 = 6.0, "1", Judgement("room for a bend of a bound and no more, as one would see it");
        /// Distance from a bound within which the spline is softer.
        bound_knots: f64 = 3.0, "knots", Judgement("the support of the splines that a bound touches");
        /// Half width to which an ask without a bid bounds the curve, and by how much the bound is below the ask.
        half_ask: f64 = 0.01, "ln σ", Measured("at 0.003, and three times that below, one bound of thin names with bad quotes fails; with the bound at the ask itself twice as many values are above such asks on recorded markets");
    }

    /// Butterflies and tails of one curve (`arbitrage.rs`, `fit.rs`).
    BUTTERFLY: ButterflySettings {
        /// Least value of Durrleman's function at the places looked at, so that none between them is negative.
        density_least: f64 = 4e-3, "1", Measured("a margin for what lies between two places: with 2e-3 recorded SPX is left with a fall of 0.4 % of variance");
        /// Places looked at from one knot to the next; the bend is linear between knots.
        places: usize = 4, "places", Judgement("the bend is linear between knots, so the function is nearly a parabola");
        /// A tail that is wrong concerns this many knots of its wing.
        wing_knots: usize = 8, "knots", Judgement("one unit of the coordinate");
        /// A butterfly concerns the coefficients this near.
        near_knots: f64 = 2.0, "knots", Judgement("the support of a cubic B-spline, to either side");
        /// Rounds of stiffening where the density would be negative;
        rounds: usize = 7, "rounds", Judgement("four raised to the seventh is stiffer than any quotes");
        /// Rounds of stiffening after which the quotes there lose weight, too.
        stiff_rounds: usize = 4, "rounds", Judgement("quotes keep their say as long as stiffness alone may do");
        /// Factor by which a round makes the spline there stiffer.
        stiffer: f64 = 4.0, "1", Judgement("half of the bend a round");
        /// Factor of the weight of quotes there, per round.
        yielding: f64 = 0.25, "1", Judgement("the half width of a quote doubles each round");
        /// Maximum passes of smoothing after the rounds: a last resort.
        smoothings: usize = 200, "passes", Judgement("a limit: nearly all curves never come here");
        /// A pass moves a coefficient by this part of the second difference there: above a half smoothing is unstable.
        diffusion: f64 = 0.25, "1", Judgement("half of the most that is stable");
        /// A wing whose values still rise shrinks to the base by this factor a pass,
        shrink: f64 = 0.8, "1", Judgement("a fifth a pass: ten passes leave a tenth");
        /// Coefficients of a wing that shrink in the first pass; each pass takes one more.
        wing_first: usize = 10, "coefficients", Judgement("as `wing_knots` and two more");
    }

    /// Order of total variance between expiries (`calendar.rs`).
    CALENDAR: CalendarSettings {
        /// Maximum rounds of ordering and fitting again.
        fits: usize = 3, "rounds", Judgement("a fit against bounds moves other places, so that a second and third look pays");
        /// Maximum rounds that move the curves at the remaining places without a fit.
        nudges: usize = 12, "rounds", Judgement("a limit: docs/surface.md names what is left");
        /// Rounds of moving after which smoothing follows if the density became thin.
        smoothed: usize = 8, "rounds", Judgement("the last nudges must not be undone");
        /// Passes of smoothing after such a round.
        smoothings: usize = 10, "passes", Judgement("a nudge makes a small bend only");
        /// Distance within which a nudge moves coefficients, less with distance.
        near_knots: f64 = 4.0, "knots", Judgement("twice the reach of a cubic B-spline: less would leave a kink");
        /// A fall of total variance below this is none.
        fall_small: f64 = 5e-4, "of the variance", Judgement("0.05 % of variance, below any spread");
        /// Half width to which order holds as a bound of a fit.
        half_order: f64 = 5e-4, "ln σ", Judgement("a third of `QUOTES.half_least`: a bound beats every quote");
        /// Distance of curves after they have been ordered.
        clearance: f64 = 5e-4, "ln σ", Judgement("so that the next look finds none: twice `fall_small` in variance");
        /// Distance beyond which curves do not cross between the places looked at.
        close: f64 = 0.02, "of the variance", Judgement("curves bend by less than 2 % of variance between two places");
        /// Distance of the places at which curves are compared.
        step: f64 = 0.15, "the spline's coordinate", Judgement("a little over one knot");
        /// Maximum places of a curve.
        places_most: usize = 64, "places", Judgement("bounds the cost: the whole reach of a spline at `step`");
        /// Number of earlier expiries that are searched for one that lists a place.
        back: usize = 6, "expiries", Judgement("weekly expiries list fewer strikes than the month before them");
        /// Places put in order in one round at most.
        falls_most: usize = 6, "places an expiry of the name", Judgement("bounds the cost of a name whose curves cross everywhere; neighbours move together anyway");
        /// Standard error of a curve between its quotes where none is near.
        known: f64 = 0.02, "ln σ", Judgement("a curve of tight quotes is known to two percent between them");
        /// Additional standard error of a curve beyond its quotes, with distance.
        known_beyond: f64 = 0.25, "ln σ by the spline's coordinate", Judgement("wings beyond the quotes yield first");
        /// Weight of a curve with the shape of neighbours, relative to one with quotes.
        borrowed: f64 = 0.01, "1", Judgement("a shape of neighbours must never move a curve with quotes");
        /// An expiry nearer than this carries little information about later ones: in the last hours, one tick of a far
        /// strike is a volatility of several hundred percent, and as much total variance as weeks have.
        last_day: f64 = 1.0 / 365.0, "years", Measured("without it a day of hours with a few bad quotes lifted the next month from 0.21 to 0.47; with it 99.9 % of contracts stay within 2e-3 from pass to pass, 8e-2 before");
    }

    /// How well quotes support a curve (`confidence.rs`).
    CONFIDENCE: ConfidenceSettings {
        /// The half width at which a curve is half supported.
        half_support: f64 = 0.04, "ln σ", Judgement("a scale of the published number, given in docs/surface.md");
        /// Support that a quote adds to the knots beside its own.
        beside: f64 = 0.5, "of its precision", Judgement("support reaches about as far as the spline follows a quote");
        /// Support that a quote adds to the knots two away.
        two_away: f64 = 0.1, "of its precision", Judgement("support reaches about as far as the spline follows a quote");
    }
}
