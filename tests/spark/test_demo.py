"""Building and campus: the demonstrations run, and their files in examples/ give the rows that are written there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from presage.cli.app import app
from presage.demo.building import make_events, statements, write_files
from presage.demo.campus_events import GENERATORS

pytestmark = pytest.mark.usefixtures("spark")

ROOT = Path(__file__).parents[2]
BUILDING = ROOT / "examples" / "building"
STREAMS = {"building": list(make_events()), "campus": list(GENERATORS)}


def test_the_files_in_examples_are_those_of_the_demonstration(tmp_path: Path) -> None:
    for written in write_files(tmp_path):
        assert (BUILDING / written.name).read_text() == written.read_text(), f"presage demo --files {BUILDING}"


def test_the_declarations_alone_are_the_beginning_of_the_queries() -> None:
    assert statements("queries.epl").startswith(statements("building.epl"))


def test_events_are_a_few_hundred_within_twenty_minutes() -> None:
    events = [event for stream in make_events().values() for event in stream]
    assert 300 < len(events) < 600
    assert all("2024-03-01T09:00:00Z" <= event["at"] < "2024-03-01T09:20:00Z" for event in events)


@pytest.mark.parametrize("name", ["building", "campus"])
def test_the_example_gives_the_rows_that_are_written_down(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ROOT / "examples" / name
    monkeypatch.chdir(folder)
    events = [f"--events={stream}={stream.lower()}.jsonl" for stream in STREAMS[name]]
    done = CliRunner().invoke(app, ["query", "queries.epl", *events, "--format", "csv"])
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    assert done.stdout == (folder / "expected.csv").read_text()


@pytest.mark.parametrize(("name", "queries", "shown"), [("building", 5, "R4"), ("knowledge", 13, "RTH106-RF1")])
def test_the_demonstration_shows_queries_and_commands_that_work(
    name: str, queries: int, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["demo", name, "--files", "here"])
    assert done.exit_code == 0, done.output
    assert [f"── {n} of {queries}" in done.stdout for n in range(1, queries + 1)] == [True] * queries
    assert shown in done.stdout
    commands = [line for line in done.stdout.splitlines() if line.startswith("presage ")]
    assert len(commands) >= 5
    monkeypatch.chdir("here")
    for command in commands:
        tried = CliRunner().invoke(app, shlex.split(command)[1:])
        assert tried.exit_code == 0, (command, tried.output)


def test_the_living_campus_ends_by_itself_with_a_summary_of_every_kind(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "campus", "--sensors", "600", "--for", "8"])
    assert done.exit_code == 0, done.output
    summary = done.stdout.partition("What was found")[2]
    kinds = ("window", "pattern", "MATCH_RECOGNIZE", "knowledge", "probability", "prediction", "recall", "similar")
    for kind in (*kinds, "past to future"):
        assert f"\n{kind} " in summary
    assert "failed" not in summary
    assert "14,400 events of the day before" in summary
