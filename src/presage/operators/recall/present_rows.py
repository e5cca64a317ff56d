"""The rows that a window retains at a moment, for ANALYSIS PRESENT."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes
from presage.arrays.rows import changes, ordinals
from presage.columnar.evaluate import Evaluator
from presage.columnar.processing_order import sorted_table
from presage.operators.recall.retained import Retained
from presage.plan.nodes import SEQ, TIME


def present_rows(node: Retained, rows: pa.Table, clock: int, end: bool, evaluator: Evaluator) -> pa.Table:
    """In the order in which they came. `end`: nothing more comes, and time is known up to the last of them."""
    rows = sorted_table(rows, (TIME, SEQ, *node.order))
    if end and rows.num_rows:
        clock = max(clock, int(rows[TIME][-1].as_py()))
    if node.span is not None:
        rows = rows.filter(pa.array(rows[TIME].to_numpy() > clock - node.span))
    if node.most is None or not rows.num_rows:
        return rows
    keys = [pa.chunked_array([key]) for key in evaluator.columns(list(node.keys), rows)]
    codes, _ = equality_codes(keys, rows.num_rows)
    order = np.argsort(codes if node.oldest else codes[::-1], kind="stable")
    order = order if node.oldest else rows.num_rows - 1 - order
    kept = order[ordinals(changes([codes[order]], len(order))) < node.most]
    return rows.take(pa.array(np.sort(kept)))
