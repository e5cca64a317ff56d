"""Filters that an event has come to by now come in; those whose condition the host finds true remain."""

from __future__ import annotations

import numpy as np

from presage.arrays.columns import Universe
from presage.patterns.kernel.match_spec import Oracle
from presage.patterns.kernel.network import CURRENT, FIRST_ARGUMENT, Network
from presage.patterns.kernel.pattern_output import rows_bound, taken
from presage.patterns.kernel.pattern_spec import PatternSpec
from presage.patterns.kernel.pools import (
    ASKS,
    BEGIN,
    CHOSEN,
    CHOSEN_ASKED,
    CHOSEN_ROW,
    CHOSEN_TERM,
    NODE,
    Pools,
)


def ask(spec: PatternSpec, net: Network, oracle: Oracle, universe: Universe, pools: Pools) -> None:
    """One question for each filter of the pattern, about all of its instances."""
    registers = pools.registers
    chosen = pools.chosen[: registers[CHOSEN]]
    nodes = pools.terms[chosen[:, CHOSEN_TERM], NODE]
    true = np.ones(len(chosen), np.bool_)
    for number in np.unique(nodes[chosen[:, CHOSEN_ASKED] >= 0]):
        node = spec.nodes[number]
        own = np.flatnonzero(nodes == number)
        begins = np.ascontiguousarray(pools.terms[chosen[own, CHOSEN_TERM], BEGIN])
        arguments = []
        for argument, name in node.asked_columns:
            tag, index = net.arguments[net.nodes[number, FIRST_ARGUMENT] + argument]
            rows = chosen[own, CHOSEN_ROW] if tag == CURRENT else rows_bound(pools.binds, begins, int(tag), int(index))
            arguments.append(taken(universe.column(name), rows))
        true[own] = np.asarray(oracle.ask(node.asked, arguments), np.bool_)
    kept = chosen[true]
    pools.chosen[: len(kept)] = kept
    registers[CHOSEN] = len(kept)
    registers[ASKS] = 0
