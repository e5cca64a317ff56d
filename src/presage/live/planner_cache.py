"""What the batch planner derives from the deployed statements, cached for as long as they are the same.

Apart from the planner, which uses it for every batch.
"""

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
    """Start offsets of statements, kept until the watermark passes them. Once it has passed all that had arrived by
    then, statements with different start offsets read the same."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._ends: dict[tuple[str, int], int] = {}  # by stream and offset: the watermark that passes it
        self._old: dict[tuple[str, int], int] = {}
        self._next: dict[frozenset[str], int] = {}  # by streams that are read: the least such watermark to come

    def forget(self) -> None:
        """All statements are looked at again: offsets that none of them has any more are dropped."""
        self._old, self._ends, self._next = self._ends, {}, {}

    def settled(self, signature: InputSignature, position: InputPosition) -> InputSignature:
        """The signature of a statement in step at this position, without start offsets that are passed."""
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
        """Whether the watermark has passed one since the statements were last looked at."""
        return any(end <= position(streams).watermark for streams, end in self._next.items())


class Group(NamedTuple):
    """The members from `start` to before `stop` of a shared group: all read the same; `statement` is one of them."""

    start: int
    stop: int
    statement: Statement


@dataclass(frozen=True)
class PlannerCache:
    """Valid for as long as the statements are the same."""

    given: Sequence[Statement]
    deployed: list[Statement]
    running: list[Statement]  # each after those whose rows it reads
    signatures: dict[str, InputSignature]  # by statement; one object for all that are equal
    streams: list[str]
    alike: list[Statement]  # of those in step: one for each signature
    behind: int  # how many are not in step
    reads_derived: bool  # whether some read rows of others
    shared: list[tuple[SharedMembers, list[Group]]]
    others: list[Statement]  # those of `running` that step one by one


def find_shared_groups(
    given: Sequence[Statement],
    running: Sequence[Statement],
    signatures: Mapping[str, InputSignature],
    programs: Mapping[str, Program],
    least_members: int,
) -> list[tuple[SharedMembers, list[Group]]]:
    """Statements of one plan template whose batches change only counters. Those whose states are still to be joined, or
    have just been split, are planned one by one."""
    by_form: dict[tuple[str, int | None], list[Statement]] = {}
    for statement in running:
        program = programs[statement.number]
        if statement.own_position is None and program.changes_only_counts and program.template is not None:
            by_form.setdefault((program.template.key, program.upper), []).append(statement)
    sharing = Counter(s.shared.get("0", "") for s in given)
    found = []
    for several in by_form.values():
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
        found.append((SharedMembers(tuple(numbers), tuple([programs[n] for n in numbers])), groups))
    return found
