"""`presage run`, `query` and `explain` through Spark: rows in every format, events from files, reports and errors."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner, Result

from presage.cli.app import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")

TICK = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;\n"
MEAN = "SELECT sym, avg(price) AS mean FROM Tick#time(1 min) GROUP BY sym;\n"
ROWS = [("a", 1.0, 0), ("b", 5.0, 10), ("a", 3.0, 20), ("b", 7.0, 65)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    ticks = [{"sym": s, "price": p, "at": f"2024-03-01T09:0{t // 60}:{t % 60:02d}Z"} for s, p, t in ROWS]
    (tmp_path / "ticks.jsonl").write_text("".join(json.dumps(tick) + "\n" for tick in ticks))
    (tmp_path / "mean.epl").write_text(TICK + MEAN)
    return tmp_path


def presage(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=text)


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_query_prints_a_table_of_the_rows() -> None:
    done = presage("query", "mean.epl", "--events", "Tick=ticks.jsonl")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    lines = words(done.stdout)
    assert lines[0] == ["sym", "mean", "at"]
    assert lines[2:] == [
        ["a", "1.0", "2024-03-01T09:00:00Z"],
        ["b", "5.0", "2024-03-01T09:00:10Z"],
        ["a", "2.0", "2024-03-01T09:00:20Z"],
        ["b", "6.0", "2024-03-01T09:01:05Z"],
        ["4", "rows"],
    ]


def test_a_run_is_started_again_on_its_home(folder: Path) -> None:
    (folder / "ticks.csv").write_text("sym,price,at\na,1,2024-03-01\nb,NA,2024-03-02\nc,much,2024-03-03\n")
    declared = TICK.replace(";", " WITH (nulls = 'NA');")
    statement = "CREATE STATEMENT dear AS SELECT sym FROM Tick(price > 10);\n"
    (folder / "again.epl").write_text(f"{declared}{statement}SELECT sym, price FROM Tick;")
    for time in ("first", "second"):
        done = presage("run", "again.epl", "--home", "home", "--events", "Tick=ticks.csv")
        assert done.exit_code == 0, done.output
        assert words(done.stdout)[-4:] == [
            ["a", "1.0", "2024-03-01T00:00:00Z"],
            ["b", "null", "2024-03-02T00:00:00Z"],
            ["2", "rows"],
            ["Tick:", "1", "rejected", "when", "they", "were", "loaded,", "so", "not", "in", "these", "rows"],
        ]
        assert ("were loaded before and are skipped" in done.stderr) is (time == "second")


def test_json_is_one_object_per_line_with_all_digits_and_nested_values() -> None:
    statements = (
        TICK
        + "SELECT sym, price / 3 AS third, named_struct('sym', sym, 'at', at) AS s, NULL AS n FROM Tick(price = 1);"
    )
    done = presage("query", "-", "-e", "Tick=ticks.jsonl", "-f", "json", text=statements)
    assert done.exit_code == 0, done.output
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {
            "sym": "a",
            "third": 1 / 3,
            "s": {"sym": "a", "at": "2024-03-01T09:00:00Z"},
            "n": None,
            "at": "2024-03-01T09:00:00Z",
        }
    ]


def test_csv_has_a_header_and_tells_null_from_an_empty_text() -> None:
    statements = (
        TICK + "SELECT '' AS nothing, CAST(NULL AS STRING) AS unknown, 'a,\"b' AS odd FROM Tick WHERE price = 1;"
    )
    done = presage("query", "-", "-e", "Tick=ticks.jsonl", "-f", "csv", text=statements)
    assert done.exit_code == 0, done.output
    assert done.stdout == 'nothing,unknown,odd,at\n"",,"a,""b",2024-03-01T09:00:00Z\n'


def test_two_queries_have_a_heading_each_in_a_table() -> None:
    statements = TICK + MEAN + "SELECT count(*) AS n FROM Tick#keepall;"
    done = presage("query", "-", "-e", "Tick=ticks.jsonl", text=statements)
    headings = [line for line in done.stdout.splitlines() if line.startswith("── ")]
    assert len(headings) == 2
    assert "1 of 2" in headings[0]
    assert "avg(price)" in headings[0]
    assert "SELECT count(*) AS n FROM Tick#keepall" in headings[1]


def test_two_queries_in_csv_are_parted_by_an_empty_line() -> None:
    done = presage("query", "-", "-e", "Tick=ticks.jsonl", "-f", "csv", text=TICK + MEAN + "SELECT price FROM Tick;")
    first, second = done.stdout.split("\n\n")
    assert [len(list(csv.reader(io.StringIO(part)))) for part in (first, second)] == [5, 5]


def test_a_long_table_is_cut_and_says_so() -> None:
    done = presage("query", "mean.epl", "-e", "Tick=ticks.jsonl", "--rows", "2")
    assert "2 of 4 rows; --rows N shows more, 0 shows all" in done.stdout
    assert "09:01:05" not in done.stdout
    assert "09:01:05" in presage("query", "mean.epl", "-e", "Tick=ticks.jsonl", "--rows", "0").stdout


def test_a_query_without_rows_says_so() -> None:
    done = presage("query", "mean.epl")
    assert done.exit_code == 0
    assert words(done.stdout)[0] == ["sym", "mean", "at"]
    assert words(done.stdout)[-1] == ["no", "rows"]


def test_rows_that_were_not_accepted_are_reported_on_stderr(folder: Path) -> None:
    bad = ['{"sym": "a", "price": "dear", "at": "2024-03-01T09:00:00Z"}', "no json", '{"sym": "a", "price": 1.0}']
    good = '{"sym": "a", "price": 1.0, "at": "2024-03-01T09:00:00Z", "extra": 1}'
    (folder / "some.jsonl").write_text("\n".join([*bad, "[1]", good]) + "\n")
    done = presage("query", "mean.epl", "-e", "Tick=some.jsonl", "-f", "json")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 1
    report = done.stderr.splitlines()
    assert report[0] == "Tick: 1 accepted, 0 late, 4 rejected (some.jsonl)"
    assert [line.split(":")[:2] for line in report[1:4]] == [["  some.jsonl", str(n)] for n in (1, 2, 3)]
    assert report[4] == "  … and 1 more"
    assert report[5] == "  ignored attributes: extra (1)"


def test_late_events_are_reported(folder: Path) -> None:
    (folder / "early.csv").write_text("sym,price,at\na,1,2024-03-01T08:00:00Z\n")
    done = presage("query", "mean.epl", "-e", "Tick=ticks.jsonl", "-e", "Tick=early.csv")
    assert done.stderr.splitlines() == ["Tick: 0 accepted, 1 late, 0 rejected (early.csv)"]


def test_run_confirms_declarations_and_prints_rows() -> None:
    more = "CREATE RELATION Name (sym STRING) VALUES ('a');\nINSERT INTO Dear SELECT sym FROM Tick WHERE price > 2;\n"
    done = presage(
        "run", "-", "-e", "Tick=ticks.jsonl", text=TICK + more + "SELECT sym FROM Dear;\nDROP RELATION Name;"
    )
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stdout.splitlines() if line]
    assert lines[:3] == [
        "stream Tick declared, 3 attributes",
        "relation Name declared",
        "stream Dear derived by 1 statement",
    ]
    assert "3 rows" in lines
    assert lines[-1] == "relation Name dropped"


def test_a_home_keeps_streams_and_events_for_the_next_command(folder: Path) -> None:
    (folder / "tick.epl").write_text(TICK)
    assert presage("run", "tick.epl", "-e", "Tick=ticks.jsonl", "--home", "kept").exit_code == 0
    done = presage("query", "-", "--home", "kept", "-f", "csv", text="SELECT sym FROM Tick WHERE price > 4;")
    assert [row.split(",")[0] for row in done.stdout.splitlines()] == ["sym", "b", "b"]
    assert presage("explain", "-", "--home", "kept", text=MEAN).exit_code == 0


def test_events_may_lie_outside_the_working_folder(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    done = presage("query", str(folder / "mean.epl"), "-e", f"Tick={folder / 'ticks.jsonl'}", "-f", "json")
    assert len(done.stdout.splitlines()) == 4


def test_a_last_insert_into_shows_what_it_derives() -> None:
    done = presage(
        "query", "-", "-e", "Tick=ticks.jsonl", "-f", "csv", text=TICK + "INSERT INTO A SELECT sym FROM Tick;"
    )
    assert len(done.stdout.splitlines()) == 5


def test_show_and_explain_statements_print_what_they_find() -> None:
    done = presage("query", "-", text=TICK + "SHOW STREAMS; EXPLAIN " + MEAN)
    assert done.exit_code == 0, done.output
    assert "Tick" in done.stdout
    assert "#time" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["mean.epl", "-e", "Tock=ticks.jsonl"], "UNKNOWN_STREAM"),
        (["mean.epl", "-e", "Tick=gone.jsonl"], "FILE_NOT_FOUND"),
        (["mean.epl", "-e", "Tick=mean.epl"], "FILE_UNREADABLE"),
        (["gone.epl"], "FILE_NOT_FOUND"),
        (["only.epl"], "SYNTAX"),
        (["bad.epl"], "UNKNOWN_ATTRIBUTE"),
    ],
)
def test_a_mistake_is_an_error_with_its_code_and_no_traceback(arguments: list[str], code: str, folder: Path) -> None:
    (folder / "only.epl").write_text(TICK)
    (folder / "bad.epl").write_text(TICK + "SELECT prise FROM Tick;")
    done = presage("query", *arguments, "-f", "json")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert [json.loads(line)["code"] for line in done.stderr.splitlines()] == [code]


def test_nothing_is_carried_out_if_a_later_statement_is_wrong() -> None:
    done = presage("run", "-", "--home", "kept", text=TICK + "SELECT prise FROM Tick;")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert presage("run", "-", "--home", "kept", text=TICK).exit_code == 0


def test_an_unexpected_exception_is_one_line_and_a_traceback_only_on_demand(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("presage.engine.Engine.carry_out", break_down)
    done = presage("query", "mean.epl")
    assert done.exit_code == 1
    assert "error[INTERNAL]: internal error: ZeroDivisionError: oh" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in presage("query", "mean.epl", "--debug").stderr


def test_an_interrupt_ends_with_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("presage.engine.Engine.carry_out", interrupt)
    monkeypatch.setattr("presage.cli.failures.discard_output", lambda: None)
    assert presage("query", "mean.epl").exit_code == 130


def test_explain_shows_the_plan_of_every_query() -> None:
    done = presage("explain", "-", text=TICK + MEAN + "SELECT sym FROM Tick;")
    assert done.exit_code == 0, done.output
    assert [line[:11] for line in done.stdout.splitlines() if line.startswith("──")] == ["── 1 of 2 ─", "── 2 of 2 ─"]


def test_explain_of_declarations_alone_is_an_error() -> None:
    done = presage("explain", "-", text=TICK)
    assert done.exit_code == 1
    assert "error[SYNTAX]" in done.stderr


def test_run_follows_a_folder_and_a_file_that_has_just_come_is_not_missed(folder: Path) -> None:
    (folder / "incoming").mkdir()
    (folder / "incoming" / "1.jsonl").write_text((folder / "ticks.jsonl").read_text())
    tick = TICK.replace(";", " WITH (source = 'files', path = 'incoming');")
    for form in ("csv", "json"):
        done = presage("run", "-", "-f", form, "--for", "0", text=tick + "SELECT sym FROM Tick WHERE price > 4;")
        assert done.exit_code == 0, done.output
        assert done.stderr == "stream Tick declared, 3 attributes\n"
        if form == "csv":
            assert done.stdout == "sym,at\nb,2024-03-01T09:00:10Z\nb,2024-03-01T09:01:05Z\n"
        else:
            assert [json.loads(line)["sym"] for line in done.stdout.splitlines()] == ["b", "b"]


def test_run_ends_by_itself_when_all_sources_have_ended() -> None:
    tick = TICK.replace(";", " WITH (source = 'rate', rows_per_second = 1000, rows = 3);")
    done = presage("run", "-", "-f", "csv", text=tick + "SELECT sym FROM Tick;")
    assert done.exit_code == 0, done.output
    assert [line.partition(",")[0] for line in done.stdout.splitlines()] == ["sym", "sym-0", "sym-1", "sym-2"]
