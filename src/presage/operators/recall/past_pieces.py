"""Pieces of past events and the terms of their contexts, as they are stored in the state of a statement.

A piece is written once. Neighbours of about the same size are joined, so that there are few pieces, and each event is
rewritten only a few times.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.jit import Bools, Ints
from presage.arrays.rows import lexical_order
from presage.columnar.vectors import one_array
from presage.model.operator_state import State
from presage.operators.recall.nodes import Similar
from presage.operators.recall.similar_terms import TERMS
from presage.plan.nodes import SEQ, TIME

KERNEL = "past"
ROWS, TERMS_OF, IDENTITY = "rows", "terms ", "id"
# In a piece of a sample: how many events each represents.
WEIGHT = "weight"
# A stored term: the place of its event in the piece, that of its attribute among those of the contexts, its text, and
# its number if it is one.
KEPT = pa.schema([("event", pa.int32()), ("attribute", pa.int16()), ("value", pa.string()), ("number", pa.float64())])


@dataclass(frozen=True)
class Piece:
    """Past events in order of (TIME, SEQ, order), and for each RECALL SIMILAR their terms, by event."""

    identity: int
    rows: pa.Table
    terms: tuple[pa.Table, ...]

    @property
    def count(self) -> int:
        return int(self.rows.num_rows)

    def state(self) -> State:
        tables = {ROWS: self.rows} | {f"{TERMS_OF}{i}": terms for i, terms in enumerate(self.terms)}
        return State(KERNEL, tables, {IDENTITY: self.identity})


def new_piece(rows: pa.Table, terms: Sequence[pa.Table]) -> Piece:
    # Pieces with the same identity are equal, also after a restart.
    return Piece(uuid.uuid4().int >> 66, rows.combine_chunks(), tuple(table.combine_chunks() for table in terms))


def piece_of(state: State) -> Piece:
    count = len(state.tables) - 1
    return Piece(
        state.numbers[IDENTITY], state.tables[ROWS], tuple(state.tables[f"{TERMS_OF}{i}"] for i in range(count))
    )


def no_piece() -> State:
    """The state in place of a piece that is now a part of another."""
    return State(KERNEL)


def kept_terms(similar: Similar, terms: pa.Table) -> pa.Table:
    """The stored form of terms, as `similar_terms` computes them."""
    order = pa.array(np.argsort(terms["event"].to_numpy(), kind="stable"))
    names = pa.array(attributes_of(similar), pa.string())
    columns = [terms["event"], pc.index_in(terms["attribute"], value_set=names), terms["shown"], terms["number"]]
    taken = [column.take(order).cast(field.type) for column, field in zip(columns, KEPT, strict=True)]
    return pa.Table.from_arrays(taken, schema=KEPT)


def spoken_terms(similar: Similar, kept: pa.Table) -> pa.Table:
    """The terms of the stored form, for the kernel and for users."""
    names = pa.array(attributes_of(similar), pa.string())
    number, value = one_array(kept["number"]), one_array(kept["value"])
    text = pc.if_else(number.is_null(), value, pa.scalar(None, pa.string()))
    columns = [one_array(kept["event"]).cast(pa.int64()), names.take(one_array(kept["attribute"])), text, number, value]
    return pa.Table.from_arrays(columns, schema=TERMS)


def attributes_of(similar: Similar) -> list[str]:
    return list(dict.fromkeys(output.name for select in similar.contexts for output in select.outputs))


def joined(pieces: Sequence[Piece]) -> Piece:
    """Pieces that follow each other, as one."""
    starts = np.cumsum([0, *(piece.count for piece in pieces)])
    terms = []
    for several in zip(*(piece.terms for piece in pieces), strict=True):
        moved = [_moved(kept, kept["event"].to_numpy() + start) for kept, start in zip(several, starts, strict=False)]
        terms.append(pa.concat_tables(moved))
    return new_piece(pa.concat_tables([piece.rows for piece in pieces]), terms)


def without_rows(piece: Piece, kept: Bools) -> Piece:
    """The piece with those of its events that are `kept`."""
    if kept.all():
        return piece
    place = np.cumsum(kept) - 1
    terms = []
    for each in piece.terms:
        event = each["event"].to_numpy()
        terms.append(_moved(each.filter(pa.array(kept[event])), place[event[kept[event]]]))
    return new_piece(piece.rows.filter(pa.array(kept)), terms)


def in_order(piece: Piece, order: Sequence[str]) -> Piece:
    """The piece with its events in order."""
    sorting = lexical_order([piece.rows[name].to_numpy() for name in (TIME, SEQ, *order)])
    place = np.empty(len(sorting), np.int64)
    place[sorting] = np.arange(len(sorting))
    terms = []
    for kept in piece.terms:
        event = place[kept["event"].to_numpy()]
        by_event = np.argsort(event, kind="stable")
        terms.append(_moved(kept.take(pa.array(by_event)), event[by_event]))
    return new_piece(piece.rows.take(pa.array(sorting)), terms)


def _moved(kept: pa.Table, event: Ints) -> pa.Table:
    return kept.set_column(0, KEPT.field(0), pa.array(event, pa.int32()))
