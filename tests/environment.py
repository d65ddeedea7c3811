"""A virtual environment for one test, below `target`."""
import argparse, os, pathlib, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
INSIDE = "GREEKSD_INSIDE"


def enter(name, requirements):
    """Restarts the script in the virtual environment `target/NAME`, with the packages of a file of requirements."""
    if os.environ.get(INSIDE) == name:
        return
    home = ROOT / "target" / name
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements]
    subprocess.run(pip, check=True)
    os.execve(python, [str(python), *sys.argv], {**os.environ, INSIDE: name})


def made_up_market(greeksd, out, *arguments):
    """Writes days of the simulated market with `greeksd generate`; returns the folder of their quotes."""
    subprocess.run([greeksd, "generate", out, "--quiet", *map(str, arguments)], check=True, cwd=ROOT)
    return pathlib.Path(out) / "quotes"


def run(trial, name, requirements, doc):
    """The command line of a trial with the option --greeksd: calls it in the environment `target/NAME` with the program
    and a temporary folder."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--greeksd", type=pathlib.Path, default=ROOT / "target" / "release" / "greeksd")
    arguments = parser.parse_args()
    enter(name, requirements)
    with tempfile.TemporaryDirectory() as folder:
        trial(arguments.greeksd.resolve(), pathlib.Path(folder))
