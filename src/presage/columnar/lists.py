"""Conversion between array vectors and flat vectors of their elements."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.columnar.access import spread
from presage.columnar.vectors import Bools, Cells, Ints, slots_of
from presage.model.arrow import to_arrow
from presage.model.types import DataType


class Unfolded:
    """The elements of each row's array: element i is `elements[places[i]]` and belongs to row `owners[i]`."""

    __slots__ = ("elements", "owners", "places", "sizes", "valid")

    def __init__(self, vector: Cells, rows: int, elements: pa.Array | None = None) -> None:
        starts, sizes, valid = slots_of(vector.array)
        self.sizes: Ints = np.broadcast_to(sizes, rows)
        self.valid: Bools | None = None if valid is None else np.broadcast_to(valid, rows)
        self.owners, self.places = spread(np.broadcast_to(starts, rows), self.sizes)
        self.elements = vector.array.values if elements is None else elements

    def taken(self) -> pa.Array:
        return self.elements.take(pa.array(self.places))


def fold(elements: pa.Array, owners: Ints, rows: int, valid: Bools | None, data_type: DataType) -> Cells:
    """Arrays of these elements, which are in the order of their rows."""
    mask = None if valid is None else pa.array(~valid)
    return Cells(pa.ListArray.from_arrays(offsets_of(owners, rows), elements, type=to_arrow(data_type), mask=mask))


def fold_maps(
    keys: pa.Array, values: pa.Array, owners: Ints, rows: int, valid: Bools | None, data_type: DataType
) -> Cells:
    mask = None if valid is None else pa.array(~valid)
    return Cells(pa.MapArray.from_arrays(offsets_of(owners, rows), keys, values, type=to_arrow(data_type), mask=mask))


def offsets_of(owners: Ints, rows: int) -> pa.Array:
    counts = np.bincount(owners, minlength=rows)
    return pa.array(np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))).astype(np.int32))
