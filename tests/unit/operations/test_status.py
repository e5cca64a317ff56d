"""How a home is, seen from outside: with an engine, after one that was killed, without any."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from presage.cli import main
from presage.operations import engine_report as reporting
from presage.operations.engine_report import FILE, Reporter, rates, read_report
from presage.operations.metrics import Metrics
from presage.operations.status import status_of
from recovery.living import Living
from unit.operations.homes import collector, fill, tick

DEAD = 2**22 + 1  # no process has such a number


@pytest.fixture
def home(tmp_path: Path) -> Path:
    fill(tmp_path / "home")
    return tmp_path / "home"


def reporter(living: Living, **given: Any) -> Reporter:
    """One whose thread waits: the tests call it."""
    return Reporter(collector(living), living.log.home.path, **given)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "FIRST", 3600.0)


def presage(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["presage", *map(str, arguments)])
    return main()


def test_without_an_engine_the_journal_tells(home: Path) -> None:
    seen = status_of(home)
    assert (seen.is_open, seen.engine, seen.problems()) == (False, "no engine has it open", [])
    assert seen.metrics.values["statements"]["means"]["rows_in"] == 12
    assert seen.disk["total"] >= sum(size for name, size in seen.disk.items() if name != "total") > 0


def test_an_engine_tells_of_itself_and_takes_its_report_along(home: Path, tmp_path: Path) -> None:
    with Living(home) as living:
        made = reporter(living, metrics_file=tmp_path / "presage.prom")
        made.report()
        living.load("Tick", [tick(300)])
        living.drain()
        made.report()
        seen = status_of(home)
        assert seen.is_open
        assert seen.engine == f"open in process {os.getpid()} on {seen.report.host}"  # type: ignore[union-attr]
        assert seen.metrics.values["statements"]["means"]["rows_in"] == 13
        assert seen.rates["statements"]["means"]["rows_in"] > 0
        assert "presage_stream_events_total" in (tmp_path / "presage.prom").read_text()
        made.stop()
        assert not (home / FILE).exists()
        assert [path.name for path in home.iterdir() if path.name.endswith(".tmp")] == []


def test_after_an_engine_was_killed_the_journal_tells_and_that_it_was(home: Path) -> None:
    with Living(home) as living:
        reporter(living).report()
    content = json.loads((home / FILE).read_text())
    (home / FILE).write_text(json.dumps({**content, "pid": DEAD}))
    seen = status_of(home)
    assert not seen.is_open
    assert seen.engine == f"no engine has it open; process {DEAD} on {content['host']} ended without closing it"
    assert "process" not in seen.metrics.values


def test_a_process_that_has_the_number_of_a_killed_engine_is_not_taken_for_it(home: Path) -> None:
    with Living(home) as living:
        reporter(living).report()
    content = json.loads((home / FILE).read_text())
    year = 365 * 86_400
    (home / FILE).write_text(json.dumps({**content, "since": content["since"] - year, "at": content["at"] - year}))
    seen = status_of(home)
    assert not seen.is_open
    assert seen.engine.endswith("ended without closing it")
    assert seen.problems() == []


def test_an_engine_that_is_not_heard_of_is_a_problem(home: Path) -> None:
    with Living(home) as living:
        reporter(living).report()
        content = json.loads((home / FILE).read_text())
        (home / FILE).write_text(json.dumps({**content, "at": content["at"] - 100}))
        seen = status_of(home)
        assert "last heard of 100 s ago" in seen.engine
        assert seen.problems() == ["the engine has not been heard of for more than 20 s"]
        # From another machine nothing is known of its process: an old report is that of one that is no more.
        (home / FILE).write_text(json.dumps({**content, "at": content["at"] - 100, "host": "elsewhere"}))
        assert read_report(home) is not None
        assert not read_report(home).is_alive  # type: ignore[union-attr]


def test_a_report_of_another_version_is_as_good_as_none(home: Path) -> None:
    (home / FILE).write_text('{"pid": 1}')
    assert status_of(home).engine == "no engine has it open"


def test_a_report_that_cannot_be_written_stops_nothing_and_is_told_once(
    home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Living(home) as living:
        made = reporter(living, metrics_file=tmp_path / "none" / "presage.prom")
        made.report()
        made.report()
        made.stop()
    assert caplog.text.count("could not be written") == 1


def test_rates_are_differences_and_never_negative() -> None:
    def at(time: float, rows: int) -> Metrics:
        figures = {"a": {"rows_in": rows, "rows_out": 0}}
        return Metrics({"at": time, "streams": {}, "sources": {}, "statements": figures})

    assert rates(at(10, 100), at(15, 600))["statements"]["a"]["rows_in"] == 100.0
    assert rates(at(10, 100), at(15, 0))["statements"]["a"]["rows_in"] == 0.0  # it was computed again
    assert rates(None, at(10, 1)) == {}


def test_status_prints_tables_and_ends_with_0_or_3(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert presage(monkeypatch, "status", home) == 0
    shown = capsys.readouterr().out
    assert "means" in shown
    assert "no engine has it open" in shown
    with Living(home) as living:
        living.deployments.job.change_programs({}, {"1": "error[INTERNAL]: a test"})
    assert presage(monkeypatch, "status", home, "--format", "json") == 3
    told = json.loads(capsys.readouterr().out)
    assert told["problems"] == ["statement 'means' has failed"]
    assert told["statements"]["means"]["error"] == "error[INTERNAL]: a test"


def test_metrics_prints_what_a_scrape_would_get(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert presage(monkeypatch, "metrics", home) == 0
    assert 'presage_stream_events_total{stream="Tick"} 12\n' in capsys.readouterr().out
    assert presage(monkeypatch, "metrics", home, "-f", "json") == 0
    assert json.loads(capsys.readouterr().out)["streams"]["Tick"]["late"] == 1


def test_what_is_no_home_ends_with_1_and_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (
        ("status", tmp_path / "x"),
        ("metrics", tmp_path / "x"),
        ("log", tmp_path / "x", "inspect"),
        ("log", tmp_path / "x", "verify"),
        ("log", tmp_path / "x", "compact"),
    ):
        assert presage(monkeypatch, *command) == 1
        assert "NOT_A_HOME" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
    (tmp_path / "file").touch()
    assert presage(monkeypatch, "status", tmp_path / "file") == 1
    assert "it is a file" in capsys.readouterr().err


def test_log_inspect_verify_and_export_through_the_command(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert presage(monkeypatch, "log", home, "inspect", "--format", "json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {t["stream"]: t["rows"] for t in told["tables"] if t["table"] == "events"}["Tick"] == 12
    assert [reader["statement"] for reader in told["readers"]] == ["means", "hot"]
    assert presage(monkeypatch, "log", home, "inspect") == 0
    assert "Statements that still read" in capsys.readouterr().out
    assert presage(monkeypatch, "log", home, "verify") == 0
    assert "all is well" in capsys.readouterr().out
    next((home / "streams/Tick/events").glob("*.parquet")).rename(tmp_path / "gone.parquet")
    assert presage(monkeypatch, "log", home, "verify", "-f", "json") == 3
    what = json.loads(capsys.readouterr().out)["findings"][0]["what"]
    assert what.startswith(
        "a file that its table names is missing; it holds 4 rows of events of 'Tick', 2024-03-01T09:0"
    )


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_log_export_writes_each_format_whole_and_over_nothing(
    ending: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.parquet as pq

    out = tmp_path / f"out.{ending}"
    span = ("--from", "2024-03-01T09:00:30Z", "--until", "2024-03-01T09:01:00Z")
    assert presage(monkeypatch, "log", home, "export", "Tick", "--to", out, *span) == 0
    assert "3 rows of Tick" in capsys.readouterr().err
    if ending == "parquet":
        assert [str(at)[11:19] for at in pq.read_table(out)["at"].to_pylist()] == ["09:00:30", "09:00:40", "09:00:50"]
    else:
        lines = out.read_text().splitlines()
        assert len(lines) == 3 + (ending == "csv")
        assert "2024-03-01T09:00:50Z" in lines[-1]
    assert presage(monkeypatch, "log", home, "export", "Tick", "--to", out) == 1
    assert "FILE_EXISTS" in capsys.readouterr().err
    assert presage(monkeypatch, "log", home, "export", "Tick", "--to", tmp_path / "out.xls") == 1
    assert "BAD_VALUE" in capsys.readouterr().err
    assert (
        presage(
            monkeypatch,
            "log",
            home,
            "export",
            "Tick",
            "--to",
            tmp_path / "back.json",
            *span[2:],
            "--from",
            "2025-01-01",
        )
        == 1
    )
    assert "--until" in capsys.readouterr().err
    for folder in (tmp_path / "none", out):
        assert presage(monkeypatch, "log", home, "export", "Tick", "--to", folder / f"a.{ending}") == 1
        assert f"the file '{folder / 'a'}.{ending}' cannot be written" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_log_compact_is_refused_while_another_has_the_home_and_names_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Living(home):
        assert presage(monkeypatch, "log", home, "compact") == 1
        assert f"process {os.getpid()}" in capsys.readouterr().err
    with Living(home) as living:
        for second in range(200, 260, 4):
            living.load("Tick", [tick(second)])
    assert presage(monkeypatch, "log", home, "compact", "--grace", "0") == 0
    assert "files compacted" in capsys.readouterr().out
    assert len(list((home / "streams/Tick/events").glob("*.parquet"))) < 10
    assert presage(monkeypatch, "log", home, "verify") == 0
