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
    for day in past.DAYS:
        date = datetime.date.fromisoformat(day)
        rows = [row for symbol in past.NAMES for row in past.rows(daemon, symbol, day)]
        vols = {symbol: [row["svc_vol"] for row in rows if row["underlying"] == symbol] for symbol in past.NAMES}
        within = lambda symbol, vol: min(vols[symbol]) - 1e-4 <= vol <= max(vols[symbol]) + 1e-4
        monies = api.monies_implied_history(*past.NAMES, trade_date=date)
        native.require_equal(len(monies), 4, "two expirations of two names")
        for row in monies:
            ladder = (row.iv_95_delta, row.iv_50_delta, row.iv_5_delta, row.atm_iv)
            native.require(all(within(row.underlying_symbol, vol) for vol in ladder), f"volatilities by delta: {ladder}")
        for row in api.summaries_history(*past.NAMES, trade_date=date):
            native.require_equal(row.trade_date, date, "trade date of a summary")
            native.require(within(row.underlying_symbol, row.iv_interpolated_30_day), "volatility of thirty days")
        cores = api.core_data_history(*past.NAMES, trade_date=date)
        native.require_equal([row.underlying_symbol for row in cores], list(past.NAMES), "tickers of core data")
        native.require(all(within(row.underlying_symbol, row.iv_atm_1_month) for row in cores), "volatility of core data")
    first, last = (datetime.date.fromisoformat(past.DAYS[place]) for place in (0, -1))
    for symbol in past.NAMES:
        spans = [(row.underlying_symbol, row.min_date, row.max_date) for row in api.tickers(symbol)]
        native.require_equal(spans, [(symbol, first, last)], "days of a ticker")
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
