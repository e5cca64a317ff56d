"""An alert in, a picture out: the load of its server and the usual range, and the past incidents most like it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from servers import Alert

WIDTH, HEIGHT = 900, 360
LEFT, TOP, BOTTOM, SPLIT = 50, 60, 50, 560
INK, FAINT, BAND, LINE, ALARM, BAR = "#222222", "#666666", "#dbe9f6", "#1f77b4", "#c2410c", "#2e7d32"
BEFORE = timedelta(days=2)


def draw_alert(alert: Alert, load: Sequence[dict[str, Any]]) -> str:
    """SVG as text."""
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' font-family='Helvetica, sans-serif'>",
        f"<title>An alert of {escape(alert.server)} and its history</title>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='#ffffff'/>",
        _text(LEFT, 28, f"{alert.server}, {alert.at:%d %B %H:%M}: cpu {alert.usual['cpu']:.0f} %", 16, INK, "bold"),
        *_load(alert, load),
        *_similar(alert),
    ]
    return "\n".join([*parts, "</svg>", ""])


def _load(alert: Alert, load: Sequence[dict[str, Any]]) -> list[str]:
    begin = alert.at - BEFORE
    shown = [row for row in load if begin <= row["at"] <= alert.at]
    width, height = SPLIT - LEFT - 30, HEIGHT - TOP - BOTTOM

    def x_of(at: Any) -> float:
        return LEFT + width * ((at - begin) / BEFORE)

    def y_of(value: float) -> float:
        return TOP + height * (1 - min(max(value, 0), 100) / 100)

    usual = alert.usual
    high, low = y_of(usual["mean"] + 2 * usual["sd"]), y_of(usual["mean"] - 2 * usual["sd"])
    points = " ".join(f"{x_of(row['at']):.1f},{y_of(row['cpu']):.1f}" for row in shown)
    parts = [_text(LEFT, TOP - 10, "cpu in %, the last two days; shaded: usual in four weeks", 12, FAINT)]
    parts.append(f"<rect x='{LEFT}' y='{high:.1f}' width='{width}' height='{low - high:.1f}' fill='{BAND}'/>")
    for mark in (0, 50, 100):
        parts.append(_text(LEFT - 8, y_of(mark) + 4, str(mark), 12, FAINT, anchor="end"))
    parts.append(f"<polyline points='{points}' fill='none' stroke='{LINE}'/>")
    parts.append(f"<circle cx='{x_of(alert.at):.1f}' cy='{y_of(usual['cpu']):.1f}' r='5' fill='{ALARM}'/>")
    return parts


def _similar(alert: Alert) -> list[str]:
    parts = [_text(SPLIT, TOP - 10, "most similar past incidents", 12, FAINT)]
    width = WIDTH - SPLIT - 30
    for place, (row, cause) in enumerate(zip(alert.similar, alert.past_causes, strict=True)):
        top = TOP + place * 48
        length = width * row["similarity"]
        parts.append(f"<rect x='{SPLIT}' y='{top + 18}' width='{max(length, 1):.1f}' height='12' fill='{BAR}'/>")
        said = f"{row['similarity']:.2f}  {row['then_on']}, {row['seen']:%d %B %H:%M}: {cause}"
        parts.append(_text(SPLIT, top + 12, said, 12, INK))
    return parts


def _text(x: float, y: float, text: str, size: int, colour: str, weight: str = "normal", anchor: str = "start") -> str:
    style = f"font-size='{size}' fill='{colour}' font-weight='{weight}' text-anchor='{anchor}'"
    return f"<text x='{x:.1f}' y='{y:.1f}' {style}>{escape(text)}</text>"
