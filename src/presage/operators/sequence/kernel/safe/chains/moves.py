"""Tables of a Markov source's transitions and of a goal's candidates, filled in one pass without sorting.

For sources that have most of the rows that they could have. Rows come by step while the table is by chain, so adjacent
matrices are far apart in memory: each matrix is built in a buffer and written once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled_into, inlined
from presage.operators.sequence.kernel.facts import ROUNDING, Source

FOUR = (0, 0, 0, 0)
PROBES = 64  # rows sampled to guess which value is the candidate


class MarkovRows(NamedTuple):
    """Rows of a Markov source, by step and chain."""

    chain: Ints
    step: Ints
    prev: Ints
    value: Ints
    chance: Floats


class ReadRows(NamedTuple):
    """What a goal reads. `first`: it is the first goal; variables[variable, row] are those compared that are not in the
    key."""

    candidate: Bools
    accepted: Bools
    first: bool
    variables: Ints


def rows_of(source: Source) -> MarkovRows:
    return MarkovRows(source.chain, source.step, source.prev, source.value, source.probability)


@compiled_into
def fill_moves(
    table: Floats, base: int, size: int, steps: int, chains: int, rows: MarkovRows, reads: ReadRows
) -> tuple[Bools, Ints, int, Ints, Ints, Bools, bool]:
    """Writes probabilities (chains, steps, value before, value) from table[base] on. Returns:

    - what the goal reads, (chains, steps, value);
    - the steps except step 0 at which it reads some chain, and how many values it reads at all steps;
    - the chains that it reads, and a row of each;
    - by chain, whether it reads the last value at every step, and no other value;
    - whether tables are possible. They are not if a candidate is turned down, if a value at a step has both rows that
      are read and others, or if the rows that are read of a chain differ in their variables.

    Values are numbered from 1 so that the candidate is the last one, if possible; 0 is no event, with the rest of the
    probability.
    """
    number = _numbers(size, rows, reads)
    found: tuple[Bools, Ints, int, Ints, Ints, Bools, bool]
    if size == len(FOUR):
        found = _filled(FOUR, table, base, size, steps, chains, rows, reads, number)
    else:
        found = _filled((), table, base, size, steps, chains, rows, reads, number)
    return found


@inlined
def _filled(known, table, base, count_of_values, steps, chains, rows, reads_of, number):  # type: ignore[no-untyped-def]
    """As `fill_moves`. `known`: a tuple with one entry for each value, so that the compiler unrolls the loops over
    values; () for any number."""
    size = len(known) if len(known) else count_of_values
    chain, step, prev, value, chance = rows
    candidate, accepted, first, variables = reads_of
    hit = np.zeros(chains * steps * size, np.bool_)
    some = np.zeros(steps * size, np.bool_)
    leader = np.full(chains, -1, np.int64)
    alone = np.ones(chains, np.bool_)
    there = np.zeros(chains * steps, np.bool_)
    matrix = np.empty(size * size, np.float64)
    # Of one chain and step: values with a row that is read, and values with a row that is not. Bits if `known`.
    told = np.zeros(2 * size, np.bool_)
    possible = True
    i, count = 0, 1
    while i < len(chain):
        own, t = chain[i], step[i]
        # Guess: as many rows as before.
        end = min(i + count, len(chain))
        if chain[end - 1] != own or step[end - 1] != t:
            end = i + 1
        while end < len(chain) and chain[end] == own and step[end] == t:
            end += 1
        count = end - i
        line = own * steps + t
        possible = possible and not there[line]
        there[line] = True
        for cell in range(size * size):
            matrix[np.uint64(cell)] = 0.0
        lead, reading, passing = leader[np.uint64(own)], 0, 0
        for k in range(i, end):
            row = np.uint64(k)
            p, before = chance[row], prev[row] + 1
            if p > 0.0 and before < size:
                w = number[np.uint64(value[row] + 1)]
                matrix[np.uint64(number[np.uint64(before)] * size + w)] += p
                reads = candidate[row] & (accepted[row] | (not first))
                if not len(known):
                    told[np.uint64(w if reads else size + w)] = True
                # Bits, because branches would be mispredicted.
                bit = np.int64(reads) << w
                reading |= bit
                passing |= bit ^ (1 << w)
                lead = k if reads & (lead < 0) else lead
                possible &= accepted[row] | (not reads)
        if lead >= 0:
            for n in range(len(variables)):
                x = variables[np.uint64(n), np.uint64(lead)]
                possible &= x >= 0
                for k in range(i, end):
                    row = np.uint64(k)
                    same = variables[np.uint64(n), row] == x
                    possible &= same | (not candidate[row] & (accepted[row] | (not first)))
        i, leader[np.uint64(own)] = end, lead
        put_moves(table, base + line * size * size, matrix, size)
        for w in range(size):
            taken = reading >> w & 1 != 0 if len(known) else told[np.uint64(w)]
            passed = passing >> w & 1 != 0 if len(known) else told[np.uint64(size + w)]
            possible &= not (taken and passed)
            if passed if w == size - 1 else taken:
                alone[np.uint64(own)] = False
            if taken:
                hit[np.uint64(line * size + w)] = some[np.uint64(t * size + w)] = True
            if not len(known):
                told[np.uint64(w)] = told[np.uint64(size + w)] = False
    put_missing(table, base, matrix, size, there)
    witness, ways = np.zeros(steps, np.bool_), 0
    for cell in range(steps * size):
        ways += some[cell]
        witness[cell // size] |= some[cell] and cell >= size
    read = np.flatnonzero(leader >= 0)
    return hit, np.flatnonzero(witness), ways, read, leader[read], alone, possible


@inlined
def put_moves(table, at, matrix, size):  # type: ignore[no-untyped-def]
    """Write a matrix to table[at]. No event gets the rest of the probability."""
    for v in range(size):
        here = np.uint64(v * size)
        rest = 1.0
        for w in range(1, size):
            rest -= matrix[here + np.uint64(w)]
        matrix[here] = rest if rest > ROUNDING * size else 0.0
    for cell in range(size * size):
        table[np.uint64(at + cell)] = matrix[np.uint64(cell)]


@inlined
def put_missing(table, base, matrix, size, there):  # type: ignore[no-untyped-def]
    """Fill steps of chains without rows: no event, whatever the value before."""
    matrix[:] = 0.0
    for line in range(len(there)):
        if not there[line]:
            put_moves(table, base + line * size * size, matrix, size)


@inlined
def _numbers(size, rows, reads_of):  # type: ignore[no-untyped-def]
    """The number of each value, by value + 1: the value that is read most often in a sample of rows is the last."""
    _, _, prev, value, chance = rows
    candidate, accepted, first, _ = reads_of
    read = np.zeros(size, np.int64)
    for i in range(0, len(value), len(value) // PROBES + 1):
        if chance[i] > 0.0 and prev[i] + 1 < size:
            reads = candidate[i] and (accepted[i] or not first)
            read[value[i] + 1] += 1 if reads else -1
    number = np.arange(size)
    wanted = np.argmax(read)
    if wanted > 0:
        number[wanted], number[size - 1] = size - 1, wanted
    return number
