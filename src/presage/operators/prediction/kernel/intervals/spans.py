"""Intervals of several objects, one of each side, identified by codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from presage.arrays.codes import first_of
from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.prediction.kernel.intervals.merge import Intervals, merge
from presage.operators.prediction.kernel.join import Matches
from presage.operators.prediction.kernel.values import Validity

UNBOUND = -1


@dataclass(frozen=True)
class Spans:
    """`codes`: a row for each interval, a column for each side; -1 for a side that is not bound yet. `start`, `end`:
    microseconds. `probability`: NaN if there is none."""

    codes: Ints
    start: Ints
    end: Ints
    start_open: Bools
    end_open: Bools
    probability: Floats

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: Ints | Bools) -> Spans:
        if rows.dtype == np.bool_:
            # Once, instead of in every column.
            rows = np.flatnonzero(rows)
        return Spans(*(column[rows] for column in self._columns()))

    def part(self, begin: int, end: int) -> Spans:
        return Spans(*(column[begin:end] for column in self._columns()))

    def _columns(self) -> Iterator[np.ndarray]:
        return (getattr(self, name) for name in Spans.__annotations__)


def of_one(found: Validity) -> Spans:
    return Spans(found.key[:, None].copy(), *found[1:])


def of_pair(found: Matches, left: int, right: int, sides: int) -> Spans:
    codes = np.full((len(found), sides), UNBOUND, np.int64)
    codes[:, left], codes[:, right] = found.left, found.right
    return Spans(codes, found.valid_from, found.valid_to, found.from_open, found.to_open, found.probability)


def joined(several: Sequence[Spans]) -> Spans:
    columns = zip(*(spans._columns() for spans in several), strict=True)
    return Spans(*(np.concatenate(parts) for parts in columns))


def turned(spans: Spans, shown: Floats) -> tuple[Spans, Floats]:
    """Exchange two equal sides; `shown` has the same number of columns for each."""
    half = shown.shape[1] // 2
    return replace(spans, codes=spans.codes[:, ::-1]), np.concatenate([shown[:, half:], shown[:, :half]], axis=1)


def groups_of(codes: Ints) -> Ints:
    """A number for each combination of objects."""
    group, last = codes[:, 0], codes.shape[1] - 1
    for side in range(1, codes.shape[1]):
        width = int(codes[:, side].max(initial=0)) + 1
        if side == last:
            # Codes and group numbers are below 2**31: the product fits.
            return np.ascontiguousarray(group * width + codes[:, side])
        _, group = np.unique(group * width + codes[:, side], return_inverse=True)
        group = group.reshape(-1)
    return np.ascontiguousarray(group, np.int64)


def continued(carried: Spans, found: Spans, moment: int | None) -> tuple[Spans, Ints, int]:
    """The maximal intervals of the carried and the new ones, those that end before the moment first; for each the
    carried one that it continues, or -1; the number of those that have ended."""
    both = joined([carried, found])
    zeros = np.zeros(len(both))
    merged, row = merge(
        Intervals(
            groups_of(both.codes), both.start, both.end, zeros, zeros, both.start_open, both.end_open, both.probability
        )
    )
    first = first_of(row, len(merged))
    spans = Spans(both.codes[first], merged.start, merged.end, merged.start_open, merged.end_open, merged.probability)
    lasts = np.zeros(len(spans), np.bool_) if moment is None else spans.end >= moment
    order = np.argsort(lasts, kind="stable")
    origin = np.where(first < len(carried), first, -1)
    return spans.take(order), origin[order], len(spans) - int(lasts.sum())


def linked(first: Spans, second: Spans) -> Spans:
    """The join of intervals on their common objects: intervals are intersected, probabilities multiplied."""
    bound = (_binds(first) & _binds(second)).nonzero()[0]
    a, b = equal_rows(first.codes[:, bound], second.codes[:, bound])
    codes = np.where(first.codes[a] == UNBOUND, second.codes[b], first.codes[a])
    later, sooner = first.start[a] < second.start[b], second.end[b] < first.end[a]
    tied_start, tied_end = first.start[a] == second.start[b], first.end[a] == second.end[b]
    made = Spans(
        codes,
        np.where(later, second.start[b], first.start[a]),
        np.where(sooner, second.end[b], first.end[a]),
        _of_both(later, tied_start, first.start_open[a], second.start_open[b]),
        _of_both(sooner, tied_end, first.end_open[a], second.end_open[b]),
        first.probability[a] * second.probability[b],
    )
    whole = (made.start < made.end) | ((made.start == made.end) & ~made.start_open & ~made.end_open)
    return made.take(whole)


def _of_both(second: Bools, tied: Bools, a: Bools, b: Bools) -> Bools:
    result: Bools = np.where(tied, a | b, np.where(second, b, a))
    return result


def _binds(spans: Spans) -> Bools:
    result: Bools = (spans.codes != UNBOUND).any(axis=0) if len(spans) else np.ones(spans.codes.shape[1], np.bool_)
    return result


def equal_rows(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """All pairs of equal rows."""
    _, code = np.unique(np.concatenate([left, right]), axis=0, return_inverse=True)
    code = code.reshape(-1)
    here, there = code[: len(left)], code[len(left) :]
    order = np.argsort(there, kind="stable")
    low = np.searchsorted(there[order], here, side="left")
    counts = np.searchsorted(there[order], here, side="right") - low
    a = np.repeat(np.arange(len(here)), counts)
    within = np.arange(len(a)) - np.repeat(np.cumsum(counts) - counts, counts)
    return a, order[np.repeat(low, counts) + within]


def ticks_within(start: Ints, end: Ints, ticks: range) -> Iterator[int]:
    """The ticks t of VALIDATE EVERY with start < t <= end for some interval, in order, each once. O(n log n) in the
    intervals; ticks between them are not visited."""
    first = np.maximum((start - ticks.start) // ticks.step + 1, 0)
    last = np.minimum((end - ticks.start) // ticks.step, len(ticks) - 1)
    some = first <= last
    first, last = first[some], last[some]
    order = np.argsort(first, kind="stable")
    reached = np.maximum.accumulate(last[order]) if len(order) else last
    # A run of ticks begins after all previous intervals have ended.
    begins = np.flatnonzero(np.concatenate([[True], first[order][1:] > reached[:-1]])[: len(order)])
    stops = np.concatenate([begins[1:], [len(order)]])[: len(begins)] - 1
    for low, high in zip(first[order][begins].tolist(), reached[stops].tolist(), strict=True):
        yield from ticks[low : high + 1]
