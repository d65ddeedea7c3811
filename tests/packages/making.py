"""packaging/make.py with stand-ins of kinds of packages, which succeed or fail; nothing is built.

    python3 tests/packages/making.py
"""

import contextlib
import hashlib
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import build
import make


def kind(name, builds, files=(), failure=None):
    """A kind of packages that writes `files`, or fails after them."""

    def written(dist):
        for file in files:
            (dist / file).write_text(f"{name}, {build.commit()}")
        if failure:
            raise failure
        return [dist / file for file in files]

    return types.SimpleNamespace(builds=lambda: builds, make=written)


class Making(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dist = pathlib.Path(folder.name)
        for name, value in {"commit": lambda: "0123", "commit_time": lambda: "1700000000"}.items():
            self.replaced(build, name, value)

    def replaced(self, module, name, value):
        self.addCleanup(setattr, module, name, getattr(module, name))
        setattr(module, name, value)

    def made(self, kinds):
        """Exit code or message, and the output."""
        self.replaced(make, "KINDS", tuple(kinds))
        self.replaced(make.importlib, "import_module", kinds.get)
        self.replaced(sys, "argv", ["make.py", "--dist", str(self.dist)])
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                make.main()
        except SystemExit as end:
            return end.code, printed.getvalue()
        return 0, printed.getvalue()

    def manifest(self):
        return json.loads((self.dist / make.MANIFEST).read_text())

    def test_a_kind_that_fails_leaves_the_others(self):
        kinds = {
            "linux": kind("linux", {("l", None)}, ["a.tar.gz"]),
            "windows": kind("windows", {("w", None)}, failure=SystemExit("no mingw")),
            "macos": kind("macos", {("m", None)}, failure=ValueError("no reader")),
            "wheel": kind("wheel", {("l", None)}, ["b.whl"]),
        }
        end, printed = self.made(kinds)
        self.assertEqual(end, "not made, windows: no mingw\nnot made, macos: ValueError: no reader")
        self.assertIn("2 of 4 kinds", printed)
        self.assertEqual(build.PROGRESS.planned, 3)
        self.assertEqual([file["name"] for file in self.manifest()["files"]], ["a.tar.gz", "b.whl"])

    def test_sums_are_those_of_the_files(self):
        self.assertEqual(self.made({"linux": kind("linux", set(), ["a", "b"])})[0], 0)
        lines = (self.dist / make.SUMS).read_text().splitlines()
        self.assertEqual([line.split()[1] for line in lines], ["a", "b", make.MANIFEST])
        for line in lines:
            digest, name = line.split()
            self.assertEqual(digest, hashlib.sha256((self.dist / name).read_bytes()).hexdigest())

    def test_packages_of_another_commit_are_deleted(self):
        self.made({"linux": kind("linux", set(), ["old"]), "wheel": kind("wheel", set(), ["both"])})
        (self.dist / "of-the-user").touch()
        same, _ = self.made({"wheel": kind("wheel", set(), ["both"])})
        self.assertEqual(same, 0)
        self.assertTrue((self.dist / "old").exists())
        build.commit = lambda: "4567"
        self.made({"wheel": kind("wheel", set(), ["both"])})
        self.assertFalse((self.dist / "old").exists())
        self.assertTrue((self.dist / "of-the-user").exists())
        self.assertEqual(self.manifest()["commit"], "4567")
        self.assertEqual((self.dist / "both").read_text(), "wheel, 4567")


if __name__ == "__main__":
    unittest.main()
