"""The planner's cache: what it derives from the deployed statements, valid while they are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.input_range import InputPosition
from presage.live.program import InputSignature, Program
from presage.live.statement import Statement
from presage.live.tasks import SharedMembers
from presage.plan.nodes import Extent
from presage.storage import Log


class StartOffsets:
    """Start offsets of statements, kept until the watermark passes them. Once it has passed all events before an
    offset, the offset has no effect, and statements with different offsets read the same."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._ends: dict[tuple[str, int], int] = {}  # by stream and offset: the watermark that passes it
        self._old: dict[tuple[str, int], int] = {}
        self._next: dict[frozenset[str], int] = {}  # by input streams: the least such watermark to come

    def forget(self) -> None:
        """Drop the offsets that no statement of the next round uses."""
        self._old, self._ends, self._next = self._ends, {}, {}

    def settled(self, signature: InputSignature, position: InputPosition) -> InputSignature:
        """The signature of a statement in step at this position, without the start offsets that are passed."""
        extents = tuple(self._settled(extent, signature.streams, position) for extent in signature.extents)
        return signature if extents == signature.extents else signature._replace(extents=extents)

    def _settled(self, extent: Extent, streams: frozenset[str], position: InputPosition) -> Extent:
        stream, time, after, until, made = extent
        if after is None or made:
            return extent
        end = self._ends.get((stream, after), self._old.get((stream, after)))
        if end is None:
            last = self._log.archive.last_time(stream)
            end = NOTHING_KNOWN if last is None else last
        self._ends[stream, after] = end
        if after <= position.offset and end <= position.watermark:
            return stream, time, None, until, made
        self._next[streams] = min(self._next.get(streams, end), end)
        return extent

    def are_passed(self, position: Callable[[frozenset[str]], InputPosition]) -> bool:
        """Whether the watermark has passed one of them since the last round."""
        return any(end <= position(streams).watermark for streams, end in self._next.items())


class Group(NamedTuple):
    """The members `start` to `stop` (excluded) of a shared execution, which read the same; `statement` is the first."""

    start: int
    stop: int
    statement: Statement


@dataclass(frozen=True)
class PlannerCache:
    """Derived from `given`, the deployed statements, and valid for this list object."""

    given: Sequence[Statement]
    deployed: list[Statement]
    running: list[Statement]  # each after its producers
    signatures: dict[str, InputSignature]  # by statement; equal ones are one object
    streams: list[str]
    alike: list[Statement]  # in step: one statement for each signature
    behind: int  # how many are not in step
    reads_derived: bool  # whether a statement reads a derived stream
    shared: list[tuple[SharedMembers, list[Group]]]
    others: list[Statement]  # of `running`: those without shared execution


def find_shared_groups(
    given: Sequence[Statement],
    running: Sequence[Statement],
    signatures: Mapping[str, InputSignature],
    programs: Mapping[str, Program],
    least_members: int,
) -> list[tuple[SharedMembers, list[Group]]]:
    """Statements of one plan template whose batches change only counters. Those whose states are not joined yet, or
    have just been split, are planned one by one."""
    by_template: dict[tuple[str, int | None], list[Statement]] = {}
    for statement in running:
        program = programs[statement.number]
        if statement.own_position is None and program.changes_only_counts and program.template is not None:
            by_template.setdefault((program.template.key, program.upper), []).append(statement)
    sharing = Counter(s.shared.get("0", "") for s in given)
    shared = []
    for several in by_template.values():
        if len(several) < least_members or not all(s.changes_only_counts for s in several):
            continue
        names = {s.shared.get("0", "") for s in several}
        keeps = bool(programs[several[0].number].keepers)
        if keeps and (len(names) > 1 or "" in names or sharing[next(iter(names))] > len(several)):
            continue
        alike: dict[tuple[int, int], list[Statement]] = {}
        for statement in several:
            key = id(signatures[statement.number]), id(programs[statement.number].reads)
            alike.setdefault(key, []).append(statement)
        numbers = [s.number for group in alike.values() for s in group]
        ends = accumulate(len(group) for group in alike.values())
        groups = [Group(end - len(group), end, group[0]) for group, end in zip(alike.values(), ends, strict=True)]
        shared.append((SharedMembers(tuple(numbers), tuple([programs[n] for n in numbers])), groups))
    return shared
