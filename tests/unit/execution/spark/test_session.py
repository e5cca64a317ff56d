"""Sessions that engines share: who stops them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from presage.errors import PresageError
from presage.execution.spark.session import leave_session, own_session, use_session


def session(name: str) -> Any:
    made = SimpleNamespace(conf={"spark.app.id": name}, stopped=False)
    made.stop = lambda: setattr(made, "stopped", True)
    return cast(Any, made)


def test_the_last_engine_stops_a_session_that_an_engine_has_started() -> None:
    shared = session("shared")
    first, second = use_session(shared, ours=True), use_session(shared)
    assert first == second == "shared"
    leave_session(shared, first)
    assert not shared.stopped
    leave_session(shared, second)
    assert shared.stopped


def test_an_engine_that_would_start_a_session_of_its_own_beside_a_server_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://head:15002")
    with pytest.raises(PresageError, match="while SPARK_REMOTE is set") as caught:
        own_session()
    assert "Engine(spark=" in caught.value.fix


def test_a_session_of_somebody_else_is_nobodys_to_stop() -> None:
    assert use_session(session("theirs")) is None


@pytest.mark.parametrize(
    ("notebook", "settings", "launched"),
    [
        (True, {}, [True]),
        (True, {"spark.sql.ansi.enabled": "true"}, [True]),
        (True, {"spark.jars.packages": "a:b:1"}, []),  # only PySpark's own way takes it along
        (False, {}, []),
    ],
)
def test_in_a_notebook_the_jvm_starts_without_filling_the_cell(
    monkeypatch: pytest.MonkeyPatch, notebook: bool, settings: dict[str, str], launched: list[bool]
) -> None:
    class Begun(BaseException):
        pass

    found: list[bool] = []

    def launch(quiet: bool) -> None:
        found.append(quiet)

    def prepare() -> None:
        raise Begun

    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    monkeypatch.setattr("presage.execution.spark.session.in_notebook", lambda: notebook)
    monkeypatch.setattr("presage.execution.spark.session.launched", lambda: None)
    monkeypatch.setattr("presage.execution.spark.session.launch_now_if_wanted", lambda: None)
    monkeypatch.setattr("presage.execution.spark.session.launch", launch)
    monkeypatch.setattr("presage.execution.spark.session.prepare_environment", prepare)
    with pytest.raises(Begun):
        own_session(settings)
    assert found == launched
