"""A temporary folder of a computation, removed when it ends, or by the next computation if the process was killed."""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from typing import IO

try:
    import fcntl
except ImportError:  # Windows does not remove an open file, which is lock enough
    fcntl = None  # type: ignore[assignment]

_PREFIX = "greeksd-work-"
_LOCK = "lock"
#: Age after which a folder without a lock counts as abandoned, seconds.
_ABANDONED = 3600.0


@contextlib.contextmanager
def work_folder() -> Iterator[str]:
    """A folder, locked while it is used."""
    _remove_left(tempfile.gettempdir())
    folder = pathlib.Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        with open(folder / _LOCK, "wb") as lock:
            _locks(lock)
            yield str(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _locks(file: IO[bytes]) -> bool:
    """Locks a file; False: another process has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@functools.cache
def _remove_left(temporary: str) -> None:
    """Removes folders of ended processes, once in the life of this one."""
    for folder in pathlib.Path(temporary).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            about = folder.lstat()
            if folder.is_symlink() or (hasattr(os, "getuid") and about.st_uid != os.getuid()):
                continue
            try:
                with open(folder / _LOCK, "r+b") as lock:
                    is_left = _locks(lock)
                    if fcntl is not None and is_left:
                        shutil.rmtree(folder, ignore_errors=True)
                if fcntl is None:
                    os.remove(folder / _LOCK)
                    shutil.rmtree(folder, ignore_errors=True)
            except FileNotFoundError:
                if time.time() - about.st_mtime > _ABANDONED:
                    shutil.rmtree(folder, ignore_errors=True)
