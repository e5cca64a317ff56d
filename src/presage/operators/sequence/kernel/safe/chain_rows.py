"""Inputs of the general loops of a safe plan: the intervals to evaluate, and rows by chain and step.

Of independent chains the loops take only the rows that a goal reads: the rest of the probability has no effect. Of a
Markov chain they take all rows, because unread values lead to read ones.
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from functools import cached_property
from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.operators.sequence.kernel.facts import CERTAIN, Source
from presage.operators.sequence.kernel.safe.codes import chains_read, ranges, rows_by_chain


class Intervals(NamedTuple):
    """All intervals from one of `starts` to one of `ends`, both ascending; owner[line] of `owners` unites its lines."""

    starts: Ints
    ends: Ints
    owner: Ints
    owners: int


class Alternatives(NamedTuple):
    """Rows of independent chains, by line, step and chain. `start` is by line."""

    start: Ints
    step: Ints
    chain: Ints
    probability: Floats
    bits: Ints


class Chains(NamedTuple):
    """Markov chains by line (`start`), their rows by step and value (`first`). Values are numbered from 1; 0 is no
    event, which `size` counts, too."""

    start: Ints
    size: Ints
    first: Ints
    step: Ints
    prev: Ints
    value: Ints
    probability: Floats
    bits: Ints


class ChainRows:
    """Rows of a source, sorted by chain on first use."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @cached_property
    def _by_chain(self) -> tuple[Ints, Ints, Ints]:
        """Rows in order, where those of a chain begin, and how many values it has."""
        of = self.source
        return rows_by_chain(of.chains, of.chain, of.step, of.value, of.prev, of.probability)

    def alternatives(self, line: Ints, row: Ints, bits: Ints) -> tuple[Ints, Ints, Ints, Floats, Ints]:
        """Line, step, chain, probability and bits. Each certain event counts as a chain of its own."""
        of = self.source
        if of.kind == CERTAIN:
            return line, of.step[row], row, np.ones(len(row)), bits
        return line, of.step[row], of.chain[row], of.probability[row], bits

    def chains(self, line: Ints, row: Ints, bits: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Line and size of each chain that is read; and of all their rows: number of the chain, row and bits."""
        of = self.source
        count = max(len(of.chain), 1)
        owner, chain, alone = chains_read(of.chains, of.chain, line, row)
        ordered, starts, sizes = self._by_chain
        places, own = ranges(starts[chain], starts[chain + 1])
        rows = ordered[places]
        if alone:
            # A row belongs to one line at most.
            meant = np.zeros(count, np.int64)
            meant[row] = bits
            return owner, sizes[chain], own, rows, meant[rows]
        read = line * count + row
        order = np.argsort(read)
        wanted = owner[own] * count + rows
        place = np.minimum(np.searchsorted(read[order], wanted), max(len(read) - 1, 0))
        meant = np.where(read[order][place] == wanted, bits[order][place], 0) if len(read) else np.zeros(0, np.int64)
        return owner, sizes[chain], own, rows, meant


def alternatives(lines: int, parts: list[tuple[Ints, Ints, Ints, Floats, Ints]]) -> Alternatives:
    """Merge the parts of several sources, each sorted by line, step and chain."""
    if len(parts) == 1:
        one = parts[0]
        return Alternatives(np.searchsorted(one[0], np.arange(lines + 1)), one[1], one[2], one[3], one[4])
    line, step, chain, probability, bits = (_together(parts, i) for i in range(5))
    # Chains of different sources may have the same number.
    number = chain * len(parts) + np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    order = np.argsort(line * (int(step.max(initial=0)) + 1) + step, kind="stable")
    start, chance = np.searchsorted(line[order], np.arange(lines + 1)), probability[order].astype(np.float64)
    return Alternatives(start, step[order], number[order], chance, bits[order])


def chains(lines: int, sources: list[Source], parts: list[tuple[Ints, Ints, Ints, Ints, Ints]]) -> Chains:
    """Merge the parts of several sources, each sorted by line."""
    if len(parts) == 1:
        (line, size, own, rows, bits), of = parts[0], sources[0]
        first, start = np.searchsorted(own, np.arange(len(line) + 1)), np.searchsorted(line, np.arange(lines + 1))
        chance = of.probability[rows].astype(np.float64)
        return Chains(start, size, first, of.step[rows], of.prev[rows] + 1, of.value[rows] + 1, chance, bits)
    line, size = _together(parts, 0), _together(parts, 1)
    own = _together([(part[2] + first,) for part, first in zip(parts, _before(parts), strict=True)], 0)
    bounds = np.searchsorted(own, np.arange(len(line) + 1))
    sizes = [(source.step,) for source in sources]
    rows = _together([(part[3] + first,) for part, first in zip(parts, _before(sizes), strict=True)], 0)
    bits = _together(parts, 4)
    order = np.argsort(line, kind="stable")
    places, _ = ranges(bounds[:-1][order], bounds[1:][order])
    rows, bits = rows[places], bits[places]
    line, size = line[order], size[order]
    bounds = np.concatenate([[0], np.cumsum(np.diff(bounds)[order])])
    step, prev, value, probability = (
        _together([(getattr(source, name),) for source in sources], 0)[rows]
        for name in ("step", "prev", "value", "probability")
    )
    start = np.searchsorted(line, np.arange(lines + 1))
    return Chains(start, size, bounds, step, prev + 1, value + 1, probability.astype(np.float64), bits)


def one_letter_each(c: Chains) -> bool:
    """Whether rows of a chain that lead to the same value at a step have the same bits."""
    if not len(c.step):
        return True
    another = np.zeros(len(c.step) + 1, np.bool_)
    another[c.first] = True
    same = (np.diff(c.step) == 0) & (np.diff(c.value) == 0) & ~another[1:-1]
    return not bool((same & (np.diff(c.bits) != 0)).any())


def _before(parts: Several[Several[Ints]]) -> Ints:
    """The number of items in all parts before each part."""
    sizes = np.array([len(part[0]) for part in parts], np.int64)
    return np.cumsum(sizes) - sizes


def _together(parts: list, place: int) -> Ints:  # type: ignore[type-arg]
    return np.concatenate([part[place] for part in parts]) if parts else np.zeros(0, np.int64)
