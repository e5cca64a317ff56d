"""Retention of streams: removes files whose events are older than the option `retention` and not in use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from presage.model.catalog import EventType
from presage.model.time import parse_duration, parse_timestamp
from presage.storage.columns import EVENTS, LATE, REJECTED
from presage.storage.committer import Committer
from presage.storage.delta import LiveFile
from presage.storage.journal import Part, Record


@dataclass(frozen=True)
class InUse:
    """The progress of deployed statements: by stream, (position, watermark) of each statement that reads it.

    A statement still needs all events after its position, and all events after its watermark (microseconds; None: not
    started), however early they arrived.
    """

    readers: dict[str, Sequence[tuple[int, int | None]]] = field(default_factory=dict)

    def needs(self, stream: str, file: LiveFile) -> bool:
        for position, watermark in self.readers.get(stream, ()):
            if watermark is None or file.last_seq is None or file.last_time is None:
                return True
            if file.last_seq > position or file.last_time > watermark:
                return True
        return False


def retention_of(event_type: EventType) -> int | None:
    """Microseconds for which a stream keeps its events; None: forever."""
    if event_type.options.get("archive", "true").lower() == "false":
        return 0  # only until all statements have read them
    text = event_type.options.get("retention")
    return None if text is None else parse_duration(text)


class Retention:
    def __init__(self, committer: Committer) -> None:
        self._committer = committer

    def retain(self, stream: str, keep: int, in_use: InUse, now: int) -> int:
        """Remove the files of a stream whose events are all older than `keep`; the number of removed events.

        The age of an event is measured from the stream's greatest event time, or from the wall clock if that is
        earlier: one event from the far future must not make all others old.
        """
        with self._committer.turn() as turn:
            state = self._committer.state.streams.get(stream)
            if state is None or state.last_time is None:
                return 0
            oldest = min(state.last_time, now) - keep
            events = [f for f in self._older(stream, EVENTS, oldest) if not in_use.needs(stream, f)]
            leased = self._committer.leases.oldest()
            if leased is not None:
                events = [file for file in events if file.last_seq is not None and file.last_seq <= leased]
            removes = {
                EVENTS: events,
                LATE: self._older(stream, LATE, oldest),
                REJECTED: self._older(stream, REJECTED, now - keep),
            }
            names = {table: [file.name for file in files] for table, files in removes.items() if files}
            removed = sum(file.rows for file in events)
            if names:
                part = Part(stream, removes=names, removed=removed)
                self._committer.publish(turn, Record(turn.n, "retention", turn.at, parts=[part]))
            return removed

    def _older(self, stream: str, table: str, oldest: int) -> list[LiveFile]:
        # A derived stream has no tables of late and rejected rows.
        exists = (stream, table) in self._committer.tables()
        files: Iterable[LiveFile] = self._committer.files(stream, table) if exists else ()
        times = ((file, _last(file, table)) for file in files)
        return [file for file, last in times if last is not None and last < oldest]


def _last(file: LiveFile, table: str) -> int | None:
    if table != REJECTED:
        return file.last_time
    at = file.high.get("at")  # a rejected row has no event time: use its arrival
    return None if at is None else parse_timestamp(at)
