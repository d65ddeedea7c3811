"""What every package has beside the programs: manual pages, completions, licences, bill of materials."""

import pathlib
import re
import shutil
import subprocess

import build
import notices

# where each shell looks for completions, below `share`
COMPLETIONS = {
    "bash": "bash-completion/completions/greeksd",
    "zsh": "zsh/site-functions/_greeksd",
    "fish": "fish/vendor_completions.d/greeksd.fish",
}


def share(runner: list[str], triple: str, folder: pathlib.Path) -> None:
    """Fills `folder`, which is a prefix's `share`, for a target; `runner` starts a greeksd of any target here."""
    commands = re.findall(r"^  (\w[\w-]*)  ", printed(runner, "--help").split("Options:")[0], re.MULTILINE)
    pages = {
        "greeksd": ["man"],
        **{f"greeksd-{command}": ["man", command] for command in commands if command != "help"},
    }
    man = folder / "man" / "man1"
    man.mkdir(parents=True)
    for name, arguments in pages.items():
        (man / f"{name}.1").write_text(printed(runner, *arguments))
    for shell, place in COMPLETIONS.items():
        (folder / place).parent.mkdir(parents=True)
        (folder / place).write_text(printed(runner, "completions", shell))
    documents = folder / "doc" / "greeksd"
    notices.write(triple, documents)
    for name in ("LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"):
        shutil.copyfile(build.ROOT / name, documents / name)


def printed(runner: list[str], *arguments: str) -> str:
    """What a greeksd prints."""
    return subprocess.run([*runner, *arguments], check=True, capture_output=True, text=True).stdout


def prefix(triple: str, runner: list[str], folder: pathlib.Path) -> None:
    """Fills `folder` as a prefix (`bin`, `lib`, `share`) with a target's programs.

    Launcher and builds, or the one build of a target without levels. The folder is emptied first.
    """
    programs(triple, folder)
    share(runner, triple, folder / "share")


def programs(triple: str, folder: pathlib.Path) -> None:
    """Fills `folder`, which is emptied first, with a target's programs alone."""
    if folder.exists():
        shutil.rmtree(folder)
    suffix = build.TARGETS[triple].suffix
    (folder / "bin").mkdir(parents=True)
    levels = build.levels(triple)
    if levels == (None,):
        shutil.copy(build.program(triple, None), folder / "bin" / f"greeksd{suffix}")
    else:
        shutil.copy(build.launcher(triple), folder / "bin" / f"greeksd{suffix}")
        (folder / "lib" / "greeksd").mkdir(parents=True)
        for level in levels:
            shutil.copy(build.program(triple, level), folder / "lib" / "greeksd" / f"greeksd-{level}{suffix}")
