"""Reader of goals that read one Markov chain each: probabilities of intervals without joint values."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.sequence.kernel.facts import MARKOV, Facts, Source
from presage.operators.sequence.kernel.query import Sequence
from presage.operators.sequence.kernel.safe.chain_rows import Intervals
from presage.operators.sequence.kernel.safe.chains.moves import ReadRows, fill_moves, rows_of
from presage.operators.sequence.kernel.safe.chains.renewal import GoalTables, renewal_spans
from presage.operators.sequence.kernel.safe.chains.tiles import FOUR, TILE
from presage.operators.sequence.kernel.safe.goals import asked_at, compared
from presage.operators.sequence.kernel.safe.joins import Bindings, Index, stacked

SPARSE = 4  # at most so many cells of matrices for each row
SMALL = 1 << 16  # cells whose cost is negligible
MOST_CELLS = 1 << 22  # of `leads`, for one line


class ApartReader:
    """The first goals of a sequence, for any values of `env`. `possible`: this reader applies and is fast."""

    def __init__(self, query: Sequence, facts: Facts, goals: int, env: frozenset[str]) -> None:
        self.steps = facts.steps
        own = query.goals[:goals]
        sources = [facts.sources[goal.source] for goal in own]
        asked = [compared(query, goal, env, False) for goal in own]
        self.possible = (
            len({goal.source for goal in own}) == goals
            and all(goal.plus is None for goal in own)
            and all(source.kind == MARKOV for source in sources)
            and not any(late for _, late in asked)
            and all(asked_at(query, condition, env) not in range(goals) for condition in query.conditions)
        )
        if not self.possible:
            return
        self.sizes = np.array([_size(source) for source in sources])
        cells = [source.chains * self.steps * size**2 for source, size in zip(sources, self.sizes, strict=True)]
        allowed = [max(SPARSE * len(source.chain), SMALL) for source in sources]
        self.possible = all(one <= most for one, most in zip(cells, allowed, strict=True))
        if not self.possible:
            return
        self.bases = np.cumsum([0, *cells])
        self.table = np.empty(self.bases[-1])
        hits: list[Bools] = []
        self.witness: list[Ints] = []
        self.chains: list[tuple[list[str], Ints, Index, Bools]] = []
        for goal, source, size, base, (early, _) in zip(own, sources, self.sizes, self.bases, asked, strict=False):
            rows, names = facts.goals[goal.number], sorted(early)
            # Variables of the key are the same in all rows of a chain.
            doubtful = [rows.variables[name] for name in names if not goal.key_positions(name)]
            reads = ReadRows(rows.candidate, rows.accepted, goal.number == 0, stacked(doubtful, len(source.chain)))
            hit, witness, ways, chains, leaders, alone, possible = fill_moves(
                self.table, int(base), int(size), self.steps, source.chains, rows_of(source), reads
            )
            columns_ahead = -(-ways // TILE) * TILE
            if not possible or self.steps * columns_ahead * size > MOST_CELLS:
                self.possible = False
                return
            hits.append(hit)
            self.witness.append(witness)
            index = Index([rows.variables[name][leaders] for name in names], len(chains))
            self.chains.append((names, chains, index, alone))
        self.hit, self.hit_bases = np.concatenate(hits), _bounds(hits)

    def spans(self, bindings: Bindings, spans: Intervals) -> Floats | None:
        """As `RegularReader.spans`; None if a line reads several chains of one goal."""
        chains = np.empty((len(self.chains), len(bindings)), np.int64)
        alone = np.empty(chains.shape, np.bool_)
        for goal, (names, some, index, known) in enumerate(self.chains):
            own = index.single(bindings.columns(names), len(bindings), some)
            if own is None:
                return None
            # For a line without a chain (-1) the flag is not read.
            chains[goal], alone[goal] = own, known[own]
        witness, bounds = np.concatenate(self.witness), _bounds(self.witness)
        tables = GoalTables(self.sizes, self.bases, self.table, self.hit_bases, self.hit, witness, bounds)
        return renewal_spans(spans, self.steps, tables, chains, alone)


def _size(source: Source) -> int:
    """The number of values, including no event."""
    return max(int(source.value.max(initial=-1)) + 2, FOUR)


def _bounds(parts: list[Ints] | list[Bools]) -> Ints:
    return np.cumsum([0, *(len(part) for part in parts)])
