"""Exporting a stream: all of its events, in the order of their time, a piece at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.errors import PresageError
from presage.model.time import parse_timestamp
from presage.operations import export as exporting
from presage.operations.export import Export, ExportRequest
from presage.storage import Log
from presage.storage.columns import EVENTS, LATE, REJECTED
from recovery.crashing import row, stream
from unit.operations.homes import fill

START = parse_timestamp("2024-01-01") or 0
SECOND = 1_000_000


def exported(home: Path, asked: ExportRequest, at_once: int = 500_000) -> list[dict[str, object]]:
    found = Export(home, asked, at_once)
    return pa.concat_tables([found.schema.empty_table(), *found.pieces()]).to_pylist()


@settings(max_examples=20)
@given(
    loads=st.lists(st.lists(st.integers(0, 59), min_size=1, max_size=8), min_size=1, max_size=6),
    at_once=st.integers(1, 20),
    bounds=st.tuples(st.none() | st.integers(0, 59), st.none() | st.integers(0, 59)),
    compacted=st.booleans(),
)
def test_it_is_the_archive_in_the_order_of_time_however_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory,
    loads: list[list[int]],
    at_once: int,
    bounds: tuple[int | None, int | None],
    compacted: bool,
) -> None:
    home, kind = tmp_path_factory.mktemp("export") / "home", stream(max_delay=3600 * SECOND)
    with Log.open(home, durable=False) as log:
        log.create_stream(kind)
        n = 0
        for load in loads:
            log.append(kind, [row(n := n + 1, second) for second in load])
        if compacted:
            log.maintain([kind], grace=0)
        low, high = (None if b is None else START + b * SECOND for b in bounds)
        expected = log.archive.read_arrow(log.archive.snapshot("Tick"))
        keys = zip(expected["_t"].cast(pa.int64()).to_pylist(), expected["_seq"].to_pylist(), strict=True)
        rows = expected.drop_columns(["_t", "_seq"]).to_pylist()
        wanted = [
            each
            for (time, _), each in sorted(zip(keys, rows, strict=True), key=lambda pair: pair[0])
            if (low is None or time >= low) and (high is None or time < high)
        ]
        assert exported(home, ExportRequest("Tick", low=low, high=high), at_once) == wanted


def test_no_piece_is_much_larger_than_it_may_be(tmp_path: Path) -> None:
    kind = stream()
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(kind)
        for first in range(0, 50, 10):
            log.append(kind, [row(n, n) for n in range(first, first + 10)])
    pieces = list(Export(tmp_path / "home", ExportRequest("Tick"), 7).pieces())
    assert sum(piece.num_rows for piece in pieces) == 50
    assert max(piece.num_rows for piece in pieces) <= 8


def test_late_rejected_and_derived_rows_can_be_had_too(tmp_path: Path) -> None:
    fill(tmp_path / "home")
    (late,) = exported(tmp_path / "home", ExportRequest("Tick", LATE))
    assert late["_late_by"] == 105 * SECOND
    (rejected,) = exported(tmp_path / "home", ExportRequest("Tick", REJECTED))
    assert "dear" in str(rejected["raw"])
    assert len(exported(tmp_path / "home", ExportRequest("Hot"))) > 0
    with pytest.raises(PresageError, match="no event time"):
        Export(tmp_path / "home", ExportRequest("Tick", REJECTED, low=0))


def test_a_stream_that_is_not_there_is_named_with_its_neighbour(tmp_path: Path) -> None:
    fill(tmp_path / "home")
    with pytest.raises(PresageError, match="did you mean 'Tick'"):
        Export(tmp_path / "home", ExportRequest("Tikc"))


def test_a_home_that_has_streams_names_them_where_none_is_near(tmp_path: Path) -> None:
    fill(tmp_path / "home")
    with pytest.raises(PresageError, match=r"known: .*Tick"):
        Export(tmp_path / "home", ExportRequest("Weather"))


@pytest.mark.parametrize("table", [EVENTS, LATE, REJECTED])
@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:100])])
def test_a_file_that_is_lost_or_damaged_ends_it_with_the_table(
    damage: Callable[[Path], object], table: str, tmp_path: Path
) -> None:
    fill(tmp_path / "home")
    damage(next((tmp_path / "home/streams/Tick" / table).glob("*.parquet")))
    with pytest.raises(PresageError, match=f"data file '.*' in the home '.*Tick/{table}'") as found:
        exported(tmp_path / "home", ExportRequest("Tick", table))
    assert found.value.code == "HOME_CORRUPT"


def test_files_that_are_compacted_meanwhile_lose_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = stream()
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(kind)
        for n in range(40):
            log.append(kind, [row(n, n)])
        real, compacted = exporting.read_events, False

        def late(*given: object, **more: object) -> pa.Table:
            nonlocal compacted
            if not compacted:
                compacted = True
                for _ in range(2):
                    log.maintain([kind], grace=0)
            return real(*given, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(exporting, "read_events", late)
        assert len(exported(tmp_path / "home", ExportRequest("Tick"), 10)) == 40
        assert compacted
