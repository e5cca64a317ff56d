"""The statements that stand in; out comes what planning needs to know of them, for as long as they are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from presage.live.program import Asks, Program
from presage.live.statement import Statement
from presage.live.tasks import Members


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
