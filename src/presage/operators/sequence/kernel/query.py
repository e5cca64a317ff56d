"""A bound sequence, as static analysis and the kernels read it: goals with their terms, and conditions between them.

`analyze` has resolved names and types. A condition is known here by its variables alone: its expression is evaluated by
an oracle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

# Kinds of streams. Events of a certain stream have happened: several of one key may occur at one step.
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
    """The name of a variable inside a Kleene plus: each unfolding has its own value, so it differs from the variable of
    that name elsewhere."""
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
        """Positions of a variable in the key."""
        return self._keyed.get(name, frozenset())


@dataclass(frozen=True)
class Condition:
    """A part of the statement's WHERE over variables of several goals; those over one goal are in `Goal.selective`. It
    is decided when the goals up to number `level` are found."""

    variables: frozenset[str]
    level: int
    text: str
    unfolding: bool = False  # checked at each unfolding of a Kleene plus, whose values take precedence


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
        """By goal: the variables of the goals before it."""
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
    """Variables of `given` with one value in every chain: all goals have them in the key, goals of one stream at the
    same position."""

    def divides(name: str) -> bool:
        for goal in query.goals:
            if name not in goal.variables or (goal.plus is not None and name not in goal.plus):
                return False
        sources = {goal.source for goal in query.goals}
        places = [[g.key_positions(name) for g in query.goals if g.source == s] for s in sources]
        return all(frozenset.intersection(*several) for several in places)

    return tuple(sorted(name for name in given if divides(name)))
