"""Converts tables of a caller to the native frame. Only libraries that the caller has loaded are used."""

from __future__ import annotations

import array as arrays
import datetime
import decimal
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ._native import native
from .errors import InputError

#: A mapping of column names to arrays or lists of one length, or an object with ``__arrow_c_stream__``: a table of
#: pyarrow, polars or pandas, a relation of DuckDB, a `Table` of this package.
TableLike = Any


#: Function from the names of a table's columns to those that are used.
Used = Callable[[list[str]], Collection[str]]


def frame(name: str, data: TableLike, used: Used | None = None) -> Any:
    """The native frame of a table; ``name`` is its name in errors. Unused columns are not converted."""
    if isinstance(data, native.Frame):
        return data
    inner = getattr(data, "_frame", None)
    if isinstance(inner, native.Frame):
        return inner
    if isinstance(data, (str, bytes, os.PathLike)):
        raise InputError(f"{name}: a path, where a table is needed; greeksd.batch reads files")
    data = _whole(name, data)
    if isinstance(data, Mapping):
        return _of_columns(name, _broadcast(data), used)
    if _is_pandas(data):
        return _of_pandas(name, data, used)
    if hasattr(data, "__arrow_c_stream__"):
        return native.frame_of_stream(name, data)
    if hasattr(data, "collect") and hasattr(data, "lazy"):
        raise InputError(f"{name}: a lazy frame; call its collect() first")
    raise InputError(
        f"{name}: {type(data).__name__} is no table; give a dict of columns, or a table with __arrow_c_stream__ "
        "(pyarrow, polars, pandas, DuckDB)"
    )


def _whole(place: str, data: Any) -> Any:
    """What pyarrow holds, once its offsets and lengths fit its bytes: pyarrow reads files without a look at them, and a
    stream does not say where the bytes end."""
    if type(data).__module__.split(".")[0] != "pyarrow":
        return data
    if hasattr(data, "read_next_batch"):
        return type(data).from_batches(data.schema, (_whole(place, batch) for batch in data))
    if hasattr(data, "validate"):
        try:
            data.validate(full=True)
        except ValueError as error:
            raise InputError(f"{place}: {error}") from None
    return data


def _is_pandas(data: object) -> bool:
    return type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns")


def _of_pandas(name: str, data: Any, used: Used | None) -> Any:
    """A data frame of pandas by its columns: its own stream of Arrow would need pyarrow."""
    return _of_columns(name, [(str(column), data[column]) for column in data.columns], used)


def index_names(data: Any) -> list[str]:
    """Names in the index of a data frame of pandas that are not among its columns."""
    names = list(data.index.names) if _is_pandas(data) else []
    return [str(name) for name in names if name is not None and name not in data.columns]


def _broadcast(columns: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The columns of a mapping; a single value becomes a column of that value."""
    lengths = [len(values) for values in columns.values() if hasattr(values, "__len__") and not _is_single(values)]
    rows = lengths[0] if lengths else 1
    return [(name, [values] * rows if _is_single(values) else values) for name, values in columns.items()]


def _is_single(value: Any) -> bool:
    single = (str, int, float, decimal.Decimal, datetime.date, datetime.datetime)
    return value is None or isinstance(value, single) or (hasattr(value, "item") and getattr(value, "ndim", None) == 0)


def _of_columns(name: str, columns: Iterable[tuple[str, Any]], used: Used | None = None) -> Any:
    given = [(str(column), values) for column, values in columns]
    names = {column for column, _ in given} if used is None else set(used([column for column, _ in given]))
    return native.frame_of_columns(
        name,
        [_column(name, column, values) if column in names else _unused(column, values) for column, values in given],
    )


def _unused(column: str, values: Any) -> dict[str, Any]:
    """A column whose values are not used."""
    return _given(column, "none", rows=len(values) if hasattr(values, "__len__") else 0)


def table_of(name: str, columns: Mapping[str, Sequence[Any]]) -> Any:
    """The frame of columns that this package has made, an empty one with all its names."""
    return _of_columns(name, columns.items())


def _given(
    column: str,
    kind: str,
    data: bytes | None = None,
    *,
    texts: list[str | None] | None = None,
    missing: bytes | None = None,
    is_utc: bool = False,
    rows: int = 0,
) -> dict[str, Any]:
    """A column as the native module takes it."""
    column_facts: dict[str, str] = {}
    return {
        "name": column,
        "kind": kind,
        "data": data,
        "texts": texts,
        "missing": missing,
        "is_utc": is_utc,
        "rows": rows,
        "facts": column_facts,
    }


def _column(name: str, column: str, values: Any) -> dict[str, Any]:
    place = f"{name}: {column}"
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise InputError(f"{place}: {type(values).__name__} is no array or list")
    values = _whole(place, values)
    zone = getattr(getattr(values, "dtype", None), "tz", None)
    if zone is not None and hasattr(values, "dt"):
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    array = values.to_numpy() if hasattr(values, "to_numpy") else values
    kind = getattr(getattr(array, "dtype", None), "kind", None)
    if kind is not None and getattr(array, "ndim", 1) != 1:
        raise InputError(f"{place}: an array of {array.ndim} dimensions")
    if kind == "f":
        return _given(column, "f8", array.astype("f8").tobytes())
    if kind in ("i", "u"):
        return _given(column, "i8", array.astype("i8").tobytes())
    if kind == "M":
        unit = re.search(r"\[(\w+)\]", array.dtype.str)
        unit_name = unit.group(1) if unit else "ns"
        if unit_name == "D":
            return _given(column, "day", array.astype("i8").tobytes())
        if unit_name not in ("s", "ms", "us", "ns"):
            raise InputError(f"{place}: instants in units of {unit_name}")
        return _given(column, unit_name, array.astype("i8").tobytes(), is_utc=zone is not None)
    return _of_objects(place, column, list(array))


def _of_objects(place: str, column: str, values: list[Any]) -> dict[str, Any]:
    """A column of Python's own objects: numbers if all of them are, else texts."""
    values = [None if _is_missing(value) else value for value in values]
    numbers = [value for value in values if value is not None]
    if numbers and all(_is_whole(value) for value in numbers):
        whole = arrays.array("q", (0 if value is None else value for value in values)).tobytes()
        missing = bytes(value is None for value in values) if len(numbers) < len(values) else None
        return _given(column, "i8", whole, missing=missing)
    if numbers and all(_is_number(value) for value in numbers):
        return _given(column, "f8", arrays.array("d", (_NAN if value is None else value for value in values)).tobytes())
    return _given(column, "text", texts=[_text(f"{place}, row {row}", value) for row, value in enumerate(values)])


_NAN = float("nan")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) < value < 2**63


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_missing(value: object) -> bool:
    """True of None and of the missing values of libraries, none of which equals itself."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        # pandas.NA has no truth, arrays have many
        return type(value).__name__ == "NAType"


def _text(place: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    if isinstance(value, (int, float, decimal.Decimal)) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, (list, tuple)):
        # dividends: pairs of time and amount
        try:
            return ";".join(f"{float(t)!r}:{float(amount)!r}" for t, amount in value)
        except (TypeError, ValueError):
            pass
    if hasattr(value, "item"):
        return _text(place, value.item())
    raise InputError(f"{place}: {type(value).__name__} is no number, text, date or time")
