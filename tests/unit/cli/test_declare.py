"""`presage declare`: files as people have them, the declarations they get, and that these take what the file holds."""

from __future__ import annotations

import json
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from presage.cli import main
from presage.lang import parse
from presage.storage.files import read_files
from presage.storage.suggestion import named_after, suggest
from presage.workspace import Workspace

DOORS = """Door,Card No,Result,Time
A1,00417,ok,2024-03-01 08:59:12
A1,00981,denied,2024-03-01 09:00:03
"""


def declared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["presage", "declare", *arguments])
    code = main()
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_csv_file_gets_a_declaration_that_passes_the_check(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "doors.csv").write_text(DOORS)
    code, out, told = declared(monkeypatch, capsys, "doors.csv")
    assert code == 0
    assert out == (
        "-- doors.csv: 2 events\n"
        "CREATE STREAM Doors (Door STRING, `Card No` STRING, Result STRING, Time TIMESTAMP) EVENT TIME Time;\n"
    )
    assert "presage query FILE.epl --events Doors=doors.csv" in told
    Workspace(["."], ".").check(out, "doors.epl")


def test_numbers_that_are_written_with_a_point_are_doubles_though_all_are_whole(folder: Path) -> None:
    (folder / "m.csv").write_text("a,b,c,d,at\n21.0,1e3,7,.,2024-03-01\n24.0,2,-8,5,2024-03-01\n")
    types = {each.name: str(each.type) for each in suggest(folder / "m.csv").attributes}
    assert types == {"a": "DOUBLE", "b": "DOUBLE", "c": "LONG", "d": "LONG", "at": "TIMESTAMP"}


def test_a_name_may_be_given_and_is_spelled_as_it_must_be(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "my doors.csv").write_text(DOORS)
    _, out, told = declared(monkeypatch, capsys, "my doors.csv", "--name", "select")
    assert "CREATE STREAM `select` (" in out
    assert "--events 'select=my doors.csv'" in told


def test_rows_that_would_be_rejected_are_told_and_do_not_change_the_type(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"{n},{n / 2},2024-03-01T09:00:{n % 60:02d}Z,2024-03-02\n" for n in range(200))
    (folder / "x.csv").write_text("n,v,ts,day\n" + rows + "201,dear,2024-03-01T09:00:00Z,2024-03-02\n")
    code, out, _ = declared(monkeypatch, capsys, "x.csv")
    assert code == 0
    assert out.splitlines() == [
        "-- x.csv: 200 events, 1 row would be rejected",
        "--   x.csv:202: attribute 'v' needs DOUBLE, found \"dear\"",
        "-- the event time could also be day",
        "CREATE STREAM X (n LONG, v DOUBLE, ts TIMESTAMP, day TIMESTAMP) EVENT TIME ts;",
    ]


