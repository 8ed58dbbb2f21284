#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""usage: packages_test.py SUITE DEBS

The Debian packages in the directory DEBS, each installed in a clean Debian and used."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from clean_root import PROJECT, CleanRoot, write_program

VERSION = (PROJECT / "VERSION").read_text().strip()
MULTIARCH = subprocess.run(["dpkg-architecture", "-qDEB_HOST_MULTIARCH"], capture_output=True,
                           text=True, check=True).stdout.strip()
DOC = r"/usr/share/doc/(?P<package>[a-z0-9-]+)/(changelog(\.Debian)?(\.md)?\.gz|copyright)"
OWNED = {
    "libmetagroup1": (rf"/usr/lib/{MULTIARCH}/libmetagroup\.so\.1(\.{VERSION})?",),
    "libmetagroup-c0": (rf"/usr/lib/{MULTIARCH}/libmetagroup-c\.so\.0(\.{VERSION})?",),
    "python3-metagroup": (r"/usr/lib/python3/dist-packages/metagroup/.*",),
    "libmetagroup-dev": (
        r"/usr/include/metagroup(/.*\.hpp|\.h)", r"/usr/include/linux/perf_metagroup\.h",
        rf"/usr/lib/{MULTIARCH}/libmetagroup(\.a|(-c)?\.so)",
        rf"/usr/lib/{MULTIARCH}/pkgconfig/metagroup(-c)?\.pc",
        rf"/usr/lib/{MULTIARCH}/cmake/metagroup/metagroup[A-Za-z-]*\.cmake",
        r"/usr/share/doc/libmetagroup-dev/examples/(kernel/)?[\w.]+(\.gz)?"),
    "metagroup": (
        r"/usr/bin/metagroup",
        r"/(usr/)?lib/systemd/system/metagroup-(set|export)@\.(service|socket)",
        r"/usr/share/man/man1/metagroup(-[a-z]+)?\.1\.gz",
        r"/usr/share/bash-completion/completions/metagroup",
        r"/usr/share/fish/vendor_completions\.d/metagroup\.fish",
        r"/usr/share/zsh/vendor-completions/_metagroup",
        r"/usr/share/metagroup/(grafana|metrics)/[a-z]+\.json",
        r"/usr/share/metagroup/schemas/metagroup-[a-z]+\.schema\.json"),
    "perf-metagroup-dkms": (
        rf"/usr/src/perf-metagroup-{re.escape(VERSION)}/.*",
        r"/usr/share/man/man4/perf_metagroup\.4\.gz",
        r"/usr/lib/sysusers\.d/perf-metagroup\.conf",
        r"/usr/lib/udev/rules\.d/60-perf-metagroup\.rules"),
}


def setUpModule() -> None:  # pylint: disable=invalid-name
    global ROOT, KERNEL, PROGRAM  # pylint: disable=global-statement
    KERNEL = Path(subprocess.run([PROJECT / "tests/vm/fetch", "6.1"], stdout=subprocess.PIPE,
                                 text=True, check=True).stdout.strip())
    program = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(program.cleanup)
    PROGRAM = write_program(Path(program.name))
    ROOT = CleanRoot(SUITE, str(DEBS), str(KERNEL), str(PROGRAM), str(PROJECT / "examples"))
    unittest.addModuleCleanup(ROOT.close)


def deb(package: str) -> str:
    return str(next(DEBS.glob(f"{package}_*.deb")))


def debs(*packages: str) -> list[str]:
    return [deb(package) for package in packages]


