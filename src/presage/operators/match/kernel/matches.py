"""Matches of a step and their output rows, as arrays between the search and the measures."""

from __future__ import annotations

from dataclasses import dataclass

from presage.arrays.jit import Ints


@dataclass(frozen=True)
class Matches:
    """Matches of one step, and its output rows in order of emission.

    Rows are numbers of rows of the step's table, which is sorted by partition, then order; rows of a match are
    contiguous. All arrays are int64.
    """

    starts: Ints  # first row of each match (an empty match: the row at which it is)
    lengths: Ints  # rows of the match, 0 if empty
    offsets: Ints  # (matches + 1,): the labels of match i are labels[offsets[i]:offsets[i + 1]]
    labels: Ints  # label of each row of each match, one after the other
    numbers: Ints  # MATCH_NUMBER(); 0 for a partial match that timed out (shown as null)
    partition_begin: Ints  # rows [begin, end) of the match's partition in this step
    partition_end: Ints
    # Output rows: the match (-1: an unmatched row); the row itself (ONE ROW: the last row of the match, of an empty
    # match its row); its place within the match: rows of the match up to and including it, 0 if empty or unmatched.
    out_match: Ints
    out_row: Ints
    out_at: Ints
