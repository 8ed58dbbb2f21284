#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""make -C kmod takes the compiler that has built the kernel, or says what is missing."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

KMOD = Path(__file__).resolve().parents[2] / "kmod"
TOOLS = ("clang", "ld.lld", "llvm-ar", "llvm-nm", "llvm-objcopy", "llvm-strip")


class CompilerTest(unittest.TestCase):
    """Headers of a kernel that say what they were called with, and tools that are files only."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.headers = Path(directory.name) / "headers"
        self.tools = Path(directory.name) / "tools"
        self.tools.mkdir()
        for name in ("make", "sh", "grep", "uname"):
            (self.tools / name).symlink_to(shutil.which(name))
        self.headers.mkdir()
        (self.headers / "Makefile").write_text(
            "modules:\n\t@echo \"LLVM='$(LLVM)'\"\n", encoding="utf-8")

    def configure(self, file: str, compiler: str):
        path = self.headers / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"CONFIG_SMP=y\nCONFIG_CC_IS_{compiler}=y\n", encoding="utf-8")

    def install(self, *tools: str):
        for tool in tools:
            (self.tools / tool).symlink_to("/bin/true")

    def make(self, *arguments: str) -> subprocess.CompletedProcess:
        environment = {name: value for name, value in os.environ.items()
                       if "MAKE" not in name and name != "LLVM"}
        return subprocess.run(
            ["make", "-C", KMOD, f"KDIR={self.headers}", *arguments, "modules"], check=False,
            env={**environment, "PATH": str(self.tools)}, capture_output=True, text=True)

    def test_gcc(self):
        for files in ((), (".config",), ("include/config/auto.conf",)):
            with self.subTest(files=files):
                for file in files:
                    self.configure(file, "GCC")
                self.assertIn("LLVM=''", self.make().stdout)

    def test_clang(self):
        self.install(*TOOLS)
        for file in (".config", "include/config/auto.conf"):
            with self.subTest(file=file):
                self.configure(file, "CLANG")
                self.assertIn("LLVM='1'", self.make().stdout)
                (self.headers / file).unlink()

    def test_clang_of_a_version(self):
        self.configure(".config", "CLANG")
        self.install(*(f"{tool}-19" for tool in TOOLS))
        self.assertIn("LLVM='-19'", self.make("LLVM=-19").stdout)

    def test_missing_tools(self):
        self.configure("include/config/auto.conf", "CLANG")
        self.install("clang", "llvm-ar", "llvm-nm", "llvm-strip")
        done = self.make()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("missing: ld.lld llvm-objcopy", " ".join(done.stderr.split()))


if __name__ == "__main__":
    unittest.main()
