"""Builds programs for other systems and processors: which compiler, linker and flags each target needs.

    python3 packaging/build.py x86_64-unknown-linux-musl x86-64-v3     the program of one level; prints its path
    python3 packaging/build.py x86_64-unknown-linux-musl launcher      what picks a level at start
    python3 packaging/build.py aarch64-unknown-linux-musl              a target without levels

`packaging/make.py` makes whole packages. For trials: GREEKSD_PACKAGE_PROFILE=fast builds in another profile than
`release`, GREEKSD_PACKAGE_LEVELS=x86-64-v3 fewer levels (separated by commas), and GREEKSD_COMMIT=trial keeps what
is built from one commit to the next.

The Rust compiler is the one of rust-toolchain.toml where it has the target's standard library (`rustup target add
TARGET`) or the library's source: of `rustup component add rust-src`, or of Debian's rust-src in that very version
(trixie-backports has 1.95.0; `dpkg-deb -x` will do, only /usr/src/rustc-1.95.0/library is read). Else it is Debian's
(rustc-web, cargo-web, rust-web-src).
"""

import functools
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "target" / "packages"
PROFILE = os.environ.get("GREEKSD_PACKAGE_PROFILE", "release")
X86_64_LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


@dataclass(frozen=True)
class Target:
    """A system and processor: the levels that packages have builds for, and what their build needs.

    `zig` is the target in zig's words where zig compiles C and links; else the host's tools do. `rustflags` come after
    those that all targets have, and `environment` goes to Cargo and to the build scripts.
    """

    levels: tuple[str | None, ...]
    zig: str | None = None
    suffix: str = ""
    rustflags: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


# the oldest macOS that is meant, and the names of what its frameworks and libraries have: all that a linker asks an SDK for
APPLE = (("MACOSX_DEPLOYMENT_TARGET", "12.0"), ("SDKROOT", str(ROOT / "packaging" / "macos" / "sdk")))

TARGETS = {
    # musl's start files and unwinder are zig's
    "x86_64-unknown-linux-musl": Target(
        X86_64_LEVELS, zig="x86_64-unknown-linux-musl", rustflags=("-C", "link-self-contained=no")
    ),
    "aarch64-unknown-linux-musl": Target(
        (None,), zig="aarch64-unknown-linux-musl", rustflags=("-C", "link-self-contained=no")
    ),
    # for extension modules, which share the interpreter's C library: that of 2014 or a later one
    "x86_64-unknown-linux-gnu": Target(X86_64_LEVELS, zig="x86_64-unknown-linux-gnu.2.17"),
    "aarch64-unknown-linux-gnu": Target((None,), zig="aarch64-unknown-linux-gnu.2.17"),
    # Debian's gcc-mingw-w64-x86-64: its import libraries are those of Windows itself
    "x86_64-pc-windows-gnu": Target(
        X86_64_LEVELS,
        suffix=".exe",
        environment=(
            ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", "x86_64-w64-mingw32-gcc"),
            ("CC_x86_64_pc_windows_gnu", "x86_64-w64-mingw32-gcc"),
            ("AR_x86_64_pc_windows_gnu", "x86_64-w64-mingw32-ar"),
        ),
    ),
    # macOS saves the registers of AVX-512 from a thread's first use on, so that no launcher may rely on them
    "x86_64-apple-darwin": Target(X86_64_LEVELS[:2], zig="x86_64-apple-darwin", environment=APPLE),
    "aarch64-apple-darwin": Target((None,), zig="aarch64-apple-darwin", environment=APPLE),
}


def levels(triple: str) -> tuple[str | None, ...]:
    """The levels that a target is built for: all of its own, or those of GREEKSD_PACKAGE_LEVELS."""
    wanted = os.environ.get("GREEKSD_PACKAGE_LEVELS")
    every = TARGETS[triple].levels
    if not wanted or every == (None,):
        return every
    chosen = tuple(level for level in every if level in wanted.split(","))
    if not chosen:
        sys.exit(f"GREEKSD_PACKAGE_LEVELS={wanted}: {triple} has {', '.join(map(str, every))}")
    return chosen


