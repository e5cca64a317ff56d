"""The plot of a column over time: a line for each key, the rows as dots on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from presage.errors import did_you_mean, error
from presage.model.time import format_timestamp
from presage.operators.svg import Drawing, document, escaped, text_width
from presage.plan.picture import Picture

if TYPE_CHECKING:
    from presage.execution.result import Result

WIDTH, HEIGHT = 640.0, 260.0
MOST_LINES = 8
MOST_DOTS = 2_000  # with more rows the line is enough
TICKS = 5
# Safe for colour-blind readers, on light and on dark paper.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f")


Scale = Callable[[float], float]


class _Line(NamedTuple):
    name: str
    times: np.ndarray
    values: np.ndarray


def plot(
    result: Result, column: str | None = None, *, by: str | None = None, at: str = "at", threshold: float | None = None
) -> Picture:
    """Draw a column of numbers over time, by default the first one; `by`: a line for each value of this column;
    `threshold`: a level to compare with. A null, or what is no number, is a gap."""
    table = result.to_arrow()
    column = column or _first_number(table)
    values = _asked(table, column)
    times = _asked(table, at)
    if not _is_number(values.type):
        raise error("BAD_VALUE", what=f"column '{column}'", found=str(values.type), expected="a column of numbers")
    if not pa.types.is_timestamp(times.type):
        raise error("BAD_VALUE", what=f"column '{at}'", found=str(times.type), expected="a TIMESTAMP")
    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    micros = times.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy(zero_copy_only=False).astype(np.float64)
    keys = (
        np.zeros(len(numbers), object)
        if by is None
        else np.array([str(k) for k in _asked(table, by).to_pylist()], object)
    )
    names = list(dict.fromkeys(keys.tolist()))
    lines = [
        _Line("" if by is None else name, micros[keys == name], numbers[keys == name]) for name in names[:MOST_LINES]
    ]
    more = len(names) - len(lines)
    return Picture(_drawn(lines, column, by, more, threshold))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _first_number(table: pa.Table) -> str:
    found: list[str] = [f.name for f in table.schema if _is_number(f.type)]
    if not found:
        raise error("BAD_VALUE", what="the rows", found="no column of numbers", expected="a column that can be drawn")
    return found[0]


def _asked(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        fix = did_you_mean(name, table.column_names)
        raise error("UNKNOWN_ATTRIBUTE", owner="the result", name=name, fix=fix)
    return table[name]


def _drawn(lines: Sequence[_Line], column: str, by: str | None, more: int, threshold: float | None) -> str:
    drawing = Drawing()
    times = np.concatenate([np.zeros(0), *(line.times[np.isfinite(line.times)] for line in lines)])
    values = np.concatenate([np.zeros(0), *(line.values[np.isfinite(line.values)] for line in lines)])
    levels = [*values.tolist(), *([threshold] if threshold is not None else [])]
    if not len(times) or not levels:
        drawing.text(WIDTH / 2, HEIGHT / 2, "no rows to draw", "soft")
        return document(drawing, f"{column}: no rows")
    marks = ticks(min(levels), max(levels))
    low, high = min(marks[0], min(levels)), max(marks[-1], max(levels))
    first, last = float(times.min()), float(times.max())
    reach = last - first or 1.0

    def x(time: float) -> float:
        return (time - first) / reach * WIDTH

    def y(value: float) -> float:
        return float(HEIGHT - (value - low) / (high - low) * HEIGHT)

    for mark in marks:
        drawing.parts.append(f'<path class="edge" style="opacity:.25" d="M0 {y(mark):.1f}H{WIDTH:.0f}"/>')
        drawing.text(-8, y(mark), f"{mark:.6g}", "soft", anchor="end", size=11)
        drawing.cover(-8 - text_width(f"{mark:.6g}", 11), y(mark))
    drawing.cover(WIDTH, 0)
    for share in (0.0, 0.5, 1.0) if last > first else (0.0,):
        shown = format_timestamp(int(first + share * (last - first)))
        drawing.text(share * WIDTH, HEIGHT + 16, shown, "soft", size=11)
    for line, colour in zip(lines, COLOURS, strict=False):
        drawing.parts += _line(line, colour, x, y)
    if threshold is not None:
        style = "stroke:#b00020;stroke-width:1.2;stroke-dasharray:5 4"
        drawing.parts.append(f'<path d="M0 {y(threshold):.1f}H{WIDTH:.0f}" style="{style}"/>')
    drawing.text(0, -18, column if by is None else f"{column} by {by}", "bold", anchor="start")
    if by is not None:
        _legend(drawing, lines, more)
    return document(drawing, f"{column} over time, {sum(len(line.times) for line in lines)} rows")


def _line(line: _Line, colour: str, x: Scale, y: Scale) -> list[str]:
    """A path that is broken where there is no value, and a dot for each row if they are few."""
    path, drawing = [], False
    dots = []
    for time, value in zip(line.times.tolist(), line.values.tolist(), strict=True):
        if not (math.isfinite(time) and math.isfinite(value)):
            drawing = False
            continue
        path.append(f"{'L' if drawing else 'M'}{x(time):.1f} {y(value):.1f}")
        dots.append(f'<circle cx="{x(time):.1f}" cy="{y(value):.1f}" r="2.4" style="fill:{colour}"/>')
        drawing = True
    stroke = f'<path d="{"".join(path)}" style="fill:none;stroke:{colour};stroke-width:1.5"/>'
    return [stroke, *(dots if len(dots) <= MOST_DOTS else [])]


def _legend(drawing: Drawing, lines: Sequence[_Line], more: int) -> None:
    place = 0.0
    for line, colour in zip(lines, COLOURS, strict=False):
        circle = f'<circle cx="{place + 5:.1f}" cy="{HEIGHT + 38:.1f}" r="4" style="fill:{colour}">'
        drawing.parts.append(f"{circle}<title>{escaped(line.name)}</title></circle>")
        drawing.text(place + 14, HEIGHT + 38, line.name, anchor="start", size=11)
        place += 34 + 7 * len(line.name)
    if more:
        drawing.text(place, HEIGHT + 38, f"and {more} more, not drawn", "soft", anchor="start", size=11)


# A range below this share of its values, or below this at all, is drawn as one value.
NARROW, LEAST_SPAN = 1e-12, 1e-300


def ticks(low: float, high: float) -> list[float]:
    """Round numbers around a range, about five of them."""
    size = max(abs(low), abs(high))
    if high - low <= max(NARROW * size, LEAST_SPAN):
        # As flat as doubles can tell.
        margin = 0.5 * (size if size > LEAST_SPAN else 1.0)
        low, high = low - margin, high + margin
    rough = (high - low) / TICKS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1.0, 2.0, 5.0, 10.0) if unit * factor >= rough)
    first = math.floor(low / step)
    return [step * n for n in range(first, math.ceil(high / step) + 1)]
