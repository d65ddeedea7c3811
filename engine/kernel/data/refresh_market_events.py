#!/usr/bin/env python3
"""Refreshes market_events.csv, the dates of scheduled news of the whole market that are part of the program.

Sources: the Federal Reserve's calendar of the Federal Open Market Committee (the last day of each scheduled meeting,
14:00 Eastern), and the schedules of releases of the Bureau of Labor Statistics for the Consumer Price Index and the
Employment Situation (08:30 Eastern). Meetings that nobody foresaw are not in the table.

    refresh_market_events.py                     adds what the publishers announce (needs the network)
    refresh_market_events.py --page KIND FILE    reads a saved page of a kind (fomc, cpi, payrolls) instead; repeatable

Dates from today to the last one of a page are replaced by those of the page, so that a date that was moved is there once.
"""

import argparse
import datetime
import pathlib
import re
import sys
import urllib.request

TABLE = pathlib.Path(__file__).with_name("market_events.csv")
PAGES = {
    "fomc": "https://www.federalreserve.gov/monetarypolicy/fomccalendars.htm",
    "cpi": "https://www.bls.gov/schedule/news_release/cpi.htm",
    "payrolls": "https://www.bls.gov/schedule/news_release/empsit.htm",
}
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def month(word: str) -> int:
    return MONTHS.index(word.lower()[:3]) + 1


def text_of(page: str) -> str:
    """The page without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


def fomc(page: str) -> set[datetime.date]:
    """The last days of meetings: `2026 FOMC Meetings January 27-28 … April/May 30-1`, but no notation votes."""
    dates = set()
    parts = re.split(r"(\d{4}) FOMC Meetings", text_of(page))
    names = "January|February|March|April|May|June|July|August|September|October|November|December|[A-Z][a-z]{2}/[A-Z][a-z]{2}"
    for year, text in zip(parts[1::2], parts[2::2]):
        for name, first, last, behind in re.findall(rf"({names}) (\d+)-(\d+)(?=(\*? ?\(?\w*))", text):
            if "notation" in behind or "cancelled" in behind:
                continue
            named = name.split("/")
            # a meeting over the end of a month ends in the next one
            dates.add(datetime.date(int(year), month(named[-1]), int(last)))
            assert len(named) == 2 or int(first) < int(last), f"{year} {name} {first}-{last}"
    return dates


def releases(page: str) -> set[datetime.date]:
    """The dates of a schedule: `December 2025 Jan. 13, 2026 08:30 AM`."""
    rows = re.findall(r"[A-Z][a-z]+ \d{4} ([A-Z][a-z]{2})[a-z]*\.? (\d{1,2}), (\d{4}) 08:30 AM", text_of(page))
    return {datetime.date(int(year), month(name), int(day)) for name, day, year in rows}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--page", nargs=2, action="append", default=[], metavar=("KIND", "FILE"))
    options.add_argument("--today", type=datetime.date.fromisoformat, default=datetime.date.today())
    options.add_argument("-o", "--output", type=pathlib.Path, default=TABLE)
    args = options.parse_args()
    lines = TABLE.read_text().splitlines()[1:]
    known = {(datetime.date.fromisoformat(date), kind) for date, kind in (line.split(",") for line in lines)}
    saved = dict(args.page)
    for kind in saved or PAGES:
        if saved:
            page = pathlib.Path(saved[kind]).read_text()
        else:
            asked = urllib.request.Request(PAGES[kind], headers={"User-Agent": "Mozilla/5.0"})
            with urllib.request.urlopen(asked, timeout=60) as answer:
                page = answer.read().decode("utf-8")
        dates = (fomc if kind == "fomc" else releases)(page)
        if len(dates) < 4 or any(date.weekday() > 4 for date in dates):
            sys.exit(f"{kind}: {len(dates)} dates, or a weekend among them: the page has another form")
        known = {(date, of) for date, of in known if of != kind or not args.today <= date <= max(dates)}
        known |= {(date, kind) for date in dates}
    rows = sorted((date.isoformat(), kind) for date, kind in known)
    args.output.write_text("date,kind\n" + "".join(f"{date},{kind}\n" for date, kind in rows))
    print(f"{args.output}: {len(rows)} events to {rows[-1][0]}")


if __name__ == "__main__":
    main()
