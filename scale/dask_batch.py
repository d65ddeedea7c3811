#!/usr/bin/env python3
"""Files of quotes to files of Greeks on the workers of a Dask cluster.

usage: dask_batch.py IN... -o OUT [--address tcp://HOST:8786] [--greeksd PATH] [--threads N] [--retries N] [-- OPTIONS]

Start each worker with `dask worker --nthreads 1` (as many as the machine has cores) or with `--resources cores=N`, and keep
`tasks.py` on every worker's path. Needs Python 3.9 and dask[distributed] (README.md beside this file).
"""
import sys

from distributed import Client, as_completed

import tasks


def main():
    wanted = tasks.arguments(__doc__)
    with Client(wanted.address) as client:
        client.upload_file(tasks.__file__)
        work = tasks.plan(wanted)
        progress = tasks.Progress(work)
        running = {}
        for number, task in enumerate(work):
            future = client.submit(tasks.run, task, wanted.output, wanted.greeksd, wanted.threads, wanted.options,
                                   key=f"greeksd-{number}", retries=wanted.retries, pure=False)
            running[future] = task
        for future in as_completed(running):
            if future.status == "finished":
                progress.add(running[future], future.result())
            else:
                progress.lose(running[future], future.exception())
        return progress.end(wanted.output)


if __name__ == "__main__":
    sys.exit(main())
