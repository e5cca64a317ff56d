"""Validation of the distributions in a probabilistic stream.

A distribution belongs to a key and a step (in a Markov stream also to the values of the step before). Its
probabilities, over all loads, sum to at most 1. So the rows of open steps are cached; after a restart they are read
from the archive. A load costs linear time in its rows and the cached rows of its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.equality import equality_codes, first_occurrences
from presage.model.catalog import PROBABILITY, EventType, Uncertain
from presage.model.time import format_timestamp
from presage.storage.columns import MIN_TIME, attributes_schema
from presage.storage.home_state import StreamState
from presage.storage.value_coercion import show

TOLERANCE = 1e-9  # by which a sum may exceed 1
MANY_CHUNKS = 64

# Reads columns of the archive from an event time on.
Read = Callable[[EventType, int, list[str]], pa.Table]
Reasons = dict[int, str]


@dataclass(frozen=True)
class _OpenSteps:
    """Rows of the open steps of a stream whose last sequence number is `last_seq`.

    Sequence numbers are unique in a home, so they also distinguish a stream from a dropped one of its name.
    """

    last_seq: int
    rows: pa.Table


class Distributions:
    """The open steps of all probabilistic streams of a home."""

    def __init__(self, read: Read) -> None:
        self._read = read
        # By stream: the rows that are published, and those including a load that is about to be published.
        self._open: dict[str, tuple[_OpenSteps, ...]] = {}

    def judge(self, table: pa.Table, event_type: EventType, state: StreamState) -> Reasons:
        """The reasons to reject rows of a load, by row. Late rows do not take part in distributions."""
        uncertain = event_type.probabilistic
        if uncertain is None or not table.num_rows:
            return {}
        reasons = _unfit(table, event_type, uncertain)
        fit = np.ones(table.num_rows, np.bool_)
        fit[list(reasons)] = False
        times = _times(table, event_type)
        if state.watermark is not None:
            fit &= times >= state.watermark
        rows = np.flatnonzero(fit)
        if len(rows):
            earlier = self._rows(event_type, state)
            earlier = earlier.filter(pa.array(np.isin(_times(earlier, event_type), np.unique(times[rows]))))
            excess = _excess(earlier, table.take(pa.array(rows)), event_type, uncertain)
            reasons.update({int(rows[row]): reason for row, reason in excess.items()})
        return reasons

    def propose(self, events: pa.Table, event_type: EventType, state: StreamState, last_seq: int) -> None:
        """Cache the events of a load that is about to be published. The stream's `last_seq` tells later whether it was
        published."""
        if event_type.probabilistic is None or not events.num_rows:
            return
        earlier = self._rows(event_type, state)
        rows = pa.concat_tables([earlier, events.select(earlier.column_names)])
        times = _times(rows, event_type)
        # Older rows are late from now on.
        oldest = max(int(times.max()) - event_type.max_delay, MIN_TIME if state.watermark is None else state.watermark)
        rows = rows.filter(pa.array(times >= oldest))
        if rows.column(0).num_chunks > MANY_CHUNKS:
            rows = rows.combine_chunks()
        self._open[event_type.name] = (_OpenSteps(state.last_seq, earlier), _OpenSteps(last_seq, rows))

    def _rows(self, event_type: EventType, state: StreamState) -> pa.Table:
        for steps in self._open.get(event_type.name, ()):
            if steps.last_seq == state.last_seq:
                return steps.rows
        columns = _columns(event_type)
        if state.watermark is None:
            rows = attributes_schema(event_type.attributes).empty_table().select(columns)
        else:
            rows = self._read(event_type, state.watermark, columns)
        self._open[event_type.name] = (_OpenSteps(state.last_seq, rows),)
        return rows


def _columns(event_type: EventType) -> list[str]:
    uncertain = event_type.probabilistic
    assert uncertain is not None
    assert event_type.event_time is not None
    return [*event_type.key, event_type.event_time, *uncertain.attributes, PROBABILITY, *uncertain.before]


def _times(table: pa.Table, event_type: EventType) -> npt.NDArray[np.int64]:
    times: npt.NDArray[np.int64] = table[event_type.event_time].cast(pa.int64()).to_numpy()
    return times


def _nulls(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    nulls: npt.NDArray[np.bool_] = column.is_null().to_numpy()
    return nulls


def _unfit(table: pa.Table, event_type: EventType, uncertain: Uncertain) -> Reasons:
    """The rows that are invalid by themselves, each with the first reason."""
    reasons: Reasons = {}

    def note(rows: npt.NDArray[np.bool_], reason: Callable[[int], str]) -> None:
        for row in np.flatnonzero(rows).tolist():
            if row not in reasons:
                reasons[row] = f"{reason(row)} ({_place(table, row, event_type, uncertain)})"

    for name in event_type.key:
        note(_nulls(table[name]), lambda row, name=name: f"'{name}' of KEY is null")  # type: ignore[misc]
    for name in uncertain.attributes:
        why = f"the uncertain attribute '{name}' is null: that nothing happened is the mass that is left out"
        note(_nulls(table[name]), lambda row, why=why: why)  # type: ignore[misc]
    chances = table[PROBABILITY]
    note(_nulls(chances), lambda row: f"'{PROBABILITY}' is null, it must be a number from 0 to 1")
    fits = pc.and_(pc.greater_equal(chances, 0.0), pc.less_equal(chances, 1.0)).fill_null(True).to_numpy()
    note(~fits, lambda row: f"'{PROBABILITY}' must be a number from 0 to 1, found {show(chances[row].as_py())}")
    if uncertain.before:
        missing = np.sum([_nulls(table[name]) for name in uncertain.before], axis=0)
        names = ", ".join(f"'{name}'" for name in uncertain.before)
        why = f"some of {names} are null and some are not: give what all of them were, or that none was"
        note((missing > 0) & (missing < len(uncertain.before)), lambda row: why)
    return reasons


def _excess(earlier: pa.Table, table: pa.Table, event_type: EventType, uncertain: Uncertain) -> Reasons:
    """Rows of a load that repeat an alternative, or whose distribution sums to more than 1 with the earlier rows."""
    both = pa.concat_tables([earlier, table.select(_columns(event_type))])
    key_and_step = _columns(event_type)[: len(event_type.key) + 1]
    owners, count = equality_codes([both[name] for name in (*key_and_step, *uncertain.before)], both.num_rows)
    values = [both[name] for name in uncertain.attributes]
    alternatives, _ = equality_codes([pa.chunked_array([pa.array(owners)]), *values], both.num_rows)
    first = first_occurrences(alternatives)
    sums = np.bincount(owners, weights=both[PROBABILITY].to_numpy() * first, minlength=count)
    reasons: Reasons = {}
    places: dict[int, str] = {}  # texts of distributions, which their rows share
    for row in np.flatnonzero(~first | (sums > 1 + TOLERANCE)[owners]).tolist():
        mine = row - earlier.num_rows
        if mine < 0:
            continue  # an earlier row stays
        owner = int(owners[row])
        place = places.get(owner) or places.setdefault(owner, _place(table, mine, event_type, uncertain))
        if first[row]:
            reasons[mine] = f"the distribution of {place} sums to {sums[owner]:.12g}, more than 1"
        else:
            shown = _spelled(table, mine, uncertain.attributes)
            reasons[mine] = f"the alternative {shown} is there already in the distribution of {place}"
    return reasons


def _place(table: pa.Table, row: int, event_type: EventType, uncertain: Uncertain) -> str:
    """Key and step of a row and, in a Markov stream, the values of the step before."""
    step = format_timestamp(table[event_type.event_time][row].value)
    before = f" given {_spelled(table, row, uncertain.before)}" if uncertain.before else ""
    return f"{_spelled(table, row, event_type.key)} at {step}{before}"


def _spelled(table: pa.Table, row: int, names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} = {show(table[name][row].as_py())}" for name in names)
