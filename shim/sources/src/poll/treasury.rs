//! Rates without an account: the US Treasury's par yields of a year, and SOFR of the New York Fed as their short end.
//! Both are official and public, and change once on a business day.

use super::failure::Failure;
use super::plan::VendorTerms;
use super::vendor::{Asks, DataKind, Document, PolledVendor, PublicLimits, Question, Sweep, Vendor};
use feeds::rates::{parse_sofr, parse_treasury};
use jiff::civil::Date;
use kernel::calendar::shift::ShiftDate;
use kernel::contract::Symbol;
use kernel::par_yields::with_short_end;
use std::time::Duration;

/// The name in the plan, since rates have no symbol.
const NAME: &str = "TREASURY";
/// Yields are published in the afternoon, SOFR in the morning: every four hours is often enough.
const TERMS: VendorTerms = VendorTerms {
    every: Duration::from_secs(4 * 3600),
    every_closed: Duration::from_secs(4 * 3600),
    per_minute: 6.0,
    burst: 3.0,
    at_once: 1,
    delay: Duration::ZERO,
};

/// Row of the table of vendors.
pub static ROW: PolledVendor = PolledVendor {
    word: "treasury",
    base: "https://home.treasury.gov",
    second_base: Some("https://markets.newyorkfed.org"),
    terms: TERMS,
    public_limits: Some(PublicLimits {
        every_least: Duration::from_secs(3600),
        names_most: 1,
        text: "one request per hour",
    }),
    notice: None,
    has_spots: false,
    data_kinds: &[DataKind::Rates],
    whole: Some(NAME),
    open: |_, _| Ok(Box::new(Treasury)),
};

/// Maximum age of curves, days: no holidays are as long.
const KEPT_DAYS: i32 = 30;

/// The two servers.
#[derive(Clone, Copy, Debug)]
pub struct Treasury;

impl Vendor for Treasury {
    fn data_kind(&self) -> DataKind {
        DataKind::Rates
    }

    /// The yields of the year, and of the previous one if it has some of the last days; SOFR of the same days.
    fn begin(&self, _: Symbol, today: Date) -> Vec<Question> {
        let first = today.plus_days(-KEPT_DAYS);
        let yields = |year: i16| {
            let target = format!(
                "/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv/{year}/all\
                 ?type=daily_treasury_yield_curve&field_tdr_date_value={year}&page&_format=csv"
            );
            Question::new(Asks::Yields, target)
        };
        let sofr = format!("/api/rates/secured/sofr/search.json?startDate={first}&endDate={today}");
        let years = (first.year()..=today.year()).map(yields);
        years.chain([Question::new(Asks::Overnight, sofr)]).collect()
    }

    fn read(&self, data: &Document<'_>, sweep: &mut Sweep) -> Result<(), Failure> {
        let Document { source, bytes, asked_at, calendar, .. } = *data;
        let first = calendar.eastern(asked_at).date().plus_days(-KEPT_DAYS);
        let is_overnight = data.request.what == Asks::Overnight;
        let (mut rates, report) = if is_overnight { parse_sofr(source, bytes) } else { parse_treasury(source, bytes) };
        if let Some(error) = report.errors.first() {
            return Err(Failure::of_error(error));
        }
        sweep.report.absorb(report);
        let before = sweep.batch.rates.take().unwrap_or_default();
        sweep.batch.rates = Some(if is_overnight {
            with_short_end(before, &rates)
        } else {
            rates.retain(|node| node.date >= first);
            [before, rates].concat()
        });
        Ok(())
    }

    /// A year may have no file on its first days, and curves are usable without their short ends.
    fn may_miss(&self, request: &Question, failure: Failure) -> bool {
        request.what == Asks::Overnight || matches!(failure, Failure::NotFound | Failure::Empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use kernel::calendar::Calendar;
    use std::path::Path;

    fn name() -> Symbol {
        Symbol::parse(NAME).unwrap()
    }

    #[test]
    fn the_year_before_is_asked_for_while_its_last_days_count() {
        let targets = |today| Treasury.begin(name(), today).into_iter().map(|q| q.target).collect::<Vec<_>>();
        let autumn = targets(date(2026, 11, 20));
        assert_eq!(autumn.len(), 2);
        assert!(autumn[0].contains("/2026/all?") && autumn[0].contains("date_value=2026&"), "{autumn:?}");
        assert!(autumn[1].ends_with("startDate=2026-10-21&endDate=2026-11-20"), "{autumn:?}");
        let january = targets(date(2027, 1, 4));
        assert_eq!(january.len(), 3);
        assert!(january[0].contains("/2026/all?") && january[1].contains("/2027/all?"), "{january:?}");
    }

    #[test]
    fn yields_and_overnight_rates_make_the_curves_of_the_last_days() {
        let calendar = Calendar::embedded();
        let questions = Treasury.begin(name(), date(2026, 11, 20));
        let mut sweep = Sweep::new([]);
        let mut read = |request: &Question, text: &str| {
            let data = Document {
                name: name(),
                request,
                source: Path::new("t"),
                bytes: text.as_bytes(),
                asked_at: "2026-11-20T12:00:00-05:00".parse().unwrap(),
                calendar: &calendar,
            };
            Treasury.read(&data, &mut sweep)
        };
        let yields = "Date,\"1 Mo\",\"3 Mo\"\n11/19/2026,4.0,4.1\n11/18/2026,4.0,4.1\n10/20/2026,4.0,4.1\n";
        assert_eq!(read(&questions[0], yields), Ok(()));
        let sofr = r#"{"refRates":[{"effectiveDate":"2026-11-18","type":"SOFR","percentRate":3.9}]}"#;
        assert_eq!(read(&questions[1], sofr), Ok(()));
        assert_eq!(read(&questions[0], "<html>blocked</html>"), Err(Failure::Malformed));
        let rates = sweep.batch.rates.unwrap();
        let nodes: Vec<(Date, u32)> = rates.iter().map(|node| (node.date, node.tenor_days as u32)).collect();
        let day = |d| date(2026, 11, d);
        let want = [(day(19), 30), (day(19), 92), (day(18), 30), (day(18), 92), (day(18), 1), (day(19), 1)];
        assert_eq!(nodes, want, "the short end of a day is that of the last night; a month is enough");
    }
}
