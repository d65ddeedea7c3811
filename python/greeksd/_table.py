"""Tables that this package hands out."""

from __future__ import annotations

import array
import datetime
import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars

_EPOCH_DAY = datetime.date(1970, 1, 1)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
#: Rows that a notebook shows.
_SHOWN = 10
_TYPES = {"f8": "d", "i4": "i", "i8": "q", "us": "q", "day": "i", "word": "i"}


class Table:
    """A table in memory, in the layout of Arrow.

    Everything that reads Arrow takes it as it is, without a copy: ``polars.DataFrame(table)``, ``pyarrow.table(table)``,
    ``duckdb.sql("from table")``. A missing number is null, never NaN or zero. ``units`` says what numbers are in; the
    same text is ``unit`` of the field's metadata in Arrow.

    >>> table = Table({"strike": [90.0, 100.0], "right": ["put", None]})
    >>> len(table), table.columns
    (2, ['strike', 'right'])
    >>> table.to_dict()
    {'strike': [90.0, 100.0], 'right': ['put', None]}
    >>> table["strike"], table.shape, table[1], len(table.head(1))
    ([90.0, 100.0], (2, 2), {'strike': 100.0, 'right': None}, 1)
    """

    def __init__(self, data: Any) -> None:
        from ._columns import frame

        self._frame = frame("table", data)

    @classmethod
    def _of(cls, native_frame: Any) -> Table:
        table = cls.__new__(cls)
        table._frame = native_frame
        return table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._frame.__arrow_c_schema__()

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return len(self), len(self.columns)

    def __getitem__(self, key: str | list[str] | slice | int) -> Any:
        """A column as a list by its name, a `Table` of the columns of a list of names, of the rows of a slice, or a row
        as a dict by its number."""
        if isinstance(key, str):
            return _list_of(self._frame.column(key))
        if isinstance(key, list):
            return Table._of(self._frame.columns_of(key))
        if isinstance(key, slice):
            first, end, step = key.indices(len(self))
            if step != 1:
                raise ValueError("rows of a table come one after the other: use to_pandas() or to_polars()")
            return Table._of(self._frame.rows_of(first, max(0, end - first)))
        row = range(len(self))[key]
        return {name: values[0] for name, values in self[row : row + 1].to_dict().items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, each a dict."""
        columns = self.to_dict()
        return (dict(zip(columns, row)) for row in zip(*columns.values()))

    def head(self, n: int = 5) -> Table:
        """The first rows."""
        return self[: max(0, n)]  # type: ignore[no-any-return]

    def tail(self, n: int = 5) -> Table:
        """The last rows."""
        return self[max(0, len(self) - max(0, n)) :]  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_frame": self._frame.ipc()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from ._native import native

        self.__dict__.update(state)
        self._frame = native.frame_of_ipc(state["_frame"])

    def __repr__(self) -> str:
        names = self.columns
        shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        return f"<greeksd.{type(self).__name__} of {len(self)} rows: {shown}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the first rows, and how many there are."""
        columns = self.head(_SHOWN).to_dict()
        line = "<tr>{}</tr>".format
        header = line("".join(f"<th>{html.escape(name)}</th>" for name in columns))
        rows = (line("".join(f"<td>{html.escape(_shown(cell))}</td>" for cell in row)) for row in zip(*columns.values()))
        count = f"<p>{len(self)} rows × {len(columns)} columns</p>"
        return f"<table><thead>{header}</thead><tbody>{''.join(rows)}</tbody></table>{count}"

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in their order."""
        return list(self._frame.fields())

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column that has one: ``{"vega": "per 1 %", "theta": "per calendar day", ...}``."""
        return {name: facts["unit"] for name, facts in self._frame.fields().items() if "unit" in facts}

    @property
    def meanings(self) -> dict[str, str]:
        """What each column is, in one line."""
        return {name: facts["meaning"] for name, facts in self._frame.fields().items() if "meaning" in facts}

    @property
    def metadata(self) -> dict[str, str]:
        """What the table says of itself: version, accuracy, passes (``greeksd.*``)."""
        return dict(self._frame.metadata())

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns as lists: numbers, texts, dates, instants in UTC; None where a value is missing. Needs no library."""
        return {name: _list_of(self._frame.column(name)) for name in self.columns}

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of pandas, which must be installed; pyarrow need not be.

        Numbers are ``float64`` with NaN where one is missing, instants ``datetime64[us, UTC]``, dates
        ``datetime64[s]``, words ``category``. ``frame.attrs["units"]`` has the units.
        """
        import pandas

        out: pandas.DataFrame
        columns = {name: _pandas_of(self._frame.column(name)) for name in self.columns}
        out = pandas.DataFrame(columns, index=pandas.RangeIndex(len(self)))
        out.attrs["units"] = self.units
        return out

    def to_polars(self) -> polars.DataFrame:
        """A data frame of polars, which must be installed. polars keeps no units: they are in `units`."""
        import polars

        return polars.DataFrame(self)


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _list_of(column: dict[str, Any]) -> list[Any]:
    kind, texts = column["kind"], column["texts"]
    if kind == "text":
        return list(texts)
    values: list[Any] = array.array(_TYPES[kind], bytes(column["data"])).tolist()
    if kind == "word":
        return [None if place < 0 else texts[place] for place in values]
    if kind == "day":
        values = [_EPOCH_DAY + datetime.timedelta(days=days) for days in values]
    elif kind == "us":
        values = [_EPOCH + datetime.timedelta(microseconds=count) for count in values]
    missing = column["missing"]
    return values if missing is None else [None if gone else value for value, gone in zip(values, missing)]


def _pandas_of(column: dict[str, Any]) -> Any:
    import numpy
    import pandas

    kind, texts, missing = column["kind"], column["texts"], column["missing"]
    if kind == "text":
        return pandas.Series(texts, dtype="str" if int(pandas.__version__.split(".")[0]) > 2 else object)
    if kind == "word":
        codes = numpy.frombuffer(column["data"], dtype="i4")
        return pandas.Categorical.from_codes(codes, categories=texts)
    types = {"f8": "f8", "i4": "i4", "i8": "i8", "us": "M8[us]", "day": "i4"}
    values = numpy.frombuffer(column["data"], dtype=types[kind])
    if kind == "day":
        values = values.astype("M8[D]").astype("M8[s]")
    if missing is not None:
        if kind in ("i4", "i8"):
            values = values.astype("f8")
        values[numpy.frombuffer(missing, dtype="?")] = "NaT" if kind in ("us", "day") else numpy.nan
    return pandas.Series(values).dt.tz_localize("UTC") if kind == "us" else pandas.Series(values)
