#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The trees of `make install` and `make uninstall`, by a build of their own in METAGROUP_STAGED;
the library as a part of another project; make on machines without apt, without a library."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from clean_root import PROJECT, run, write_program

BUILD = Path(os.environ.get("METAGROUP_STAGED", "build/tests/install/staged")).absolute()
VERSION = (PROJECT / "VERSION").read_text().strip()
PREFIX = "/opt/metagroup"


def make(*words: str | Path) -> None:
    run("make", f"BUILD={BUILD}", *words)


def runpath(program: Path) -> list[str]:
    return re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "-d", program))


def files(tree: Path) -> set[str]:
    return {str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir()}


class WithDirectory(unittest.TestCase):
    """All tests of a class have one directory."""

    directory: Path

    @classmethod
    def setUpClass(cls) -> None:
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.directory = Path(temporary.name)


def configure() -> None:
    # The tests need the files. Optimizing them takes most of the time.
    run("cmake", "-S", PROJECT, "-B", BUILD, "-G", "Ninja", "-DMETAGROUP_BUILD_TESTS=OFF",
        "-DMETAGROUP_BUILD_BENCH=OFF", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0")


class StagedTest(WithDirectory):
    """Below a prefix of its own, and then moved elsewhere."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        configure()
        make("install", f"PREFIX={PREFIX}", f"DESTDIR={cls.directory}/stage")
        cls.tree = cls.directory / "moved"
        shutil.move(cls.directory / ("stage" + PREFIX), cls.tree)

    def test_the_tree_is_complete(self) -> None:
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
            "include/linux/perf_metagroup.h", "include/metagroup.h",
            "include/metagroup/version.hpp",
            "lib/libmetagroup.a", "lib/libmetagroup.so", "lib/libmetagroup.so.1",
            f"lib/libmetagroup.so.1.{VERSION}",
            "lib/libmetagroup-c.so", "lib/libmetagroup-c.so.0",
            f"lib/libmetagroup-c.so.0.{VERSION}",
            "lib/pkgconfig/metagroup.pc", "lib/pkgconfig/metagroup-c.pc",
            "lib/systemd/system/metagroup-export@.service",
            "lib/systemd/system/metagroup-export@.socket",
            "lib/systemd/system/metagroup-set@.service",
            "lib/sysusers.d/perf-metagroup.conf",
            "lib/udev/rules.d/60-perf-metagroup.rules",
            "share/bash-completion/completions/metagroup",
            "share/fish/vendor_completions.d/metagroup.fish",
            "share/metagroup/grafana/metagroup.json",
            "share/metagroup/metrics/common.json",
            "share/man/man4/perf_metagroup.4",
            "share/metagroup/install_manifest.txt",
            "share/zsh/site-functions/_metagroup"})

    def test_the_tool_finds_its_library_after_the_tree_was_moved(self) -> None:
        tool = self.tree / "bin/metagroup"
        self.assertEqual(run(tool, "--version").strip(), VERSION)
        self.assertIn("IPC", run(tool, "list", "-M"))
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
        build = self.directory / "program"
        run("cmake", "-S", write_program(self.directory), "-B", build,
            f"-DCMAKE_PREFIX_PATH={self.tree}")
        run("cmake", "--build", build)
        for library in ("metagroup", "metagroup_static"):
            self.assertEqual(run(build / f"by_{library}"), "cpu-clock\n")

    def test_pkg_config_finds_the_library(self) -> None:
        flags = run("pkg-config", "--cflags", "--libs", "metagroup",
                    PKG_CONFIG_PATH=str(self.tree / "lib/pkgconfig"))
        program = self.directory / "by_pkg_config"
        run("g++", "-std=c++20", write_program(self.directory) / "main.cpp", "-o", program,
            *shlex.split(flags))
        self.assertEqual(run(program, LD_LIBRARY_PATH=str(self.tree / "lib")), "cpu-clock\n")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_accepts_the_units_without_warnings(self) -> None:
        units = self.directory / "units"
        units.mkdir()
        names = []
        for unit in self.tree.glob("lib/systemd/system/*@.service"):
            # The tree was moved.
            (units / unit.name).write_text(unit.read_text().replace(PREFIX, str(self.tree)))
            names.append(unit.name.replace("@", "@web"))
        self.assertEqual(len(names), 2)
        # After the colon, where systemd has its own.
        self.assertEqual(run("systemd-analyze", "verify", *names, SYSTEMD_UNIT_PATH=f"{units}:",
                             MANPATH=str(self.tree / "share/man")), "")

    def test_the_examples_are_built_without_a_warning(self) -> None:
        build = self.directory / "examples"
        run("cmake", "-S", PROJECT / "examples", "-B", build, f"-DCMAKE_PREFIX_PATH={self.tree}",
            "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON", "-DCMAKE_C_FLAGS=-Wall -Wextra",
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra")
        run("cmake", "--build", build)
        self.assertIn("CPU   0", run(build / "ipc", "{cpu-clock,cpu-clock}", "1"))
        self.assertIn("CPU   0", run(build / "counts", "cpu-clock", "1"))
        self.assertNotIn("libmetagroup", run("ldd", build / "ioctls"))


class SystemTest(WithDirectory):
    """Below /usr, as packages are made."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        configure()
        make("install", "PREFIX=/usr", f"DESTDIR={cls.directory}")

    def test_the_tool_names_no_path_to_its_library(self) -> None:
        self.assertEqual(runpath(self.directory / "usr/bin/metagroup"), [])

    def test_pkg_config_prints_only_the_library(self) -> None:
        config = next(self.directory.glob("usr/lib/**/metagroup.pc"))
        self.assertRegex(config.read_text(), r"(?m)^prefix=/usr$")

    def test_uninstalling_needs_no_build_and_leaves_no_file(self) -> None:
        with tempfile.TemporaryDirectory() as stage:
            make("install", "PREFIX=/usr", f"DESTDIR={stage}")
            self.assertNotEqual(files(Path(stage)), set())
            run("make", "BUILD=/no/such/directory", "uninstall", "PREFIX=/usr", f"DESTDIR={stage}")
            self.assertEqual(files(Path(stage)), set())
            left = [path.name for path in Path(stage).rglob("*metagroup*")]
            self.assertEqual(left, [], "directories")

    def test_uninstalling_without_an_installation_reports_that(self) -> None:
        with tempfile.TemporaryDirectory() as stage:
            with self.assertRaisesRegex(AssertionError, "nothing is installed below /usr"):
                make("uninstall", "PREFIX=/usr", f"DESTDIR={stage}")


class EmbeddedTest(WithDirectory):
    """The library as a part of another project, by add_subdirectory()."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.build = cls.directory / "build"
        cls.configured = run("cmake", "-S", write_program(cls.directory), "-B", cls.build,
                             "-G", "Ninja", f"-DMETAGROUP={PROJECT}")

    def test_settings_of_the_embedding_project_are_not_changed(self) -> None:
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

    def test_installing_without_apt_names_each_missing_library(self) -> None:
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

    def test_targets_that_need_debian_report_that_elsewhere(self) -> None:
        self.assertIn("make demo needs Debian 12 or 13", self.make("demo", status=2))


class Packages(unittest.TestCase):
    @staticmethod
    def of(goal: str) -> set[str]:
        return set(subprocess.run([PROJECT / "scripts/install-deps", "--print", goal], check=True,
                                  capture_output=True, text=True).stdout.split())

    def test_the_demo_needs_no_packages_of_tests_and_benchmark(self) -> None:
        demo, check = self.of("demo"), self.of("check")
        self.assertLess(demo, check)
        for package in ("libcatch2-dev", "libbenchmark-dev", "libvalijson-dev",
                        "qemu-system-x86", "tmux"):
            self.assertNotIn(package, demo)

    def test_install_deps_covers_build_depends_of_debian_control(self) -> None:
        control = (PROJECT / "packaging/debian/control").read_text()
        wanted = control.partition("Build-Depends:")[2].partition("\nStandards-Version")[0]
        names = {line.split()[0].strip(",") for line in wanted.strip().splitlines()}
        self.assertLessEqual(names - {"debhelper-compat"}, self.of("deb"))


if __name__ == "__main__":
    unittest.main()
