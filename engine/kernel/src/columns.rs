//! The table of columns: one row here is one published number per contract. The struct of columns, the [`Col`] enum,
//! the native schema and both viewers come from it. Never: a number of a contract, a layout of memory.

use crate::greeks::{Greek, Unit};

/// Kind of a column.
#[derive(Clone, Copy, Debug)]
enum Holds {
    /// A Greek, in its native unit.
    Greek(Greek),
    /// Something else: its unit, and what it means.
    Other(Unit, &'static str),
}

/// The native field groups, in the order in which a row has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Default.
    Core,
    /// Second order, and the three volatilities.
    Extra,
    /// Third order.
    Exotic,
    /// Constant per expiry.
    Chain,
    /// In variance time.
    Vt,
    /// Probabilities.
    Prob,
    /// Early exercise. Its columns are computed when they are first asked for.
    Exercise,
    /// Quotes. No [`Col`] is of this group: a quote is not computed.
    Quote,
    /// Vendor layers only.
    Layer,
}

impl Group {
    /// The groups that a viewer offers, in its order.
    pub const VIEWED: [Self; 7] =
        [Self::Core, Self::Extra, Self::Exotic, Self::Vt, Self::Prob, Self::Exercise, Self::Quote];

    /// The word in a request.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Extra => "extra",
            Self::Exotic => "exotic",
            Self::Chain => "chain",
            Self::Vt => "vt",
            Self::Prob => "prob",
            Self::Exercise => "exercise",
            Self::Quote => "quote",
            Self::Layer => "layer",
        }
    }

    /// Content of the group, in a few words.
    #[must_use]
    pub const fn help(self) -> &'static str {
        match self {
            Self::Core => "value and first Greeks",
            Self::Extra => "second order, volatilities",
            Self::Exotic => "third order",
            Self::Chain => "constant per expiry",
            Self::Vt => "in variance time",
            Self::Prob => "probabilities",
            Self::Exercise => "early exercise",
            Self::Quote => "quotes of the feed",
            Self::Layer => "vendor layers only",
        }
    }
}

/// Format in which a viewer shows the numbers of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Currency per share, with this many decimals.
    Price(u8),
    /// This many decimals.
    Decimals(u8),
    /// A fraction as percent, with this many decimals.
    Percent(u8),
    /// This many significant digits.
    Digits(u8),
}

/// A column as a viewer shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewedColumn {
    /// Name of the field in the native record.
    pub name: &'static str,
    /// Heading, at most seven characters.
    pub title: &'static str,
    /// Group that a request names to get it.
    pub group: Group,
    /// Format in viewers.
    pub shape: Shape,
    /// Meaning with its unit, at most 42 characters.
    pub help: &'static str,
}

