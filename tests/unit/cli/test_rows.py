"""Rows as text: tables that fit the terminal, values in JSON and CSV."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pytest
from rich.console import Console

from presage.cli.formats import write_csv, write_json
from presage.cli.tables import write_table
from presage.cli.values import table_text
from presage.model.json_values import plain_column

TIMES = pa.array([0, 1_709_283_600_123_456, None], pa.timestamp("us", "UTC"))


def table_lines(table: pa.Table, width: int, most: int = 200, colours: bool = False) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False, force_terminal=colours)
    write_table(table, console, most)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.splitlines()]


def test_numbers_stand_right_and_texts_left() -> None:
    lines = table_lines(pa.table({"n": [1, 1000], "s": ["a", "bbb"]}), 40)
    assert lines == ["   n   s", "──────────", "   1   a", "1000   bbb", "2 rows"]


def test_times_are_iso_in_utc_and_nulls_are_said() -> None:
    assert plain_column(pa.chunked_array([TIMES])) == ["1970-01-01T00:00:00Z", "2024-03-01T09:00:00.123456Z", None]
    assert "null" in table_lines(pa.table({"at": TIMES}), 40)[4]


def test_a_null_is_dim_on_a_terminal_and_a_text_of_that_name_is_not() -> None:
    lines = table_lines(pa.table({"s": pa.array([None, "null"])}), 40, colours=True)
    assert "\x1b[2mnull" in lines[2]
    assert "\x1b[2m" not in lines[3]


def test_a_time_out_of_pythons_years_is_shown_all_the_same() -> None:
    (text,) = plain_column(pa.chunked_array([pa.array([2**62], pa.timestamp("us", "UTC"))]))
    assert str(2**62) in text


def test_only_texts_are_shortened_to_fit() -> None:
    table = pa.table({"long": ["word " * 50], "n": [1234567890123], "at": TIMES.slice(1, 1)})
    line = table_lines(table, 80)[2]
    assert len(line) <= 80
    assert "…" in line
    assert "1234567890123" in line
    assert "2024-03-01T09:00:00.123456Z" in line


def test_a_window_too_narrow_for_the_table_gets_records() -> None:
    table = pa.table({f"column{i}": [i, i + 1] for i in range(10)})
    lines = table_lines(table, 50)
    assert lines[0] == "row 1"
    assert lines[1].split() == ["column0", "0"]
    assert lines[11] == "row 2"
    assert max(map(len, lines)) <= 50


def test_characters_of_double_width_keep_the_columns_straight() -> None:
    lines = table_lines(pa.table({"s": ["日本", "ab"], "n": [1, 2]}), 40)
    assert lines[2] == "日本   1"
    assert lines[3] == "ab     2"


def test_a_text_cannot_break_a_line_or_steer_the_terminal() -> None:
    lines = table_lines(pa.table({"s": ["a\nb\x1b[31m [bold]x[/bold]"]}), 60)
    assert lines[2] == "a\\nb\\x1b[31m [bold]x[/bold]"


def test_a_very_long_text_is_cut_even_where_there_is_room() -> None:
    assert len(table_lines(pa.table({"s": ["x" * 10_000]}), 100_000)[2]) == 200


def test_a_long_table_is_cut() -> None:
    table = pa.table({"n": list(range(1000))})
    lines = table_lines(table, 40)
    assert lines[-1] == "200 of 1,000 rows"
    assert len(lines) == 203
    assert len(table_lines(table, 40, most=0)) == 1003


def test_an_empty_table_shows_its_columns() -> None:
    assert table_lines(pa.table({"n": pa.array([], pa.int64())}), 40) == ["n", "─", "no rows"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1 / 3, "0.333333"),
        (1e-9, "1e-09"),
        (1e300, "1e+300"),
        (-0.5, "-0.5"),
        (2.0, "2.0"),
        (0.0, "0.0"),
        (True, "true"),
        ({"a": [1 / 3, None]}, '{"a": [0.333333, null]}'),
    ],
)
def test_a_cell_is_short_and_says_what_it_is(value: object, text: str) -> None:
    assert table_text(value) == text


def nested() -> pa.Table:
    return pa.table(
        {
            "m": pa.array([[("k", float("nan"))], None], pa.map_(pa.string(), pa.float64())),
            "n": pa.array([[(1, TIMES[0].as_py())], []], pa.map_(pa.int64(), pa.timestamp("us", "UTC"))),
            "x": [float("inf"), float("-inf")],
        }
    )


def test_json_holds_what_json_does_not_know_as_texts(capsys: pytest.CaptureFixture[str]) -> None:
    write_json(nested())
    rows = [json.loads(line, parse_constant=pytest.fail) for line in capsys.readouterr().out.splitlines()]
    assert rows == [
        {"m": {"k": "NaN"}, "n": {"1": "1970-01-01T00:00:00Z"}, "x": "Infinity"},
        {"m": None, "n": {}, "x": "-Infinity"},
    ]


def test_csv_quotes_what_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(pa.table({"a,b": ["x\ny", '"', "", None, " z"], "t": [True, False, None, True, True]}))
    lines = ['"a,b",t', '"x\ny",true', '"""",false', '"",', ",true", '" z",true']
    assert capsys.readouterr().out == "\n".join(lines) + "\n"
