"""The statements that stand in; out comes what planning needs to know of them, for as long as they are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from presage.columnar.holding import NOTHING_KNOWN
from presage.live.program import Asks, Program
from presage.live.spans import Place
from presage.live.statement import Statement
from presage.live.tasks import Members
from presage.log import Log
from presage.plan.nodes import Extent


class Beginnings:
    """Where statements began to look, for as long as it matters. Once time has passed all that had arrived by then,
    none of it can come any more, and statements that began at different positions ask the same."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._ends: dict[tuple[str, int], int] = {}  # by stream and position: the time after which it does not matter
        self._old: dict[tuple[str, int], int] = {}
        self._next: dict[frozenset[str], int] = {}  # by streams, whose clock is meant: the least such time to come

    def forget(self) -> None:
        """All statements are looked at again: what none of them asks any more is let go."""
        self._old, self._ends, self._next = self._ends, {}, {}

    def settled(self, asks: Asks, place: Place) -> Asks:
        """What is asked by a statement that is in step, at this place."""
        extents = tuple(self._settled(extent, asks.streams, place) for extent in asks.extents)
        return asks if extents == asks.extents else asks._replace(extents=extents)

    def _settled(self, extent: Extent, streams: frozenset[str], place: Place) -> Extent:
        stream, time, after, until, made = extent
        if after is None or made:
            return extent
        end = self._ends.get((stream, after), self._old.get((stream, after)))
        if end is None:
            last = self._log.archive.last_time(stream)
            end = NOTHING_KNOWN if last is None else last
        self._ends[stream, after] = end
        if after <= place.position and end <= place.clock:
            return stream, time, None, until, made
        self._next[streams] = min(self._next.get(streams, end), end)
        return extent

    def are_passed(self, place: Callable[[frozenset[str]], Place]) -> bool:
        """Whether some do not matter any more that did when statements were last looked at."""
        return any(end <= place(streams).clock for streams, end in self._next.items())


class Group(NamedTuple):
    """Of a family the members from `start` to before `stop`: all ask and read the same; `statement` is one of them."""

    start: int
    stop: int
    statement: Statement


@dataclass(frozen=True)
class Roster:
    """Found out once for as long as the statements are the same."""

    given: Sequence[Statement]
    standing: list[Statement]
    running: list[Statement]  # each after those whose rows it reads
    asked: dict[str, Asks]  # by statement; one object for all that ask the same
    streams: list[str]
    alike: list[Statement]  # of those in step: one for all that ask the same
    behind: int  # how many are not in step
    makes: bool  # whether some read what others make
    families: list[tuple[Members, list[Group]]]
    others: list[Statement]  # those of `running` that are in no family


def families_of(
    given: Sequence[Statement],
    running: Sequence[Statement],
    asked: Mapping[str, Asks],
    programs: Mapping[str, Program],
    least_members: int,
) -> list[tuple[Members, list[Group]]]:
    """Statements of one form that go on as they went: a batch changes of each no more than what is counted. Those that
    have still to become one family, or have just left one, are none: they are looked at one by one."""
    by_form: dict[tuple[str, int | None], list[Statement]] = {}
    for statement in running:
        program = programs[statement.number]
        if statement.place is None and program.only_counts and program.shape is not None:
            by_form.setdefault((program.shape.key, program.upper), []).append(statement)
    sharing = Counter(s.shared.get("0", "") for s in given)
    found = []
    for several in by_form.values():
        if len(several) < least_members or not all(s.only_counts for s in several):
            continue
        names = {s.shared.get("0", "") for s in several}
        keeps = bool(programs[several[0].number].keepers)
        if keeps and (len(names) > 1 or "" in names or sharing[next(iter(names))] > len(several)):
            continue
        alike: dict[tuple[int, int], list[Statement]] = {}
        for statement in several:
            key = id(asked[statement.number]), id(programs[statement.number].reads)
            alike.setdefault(key, []).append(statement)
        numbers = [s.number for group in alike.values() for s in group]
        ends = accumulate(len(group) for group in alike.values())
        groups = [Group(end - len(group), end, group[0]) for group, end in zip(alike.values(), ends, strict=True)]
        found.append((Members(tuple(numbers), tuple([programs[n] for n in numbers])), groups))
    return found
