//! Recorded chains with the columns that a vendor published beside them. They are not in the repository: tests that
//! need them are ignored unless asked for, and fail where the recordings are not found.

use engine::calibrate::{ForcedCarry, SliceInput};
use kernel::american::SharedBoundaries;
use kernel::contract::{ForwardBasis, Right, Style};
use kernel::dividends::Dividend;
use kernel::quality::Quality;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One recorded chain.
#[derive(Debug)]
pub struct Recorded {
    /// Spot, currency per share.
    pub spot: f64,
    /// Expiries, ascending.
    pub slices: Vec<RecordedSlice>,
}

/// One expiry; columns by row, strike ascending, call before put.
#[derive(Debug)]
pub struct RecordedSlice {
    /// Option root.
    pub root: String,
    /// Expiration date, as recorded.
    pub expiry: String,
    /// Exercise style.
    pub style: Style,
    /// Years to settlement.
    pub t: f64,
    /// Continuously compounded rate.
    pub r: f64,
    /// Dividends until settlement.
    pub divs: Vec<Dividend>,
    /// Strikes, thousandths.
    pub strike_milli: Vec<u32>,
    /// Call or put.
    pub right: Vec<Right>,
    /// Bids; NaN: none.
    pub bid: Vec<f64>,
    /// Asks; NaN: none.
    pub ask: Vec<f64>,
    /// Age of each quote, seconds.
    pub age_s: Vec<f64>,
    /// Its exercise boundaries.
    pub shared: SharedBoundaries,
    /// The vendor's volatility.
    pub vendor_iv: Vec<f64>,
    /// The vendor's delta.
    pub vendor_delta: Vec<f64>,
    /// The vendor's gamma.
    pub vendor_gamma: Vec<f64>,
    /// The vendor's vega, per 1 %.
    pub vendor_vega: Vec<f64>,
}

impl RecordedSlice {
    /// Inputs of the calibration of the expiry.
    #[must_use]
    pub fn input<'a>(&'a self, chain: &Recorded) -> SliceInput<'a> {
        SliceInput {
            style: self.style,
            quality: Quality::Full,
            basis: ForwardBasis::Spot,
            t: self.t,
            s: chain.spot,
            r: self.r,
            step: 1.0 / 365.0,
            divs: &self.divs,
            strike_milli: &self.strike_milli,
            right: &self.right,
            bid: &self.bid,
            ask: &self.ask,
            age_s: &self.age_s,
            excluded: &[],
            forced: ForcedCarry::default(),
            shares: None,
            shared: &self.shared,
            clock: || 0,
            vol_shift: 0.0,
        }
    }
}

/// The folder of recorded chains: GREEKSD_REALDATA.
///
/// # Panics
/// The variable is not set.
#[must_use]
pub fn folder() -> PathBuf {
    std::env::var_os("GREEKSD_REALDATA")
        .map(PathBuf::from)
        .expect("GREEKSD_REALDATA names the folder of recorded chains")
}

fn eastern(date: &str, clock: &str) -> jiff::Timestamp {
    let dt: jiff::civil::DateTime = format!("{date}T{clock}").parse().unwrap();
    dt.in_tz("America/New_York").unwrap().timestamp()
}

fn years(from: jiff::Timestamp, to: jiff::Timestamp) -> f64 {
    (to.as_second() - from.as_second()) as f64 / (365.0 * 86_400.0)
}

fn rate_at(points: &[(f64, f64)], days: f64) -> f64 {
    let Some(hi) = points.iter().position(|p| p.0 >= days) else { return points[points.len() - 1].1 };
    if hi == 0 {
        return points[0].1;
    }
    let (a, b) = (points[hi - 1], points[hi]);
    a.1 + (b.1 - a.1) * (days - a.0) / (b.0 - a.0)
}

type Row = (u32, Right, [f64; 6]);

/// The chain in `chains/NAME.csv.gz` of [`folder`].
///
/// # Panics
/// The chain is missing or incomplete.
#[must_use]
pub fn load(name: &str) -> Recorded {
    let folder = folder();
    let path = folder.join(format!("chains/{name}.csv.gz"));
    let file = std::fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut reader = csv::Reader::from_reader(flate2::read::MultiGzDecoder::new(file));
    let number = |s: &str| s.parse::<f64>().unwrap_or(f64::NAN);
    let mut groups: BTreeMap<(String, bool, String), Vec<Row>> = BTreeMap::new();
    let (mut now, mut spot, mut underlying) = (jiff::Timestamp::UNIX_EPOCH, f64::NAN, String::new());
    let mut date = String::new();
    for record in reader.records() {
        let r = record.unwrap();
        now = r[0].parse().unwrap();
        date = r[0][..10].to_owned();
        underlying = r[1].to_owned();
        spot = number(&r[2]);
        let right = if &r[5] == "call" { Right::Call } else { Right::Put };
        let row = (
            (number(&r[6]) * 1000.0).round() as u32,
            right,
            [&r[7], &r[8], &r[11], &r[12], &r[13], &r[15]].map(number),
        );
        groups.entry((r[4].to_owned(), &r[3] != "SPX", r[3].to_owned())).or_default().push(row);
    }
    let mut rates = Vec::new();
    for r in csv::Reader::from_path(folder.join("rates.csv")).unwrap().records() {
        let r = r.unwrap();
        if r[0] == date {
            rates.push((number(&r[1]), number(&r[2])));
        }
    }
    let mut dividends = Vec::new();
    for r in csv::Reader::from_path(folder.join("dividends.csv")).unwrap().records() {
        let r = r.unwrap();
        if r[0] == underlying {
            dividends.push((years(now, eastern(&r[1], "09:30:00")), number(&r[2])));
        }
    }
    let mut slices = Vec::new();
    for ((expiry, pm, root), mut rows) in groups {
        rows.sort_by_key(|r| (r.0, r.1));
        let t = years(now, eastern(&expiry, if pm { "16:00:00" } else { "09:30:00" }));
        if t <= 0.0 {
            continue;
        }
        let column = |i: usize| rows.iter().map(|r| r.2[i]).collect::<Vec<f64>>();
        slices.push(RecordedSlice {
            root,
            expiry,
            style: if underlying == "SPX" { Style::European } else { Style::American },
            t,
            r: rate_at(&rates, t * 365.0),
            divs: dividends
                .iter()
                .filter(|d| d.0 > 0.0 && d.0 <= t)
                .map(|d| Dividend { t: d.0, amount: d.1 })
                .collect(),
            strike_milli: rows.iter().map(|r| r.0).collect(),
            right: rows.iter().map(|r| r.1).collect(),
            bid: column(0),
            ask: column(1),
            age_s: vec![0.0; rows.len()],
            shared: SharedBoundaries::default(),
            vendor_iv: column(2),
            vendor_delta: column(3),
            vendor_gamma: column(4),
            vendor_vega: column(5),
        });
    }
    Recorded { spot, slices }
}
