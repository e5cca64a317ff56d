"""Queries over streams that a source fills: what is printed, when, and when it ends. The engine is told what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from presage.cli import live_output
from presage.cli.options import Format
from presage.cli.output import Printer
from presage.cli.script import Outcome
from presage.errors import PresageError, error
from presage.lang import syntax as s
from presage.model.types import LONG
from presage.plan.nodes import Field
from presage.sources import SourceStatus

RUNNING = SourceStatus("Tick", "files", "running", "", "", 0, 0, left=0)
QUERY = Outcome(s.Show("streams"), "SELECT x FROM Tick", None, 1, 1)


@dataclass
class Deployed:
    """A statement whose rows are made by hand; what is made while it drains comes before `drain` returns."""

    columns = (Field("x", LONG),)
    warnings = ()
    tell: Callable[[dict[str, Any]], object] = print
    coming: list[int] = field(default_factory=list)
    last_error: str | None = None

    def subscribe(self, callback: Callable[[dict[str, Any]], object], after: int = 0) -> Any:
        assert after == 0, "rows from before the subscription are rows of the query, too"
        self.tell = callback
        return SimpleNamespace(error=None)

    @property
    def status(self) -> Any:
        return SimpleNamespace(last_error=self.last_error)

    def make(self, *values: int) -> None:
        for x in values:
            self.tell({"x": x})

    def drain(self) -> None:
        if self.last_error is not None:
            raise error("STATEMENT_FAILED", name="one", why=self.last_error)
        self.make(*self.coming)


class FakeEngine:
    """An engine with one source; `steps` happen one by one, each when the follower would sleep."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, status: SourceStatus = RUNNING) -> None:
        self.sources = {"Tick": status}
        self.deployed: dict[str, Deployed] = {}
        self.steps: Iterator[Callable[[], object]] = iter(())
        self.now = 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now, sleep=self._sleep)
        monkeypatch.setattr(live_output, "time", clock)

    def deploy(self, text: str, name: str) -> Deployed:
        self.deployed[name] = Deployed()
        return self.deployed[name]

    def start_sources(self) -> None:
        """They are told what to do."""

    def say(self, **changed: Any) -> None:
        self.sources["Tick"] = replace(self.sources["Tick"], **changed)

    def follow(
        self, *steps: Callable[[], object], seconds: float | None = None, outcomes: tuple[Outcome, ...] = (QUERY,)
    ) -> None:
        self.steps = iter(steps)
        live_output.follow(self, list(outcomes), Printer(Format.csv, 0), seconds)  # type: ignore[arg-type]

    @property
    def statement(self) -> Deployed:
        (only,) = self.deployed.values()
        return only

    def _sleep(self, seconds: float) -> None:
        self.now += seconds
        next(self.steps, lambda: None)()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    return FakeEngine(monkeypatch)


def test_rows_are_printed_as_they_come_under_one_header(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []
    look = lambda: seen.append(capsys.readouterr().out)  # noqa: E731
    make = lambda *values: lambda: engine.statement.make(*values)  # noqa: E731
    engine.follow(make(1, 2), look, make(3), look, lambda: engine.say(state="finished"))
    assert seen == ["x\n1\n2\n", "3\n"]


def test_what_arrived_last_is_waited_for_when_the_sources_have_ended(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    def end() -> None:
        engine.statement.coming = [7]
        engine.say(state="finished")

    engine.follow(end)
    assert capsys.readouterr().out == "x\n7\n"


def test_files_that_are_found_and_not_read_when_the_time_is_over_are_waited_for(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.say(left=None)  # it has not looked yet

    def read() -> None:
        engine.statement.coming = [1]
        engine.say(left=0)

    engine.follow(lambda: engine.say(left=2), lambda: None, read, seconds=0)
    assert capsys.readouterr().out == "x\n1\n"


def test_they_are_not_waited_for_without_end_and_it_is_said(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.say(left=2)
    engine.follow(seconds=1)
    assert 1 + live_output.PATIENCE_SECONDS <= engine.now < 2 + live_output.PATIENCE_SECONDS
    assert capsys.readouterr().err == "Tick, source files: 2 found and not taken in when the time was over\n"


def test_an_interrupt_is_an_end_and_what_is_known_is_printed(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt() -> None:
        engine.statement.make(4)
        raise KeyboardInterrupt

    engine.follow(interrupt)
    assert capsys.readouterr().out == "x\n4\n"


def test_a_statement_that_fails_ends_it_after_its_last_row(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        engine.statement.make(5)
        engine.statement.last_error = "division by zero"

    with pytest.raises(PresageError, match="division by zero"):
        engine.follow(fail)
    assert capsys.readouterr().out == "x\n5\n"


def test_a_source_that_fails_is_an_error_and_one_that_waits_says_once_for_what(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    wait = lambda: engine.say(state="waiting", why="the folder is not there")  # noqa: E731
    with pytest.raises(PresageError) as failed:
        engine.follow(wait, wait, lambda: engine.say(state="failed", why="it is not built"))
    assert failed.value.code == "SOURCE_FAILED"
    assert capsys.readouterr().err == "Tick, source files: waiting: the folder is not there\n"


def test_queries_that_begin_alike_are_two_statements(engine: FakeEngine) -> None:
    texts = [f"SELECT {'x + ' * 100}{i} AS x FROM Tick" for i in range(2)]
    engine.follow(outcomes=tuple(QUERY._replace(text=text) for text in texts), seconds=0)
    assert len(engine.deployed) == 2
