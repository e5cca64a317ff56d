"""Whoever waits for Spark is told so: after a while, once, on stderr alone, and only where somebody looks."""

from __future__ import annotations

import io
import logging
import sys
import threading
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from presage.execution.spark import session as waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    made = Terminal()
    # Not `sys.stderr` itself: pytest puts its own there when the test begins.
    monkeypatch.setattr(waiting, "sys", SimpleNamespace(stderr=made, modules=sys.modules))
    monkeypatch.setattr(waiting, "QUIET_SECONDS", 0.05)
    monkeypatch.setattr(waiting, "in_notebook", lambda: False)
    return made


def started_in(seconds: float, outcome: object = "session") -> Future[object]:
    """A start that takes a while."""
    made: Future[object] = Future()

    def end() -> None:
        if isinstance(outcome, Exception):
            made.set_exception(outcome)
        else:
            made.set_result(outcome)

    threading.Timer(seconds, end).start()
    return made


def test_a_terminal_is_told_once_and_stdout_is_not(
    terminal: Terminal, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "presage")
    assert waiting.wait_for(started_in(0.3)) == "session"
    assert terminal.getvalue() == f"presage: {waiting.NOTICE} …\n"
    assert "starting Spark" in terminal.getvalue()
    assert capsys.readouterr().out == ""
    assert [record.code for record in caplog.records] == ["SPARK_STARTING"]  # type: ignore[attr-defined]


def test_a_start_that_is_quick_or_done_is_not_told(terminal: Terminal) -> None:
    done: Future[str] = Future()
    done.set_result("session")
    assert waiting.wait_for(done) == "session"
    assert terminal.getvalue() == ""


def test_a_thread_of_ours_and_a_pipe_are_not_told_and_a_notebook_is(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = threading.Thread(target=lambda: waiting.wait_for(started_in(0.2)))
    thread.start()
    thread.join()
    assert terminal.getvalue() == ""
    pipe = io.StringIO()
    monkeypatch.setattr(waiting, "sys", SimpleNamespace(stderr=pipe, modules=sys.modules))
    waiting.wait_for(started_in(0.2))
    assert pipe.getvalue() == ""
    monkeypatch.setattr(waiting, "in_notebook", lambda: True)
    waiting.wait_for(started_in(0.2))
    assert "starting Spark" in pipe.getvalue()


@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_what_keeps_it_from_starting_is_raised_also_if_that_is_a_timeout(terminal: Terminal, seconds: float) -> None:
    for failure in (RuntimeError("no Java"), TimeoutError("no answer")):
        with pytest.raises(type(failure), match=str(failure)):
            waiting.wait_for(started_in(seconds, failure))


def test_a_notebook_is_known_by_its_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    for shell, known in ((None, False), (object(), True)):
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert waiting.in_notebook() is known
