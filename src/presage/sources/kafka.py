"""`source = 'kafka'`: the messages of a topic, each exactly once.

The cursor holds the next offset of every partition, and the id of the topic, which changes if the topic is deleted and
created again. Nothing is committed to Kafka. A delivery is a fixed range of offsets, or nothing, whatever happens to
the topic in the meantime.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from presage.declarations.kafka import columns_of
from presage.model.catalog import Attribute, EventType
from presage.model.time import parse_timestamp
from presage.model.types import LONG, STRING
from presage.sources.messages import LINE, Reader
from presage.sources.prefetch import Fetched, Offsets, Prefetch, Ranges, in_order, together
from presage.sources.source import PAUSE, Source
from presage.storage import PART, ROW, Arrival, Checked, Cursor, Delivery
from presage.storage.columns import attributes_schema
from presage.storage.ingest import Rejected, located
from presage.storage.text_csv import read_nulls

ROWS = 500_000  # of one delivery
BYTES = 64 << 20  # of messages in one delivery, approximately
PROBE = 1_000  # rows to read of a partition that waits for others
FIRST_ROWS = 5_000  # of the first delivery, before the size of a message is known
LOOKING_SHARE = 10  # polling takes at most 1/10 of the time
REFUSED_PAUSE = 30.0  # after a refused login: brokers lock accounts after many attempts
AWAY_PAUSE = 2.0
LOOK_AGAIN_SECONDS = 5.0  # between checks for new partitions
WORTH_READING_AHEAD = 50_000  # messages


class Topic(Protocol):
    """A Kafka topic. An `OSError` is retried: an unreachable broker (`ConnectionError`), a missing topic
    (`FileNotFoundError`), refused credentials (`PermissionError`)."""

    def identify(self) -> tuple[str, list[int]]:
        """The id of the topic, and its current partitions."""

    def ends(self, partitions: list[int]) -> Offsets:
        """The offsets after the last readable messages."""

    def begins(self, partitions: list[int]) -> Offsets:
        """The least offsets that still exist."""

    def since(self, partitions: list[int], micros: int) -> Offsets:
        """The least offsets from a time on; the end where there is none."""

    def read(self, ranges: Ranges) -> pa.Table:
        """The messages of ranges of offsets: partition (int32), offset (int64), line (binary: the value and a line
        feed; null if it has no value)."""

    def close(self) -> None: ...


class KafkaSource(Source):
    name = "kafka"

    def __init__(self, event_type: EventType, topic: Topic, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        options = event_type.options
        self._type = event_type
        self._name = options["topic"]
        self._start = options.get("start", "earliest")
        self._topic = topic
        self._clock = clock
        self._reader = Reader(
            event_type.attributes,
            event_type.event_time,
            columns_of(event_type) if options.get("format") == "csv" else None,
            read_nulls(options.get("nulls")),
        )
        self._known: tuple[str, list[int]] | None = None
        self._looked = 0.0
        self._early: set[int] = set()  # partitions that wait for others to reach their event time
        self._bytes_each: float | None = None
        self._prefetch = Prefetch()
        self._behind = 0

    @property
    def left(self) -> int:
        return self._behind

    def read(self, cursor: Cursor | None) -> Delivery | None:
        began = self._clock()
        self.why, self.pause = "", PAUSE
        try:
            delivery = self._read(cursor)
        except OSError as failure:
            self._known = None
            self._prefetch.drop()
            self.why = str(failure)
            self.pause = REFUSED_PAUSE if isinstance(failure, PermissionError) else AWAY_PAUSE
            return None
        if delivery is None:
            self.pause = max(PAUSE, LOOKING_SHARE * (self._clock() - began))
        return delivery

    def close(self) -> None:
        self._topic.close()

    def position(self, cursor: Cursor | None) -> str:
        if cursor is None:
            return "not begun"
        # A topic may have hundreds of partitions.
        shown = [f"{partition}: {offset}" for partition, offset in list(cursor["next"].items())[:20]]
        more = f", and {len(cursor['next']) - 20} more" if len(cursor["next"]) > 20 else ""
        lost = f"; {cursor['lost']} offsets were gone before they could be read" if cursor["lost"] else ""
        return f"next offset of each partition: {', '.join(shown)}{more}{lost}"

    def _read(self, cursor: Cursor | None) -> Delivery | None:
        if self._known is None or self._clock() - self._looked > LOOK_AGAIN_SECONDS:
            self._known, self._looked = self._topic.identify(), self._clock()
        _, partitions = self._known
        ends = self._topic.ends(partitions)
        if cursor is not None and all(_next(cursor).get(p, 0) == end for p, end in ends.items()):
            self._behind = 0
            if self._known[0] == cursor["topic"]:
                return None
        # There are new messages: make sure that they belong to the same topic.
        self._known = self._topic.identify()
        identity, partitions = self._known
        ends, begins = self._topic.ends(partitions), self._topic.begins(partitions)
        if cursor is None:
            return self._first(identity, begins, ends)
        return self._continue(cursor, identity, begins, ends)

    def _first(self, identity: str, begins: Offsets, ends: Offsets) -> Delivery | None:
        """Commit the start offsets before reading: with `latest`, no later message is missed."""
        if self._start == "earliest":
            start = begins
        elif self._start == "latest":
            start = ends
        else:
            start = self._topic.since([*ends], parse_timestamp(self._start) or 0)
        cursor = {"topic": identity, "made": 1, "next": _plain(start), "lost": 0}
        left = {p: ends[p] - at for p, at in start.items() if at < ends[p]}
        if sum(left.values()) >= WORTH_READING_AHEAD:
            self._prefetch.left_over(identity, start)
            self._prefetch.read_on(self._topic.read, self._ranges(start, left))
        return Delivery(self.name, None, cursor, [])

    def _continue(self, cursor: Cursor, identity: str, begins: Offsets, ends: Offsets) -> Delivery | None:
        known, lost, made = _next(cursor), cursor["lost"], cursor["made"]
        gaps = Rejected()
        if identity != cursor["topic"]:
            made, known = made + 1, dict(begins)
            self.note(f"the topic '{self._name}' was deleted and made again: it is read from its beginning")
        # A partition that was added later is read from its first message, regardless of `start`.
        start = {partition: known.get(partition, 0) for partition in ends}
        for partition, at in start.items():
            part = _label(self._name, partition, made)
            if at < begins[partition]:
                gone = f"offsets {at} to {begins[partition] - 1}"
                gaps.add(f"{gone} were deleted by Kafka before they could be read", "", f"{part}:{at}")
                self.note(f"{gone} of '{part}' were deleted by Kafka before they could be read")
                lost += begins[partition] - at
                start[partition] = begins[partition]
            elif at > ends[partition]:
                why = f"the partition ends at {ends[partition]}, though it was read up to {at}: "
                why += "Kafka has lost messages, and has put others in their place"
                gaps.add(why, "", f"{part}:{ends[partition]}")
                self.note(f"'{part}' is shorter than it was: it is read on from offset {ends[partition]}")
                start[partition] = ends[partition]
        left = {partition: ends[partition] - at for partition, at in start.items()}
        self._behind = sum(left.values())
        checked, after = self._messages(identity, made, start, left)
        if gaps:
            checked.rejected.extend(gaps)
        next_cursor = {"topic": identity, "made": made, "next": _plain({**start, **after}), "lost": lost}
        if next_cursor == cursor:
            return None
        arrivals = [Arrival(self._name, checked)] if checked.table.num_rows or checked.rejected else []
        return Delivery(self.name, cursor, next_cursor, arrivals)

    # -- messages ------------------------------------------------------------------------------------

    def _messages(self, identity: str, made: int, start: Offsets, left: Offsets) -> tuple[Checked, Offsets]:
        """The next rows, and the next offsets of their partitions. Partitions with more messages than one delivery
        holds advance together in event time: otherwise one would make the events of another late."""
        several = {p: n for p, n in left.items() if n}
        if not several:
            return self._nothing(), {}
        read = self._next(identity, start, several)
        if self._topic.identify()[0] != identity:
            raise FileNotFoundError(f"the topic '{self._name}' was deleted while it was read")
        ranges, messages = read.ranges, read.messages
        if messages.num_rows:
            self._bytes_each = messages[LINE].nbytes / messages.num_rows
        still = {p: start[p] + n - ranges.get(p, (0, start[p]))[1] for p, n in several.items()}
        if sum(still.values()) >= WORTH_READING_AHEAD:
            ends = {p: start[p] + several[p] - n for p, n in still.items()}
            self._prefetch.read_on(self._topic.read, self._ranges(ends, {p: n for p, n in still.items() if n}))
        checked = self._reader.read(self._labelled(messages, made))
        ended = {p: ranges[p][1] == start[p] + left[p] for p in ranges}
        cuts = in_step(self._rows_of(checked, made, ranges), ended)
        self._early = {p for p, cut in cuts.items() if cut == start[p]}
        self._prefetch.keep(read.beyond(cuts))
        return self._up_to(checked, made, cuts), {p: cuts.get(p, end) for p, (_, end) in ranges.items()}

    def _next(self, identity: str, start: Offsets, left: Offsets) -> Fetched:
        """Messages from `start` on; some may be prefetched."""
        over = self._prefetch.left_over(identity, start)
        at = {p: over.ranges.get(p, (0, first))[1] for p, first in start.items()}
        more = self._prefetch.come(at)
        if more is None:
            # Read no more messages of a partition that is early and has some left.
            wanted = {p: start[p] + n - at[p] for p, n in left.items() if p not in self._early or p not in over.ranges}
            ranges = self._ranges(at, {p: n for p, n in wanted.items() if n})
            more = Fetched(ranges, in_order(self._topic.read(ranges))) if ranges else Fetched({}, over.messages)
        return together([over, more])

    def _ranges(self, start: Offsets, left: Offsets) -> Ranges:
        wanted = {p: min(n, PROBE) if p in self._early else n for p, n in left.items()}
        share = min(1.0, self._rows() / max(1, sum(wanted.values())))
        return {p: (start[p], start[p] + max(1, int(n * share))) for p, n in wanted.items()}

    def _rows(self) -> int:
        return FIRST_ROWS if self._bytes_each is None else max(1, min(ROWS, int(BYTES / max(1.0, self._bytes_each))))

    def _labelled(self, messages: pa.Table, made: int) -> pa.Table:
        """The messages with labels of their partitions."""
        partitions = messages["partition"].to_numpy()
        names, codes = np.unique(partitions, return_inverse=True)
        labels = pa.array([_label(self._name, int(p), made) for p in names], pa.string())
        parts = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), labels)
        return pa.table([parts, messages["offset"], messages[LINE]], names=[PART, ROW, LINE])

    def _rows_of(self, checked: Checked, made: int, ranges: Ranges) -> dict[int, tuple[Numbers, Numbers]]:
        """Offsets and event times of the rows of each partition."""
        assert self._type.event_time is not None
        times = checked.table[self._type.event_time].cast(pa.int64()).to_numpy()
        offsets = checked.table[ROW].to_numpy()
        if len(ranges) == 1:
            return {next(iter(ranges)): (offsets, times)}
        labels = {partition: _label(self._name, partition, made) for partition in ranges}
        masks = {partition: pc.equal(checked.table[PART], label).to_numpy() for partition, label in labels.items()}
        return {partition: (offsets[mask], times[mask]) for partition, mask in masks.items()}

    def _up_to(self, checked: Checked, made: int, cuts: Offsets) -> Checked:
        """Only the rows before the cuts."""
        if not cuts:
            return checked
        keep = np.ones(checked.table.num_rows, dtype=bool)
        offsets = checked.table[ROW].to_numpy()
        by_label = {_label(self._name, partition, made): cut for partition, cut in cuts.items()}
        for label, cut in by_label.items():
            keep &= ~(pc.equal(checked.table[PART], label).to_numpy() & (offsets >= cut))
        places = [origin.rpartition(":") for origin in checked.rejected.origins]
        bad = [i for i, (label, _, at) in enumerate(places) if int(at) < by_label.get(label, int(at) + 1)]
        rows, rejected = checked.table.filter(pa.array(keep)), checked.rejected.take(bad)
        return Checked(rows, rejected, checked.ignored, located(checked.locate, keep))

    def _nothing(self) -> Checked:
        attributes = (*self._type.attributes, Attribute(ROW, LONG), Attribute(PART, STRING))
        return Checked(attributes_schema(attributes).empty_table())


def _label(topic: str, partition: int, made: int) -> str:
    """A partition as named in `#offsets` and origins; `made`: how often the topic was created."""
    return f"{topic}-{partition}" if made == 1 else f"{topic}-{partition}#{made}"


def _next(cursor: Cursor) -> Offsets:
    return {int(partition): offset for partition, offset in cursor["next"].items()}


def _plain(offsets: Offsets) -> dict[str, int]:
    """As JSON: keys are text."""
    return {str(partition): offsets[partition] for partition in sorted(offsets)}


Numbers = npt.NDArray[np.int64]


def in_step(rows: Mapping[int, tuple[Numbers, Numbers]], ended: Mapping[int, bool]) -> dict[int, int]:
    """By partition: the offset from which on it must wait, so that no partition runs ahead of another in event time.

    `rows`: offsets and event times by partition; `ended`: whether the partition has no more messages now. A partition
    with more messages bounds the others: rows after its last time would make its next rows late. Partitions that have
    ended neither wait nor bound others. The partition with the least bound never waits: there is always progress.
    """
    bounds = [int(times.max()) for p, (_, times) in rows.items() if len(times) and not ended[p]]
    if not bounds:
        return {}
    beyond = {p: np.flatnonzero(times > min(bounds)) for p, (_, times) in rows.items()}
    return {p: int(rows[p][0][late[0]]) for p, late in beyond.items() if len(late)}