def wanted(triples: Iterable[str]) -> list[str]:
    """Those of some targets that GREEKSD_PACKAGE_TARGETS names; all, unless it is set."""
    names = os.environ.get("GREEKSD_PACKAGE_TARGETS")
    return [triple for triple in triples if not names or triple in names.split(",")]


def program(triple: str, level: str | None) -> pathlib.Path:
    """Builds `greeksd` for a target and a level (None where the target has none), stripped; its path."""
    return compiled(triple, level, "greeksd") / ("greeksd" + TARGETS[triple].suffix)


def launcher(triple: str) -> pathlib.Path:
    """Builds the program that picks a level at start, for every processor of the target; its path."""
    return compiled(triple, "launcher", "greeksd-launcher") / ("greeksd-launcher" + TARGETS[triple].suffix)


@dataclass
class Progress:
    """How many builds there are in all (None where nobody counted them), how many were begun, and since when."""

    planned: int | None = None
    begun: int = 0
    since: float = field(default_factory=time.monotonic)

    def step(self, what: str) -> None:
        """Announces a build, on standard error as Cargo does."""
        self.begun += 1
        count = f"{self.begun} of {self.planned}, " if self.planned else ""
        print(f"[{count}after {minutes(time.monotonic() - self.since)}] {what}", file=sys.stderr, flush=True)


PROGRESS = Progress()


def minutes(seconds: float) -> str:
    """A time as `12:03`: minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def builds(triple: str) -> set[tuple[str, str | None]]:
    """The builds of a target's programs, each by target and level: the launcher too where there are levels."""
    every = levels(triple)
    return {(triple, level) for level in (every if every == (None,) else (*every, "launcher"))}


@functools.cache
def compiled(triple: str, level: str | None, package: str) -> pathlib.Path:
    """Builds a crate of the workspace for a target and a level; the folder of what was built.

    The level `launcher` is the target's common base, in a folder of its own. Fails with what was not built.
    """
    name = f"{package} for {triple}" + (f", {level}" if level and level != "launcher" else "")
    PROGRESS.step(name)
    started = time.monotonic()
    if code := cargo(triple, level, "build", "-p", package):
        sys.exit(f"{name}: not built, Cargo ended with exit code {code}")
    print(f"{name}: built in {minutes(time.monotonic() - started)}", file=sys.stderr, flush=True)
    return folder(triple, level) / triple / PROFILE


def folder(triple: str, level: str | None) -> pathlib.Path:
    """Where Cargo works for a target and a level."""
    return PACKAGES / f"{triple}-{level or 'base'}"


def cargo(triple: str, level: str | None, verb: str, *arguments: str) -> int:
    """Runs Cargo's `build` or `test` for a target and a level; its exit code."""
    target = TARGETS[triple]
    cpu = {"launcher": "x86-64" if triple.startswith("x86_64") else None}.get(level, level)
    program, rustc, source = toolchain(triple)
    flags = [*(("-C", f"target-cpu={cpu}") if cpu else ()), *target.rustflags, *remapped(source)]
    environment = {
        **os.environ,
        **dict(target.environment),
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        f"CARGO_PROFILE_{PROFILE.upper()}_STRIP": "symbols",
        "CARGO": program,
        "RUSTC": rustc,
        "SOURCE_DATE_EPOCH": commit_time(),
        "GREEKSD_COMMIT": os.environ.get("GREEKSD_COMMIT") or f"{commit()}, {commit_day()}",
    }
    environment.pop("RUSTFLAGS", None)
    command = [program, verb]
    if target.zig:
        bin = tools()
        environment["PATH"] = f"{bin}{os.pathsep}{environment['PATH']}"
        command = [str(bin / "cargo-zigbuild"), {"build": "zigbuild"}.get(verb, verb)]
    command += ["--locked", "--profile", PROFILE, "--target", target.zig or triple]
    command += ["--target-dir", str(folder(triple, level))]
    if source:
        environment |= {"RUSTC_BOOTSTRAP": "1", "__CARGO_TESTS_ONLY_SRC_ROOT": str(source)}
        command.append("-Zbuild-std=std,panic_unwind")
    return subprocess.run([*command, *arguments], cwd=ROOT, env=environment).returncode


