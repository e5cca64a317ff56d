"""The interpreter of a stage on files of the archive, partitioned by key.

Old files hold one bucket of the stream's KEY each, sorted by time. Where that key partitions the stage, all rows of a
key are in the files of one bucket: a part reads these files with Arrow, evaluates the prepared columns and steps the
kernel. Newer files are read by every part, which filters the rows of its own keys. A part runs in any process, without
Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TypeGuard

import pyarrow as pa

from presage.columnar.evaluate import Evaluator, supports
from presage.columnar.key_hashes import shards_of
from presage.columnar.processing_order import sorted_table
from presage.execution.stage import Kernel, Stage
from presage.model.arrow import to_arrow
from presage.model.types import STRING
from presage.plan.expr import ColumnRef, Expr, InRelation
from presage.plan.nodes import SEQ, TIME, Filter, Scan
from presage.storage import FileSet
from presage.storage.buckets import buckets
from presage.storage.chunks import bucket_of
from presage.storage.event_reader import read_events


@dataclass(frozen=True)
class Part:
    """The old files of one bucket, and newer files that are filtered by the part's keys."""

    number: int
    count: int
    old: FileSet | None
    others: FileSet
    key: tuple[str, ...]

    def read(self, attributes: tuple[str, ...], coded: frozenset[str]) -> pa.Table:
        names = list(dict.fromkeys((SEQ, TIME, *attributes)))
        wanted = list(dict.fromkeys((*attributes, *self.key)))
        tables = [] if self.old is None else [read_events(self.old, attributes, coded, threads=False).select(names)]
        for path in self.others.paths:
            table = read_events(replace(self.others, paths=(path,)), wanted, coded, threads=False)
            if self.count > 1:
                table = table.filter(pa.array(self._numbers(table) == self.number))
            tables.append(table.select(names))
        # In one chunk: every access would concatenate the chunks of a column again.
        return pa.concat_tables(tables).combine_chunks()

    def _numbers(self, table: pa.Table) -> pa.Array:
        if self.old is None:
            return shards_of(table, self.key, self.count)
        return buckets([table[name] for name in self.key], self.count)


@dataclass(frozen=True)
class Work:
    """A kernel over files. `divided`: the attributes among its keys; `coded`: text attributes that are used as keys
    only, and stay dictionary-encoded."""

    stage: Stage
    kernel: Kernel
    scan: Scan
    conditions: tuple[Expr, ...]
    files: FileSet
    divided: tuple[str, ...]
    coded: frozenset[str]
    relations: Mapping[str, pa.Table]
    watermark: int

    def by_bucket(self) -> list[Part] | None:
        """The files by bucket; None if a key may be in several buckets, or too many files are not bucketed yet."""
        files = self.files
        marks = [(path, bucket_of(PurePath(path).name)) for path in files.paths]
        old = [(path, mark) for path, mark in marks if mark is not None]
        if not old or not files.key or not set(files.key) <= set(self.divided):
            return None
        # Counts are powers of two: a finer bucket lies in one coarser bucket.
        count = min(total for _, (_, total) in old)
        others = tuple(path for path, mark in marks if mark is None)
        if count == 1 or len(others) * count > len(old):
            return None
        rest = replace(files, paths=others, lease=None)
        return [
            Part(
                number,
                count,
                replace(files, paths=tuple(path for path, (mine, _) in old if mine % count == number), lease=None),
                rest,
                files.key,
            )
            for number in range(count)
        ]

    def by_share(self, parts: int) -> list[Part]:
        """Every part reads all files."""
        return [Part(n, parts, None, replace(self.files, lease=None), self.divided) for n in range(parts)]

    def rows(self, part: Part) -> pa.Table | None:
        """The kernel's columns for the part's rows; None where there are none."""
        table = part.read(self.scan.attributes, self.coded)
        scan, stage, evaluator = self.scan, self.stage, Evaluator(self.relations)
        prepared = stage.inputs[0].prepared
        named = {f.name: table[a] for f, a in zip(scan.fields, scan.attributes, strict=True)}
        table = pa.table({TIME: table[TIME], SEQ: table[SEQ], **named})
        for condition in self.conditions:
            table = table.filter(pa.array(evaluator.mask(condition, table)))
        if not table.num_rows:
            return None
        # Stored columns are not computed, and may stay dictionary-encoded.
        stored = {n.name: table[n.expr.name] for n in prepared if _stored(n.expr, scan)}
        computed = [n for n in prepared if n.name not in stored]
        made = evaluator.columns([n.expr for n in computed], table)
        columns = stored | {n.name: array for n, array in zip(computed, made, strict=True)}
        rows = sorted_table(pa.table({TIME: table[TIME], SEQ: table[SEQ], **columns}), (TIME, SEQ))
        watermark = max(self.watermark, rows[TIME][-1].as_py())
        _, output = self.kernel.step(self.kernel.initial(), rows, watermark, end=True)
        schema = pa.schema([(f.name, to_arrow(f.type)) for f in stage.fields])
        return output.select(schema.names).cast(schema)


def work_on_files(
    stage: Stage, kernel: Kernel, files: Callable[[Scan], FileSet], relations: Mapping[str, pa.Table], watermark: int
) -> Work | None:
    """The work of a stage; None if it cannot run on files alone."""
    prepared = stage.inputs[0].prepared
    source, conditions = stage.inputs[0].source, list[Expr]()
    while isinstance(source, Filter):
        conditions.append(source.condition)
        source = source.input
    exprs = [*conditions, *(n.expr for n in prepared)]
    if not isinstance(source, Scan) or source.made or not all(map(supports, exprs)):
        return None
    attributes = {f.name: a for f, a in zip(source.fields, source.attributes, strict=True)}
    plain = {n.name: n.expr for n in prepared if _stored(n.expr, source)}
    keys = [plain[key] for key in stage.keys if key in plain]
    read = {name for x in exprs if not _stored(x, source) for name in x.columns()}
    named = {x.relation for expr in exprs for x in expr.walk() if isinstance(x, InRelation)}
    return Work(
        stage,
        kernel,
        source,
        tuple(conditions),
        files(source),
        tuple(attributes[x.name] for x in keys),
        frozenset(attributes[x.name] for x in keys if x.type == STRING and x.name not in read),
        {name: relations[name] for name in named},
        watermark,
    )


def _stored(expr: Expr, scan: Scan) -> TypeGuard[ColumnRef]:
    """Whether the expression is a column of the archive."""
    return isinstance(expr, ColumnRef) and any(f.name == expr.name for f in scan.fields)
