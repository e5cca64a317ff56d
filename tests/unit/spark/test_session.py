"""Sessions that engines share: who stops them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from presage.spark.session import leave_session, use_session


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


def test_a_session_of_somebody_else_is_nobodys_to_stop() -> None:
    assert use_session(session("theirs")) is None
