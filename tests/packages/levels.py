"""An installed greeksd on processors of 2006 to 2017 in an emulator: which build is picked, and what it computes.

    python3 tests/packages/levels.py PREFIX       a folder with bin/greeksd and lib/greeksd

For each processor the launcher picks a build in the emulator (which does not go on into a program that is started, so
what the build prints of itself is by this processor); that build then, in the emulator, values the rows of
golden/european.csv and golden/american_nodiv.csv, and each value meets the bound for all rows in golden/tolerances.csv.
Builds with fused multiply-add give the same bytes; x86-64-v2 has none and is held to the bounds alone. A build that the
emulator cannot run (AVX-512) is run by this processor, where it can. Needs qemu-user; builds that the prefix lacks are
named, and not tried.
"""

import csv
import io
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "golden" / "make"))
from contracts import sizes

EMULATOR = "qemu-x86_64"
# a processor of the emulator, and the level that it has: its AVX-512 is not emulated, so Skylake's servers lack it
PROCESSORS = {"Conroe": None, "Nehalem": "x86-64-v2", "Haswell": "x86-64-v3", "Skylake-Server": "x86-64-v3"}
FUSED = ("x86-64-v3", "x86-64-v4")
CLASSES = ("european", "american_nodiv")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not shutil.which(EMULATOR):
        sys.exit("missing, the emulator: Debian's qemu-user")
    prefix = pathlib.Path(sys.argv[1]).resolve()
    launcher = prefix / "bin" / "greeksd"
    builds = {path.name.removeprefix("greeksd-"): path for path in sorted((prefix / "lib" / "greeksd").iterdir())}
    print(f"builds: {', '.join(builds)}")
    failures, bytes_of = 0, {}
    for processor, level in PROCESSORS.items():
        emulator = [EMULATOR, "-cpu", processor]
        picked = run([*emulator, launcher, "--version", "--verbose"], ok=False)
        if level is None:
            right = picked.returncode == 1 and "sse4.1, sse4.2, popcnt" in picked.stderr
            failures += report(processor, right, picked.stderr.strip())
            continue
        if level not in builds:
            print(f"{processor}: not tried, the prefix has no {level}")
            continue
        failures += report(processor, f"processor level: {level}\n" in picked.stdout, f"{level} is picked")
        above = run([*emulator, launcher, "--version"], ok=False, level="x86-64-v4")
        failures += report(processor, above.returncode == 2 and "lacks" in above.stderr, above.stderr.strip())
        bytes_of[level] = values([*emulator, builds[level]])
        failures += judged(processor, level, bytes_of[level])
    here = run([launcher, "--version", "--verbose"]).stdout
    level = next(line.split()[-1] for line in here.splitlines() if line.startswith("processor level"))
    native = values([launcher])
    failures += judged("this processor", level, native)
    fused = {level: text for level, text in bytes_of.items() if level in FUSED}
    for name, texts in fused.items():
        failures += report(name, texts == native, f"the same bytes in the emulator as {level} here")
    sys.exit(1 if failures else 0)


def report(who, right, what):
    """Prints the result; returns 1 if it is wrong."""
    print(f"{who}: {'' if right else 'WRONG: '}{what}")
    return 0 if right else 1


def run(command, ok=True, level=None):
    environment = {name: value for name, value in os.environ.items() if name != "GREEKSD_LEVEL"}
    if level:
        environment["GREEKSD_LEVEL"] = level
    done = subprocess.run(list(map(str, command)), check=ok, capture_output=True, text=True, env=environment)
    # levels that it does not emulate
    errors = [line for line in done.stderr.splitlines() if not line.startswith(f"{EMULATOR}: warning:")]
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout, "\n".join(errors))


def values(command):
    """The values that a program prints for the rows of each class."""
    return {name: run([*command, "price", ROOT / "golden" / f"{name}.csv"]).stdout for name in CLASSES}


def judged(who, level, texts):
    """Holds values to the bounds that all rows must meet; the number of values that do not."""
    with open(ROOT / "golden" / "tolerances.csv", newline="") as file:
        rules = [rule for rule in csv.DictReader(file) if rule["percent"] == "100"]
    missed = count = 0
    worst = 0.0
    for name, text in texts.items():
        bounds = {rule["value"]: float(rule["bound"]) for rule in rules if rule["class"] == name}
        with open(ROOT / "golden" / f"{name}.csv", newline="") as file:
            golden = {row["id"]: row for row in csv.DictReader(file)}
        for row in csv.DictReader(io.StringIO(text)):
            reference = golden.pop(row["id"])
            size = sizes(reference)
            for value, bound in bounds.items():
                if value not in size or not reference[value]:
                    continue
                scale = max(abs(float(reference[value])), size[value] / 20)
                error = abs(float(row[value]) - float(reference[value])) - 2 * float(reference.get(f"{value}_err") or 0)
                count += 1
                worst = max(worst, error / scale / bound)
                missed += not error <= bound * scale
        missed += len(golden)
    return report(
        who,
        missed == 0 and count > 1000,
        f"{level}: {count} values, the worst at {worst:.2f} of its bound, {missed} beyond",
    )


if __name__ == "__main__":
    main()
