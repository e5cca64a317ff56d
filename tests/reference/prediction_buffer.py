"""The buffer of update-tuples, slow and obvious: a list, and everything recomputed from its definition each time.

Numbers are exact fractions of seconds, so that ties are ties.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
End = tuple[int, bool]


def mixed(number: int) -> int:
    """The finalizer of splitmix64."""
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & MASK
    return number ^ (number >> 31)


def drawn(seed: int, arrival: int, count: int) -> int:
    """A number below `count` that follows from seed and arrival alone."""
    first = mixed((seed + GOLDEN) & MASK)
    return mixed(((first ^ arrival) + GOLDEN) & MASK) % count


@dataclass
class Tuple:
    """`start` and `stop` are as far as it may be used; the next one of its key may come sooner. An end is a time and
    whether that moment still belongs to the interval: of two at one time the one without it is the sooner."""

    arrival: int
    key: int
    time: int
    values: tuple[float, ...]
    rates: tuple[float, ...]
    start: int
    stop: End


@dataclass
class NaiveBuffer:
    """Times are microseconds. `evicted[i]`: the arrival number of what the i-th arrival drove out, or -1."""

    policy: str
    limit: int
    width: int
    period: int
    seed: int = 0
    held: list[Tuple] = field(default_factory=list)
    arrivals: int = 0
    clock: int | None = None
    evicted: list[int] = field(default_factory=list)

    # -- what is asked of it ---------------------------------------------------------------------------------

    def feed(self, time: int, key: int, values: tuple[float, ...], rates: tuple[float, ...], clock: int) -> None:
        self.clock = clock if self.clock is None else max(clock, self.clock)
        new = Tuple(self.arrivals, key, time, values, rates, time, (time + self.period, True))
        self.arrivals += 1
        self.held.append(new)
        before, after = self.neighbours(new)
        if before is not None:
            new.stop = max(new.stop, before.stop)
        if after is not None and after.start < time:
            new.start, after.start = after.start, after.time
        self.purge()
        victim = self.victim(new) if len(self.held) > self.limit else None
        self.evicted.append(-1 if victim is None else victim.arrival)
        if victim is not None:
            self.remove(victim, extend=self.policy != "if-full")

    def advance(self, clock: int) -> None:
        self.clock = clock if self.clock is None else max(clock, self.clock)
        self.purge()

    def pieces(self) -> set[tuple[int, int, int, bool]]:
        """(arrival, start, end, whether that is open) of all that is in force at some moment."""
        return {
            (one.arrival, one.start, end, not closed)
            for one in self.held
            for end, closed in [self.end(one)]
            if (one.start, False) < (end, closed)
        }

    # -- definitions -----------------------------------------------------------------------------------------

    def neighbours(self, one: Tuple) -> tuple[Tuple | None, Tuple | None]:
        chain = sorted((t for t in self.held if t.key == one.key), key=lambda t: (t.time, t.arrival))
        at = chain.index(one)
        return (chain[at - 1] if at else None), (chain[at + 1] if at + 1 < len(chain) else None)

    def end(self, one: Tuple) -> End:
        _, after = self.neighbours(one)
        return one.stop if after is None else min(one.stop, (after.start, False))

    def error(self, one: Tuple, other: Tuple) -> Fraction:
        """The integral of the difference, which is linear: its value in the middle, times the length."""
        start, end = Fraction(one.start, 10**6), Fraction(self.end(one)[0], 10**6)
        middle, total = (start + end) / 2, Fraction(0)
        for v, r, w, s in zip(one.values, one.rates, other.values, other.rates, strict=True):
            mine = Fraction(v) + Fraction(r) * (middle - Fraction(one.time, 10**6))
            others = Fraction(w) + Fraction(s) * (middle - Fraction(other.time, 10**6))
            total += abs((mine - others) * (end - start))
        return total

    def contribution(self, one: Tuple) -> Fraction | float:
        before, after = self.neighbours(one)
        if after is None:
            return inf
        return min(self.error(one, other) for other in (before, after) if other is not None)

    # -- what happens ----------------------------------------------------------------------------------------

    def purge(self) -> None:
        assert self.clock is not None
        while True:
            gone = [one for one in self.held if self.end(one) <= (self.clock - self.width, False)]
            if not gone:
                return
            self.remove(min(gone, key=lambda one: (self.end(one), one.arrival)), extend=False)

    def victim(self, new: Tuple) -> Tuple:
        if self.policy == "if-full":
            return new
        if self.policy == "oldest":
            return min((one for one in self.held if one is not new), key=lambda one: (one.time, one.arrival))
        contributions = [self.contribution(one) for one in self.held]
        if self.policy == "random" or min(contributions) == inf:
            return self.held[drawn(self.seed, new.arrival, len(self.held))]
        return min(self.held, key=lambda one: (self.contribution(one), one.arrival))

    def remove(self, one: Tuple, extend: bool) -> None:
        before, after = self.neighbours(one)
        if not extend:
            if before is not None:
                before.stop = min(before.stop, (one.start, False))
        elif before is not None and (after is None or self.error(one, before) <= self.error(one, after)):
            before.stop = max(before.stop, self.end(one))
        elif after is not None:
            after.start = one.start
        at = self.held.index(one)
        self.held[at] = self.held[-1]
        self.held.pop()