def test_texts_that_stand_for_a_missing_value_are_proposed_as_null(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["A,1,0.5,NaN,-,2024-03-01", "NA,NA,?,1.5,-,2024-03-02", "C,3,2.5,2,x,2024-03-03", "?,4,1,2,y,NA"]
    (folder / "x.csv").write_text("\n".join(["code,n,v,d,mark,at", *rows]))
    code, out, _ = declared(monkeypatch, capsys, "x.csv")
    assert code == 0
    assert out.splitlines() == [
        "-- x.csv: 3 events, 1 row would be rejected",
        "--   x.csv:5: the event time 'at' is missing",
        "-- 'NA' is read as null: n (1), at (1), code (1)",
        "-- '?' is read as null: v (1), code (1)",
        "CREATE STREAM X (",
        "  code STRING,",
        "  n LONG,",
        "  v DOUBLE,",
        "  d DOUBLE,",  # NaN is a number
        "  mark STRING,",  # and a column of texts may hold any
        "  at TIMESTAMP",
        ") EVENT TIME at WITH (nulls = 'NA, ?');",
    ]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("none.csv", None, "FILE_NOT_FOUND"),
        ("empty.csv", "", "it has no rows"),
        ("head.csv", "a,at\n", "(columns: a, at)"),
        ("german.csv", "a,at\n1,01.03.2024 09:00\n", "no column holds times as ISO 8601"),
        ("number.csv", "a,at\n1,1709283603\n", "no column holds times as ISO 8601"),
        ("what.txt", "a", "is of no known format"),
        ("broken.parquet", "a", "FILE_UNREADABLE"),
        ("double.csv", "a,a,at\n1,2,2024-03-01\n", "comes twice"),
    ],
)
def test_a_file_that_cannot_be_declared_says_why(
    name: str,
    text: str | None,
    why: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if text is not None:
        (folder / name).write_text(text)
    code, out, told = declared(monkeypatch, capsys, name)
    assert (code, out) == (1, "")
    assert why in told


def test_an_empty_folder_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, told = declared(monkeypatch, capsys, ".")
    assert code == 1
    assert "the folder is empty" in told


def test_of_a_folder_the_first_file_decides_and_all_are_tried(folder: Path) -> None:
    (folder / "a.csv").write_text("n,at\n1,2024-03-01\n")
    (folder / "b.csv").write_text("n,at\nmany,2024-03-01\n2,2024-03-02\n")
    found = suggest(folder)
    assert [(a.name, str(a.type)) for a in found.attributes] == [("n", "LONG"), ("at", "TIMESTAMP")]
    assert (found.checked.table.num_rows, found.checked.rejected.origins) == (2, ["b.csv:2"])


def test_json_and_parquet_have_arrays_structs_and_times(folder: Path) -> None:
    rows = [
        {"n": 1, "at": "2024-03-01T09:00:00Z", "tags": ["a"], "where": {"x": 1.5, "floor": 2}, "mixed": 1, "no": None},
        {"n": 2, "at": "2024-03-01T09:00:01Z", "tags": [], "where": None, "mixed": "one"},
    ]
    expected = [
        ("n", "LONG"),
        ("at", "TIMESTAMP"),
        ("tags", "ARRAY<STRING>"),
        ("where", "STRUCT<x DOUBLE, floor LONG>"),
        ("no", "STRING"),
    ]
    (folder / "lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "no object\n")
    (folder / "array.json").write_text(json.dumps(rows))
    for name, rejected in (("lines.jsonl", 1), ("array.json", 0)):
        found = suggest(folder / name)
        assert [(a.name, str(a.type)) for a in found.attributes] == expected
        assert found.left_out == ("mixed",)
        assert (found.checked.table.num_rows, len(found.checked.rejected)) == (2, rejected)
    day, at = date(2024, 3, 1), datetime(2024, 3, 1, tzinfo=UTC)
    table = pa.table({"day": [day], "at": [at], "u": pa.array([1], pa.uint8()), "b": [b"x"]})
    pq.write_table(table, folder / "p.parquet")
    found = suggest(folder / "p.parquet")
    assert [(a.name, str(a.type)) for a in found.attributes] == [
        ("day", "DATE"),
        ("at", "TIMESTAMP"),
        ("u", "LONG"),
        ("b", "BYTES"),
    ]
    assert (found.event_time, found.other_times, found.left_out) == ("at", (), ())


def test_streams_are_named_after_files(tmp_path: Path) -> None:
    for name, expected in (
        ("doors.csv", "Doors"),
        ("2024 doors.csv", "events_2024_doors"),
        ("türen-a.json", "Türen_a"),
    ):
        (tmp_path / name).write_text("")
        assert named_after(tmp_path / name) == expected


NASTY = ("", "1", "-7", "007", "1.5", "1e3", "nan", "true", "FALSE", "2024-03-01", "2024-03-01T09:00:00Z", "x")
FIELD = st.one_of(
    st.sampled_from(NASTY), st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), max_size=5)
)


@given(st.lists(st.tuples(FIELD, FIELD), max_size=6))
@example([("nan", ""), ("true", "")])
def test_what_is_declared_for_a_small_file_takes_every_row(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    def quoted(field: str) -> str:
        return '"' + field.replace('"', '""') + '"'

    path = tmp_path_factory.mktemp("declared") / "e.csv"
    lines = ["a,b,at", *(f"{quoted(a)},{quoted(b)},2024-03-01" for a, b in [*rows, ("", "")])]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = suggest(path)
    assert not found.checked.rejected.reasons
    read = read_files(path, found.attributes, found.event_time, nulls=[*found.nulls])
    assert read.table.num_rows == len(rows) + 1
    columns = ", ".join(f"{a.name} {a.type}" for a in found.attributes)
    parse(f"CREATE STREAM E ({columns}) EVENT TIME {found.event_time};")
