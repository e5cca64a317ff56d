"""Patterns of keys come in; those that stand as they did when they were started are dropped.

Such a key needs no state: its pattern starts again with its next event and gives the same rows. So the state of a
pattern with keys holds only keys with something under way.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Ints, compiled_in_place, inlined
from presage.patterns.kernel.network import AND, KIND, UNTIL, WITHIN, Network
from presage.patterns.kernel.pools import (
    BEGIN,
    CELL_MATCH,
    CELL_NEXT,
    COUNT,
    DUE,
    FIRST,
    FLAG,
    FOREVER,
    NEXT,
    NODE,
    NOT_STARTED,
    PARENT,
    ROOT,
    SERIAL,
    SET,
    A,
    Pools,
)


@inlined
def next_term(terms: Ints, root: int, at: int) -> int:
    """Parents before children, children in the order of creation; -1 after the last."""
    if terms[at, FIRST] >= 0:
        return terms[at, FIRST]  # type: ignore[no-any-return]
    while at != root and terms[at, NEXT] < 0:
        at = terms[at, PARENT]
    return -1 if at == root else terms[at, NEXT]  # type: ignore[no-any-return]


@inlined
def collected(pools: Pools, i: int) -> int:
    """How many matches an AND holds; -1 if there is an event in one of them."""
    count, cell = 0, pools.terms[i, A]
    while cell >= 0:
        if pools.cells[cell, CELL_MATCH] >= 0:
            return -1
        count += 1
        cell = pools.cells[cell, CELL_NEXT]
    return count


@compiled_in_place
def shape_of(net: Network, pools: Pools, root: int) -> Ints:
    """A pattern that was just started: each term's node and how many matches it holds. Empty: it has a timer, so it
    depends on when it was started."""
    terms = pools.terms
    size, at = 0, root
    while at >= 0:
        size += 1
        at = next_term(terms, root, at)
    shape = np.zeros((size, 2), np.int64)
    number, at = 0, root
    while at >= 0:
        kind = net.nodes[terms[at, NODE], KIND]
        if kind != UNTIL and terms[at, DUE] != FOREVER:
            return np.zeros((0, 2), np.int64)
        shape[number, 0] = terms[at, NODE]
        if kind == AND:
            shape[number, 1] = collected(pools, at)
        number += 1
        at = next_term(terms, root, at)
    return shape


@inlined
def stands_as(net: Network, pools: Pools, root: int, shape: Ints, filled: Bools) -> bool:
    terms = pools.terms
    number, serial, at = 0, -1, root
    while at >= 0:
        kind = net.nodes[terms[at, NODE], KIND]
        if number == shape.shape[0] or terms[at, NODE] != shape[number, 0] or terms[at, SERIAL] < serial:
            return False
        if terms[at, BEGIN] >= 0 or (kind != UNTIL and terms[at, DUE] != FOREVER):
            return False
        if kind in (UNTIL, WITHIN) and terms[at, COUNT] > 0:
            return False
        if kind == AND and collected(pools, at) != shape[number, 1]:
            return False
        if terms[at, SET] >= 0 and filled[terms[at, SET]]:
            return False
        serial = terms[at, SERIAL]
        number += 1
        at = next_term(terms, root, at)
    return number == shape.shape[0]  # type: ignore[no-any-return]


@compiled_in_place
def drop_idle(net: Network, pools: Pools, shape: Ints, filled: Bools) -> None:
    """`shape` as of `shape_of`; `filled` by set of keys of EVERY-DISTINCT: whether there is one."""
    terms = pools.terms
    for key in range(pools.keys.shape[0]):
        root = pools.keys[key, ROOT]
        if root < 0 or not stands_as(net, pools, root, shape, filled):
            continue
        pools.keys[key, ROOT] = NOT_STARTED
        at = root
        while at >= 0:
            terms[at, FLAG] = 0
            at = next_term(terms, root, at)
