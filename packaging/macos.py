"""Packages of macOS 12 and later: an archive for each processor, and a formula of Homebrew for both.

They are compiled and linked on any system; SDKs are not needed (macos/sdk has the few names that a linker asks for).
None of them was ever run: what a reader of objects tells is checked, and a program that fails it makes no package.
"""

import hashlib
import pathlib
import re
import shutil
import sys

import archive
import build
import contents
from archive import Member

FILES = build.ROOT / "packaging" / "macos"
# a target's name in packages, and as object readers name its processor
NAMES = {"aarch64-apple-darwin": ("arm64", "ARM64"), "x86_64-apple-darwin": ("x86_64", "X86_64")}
OLDEST = "12.0"
# whose program prints the manual, where this is not a Mac
MANUAL = "x86_64-unknown-linux-musl"
# what every macOS 12 has
LIBRARIES = {
    "/usr/lib/libSystem.B.dylib",
    "/usr/lib/libobjc.A.dylib",
    "/usr/lib/libcharset.1.dylib",
    "/usr/lib/libiconv.2.dylib",
    "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation",
    "/System/Library/Frameworks/Foundation.framework/Versions/C/Foundation",
    "/System/Library/Frameworks/Security.framework/Versions/A/Security",
}


def builds() -> set[tuple[str, str | None]]:
    """The builds of `make`: target and level."""
    own = {one for triple in build.wanted(NAMES) for one in build.builds(triple)}
    return own if sys.platform == "darwin" else own | {(MANUAL, build.levels(MANUAL)[0])}


def make(dist: pathlib.Path) -> list[pathlib.Path]:
    """Makes the archives of the targets in GREEKSD_PACKAGE_TARGETS (both, unless it is set); of both, the formula."""
    made = [tarball(triple, dist) for triple in build.wanted(NAMES)]
    return [*made, formula(made, dist)] if len(made) == len(NAMES) else made


def runner(triple: str) -> list[str]:
    """What prints manuals and completions: the program itself on a Mac, elsewhere that of Linux."""
    if sys.platform == "darwin":
        return [str(build.program(triple, build.levels(triple)[0]))]
    return [str(build.program(MANUAL, build.levels(MANUAL)[0]))]


def tarball(triple: str, dist: pathlib.Path) -> pathlib.Path:
    """The archive of a target, to be unpacked anywhere."""
    name = f"greeksd-{build.version()}-macos-{NAMES[triple][0]}"
    folder = build.PACKAGES / f"{triple}-prefix"
    contents.programs(triple, folder)
    for program in [*(folder / "bin").iterdir(), *(folder / "lib" / "greeksd").glob("*")]:
        if wrong := faults(triple, program):
            sys.exit(f"{program}: {'; '.join(wrong)}")
    contents.share(runner(triple), triple, folder / "share")
    own = [Member(f"{name}/{file.name}", file.read_text().replace("VERSION", build.version()).encode(), file.stat().st_mode & 0o755)
           for file in sorted(FILES.iterdir()) if file.suffix in (".txt", ".sh", ".plist")]
    out = dist / f"{name}.tar.gz"
    out.write_bytes(archive.gzipped(archive.tar([*archive.tree(folder, name), *own])))
    return out


def faults(triple: str, program: pathlib.Path) -> list[str]:
    """What would keep a program from starting on the oldest macOS, as far as an object reader sees it."""
    headers = load_commands(program)
    wrong = []
    if NAMES[triple][1] not in headers.split("Load command", 1)[0].upper().replace("-", "_"):
        wrong.append(f"not for {NAMES[triple][1]}")
    if re.findall(r"platform (?:macos|1)\b", headers) == []:
        wrong.append("not for macOS")
    if (oldest := re.findall(r"minos (\S+)", headers)) != [OLDEST]:
        wrong.append(f"for macOS {oldest} instead of {OLDEST}")
    loaded = set(re.findall(r"name (\S+\.dylib|/System\S+) \(offset", headers))
    if not loaded <= LIBRARIES or "/usr/lib/libSystem.B.dylib" not in loaded:
        wrong.append(f"loads {sorted(loaded - LIBRARIES)} beside {sorted(loaded & LIBRARIES)}")
    # processors of Apple start nothing that is not signed; a signature without a name will do
    if triple.startswith("aarch64") and "LC_CODE_SIGNATURE" not in headers:
        wrong.append("not signed")
    return wrong


def load_commands(program: pathlib.Path) -> str:
    """Header and load commands of a program, as LLVM's or Apple's reader prints them."""
    if sys.platform == "darwin":
        command = ["otool", "-hvl"]
    elif shutil.which("llvm-objdump"):
        command = ["llvm-objdump", "--macho", "--private-headers"]
    else:
        sys.exit("missing, llvm-objdump: Debian's llvm")
    return build.asked(*command, str(program))


def formula(tarballs: list[pathlib.Path], dist: pathlib.Path) -> pathlib.Path:
    """The formula of Homebrew, which names both archives."""
    text = (FILES / "greeksd.rb").read_text().replace("VERSION", build.version())
    text = text.replace("RELEASE_URL", build.release_url())
    for file in tarballs:
        processor = re.search(r"-macos-(\w+)\.", file.name).group(1)
        text = text.replace(f"SHA256_{processor.upper()}", hashlib.sha256(file.read_bytes()).hexdigest())
    out = dist / "greeksd.rb"
    out.write_text(text)
    return out
