#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The library as a part of another project, by add_subdirectory()."""

import re
import tempfile
import unittest
from pathlib import Path

from clean_root import PROJECT, run


class EmbeddedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.build = Path(temporary.name) / "build"
        cls.configured = run("cmake", "-S", PROJECT / "tests/install/program", "-B", cls.build,
                             "-G", "Ninja", f"-DMETAGROUP={PROJECT}")

    def test_settings_of_the_embedding_project_stay_as_they_are(self) -> None:
        settings = dict(re.findall(r"embedding: (\w+)='(.*)'", self.configured))
        self.assertEqual(len(settings), 5)
        self.assertEqual({name: value for name, value in settings.items() if value}, {})
        cache = (self.build / "CMakeCache.txt").read_text()
        self.assertNotIn("CMAKE_UNITY_BUILD", cache)
        self.assertRegex(cache, r"(?m)^CMAKE_BUILD_TYPE:\w+=$")

    def test_warnings_are_not_errors(self) -> None:
        commands = run("ninja", "-C", self.build, "-t", "commands")
        self.assertIn("-Wall", commands)
        self.assertNotIn("-Werror", commands)

    def test_only_the_library_is_built_and_nothing_is_installed(self) -> None:
        parts = {path.name for path in (self.build / "metagroup").iterdir() if path.is_dir()}
        self.assertEqual(parts & {"tools", "bench", "tests"}, set())
        run("cmake", "--install", self.build, "--prefix", self.build / "stage")
        self.assertFalse((self.build / "stage").exists())

    def test_programs_are_built_and_run(self) -> None:
        run("cmake", "--build", self.build)
        for library in ("metagroup", "metagroup_static"):
            self.assertEqual(run(self.build / f"by_{library}"), "cpu-clock\n")


if __name__ == "__main__":
    unittest.main()
