"""The events of a batch for the scans of all statements; every file is read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from presage.columnar.processing_order import sorted_table
from presage.errors import PresageError
from presage.execution.steps import schema_of
from presage.live.derived import HIDDEN, archived_rows, as_scanned
from presage.live.program import Program
from presage.plan.nodes import SEQ, TIME, Scan
from presage.storage import Bounds, FileSet
from presage.storage.archive import within
from presage.storage.event_reader import read_events

if TYPE_CHECKING:
    from presage.live.tasks import Outcome, Task

# With this many sources, files are read whole, and each source takes its part.
SHARERS_PER_READ = 3
# The source files of a scan; scans with equal sources read the same events.
Source = tuple[tuple[str, tuple[str, ...], Any], ...]


class BatchEvents:
    """The events of a batch, each file read once with the attributes of all statements; and the rows of INSERT INTO
    for the statements that read them, which run later in the batch."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._fresh: dict[str, list[pa.Table]] = {}  # by derived stream
        self.broken: set[str] = set()  # derived streams with a failed producer in this batch
        self._wanted: dict[Source, dict[str, None]] = {}
        self._files: dict[Source, tuple[FileSet, ...]] = {}
        self._read: dict[Source, pa.Table] = {}
        self._counted: dict[Source, dict[str, None]] = {}  # attributes whose distinct values are counted
        self._coded: dict[tuple[Source, str], pa.ChunkedArray] = {}
        self._whole: dict[tuple[str, tuple[str, ...]], pa.Table] = {}  # whole files, for several sources
        self._sharers: dict[tuple[str, tuple[str, ...]], list[Source]] = {}
        self._sources: dict[int, Source] = {}  # by the identity of a task's files, which live as long as the batch
        self._equal: dict[Source, Source] = {}
        self._counts: dict[int, int] = {}  # events of a task's files, by their identity as well
        seen = set[tuple[int, tuple[str, ...]]]()
        alike = {(id(task.files), id(task.ahead), id(task.program.reads)): task for task in tasks}
        for task in alike.values():
            scans = task.program.scans
            for scan, own in [*zip(scans, task.files, strict=True), *zip(scans, task.ahead or (), strict=False)]:
                key = id(own), scan.attributes
                if key in seen:
                    continue
                seen.add(key)
                source = self._source_of(own)
                self._files[source] = own
                hidden = HIDDEN if scan.made else ()
                self._wanted.setdefault(source, {}).update(dict.fromkeys((*scan.attributes, *hidden)))
                counted = [w.attribute for w in task.program.watched if w.stream == scan.stream and not scan.made]
                self._counted.setdefault(source, {}).update(dict.fromkeys(a for a in counted if a in scan.attributes))
        for source, several in self._files.items():
            for files in several:
                self._sharers.setdefault((files.stream, files.paths), []).append(source)

    def source(self, task: Task, scan: int) -> Source:
        """Equal sources are one object."""
        return self._source_of(task.files[scan])

    def _source_of(self, files: tuple[FileSet, ...]) -> Source:
        if id(files) not in self._sources:
            source = tuple((one.stream, one.paths, one.predicates) for one in files)
            self._sources[id(files)] = self._equal.setdefault(source, source)
        return self._sources[id(files)]

    def take(self, program: Program, outcomes: Sequence[Outcome]) -> None:
        """Keep the rows of an INSERT INTO for the readers of its stream."""
        assert program.into is not None
        stream = program.into.name
        if any(o.failure is not None or o.blocked for o in outcomes):
            self.broken.add(stream)
        rows = [o.table() for o in outcomes if o.rows_out]
        if rows and stream not in self.broken and not program.retimed:
            ordered = sorted_table(pa.concat_tables(rows), (TIME, SEQ, *program.plan.order))
            made = archived_rows(ordered, program.into, int(outcomes[0].number))
            self._fresh.setdefault(stream, []).append(made)

    def plain(self, source: Source) -> pa.Table:
        """SEQ, TIME and attributes under their own names."""
        if source not in self._read:
            parts = [self._events_of(files, source) for files in self._files[source]]
            table = pa.concat_tables(parts)
            for i, field in enumerate(table.schema):
                if pa.types.is_dictionary(field.type):
                    coded = self._coded[source, field.name] = table.column(i)
                    table = table.set_column(i, field.name, coded.cast(field.type.value_type))
            self._read[source] = table.combine_chunks()
        return self._read[source]

    def counted(self, source: Source, attribute: str) -> pa.ChunkedArray:
        """The values of an attribute, dictionary-encoded where possible."""
        table = self.plain(source)
        return self._coded.get((source, attribute), table.column(attribute))

    def _events_of(self, files: FileSet, source: Source) -> pa.Table:
        """The events of a file set. Statements with different start positions read different rows of the same files,
        which are then read once."""
        wanted = list(self._wanted[source])
        whole = (files.stream, files.paths)
        sharers = self._sharers[whole]
        if len(sharers) < SHARERS_PER_READ:
            return read_events(files, wanted, self._texts(files, [source]))
        if whole not in self._whole:
            names = list(dict.fromkeys(name for sharer in sharers for name in self._wanted[sharer]))
            unbounded = replace(files, predicates=Bounds())
            self._whole[whole] = read_events(unbounded, names, self._texts(files, sharers))
        return within(self._whole[whole], files.predicates).select(list(dict.fromkeys((SEQ, TIME, *wanted))))

    def _texts(self, files: FileSet, sources: Sequence[Source]) -> list[str]:
        """The attributes to read dictionary-encoded: texts whose distinct values are counted."""
        names = dict.fromkeys(name for source in sources for name in self._counted[source])
        return [name for name in names if pa.types.is_string(files.schema.field(name).type)]

    def readable(self, source: Source) -> bool:
        try:
            self.plain(source)
        except PresageError:
            return False
        return True

    def of(self, task: Task, program: Program, scan: Scan) -> pa.Table:
        source = self.source(task, _number(scan, program))
        return self._made(task, source, scan) if scan.made else self._named(source, scan)

    def ahead_of(self, task: Task, program: Program, scan: Scan) -> pa.Table:
        """The events of a scan that have arrived ahead of the watermark."""
        assert task.ahead is not None
        return self._named(self._source_of(task.ahead[_number(scan, program)]), scan)

    def _named(self, source: Source, scan: Scan) -> pa.Table:
        """The events of a source under the column names of a scan."""
        if not source:
            return schema_of(scan.columns).empty_table()
        table = self.plain(source)
        columns = [table[TIME], table[SEQ], *(table[a] for a in scan.attributes)]
        return pa.table(columns, [TIME, SEQ, *(f.name for f in scan.fields)])

    def of_parts(
        self, tasks: Sequence[Task], rows: Sequence[np.ndarray], names: Sequence[str]
    ) -> tuple[pa.Table, np.ndarray]:
        """Columns of the events of tasks with one scan each, and the positions of the tasks' rows in them."""
        starts: dict[Source, int] = {}
        tables: list[pa.Table] = []
        end = 0
        for task in tasks:
            source = self.source(task, 0)
            if source not in starts:
                starts[source] = end
                tables.append(self.of(task, task.program, task.program.scans[0]).select(names))
                end += tables[-1].num_rows
        table = tables[0] if len(tables) == 1 else pa.concat_tables(tables).combine_chunks()
        places = [one + starts[self.source(task, 0)] for task, one in zip(tasks, rows, strict=True)]
        return table, places[0] if len(places) == 1 else np.concatenate(places)

    def _made(self, task: Task, source: Source, scan: Scan) -> pa.Table:
        """Rows of other statements: from the archive, and those of this batch."""
        parts = [schema_of(scan.columns, scan.order).empty_table()]
        if source:
            parts.append(as_scanned(self.plain(source), scan, task.start + 1, task.inner_watermark))
        parts += self._fresh_rows(task, scan)
        return pa.concat_tables([part.cast(parts[0].schema) for part in parts])

    def _fresh_rows(self, task: Task, scan: Scan) -> list[pa.Table]:
        """Rows of other statements in this batch, up to the watermark. A row may have exactly the time of the previous
        watermark: its event arrived after others of that time."""
        return [as_scanned(made, scan, task.start, task.inner_watermark) for made in self._fresh.get(scan.stream, [])]

    def rows(self, task: Task) -> int:
        """How many events a task reads."""
        read = self._counts.get(id(task.files))
        if read is None:
            sources = [self.source(task, i) for i in range(len(task.files))]
            read = self._counts[id(task.files)] = sum(self.plain(source).num_rows for source in sources if source)
        if not task.program.reads_others:
            return read
        scans = [scan for scan in task.program.scans if scan.made]
        return read + sum(int(table.num_rows) for scan in scans for table in self._fresh_rows(task, scan))


def _number(scan: Scan, program: Program) -> int:
    return next(i for i, each in enumerate(program.scans) if each is scan)
