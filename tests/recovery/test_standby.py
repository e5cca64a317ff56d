"""A second engine that waits for the home of another one: it takes over when that one ends, however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from presage import Engine
from presage.errors import PresageError
from presage.storage import Log, home_lease
from presage.storage.home_lease import read_lease
from presage.storage.journal import read_journal

STREAM = "CREATE STREAM IF NOT EXISTS Tick (n LONG, at TIMESTAMP) EVENT TIME at;"
# Loads events as fast as it can, until it is stopped.
HOLDER = f"""
import sys
import presage

with presage.Engine(home=sys.argv[1]) as engine:
    engine.execute({STREAM!r})
    for n in range(1_000_000):
        engine.load("Tick", [{{"n": n, "at": "2024-03-01T09:00:00Z"}}])
        print(n, flush=True)
"""


@pytest.fixture(autouse=True)
def short_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_lease, "SECONDS", 3.0)


@contextmanager
def holder(home: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the home and loads events into it."""
    command = [sys.executable, "-c", HOLDER, str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "5\n":
                break
        try:
            yield process
        finally:
            process.kill()


def numbers(engine: Engine) -> list[int]:
    found: list[int] = engine.query("SELECT n FROM Tick").to_arrow()["n"].to_pylist()
    return found


def test_a_standby_takes_over_from_a_killed_process_at_once(tmp_path: Path) -> None:
    with holder(tmp_path / "home") as process:
        threading.Timer(0.5, process.kill).start()
        with Engine(home=tmp_path / "home", standby=True) as engine:
            process.wait()
            assert process.stdout is not None
            acknowledged = [int(line) for line in process.stdout.read().split()]
            found = numbers(engine)
            # The last one may be durable though the process died before it could say so.
            assert found == list(range(len(found)))
            assert len(found) in (acknowledged[-1] + 1, acknowledged[-1] + 2)


def test_a_process_that_was_paused_for_longer_than_its_lease_publishes_nothing_more(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with holder(home) as process:
        process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        with Engine(home=home, standby=True) as engine:
            assert time.monotonic() - began >= 3.0
            before = numbers(engine)
            process.send_signal(signal.SIGCONT)
            _, said = process.communicate(timeout=60)
            assert "HOME_OVERTAKEN" in said
            engine.load("Tick", [{"n": len(before), "at": "2024-03-01T09:00:00Z"}])
            assert numbers(engine) == [*before, len(before)] == list(range(len(before) + 1))
            # Its lock is free now, and the home is not.
            with pytest.raises(PresageError) as refused:
                Engine(home=home)
            assert refused.value.code == "HOME_LOCKED"
    with Engine(home=home) as engine:
        assert numbers(engine) == list(range(len(before) + 1))


def test_a_standby_opens_a_home_when_it_is_closed(tmp_path: Path) -> None:
    opened: list[float] = []

    def wait() -> None:
        with Engine(home=tmp_path / "home", standby=True) as engine:
            opened.append(time.monotonic())
            assert numbers(engine) == [7]

    with Engine(home=tmp_path / "home") as engine:
        engine.execute(STREAM)
        engine.load("Tick", [{"n": 7, "at": "2024-03-01T09:00:00Z"}])
        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(1.0)
        assert not opened
    closed = time.monotonic()
    waiting.join()
    assert opened[0] - closed < 2.0


def test_a_home_that_was_closed_is_opened_without_a_takeover_and_one_that_was_left_with_one(tmp_path: Path) -> None:
    Log.open(tmp_path).close()
    log = Log.open(tmp_path)
    assert [record.kind for record in read_journal(log.home.store, log.home.journal).records] == []
    log.home.unlock()
    with Log.open(tmp_path) as again:
        records = read_journal(again.home.store, again.home.journal).records
        lease = read_lease(again.home.store, again.home.path)
        assert lease is not None
        assert [(record.kind, record.takeover) for record in records] == [("takeover", lease.holder)]
        assert not lease.released
    lease = read_lease(again.home.store, again.home.path)
    assert lease is not None
    assert lease.released
