//! The names of the synthetic market, and their properties. Levels are plausible for late 2026, not observed.
//! The table is data: a larger universe is another list of [`Name`]s.

use super::ladder::StrikeLadder;
use super::surface::Class;
use super::tier::{Ticks, Tier};

/// Source of the spot.
#[derive(Clone, Debug, PartialEq)]
pub enum Level {
    /// A path of its own around this level.
    Own(f64),
    /// A fixed fraction of another name's own path.
    Of(String, f64),
}

/// Frequency of dividends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// Once a year.
    Year,
    /// Twice a year.
    HalfYear,
    /// Four times a year.
    Quarter,
    /// Every month.
    Month,
    /// Every week.
    Week,
    /// Every session: the constituents of an index.
    Session,
    /// In some quarters, each time another amount.
    Irregular,
}

/// Dividends of a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Payout {
    /// Regular dividends, as a fraction of the price and year; 0: none.
    pub yield_: f64,
    /// Frequency.
    pub every: Every,
    /// One special dividend in the next weeks, as a fraction of the price; 0: none.
    pub special: f64,
}

/// One root of a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Root {
    /// Option root.
    pub symbol: String,
    /// Listed expirations.
    pub ladder: StrikeLadder,
    /// Extra value of the deliverable over one share, as a fraction: 0 but for adjusted roots.
    pub extra: f64,
    /// Strikes of an expiry on average; 0: a short list, for a market to look at.
    pub strikes: f64,
}

/// One underlying of the synthetic market.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// Underlying symbol.
    pub symbol: String,
    /// Option roots.
    pub roots: Vec<Root>,
    /// Liquidity.
    pub tier: Tier,
    /// Tick sizes.
    pub ticks: Ticks,
    /// Shape of the volatility surface.
    pub class: Class,
    /// Source of the spot.
    pub level: Level,
    /// 30-day volatility without earnings.
    pub vol: f64,
    /// Expected absolute move on an earnings day; 0: no earnings.
    pub earnings: f64,
    /// Dividends.
    pub payout: Payout,
    /// Borrow rate at the short end, per year; a continuous yield of an index is in it.
    pub borrow: f64,
    /// Added to the skew ρ of the class.
    pub tilt: f64,
    /// Place among all names by trading, 1 the busiest; 0: quoted again only as values drift.
    pub rank: u32,
}

const NONE: Payout = Payout { yield_: 0.0, every: Every::Quarter, special: 0.0 };

const fn pays(yield_: f64, every: Every) -> Payout {
    Payout { yield_, every, special: 0.0 }
}

/// A name with one root, spelled like the underlying without its dot.
pub(super) fn name(symbol: &str, shape: (Tier, Class), level: f64, vol: f64) -> Name {
    let root = Root { symbol: symbol.replace('.', ""), ladder: StrikeLadder::of(shape.0), extra: 0.0, strikes: 0.0 };
    Name {
        symbol: symbol.to_owned(),
        roots: vec![root],
        tier: shape.0,
        ticks: shape.0.ticks(),
        class: shape.1,
        level: Level::Own(level),
        vol,
        earnings: 0.0,
        payout: NONE,
        borrow: if matches!(shape.0, Tier::Monthly | Tier::Tail) { 0.004 } else { -0.0025 },
        tilt: 0.0,
        rank: 0,
    }
}

impl Name {
    /// Dividends make American values dear to compute, so names that pay list fewer far expiries.
    fn paying(mut self, yield_: f64, every: Every) -> Self {
        for root in &mut self.roots {
            root.ladder = root.ladder.slim();
        }
        Self { payout: pays(yield_, every), ..self }
    }
    fn special(mut self, fraction: f64) -> Self {
        self.payout.special = fraction;
        self
    }
    fn reporting(self, earnings: f64) -> Self {
        Self { earnings, ..self }
    }
    fn lent_at(self, borrow: f64) -> Self {
        Self { borrow, ..self }
    }
    fn in_cents(self) -> Self {
        Self { ticks: Ticks::Cents, ..self }
    }
    fn following(self, parent: &str, fraction: f64) -> Self {
        Self { level: Level::Of(parent.to_owned(), fraction), ..self }
    }
    fn daily_singles(mut self) -> Self {
        self.roots[0].ladder.mondays_wednesdays = 2;
        self
    }
    fn with_roots(self, roots: &[(&str, StrikeLadder)]) -> Self {
        let root = |&(symbol, ladder): &(&str, StrikeLadder)| Root {
            symbol: symbol.to_owned(),
            ladder,
            extra: 0.0,
            strikes: 0.0,
        };
        Self { roots: roots.iter().map(root).collect(), ..self }
    }
    fn with_adjusted(mut self, symbol: &str, extra: f64) -> Self {
        self.roots.push(Root { symbol: symbol.to_owned(), ladder: StrikeLadder::ADJUSTED, extra, strikes: 0.0 });
        self
    }
}

