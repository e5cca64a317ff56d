"""Threads of an engine that want the same things at the same time; nothing here needs a session."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, cast

import pytest

from presage import Engine


class Ended:
    """A streaming query that Spark has ended: every look at it begins another."""

    failure = None
    running = False

    def tick(self) -> None:
        """Nobody listens."""

    def stop(self) -> None:
        """It has ended already."""


def test_a_query_that_is_begun_again_and_a_statement_that_is_deployed_do_not_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    monkeypatch.setattr("presage.assembly.start_ticker", lambda spark, work: begun.append(spark) or Ended())
    engine = Engine(cast(Any, object()), tmp_path / "home")
    engine.execute("CREATE STREAM Tick (x LONG, at TIMESTAMP) EVENT TIME at")
    trigger = engine._parts.trigger
    go = trigger.ensure_running

    def beside() -> None:
        # As the look at the clock does; what deploys holds the engine's lock by now.
        other = threading.Thread(target=go, daemon=True)
        other.start()
        while other.is_alive() and not trigger._lock.locked():
            time.sleep(0.001)
        go()

    monkeypatch.setattr(engine._deployments, "_drive", beside)
    deploying = threading.Thread(target=engine.deploy, args=("SELECT x FROM Tick", "all"), daemon=True)
    deploying.start()
    deploying.join(60)
    assert not deploying.is_alive()
    assert len(begun) == 2
    engine.close()
