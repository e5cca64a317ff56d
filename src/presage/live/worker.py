"""Tasks of a batch in a Spark worker: it reads states from files, and writes new ones beside them.

It returns rows and the locations of new states; nothing has effect before the driver's record.
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

# Compiled stages and expressions outlive a batch where Spark keeps its Python workers.
_KEPT: dict[tuple[str, str, str], CompiledStatement] = {}
MOST_KEPT = 1_000


@dataclass(frozen=True)
class TaskShare:
    """The part of a batch that one worker does. `chains`: where the states of each task lie, by place in the plan."""

    tasks: tuple[Task, ...]
    chains: Mapping[tuple[str, int], Mapping[str, Chain]]
    relations: Mapping[str, pa.Table]
    folder: str
    durable: bool
    known: str = ""  # changes with what the relations hold


def shares_of(
    tasks: list[Task],
    count: int,
    chains: Callable[[str, int], Mapping[str, Chain]],
    relations: Mapping[str, pa.Table],
    home: Home,
    known: str,
) -> list[TaskShare]:
    """Tasks dealt out to so many workers, each with the tables that it needs."""
    shares = []
    for portion in _portions(tasks, count):
        states = {(t.number, t.shard): chains(t.number, t.shard) for t in portion}
        needed = {name: relations[name] for name in {n for t in portion for n in t.program.relations}}
        shares.append(TaskShare(tuple(portion), states, needed, str(home.states), home.disk.durable, known))
    return shares


def _portions(tasks: list[Task], count: int) -> list[list[Task]]:
    """Shards of one statement apart, statements one after the other."""
    portions: list[list[Task]] = [[] for _ in range(min(count, len(tasks)))]
    for task in tasks:
        portions[(int(task.number) + task.shard) % len(portions)].append(task)
    return [portion for portion in portions if portion]


def check_written(outcomes: Iterable[Outcome], home: Home) -> None:
    """The states that workers wrote must lie where the driver looks for them, before a record names them."""
    for name in {chain[-1].file for outcome in outcomes for chain in outcome.chains.values()}:
        if not (home.states / name).is_file():
            raise error("HOME_NOT_SHARED", path=home.path, why=f"the driver does not find {name}, which a worker wrote")


def run_share(share: TaskShare) -> list[Outcome]:
    """Run the tasks, write the states that changed, and tell."""
    folder = Path(share.folder)
    if not folder.is_dir():
        raise error("HOME_NOT_SHARED", path=folder.parent, why=f"a worker on {gethostname()} has no such folder")
    read: dict[tuple[str, int], dict[str, State]] = {}

    def states(task: Task) -> dict[str, State]:
        key = task.number, task.shard
        read[key] = {place: read_chain(folder, chain) for place, chain in share.chains[key].items()}
        return read[key]

    def keep(task: Task) -> CompiledStatement:
        key = task.number, task.program.fingerprint, share.known
        if key not in _KEPT:
            if len(_KEPT) >= MOST_KEPT:
                _KEPT.clear()
            relations = {name: share.relations[name] for name in task.program.relations}
            _KEPT[key] = CompiledStatement(task.program, Evaluator(relations), relations)
        return _KEPT[key]

    outcomes = Runner(keep, states).run(share.tasks).alone
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
