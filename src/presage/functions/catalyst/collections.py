"""Functions of arrays, maps and structs that differ from Spark's function of the same name."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from presage.execution.spark.arithmetic import nonzero
from presage.execution.spark.types import to_spark
from presage.functions.catalyst.call import MAX_REPEAT, Builder, Call
from presage.functions.catalyst.text import bounded
from presage.model.types import ArrayOf


def _element_at(call: Call) -> Column:
    base, key = call.args
    return F.try_element_at(base, nonzero(key) if isinstance(call.types[0], ArrayOf) else key)


def _slice(call: Call) -> Column:
    array, start, length = call.args
    return F.slice(array, nonzero(start), F.when(length >= 0, length))


def _array_insert(call: Call) -> Column:
    array, place, value = call.args
    near = (place != 0) & place.between(-MAX_REPEAT, MAX_REPEAT)
    return F.array_insert(array, F.when(near, place), value)


def _size(call: Call) -> Column:
    # Without ANSI mode, Spark's size of NULL is -1.
    (x,) = call.args
    return F.when(x.isNotNull(), F.size(x))


def _entry(key: Column, value: Column) -> Column:
    return F.struct(key.alias("key"), value.alias("value"))


def _map_of(entries: Column) -> Column:
    """A map of an array of entries: the last of equal keys wins, null keys are dropped. Spark would fail on both."""

    def counts(entry: Column, index: Column) -> Column:
        later = F.slice(entries, index + 2, F.size(entries))
        key = entry.getField("key")
        return key.isNotNull() & ~F.exists(later, lambda other: other.getField("key").eqNullSafe(key))

    return F.map_from_entries(F.filter(entries, counts))


def _map(call: Call) -> Column:
    keys = [call.constants.get(i) for i in range(0, len(call.args), 2)]
    if None not in keys and len(set(keys)) == len(keys):
        return F.create_map(*call.args).cast(to_spark(call.result))
    pairs = zip(call.args[0::2], call.args[1::2], strict=True)
    return _map_of(F.array(*[_entry(k, v) for k, v in pairs]))


def _map_concat(call: Call) -> Column:
    return _map_of(F.concat(*[F.map_entries(m) for m in call.args]))


def _map_from_arrays(call: Call) -> Column:
    keys, values = call.args
    entries = F.transform(keys, lambda key, index: _entry(key, F.get(values, index)))
    return F.when(F.size(keys) == F.size(values), _map_of(entries))


def _map_from_entries(call: Call) -> Column:
    # The fields of entries may have any names; by position they are key and value.
    return _map_of(call.args[0].cast(to_spark(call.types[0])))


def _struct(call: Call) -> Column:
    return F.struct(*[column.alias(f"col{i}") for i, column in enumerate(call.args, start=1)])


def _named_struct(call: Call) -> Column:
    return F.struct(*[call.args[i + 1].alias(call.text(i)) for i in range(0, len(call.args), 2)])


COLLECTIONS: dict[str, Builder] = {
    # The cast makes the elements of an empty array nullable, as in our types.
    "array": lambda c: F.array(*c.args).cast(to_spark(c.result)),
    "array_insert": _array_insert,
    "array_repeat": lambda c: F.array_repeat(c.args[0], bounded(c.args[1])),
    "element_at": _element_at,
    "map": _map,
    "map_concat": _map_concat,
    "map_from_arrays": _map_from_arrays,
    "map_from_entries": _map_from_entries,
    "named_struct": _named_struct,
    "size": _size,
    "slice": _slice,
    "struct": _struct,
}
