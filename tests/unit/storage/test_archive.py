"""Which files a query must read, and which rows of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from presage.errors import PresageError
from presage.model.catalog import Attribute, EventType
from presage.model.types import LONG, TIMESTAMP
from presage.storage import Bounds, Log

S = EventType("S", "stream", (Attribute("x", LONG), Attribute("at", TIMESTAMP)), event_time="at")
# Three files: times 10 to 12, 20 to 22, 30 to 32 (microseconds), positions 1 to 9.
FILES = [[10, 11, 12], [20, 21, 22], [30, 31, 32]]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Log]:
    with Log.open(tmp_path_factory.mktemp("home"), durable=False) as log:
        log.create_stream(S)
        for times in FILES:
            log.append(S, [{"x": t, "at": f"1970-01-01T00:00:00.0000{t}"} for t in times])
        yield log


def read(log: Log, **bounds: int) -> tuple[int, list[int], Bounds]:
    files = log.archive.snapshot("S", **bounds)
    return len(files.paths), log.archive.read_arrow(files, ["x"])["x"].to_pylist(), files.predicates


@pytest.mark.parametrize(
    ("bounds", "files", "values", "left"),
    [
        ({}, 3, [10, 11, 12, 20, 21, 22, 30, 31, 32], Bounds()),
        ({"low": 20}, 2, [20, 21, 22, 30, 31, 32], Bounds()),
        ({"low": 13}, 2, [20, 21, 22, 30, 31, 32], Bounds()),
        ({"low": 12}, 3, [12, 20, 21, 22, 30, 31, 32], Bounds(low=12)),
        ({"high": 20}, 1, [10, 11, 12], Bounds()),
        ({"high": 21}, 2, [10, 11, 12, 20], Bounds(high=21)),
        ({"low": 21, "high": 31}, 2, [21, 22, 30], Bounds(low=21, high=31)),
        ({"low": 13, "high": 20}, 0, [], Bounds()),
        ({"up_to_seq": 3}, 1, [10, 11, 12], Bounds()),
        ({"up_to_seq": 4}, 2, [10, 11, 12, 20], Bounds(up_to=4)),
        ({"after_seq": 3, "up_to_seq": 6}, 1, [20, 21, 22], Bounds()),
        ({"after_seq": 4, "up_to_seq": 5}, 1, [21], Bounds(after=4, up_to=5)),
        ({"up_to_seq": 0}, 0, [], Bounds()),
    ],
)
def test_files_outside_the_bounds_are_left_out_and_the_rest_is_filtered(
    log: Log, bounds: dict[str, int], files: int, values: list[int], left: Bounds
) -> None:
    assert read(log, **bounds) == (files, values, left)


def test_rows_and_times_are_exact_when_whole_files_are_inside(log: Log) -> None:
    files = log.archive.snapshot("S", low=20, high=33)
    assert (files.exact, files.rows, files.min_time, files.max_time) == (True, 6, 20, 32)


def test_rows_and_times_are_bounds_when_a_file_is_cut(log: Log) -> None:
    files = log.archive.snapshot("S", low=21)
    assert (files.exact, files.rows, files.min_time, files.max_time) == (False, 6, 20, 32)


def test_paths_are_absolute_and_the_bytes_are_theirs(log: Log) -> None:
    files = log.archive.snapshot("S")
    assert all(Path(path).is_absolute() for path in files.paths)
    assert files.bytes == sum(Path(path).stat().st_size for path in files.paths)


def test_statistics_read_back_from_the_table_prune_alike(log: Log, tmp_path: Path) -> None:
    with Log.open(tmp_path, durable=False) as first:
        first.create_stream(S)
        for times in FILES:
            first.append(S, [{"x": t, "at": f"1970-01-01T00:00:00.0000{t}"} for t in times])
    with Log.open(tmp_path, durable=False) as second:
        assert read(second, low=21, high=31) == read(log, low=21, high=31)
        assert read(second, up_to_seq=3) == read(log, up_to_seq=3)


def test_a_stream_is_described_in_figures(log: Log) -> None:
    info = log.archive.describe("S")
    assert (info.rows, info.late, info.rejected, info.files) == (9, 0, 0, 3)
    assert (info.first_time, info.last_time, info.last_seq, info.watermark) == (10, 32, 9, 32)


def test_an_unknown_stream_is_named_with_the_nearest_one(log: Log) -> None:
    with pytest.raises(PresageError, match="'s'") as unknown:
        log.archive.snapshot("s")
    assert "'S'" in unknown.value.fix
