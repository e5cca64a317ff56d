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
    """One statement's share of a batch. `files`: the input of each of its scans; `ahead`: the events of each scan ahead
    of the watermark, None if it does not read them."""

    number: str
    program: Program
    shard: int
    files: Files
    start: int  # the previous watermark
    watermark: int
    inner_watermark: int
    end: bool
    must_run: bool  # it may make rows without events
    commands: tuple[Any, ...] = ()
    ahead: Files | None = None

    @property
    def events(self) -> int:
        """How many events the files hold, at most."""
        return sum(files.rows for several in (*self.files, *(self.ahead or ())) for files in several)


@dataclass(frozen=True, eq=False)
class SharedMembers:
    """The statements of a shared execution, while they are the same."""

    numbers: tuple[str, ...]
    programs: tuple[Program, ...]


class Part(NamedTuple):
    """The members `start` to `stop` (excluded), which read the same; `task` is that of the first."""

    start: int
    stop: int
    task: Task


@dataclass(frozen=True, eq=False)
class SharedTask:
    """The task of a shared execution in a batch: all parts have the same watermarks, each has its own files."""

    members: SharedMembers
    parts: tuple[Part, ...]

    @property
    def first(self) -> Task:
        return self.parts[0].task

    def apart(self) -> list[Task]:
        """One task for each member."""
        return [task for part in self.parts for task in self.tasks_of(part)]

    def tasks_of(self, part: Part) -> list[Task]:
        numbers, programs = self.members.numbers, self.members.programs
        return [replace(part.task, number=numbers[i], program=programs[i]) for i in range(part.start, part.stop)]


_NOTHING: Mapping[str, Any] = {}


def _nothing() -> Mapping[str, Any]:
    """One mapping for all: a batch may make thousands of outcomes, most of them without values."""
    return _NOTHING


@dataclass(slots=True)
class Outcome:
    """The outcome of a task. `rows`: TIME, SEQ, order and the statement's columns, in order; None if it had no work."""

    number: str
    shard: int
    rows: pa.Table | None = None
    slice: ResultSlice | None = None  # its rows of a shared step, in place of `rows`
    states: Mapping[str, State] = field(default_factory=_nothing)  # those that changed, by place
    chains: Mapping[str, Chain] = field(default_factory=_nothing)  # the locations of written states, by place
    partial: Mapping[str, int] = field(default_factory=_nothing)  # open partial matches, by place
    open_events: Mapping[str, int] = field(default_factory=_nothing)  # counters of open events, by place and name
    counters: Mapping[str, int] = field(default_factory=_nothing)  # of operators, by place and name
    output_watermark: int | None = None  # its later rows are not before this time; None if it had no work
    rows_in: int = 0
    unknown: int = 0  # values in them that should name an entity and name none
    shared: SharedStates | None = None  # its state is a part of these
    failure: PresageError | None = None
    seconds: float = 0.0  # of a shared step: its share
    blocked: bool = False  # a producer of its input has failed: it stays at its position

    @property
    def rows_out(self) -> int:
        rows = self.slice if self.slice is not None else self.rows
        return 0 if rows is None else int(rows.num_rows)

    def table(self) -> pa.Table | None:
        return self.rows if self.slice is None else self.slice.table()


def sound(several: list[Outcome]) -> list[Outcome]:
    """The outcomes of a statement; none if one of its shards failed: then all shards are discarded."""
    return [] if any(o.failure is not None or o.blocked for o in several) else several


@dataclass(slots=True)
class SharedOutcome:
    """The outcome of a shared step without failures."""

    task: SharedTask
    rows_in: list[int]  # of each member, by part
    taken: int = 0  # rows that pass the filters of all members
    rows: SharedRows | None = None  # None if it had no work
    shared: SharedStates | None = None  # the states of all
    partial: Mapping[str, Mapping[int, int]] = field(default_factory=_nothing)  # open matches by place and statement
    seconds: float = 0.0  # for each member

    def each(self) -> list[Outcome]:
        """The outcome of each member."""
        slices: Mapping[int, ResultSlice] = {} if self.rows is None else self.rows.slices
        shard = self.task.first.shard
        outcomes = []
        for part, rows_in in zip(self.task.parts, self.rows_in, strict=True):
            for number in self.task.members.numbers[part.start : part.stop]:
                outcome = Outcome(number, shard, rows_in=rows_in, shared=self.shared, seconds=self.seconds)
                outcome.slice = slices.get(int(number))
                if self.partial:
                    outcome.partial = self.partial_of(int(number))
                outcomes.append(outcome)
        return outcomes

    def partial_of(self, number: int) -> dict[str, int]:
        return {place: counts.get(number, 0) for place, counts in self.partial.items()}


class Outcomes(NamedTuple):
    """The outcomes of a batch: of single tasks, and of shared ones."""

    alone: list[Outcome]
    together: list[SharedOutcome]
