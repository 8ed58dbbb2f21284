#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""usage: staged_test.py BUILD

What `make install` and `make uninstall` do, by a build of their own in BUILD."""

import re
import shlex
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from clean_root import PROJECT, run

VERSION = (PROJECT / "VERSION").read_text().strip()
PREFIX = "/opt/metagroup"


def make(*words: str | Path) -> None:
    run("make", f"BUILD={BUILD}", *words)


def runpath(program: Path) -> list[str]:
    return re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "-d", program))


def files(tree: Path) -> set[str]:
    return {str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir()}


def setUpModule() -> None:
    run("cmake", "-S", PROJECT, "-B", BUILD, "-G", "Ninja", "-DMETAGROUP_BUILD_TESTS=OFF",
        "-DMETAGROUP_BUILD_BENCH=OFF")


class StagedTest(unittest.TestCase):
    """Below a prefix of its own, and then moved elsewhere."""

    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.scratch = Path(temporary.name)
        make("install", f"PREFIX={PREFIX}", f"DESTDIR={cls.scratch}/stage")
        cls.tree = cls.scratch / "moved"
        shutil.move(cls.scratch / ("stage" + PREFIX), cls.tree)

    def test_all_that_belongs_to_it_is_there(self) -> None:
        pages = {f"share/man/man1/{page.name}" for page in PROJECT.glob("tools/metagroup/man/*.1")}
        self.assertIn("share/man/man1/metagroup.1", pages)
        headers = {f"include/{header.relative_to(PROJECT / 'libmetagroup/include')}"
                   for header in PROJECT.glob("libmetagroup/include/**/*.hpp")}
        schemas = {f"share/metagroup/schemas/{schema.name}"
                   for schema in PROJECT.glob("tools/metagroup/schemas/*")}
        config = {f"lib/cmake/metagroup/metagroup{part}.cmake" for part in
                  ("Config", "ConfigVersion", "Targets", "Targets-relwithdebinfo")}
        self.assertEqual(files(self.tree), pages | headers | schemas | config | {
            "bin/metagroup",
            "include/linux/perf_metagroup.h",
            "lib/libmetagroup.a", "lib/libmetagroup.so", "lib/libmetagroup.so.1",
            f"lib/libmetagroup.so.1.{VERSION}",
            "lib/pkgconfig/metagroup.pc",
            "lib/sysusers.d/perf-metagroup.conf",
            "lib/udev/rules.d/60-perf-metagroup.rules",
            "share/bash-completion/completions/metagroup",
            "share/fish/vendor_completions.d/metagroup.fish",
            "share/man/man4/perf_metagroup.4",
            "share/metagroup/install_manifest.txt",
            "share/zsh/site-functions/_metagroup"})

    def test_the_tool_finds_its_library_where_it_was_moved(self) -> None:
        tool = self.tree / "bin/metagroup"
        self.assertEqual(run(tool, "--version").strip(), VERSION)
        self.assertEqual(runpath(tool), ["$ORIGIN/../lib"])
        self.assertIn(f"{self.tree}/lib/libmetagroup.so.1", run("ldd", tool).replace("bin/../", ""))

    def test_no_file_names_where_it_was_built_or_installed(self) -> None:
        for file in files(self.tree):
            # Notes of the compiler for debuggers are not checked.
            if file == "share/metagroup/install_manifest.txt":
                continue  # it is to name them
            if file.startswith(("lib/cmake", "lib/pkgconfig", "share")):
                text = (self.tree / file).read_text()
                for place in (str(PROJECT), str(BUILD), PREFIX):
                    self.assertNotIn(place, text, file)

    def test_cmake_finds_both_libraries(self) -> None:
        build = self.scratch / "program"
        run("cmake", "-S", PROJECT / "tests/install/program", "-B", build,
            f"-DCMAKE_PREFIX_PATH={self.tree}")
        run("cmake", "--build", build)
        for library in ("metagroup", "metagroup_static"):
            self.assertEqual(run(build / f"by_{library}"), "cpu-clock\n")

    def test_pkg_config_finds_the_library(self) -> None:
        flags = run("pkg-config", "--cflags", "--libs", "metagroup",
                    PKG_CONFIG_PATH=str(self.tree / "lib/pkgconfig"))
        program = self.scratch / "by_pkg_config"
        run("g++", "-std=c++20", PROJECT / "tests/install/program/main.cpp", "-o", program,
            *shlex.split(flags))
        self.assertEqual(run(program, LD_LIBRARY_PATH=str(self.tree / "lib")), "cpu-clock\n")

    def test_the_examples_are_built_without_a_warning(self) -> None:
        build = self.scratch / "examples"
        run("cmake", "-S", PROJECT / "examples", "-B", build, f"-DCMAKE_PREFIX_PATH={self.tree}",
            "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON", "-DCMAKE_C_FLAGS=-Wall -Wextra",
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra")
        run("cmake", "--build", build)
        self.assertIn("CPU   0", run(build / "ipc", "{cpu-clock,cpu-clock}", "1"))
        self.assertNotIn("libmetagroup", run("ldd", build / "ioctls"))


class SystemTest(unittest.TestCase):
    """Below /usr, as packages are made."""

    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.stage = Path(temporary.name)
        make("install", "PREFIX=/usr", f"DESTDIR={cls.stage}")

    def test_the_tool_names_no_path_to_its_library(self) -> None:
        self.assertEqual(runpath(self.stage / "usr/bin/metagroup"), [])

    def test_pkg_config_needs_no_flag_but_the_library(self) -> None:
        config = next(self.stage.glob("usr/lib/**/metagroup.pc"))
        self.assertRegex(config.read_text(), r"(?m)^prefix=/usr$")

    def test_uninstalling_needs_no_build_and_leaves_no_file(self) -> None:
        with tempfile.TemporaryDirectory() as stage:
            make("install", "PREFIX=/usr", f"DESTDIR={stage}")
            self.assertNotEqual(files(Path(stage)), set())
            run("make", "BUILD=/no/such/directory", "uninstall", "PREFIX=/usr", f"DESTDIR={stage}")
            self.assertEqual(files(Path(stage)), set())
            left = [path.name for path in Path(stage).rglob("*metagroup*")]
            self.assertEqual(left, [], "directories")

    def test_uninstalling_what_is_not_there_says_so(self) -> None:
        with tempfile.TemporaryDirectory() as stage:
            with self.assertRaisesRegex(AssertionError, "nothing is installed below /usr"):
                make("uninstall", "PREFIX=/usr", f"DESTDIR={stage}")


if __name__ == "__main__":
    BUILD = Path(sys.argv[1]).absolute()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
