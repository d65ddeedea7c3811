"""What every engine runs: which tasks there are, and one of them.

A task is a set of files in and the files of Greeks that come of them, so an engine moves nothing but strings, and no chain
is ever cut in two. `greeksd batch --plan` finds the tasks; each runs as a process of its own on whatever machine has a core
free. Files in and out lie where every machine reaches them by the same path. Needs Python 3.9 and nothing else.
"""
import argparse, ctypes, hashlib, json, os, pathlib, shutil, signal, subprocess, sys, tempfile, time

LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class Unfinished(Exception):
    """A task that ended before its work did: killed, or a machine that ran out of something. Worth another try."""


def arguments(doc):
    parser = argparse.ArgumentParser(description=doc.strip().split("\n")[0], epilog="What follows -- goes to greeksd batch.")
    parser.add_argument("inputs", nargs="+", metavar="IN", help="files or folders of quotes")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="the folder of the files of Greeks")
    parser.add_argument("--greeksd", default="greeksd", metavar="PATH", help="the program, where each machine has it")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads, and cores, of a task [default: 1]")
    parser.add_argument("--retries", type=int, default=3, metavar="N", help="further tries of a task that was killed [default: 3]")
    parser.add_argument("--address", metavar="ADDRESS", help="the cluster [default: one on this machine]")
    own, options = (sys.argv[1:], []) if "--" not in sys.argv else split(sys.argv[1:])
    wanted = parser.parse_args(own)
    wanted.inputs = [str(pathlib.Path(name).resolve()) for name in wanted.inputs]
    wanted.output, wanted.options = str(pathlib.Path(wanted.output).resolve()), options
    return wanted


def split(words):
    at = words.index("--")
    return words[:at], words[at + 1 :]


def plan(wanted):
    """The tasks that are left, largest first: dictionaries of `id`, `inputs`, `outputs`, `rows`, `options`."""
    command = [wanted.greeksd, "batch", "--plan", *wanted.inputs, "-o", wanted.output, "--quiet", *wanted.options]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    version = subprocess.run([wanted.greeksd, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    tasks = []
    for task in map(json.loads, lines):
        stamps = [(name, os.stat(name).st_size, os.stat(name).st_mtime_ns) for name in task["inputs"]]
        known = json.dumps([version, wanted.options, task["options"], stamps])
        task["id"] = hashlib.sha256(known.encode()).hexdigest()[:16]
        if not os.path.exists(marker(wanted.output, task["id"])):
            tasks.append(task)
    return sorted(tasks, key=lambda task: -task["rows"])


def work_folder(output):
    """The folder beside the outputs, where readers of the outputs do not find it."""
    return os.path.join(output + ".job", "_tasks")


def marker(output, task):
    """The file that says that a task is done."""
    return os.path.join(work_folder(output), task + ".done")


def run(task, output, greeksd, threads, options):
    """Runs one task to its end. A second try, also beside a first one that was thought dead, leaves the same files.

    Returns a dictionary: `failed` (what could not be computed; another try would say the same), `seconds`, `node`.
    """
    began = time.time()
    os.makedirs(work_folder(output), exist_ok=True)
    # of this try alone: a folder has one job at a time
    attempt = tempfile.mkdtemp(prefix=task["id"] + ".", dir=work_folder(output))
    part = os.path.join(attempt, "greeks")
    try:
        command = [greeksd, "batch", *task["inputs"], "-o", part, "--threads", str(threads), "--quiet", *options, *task["options"]]
        # it ends with whoever started it
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        try:
            said = process.communicate()[1]
        except BaseException:
            process.kill()
            raise
        if process.returncode not in (0, 1):
            raise Unfinished(f"{task['inputs'][0]}: exit status {process.returncode}: {said[-2000:]}")
        for name in task["outputs"]:
            made, place = os.path.join(part, name), os.path.join(output, name)
            if os.path.exists(made):
                os.makedirs(os.path.dirname(place), exist_ok=True)
                os.replace(made, place)
            elif os.path.exists(place):
                # what cannot be computed any more leaves none
                os.remove(place)
        failed = said.strip() if process.returncode else ""
        if not failed:
            with open(marker(output, task["id"]), "w") as done:
                done.write("\n".join(task["outputs"]) + "\n")
        return {"failed": failed, "seconds": time.time() - began, "node": os.uname().nodename, "rows": task["rows"]}
    finally:
        shutil.rmtree(attempt, ignore_errors=True)


def die_with_parent():
    """Linux ends the process when its parent ends, also where that is killed."""
    if LIBC:
        LIBC.prctl(1, signal.SIGKILL)


class Progress:
    """Says on standard error how far the work is."""

    def __init__(self, tasks):
        self.tasks, self.rows, self.began = len(tasks), sum(task["rows"] for task in tasks), time.time()
        self.done = self.rows_done = 0
        self.failed = []

    def count(self, task, result):
        self.done += 1
        self.rows_done += task["rows"]
        if result["failed"]:
            self.failed.append((task, result["failed"]))

    def add(self, task, result):
        self.count(task, result)
        seconds = time.time() - self.began
        left = seconds * (self.rows - self.rows_done) / max(self.rows_done, 1)
        rate = self.rows_done / max(seconds, 1e-9)
        print(f"{self.done}/{self.tasks} tasks, {rate:,.0f} rows a second, {left:.0f} s left", file=sys.stderr, flush=True)

    def lose(self, task, error):
        self.add(task, {"failed": f"given up: {error}"})

    def end(self, output):
        """Takes away what lost tries left, now that nothing runs; the summary; the exit status."""
        for left in pathlib.Path(work_folder(output)).glob("*.*/"):
            shutil.rmtree(left, ignore_errors=True)
        for task, why in self.failed:
            print(f"{task['inputs'][0]}{' and others' if len(task['inputs']) > 1 else ''}: {why}", file=sys.stderr)
        seconds = time.time() - self.began
        print(f"{self.done} tasks, {len(self.failed)} with failures, {self.rows:,} rows in {seconds:.1f} s", file=sys.stderr)
        return 1 if self.failed else 0
