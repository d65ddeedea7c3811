"""The functions that compute: `greeks`, `price`, `batch`."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._columns import TableLike, frame, index_names, table_of
from ._native import native
from ._progress import Progress, shown
from ._table import Table
from ._threads import threads as _threads
from ._work import work_folder
from .errors import GreeksWarning, InputError

#: Reference data: a table, the path of a CSV file, or a list of those.
Reference = TableLike

_REFUSED = ("source", "row", "field", "reason", "count", "value")
#: A snapshot of fewer contracts is no chain.
_CHAIN_LEAST = 4
_FAILED = ("day", "underlying", "why", "text")
#: The header of an empty table of dividends.
_NONE = {
    "dividends": ("underlying", "ex_date", "amount"),
    "rates": ("date", "tenor_days", "rate"),
    "calendar": ("date", "status", "name"),
    "deliverables": ("root", "shares"),
    "overrides": ("underlying", "what"),
    "events": ("date", "symbol", "kind"),
}


class Greeks(Table):
    """The native record of each contract, and what came of the rest of the input.

    Rows stand by date, underlying and time, then in the native order: expiry, AM before PM, root, strike, call before
    put.
    """

    #: Rows that were refused: ``source`` (``<quotes>``, ``<dividends>``, … or a file), ``row`` (from 0 in a table of
    #: quotes, the line from 1 in other sources, None where rows were only counted), ``field``, ``reason``, ``count``,
    #: ``value`` (what stands there).
    refused: Table
    #: Names and days that could not be computed: ``day``, ``underlying``, ``why``, ``text``.
    failed: Table
    #: Where the discount curve of each day comes from: ``day``, ``source``, ``as_of``.
    rates: Table
    #: ``rows`` that were read, ``duplicates`` of them, ``snapshots``, ``contracts``, those ``priced``; ``expiries``
    #: (each once a snapshot), ``expiries_without_pair`` of call and put at one strike, ``crossed`` and ``one_sided`` quotes.
    counts: dict[str, int]
    #: The layout that the columns of the quotes match.
    layout: str


class Prices(Table):
    """Contracts as they were given, with every value of each."""

    #: Rows without a value: ``source``, ``row`` from 0, ``field``, ``reason``, ``count``, ``value``.
    refused: Table


class BatchReport:
    """Result of `batch`."""

    #: The folder of the files of Greeks.
    out: pathlib.Path
    #: The report that stands beside the folder (``OUT.job/_report.json``).
    report: dict[str, Any]
    #: Rows that were refused, the first hundred of each file with their places.
    refused: Table
    #: Names and days that could not be computed: ``day``, ``underlying``, ``why``, ``text``.
    failed: Table
    #: Notes on the reference data for the user.
    notes: list[str]

    @property
    def complete(self) -> bool:
        """True if every name and day was computed and every file read."""
        return len(self.failed) == 0 and self.report["inputs"]["damaged"] == 0

    def __repr__(self) -> str:
        computed = self.report["computed"]
        return (
            f"<greeksd.BatchReport of {self.out}: {computed['contracts']} contracts, {computed['priced']} priced, "
            f"{len(self.failed)} names and days failed>"
        )


def greeks(
    quotes: TableLike,
    *,
    dividends: Reference | None = None,
    rates: Reference | None = None,
    overrides: Reference | None = None,
    deliverables: Reference | None = None,
    events: Reference | None = None,
    calendar: Reference | None = None,
    at: datetime.datetime | str | None = None,
    accuracy: str = "full",
    show_quotes: bool = False,
    columns: Mapping[str, str] | None = None,
    underlying: str | None = None,
    zone: str | None = None,
    day_time: str | None = None,
    strike_divisor: float | None = None,
    decimal: str | None = None,
    dates: str | None = None,
    allow_partial: bool = False,
    threads: int | None = None,
    progress: Progress = False,
) -> Greeks:
    """Greeks of whole chains, calibrated from their quotes.

    What is quoted at one time of one underlying must be there whole: a forward from a part of a chain is wrong and
    looks right. So group before you call (by underlying and date), and never by number of rows. A name and day that
    lacks one side of an expiry, or half of a snapshot, is refused (`Greeks.failed`) unless `allow_partial`. The same
    rows give the same bits as ``greeksd batch`` on a file of them, whatever else is in the table, on any number of
    threads.

    Arguments:

    - `quotes`: a quote a row, any number of names, days and snapshots. Columns ``quote_time`` (an instant, or text with
      an offset, else US Eastern; a date alone is its close), ``underlying``, ``expiry``, ``strike``, ``right``
      (``call``/``put``, ``c``/``p``), ``bid``, ``ask`` (currency per share; 0 or missing: none), and if there:
      ``und_price`` (or ``und_bid`` and ``und_ask``), ``root``, ``osym``, ``bid_size``, ``ask_size``, ``volume``,
      ``open_interest``. Vendors' layouts are recognized by their columns (docs/history.md).
    - `dividends`: ``underlying, ex_date, amount[, status][, declared_date]``; `rates`: ``date, tenor_days, rate``
      (continuously compounded, decimal), ``"zero"``, or one number for a flat curve; `overrides`, `deliverables`, `events`, `calendar`: with
      the columns of the files of the same names (docs/feeds.md). Each is a table or the path of a CSV file. An empty list of dividends says that none is paid.
      Without rates those that European chains imply count, else the US Treasury's of the day.
    - `at`: the instant of every quote, whatever the rows say: for one chain as it is now. A text without an offset is
      Eastern; a ``datetime`` must have a time zone.
    - `accuracy`: ``full`` or ``preliminary`` (faster where dividends are frequent).
    - `show_quotes`: adds ``bid``, ``ask``, sizes, ``mid``, ``volume`` and ``open_interest``.
    - `columns`: what the table calls a column, by our name of it: ``{"strike": "K"}``.
    - `underlying`, `zone`, `day_time`, `strike_divisor`, `decimal` (``point``/``comma``), `dates`
      (``month-first``/``day-first``): for tables that do not say it themselves.
    - `threads`: all processors, or 1 inside Ray, Dask and Spark workers. `progress`: True for a bar of tqdm (or lines),
      or a function of phase, done and total.

    Returns a row for each contract of each snapshot: ``quote_time, quote_date, underlying, root, expiry, strike,
    strike_milli, right, osym, greeks, und_price``, the values and Greeks per share, ``fwd_price, ex_style, settle, days,
    disc_rate, borr_rate, divs``. vega, rho and epsilon are per 1 %, theta per calendar day, charm, veta and color per
    year (`Table.units` has all).

    Raises `InputError` where the table or an argument cannot be used. Ctrl-C ends the work and raises
    ``KeyboardInterrupt``.

    >>> chain = {
    ...     "underlying": ["ACME"] * 6,
    ...     "expiry": ["2026-12-18"] * 6,
    ...     "strike": [95.0, 100.0, 105.0] * 2,
    ...     "right": ["call"] * 3 + ["put"] * 3,
    ...     "bid": [6.86, 3.96, 2.03, 1.86, 3.96, 7.03],
    ...     "ask": [6.96, 4.06, 2.13, 1.96, 4.06, 7.13],
    ...     "und_price": [100.0] * 6,
    ... }
    >>> result = greeks(chain, dividends=[], rates="zero", at="2026-10-20T15:45:00-04:00")
    >>> result.counts["priced"], len(result.refused)
    (6, 0)
    >>> frame = result.to_dict()
    >>> for strike, right, delta in zip(frame["strike"], frame["right"], frame["delta"]):
    ...     print(strike, right, round(delta, 2))
    95.0 call 0.71
    95.0 put -0.29
    100.0 call 0.52
    100.0 put -0.48
    105.0 call 0.33
    105.0 put -0.67
    >>> result.units["vega"]
    'per 1 %'
    """
    zero_rates = isinstance(rates, str) and rates == "zero"
    options = _options(
        accuracy=accuracy,
        quotes=show_quotes,
        columns=_column_map(columns),
        underlying=underlying,
        zone=zone,
        day_time=day_time,
        strike_divisor=strike_divisor,
        decimal=decimal,
        dates=dates,
        allow_partial=allow_partial,
        threads=_threads(threads),
    )
    instant = _instant("at", at)

    def used(names: list[str]) -> list[str]:
        return list(native.quote_columns(names, [*options, "--output", "out", "quotes"], instant is not None))

    quotes_frame = frame("quotes", quotes, used)
    with work_folder() as work, shown(progress) as display:
        out = os.path.join(work, "out")
        arguments = {
            "dividends": _reference("dividends", dividends),
            "rates": [] if zero_rates else _reference("rates", rates),
            "zero_rates": zero_rates,
            "calendar": _reference("calendar", calendar),
            "deliverables": _reference("deliverables", deliverables),
            "overrides": _reference("overrides", overrides),
            "events": _reference("events", events),
            "at": instant,
            # the input and the output of the command, which are not used
            "options": [*options, "--output", out, "quotes"],
            "work": out,
        }
        try:
            done = native.greeks(quotes_frame, arguments, display)
        except InputError as error:
            raise _with_index(error, quotes) from None
    result = Greeks._of(done["frame"])
    assert isinstance(result, Greeks)
    result.refused = _refused("refused", done["refused"])
    result.failed = _table("failed", _FAILED, done["failed"])
    result.rates = _table("rates", ("day", "source", "as_of"), done["rates"])
    result.counts, result.layout = done["counts"], done["layout"]
    _warn(result)
    return result


def _with_index(error: InputError, quotes: TableLike) -> InputError:
    """The error, with a note if the names are in the index of the data frame."""
    names = ", ".join(f"`{name}`" for name in index_names(quotes))
    are = "is" if names.count("`") == 2 else "are"
    return InputError(f"{error}; {names} {are} in the index: call reset_index()") if names else error


def _warn(result: Greeks) -> None:
    """Warns of missing names, rows without a result, and values of poor quality."""
    counts = result.counts
    texts = []
    if len(result.failed):
        first = {name: values[0] for name, values in result.failed.to_dict().items()}
        more = f", and {len(result.failed) - 1} more" if len(result.failed) > 1 else ""
        texts.append(f"no Greeks of {first['underlying']} on {first['day']}: {first['text']}{more} (see .failed)")
    elif not len(result) and len(result.refused):
        refused = result.refused.to_dict()
        reasons: dict[str, int] = {}
        for field, reason, count in zip(refused["field"], refused["reason"], refused["count"]):
            words = f"{field}: {reason}" if field else reason
            reasons[words] = reasons.get(words, 0) + int(count)
        text = ", ".join(f"{count} {words}" for words, count in reasons.items())
        texts.append(f"no row could be used: {text} (see .refused)")
    if counts["snapshots"] > 1 and counts["contracts"] < _CHAIN_LEAST * counts["snapshots"]:
        each = counts["contracts"] / counts["snapshots"]
        texts.append(f"{counts['snapshots']} snapshots of {each:.1f} contracts: is it one chain? then give its time by at=")
    elif counts["expiries_without_pair"]:
        expiries = f"{counts['expiries_without_pair']} of {counts['expiries']} expiries"
        quotes = ", ".join(f"{counts[name]} {name.replace('_', '-')}" for name in ("crossed", "one_sided") if counts[name])
        why = f" ({quotes} quotes)" if quotes else ""
        texts.append(
            f"{expiries} have no strike whose call and put both have two sides{why}: their forwards are not implied by "
            f"the quotes; {counts['priced']} of {counts['contracts']} contracts priced"
        )
    for text in texts:
        warnings.warn(text, GreeksWarning, stacklevel=3)


def price(
    contracts: TableLike,
    *,
    accurate: bool = False,
    threads: int | None = None,
    progress: Progress = False,
) -> Prices:
    """Values and Greeks of contracts whose parameters are all given; the same bits as ``greeksd price``.

    `contracts` has a contract a row, columns of one length; a single value in a dict stands for a column of it:

    - ``style`` (``american``/``european``), ``right`` (``call``/``put``, ``c``/``p``);
    - ``s`` spot and ``k`` strike, currency per share; ``t_years`` years of 365 days;
    - ``r`` rate and ``b`` borrow, per year, decimal, continuously compounded;
    - ``sigma``, volatility per square root of a year, decimal; or ``price`` instead of it, currency per share: then
      ``iv`` is the implied volatility;
    - ``divs`` if there are cash dividends before expiry: ``"0.25:1.1;0.5:1.1"``, or a list of (years, amount);
    - ``id`` is handed on.

    `accurate` takes the finest scheme there is. Returns the same rows in the same order with ``price, delta, gamma,
    speed, vega, volga, ultima, vanna, zomma, theta, charm, color, veta, rho, vera, epsilon, lambda, dual_delta,
    dual_gamma, d1, d2, fwd`` and ``error``, which says why a row has no value; such rows are in `Prices.refused` too.
    Units are those of `Table.units`: vega, rho and epsilon per 1 %, theta per calendar day.

    >>> one = {"style": "european", "right": "call", "s": 100.0, "k": 100.0, "t_years": 1.0, "r": 0.05, "b": 0.0,
    ...        "sigma": 0.2}
    >>> values = price(one).to_dict()
    >>> round(values["price"][0], 6), round(values["vega"][0], 6)
    (10.450584, 0.37524)
    """
    with shown(progress) as display:
        given = frame("contracts", contracts, native.contract_columns)
        done = native.price(given, bool(accurate), _threads(threads), display)
    result = Prices._of(done["frame"])
    assert isinstance(result, Prices)
    result.refused = _refused("refused", done["refused"])
    doubts = done["doubts"]
    if doubts:
        row = min(doubts)
        more = f" (and {len(doubts) - 1} more)" if len(doubts) > 1 else ""
        warnings.warn(f"row {row}: {doubts[row]}{more}", GreeksWarning, stacklevel=2)
    return result


def batch(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    format: str = "parquet",
    layout: str = "day",
    accuracy: str = "full",
    quotes: bool = False,
    dividends: Any = None,
    rates: Any = None,
    overrides: Any = None,
    deliverables: Any = None,
    events: Any = None,
    calendar: Any = None,
    reference_as_named: bool = False,
    columns: Mapping[str, str] | None = None,
    underlying: str | None = None,
    zone: str | None = None,
    day_time: str | None = None,
    strike_divisor: float | None = None,
    time: str | None = None,
    decimal: str | None = None,
    dates: str | None = None,
    prices: str | os.PathLike[str] | None = None,
    every: str | None = None,
    closes: str | os.PathLike[str] | None = None,
    metrics: str | os.PathLike[str] | None = None,
    rates_from: Any = None,
    allow_partial: bool = False,
    threads: int | None = None,
    progress: Progress = False,
) -> BatchReport:
    """Days of recorded quotes to days of Greeks: ``greeksd batch`` as a function (docs/history.md).

    `paths` are files of quotes, or folders of them, in any layout that is read; `out` is the folder of the files of
    Greeks. Reference data are paths here; `closes` is a folder that closing rows are added to, `metrics` one
    for files of metrics, a row for each name and snapshot (docs/metrics.md). What is there already is left as it is, so
    a job that was stopped goes on with the same call; Ctrl-C stops it between two snapshots and raises
    ``KeyboardInterrupt``.

    Raises `InputError` for arguments, `JobError` where the folder cannot be used. A file or a name and day that cannot
    be computed does not end the job: ``report.complete`` is False, ``report.failed`` says why.
    """
    given: list[str | os.PathLike[str]]
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    options = _options(
        output=os.fspath(out),
        format=format,
        layout=layout,
        accuracy=accuracy,
        quotes=quotes,
        dividends=_paths(dividends),
        rates=_paths(rates),
        overrides=_paths(overrides),
        deliverables=_paths(deliverables),
        events=_paths(events),
        calendar=_paths(calendar),
        reference_as_named=reference_as_named,
        columns=_column_map(columns),
        underlying=underlying,
        zone=zone,
        day_time=day_time,
        strike_divisor=strike_divisor,
        time=time,
        decimal=decimal,
        dates=dates,
        prices=None if prices is None else os.fspath(prices),
        every=every,
        closes=None if closes is None else os.fspath(closes),
        metrics=None if metrics is None else os.fspath(metrics),
        rates_from=_paths(rates_from),
        allow_partial=allow_partial,
        threads=_threads(threads),
    )
    with shown(progress) as display:
        done = native.batch([*options, "--", *(os.fspath(path) for path in given)], display)
    result = BatchReport()
    result.out, result.notes = pathlib.Path(out), done["notes"]
    result.report = json.loads(done["report"])
    result.refused = _refused("refused", done["refused"])
    failed = [tuple(unit[name] for name in _FAILED) for unit in result.report["failed"]]
    result.failed = _table("failed", _FAILED, failed)
    return result


def _options(**given: Any) -> list[str]:
    """Keywords as options of the command: names with dashes, lists repeated, True alone, None and False left out."""
    options: list[str] = []
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            options.append(option)
        elif isinstance(value, list):
            options.extend(f"{option}={item}" for item in value)
        elif value is not None and value is not False:
            options.append(f"{option}={value}")
    return options


def _column_map(columns: Mapping[str, str] | None) -> str | None:
    if not columns:
        return None
    if any("," in name for name in columns.values()):
        raise InputError("columns: a name with a comma in it; rename the column")
    return ",".join(f"{ours}={theirs}" for ours, theirs in columns.items())


def _paths(given: Any) -> list[str] | None:
    if given is None:
        return None
    if isinstance(given, (str, os.PathLike)):
        return [os.fspath(given)]
    return [os.fspath(path) for path in given]


def _reference(name: str, given: Any) -> list[Any]:
    """Documents of reference data: frames and paths."""
    if given is None:
        return []
    if isinstance(given, (list, tuple)):
        if not given:
            return [table_of(name, {column: [] for column in _NONE[name]})]
        return [document for part in given for document in _reference(name, part)]
    if isinstance(given, (str, os.PathLike)):
        return [os.fspath(given)]
    if name == "rates" and isinstance(given, (int, float)) and not isinstance(given, bool):
        return [_flat(float(given))]
    return [frame(name, given)]


def _flat(rate: float) -> Any:
    """A discount curve of one rate, of all dates."""
    if not abs(rate) < 1.0:
        raise InputError(f"rates: {rate:g} is {rate:.0%} a year; rates are decimal, and 0.04 is 4 %")
    return table_of("rates", {"date": ["1990-01-01"], "tenor_days": [365.0], "rate": [rate]})


def _instant(name: str, given: datetime.datetime | str | None) -> str | None:
    if given is None:
        return None
    text = given
    if isinstance(given, str):
        try:
            given = datetime.datetime.fromisoformat(given.replace("Z", "+00:00"))
        except ValueError:
            raise InputError(f"{name}: not an instant such as 2026-11-20T15:45:00-05:00: {text}") from None
    if not isinstance(given, datetime.datetime):
        raise InputError(f"{name}: {type(given).__name__} is no instant; give a datetime with its time zone")
    if given.tzinfo is None and isinstance(text, str):
        # as as_of= of the daemon reads it
        return given.isoformat()
    if given.tzinfo is None:
        raise InputError(f"{name}: {text} has no time zone; give one, as in 2026-11-20T15:45:00-05:00")
    return given.astimezone(datetime.timezone.utc).isoformat()


def _refused(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    return _table(name, _REFUSED, [tuple(row[column] for column in _REFUSED) for row in rows])


def _table(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    values = list(zip(*rows)) if rows else [() for _ in columns]
    return Table._of(table_of(name, {column: list(of) for column, of in zip(columns, values)}))
