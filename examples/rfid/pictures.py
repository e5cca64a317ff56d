"""Curves in, one SVG picture out: panels side by side with even axes, lines and a legend. Nothing to install."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 900, 350
TOP, BOTTOM, LEFT, RIGHT, BETWEEN = 60, 100, 44, 14, 50
INK, FAINT, GRID, PAPER = "#222222", "#666666", "#e3e3e3", "#ffffff"
FONT = "font-family='Helvetica, Arial, sans-serif'"


@dataclass(frozen=True)
class Curve:
    """`band`: how far its points spread: x, the lower end, the upper end."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    dashed: bool = False
    band: Sequence[tuple[float, float, float]] = ()


@dataclass(frozen=True)
class Panel:
    """`shaded`: a stretch of the horizontal axis that means something."""

    title: str
    x_label: str
    x_ticks: Sequence[float]
    y_ticks: Sequence[float]
    curves: Sequence[Curve]
    shaded: tuple[float, float] | None = None


def draw(title: str, panels: Sequence[Panel]) -> str:
    """The picture as text. The curves of the first panel are those of the legend."""
    width = (WIDTH - LEFT - RIGHT - BETWEEN * (len(panels) - 1)) / len(panels)
    size = f"width='{WIDTH}' height='{HEIGHT}'"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' {size} {FONT}>",
        f"<title>{escape(title)}</title>",
        f"<rect {size} fill='{PAPER}'/>",
        _text(WIDTH / 2, 22, title, 16, anchor="middle", weight="bold"),
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, LEFT + number * (width + BETWEEN), width)
    each = (WIDTH - LEFT - RIGHT) / len(panels[0].curves)
    for number, curve in enumerate(panels[0].curves):
        left, middle = LEFT + number * each, HEIGHT - 24
        parts.append(_path([(left, middle), (left + 30, middle)], curve))
        parts.append(_text(left + 38, middle + 4, curve.name, 12))
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, left: float, width: float) -> list[str]:
    bottom = HEIGHT - BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        low, high = panel.x_ticks[0], panel.x_ticks[-1]
        least, most = panel.y_ticks[0], panel.y_ticks[-1]
        return left + width * (x - low) / (high - low), bottom - (bottom - TOP) * (y - least) / (most - least)

    parts = [_text(left, TOP - 12, panel.title, 13, weight="bold")]
    if panel.shaded is not None:
        (begin, _), (end, _) = place(panel.shaded[0], 0), place(panel.shaded[1], 0)
        look = f"height='{bottom - TOP}' fill='#f3efe6'"
        parts.append(f"<rect x='{begin:.1f}' y='{TOP}' width='{end - begin:.1f}' {look}/>")
    for tick in panel.y_ticks:
        _, y = place(panel.x_ticks[0], tick)
        parts.append(f"<line x1='{left:.1f}' y1='{y:.1f}' x2='{left + width:.1f}' y2='{y:.1f}' stroke='{GRID}'/>")
        parts.append(_text(left - 6, y + 4, f"{tick:g}", 12, anchor="end", colour=FAINT))
    for tick in panel.x_ticks:
        x, _ = place(tick, 0)
        parts.append(_text(x, bottom + 18, f"{tick:g}", 12, anchor="middle", colour=FAINT))
    parts.append(_text(left + width / 2, bottom + 38, panel.x_label, 12, anchor="middle"))
    for curve in panel.curves:
        if curve.band:
            edge = [place(x, high) for x, _, high in curve.band] + [place(x, low) for x, low, _ in curve.band[::-1]]
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in edge)
            parts.append(f"<polygon points='{line}' fill='{curve.colour}' fill-opacity='0.12'/>")
    return parts + [_path([place(x, y) for x, y in curve.points], curve) for curve in panel.curves]


def _path(points: Sequence[tuple[float, float]], curve: Curve) -> str:
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = " stroke-dasharray='6 4'" if curve.dashed else ""
    return f"<polyline points='{line}' fill='none' stroke='{curve.colour}' stroke-width='2'{dash}/>"


def _text(
    x: float, y: float, text: str, size: int, anchor: str = "start", weight: str = "normal", colour: str = INK
) -> str:
    look = f"font-size='{size}' text-anchor='{anchor}' font-weight='{weight}' fill='{colour}'"
    return f"<text x='{x:.1f}' y='{y:.1f}' {look}>{escape(text)}</text>"
