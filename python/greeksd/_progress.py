"""Progress of long work: a bar of tqdm where it is installed, else a line at intervals."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

Progress = bool | Callable[[str, int, int], object]

#: Interval between two lines, seconds.
_EVERY = 5.0


@contextlib.contextmanager
def shown(progress: Progress) -> Iterator[Callable[[str, int, int], object] | None]:
    """The callback of the native module for phase, done and total: None, the caller's function, or a display."""
    if not progress:
        yield None
    elif callable(progress):
        yield progress
    else:
        display = _bar() or _Lines()
        try:
            yield display
        finally:
            display.close()


def _bar() -> Any:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None
    return _Bar(tqdm)


class _Bar:
    def __init__(self, tqdm: Any) -> None:
        self._tqdm, self._phase = tqdm, ""
        self._bar: Any = None

    def __call__(self, phase: str, done: int, total: int) -> None:
        if not total:
            return
        if phase != self._phase or self._bar is None:
            self.close()
            self._phase, self._bar = phase, self._tqdm(total=total, desc=f"greeksd: {phase}", unit_scale=True)
        # at most ten times a second
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _Lines:
    def __init__(self) -> None:
        self._said = time.monotonic()

    def __call__(self, phase: str, done: int, total: int) -> None:
        if time.monotonic() - self._said > _EVERY:
            self._said = time.monotonic()
            print(f"greeksd: {phase} {done:,} of {total:,}", file=sys.stderr)

    def close(self) -> None:
        pass
