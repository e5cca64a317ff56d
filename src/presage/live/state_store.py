"""The state store: states of all statements between batches, cached in memory and stored in immutable files."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from presage.errors import error
from presage.live import state_files
from presage.live.plan_template import sharing
from presage.live.shared_execution import SharedStates
from presage.live.state_files import Chain, StateWrite, chain_to_json, chains_from_json, read_chain
from presage.live.statement import Statement
from presage.live.tasks import Outcome, SharedOutcome, SharedTask, Task
from presage.model.operator_state import State
from presage.plan.nodes import Node
from presage.storage import failpoints
from presage.storage.failures import storage
from presage.storage.group_commit import NewFiles
from presage.storage.home import Home

BATCHES_PER_SWEEP = 16
SHARED_KEY = "families"  # of shared states in the journal
SHARED = "shared:"  # prefix of the owner of a shared state
# The unchanged states of a file are written again when the file is this large, and holds this many times their bytes.
LARGE_FILE = 1 << 20
SPARSE = 4
_NO_CHANGE: Mapping[str, Any] = {}
KnownStates = Mapping[Chain, State]  # by where they are stored: what was read before the home was opened


@dataclass
class StateLocations:
    """Locations of new states: of statements by number, shard and place, of shared states by name and place; and the
    files that the record of the batch must be published with."""

    files: NewFiles
    own: dict[str, dict[str, Chain]] = field(default_factory=dict)
    shared: dict[str, dict[str, Chain]] = field(default_factory=dict)


class StateStore:
    """`statements` and `published` refer to the published states, which the caches equal."""

    def __init__(
        self,
        home: Home,
        statements: Mapping[str, Statement],
        published: Callable[[], Mapping[str, Mapping[str, Any]]],
        known: KnownStates | None = None,
    ) -> None:
        self._known = known or {}
        self._home = home
        self._statements = statements
        self._published = published  # shared states, by name and place
        self._cache: dict[str, dict[int, dict[str, State]]] = {}  # by statement, shard and place
        self._shared: dict[str, dict[str, State]] = {}  # by name and place
        self._members: dict[str, tuple[str, ...]] = {}  # the statements of each shared state
        self._named: list[str] | None = None  # the shared states in use; None: to be computed
        self._batches = 0
        self._sparse: set[str] = set()  # files that hold mostly garbage
        self._sizes: dict[str, int | None] = {}  # of the files that were written since the last sweep, or are in use

    def of(self, task: Task) -> Mapping[str, State]:
        """The states that a task begins with, by place in the plan."""
        cached = self._cache.get(task.number, {})
        if task.shard in cached:
            return cached[task.shard]
        self._check(task)
        name = self._statements[task.number].shared.get(str(task.shard))
        if name is not None:
            # Not cached: until its own state is written, its state is a part of the shared one.
            nodes = task.program.keepers
            return {p: sharing(nodes[p]).alone(nodes[p], s, int(task.number)) for p, s in self._of_shared(name).items()}
        chains = self.chains(task.number, task.shard)
        states = {place: self._read(chain) for place, chain in chains.items()}
        self._cache.setdefault(task.number, {})[task.shard] = states
        return states

    def together(self, shared: SharedTask) -> tuple[str, Mapping[str, State]]:
        """The shared states that a shared task begins with, and their name; empty if they are joined only now."""
        shard, numbers = str(shared.first.shard), shared.members.numbers
        name = self._statements[numbers[0]].shared.get(shard, "")
        if self._members.get(name) == numbers and all(self._statements[n].shared.get(shard) == name for n in numbers):
            return name, self._of_shared(name)
        tasks, nodes = shared.apart(), shared.first.program.keepers
        members: dict[str, list[Task]] = {}
        for task in tasks:
            self._check(task)
            members.setdefault(self._statements[task.number].shared.get(shard, ""), []).append(task)
        if len(members) == 1 and "" not in members:
            (name,) = members
            if sum(s.shared.get(shard) == name for s in self._statements.values()) == len(tasks):
                # Without the parts of statements that have stopped.
                return name, self._part(name, nodes, tasks)
        parts: dict[str, list[State]] = {}
        for name, several in members.items():
            for place, state in self._part(name, nodes, several).items() if name else ():
                parts.setdefault(place, []).append(state)
            for task in several if not name else ():
                for place, state in self.of(task).items():
                    node = task.program.keepers[place]
                    parts.setdefault(place, []).append(sharing(node).claimed(node, state, int(task.number)))
        return "", {place: sharing(nodes[place]).joined(nodes[place], several) for place, several in parts.items()}

    def _part(self, name: str, nodes: Mapping[str, Node], tasks: Iterable[Task]) -> dict[str, State]:
        """The part of a shared state that belongs to the statements of some tasks."""
        numbers = [int(task.number) for task in tasks]
        return {p: sharing(nodes[p]).part(nodes[p], s, numbers) for p, s in self._of_shared(name).items()}

    def _check(self, task: Task) -> None:
        statement = self._statements[task.number]
        if (statement.states or statement.shared) and statement.fingerprint != task.program.fingerprint:
            why = "it belongs to another plan of the statement"
            raise error("HOME_CORRUPT", what="a state", path=self._home.states, why=why, fix=state_files.COMPUTED_AGAIN)

    def _of_shared(self, name: str) -> dict[str, State]:
        if name not in self._shared:
            chains = chains_from_json(self._published()[name])
            self._shared[name] = {place: self._read(chain) for place, chain in chains.items()}
        return self._shared[name]

    def chains(self, number: str, shard: int) -> dict[str, Chain]:
        """The locations of the published states of a shard, by place."""
        prefix = f"{shard}/"
        states = self._statements[number].states
        return {key.removeprefix(prefix): chain for key, chain in states.items() if key.startswith(prefix)}

    def write(self, outcomes: Iterable[Outcome], together: Iterable[SharedOutcome]) -> StateLocations:
        """Make files of the new states; their locations. No record refers to them yet."""
        places = StateLocations(NewFiles(self._home.store, failpoints.STATES_WRITTEN))
        written: dict[tuple[str, str], StateWrite] = {}
        members: dict[int, tuple[SharedStates, list[str]]] = {}
        for outcome in together:
            if outcome.shared is not None:
                members[id(outcome.shared)] = outcome.shared, list(outcome.shared.numbers)
        for o in outcomes:
            if o.shared is not None:
                members.setdefault(id(o.shared), (o.shared, []))[1].append(o.number)
                continue
            if not (o.states or o.chains or (self._sparse and self._statements[o.number].states)):
                continue
            cached, old = self._cache.get(o.number, {}).get(o.shard, {}), self.chains(o.number, o.shard)
            for place, state in o.states.items():
                written[o.number, f"{o.shard}/{place}"] = StateWrite(cached.get(place), old.get(place, ()), state)
            for place in self._in_sparse_files(o, old):
                state = cached[place] if place in cached else self._read(old[place])
                written[o.number, f"{o.shard}/{place}"] = StateWrite(None, (), state)
            for place, chain in o.chains.items():
                places.own.setdefault(o.number, {})[f"{o.shard}/{place}"] = chain
        for shared, numbers in members.values():
            if len(numbers) < len(shared.numbers):
                # The batch has no effect on the others: they keep the old shared state.
                shared.leave_to(numbers)
            before = self._shared.get(shared.name, {})
            old = chains_from_json(self._published().get(shared.name, {}))
            shared.name = shared.name or uuid.uuid4().hex[:12]
            for place, state in shared.states.items():
                written[SHARED + shared.name, place] = StateWrite(before.get(place), old.get(place, ()), state)
        target = places.files.place(sum(state.after.size() for state in written.values()))
        with storage(self._home.path):
            chains = state_files.write_states(target, self._home.states, written, self._home.generation)
            if places.own:  # by workers
                self._home.store.flush(self._home.states)
        self._sizes |= {chain[-1].file: None for chain in chains.values()}
        self._sizes |= {path.name: len(data) for path, data in places.files.waiting.items()}
        for (owner, place), chain in chains.items():
            locations = places.shared if owner.startswith(SHARED) else places.own
            locations.setdefault(owner.removeprefix(SHARED), {})[place] = chain
        return places

    def _in_sparse_files(self, o: Outcome, old: Mapping[str, Chain]) -> list[str]:
        """The places of unchanged states in files that hold mostly garbage."""
        unchanged = [place for place in old if place not in o.states and place not in o.chains]
        return [place for place in unchanged if any(ref.file in self._sparse for ref in old[place])]

    def shared_after(self, places: StateLocations, changes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The shared states in the record of a batch: those that a statement still uses. `changes`: those of statements
        of which more than counters changes."""
        before = self._published()
        if not before and not places.shared:
            return {}
        if changes or self._named is None:
            named = dict[str, None]()
            for number, statement in self._statements.items():
                shared = changes.get(number, _NO_CHANGE).get("shared", statement.shared)
                if shared:
                    named |= dict.fromkeys(shared.values())
            self._named = list(named)
        new = {f: {place: chain_to_json(c) for place, c in several.items()} for f, several in places.shared.items()}
        return {SHARED_KEY: {f: {**before.get(f, {}), **new.get(f, {})} for f in self._named}}

    def size(self, statement: Statement) -> int:
        """Bytes of a statement's own states, and its share of shared ones."""
        size = statement.state_size
        for shard, name in statement.shared.items():
            members = sum(s.shared.get(shard) == name for s in self._statements.values())
            chains = chains_from_json(self._published().get(name, {})).values()
            size += sum(ref.length for chain in chains for ref in chain) // max(members, 1)
        return size

    def published(self, outcomes: Iterable[Outcome], together: Iterable[SharedOutcome]) -> None:
        """After the record: cache what was written for the next batch."""
        made = [*(o.shared for o in outcomes), *(outcome.shared for outcome in together)]
        for shared in {id(one): one for one in made if one is not None}.values():
            self._shared[shared.name] = shared.states
            self._members[shared.name] = shared.numbers
        for o in outcomes:
            if not (o.states or o.chains) and o.number not in self._cache:
                continue
            if not self._statements[o.number].states:
                self.forget(o.number)
            elif o.chains:
                self._cache.get(o.number, {}).pop(o.shard, None)  # a worker has it
            elif o.states:
                self._cache.setdefault(o.number, {}).setdefault(o.shard, {}).update(o.states)
        published = self._published()
        self._shared = {name: states for name, states in self._shared.items() if name in published}
        self._members = {name: numbers for name, numbers in self._members.items() if name in published}
        self._batches += 1
        if self._batches % BATCHES_PER_SWEEP == 0:
            self._known = {}
            self.sweep(listing=not self._home.store.is_distant)

    def forget(self, number: str) -> None:
        self._cache.pop(number, None)

    def look_again(self) -> None:
        """After a change of statements: they may use other shared states."""
        self._named = None

    def check_again(self) -> None:
        """After a change of programs: check whether shared states belong to them."""
        self._members.clear()

    def clear(self) -> None:
        self._cache.clear()
        self._shared.clear()
        self._members.clear()

    def sweep(self, listing: bool = True) -> None:
        """Remove files that hold no published state, and find those that hold mostly garbage. Without `listing`, only
        files that this process has known; no batch waits for it."""
        chains = [chain for s in self._statements.values() for chain in s.states.values()]
        chains += [chain for places in self._published().values() for chain in chains_from_json(places).values()]
        used: dict[str, int] = {}
        for ref in {ref for chain in chains for ref in chain}:
            used[ref.file] = used.get(ref.file, 0) + ref.length
        if listing:
            with storage(self._home.path):
                state_files.remove_unnamed(self._home.store, self._home.states, used, self._home.generation)
            sizes = {name: self._size(name) for name in used}
        else:
            gone = [self._home.states / name for name in self._sizes if name not in used]
            threading.Thread(target=self._delete, args=(gone,), name="presage-states", daemon=True).start()
            sizes = {name: self._sizes.get(name) for name in used}
        self._sizes = sizes
        self._sparse = {name for name, size in used.items() if _is_sparse(sizes[name], size)}

    def _size(self, name: str) -> int | None:
        try:
            return self._home.store.size(self._home.states / name)
        except FileNotFoundError:
            return None

    def _delete(self, paths: Sequence[PurePath]) -> None:
        with suppress(OSError):  # the next opening finds them
            self._home.store.delete_all(paths)

    def _read(self, chain: Chain) -> State:
        return read_chain(self._home.store, self._home.states, chain, self._known)


def _is_sparse(size: int | None, used: int) -> bool:
    return size is not None and size > LARGE_FILE and size > SPARSE * used
