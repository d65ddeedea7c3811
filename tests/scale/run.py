#!/usr/bin/env python3
"""Batch work on clusters of this machine: two Ray nodes, two Dask workers, two Spark executors, one of each killed without
grace in the middle.

usage: run.py [--greeksd PATH] [--quotes DIR] [--keep DIR] [--only ENGINE]

Without --quotes a simulated market is written first. The files must equal those of one process byte for byte, and a
chain that breaks off must be an error of its day alone; exit status 1 otherwise. Makes the Python environment
target/scale-venv. Spark is left out, with a message, without Java or pyspark. Nothing leaves the machine. Ray's nodes find
each other by the machine's address, not by loopback, so this is no part of CI.
"""
import argparse, hashlib, importlib.util, os, pathlib, shutil, signal, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import environment


def digests(folder):
    files = sorted(folder.glob("**/greeks*.parquet"))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def tasks_of(out):
    """The folder in which the engines mark finished tasks, beside the outputs."""
    return out.with_name(out.name + ".job") / "_tasks"


def wait_for_done(out, least, driver):
    """Waits until so many tasks are done, or the driver has ended."""
    while driver.poll() is None and len(list(tasks_of(out).glob("*.done"))) < least:
        time.sleep(0.05)
    return driver.poll() is None


def descendants(pid):
    """The processes that a process has started, and theirs."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found[1:]


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


class Trial:
    """The trial, and its failures."""

    def __init__(self, greeksd, quotes, work):
        self.greeksd, self.quotes, self.work = greeksd, quotes, work
        self.failures = []

    def check(self, what, holds):
        print(f"{'ok  ' if holds else 'FAIL'} {what}", flush=True)
        if not holds:
            self.failures.append(what)

    def single(self):
        out, began = self.work / "single", time.time()
        subprocess.run([self.greeksd, "batch", self.quotes, "-o", out, "--threads", "2"], check=True)
        self.seconds, self.wanted = time.time() - began, digests(out)
        self.check(f"one process: {len(self.wanted)} files in {self.seconds:.1f} s", len(self.wanted) > 3)

    def driver(self, program, out, *arguments):
        command = [sys.executable, ROOT / "scale" / program, self.quotes, "-o", out, "--greeksd", self.greeksd, *arguments]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def compare(self, name, driver, out, began, killed):
        said = driver.communicate()[1]
        seconds = time.time() - began
        last = said.strip().splitlines()[-1:] or [""]
        self.check(f"{name}: ends well ({last[0]})", driver.returncode == 0)
        if driver.returncode:
            print(said[-4000:])
        self.check(f"{name}: a node was killed while it worked", killed)
        self.check(f"{name}: the files of one process, byte for byte", digests(out) == self.wanted)
        self.check(f"{name}: nothing is left but what is done", all(p.suffix == ".done" for p in tasks_of(out).glob("*")))
        print(f"     {seconds:.1f} s; one process alone {self.seconds:.1f} s", flush=True)
        again = self.driver(name + "_batch.py", out, *self.address)
        said = again.communicate()[1]
        self.check(f"{name}: again, there is nothing to do", again.returncode == 0 and "0 tasks" in said)

    def ray(self):
        import ray.cluster_utils

        cluster = ray.cluster_utils.Cluster()
        nodes = [cluster.add_node(num_cpus=1, include_dashboard=False) for _ in range(2)]
        try:
            out, began = self.work / "ray", time.time()
            self.address = ["--address", cluster.address]
            driver = self.driver("ray_batch.py", out, *self.address)
            killed = wait_for_done(out, 2, driver)
            cluster.remove_node(nodes[1], allow_graceful=False)
            self.compare("ray", driver, out, began, killed)
        finally:
            cluster.shutdown()

    def dask(self):
        from distributed import LocalCluster

        with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
            out, began = self.work / "dask", time.time()
            self.address = ["--address", cluster.scheduler_address]
            driver = self.driver("dask_batch.py", out, *self.address)
            killed = wait_for_done(out, 2, driver)
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
            self.compare("dask", driver, out, began, killed)

    def spark(self):
        missing = "Java" if not shutil.which("java") else "" if importlib.util.find_spec("pyspark") else "pyspark"
        if missing:
            print(f"skip spark: there is no {missing} here", flush=True)
            return
        out, began = self.work / "spark", time.time()
        # Spark's own cluster of this machine: a master, two workers, an executor of one core on each
        self.address = ["--address", "local-cluster[2,1,1024]"]
        driver = self.driver("spark_batch.py", out, *self.address)
        killed = wait_for_done(out, 2, driver)
        executors = [pid for pid in descendants(driver.pid) if b"CoarseGrainedExecutorBackend" in command_of(pid)]
        self.check(f"spark: {len(executors)} executors", len(executors) == 2)
        if executors:
            os.kill(executors[0], signal.SIGKILL)
        self.compare("spark", driver, out, began, killed)

    def half_a_chain(self):
        """A file that ends in the middle: its day is an error, and the other days are what they were."""
        quotes = self.work / "half" / "quotes"
        shutil.copytree(self.quotes, quotes)
        for beside in ("dividends.csv", "rates.csv"):
            if (self.quotes.parent / beside).exists():
                shutil.copy(self.quotes.parent / beside, quotes.parent)
        cut = sorted(path for path in quotes.glob("**/*.csv") if path.name not in ("dividends.csv", "rates.csv"))[0]
        text = cut.read_bytes()
        cut.write_bytes(text[: len(text) // 2])
        out = self.work / "half-out"
        done = subprocess.run([self.greeksd, "batch", quotes, "-o", out], stderr=subprocess.PIPE, text=True)
        made = digests(out)
        self.check(f"half a chain: exit status {done.returncode}", done.returncode == 1)
        self.check("half a chain: its file is named", cut.name in done.stderr)
        same = [name for name in made if made[name] == self.wanted.get(name)]
        self.check("half a chain: the other days are as they were", len(same) == len(self.wanted) - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=ROOT / "target/release/greeksd", type=pathlib.Path)
    parser.add_argument("--quotes", type=pathlib.Path, help="a folder of quotes [default: a made-up market]")
    parser.add_argument("--keep", type=pathlib.Path, help="work here and leave everything")
    parser.add_argument("--only", choices=["ray", "dask", "spark"], help="this engine alone")
    wanted = parser.parse_args()
    # whatever the machine's own name resolves to
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    environment.enter("scale-venv", pathlib.Path(__file__).with_name("requirements.txt"))
    work = wanted.keep or pathlib.Path(tempfile.mkdtemp(prefix="greeksd-scale-"))
    work.mkdir(exist_ok=True)
    try:
        quotes = wanted.quotes
        if quotes is None:
            quotes = environment.made_up_market(wanted.greeksd, work / "made", "--names", "8", "--days", "12")
        trial = Trial(wanted.greeksd.resolve(), quotes.resolve(), work.resolve())
        trial.single()
        for engine in (trial.ray, trial.dask, trial.spark):
            if wanted.only in (None, engine.__name__):
                engine()
        trial.half_a_chain()
    finally:
        if not wanted.keep:
            shutil.rmtree(work, ignore_errors=True)
    if trial.failures:
        sys.exit(f"{len(trial.failures)} of what was tried is not so")


if __name__ == "__main__":
    main()
