"""Packages of Linux, each installed, started, asked for a number and removed in a root that has nothing else.

    python3 tests/packages/bare.py dist/greeksd-*-linux-*.tar.gz dist/greeksd_*.deb dist/greeksd-*-oci-*.tar

An archive is unpacked into an empty root, a deb is installed in Debian's smallest system (debootstrap makes it once,
below `target`), an image is unpacked as its configuration says and started with its own command. Needs root, for
chroot. A program of the other processor, 64-bit ARM, runs in the emulator qemu-user, which is put into the root with
its libraries; its deb is installed into Debian of this processor. Prints one line of a table for each: package, size,
processor level, how it was tried, seconds from the package to the first number and from the start of the program.
"""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from daemon import free_port

SUITE = "bookworm"
BASE = ROOT / "target" / f"root-{SUITE}"
QUERY = "/l1/greeks?underlying=SPY&center=atf&right=call&max_days=40&min_days=20&greeks=core,chain"
SECONDS = 120
# how packages name this processor: archives, then debs and images
HERE = {"x86_64": ("x86_64", "amd64"), "aarch64": ("aarch64", "arm64")}[os.uname().machine]
EMULATOR = "qemu-aarch64"
# where it lies in a root, apart from all that the package brings
EMULATORS = ".emulator"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if os.geteuid() != 0:
        sys.exit("missing, the rights of root: chroot wants them")
    failed = 0
    for package in map(pathlib.Path, sys.argv[1:]):
        kind = archive if package.name.endswith(".tar.gz") else deb if package.suffix == ".deb" else image
        with tempfile.TemporaryDirectory(prefix="greeksd-root-") as folder:
            # a root that every user may enter
            os.chmod(folder, 0o755)
            try:
                kind(package.resolve(), pathlib.Path(folder))
            except (AssertionError, Failed, OSError) as error:
                failed += 1
                print(f"{package.name}: {error}", file=sys.stderr, flush=True)
    if failed:
        sys.exit(f"{failed} of {len(sys.argv) - 1} packages failed")


class Failed(Exception):
    """Failure of a package, or of a command that it needs."""


def archive(package, root):
    """Nothing but the archive: not a shell, not a library, no /etc, no /tmp."""
    within, how = entered(package, root)
    started = time.monotonic()
    with tarfile.open(package) as files:
        files.extractall(root, filter="tar")
    prefix = next(path for path in root.iterdir() if path.name != EMULATORS)
    report(package, f"an empty root, {how}", started, [*within, f"/{prefix.name}/bin/greeksd"], [])
    shutil.rmtree(prefix)


def deb(package, root):
    """Debian's smallest system: installed, started, removed, purged; nothing is left."""
    if not BASE.exists():
        # named so when it is whole
        unfinished = BASE.with_name(f"{BASE.name}-unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        run([], "debootstrap", "--variant=minbase", SUITE, unfinished)
        unfinished.rename(BASE)
    subprocess.run(["cp", "-a", f"{BASE}/.", root], check=True)
    emulated, how = entered(package, root)
    before = listed(root)
    started = time.monotonic()
    shutil.copy(package, root / "tmp" / "greeksd.deb")
    within = ["chroot", root]
    run(within, "dpkg", *([] if is_native(package) else ["--force-architecture"]), "-i", "/tmp/greeksd.deb")
    (root / "tmp" / "greeksd.deb").unlink()
    # the command of the unit, without the user and the folder of systemd
    (root / "var/lib/greeksd").mkdir(mode=0o700)
    serve = ["--config", "/etc/greeksd/greeksd.toml", "--state-dir", "/var/lib/greeksd"]
    report(package, f"Debian ({SUITE}, minbase), dpkg, {how}", started, [*emulated, "/usr/bin/greeksd"], serve)
    present = [root / "usr/share/man/man1/greeksd.1.gz", root / "usr/lib/systemd/system/greeksd.service"]
    assert all(path.exists() for path in present), present
    run(within, "dpkg", "-r", "greeksd")
    assert (root / "etc/greeksd/greeksd.toml").exists(), "a configuration is its user's until purge"
    run(within, "dpkg", "-P", "greeksd")
    left = listed(root) - before
    # dpkg's own book-keeping
    left = {path for path in left if not path.startswith(("var/lib/dpkg/", "var/log/"))}
    assert not left, f"left behind: {sorted(left)}"


def image(package, root):
    """The image's layers, its user, its command, on another port."""
    within, how = entered(package, root)
    started = time.monotonic()
    with tarfile.open(package) as files:

        def blob(descriptor):
            return files.extractfile("blobs/" + descriptor["digest"].replace(":", "/"))

        index = json.load(files.extractfile("index.json"))
        manifest = json.load(blob(index["manifests"][0]))
        config = json.load(blob(manifest["config"]))["config"]
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=blob(layer)) as content:
                content.extractall(root, filter="tar")
    arguments = config["Cmd"]
    listen = arguments.index("--listen") + 1
    arguments[listen : listen + 1] = ["127.0.0.1:PORT"]
    command = [within[0], f"--userspec={config['User']}", *within[1:], *config["Entrypoint"]]
    report(package, f"its root and user, {how}", started, command, arguments[1:])


