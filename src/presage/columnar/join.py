"""The join of two tables by a condition; equalities in it are looked up by sorted keys."""

from __future__ import annotations

from collections.abc import Set

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes
from presage.arrays.jit import Ints
from presage.columnar.evaluate import Evaluator
from presage.plan.expr import Comparison, Expr, conjunction, conjuncts

# Pairs per call of the evaluator.
PAIRS_AT_ONCE = 1 << 20


def join_rows(condition: Expr | None, rows: pa.Table, others: pa.Table, evaluator: Evaluator) -> tuple[Ints, Ints]:
    """Row numbers in `rows`, ascending, and in `others`, ascending for each row. The tables share no column name."""
    pairs, rest = _equal_sides(condition, set(rows.column_names), set(others.column_names))
    left, right = _equal_rows(pairs, rows, others, evaluator)
    if rest is None:
        return left, right
    named = rest.columns()
    # A table without columns has no rows.
    ours = rows.select([c for c in rows.column_names if c in named] or rows.column_names[:1])
    theirs = others.select([c for c in others.column_names if c in named])
    kept = [np.zeros(0, np.bool_)]
    for start in range(0, len(left), PAIRS_AT_ONCE):
        some = slice(start, start + PAIRS_AT_ONCE)
        both = ours.take(pa.array(left[some]))
        for name in theirs.column_names:
            both = both.append_column(name, theirs[name].take(pa.array(right[some])))
        kept.append(evaluator.mask(rest, both))
    keep = np.concatenate(kept)
    return left[keep], right[keep]


def _equal_sides(
    condition: Expr | None, ours: Set[str], theirs: Set[str]
) -> tuple[list[tuple[Expr, Expr]], Expr | None]:
    """The equalities between the two tables, and the rest of the condition."""
    pairs: list[tuple[Expr, Expr]] = []
    rest: list[Expr] = []
    for part in conjuncts(condition):
        if isinstance(part, Comparison) and part.op == "=":
            left, right = part.left.columns(), part.right.columns()
            if left and right and left <= ours and right <= theirs:
                pairs.append((part.left, part.right))
                continue
            if left and right and left <= theirs and right <= ours:
                pairs.append((part.right, part.left))
                continue
        rest.append(part)
    return pairs, conjunction(rest)


def _equal_rows(
    pairs: list[tuple[Expr, Expr]], rows: pa.Table, others: pa.Table, evaluator: Evaluator
) -> tuple[Ints, Ints]:
    """Row numbers of both tables with equal keys; all pairs if there is no key."""
    count, further = rows.num_rows, others.num_rows
    if not pairs:
        return np.repeat(np.arange(count), further), np.tile(np.arange(further), count)
    ours = evaluator.columns([p[0] for p in pairs], rows)
    theirs = evaluator.columns([p[1] for p in pairs], others)
    columns = [pa.chunked_array([a, b]) for a, b in zip(ours, theirs, strict=True)]
    codes, _ = equality_codes(columns, count + further)
    # NULL equals nothing.
    valid = np.logical_and.reduce([c.is_valid().to_numpy() for c in columns])
    wanted = np.flatnonzero(valid[count:])
    wanted = wanted[np.argsort(codes[count:][wanted], kind="stable")]
    keys = codes[count:][wanted]
    low, high = (np.searchsorted(keys, codes[:count], side) for side in ("left", "right"))
    matches = np.where(valid[:count], high - low, 0)
    left = np.repeat(np.arange(count), matches)
    within = np.arange(len(left)) - np.repeat(np.cumsum(matches) - matches, matches)
    return left, wanted[np.repeat(low, matches) + within]
