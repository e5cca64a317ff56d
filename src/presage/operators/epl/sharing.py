"""EPL patterns shared by statements of one plan template: one node, with the statement as a further key.

Keys are independent, so the part of one statement in a shared state equals the state of its own kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from presage.arrays.columns import ints
from presage.arrays.owned_rows import counted_by_owner, filled, joined_tables
from presage.model.operator_state import State
from presage.operators.epl.compile import pattern_kernel
from presage.operators.epl.kernel.key_blocks import blocked, part_of, placed
from presage.operators.epl.kernel.network.tables import WIDTH
from presage.operators.epl.kernel.spec import STATEMENT, PatternTables
from presage.operators.epl.nodes import PatternMatch
from presage.plan.nodes import Node

KEEPERS: tuple[type[Node], ...] = (PatternMatch,)
# The column of the only key in the state of a pattern without keys.
ONE_KEY = "_key"


def shared_node(node: Node) -> Node | None:
    if not isinstance(node, PatternMatch) or not _starts_alike(node):
        return None
    terms = tuple(replace(term, text="") for term in node.tables.nodes)
    return replace(node, tables=replace(node.tables, nodes=terms, begin=None, shared=True, text=""), text="")


def _starts_alike(node: PatternMatch) -> bool:
    """Whether rows do not depend on when the pattern starts: as a key it starts with its first event."""
    tables = node.tables
    # The seen keys of EVERY-DISTINCT are not stored by statement.
    distinct = any(term.kind == "distinct" for term in tables.nodes)
    if tables.discard or tables.suppress or len(node.sources) != 1 or distinct:
        return False
    return pattern_kernel(node, {}).starts_idle


def claimed(node: Node, state: State, number: int) -> State:
    """The state of one statement as a shared one."""
    if "keys" not in state.tables:
        return State(state.kernel)
    state = blocked(_tables(node), state)
    keys = state.tables["keys"]
    if ONE_KEY in keys.column_names:
        keys = keys.drop_columns([ONE_KEY])
    keys = keys.append_column(STATEMENT, filled(number, keys))
    return State(state.kernel, state.tables | {"keys": keys}, dict(state.numbers))


def joined(node: Node, several: Sequence[State]) -> State:
    states = [blocked(_tables(node), state) for state in several if "keys" in state.tables]
    if len(states) < 2:
        return states[0] if states else State("pattern")
    open_ = sum(state.numbers.get("open", 0) for state in states)
    return State("pattern", joined_tables([state.tables for state in states]), {"open": open_})


def part(node: Node, state: State, numbers: Collection[int]) -> State:
    """The part of some of the statements."""
    if "keys" not in state.tables:
        return State(state.kernel)
    state = blocked(_tables(node), state)
    wanted = np.isin(ints(state.tables["keys"], STATEMENT), np.fromiter(numbers, np.int64, len(numbers)))
    some, _ = part_of(state, wanted)
    some.numbers["open"] = sum(open_by_statement(node, some).values())
    return some


def alone(node: Node, state: State, number: int) -> State:
    """The part of one statement as a state of its own."""
    own = part(node, state, [number])
    if "keys" in own.tables:
        keys = own.tables["keys"].drop_columns([STATEMENT])
        if not any(name.startswith(ONE_KEY) for name in keys.column_names):
            keys = keys.add_column(0, ONE_KEY, filled(0, keys))
        own.tables["keys"] = keys
    # A pattern that starts alike at any time counts as started.
    own.numbers["started"] = 1
    return own


def open_by_statement(node: Node, state: State) -> dict[int, int]:
    """The number of open partial matches of each statement: see `pattern.open_matches`."""
    if "keys" not in state.tables or not state.tables["terms"].num_rows:
        return {}
    tables = _tables(node)
    state = placed(blocked(tables, state))
    terms, cells = state.tables["terms"], state.tables["cells"]
    kinds = np.array([term.kind for term in tables.nodes])[ints(terms, "node") // WIDTH]
    begun = ints(terms, "begin") >= 0
    waiting = begun & np.isin(kinds, ("filter", "interval"))
    count = (waiting | ((kinds == "until") & (ints(terms, "count") > 0))).astype(np.int64)
    if cells.num_rows:
        owner = ints(cells, "c0")
        np.add.at(count, owner, ints(cells, "c2") != ints(terms, "begin")[owner])
    return counted_by_owner(ints(state.tables["keys"], STATEMENT)[ints(terms, "key")], count)


def _tables(node: Node) -> PatternTables:
    assert isinstance(node, PatternMatch)
    return node.tables
