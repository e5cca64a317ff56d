"""Keys that EVERY-DISTINCT has let through, as sets with expiry.

A hash table finds the lines of `seen`. A set is never emptied within a step: a new one gets a new number, and the lines
of unused sets are dropped between steps.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints, inlined
from presage.arrays.programs.code import FLOAT
from presage.operators.epl.kernel.network.memory import NOW, SEEN, Values, Work
from presage.operators.epl.kernel.network.periods import compute
from presage.operators.epl.kernel.network.tables import ARGUMENTS, FIRST_ARGUMENT, FIRST_KEY, KEYS

# Columns of `seen`; words of the key follow. NULLS has a bit for each word that is null.
SEEN_SET, EXPIRY, NULLS, WORDS = range(4)


@inlined
def hashed(seen: Ints, line: int, width: int) -> int:
    mixed = seen[line, SEEN_SET] * 0x9E3779B97F4A7C1 + seen[line, NULLS]
    for k in range(width):
        mixed = (mixed ^ (mixed >> 29)) * 0x3F58476D1CE4E5B9 + seen[line, WORDS + k]
    mixed = (mixed ^ (mixed >> 32)) * 0x14D049BB133111EB
    return mixed ^ (mixed >> 29)  # type: ignore[no-any-return]


@inlined
def place_of(seen: Ints, index: Ints, line: int) -> int:
    """The slot of `index` with a line of the same set and key, or the free slot for it."""
    width = seen.shape[1] - WORDS
    at = hashed(seen, line, width) & (index.size - 1)
    while index[at] >= 0:
        other = index[at]
        same = seen[other, SEEN_SET] == seen[line, SEEN_SET] and seen[other, NULLS] == seen[line, NULLS]
        for k in range(width):
            same = same and seen[other, WORDS + k] == seen[line, WORDS + k]
        if same:
            return at
        at = (at + 1) & (index.size - 1)
    return at


@inlined
def let_through(
    net: Ints, values: Values, memory: Ints, work: Work, node: int, match: int, group: int, expiry: int
) -> bool:
    """Whether the key of `match` is new to the set `group`; if so it is stored until `expiry`. Needs one free line."""
    seen, index, line = work.seen, work.hashes, memory[SEEN]
    seen[line, SEEN_SET] = group
    seen[line, EXPIRY] = expiry
    seen[line, NULLS] = 0
    for k in range(WORDS, seen.shape[1]):
        seen[line, k] = 0
    for k in range(net[node + KEYS]):
        key = net[node + FIRST_KEY] + 2 * k
        compute(net, values, memory, net[key], net[node + FIRST_ARGUMENT], net[node + ARGUMENTS], match, -1)
        if not values.scratch.stack_valid[0]:
            seen[line, NULLS] |= 1 << k
        elif net[key + 1] == FLOAT:
            number = values.scratch.stack_f[0]
            # All NaN are one key, and so are both zeros.
            number = np.nan if number != number else number + 0.0
            seen[line, WORDS + k] = np.float64(number).view(np.int64)
        else:
            seen[line, WORDS + k] = values.scratch.stack_i[0]
    at = place_of(seen, index, line)
    known = index[at]
    if known < 0:
        index[at] = line
        memory[SEEN] += 1
        return True
    if seen[known, EXPIRY] <= memory[NOW]:
        seen[known, EXPIRY] = expiry
        return True
    return False


@inlined
def copy_set(memory: Ints, work: Work, group: int, other: int) -> None:
    """Copies the keys of a set to another one. There must be memory for as many lines as are used."""
    seen, index = work.seen, work.hashes
    for line in range(memory[SEEN]):
        if seen[line, SEEN_SET] == group:
            copied = memory[SEEN]
            for k in range(seen.shape[1]):
                seen[copied, k] = seen[line, k]
            seen[copied, SEEN_SET] = other
            index[place_of(seen, index, copied)] = copied
            memory[SEEN] += 1
