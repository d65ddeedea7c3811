#!/usr/bin/env python3
"""The Python package: numbers bit by bit beside the program's, every kind of table in and out, errors, Ctrl-C, threads,
processes, a daemon, the recipes for vendors' clients, the code of docs/python.md and of the docstrings.

usage: run.py [--greeksd PATH] [--profile NAME] [--built | --wheel FILE] [NAME ...]

Builds the native module in the profile of the program (`--profile`, release) and puts the package together in
target/python-package. --built takes the module that `cargo test --workspace` has built, which shares its libraries with that
of the program; --wheel installs the package from a file instead. NAME chooses tests (`equal`, `work`).
Makes a Python environment of its own in target/python-venv.
"""
import argparse, os, pathlib, shutil, subprocess, sys, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tests"))
import environment


def package(profile, is_built):
    """The folder that Python finds the package in."""
    built = ROOT / "target" / ("debug" if profile == "dev" else profile)
    if is_built:
        built /= "deps"
    else:
        command = ["cargo", "build", "--locked", "--profile", profile, "-p", "greeksd-python", "-p", "greeksd-level"]
        subprocess.run(command, check=True, cwd=ROOT)
    home = ROOT / "target" / "python-package"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "greeksd", home / "greeksd", ignore=shutil.ignore_patterns("__pycache__"))
    ending = {"darwin": ("lib", ".dylib"), "win32": ("", ".dll")}.get(sys.platform, ("lib", ".so"))
    library = lambda name: built / name.join(ending)
    shutil.copy(library("_greeksd"), home / "greeksd" / ("_greeksd.pyd" if sys.platform == "win32" else "_greeksd.abi3.so"))
    shutil.copy(library("level"), home / "level")
    return home


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--greeksd", type=pathlib.Path, default=ROOT / "target" / "release" / "greeksd")
    parser.add_argument("--profile", default="release")
    parser.add_argument("--built", action="store_true")
    parser.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    environment.enter("python-venv", HERE / "requirements.txt")
    began = time.monotonic()
    variables = {**os.environ, "GREEKSD_PROGRAM": str(given.greeksd.resolve()), "PYTHONWARNINGS": "default"}
    if given.wheel:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall"]
        subprocess.run([*pip, "--no-deps", given.wheel], check=True)
    else:
        home = package(given.profile, given.built)
        variables |= {"PYTHONPATH": str(home), "GREEKSD_LEVEL_LIBRARY": str(home / "level")}
    print(f"package: {time.monotonic() - began:.0f} s", flush=True)
    market = ROOT / "target" / "python-market"
    if not (market / "quotes").is_dir():
        environment.made_up_market(given.greeksd, market, "--names", "SPX,KO,TSLA", "--days", 2)
        # and a day of several snapshots, of the same layout
        environment.made_up_market(
            given.greeksd, market / "minutes", "--names", "KO", "--days", 1, "--every", "2h",
            "--layout", "cboe-datashop-intervals",
        )
    variables["GREEKSD_MARKET"] = str(market)
    names = [f"test_{name}" for name in given.names] or sorted(path.stem for path in HERE.glob("test_*.py"))
    done = subprocess.run([sys.executable, "-m", "unittest", "-v", *names], cwd=HERE, env=variables)
    print(f"all of it: {time.monotonic() - began:.0f} s")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
