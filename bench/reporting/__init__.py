# SPDX-License-Identifier: MIT
"""Reads the results of metagroup_bench, judges the goals, and writes the report."""
