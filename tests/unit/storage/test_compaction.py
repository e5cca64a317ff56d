"""Files that are merged part by part: the same rows and the same statistics as if all were in memory at once."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from presage.storage.compaction import apart
from presage.storage.delta import LiveFile
from presage.storage.file_store import FileStore
from presage.storage.staging import stage, stage_one

SCHEMA = pa.schema([("_seq", pa.int64()), ("v", pa.float64()), ("w", pa.float64()), ("s", pa.string())])
PARTS = [
    pa.table([[0, 1, 2], [1.0, 2.0, math.inf], [1.0, 2.0, 3.0], ["b", None, "x" * 100]], schema=SCHEMA),
    pa.table([[2, 2, 3], [None, None, None], [None, None, None], [None, None, None]], schema=SCHEMA),
    pa.table([[3, 9], [0.5, -math.inf], [0.5, 1.0], ["a", "é"]], schema=SCHEMA),
    pa.table([[10], [7.0], [math.nan], ["d"]], schema=SCHEMA),
    pa.table([[], [], [], []], schema=SCHEMA),
]


@pytest.mark.parametrize("rows_per_group", [1, 4, 100])
def test_a_file_written_in_parts_is_the_file_written_at_once(
    rows_per_group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("presage.storage.staging.ROWS_PER_GROUP", rows_per_group)
    whole = next(stage(FileStore(), tmp_path, 1, "ab", pa.concat_tables(PARTS)))
    cut = stage_one(FileStore(durable=True), tmp_path, 1, "cd", SCHEMA, iter(PARTS))
    assert json.loads(cut.stats) == json.loads(whole.stats)
    assert (cut.rows, cut.size) == (9, (tmp_path / cut.path).stat().st_size)
    written, expected = (pq.read_table(tmp_path / file.path) for file in (cut, whole))
    assert written.drop_columns("w") == expected.drop_columns("w")
    assert str(written["w"].to_pylist()) == str(expected["w"].to_pylist())


def test_small_parts_share_a_row_group(tmp_path: Path) -> None:
    cut = stage_one(FileStore(durable=False), tmp_path, 1, "cd", SCHEMA, iter(PARTS))
    assert pq.ParquetFile(tmp_path / cut.path).num_row_groups == 1


def test_only_files_whose_numbers_overlap_are_read_together() -> None:
    bounds = [(0, 2), (2, 3), (3, 9), (4, 6), (10, 10), (11, 20), (12, 13), (15, 40), (40, 41)]
    files = [LiveFile(str(i), 1, 1, None, None, first, last) for i, (first, last) in enumerate(bounds)]
    found = ["".join(file.name for file in group) for group in apart(files, "_seq")]
    assert found == ["0", "1", "23", "4", "567", "8"]


def test_a_file_whose_numbers_are_unknown_is_read_with_those_after_it() -> None:
    bounds = [(0, 2), (None, None), (3, 9)]
    files = [LiveFile(str(i), 1, 1, None, None, first, last) for i, (first, last) in enumerate(bounds)]
    assert [[file.name for file in group] for group in apart(files, "_seq")] == [["0", "1", "2"]]
