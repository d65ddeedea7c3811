#!/usr/bin/env python3
"""Runs every notebook of docs/notebooks from its first cell to its last, on a made-up market.

usage: run.py [--greeksd PATH] [--out DIR]

A cell that fails fails the run. With --out the notebooks are written there as they ran, with their plots. Makes a Python
environment of its own in target/notebook-venv.
"""
import argparse, os, pathlib, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENV = ROOT / "target" / "notebook-venv"
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")
INSIDE = "GREEKSD_NOTEBOOKS_INSIDE"


def inside():
    """Goes on in an environment that has the packages."""
    if os.environ.get(INSIDE):
        return
    python = VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS]
    subprocess.run(pip, check=True)
    os.execve(python, [str(python), *sys.argv], {**os.environ, INSIDE: "1"})


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=ROOT / "target/release/greeksd", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    wanted = parser.parse_args()
    inside()
    import nbformat
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory(prefix="greeksd-notebooks-") as work:
        work = pathlib.Path(work)
        generate = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "greeksd-history", "--example", "generate", "--"]
        subprocess.run([*generate, "greeksd", work / "made", "--names", "2", "--days", "60"], check=True, cwd=ROOT)
        os.environ.update(QUOTES=str(work / "made/quotes"), GREEKS=str(work / "greeks"), GREEKSD=str(wanted.greeksd.resolve()))
        for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
            notebook = nbformat.read(path, as_version=4)
            # the kernel of this environment, whatever others are installed
            NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": work}}).execute()
            text = [out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", [])]
            print(f"ok   {path.name}: {len(notebook.cells)} cells; {text[-1].strip() if text else ''}")
            if wanted.out:
                wanted.out.mkdir(parents=True, exist_ok=True)
                nbformat.write(notebook, wanted.out / path.name)


if __name__ == "__main__":
    main()
