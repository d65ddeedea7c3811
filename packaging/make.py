"""Makes the packages of one or more kinds below `dist`, with checksums and a manifest.

    python3 packaging/make.py                      all kinds
    python3 packaging/make.py linux wheel          some
    python3 packaging/make.py --dist FOLDER linux

Each kind is a module beside this one with `make(dist) -> list of files` and `builds()`, which are counted: linux,
windows, macos, wheel. Where a kind fails the others are made; what failed stands at the end, and the exit code is 1.

SHA256SUMS and manifest.json list what was made into the folder, now and before, of one commit and profile: packages of
another one, which its manifest names, are deleted at the start. Other files there are left alone.
"""

import argparse
import hashlib
import importlib
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import build

KINDS = ("linux", "windows", "macos", "wheel")
SUMS, MANIFEST = "SHA256SUMS", "manifest.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="kind", help=f"of {', '.join(KINDS)}; all unless given")
    parser.add_argument("--dist", type=pathlib.Path, default=build.ROOT / "dist", help="where packages go: dist")
    arguments = parser.parse_args()
    if unknown := [kind for kind in arguments.kinds if kind not in KINDS]:
        parser.error(f"{unknown[0]}: kinds are {', '.join(KINDS)}")
    dist = arguments.dist.resolve()
    dist.mkdir(parents=True, exist_ok=True)
    names = kept(dist)
    kinds = {kind: importlib.import_module(kind) for kind in dict.fromkeys(arguments.kinds or KINDS)}
    build.PROGRESS.planned = len(set().union(*(kind.builds() for kind in kinds.values())))
    started = time.monotonic()
    failed = {}
    for name, kind in kinds.items():
        try:
            for made in kind.make(dist):
                names.add(made.name)
                print(f"{made.stat().st_size / 1e6:8.1f} MB  {made.name}", flush=True)
        except KeyboardInterrupt:
            sys.exit(f"stopped: {name} is not made, nor what follows it; {SUMS} is not written")
        except (Exception, SystemExit) as error:
            failed[name] = reason(error)
            print(f"{name}: {failed[name]}", file=sys.stderr, flush=True)
    listed(dist, names)
    print(f"{dist}: {len(kinds) - len(failed)} of {len(kinds)} kinds in {build.minutes(time.monotonic() - started)}")
    if failed:
        sys.exit("\n".join(f"not made, {name}: {why}" for name, why in failed.items()))


def reason(error: BaseException) -> str:
    """What an error says, with what a failed command printed."""
    if isinstance(error, SystemExit):
        return str(error.code)
    printed = error.stderr if isinstance(error, subprocess.CalledProcessError) else None
    return f"{type(error).__name__}: {error}" + (f"\n{printed.strip()}" if printed else "")


def origin() -> dict[str, str]:
    """What all packages of a folder are made from."""
    return {"version": build.version(), "commit": build.commit(), "profile": build.PROFILE}


def kept(dist: pathlib.Path) -> set[str]:
    """The packages that the folder has already; deletes those of another commit or profile, so that all are of one."""
    try:
        before = json.loads((dist / MANIFEST).read_text())
    except FileNotFoundError:
        return set()
    names = {pathlib.PurePath(file["name"]).name for file in before["files"]}
    if {name: before.get(name) for name in origin()} == origin():
        return {name for name in names if (dist / name).exists()}
    for name in (SUMS, MANIFEST, *names):
        (dist / name).unlink(missing_ok=True)
    print(f"deleted: {len(names)} packages of commit {before['commit']}, profile {before['profile']}", flush=True)
    return set()


def listed(dist: pathlib.Path, names: set[str]) -> None:
    """Writes the checksums and the manifest of a folder of packages."""
    files = [dist / name for name in sorted(names)]
    sums = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    manifest = {
        "name": "greeksd",
        **origin(),
        "commit_time": int(build.commit_time()),
        "files": [{"name": file.name, "bytes": file.stat().st_size, "sha256": sums[file.name]} for file in files],
    }
    (dist / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    sums[MANIFEST] = hashlib.sha256((dist / MANIFEST).read_bytes()).hexdigest()
    (dist / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))


if __name__ == "__main__":
    main()
