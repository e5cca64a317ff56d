"""Intervals that are still open at the watermark, and their table in the state.

Objects are codes within a step; the state has the columns that identify them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from presage.arrays.columns import bools, column, floats, ints
from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.prediction.kernel.intervals.spans import Spans, joined, turned


@dataclass(frozen=True)
class Ongoing:
    """Intervals with their shown values; `again`: the interval is the rest of one that was cut and emitted."""

    spans: Spans
    shown: Floats
    again: Bools

    def __len__(self) -> int:
        return len(self.again)

    def take(self, rows: Ints | Bools) -> Ongoing:
        if rows.dtype == np.bool_:
            if rows.all():
                return self
            rows = np.flatnonzero(rows)
        return Ongoing(self.spans.take(rows), self.shown[rows], self.again[rows])

    def part(self, begin: int, end: int) -> Ongoing:
        return Ongoing(self.spans.part(begin, end), self.shown[begin:end], self.again[begin:end])


def read_ongoing(carried: pa.Table | None, codes: Ints, shown: int, evaluated: int | None) -> Ongoing:
    """`codes`: of the objects; `shown`: the number of shown values; `evaluated`: the last evaluated moment."""
    if carried is None or evaluated is None:
        none, nothing = np.empty(0, np.int64), np.empty(0, np.bool_)
        spans = Spans(codes, none, none, nothing, nothing, np.empty(0))
        return Ongoing(spans, np.empty((0, shown)), nothing)
    count = carried.num_rows
    spans = Spans(
        codes,
        ints(carried, "from"),
        np.full(count, evaluated),
        bools(column(carried, "from_open")),
        np.zeros(count, np.bool_),
        floats(carried, "probability"),
    )
    values = [floats(carried, f"x{i}") for i in range(shown)]
    return Ongoing(spans, np.stack(values, axis=1) if values else np.empty((count, 0)), bools(column(carried, "again")))


def ongoing_table(ongoing: Ongoing, objects: Sequence[pa.Table]) -> pa.Table:
    """The table that `read_ongoing` reads. `objects`: for each side a row for each interval."""
    spans = ongoing.spans
    return pa.table(
        {
            **{name: part[name] for part in objects for name in part.column_names},
            "from": pa.array(spans.start),
            "from_open": pa.array(spans.start_open),
            "probability": pa.array(spans.probability),
            "again": pa.array(ongoing.again),
            **{f"x{i}": pa.array(ongoing.shown[:, i]) for i in range(ongoing.shown.shape[1])},
        }
    )


def rising(found: Ongoing) -> Ongoing:
    """With the smaller code first, as in the result of a symmetric join."""
    falls = found.spans.codes[:, 0] > found.spans.codes[:, 1]
    spans, shown = turned(found.spans, found.shown)
    codes = np.where(falls[:, None], spans.codes, found.spans.codes)
    return replace(found, spans=replace(found.spans, codes=codes), shown=np.where(falls[:, None], shown, found.shown))


def together(one: Ongoing, other: Ongoing) -> Ongoing:
    return Ongoing(
        joined([one.spans, other.spans]),
        np.concatenate([one.shown, other.shown]),
        np.concatenate([one.again, other.again]),
    )
