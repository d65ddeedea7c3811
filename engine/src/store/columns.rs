//! The table of columns: one row here is one published number per contract. The struct of columns, the [`Col`] enum
//! and the native schema all come from it.

use kernel::greeks::Greek;
pub use kernel::greeks::Unit;

/// Kind of a column.
#[derive(Clone, Copy, Debug)]
enum Holds {
    /// A Greek, in its native unit.
    Greek(Greek),
    /// Something else: its unit, and what it means.
    Other(Unit, &'static str),
}

/// The native field groups, in the order in which a row has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Default.
    Core,
    /// Second order, and the three volatilities.
    Extra,
    /// Third order.
    Exotic,
    /// Constant per expiry.
    Chain,
    /// Quotes. The group has no column: [`ChainQuotes`](super::quotes::ChainQuotes).
    Quote,
    /// Vendor layers only.
    Layer,
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
}

impl Col {
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

/// The columns of one chain: one contiguous block of numbers, column after column, each padded to whole lanes.
/// NaN means missing and nothing else; infinity never occurs.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    stride: usize,
    rows: usize,
    data: Vec<f64>,
}

impl Columns {
    /// Bytes held beside itself.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.data.capacity() * size_of::<f64>()
    }

    /// `rows` contracts, every number missing.
    #[must_use]
    pub fn missing(rows: usize) -> Self {
        let stride = rows.next_multiple_of(kernel::lanes::BLOCK);
        Self { stride, rows, data: vec![f64::NAN; stride * Col::ALL.len()] }
    }

    /// Makes room for `rows` contracts, every number missing.
    pub fn reset(&mut self, rows: usize) {
        self.stride = rows.next_multiple_of(kernel::lanes::BLOCK);
        self.rows = rows;
        self.data.clear();
        self.data.resize(self.stride * Col::ALL.len(), f64::NAN);
    }

    /// The rows of several columns one after the other.
    #[must_use]
    pub fn joined(parts: &[&Self]) -> Self {
        let rows = parts.iter().map(|part| part.rows).sum::<usize>();
        let stride = rows.next_multiple_of(kernel::lanes::BLOCK);
        let mut data = Vec::with_capacity(stride * Col::ALL.len());
        for (i, &col) in (1..).zip(Col::ALL) {
            parts.iter().for_each(|part| data.extend_from_slice(part.get(col)));
            data.resize(i * stride, f64::NAN);
        }
        Self { stride, rows, data }
    }

    /// One number per row, in row order.
    #[must_use]
    pub fn get(&self, col: Col) -> &[f64] {
        let start = col as usize * self.stride;
        &self.data[start..start + self.rows]
    }

    /// The same, to write, before the chain is published.
    pub fn get_mut(&mut self, col: Col) -> &mut [f64] {
        let start = col as usize * self.stride;
        &mut self.data[start..start + self.rows]
    }
}
