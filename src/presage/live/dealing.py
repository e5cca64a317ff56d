"""Where the tasks of a batch run: on the driver, or dealt out to Spark's workers where the batch is large."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from presage.errors import PresageError
from presage.live.planning import Batch
from presage.live.runner import Runner
from presage.live.states import Chain
from presage.live.tasks import Outcome, Outcomes, Task
from presage.live.worker import Share, check_written, do_share, shares_of
from presage.log.home import Home
from presage.logging import WARNING, tell

# Calls a function with each of the arguments, away from the driver, and gives the answers in order.
Workers = Callable[[Callable[[Share], list[Outcome]], list[Share]], list[list[Outcome]]]


@dataclass(frozen=True)
class Dealer:
    """`chains`: where the states of a statement's shard lie; `is_shared`: whether a statement's states are a part of
    those of a family."""

    home: Home
    workers: Workers | None
    rows_on_driver: int
    parallelism: int
    relations: Callable[[], Mapping[str, pa.Table]]
    chains: Callable[[str, int], Mapping[str, Chain]]
    is_shared: Callable[[str], bool]

    def run(self, batch: Batch, runner: Runner, known: str) -> Outcomes:
        """`known` changes with what the relations hold."""
        if self.workers is None or batch.events <= self.rows_on_driver or batch.statements < 2 or runner.apart:
            outcomes = runner.run(batch.tasks, list(batch.families))
            for family in batch.families.keys() - {outcome.task for outcome in outcomes.together}:
                batch.part(family)
            return outcomes
        for family in list(batch.families):
            batch.part(family)
            batch.tasks += family.apart()
        # Some ask the driver's session or its store, or hand rows to each other; states of a family are not divided.
        here = [t for t in batch.tasks if self._stays(t)]
        away = [t for t in batch.tasks if not self._stays(t)]
        shares = shares_of(away, self.parallelism, self.chains, self.relations(), self.home, known)
        runner.watch.begin("", 1 + len(away) // self.parallelism)
        try:
            answers = self.workers(do_share, shares) if shares else []
            check_written((outcome for several in answers for outcome in several), self.home)
        except PresageError as failure:
            # A worker is gone, or one statement is too much for it: here each statement fails for itself.
            told = "Spark's workers could not do a batch, the driver does it: {why}"
            tell(WARNING, "BATCH_ON_DRIVER", told, why=failure, events=batch.events)
            return runner.run(batch.tasks)
        done = [outcome for several in answers for outcome in several]
        runner.count_unknown(away, done)
        return Outcomes([*runner.run(here).alone, *done], [])

    def _stays(self, task: Task) -> bool:
        program = task.program
        apart = not program.native and not program.asks_store and not program.reads_others and program.into is None
        return not apart or self.is_shared(task.number)
