"""Imports the build of the native module that this processor can run.

An installed package has one build a level (``_builds/greeksd-x86-64-v3.so``) and ``level``, a library
that every processor can run and that detects the level. ``GREEKSD_LEVEL=x86-64-v2`` names a level, for tests and
support. Where there is one build only (aarch64, a build from source), it is ``_greeksd`` beside this file.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import sysconfig
from types import ModuleType
from typing import Any

_HERE = pathlib.Path(__file__).resolve().parent
_NAME = "greeksd._greeksd"
_LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
_SUFFIX = ".pyd" if sys.platform == "win32" else ".so"


def _builds(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """The builds of a folder by their levels, the lowest first."""
    paths = {level: folder / f"greeksd-{level}{_SUFFIX}" for level in _LEVELS}
    return {level: path for level, path in paths.items() if path.is_file()}


def _level(library: pathlib.Path, wanted: str) -> str:
    """The highest level of this processor, or the requested one.

    Raises ``ImportError`` where the processor lacks it, or is older than all levels.
    """
    functions = ctypes.CDLL(str(library))
    functions.greeksd_level.argtypes = [ctypes.c_char_p]
    functions.greeksd_level.restype = ctypes.c_char_p
    answer: str = functions.greeksd_level(wanted.encode()).decode()
    if answer not in _LEVELS:
        raise ImportError(f"greeksd: {answer}")
    return answer


def _choose(folder: pathlib.Path, wanted: str) -> pathlib.Path:
    """The build to import from a folder of builds."""
    builds = _builds(folder)
    level = _level(folder / f"level{_SUFFIX}", wanted)
    if wanted and level not in builds:
        raise ImportError(f"greeksd: GREEKSD_LEVEL={wanted}: this package has builds for {', '.join(builds)}")
    fitting = [path for name, path in builds.items() if _LEVELS.index(name) <= _LEVELS.index(level)]
    if not fitting:
        raise ImportError(f"greeksd: this package has builds for {', '.join(builds)}, and this processor is {level}")
    return fitting[-1]


def _only() -> pathlib.Path:
    """The build beside this file."""
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = _HERE / f"_greeksd{suffix}"
        if path.is_file():
            return path
    raise ImportError(f"greeksd: no native module in {_HERE}: install the package again")


def _load() -> ModuleType:
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise ImportError(
            "greeksd: free-threaded Python cannot load modules of the stable ABI: use an ordinary build of Python"
        )
    folder = _HERE / "_builds"
    path = _choose(folder, os.environ.get("GREEKSD_LEVEL", "")) if _builds(folder) else _only()
    loader = importlib.machinery.ExtensionFileLoader(_NAME, str(path))
    spec = importlib.util.spec_from_file_location(_NAME, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    loader.exec_module(module)
    return module


#: The native module; `_greeksd.pyi` has its types.
native: Any = _load()