def is_native(package):
    return any(f"-{name}." in package.name or f"_{name}." in package.name for name in HERE)


def entered(package, root):
    """The command that starts a program within a root, and its name: chroot, for another processor with an emulator."""
    within = ["chroot", root]
    if is_native(package):
        return within, "chroot"
    emulator = shutil.which(EMULATOR)
    if not emulator:
        raise Failed("missing, the emulator: Debian's qemu-user")
    folder = root / EMULATORS
    folder.mkdir()
    # "name => /path (address)", and the loader as "/path (address)"
    libraries = re.findall(r"(/\S+) \(0x", run([], "ldd", emulator))
    for file in (emulator, *libraries):
        shutil.copy(file, folder)
    loader = next(pathlib.Path(file).name for file in libraries if "/ld-" in file)
    command = [f"/{EMULATORS}/{loader}", "--library-path", f"/{EMULATORS}", f"/{EMULATORS}/{EMULATOR}"]
    return [*within, *command], "qemu-user in chroot"


def listed(root):
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def run(within, *command):
    done = subprocess.run([*within, *command], capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def report(package, where, installed, command, arguments):
    """Starts a greeksd, waits for a number, ends it by SIGTERM; one line of the table."""
    about = dict(line.split(": ", 1) for line in run(command, "--version", "--verbose").splitlines()[1:])
    port = free_port()
    arguments = [argument.replace("PORT", str(port)) for argument in arguments]
    if not any(str(port) in argument for argument in arguments):
        arguments += ["--listen", f"127.0.0.1:{port}"]
    environment = {name: os.environ[name] for name in ("PATH", "GREEKSD_LEVEL") if name in os.environ}
    with tempfile.TemporaryFile() as log:
        started = time.monotonic()
        daemon = subprocess.Popen([*command, "serve", *arguments], stdout=log, stderr=log, env=environment)
        try:
            row = first_row(port, daemon)
            now = time.monotonic()
        finally:
            daemon.send_signal(signal.SIGTERM)
            code = daemon.wait(30)
        log.seek(0)
        text = log.read().decode()
    if row is None or code != 0:
        raise Failed(f"no number, exit code {code}\n{text}")
    assert 0.4 < row["delta"] < 0.7, row
    size = package.stat().st_size / 1e6
    print(
        f"| {package.name} | {size:.1f} MB | {about['processor level']} | {where} "
        f"| {now - installed:.1f} s | {now - started:.1f} s |",
        flush=True,
    )


def first_row(port, daemon):
    """The first row that has a delta; None where the program ends, or none comes in time."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and daemon.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        try:
            connection.request("GET", QUERY)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status == 200:
                rows = json.loads(body)
                if rows and rows[0].get("delta") is not None:
                    return rows[0]
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        time.sleep(0.02)
    return None


if __name__ == "__main__":
    main()
