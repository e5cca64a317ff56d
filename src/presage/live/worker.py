"""The tasks of a batch in a Spark worker: it reads states from files, and writes new states to new files.

It returns rows and the locations of new states; nothing takes effect before the driver's record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname

import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.errors import error
from presage.live.runner import CompiledStatement, Runner
from presage.live.state_files import Chain, StateWrite, read_chain, write_states
from presage.live.tasks import Outcome, Task
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
