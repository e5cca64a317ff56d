"""The number of partial matches that are open: counted where states are stepped, told by status and EXPLAIN."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from presage.live.deployment import show_statements
from presage.live.job import Job
from presage.live.task_dispatch import run_share
from recovery.crashing import MemoryDisk
from recovery.living import Living

STREAM = "CREATE STREAM Tick (sym STRING, n INT, at TIMESTAMP) EVENT TIME at"
OPEN_STARTS = "SELECT a.sym FROM PATTERN [ EVERY a=Tick(n = 1) -> b=Tick(n = 2 AND sym = a.sym) ]"
OPEN_ROWS = """SELECT * FROM Tick
  MATCH_RECOGNIZE (PARTITION BY sym MEASURES A.n AS a PATTERN (A B) DEFINE A AS n = 1, B AS n = 2)"""


def ticks(*rows: tuple[str, int, int]) -> list[dict[str, Any]]:
    return [{"sym": sym, "n": n, "at": f"2024-03-01T09:00:{second:02}Z"} for sym, n, second in rows]


@pytest.mark.parametrize("text", [OPEN_STARTS, OPEN_ROWS])
def test_status_counts_what_is_open_and_forgets_what_was_matched(text: str, tmp_path: Path) -> None:
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAM)
        deployed = home.deploy(text, "open")
        assert deployed.status.partial_matches == 0
        home.load("Tick", ticks(("a", 1, 1), ("b", 1, 2), ("c", 1, 3)))
        home.drain()
        assert deployed.status.partial_matches == 3
        assert "partial matches that are open now: 3" in deployed.explain()
        home.load("Tick", ticks(("b", 2, 4)))
        home.drain()
        assert deployed.status["partial_matches"] == 2
        names, ((*shown,),) = show_statements({"open": deployed})
        assert dict(zip(names, shown, strict=True))["partial_matches"] == 2


def test_several_patterns_of_a_statement_are_summed(tmp_path: Path) -> None:
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAM)
        home.declare(f"INSERT INTO Pairs {OPEN_ROWS}")
        deployed = home.deploy("SELECT p.a FROM PATTERN [ EVERY t=Tick(n = 7) -> p=Pairs ]", "both")
        home.load("Tick", ticks(("a", 1, 1), ("b", 1, 2), ("c", 7, 3)))
        home.drain()
        assert deployed.status.partial_matches == 3


def test_shards_on_workers_are_summed(tmp_path: Path) -> None:
    def workers(function: Any, shares: list[Any]) -> list[Any]:
        assert function is run_share
        return [function(share) for share in shares]

    with Living(tmp_path / "home", MemoryDisk(), shards=4, parallelism=2, workers=workers, rows_on_driver=1) as home:
        home.declare(STREAM)
        deployed = home.deploy(OPEN_STARTS, "open")
        home.load("Tick", ticks(*((f"s{i}", 1, 1) for i in range(20))))
        home.drain()
        home.load("Tick", ticks(*((f"s{i}", 2, 2) for i in range(5)), ("s6", 1, 3)))
        home.drain()
        assert home.deployments.job.statements[deployed._number].shards == 4
        assert deployed.status.partial_matches == 16


def test_the_count_is_kept_with_the_home_and_ends_with_the_statement(tmp_path: Path) -> None:
    disk = MemoryDisk()
    with Living(tmp_path / "home", disk) as home:
        home.declare(STREAM)
        home.deploy(OPEN_STARTS, "open")
        home.load("Tick", ticks(("a", 1, 1), ("b", 1, 2)))
        home.drain()
    with Living(tmp_path / "home", disk) as again:
        assert isinstance(again.deployments.job, Job)
        assert again.deployments["open"].status.partial_matches == 2
        again.stop("open")
        assert again.deployments["open"].status.partial_matches == 0


def test_a_statement_without_patterns_has_none_and_does_not_speak_of_them(tmp_path: Path) -> None:
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAM)
        deployed = home.deploy("SELECT sym, count(*) AS c FROM Tick#time(1 min) GROUP BY sym", "plain")
        home.load("Tick", ticks(("a", 1, 1)))
        home.drain()
        assert deployed.status.partial_matches == 0
        assert "partial matches" not in deployed.explain()


def test_a_deployment_draws_its_automaton(tmp_path: Path) -> None:
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAM)
        assert "<svg" in home.deploy(OPEN_ROWS, "open").picture().svg
