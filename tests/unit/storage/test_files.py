"""Event files: CSV, JSON and Parquet, clean and broken."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from presage.errors import PresageError
from presage.model.catalog import Attribute
from presage.model.paths import Roots
from presage.model.types import BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, ArrayOf, MapOf, StructOf
from presage.storage import Checked, read_files

TICK = (Attribute("sym", STRING), Attribute("price", DOUBLE), Attribute("at", TIMESTAMP))
JAN = [datetime(2024, 1, day, tzinfo=UTC) for day in range(1, 5)]


def read(
    path: Path, text: str | bytes, attributes: tuple[Attribute, ...] = TICK, required: str | None = "at"
) -> Checked:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_files(path, attributes, required)


def rows(checked: Checked) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in checked.table.to_pylist()]


def rejected(checked: Checked) -> list[tuple[str, str, str]]:
    bad = checked.rejected
    return list(zip(bad.origins, bad.reasons, bad.raws, strict=True))


def test_csv_columns_are_found_by_name(tmp_path: Path) -> None:
    checked = read(tmp_path / "t.csv", "at,price,sym\n2024-01-01,1.5,a\n2024-01-02T00:00:00Z,,b\n")
    assert rows(checked) == [("a", 1.5, JAN[0]), ("b", None, JAN[1])]


def test_csv_quotes_commas_and_newlines_in_fields(tmp_path: Path) -> None:
    checked = read(tmp_path / "t.csv", 'sym,price,at\r\n"a,""b""\nc",1,2024-01-01\r\n"",2,2024-01-02\r\n')
    assert rows(checked) == [('a,"b"\nc', 1.0, JAN[0]), (None, 2.0, JAN[1])]


def test_csv_bad_rows_are_rejected_with_their_lines(tmp_path: Path) -> None:
    text = 'sym,price,at\na,1,2024-01-01\nb,much,2024-01-02\n"c\nc",1\nd,1,never\n\ne,1,\nf,1,2024-01-04\n'
    checked = read(tmp_path / "t.csv", text)
    assert [row[0] for row in rows(checked)] == ["a", "f"]
    assert rejected(checked) == [
        ("t.csv:3", "attribute 'price' needs DOUBLE, found \"much\"", "b,much,2024-01-02"),
        ("t.csv:4", "the line has 2 fields, the header has 3", '"c\nc",1'),
        (
            "t.csv:6",
            "attribute 'at' needs TIMESTAMP, found \"never\" (it is not an ISO 8601 timestamp)",
            "d,1,never",
        ),
        ("t.csv:8", "the event time 'at' is missing", "e,1,"),
    ]


def test_csv_cells_hold_nested_values_as_json(tmp_path: Path) -> None:
    attributes = (
        Attribute("tags", ArrayOf(STRING)),
        Attribute("where", StructOf((("room", STRING), ("floor", INT)))),
        Attribute("counts", MapOf(STRING, INT)),
        Attribute("ok", BOOLEAN),
    )
    text = 'tags;where;counts;ok\n["a"];{"room": "r"};{"x": 1};true\n;;;\n'
    quoted = "\n".join(",".join('"' + c.replace('"', '""') + '"' for c in line.split(";")) for line in text.split("\n"))
    checked = read(tmp_path / "t.csv", quoted, attributes, None)
    assert rows(checked)[0] == (["a"], {"room": "r", "floor": None}, [("x", 1)], True)
    assert rows(checked)[1] == (None, None, None, None)


def test_csv_unknown_columns_are_counted_where_they_are_filled(tmp_path: Path) -> None:
    checked = read(tmp_path / "t.csv", "sym,at,colour\na,2024-01-01,red\nb,2024-01-02,\n")
    assert checked.ignored == {"colour": 1}


@pytest.mark.parametrize("name", ["t.csv", "t.json", "t.jsonl", "t.ndjson", "t.parquet"])
def test_an_empty_file_has_no_rows(tmp_path: Path, name: str) -> None:
    checked = read(tmp_path / name, "")
    assert (checked.table.num_rows, len(checked.rejected)) == (0, 0)
    assert checked.table.schema.names == ["sym", "price", "at"]


@pytest.mark.parametrize(
    ("name", "text"), [("t.csv", "sym,price,at\n"), ("t.csv", "\n\n"), ("t.json", "[]"), ("t.json", " \n")]
)
def test_a_file_without_rows_has_no_rows(tmp_path: Path, name: str, text: str) -> None:
    checked = read(tmp_path / name, text)
    assert (checked.table.num_rows, len(checked.rejected)) == (0, 0)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_a_line_that_is_not_utf8_is_rejected_alone(tmp_path: Path, name: str) -> None:
    if name == "t.csv":
        text = b"sym,price,at\n\xff\xfe,1,2024-01-01\n\xc3\xa9,1,2024-01-02\n"
    else:
        text = b'{"sym": "\xff\xfe", "at": "2024-01-01"}\n{"sym": "\xc3\xa9", "price": 1, "at": "2024-01-02"}\n'
    checked = read(tmp_path / name, text)
    assert rows(checked) == [("é", 1.0, JAN[1])]
    assert checked.rejected.reasons == ["the line is not UTF-8"]
    assert "\ufffd\ufffd" in checked.rejected.raws[0]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    assert rows(read(tmp_path / "t.csv", b"\xef\xbb\xbfsym,at\na,2024-01-01\n"))[0][0] == "a"


def test_a_header_that_names_a_column_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PresageError, match="'sym' comes twice"):
        read(tmp_path / "t.csv", "sym,sym\na,b\n")


@pytest.mark.parametrize(("mark", "shown"), [(";", "semicolons"), ("\t", "tabs")])
@pytest.mark.parametrize("quote", ["", '"'])
def test_columns_that_are_parted_by_another_mark_are_told(mark: str, shown: str, quote: str, tmp_path: Path) -> None:
    text = mark.join(f"{quote}{name}{quote}" for name in ("sym", "price", "at")) + "\n"
    with pytest.raises(PresageError, match=f"its columns are parted by {shown}, not by commas") as caught:
        read(tmp_path / "t.csv", text + mark.join(("a", "1,5", "2024-01-01")) + "\n")
    assert "commas between the columns" in caught.value.fix


def test_a_single_column_may_have_such_a_mark_in_its_name(tmp_path: Path) -> None:
    checked = read(tmp_path / "t.csv", '"a;b"\n"x"\n', (Attribute("a;b", STRING),), None)
    assert rows(checked) == [("x",)]


def test_json_lines_and_an_array_are_the_same_rows(tmp_path: Path) -> None:
    objects = ['{"sym": "a", "price": 1, "at": "2024-01-01"}', '{"at": "2024-01-02T00:00:00+00:00", "sym": "b"}']
    lines = read(tmp_path / "t.jsonl", "\n".join(objects))
    array = read(tmp_path / "t.json", "[" + ",\n ".join(objects) + "]\n")
    assert rows(lines) == rows(array) == [("a", 1.0, JAN[0]), ("b", None, JAN[1])]


def test_json_bad_lines_are_rejected_with_their_lines(tmp_path: Path) -> None:
    good = '{"sym": "a", "price": 1, "at": "2024-01-01"}'
    text = "\n".join([good, '{"sym": "b"', "[1]", '{"sym": 7, "at": "2024-01-01"}', "", good + " " + good, good])
    checked = read(tmp_path / "t.jsonl", text)
    assert checked.table.num_rows == 2
    assert [(origin, reason[:22]) for origin, reason, _ in rejected(checked)] == [
        ("t.jsonl:2", "the line is not JSON: "),
        ("t.jsonl:3", "a row must be a mappin"),
        ("t.jsonl:4", "attribute 'sym' needs "),
        ("t.jsonl:6", "the line is not JSON: "),
    ]
    assert checked.rejected.raws[0] == '{"sym": "b"'


def test_an_array_that_breaks_off_keeps_what_came_before(tmp_path: Path) -> None:
    good = '{"sym": "a", "at": "2024-01-01"}'
    for tail in (", {", " 5", ",]", "", "] x"):
        checked = read(tmp_path / "t.json", f"[{good},\n{good}{tail}")
        assert checked.table.num_rows == 2
        assert [origin for origin, _, _ in rejected(checked)] == ["t.json:2"]


def test_deep_nesting_is_a_bad_line_and_no_crash(tmp_path: Path) -> None:
    checked = read(tmp_path / "t.jsonl", '{"sym": ' + "[" * 100_000 + "\n" + '{"sym": "a", "at": "2024-01-01"}')
    assert checked.table.num_rows == 1
    assert len(checked.rejected) == 1


def test_parquet_is_read_with_its_row_numbers(tmp_path: Path) -> None:
    table = pa.table({"sym": ["a", "b"], "at": pa.array([0, None], pa.timestamp("ms")), "z": [1, None]})
    pq.write_table(table, tmp_path / "t.parquet")
    checked = read_files(tmp_path / "t.parquet", TICK, "at")
    assert rows(checked) == [("a", None, datetime(1970, 1, 1, tzinfo=UTC))]
    assert rejected(checked)[0][:2] == ("t.parquet:2", "the event time 'at' is missing")
    assert checked.ignored == {"z": 1}


def test_a_folder_is_its_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("sym,at\nb,2024-01-01\n")
    (tmp_path / "a.jsonl").write_text('{"sym": "a", "at": "2024-01-02"}\n')
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden.csv").write_text("sym,at\nx,2024-01-01\n")
    assert [row[0] for row in rows(read_files(tmp_path, TICK, "at"))] == ["a", "b"]


@pytest.mark.parametrize(("name", "content"), [("t.xml", "<a/>"), ("t.parquet", "not parquet")])
def test_a_file_of_no_known_format_is_refused(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(PresageError) as refused:
        read(tmp_path / name, content)
    assert refused.value.code == "FILE_UNREADABLE"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PresageError) as refused:
        read_files(tmp_path / "no.csv", TICK)
    assert refused.value.code == "FILE_NOT_FOUND"


def test_a_path_stays_under_the_roots(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "a.csv").write_text("")
    (outside / "b.csv").write_text("")
    os.symlink(outside / "b.csv", inside / "link.csv")
    assert Roots.of([inside]).resolve("a.csv", inside) == (inside / "a.csv").resolve()
    assert Roots.of([inside]).resolve(str(inside / "a.csv"), outside) == (inside / "a.csv").resolve()
    for path in ("../out/b.csv", "link.csv", str(outside / "b.csv"), "/etc/hostname", "../inside"):
        with pytest.raises(PresageError) as refused:
            Roots.of([inside]).resolve(path, inside)
        assert refused.value.code == "PATH_OUTSIDE_ROOTS"
    with pytest.raises(PresageError) as missing:
        Roots.of([inside]).resolve("no.csv", inside)
    assert missing.value.code == "FILE_NOT_FOUND"


@pytest.mark.parametrize(
    ("path", "code"), [("", "BAD_VALUE"), ("a\0b", "FILE_UNREADABLE"), ("x" * 5_000, "FILE_UNREADABLE")]
)
def test_a_path_that_can_be_none_is_the_users_mistake(path: str, code: str, tmp_path: Path) -> None:
    with pytest.raises(PresageError) as refused:
        Roots.of([tmp_path]).resolve(path, tmp_path, must_exist=False)
    assert refused.value.code == code


def test_a_root_may_be_reached_through_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "a.csv").write_text("")
    os.symlink(real, tmp_path / "link")
    assert Roots.of([tmp_path / "link"]).resolve("a.csv", tmp_path / "link") == (real / "a.csv").resolve()


def test_a_file_that_is_not_here_is_looked_for_in_the_other_allowed_folders(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (there / "a.csv").write_text("x\n")
    assert Roots.of([here, there]).resolve("a.csv", here) == (there / "a.csv").resolve()
    (here / "a.csv").write_text("x\n")
    assert Roots.of([here, there]).resolve("a.csv", here) == (here / "a.csv").resolve()
    (tmp_path / "b.csv").write_text("x\n")
    with pytest.raises(PresageError) as refused:
        Roots.of([here, there]).resolve("../b.csv", here)
    assert refused.value.code == "PATH_OUTSIDE_ROOTS"
