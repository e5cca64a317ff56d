"""The ages of data files, and the groups of files that a compaction rewrites together. Does no I/O.

Three ages, as in Moirae: a *present* file holds event times at which more events may still arrive; a *recent* one is
as written, or merged with its neighbours in the order of arrival; an *old* one is compacted: one slice of time, one
bucket of keys, sorted by time. The name of an old file contains its bucket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from presage.storage.columns import SEQ
from presage.storage.delta import LiveFile

PRESENT, RECENT, OLD = "present", "recent", "old"
AGES = (PRESENT, RECENT, OLD)
_OLD = re.compile(r"-old-(\d+)of(\d+)\.parquet$")


@dataclass(frozen=True)
class Shape:
    """The target sizes of compaction. Times are microseconds."""

    slice: int = 6 * 3_600_000_000  # length of a slice of time
    least_rows: int = 4_096  # a slice with fewer rows is joined with the next
    rows_per_file: int = 1_048_576
    bytes_per_file: int = 64 << 20
    buckets: int = 16  # at most; a power of two
    rows_per_bucket: int = 65_536  # with fewer rows than this per bucket, fewer buckets are used
    group_rows: int = 4_194_304  # limits of what is read into memory at once
    group_bytes: int = 128 << 20
    fan: int = 16  # how many neighbours of about the same size are merged into one file

    def weight(self, file: LiveFile) -> int:
        """The size of a file in rows; large rows count as several."""
        return max(file.rows, file.size * self.rows_per_file // self.bytes_per_file, 1)

    def bucket_count(self, rows: int) -> int:
        count = self.buckets
        while count > 1 and rows < count * self.rows_per_bucket:
            count //= 2
        return count


def bucket_of(name: str) -> tuple[int, int] | None:
    """An old file's bucket and the number of buckets; None for a file of another age."""
    match = _OLD.search(name)
    return (int(match[1]), int(match[2])) if match else None


def bucket_mark(bucket: int, count: int) -> str:
    return f"-old-{bucket}of{count}"


def age(file: LiveFile, watermark: int | None) -> str:
    if bucket_of(file.name) is not None:
        return OLD
    closed = watermark is not None and file.last_time is not None and file.last_time < watermark
    return RECENT if closed else PRESENT


def arrivals(file: LiveFile, order: str) -> tuple[int, int] | None:
    """The least and greatest value of the column that orders a table by arrival, if known."""
    first, last = (file.first_seq, file.last_seq) if order == SEQ else (file.low.get(order), file.high.get(order))
    return None if first is None or last is None else (int(first), int(last))


def slices_to_compact(files: Iterable[LiveFile], watermark: int | None, shape: Shape) -> list[list[LiveFile]]:
    """Groups of recent files that become old ones: the watermark has passed their slices of time."""
    if watermark is None:
        return []
    closed = watermark // shape.slice * shape.slice
    recent = [
        (file.first_time, file.last_time, file)
        for file in files
        if bucket_of(file.name) is None and file.first_time is not None and file.last_time is not None
    ]
    groups: list[list[LiveFile]] = []
    group, rows, size, last = list[LiveFile](), 0, 0, 0
    for first_time, last_time, file in sorted(recent, key=lambda item: (item[0], item[2].name)):
        if last_time >= closed:
            continue
        full = rows + file.rows > shape.group_rows or size + file.size > shape.group_bytes
        if group and (full or (rows >= shape.least_rows and first_time // shape.slice > last // shape.slice)):
            groups.append(group)
            group, rows, size, last = [], 0, 0, last_time
        group.append(file)
        rows, size, last = rows + file.rows, size + file.size, max(last, last_time) if rows else last_time
    return [*groups, group] if rows >= shape.least_rows else groups


def neighbours_to_merge(files: Sequence[LiveFile], shape: Shape) -> list[list[LiveFile]]:
    """Groups of small files, neighbours in the given order, to merge into one file each.

    Only files of about the same size are merged, so that each row is rewritten O(log_fan(rows)) times.
    """
    groups: list[list[LiveFile]] = []
    taken: set[str] = set()
    most = shape.fan
    while most <= shape.rows_per_file // 2:
        group: list[LiveFile] = []
        rows = 0
        for file in [*files, None]:
            small = file is not None and file.name not in taken and shape.weight(file) < most
            if file is None or not small or rows + shape.weight(file) > shape.rows_per_file:
                if len(group) >= shape.fan:
                    groups.append(group)
                    taken.update(member.name for member in group)
                group, rows = [], 0
            if file is not None and small:
                group.append(file)
                rows += shape.weight(file)
        most *= shape.fan
    return groups
