"""A long table as pieces, so that few changed rows do not copy all of it.

New rows are a piece of their own. Small neighbouring pieces are joined, so that their number grows with the logarithm
of the rows. Rows that have left are cut off in front; elsewhere they remain until they are a large part of their piece.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Bools, Ints

Pieces = list[pa.RecordBatch]
# The largest piece: so much is copied at once. Texts have offsets of 32 bits.
PIECE_ROWS = 1 << 18
PIECE_BYTES = 1 << 28
# If more than this share of a piece has left, it is rewritten without those rows.
MOST_LEFT = 0.25


def pieces_of(table: pa.Table) -> Pieces:
    pieces: Pieces = table.to_batches(max_chunksize=PIECE_ROWS)
    return pieces


def taken(pieces: Pieces, schema: pa.Schema, rows: Ints) -> pa.Table:
    """Some rows, which ascend."""
    bounds = np.searchsorted(rows, _starts(pieces))
    parts = [
        piece.take(pa.array(rows[low:high] - start))
        for piece, start, low, high in zip(pieces, _starts(pieces)[:-1], bounds[:-1], bounds[1:], strict=True)
        if low < high
    ]
    return pa.Table.from_batches(parts, schema)


def thinned(pieces: Pieces, left: Bools) -> tuple[Pieces, Bools]:
    """The pieces without most rows that left, and which rows are still there."""
    there = np.ones(left.size, np.bool_)
    ahead = int(np.argmin(left)) if left.size and not left.all() else left.size
    there[:ahead] = False
    thin: Pieces = []
    for piece, start in zip(pieces, _starts(pieces)[:-1].tolist(), strict=True):
        end = start + piece.num_rows
        if end <= ahead:
            continue
        first = max(start, ahead)
        piece = piece.slice(first - start)
        gone = left[first:end]
        if np.count_nonzero(gone) > MOST_LEFT * gone.size:
            there[first:end] = ~gone
            piece = piece.filter(pa.array(~gone))
        if piece.num_rows:
            thin.append(piece)
    return thin, there


def gathered(pieces: Sequence[pa.RecordBatch]) -> Pieces:
    """The same rows in fewer pieces: two neighbours remain only if they do not fit, or the first is much longer."""
    joined: Pieces = []
    for piece in pieces:
        joined.append(piece)
        while len(joined) > 1 and _fit(joined[-2], joined[-1]):
            second, first = joined.pop(), joined.pop()
            joined.append(pa.Table.from_batches([first, second]).combine_chunks().to_batches()[0])
    return joined


def _fit(first: pa.RecordBatch, second: pa.RecordBatch) -> bool:
    return bool(
        first.num_rows <= 2 * second.num_rows
        and first.num_rows + second.num_rows <= PIECE_ROWS
        and first.nbytes + second.nbytes <= PIECE_BYTES
    )


def _starts(pieces: Pieces) -> Ints:
    return np.cumsum([0, *(piece.num_rows for piece in pieces)], dtype=np.int64)
