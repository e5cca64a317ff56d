"""A sequence as static analysis and the kernels see it: goals with their terms, and the conditions between them.

Names and types are settled before (see `analyze`); what a condition says is in tables by then, so only the variables
that it speaks of are here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

# Kinds of streams. A certain one has events that happened: several of one key may be there at one step, all of them.
CERTAIN, INDEPENDENT, MARKOV = 0, 1, 2


@dataclass(frozen=True)
class Variable:
    name: str


@dataclass(frozen=True)
class Known:
    """A constant; `text` as the user wrote it."""

    value: object
    text: str


@dataclass(frozen=True)
class Anything:
    """`_`"""


Term = Variable | Known | Anything


def inner_name(name: str, goal: int) -> str:
    """What a variable is called that only the unfoldings of a Kleene plus know: each has its own value for it, so it
    is not the variable of that name elsewhere."""
    return f"{name}@{goal}"


def plain_name(name: str) -> str:
    """As the user wrote it."""
    return name.partition("@")[0]


@dataclass(frozen=True)
class Goal:
    """One subgoal. `key`: positions among `terms` that make the event key; `source`: the number of its stream among
    those of the query; `plus`: None, or the variables that all unfoldings of a Kleene plus share. `selective`: a
    candidate may be turned down after it was chosen as next, by what the goal's own event says."""

    number: int
    stream: str
    source: int
    key: tuple[int, ...]
    terms: tuple[Term, ...]
    plus: frozenset[str] | None = None
    selective: bool = False
    text: str = ""

    @cached_property
    def variables(self) -> frozenset[str]:
        return frozenset(term.name for term in self.terms if isinstance(term, Variable))

    @cached_property
    def free(self) -> frozenset[str]:
        """Variables that can be seen outside of it."""
        return self.variables if self.plus is None else self.plus

    @cached_property
    def _keyed(self) -> dict[str, frozenset[int]]:
        found: dict[str, frozenset[int]] = {}
        for i in self.key:
            if isinstance(term := self.terms[i], Variable):
                found[term.name] = found.get(term.name, frozenset()) | {i}
        return found

    def key_positions(self, name: str) -> frozenset[int]:
        """Where a variable stands in the key."""
        return self._keyed.get(name, frozenset())


@dataclass(frozen=True)
class Condition:
    """A part of the statement's WHERE over several goals' variables; those over one goal are in `Goal.selective`.
    It holds, or not, once the goals up to number `level` are found."""

    variables: frozenset[str]
    level: int
    text: str
    unfolding: bool = False  # of a Kleene plus: asked at each unfolding, of its own values before those of the prefix


@dataclass(frozen=True)
class Sequence:
    goals: tuple[Goal, ...]
    conditions: tuple[Condition, ...] = ()
    selected: tuple[str, ...] = ()
    markov: frozenset[int] = frozenset()  # sources whose steps are correlated

    @cached_property
    def shared(self) -> frozenset[str]:
        """Variables that more than one goal has, or that the unfoldings of a Kleene plus share."""
        seen: dict[str, int] = {}
        for goal in self.goals:
            for name in goal.variables:
                seen[name] = seen.get(name, 0) + (2 if goal.plus is not None and name in goal.plus else 1)
        return frozenset(name for name, count in seen.items() if count > 1)

    @cached_property
    def seen_before(self) -> tuple[frozenset[str], ...]:
        """By goal: variables that the goals before it have made known."""
        found = [frozenset[str]()]
        for goal in self.goals:
            found.append(found[-1] | goal.free)
        return tuple(found)

    def first(self, name: str) -> int:
        """The number of the first goal with a variable."""
        return next(goal.number for goal in self.goals if name in goal.variables)

    def prefix(self, length: int) -> Sequence:
        return Sequence(
            self.goals[:length], tuple(c for c in self.conditions if c.level < length), self.selected, self.markov
        )


def dividing(query: Sequence, given: frozenset[str]) -> tuple[str, ...]:
    """Variables of `given` whose value every chain has one of: all goals have it in the key, those of one stream at the
    same place."""

    def divides(name: str) -> bool:
        for goal in query.goals:
            if name not in goal.variables or (goal.plus is not None and name not in goal.plus):
                return False
        sources = {goal.source for goal in query.goals}
        places = [[g.key_positions(name) for g in query.goals if g.source == s] for s in sources]
        return all(frozenset.intersection(*several) for several in places)

    return tuple(sorted(name for name in given if divides(name)))
