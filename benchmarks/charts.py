"""Series of figures in, one SVG picture out: panels side by side with axes, lines, marks and a legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 900, 430
TOP, BOTTOM = 60, 132  # room for titles above and for the axis and the legend below the panels
LEFT, RIGHT, BETWEEN = 54, 16, 58
FONT = "font-family='Helvetica, Arial, sans-serif'"
INK, FAINT, GRID, PAPER = "#222222", "#666666", "#e3e3e3", "#ffffff"
LEGEND_COLUMNS = 3


@dataclass(frozen=True)
class Style:
    """How a series looks. Without a line its marks stand alone."""

    colour: str
    dashed: bool = False
    hollow: bool = False
    line: bool = True


@dataclass(frozen=True)
class Series:
    """A series without a name is not in the legend."""

    name: str
    points: Sequence[tuple[float, float]]
    style: Style


@dataclass(frozen=True)
class Panel:
    """Positive values on a logarithmic axis, or on an even one that begins at 0, over an even one that begins at 0."""

    title: str
    unit: str
    series: Sequence[Series]
    even: bool = False


def draw(title: str, panels: Sequence[Panel], x_label: str, x_ticks: Sequence[float], note: str = "") -> str:
    """The picture as text; panels share the horizontal axis and the legend, with a note below it."""
    width = (WIDTH - LEFT - RIGHT - BETWEEN * (len(panels) - 1)) / len(panels)
    size = f"width='{WIDTH}' height='{HEIGHT}'"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' {size} {FONT}>",
        f"<title>{escape(title)}</title>",
        f"<rect {size} fill='{PAPER}'/>",
        _text(WIDTH / 2, 22, title, 16, anchor="middle", weight="bold"),
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, LEFT + number * (width + BETWEEN), width, x_label, x_ticks)
    parts += _legend([series for series in panels[0].series if series.name])
    parts.append(_text(LEFT, HEIGHT - 14, note, 12, colour=FAINT))
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, left: float, width: float, x_label: str, x_ticks: Sequence[float]) -> list[str]:
    bottom = HEIGHT - BOTTOM
    values = [y for series in panel.series for _, y in series.points]
    marks = _even_ticks(max(values)) if panel.even else _log_ticks(min(values), max(values))
    scaled = float if panel.even else math.log10
    low, high = scaled(marks[0]), scaled(marks[-1])

    def x_of(x: float) -> float:
        return left + (width - 10) * x / max(x_ticks)

    def y_of(y: float) -> float:
        return bottom - (bottom - TOP) * (scaled(y) - low) / (high - low)

    parts = [_text(left, TOP - 12, f"{panel.title}, {panel.unit}", 13, weight="bold")]
    for mark in marks:
        parts.append(_line(left, y_of(mark), left + width, y_of(mark), GRID))
        parts.append(_text(left - 6, y_of(mark) + 4, _short(mark), 12, anchor="end", colour=FAINT))
    for tick in x_ticks:
        parts.append(_line(x_of(tick), bottom, x_of(tick), bottom + 5, FAINT))
        parts.append(_text(x_of(tick), bottom + 19, _short(tick), 12, anchor="middle", colour=FAINT))
    parts.append(_line(left, bottom, left + width, bottom, FAINT))
    parts.append(_text(left + width / 2, bottom + 38, x_label, 12, anchor="middle"))
    for series in panel.series:
        parts += _series([(x_of(x), y_of(y)) for x, y in series.points], series.style)
    return parts


def _series(points: Sequence[tuple[float, float]], style: Style) -> list[str]:
    parts = []
    if style.line and len(points) > 1:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dash = " stroke-dasharray='6 4'" if style.dashed else ""
        parts.append(f"<polyline points='{path}' fill='none' stroke='{style.colour}' stroke-width='2'{dash}/>")
    for x, y in points:
        fill, size = ("none", 5) if style.hollow else (style.colour, 3)
        look = f"fill='{fill}' stroke='{style.colour}' stroke-width='1.5'"
        parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{size}' {look}/>")
    return parts


def _legend(series: Sequence[Series]) -> list[str]:
    rows = -(-len(series) // LEGEND_COLUMNS)
    width = (WIDTH - LEFT - RIGHT) / LEGEND_COLUMNS
    parts = []
    for number, one in enumerate(series):
        left = LEFT + (number // rows) * width
        middle = HEIGHT - BOTTOM + 66 + (number % rows) * 20
        ends = [(left, middle), (left + 30, middle)]
        parts += _series(ends, one.style) if one.style.line else _series([(left + 15, middle)], one.style)
        parts.append(_text(left + 40, middle + 4, one.name, 12))
    return parts


def _log_ticks(least: float, most: float) -> list[float]:
    """Round figures around all values, growing by factors of about three; powers of ten if that gives too many."""
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    ticks = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 3)]
    below = [tick for tick in ticks if tick <= least]
    above = [tick for tick in ticks if tick >= most]
    kept = [tick for tick in ticks if below[-1] <= tick <= above[0]]
    if len(kept) > 7:
        kept = [10.0**power for power in range(first, last + 1)]
    return kept if len(kept) > 1 else [kept[0], kept[0] * 10]


def _even_ticks(most: float) -> list[float]:
    """0 and round figures above it, four to eight of them, up to one that is not below all values."""
    power = 10.0 ** math.floor(math.log10(most))
    step = next(factor * power for factor in (0.2, 0.5, 1, 2) if most <= 7 * factor * power)
    return [step * i for i in range(math.ceil(most / step) + 1)]


def _short(value: float) -> str:
    for factor, letter in ((1e6, " M"), (1e3, " k")):
        if value >= factor:
            return f"{value / factor:g}{letter}"
    return f"{value:g}"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}'/>"


def _text(
    x: float, y: float, text: str, size: int, anchor: str = "start", weight: str = "normal", colour: str = INK
) -> str:
    look = f"font-size='{size}' text-anchor='{anchor}' font-weight='{weight}' fill='{colour}'"
    return f"<text x='{x:.1f}' y='{y:.1f}' {look}>{escape(text)}</text>"
