"""A sequence query and one certain world in, the bindings and steps at which it holds out: the definitions alone.

A query is read as in Fig. 2 of the paper: a set of partial results is carried from subgoal to subgoal. Where the figure
is silent: a variable of the prefix that a Kleene plus uses and does not share keeps the prefix's value outside; and
a null is matched by nothing but `_`. A world is a list over steps of lists of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Event:
    """One event of a world: its stream, and the values of all attributes but the time, in order."""

    stream: str
    values: tuple[Any, ...]


World = list[list[Event]]


@dataclass(frozen=True)
class Variable:
    name: str


@dataclass(frozen=True)
class Constant:
    value: Any


@dataclass(frozen=True)
class Anything:
    """The term `_`."""


Term = Variable | Constant | Anything


@dataclass(frozen=True)
class Condition:
    """A condition as text, the variables it speaks of, and what it says of a binding (None: unknown, so not true)."""

    text: str
    variables: frozenset[str]
    function: Callable[[dict[str, Any]], bool | None] = field(repr=False, compare=False)

    def true_of(self, binding: dict[str, Any]) -> bool:
        return self.function(binding) is True


@dataclass(frozen=True)
class Plus:
    """Kleene plus: the variables that all unfoldings share, and what must hold at each of them."""

    shared: tuple[str, ...] = ()
    condition: Condition | None = None


@dataclass(frozen=True)
class Part:
    """A base query: a subgoal, the condition on its candidates, and the plus if it has one."""

    stream: str
    terms: tuple[Term, ...]
    condition: Condition | None = None
    plus: Plus | None = None

    @cached_property
    def variables(self) -> frozenset[str]:
        return frozenset(term.name for term in self.terms if isinstance(term, Variable))

    @cached_property
    def visible(self) -> frozenset[str]:
        """The variables that the rest of the query sees."""
        return self.variables if self.plus is None else frozenset(self.plus.shared)


@dataclass(frozen=True)
class Query:
    """Parts in order, the conjuncts of the statement's WHERE, and the selected variables."""

    parts: tuple[Part, ...]
    where: tuple[Condition, ...] = ()
    selected: tuple[str, ...] = ()

    @cached_property
    def visible(self) -> frozenset[str]:
        return frozenset().union(*(part.visible for part in self.parts))

    @cached_property
    def is_meaningful(self) -> bool:
        """Each condition speaks of variables that it can see, and what is selected can be seen."""
        before: frozenset[str] = frozenset()
        for part in self.parts:
            if part.condition is not None and not part.condition.variables <= part.variables:
                return False
            if part.plus is not None:
                inside = part.plus.condition.variables if part.plus.condition is not None else frozenset()
                if not (set(part.plus.shared) <= part.variables and inside <= before | part.variables):
                    return False
            before |= part.visible
        return set(self.selected) <= before and all(condition.variables <= before for condition in self.where)


# A partial result: values of the variables that are visible so far, and the step of its last event.
Binding = frozenset[tuple[str, Any]]
Result = tuple[Binding, int]


def holds(query: Query, world: World) -> set[Result]:
    """All results of the query in this world: the values of its visible variables, and the step."""
    assert query.is_meaningful
    results: set[Result] | None = None
    for part in query.parts:
        results = simple(results, part, world) if part.plus is None else repeated(results, part, part.plus, world)
    assert results is not None
    return {(b, step) for b, step in results if all(condition.true_of(dict(b)) for condition in query.where)}


def simple(before: set[Result] | None, part: Part, world: World) -> set[Result]:
    """q ; σ(g)."""
    followed = following(before, part, world, agreeing=part.variables)
    return {(frozenset((outer | own).items()), step) for outer, own, step in followed}


def repeated(before: set[Result] | None, part: Part, plus: Plus, world: World) -> set[Result]:
    """q ; σ(g)+{V | θ}: the union over one unfolding, two, three, … until no result can be unfolded once more."""
    found: set[Result] = set()
    unfolded = kept(plus, following(before, part, world, agreeing=part.variables))
    while unfolded:
        found |= unfolded
        # The variables outside V are fresh in each later unfolding: it need not agree on them.
        unfolded = kept(plus, following(unfolded, part, world, agreeing=frozenset(plus.shared)))
    return found


def kept(plus: Plus, unfolded: Iterable[tuple[dict[str, Any], dict[str, Any], int]]) -> set[Result]:
    """The unfoldings for which θ holds, with what is visible of them. In θ a name is first the unfolding's own."""
    found: set[Result] = set()
    for outer, own, step in unfolded:
        if plus.condition is None or plus.condition.true_of(outer | own):
            found.add((frozenset((outer | {name: own[name] for name in plus.shared}).items()), step))
    return found


def following(
    before: set[Result] | None, part: Part, world: World, agreeing: frozenset[str]
) -> Iterator[tuple[dict[str, Any], dict[str, Any], int]]:
    """For each partial result all its successors: the candidates at the earliest later step that has any.

    Without a prefix each candidate of any step is a beginning.
    """
    if before is None:
        for step, events in enumerate(world):
            for own in candidates(part, events):
                yield {}, own, step
        return
    for binding, last in before:
        outer = dict(binding)
        for step in range(last + 1, len(world)):
            found = [own for own in candidates(part, world[step]) if agree(outer, own, agreeing)]
            for own in found:
                yield outer, own, step
            if found:
                break


def candidates(part: Part, events: list[Event]) -> Iterator[dict[str, Any]]:
    """The bindings of the events that match the subgoal and pass its own condition."""
    for event in events:
        own = matched(part, event)
        if own is not None and (part.condition is None or part.condition.true_of(own)):
            yield own


def matched(part: Part, event: Event) -> dict[str, Any] | None:
    if event.stream != part.stream:
        return None
    own: dict[str, Any] = {}
    for term, value in zip(part.terms, event.values, strict=True):
        if isinstance(term, Constant) and not same(term.value, value):
            return None
        if isinstance(term, Variable):
            if value is None:
                return None
            if term.name in own and not same(own[term.name], value):
                return None
            own[term.name] = value
    return own


def agree(outer: dict[str, Any], own: dict[str, Any], names: frozenset[str]) -> bool:
    return all(same(outer[name], own[name]) for name in names if name in outer and name in own)


def same(a: Any, b: Any) -> bool:
    return a is not None and b is not None and bool(a == b)
