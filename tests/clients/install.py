"""The vendors' published clients, installed once below `target/clients-venv`, as the requirement files say."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VENVS = ROOT / "target" / "clients-venv"


class Unavailable(Exception):
    """Something that the run needs is not there."""


def python_of(requirements):
    """The interpreter of the environment made from a requirement file; installs it when the file is new."""
    wanted = HERE / requirements
    home = VENVS / wanted.stem
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = home / "installed"
    digest = hashlib.sha256(wanted.read_bytes() + sys.version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return python
    print(f"installing {requirements} into {home.relative_to(ROOT)}", flush=True)
    shutil.rmtree(home, ignore_errors=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(wanted)]
    for command in ([sys.executable, "-m", "venv", str(home)], install):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"cannot install {requirements}: {last_line(done.stderr or done.stdout)}")
    stamp.write_text(digest)
    return python


def install_node():
    """The JavaScript clients, in the versions of their lock file, beside the scripts that use them."""
    npm = shutil.which("npm")
    if not npm:
        return  # the check says why it is skipped
    home = VENVS / "node"
    shutil.copytree(HERE / "node", home, dirs_exist_ok=True)
    stamp = home / "installed"
    digest = hashlib.sha256((HERE / "node" / "package-lock.json").read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    print(f"installing package-lock.json into {home.relative_to(ROOT)}", flush=True)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True)
    if done.returncode != 0:
        raise Unavailable(f"cannot install the JavaScript clients: {last_line(done.stderr)}")
    stamp.write_text(digest)


def last_line(text):
    """The last line that is not blank."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"
