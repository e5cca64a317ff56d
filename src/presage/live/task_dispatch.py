"""The dispatcher of a batch's tasks: to the driver, or to Spark's workers if the batch is large.

A worker reads states from files, and writes new states to new files. It returns rows and the locations of new states;
nothing takes effect before the driver's record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname

import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.errors import PresageError, error
from presage.live.batch import Batch
from presage.live.runner import CompiledStatement, Runner
from presage.live.state_files import Chain, StateWrite, read_chain, write_states
from presage.live.tasks import Outcome, Outcomes, Task
from presage.logging import WARNING, tell
from presage.model.operator_state import State
from presage.storage.home import Home

# Compiled statements, reused between batches where Spark reuses its Python workers.
_COMPILED: dict[tuple[str, str, str], CompiledStatement] = {}
MOST_COMPILED = 1_000


@dataclass(frozen=True)
class TaskShare:
    """The part of a batch for one worker. `chains`: the locations of the states of each task, by place."""

    tasks: tuple[Task, ...]
    chains: Mapping[tuple[str, int], Mapping[str, Chain]]
    relations: Mapping[str, pa.Table]
    folder: str
    durable: bool
    version: str = ""  # of the relations


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


def shares_of(
    tasks: list[Task],
    count: int,
    chains: Callable[[str, int], Mapping[str, Chain]],
    relations: Mapping[str, pa.Table],
    home: Home,
    version: str,
) -> list[TaskShare]:
    """Tasks divided among so many workers, each with the relations that it needs."""
    shares = []
    for portion in _portions(tasks, count):
        states = {(t.number, t.shard): chains(t.number, t.shard) for t in portion}
        needed = {name: relations[name] for name in {n for t in portion for n in t.program.relations}}
        shares.append(TaskShare(tuple(portion), states, needed, str(home.states), home.disk.durable, version))
    return shares


def _portions(tasks: list[Task], count: int) -> list[list[Task]]:
    """Statements in turn, and shards of one statement in different portions."""
    portions: list[list[Task]] = [[] for _ in range(min(count, len(tasks)))]
    for task in tasks:
        portions[(int(task.number) + task.shard) % len(portions)].append(task)
    return [portion for portion in portions if portion]


def check_written(outcomes: Iterable[Outcome], home: Home) -> None:
    """Check that the driver sees the states that workers wrote, before a record refers to them."""
    for name in {chain[-1].file for outcome in outcomes for chain in outcome.chains.values()}:
        if not (home.states / name).is_file():
            raise error("HOME_NOT_SHARED", path=home.path, why=f"the driver does not find {name}, which a worker wrote")


def run_share(share: TaskShare) -> list[Outcome]:
    """Run the tasks, and write the states that changed."""
    folder = Path(share.folder)
    if not folder.is_dir():
        raise error("HOME_NOT_SHARED", path=folder.parent, why=f"a worker on {gethostname()} has no such folder")
    read: dict[tuple[str, int], dict[str, State]] = {}

    def states(task: Task) -> dict[str, State]:
        key = task.number, task.shard
        read[key] = {place: read_chain(folder, chain) for place, chain in share.chains[key].items()}
        return read[key]

    def compiled(task: Task) -> CompiledStatement:
        key = task.number, task.program.fingerprint, share.version
        if key not in _COMPILED:
            if len(_COMPILED) >= MOST_COMPILED:
                _COMPILED.clear()
            relations = {name: share.relations[name] for name in task.program.relations}
            _COMPILED[key] = CompiledStatement(task.program, Evaluator(relations), relations)
        return _COMPILED[key]

    outcomes = Runner(compiled, states).run(share.tasks).alone
    written = {
        f"{o.number}/{o.shard}/{place}": StateWrite(
            read[o.number, o.shard].get(place), share.chains[o.number, o.shard].get(place, ()), state
        )
        for o in outcomes
        for place, state in o.states.items()
    }
    chains = write_states(folder, written, share.durable)
    for outcome in outcomes:
        prefix = f"{outcome.number}/{outcome.shard}/"
        outcome.chains = {key.removeprefix(prefix): c for key, c in chains.items() if key.startswith(prefix)}
        outcome.states = {}
    return outcomes
