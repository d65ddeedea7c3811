#!/usr/bin/env python3
"""Reads programs of macOS, or the archives that hold them, without running anything: header, load commands, signature.

    python3 tests/macos/run.py dist/greeksd-*-macos-*.tar.gz
    python3 tests/macos/run.py target/packages/aarch64-apple-darwin-base/aarch64-apple-darwin/release/greeksd

Python 3.11 with its standard library. A program must be for macOS 12.0 and its processor, load libraries of macOS alone,
import no name that none of their libraries has, and, on Apple's processors, have a signature in which every page
of the program has its hash. One line for each; exit code 1 where one is wrong.
"""

import hashlib
import pathlib
import struct
import sys
import tarfile

PROCESSORS = {0x0100000C: "arm64", 0x01000007: "x86_64"}
MAGIC, EXECUTABLE, TWO_LEVELS, POSITION_INDEPENDENT = 0xFEEDFACF, 2, 0x80, 0x200000
LC_SYMTAB, LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB, LC_CODE_SIGNATURE, LC_BUILD_VERSION, LC_MAIN = 0x2, 0xC, 0x80000018, 0x1D, 0x32, 0x80000028
MACOS, OLDEST = 1, (12, 0)
SUPERBLOB, DIRECTORY, ADHOC = 0xFADE0CC0, 0xFADE0C02, 0x2
PLACES = ("/usr/lib/", "/System/Library/Frameworks/")


class Wrong(Exception):
    """Why macOS cannot run the program."""


def need(holds, what):
    if not holds:
        raise Wrong(what)


def judged(data):
    """Description of a program, in a line."""
    magic, cpu, _, kind, count, _, flags, _ = struct.unpack_from("<8I", data)
    need(magic == MAGIC and cpu in PROCESSORS, "not a 64-bit program of macOS")
    need(kind == EXECUTABLE and flags & TWO_LEVELS and flags & POSITION_INDEPENDENT, f"kind {kind}, flags {flags:#x}")
    at, loaded, oldest, signature, undefined, has_main = 32, [], None, None, [], False
    for _ in range(count):
        command, size = struct.unpack_from("<2I", data, at)
        body = at + 8
        if command in (LC_LOAD_DYLIB, LC_LOAD_WEAK_DYLIB):
            start = at + struct.unpack_from("<I", data, body)[0]
            loaded.append(data[start : at + size].split(b"\0", 1)[0].decode())
        elif command == LC_BUILD_VERSION:
            platform, lowest = struct.unpack_from("<2I", data, body)
            need(platform == MACOS, f"for platform {platform}")
            oldest = (lowest >> 16, lowest >> 8 & 0xFF)
        elif command == LC_CODE_SIGNATURE:
            signature = struct.unpack_from("<2I", data, body)
        elif command == LC_SYMTAB:
            undefined = unresolved(data, *struct.unpack_from("<4I", data, body))
        has_main |= command == LC_MAIN
        at += size
    need(has_main, "no entry")
    need(oldest == OLDEST, f"for macOS {oldest}, not {OLDEST}")
    need(loaded and all(name.startswith(PLACES) for name in loaded), f"loads {loaded}")
    for name, library in undefined:
        # the ordinals of an ordinary library count from one
        need(1 <= library <= len(loaded), f"{name} is looked up in no library")
    processor = PROCESSORS[cpu]
    signed = "not signed"
    if signature:
        signed = f"{signed_pages(data, *signature)} pages signed"
    need(signature or processor != "arm64", "not signed, which Apple's processors refuse")
    names = ", ".join(name.rsplit("/", 1)[1] for name in loaded)
    return f"{processor}, macOS {oldest[0]}.{oldest[1]}, {len(data) / 1e6:.1f} MB, {signed}; {len(undefined)} names of {names}"


def unresolved(data, symbols, count, strings, _):
    """The names that are looked up when the program starts, each with the number of its library."""
    found = []
    for number in range(count):
        name, kind, _, description, _ = struct.unpack_from("<IBBHQ", data, symbols + 16 * number)
        # outside, and of no section
        if kind & 0xE0 == 0 and kind & 1 and kind & 0xE == 0:
            start = strings + name
            found.append((data[start : data.index(b"\0", start)].decode(), description >> 8))
    return found


def signed_pages(data, at, size):
    """The number of pages of a signature without a name, each of which has its hash."""
    magic, _, blobs = struct.unpack_from(">3I", data, at)
    need(magic == SUPERBLOB and at + size == len(data), "a signature that is none, or not at the end")
    kinds = [struct.unpack_from(">2I", data, at + 12 + 8 * number) for number in range(blobs)]
    start = next((at + offset for kind, offset in kinds if kind == 0), None)
    need(start is not None, "a signature without a directory of code")
    magic, _, version, flags, hashes, _, special, slots, limit, length, algorithm, _, bits = struct.unpack_from(">9I4B", data, start)
    need(magic == DIRECTORY and version >= 0x20000, f"directory {magic:#x} of version {version:#x}")
    need(flags & ADHOC and (length, algorithm) == (32, 2), f"flags {flags:#x}, hash {algorithm} of {length} bytes")
    need(limit == at, f"{limit} of {at} bytes are signed")
    page = 1 << bits
    need(slots == -(-limit // page), f"{slots} pages of {limit} bytes")
    for number in range(slots):
        body = data[number * page : min((number + 1) * page, limit)]
        place = start + hashes + 32 * number
        need(data[place : place + 32] == hashlib.sha256(body).digest(), f"page {number} has another hash")
    return slots


def programs(path):
    """The programs of a file: itself, or those of an archive."""
    if not tarfile.is_tarfile(path):
        return [(path.name, path.read_bytes())]
    with tarfile.open(path) as archive:
        members = [member for member in archive if member.isfile() and "/greeksd" in member.name and member.mode & 0o100]
        return [(member.name, archive.extractfile(member).read()) for member in members if not member.name.endswith(".sh")]


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    passed = failed = 0
    for path in map(pathlib.Path, sys.argv[1:]):
        for name, data in programs(path):
            try:
                print(f"{name}: {judged(data)}")
                passed += 1
            except (Wrong, struct.error, ValueError) as why:
                print(f"{name}: WRONG: {why}")
                failed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
