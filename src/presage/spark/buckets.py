"""A kernel over files of the archive: each task reads the rows of its own keys. No shuffle, no crossing to the JVM.

Old files hold one bucket of the stream's KEY each, sorted by time. Where a kernel's rows are divided by that key, all
rows of a key lie in the files of one bucket, so a task reads these files with Arrow, prepares the columns with the
evaluator and steps the kernel. Files that are not old yet are read by every task, which keeps the rows of its own keys.
That pays while there are few such files beside the old ones, or few tasks: a row costs ten times as much to cross from
the JVM to Python as to be read from a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from presage.columnar.evaluate import Evaluator, supports
from presage.columnar.key_hashes import shards_of
from presage.columnar.sorting import sorted_table
from presage.log import FileSet
from presage.log.buckets import buckets
from presage.log.chunks import bucket_of
from presage.log.reading import read_events
from presage.model.arrow import to_arrow
from presage.plan.expr import ColumnRef, Expr, InRelation
from presage.plan.nodes import SEQ, TIME, Field, Filter, Named, Node, Scan
from presage.spark.batch import BatchContext
from presage.spark.kernels import OUTPUT_ROWS, Kernel
from presage.spark.types import to_spark

# More tasks than this would read the same files too often.
MOST_READERS = 8


@dataclass(frozen=True)
class _Bucket:
    """Old files of one bucket, and others of which only the rows of this bucket count."""

    number: int
    count: int
    old: FileSet
    mixed: FileSet
    key: tuple[str, ...]

    def read(self, attributes: tuple[str, ...]) -> Iterator[pa.Table]:
        yield read_events(self.old, attributes)
        wanted = tuple(dict.fromkeys((*attributes, *self.key)))
        for path in self.mixed.paths:
            table = read_events(replace(self.mixed, paths=(path,)), wanted)
            mine = buckets([table[name] for name in self.key], self.count) == self.number
            yield table.filter(pa.array(mine))


@dataclass(frozen=True)
class _Share:
    """Files that are not old, of which the rows of a part of the keys count."""

    number: int
    count: int
    files: FileSet
    key: tuple[str, ...]

    def read(self, attributes: tuple[str, ...]) -> Iterator[pa.Table]:
        wanted = tuple(dict.fromkeys((*attributes, *self.key)))
        for path in self.files.paths:
            table = read_events(replace(self.files, paths=(path,)), wanted)
            if self.count > 1:
                table = table.filter(pa.array(shards_of(table, self.key, self.count) == self.number))
            yield table


def run_on_buckets(
    source: Node,
    prepared: tuple[Named, ...],
    keys: tuple[str, ...],
    kernel: Kernel,
    fields: list[Field],
    context: BatchContext,
) -> DataFrame | None:
    """The kernel's rows with TIME, SEQ and `fields`, or None where the files do not allow it.

    `source` is what the kernel stands on, `prepared` its columns over it, `keys` those that divide its rows.
    """
    conditions: list[Expr] = []
    while isinstance(source, Filter):
        conditions.append(source.condition)
        source = source.input
    if not isinstance(source, Scan) or source.made or context.files is None:
        return None
    exprs = [*conditions, *(n.expr for n in prepared)]
    if not all(map(supports, exprs)):
        return None
    files = context.files(source)
    by_name = {n.name: n.expr for n in prepared}
    attributes = {f.name: a for f, a in zip(source.fields, source.attributes, strict=True)}
    divided = [attributes.get(x.name) for x in (by_name[k] for k in keys) if isinstance(x, ColumnRef)]
    whole = tuple(name for name in divided if name is not None)
    parts = context.partitions if keys else 1
    if not files.paths or context.estimated_rows > context.rows_in_memory * parts:
        return None
    groups: Sequence[_Bucket | _Share] | None = _groups(files, set(whole))
    if groups is None and (parts == 1 or (whole and parts <= MOST_READERS)):
        groups = [_Share(n, parts, replace(files, held=None), whole) for n in range(parts)]
    if groups is None:
        return None
    names = {x.relation for expr in exprs for x in expr.walk() if isinstance(x, InRelation)}
    relations = {name: context.relations[name] for name in names}
    scan, clock = source, context.clock
    # A task costs more than a bucket: as many of them as there are cores to use.
    tasks = max(1, min(len(groups), context.partitions))
    arrow = pa.schema([(f.name, to_arrow(f.type)) for f in fields])
    schema = StructType([StructField(f"c{i}", to_spark(f.type), True) for i, f in enumerate(fields)])

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        evaluator = Evaluator(relations)
        for batch in batches:
            for bucket in (b for task in batch.column(0).to_pylist() for b in groups[task::tasks]):
                table = _events(bucket, scan)
                for condition in conditions:
                    table = table.filter(pa.array(evaluator.mask(condition, table)))
                made = dict(zip(by_name, evaluator.columns(list(by_name.values()), table), strict=True))
                rows = pa.table({TIME: table[TIME], SEQ: table[SEQ], **made})
                if not rows.num_rows:
                    continue
                rows = sorted_table(rows, (TIME, SEQ))
                _, found = kernel.step(kernel.initial(), rows, max(clock, rows[TIME][-1].as_py()), end=True)
                shaped = found.select(arrow.names).cast(arrow).rename_columns(schema.names)
                yield from shaped.to_batches(max_chunksize=OUTPUT_ROWS)

    return context.spark.range(0, tasks, 1, tasks).mapInArrow(work, schema).toDF(*arrow.names)


def _events(bucket: _Bucket | _Share, scan: Scan) -> pa.Table:
    names = list(dict.fromkeys((SEQ, TIME, *scan.attributes)))
    table = pa.concat_tables([part.select(names) for part in bucket.read(scan.attributes)])
    columns = {TIME: table[TIME], SEQ: table[SEQ]}
    return pa.table({**columns, **{f.name: table[a] for f, a in zip(scan.fields, scan.attributes, strict=True)}})


def _groups(files: FileSet, divided: set[str]) -> list[_Bucket] | None:
    """The files by bucket; None if rows of one key may lie in several of them, or too many are not old."""
    marks = [(path, bucket_of(PurePath(path).name)) for path in files.paths]
    old = [(path, mark) for path, mark in marks if mark is not None]
    if not old or not files.key or not set(files.key) <= divided:
        return None
    # Counts are powers of two: a finer bucket lies in one coarser bucket.
    count = min(total for _, (_, total) in old)
    if count == 1:
        return None
    mixed = tuple(path for path, mark in marks if mark is None)
    if len(mixed) * count > len(old):
        return None
    rest = replace(files, paths=mixed, held=None)
    return [
        _Bucket(
            number,
            count,
            replace(files, paths=tuple(path for path, (mine, _) in old if mine % count == number), held=None),
            rest,
            files.key,
        )
        for number in range(count)
    ]
