#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program in the README."""

import contextlib
import io
import re
import unittest
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


class Readme(unittest.TestCase):
    def test_its_program_runs(self):
        import matplotlib
        matplotlib.use("svg")
        text = README.read_text(encoding="utf-8")
        (program,) = re.findall("```python\n(.*?)```", text, re.DOTALL)
        # Any machine counts these.
        program = program.replace("cycles", "cpu-clock").replace("instructions", "page-faults")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(program, {})
        self.assertIn("CPU0", printed.getvalue())


if __name__ == "__main__":
    unittest.main()