/// The names that everybody knows: about 60, every shape that the engine must serve.
#[must_use]
pub fn well_known() -> Vec<Name> {
    let mut names = indices();
    names.extend(funds());
    names.extend(giants());
    names.extend(weeklies());
    names.extend(smaller());
    names
}

/// Cash-settled index options. Their continuous yields are part of the borrow rate, but for RUT, whose constituents
/// pay something every session.
#[must_use]
#[rustfmt::skip]
pub fn indices() -> Vec<Name> {
    use Class::{LargeIndex, SmallIndex, TechIndex, Volatility};
    let spx = (Tier::Index, LargeIndex);
    vec![
        name("SPX", spx, 7000.0, 0.145).lent_at(0.0085).with_roots(&[("SPX", StrikeLadder::INDEX_AM_LONG), ("SPXW", StrikeLadder::INDEX_DAILY)]),
        name("XSP", spx, 0.0, 0.145).following("SPX", 0.1).in_cents().lent_at(0.0085).with_roots(&[("XSP", StrikeLadder::INDEX_MINI)]),
        name("OEX", spx, 0.0, 0.15).following("SPX", 0.5).lent_at(0.008).with_roots(&[("OEX", StrikeLadder::INDEX_THIN), ("XEO", StrikeLadder::INDEX_THIN)]),
        name("NDX", (Tier::Index, TechIndex), 25000.0, 0.195).lent_at(0.004).with_roots(&[("NDX", StrikeLadder::INDEX_AM), ("NDXP", StrikeLadder::INDEX_WEEKLY)]),
        name("RUT", (Tier::Index, SmallIndex), 2600.0, 0.22).paying(0.013, Every::Session).lent_at(-0.003).with_roots(&[("RUT", StrikeLadder::INDEX_AM), ("RUTW", StrikeLadder::INDEX_WEEKLY)]),
        name("VIX", (Tier::Index, Volatility), 17.0, 1.0).lent_at(0.0).with_roots(&[("VIX", StrikeLadder::VIX), ("VIXW", StrikeLadder::VIX_WEEKLY)]),
    ]
}

/// Exchange-traded funds.
#[must_use]
#[rustfmt::skip]
pub fn funds() -> Vec<Name> {
    use Class::{Bond, Commodity, LargeIndex, Leveraged, MegaCap, SmallIndex, TechIndex};
    use Every::{HalfYear, Month, Quarter, Week};
    vec![
        name("SPY", (Tier::Broad, LargeIndex), 0.0, 0.145).following("SPX", 0.0997).paying(0.0112, Quarter),
        name("QQQ", (Tier::Broad, TechIndex), 0.0, 0.195).following("NDX", 0.0243).paying(0.0055, Quarter),
        name("IWM", (Tier::Broad, SmallIndex), 0.0, 0.22).following("RUT", 0.0992).paying(0.0115, Quarter).lent_at(0.004),
        name("GLD", (Tier::Mega, Commodity), 375.0, 0.19),
        name("SLV", (Tier::Weekly, Commodity), 46.0, 0.34),
        name("USO", (Tier::Weekly, Commodity), 71.0, 0.36).lent_at(0.012),
        name("TLT", (Tier::Weekly, Bond), 89.0, 0.125).paying(0.044, Month),
        name("HYG", (Tier::Monthly, Bond), 80.5, 0.07).paying(0.058, Month).lent_at(0.006),
        name("XLF", (Tier::Weekly, LargeIndex), 53.0, 0.17).paying(0.0135, Quarter),
        name("EEM", (Tier::Weekly, LargeIndex), 55.0, 0.18).paying(0.021, HalfYear),
        name("TQQQ", (Tier::Weekly, Leveraged), 55.0, 0.58).lent_at(0.006),
        name("NVDY", (Tier::Monthly, MegaCap), 14.5, 0.36).paying(0.48, Week).lent_at(0.02),
    ]
}

/// The most active stocks.
#[rustfmt::skip]
fn giants() -> Vec<Name> {
    use Every::Quarter;
    let mega = (Tier::Mega, Class::MegaCap);
    vec![
        name("AAPL", mega, 275.0, 0.25).daily_singles().paying(0.0039, Quarter).reporting(0.035),
        name("MSFT", mega, 510.0, 0.24).daily_singles().paying(0.0071, Quarter).reporting(0.035),
        name("NVDA", mega, 190.0, 0.40).daily_singles().reporting(0.055),
        name("AMZN", mega, 235.0, 0.30).daily_singles().reporting(0.05),
        name("META", mega, 650.0, 0.31).daily_singles().paying(0.0032, Quarter).reporting(0.06),
        name("GOOGL", mega, 290.0, 0.29).daily_singles().paying(0.0029, Quarter).reporting(0.045),
        name("AVGO", mega, 350.0, 0.43).daily_singles().paying(0.0068, Quarter).reporting(0.07),
        name("TSLA", mega, 362.0, 0.50).daily_singles().reporting(0.07),
        name("AMD", mega, 230.0, 0.50).reporting(0.07),
        name("PLTR", mega, 175.0, 0.55).reporting(0.09),
    ]
}

