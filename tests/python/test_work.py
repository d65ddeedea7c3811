"""Long work: Ctrl-C, progress, threads, processes that fork, and the interpreter's lock."""
import os, pathlib, signal, subprocess, sys, tempfile, threading, time, unittest

import pandas as pd

import greeksd
import market

SLOW = """
import sys, time, greeksd, pandas as pd
n = 400_000
table = pd.DataFrame({"style": "american", "right": "put", "s": 100.0, "k": 60.0 + pd.RangeIndex(n) / 8000, "t_years": 0.9, "r": 0.04,
                      "b": 0.01, "sigma": 0.3, "divs": "0.2:1;0.45:1;0.7:1"})
print("ready", flush=True)
"""


class Interrupt(unittest.TestCase):
    def interrupted(self, code, *arguments):
        child = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        time.sleep(1.0)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
        self.assertEqual(out, "interrupted\n", err)
        return err

    def test_price(self):
        self.interrupted(SLOW + "try: greeksd.price(table)\nexcept KeyboardInterrupt: print('interrupted')")

    def test_greeks_and_what_a_callback_raises(self):
        code = """
import sys, greeksd, pandas as pd
frame = pd.read_csv(sys.argv[1])
frame = pd.concat([frame.assign(quote_time=f"2025-01-02T{15 + i // 60}:{i % 60:02}:00Z") for i in range(180)])
print("ready", flush=True)
try: greeksd.greeks(frame, rates="zero", dividends=[])
except KeyboardInterrupt: print("interrupted")
"""
        self.interrupted(code, min((market.MARKET / "quotes").glob("*.csv")))

        def stop(phase, done, total):
            raise RuntimeError(f"stopped while {phase}")

        with self.assertRaisesRegex(RuntimeError, "stopped while"):
            greeksd.greeks(market.quotes(), rates="zero", dividends=[], progress=stop)

    def test_batch_goes_on_where_it_was_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            home = pathlib.Path(folder)

            def stop(phase, done, total):
                if phase == "computed":
                    raise KeyboardInterrupt

            with self.assertRaises(KeyboardInterrupt):
                greeksd.batch(market.MARKET / "quotes", home / "out", rates="zero", threads=1, progress=stop)
            report = greeksd.batch(market.MARKET / "quotes", home / "out", rates="zero")
            self.assertTrue(report.complete)
            self.assertFalse((home / "out" / "_work").exists())


class Progress(unittest.TestCase):
    def test_a_function_is_called(self):
        heard = []
        greeksd.greeks(market.quotes(), rates="zero", dividends=[], progress=lambda *said: heard.append(said))
        phase, done, total = heard[-1]
        self.assertEqual((phase, done, total), ("computed", len(market.quotes()), len(market.quotes())))
        self.assertTrue(all(0 <= done <= total for _, done, total in heard))

    def test_a_bar_and_no_bar(self):
        code = "import sys, greeksd, pandas as pd\n{}\ngreeksd.greeks(pd.read_csv(sys.argv[1]), rates='zero', dividends=[], progress=True)"
        path = min((market.MARKET / "quotes").glob("*.csv"))
        with_bar = market.run(code.format(""), path)
        self.assertIn("greeksd: computed", with_bar.stderr)
        without = market.run(code.format("sys.modules['tqdm'] = None"), path)
        self.assertEqual((without.returncode, without.stderr), (0, ""))


class Threads(unittest.TestCase):
    def test_none_at_import_and_none_left(self):
        code = """
import os, time
import greeksd
tasks = lambda: len(os.listdir("/proc/self/task"))
at_import = tasks()
greeksd.price({"style": ["american"] * 2000, "right": ["put"] * 2000, "s": [100.0] * 2000, "k": [100.0] * 2000, "t_years": [1.0] * 2000,
               "r": [0.03] * 2000, "b": [0.0] * 2000, "sigma": [0.2] * 2000}, threads=4)
# the system forgets a thread a moment after its work is done
until = time.monotonic() + 10
while tasks() > at_import and time.monotonic() < until:
    time.sleep(0.01)
print(at_import, tasks())
"""
        if pathlib.Path("/proc/self/task").is_dir():
            self.assertEqual(market.run(code).stdout, "1 1\n")

    def test_the_lock_is_given_back(self):
        counted = []

        def count():
            while not over.is_set():
                counted.append(time.monotonic())
                time.sleep(0.005)

        over, thread = threading.Event(), threading.Thread(target=count)
        frame = pd.concat([market.quotes().assign(quote_time=f"2025-01-02T{15 + i}:00:00Z") for i in range(4)])
        thread.start()
        began = time.monotonic()
        greeksd.greeks(frame, rates="zero", dividends=[], threads=1)
        ended = time.monotonic()
        over.set()
        thread.join()
        # with the lock held the other thread would not wake until the end
        within = [at for at in counted if began < at < ended]
        self.assertGreater(len(within), 3)

    def test_after_a_fork(self):
        frame = market.chain()
        want = market.bits(greeksd.greeks(frame, rates="zero", dividends=[], threads=2))
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                same = market.bits(greeksd.greeks(frame, rates="zero", dividends=[], threads=2)) == want
                os.write(writing, b"same" if same else b"other")
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as said:
            self.assertEqual(said.read(), b"same")
        os.waitpid(child, 0)

    def test_many_calls_at_once(self):
        frame = market.chain()
        want, got = market.bits(greeksd.greeks(frame, rates="zero", dividends=[])), []
        workers = [threading.Thread(target=lambda: got.append(market.bits(greeksd.greeks(frame, rates="zero", dividends=[])))) for _ in range(4)]
        [worker.start() for worker in workers]
        [worker.join() for worker in workers]
        self.assertEqual(got, [want] * 4)

    def test_one_inside_a_worker(self):
        # stand-ins of the task contexts of the three libraries
        code = """
import sys, types
from greeksd._threads import threads
import os
every = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
assert threads(None) == every, threads(None)
ray = types.ModuleType("ray")
ray.is_initialized = lambda: True
ray.get_runtime_context = lambda: types.SimpleNamespace(get_task_id=lambda: ray.task)
sys.modules["ray"] = ray
ray.task = None
assert threads(None) == every
ray.task = "1"
assert threads(None) == 1 and threads(3) == 3
del sys.modules["ray"]
distributed = types.ModuleType("distributed")
def get_worker():
    if not distributed.inside: raise ValueError("no worker")
    return object()
distributed.get_worker = get_worker
sys.modules["distributed"] = distributed
distributed.inside = False
assert threads(None) == every
distributed.inside = True
assert threads(None) == 1
del sys.modules["distributed"]
pyspark = types.ModuleType("pyspark")
pyspark.TaskContext = types.SimpleNamespace(get=lambda: pyspark.task)
sys.modules["pyspark"] = pyspark
pyspark.task = None
assert threads(None) == every
pyspark.task = object()
assert threads(None) == 1
"""
        done = market.run(code)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
