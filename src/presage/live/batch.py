"""One batch of the live job: the input of each statement, the tasks, and the positions after it.

The planner fills it; the dispatcher and the commit draft read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from presage.execution.stage import EventCommand
from presage.live.history_reader import HistoryReader
from presage.live.input_range import InputRange, Snapshots
from presage.live.program import Program
from presage.live.tasks import Files, SharedTask, Task
from presage.plan.nodes import Extent, Scan
from presage.storage import FileSet

# Commands of users on open events, each for the statement of that name, or for all.
EventCommands = tuple[tuple[str | None, EventCommand], ...]


class StatementInput(NamedTuple):
    """The input of a statement. `files`: those of its scans; None: the batch has no work for it. `ahead`: those of
    events ahead of its watermark, if it reads them."""

    input_range: InputRange
    files: Files | None
    watermark: int
    end: bool
    must_run: bool
    ahead: Files | None = None

    @property
    def advances(self) -> bool:
        return self.input_range.start != self.input_range.end

    def task(self, number: str, program: Program, shard: int = 0, commands: tuple[EventCommand, ...] = ()) -> Task:
        assert self.files is not None
        start, inner = self.input_range.start.watermark, self.input_range.end.watermark
        time = start, self.watermark, inner, self.end, self.must_run
        return Task(number, program, shard, self.files, *time, commands, self.ahead)


@dataclass
class Batch:
    """The work of one batch. `history`: reads history in the background; None: a step reads it itself."""

    archive: Snapshots
    position: int
    watermarks: dict[str, int]  # by stream: that of the batch
    known_watermarks: dict[str, int]  # by stream of the log: the latest
    arrivals: int | None  # the record up to whose arrivals it reads; None where it stops before
    history: HistoryReader | None = None
    commands: EventCommands = ()
    ranges: dict[str, InputRange] = field(default_factory=dict)  # by statement
    tasks: list[Task] = field(default_factory=list)
    shared: dict[SharedTask, InputRange] = field(default_factory=dict)
    files: dict[tuple[Extent, InputRange], tuple[FileSet, ...]] = field(default_factory=dict)  # by scan
    # Of statements in step, by the identity of their input signature.
    in_step: dict[int, InputRange] = field(default_factory=dict)
    inputs: dict[int, StatementInput] = field(default_factory=dict)

    @property
    def statements(self) -> int:
        return len(self.tasks) + sum(len(task.members.numbers) for task in self.shared)

    @cached_property
    def events(self) -> int:
        """An upper bound on the events of the statement that reads the most."""
        tasks = [*self.tasks, *(part.task for shared in self.shared for part in shared.parts)]
        alike = {(id(task.files), id(task.ahead)): task for task in tasks}
        return max((task.events for task in alike.values()), default=0)

    def split(self, task: SharedTask) -> None:
        """Plan the statements of a shared task one by one."""
        self.ranges |= dict.fromkeys(task.members.numbers, self.shared.pop(task))

    def files_of(self, scan: Scan, input_range: InputRange) -> tuple[FileSet, ...]:
        """Cached for all statements that read the same."""
        key = scan.extent, input_range
        files = self.files.get(key)
        if files is None:
            files = self.files[key] = tuple(input_range.files(scan, self.archive))
        return files
