"""orats: strikes of past days, filters by days and delta, and one strike over all days."""

import datetime

import native
import past
from check_orats import same
from orats.api.data import DataApi


def check(daemon):
    DataApi._base_url = f"{daemon.base}/datav2"
    api = DataApi("token")
    contracts = 0
    for symbol in past.NAMES:
        for day in past.DAYS:
            date = datetime.date.fromisoformat(day)
            rows = past.rows(daemon, symbol, day)
            strikes = api.strikes_history(symbol, trade_date=date)
            same(rows, strikes)
            native.require_equal({row.trade_date for row in strikes}, {date}, "trade date")
            for row in strikes:
                days = (row.expiration_date - date).days
                native.require_equal(row.days_to_expiration, days, "days to expiration, counted from that day")
            few = api.strikes_history(symbol, trade_date=date, days_to_expiration="0,40", delta=".3,.7")
            native.require(0 < len(few) < len(strikes), "the filters leave some strikes")
            contracts += len(rows)
    expiry = datetime.date(2026, 12, 18)
    one = api.strikes_history_by_options("ACME", strike=100, expiration_date=expiry)
    native.require_equal([str(row.trade_date) for row in one], list(past.DAYS), "days of one strike")
    last = api.strikes_history_by_options("ACME", 100, expiry, trade_date=datetime.date(2026, 11, 20))
    native.require_equal(last, one[-1:], "one strike on one day")
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
