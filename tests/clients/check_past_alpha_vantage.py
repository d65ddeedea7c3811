"""alpha_vantage: chains of past days as JSON and CSV, and a day without one."""

import native
import past
from alpha_vantage.alphavantage import AlphaVantage
from alpha_vantage.options import Options
from check_alpha_vantage import same


def check(daemon):
    AlphaVantage._ALPHA_VANTAGE_API_URL = f"{daemon.base}/query?"
    contracts = 0
    for symbol in past.NAMES:
        for day in past.DAYS:
            rows = past.rows(daemon, symbol, day)
            frame, _ = Options(key="key").get_historical_options(symbol, date=day)
            same(rows, frame.to_dict("records"))
            native.require_equal(set(frame["date"]), {day}, "date of the rows")
            contracts += len(rows)
        lines, _ = Options(key="key", output_format="csv").get_historical_options(symbol, date=past.DAYS[0])
        header, *cells = list(lines)
        same(past.rows(daemon, symbol, past.DAYS[0]), [dict(zip(header, line, strict=True)) for line in cells])
        # without a date the last day there is
        last, _ = Options(key="key").get_historical_options(symbol)
        same(past.rows(daemon, symbol, past.DAYS[-1]), last.to_dict("records"))
    none, _ = Options(key="key").get_historical_options("ACME", date="2026-11-21")
    native.require_equal(len(none), 0, "contracts of a day without data")
    return f"{contracts} contracts"


if __name__ == "__main__":
    native.main(check)
