"""Goals that read one Markov chain each and values of variables in, the chances of intervals out, if that can be."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.probability.kernel.facts import MARKOV, Facts, Source
from presage.probability.kernel.query import Sequence
from presage.probability.kernel.safe_goals import GoalReader
from presage.probability.kernel.safe_moves import fill_moves, mark_hits
from presage.probability.kernel.safe_renewal import LEAST, renewal_spans
from presage.probability.kernel.safe_rows import Bindings

SPARSE = 4  # cells of all matrices for each row that there is, at most
SMALL = 1 << 16  # cells that cost next to nothing
MOST_CELLS = 1 << 22  # of what leads to the candidates of one line


def apart(query: Sequence, facts: Facts, goals: int) -> bool:
    """Whether no two goals read one stream, and all streams are Markov ones."""
    some = query.goals[:goals]
    alone = len({goal.source for goal in some}) == goals
    return alone and all(goal.plus is None and facts.sources[goal.source].kind == MARKOV for goal in some)


class ApartReader:
    def __init__(self, query: Sequence, facts: Facts, readers: list[GoalReader]) -> None:
        self.steps, self.readers = facts.steps, readers
        self.sources = [facts.sources[goal.source] for goal in query.goals[: len(readers)]]
        self.sizes = np.array([_size(source) for source in self.sources])
        sizes = [source.chains * self.steps * wide**2 for source, wide in zip(self.sources, self.sizes, strict=True)]
        self.possible = all(
            size <= max(SPARSE * len(source.chain), SMALL) for source, size in zip(self.sources, sizes, strict=True)
        )
        if not self.possible:
            return
        self.bases = np.cumsum([0, *sizes])
        self.table = np.zeros(self.bases[-1])
        self.rows = [
            fill_moves(
                self.table, int(base), int(wide), self.steps, s.chains, s.chain, s.step, s.prev, s.value, s.probability
            )
            for base, wide, s in zip(self.bases, self.sizes, self.sources, strict=False)
        ]

    def spans(self, bindings: Bindings, starts: Ints, ends: Ints, owner: Ints, owners: int) -> Floats | None:
        """As `RegularReader.spans`; None if a line reads several chains of a goal, or a candidate is turned down."""
        if not self.possible:
            return None
        lines = len(bindings)
        bases = np.cumsum([0, *(lines * self.steps * self.sizes)])
        hit = np.zeros(bases[-1], np.bool_)
        chains = np.zeros((len(self.readers), lines), np.int64)
        candidates = []
        for number, (reader, of) in enumerate(zip(self.readers, self.sources, strict=True)):
            read, wide = reader.read(bindings), int(self.sizes[number])
            if not read.accepted.all():
                return None
            chains[number], good = mark_hits(
                hit, int(bases[number]), wide, self.steps, lines, read.line, read.row, self.rows[number],
                of.chain, of.step, of.prev, of.value,
            )  # fmt: skip
            some = hit[bases[number] : bases[number + 1]].reshape(lines, self.steps, wide).any(axis=0)
            if not good or self.steps * int(some.sum()) * wide > MOST_CELLS:
                return None
            candidates.append(np.flatnonzero(some.any(axis=1)))
        since = [np.union1d([0], steps) for steps in candidates]
        witness = [steps[steps > 0] for steps in candidates]
        return renewal_spans(
            starts, ends, owner, owners, self.steps, self.sizes, chains, self.bases, self.table, bases, hit,
            np.concatenate(since), _bounds(since), np.concatenate(witness), _bounds(witness),
        )  # fmt: skip


def _size(source: Source) -> int:
    """How many values there are, with no event."""
    return max(int(source.value.max(initial=-1)) + 2, LEAST)


def _bounds(parts: list[Ints]) -> Ints:
    return np.cumsum([0, *(len(part) for part in parts)])
