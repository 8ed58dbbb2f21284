# SPDX-License-Identifier: MIT
"""A clean Debian to install things in."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SKIPPED = 77  # the status that ctest knows


class CleanRoot:
    """A copy of the clean Debian of a suite, entered as root."""

    def __init__(self, suite: str, *directories: str) -> None:
        """The directories are seen in it at the same path."""
        made = subprocess.run([PROJECT / "tests/install/clean-root", suite],
                              stdout=subprocess.PIPE, text=True, check=False)
        if made.returncode == SKIPPED:
            print(made.stdout)
            sys.exit(SKIPPED)
        made.check_returncode()
        self._temporary = tempfile.TemporaryDirectory(prefix="metagroup-root.", dir="/var/tmp")
        self.path = Path(self._temporary.name) / "root"
        subprocess.run(["cp", "-a", made.stdout.strip(), self.path], check=True)
        shutil.copy("/etc/resolv.conf", self.path / "etc/resolv.conf")
        self._directories = ("/dev", "/sys", *directories)

    def close(self) -> None:
        self._temporary.cleanup()

    def run(self, *command: str) -> str:
        """Its output; fails with all of that if the command fails."""
        done = subprocess.run(
            [PROJECT / "tests/vm/build-root", "--in", self.path, *self._directories, "--",
             "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *command],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{command} gave {done.returncode}:\n{done.stdout}")
        return done.stdout

    def shell(self, script: str) -> str:
        return self.run("sh", "-ec", script)

    def install(self, *packages: str) -> None:
        """Files or names; what they depend on comes from the archive."""
        self.run("apt-get", "-q", "-y", "install", *packages)

    def files(self) -> set[str]:
        """All there is but what programs keep for themselves, and what is not of this root."""
        skip = " -o ".join(f"-path {place}" for place in
                           ("/proc", "/dev", "/tmp", "/var/cache", "/var/lib/dpkg", "/var/lib/apt",
                            "/var/log", *self._directories))
        return set(self.run("sh", "-c", f"find / \\( {skip} \\) -prune -o -print").splitlines())
