"""The states of all statements between batches: in memory while the job runs, in immutable files for the next one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from presage.errors import error
from presage.live.statement import Statement
from presage.live.states import Chain, Written, read_chain, remove_unnamed, write_states
from presage.live.tasks import Outcome, Task
from presage.log.home import Home
from presage.model.state import State

BATCHES_PER_SWEEP = 16
# A file is written anew, with those states that nothing has changed since, when it is this large and holds this many
# times what is still needed of it.
LARGE_FILE = 1 << 20
SPARSE = 4


class StateStore:
    """`statements` tells which states are published; what is kept in memory is always equal to those."""

    def __init__(self, home: Home, statements: Mapping[str, Statement]) -> None:
        self._home = home
        self._statements = statements
        self._cache: dict[str, dict[int, dict[str, State]]] = {}  # by statement, shard and place
        self._batches = 0
        self._sparse: set[str] = set()  # files that are mostly refuse

    def of(self, task: Task) -> Mapping[str, State]:
        """The states that a task begins with, by place in the plan."""
        cached = self._cache.setdefault(task.number, {})
        if task.shard not in cached:
            statement = self._statements[task.number]
            if statement.states and statement.fingerprint != task.program.fingerprint:
                fix = "nothing: the state is computed again from the log"
                why = "it belongs to another plan of the statement"
                raise error("HOME_CORRUPT", what="a state", path=self._home.states, why=why, fix=fix)
            chains = self.chains(task.number, task.shard)
            cached[task.shard] = {place: read_chain(self._home.states, chain) for place, chain in chains.items()}
        return cached[task.shard]

    def chains(self, number: str, shard: int) -> dict[str, Chain]:
        """Where the published states of a shard lie."""
        prefix = f"{shard}/"
        states = self._statements[number].states
        return {key.removeprefix(prefix): chain for key, chain in states.items() if key.startswith(prefix)}

    def write(self, outcomes: Iterable[Outcome]) -> dict[str, dict[str, Chain]]:
        """Make the new states durable: by statement, where each of them lies. No record names them yet."""
        chains: dict[str, dict[str, Chain]] = {}
        written: dict[str, Written] = {}
        for o in outcomes:
            known, old = self._cache.get(o.number, {}).get(o.shard, {}), self.chains(o.number, o.shard)
            for place, state in o.states.items():
                written[f"{o.number}/{o.shard}/{place}"] = Written(known.get(place), old.get(place, ()), state)
            for place in self._in_sparse_files(o, old):
                state = known[place] if place in known else read_chain(self._home.states, old[place])
                written[f"{o.number}/{o.shard}/{place}"] = Written(None, (), state)
            for place, chain in o.chains.items():
                chains.setdefault(o.number, {})[f"{o.shard}/{place}"] = chain
        for key, chain in write_states(self._home.states, written, self._home.disk.durable).items():
            number, _, place = key.partition("/")
            chains.setdefault(number, {})[place] = chain
        if chains:
            self._home.disk.sync_folder(self._home.states)
        return chains

    def _in_sparse_files(self, o: Outcome, old: Mapping[str, Chain]) -> list[str]:
        """States that did not change and keep a file alive which holds hardly anything else."""
        unchanged = [place for place in old if place not in o.states and place not in o.chains]
        return [place for place in unchanged if any(ref.file in self._sparse for ref in old[place])]

    def published(self, outcomes: Iterable[Outcome]) -> None:
        """The record has happened: what was written is what the next batch begins with."""
        for o in outcomes:
            if not self._statements[o.number].states:
                self.forget(o.number)
            elif o.chains:
                self._cache.get(o.number, {}).pop(o.shard, None)  # a worker has it
            elif o.states:
                self._cache.setdefault(o.number, {}).setdefault(o.shard, {}).update(o.states)
        self._batches += 1
        if self._batches % BATCHES_PER_SWEEP == 0:
            self.sweep()

    def forget(self, number: str) -> None:
        self._cache.pop(number, None)

    def clear(self) -> None:
        self._cache.clear()

    def sweep(self) -> None:
        """Remove files that hold no published state, and note those that hold little beside refuse."""
        chains = [chain for s in self._statements.values() for chain in s.states.values()]
        used: dict[str, int] = {}
        for ref in {ref for chain in chains for ref in chain}:
            used[ref.file] = used.get(ref.file, 0) + ref.length
        remove_unnamed(self._home.states, used)
        self._sparse = {name for name, size in used.items() if _is_sparse(self._home.states / name, size)}


def _is_sparse(path: Path, used: int) -> bool:
    size = path.stat().st_size if path.exists() else 0
    return size > LARGE_FILE and size > SPARSE * used
