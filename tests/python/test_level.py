"""The imported build is the best one for the processor."""
import os, pathlib, shutil, tempfile, unittest, unittest.mock

import greeksd
from greeksd import _native

LIBRARY = os.environ.get("GREEKSD_LEVEL_LIBRARY")


@unittest.skipUnless(LIBRARY and os.uname().machine == "x86_64", "levels are those of x86-64; an installed package brings its own library")
class Level(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.home = pathlib.Path(self.folder.name)
        shutil.copy(LIBRARY, self.home / f"level{_native._SUFFIX}")

    def tearDown(self):
        self.folder.cleanup()

    def builds(self, *levels):
        for level in levels:
            (self.home / f"greeksd-{level}{_native._SUFFIX}").write_bytes(b"")

    def chosen(self, wanted=""):
        return _native._choose(self.home, wanted).stem

    def test_the_highest_that_is_there(self):
        self.builds("x86-64-v2")
        self.assertEqual(self.chosen(), "greeksd-x86-64-v2")
        here = _native._level(self.home / f"level{_native._SUFFIX}", "")
        self.builds("x86-64-v2", "x86-64-v3", "x86-64-v4")
        self.assertEqual(self.chosen(), f"greeksd-{here}")
        self.assertEqual(self.chosen("x86-64-v2"), "greeksd-x86-64-v2")

    def test_the_system_agrees(self):
        flags = pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n", 1)[0].split()
        here = _native._level(self.home / f"level{_native._SUFFIX}", "")
        has = lambda *names: all(name in flags for name in names)
        v3 = has("avx2", "fma", "bmi1", "bmi2", "movbe", "f16c", "abm")
        v4 = v3 and has("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
        self.assertEqual(here, "x86-64-v4" if v4 else "x86-64-v3" if v3 else "x86-64-v2")

    def test_what_cannot_be_imported_is_said(self):
        self.builds("x86-64-v2")
        with self.assertRaisesRegex(ImportError, "GREEKSD_LEVEL=avx2: levels are x86-64-v2, x86-64-v3 and x86-64-v4"):
            self.chosen("avx2")
        with self.assertRaisesRegex(ImportError, "GREEKSD_LEVEL=x86-64-v3: this package has builds for x86-64-v2"):
            self.chosen("x86-64-v3")
        with unittest.mock.patch.object(_native, "_level", lambda *_: "x86-64-v2"):
            (self.home / f"greeksd-x86-64-v2{_native._SUFFIX}").unlink()
            self.builds("x86-64-v4")
            with self.assertRaisesRegex(ImportError, "builds for x86-64-v4, and this processor is x86-64-v2"):
                self.chosen()

    def test_free_threaded_python_is_refused(self):
        with unittest.mock.patch("sysconfig.get_config_var", lambda name: 1):
            with self.assertRaisesRegex(ImportError, "free-threaded Python cannot load"):
                _native._load()


if __name__ == "__main__":
    unittest.main()
