#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""The tests of the Python package in a guest, on the module.

One runs here first. The guest gets the files of all modules that are imported then.
"""

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
# It imports all modules that are used.
SAMPLE = "frames_test.Frames.test_sample_returns_the_counts_of_all_cpus_at_common_deadlines"
# The others need the package only, or a library that plots.
TESTS = ["groups_test.Snapshots", "groups_test.Errors", "threads_test.Threads", SAMPLE]

# pandas reads them when it is imported.
TIME_ZONES = ["/usr/share/zoneinfo/tzdata.zi", "/usr/share/zoneinfo/zone1970.tab"]


def files_of_modules() -> set[str]:
    modules = list(sys.modules.values())
    named = {getattr(module, attribute, None) for module in modules
             for attribute in ("__file__", "__cached__")}
    return {name for name in named if name and os.path.exists(name)}


def main() -> int:
    for test in TESTS:
        importlib.import_module(test.split(".")[0])
    if not unittest.main(None, argv=["", SAMPLE], exit=False).result.wasSuccessful():
        return 1
    with tempfile.TemporaryDirectory() as stage:
        added, libraries = ["--add", PYTHON], []
        for file in TIME_ZONES:
            added += ["--add", file]
        for file in files_of_modules():
            target = Path(stage + file)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)
            # Its libraries are found once it is named by itself.
            if file.endswith(".so"):
                libraries += ["--add", file]
        for place in sys.path:
            if os.path.isdir(stage + place):
                added += ["--add", f"{stage}{place}:{place}"]
        return subprocess.run(
            [PROJECT / "tests/vm/run", *added, *libraries, "--",
             "env", f"PYTHONPATH={os.environ['PYTHONPATH']}:{Path(__file__).parent}",
             "METAGROUP_BACKEND=module", PYTHON, "-c",
             f"import unittest; unittest.main(None, argv={['', '-v', *TESTS]})"],
            check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