@functools.cache
def toolchain(triple: str) -> tuple[str, str, pathlib.Path | None]:
    """Cargo, the compiler, and the source of the standard library where that is to be built, for a target."""
    for home in ("", "/usr/bin/"):
        try:
            sysroot = asked(f"{home}rustc", "--print", "sysroot")
            version = asked(f"{home}rustc", "--version").split()[1]
        except (FileNotFoundError, subprocess.CalledProcessError):
            continue
        library = pathlib.Path(sysroot) / "lib" / "rustlib"
        if (library / triple / "lib").is_dir():
            return f"{home}cargo", f"{home}rustc", None
        for source in (library / "src" / "rust" / "library", pathlib.Path(f"/usr/src/rustc-{version}/library")):
            if (source / "Cargo.lock").exists():
                return f"{home}cargo", f"{home}rustc", source.resolve()
    sys.exit(
        f"missing, the standard library of {triple}: `rustup target add {triple}`, or its source: "
        "`rustup component add rust-src`, or Debian's rust-src in the compiler's version"
    )


def remapped(library: pathlib.Path | None) -> list[str]:
    """Flags that keep this machine's folders out of the programs: the same bytes wherever they are built."""
    cargo_home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    subprocess.run(["cargo", "fetch", "--locked", "--quiet"], cwd=ROOT, check=True)
    folders = {str(source): "crates" for source in sorted((cargo_home / "registry" / "src").iterdir())}
    if library:
        folders[str(library)] = "rust/library"
    folders[str(ROOT)] = "greeksd"
    return [f"--remap-path-prefix={folder}={name}" for folder, name in folders.items()]


@functools.cache
def tools() -> pathlib.Path:
    """The folder of programs that `packaging/requirements.txt` names; installs them where they are not there."""
    home = ROOT / "target" / "packaging-venv"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", ROOT / "packaging" / "requirements.txt"], check=True)
    return home / "bin"


@functools.cache
def commit() -> str:
    """The commit that is built, with `-modified` where tracked files differ from it; `unknown` outside of git."""
    try:
        name = asked("git", "rev-parse", "HEAD")
        return name + ("-modified" if asked("git", "status", "--porcelain", "-uno") else "")
    except (FileNotFoundError, subprocess.CalledProcessError):
        return "unknown"


@functools.cache
def commit_time() -> str:
    """Seconds since 1970 of the commit that is built; that is also the time of every file in a package."""
    try:
        return asked("git", "log", "-1", "--format=%ct")
    except (FileNotFoundError, subprocess.CalledProcessError):
        return os.environ.get("SOURCE_DATE_EPOCH", "0")


def commit_day() -> str:
    """The date of the commit that is built, in UTC."""
    return datetime.fromtimestamp(int(commit_time()), timezone.utc).date().isoformat()


def version() -> str:
    """The version in Cargo.toml."""
    lines = (ROOT / "Cargo.toml").read_text().splitlines()
    return next(line.split('"')[1] for line in lines if line.startswith("version = "))


def release_url() -> str:
    """Where the files of this release are downloaded from: GREEKSD_RELEASE_URL, which a release sets."""
    return os.environ.get("GREEKSD_RELEASE_URL", f"https://greeksd.invalid/releases/{version()}")


def asked(*command: str) -> str:
    """What a command prints, in the repository."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    if not 2 <= len(sys.argv) <= 3 or sys.argv[1] not in TARGETS:
        sys.exit(f"{__doc__}\ntargets: {', '.join(TARGETS)}")
    triple, level = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None
    if level != "launcher" and level not in TARGETS[triple].levels:
        sys.exit(f"{level}: {triple} has {', '.join(map(str, TARGETS[triple].levels))}")
    print(launcher(triple) if level == "launcher" else program(triple, level))


if __name__ == "__main__":
    main()
