"""The plots of docs/performance.md, drawn from benchmarks/figures.json; with --check, only whether they are up to date.

Each entry of the file is one SVG in docs/images, under the name of the entry. To add a measured point, add it to the
file and run this script again. Kinds of plots:

  bars    `rows` with `name`, `group` and `value` (or `events` and `seconds`); `to` is the upper end of a measured range
  ranges  `rows` with `name`, `group` and one number for each of `marks` that was measured
  curves  `series` with `name` and `points` [x, y]
  ratios  `points` with `events` and, for each query, `local` seconds and either `spark` seconds or their `ratio`

Colours follow light or dark mode; each picture brings its own background.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "benchmarks" / "figures.json"
IMAGES = ROOT / "docs" / "images"

WIDTH, MARGIN = 820, 20
TITLE, LEGEND, ROW, FOOT = 44, 26, 26, 64
CURVE_HEIGHT = 250
CHARACTER = 6.9  # approximate width at 13 px: the font of the viewer is not known
COLOURS = ["c0", "c1", "c2", "c3"]
LIGHT = {"paper": "#ffffff", "ink": "#222222", "soft": "#5f6368", "grid": "#e3e3e3"}
DARK = {"paper": "#14181f", "ink": "#e6e6e6", "soft": "#a3a9b1", "grid": "#333a44"}
SERIES_LIGHT = ["#1b6ca8", "#c4541b", "#3f7d2a", "#7a4fa3"]
SERIES_DARK = ["#6fb1e6", "#f09a63", "#8fcf6a", "#bd9fe6"]

Point = tuple[float, float]


# -- parts of a picture ------------------------------------------------------------------------------------


def style() -> str:
    def rules(page: dict[str, str], series: Sequence[str]) -> str:
        named = [f".fill-{name}{{fill:{c}}}.line-{name}{{stroke:{c}}}" for name, c in zip(COLOURS, series, strict=True)]
        rest = [
            f".paper{{fill:{page['paper']}}}text{{fill:{page['ink']}}}text.soft{{fill:{page['soft']}}}",
            f".grid{{stroke:{page['grid']}}}.axis{{stroke:{page['soft']}}}",
        ]
        return "".join(rest + named)

    font = "text{font-family:ui-sans-serif,system-ui,Helvetica,Arial,sans-serif;font-size:13px}"
    fixed = ".bold{font-weight:600;font-size:15px}.small{font-size:12px}polyline{fill:none;stroke-width:2}"
    dark = f"@media (prefers-color-scheme:dark){{{rules(DARK, SERIES_DARK)}}}"
    return f"{font}{fixed}{rules(LIGHT, SERIES_LIGHT)}{dark}"


def document(title: str, height: float, parts: Sequence[str]) -> str:
    box = f"width='{WIDTH}' height='{height:.0f}'"
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height:.0f}' {box} role='img'>"
    return "\n".join(
        [
            head,
            f"<title>{escape(title)}</title>",
            f"<style>{style()}</style>",
            f"<rect class='paper' {box}/>",
            text(MARGIN, 28, title, "bold"),
            *parts,
            "</svg>",
            "",
        ]
    )


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    named = f" class='{kind}'" if kind else ""
    return f"<text{named} x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{escape(words)}</text>"


def line(x1: float, y1: float, x2: float, y2: float, kind: str, more: str = "") -> str:
    return f"<line class='{kind}' x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}'{more}/>"


def rectangle(x: float, y: float, width: float, height: float, kind: str, more: str = "") -> str:
    return f"<rect class='{kind}' x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}'{more}/>"


def legend(names: Sequence[str], y: float) -> list[str]:
    parts, x = [], float(MARGIN)
    for name, colour in zip(names, COLOURS, strict=False):
        parts += [rectangle(x, y - 10, 12, 12, f"fill-{colour}"), text(x + 18, y, name, "small")]
        x += 18 + CHARACTER * len(name) + 24
    return parts


def short(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


# -- axes ------------------------------------------------------------------------------------


def even_ticks(most: float) -> list[float]:
    """0 and round numbers up to the first that is not below `most`."""
    power = 10.0 ** math.floor(math.log10(most))
    step = next(factor * power for factor in (0.1, 0.2, 0.5, 1, 2) if most <= 6 * factor * power)
    return [step * number for number in range(math.ceil(most / step) + 1)]


def log_ticks(least: float, most: float) -> list[float]:
    """Round numbers around all values, by factors of about three; powers of ten if that gives too many."""
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    ticks = [float(f"{factor}e{power}") for power in range(first, last + 1) for factor in (1, 3)]
    low, high = max(t for t in ticks if t <= least), min(t for t in ticks if t >= most)
    kept = [tick for tick in ticks if low <= tick <= high]
    return kept if len(kept) <= 8 else [float(f"1e{power}") for power in range(first, last + 1)]


def scale(ticks: Sequence[float], start: float, end: float, log: bool) -> Callable[[float], float]:
    measure = math.log10 if log else float
    low, high = measure(ticks[0]), measure(ticks[-1])
    return lambda value: start + (end - start) * (measure(value) - low) / (high - low)


# -- kinds of plots ------------------------------------------------------------------------------------


def groups_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["group"] for row in rows))


def value_of(row: dict[str, Any]) -> float:
    return row["value"] if "value" in row else row["events"] / row["seconds"] / 1e6


def row_frame(figure: dict[str, Any], ticks: Sequence[float], log: bool, right: float) -> tuple[Any, float, list[str]]:
    """Names of rows, grid and axis; the scale of the axis and the top of the first row."""
    rows, groups = figure["rows"], groups_of(figure["rows"])
    left = MARGIN + 12 + CHARACTER * max(len(row["name"]) for row in rows)
    top = TITLE + LEGEND
    bottom = top + ROW * len(rows)
    x_of = scale(ticks, left, WIDTH - MARGIN - right, log)
    parts = legend(groups, TITLE + 12)
    for tick in ticks:
        parts.append(line(x_of(tick), top, x_of(tick), bottom, "grid"))
        parts.append(text(x_of(tick), bottom + 18, short(tick), "soft small", "middle"))
    parts.append(text((left + WIDTH - MARGIN - right) / 2, bottom + 36, figure["unit"], "small", "middle"))
    parts.append(text(MARGIN, bottom + 56, figure["note"], "soft small"))
    for number, row in enumerate(rows):
        parts.append(text(left - 8, top + ROW * (number + 0.5) + 4.5, row["name"], "", "end"))
    return x_of, top, parts


def bars(figure: dict[str, Any]) -> str:
    rows, groups = figure["rows"], groups_of(figure["rows"])
    ticks = even_ticks(max(row.get("to", value_of(row)) for row in rows))
    labels = [row.get("text") or label_of(row) for row in rows]
    x_of, top, parts = row_frame(figure, ticks, False, right=CHARACTER * max(map(len, labels)))
    for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
        y, value = top + ROW * number, value_of(row)
        colour = f"fill-{COLOURS[groups.index(row['group'])]}"
        parts.append(rectangle(x_of(0), y + 4, x_of(value) - x_of(0), ROW - 8, colour))
        if "to" in row:
            parts.append(
                rectangle(x_of(value), y + 4, x_of(row["to"]) - x_of(value), ROW - 8, colour, " opacity='0.45'")
            )
        parts.append(text(x_of(row.get("to", value)) + 6, y + ROW / 2 + 4.5, label, "small"))
    return document(figure["title"], top + ROW * len(rows) + FOOT, parts)


def label_of(row: dict[str, Any]) -> str:
    value = value_of(row)
    digits = f"{value:g}" if "value" in row else f"{value:.2g}"
    return f"{digits} to {row['to']:g}" if "to" in row else digits


def ranges(figure: dict[str, Any]) -> str:
    rows, groups, marks = figure["rows"], groups_of(figure["rows"]), figure["marks"]
    measured = [{mark: row[mark] for mark in marks if mark in row} for row in rows]
    every = [value for values in measured for value in values.values()]
    ticks = log_ticks(min(every), max(every))
    labels = [", ".join(f"{mark} {value:,g}" for mark, value in values.items()) for values in measured]
    x_of, top, parts = row_frame(figure, ticks, True, right=CHARACTER * max(map(len, labels)))
    for number, (row, values, label) in enumerate(zip(rows, measured, labels, strict=True)):
        middle = top + ROW * (number + 0.5)
        colour = COLOURS[groups.index(row["group"])]
        first, last = min(values.values()), max(values.values())
        parts.append(line(x_of(first), middle, x_of(last), middle, f"line-{colour}", " stroke-width='4' opacity='0.5'"))
        for value in values.values():
            parts.append(f"<circle class='fill-{colour}' cx='{x_of(value):.1f}' cy='{middle:.1f}' r='5'/>")
        parts.append(text(x_of(last) + 10, middle + 4.5, label, "small"))
    return document(figure["title"], top + ROW * len(rows) + FOOT, parts)


def curves(figure: dict[str, Any]) -> str:
    """Curves over a logarithmic x axis, or an even one where `x` is a small count."""
    log, series = figure.get("log", False), figure["series"]
    points = [point for one in series for point in one["points"]]
    ys = [y for _, y in points] + ([1.0] if "even_at" in figure else [])
    y_ticks = log_ticks(min(ys), max(ys)) if log else even_ticks(max(ys))
    x_ticks = sorted({x for x, _ in points})
    left, right = MARGIN + 46, WIDTH - MARGIN - 30
    named = len(series) > 1
    top = TITLE + (LEGEND if named else 0) + 22
    bottom = top + CURVE_HEIGHT
    x_of = scale(x_ticks, left + 20, right, log)
    y_of = scale(y_ticks, bottom, top, log)
    parts = legend([one["name"] for one in series], TITLE + 12) if named else []
    parts.append(text(MARGIN, top - 12, figure["unit"], "small"))
    for tick in y_ticks:
        parts += [line(left, y_of(tick), right, y_of(tick), "grid")]
        parts += [text(left - 6, y_of(tick) + 4, short(tick), "soft small", "end")]
    for tick in x_ticks:
        parts += [line(x_of(tick), bottom, x_of(tick), bottom + 5, "axis")]
        parts += [text(x_of(tick), bottom + 19, short(tick), "soft small", "middle")]
    parts.append(line(left, bottom, right, bottom, "axis"))
    parts.append(text((left + right) / 2, bottom + 37, figure["x"], "small", "middle"))
    parts.append(text(MARGIN, bottom + 58, figure["note"], "soft small"))
    if "even_at" in figure:
        parts.append(line(left, y_of(1), right, y_of(1), "axis", " stroke-dasharray='5 4' stroke-width='1.5'"))
        parts.append(text(right, y_of(1) - 6, figure["even_at"], "small", "end"))
    for one, colour in zip(series, COLOURS, strict=False):
        placed = [(x_of(x), y_of(y)) for x, y in one["points"]]
        parts.append(f"<polyline class='line-{colour}' points='{' '.join(f'{x:.1f},{y:.1f}' for x, y in placed)}'/>")
        parts += [f"<circle class='fill-{colour}' cx='{x:.1f}' cy='{y:.1f}' r='4.5'/>" for x, y in placed]
        if not named:
            values = [f"{y:g}" for _, y in one["points"]]
            above = zip(placed, values, strict=True)
            parts += [text(x, y - 10, value, "small", "middle") for (x, y), value in above]
    return document(figure["title"], bottom + FOOT + 4, parts)


def ratios(figure: dict[str, Any]) -> str:
    queries = dict.fromkeys(name for point in figure["points"] for name in point if name != "events")
    series = [
        {"name": query, "points": [(p["events"], ratio_of(p[query])) for p in figure["points"] if query in p]}
        for query in queries
    ]
    return curves(figure | {"series": series})


def ratio_of(measured: dict[str, float]) -> float:
    return measured["local"] / measured["spark"] if "spark" in measured else measured["ratio"]


# -- the command ------------------------------------------------------------------------------------

KINDS = {"bars": bars, "ranges": ranges, "curves": curves, "ratios": ratios}


def main() -> int:
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    plots = {IMAGES / f"{name}.svg": KINDS[figure["kind"]](figure) for name, figure in figures.items()}
    if "--check" not in sys.argv[1:]:
        for path, plot in plots.items():
            path.write_text(plot, encoding="utf-8")
        return 0
    stale = [path.name for path, plot in plots.items() if not path.exists() or path.read_text(encoding="utf-8") != plot]
    if stale:
        print(
            f"not as in {FIGURES.name}: {', '.join(stale)}; run: python scripts/performance_plots.py", file=sys.stderr
        )
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
