"""A sequence query in, its class out: regular, extended regular, safe or unsafe, by the letter of the definitions.

Definitions 3.1, 3.4, 3.5 and 3.8 of the paper, with selected variables as constants. A plus shares with other subgoals
only the variables that it names: one that it uses and does not name is independent nowhere. A stream without a key has
all its attributes for one. Truth may be narrower (one event can match two subgoals), so no algorithm should be chosen
by this module.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference.possible_worlds import Stream
from reference.sequence_semantics import Condition, Part, Query, Variable


def class_of(query: Query, streams: Mapping[str, Stream]) -> str:
    shared = shared_variables(query)
    if not all_local(query):
        return "unsafe"
    if not shared:
        return "regular"
    if all(independent(query.parts, name, streams) for name in shared):
        return "extended regular"
    prefixes = {name: last_place(query, name) + 1 for name in shared}
    if all(independent(query.parts[:length], name, streams) for name, length in prefixes.items()):
        return "safe"
    return "unsafe"


def shared_variables(query: Query) -> set[str]:
    """Variables that two subgoals have, or that a plus shares, unless they are selected."""
    names = {name for part in query.parts for name in part.variables}
    places = {name: [i for i, part in enumerate(query.parts) if name in part.variables] for name in names}
    repeated = {name for name in names if len(places[name]) > 1}
    unfolded = {name for part in query.parts if part.plus is not None for name in part.plus.shared}
    return (repeated | unfolded) - set(query.selected)


def last_place(query: Query, name: str) -> int:
    return max(i for i, part in enumerate(query.parts) if name in part.variables)


def all_local(query: Query) -> bool:
    """Each predicate speaks of variables of one subgoal, selected ones aside."""
    fixed = set(query.selected)

    def local(condition: Condition) -> bool:
        return any(condition.variables - fixed <= part.visible for part in query.parts)

    def inside(part: Part) -> bool:
        condition = None if part.plus is None else part.plus.condition
        return condition is None or condition.variables - fixed <= part.variables

    return all(map(inside, query.parts)) and all(map(local, query.where))


def independent(parts: tuple[Part, ...], name: str, streams: Mapping[str, Stream]) -> bool:
    """Syntactically independent: in a key position of every subgoal, and for one stream always in a common one."""
    common: dict[str, set[int]] = {}
    for part in parts:
        if name not in part.visible:
            return False
        here = {i for i in streams[part.stream].about if part.terms[i] == Variable(name)}
        common[part.stream] = common.get(part.stream, here) & here
    return all(common.values())
