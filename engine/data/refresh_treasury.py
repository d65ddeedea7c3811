#!/usr/bin/env python3
"""Refreshes treasury_par_yields.csv, the history of US Treasury par yields that is part of the program.

Source: US Department of the Treasury, Daily Treasury Par Yield Curve Rates (public domain). The table keeps the last
published day of each week, and the newest day.

    refresh_treasury.py                 adds what the Treasury has published since the last row (needs the network)
    refresh_treasury.py --all           the same from 1990 on
    refresh_treasury.py --from FILE     makes the table from a file of daily yields: a column `date` (YYYY-MM-DD or
                                        MM/DD/YYYY) and columns such as `1mo`, `1 Mo`, `30yr`; percent
"""

import argparse
import csv
import datetime
import io
import pathlib
import sys
import urllib.request

TABLE = pathlib.Path(__file__).with_name("treasury_par_yields.csv")
COLUMNS = ["1 Mo", "1.5 Month", "2 Mo", "3 Mo", "4 Mo", "6 Mo", "1 Yr", "2 Yr", "3 Yr", "5 Yr", "7 Yr", "10 Yr", "20 Yr", "30 Yr"]
URL = (
    "https://home.treasury.gov/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv/{year}/all"
    "?type=daily_treasury_yield_curve&field_tdr_date_value={year}&page&_format=csv"
)


def spelled(name: str) -> str:
    """A column's name without blanks and case: `1 Mo`, `1mo` and `1 Month` are one."""
    return name.lower().replace(" ", "").replace("month", "mo").replace("year", "yr")


def rows_of(text: str) -> dict[datetime.date, dict[str, str]]:
    """The yields by date and column; a cell that is empty or `N/A` is left out. A bad row ends the program."""
    rows = {}
    names = {spelled(column): column for column in COLUMNS}
    for row in csv.DictReader(io.StringIO(text)):
        cells = {spelled(name): (value or "").strip() for name, value in row.items() if name}
        day = cells.pop("date")
        parse = "%m/%d/%Y" if "/" in day else "%Y-%m-%d"
        date = datetime.datetime.strptime(day, parse).date()
        yields = {names[name]: value for name, value in cells.items() if name in names and value not in ("", "N/A")}
        for value in yields.values():
            if not -5.0 < float(value) < 50.0:
                sys.exit(f"{date}: a yield of {value} percent")
        if yields:
            rows[date] = yields
    return rows


def weekly(rows: dict[datetime.date, dict[str, str]]) -> list[datetime.date]:
    """The last day of each week that has a row."""
    last = {date.isocalendar()[:2]: date for date in sorted(rows)}
    return sorted(last.values())


def fetched(first_year: int) -> dict[datetime.date, dict[str, str]]:
    rows = {}
    for year in range(first_year, datetime.date.today().year + 1):
        with urllib.request.urlopen(URL.format(year=year), timeout=60) as answer:
            rows |= rows_of(answer.read().decode("utf-8"))
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--from", dest="source", type=pathlib.Path, help="a file of daily yields")
    options.add_argument("--all", action="store_true", help="fetch every year since 1990")
    options.add_argument("-o", "--output", type=pathlib.Path, default=TABLE)
    args = options.parse_args()
    if args.source:
        rows = rows_of(args.source.read_text())
    else:
        rows = {} if args.all else rows_of(TABLE.read_text())
        rows |= fetched(1990 if args.all else max(rows).year)
    lines = [",".join(["Date", *COLUMNS])]
    for date in weekly(rows):
        cells = (rows[date].get(column) for column in COLUMNS)
        lines.append(",".join([date.isoformat(), *("" if cell is None else f"{float(cell):g}" for cell in cells)]))
    args.output.write_text("\n".join(lines) + "\n")
    print(f"{args.output}: {len(lines) - 1} weeks to {max(rows)}")


if __name__ == "__main__":
    main()
