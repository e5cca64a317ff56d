"""The dispatcher of a batch's tasks: to the driver, or to Spark's workers if the batch is large."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from presage.errors import PresageError
from presage.live.batch import Batch
from presage.live.runner import Runner
from presage.live.state_files import Chain
from presage.live.tasks import Outcome, Outcomes, Task
from presage.live.worker import TaskShare, check_written, run_share, shares_of
from presage.logging import WARNING, tell
from presage.storage.home import Home

# Calls a function with each of the arguments in workers, and returns the results in order.
Workers = Callable[[Callable[[TaskShare], list[Outcome]], list[TaskShare]], list[list[Outcome]]]


@dataclass(frozen=True)
class TaskDispatcher:
    """`chains`: the locations of the states of a statement's shard; `is_shared`: whether the state of a statement is a
    part of a shared one."""

    home: Home
    workers: Workers | None
    rows_on_driver: int
    parallelism: int
    relations: Callable[[], Mapping[str, pa.Table]]
    chains: Callable[[str, int], Mapping[str, Chain]]
    is_shared: Callable[[str], bool]

    def run(self, batch: Batch, runner: Runner, version: str) -> Outcomes:
        """`version` changes with the content of the relations."""
        small = batch.events <= self.rows_on_driver or batch.statements < 2
        if self.workers is None or small or runner.one_by_one:
            outcomes = runner.run(batch.tasks, list(batch.shared), batch.history)
            for shared in batch.shared.keys() - {outcome.task for outcome in outcomes.together}:
                batch.split(shared)
            return outcomes
        for shared in list(batch.shared):
            batch.split(shared)
            batch.tasks += shared.apart()
        local = [t for t in batch.tasks if self._needs_driver(t)]
        remote = [t for t in batch.tasks if not self._needs_driver(t)]
        shares = shares_of(remote, self.parallelism, self.chains, self.relations(), self.home, version)
        runner.deadline.begin("", 1 + len(remote) // self.parallelism)
        try:
            results = self.workers(run_share, shares) if shares else []
            check_written((outcome for several in results for outcome in several), self.home)
        except PresageError as failure:
            # A worker is lost, or a statement exceeds its memory: on the driver each statement fails alone.
            text = "Spark's workers could not run a batch, the driver runs it: {why}"
            tell(WARNING, "BATCH_ON_DRIVER", text, why=failure, events=batch.events)
            return runner.run(batch.tasks, history=batch.history)
        done = [outcome for several in results for outcome in several]
        runner.count_unknown(remote, done)
        return Outcomes([*runner.run(local, history=batch.history).alone, *done], [])

    def _needs_driver(self, task: Task) -> bool:
        """Whether it uses the driver's session or store, exchanges rows with others, or shares a state."""
        program = task.program
        local = program.native or program.queries_store or program.reads_others or program.into is not None
        return local or self.is_shared(task.number)
