"""Figures as text, for the cells of tables."""

import math


def rate(value: float) -> str:
    """A rate per second."""
    return "-" if math.isnan(value) else f"{value:,.0f}"


def times(value: float) -> str:
    """A ratio."""
    return "-" if math.isnan(value) else f"{value:.2f}"


def ms(seconds: float) -> str:
    """A duration in milliseconds, with about three significant digits."""
    if math.isnan(seconds):
        return "-"
    value = seconds * 1e3
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"


def share(value: float) -> str:
    """A share of a whole, in percent."""
    return "-" if math.isnan(value) else f"{value:.0%}"


def drift(value: float) -> str:
    """A signed share, in thousandths of a percent."""
    return "-" if math.isnan(value) else f"{value:+.3%}"


def mb(value: float) -> str:
    """Megabytes."""
    return f"{value:.1f}"
