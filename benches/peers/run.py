"""Sets up the peers, has the same contracts priced by everyone, and prints who takes how long and who is how far off.

    python3 benches/peers/run.py            the report is also written to target/peers/report.md
    python3 benches/peers/run.py --accuracy [ROWS...]
                                            only error and time of QuantLib's American engines at several settings, and
                                            ours, on golden/american_*.csv and ROWS (files with their columns, as
                                            golden/make/market.py writes them); also in target/peers/accuracy.md

The Python peers are installed once, in the versions of requirements.txt, below target/peers/venv; one that cannot be
installed is named and left out. QuantLib's C++ program is built where its headers are. See README.md beside this file.
"""

import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "target" / "peers"
VENV = OUT / "venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

# as benches are built; GREEKSD_PROFILE=fast builds in less time
PROFILE = ["--profile", os.environ.get("GREEKSD_PROFILE", "release")]
NEEDED = ["numpy", "mpmath"]
PEERS = ["QuantLib", "fast-vollib", "pyvolr"]
# everyone computes on one thread
ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "RAYON_NUM_THREADS",
    )
}


def last_line(text):
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def installed(names):
    """Whether pip has these in the versions of requirements.txt; the reason if not."""
    wanted = HERE / "requirements.txt"
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary"]
    done = subprocess.run([*pip, "-c", str(wanted), *names], capture_output=True, text=True)
    return "" if done.returncode == 0 else last_line(done.stderr or done.stdout)


def set_up():
    """The environment with every peer that can be installed; says which cannot. Installs what is new only."""
    if not PYTHON.exists():
        print(f"making {VENV.relative_to(ROOT)}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    if reason := installed(NEEDED):
        sys.exit(f"cannot install {', '.join(NEEDED)}: {reason}")
    for peer in PEERS:
        if reason := installed([peer]):
            print(f"skipped {peer}: {reason}", flush=True)


def build_quantlib():
    """QuantLib in C++, where its headers and library are."""
    program = OUT / "quantlib"
    source = HERE / "quantlib.cpp"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return
    compiler = os.environ.get("CXX", "c++")
    command = [compiler, "-O3", "-march=native", "-std=c++17", str(source), "-o", str(program), "-lQuantLib"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        reason = "" if done.returncode == 0 else done.stderr.strip().splitlines()[0]
    except OSError as e:
        reason = str(e)
    if reason:
        print(f"skipped QuantLib in C++ (headers and library needed): {reason}", flush=True)


def accuracy(files, each):
    """Error and time of QuantLib's American engines and of ours, row by row by the same ruler."""
    cargo = ["cargo", "run", *PROFILE, "--quiet", "--locked", "-p", "greeksd-testkit", "--example", "early_peers", "--"]
    text = "# American engines: error and time\n"
    for rows in files:
        out = OUT / "engines" / rows.stem
        if out.exists():
            for old in out.glob("*.csv"):
                old.unlink()
        print(f"{rows.name}", flush=True)
        engines = [str(PYTHON), str(HERE / "engines.py"), str(out), str(rows), "--each", str(each)]
        subprocess.run(engines, env=os.environ | ONE_THREAD, check=True)
        values = sorted(str(path) for path in out.glob("*.csv"))
        done = subprocess.run([*cargo, str(rows), *values], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        print(done.stdout, flush=True)
        text += "\n" + done.stdout
    (OUT / "accuracy.md").write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accuracy", action="store_true", help="only QuantLib's American engines and ours, row by row")
    parser.add_argument("--each", type=int, default=1, metavar="N", help="let QuantLib value every N-th row only")
    parser.add_argument("rows", nargs="*", type=pathlib.Path, metavar="ROWS", help="further rows for --accuracy")
    args = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    set_up()
    golden = [ROOT / "golden" / name for name in ("american_nodiv.csv", "american_div.csv")]
    if args.accuracy:
        accuracy([*golden, *(path.resolve() for path in args.rows)], args.each)
        return
    build_quantlib()
    example = ["cargo", "run", *PROFILE, "--quiet", "--locked", "-p", "greeksd-benches", "--example", "peers"]
    subprocess.run([*example, "--", str(OUT)], cwd=ROOT, check=True)
    environment = os.environ | ONE_THREAD
    code = subprocess.run([str(PYTHON), str(HERE / "compare.py"), str(OUT)], env=environment).returncode
    accuracy([*golden, *(path.resolve() for path in args.rows)], args.each)
    sys.exit(code)


if __name__ == "__main__":
    main()
