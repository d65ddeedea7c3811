"""Writes fortnight.csv beside it: what the market is to show hour by hour over two weeks with Thanksgiving, and over a
change of clocks. Dates are written down here from the exchanges' calendar of 2026; nothing is taken from the engine."""

from datetime import date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

EASTERN, UTC = ZoneInfo("America/New_York"), ZoneInfo("UTC")
CLOSED = {date(2026, 11, 26), date(2026, 12, 25)}
EARLY = {date(2026, 11, 27), date(2026, 12, 24)}
# third Fridays, on whose morning SPX settles; Wednesdays 30 days before the next one, on whose morning VIX does
SPX = [date(2026, 10, 16), date(2026, 11, 20), date(2026, 12, 18)]
VIX = [date(2026, 10, 21), date(2026, 11, 18), date(2026, 12, 16)]
RANGES = [(date(2026, 10, 30), date(2026, 11, 3)), (date(2026, 11, 16), date(2026, 11, 30))]
BETWEEN = [time(9, 29, 59), time(9, 30), time(12, 59, 50), time(15, 59), time(15, 59, 50)]


def is_session(day):
    return day.weekday() < 5 and day not in CLOSED


def step(day, days):
    day += timedelta(days)
    while not is_session(day):
        day += timedelta(days)
    return day


def instant(day, clock):
    return datetime.combine(day, clock, EASTERN).astimezone(UTC)


def opening(day):
    return instant(day, time(9, 30))


def close(day):
    return instant(day, time(13) if day in EARLY else time(16))


def shown(at):
    """The instant whose values are shown at `at`, and whether the market is open."""
    day = at.astimezone(EASTERN).date()
    if is_session(day) and opening(day) <= at:
        return (at, True) if at < close(day) else (close(day), False)
    return close(step(day, -1)), False


def next_trading_day(at):
    """The same clock time on the next session, or its close where that is before."""
    here = at.astimezone(EASTERN)
    day = step(here.date(), 1)
    return min(instant(day, here.time()), close(day)) if day in EARLY else instant(day, here.time())


def row(at):
    valued, is_open = shown(at)
    spxw = valued.astimezone(EASTERN).date()
    while not (is_session(spxw) and close(spxw) > valued):
        spxw += timedelta(1)
    spx, vix = (next(day for day in days if opening(day) > valued) for days in (SPX, VIX))
    days = (close(spxw) - valued).total_seconds() / 86400
    spx_days = (opening(spx) - valued).total_seconds() / 86400
    texts = [f"{x:%Y-%m-%dT%H:%M:%SZ}" for x in (at, valued, next_trading_day(valued))]
    cells = [texts[0], "open" if is_open else "held", *texts[1:], spxw, f"{days:.9f}", spx, f"{spx_days:.9f}", vix]
    return ",".join(map(str, cells))


def main():
    lines = ["at,market,valued,next,spxw,spxw_days,spx,spx_days,vix"]
    for first, last in RANGES:
        begin, end = instant(first, time(9)), instant(last, time(17))
        instants = {begin + timedelta(hours=n) for n in range(int((end - begin).total_seconds() // 3600) + 1)}
        day = first
        while day <= last:
            instants |= {at for at in (instant(day, clock) for clock in BETWEEN) if begin <= at <= end}
            day += timedelta(1)
        lines += [row(at) for at in sorted(instants)]
    Path(__file__).with_suffix(".csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
