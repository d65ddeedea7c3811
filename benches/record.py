#!/usr/bin/env python3
"""Runs the benches at the commit that is checked out, all of them in one go, and writes one dated file of every figure,
in place of the one before.

usage: record.py [--quick] [--bench NAME ...]    writes benches/record/DATE-COMMIT.md

Criterion's benches: the median time and, where a bench says how many elements it handles, the time of one. The whole
simulated market: every pass of `steady`. A working tree with changes is refused: a figure belongs to a commit; and so is a
profile that is set from outside, as quick rebuilds do: blocks are twenty times slower in one. Needs Python 3.9 and nothing
else.
"""
import argparse, datetime, json, os, pathlib, re, shutil, subprocess, sys, time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCHES = ["kernels", "pass", "surface", "market", "rows", "http"]


def out(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def machine():
    model = "unknown"
    if os.path.exists("/proc/cpuinfo"):
        facts = dict(l.split(":", 1) for l in open("/proc/cpuinfo") if ":" in l)
        facts = {k.strip(): v.strip() for k, v in facts.items()}
        model = facts.get("model name", "unknown")
        if model in ("unknown", ""):
            model = f"{facts.get('vendor_id', '?')} family {facts.get('cpu family', '?')}"
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    return f"{model}, {os.cpu_count()} cores; load average before the run {load}; {out('rustc', '--version')}"


def spelled(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def run(command, log):
    """Runs a command, shows its lines as they come, and returns them."""
    print("$", " ".join(command), flush=True)
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            lines.append(line.rstrip())
            if not line.startswith(("   Compiling", "warning")):
                print("  ", line.rstrip(), flush=True)
    log.append((" ".join(command), process.returncode))
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return lines


def criterion_rows(folder):
    rows = []
    for path in sorted(folder.glob("**/new/benchmark.json")):
        about = json.loads(path.read_text())
        estimate = json.loads((path.parent / "estimates.json").read_text())["median"]
        ns, interval = estimate["point_estimate"], estimate["confidence_interval"]
        spread = (interval["upper_bound"] - interval["lower_bound"]) / 2 / ns
        throughput = about.get("throughput") or {}
        elements = throughput.get("Elements")
        each = spelled(ns / elements) if elements else ""
        rows.append((about["full_id"], spelled(ns), f"{100 * spread:.1f} %", each))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="short measurements, and a twentieth of the whole market")
    parser.add_argument("--bench", action="append", choices=BENCHES, help="only these benches (may be repeated)")
    wanted = parser.parse_args()
    if changed := sorted(name for name in os.environ if name.startswith("CARGO_PROFILE_")):
        sys.exit(f"a figure is one of the profile in Cargo.toml: unset {', '.join(changed)}")
    if out("git", "status", "--porcelain", "--untracked-files=no"):
        sys.exit("the working tree has changes: commit them first, a figure belongs to a commit")
    commit, began = out("git", "rev-parse", "--short", "HEAD"), time.time()
    about, log, sections = machine(), [], []
    target = pathlib.Path(json.loads(out("cargo", "metadata", "--format-version=1", "--no-deps"))["target_directory"])
    times = ["--warm-up-time", "0.5", "--measurement-time", "1" if wanted.quick else "3"]
    for bench in wanted.bench or BENCHES:
        shutil.rmtree(target / "criterion", ignore_errors=True)
        run(["cargo", "bench", "--locked", "-p", "greeksd-benches", "--bench", bench, "--", *times], log)
        rows = criterion_rows(target / "criterion")
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        sections.append(f"## {bench}\n\n| bench | median | ± | per element |\n|---|---|---|---|\n{table}\n")
    share = "full=0.05" if wanted.quick else "full"
    lines = run(["cargo", "run", "--release", "--locked", "-p", "greeksd-testkit", "--example", "steady", "--", share], log)
    # the first passes; `steady` sums the others
    passes = "\n".join(line for line in lines if re.match(r"(pass [0-2]:|steady|stages|counts)", line))
    sections.append(f"## whole market, {share}\n\n```\n{passes}\n```\n")
    date = datetime.date.today().isoformat()
    commands = "\n".join(f"- `{command}`" for command, _ in log)
    head = f"# {date}, commit {commit}\n\n{about}; {(time.time() - began) / 60:.0f} minutes.\n\n{commands}\n\n"
    path = ROOT / "benches/record" / f"{date}-{commit}.md"
    path.parent.mkdir(exist_ok=True)
    for before in path.parent.glob("*.md"):
        before.unlink()
    path.write_text(head + "\n".join(sections))
    print("written:", path.relative_to(ROOT))


if __name__ == "__main__":
    main()