/// Every column that a viewer offers: by group, and within a group in the order of the screen.
pub const VIEWED: &[ViewedColumn] = {
    use Shape::{Decimals, Digits, Percent, Price};
    &[
        viewed(Col::SvcTheo, "Value", Price(2), "model value, per share"),
        viewed(Col::SvcVol, "Vol%", Percent(2), "volatility of the fitted curve"),
        viewed(Col::Delta, "Delta", Decimals(3), "change of value per 1 of spot"),
        viewed(Col::Gamma, "Gamma", Decimals(4), "change of delta per 1 of spot"),
        viewed(Col::Vega, "Vega", Decimals(3), "change of value per 1 % of volatility"),
        viewed(Col::Theta, "Theta", Decimals(3), "change of value per calendar day"),
        viewed(Col::Decay, "Decay", Decimals(3), "change to this time of next trading day"),
        viewed(Col::Rho, "Rho", Decimals(3), "change of value per 1 % of rate"),
        viewed(Col::BidVol, "BidVol%", Percent(2), "volatility implied by the bid"),
        viewed(Col::AskVol, "AskVol%", Percent(2), "volatility implied by the ask"),
        viewed(Col::PrevVol, "PrvVol%", Percent(2), "volatility of the previous session"),
        viewed(Col::ConfVol, "Conf", Decimals(2), "how well curve and quotes agree, 0 to 1"),
        viewed(Col::Vanna, "Vanna", Digits(4), "change of delta per 1 of volatility"),
        viewed(Col::Volga, "Volga", Digits(4), "second derivative in volatility"),
        viewed(Col::Charm, "Charm", Digits(4), "change of delta per year"),
        viewed(Col::Veta, "Veta", Digits(4), "change of vega per year"),
        viewed(Col::Lambda, "Lambda", Decimals(2), "leverage: delta times spot over value"),
        viewed(Col::Epsilon, "Epsilon", Decimals(3), "change of value per 1 % of dividend yield"),
        viewed(Col::Speed, "Speed", Digits(3), "change of gamma per 1 of spot"),
        viewed(Col::Zomma, "Zomma", Digits(3), "change of gamma per 1 of volatility"),
        viewed(Col::Color, "Color", Digits(3), "change of gamma per year"),
        viewed(Col::Ultima, "Ultima", Digits(3), "third derivative in volatility"),
        viewed(Col::Vera, "Vera", Digits(3), "derivative in rate and volatility"),
        other("days_vt", "DaysVt", Group::Vt, Decimals(2), "variance days to settlement"),
        viewed(Col::DecayVt, "DecayVt", Decimals(3), "decay by the variance clock"),
        viewed(Col::ThetaVt, "ThetaVt", Decimals(3), "loss of value per variance day"),
        viewed(Col::ProbItm, "P(ITM)", Decimals(3), "probability to end in the money"),
        viewed(Col::ProbTouch, "P(hit)", Decimals(3), "probability to trade at the strike"),
        viewed(Col::Density, "Density", Digits(3), "density of the price at settlement"),
        viewed(Col::ExerciseBoundary, "ExAt", Price(2), "spot at which early exercise is right"),
        viewed(Col::CostOfWaiting, "WaitCst", Price(3), "exercise less holding; above 0: exercise"),
        other("bid", "Bid", Group::Quote, Price(2), "bid of the feed"),
        other("ask", "Ask", Group::Quote, Price(2), "ask of the feed"),
        other("mid", "Mid", Group::Quote, Price(3), "middle of bid and ask"),
    ]
};

const fn viewed(col: Col, title: &'static str, shape: Shape, help: &'static str) -> ViewedColumn {
    ViewedColumn { name: col.name(), title, group: col.group(), shape, help }
}

/// A viewed column that is no [`Col`].
const fn other(
    name: &'static str,
    title: &'static str,
    group: Group,
    shape: Shape,
    help: &'static str,
) -> ViewedColumn {
    ViewedColumn { name, title, group, shape, help }
}

macro_rules! columns {
    ($($name:ident $col:ident $group:ident $nullable:literal $holds:expr;)*) => {
        /// One column of a chain.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Col {
            $(#[doc = concat!("`", stringify!($name), "` of the native record.")] $col,)*
        }

        impl Col {
            /// Every column, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$col,)*];
            /// The field's name in the native record.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$col => stringify!($name),)* }
            }
            /// The native group.
            #[must_use]
            pub const fn group(self) -> Group {
                match self { $(Self::$col => Group::$group,)* }
            }
            /// True if a priced contract may lack it.
            #[must_use]
            pub const fn nullable(self) -> bool {
                match self { $(Self::$col => $nullable,)* }
            }
            const fn holds(self) -> Holds {
                use Holds::Other;
                use Unit::Plain;
                const fn of(greek: Greek) -> Holds {
                    Holds::Greek(greek)
                }
                match self { $(Self::$col => $holds,)* }
            }
        }
    };
}

