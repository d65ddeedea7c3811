//! A vendor's own numbers beside a quote: volatility and Greeks, with the number of decimals printed. Never: a
//! conversion of units: [`engine::compare`] finds the units.

use super::cells::{Cell, Cells, Fault};
use super::columns::SHOWN;
use super::header::{Found, get};
use kernel::error::Reason;
use kernel::limits::Bound;

/// Bounds of any number of a vendor.
const NUMBER: Bound = Bound { name: "Greek", unit: "the vendor's", least: -1e12, most: 1e12 };
/// Decimals beyond these are not distinguished.
const DECIMALS_MOST: usize = 12;

/// The numbers of a vendor for one contract: volatility, delta, gamma, vega, theta, rho.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownNumbers {
    /// The numbers, in the vendor's units; NaN: the row has none.
    pub values: [f64; SHOWN],
    /// Decimals that each is printed with; `None`: the file has no such column.
    pub decimals: [Option<u8>; SHOWN],
}

impl ShownNumbers {
    /// No number.
    pub const NONE: Self = Self { values: [f64::NAN; SHOWN], decimals: [None; SHOWN] };

    /// Reads the numbers of a row.
    ///
    /// # Errors
    /// A value is not a number, or is out of bounds.
    pub(super) fn read<C: Cells>(row: &C, columns: &[Option<Found>; SHOWN]) -> Result<Self, Fault> {
        let mut shown = Self::NONE;
        for ((column, value), decimals) in columns.iter().zip(&mut shown.values).zip(&mut shown.decimals) {
            let Some(column) = *column else { continue };
            let cell = get(row, column)?;
            let at = |reason: Reason| (column.name, reason);
            *value = match cell.any_number(row.dialect()).map_err(at)? {
                x if x.is_nan() => x,
                x => NUMBER.admit(x).map_err(at)?,
            };
            *decimals = Some(match cell {
                _ if value.is_nan() => 0,
                Cell::Text(text) => decimals_of(text),
                Cell::Number(x) => decimals_of(&x.to_string()),
                _ => 0,
            });
        }
        Ok(shown)
    }
}

/// Decimals of a printed number, at most [`DECIMALS_MOST`], which a number with an exponent has.
fn decimals_of(text: &str) -> u8 {
    let behind =
        text.rsplit_once(['.', ',']).map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    let decimals = if text.contains(['e', 'E']) { DECIMALS_MOST } else { behind.min(DECIMALS_MOST) };
    u8::try_from(decimals).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_counted_as_printed() {
        for (text, decimals) in
            [("1", 0), ("0.50", 2), ("0,50", 2), ("1.234,5", 1), ("-0.1234567890123", 12), ("1.2e-5", 12), ("1E3", 12)]
        {
            assert_eq!(decimals_of(text), decimals, "{text}");
        }
    }
}
