//! Tuning parameters of the calibration, step by step in the order in which the steps run.
//!
//! Where a number says what fails at half or at double of it, that was tried on the tests of `tests/chains`: those of
//! calibration, of single repaired cases, and of thin names with bad quotes. Numbers without such a note were not
//! tried.

use kernel::settings;

settings! {
    /// Quotes that are wrong by themselves (`clean.rs`).
    CLEANING: CleaningSettings {
        /// Older than this against the newest quote of its chain: stale. Lower loses thin names, whose makers requote
        /// rarely; higher keeps prices of another spot.
        age_most: f64 = 900.0, "seconds", Judgement("a quarter of an hour, the delay of delayed feeds");
        /// An ask above this many times the bid is a placeholder, unless the spread is small in money too. Lower drops
        /// cheap options, higher lets quotes without information support a curve.
        ask_over_bid_most: f64 = 4.0, "1", Judgement("a maker who means a price does not ask four times what he bids");
        /// A spread below this never is too wide: cheap options are wide in parts of themselves.
        spread_small: f64 = 0.10, "currency per share", Judgement("a dime: two ticks of the classes that are quoted in nickels");
        /// A spread below this part of the spot never is too wide: the same for a spot of thousands.
        spread_small_of_spot: f64 = 0.002, "of the spot", Judgement("as `spread_small` for a spot of 50");
        /// A spread above this part of the spot always is too wide.
        spread_most_of_spot: f64 = 0.25, "of the spot", Judgement("no volatility follows from a spread of a quarter of the spot");
        /// Half of the least tick: the minimum error of a locked quote. Lower makes it sure of itself, higher
        /// blurs quotes of cents.
        half_spread_least: f64 = 0.005, "currency per share", Judgement("half a cent, as prices are in cents");
    }

    /// The spot that a name's options are quoted against (`spot.rs`).
    REFERENCE: ReferenceSettings {
        /// A pair agrees with a spot within this. Lower lets borrow and late quotes pass for another spot, higher does
        /// not see a split of a few percent.
        agrees: f64 = 0.03, "of the spot", Judgement("far above what quotes are late by, far below any split");
        /// And within so much more for each year to expiry: the carry is still unknown.
        agrees_per_year: f64 = 0.25, "of the spot, per year", Judgement("names that cost a quarter a year to borrow agree with their own spot");
        /// A pair whose spreads add up to this part of the spot counts half.
        half_weight: f64 = 0.02, "of the spot", Judgement("wide pairs agree with any spot, so they hardly count");
        /// Expiries up to here are used first, the others only where nearer ones have no pair.
        near_years: f64 = 0.35, "years", Judgement("four monthly expiries, where carry moves a forward least");
        /// The published spot is the reference where pairs with this share of the weight agree with it. Lower trusts it
        /// too long after a split, higher gives it up for a few bad pairs.
        support: f64 = 0.2, "of the weight", Judgement("a fifth: dead pairs of a live name are many, but scattered");
        /// Another spot is the reference only where this share agrees with it: a majority, so that no two can.
        majority: f64 = 0.6, "of the weight", Judgement("above a half, with room for pairs that agree by chance");
        /// And where so much weight does: this many pairs at least.
        majority_weight: f64 = 3.0, "pairs", Judgement("three pairs of one mind are no accident");
        /// And the same where no spot is published: no other price has to be given up, and the standard error of what
        /// they tell says how far to trust it. Higher loses thin names.
        majority_weight_alone: f64 = 1.0, "pairs", Measured("of the recorded names of a close without their prices, 51 imply none, and 78 at three pairs");
        /// Spots that are tried for the most agreement, out of all that pairs imply: the cost is their square.
        candidates: usize = 64, "spots", Judgement("a cluster of more than a sixtieth of the pairs has one of them in it");
    }

    /// Constraints among the quotes of one name (`consistent.rs`).
    CONSISTENCY: ConsistencySettings {
        /// How far the reference spot may be from the one that a quote was made against: asks below what exercise pays
        /// are dropped when they are dead, not when they are late.
        spot_slack: f64 = 0.05, "of the spot", Judgement("a spot of a quarter of an hour ago, on a bad day");
        /// How far above its strike a put may be bid: where rates are below zero it can be worth more.
        put_slack: f64 = 0.025, "of the strike", Judgement("half of `spot_slack`: the strike does not move");
        /// How far the still unknown carry may move a bound.
        carry_slack: f64 = 0.10, "of the spot, per year", Judgement("a borrow or a rate of a tenth a year is no fault of the quote");
        /// A quote loses weight with its age, half of it after so long.
        half_age: f64 = 300.0, "seconds", Judgement("a third of the age at which a quote is stale");
        /// A quote counts half so far from the money: where there is no trading, quotes are forgotten.
        half_sd: f64 = 2.0, "standard deviations", Judgement("where a delta is a few percent trading ends; no test fails at half or at double");
        /// But a quote far away counts so much at least.
        far_weight_least: f64 = 1e-4, "of a quote at the money", Judgement("a quote must weigh something, or it could be blamed for nothing");
        /// An ask alone, or a spread that is too wide for the curve, counts so much against a two-sided quote.
        one_sided: f64 = 0.25, "of a two-sided quote", Judgement("four asks alone against one quote that somebody would trade on both sides");
        /// A bid above the minorant of the asks by less than this is a matter of moments, and no fault. Lower drops
        /// quotes that were a second late, higher keeps butterflies that the curve must then contradict.
        convex_slack: f64 = 0.25, "of its spread", Judgement("quotes of neighbours are moments apart; no test of whole chains fails at half or at double");
        /// Two quotes are nearly alike to blame above this ratio, and it is looked at what each leaves.
        alike: f64 = 0.6, "1", Judgement("below, the one to blame more is the one");
        /// Prices that differ by less are equal: they are in cents at best, so only rounding is below.
        equal: f64 = 1e-7, "currency per share", Judgement("far below a tick and above the rounding of a price of 1e7");
        /// A volatility of a straddle above this is not believed where quotes are weighed by their distance from the
        /// money.
        vol_most: f64 = 3.0, "per √year", Judgement("straddles of dead quotes say more, and would make all weights alike");
    }

    /// Put-call parity of one expiry (`forward.rs`).
    FORWARD: ForwardSettings {
        /// How much the discount factor may be off: the prior width of the slope of pair forwards in K − F. Wider
        /// follows the noise of few pairs, narrower takes a wrong rate for a wrong forward.
        slope_prior: f64 = 0.01, "per √year", Judgement("ten times what a curve of rates is off by at a year");
        /// Pairs count less with their distance from the money, where one of the two is worth little but its exercise
        /// and spreads carry less information than they seem to. Wider uses more pairs, narrower only good ones.
        near_money: f64 = 0.75, "standard deviations", Measured("at half borrow of 90 % a year is taken out of the forward badly (0.45 of a half spread) and four bounds of thin names with bad quotes fail; at double one does");
        /// The scatter of pairs counts like this many more that miss by their half spread: few pairs do not know their
        /// error. Fewer lets three lucky pairs be sure, more makes ten good ones doubt.
        few: f64 = 1.5, "pairs", Measured("of thin names with bad quotes two bounds fail at half and one at double");
        /// The scatter is no less than this part of the half spreads, however well pairs agree: they share a maker.
        scale_least: f64 = 0.25, "half spreads", Judgement("however well pairs agree, a quarter of what their spreads leave open");
        /// And no more than this, so that the error of pairs that contradict each other stays finite.
        scale_most: f64 = 20.0, "half spreads", Judgement("beyond, the carry of the name does not hear the expiry anyway");
        /// One pair adds no more than this to the scatter: one that is absurd must not make all doubtful.
        miss_most: f64 = 20.0, "half spreads", Judgement("as `scale_most`: one pair alone reaches no more than the greatest scale");
        /// Rounds of reweighting at most; the last ones change nothing to 1e-6 of the error.
        rounds: usize = 8, "rounds", Judgement("a limit: most slices settle in four or five");
        /// The forward has settled when a round moves it by less.
        settled: f64 = 1e-9, "of the forward", Judgement("far below the error, so that rounds end where nothing moves");
        /// And the scatter by less.
        scale_settled: f64 = 1e-3, "of itself", Judgement("a thousandth of an error is none");
        /// Its error is no less: what a double and a price in cents leave of ten thousand.
        error_least: f64 = 1e-7, "of the forward", Judgement("a thousandth of a cent at a forward of 100");
        /// A round lowers the forward by no more than this; pairs that ask for more are taken in steps, so that it
        /// stays positive.
        fall_most: f64 = 0.5, "of the forward", Judgement("Newton from a bad median cannot leave the positive forwards");
        /// A round raises it by no more than this.
        rise_most: f64 = 1.0, "of the forward", Judgement("the mirror of `fall_most` in ratios");
        /// σ√t is the median of so many straddles about the money. Even, half on either side.
        straddles: usize = 6, "strikes", Judgement("three strikes on either side: one dead pair is outvoted");
        /// σ√t of straddles is held between this
        sd_least: f64 = 1e-3, "1", Judgement("an hour at a volatility of 10 %");
        /// and this: it is a unit of distance here, not a result.
        sd_most: f64 = 3.0, "1", Judgement("a year at a volatility of 300 %");
        /// How far the forward of a pair may be from the spot in logarithms; the others are left out before any weight
        /// is given. Lower loses names that are dear to borrow, higher lets dead pairs vote.
        plausible: f64 = 0.15, "ln(F/S)", Judgement("a special dividend or a borrow of 60 % over a quarter");
        /// And so much more by year.
        plausible_per_year: f64 = 0.6, "ln(F/S) per year", Judgement("borrow above this is estimated from nearer expiries");
        /// Pairs above the spot that are enough to leave out the others, where borrow may be anything.
        alive_least: usize = 2, "pairs", Judgement("one may be wrong");
        /// In place of the first where the forward is no forward of the spot's (VIX).
        plausible_parity: f64 = 0.8, "ln(F/S)", Judgement("a forward of VIX is up to twice or half its spot");
    }

    /// Borrow of all expiries of a name, and the implied spot (`carry.rs`).
    CARRY: CarrySettings {
        /// How far the recorded spot may be from the one that the options were quoted against: standard deviation of δ.
        /// Lower puts a late spot into borrow, higher takes borrow of the near expiries for another spot.
        spot_noise: f64 = 5e-4, "of the spot", Judgement("what a share moves in seconds; no test fails at half or at double");
        /// How far the expiries of a name may be from one spot: they are not quoted at one instant.
        expiry_noise: f64 = 2e-4, "of the forward", Judgement("less than `spot_noise`: expiries are requoted together");
        /// How much borrow differs between expiries whose times are a factor e apart: the step of the walk. Lower
        /// smooths term structures that are there, higher lets each expiry have its noise.
        drift: f64 = 0.01, "per year", Judgement("a percent, as differences of borrow along expiries are; no test fails at half or at double");
        /// And this part of itself: who is dear to borrow is so by more.
        drift_of_itself: f64 = 0.2, "of the borrow", Judgement("a name at 50 % may be at 40 % for the next expiry");
        /// Expiries nearer than this in time take the walk's step of this.
        ln_t_near: f64 = 1e-4, "ln t", Judgement("keeps the weight of the step finite for two roots of one date");
        /// Further apart than this makes no more difference.
        ln_t_far: f64 = 2.0, "ln t", Judgement("a week and a year are as far apart as a day and a year");
        /// Standard deviation of borrow without data, around zero: most names cost nothing to borrow.
        level: f64 = 0.05, "per year", Measured("at half a borrow of 90 % a year is missed (a forward by a half spread) and three bounds of thin names with bad quotes fail; at double none does");
        /// And within this part of what is found.
        level_of_itself: f64 = 0.5, "of the borrow", Judgement("at a borrow of 100 % a prior of 5 % would be no prior but a lie");
        /// Degrees of freedom of the error of a forward implied by one pair: so few that it is let go soon.
        freedom_one_pair: f64 = 1.0, "degrees of freedom", Judgement("Cauchy: one pair is either right or worth nothing");
        /// Those that each further pair adds.
        freedom_per_pair: f64 = 0.5, "degrees of freedom", Judgement("pairs of one expiry share makers, so two count like one");
        /// The most of them.
        freedom_most: f64 = 6.0, "degrees of freedom", Judgement("from eleven pairs on nearly normal, but never sure");
        /// Those of the spot's displacement: a spot is right, or far off.
        spot_freedom: f64 = 2.0, "degrees of freedom", Judgement("heavy tails: a displacement is either seconds of noise or a split");
        /// Rounds of reweighting at most.
        rounds: usize = 8, "rounds", Judgement("a limit: three or four are the rule");
        /// They end when δ moves by less.
        settled: f64 = 1e-7, "of the spot", Judgement("a hundredth of a cent at a spot of 1,000");
        /// The implied spot differs from the published one beyond so many standard errors
        spot_off_errors: f64 = 3.0, "standard errors", Judgement("three errors, as usual; one name in 300 by chance");
        /// and this part of it. Lower leaves the published spot for noise, higher values late quotes from a spot that
        /// they were not made for.
        spot_off: f64 = 1e-3, "of the spot", Judgement("below a thousandth nobody can say whose clock is wrong");
        /// A borrow rate stays where it was while what it moves the forward by is below this: tables of early exercise
        /// are kept by it.
        still: f64 = 5e-5, "of the forward", Measured("with half of it and of the next two a steady pass solved two fifths more tables");
        /// Or below this part of the forward's standard error,
        still_errors: f64 = 1.0, "standard errors", Measured("with `still`, in one measurement; at 1.5 and 2 a second pass over the same quotes stays where the first was, up to 0.07 in a volatility");
        /// but no more than this.
        still_most: f64 = 4e-3, "of the forward", Measured("at 3e-3 a steady pass solved 7 tables and 4 derivatives of tables where it solves 6 and 4, of passes 3 s apart 23 and 14 for 18 and 10, with values 12 bp of the spot from fresh ones at 99 % for 15, forwards 25 for 35; 5e-3 gains one table more");
        /// Where the forward's error is beyond this, the excess carries no information about borrow either.
        still_unknown: f64 = 1e-2, "of the forward", Measured("the rate of one name in 1,200, whose few pairs contradict each other, turned from one value to another each second, and its tables were a third of the pass");
        /// An expiry's own borrow may be so far from the smooth one to give its forward from the published spot;
        /// beyond, it is valued from the implied spot.
        own_borrow: f64 = 0.02, "per year", Judgement("twice `drift`: more than neighbours make likely is the spot and not borrow");
        /// And this part of the smooth one more.
        own_borrow_of_itself: f64 = 0.25, "of the borrow", Judgement("as `drift_of_itself`, rounded up");
        /// A forward further from the spot than this, rates taken out, is no forward, and missing.
        ln_forward_most: f64 = 1.0, "ln(F/S)", Judgement("a factor e; docs/surface.md and `/health` say so");
        /// The same where it is no forward of the spot's (VIX).
        ln_parity_most: f64 = 1.5, "ln(F/S)", Judgement("as `FORWARD.plausible_parity` over a year and more");
        /// And so far at most from the median of its name's expiries.
        ln_parity_apart: f64 = 0.3, "ln(F/S)", Judgement("expiries of one index of volatility within a third of each other");
        /// Where the published spot is held and borrow is whatever quotes imply: standard deviation of borrow without
        /// data, in place of `level`.
        held_level: f64 = 2.0, "per year", Judgement("half of the 500 % that borrow is found to");
        /// And of the spot, in place of `spot_noise`.
        held_noise: f64 = 1e-6, "of the spot", Judgement("none, in numbers that can be divided by");
        /// So many pairs that agree on a forward are no outlier then.
        held_pairs: u32 = 3, "pairs", Judgement("three pairs of one mind are no accident");
        /// A forward further from the spot than this is none then, in place of `ln_forward_most`.
        held_ln_forward_most: f64 = 6.0, "ln(F/S)", Judgement("500 % for a year and more");
        /// Number of expiries below which δ cannot be separated from borrow before the first solution.
        delta_expiries: usize = 4, "expiries", Judgement("a line through three points bends to any one that is wrong");
        /// Pairs of expiries nearer than this carry no information about the slope in time that separates the two.
        delta_years_apart: f64 = 0.02, "years", Judgement("a week: nearer, the slope is all noise");
        /// A first δ below so many of `spot_noise` is none.
        delta_noises: f64 = 4.0, "standard deviations", Judgement("below, the least-squares problem finds it from zero");
    }

    /// Assumptions that many quotes contradict (`doubt.rs`).
    DOUBT: DoubtSettings {
        /// An expiry contradicts what is assumed where at least so many of its pairs do,
        pairs_least: u32 = 2, "pairs", Judgement("one pair is an error of its own; of five strikes two or three say something of the forward");
        /// and this part of the pairs that do not agree with any carry.
        majority: f64 = 0.5, "of the pairs", Judgement("what most of them say");
        /// A pair agrees with any carry where its quote in the money leaves the volatility open by this factor.
        open: f64 = 2.0, "1", Judgement("as good as exercised, or as wide as its time value");
        /// A first look finds no volatility of some quotes whose bid is this near above what exercise pays.
        unseen: f64 = 2.0, "spreads", Judgement("further above, it finds those that there are");
        /// Volatilities nearer than this are alike.
        vols_alike: f64 = 2e-3, "of the volatility", Judgement("what a lattice is good for");
        /// A pair that agrees with any carry counts so much against an alternative.
        open_counts: f64 = 0.25, "of a pair", Judgement("a few must not decide, and many must not hide what they would say");
        /// Another assumption is better where no more than this part of the contradictions is left,
        better: f64 = 0.6, "of the pairs", Judgement("a few pairs that change sides are noise");
        /// and as good as the best one with so many more of all pairs.
        alike: f64 = 0.03, "of the pairs", Judgement("one pair in thirty");
        /// Borrow of this is worth a doubt; two orders of it four.
        borrow: f64 = 0.1, "per year", Judgement("few names cost more to borrow");
        /// Borrow below zero of this is.
        borrow_below: f64 = 0.02, "per year", Judgement("lending a share pays at most what funding costs");
        /// A displaced spot is, from this on.
        spot: f64 = 2e-3, "of the spot", Judgement("what a share moves in a minute");
        /// An implied spot that is further than this from the published one is a doubt of that, however it was found.
        spot_far: f64 = 0.01, "of the spot", Judgement("late quotes are nearer");
        /// A dividend that is not paid as given is worth so many doubts.
        dividend: f64 = 2.0, "1", Judgement("as a borrow of 25 % or a spot that is half a percent off");
        /// A part of a dividend counts as none or all of it where the difference is below this.
        dividend_near: f64 = 2e-3, "of the spot", Judgement("borrow of a few percent looks like that much");
        /// The most that quotes pay for of a given dividend.
        dividend_most: f64 = 10.0, "of the dividend", Judgement("a decimal point; beyond, it is not that dividend");
    }

    /// Strikes and prices in other units (`scale.rs`).
    SCALE: ScaleSettings {
        /// C − P falls by the discount factor for each unit of strike. Prices or strikes are in other units where it
        /// falls by a power of ten of that within this factor.
        within: f64 = 1.6, "1", Judgement("far from the next power, and above what early exercise and rates do");
        /// The middle strike of a chain in the units of the spot is between this
        strike_least: f64 = 0.2, "of the spot", Judgement("a chain that has not been relisted since the spot rose by five");
        /// and this.
        strike_most: f64 = 5.0, "of the spot", Judgement("the mirror of `strike_least`");
        /// A power of ten below this is a rate, a dividend, or dead quotes.
        least: f64 = 50.0, "1", Judgement("half of a hundred: cents, or a contract of a hundred shares");
    }

    /// The forward of an American expiry without the premium of early exercise (`premium.rs`).
    PREMIUM: PremiumSettings {
        /// Rounds at most; a market that has moved little takes one.
        rounds: usize = 6, "rounds", Judgement("a limit: three are the rule in a first pass");
        /// The forward has settled when it moves by less: 0.1 basis point.
        settled: f64 = 1e-5, "of the spot", Judgement("a cent at a spot of 1,000");
        /// A move of the forward below this leaves the sensitivities as they are.
        steady: f64 = 2e-5, "of the spot", Judgement("twice `settled`: the last round needs no new slope");
        /// Pairs further from the money have no weight worth a value.
        far: f64 = 1.5, "standard deviations", Judgement("twice `FORWARD.near_money`: a weight of 0.14");
        /// The nearest strikes that are looked at, on either side.
        strikes_most: usize = 12, "strikes", Judgement("up to 24 pairs: the error falls with their root, the cost with their number");
        /// From about here on an expiry's own borrow is no noise, and the premium follows from it; before, the steadied
        /// one.
        own_borrow_years: f64 = 0.025, "years", Judgement("nine days: nearer, a tick is several percent of borrow");
        /// Part of the European sensitivity at which a pair begins to count: below, it is as good as exercised.
        sensitivity_none: f64 = 0.05, "1", Judgement("a twentieth: what is left of a call that is as good as exercised");
        /// And at which it counts fully; in between it fades, so that no pair comes or goes at once.
        sensitivity_full: f64 = 0.4, "1", Judgement("where the miss over the slope is no more than 2.5 times the miss");
        /// No pair is more sensitive than this, whatever the two valuations give.
        sensitivity_most: f64 = 1.5, "1", Judgement("above one only by rounding of small bumps");
        /// How often the premium is taken out where borrow may be anything: the first forward is far off then.
        held_looks: usize = 3, "looks", Judgement("each takes the carry of the one before");
        /// The forward is bumped by this for the sensitivities.
        bump: f64 = 1e-3, "standard deviations", Judgement("small against the curvature of the premium, large against its rounding");
        /// Where the search starts: the last shift against the first forward, up to this.
        shift_most: f64 = 0.2, "of the forward", Judgement("a premium of a fifth of the forward is none");
    }

    /// Volatilities of quotes (`implied.rs`).
    IMPLIED: ImpliedSettings {
        /// An error of the remembered premium is let pass below this.
        allowed: f64 = 5e-5, "of the volatility", Judgement("a thirtieth of what a mid is known to at best (`QUOTES.half_least` of the surface)");
        /// And below this part of the distance from where the search began: a hundredth of half a spread.
        allowed_of_step: f64 = 0.01, "of the step", Judgement("bid and ask start from the mid, so the step is half a spread");
        /// Where the borrow rate of a pass has moved by more than this since the one before, early exercise is brought
        /// up to date at it before volatilities are implied.
        carry_moved: f64 = 2e-4, "of rate × time", Judgement("ten times what noise moves it by; an override that comes or goes moves it by 1e-3 and more");
        /// A half of an ask alone implies a first volatility between that of the nearest strike with a mid and this
        /// many times that.
        lone_most: f64 = 2.0, "1", Judgement("a first guess: results do not depend on it");
        /// A quote whose mid is further from the curve is an outlier.
        outlier_halves: f64 = 6.0, "half spreads", Judgement("twice the misses at which the fit lets a quote go");
        /// Half a spread is at least this for that.
        outlier_half_least: f64 = 0.0015, "of the volatility", Judgement("`QUOTES.half_least` of the surface: what the fit gives a mid");
        /// First volatilities without data are about this.
        unknown: f64 = 0.3, "per √year", Judgement("a first guess: results do not depend on it");
        /// First volatility by |ln(K/F)|/√t: about where the logarithm of the time value bends.
        bend: f64 = 0.3, "1", Judgement("a first guess: results do not depend on it");
        /// Between this
        bend_least: f64 = 0.05, "per √year", Judgement("a first guess: results do not depend on it");
        /// and this.
        bend_most: f64 = 3.0, "per √year", Judgement("a first guess: results do not depend on it");
    }
}