/// Stocks with Friday weeklies.
#[rustfmt::skip]
fn weeklies() -> Vec<Name> {
    use Class::{MidCap, SmallCap};
    use Every::{Quarter, Year};
    let mid = (Tier::Weekly, MidCap);
    vec![
        name("KO", mid, 71.0, 0.16).paying(0.029, Quarter).reporting(0.03),
        name("XOM", mid, 117.0, 0.22).paying(0.034, Quarter).reporting(0.025),
        name("CVX", mid, 153.0, 0.22).paying(0.0455, Quarter).reporting(0.03),
        name("JPM", mid, 305.0, 0.23).paying(0.0197, Quarter).reporting(0.035),
        name("BAC", mid, 53.0, 0.25).paying(0.021, Quarter).reporting(0.035),
        name("JNJ", mid, 200.0, 0.17).paying(0.026, Quarter).reporting(0.03),
        name("PG", mid, 148.0, 0.18).paying(0.0285, Quarter).reporting(0.03),
        name("WMT", mid, 104.0, 0.21).paying(0.009, Quarter).reporting(0.05),
        name("UNH", mid, 335.0, 0.33).paying(0.0265, Quarter).reporting(0.06),
        name("PFE", mid, 25.0, 0.23).paying(0.069, Quarter).reporting(0.03),
        name("T", mid, 25.5, 0.22).paying(0.0435, Quarter).reporting(0.045),
        name("VZ", mid, 40.5, 0.20).paying(0.068, Quarter).reporting(0.04),
        name("F", mid, 14.4, 0.34).paying(0.0417, Quarter).reporting(0.055),
        name("DIS", mid, 112.0, 0.26).reporting(0.055),
        name("INTC", mid, 38.0, 0.48).reporting(0.08),
        name("BA", mid, 205.0, 0.31).reporting(0.045),
        name("UBER", mid, 92.0, 0.35).reporting(0.065),
        name("BRK.B", mid, 500.0, 0.165).reporting(0.02),
        name("BABA", mid, 160.0, 0.42).paying(0.012, Year).reporting(0.06),
        name("GME", (Tier::Weekly, SmallCap), 23.0, 0.62).reporting(0.09).lent_at(0.011).with_adjusted("GME1", 0.03),
    ]
}

/// Smaller, odder or poorer names.
#[rustfmt::skip]
fn smaller() -> Vec<Name> {
    use Class::{Meme, MidCap, SmallCap};
    use Every::{Month, Quarter};
    let (monthly, tail) = (Tier::Monthly, Tier::Tail);
    vec![
        name("O", (monthly, MidCap), 57.5, 0.17).paying(0.056, Month).reporting(0.02),
        name("CLX", (monthly, MidCap), 106.0, 0.26).paying(0.047, Quarter).reporting(0.06),
        name("DDS", (monthly, MidCap), 610.0, 0.38).paying(0.002, Quarter).special(0.045).reporting(0.09),
        name("HOG", (monthly, MidCap), 27.0, 0.40).paying(0.027, Quarter).reporting(0.08),
        name("KSS", (monthly, SmallCap), 18.0, 0.70).paying(0.028, Quarter).reporting(0.13).lent_at(0.045),
        name("BYND", (Tier::Weekly, Meme), 6.4, 1.25).reporting(0.15).lent_at(0.80),
        name("AMC", (Tier::Weekly, Meme), 2.6, 0.85).reporting(0.12).lent_at(0.16),
        name("PLUG", (Tier::Weekly, Meme), 2.1, 0.95).reporting(0.11).lent_at(0.08),
        name("NVAX", (monthly, Meme), 8.3, 0.80).reporting(0.12).lent_at(0.03),
        name("WEN", (tail, MidCap), 9.1, 0.38).paying(0.061, Quarter).reporting(0.07),
        name("CATO", (tail, SmallCap), 3.4, 0.60).reporting(0.12).lent_at(0.02),
        name("MATX", (tail, SmallCap), 108.0, 0.42).paying(0.0135, Quarter).reporting(0.08),
        name("PRGS", (tail, SmallCap), 43.0, 0.40).reporting(0.08),
        name("ZUMZ", (tail, SmallCap), 22.0, 0.58).reporting(0.12),
    ]
}
