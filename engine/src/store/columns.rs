//! The table of columns: one row here is one published number per contract. The struct of columns, the [`Col`] enum
//! and the native schema all come from it.

/// The unit that a column is stored in. A layer asks for the unit it wants and gets the factor from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No unit, or currency per share: printed as it is.
    Plain,
    /// Per 1 % (of volatility, rate or yield).
    PerPercent,
    /// Per 1.00 (of volatility, rate or yield).
    PerOne,
    /// Per calendar day.
    PerDay,
    /// Per year.
    PerYear,
}

impl Unit {
    /// What a raw derivative of the kernel (per 1.00, per year) is divided by to be in this unit.
    #[must_use]
    pub const fn divisor(self) -> f64 {
        match self {
            Self::PerPercent => 100.0,
            Self::PerDay => 365.0,
            Self::Plain | Self::PerOne | Self::PerYear => 1.0,
        }
    }
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
    /// Vendor layers only.
    Layer,
}

macro_rules! columns {
    ($($name:ident $col:ident $unit:ident $group:ident $nullable:literal $meaning:literal;)*) => {
        /// One column of a chain.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Col {
            $(#[doc = $meaning] $col,)*
        }

        impl Col {
            /// Every column, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$col,)*];
            /// The field's name in the native record.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$col => stringify!($name),)* }
            }
            /// The unit it is stored in.
            #[must_use]
            pub const fn unit(self) -> Unit {
                match self { $(Self::$col => Unit::$unit,)* }
            }
            /// The native group.
            #[must_use]
            pub const fn group(self) -> Group {
                match self { $(Self::$col => Group::$group,)* }
            }
            /// Whether a priced contract may miss it.
            #[must_use]
            pub const fn nullable(self) -> bool {
                match self { $(Self::$col => $nullable,)* }
            }
            /// What it means, in one line.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$col => $meaning,)* }
            }
        }
    };
}

columns! {
    // name     column     stored as  group   may be missing  meaning (sign conventions: MODEL)
    delta       Delta      Plain      Core    false "dV/dS";
    gamma       Gamma      Plain      Core    false "d2V/dS2";
    vega        Vega       PerPercent Core    false "dV/dsigma, per 1 % of volatility";
    theta       Theta      PerDay     Core    false "dV/dt, calendar time forward, per calendar day";
    decay       Decay      Plain      Core    false "expected change of the price to the same time on the next trading day";
    rho         Rho        PerPercent Core    false "dV/dr, spot fixed, per 1 % of rate";
    svc_theo    SvcTheo    Plain      Core    false "model value, currency per share";
    svc_vol     SvcVol     Plain      Core    false "volatility of the fitted curve, decimal";
    vanna       Vanna      Plain      Extra   false "d2V/(dS dsigma)";
    volga       Volga      Plain      Extra   false "d2V/dsigma2";
    charm       Charm      PerYear    Extra   false "d2V/(dS dt), annualized";
    veta        Veta       PerYear    Extra   false "d2V/(dsigma dt), annualized";
    bid_vol     BidVol     Plain      Extra   true  "volatility implied by the bid";
    ask_vol     AskVol     Plain      Extra   true  "volatility implied by the ask";
    prev_vol    PrevVol    Plain      Extra   true  "svc_vol at the end of the prior session";
    conf_vol    ConfVol    Plain      Extra   true  "how well the quotes support the curve, 0 to 1";
    speed       Speed      Plain      Exotic  false "d3V/dS3";
    zomma       Zomma      Plain      Exotic  false "d3V/(dS2 dsigma)";
    color       Color      PerYear    Exotic  false "d3V/(dS2 dt), annualized";
    ultima      Ultima     Plain      Exotic  false "d3V/dsigma3";
    vera        Vera       Plain      Exotic  false "d2V/(dsigma dr)";
    lambda      Lambda     Plain      Exotic  false "delta times S over V; 0 where V = 0";
    epsilon     Epsilon    PerPercent Exotic  false "dV/dq, per 1 % of dividend yield";
    mid_vol     MidVol     Plain      Layer   true  "volatility implied by the mid";
    iv_error    IvError    Plain      Layer   true  "model value over mid, minus 1";
    dual_delta  DualDelta  Plain      Layer   false "dV/dK";
    dual_gamma  DualGamma  Plain      Layer   false "d2V/dK2";
    d1          D1         Plain      Layer   false "Black-76 d1";
    d2          D2         Plain      Layer   false "Black-76 d2";
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
    /// `rows` contracts, every number missing.
    #[must_use]
    pub fn missing(rows: usize) -> Self {
        let stride = rows.next_multiple_of(crate::kernel::lanes::BLOCK);
        Self { stride, rows, data: vec![f64::NAN; stride * Col::ALL.len()] }
    }

    /// Makes room for `rows` contracts, every number missing.
    pub fn reset(&mut self, rows: usize) {
        self.stride = rows.next_multiple_of(crate::kernel::lanes::BLOCK);
        self.rows = rows;
        self.data.clear();
        self.data.resize(self.stride * Col::ALL.len(), f64::NAN);
    }

    /// The rows of several columns one after the other.
    #[must_use]
    pub fn joined(parts: &[&Self]) -> Self {
        let rows = parts.iter().map(|part| part.rows).sum::<usize>();
        let stride = rows.next_multiple_of(crate::kernel::lanes::BLOCK);
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
