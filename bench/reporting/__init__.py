# SPDX-License-Identifier: MIT
"""What bench/report does, one idea per file."""
