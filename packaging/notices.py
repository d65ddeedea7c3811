"""Who wrote what is in a package: a bill of materials (CycloneDX) and the texts of all licences.

    python3 packaging/notices.py x86_64-unknown-linux-musl FOLDER      writes both for a target

What counts is what Cargo links for the target: no crate of tests, build scripts or macros.
"""

import functools
import html
import json
import pathlib
import re
import sys
import tomllib
import uuid
from datetime import datetime, timezone

import build

LICENCES, MATERIALS = "THIRD-PARTY-LICENSES.txt", "greeksd.cdx.json"
# crates of the packages' programs
PROGRAMS = ("greeksd", "greeksd-launcher")
# and of the Python wheel, the only package for targets of GNU's C library
MODULES = ("greeksd-python", "greeksd-level")
TEXT = re.compile(r"(?i)^(licen[cs]e|copying|copyright|notice|unlicense)")


def write(triple: str, folder: pathlib.Path) -> None:
    """Writes the licences and the bill of materials of a target's programs into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LICENCES).write_text(licences(triple))
    (folder / MATERIALS).write_text(json.dumps(materials(triple), indent=1) + "\n")


def roots(triple: str) -> tuple[str, ...]:
    """The crates of a target's packages."""
    return MODULES if triple.endswith("-linux-gnu") else PROGRAMS


@functools.cache
def metadata() -> dict:
    """What Cargo says about every crate of the lock file."""
    return json.loads(build.asked("cargo", "metadata", "--format-version", "1", "--locked", "--all-features"))


@functools.cache
def linked(triple: str) -> dict[str, dict]:
    """The crates that are linked into a target's programs, by `name version`, in order."""
    chosen = [argument for name in roots(triple) for argument in ("-p", name)]
    shape = ("-e", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}", "--locked")
    lines = build.asked("cargo", "tree", *chosen, *shape, "--target", triple).splitlines()
    names = {" ".join(line.split()[:2]).replace(" v", " ") for line in lines if line}
    found = {f"{crate['name']} {crate['version']}": crate for crate in metadata()["packages"]}
    return {name: found[name] for name in sorted(names)}


def others(crates: dict[str, dict]) -> dict[str, dict]:
    """Those that are not of this repository."""
    return {name: crate for name, crate in crates.items() if crate["source"]}


def licences(triple: str) -> str:
    """All texts, each once, under the names of the crates that have it."""
    texts: dict[str, list[str]] = {}
    bare = []
    for name, crate in others(linked(triple)).items():
        folder = pathlib.Path(crate["manifest_path"]).parent
        files = sorted(
            path for path in [*folder.iterdir(), *folder.glob("*/*")] if TEXT.match(path.name) and is_text(path)
        )
        if not files:
            bare.append(f"{name} ({crate['license']}; {', '.join(crate['authors']) or crate['repository']})")
        for file in files:
            texts.setdefault(plain(file), []).append(f"{name} ({crate['license']})")
    for name, file in tool_chain(triple):
        texts.setdefault(plain(file), []).append(name)
    head = (
        "greeksd is licensed under MIT or Apache-2.0, at your choice (LICENSE-MIT, LICENSE-APACHE).\n"
        "It contains the software of others, under the licences below. Each text stands under what has it.\n"
    )
    if bare:
        head += (
            "\nThese crates have no licence text in their sources. Each has one of the licences below:\n  " + "\n  ".join(bare) + "\n"
        )
    rule = "\n" + "=" * 100 + "\n"
    parts = sorted((sorted(set(names)), text) for text, names in texts.items())
    return head + "".join(f"{rule}{chr(10).join(names)}{rule}\n{text}\n" for names, text in parts)


def plain(file: pathlib.Path) -> str:
    """The text of a file; of a page without its marks."""
    text = file.read_text(errors="replace")
    if file.suffix == ".html":
        text = re.sub(r"(?s)<(style|script).*?</\1>", "", text)
        text = html.unescape(re.sub(r"(?s)<[^>]*>", "", text))
        text = re.sub(r"\n\s*\n\s*", "\n\n", text)
    return text.strip()


