"""Makes the Python wheel: the module `greeksd` and the command, for Linux x86-64.

    python3 packaging/wheel.py                 dist/greeksd-0.1.0-cp310-abi3-manylinux_2_17_x86_64.whl
    python3 packaging/wheel.py --dist FOLDER

The wheel has a shared library for each level of processor, which the import chooses from (python/greeksd/_native.py). The
library is module and program in one: the command is a script of Python that calls it. Needs Cargo, and zig from PyPI, which
packaging/build.py fetches: so the library runs with the C library of 2014 and later, and the wheel's tag says what the
library itself asks for.
"""

import argparse
import base64
import hashlib
import pathlib
import re
import sys
import time
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import build
import notices

TARGET = "x86_64-unknown-linux-gnu"
# A library of 10 MB, packed, for each level. AVX-512 is left out: it takes up to a sixth of the time off passes over many
# names and nothing off reading (PERF.md), and would make every install half as large again, beyond 25 MB. Its processors
# take the build for AVX2, with the same bits.
LEVELS = ("x86-64-v2", "x86-64-v3")
OLDEST_C_LIBRARY = (2, 17)
PYTHON = "cp310-abi3"
SUMMARY = "Option Greeks of US listed chains: calibrated from quotes, on this machine"
MOST_BYTES = 25_000_000


def builds() -> set[tuple[str, str | None]]:
    """The builds of `make`: target and level, and what finds the level."""
    return {(TARGET, level) for level in (*levels(), "launcher")}


def levels() -> list[str]:
    """The levels that the wheel has builds for: those of LEVELS that are to be built at all."""
    return [level for level in LEVELS if level in build.levels(TARGET)]


def make(dist: pathlib.Path) -> list[pathlib.Path]:
    """Makes the wheel in a folder; its path."""
    files = package()
    tag = f"{PYTHON}-{platform(files)}"
    info = f"greeksd-{build.version()}.dist-info"
    notices.write(TARGET, build.PACKAGES / "wheel-notices")
    files |= {
        f"{info}/METADATA": metadata().encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: greeksd\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
        f"{info}/entry_points.txt": b"[console_scripts]\ngreeksd = greeksd.__main__:main\n",
        **{f"{info}/licenses/{name}": (build.ROOT / name).read_bytes() for name in ("LICENSE-MIT", "LICENSE-APACHE")},
        f"{info}/licenses/{notices.LICENCES}": (build.PACKAGES / "wheel-notices" / notices.LICENCES).read_bytes(),
        f"{info}/sboms/{notices.MATERIALS}": (build.PACKAGES / "wheel-notices" / notices.MATERIALS).read_bytes(),
    }
    record = "".join(f"{name},{digest(data)},{len(data)}\n" for name, data in sorted(files.items()))
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = dist / f"greeksd-{build.version()}-{tag}.whl"
    dist.mkdir(parents=True, exist_ok=True)
    packed(path, files)
    if path.stat().st_size > MOST_BYTES:
        sys.exit(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, and {MOST_BYTES / 1e6:.0f} at most")
    return [path]


def package() -> dict[str, bytes]:
    """The files of the package by their names in the wheel: modules, and builds of the library."""
    source = build.ROOT / "python"
    modules = [path for path in (source / "greeksd").iterdir() if path.suffix in (".py", ".pyi", ".typed")]
    files = {str(path.relative_to(source)): path.read_bytes() for path in modules}
    for level in levels():
        library = build.compiled(TARGET, level, "greeksd-python") / "lib_greeksd.so"
        files[f"greeksd/_builds/greeksd-{level}.so"] = library.read_bytes()
    files["greeksd/_builds/level.so"] = (build.compiled(TARGET, "launcher", "greeksd-level") / "liblevel.so").read_bytes()
    return files


def platform(files: dict[str, bytes]) -> str:
    """The platform's tag: the oldest C library that has all symbols of the libraries."""
    asked = [OLDEST_C_LIBRARY]
    for name, data in files.items():
        if name.endswith(".so"):
            asked += [(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)\0", data + b"\0")]
    major, minor = max(asked)
    return f"manylinux_{major}_{minor}_x86_64"


def metadata() -> str:
    """What the package says of itself: the page of the documents, whose links are relative to it."""
    page = (build.ROOT / "docs" / "python.md").read_text()
    page = re.sub(r"<!-- .*? -->\n", "", page)
    page = re.sub(r"^```python .*$", "```python", page, flags=re.M)
    page = re.sub(r"\[([^]]+)\]\([\w./]+\.md[^)]*\)", r"\1", page)
    return (
        f"Metadata-Version: 2.4\nName: greeksd\nVersion: {build.version()}\nSummary: {SUMMARY}\nRequires-Python: >=3.10\n"
        "License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-MIT\nLicense-File: LICENSE-APACHE\n"
        f"License-File: {notices.LICENCES}\nClassifier: Operating System :: POSIX :: Linux\n"
        "Classifier: Programming Language :: Python :: 3\nClassifier: Programming Language :: Rust\n"
        "Classifier: Topic :: Office/Business :: Financial\nClassifier: Typing :: Typed\n"
        f"Description-Content-Type: text/markdown\n\n{page}"
    )


def digest(data: bytes) -> str:
    """A checksum as RECORD has it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def packed(path: pathlib.Path, files: dict[str, bytes]) -> None:
    """Writes a wheel whose bytes depend on its files and the commit's time alone."""
    moment = time.gmtime(max(int(build.commit_time()), 315_532_800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            wheel.writestr(entry, files[name], compresslevel=9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dist", type=pathlib.Path, default=build.ROOT / "dist", help="where it goes: dist")
    for made in make(parser.parse_args().dist.resolve()):
        print(f"{made.stat().st_size / 1e6:.1f} MB  {made}")


if __name__ == "__main__":
    main()
