"""Charts as SVG: curves with axes and a legend, in greys and mid-tones that are legible on white and on black."""

import math
from collections.abc import Iterable, Sequence
from html import escape

from tests.bench.section import Chart, Point

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 20, 72, 52
_COLOURS = ("#2f81c7", "#d9822b", "#3a9d5d", "#a35fc4", "#c94f4f", "#8a8a2f")
_GREY = "#7d858d"


class Axis:
    """Maps values to positions between two ends of a picture. A logarithmic axis omits values that are not positive."""

    def __init__(self, values: Iterable[float], ends: tuple[float, float], *, log: bool) -> None:
        self._log = log
        known = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
        low, high = (min(known), max(known)) if known else (1.0, 10.0)
        self.ticks = _decades(low, high) if log else _steps(min(0.0, low), high)
        self._low, self._high = self._scaled(self.ticks[0]), self._scaled(self.ticks[-1])
        self._ends = ends

    def place(self, value: float) -> float:
        """The position of a value, in the picture's units."""
        first, last = self._ends
        return first + (self._scaled(value) - self._low) / (self._high - self._low) * (last - first)

    def shows(self, value: float) -> bool:
        """Whether a value has a position on the axis."""
        return math.isfinite(value) and (value > 0 or not self._log)

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self._log else value


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten around the values; for one or two decades also 2 and 5 times these."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    last = max(last, first + 1)
    if last - first > 2:
        return [10.0**power for power in range(first, last + 1)]
    ticks = [digit * 10.0**power for power in range(first, last) for digit in (1, 2, 5)] + [10.0**last]
    return [tick for tick, following in zip(ticks, [*ticks[1:], math.inf], strict=True) if following > low * 1.0001]


def _steps(low: float, high: float) -> list[float]:
    """Round numbers at equal steps, from below the values to above them."""
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(step * power for step in (1, 2, 5, 10) if span / (step * power) <= 6)
    first, last = math.floor(low / step), math.ceil((low + span) / step)
    return [number * step for number in range(first, last + 1)]


def draw(chart: Chart) -> str:
    """The chart as an SVG document."""
    points = [point for series in chart.series.values() for point in series]
    x = Axis((a for a, _ in points), (_LEFT, _WIDTH - _RIGHT), log="x" in chart.log)
    y = Axis((b for _, b in points), (_HEIGHT - _BOTTOM, _TOP), log="y" in chart.log)
    parts = [
        _text(_LEFT, 20, chart.title, size=15, anchor="start"),
        *_horizontal(x),
        *_vertical(y),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 10, chart.x),
        f'<g transform="rotate(-90 16 {(_TOP + _HEIGHT - _BOTTOM) / 2:g})">'
        + _text(16, (_TOP + _HEIGHT - _BOTTOM) / 2, chart.y)
        + "</g>",
        *_legend(list(chart.series)),
        *(_curve(series, x, y, _COLOURS[n % len(_COLOURS)]) for n, series in enumerate(chart.series.values())),
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
        f' font-family="system-ui, sans-serif" role="img" aria-label="{escape(chart.title)}">'
    )
    return "\n".join((head, *parts, "</svg>", ""))


def _horizontal(x: Axis) -> list[str]:
    labels = [_text(x.place(tick), _HEIGHT - _BOTTOM + 18, number(tick)) for tick in x.ticks]
    return [_line(_LEFT, _HEIGHT - _BOTTOM, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM, 1.0), *labels]


def _vertical(y: Axis) -> list[str]:
    lines = [_line(_LEFT, y.place(tick), _WIDTH - _RIGHT, y.place(tick), 0.3) for tick in y.ticks]
    return lines + [_text(_LEFT - 8, y.place(tick) + 4, number(tick), anchor="end") for tick in y.ticks]


def _legend(names: Sequence[str]) -> list[str]:
    parts, left, top = [], float(_LEFT), 30
    for index, name in enumerate(names):
        width = 34 + 6.6 * len(name)
        if left > _LEFT and left + width > _WIDTH:
            left, top = float(_LEFT), top + 17
        colour = _COLOURS[index % len(_COLOURS)]
        parts.append(f'<rect x="{left:g}" y="{top}" width="12" height="12" rx="2" fill="{colour}"/>')
        parts.append(_text(left + 17, top + 10, name, anchor="start"))
        left += width
    return parts


def _curve(series: Sequence[Point], x: Axis, y: Axis, colour: str) -> str:
    shown = [(x.place(a), y.place(b)) for a, b in series if x.shows(a) and y.shows(b)]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in shown)
    dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.2"/>' for a, b in shown)
    line = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    return f'<g fill="{colour}">{line}{dots}</g>'


def _line(x1: float, y1: float, x2: float, y2: float, opacity: float) -> str:
    return f'<path d="M{x1:g} {y1:.1f}L{x2:g} {y2:.1f}" stroke="{_GREY}" stroke-opacity="{opacity:g}"/>'


def _text(x: float, y: float, text: str, *, size: int = 12, anchor: str = "middle") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{_GREY}">{escape(text)}</text>'
    )


def number(value: float) -> str:
    """The label of a tick: 0.01, 5, 20k, 3M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"
