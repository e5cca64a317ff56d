"""Answers of the knowledge bases: the table of a PATH, or answers for keys of events, computed as they occur."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from presage.declarations.contexts import entity_of
from presage.model.arrow import to_arrow
from presage.operators.knowledge.graph import Graph
from presage.operators.knowledge.probes import Key, Probe
from presage.operators.knowledge.tables import MARK, MarkedTables, PathTable, key_values, value_of
from presage.operators.knowledge.vocabulary import Reading

# Cached keys of one question.
MOST_KEYS = 200_000


def rows_of(table: PathTable | MarkedTables, graph: Graph) -> pa.Table:
    """The distinct answers. Without columns: one row if the pattern has a solution."""
    if isinstance(table, MarkedTables):
        several = [(number, rows_of(part, graph)) for number, part in table.parts]
        marks = [pa.array([number] * rows.num_rows, pa.int32()) for number, rows in several]
        return pa.concat_tables([r.add_column(0, MARK, m) for (_, r), m in zip(several, marks, strict=True)])
    if not table.variables:
        return pa.table({"k": pa.array([True] * graph.ask(table.sparql))})
    place = {name: i for i, name in enumerate(table.variables)}
    made: dict[tuple[Any, ...], None] = {}
    for solution in graph.select(table.sparql, table.variables):
        terms = [(k.reading, solution[place[k.variable]]) for k in table.keys]
        parts: list[Iterable[Any]] = [key_values(reading, term, graph.same) for reading, term in terms]
        parts += [(value_of(v.kind, solution[place[v.variable]]),) for v in table.values]
        made.update(dict.fromkeys(itertools.product(*parts)))
    names = (*table.key_names, *(name for name, _ in table.value_columns))
    types = (*(k.type for k in table.keys), *(v.type for v in table.values))
    # An event's solutions come in this order, so it must be deterministic; the order of the store is not.
    ordered = sorted(made, key=lambda row: [(value is None, str(value)) for value in row])
    columns = list(zip(*ordered, strict=True)) if made else [()] * len(names)
    arrays = [pa.array(column, to_arrow(kind)) for column, kind in zip(columns, types, strict=True)]
    return pa.table(dict(zip(names, arrays, strict=True)))


class Entities:
    """The known entities among the values of an attribute."""

    def __init__(self, reading: Reading, graph: Callable[[], Graph]) -> None:
        self._reading = reading
        self._graph = graph
        self._named: dict[str, bool] = {}

    def unknown(self, values: pa.ChunkedArray) -> int:
        """The number of values that name no known entity. NULLs are not counted."""
        if len(self._named) > MOST_KEYS:
            self._named.clear()
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        return sum(self._unknown_of(chunk) for chunk in coded.chunks)

    def _unknown_of(self, coded: pa.DictionaryArray) -> int:
        names = coded.dictionary.to_pylist()
        unknown = [i for i, name in enumerate(names) if name is not None and not self.is_known(name)]
        if not unknown:
            return 0
        codes = coded.indices.drop_null().to_numpy(zero_copy_only=False)
        return int(np.bincount(codes, minlength=len(names))[unknown].sum())

    def is_known(self, name: str) -> bool:
        """Whether a value names an entity."""
        known = self._named.get(name)
        if known is None:
            iri = entity_of(self._reading.context, self._reading.meaning, name)
            known = self._named[name] = iri is not None and self._graph().has_entity(iri)
        return known


class Answers:
    """An LRU cache of the answers of a probe, by key. New keys are asked in one batch."""

    def __init__(self, probe: Probe, graph: Callable[[], Graph]) -> None:
        self._probe = probe
        self._graph = graph
        self._known: OrderedDict[Key, bool] = OrderedDict()
        self._lock = threading.Lock()

    def holds(self, columns: Sequence[pa.Array]) -> npt.NDArray[np.bool_]:
        """The answer for every row of these columns."""
        rows, places = _distinct(columns)
        with self._lock:
            new = [row for row in rows if row not in self._known]
            answers = dict(zip(new, self._probe.hold(self._graph(), new), strict=True)) if new else {}
            found = [answers[row] if row in answers else self._known[row] for row in rows]
            for row, answer in zip(rows, found, strict=True):
                self._known[row] = answer
                self._known.move_to_end(row)
            while len(self._known) > MOST_KEYS:
                self._known.popitem(last=False)
        return np.array(found, np.bool_)[places]

    def among(self, keys: pa.Table) -> pa.Table:
        """The rows for which the answer is yes, as a relation."""
        columns = [keys.column(i).combine_chunks() for i in range(keys.num_columns)]
        return keys.filter(pa.array(self.holds(columns), pa.bool_())).rename_columns(
            [n for n, _ in self._probe.columns]
        )


def _distinct(columns: Sequence[pa.Array]) -> tuple[list[tuple[Any, ...]], npt.NDArray[np.int64]]:
    """The distinct rows, and the index of each row among them."""
    codes = np.zeros(len(columns[0]) if columns else 1, np.int64)
    # Compare floats by their bits: NaN equals NaN, -0.0 differs from 0.0.
    columns = [c.view(pa.int64()) if pa.types.is_floating(c.type) else c for c in columns]
    for column in columns:
        encoded = column.dictionary_encode()
        own = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        _, codes = np.unique(codes * (len(encoded.dictionary) + 1) + own, return_inverse=True)
    _, first, places = np.unique(codes, return_index=True, return_inverse=True)
    chosen = [column.take(pa.array(first)).to_pylist() for column in columns]
    return list(zip(*chosen, strict=True)) if columns else [()], places
