# SPDX-License-Identifier: MIT
"""Helpers of the tests of the Python package. PYTHONPATH must lead to the package.

METAGROUP_BACKEND names the backend to open groups with: see guest_test.py.
"""

import os

import metagroup

EVENTS = "{cpu-clock,context-switches}"
BACKEND = os.environ.get("METAGROUP_BACKEND", "automatic")


def open_group(events=EVENTS, **options):
    return metagroup.MetaGroup(events, backend=BACKEND, **options)
