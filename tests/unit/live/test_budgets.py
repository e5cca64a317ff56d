"""A statement whose step takes too long is set aside, alone; nobody waits for a step that is stuck."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from presage.functions import constant_arguments
from presage.functions.columnar import BUILDERS
from presage.functions.columnar.call import by_value
from presage.live import batch_lock, job
from presage.live.statement import FAILED, RUNNING
from recovery.crashing import MemoryDisk
from recovery.living import Living

STREAM = "CREATE STREAM Tick (sym STRING, n INT, at TIMESTAMP) EVENT TIME at"
HEALTHY = "SELECT sym, n FROM Tick WHERE n > 0"
POISONED = "SELECT sym, levenshtein(sym, 'x') AS d FROM Tick WHERE n > 1"
FILTERED = "SELECT sym FROM Tick WHERE levenshtein(sym, 'x') >= {}"
SLOW = 30.0


def ticks(*rows: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"sym": sym, "n": n, "at": f"2024-03-01T09:00:{n:02}Z"} for sym, n in rows]


class Poison:
    """levenshtein(…) does not come back before it is told to."""

    def __init__(self) -> None:
        self.may_end, self.entered, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, a: str, b: str) -> int:
        self.entered.set()
        self.may_end.wait(SLOW)
        self.ended.set()
        return 7


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> Iterator[Poison]:
    poison = Poison()
    monkeypatch.setitem(BUILDERS, "levenshtein", by_value(poison))
    monkeypatch.setattr(batch_lock, "PATIENCE", 0.2)
    monkeypatch.setattr(job, "PATIENCE", 0.2)
    monkeypatch.setattr(job, "FINISH_SECONDS", 0.3)
    yield poison
    poison.may_end.set()


def states(home: Living) -> dict[str, str]:
    return {name: home.deployments[name].status.state for name in home.deployments}


def test_a_statement_that_takes_too_long_is_set_aside_alone(tmp_path: Path, poison: Poison) -> None:
    disk = MemoryDisk()
    with Living(tmp_path / "home", disk, seconds_per_batch=0.3) as home:
        home.declare(STREAM)
        healthy, poisoned = home.deploy(HEALTHY, "healthy"), home.deploy(POISONED, "poisoned")
        home.load("Tick", ticks(("a", 1), ("b", 2)))
        home.deployments["healthy"].drain()
        assert states(home) == {"healthy": RUNNING, "poisoned": FAILED}
        assert "LIMIT" in str(poisoned.status.last_error)
        assert "seconds per batch" in str(poisoned.status.last_error)
        home.load("Tick", ticks(("c", 3)))
        healthy.drain()
        assert healthy.status.rows_out == 3
        # What the step would have given later goes nowhere.
        poison.may_end.set()
        assert poison.ended.wait(SLOW)
        home.load("Tick", ticks(("d", 4)))
        healthy.drain()
        assert (healthy.status.rows_out, poisoned.status.rows_out) == (4, 0)
    with Living(tmp_path / "home", disk) as again:
        again.load("Tick", ticks(("e", 5)))
        again.deployments["healthy"].drain()
        assert states(again) == {"healthy": RUNNING, "poisoned": FAILED}
        # Mended, it goes on from where it was: no event is lost.
        again.deployments["poisoned"].resume()
        again.deployments["poisoned"].drain()
        assert again.deployments["poisoned"].table().drop_columns("at").to_pydict() == {"sym": [*"bcde"], "d": [7] * 4}
        assert again.deployments["healthy"].table()["n"].to_pylist() == [1, 2, 3, 4, 5]


def test_of_many_filters_that_are_asked_together_the_slow_one_is_found(tmp_path: Path, poison: Poison) -> None:
    with Living(tmp_path / "home", MemoryDisk(), seconds_per_batch=0.3) as home:
        home.declare(STREAM)
        for n in range(5):
            home.deploy(f"SELECT sym FROM Tick WHERE n > {n}", f"s{n}")
        home.deploy(FILTERED.format(3), "poisoned")
        home.load("Tick", ticks(("a", 9)))
        home.deployments["s0"].drain()
        assert states(home) == {f"s{n}": RUNNING for n in range(5)} | {"poisoned": FAILED}
        assert all(home.deployments[f"s{n}"].status.rows_out == 1 for n in range(5))


def stuck(home: Living, poison: Poison) -> threading.Thread:
    """A thread that runs batches, in the midst of a step that does not end."""
    home.load("Tick", ticks(("a", 1), ("b", 2)))
    thread = threading.Thread(target=home.deployments.job.advance, daemon=True)
    thread.start()
    assert poison.entered.wait(10)
    return thread


@pytest.mark.parametrize("name", ["healthy", "poisoned"])
def test_stopping_does_not_wait_for_a_step(name: str, tmp_path: Path, poison: Poison) -> None:
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAM)
        home.deploy(HEALTHY, "healthy")
        home.deploy(POISONED, "poisoned")
        batch = stuck(home, poison)
        started = time.monotonic()
        home.deployments[name].stop(patience=0)
        assert time.monotonic() - started < 5
        assert home.deployments[name].status.state == "stopped"
        batch.join(10)
        poison.may_end.set()
        assert home.deployments.job.statements
        (other,) = {"healthy", "poisoned"} - {name}
        home.deployments[other].drain()
        assert home.deployments[other].status.rows_out == {"healthy": 2, "poisoned": 1}[other]


def test_a_statement_can_be_deployed_beside_a_step_that_is_stuck(tmp_path: Path, poison: Poison) -> None:
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAM)
        home.deploy(POISONED, "poisoned")
        stuck(home, poison)
        assert home.deploy(HEALTHY, "healthy").status.state == RUNNING


def test_leaving_does_not_wait_for_a_step_and_no_batch_follows(tmp_path: Path, poison: Poison) -> None:
    disk = MemoryDisk()
    with Living(tmp_path / "home", disk) as home:
        home.declare(STREAM)
        home.deploy(HEALTHY, "healthy")
        home.deploy(POISONED, "poisoned")
        batch = stuck(home, poison)
        home.deployments.job.leave()
        batch.join(10)
        assert not batch.is_alive()
        assert not home.deployments.job.advance()
    # Nothing of that batch has happened: after a restart it is done as a whole.
    poison.may_end.set()
    with Living(tmp_path / "home", disk) as again:
        again.deployments["poisoned"].drain()
        assert again.deployments["poisoned"].status.rows_out == 1
        assert again.deployments["healthy"].status.rows_out == 2


def test_status_says_which_step_takes_long(tmp_path: Path, poison: Poison) -> None:
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAM)
        deployed = home.deploy(POISONED, "poisoned")
        stuck(home, poison)
        time.sleep(0.3)
        assert "statement 'poisoned' for" in str(deployed.status.last_error)
        home.deployments.job.leave()


def test_a_state_past_its_bytes_is_set_aside(tmp_path: Path) -> None:
    with Living(tmp_path / "home", MemoryDisk(), state_bytes=2_000) as home:
        home.declare(STREAM)
        home.deploy(HEALTHY, "healthy")
        home.deploy("SELECT a.sym FROM PATTERN [ EVERY a=Tick -> Tick(n > 100) ]", "kept")
        home.load("Tick", ticks(*((f"a long name {n}", n) for n in range(1, 50))))
        home.deployments["healthy"].drain()
        assert states(home) == {"healthy": RUNNING, "kept": FAILED}
        assert "bytes of state" in str(home.deployments["kept"].status.last_error)
        assert home.deployments["healthy"].status.rows_out == 49


def test_timers_that_multiply_set_their_statement_aside(tmp_path: Path) -> None:
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAM)
        home.deploy(HEALTHY, "healthy")
        home.deploy("SELECT count(*) AS c FROM PATTERN [ EVERY (EVERY timer:interval(1 sec)) ]", "doubling")
        home.load("Tick", ticks(*(("a", n) for n in range(1, 40))))
        home.deployments["healthy"].drain()
        assert states(home) == {"healthy": RUNNING, "doubling": FAILED}
        assert "open partial matches" in str(home.deployments["doubling"].status.last_error)
        assert home.deployments["healthy"].status.rows_out == 39


def test_a_pattern_that_is_refused_now_sets_its_statement_aside_when_the_home_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = MemoryDisk()
    with monkeypatch.context() as older, Living(tmp_path / "home", disk) as home:
        older.setattr(constant_arguments, "find_problem", lambda pattern: None)
        older.setattr(constant_arguments, "count_groups", lambda pattern: 1)
        home.declare(STREAM)
        home.declare(r"INSERT INTO Twice SELECT sym, n FROM Tick WHERE rlike(sym, '(.)\\1')")
        home.deploy(HEALTHY, "healthy")
        home.deploy(r"SELECT regexp_extract(sym, '(a)\\1') AS twice FROM Tick", "older")
        home.deploy("SELECT * FROM Twice", "reads")
    for _ in range(2):
        with Living(tmp_path / "home", disk) as again:
            assert states(again) == {"healthy": RUNNING, "older": FAILED, "reads": FAILED}
            error = str(again.deployments["older"].status.last_error)
            assert "BAD_VALUE" in error
            assert "looks back at a group" in error
            again.load("Tick", ticks(("aa", 1)))
            again.deployments["healthy"].drain()
            again.deployments["older"].resume()  # it fails again, alone
            again.drain()
            assert states(again) == {"healthy": RUNNING, "older": FAILED, "reads": FAILED}
    with Living(tmp_path / "home", disk) as again:
        assert again.deployments["healthy"].status.rows_out == 2
        again.stop("older")
