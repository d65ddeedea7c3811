#!/usr/bin/env python3
"""Files of quotes to files of Greeks on the executors of a Spark cluster.

usage: spark_batch.py IN... -o OUT [--address spark://HOST:7077] [--greeksd PATH] [--threads N] [--retries N] [-- OPTIONS]

Every machine has `greeksd` and reaches IN and OUT by the same path. Stopped at any moment and started again, it goes on
where it was. Needs Python 3.9, pyspark and Java 17 (README.md beside this file).
"""
import sys

from pyspark import SparkConf, SparkContext, TaskContext

import tasks


def main():
    wanted = tasks.arguments(__doc__)
    work = tasks.plan(wanted)
    progress = tasks.Progress(work)
    conf = SparkConf().setAppName("greeksd").set("spark.task.cpus", wanted.threads)
    # on this machine alone the number of tries is a part of the address
    conf.set("spark.task.maxFailures", wanted.retries + 1).setMaster(wanted.address or f"local[*,{wanted.retries + 1}]")
    with SparkContext(conf=conf) as spark:
        spark.addPyFile(tasks.__file__)

        def run(task):
            try:
                return tasks.run(task, wanted.output, wanted.greeksd, wanted.threads, wanted.options)
            except tasks.Unfinished as error:
                # a task that is given up must not end the job of all others
                if TaskContext.get().attemptNumber() < wanted.retries:
                    raise
                return {"failed": f"given up: {error}"}

        # a partition a task: paths are handed over, never rows
        # while it runs Spark itself says how far it is
        done = spark.parallelize(work, len(work)).map(run).collect() if work else []
        for task, result in zip(work, done):
            progress.count(task, result)
    return progress.end(wanted.output)


if __name__ == "__main__":
    sys.exit(main())
