#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""usage: wheel_test.py SUITE RECORDER

The Python package as a wheel, built and installed in a clean Debian without a package index. The
program RECORDER writes the recording that is read."""

import sys
import tempfile
import unittest
from pathlib import Path

from clean_root import PROJECT, CleanRoot, run

VERSION = (PROJECT / "VERSION").read_text().strip()
# From Debian instead of an index.
BACKEND = ("python3-pip", "python3-venv", "python3-scikit-build-core", "python3-pybind11",
           "python3-dev", "python3-pandas", "pybind11-dev", "libfmt-dev", "libpfm4-dev",
           "ninja-build")


class WheelTest(unittest.TestCase):
    """One wheel, in one environment."""

    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.directory = Path(temporary.name)
        cls.root = CleanRoot(SUITE, str(PROJECT), temporary.name)
        cls.addClassCleanup(cls.root.close)
        cls.root.install(*BACKEND)
        cls.root.shell(f"""
            pip wheel --no-index --no-build-isolation --no-deps -w /wheels {PROJECT}
            python3 -m venv --system-site-packages /venv
            /venv/bin/pip install --no-index --no-deps /wheels/*.whl""")

    def python(self, script: str) -> str:
        return self.root.run("/venv/bin/python", "-c", f"import metagroup; {script}").strip()

    def test_it_has_the_version_of_the_project(self) -> None:
        self.assertIn(f"metagroup-{VERSION}-cp", self.root.run("ls", "/wheels"))
        self.assertEqual(self.python("print(metagroup.__version__)"), VERSION)

    def test_it_has_types_and_nothing_beside_the_package(self) -> None:
        files = self.root.run("sh", "-c", "cd /venv/lib/python3*/site-packages && find metagroup*"
                              " -type f ! -name '*.pyc' ! -path '*.dist-info/*'").split()
        self.assertIn("metagroup/py.typed", files)
        self.assertIn("metagroup/__init__.pyi", files)
        extension = [file for file in files if file.endswith(".so")]
        self.assertEqual(len(extension), 1)
        package = PROJECT / "bindings/python/metagroup"
        self.assertEqual(sorted(set(files) - set(extension)),
                         sorted(f"metagroup/{file.name}" for file in package.iterdir()
                                if file.is_file()))

    def test_it_needs_no_installed_library_of_the_project(self) -> None:
        self.assertNotIn("libmetagroup", self.root.shell(
            "ldd /venv/lib/python3*/site-packages/metagroup/*.so"))

    def test_it_counts(self) -> None:
        self.assertEqual(self.python("print(metagroup.MetaGroup('cpu-clock', backend='per-fd',"
                                     " cpus='0').read().counts().shape)"), "(1, 1)")

    def test_it_reads_a_recording(self) -> None:
        recording = self.directory / "perf.data"
        run(RECORDER, recording, "2", "10")
        # CPU 1 counts two cycles a nanosecond, for ten milliseconds.
        self.assertEqual(self.python(f"print(metagroup.read('{recording}')['cycles'].max())"),
                         str(20_000_000))


if __name__ == "__main__":
    SUITE, RECORDER = sys.argv[1], sys.argv[2]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
