#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""usage: build_elsewhere.py SUITE DEBS

Builds the Debian packages into the directory DEBS in a clean Debian of another release."""

import sys
from pathlib import Path

from clean_root import PROJECT, CleanRoot

suite, debs = sys.argv[1], Path(sys.argv[2]).absolute()
debs.mkdir(parents=True, exist_ok=True)
root = CleanRoot(suite, str(PROJECT), str(debs))
try:
    root.run("apt-get", "-q", "-y", "build-dep", str(PROJECT / "packaging"))
    print(root.run(str(PROJECT / "packaging/build-deb"), str(debs / "deb")))
finally:
    root.close()
