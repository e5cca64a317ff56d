"""Contexts as coded bags of terms, from a long table (event, attribute, text, number).

Texts: each pair of attribute and text has a code, in order of first appearance; an event holds each code once, with its
count. Numbers: each occurrence with its attribute. Infinities and NaN are texts; other numbers beyond 1e300 count as
1e300, so that no difference of two leaves the range of a double. Nulls are no terms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.jit import Floats, Ints

GREATEST = 1e300


class Bags(NamedTuple):
    """Contexts of some events. Event i has the terms `starts[i] - starts[0]` to `starts[i + 1] - starts[0]`."""

    starts: Ints
    codes: Ints  # ascending within an event
    times: Floats  # how often the term occurs in the event
    number_starts: Ints
    attributes: Ints
    values: Floats

    def __len__(self) -> int:
        return len(self.starts) - 1


def joined_bags(ahead: Bags, behind: Bags) -> Bags:
    """The contexts of some events, then those of others; starts begin at 0, as `build_bags` returns them."""
    return Bags(
        np.append(ahead.starts[:-1], behind.starts + ahead.starts[-1]),
        np.append(ahead.codes, behind.codes),
        np.append(ahead.times, behind.times),
        np.append(ahead.number_starts[:-1], behind.number_starts + ahead.number_starts[-1]),
        np.append(ahead.attributes, behind.attributes),
        np.append(ahead.values, behind.values),
    )


def first_bags(bags: Bags, count: int) -> Bags:
    """The contexts of the first events, of bags whose starts begin at 0."""
    words, numbers = bags.starts[count], bags.number_starts[count]
    return Bags(
        bags.starts[: count + 1],
        bags.codes[:words],
        bags.times[:words],
        bags.number_starts[: count + 1],
        bags.attributes[:numbers],
        bags.values[:numbers],
    )


class Vocabulary:
    """Codes of attributes and of terms, in order of appearance. Each text is held once."""

    def __init__(self) -> None:
        self.attributes: dict[str, int] = {}
        self.terms: dict[tuple[int, str], int] = {}

    def code_attributes(self, column: pa.Array) -> Ints:
        coded = column.dictionary_encode()
        # Distinct names, not rows.
        numbers = [self.attributes.setdefault(name, len(self.attributes)) for name in coded.dictionary.to_pylist()]
        return np.array(numbers, np.int64)[_indices(coded)]

    def code_terms(self, attributes: Ints, column: pa.Array) -> Ints:
        coded = column.dictionary_encode()
        texts = coded.dictionary.to_pylist()
        pairs, place = np.unique(attributes * max(1, len(texts)) + _indices(coded), return_inverse=True)
        # Distinct terms, not rows.
        keys = [(int(pair) // len(texts), texts[int(pair) % len(texts)]) for pair in pairs]
        numbers = [self.terms.setdefault(key, len(self.terms)) for key in keys]
        codes: Ints = np.array(numbers, np.int64)[place.reshape(-1)]
        return codes


def build_bags(vocabulary: Vocabulary, count: int, terms: pa.Table) -> Bags:
    """The contexts of `count` events. `terms`: columns `event` (0 to count - 1, in any order), `attribute`, `text` and
    `number`, of which one is null in each row; rows where both are null are no terms."""
    event = _column(terms, "event", pa.int64())
    attribute = _column(terms, "attribute", pa.string())
    text, number = _column(terms, "text", pa.string()), _column(terms, "number", pa.float64())
    value = pc.fill_null(number, 0.0).to_numpy()
    finite = number.is_valid().to_numpy(zero_copy_only=False) & np.isfinite(value)
    if not np.isfinite(value).all():
        named = np.where(np.isnan(value), "NaN", np.where(value > 0, "Infinity", "-Infinity"))
        text = pc.if_else(pa.array(np.isfinite(value)), text, pa.array(named, pa.string()))
    worded = text.is_valid().to_numpy(zero_copy_only=False)
    row = event.to_numpy()
    attributes = vocabulary.code_attributes(attribute)
    starts, codes, times = _count_terms(
        count, row[worded], vocabulary.code_terms(attributes[worded], text.filter(pa.array(worded)))
    )
    order = np.flatnonzero(finite)
    order = order[np.lexsort((value[order], attributes[order], row[order]))]
    number_starts = np.searchsorted(row[order], np.arange(count + 1)).astype(np.int64)
    # Adding 0.0 turns -0.0 into 0.0.
    values = np.clip(value[order], -GREATEST, GREATEST) + 0.0
    return Bags(starts, codes, times, number_starts, attributes[order], values)


def _count_terms(count: int, event: Ints, code: Ints) -> tuple[Ints, Ints, Floats]:
    order = np.lexsort((code, event))
    event, code = event[order], code[order]
    first = np.ones(len(event), np.bool_)
    first[1:] = (event[1:] != event[:-1]) | (code[1:] != code[:-1])
    at = np.flatnonzero(first)
    times = np.diff(np.append(at, len(event))).astype(np.float64)
    return np.searchsorted(event[at], np.arange(count + 1)).astype(np.int64), code[at], times


def _column(table: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    column = table[name].combine_chunks()
    return column if column.type == kind else column.cast(kind)


def _indices(coded: pa.DictionaryArray) -> Ints:
    rows: Ints = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return rows
