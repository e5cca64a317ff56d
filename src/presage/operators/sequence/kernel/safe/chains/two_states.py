"""The backward step of one chain and an automaton of two states, as one loop.

For chains of up to three values of which one leads from the first state to the second, where any event finds the
sequence. In the second state only no event continues the wait, and the leading value of the first state continues in
the second: of eight lines, by state and value, only five are read, and only these are computed.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import inlined, inlined_always
from presage.operators.sequence.kernel.safe.chains.tiles import (
    FOUR,
    FOUR_TILES,
    ONE_TILE,
    THREE_TILES,
    TILE,
    TWO_TILES,
    row_of,
    whole_eights,
)

STAYS, LEADS, NEITHER = np.uint8(1), np.uint8(2), np.uint8(4)  # the effect of a code in the first state
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@inlined
def roles_of(size, follow, moves):  # type: ignore[no-untyped-def]
    """STAYS, LEADS or NEITHER by code; empty if there are not two states, or more than three values. `follow` and
    `moves` as in `ClassAutomaton`."""
    roles = np.zeros(moves.shape[1], np.uint8)
    if size != FOUR or len(follow) != 2 or len(moves) != 2 or moves[0, 0] != 0 or moves[1, 0] != 1:
        return roles[:0]
    for code in range(len(roles)):
        found = moves[1, code] < 0
        roles[code] = LEADS if found and moves[0, code] == 1 else STAYS if found and moves[0, code] == 0 else NEITHER
    return roles


@inlined
def push_two(steps, table, base, says, said, follow, roles, comes):  # type: ignore[no-untyped-def]
    """Run one chain forward; comes[step, state, value] is what reaches a value from a state. Returns the leading value,
    0 if there is not exactly one or a value is NEITHER. Codes of impossible values are ignored."""
    a0, a1, a2, a3 = 1.0, 0.0, 0.0, 0.0
    b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0
    one, two, three = np.uint8(0), np.uint8(0), np.uint8(0)
    for t in range(steps):
        meant, to = np.uint64(said + t * FOUR), t * 2 * FOUR
        m = row_of(table, base + t * FOUR * FOUR)
        n = row_of(table, base + t * FOUR * FOUR + FOUR)
        r = row_of(table, base + t * FOUR * FOUR + 2 * FOUR)
        s = row_of(table, base + t * FOUR * FOUR + 3 * FOUR)
        p = _moved(a0, a1, a2, a3, m, n, r, s)
        q = _moved(b0, b1, b2, b3, m, n, r, s)
        _put(comes, to, p)
        _put(comes, to + FOUR, q)
        i, j, k = np.uint64(says[meant + ONE]), np.uint64(says[meant + TWO]), np.uint64(says[meant + THREE])
        a0, b0 = _shared(p[0], q[0], follow, np.uint64(0))
        a1, b1 = _shared(p[1], q[1], follow, i)
        a2, b2 = _shared(p[2], q[2], follow, j)
        a3, b3 = _shared(p[3], q[3], follow, k)
        one |= roles[i] if (m[1] + n[1]) + (r[1] + s[1]) > 0.0 else np.uint8(0)
        two |= roles[j] if (m[2] + n[2]) + (r[2] + s[2]) > 0.0 else np.uint8(0)
        three |= roles[k] if (m[3] + n[3]) + (r[3] + s[3]) > 0.0 else np.uint8(0)
    leading = int(one == LEADS) + int(two == LEADS) + int(three == LEADS)
    if leading != 1 or max(one, two, three) > LEADS:
        return 0
    return 1 if one == LEADS else 2 if two == LEADS else 3


@inlined_always
def _moved(a, b, c, d, m, n, r, s):  # type: ignore[no-untyped-def]
    return (
        (a * m[0] + b * n[0]) + (c * r[0] + d * s[0]),
        (a * m[1] + b * n[1]) + (c * r[1] + d * s[1]),
        (a * m[2] + b * n[2]) + (c * r[2] + d * s[2]),
        (a * m[3] + b * n[3]) + (c * r[3] + d * s[3]),
    )


@inlined_always
def _put(to, at, row):  # type: ignore[no-untyped-def]
    i = np.uint64(at)
    to[i], to[i + ONE], to[i + TWO], to[i + THREE] = row


@inlined_always
def _shared(p, q, follow, code):  # type: ignore[no-untyped-def]
    """Distribute the mass of two states after a code."""
    on, back = follow[np.uint64(0), code] != 0, follow[ONE, code] == 0
    return (0.0 if on else p) + (q if back else 0.0), (p if on else 0.0) + (0.0 if back else q)


@inlined
def back_two(out, own, starts, ends, table, base, leads, comes, x):  # type: ignore[no-untyped-def]
    """As `_back`, for a chain with one leading value. Lines are: no event in the first state, the leading value in the
    second, the other two values in the first, no event in the second."""
    other, last = 1 if leads == 2 else 2, 1 if leads == 3 else 3
    wide, unused = whole_eights(len(ends)), np.zeros(TILE, np.float64)
    for first in range(0, len(ends), TILE):
        high = min(first + TILE, len(ends))
        lo, s, end = high, len(starts) - 1, whole_eights(high - first)
        for t in range(ends[high - 1], -1, -1):
            while lo > first and ends[lo - 1] == t:
                lo -= 1
                for line in range(5):
                    x[np.uint64(line * TILE + lo - first)] = 0.0
            while s >= 0 and starts[s] > t:
                s -= 1
            begin, at, arrived = (lo - first) // 8 * 8, base + t * FOUR * FOUR, t * 2 * FOUR
            # Mostly an interval begins at each step; elsewhere the result is discarded.
            begins = s >= 0 and starts[s] == t
            to, where = (out, (own * len(starts) + s) * wide + first) if begins else (unused, 0)
            _back_step(x, begin, end, table, at, leads, other, last, comes, arrived, to, where)


@inlined_always
def _row(table, at, leads, other, last):  # type: ignore[no-untyped-def]
    """Four entries in the order of the lines."""
    return table[np.uint64(at)], table[np.uint64(at + leads)], table[np.uint64(at + other)], table[np.uint64(at + last)]


@inlined_always
def _back_step(x, begin, end, table, at, leads, other, last, comes, arrived, out, to):  # type: ignore[no-untyped-def]
    """A step back; the result of an interval that begins there is united with out[to]."""
    a0, a1, a2, a3 = _row(table, at, leads, other, last)
    b0, b1, b2, b3 = _row(table, at + leads * FOUR, leads, other, last)
    c0, c1, c2, c3 = _row(table, at + other * FOUR, leads, other, last)
    d0, d1, d2, d3 = _row(table, at + last * FOUR, leads, other, last)
    p0, p1, p2, p3 = _row(comes, arrived, leads, other, last)
    q, q1, q2, q3 = row_of(comes, arrived + FOUR)
    a, b, sure = a1 + (a2 + a3), b1 + (b2 + b3), q1 + (q2 + q3)
    for column in range(begin, end):
        i, k = np.uint64(column), np.uint64(to + column)
        x0, x1, x2, x3, y = x[i], x[i + ONE_TILE], x[i + TWO_TILES], x[i + THREE_TILES], x[i + FOUR_TILES]
        x[i] = (x0 * a0 + x1 * a1) + (x2 * a2 + x3 * a3)
        x[i + ONE_TILE] = y * b0 + b
        x[i + TWO_TILES] = (x0 * c0 + x1 * c1) + (x2 * c2 + x3 * c3)
        x[i + THREE_TILES] = (x0 * d0 + x1 * d1) + (x2 * d2 + x3 * d3)
        x[i + FOUR_TILES] = y * a0 + a
        out[k] += ((x0 * p0 + x1 * p1) + (x2 * p2 + x3 * p3) + (y * q + sure)) * (1.0 - out[k])