columns! {
    // name     column     group  may be missing  what it holds
    delta       Delta      Core   false of(Greek::Delta);
    gamma       Gamma      Core   false of(Greek::Gamma);
    vega        Vega       Core   false of(Greek::Vega);
    theta       Theta      Core   false of(Greek::Theta);
    decay       Decay      Core   false Other(Plain, "expected change of the price to the same time on the next trading day");
    rho         Rho        Core   false of(Greek::Rho);
    svc_theo    SvcTheo    Core   false of(Greek::Value);
    svc_vol     SvcVol     Core   false Other(Plain, "volatility of the fitted curve, decimal");
    vanna       Vanna      Extra  false of(Greek::Vanna);
    volga       Volga      Extra  false of(Greek::Volga);
    charm       Charm      Extra  false of(Greek::Charm);
    veta        Veta       Extra  false of(Greek::Veta);
    bid_vol     BidVol     Extra  true  Other(Plain, "volatility implied by the bid");
    ask_vol     AskVol     Extra  true  Other(Plain, "volatility implied by the ask");
    prev_vol    PrevVol    Extra  true  Other(Plain, "svc_vol at the end of the prior session");
    conf_vol    ConfVol    Extra  true  Other(Plain, "how well the quotes support the curve, 0 to 1");
    speed       Speed      Exotic false of(Greek::Speed);
    zomma       Zomma      Exotic false of(Greek::Zomma);
    color       Color      Exotic false of(Greek::Color);
    ultima      Ultima     Exotic false of(Greek::Ultima);
    vera        Vera       Exotic false of(Greek::Vera);
    lambda      Lambda     Exotic false of(Greek::Lambda);
    epsilon     Epsilon    Exotic false of(Greek::Epsilon);
    mid_vol     MidVol     Layer  true  Other(Plain, "volatility implied by the mid");
    iv_error    IvError    Layer  true  Other(Plain, "model value over mid, minus 1");
    dual_delta  DualDelta  Layer  false of(Greek::DualDelta);
    dual_gamma  DualGamma  Layer  false of(Greek::DualGamma);
    d1          D1         Layer  false of(Greek::D1);
    d2          D2         Layer  false of(Greek::D2);
    decay_vt    DecayVt    Vt     true  Other(Plain, "decay, where volatility runs out by the variance clock");
    theta_vt    ThetaVt    Vt     true  Other(Plain, "what a hedged option loses in a variance day, without carry");
    prob_itm    ProbItm    Prob   true  Other(Plain, "probability to settle in the money, by the slope of the curve");
    prob_touch  ProbTouch  Prob   true  Other(Plain, "probability to trade at the strike until settlement, about");
    density     Density    Prob   true  Other(Plain, "density of the price at settlement, at the strike");
    // the last ones are those of no pass: OF_PASS
    exercise_boundary ExerciseBoundary Exercise true Other(Plain, "spot at which exercise is right: of a call before the next ex-date, else now");
    cost_of_waiting CostOfWaiting Exercise true Other(Plain, "exercise less holding through the next ex-date, without one to the next session; above 0: exercise");
    exercise_state ExerciseState Layer true Other(Plain, "0: hold, 1: exercise before the next ex-date, 2: exercise now");
}

impl Col {
    /// Columns that passes compute. Those behind them are computed when a reader asks for them.
    pub const OF_PASS: &[Self] = Self::ALL.split_at(Self::ExerciseBoundary as usize).0;

    /// Index among the columns of no pass.
    #[must_use]
    pub const fn late(self) -> Option<usize> {
        (self as usize).checked_sub(Self::OF_PASS.len())
    }

    /// The Greek that it holds, if it holds one.
    #[must_use]
    pub const fn greek(self) -> Option<Greek> {
        match self.holds() {
            Holds::Greek(greek) => Some(greek),
            Holds::Other(..) => None,
        }
    }

    /// The unit it is stored in.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self.holds() {
            Holds::Greek(greek) => greek.unit(),
            Holds::Other(unit, _) => unit,
        }
    }

    /// Meaning of the column, in one line.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self.holds() {
            Holds::Greek(greek) => greek.meaning(),
            Holds::Other(_, meaning) => meaning,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_native_column_is_offered_once() {
        for col in Col::ALL {
            let n = VIEWED.iter().filter(|viewed| viewed.name == col.name()).count();
            assert_eq!(n, usize::from(Group::VIEWED.contains(&col.group())), "{}", col.name());
        }
        assert!(VIEWED.is_sorted_by_key(|viewed| viewed.group), "by group, in the order of the groups");
    }

    #[test]
    fn headings_and_help_fit_a_terminal() {
        for viewed in VIEWED {
            assert!((3..=7).contains(&viewed.title.len()), "{}", viewed.name);
            assert!((10..=42).contains(&viewed.help.len()), "{}", viewed.name);
        }
    }
}
