//! Tuning parameters of the calibration, step by step in the order in which the steps run.
//!
//! A note of what fails at half or at double of a number is from trials on the tests of `tests/chains`: calibration,
//! single repaired cases, and thin names with bad quotes. Numbers without such a note were not tried.

use kernel::settings;

settings! {
    /// Quotes that are wrong by themselves (`clean.rs`).
    CLEANING: CleaningSettings {
        /// Age beyond which a quote is stale, against the newest quote of its chain. Lower loses thin names, whose
        /// makers requote rarely; higher keeps prices of another spot.
        age_most: f64 = 900.0, "seconds", Judgement("a quarter of an hour, the delay of delayed feeds");
        /// An ask above this many times the bid is a placeholder, unless the spread is small in money too. Lower drops
        /// cheap options, higher lets quotes without information support a curve.
        ask_over_bid_most: f64 = 4.0, "1", Judgement("a maker who means a price does not ask four times what he bids");
        /// A spread below this is never too wide, as cheap options have wide relative spreads.
        spread_small: f64 = 0.10, "currency per share", Judgement("a dime: two ticks of the classes that are quoted in nickels");
        /// A spread below this part of the spot is never too wide, for a spot of thousands.
        spread_small_of_spot: f64 = 0.002, "of the spot", Judgement("as `spread_small` for a spot of 50");
        /// A spread above this part of the spot is always too wide.
        spread_most_of_spot: f64 = 0.25, "of the spot", Judgement("no volatility follows from a spread of a quarter of the spot");
        /// Half of the least tick: the minimum error of a locked quote. Lower trusts locked quotes too much, higher
        /// blurs quotes of cents.
        half_spread_least: f64 = 0.005, "currency per share", Judgement("half a cent, as prices are in cents");
    }

    /// The spot that a name's options are quoted against (`reference_spot.rs`).
    REFERENCE: ReferenceSettings {
        /// Distance within which a pair agrees with a spot. Lower lets borrow and late quotes pass for another spot,
        /// higher does not see a split of a few percent.
        agrees: f64 = 0.03, "of the spot", Judgement("far above what quotes are late by, far below any split");
        /// Additional distance per year to expiry within which a pair agrees with a spot, as the carry is still
        /// unknown.
        agrees_per_year: f64 = 0.25, "of the spot, per year", Judgement("names that cost a quarter a year to borrow agree with their own spot");
        /// A pair whose spreads add up to this part of the spot counts half.
        half_weight: f64 = 0.02, "of the spot", Judgement("wide pairs agree with any spot, so they hardly count");
        /// Expiries up to here are used first, the others only where nearer ones have no pair.
        near_years: f64 = 0.35, "years", Judgement("four monthly expiries, where carry moves a forward least");
        /// The published spot is the reference where pairs with this share of the weight agree with it. Lower trusts it
        /// too long after a split, higher gives it up for a few bad pairs.
        support: f64 = 0.2, "of the weight", Judgement("a fifth: dead pairs of a live name are many, but scattered");
        /// Share of the weight that must agree with another spot to make it the reference: a majority, so that no two
        /// can.
        majority: f64 = 0.6, "of the weight", Judgement("above a half, with room for pairs that agree by chance");
        /// Weight that must agree with another spot to make it the reference.
        majority_weight: f64 = 3.0, "pairs", Judgement("three pairs of one mind are no accident");
        /// Weight that must agree with a spot if none is published: no other price is given up then, and the standard
        /// error shows how far to trust it. Higher loses thin names.
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
        /// Minimum weight of a quote far from the money.
        far_weight_least: f64 = 1e-4, "of a quote at the money", Judgement("a quote must weigh something, or it could be blamed for nothing");
        /// An ask alone, or a spread that is too wide for the curve, counts so much against a two-sided quote.
        one_sided: f64 = 0.25, "of a two-sided quote", Judgement("four asks alone against one quote that somebody would trade on both sides");
        /// A bid above the minorant of the asks by less than this is no fault, as quotes are moments apart. Lower drops
        /// quotes that were a second late, higher keeps butterflies that the curve must then contradict.
        convex_slack: f64 = 0.25, "of its spread", Judgement("quotes of neighbours are moments apart; no test of whole chains fails at half or at double");
        /// Ratio of blame above which two quotes are nearly equally to blame, so that the contradiction without each
        /// decides.
        alike: f64 = 0.6, "1", Judgement("below, the one to blame more is the one");
        /// Prices that differ by less are equal: they are in cents at best, so only rounding is below.
        equal: f64 = 1e-7, "currency per share", Judgement("far below a tick and above the rounding of a price of 1e7");
        /// A volatility of a straddle above this is not believed where quotes are weighed by their distance from the
        /// money.
        vol_most: f64 = 3.0, "per √year", Judgement("straddles of dead quotes say more, and would make all weights alike");
    }

    /// Put-call parity of one expiry (`forward.rs`).
    FORWARD: ForwardSettings {
        /// Plausible error of the discount factor: the prior width of the slope of pair forwards in K − F. Wider
        /// follows the noise of few pairs, narrower takes a wrong rate for a wrong forward.
        slope_prior: f64 = 0.01, "per √year", Judgement("ten times what a curve of rates is off by at a year");
        /// Pairs count less with their distance from the money, where one of the two is worth little but its exercise
        /// and spreads carry less information than they seem to. Wider uses more pairs, narrower only good ones.
        near_money: f64 = 0.75, "standard deviations", Measured("at half borrow of 90 % a year is taken out of the forward badly (0.45 of a half spread) and four bounds of thin names with bad quotes fail; at double one does");
        /// Number of additional pairs in the scatter that miss by their half spread, as few pairs do not show their
        /// error. Lower trusts three lucky pairs, higher distrusts ten good ones.
        few: f64 = 1.5, "pairs", Measured("of thin names with bad quotes two bounds fail at half and one at double");
        /// Minimum scatter, however well pairs agree, as they share a market maker.
        scale_least: f64 = 0.25, "half spreads", Judgement("however well pairs agree, a quarter of what their spreads leave open");
        /// Maximum scatter, so that the error of pairs that contradict each other stays finite.
        scale_most: f64 = 20.0, "half spreads", Judgement("beyond, the carry of the name does not hear the expiry anyway");
        /// Maximum that one pair adds to the scatter, as one absurd pair must not discredit all.
        miss_most: f64 = 20.0, "half spreads", Judgement("as `scale_most`: one pair alone reaches no more than the greatest scale");
        /// Rounds of reweighting at most; the last ones change nothing to 1e-6 of the error.
        rounds: usize = 8, "rounds", Judgement("a limit: most slices settle in four or five");
        /// The forward has settled when a round moves it by less.
        settled: f64 = 1e-9, "of the forward", Judgement("far below the error, so that rounds end where nothing moves");
        /// The scatter has settled when a round moves it by less.
        scale_settled: f64 = 1e-3, "of itself", Judgement("a thousandth of an error is none");
        /// Minimum error of the forward: the precision of a double and of prices in cents at ten thousand.
        error_least: f64 = 1e-7, "of the forward", Judgement("a thousandth of a cent at a forward of 100");
        /// A round lowers the forward by no more than this; pairs that ask for more are taken in steps, so that it
        /// stays positive.
        fall_most: f64 = 0.5, "of the forward", Judgement("Newton from a bad median cannot leave the positive forwards");
        /// A round raises the forward by no more than this.
        rise_most: f64 = 1.0, "of the forward", Judgement("the mirror of `fall_most` in ratios");
        /// σ√t is the median of so many straddles about the money. Even, half on either side.
        straddles: usize = 6, "strikes", Judgement("three strikes on either side: one dead pair is outvoted");
        /// Minimum σ√t of straddles; it is a unit of distance here, not a result.
        sd_least: f64 = 1e-3, "1", Judgement("an hour at a volatility of 10 %");
        /// Maximum σ√t of straddles.
        sd_most: f64 = 3.0, "1", Judgement("a year at a volatility of 300 %");
        /// How far the forward of a pair may be from the spot in logarithms; the others are left out before any weight
        /// is given. Lower loses names that are dear to borrow, higher lets dead pairs vote.
        plausible: f64 = 0.15, "ln(F/S)", Judgement("a special dividend or a borrow of 60 % over a quarter");
        /// Additional plausible distance of a pair's forward from the spot, per year.
        plausible_per_year: f64 = 0.6, "ln(F/S) per year", Judgement("borrow above this is estimated from nearer expiries");
        /// Pairs above the spot that are enough to leave out the others, where borrow may be anything.
        alive_least: usize = 2, "pairs", Judgement("one may be wrong");
        /// Plausible distance of a pair's forward from the spot if it is no forward of that spot (VIX), in place of
        /// `plausible`.
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
        /// Additional step of the walk in proportion to borrow, as high borrow rates differ more.
        drift_of_itself: f64 = 0.2, "of the borrow", Judgement("a name at 50 % may be at 40 % for the next expiry");
        /// Expiries nearer than this in time take the walk's step of this.
        ln_t_near: f64 = 1e-4, "ln t", Judgement("keeps the weight of the step finite for two roots of one date");
        /// Distance in time beyond which the walk's step grows no more.
        ln_t_far: f64 = 2.0, "ln t", Judgement("a week and a year are as far apart as a day and a year");
        /// Standard deviation of borrow without data, around zero: most names cost nothing to borrow.
        level: f64 = 0.05, "per year", Measured("at half a borrow of 90 % a year is missed (a forward by a half spread) and three bounds of thin names with bad quotes fail; at double none does");
        /// Additional standard deviation of borrow without data, in proportion to the borrow found.
        level_of_itself: f64 = 0.5, "of the borrow", Judgement("at a borrow of 100 % a prior of 5 % would be no prior but a lie");
        /// Degrees of freedom of the error of a forward implied by one pair: so few that an outlier soon loses its
        /// weight.
        freedom_one_pair: f64 = 1.0, "degrees of freedom", Judgement("Cauchy: one pair is either right or worth nothing");
        /// Degrees of freedom that each further pair adds.
        freedom_per_pair: f64 = 0.5, "degrees of freedom", Judgement("pairs of one expiry share makers, so two count like one");
        /// Maximum degrees of freedom of the error of a forward.
        freedom_most: f64 = 6.0, "degrees of freedom", Judgement("from eleven pairs on nearly normal, but never sure");
        /// Degrees of freedom of the spot's displacement: a spot is right, or far off.
        spot_freedom: f64 = 2.0, "degrees of freedom", Judgement("heavy tails: a displacement is either seconds of noise or a split");
        /// Rounds of reweighting at most.
        rounds: usize = 60, "rounds", Measured("with 8 rounds borrow of one slice in 500 was still on its way, and turned from pass to pass");
        /// Rounds end when neither δ nor the forward of an expiry moves by more.
        settled: f64 = 1e-6, "of the spot", Judgement("a fiftieth of `still`; a cent at a spot of 10,000");
        /// Borrow leaves the solution that follows from the last pass for one that is likelier by more than this.
        likelier: f64 = 1.0, "ln", Judgement("a factor e: what the premiums at the one solution and at the other change is less");
        /// The implied spot differs from the published one beyond this many standard errors and beyond `spot_off`.
        spot_off_errors: f64 = 3.0, "standard errors", Judgement("three errors, as usual; one name in 300 by chance");
        /// The implied spot differs from the published one beyond this part of it and beyond `spot_off_errors`. Lower
        /// leaves the published spot for noise, higher values late quotes from a wrong spot.
        spot_off: f64 = 1e-3, "of the spot", Judgement("below a thousandth nobody can say whose clock is wrong");
        /// A borrow rate stays where it was while its move changes the forward by less than this, so that tables of
        /// early exercise stay valid.
        still: f64 = 5e-5, "of the forward", Measured("with half of it and of the next two a steady pass solved two fifths more tables");
        /// A borrow rate stays where it was while its move changes the forward by less than this part of its standard
        /// error,
        still_errors: f64 = 1.0, "standard errors", Measured("with `still`, in one measurement; at 1.5 and 2 a second pass over the same quotes stays where the first was, up to 0.07 in a volatility");
        /// Upper bound on the change by `still_errors`.
        still_most: f64 = 4e-3, "of the forward", Measured("at 3e-3 a steady pass solved 7 tables and 4 derivatives of tables where it solves 6 and 4, of passes 3 s apart 23 and 14 for 18 and 10, with values 12 bp of the spot from fresh ones at 99 % for 15, forwards 25 for 35; 5e-3 gains one table more");
        /// Where the forward's error is beyond this, the excess carries no information about borrow either.
        still_unknown: f64 = 1e-2, "of the forward", Measured("the rate of one name in 1,200, whose few pairs contradict each other, turned from one value to another each second, and its tables were a third of the pass");
        /// An expiry's own borrow may be so far from the smooth one to give its forward from the published spot;
        /// beyond, it is valued from the implied spot.
        own_borrow: f64 = 0.02, "per year", Judgement("twice `drift`: more than neighbours make likely is the spot and not borrow");
        /// Additional distance of an expiry's own borrow from the smooth one, in proportion to it.
        own_borrow_of_itself: f64 = 0.25, "of the borrow", Judgement("as `drift_of_itself`, rounded up");
        /// A forward further from the spot than this, rates taken out, is no forward, and missing.
        ln_forward_most: f64 = 1.0, "ln(F/S)", Judgement("a factor e; docs/surface.md and `/health` say so");
        /// Maximum distance of a forward from the spot if it is no forward of that spot (VIX), in place of
        /// `ln_forward_most`.
        ln_parity_most: f64 = 1.5, "ln(F/S)", Judgement("as `FORWARD.plausible_parity` over a year and more");
        /// Maximum distance of such a forward from the median of its name's expiries.
        ln_parity_apart: f64 = 0.3, "ln(F/S)", Judgement("expiries of one index of volatility within a third of each other");
        /// Standard deviation of borrow without data where the published spot is held and the quotes alone determine
        /// borrow, in place of `level`.
        held_level: f64 = 2.0, "per year", Judgement("half of the 500 % that borrow is found to");
        /// Standard deviation of the spot where the published spot is held, in place of `spot_noise`.
        held_noise: f64 = 1e-6, "of the spot", Judgement("none, in numbers that can be divided by");
        /// Number of agreeing pairs whose forward is no outlier where the published spot is held.
        held_pairs: u32 = 3, "pairs", Judgement("three pairs of one mind are no accident");
        /// Maximum distance of a forward from the spot where the published spot is held, in place of `ln_forward_most`.
        held_ln_forward_most: f64 = 6.0, "ln(F/S)", Judgement("500 % for a year and more");
        /// Number of expiries below which δ cannot be separated from borrow before the first solution.
        delta_expiries: usize = 4, "expiries", Judgement("a line through three points bends to any one that is wrong");
        /// Pairs of expiries nearer than this carry no information about the slope in time that separates the two.
        delta_years_apart: f64 = 0.02, "years", Judgement("a week: nearer, the slope is all noise");
        /// A first δ below this many times `spot_noise` counts as 0.
        delta_noises: f64 = 4.0, "standard deviations", Judgement("below, the least-squares problem finds it from zero");
    }

    /// Assumptions that many quotes contradict (`doubt.rs`).
    DOUBT: DoubtSettings {
        /// An expiry contradicts an assumption if at least this many of its pairs do, and the part `majority`.
        pairs_least: u32 = 2, "pairs", Judgement("one pair is an error of its own; of five strikes two or three say something of the forward");
        /// An expiry contradicts an assumption if this part of its pairs does, without pairs that agree with any carry.
        majority: f64 = 0.5, "of the pairs", Judgement("what most of them say");
        /// A pair agrees with any carry where its quote in the money leaves the volatility open by this factor.
        open: f64 = 2.0, "1", Judgement("as good as exercised, or as wide as its time value");
        /// A first look finds no volatility of some quotes whose bid is this near above what exercise pays.
        unseen: f64 = 2.0, "spreads", Judgement("further above, it finds those that there are");
        /// Volatilities nearer than this are alike.
        vols_alike: f64 = 2e-3, "of the volatility", Judgement("what a lattice is good for");
        /// A pair that agrees with any carry counts so much against an alternative.
        open_counts: f64 = 0.25, "of a pair", Judgement("a few must not decide, and many must not hide what they would say");
        /// An alternative stands this long before the assumption is looked at again, while it is better.
        stands: f64 = 10.0 / (365.0 * 86_400.0), "years", Judgement("ten seconds: looks at it took 5 % of the passes of a market of which one name in 300 is doubted");
        /// Another assumption is better if no more than this part of the contradictions remains.
        better: f64 = 0.6, "of the pairs", Judgement("a few pairs that change sides are noise");
        /// Alternatives are equally good within this part of all pairs.
        alike: f64 = 0.03, "of the pairs", Judgement("one pair in thirty");
        /// Borrow of this size counts as one step of unusualness.
        borrow: f64 = 0.1, "per year", Judgement("few names cost more to borrow");
        /// Borrow below zero of this size counts as one step of unusualness.
        borrow_below: f64 = 0.02, "per year", Judgement("lending a share pays at most what funding costs");
        /// A displacement of the spot of this size counts as one step of unusualness.
        spot: f64 = 2e-3, "of the spot", Judgement("what a share moves in a minute");
        /// An implied spot that is further than this from the published one is a doubt of that, however it was found.
        spot_far: f64 = 0.01, "of the spot", Judgement("late quotes are nearer");
        /// Steps of unusualness of a dividend that is not paid as given.
        dividend: f64 = 2.0, "1", Judgement("as a borrow of 25 % or a spot that is half a percent off");
        /// A part of a dividend counts as none or all of it where the difference is below this.
        dividend_near: f64 = 2e-3, "of the spot", Judgement("borrow of a few percent looks like that much");
        /// The most that quotes pay for of a given dividend.
        dividend_most: f64 = 10.0, "of the dividend", Judgement("a decimal point; beyond, it is not that dividend");
    }

    /// Strikes and prices in other units (`units.rs`).
    SCALE: ScaleSettings {
        /// C − P falls by the discount factor for each unit of strike. Prices or strikes are in other units where it
        /// falls by a power of ten of that within this factor.
        within: f64 = 1.6, "1", Judgement("far from the next power, and above what early exercise and rates do");
        /// Minimum of the middle strike of a chain in the units of the spot.
        strike_least: f64 = 0.2, "of the spot", Judgement("a chain that has not been relisted since the spot rose by five");
        /// Maximum of the middle strike of a chain in the units of the spot.
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
        /// Time from which an expiry's own borrow is about as good as the smoothed one, which counts more before.
        own_borrow_years: f64 = 0.025, "years", Judgement("nine days: nearer, a tick is several percent of borrow");
        /// Part of the European sensitivity at which a pair begins to count: below, it is as good as exercised.
        sensitivity_none: f64 = 0.05, "1", Judgement("a twentieth: what is left of a call that is as good as exercised");
        /// Part of the European sensitivity from which a pair counts fully; in between it fades, so that no pair jumps
        /// in or out.
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
        /// Admitted error of the remembered premium.
        allowed: f64 = 5e-5, "of the volatility", Judgement("a thirtieth of what a mid is known to at best (`QUOTES.half_least` of the surface)");
        /// Admitted error of the remembered premium as a part of the distance from the start of the search: a hundredth
        /// of half a spread.
        allowed_of_step: f64 = 0.01, "of the step", Judgement("bid and ask start from the mid, so the step is half a spread");
        /// Where the borrow rate of a pass has moved by more than this since the one before, early exercise is brought
        /// up to date at it before volatilities are implied.
        carry_moved: f64 = 2e-4, "of rate × time", Judgement("ten times what noise moves it by; an override that comes or goes moves it by 1e-3 and more");
        /// A half of an ask alone implies a first volatility between that of the nearest strike with a mid and this
        /// many times that.
        lone_most: f64 = 2.0, "1", Judgement("a first guess: results do not depend on it");
        /// A quote whose mid is further from the curve is an outlier.
        outlier_halves: f64 = 6.0, "half spreads", Judgement("twice the misses at which the fit lets a quote go");
        /// Minimum half spread in the test for outliers.
        outlier_half_least: f64 = 0.0015, "of the volatility", Judgement("`QUOTES.half_least` of the surface: what the fit gives a mid");
        /// First volatilities without data are about this.
        unknown: f64 = 0.3, "per √year", Judgement("a first guess: results do not depend on it");
        /// First volatility by |ln(K/F)|/√t: about where the logarithm of the time value bends.
        bend: f64 = 0.3, "1", Judgement("a first guess: results do not depend on it");
        /// Minimum of first volatilities.
        bend_least: f64 = 0.05, "per √year", Judgement("a first guess: results do not depend on it");
        /// Maximum of first volatilities.
        bend_most: f64 = 3.0, "per √year", Judgement("a first guess: results do not depend on it");
    }
}
