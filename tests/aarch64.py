"""The kernels and golden files on another instruction set: the engine's tests, built for aarch64, in an emulator.

    python3 tests/aarch64.py                        unit tests of kernel and engine, golden files: half an hour
    python3 tests/aarch64.py --test kernel golden   what is given goes to `cargo test`
    python3 tests/aarch64.py -- --test-threads=1    what follows `--`, to the tests

They are built like the packages of aarch64 (packaging/build.py: static, zig as linker). Needs Debian's qemu-user,
unless the processor is an ARM.
"""

import os
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "packaging"))
import build

TARGET = "aarch64-unknown-linux-musl"
EMULATOR = "qemu-aarch64"


def main():
    if "--help" in sys.argv[1:2] or "-h" in sys.argv[1:2]:
        sys.exit(print(__doc__))
    if os.uname().machine != "aarch64":
        if not shutil.which(EMULATOR):
            sys.exit("missing, the emulator: Debian's qemu-user")
        os.environ["CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER"] = EMULATOR
    arguments = sys.argv[1:]
    if arguments[:1] in ([], ["--"]):
        arguments = ["--lib", "--test", "kernel", *arguments]
    sys.exit(build.cargo(TARGET, None, "test", "-p", "greeksd-kernel", "-p", "greeksd-engine", *arguments))


if __name__ == "__main__":
    main()
