"""Loads with source offsets: which of their rows are appended, held back, or dropped as duplicates.

Two internal tables belong to a stream with offsets: `#offsets:<stream>` holds source, partition and offset of each
event by its `_seq`, `#held:<stream>` the rows that wait for missing offsets. They are created when they are first
needed. The table of events does not depend on them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.errors import PresageError, did_you_mean, error
from presage.model.catalog import Attribute, EventType
from presage.model.types import INT, LONG, STRING, DataType
from presage.storage.columns import EVENTS, SEQ, attributes_schema
from presage.storage.delta_schema import to_delta
from presage.storage.ingest import Checked
from presage.storage.lateness import reordered
from presage.storage.offsets import MAX_GAPS, MAX_OFFSET, Mask, Numbers, PartitionOffsets, SourceOffsets

NUMBER = pa.schema([("source", pa.string()), ("partition", pa.string()), ("offset", pa.int64())])
OFFSETS_SCHEMA = pa.schema([(SEQ, pa.int64()), *NUMBER])
EVENT = "event"  # the column of a held event: a struct, so that names of attributes cannot collide with ours

Sources = dict[str, dict[str, dict[str, Any]]]  # source -> partition -> `PartitionOffsets` as plain values
# Reads the files of held rows, by name.
HeldFiles = Callable[[], Mapping[str, pa.Table]]


@dataclass
class ResolvedLoad:
    """A load whose offsets are resolved. `checked`: the rows to append; `numbers`: their source, partition, offset."""

    checked: Checked
    numbers: pa.Table
    held: pa.Table
    sources: Sources  # the partitions that have changed
    spent: list[str] = field(default_factory=list)  # files of held rows that are all released
    duplicates: int = 0


def offsets_table(stream: str) -> str:
    return f"#offsets:{stream}"


def held_table(stream: str) -> str:
    return f"#held:{stream}"


def held_schema(event_type: EventType) -> pa.Schema:
    return NUMBER.append(pa.field(EVENT, pa.struct(list(attributes_schema(event_type.attributes)))))


def offset_table_schemas(event_type: EventType) -> dict[str, dict[str, str]]:
    """Schemas of the internal tables of a stream with offsets."""
    return {
        offsets_table(event_type.name): {EVENTS: to_delta(OFFSETS_SCHEMA)},
        held_table(event_type.name): {EVENTS: to_delta(held_schema(event_type))},
    }


def attributes_with_offsets(event_type: EventType, source: SourceOffsets, data: object) -> tuple[Attribute, ...]:
    """The attributes of a stream, and the columns of offsets that are no attributes. `data`: None for files."""
    what = f"rows for stream '{event_type.name}'"
    added = []
    for name, allowed in ((source.offset, (LONG, INT)), (source.partition, (STRING, INT, LONG))):
        if name is None:
            continue
        _check_column(data, name, what)
        attribute = event_type.attribute(name)
        if attribute is None:
            kind: DataType = LONG if name == source.offset or _holds_numbers(data, name) else STRING
            added.append(Attribute(name, kind))
        elif attribute.type not in allowed:
            found = f"'{name}' numbers the rows of source '{source.source}' and is {attribute.type}"
            fix = f"use an attribute of type {' or '.join(map(str, allowed))}, or a column that is no attribute"
            raise _shape(what, found, fix)
    return (*event_type.attributes, *added)


def rows_as_list(data: object) -> object:
    """Rows from an iterator as a list; other data unchanged."""
    if isinstance(data, Iterable) and not isinstance(data, list | str | bytes | Mapping | pa.Table | pa.RecordBatch):
        return data if _is_pandas(data) else list(data)
    return data


def resolve_offsets(
    checked: Checked, event_type: EventType, source: SourceOffsets, sources: Sources, leased_files: HeldFiles
) -> ResolvedLoad:
    """Decide on each row by its offset. Held rows that are released are appended with the new ones."""
    checked = checked.refuse(_unnumbered(checked.table, source))
    offsets, names = _numbers(checked.table, source)
    bad = _numbers_of_rejected(checked, source)
    taken, held = np.zeros(len(offsets), bool), np.zeros(len(offsets), bool)
    dropped: set[int] = set()
    before, changed, freed = sources.get(source.source, {}), {}, {}
    for partition in sorted({*names.dictionary.to_pylist(), *bad}):
        mine = np.flatnonzero(pc.equal(names, partition).to_numpy(zero_copy_only=False))
        lines, lost = bad.get(partition, ([], []))
        least = int(min([*offsets[mine].min(initial=MAX_OFFSET, keepdims=True), *lost]))
        arrived = _arrived(before, partition, least if source.start is None else source.start)
        waiting = bool(arrived.ahead)
        verdict = arrived.arrive(offsets[mine], np.array(lost, np.int64))
        if arrived.ranges() > MAX_GAPS:
            raise _too_many_gaps(source.source, partition)
        taken[mine], held[mine] = verdict.taken[: len(mine)], verdict.ahead[: len(mine)]
        new = (verdict.taken | verdict.ahead)[len(mine) :]
        dropped.update(line for line, is_new in zip(lines, new, strict=True) if not is_new)
        if before.get(partition) != asdict(arrived):
            changed[partition] = asdict(arrived)
        if waiting and verdict.freed[0] < verdict.freed[1]:
            freed[partition] = verdict.freed
    numbers = pa.table(
        [pa.repeat(source.source, len(offsets)), names.cast(pa.string()), pa.array(offsets)], schema=NUMBER
    )
    rows = checked.table.select([a.name for a in event_type.attributes])
    rejected = checked.rejected.take(row for row in range(len(checked.rejected)) if row not in dropped)
    result = ResolvedLoad(
        Checked(rows.filter(taken), rejected, checked.ignored),
        numbers.filter(taken),
        _held(rows.filter(held), numbers.filter(held), event_type),
        sources={source.source: changed} if changed else {},
        duplicates=int((~taken & ~held).sum()) + len(dropped),
    )
    return _release(result, event_type, source.source, freed, sources, leased_files)


def skip(
    event_type: EventType, source: str, partition: str, up_to: int, sources: Sources, leased_files: HeldFiles
) -> ResolvedLoad | None:
    """Stop waiting for missing offsets up to one; None if none is missing."""
    partitions = sources.get(source)
    if partitions is None:
        raise error("UNKNOWN_OBJECT", kind="source", name=source, fix=did_you_mean(source, sources))
    if partition not in partitions:
        kind, fix = f"partition of source '{source}'", did_you_mean(partition, partitions)
        raise error("UNKNOWN_OBJECT", kind=kind, name=partition, fix=fix)
    arrived = PartitionOffsets.of(partitions[partition])
    if up_to < arrived.next:
        return None
    if not arrived.ahead or up_to > arrived.ahead[-1][1]:
        expected = f"at most {arrived.ahead[-1][1]}, the last offset that has come" if arrived.ahead else "in a gap"
        raise error("BAD_VALUE", what="up_to", found=up_to, expected=expected, fix="see the stream's gaps")
    freed = {partition: arrived.skip(up_to)}
    empty = Checked(attributes_schema(event_type.attributes).empty_table())
    nothing = held_schema(event_type).empty_table()
    result = ResolvedLoad(empty, NUMBER.empty_table(), nothing, sources={source: {partition: asdict(arrived)}})
    return _release(result, event_type, source, freed, sources, leased_files)


def _arrived(before: Mapping[str, Any], partition: str, start: int) -> PartitionOffsets:
    return PartitionOffsets.of(before[partition]) if partition in before else PartitionOffsets.begin(start)


def _release(
    result: ResolvedLoad,
    event_type: EventType,
    source: str,
    freed: Mapping[str, tuple[int, int]],
    sources: Sources,
    leased_files: HeldFiles,
) -> ResolvedLoad:
    """Add the released rows, and sort by event time, partition, offset."""
    rows, numbers = [result.checked.table], [result.numbers]
    for name, table in leased_files().items() if freed else ():
        free, waiting = _free(table, source, freed, sources)
        out = table.filter(pa.array(free))
        rows.append(_events(out, rows[0].schema))
        numbers.append(out.select(NUMBER.names))
        if not waiting:
            result.spent.append(name)
    table, numbered = pa.concat_tables(rows), pa.concat_tables(numbers)
    assert event_type.event_time is not None
    times = table[event_type.event_time].cast(pa.int64()).to_numpy()
    ranks = pc.rank(numbered["partition"], tiebreaker="dense").to_numpy() if len(times) else times
    order = np.lexsort((numbered["offset"].to_numpy(), ranks, times))
    if np.any(order[1:] < order[:-1]):
        table, numbered = (reordered(t, order) for t in (table, numbered))
    result.checked.table, result.numbers = table, numbered
    return result


def _free(table: pa.Table, source: str, freed: Mapping[str, tuple[int, int]], sources: Sources) -> tuple[Mask, bool]:
    """Which rows of a file of held rows are released, and whether others in it still wait."""
    free, waiting = np.zeros(table.num_rows, bool), np.zeros(table.num_rows, bool)
    offsets = table["offset"].to_numpy()
    pairs = table.select(["source", "partition"]).group_by(["source", "partition"]).aggregate([]).to_pylist()
    for name, partition in ((pair["source"], pair["partition"]) for pair in pairs):
        mine = pc.and_(pc.equal(table["source"], name), pc.equal(table["partition"], partition))
        mine = mine.to_numpy(zero_copy_only=False)
        # Rows before `next` were released earlier; their file is kept for the others.
        waiting |= mine & (offsets >= sources[name][partition]["next"])
        if name == source and partition in freed:
            first, last = freed[partition]
            free |= mine & (offsets >= first) & (offsets < last)
    return free, bool(np.any(waiting & ~free))


def _held(rows: pa.Table, numbers: pa.Table, event_type: EventType) -> pa.Table:
    schema = held_schema(event_type)
    events = [pa.StructArray.from_arrays(batch.columns, fields=list(rows.schema)) for batch in rows.to_batches()]
    return pa.table([*numbers.columns, pa.chunked_array(events, schema.field(EVENT).type)], schema=schema)


def _events(held: pa.Table, schema: pa.Schema) -> pa.Table:
    parts = [pa.Table.from_arrays(chunk.flatten(), schema=schema) for chunk in held[EVENT].chunks]
    return pa.concat_tables([schema.empty_table(), *parts])


def _unnumbered(table: pa.Table, source: SourceOffsets) -> dict[int, str]:
    """The reasons to reject rows whose offset or partition is missing or invalid."""
    reasons: dict[int, str] = {}
    offsets = table[source.offset]
    missing = [(source.offset, "offset")] + ([(source.partition, "partition")] if source.partition else [])
    for name, kind in missing:
        for row in np.flatnonzero(table[name].is_null().to_numpy(zero_copy_only=False)).tolist():
            reasons.setdefault(row, f"the {kind} '{name}' of source '{source.source}' is missing")
    outside = pc.or_(pc.less(offsets, 0), pc.greater(offsets.cast(pa.int64()), MAX_OFFSET))
    for row in np.flatnonzero(pc.fill_null(outside, False).to_numpy(zero_copy_only=False)).tolist():
        why = f"the offset '{source.offset}' of source '{source.source}' must be from 0 to {MAX_OFFSET}"
        reasons.setdefault(row, f"{why}, found {offsets[row].as_py()}")
    return reasons


def _numbers(table: pa.Table, source: SourceOffsets) -> tuple[Numbers, pa.DictionaryArray]:
    offsets: Numbers = table[source.offset].cast(pa.int64()).to_numpy()
    if source.partition is None:
        names = pa.repeat("", len(offsets)).dictionary_encode()
    else:
        names = pa.concat_arrays([pa.array([], pa.string()), *table[source.partition].cast(pa.string()).chunks])
        names = names.dictionary_encode()
    return offsets, names


def _numbers_of_rejected(checked: Checked, source: SourceOffsets) -> dict[str, tuple[list[int], list[int]]]:
    """By partition: indices and offsets of the rejected rows whose offset is readable."""
    by_partition: dict[str, tuple[list[int], list[int]]] = {}
    for line, remains in enumerate(checked.rejected.remains):
        if remains is None:
            continue
        table, row = remains
        offset = table[source.offset][row].as_py()
        partition = table[source.partition][row].as_py() if source.partition is not None else ""
        if offset is not None and 0 <= offset <= MAX_OFFSET and partition is not None:
            lines, offsets = by_partition.setdefault(str(partition), ([], []))
            lines.append(line)
            offsets.append(offset)
    return by_partition


def _check_column(data: object, name: str, what: str) -> None:
    """Refuse a table without a column of offsets, instead of rejecting every row."""
    table: Any = data.table if isinstance(data, Checked) else data
    if isinstance(table, pa.Table | pa.RecordBatch):
        names = list(table.schema.names)
    elif _is_pandas(table):
        names = [str(label) for label in table.columns]
    else:
        return
    if name not in names:
        raise _shape(what, f"there is no column '{name}'", did_you_mean(name, names))


def _holds_numbers(data: object, name: str) -> bool:
    """Whether a column that is no attribute contains numbers, not text."""
    if isinstance(data, Checked):
        return bool(pa.types.is_integer(data.table.schema.field(name).type))
    if isinstance(data, pa.Table | pa.RecordBatch):
        kind = data.schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
    values: Iterable[Any] = ()
    if _is_pandas(data):
        values = data[name].dropna().head(1)  # type: ignore[index]
    elif isinstance(data, list):
        values = (row[name] for row in data if isinstance(row, Mapping) and row.get(name) is not None)
    first = next(iter(values), "")
    return not isinstance(first, str)


def _is_pandas(data: object) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _shape(what: str, found: str, fix: str) -> PresageError:
    return error("DATA_SHAPE", what=what, found=found, fix=fix)


def _too_many_gaps(source: str, partition: str) -> PresageError:
    found = f"its offsets leave more than {MAX_GAPS:,} gaps (the limit of gaps per partition)"
    fix = "load the missing offsets first, or give up on them with skip_gap"
    return _shape(f"source '{source}', partition '{partition}'", found, fix)
