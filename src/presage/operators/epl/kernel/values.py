"""The encoded rows of a step and of its state, with the texts of ranks and the ranks of texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import plain
from presage.arrays.jit import Ints
from presage.arrays.programs.code import FLOAT, TEXT, Code
from presage.arrays.programs.encoding import Encoded, encode
from presage.arrays.programs.machine import new_scratch, programs_of
from presage.operators.epl.kernel.network.memory import Values
from presage.operators.epl.kernel.spec import PatternTables


@dataclass
class Encoding:
    """Kept rows, new rows, then rows whose only value is a text of the state (in the first text column)."""

    code: Code
    columns: dict[str, pa.ChunkedArray]
    encoded: Encoded
    rows: int

    def values(self, spec: PatternTables) -> Values:
        periods = [len(node.period.arguments) for node in spec.nodes if node.period is not None]
        places = max(1, *periods, *(len(node.arguments) for node in spec.nodes))
        return Values(programs_of(self.code, self.encoded), new_scratch(places, 1, max(self.code.depth, 1)))

    def ranks(self, texts: pa.Array) -> Ints:
        """The ranks of the texts of the state; 0 for nulls."""
        lines = _text_lines(self.code)
        if lines:
            return self.encoded.ints[lines[0][0], self.rows : self.rows + len(texts)]
        places = {text: k for k, text in enumerate(self.code.texts)}
        return np.array([self.encoded.texts[places[t]] if t is not None else 0 for t in texts.to_pylist()], np.int64)

    def texts(self, ranks: Ints) -> pa.Array:
        """The text of each rank; every rank is that of a value in a column or of a constant."""
        wanted, inverse = np.unique(ranks, return_inverse=True)
        of_rank: list[str | None] = [None] * len(wanted)
        for k, text in enumerate(self.code.texts):
            at = np.searchsorted(wanted, self.encoded.texts[k])
            if at < len(wanted) and wanted[at] == self.encoded.texts[k]:
                of_rank[at] = text
        for line, name in _text_lines(self.code):
            own = np.flatnonzero(self.encoded.int_valid[line] & np.isin(self.encoded.ints[line], wanted))
            held, first = np.unique(self.encoded.ints[line][own], return_index=True)
            texts = plain(self.columns[name]).take(pa.array(own[first])).to_pylist()
            for rank, text in zip(held, texts, strict=True):
                of_rank[int(np.searchsorted(wanted, rank))] = text
        return pa.array(of_rank, pa.large_string()).take(pa.array(inverse.astype(np.int64)))


def encode_rows(code: Code, kept: pa.Table | None, events: pa.Table, texts: pa.Array) -> Encoding:
    """`texts`: those of the state that are in no row."""
    lines = _text_lines(code)
    further = len(texts) if lines else 0
    columns: dict[str, pa.ChunkedArray] = {}
    for name in dict.fromkeys(name for name, _ in code.columns):
        column = plain(events.column(name))
        pieces: list[pa.Array] = []
        if kept is not None and kept.num_rows:
            known = name in kept.column_names
            pieces = kept.column(name).cast(column.type).chunks if known else [pa.nulls(kept.num_rows, column.type)]
        pieces = [*pieces, *column.chunks]
        if further:
            carries = name == lines[0][1]
            pieces.append(texts.cast(column.type) if carries else pa.nulls(further, column.type))
        columns[name] = pa.chunked_array(pieces, column.type)
    rows = events.num_rows + (kept.num_rows if kept is not None else 0)
    return Encoding(code, columns, encode(pa.table(columns), code), rows)


def _text_lines(code: Code) -> list[tuple[int, str]]:
    """Text columns, with their line in `Encoded.ints`."""
    whole = [(name, bank) for name, bank in code.columns if bank != FLOAT]
    return [(k, name) for k, (name, bank) in enumerate(whole) if bank == TEXT]
