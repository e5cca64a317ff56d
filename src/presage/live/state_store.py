"""The state store: states of all statements between batches, cached in memory and kept in immutable files."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from presage.errors import error
from presage.live.shared_execution import SharedStates
from presage.live.shared_state import alone, claimed, joined, part
from presage.live.state_files import (
    COMPUTED_AGAIN,
    Chain,
    StateWrite,
    chain_to_json,
    chains_from_json,
    read_chain,
    remove_unnamed,
    write_states,
)
from presage.live.statement import Statement
from presage.live.tasks import Outcome, SharedOutcome, SharedTask, Task
from presage.model.operator_state import State
from presage.storage.disk import storage
from presage.storage.home import Home

BATCHES_PER_SWEEP = 16
FAMILY = "family:"
# A file is written anew, with those states that nothing has changed since, when it is this large and holds this many
# times what is still needed of it.
LARGE_FILE = 1 << 20
SPARSE = 4
_NO_CHANGE: Mapping[str, Any] = {}


@dataclass
class StateLocations:
    """Where new states lie: those of statements by number, shard and place, those of families by name and place."""

    own: dict[str, dict[str, Chain]] = field(default_factory=dict)
    families: dict[str, dict[str, Chain]] = field(default_factory=dict)


class StateStore:
    """`statements` and `families` tell which states are published; what is kept in memory is always equal to those."""

    def __init__(
        self, home: Home, statements: Mapping[str, Statement], families: Callable[[], Mapping[str, Mapping[str, Any]]]
    ) -> None:
        self._home = home
        self._statements = statements
        self._families = families
        self._cache: dict[str, dict[int, dict[str, State]]] = {}  # by statement, shard and place
        self._shared: dict[str, dict[str, State]] = {}  # by family and place
        self._members: dict[str, tuple[str, ...]] = {}  # whose states those are
        self._named: list[str] | None = None  # the families that statements belong to; None: to be looked at again
        self._batches = 0
        self._sparse: set[str] = set()  # files that are mostly refuse

    def of(self, task: Task) -> Mapping[str, State]:
        """The states that a task begins with, by place in the plan."""
        cached = self._cache.get(task.number, {})
        if task.shard in cached:
            return cached[task.shard]
        self._check(task)
        family = self._statements[task.number].shared.get(str(task.shard))
        if family is not None:
            # Not kept here: until its own state is written, it is what the family's says.
            keepers = task.program.keepers
            return {place: alone(keepers[place], s, int(task.number)) for place, s in self._of_family(family).items()}
        chains = self.chains(task.number, task.shard)
        found = {place: read_chain(self._home.states, chain) for place, chain in chains.items()}
        self._cache.setdefault(task.number, {})[task.shard] = found
        return found

    def together(self, family: SharedTask) -> tuple[str, Mapping[str, State]]:
        """The states that statements of one form begin with as one, and their family's name if they are one already."""
        shard, numbers = str(family.first.shard), family.members.numbers
        name = self._statements[numbers[0]].shared.get(shard, "")
        if self._members.get(name) == numbers and all(self._statements[n].shared.get(shard) == name for n in numbers):
            return name, self._of_family(name)
        tasks, keepers = family.apart(), family.first.program.keepers
        members: dict[str, list[Task]] = {}
        for task in tasks:
            self._check(task)
            members.setdefault(self._statements[task.number].shared.get(shard, ""), []).append(task)
        if len(members) == 1 and "" not in members:
            (name,) = members
            if sum(s.shared.get(shard) == name for s in self._statements.values()) == len(tasks):
                # Somebody may have stopped, and left a part behind.
                wanted = [int(number) for number in numbers]
                return name, {p: part(keepers[p], s, wanted) for p, s in self._of_family(name).items()}
        parts: dict[str, list[State]] = {}
        for name, several in members.items():
            for place, state in self._of_family(name).items() if name else ():
                parts.setdefault(place, []).append(part(keepers[place], state, [int(t.number) for t in several]))
            for task in several if not name else ():
                for place, state in self.of(task).items():
                    parts.setdefault(place, []).append(claimed(task.program.keepers[place], state, int(task.number)))
        return "", {place: joined(keepers[place], several) for place, several in parts.items()}

    def _check(self, task: Task) -> None:
        statement = self._statements[task.number]
        if (statement.states or statement.shared) and statement.fingerprint != task.program.fingerprint:
            why = "it belongs to another plan of the statement"
            raise error("HOME_CORRUPT", what="a state", path=self._home.states, why=why, fix=COMPUTED_AGAIN)

    def _of_family(self, name: str) -> dict[str, State]:
        if name not in self._shared:
            chains = chains_from_json(self._families()[name])
            self._shared[name] = {place: read_chain(self._home.states, chain) for place, chain in chains.items()}
        return self._shared[name]

    def chains(self, number: str, shard: int) -> dict[str, Chain]:
        """Where the published states of a shard lie."""
        prefix = f"{shard}/"
        states = self._statements[number].states
        return {key.removeprefix(prefix): chain for key, chain in states.items() if key.startswith(prefix)}

    def write(self, outcomes: Iterable[Outcome], together: Iterable[SharedOutcome]) -> StateLocations:
        """Make the new states durable, and say where each of them lies. No record names them yet."""
        with storage(self._home.path):
            return self._write(outcomes, together)

    def _write(self, outcomes: Iterable[Outcome], together: Iterable[SharedOutcome]) -> StateLocations:
        places = StateLocations()
        written: dict[tuple[str, str], StateWrite] = {}
        families: dict[int, tuple[SharedStates, list[str]]] = {}
        for family in together:
            if family.shared is not None:
                families[id(family.shared)] = family.shared, list(family.shared.numbers)
        for o in outcomes:
            if o.shared is not None:
                families.setdefault(id(o.shared), (o.shared, []))[1].append(o.number)
                continue
            if not (o.states or o.chains or (self._sparse and self._statements[o.number].states)):
                continue
            known, old = self._cache.get(o.number, {}).get(o.shard, {}), self.chains(o.number, o.shard)
            for place, state in o.states.items():
                written[o.number, f"{o.shard}/{place}"] = StateWrite(known.get(place), old.get(place, ()), state)
            for place in self._in_sparse_files(o, old):
                state = known[place] if place in known else read_chain(self._home.states, old[place])
                written[o.number, f"{o.shard}/{place}"] = StateWrite(None, (), state)
            for place, chain in o.chains.items():
                places.own.setdefault(o.number, {})[f"{o.shard}/{place}"] = chain
        for shared, numbers in families.values():
            if len(numbers) < len(shared.numbers):
                # For the others the batch has not happened: they stay with the family as it was.
                shared.leave_to(numbers)
            before = self._shared.get(shared.name, {})
            old = chains_from_json(self._families().get(shared.name, {}))
            shared.name = shared.name or uuid.uuid4().hex[:12]
            for place, state in shared.states.items():
                written[FAMILY + shared.name, place] = StateWrite(before.get(place), old.get(place, ()), state)
        chains = write_states(self._home.states, written, self._home.disk.durable)
        for (owner, place), chain in chains.items():
            if owner.startswith(FAMILY):
                places.families.setdefault(owner.removeprefix(FAMILY), {})[place] = chain
            else:
                places.own.setdefault(owner, {})[place] = chain
        if chains or places.own:
            self._home.disk.sync_folder(self._home.states)
        return places

    def _in_sparse_files(self, o: Outcome, old: Mapping[str, Chain]) -> list[str]:
        """States that did not change and keep a file alive which holds hardly anything else."""
        unchanged = [place for place in old if place not in o.states and place not in o.chains]
        return [place for place in unchanged if any(ref.file in self._sparse for ref in old[place])]

    def shared_after(self, places: StateLocations, changes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """What the record of a batch says of families: those that a statement still belongs to. `changes`: those of
        statements of which more changes than what is counted."""
        known = self._families()
        if not known and not places.families:
            return {}
        if changes or self._named is None:
            named = dict[str, None]()
            for number, statement in self._statements.items():
                shared = changes.get(number, _NO_CHANGE).get("shared", statement.shared)
                if shared:
                    named |= dict.fromkeys(shared.values())
            self._named = list(named)
        new = {f: {place: chain_to_json(c) for place, c in several.items()} for f, several in places.families.items()}
        return {"families": {f: {**known.get(f, {}), **new.get(f, {})} for f in self._named}}

    def size(self, statement: Statement) -> int:
        """Bytes of a statement's states, and its share of those that it has in common with others."""
        size = statement.state_size
        for shard, name in statement.shared.items():
            members = sum(s.shared.get(shard) == name for s in self._statements.values())
            chains = chains_from_json(self._families().get(name, {})).values()
            size += sum(ref.length for chain in chains for ref in chain) // max(members, 1)
        return size

    def published(self, outcomes: Iterable[Outcome], together: Iterable[SharedOutcome]) -> None:
        """The record has happened: what was written is what the next batch begins with."""
        made = [*(o.shared for o in outcomes), *(family.shared for family in together)]
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
        published = self._families()
        self._shared = {name: states for name, states in self._shared.items() if name in published}
        self._members = {name: numbers for name, numbers in self._members.items() if name in published}
        self._batches += 1
        if self._batches % BATCHES_PER_SWEEP == 0:
            self.sweep()

    def forget(self, number: str) -> None:
        self._cache.pop(number, None)

    def look_again(self) -> None:
        """Statements have changed: they may belong to other families."""
        self._named = None

    def check_again(self) -> None:
        """Programs have changed: whether the states of families are theirs is to be seen."""
        self._members.clear()

    def clear(self) -> None:
        self._cache.clear()
        self._shared.clear()
        self._members.clear()

    def sweep(self) -> None:
        """Remove files that hold no published state, and note those that hold little beside refuse."""
        chains = [chain for s in self._statements.values() for chain in s.states.values()]
        chains += [chain for places in self._families().values() for chain in chains_from_json(places).values()]
        used: dict[str, int] = {}
        for ref in {ref for chain in chains for ref in chain}:
            used[ref.file] = used.get(ref.file, 0) + ref.length
        with storage(self._home.path):
            remove_unnamed(self._home.states, used)
        self._sparse = {name for name, size in used.items() if _is_sparse(self._home.states / name, size)}


def _is_sparse(path: Path, used: int) -> bool:
    size = path.stat().st_size if path.exists() else 0
    return size > LARGE_FILE and size > SPARSE * used
