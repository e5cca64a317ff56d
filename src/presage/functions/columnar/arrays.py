"""Kernels of array functions, over the elements of all rows at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.columnar.access import element_at_place, value_at_key
from presage.columnar.arithmetic import concatenated
from presage.columnar.distinct import per_distinct
from presage.columnar.lists import Unfolded, fold
from presage.columnar.logic import is_true
from presage.columnar.order import compare, order_ranks
from presage.columnar.vectors import (
    Bools,
    Cells,
    Flat,
    Vector,
    both_valid,
    from_arrow,
    joint_length,
    slots_of,
    take,
    to_array,
    to_cells,
)
from presage.functions.columnar.call import MAX_REPEAT, Builder, Kernel
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.types import ArrayOf, DataType, MapOf
from presage.plan.expr import FunctionCall


def _element(call: FunctionCall) -> DataType:
    array = call.args[0].type
    assert isinstance(array, ArrayOf)
    return array.element


def _size(x: Cells) -> Vector:
    _, sizes, valid = slots_of(x.array)
    return Flat(sizes.astype(np.int32), valid)


# -- search of elements ---------------------------------------------------------------------------------


def _hits(call: FunctionCall) -> Callable[..., tuple[Unfolded, Flat, int]]:
    """The elements, and whether each equals the value of its row."""
    element = _element(call)
    equal = compare("=", element)

    def run(array: Cells, value: Vector) -> tuple[Unfolded, Flat, int]:
        rows = joint_length(array, value)
        lists = Unfolded(array, rows)
        found = equal(from_arrow(lists.taken(), element), take(value, lists.owners))
        count = len(lists.owners)
        valid = None if found.valid is None else np.broadcast_to(found.valid, count)
        return lists, Flat(np.broadcast_to(found.values, count), valid), rows

    return run


def _array_contains(call: FunctionCall) -> Kernel:
    hits = _hits(call)

    def run(array: Cells, value: Vector) -> Vector:
        lists, equal, rows = hits(array, value)
        found = np.bincount(lists.owners[is_true(equal)], minlength=rows) > 0
        given = both_valid(lists.valid, value.valid)
        if equal.valid is not None:
            unknown = np.bincount(lists.owners[~equal.valid], minlength=rows) > 0
            given = both_valid(given, found | ~unknown)
        return Flat(found, given)

    return run


def _array_position(call: FunctionCall) -> Kernel:
    hits = _hits(call)

    def run(array: Cells, value: Vector) -> Vector:
        lists, equal, rows = hits(array, value)
        first = np.concatenate((np.zeros(1, np.int64), np.cumsum(lists.sizes)))[:-1]
        at = np.flatnonzero(is_true(equal))[::-1]
        found = np.zeros(rows, np.int64)
        # In reverse order, so that the first hit is written last.
        found[lists.owners[at]] = at - first[lists.owners[at]] + 1
        return Flat(found, both_valid(lists.valid, value.valid))

    return run


def _array_remove(call: FunctionCall) -> Kernel:
    hits = _hits(call)

    def run(array: Cells, value: Vector) -> Vector:
        lists, equal, rows = hits(array, value)
        return _kept(lists, ~is_true(equal), rows, both_valid(lists.valid, value.valid), call.type)

    return run


def _kept(lists: Unfolded, keep: Bools, rows: int, valid: Bools | None, result: DataType) -> Cells:
    if valid is not None:
        valid = np.broadcast_to(valid, rows)
    elements = lists.elements.take(pa.array(lists.places[keep]))
    return fold(elements, lists.owners[keep], rows, valid, result)


def _element_at(call: FunctionCall) -> Kernel:
    if isinstance(call.args[0].type, MapOf):
        return value_at_key(call.args[0].type)
    from_start = element_at_place(call.type)

    def run(array: Cells, place: Flat) -> Vector:
        places = place.values.astype(np.int64)
        size = np.broadcast_to(slots_of(array.array)[1], joint_length(array, place))
        # From 1, or negative from the end; 0 is outside.
        index = np.where(places > 0, places - 1, np.where(places < 0, size + places, -1))
        return from_start(array, Flat(index, place.valid))

    return run


# -- new arrays of the elements -------------------------------------------------------------------------


def _array_compact(call: FunctionCall) -> Callable[..., Cells]:
    def run(array: Cells) -> Cells:
        lists = Unfolded(array, len(array))
        keep = lists.taken().is_valid().to_numpy(zero_copy_only=False)
        return _kept(lists, keep, len(array), lists.valid, call.type)

    return run


def _array_join(call: FunctionCall) -> Kernel | None:
    if len(call.args) > 2:
        return None
    compact = _array_compact(FunctionCall(call.args[0].type, "array_compact", call.args[:1]))

    def run(array: Cells, between: Cells) -> Vector:
        texts = compact(array)
        if len(texts) == len(between):
            return Cells(pc.binary_join(texts.array, between.array))
        if len(between) == 1:
            return Cells(pc.binary_join(texts.array, between.scalar))
        return Cells(pc.binary_join(pa.repeat(texts.scalar, len(between)), between.array))

    return run


def _sorted(nulls_last: bool) -> Builder:
    def build(call: FunctionCall) -> Kernel | None:
        descending = False
        if len(call.args) == 2:
            flag = call.args[1]
            descending = getattr(flag, "value", None) is False
            if getattr(flag, "value", None) not in (True, False):
                return None

        def run(array: Cells, *_: Vector) -> Vector:
            lists = Unfolded(array, len(array))
            ranks = order_ranks(lists.taken())
            if nulls_last:
                ranks = np.where(ranks < 0, len(ranks), ranks)
            order = np.lexsort((-ranks if descending else ranks, lists.owners))
            elements = lists.elements.take(pa.array(lists.places[order]))
            return fold(elements, lists.owners, len(array), lists.valid, call.type)

        return run

    return build


def _best(least: bool) -> Builder:
    """array_min and array_max, which ignore NULLs."""

    def build(call: FunctionCall) -> Kernel:
        def run(array: Cells) -> Vector:
            lists = Unfolded(array, len(array))
            ranks = order_ranks(lists.taken())
            given = np.flatnonzero(ranks >= 0)
            wanted = -ranks[given] if least else ranks[given]
            order = given[np.lexsort((-given, wanted, lists.owners[given]))]
            found = np.full(len(array), -1, np.int64)
            # The result of each row is written last; of equal ones (0.0 and -0.0) the first.
            found[lists.owners[order]] = lists.places[order]
            return take(from_arrow(lists.elements, call.type), found)

        return run

    return build


def _reverse(call: FunctionCall) -> Kernel:
    if call.type == t.STRING:
        return per_distinct(lambda text: text[::-1], (t.STRING,), t.STRING)

    def run(array: Cells) -> Vector:
        lists = Unfolded(array, len(array))
        order = np.lexsort((-lists.places, lists.owners))
        elements = lists.elements.take(pa.array(lists.places[order]))
        return fold(elements, lists.owners, len(array), lists.valid, call.type)

    return run


def _slice(call: FunctionCall) -> Kernel:
    def run(array: Cells, start: Flat, length: Flat) -> Vector:
        rows = joint_length(array, start, length)
        lists = Unfolded(array, rows)
        place, count = (np.broadcast_to(v.values, rows).astype(np.int64) for v in (start, length))
        first = np.where(place > 0, place - 1, lists.sizes + place)
        begins = np.concatenate((np.zeros(1, np.int64), np.cumsum(lists.sizes)))[:-1]
        within = np.arange(len(lists.owners)) - begins[lists.owners]
        low = first[lists.owners]
        keep = (low >= 0) & (within >= low) & (within < low + count[lists.owners])
        valid = both_valid(both_valid(lists.valid, start.valid), length.valid)
        return _kept(lists, keep, rows, both_valid(valid, (place != 0) & (count >= 0)), call.type)

    return run


def array_of(call: FunctionCall) -> Callable[..., Cells]:
    element = call.type.element  # type: ignore[attr-defined]

    def run(*values: Vector) -> Cells:
        rows, width = joint_length(*values), len(values)
        parts = [to_array(v, element, rows) for v in values]
        joined = pa.concat_arrays(parts) if parts else pa.array([], to_arrow(element))
        places = (np.arange(width) * rows + np.arange(rows)[:, None]).ravel()
        return fold(joined.take(pa.array(places)), np.repeat(np.arange(rows), width), rows, None, call.type)

    return run


def _array_repeat(call: FunctionCall) -> Kernel:
    def run(value: Vector, count: Flat) -> Vector:
        rows = joint_length(value, count)
        fits = np.broadcast_to(count.values <= MAX_REPEAT, rows)
        valid = np.broadcast_to(fits if count.valid is None else fits & count.valid, rows)
        sizes = np.where(valid, np.maximum(count.values, 0), 0).astype(np.int64)
        owners = np.repeat(np.arange(rows), sizes)
        elements = to_cells(take(value, owners), call.args[0].type)
        return fold(elements, owners, rows, valid, call.type)

    return run


def _joined(call: FunctionCall) -> Kernel:
    """Concatenation of arrays; NULL if one is NULL."""

    def run(*arrays: Cells) -> Vector:
        rows = joint_length(*arrays)
        parts = [Unfolded(array, rows) for array in arrays]
        owners = np.concatenate([part.owners for part in parts])
        elements = pa.concat_arrays([part.taken() for part in parts])
        # The stable sort by row keeps the order of the arrays.
        order = np.argsort(owners, kind="stable")
        valid: Bools | None = None
        for part in parts:
            valid = both_valid(valid, part.valid)
        keep = order if valid is None else order[valid[owners[order]]]
        return fold(elements.take(pa.array(keep)), owners[keep], rows, valid, call.type)

    return run


def _concat(call: FunctionCall) -> Kernel:
    if isinstance(call.type, ArrayOf):
        return _joined(call)
    return concatenated


def _with_element(at_end: bool) -> Builder:
    def build(call: FunctionCall) -> Kernel:
        single = array_of(FunctionCall(call.type, "array", call.args[1:]))
        join = _joined(call)
        return lambda array, value: join(array, single(value)) if at_end else join(single(value), array)

    return build


def _flatten(call: FunctionCall) -> Kernel:
    def run(array: Cells) -> Vector:
        rows = len(array)
        outer = Unfolded(array, rows)
        inner = Cells(outer.taken())
        parts = Unfolded(inner, len(inner))
        valid = outer.valid
        if parts.valid is not None:
            valid = both_valid(valid, np.bincount(outer.owners[~parts.valid], minlength=rows) == 0)
        owners = outer.owners[parts.owners]
        keep = slice(None) if valid is None else valid[owners]
        return fold(parts.elements.take(pa.array(parts.places[keep])), owners[keep], rows, valid, call.type)

    return run


ARRAYS: dict[str, Builder] = {
    "array": array_of,
    "array_append": _with_element(True),
    "array_compact": _array_compact,
    "array_contains": _array_contains,
    "array_join": _array_join,
    "array_max": _best(False),
    "array_min": _best(True),
    "array_position": _array_position,
    "array_prepend": _with_element(False),
    "array_remove": _array_remove,
    "array_repeat": _array_repeat,
    "array_sort": _sorted(nulls_last=True),
    "concat": _concat,
    "element_at": _element_at,
    "flatten": _flatten,
    "get": lambda c: element_at_place(c.type),
    "reverse": _reverse,
    "size": lambda c: _size,
    "slice": _slice,
    "sort_array": _sorted(nulls_last=False),
}
