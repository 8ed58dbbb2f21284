#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""usage: clean_root.py SUITE [DEBS]

Makes a small Debian of that suite as an installer would leave it, with what it takes to build
programs: once, below the cache directory. Needs root, since its files have owners. With DEBS, the
Debian packages are built into that directory in a copy of it."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

PROJECT = Path(__file__).resolve().parents[2]
PACKAGES = "man-db,cmake,g++,make,pkg-config,ca-certificates"


def skip(reason: str) -> NoReturn:
    print(f"skipped: {reason}")
    sys.exit(77)  # the status that ctest knows


def run(*command: str | Path, text: str | None = None, **variables: str) -> str:
    """Its output; fails with all of that if the command fails."""
    # How make was called for this test is not for the make that is tested.
    environment = {name: value for name, value in os.environ.items()
                   if "MAKE" not in name and name not in ("DESTDIR", "PREFIX")}
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env=environment | variables, check=False, cwd=PROJECT)
    if done.returncode != 0:
        raise AssertionError(f"{command} gave {done.returncode}:\n{done.stdout}")
    return done.stdout


def write_program(directory: Path) -> Path:
    """The least that needs headers, library and the kernel's interface of an installed tree."""
    (directory / "main.cpp").write_text("""
#include <cstdio>
#include <metagroup/metagroup.hpp>

int main() {
    std::puts(metagroup::parse_events("cpu-clock")[0].events[0].name.c_str());
}
""")
    # With METAGROUP, this project's tree, the library is part of it.
    (directory / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.25)
project(program LANGUAGES CXX)
if(METAGROUP)
  add_subdirectory(${METAGROUP} metagroup)
  # Printed for the test.
  foreach(setting CMAKE_UNITY_BUILD CMAKE_COMPILE_WARNING_AS_ERROR CMAKE_EXPORT_COMPILE_COMMANDS
          CMAKE_BUILD_TYPE CMAKE_CXX_STANDARD)
    message(STATUS "embedding: ${setting}='${${setting}}'")
  endforeach()
else()
  find_package(metagroup REQUIRED)
endif()
foreach(library metagroup metagroup_static)
  add_executable(by_${library} main.cpp)
  target_link_libraries(by_${library} PRIVATE metagroup::${library})
endforeach()
""")
    return directory


def clean_tree(suite: str) -> Path:
    """The directory of that Debian; to be copied, not changed."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("METAGROUP_CACHE") or caches / "perf-metagroup")
    root = cache / "roots" / f"{suite}-clean"
    if (root / "etc/debian_version").exists():
        return root
    if os.geteuid() != 0:
        skip("a clean Debian is made by root only")
    if not shutil.which("mmdebstrap"):
        skip("mmdebstrap is not installed")
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        skip("this machine does not permit namespaces")
    root.parent.mkdir(parents=True, exist_ok=True)
    with (open(cache / "clean-root.lock", "w", encoding="utf-8") as lock,
          tempfile.TemporaryDirectory(prefix="clean-root.", dir=cache) as temporary):
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / "etc/debian_version").exists():
            make_tree(suite, Path(temporary))
            shutil.rmtree(root, ignore_errors=True)
            (Path(temporary) / "tree").rename(root)
    return root


def make_tree(suite: str, directory: Path) -> None:
    # How this machine reaches the archive is how that one does.
    settings = run("apt-config", "dump")
    settings = "".join(re.findall(r"(?im)^Acquire::.*(?:proxy|verify|cainfo).*\n", settings))
    (directory / "apt.conf").write_text(settings)
    print(f"making a clean {suite} (about 2 minutes, 150 MB) ...", file=sys.stderr)
    run("mmdebstrap", "--variant=apt", "--mode=root", "--skip=cleanup/apt/lists",
        f"--aptopt={directory}/apt.conf", '--aptopt=APT::Install-Recommends "false"',
        f"--include={PACKAGES}", suite, directory / "tree", "-",
        text=run(PROJECT / "tests/vm/apt-sources", f"{suite},{suite}-security"))


class CleanRoot:
    """A copy of the clean Debian of a suite, entered as root."""

    def __init__(self, suite: str, *directories: str) -> None:
        """The directories are seen in it at the same path."""
        tree = clean_tree(suite)
        self._temporary = tempfile.TemporaryDirectory(prefix="metagroup-root.", dir="/var/tmp")
        self.path = Path(self._temporary.name) / "root"
        subprocess.run(["cp", "-a", tree, self.path], check=True)
        shutil.copy("/etc/resolv.conf", self.path / "etc/resolv.conf")
        self._directories = ("/dev", "/sys", *directories)

    def close(self) -> None:
        self._temporary.cleanup()

    def run(self, *command: str) -> str:
        return run(PROJECT / "tests/vm/build-root", "--in", self.path, *self._directories, "--",
                   "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *command)

    def shell(self, script: str) -> str:
        return self.run("sh", "-ec", script)

    def install(self, *packages: str) -> None:
        """Files or names; what they depend on comes from the archive."""
        self.run("apt-get", "-q", "-y", "install", *packages)

    def files(self) -> set[str]:
        """All there is but what programs keep for themselves, and what is not of this root."""
        skipped = " -o ".join(f"-path {place}" for place in
                              ("/proc", "/dev", "/tmp", "/var/cache", "/var/lib/dpkg",
                               "/var/lib/apt", "/var/log", *self._directories))
        script = f"find / \\( {skipped} \\) -prune -o -print"
        return set(self.run("sh", "-c", script).splitlines())


def build_packages(suite: str, debs: Path) -> None:
    debs.mkdir(parents=True, exist_ok=True)
    root = CleanRoot(suite, str(PROJECT), str(debs))
    try:
        root.run("apt-get", "-q", "-y", "build-dep", str(PROJECT / "packaging"))
        print(root.run(str(PROJECT / "packaging/build-deb"), str(debs / "deb")))
    finally:
        root.close()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        build_packages(sys.argv[1], Path(sys.argv[2]).absolute())
    else:
        print(clean_tree(sys.argv[1]))
