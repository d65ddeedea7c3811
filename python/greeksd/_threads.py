"""The default number of threads."""

from __future__ import annotations

import os
import sys


def threads(given: int | None) -> int:
    """The number that is given, or every processor that this process may use; 1 inside a worker of Ray, Dask or Spark,
    which start a process for each processor themselves.

    >>> threads(3)
    3
    """
    if given is not None:
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            from .errors import InputError

            raise InputError(f"threads: not a whole number from 1: {given!r}")
        return given
    return 1 if inside_worker() else _processors()


def _processors() -> int:
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def inside_worker() -> bool:
    """True in a task of Ray, Dask or Spark. Only libraries that are loaded already are asked."""
    return any(asked() for asked in (_in_ray, _in_dask, _in_spark))


def _in_ray() -> bool:
    ray = sys.modules.get("ray")
    try:
        return ray is not None and ray.is_initialized() and ray.get_runtime_context().get_task_id() is not None
    except Exception:
        return False


def _in_dask() -> bool:
    distributed = sys.modules.get("distributed")
    try:
        return distributed is not None and distributed.get_worker() is not None
    except Exception:
        # a ValueError: no worker
        return False


def _in_spark() -> bool:
    pyspark = sys.modules.get("pyspark")
    try:
        return pyspark is not None and pyspark.TaskContext.get() is not None
    except Exception:
        return False
