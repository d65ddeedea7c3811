//! The columns that a chain can show: name in the API, heading, group, unit on the screen, decimals. One table.

use std::fmt;

/// A group of columns, as the API has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ColumnGroup {
    /// Value, volatility and first Greeks.
    Core,
    /// Second order, and the volatilities around the curve.
    Extra,
    /// Third order.
    Exotic,
    /// The quotes of the feed, where the daemon shows them.
    Quote,
}

impl ColumnGroup {
    /// All of them, in the order in which `g` goes round.
    pub(crate) const ALL: [Self; 4] = [Self::Core, Self::Extra, Self::Exotic, Self::Quote];

    /// The word in a request.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Extra => "extra",
            Self::Exotic => "exotic",
            Self::Quote => "quote",
        }
    }

    /// What its columns are about.
    pub(crate) const fn says(self) -> &'static str {
        match self {
            Self::Core => "value and first Greeks",
            Self::Extra => "second order, volatilities",
            Self::Exotic => "third order",
            Self::Quote => "quotes of the feed",
        }
    }
}

/// How a number is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// So many decimals.
    Decimals(u8),
    /// A fraction as percent, with so many decimals.
    Percent(u8),
    /// So many digits that count, wherever the point is.
    Digits(u8),
}

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColumnFacts {
    /// Its name in the API.
    pub(crate) name: &'static str,
    /// Its heading.
    pub(crate) title: &'static str,
    /// Its group.
    pub(crate) group: ColumnGroup,
    /// How its numbers are shown.
    pub(crate) shape: Shape,
    /// What it is, with its unit.
    pub(crate) says: &'static str,
}

const fn facts(
    name: &'static str,
    title: &'static str,
    group: ColumnGroup,
    shape: Shape,
    says: &'static str,
) -> ColumnFacts {
    ColumnFacts { name, title, group, shape, says }
}

/// Every column, by group.
pub(crate) const COLUMNS: [ColumnFacts; 26] = {
    use ColumnGroup::{Core, Exotic, Extra, Quote};
    use Shape::{Decimals, Digits, Percent};
    [
        facts("svc_theo", "Value", Core, Decimals(2), "model value, per share"),
        facts("svc_vol", "Vol%", Core, Percent(2), "volatility of the fitted curve"),
        facts("delta", "Delta", Core, Decimals(3), "per 1 of spot"),
        facts("gamma", "Gamma", Core, Decimals(4), "of delta, per 1 of spot"),
        facts("vega", "Vega", Core, Decimals(3), "per 1 % of volatility"),
        facts("theta", "Theta", Core, Decimals(3), "per calendar day"),
        facts("decay", "Decay", Core, Decimals(3), "to this time of the next trading day"),
        facts("rho", "Rho", Core, Decimals(3), "per 1 % of rate"),
        facts("bid_vol", "BidVol%", Extra, Percent(2), "volatility implied by the bid"),
        facts("ask_vol", "AskVol%", Extra, Percent(2), "volatility implied by the ask"),
        facts("prev_vol", "PrvVol%", Extra, Percent(2), "volatility of the previous session"),
        facts("conf_vol", "Conf", Extra, Decimals(2), "how well curve and quotes agree, 0 to 1"),
        facts("vanna", "Vanna", Extra, Digits(4), "of delta, per 1 of volatility"),
        facts("volga", "Volga", Extra, Digits(4), "of vega, per 1 of volatility"),
        facts("charm", "Charm", Extra, Digits(4), "of delta, per year"),
        facts("veta", "Veta", Extra, Digits(4), "of vega, per year"),
        facts("lambda", "Lambda", Exotic, Decimals(2), "leverage: delta times spot over value"),
        facts("epsilon", "Epsilon", Exotic, Decimals(3), "per 1 % of dividend yield"),
        facts("speed", "Speed", Exotic, Digits(3), "of gamma, per 1 of spot"),
        facts("zomma", "Zomma", Exotic, Digits(3), "of gamma, per 1 of volatility"),
        facts("color", "Color", Exotic, Digits(3), "of gamma, per year"),
        facts("ultima", "Ultima", Exotic, Digits(3), "third derivative in volatility"),
        facts("vera", "Vera", Exotic, Digits(3), "of rho, per 1 of volatility"),
        facts("bid", "Bid", Quote, Decimals(2), "bid of the feed"),
        facts("ask", "Ask", Quote, Decimals(2), "ask of the feed"),
        facts("mid", "Mid", Quote, Decimals(3), "middle of bid and ask"),
    ]
};

/// How many columns there are.
pub(crate) const N_COLUMNS: usize = COLUMNS.len();
/// The width of a column, with the gap before it.
pub(crate) const COLUMN_WIDTH: u16 = 8;

/// A column, by its place in the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Column(u8);

impl Column {
    /// Every column, in the order of the table.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..N_COLUMNS).filter_map(|i| u8::try_from(i).ok()).map(Self)
    }

    /// The column of that name in the API.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().find(|column| column.facts().name == name)
    }

    /// The columns of a group.
    pub(crate) fn of(group: ColumnGroup) -> Vec<Self> {
        Self::all().filter(|column| column.facts().group == group).collect()
    }

    /// What is known of it.
    pub(crate) const fn facts(self) -> &'static ColumnFacts {
        &COLUMNS[self.0 as usize]
    }

    /// Its place in the table.
    pub(crate) const fn place(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facts().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::store::columns::{Col, Group};

    #[test]
    fn the_columns_are_those_of_the_api() {
        for column in Column::all().filter(|column| column.facts().group != ColumnGroup::Quote) {
            let facts = column.facts();
            let col = Col::ALL.iter().find(|col| col.name() == facts.name);
            let group = match col.unwrap_or_else(|| panic!("no column {}", facts.name)).group() {
                Group::Core => "core",
                Group::Extra => "extra",
                Group::Exotic => "exotic",
                other => panic!("{other:?}"),
            };
            assert_eq!(group, facts.group.name(), "{}", facts.name);
        }
        let is_native = |col: &&Col| col.group() != Group::Layer;
        let left_out: Vec<_> =
            Col::ALL.iter().filter(is_native).filter(|col| Column::named(col.name()).is_none()).collect();
        assert!(left_out.is_empty(), "{left_out:?}");
    }

    #[test]
    fn headings_fit_and_names_stand_once() {
        for column in Column::all() {
            assert!(column.facts().title.len() < usize::from(COLUMN_WIDTH), "{column:?}");
            assert_eq!(Column::named(column.facts().name), Some(column));
        }
    }
}
