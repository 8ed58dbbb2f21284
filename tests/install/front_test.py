#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""make on other machines: without apt, without a library."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


class OtherMachine(unittest.TestCase):
    """The programs that there are stand in a directory of their own."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.programs = self.root / "bin"
        self.programs.mkdir()
        for place in ("/usr/bin", "/bin"):
            for program in Path(place).iterdir():
                link = self.programs / program.name
                if not program.name.startswith("apt") and not link.is_symlink():
                    link.symlink_to(program)

    def replace(self, name: str, script: str) -> None:
        (self.programs / name).unlink(missing_ok=True)
        (self.programs / name).write_text(script)
        (self.programs / name).chmod(0o755)

    def make(self, *words: str, status: int) -> str:
        environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
        done = subprocess.run(["make", f"BUILD={self.root}/build", *words], cwd=PROJECT,
                              env=environment | {"PATH": str(self.programs)}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode != 0, status != 0, done.stdout)
        return done.stdout

    def test_installing_without_apt_names_every_library_that_is_missing(self) -> None:
        # A compiler and a cmake that know neither fmt nor CLI11.
        self.replace("c++", "#!/bin/sh\ncase $(cat) in *fmt/*|*CLI/*) exit 1 ;; esac\n")
        self.replace("cmake", "#!/bin/sh\necho 'CMake Error: could not find fmt'\nexit 1\n")
        said = self.make("install", f"DESTDIR={self.root}/stage", status=2)
        self.assertIn("CMake Error: could not find fmt", said)
        self.assertRegex(said, r"the library fmt +header <fmt/format.h>")
        self.assertRegex(said, r"the library CLI11 +header <CLI/CLI.hpp>")
        self.assertNotIn("nlohmann", said)
        self.assertNotIn("apt", said)

    def test_installing_without_programs_names_them(self) -> None:
        for program in ("cmake", "ninja"):
            (self.programs / program).unlink()
        self.assertRegex(self.make("install", f"DESTDIR={self.root}/stage", status=2),
                         r"the program cmake\n +the program ninja\n")

    def test_what_needs_debian_says_so_elsewhere(self) -> None:
        self.assertIn("make demo needs Debian 12 or 13", self.make("demo", status=2))


class Packages(unittest.TestCase):
    @staticmethod
    def of(goal: str) -> set[str]:
        return set(subprocess.run([PROJECT / "scripts/install-deps", "--print", goal], check=True,
                                  capture_output=True, text=True).stdout.split())

    def test_the_demo_wants_no_packages_of_tests_and_benchmark(self) -> None:
        demo, check = self.of("demo"), self.of("check")
        self.assertLess(demo, check)
        for package in ("libcatch2-dev", "libbenchmark-dev", "libvalijson-dev",
                        "qemu-system-x86", "tmux"):
            self.assertNotIn(package, demo)

    def test_packages_are_built_with_all_that_debian_control_wants(self) -> None:
        control = (PROJECT / "packaging/debian/control").read_text()
        wanted = control.partition("Build-Depends:")[2].partition("\nStandards-Version")[0]
        names = {line.split()[0].strip(",") for line in wanted.strip().splitlines()}
        self.assertLessEqual(names - {"debhelper-compat"}, self.of("deb"))


if __name__ == "__main__":
    unittest.main()
