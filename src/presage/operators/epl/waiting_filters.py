"""The filters that wait in a pattern's state: their partial matches, and the ends of their guards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from presage.arrays.columns import ints
from presage.model.operator_state import State
from presage.operators.epl.kernel.key_blocks import placed
from presage.operators.epl.kernel.network.tables import WIDTH
from presage.operators.epl.kernel.saving import DONE
from presage.operators.epl.kernel.spec import SEQ, PatternTables

NOT_DUE = 2**62


@dataclass(frozen=True)
class Waiting:
    """A filter that waits. `bound`: tags and arrivals of the events of its partial match; `rows`: their rows in the
    state; `guards`: the ends of the guards around it."""

    term: int
    bound: tuple[tuple[int, int], ...] = ()
    rows: tuple[int, ...] = ()
    guards: tuple[int, ...] = ()
    state: State | None = None

    @property
    def same(self) -> tuple[Any, ...]:
        """Identifies the same partial match in a later state."""
        return self.term, self.bound

    @property
    def due(self) -> int | None:
        """When a guard ends it."""
        return min((due for due in self.guards if due < NOT_DUE), default=None)

    def has(self, number: int) -> bool:
        return any(arrival == number for _, arrival in self.bound)


def waiting_in(state: State, tables: PatternTables) -> list[Waiting]:
    """All filters that wait; a state leaves out idle keys (see `waiting_at_start`)."""
    if not terms_in(state):
        return []
    state = placed(state)
    terms = state.tables["terms"]
    nodes, parents, begins, dues = (ints(terms, name) for name in ("node", "parent", "begin", "due"))
    binds = state.tables["binds"]
    chain = [ints(binds, name) for name in binds.column_names[:3]] if binds.num_rows else []
    numbers = ints(state.tables["rows"], SEQ) if "rows" in state.tables else np.zeros(0, np.int64)
    waiting = []
    for i in range(terms.num_rows):
        term = int(nodes[i]) // WIDTH
        if tables.nodes[term].kind != "filter":
            continue
        bound, rows, at = [], [], int(begins[i])
        while at >= 0:
            before, tag, row = (int(column[at]) for column in chain)
            bound.append((tag, int(numbers[row])))
            rows.append(row)
            at = before
        guards, up = [], int(parents[i])
        while up >= 0:
            if tables.nodes[int(nodes[up]) // WIDTH].kind == "within":
                guards.append(int(dues[up]))
            up = int(parents[up])
        waiting.append(Waiting(term, tuple(bound[::-1]), tuple(rows[::-1]), tuple(guards), state))
    return waiting


def waiting_at_start(tables: PatternTables) -> list[Waiting]:
    """The filters that wait when a pattern has just started."""

    def first(number: int) -> list[int]:
        term = tables.nodes[number]
        if term.kind == "filter":
            return [number]
        children = term.children[:1] if term.kind == "followed" else term.children
        return [leaf for child in children for leaf in first(child)]

    return [Waiting(number) for number in first(0)]


def terms_in(state: State) -> int:
    terms = state.tables.get("terms")
    return 0 if terms is None else int(terms.num_rows)


def is_over(state: State) -> bool:
    """Whether all the patterns of a state have ended."""
    keys = state.tables.get("keys")
    return keys is not None and bool(keys.num_rows) and bool(ints(keys, DONE).all())
