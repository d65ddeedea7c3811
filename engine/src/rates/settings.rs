//! Tuning parameters of the implied curve.

use kernel::settings;

settings! {
    /// The discount factor of one expiry (`parity.rs`).
    PARITY: ParitySettings {
        /// Minimum number of pairs of an expiry. Lower lets a handful of stale quotes make a rate.
        pairs_least: usize = 8, "pairs", Judgement("a line of two unknowns and as many outliers as good ones needs about eight");
        /// Minimum time to settlement: the rate of a nearer expiry is the error of its quotes.
        years_least: f64 = 0.008, "years", Judgement("three days: an error of a cent in 5,000 is two basis points of rate there");
        /// An ask above this many times the bid is a placeholder.
        ask_over_bid_most: f64 = 4.0, "1", Judgement("as in the cleaning of quotes");
        /// Half of the least tick: the minimum error of a locked quote.
        half_spread_least: f64 = 0.005, "currency per share", Judgement("as in the cleaning of quotes");
        /// Strikes that the robust start looks at, evenly over the range: its cost is their square.
        start_strikes: usize = 96, "strikes", Judgement("the start needs a slope to a part in a thousand, and the fit refines it");
        /// Rounds of reweighting at most.
        rounds: usize = 50, "rounds", Judgement("recorded expiries settle within fifteen");
        /// A residual beyond this many times the scale has no weight (Tukey's biweight).
        cutoff: f64 = 4.685, "scales", Judgement("95 % efficiency where errors are normal");
        /// The scale of residuals is never taken below this part of the half spread of a pair.
        scale_least: f64 = 0.02, "of the half spread", Judgement("mids that agree to a fiftieth of their spread agree by the grid of prices");
        /// The variance counts neighbours that err together: at most as if so few pairs were independent of so many.
        correlation_most: f64 = 0.95, "1", Judgement("keeps the error finite where quotes come off one curve");
        /// Minimum error of the logarithm of a discount factor: quotes of one expiry are taken over some seconds.
        error_least: f64 = 1e-5, "1", Judgement("a tick of five cents in an index of 5,000");
    }

    /// The curve of all expiries (`implied.rs`).
    CURVE: CurveSettings {
        /// Standard difference of the forward rates of neighbouring spans, beyond that of the prior curve. Lower lets
        /// the prior's shape override quotes, higher lets single expiries bend the curve.
        forward_step: f64 = 0.0025, "per year", Measured("worst of 12 simulated markets, clean and spoiled, 30 days to 3 years: 2.7 bp; 3.8 at half, 9.5 at a quarter");
        /// Standard difference of the first forward rate from the prior.
        level: f64 = 0.02, "per year", Judgement("an old prior is off by a rate cycle, not more");
        /// A residual beyond this many standard errors loses its weight (Tukey's biweight).
        cutoff: f64 = 4.685, "standard errors", Judgement("as for quotes");
        /// Rounds of reweighting at most.
        rounds: usize = 50, "rounds", Judgement("settles within ten on recorded chains");
        /// Names that differ from the weighted median of all by more than this, and by more than their errors, are left
        /// out.
        name_apart: f64 = 0.0010, "per year", Judgement("index options of one exchange are funded at one rate, to a few basis points");
        /// Names that differ from that median by more than this many of their errors, and by `name_apart`, are left
        /// out.
        name_errors: f64 = 4.0, "standard errors", Judgement("one in ten thousand by chance");
        /// One name counts at most like a level with this error, so that no name outvotes all others.
        name_error_least: f64 = 0.0001, "per year", Judgement("a basis point: what names funded alike differ by");
        /// A level may differ from the prior of the same date by this much.
        prior_apart: f64 = 0.015, "per year", Judgement("box spreads stood within half a percent of Treasuries, ten times so in 2008 and 2020");
        /// And by so much more for each year that the prior is old.
        prior_apart_per_year: f64 = 0.03, "per year, per year", Judgement("the fastest rise in forty years was 4.5 percent in one");
        /// A curve whose error at its best tenor is larger is no curve.
        error_most: f64 = 0.0025, "per year", Judgement("the built-in curve of the date is off by about as much");
        /// A given curve may lie this far from the implied one: Treasuries and box spreads are funded differently.
        funding: f64 = 0.0075, "per year", Judgement("box spreads stand a quarter to half a percent over Treasuries");
        /// The curve in force yields to one that differs by more than this at 30 days or later.
        moved: f64 = 0.0002, "per year", Judgement("two basis points: a year's at-the-money option moves by a hundredth of a percent of spot");
        /// And by more than this many standard errors of the difference.
        moved_errors: f64 = 3.0, "standard errors", Judgement("one in four hundred by chance, so a day of looks keeps its curve");
        /// Or to one that is known so much better: its error is this part of the one in force.
        better: f64 = 0.5, "1", Judgement("the first look of a feed has a part of its expiries");
    }
}
