"""A stream's option `retention` and what is still in use in, the files whose events may go out."""

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
    """How far the readers of a home are: for each stream, (position, clock) of each statement that reads it.

    A statement that has read up to a position still needs all events after it; one whose clock has come to a time
    (microseconds; None: it has not started) still needs all events after that time, however early they arrived.
    """

    readers: dict[str, Sequence[tuple[int, int | None]]] = field(default_factory=dict)

    def needs(self, stream: str, file: LiveFile) -> bool:
        for position, clock in self.readers.get(stream, ()):
            if clock is None or file.last_seq is None or file.last_time is None:
                return True
            if file.last_seq > position or file.last_time > clock:
                return True
        return False


def retention_of(event_type: EventType) -> int | None:
    """Microseconds for which a stream keeps its events; None: for ever."""
    if event_type.options.get("archive", "true").lower() == "false":
        return 0  # as long as a statement has still to read it
    text = event_type.options.get("retention")
    return None if text is None else parse_duration(text)


class Retention:
    def __init__(self, committer: Committer) -> None:
        self._committer = committer

    def retain(self, stream: str, keep: int, in_use: InUse, now: int) -> int:
        """Remove the whole files of a stream whose events are all older than `keep`; the number of events removed.

        The age of an event is told by the greatest event time of the stream, or by the wall clock where that is
        behind: one event from the far future does not make all others old.
        """
        with self._committer.turn() as turn:
            state = self._committer.state.streams.get(stream)
            if state is None or state.last_time is None:
                return 0
            oldest = min(state.last_time, now) - keep
            events = [f for f in self._older(stream, EVENTS, oldest) if not in_use.needs(stream, f)]
            pinned = self._committer.leases.oldest()
            if pinned is not None:
                events = [file for file in events if file.last_seq is not None and file.last_seq <= pinned]
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
        # A derived stream has neither late events nor rejected ones, and no tables for them.
        held = (stream, table) in self._committer.tables()
        files: Iterable[LiveFile] = self._committer.files(stream, table) if held else ()
        times = ((file, _last(file, table)) for file in files)
        return [file for file, last in times if last is not None and last < oldest]


def _last(file: LiveFile, table: str) -> int | None:
    if table != REJECTED:
        return file.last_time
    at = file.high.get("at")  # a rejected row has no event time: when it came counts
    return None if at is None else parse_timestamp(at)
