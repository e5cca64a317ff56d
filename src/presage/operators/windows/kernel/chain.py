"""A left-deep chain of two-way joins over lifetimes: tuples of members of several items that live together.

A tuple of the first k items enters with its last member and leaves with its first. The order of the items links each to
one before it, where the links allow that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Ints
from presage.operators.windows.kernel.pairs import ALL_OLD, LEAVING_OLD, SKIP_OLD, Items, find_pairs


@dataclass(frozen=True)
class Link:
    """Equality of two tuples of columns, one of each side; null equals nothing, not even null."""

    left: int
    left_columns: tuple[str, ...]
    right: int
    right_columns: tuple[str, ...]


@dataclass(frozen=True)
class LinkCodes:
    """One code for each row of both sides; -1 where a column is null."""

    link: Link
    left: Ints
    right: Ints
    count: int


@dataclass(frozen=True)
class Members:
    """Rows of one item: ranks between which each lives, and whether it takes part in tuples."""

    enter: Ints
    leave: Ints
    takes_part: Bools


@dataclass(frozen=True)
class Tuples:
    """Tuples of members: for each item the row of its member, and the ranks between which the tuple lives."""

    rows: dict[int, Ints]
    enter: Ints
    leave: Ints


def link_codes(link: Link, left: pa.Table, right: pa.Table) -> LinkCodes:
    both = [
        pa.chunked_array([*left[a].chunks, *right[b].chunks], left[a].type)
        for a, b in zip(link.left_columns, link.right_columns, strict=True)
    ]
    rows = left.num_rows + right.num_rows
    codes, count = equality_codes(both, rows)
    for key in both:
        if key.null_count:
            codes[key.is_null().to_numpy()] = -1
    return LinkCodes(link, codes[: left.num_rows], codes[left.num_rows :], max(count, 1))


def chain_order(items: int, links: Sequence[Link], static: Sequence[bool]) -> tuple[int, ...]:
    """The order in which items join: a stream first (relations alone make no tuple), linked items before others."""

    def linked(item: int, others: Sequence[int]) -> bool:
        return any(
            (link.left == item and link.right in others) or (link.right == item and link.left in others)
            for link in links
        )

    everything = range(items)
    first = min(everything, key=lambda i: (static[i], not linked(i, everything), i))
    chosen = [first]
    while len(chosen) < items:
        rest = [i for i in everything if i not in chosen]
        chosen.append(min(rest, key=lambda i: (not linked(i, chosen), static[i], i)))
    return tuple(chosen)


def join_members(
    members: Sequence[Members], codes: Sequence[LinkCodes], order: Sequence[int], last: int, changelog: bool
) -> Tuples:
    """All tuples that enter in this call; with `changelog` also older ones that leave in it. Order as in `pairs`."""
    tuples = _singles(order[0], members[order[0]], last)
    for at, item in enumerate(order[1:], start=1):
        more = _singles(item, members[item], last)
        # A new event of a later item may complete old tuples of the first items.
        old = ALL_OLD if at < len(order) - 1 else LEAVING_OLD if changelog else SKIP_OLD
        left_key, right_key, keys = _keys(tuples, item, more.rows[item], codes)
        i, j = find_pairs(
            Items(tuples.enter, tuples.leave, left_key), Items(more.enter, more.leave, right_key), keys, last, old
        )
        tuples = Tuples(
            {**{k: rows[i] for k, rows in tuples.rows.items()}, item: more.rows[item][j]},
            np.maximum(tuples.enter[i], more.enter[j]),
            np.minimum(tuples.leave[i], more.leave[j]),
        )
    return tuples


def _singles(item: int, members: Members, last: int) -> Tuples:
    rows = np.flatnonzero(members.takes_part & (members.enter < last) & (members.enter < members.leave))
    return Tuples({item: rows}, members.enter[rows], members.leave[rows])


def _keys(tuples: Tuples, item: int, rows: Ints, codes: Sequence[LinkCodes]) -> tuple[Ints, Ints, int]:
    """Keys of the tuples so far and of the next item's rows, equal where all links between them hold."""
    parts: list[tuple[Ints, Ints, int]] = []
    for code in codes:
        link = code.link
        if link.right == item and link.left in tuples.rows:
            parts.append((code.left[tuples.rows[link.left]], code.right[rows], code.count))
        elif link.left == item and link.right in tuples.rows:
            parts.append((code.right[tuples.rows[link.right]], code.left[rows], code.count))
    if not parts:
        return np.zeros(len(tuples.enter), np.int64), np.zeros(len(rows), np.int64), 1
    left, right, count = parts[0]
    if len(parts) == 1:
        return left, right, count
    columns = [pa.chunked_array([pa.array(a), pa.array(b)]) for a, b, _ in parts]
    joint, count = equality_codes(columns, len(left) + len(right))
    return joint[: len(left)], joint[len(left) :], max(count, 1)
