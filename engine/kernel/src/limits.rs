//! Every bound and domain, one table: name, unit, least, most. Never: a bound anywhere else.

use crate::error::Reason;

/// The closed range that a quantity must lie in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The quantity bounded.
    pub name: &'static str,
    /// Unit of the bounds.
    pub unit: &'static str,
    /// The least value allowed.
    pub least: f64,
    /// The greatest value allowed.
    pub most: f64,
}

impl Bound {
    /// The number, if it lies in the range.
    ///
    /// # Errors
    /// NaN is no number; everything else outside is out of range.
    pub const fn admit(&self, x: f64) -> Result<f64, Reason> {
        match x {
            x if self.holds(x) => Ok(x),
            x if x.is_nan() => Err(Reason::NotANumber),
            _ => Err(Reason::OutOfRange),
        }
    }

    /// True if `x` lies in the range; NaN and infinity never do.
    #[must_use]
    pub const fn holds(&self, x: f64) -> bool {
        x >= self.least && x <= self.most
    }
}

macro_rules! bounds {
    ($($id:ident $least:literal $most:literal $unit:literal $name:literal;)*) => {
        $(
            #[doc = concat!("Bound of the ", $name, ": ", $least, " to ", $most, " ", $unit, ".")]
            pub const $id: Bound = Bound { name: $name, unit: $unit, least: $least, most: $most };
        )*
        /// Every bound of the table.
        pub const ALL: &[Bound] = &[$($id,)*];
    };
}

bounds! {
    // id            least     most            unit                      name
    STRIKE_MILLI     1.0       99_999_999.0    "thousandths"             "strike";
    PRICE            0.0       10_000_000.0    "currency per share"      "quoted price";
    SPOT             1e-6      10_000_000.0    "currency per share"      "underlying price";
    SIZE             0.0       1e12            "contracts"               "quoted size";
    DIVIDEND         0.0       10_000_000.0    "currency per share"      "cash dividend";
    RATE             -0.5      2.0             "per year, decimal"       "continuously compounded rate";
    BORROW           -10.0     100.0           "per year, decimal"       "forced borrow rate";
    FORWARD          1e-6      10_000_000.0    "currency per share"      "forced forward";
    SHARES           1e-3      1_000_000.0     "per contract"            "shares of an adjusted contract";
    CASH             0.0       100_000_000.0   "currency per contract"   "cash of an adjusted contract";
    MULTIPLIER       1e-2      1_000_000.0     "1"                       "multiplier of an adjusted contract";
    QUANTITY         -1e9      1e9             "shares or contracts"     "position";
    COST             -1e12     1e12            "currency"                "cost of a position";
    POSITION_LINES   0.0       100_000.0       "lines"                   "book of positions";
    BETA             -100.0    100.0           "1"                       "beta of an underlying";
    VOL_SHIFT        -500.0    500.0           "points, 1 is 1 %"        "shift of volatilities";
    RATE_PERCENT     -50.0     200.0           "per year, percent"       "published interest rate";
    EVENT_MOVE       0.0       200.0           "percent"                 "move of an event";
    EVENT_DAYS       0.0       100.0           "variance days"           "size of an event of the market";
    NIGHT_PART       0.05      0.95      "of a session's variance" "night, and early session beside a whole one";
    CLOSED_DAYS      0.0       1.0             "variance days"           "a date without a session";
    TENOR_DAYS       0.5       36_525.0        "calendar days"           "tenor of a rate";
    DOCUMENT_BYTES   0.0       134_217_728.0   "bytes, decompressed"     "document of a vendor";
    ALERT_BYTES      0.0       1_048_576.0     "bytes"                   "file of alert rules";
    JSON_TREE_BYTES  0.0       67_108_864.0    "bytes, decompressed"     "JSON document that is read as a tree";
    JSON_TREE_MEMORY 0.0       536_870_912.0   "bytes of memory, about"  "tree of a JSON document";
    PARQUET_ROWS     0.0       1_000_000.0     "rows"                    "rows of a Parquet file, besides one for each of its bytes";
    RECORDS          0.0       1_000_000.0     "records"                 "records of one document";
    SWEEP_RECORDS    0.0       250_000.0       "records"                 "records of all answers about one name";
    INSTRUMENTS      0.0       4_000_000.0     "instruments"             "instruments of one file, and contracts of all feeds";
    NAMES            0.0       100_000.0       "underlyings"             "underlyings of all feeds";
    KEPT_RECORDS     0.0       1_000_000.0     "records"                 "dividends, and rates, that a feed has pushed";
    SPOT_SPREAD      0.0       0.01            "of the middle"           "spread of a share whose middle is its price";
    AHEAD_HOURS      0.0       24.0            "hours"                   "time of a record of a file ahead of the clocks";
    AHEAD_MINUTES    0.0       2.0             "minutes"                 "time of a live record ahead of the clocks";
    FILE_BYTES       0.0       536_870_912.0   "bytes, decompressed"     "feed file";
    LINE_BYTES       0.0       65_536.0        "bytes"                   "line of a feed file";
    GZIP_RATIO       0.0       200.0           "bytes from one"          "growth of a compressed file beyond a megabyte";
    STRIKES          0.0       20_000.0        "strikes"                 "strikes of one root and expiry";
    EXPIRIES         0.0       1_000.0         "expiries"                "expiries of one underlying, by root";
    DIVIDEND_DATES   0.0       512.0           "ex-dates"                "dividends in the life of an American contract";
    SIM_SCALE        0.2       2.0             "of 1.6 million contracts" "size of the simulated market";
    YEAR             1990.0    2099.0          "calendar year"           "year of any date or quote time";
}

/// Greatest size of so many compressed bytes once decompressed: [`GZIP_RATIO`] times as many, but a megabyte at least
/// (a short file may repeat one row). Chains have ratios of 10 to 30; without a bound a few kilobytes could unpack to
/// gigabytes.
#[must_use]
pub fn grown(packed: u64) -> u64 {
    let ratio = (GZIP_RATIO.most as u64).saturating_mul(packed);
    ratio.clamp(1 << 20, FILE_BYTES.most as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_ranges_and_refuse_what_is_no_number() {
        for b in ALL {
            assert!(b.least < b.most, "{}", b.name);
            assert!(b.holds(b.least) && b.holds(b.most), "{}", b.name);
            for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, b.most.next_up(), b.least.next_down()] {
                assert!(!b.holds(x), "{} held {x}", b.name);
            }
        }
    }
}
