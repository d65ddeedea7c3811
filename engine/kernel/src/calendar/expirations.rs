//! Expiration dates of contracts: third Fridays, weeklies, month ends, VIX. Never: a list of listed contracts.

use super::{Calendar, Day, SPECIAL, last_session, rules};
use crate::calendar::shift::ShiftDate;
use crate::contract::ContractKey;
use jiff::civil::{Date, Weekday};

impl Calendar {
    /// Monthly expiration: the third Friday, or the session before where that is closed. Any date of the month.
    #[must_use]
    pub fn monthly_expiry(&self, in_month: Date) -> Date {
        self.session_on_or_before(third_friday(in_month))
    }

    /// The expiration of a weekly or daily series that is due on `nominal`: back to the session before where that is
    /// closed, but forward where it is a Monday (the index weeklies' rule).
    #[must_use]
    pub fn weekly_expiry(&self, nominal: Date) -> Date {
        // a Monday expiry moves forward over a holiday, all others move back
        if nominal.weekday() == Weekday::Monday {
            self.session_on_or_after(nominal)
        } else {
            self.session_on_or_before(nominal)
        }
    }

    /// The last session of a month, on which month-end and quarter-end series expire.
    #[must_use]
    pub fn month_end_expiry(&self, in_month: Date) -> Date {
        self.session_on_or_before(in_month.last_of_month())
    }

    /// VIX monthly expiration: 30 days before the third Friday of the month after (the Thursday before, where that
    /// Friday is closed); the business day before, where that is closed.
    #[must_use]
    pub fn vix_expiry(&self, in_month: Date) -> Date {
        // the index settles thirty days before the SPX options that it is computed from expire
        let spx = self.monthly_expiry(in_month.first_of_month().plus_months(1));
        self.session_on_or_before(spx.plus_days(-30))
    }
}

/// The date that an expiry is served under: the one that it is listed for, or the last session before where that has
/// none. Monthly options were listed for the Saturday after their last session until February 2015, some for longer,
/// and files of vendors go on with it. By the calendar of the crate, so that a user's own days rename no contract.
#[must_use]
pub fn canonical_expiry(listed: Date) -> Date {
    last_session(listed, |d| SPECIAL.get(&d).copied().unwrap_or_else(|| rules::day(d)) != Day::Closed)
}

impl ContractKey {
    /// This contract with the expiration date that it is served under ([`canonical_expiry`]).
    #[must_use]
    pub fn served(self) -> Self {
        Self { expiry: canonical_expiry(self.expiry), ..self }
    }
}

/// The third Friday of a month, whether or not it is a session.
#[must_use]
pub fn third_friday(in_month: Date) -> Date {
    let first = in_month.first_of_month();
    let to_friday = first.weekday().until(Weekday::Friday);
    first.plus_days(i32::from(to_friday) + 14)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn monthly_expirations_move_off_good_friday_and_juneteenth() {
        let calendar = Calendar::embedded();
        let mut moved = Vec::new();
        for year in 2020..=2032 {
            for month in 1..=12 {
                let d = calendar.monthly_expiry(date(year, month, 1));
                if d != third_friday(d) {
                    moved.push(d);
                }
            }
        }
        let want = [
            date(2022, 4, 14),
            date(2025, 4, 17),
            date(2026, 6, 18),
            date(2027, 6, 17),
            date(2030, 4, 18),
            date(2032, 6, 17),
        ];
        assert_eq!(moved, want);
    }

    #[test]
    fn vix_expires_on_a_tuesday_where_a_holiday_is_near() {
        let calendar = Calendar::embedded();
        let mut tuesdays = Vec::new();
        for year in 2020..=2032 {
            for month in 1..=12 {
                let d = calendar.vix_expiry(date(year, month, 1));
                match d.weekday() {
                    Weekday::Wednesday => {}
                    Weekday::Tuesday => tuesdays.push(d),
                    _ => panic!("{d} is a {:?}", d.weekday()),
                }
            }
        }
        let want = [
            date(2022, 3, 15),
            date(2024, 6, 18),
            date(2025, 3, 18),
            date(2026, 5, 19),
            date(2027, 5, 18),
            date(2030, 3, 19),
            date(2030, 6, 18),
            date(2032, 5, 18),
        ];
        assert_eq!(tuesdays, want);
    }

    #[test]
    fn friday_weeklies_move_to_thursday() {
        let calendar = Calendar::embedded();
        let mut moved = Vec::new();
        let mut friday = date(2020, 1, 3);
        while friday.year() < 2033 {
            let d = calendar.weekly_expiry(friday);
            if d != friday && friday != third_friday(friday) {
                moved.push(d.to_string());
            }
            friday = friday.plus_days(7);
        }
        let want = "2020-04-09 2020-07-02 2020-12-24 2020-12-31 2021-04-01 2021-12-23 2023-04-06 2024-03-28 2025-07-03 \
                    2026-04-02 2026-07-02 2026-12-24 2026-12-31 2027-03-25 2027-12-23 2028-04-13 2029-03-29 2031-04-10 \
                    2031-07-03 2032-03-25 2032-12-23";
        assert_eq!(moved.join(" "), want);
    }

    #[test]
    fn monday_weeklies_move_forward_and_month_ends_back() {
        let calendar = Calendar::embedded();
        assert_eq!(calendar.weekly_expiry(date(2026, 1, 19)), date(2026, 1, 20));
        assert_eq!(calendar.weekly_expiry(date(2026, 11, 26)), date(2026, 11, 25));
        assert_eq!(calendar.month_end_expiry(date(2026, 5, 7)), date(2026, 5, 29));
        assert_eq!(calendar.month_end_expiry(date(2024, 3, 31)), date(2024, 3, 28));
    }

    #[test]
    fn listings_for_closed_days_are_of_the_session_before() {
        for (listed, served) in [
            (date(2015, 1, 17), date(2015, 1, 16)),
            (date(2015, 1, 16), date(2015, 1, 16)),
            (date(2015, 12, 19), date(2015, 12, 18)),
            (date(2018, 1, 20), date(2018, 1, 19)),
            // Good Friday is closed, and so is Juneteenth from 2022 on
            (date(2008, 3, 22), date(2008, 3, 20)),
            (date(2014, 4, 18), date(2014, 4, 17)),
            (date(2022, 4, 16), date(2022, 4, 14)),
            (date(2026, 6, 20), date(2026, 6, 18)),
            (date(2026, 12, 20), date(2026, 12, 18)),
            (date(2018, 12, 5), date(2018, 12, 4)),
        ] {
            assert_eq!(canonical_expiry(listed), served, "{listed}");
        }
    }
}
