"""ThetaData as scripts ask its terminal: history and at-time calls of both versions, by pandas and as JSON."""

import io
import urllib.error

import native
import pandas
import past

GREEKS = {"delta": 1.0, "theta": 1.0, "vega": 100.0, "rho": 100.0}


def frame(daemon, path, **query):
    return pandas.read_csv(io.BytesIO(daemon.get(path, **query)))


def same_greeks(row, ours):
    for name, factor in GREEKS.items():
        value, slack = native.COLUMNAR.expected(name, ours[name])
        native.require(abs(row[name] - value) <= slack, f"{name}: {row[name]} is not {value}")


def check(daemon):
    rows = 0
    first, last = (day.replace("-", "") for day in (past.DAYS[0], past.DAYS[-1]))
    contract = {"symbol": "ACME", "expiration": "2026-12-18", "strike": "100.000", "right": "call"}
    span = {"start_date": first, "end_date": last}
    greeks = frame(daemon, "/v3/option/history/greeks/all", **contract, **span, interval="30m")
    native.require_equal(len(greeks), 12, "four times on three days")
    for _, row in greeks.iterrows():
        ours = next(
            ours
            for ours in past.rows(daemon, "ACME", row["timestamp"])
            if (ours["expiry"], ours["strike"], ours["right"]) == ("2026-12-18", 100, "call")
        )
        same_greeks(row, ours)
        rows += 1
    eod = frame(daemon, "/v3/option/history/greeks/eod", symbol="ACME", expiration="*", **span)
    native.require_equal(len(eod), 3 * 36, "rows of three closes")
    at = frame(daemon, "/v3/option/at_time/quote", **contract, **span, time_of_day="11:00:00.000")
    native.require_equal(set(pandas.to_datetime(at["timestamp"]).dt.strftime("%H:%M")), {"11:00"}, "time asked for")
    native.require((at["bid"] > 0).all() and (at["bid_size"] == 10).all(), "quotes of that time")
    quotes = frame(daemon, "/v3/option/history/quote", symbol="ACME", expiration="*", date=first, interval="1h")
    native.require_equal(len(quotes), 36 * 3, "quotes of a day: the steps are 09:30, 10:30, …, 15:30")

    old = {"root": "ACME", "exp": "20261218", "strike": 100000, "right": "C", **span}
    answer = daemon.json("/v2/hist/option/greeks", **old, ivl=1800000)
    names = answer["header"]["format"]
    shown = [dict(zip(names, ticks, strict=True)) for ticks in answer["response"]]
    native.require_equal(len(shown), 12, "rows of version 2")
    for row, (_, newer) in zip(shown, greeks.iterrows(), strict=True):
        native.require_equal(row["delta"], newer["delta"], "delta of both versions")
    table = frame(daemon, "/v2/at_time/option/quote", **old, ivl=39600000, use_csv="true")
    native.require_equal(list(table["ms_of_day"]), [39600000] * 3, "time asked for")
    native.require_equal(list(table["bid"]), list(at["bid"]), "bids of both versions")
    whole = {"root": "ACME", "exp": "20261218", **span}
    answer = daemon.json("/v2/bulk_hist/option/greeks", **whole, ivl=1800000)
    native.require_equal(len(answer["response"]), 18, "contracts of an expiration, each once")
    same = next(row for row in answer["response"] if row["contract"]["strike"] == 100000 and row["contract"]["right"] == "C")
    native.require_equal([dict(zip(names, ticks, strict=True)) for ticks in same["ticks"]], shown, "the rows of one contract")
    reports = frame(daemon, "/v2/bulk_hist/option/eod_greeks", **(whole | {"exp": "0"}), use_csv="true")
    native.require_equal(len(reports), 3 * 36, "reports of three days")
    for _, row in reports[reports["date"] == int(last)].iterrows():
        ours = next(
            ours
            for ours in past.rows(daemon, "ACME", past.DAYS[-1])
            if (ours["expiry"].replace("-", ""), round(1000 * ours["strike"]), ours["right"][0].upper())
            == (str(row["expiration"]), row["strike"], row["right"])
        )
        same_greeks(row, ours)
    bids = frame(daemon, "/v2/bulk_at_time/option/quote", **whole, ivl=39600000, use_csv="true")
    native.require_equal((len(bids), set(bids["ms_of_day"])), (3 * 18, {39600000}), "quotes of an expiration at one time")
    try:
        daemon.get("/v3/option/history/greeks/all", **contract, date="20261121")
    except urllib.error.HTTPError as refused:
        native.require_equal(refused.code, 472, "the vendor's status for no data")
    else:
        raise native.Different("an answer for a day without data")
    return f"{rows + len(eod) + len(quotes)} rows"


if __name__ == "__main__":
    native.main(check)
