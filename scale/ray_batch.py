#!/usr/bin/env python3
"""Files of quotes to files of Greeks on the machines of a Ray cluster.

usage: ray_batch.py IN... -o OUT [--address ray://HOST:10001] [--greeksd PATH] [--threads N] [--retries N] [-- OPTIONS]

Every machine has `greeksd` and reaches IN and OUT by the same path. Stopped at any moment and started again, it goes on
where it was. Needs Python 3.9 and ray (README.md beside this file).
"""
import sys

import ray

import tasks


def main():
    wanted = tasks.arguments(__doc__)
    ray.init(address=wanted.address, log_to_driver=False, logging_level="ERROR", runtime_env={"py_modules": [tasks]})
    work = tasks.plan(wanted)
    progress = tasks.Progress(work)
    # a task whose machine is lost is Ray's to run elsewhere; one whose process was killed is told by `Unfinished`
    run = ray.remote(num_cpus=wanted.threads, max_retries=wanted.retries, retry_exceptions=[tasks.Unfinished])(tasks.run)
    running = {}
    for task in work:
        running[run.remote(task, wanted.output, wanted.greeksd, wanted.threads, wanted.options)] = task
    while running:
        (done,), _ = ray.wait(list(running), num_returns=1)
        task = running.pop(done)
        try:
            progress.add(task, ray.get(done))
        except ray.exceptions.RayError as error:
            progress.lose(task, error)
    return progress.end(wanted.output)


if __name__ == "__main__":
    sys.exit(main())
