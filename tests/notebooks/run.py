#!/usr/bin/env python3
"""Runs every notebook of docs/notebooks from its first cell to its last, on the simulated market.

usage: run.py [--greeksd PATH] [--out DIR]

A cell that fails fails the run. With --out the notebooks are written there as they ran, with their plots. Makes a Python
environment of its own in target/notebook-venv.
"""
import argparse, os, pathlib, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import environment


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=ROOT / "target/release/greeksd", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    wanted = parser.parse_args()
    environment.enter("notebook-venv", pathlib.Path(__file__).with_name("requirements.txt"))
    import nbformat
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory(prefix="greeksd-notebooks-") as work:
        work = pathlib.Path(work)
        quotes = environment.made_up_market(wanted.greeksd, work / "made", "--names", "2", "--days", "60")
        os.environ.update(QUOTES=str(quotes), GREEKS=str(work / "greeks"), GREEKSD=str(wanted.greeksd.resolve()))
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
