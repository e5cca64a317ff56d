"""Limits on loaded rows: events from the far future, and the number of names of ignored attributes.

A single event of the year 9999 would advance the watermark so far that all later events are late. So an event may be at
most `max_ahead` (an option of the stream) after the wall clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from presage.errors import error
from presage.model.catalog import EventType
from presage.model.time import MICROS, format_duration, format_timestamp, parse_duration
from presage.storage.columns import MAX_TIME, MIN_TIME
from presage.storage.ingest import Checked

MAX_AHEAD = 3650 * MICROS["day"]
# 2026-01-01. An earlier wall clock is wrong, and must not make today's events look like ones of the far future.
EARLIEST_CLOCK = 1_767_225_600_000_000
MAX_NAMES = 1_000  # names of ignored attributes that are counted separately
MAX_NAME = 80  # characters of such a name
OTHERS = "other names"


def max_ahead(event_type: EventType) -> int:
    """How far after the wall clock an event of the stream may be, in microseconds."""
    given = parse_duration(event_type.options.get("max_ahead", ""))
    return MAX_AHEAD if given is None else given


def latest(at: int, ahead: int) -> int:
    """The greatest event time that is accepted at wall time `at`."""
    return min(max(at, EARLIEST_CLOCK) + ahead, MAX_TIME)


def refuse_ahead(checked: Checked, event_type: EventType, at: int) -> Checked:
    """Reject the events that are more than the stream's `max_ahead` after the wall time `at`."""
    assert event_type.event_time is not None
    times = checked.table[event_type.event_time].cast(pa.int64()).to_numpy()
    ahead = max_ahead(event_type)
    if not len(times) or times.max() <= latest(at, ahead):
        return checked
    reason = _too_far(event_type.event_time, ahead, at)
    rows = np.flatnonzero(times > latest(at, ahead)).tolist()
    return checked.refuse({row: f"{reason}, found {format_timestamp(int(times[row]))}" for row in rows})


def check_watermark(stream: str, time: int, ahead: int, at: int) -> int:
    """The watermark to log. One from the far future is refused, as an event would be."""
    if time > latest(at, ahead):
        found = f"{_too_far('watermark', ahead, at)}, found {format_timestamp(time)}"
        fix = "give a watermark that the stream's events can reach, or raise the stream's max_ahead"
        raise error("DATA_SHAPE", what=f"a watermark for stream '{stream}'", found=found, fix=fix)
    return max(time, MIN_TIME)


def limit_names(counts: Mapping[str, int], known: Mapping[str, int]) -> dict[str, int]:
    """Counts by name, added to `known`. Long names are cut; names past the limit are counted together."""
    total = Counter(dict(known))
    for name, count in counts.items():
        short = name.encode(errors="replace").decode()
        short = short if len(short) <= MAX_NAME else short[: MAX_NAME - 1] + "…"
        total[short if short in total or len(total) < MAX_NAMES else OTHERS] += count
    return dict(total)


def _too_far(what: str, ahead: int, at: int) -> str:
    clock = format_timestamp(max(at, EARLIEST_CLOCK))
    return f"'{what}' is more than {format_duration(ahead)} (the limit max_ahead) after the wall clock, {clock}"
