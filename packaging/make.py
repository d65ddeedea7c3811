"""Makes the packages of one or more kinds below `dist`, with checksums and a manifest.

    python3 packaging/make.py                      all kinds
    python3 packaging/make.py linux wheel          some
    python3 packaging/make.py --dist FOLDER linux

Each kind is a module beside this one with `make(dist) -> list of files`: linux, windows, macos, wheel. SHA256SUMS and
manifest.json list every package that is in the folder then.
"""

import argparse
import hashlib
import importlib
import json
import pathlib
import sys

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
    for kind in arguments.kinds or KINDS:
        for made in importlib.import_module(kind).make(dist):
            print(f"{made.stat().st_size / 1e6:8.1f} MB  {made.name}")
    listed(dist)


def listed(dist: pathlib.Path) -> None:
    """Writes the checksums and the manifest of a folder of packages."""
    files = sorted(file for file in dist.iterdir() if file.is_file() and file.name not in (SUMS, MANIFEST))
    sums = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    manifest = {
        "name": "greeksd",
        "version": build.version(),
        "commit": build.commit(),
        "commit_time": int(build.commit_time()),
        "profile": build.PROFILE,
        "files": [{"name": file.name, "bytes": file.stat().st_size, "sha256": sums[file.name]} for file in files],
    }
    (dist / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    sums[MANIFEST] = hashlib.sha256((dist / MANIFEST).read_bytes()).hexdigest()
    (dist / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))


if __name__ == "__main__":
    main()
