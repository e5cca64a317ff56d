"""Kernels of map and struct functions, over the entries of all rows at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.columnar.access import key_places, make_struct
from presage.columnar.lists import Unfolded, fold_maps
from presage.columnar.order import order_ranks
from presage.columnar.reshape import lists_of
from presage.columnar.vectors import Bools, Cells, Flat, Ints, Vector, both_valid, joint_length, take
from presage.functions.columnar.arrays import array_of
from presage.functions.columnar.call import Builder, Kernel, types_of
from presage.model.arrow import to_arrow
from presage.model.types import ArrayOf, DataType, MapOf
from presage.plan.expr import FunctionCall


def _map_part(call: FunctionCall) -> Kernel:
    wanted = to_arrow(call.type)

    def run(x: Cells) -> Vector:
        array = x.array
        if call.name == "map_entries":
            part = pa.StructArray.from_arrays([array.keys, array.items], fields=list(wanted.value_type))
        else:
            part = array.keys if call.name == "map_keys" else array.items
        return Cells(lists_of(array.offsets, part, wanted, array))

    return run


def _map_contains_key(call: FunctionCall) -> Kernel:
    base = call.args[0].type
    assert isinstance(base, MapOf)
    find = key_places(base)
    return lambda x, key: Flat(find(x, key) >= 0, both_valid(x.valid, key.valid))


def _map_of(keys: pa.Array, values: pa.Array, owners: Ints, rows: int, valid: Bools | None, result: DataType) -> Cells:
    """Maps of entries in the order of their rows: the last of equal keys wins, NULL keys are dropped."""
    ranks = order_ranks(keys)
    pairs = owners * (int(ranks.max(initial=0)) + 2) + ranks + 1
    last = len(pairs) - 1 - np.unique(pairs[::-1], return_index=True)[1]
    keep = np.sort(last[ranks[last] >= 0])
    if valid is not None:
        keep = keep[valid[owners[keep]]]
    chosen = pa.array(keep)
    return fold_maps(keys.take(chosen), values.take(chosen), owners[keep], rows, valid, result)


def _map(call: FunctionCall) -> Kernel:
    assert isinstance(call.type, MapOf)
    keys = array_of(FunctionCall(ArrayOf(call.type.key), "array", call.args[0::2]))
    values = array_of(FunctionCall(ArrayOf(call.type.value), "array", call.args[1::2]))

    def run(*parts: Vector) -> Vector:
        rows = joint_length(*parts)
        every = [take(part, np.zeros(rows, np.int64)) if len(part) == 1 else part for part in parts]
        lists, others = keys(*every[0::2]), values(*every[1::2])
        left, right = Unfolded(lists, len(lists)), Unfolded(others, len(others))
        return _map_of(left.taken(), right.taken(), left.owners, len(lists), None, call.type)

    return run


def _map_from_arrays(call: FunctionCall) -> Kernel:
    def run(keys: Cells, values: Cells) -> Vector:
        rows = joint_length(keys, values)
        left, right = Unfolded(keys, rows), Unfolded(values, rows)
        valid = both_valid(both_valid(left.valid, right.valid), left.sizes == right.sizes)
        assert valid is not None
        inside = valid[left.owners]
        mine, theirs = left.taken().filter(pa.array(inside)), right.taken().filter(pa.array(valid[right.owners]))
        return _map_of(mine, theirs, left.owners[inside], rows, valid, call.type)

    return run


def _map_concat(call: FunctionCall) -> Kernel:
    def run(*maps: Cells) -> Vector:
        rows = joint_length(*maps)
        keys = [Unfolded(m, rows, m.array.keys) for m in maps]
        items = [Unfolded(m, rows, m.array.items) for m in maps]
        owners = np.concatenate([part.owners for part in keys])
        order = np.argsort(owners, kind="stable")
        valid: Bools | None = None
        for part in keys:
            valid = both_valid(valid, part.valid)
        chosen = pa.array(order)
        joined, values = (pa.concat_arrays([part.taken() for part in parts]).take(chosen) for parts in (keys, items))
        return _map_of(joined, values, owners[order], rows, valid, call.type)

    return run


def _named_struct(call: FunctionCall) -> Kernel:
    make = make_struct([arg.type for arg in call.args[1::2]], call.type)
    return lambda *args: make(*args[1::2])


MAPS: dict[str, Builder] = {
    "map": _map,
    "map_concat": _map_concat,
    "map_contains_key": _map_contains_key,
    "map_entries": _map_part,
    "map_from_arrays": _map_from_arrays,
    "map_keys": _map_part,
    "map_values": _map_part,
    "named_struct": _named_struct,
    "struct": lambda c: make_struct(types_of(c), c.type),
}
