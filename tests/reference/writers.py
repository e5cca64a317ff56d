"""A model of the processes that want to write one home in a bucket, explored exhaustively.

Every step of a process is one request to the store. Between two steps it may be paused for any time, or for ever, which
is its end. A request may fail before it took effect, or after it (its reply is lost), or take effect later than its
sender gave it up. Leases do not occur: they say when to try, so here every process tries at any time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

Token = tuple[str, int, int]  # kind, process, serial number: what distinguishes a record, and its data file
TAKEOVER, APPEND = "takeover", "append"


@dataclass(frozen=True)
class Rules:
    """The rules of the journal. Without any one of them, something goes wrong."""

    put_if_absent: bool = True  # not an overwriting put, even of a process that has just seen its own lease
    takeovers_stay: bool = True  # records of takeovers are not deleted when a head covers them
    claims_are_checked: bool = True  # who has put the record of a takeover then looks for heads that it does not know
    nonces: bool = True  # who reads back compares the whole record
    gave_up_is_settled: bool = True  # a put that failed may be on its way: a takeover of its own takes the number
    heads_have_numbers: bool = True
    sweep_after_takeover: bool = True


class Process(NamedTuple):
    step: str = "out"
    known: tuple[Token, ...] = ()  # the records that it has read or written
    listed: tuple[int, ...] = ()  # numbers, the head's first
    base: int = 0  # the last record that the head it knows covers
    covered: tuple[tuple[str, int], ...] = ()  # what it may delete
    appended: int = 0


class World(NamedTuple):
    processes: tuple[Process, ...]
    records: tuple[tuple[int, Token], ...] = ()  # sorted
    heads: tuple[tuple[int, tuple[Token, ...]], ...] = ()  # sorted; each holds all records up to its number
    flights: tuple[tuple[int, Token], ...] = ()  # puts that may still take effect
    files: frozenset[tuple[int, Token]] = frozenset()
    lease: int = -1
    promised: frozenset[Token] = frozenset()  # whose clients were told that they are committed
    denied: frozenset[Token] = frozenset()  # whose clients were told that nothing has been written
    faults: int = 0  # that have occurred


@dataclass
class Explorer:
    processes: int
    appends: int  # of each process
    faults: int
    rules: Rules = Rules()
    states: int = 0
    transitions: int = 0
    seen: dict[World, tuple[World, str] | None] = field(default_factory=dict)

    def explore(self) -> list[str]:
        """Visit all states, breadth first. The steps to the first one in which something is wrong; none if none is."""
        start = World((Process(),) * self.processes)
        self.seen, waiting = {start: None}, deque([start])
        while waiting:
            world = waiting.popleft()
            for step, after in self._steps(world):
                self.transitions += 1
                if after in self.seen:
                    continue
                self.seen[after] = (world, step)
                wrong = _wrong(world, after)
                if wrong:
                    return [*self._trace(after), wrong]
                waiting.append(after)
        self.states = len(self.seen)
        return []

    def _trace(self, world: World) -> list[str]:
        steps = []
        while (before := self.seen[world]) is not None:
            world, step = before
            steps.append(step)
        return steps[::-1]

    def _steps(self, world: World) -> Iterator[tuple[str, World]]:
        for flight in world.flights:
            left = tuple(each for each in world.flights if each != flight)
            yield f"{flight} takes effect", self._put(world._replace(flights=left), *flight)
        for p, process in enumerate(world.processes):
            # Processes are alike: they begin in the order of their numbers.
            if process.step == "out" and p and world.processes[p - 1].step == "out":
                continue
            act = getattr(self, f"_{process.step}", None)
            if act:
                for what, after in act(world, p, process):
                    yield f"{p}: {what}", after

    # -- opening -----------------------------------------------------------------------------------

    def _out(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        head = world.heads[-1][0] if world.heads else 0
        listed = (head, *(n for n, _ in world.records))
        yield "lists", _with(world, p, process._replace(step="listed", listed=listed))

    def _listed(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        base, *numbers = process.listed
        heads, records = dict(world.heads), dict(world.records)
        later = [n for n in numbers if n > base]
        if (base and base not in heads) or any(n not in records for n in later):
            return  # something was deleted meanwhile: it opens again, or another one does
        known = heads.get(base, ())
        for n in later:
            if n != len(known) + 1:
                return
            known = (*known, records[n])
        covered = tuple(("record", n) for n in numbers if n <= base and self._may_delete(n, known))
        step = "claim" if self.rules.sweep_after_takeover else "sweep"
        read = process._replace(step=step, known=known, base=base, covered=covered, listed=())
        yield "reads", _with(world, p, read)

    def _claim(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        yield from self._create(world, p, process, (TAKEOVER, p, 0), "check", "lost", "end")

    def _lost(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        """The reply to its takeover is lost."""
        mine = _is_mine(self.rules, dict(world.records).get(len(process.known) + 1), (TAKEOVER, p, 0))
        yield "reads its takeover back", _with(world, p, process._replace(step="check" if mine else "end"))

    def _check(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        if self._is_behind(world, process):
            yield "sees a head that is new to it", _with(world, p, process._replace(step="end"))
            return
        step = "sweep" if self.rules.sweep_after_takeover else "open"
        taken = process._replace(step=step, known=(*process.known, (TAKEOVER, p, 0)))
        yield "has taken over", _with(world, p, taken)._replace(lease=p)

    def _sweep(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        last = len(process.known) + 1
        kept = frozenset(
            (n, token) for n, token in world.files if not process.base < n <= last or token in process.known
        )
        step = "open" if self.rules.sweep_after_takeover else "claim"
        yield "removes leftovers", _with(world, p, process._replace(step=step))._replace(files=kept)

    # -- an open home ------------------------------------------------------------------------------

    def _open(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        n = len(process.known)
        if process.appended < self.appends:
            token = (APPEND, p, process.appended)
            staged = process._replace(step="staged", appended=process.appended + 1)
            yield "stages", _with(world, p, staged)._replace(files=world.files | {(n + 1, token)})
        if n > process.base:
            heads = {**(dict(world.heads) if self.rules.heads_have_numbers else {}), n: process.known}
            covered = [("record", k) for k in range(process.base + 1, n + 1) if self._may_delete(k, process.known)]
            older = [("head", process.base)] if process.base and self.rules.heads_have_numbers else []
            headed = process._replace(base=n, covered=(*process.covered, *older, *covered))
            yield f"writes head {n}", _with(world, p, headed)._replace(heads=tuple(sorted(heads.items())))
        if process.covered:
            (kind, n), *rest = process.covered
            trimmed = _with(world, p, process._replace(covered=tuple(rest)))
            if kind == "head":
                trimmed = trimmed._replace(heads=tuple(each for each in world.heads if each[0] != n))
            else:
                trimmed = trimmed._replace(records=tuple(each for each in world.records if each[0] != n))
            yield f"deletes {kind} {n}", trimmed

    def _staged(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        if not self.rules.put_if_absent and world.lease != p:
            yield "has lost its lease", _with(world, p, process._replace(step="end"))
        elif not self.rules.put_if_absent:
            yield "sees its lease", _with(world, p, process._replace(step="leased"))
        else:
            yield from self._leased(world, p, process)

    def _leased(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        token = _last(p, process)
        for what, after in self._create(world, p, process, token, "committed", "doubt", "doubt"):
            if after.processes[p].step == "committed":
                after = self._promise(after, p, process)
            yield what, after

    def _doubt(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        """Its append failed: what became of it?"""
        found = dict(world.records).get(len(process.known) + 1)
        if _is_mine(self.rules, found, _last(p, process)):
            yield "finds its record", self._promise(world, p, process)
        elif found is not None:
            yield "finds another's record", _with(world, p, process._replace(step="end"))
        elif self.rules.gave_up_is_settled:
            yield "finds no record", _with(world, p, process._replace(step="settle"))
        else:
            yield "finds no record", self._deny(world, p, process._replace(step="open"))

    def _settle(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        yield from self._create(world, p, process, _again(p, process), "settled", "settle", "settle", "refused")

    def _refused(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        """The number that it would settle is taken."""
        found = dict(world.records).get(len(process.known) + 1)
        if found == _last(p, process):
            yield "finds its record", self._promise(world, p, process)
        else:
            step = "settled" if found == _again(p, process) else "end"
            yield "finds another record", _with(world, p, process._replace(step=step))

    def _settled(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        if self._is_behind(world, process):
            yield "sees a head that is new to it", _with(world, p, process._replace(step="end"))
        else:
            known = (*process.known, _again(p, process))
            denied = self._deny(world, p, process._replace(step="open"))
            yield "has settled it", _with(denied, p, denied.processes[p]._replace(known=known))

    # -- the store ---------------------------------------------------------------------------------

    def _create(
        self,
        world: World,
        p: int,
        process: Process,
        token: Token,
        then: str,
        lost: str,
        failed: str,
        refused: str = "end",
    ) -> Iterator[tuple[str, World]]:
        """The outcomes of a put if absent of the next number."""
        n = len(process.known) + 1
        taken = self.rules.put_if_absent and n in dict(world.records)
        after = self._put(world, n, token)
        yield f"puts {token[0]} {n}", _with(after, p, process._replace(step=refused if taken else then))
        if world.faults < self.faults:
            worse = world._replace(faults=world.faults + 1)
            yield f"fails to put {token[0]} {n}", _with(worse, p, process._replace(step=failed))
            if (n, token) not in world.flights:
                late = worse._replace(flights=tuple(sorted((*world.flights, (n, token)))))
                yield f"gives up its put of {token[0]} {n}", _with(late, p, process._replace(step=failed))
            if not taken:
                after = after._replace(faults=worse.faults)
                yield f"puts {token[0]} {n}, its reply is lost", _with(after, p, process._replace(step=lost))

    def _put(self, world: World, n: int, token: Token) -> World:
        records = dict(world.records)
        if n in records and self.rules.put_if_absent:
            return world
        return world._replace(records=tuple(sorted({**records, n: token}.items())))

    def _is_behind(self, world: World, process: Process) -> bool:
        """A head that it does not know covers records that may have been deleted, whose numbers anybody could put."""
        return self.rules.claims_are_checked and bool(world.heads) and world.heads[-1][0] > process.base

    def _may_delete(self, n: int, known: tuple[Token, ...]) -> bool:
        return not self.rules.takeovers_stay or n > len(known) or known[n - 1][0] != TAKEOVER

    # -- what clients are told ---------------------------------------------------------------------

    def _promise(self, world: World, p: int, process: Process) -> World:
        token = _last(p, process)
        after = _with(world, p, process._replace(step="open", known=(*process.known, token)))
        return after._replace(promised=world.promised | {token})

    def _deny(self, world: World, p: int, process: Process) -> World:
        token = _last(p, process)
        files = frozenset(each for each in world.files if each[1] != token)
        return _with(world, p, process)._replace(files=files, denied=world.denied | {token})


def _with(world: World, p: int, process: Process) -> World:
    return world._replace(processes=(*world.processes[:p], process, *world.processes[p + 1 :]))


def _last(p: int, process: Process) -> Token:
    return APPEND, p, process.appended - 1


def _again(p: int, process: Process) -> Token:
    return TAKEOVER, p, process.appended


def _is_mine(rules: Rules, found: Token | None, token: Token) -> bool:
    return found == token or (not rules.nonces and found is not None)


def history(world: World) -> list[Token] | None:
    """What a process that opens the home now reads; None if it finds a gap."""
    base, known = world.heads[-1] if world.heads else (0, ())
    found = list(known)
    for n, token in world.records:
        if n > max(base, len(known)):
            if n != len(found) + 1:
                return None
            found.append(token)
    return found


def _wrong(before: World, after: World) -> str:
    """What is wrong in a state, if anything is."""
    old, new = history(before), history(after)
    if new is None or old is None:
        return "a record is missing"
    if new[: len(old)] != old:
        return "a record is lost or replaced"
    if not after.promised <= set(new):
        return "a record whose client was told that it is committed is lost"
    if after.denied & set(new):
        return "a record is there whose client was told that nothing has been written"
    files = {token for _, token in after.files}
    if any(token[0] == APPEND and token not in files for token in new):
        return "the data file of a record is deleted"
    for token in after.promised - before.promised:
        owners = [each[1] for each in new[: new.index(token)] if each[0] == TAKEOVER]
        if owners[-1:] != [token[1]]:
            return "a process that was overtaken was told that its record is committed"
    return ""
