"""Elements of arrays, values of maps and fields of structs; NULL where there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow.compute as pc

from presage.columnar.logic import is_true
from presage.columnar.order import compare
from presage.columnar.reshape import structs_of
from presage.columnar.vectors import (
    Cells,
    Flat,
    Ints,
    Vector,
    both_valid,
    from_arrow,
    joint_length,
    slots_of,
    take,
    to_array,
)
from presage.model.arrow import to_arrow
from presage.model.types import DataType, MapOf, StructOf


def field_of(base_type: DataType, name: str) -> Callable[..., Vector]:
    assert isinstance(base_type, StructOf)
    names = [n for n, _ in base_type.fields]
    place = names.index(name)
    data_type = base_type.fields[place][1]

    def run(base: Cells) -> Vector:
        return from_arrow(pc.struct_field(base.array, [place]), data_type)

    return run


def make_struct(types: Sequence[DataType], result: DataType) -> Callable[..., Vector]:
    wanted = to_arrow(result)

    def run(*values: Vector) -> Vector:
        rows = joint_length(*values)
        arrays = [to_array(v, data_type, rows) for v, data_type in zip(values, types, strict=True)]
        return Cells(structs_of(arrays, wanted, rows))

    return run


def element_at_place(element: DataType, from_end: bool = False) -> Callable[..., Vector]:
    """`array[i]` from 0, or counted from the last."""

    def run(base: Cells, index: Flat) -> Vector:
        starts, sizes, valid = slots_of(base.array)
        # Clipped to INT, a huge index stays outside of every array, and nothing overflows.
        place = np.clip(index.values.astype(np.int64), -(2**31), 2**31)
        if from_end:
            place = sizes - 1 - place
        inside = (place >= 0) & (place < sizes)
        given = both_valid(valid, index.valid)
        if given is not None:
            inside = inside & given
        return take(from_arrow(base.array.values, element), np.where(inside, starts + place, -1))

    return run


def value_at_key(base_type: DataType) -> Callable[..., Vector]:
    assert isinstance(base_type, MapOf)
    value_type = base_type.value
    find = key_places(base_type)
    return lambda base, key: take(from_arrow(base.array.items, value_type), find(base, key))


def key_places(base_type: MapOf) -> Callable[..., Ints]:
    """The place of the first entry with the key among the entries of all maps; -1 if there is none."""
    equal, key_type = compare("=", base_type.key), base_type.key

    def run(base: Cells, key: Vector) -> Ints:
        rows = joint_length(base, key)
        starts, sizes, _ = slots_of(base.array)
        owners, places = spread(np.broadcast_to(starts, rows), np.broadcast_to(sizes, rows))
        keys = take(from_arrow(base.array.keys, key_type), places)
        hits = np.flatnonzero(np.broadcast_to(is_true(equal(keys, take(key, owners))), len(places)))[::-1]
        found = np.full(rows, -1, np.int64)
        # In reverse order, so that the first hit is written last.
        found[owners[hits]] = places[hits]
        return found

    return run


def spread(starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """The list and the place of each element of consecutive lists with these bounds."""
    ends = np.cumsum(sizes)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    return owners, np.repeat(starts - ends + sizes, sizes) + np.arange(len(owners))