def is_text(path: pathlib.Path) -> bool:
    return path.is_file() and path.suffix.lower() not in (".rs", ".json", ".toml", ".py")


def tool_chain(triple: str) -> list[tuple[str, pathlib.Path]]:
    """The texts of what the tools add: Rust's standard library, and with zig its C library and unwinder."""
    sysroot = pathlib.Path(build.asked("rustc", "--print", "sysroot"))
    shared = sysroot / "share" / "doc"
    # as rustup and as Debian's packages have it
    library = [shared / "rust" / "COPYRIGHT-library.html", shared / "libstd-rust-web-dev" / "copyright"]
    found = [("Rust's standard library", file) for file in library if file.is_file()]
    if not found:
        sys.exit(f"missing, what Rust's standard library is licensed under: {' or '.join(map(str, library))}")
    if triple.endswith("windows-gnu"):
        # what mingw links in, as Debian has it
        parts = {"mingw-w64's runtime": "mingw-w64-x86-64-dev", "libgcc, with its runtime library exception": "gcc-mingw-w64-x86-64-win32-runtime"}
        texts = {name: pathlib.Path("/usr/share/doc", package, "copyright") for name, package in parts.items()}
        if lacking := [str(text) for text in texts.values() if not text.is_file()]:
            sys.exit(f"missing, what mingw is licensed under: {', '.join(lacking)}")
        found += texts.items()
    if build.TARGETS[triple].zig and "musl" in triple:
        zig = pathlib.Path(
            build.asked(str(build.tools() / "python"), "-c", "import ziglang; print(ziglang.__path__[0])")
        )
        found.append(("musl", zig / "lib" / "libc" / "musl" / "COPYRIGHT"))
        found.append(("LLVM's libunwind", zig / "lib" / "libunwind" / "LICENSE.TXT"))
    return found


def materials(triple: str) -> dict:
    """The bill of materials, CycloneDX 1.5: every crate with its licence, its checksum and what it depends on."""
    crates = linked(triple)
    lock = tomllib.loads((build.ROOT / "Cargo.lock").read_text())["package"]
    sums = {f"{crate['name']} {crate['version']}": crate.get("checksum") for crate in lock}
    ids = {crate["id"]: name for name, crate in crates.items()}
    graph = {
        node["id"]: sorted(ids[each] for each in node["dependencies"] if each in ids)
        for node in metadata()["resolve"]["nodes"]
    }
    made = datetime.fromtimestamp(int(build.commit_time()), timezone.utc)
    root = f"greeksd@{build.version()}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, build.commit() + triple)}",
        "version": 1,
        "metadata": {
            "timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "bom-ref": root, "name": "greeksd", "version": build.version()},
            "properties": [{"name": "target", "value": triple}, {"name": "commit", "value": build.commit()}],
        },
        "components": [component(crate, sums[name]) for name, crate in crates.items()],
        "dependencies": [
            {"ref": root, "dependsOn": [purl(name) for name in crates if name.split()[0] in roots(triple)]},
            *(
                {"ref": purl(name), "dependsOn": [purl(each) for each in graph[crate["id"]]]}
                for name, crate in crates.items()
            ),
        ],
    }


def component(crate: dict, checksum: str | None) -> dict:
    name = f"{crate['name']} {crate['version']}"
    entry = {
        "type": "library",
        "bom-ref": purl(name),
        "name": crate["name"],
        "version": crate["version"],
        "purl": purl(name),
    }
    if crate["license"]:
        # a slash is what `OR` was before
        entry["licenses"] = [{"expression": crate["license"].replace("/", " OR ")}]
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def purl(name: str) -> str:
    return "pkg:cargo/" + name.replace(" ", "@").replace("+", "%2B")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in build.TARGETS:
        sys.exit(__doc__)
    write(sys.argv[1], pathlib.Path(sys.argv[2]))