class PackagesTest(unittest.TestCase):
    """The tests share one root; each leaves it as it was, and the last line of each sees to it."""

    def setUp(self) -> None:
        self.before = ROOT.files()

    def installed(self, *packages: str) -> None:
        ROOT.install(*debs(*packages))
        self.addCleanup(self.removed, *packages)

    def removed(self, *packages: str) -> None:
        ROOT.run("apt-get", "-q", "-y", "purge", *packages)
        ROOT.run("apt-get", "-q", "-y", "autoremove", "--purge")
        left = {file for file in ROOT.files() - self.before if "metagroup" in file}
        self.assertEqual(left, set(), "left behind")

    def check_owned(self, package: str) -> None:
        pattern = re.compile("|".join((DOC, *OWNED[package])))
        files = [file for file in ROOT.run("dpkg", "-L", package).splitlines()
                 if file != "/." and not (ROOT.path / file[1:]).is_dir()]
        self.assertTrue(files)
        self.assertEqual([file for file in files if not pattern.fullmatch(file)], [])
        installed = ROOT.run("dpkg-query", "-W", "-f", "${Version}", package)
        self.assertEqual(installed, VERSION)

    def test_every_package_is_tested(self) -> None:
        built = {file.name.partition("_")[0] for file in DEBS.glob("*.deb")}
        self.assertEqual({name for name in built if not name.endswith("-dbgsym")}, set(OWNED))

    def test_the_tool_counts(self) -> None:
        self.installed("libmetagroup1", "metagroup")
        self.assertEqual(ROOT.run("metagroup", "--version").strip(), VERSION)
        counted = ROOT.run("metagroup", "stat", "-e", "cpu-clock", "--backend", "per-fd", "--",
                           "true")
        self.assertIn("CPUs utilized", counted)
        self.check_owned("metagroup")
        self.check_owned("libmetagroup1")

    def test_the_tool_has_pages_schemas_and_completions(self) -> None:
        self.installed("libmetagroup1", "metagroup")
        for schema in (PROJECT / "tools/metagroup/schemas").iterdir():
            self.assertEqual(ROOT.run("cat", f"/usr/share/metagroup/schemas/{schema.name}"),
                             schema.read_text())
        for page in (PROJECT / "tools/metagroup/man").glob("*.1"):
            self.assertEqual(ROOT.run("man", "-w", page.stem).strip(),
                             f"/usr/share/man/man1/{page.name}.gz")
        self.assertIn("IPC", ROOT.run("metagroup", "list", "-M"))
        self.assertIn("--per-core", ROOT.run("metagroup", "complete", "--", "stat", "--per-"))

    def test_the_tool_needs_no_path_to_its_library(self) -> None:
        self.installed("libmetagroup1", "metagroup")
        self.assertNotRegex(ROOT.run("readelf", "-d", "/usr/bin/metagroup"), "RPATH|RUNPATH")
        depends = ROOT.run("dpkg-query", "-W", "-f", "${Depends}", "metagroup")
        self.assertRegex(depends, rf"libmetagroup1 \(>= {re.escape(VERSION)}\)")

    def test_programs_are_built_with_the_library(self) -> None:
        self.installed("libmetagroup1", "libmetagroup-c0", "libmetagroup-dev")
        self.check_owned("libmetagroup-dev")
        self.check_owned("libmetagroup-c0")
        ROOT.shell(f"""
            cp -r {PROGRAM} /tmp/program && cd /tmp/program
            cmake -S . -B build && cmake --build build
            g++ -std=c++20 main.cpp $(pkg-config --cflags --libs metagroup) -o by_pkg_config
            gcc {PROJECT}/examples/counts.c $(pkg-config --cflags --libs metagroup-c) -o counts""")
        for program in ("build/by_metagroup", "build/by_metagroup_static", "by_pkg_config"):
            self.assertEqual(ROOT.run(f"/tmp/program/{program}"), "cpu-clock\n")
        self.assertIn("CPU   0", ROOT.run("/tmp/program/counts", "cpu-clock", "1"))
        self.assertEqual(ROOT.run("pkg-config", "--cflags", "--libs", "metagroup").strip(),
                         "-lmetagroup")

    def test_the_examples_are_built_as_they_are_installed(self) -> None:
        self.installed("libmetagroup1", "libmetagroup-c0", "libmetagroup-dev")
        ROOT.shell("""
            cp -r /usr/share/doc/libmetagroup-dev/examples /tmp/examples
            gunzip -q /tmp/examples/*.gz || true
            cmake -S /tmp/examples -B /tmp/examples/build && cmake --build /tmp/examples/build""")
        self.assertIn("CPU   0", ROOT.run("/tmp/examples/build/ipc", "{cpu-clock,cpu-clock}", "1"))

    def test_python_counts(self) -> None:
        self.installed("libmetagroup1", "python3-metagroup")
        self.check_owned("python3-metagroup")
        counted = ROOT.run("python3", "-c", "import metagroup; print(metagroup.MetaGroup("
                           "'cpu-clock', backend='per-fd', cpus='0').read().counts().shape)")
        self.assertEqual(counted, "(1, 1)\n")

    def test_dkms_builds_the_module_as_it_is_installed(self) -> None:
        release = (KERNEL / "release").read_text().strip()
        variables = (KERNEL / "headers/.kernelvariables").read_text()
        compiler = re.search(r"^CC *=.*(gcc-\d+)$", variables, re.MULTILINE)
        if compiler and not (ROOT.path / "usr/bin" / compiler[1]).exists():
            self.skipTest(f"kernel {release} needs {compiler[1]}")
        ROOT.shell(f"mkdir -p /lib/modules/{release}"
                   f" && ln -s {KERNEL}/headers /lib/modules/{release}/build")
        self.addCleanup(ROOT.shell, f"rm -r /lib/modules/{release}")
        ROOT.install("libelf-dev")  # as the package of the headers would
        self.installed("perf-metagroup-dkms")
        self.check_owned("perf-metagroup-dkms")
        self.assertRegex(ROOT.run("getent", "group", "perf_metagroup"), r"^perf_metagroup:x:\d+:")
        self.assertRegex(ROOT.run("dkms", "status"),
                         rf"perf-metagroup/{VERSION}, {re.escape(release)}, .*: installed")
        self.assertEqual(ROOT.run("modinfo", "-k", release, "-F", "version",
                                  "perf_metagroup").strip(), VERSION)


if __name__ == "__main__":
    SUITE, DEBS = sys.argv[1], Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
