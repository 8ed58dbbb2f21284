# SPDX-License-Identifier: MIT
"""Figures as people read them: three digits and a unit."""

NOTHING = "–"


def _digits(value: float) -> str:
    if abs(value) < 0.005:  # what is left of a background that was subtracted
        return "0"
    decimals = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{decimals}f}"


def seconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale * 0.9995:
            return f"{_digits(value / scale)} {unit}"
    return f"{_digits(value / 1e-9)} ns"


def count(value: float | None) -> str:
    if value is None:
        return NOTHING
    for unit, scale in ((" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if abs(value) >= scale * 0.9995:
            return f"{_digits(value / scale)}{unit}"
    return _digits(value)


def ratio(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value * 100:.1f} %"
