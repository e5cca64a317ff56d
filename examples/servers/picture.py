"""An alert in, a picture out: the load of its server and the usual range, and the past incidents most like it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from servers import Alert

WIDTH, HEIGHT = 1000, 400
LEFT, TOP, BOTTOM, SPLIT, RIGHT = 50, 70, 50, 580, 20
INK, FAINT, BAND, LINE, ALARM, BAR, GRID = "#222222", "#666666", "#dbe9f6", "#1f77b4", "#c2410c", "#2e7d32", "#e5e5e5"
BEFORE = timedelta(days=2)
ROW = 62
# Of a context, no more than fits beside the others.
MOST_WORDS = 52


def draw_alert(alert: Alert, load: Sequence[dict[str, Any]], words: Sequence[tuple[list[str], list[str]]]) -> str:
    """SVG as text. `words`: what each similar incident has in common with the alert, and what else was there."""
    usual = alert.usual
    said = f"usual {usual['mean']:.0f} % ± {usual['sd']:.0f}, at most {usual['highest']:.0f} % in four weeks"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' font-family='Helvetica, sans-serif'>",
        f"<title>An alert of {escape(alert.server)} and its history</title>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='#ffffff'/>",
        _text(LEFT, 28, f"{alert.server}, {alert.at:%d %B %H:%M}: cpu {usual['cpu']:.0f} %; {said}", 16, INK, "bold"),
        *_load(alert, load),
        *_similar(alert, words),
    ]
    return "\n".join([*parts, "</svg>", ""])


def _load(alert: Alert, load: Sequence[dict[str, Any]]) -> list[str]:
    begin = alert.at - BEFORE
    shown = [row for row in load if begin <= row["at"] <= alert.at]
    right, bottom = SPLIT - 40, HEIGHT - BOTTOM

    def x_of(at: datetime) -> float:
        return LEFT + (right - LEFT) * ((at - begin) / BEFORE)

    def y_of(value: float) -> float:
        return TOP + (bottom - TOP) * (1 - min(max(value, 0), 100) / 100)

    usual = alert.usual
    high, low = y_of(usual["mean"] + 2 * usual["sd"]), y_of(usual["mean"] - 2 * usual["sd"])
    parts = [_text(LEFT, TOP - 12, "cpu in %; shaded: mean ± 2 deviations of four weeks", 12, FAINT)]
    parts.append(f"<rect x='{LEFT}' y='{high:.1f}' width='{right - LEFT}' height='{low - high:.1f}' fill='{BAND}'/>")
    for mark in (0, 25, 50, 75, 100):
        parts.append(_line(LEFT, y_of(mark), right, y_of(mark), GRID))
        parts.append(_text(LEFT - 8, y_of(mark) + 4, str(mark), 12, FAINT, anchor="end"))
    hour = begin.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    while hour <= alert.at:
        if hour.hour % 12 == 0:
            parts.append(_line(x_of(hour), bottom, x_of(hour), bottom + 5, FAINT))
            said = f"{hour:%d %b}" if hour.hour == 0 else f"{hour:%H:%M}"
            parts.append(_text(x_of(hour), bottom + 18, said, 12, FAINT, anchor="middle"))
        hour += timedelta(hours=1)
    points = " ".join(f"{x_of(row['at']):.1f},{y_of(row['cpu']):.1f}" for row in shown)
    parts.append(f"<polyline points='{points}' fill='none' stroke='{LINE}'/>")
    here = x_of(alert.at), y_of(usual["cpu"])
    parts.append(f"<circle cx='{here[0]:.1f}' cy='{here[1]:.1f}' r='5' fill='{ALARM}'/>")
    parts.append(_text(here[0] - 10, here[1] + 4, f"{alert.at:%H:%M}", 12, ALARM, "bold", "end"))
    return parts


def _similar(alert: Alert, words: Sequence[tuple[list[str], list[str]]]) -> list[str]:
    parts = [_text(SPLIT, TOP - 12, "most similar past incidents; bold: processes and users as now", 12, FAINT)]
    width = WIDTH - SPLIT - RIGHT
    for place, (row, cause, (same, other)) in enumerate(zip(alert.similar, alert.past_causes, words, strict=True)):
        top = TOP + place * ROW
        length = width * row["similarity"]
        said = f"{row['similarity']:.2f}  {row['then_on']}, {row['seen']:%d %B %H:%M}: {cause}"
        parts.append(_text(SPLIT, top + 12, said, 12, INK))
        parts.append(f"<rect x='{SPLIT}' y='{top + 18}' width='{width}' height='8' fill='{GRID}'/>")
        parts.append(f"<rect x='{SPLIT}' y='{top + 18}' width='{max(length, 1):.1f}' height='8' fill='{BAR}'/>")
        parts.append(_words(SPLIT, top + 41, same, other))
    return parts


def _words(x: float, y: float, same: Sequence[str], other: Sequence[str]) -> str:
    room = MOST_WORDS - len(", ".join(same))
    rest = ", ".join(other)
    rest = rest if len(rest) <= room else rest[: max(room - 1, 0)] + "…"
    bold = f"<tspan font-weight='bold'>{escape(', '.join(same))}</tspan>" if same else ""
    bold += ", " if same and rest else ""
    return f"<text x='{x}' y='{y}' font-size='12' fill='{FAINT}'>{bold}{escape(rest)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}'/>"


def _text(x: float, y: float, text: str, size: int, colour: str, weight: str = "normal", anchor: str = "start") -> str:
    style = f"font-size='{size}' fill='{colour}' font-weight='{weight}' text-anchor='{anchor}'"
    return f"<text x='{x:.1f}' y='{y:.1f}' {style}>{escape(text)}</text>"
