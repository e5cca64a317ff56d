"""The tasks of a batch, and their outcomes.

A task is one statement, or one shard of its keys, over one range of the log. Statements of one template that are in
step are one shared task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pyarrow as pa

from presage.errors import PresageError
from presage.live.program import Program
from presage.live.result_slices import ResultSlice, SharedRows
from presage.live.shared_execution import SharedStates
from presage.live.state_files import Chain
from presage.model.operator_state import State
from presage.storage import FileSet

Files = tuple[tuple[FileSet, ...], ...]  # of each scan of a program


@dataclass(slots=True)  # not frozen: a batch may make thousands, and each would pay for it
class Task:
    """One statement's share of a batch. `files`: what each of its scans takes in, in the order of the scans; `ahead`:
    what lies beyond the watermark for each of them, None if nobody looks at that."""

    number: str
    program: Program
    shard: int
    files: Files
    start: int  # the watermark that it has come to
    watermark: int
    inner_watermark: int
    end: bool
    must_run: bool  # time alone may make rows
    recall_commands: tuple[Any, ...] = ()  # of its recalls
    ahead: Files | None = None

    @property
    def events(self) -> int:
        """How many events the files hold, at most."""
        return sum(files.rows for several in (*self.files, *(self.ahead or ())) for files in several)


@dataclass(frozen=True, eq=False)
class SharedMembers:
    """Statements of one form, for as long as they are the same."""

    numbers: tuple[str, ...]
    programs: tuple[Program, ...]


class Part(NamedTuple):
    """The members from `start` to before `stop`: all read the same of the same events; `task` is that of the first."""

    start: int
    stop: int
    task: Task


@dataclass(frozen=True, eq=False)
class SharedTask:
    """What members of one form do in a batch, as one: at the same clocks, each part with its own files."""

    members: SharedMembers
    parts: tuple[Part, ...]

    @property
    def first(self) -> Task:
        return self.parts[0].task

    def apart(self) -> list[Task]:
        """Each for itself."""
        return [task for part in self.parts for task in self.tasks_of(part)]

    def tasks_of(self, part: Part) -> list[Task]:
        numbers, programs = self.members.numbers, self.members.programs
        return [replace(part.task, number=numbers[i], program=programs[i]) for i in range(part.start, part.stop)]


_NOTHING: Mapping[str, Any] = {}


def _nothing() -> Mapping[str, Any]:
    """One for all: a batch may make thousands of outcomes, and most say nothing of their own."""
    return _NOTHING


@dataclass(slots=True)
class Outcome:
    """What became of a task. `rows`: TIME, SEQ, order and the statement's columns, in order; None if it had no work."""

    number: str
    shard: int
    rows: pa.Table | None = None
    slice: ResultSlice | None = None  # its rows among those of others, in place of `rows`
    states: Mapping[str, State] = field(default_factory=_nothing)  # those that changed, by place
    chains: Mapping[str, Chain] = field(default_factory=_nothing)  # where they lie, once they are written
    partial: Mapping[str, int] = field(default_factory=_nothing)  # open partial matches in those that keep some
    recalls: Mapping[str, int] = field(default_factory=_nothing)  # in states that keep some: by place and what it is
    inference: Mapping[str, int] = field(default_factory=_nothing)  # what its filters count: by place and what it is
    output_watermark: int | None = None  # rows that it makes later are not before this time; None if it had no work
    rows_in: int = 0
    unknown: int = 0  # of those: values that should name an entity and name none
    shared: SharedStates | None = None  # its state is a part of these
    failure: PresageError | None = None
    seconds: float = 0.0  # that it took; of those that step as one, each has its part
    blocked: bool = False  # a statement whose rows it reads has failed: it waits where it is

    @property
    def rows_out(self) -> int:
        """How many rows."""
        rows = self.slice if self.slice is not None else self.rows
        return 0 if rows is None else int(rows.num_rows)

    def table(self) -> pa.Table | None:
        return self.rows if self.slice is None else self.slice.table()


def sound(several: list[Outcome]) -> list[Outcome]:
    """The outcomes of a statement, none if one of its shards failed: the others have not happened either."""
    return [] if any(o.failure is not None or o.blocked for o in several) else several


@dataclass(slots=True)
class SharedOutcome:
    """What became of statements that stepped as one; none of them failed."""

    task: SharedTask
    rows_in: list[int]  # of each member, by part
    taken: int = 0  # rows that the filters of all members let pass
    rows: SharedRows | None = None  # None if it had no work
    shared: SharedStates | None = None  # the states of all
    partial: Mapping[str, Mapping[int, int]] = field(default_factory=_nothing)  # open matches by place and statement
    seconds: float = 0.0  # for each member

    def each(self) -> list[Outcome]:
        """What became of each of them."""
        slices: Mapping[int, ResultSlice] = {} if self.rows is None else self.rows.slices
        shard = self.task.first.shard
        found = []
        for part, rows_in in zip(self.task.parts, self.rows_in, strict=True):
            for number in self.task.members.numbers[part.start : part.stop]:
                outcome = Outcome(number, shard, rows_in=rows_in, shared=self.shared, seconds=self.seconds)
                outcome.slice = slices.get(int(number))
                if self.partial:
                    outcome.partial = self.partial_of(int(number))
                found.append(outcome)
        return found

    def partial_of(self, number: int) -> dict[str, int]:
        return {place: counts.get(number, 0) for place, counts in self.partial.items()}


class Outcomes(NamedTuple):
    """Of a batch: of tasks, and of families that stepped as one."""

    alone: list[Outcome]
    together: list[SharedOutcome]
