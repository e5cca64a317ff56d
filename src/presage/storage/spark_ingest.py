"""Loads of Spark DataFrames: executors stage the data files. The only module of the storage layer that uses Spark.

The executors check, split and write their rows with PyArrow, as the driver does for smaller loads, so that settings of
the session (time zone, type of Parquet times, adaptive execution) do not affect the files. The driver and the executors
must share the home's folder.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, cast

import pyarrow as pa
from pyspark import StorageLevel, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as st

from presage.errors import error
from presage.model.catalog import EventType
from presage.model.types import (
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayOf,
    DataType,
    DecimalOf,
    MapOf,
    StructOf,
    common_type,
)
from presage.storage.archive import state_of
from presage.storage.columns import EVENTS, LATE, MIN_TIME, REJECTED
from presage.storage.committer import Committer
from presage.storage.home import Home
from presage.storage.home_state import StreamState
from presage.storage.ingest import Checked, check_table, refuse_duplicates
from presage.storage.journal import FileAdd, Record, Turn
from presage.storage.lateness import arrive, event_times
from presage.storage.limits import limit_names, refuse_ahead
from presage.storage.staging import stage
from presage.storage.store import Store

ROWS_PER_TASK = 500_000
MOST_TASKS = 1_000
MOST_COLLECTED = 5_000_000  # rows of a frame that is collected on the driver
FILES_PER_TASK = 100  # the number in a file's name is that of its task, times this, plus its own
_ARRIVAL = "__presage_arrival"  # the row's number in the frame, which orders equal times
_COUNTED = "part int, rows long, ignored string"
_DIGITS: dict[DataType, int] = {INT: 9, LONG: 18, DOUBLE: 15}  # of a DECIMAL without fraction that always fits
_WRITTEN = (
    "part int, name string, path string, size long, rows long, stats string, digest long, "
    "first_time long, last_time long"
)
_EXACT: dict[DataType, tuple[type[st.DataType], ...]] = {
    STRING: (st.StringType, st.CharType, st.VarcharType),
    INT: (st.ByteType, st.ShortType, st.IntegerType),
    LONG: (st.ByteType, st.ShortType, st.IntegerType, st.LongType),
    DOUBLE: (st.ByteType, st.ShortType, st.IntegerType, st.FloatType, st.DoubleType),
    BOOLEAN: (st.BooleanType,),
    TIMESTAMP: (st.TimestampType, st.TimestampNTZType, st.DateType),
    DATE: (st.DateType,),
    BYTES: (st.BinaryType,),
}
_DECIMALS: dict[type[st.DataType], DecimalOf] = {
    st.ByteType: DecimalOf(3, 0),
    st.ShortType: DecimalOf(5, 0),
    st.IntegerType: DecimalOf(10, 0),
    st.LongType: DecimalOf(20, 0),
}


def stage_load(home: Home, committer: Committer, turn: Turn, event_type: EventType, frame: object) -> Record:
    """The record of a frame that arrives now, with its staged files; none of them is left if staging fails."""
    stream = event_type.name
    try:
        first = committer.state.position + 1
        draft = stage_frame(home, turn, event_type, state_of(committer.state, stream), first, frame)
    except Exception:
        committer.discard(turn, stream)
        raise
    # A task that ran twice leaves files that it did not report.
    reported = frozenset(file.path for files in draft.adds.values() for file in files)
    committer.discard(turn, stream, keep=reported)
    return draft


def stage_frame(
    home: Home, turn: Turn, event_type: EventType, state: StreamState, first_seq: int, frame: object
) -> Record:
    """Write the frame's rows as files of record `turn.n`, in event-time order, numbered from `first_seq`."""
    frame = cast(DataFrame, frame)
    check_shape(event_type, frame)
    time = cast(str, event_type.event_time)
    if time not in frame.columns:
        frame = frame.withColumn(time, f.lit(None).cast("timestamp"))
    # Persisted: a frame may be expensive to compute, or not deterministic.
    given = frame.withColumn(_ARRIVAL, f.monotonically_increasing_id()).persist(StorageLevel.MEMORY_AND_DISK)
    ordered = given
    try:
        names = {a.name for a in event_type.attributes}
        others = [name for name in frame.columns if name not in names]
        counts = [f.count(f.lit(1)), *(f.count(f.col(f"`{name}`")) for name in others)]
        rows, *filled = cast(tuple[int, ...], given.agg(*counts).first())
        tasks = max(1, min(MOST_TASKS, -(-rows // ROWS_PER_TASK)))
        place = [f.col(f"`{time}`"), f.col(_ARRIVAL)]
        ordered = given.repartitionByRange(tasks, *place).sortWithinPartitions(*place)
        ordered = ordered.drop(_ARRIVAL, *others).persist(StorageLevel.MEMORY_AND_DISK)
        counted = sorted(ordered.mapInArrow(_counter(event_type, turn), _COUNTED).collect())
        starts, total = {}, 0
        ignored = +Counter(dict(zip(others, filled, strict=True)))
        for part, count, names in counted:
            starts[part] = first_seq + total
            total += count
            ignored.update(json.loads(names))
        folder = home.stream_folder(event_type.name)
        writer = _writer(event_type, home.store, folder, turn, state.watermark, starts)
        written = sorted(ordered.mapInArrow(writer, _WRITTEN).collect())
    finally:
        ordered.unpersist()
        given.unpersist()
    for row in written:
        # A worker without the shared folder would write to its own disk, and the rows would be lost.
        if not home.store.exists(folder / row.name / row.path):
            why = f"the driver does not find {row.path}, which a worker wrote"
            raise error("HOME_NOT_SHARED", path=home.path, why=why)
    return _draft(turn, event_type, written, total, dict(ignored))


def collect_frame(event_type: EventType, frame: object) -> pa.Table:
    """All rows of a frame on the driver, for loads in which rows depend on each other."""
    frame = cast(DataFrame, frame)
    check_shape(event_type, frame)
    table = frame.limit(MOST_COLLECTED + 1).toArrow()
    if table.num_rows > MOST_COLLECTED:
        what, fix = f"a load of more than {MOST_COLLECTED:,} rows", "load the frame in pieces, in the order of time"
        where = "from a Spark DataFrame with source offsets or into a probabilistic stream"
        raise error("UNSUPPORTED", what=what, where=where, fix=fix)
    return table


def _draft(turn: Turn, event_type: EventType, written: list[Any], total: int, ignored: dict[str, int]) -> Record:
    adds: dict[str, list[FileAdd]] = {}
    rows: Counter[str] = Counter()
    for row in written:
        adds.setdefault(row.name, []).append(FileAdd(row.path, row.size, row.rows, row.stats, row.digest))
        rows[row.name] += row.rows
    events = [row for row in written if row.name == EVENTS]
    last = max((row.last_time for row in events), default=None)
    first = min((row.first_time for row in events), default=None)
    watermark = None if last is None else max(last - event_type.max_delay, MIN_TIME)
    counts: dict[str, Any] = {"accepted": rows[EVENTS], "late": rows[LATE], "rejected": rows[REJECTED]}
    counts |= {"first_time": first, "last_time": last, "watermark": watermark, "ignored": limit_names(ignored, {})}
    return Record(turn.n, "append", turn.at, event_type.name, seqs=total, adds=adds, **counts)


def _arrow(columns: str) -> pa.Schema:
    """The Arrow schema of columns in Spark's notation."""
    types = {"int": pa.int32(), "long": pa.int64(), "string": pa.string()}
    return pa.schema([(name, types[kind]) for name, kind in (column.split() for column in columns.split(", "))])


def _counter(event_type: EventType, turn: Turn) -> Any:
    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part, checked = _checked(event_type, turn, batches)
        if checked is not None:
            row = {"part": part, "rows": checked.table.num_rows, "ignored": json.dumps(checked.ignored)}
            yield pa.RecordBatch.from_pylist([row], _arrow(_COUNTED))

    return count


def _writer(
    event_type: EventType, store: Store, folder: PurePath, turn: Turn, watermark: int | None, starts: dict[int, int]
) -> Any:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part, checked = _checked(event_type, turn, batches)
        if checked is None:
            return
        # A task that runs twice writes its files under two names; the driver uses those that are reported to it.
        token = f"{turn.token}-{uuid.uuid4().hex[:8]}"
        for name, table in arrive(checked, event_type, watermark, starts[part], turn).items():
            first, last = event_times(table) if name == EVENTS else (None, None)
            for file in stage(store, folder / name, turn.n, token, table, part * FILES_PER_TASK):
                row = {"name": name, **vars(file), "first_time": first, "last_time": last}
                yield pa.RecordBatch.from_pylist([{"part": part, **row}], _arrow(_WRITTEN))

    return write


def _checked(event_type: EventType, turn: Turn, batches: Iterator[pa.RecordBatch]) -> tuple[int, Checked | None]:
    """The partition of a task, and its rows, checked; None if it has no rows."""
    context = TaskContext.get()
    assert context is not None
    part = context.partitionId()
    rows = list(batches)
    if not rows:
        return part, None
    table = pa.Table.from_batches(rows)
    origin = lambda row: f"partition {part}, row {row + 1}"  # noqa: E731
    checked = check_table(event_type.attributes, event_type.event_time, table, origin=origin)
    return part, refuse_ahead(checked, event_type, turn.at)


def check_shape(event_type: EventType, frame: DataFrame) -> None:
    """Refuse, before any job, a column whose type does not fit the attribute without loss."""
    what = f"rows for stream '{event_type.name}'"
    refuse_duplicates(frame.columns, what)
    for attribute in event_type.attributes:
        if attribute.name in frame.columns:
            kind = frame.schema[attribute.name].dataType
            if not _fits(kind, attribute.type):
                found = f"attribute '{attribute.name}' needs {attribute.type}, the column is {kind.simpleString()}"
                fix = f"cast the column before loading: df.withColumn('{attribute.name}', …)"
                raise error("DATA_SHAPE", what=what, found=found, fix=fix)


def _fits(found: st.DataType, wanted: DataType) -> bool:
    if isinstance(found, st.NullType):
        return True
    if isinstance(wanted, ArrayOf):
        return isinstance(found, st.ArrayType) and _fits(found.elementType, wanted.element)
    if isinstance(wanted, MapOf):
        if not isinstance(found, st.MapType):
            return False
        return _fits(found.keyType, wanted.key) and _fits(found.valueType, wanted.value)
    if isinstance(wanted, StructOf):
        if not isinstance(found, st.StructType):
            return False
        named = dict(wanted.fields)
        return all(_fits(field.dataType, named[field.name]) for field in found.fields if field.name in named)
    if isinstance(wanted, DecimalOf):
        ours = _DECIMALS.get(type(found))
        if isinstance(found, st.DecimalType):
            ours = DecimalOf(found.precision, found.scale)
        return ours is not None and common_type(ours, wanted) == wanted
    if isinstance(found, st.DecimalType):
        return found.scale == 0 and found.precision <= _DIGITS.get(wanted, 0)
    return isinstance(found, _EXACT[wanted])
