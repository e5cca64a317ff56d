"""Conditions that only the host can evaluate: filters whose condition is not true are no longer chosen."""

from __future__ import annotations

import numpy as np

from presage.arrays.columns import Universe
from presage.arrays.jit import Ints
from presage.arrays.programs.code import Oracle
from presage.operators.epl.kernel.network.loop import CHOSEN_ASKED, CHOSEN_ROW, CHOSEN_TERM
from presage.operators.epl.kernel.network.memory import ASKS, BEGIN, CHOSEN, NODE
from presage.operators.epl.kernel.network.tables import CURRENT, FIRST_ARGUMENT, WIDTH
from presage.operators.epl.kernel.output import rows_bound, taken
from presage.operators.epl.kernel.spec import PatternTables


def ask(spec: PatternTables, net: Ints, oracle: Oracle, universe: Universe, memory: Ints, pool: Ints) -> None:
    """One call for each filter of the pattern, with all of its instances. `pool`: `Work.chosen`."""
    chosen = pool[: memory[CHOSEN]]
    nodes = memory[chosen[:, CHOSEN_TERM] + NODE] // WIDTH
    true = np.ones(len(chosen), np.bool_)
    for number in np.unique(nodes[chosen[:, CHOSEN_ASKED] >= 0]):
        node = spec.nodes[number]
        own = np.flatnonzero(nodes == number)
        begins = memory[chosen[own, CHOSEN_TERM] + BEGIN]
        arguments = []
        for argument, name in node.asked_columns:
            tag, index = net[net[number * WIDTH + FIRST_ARGUMENT] + 2 * argument :][:2]
            rows = chosen[own, CHOSEN_ROW] if tag == CURRENT else rows_bound(memory, begins, int(tag), int(index))
            arguments.append(taken(universe.column(name), rows))
        true[own] = np.asarray(oracle.ask(node.asked, arguments), np.bool_)
    kept = chosen[true]
    pool[: len(kept)] = kept
    memory[CHOSEN] = len(kept)
    memory[ASKS] = 0
