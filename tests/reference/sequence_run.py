"""A sequence query and one certain world in, its results out: as a machine that reads the world step by step.

The same meaning as `sequence_semantics`, said as an engine would do it: partial matches wait, each for its next event;
a new one may start at every step. A condition of the statement goes with the shortest prefix that binds its variables.
"""

from __future__ import annotations

from typing import Any

from reference.sequence_semantics import Binding, Query, Result, World, agree, candidates

# A match that waits: for which part, whether for its first event or for one more, and what it has bound.
Waiting = tuple[int, bool, Binding]


def run(query: Query, world: World) -> set[Result]:
    waiting: set[Waiting] = {(0, True, frozenset())}
    results: set[Result] = set()
    for step, events in enumerate(world):
        still: set[Waiting] = {(0, True, frozenset())}
        for place, first, binding in waiting:
            part, outer = query.parts[place], dict(binding)
            names = part.variables if first or part.plus is None else frozenset(part.plus.shared)
            found = [own for own in candidates(part, events) if agree(outer, own, names)]
            if not found:
                still.add((place, first, binding))
            for own in found:
                went_on = accepted(query, place, outer, own)
                if went_on is None:
                    continue
                if part.plus is not None:
                    still.add((place, False, went_on))
                if not all(condition.true_of(dict(went_on)) for condition in due(query, place)):
                    continue
                if place == len(query.parts) - 1:
                    results.add((went_on, step))
                else:
                    still.add((place + 1, True, went_on))
        waiting = still
    return results


def accepted(query: Query, place: int, outer: dict[str, Any], own: dict[str, Any]) -> Binding | None:
    """What is bound after the part took this event, or None if its plus does not let it go on."""
    plus = query.parts[place].plus
    if plus is None:
        return frozenset((outer | own).items())
    if plus.condition is not None and not plus.condition.true_of(outer | own):
        return None
    return frozenset((outer | {name: own[name] for name in plus.shared}).items())


def due(query: Query, place: int) -> list[Any]:
    """The conditions of the statement whose variables are all bound by this part and not before it."""
    before = frozenset[str]().union(*(part.visible for part in query.parts[:place]))
    now = before | query.parts[place].visible
    return [c for c in query.where if c.variables <= now and (place == 0 or not c.variables <= before)]
