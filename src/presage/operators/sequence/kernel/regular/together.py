"""Groups in which chains meet: rows by group, step and chain go through the automaton."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Ints
from presage.arrays.rows import changes
from presage.operators.sequence.kernel.regular.automaton import Steps, build_automaton
from presage.operators.sequence.kernel.regular.dense_beliefs import DenseBeliefs, Ran, Start
from presage.operators.sequence.kernel.regular.groups import Grouping
from presage.operators.sequence.kernel.regular.loops import GroupRows, Runs, chances_together
from presage.operators.sequence.kernel.regular.rows import Chains


@dataclass
class Pass:
    """All groups, for one choice of values of the other variables."""

    rows: Chains
    symbol: Ints  # as bits
    grouping: Grouping
    steps: Steps

    def run(self, start: Start, steps: int) -> Ran | None:
        rows, groups = self.rows, len(self.grouping.values)
        widths = rows.widths.copy()
        np.maximum.at(widths, start.group, start.value + 2)
        kept = np.flatnonzero(rows.linked | (self.symbol != 0))
        automaton = build_automaton(self.steps, self.symbol[kept], start.state, several=_several(rows, kept))
        if automaton is None:
            return None
        symbol = np.searchsorted(automaton.symbols, self.symbol[kept])
        group, step = rows.group[kept], rows.step[kept]
        begins = np.flatnonzero(changes([group, step], len(kept)))
        runs = np.append(begins, len(kept))
        run_group, run_step = group[begins], step[begins]
        run_bounds = np.searchsorted(run_group, np.arange(groups + 1))
        found = np.zeros(len(begins))
        dense = DenseBeliefs(automaton, widths, start)
        own = np.append(0, np.cumsum(rows.linked[kept]))
        linked = runs[:-1] + own[runs[1:]] - own[runs[:-1]]
        chances_together(
            Runs(runs, linked, run_step, run_bounds),
            GroupRows(rows.chain[kept], symbol, rows.value[kept], rows.prev[kept], rows.probability[kept]),
            automaton.follow,
            automaton.accepts,
            automaton.united,
            widths,
            dense.starts,
            steps,
            dense.mass,
            found,
        )
        positive = np.flatnonzero(found > 0.0)
        arrival = np.maximum.reduceat(rows.arrival[kept], begins) if len(begins) else begins
        return dense.ran((run_group[positive], run_step[positive], found[positive], arrival[positive]))


def _several(rows: Chains, kept: Ints) -> bool:
    """Whether chains meet at a step of a group."""
    if len(kept) < 2:
        return False
    group, step, chain = rows.group[kept], rows.step[kept], rows.chain[kept]
    return bool(((group[1:] == group[:-1]) & (step[1:] == step[:-1]) & (chain[1:] != chain[:-1])).any())
