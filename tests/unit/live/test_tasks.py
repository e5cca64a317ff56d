"""Many statements in one batch: their filters are asked together, and each has its own rows."""

from __future__ import annotations

from pathlib import Path

from recovery.crashing import MemoryDisk
from recovery.living import Living


def test_a_relation_of_one_statement_is_known_to_the_filters_of_all(tmp_path: Path) -> None:
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare("CREATE STREAM Tick (sym STRING, n INT, at TIMESTAMP) EVENT TIME at")
        home.declare("CREATE RELATION Watched (sym STRING) VALUES ('b'), ('c')")
        for least in range(6):
            home.deploy(f"SELECT sym FROM Tick WHERE n > {least}", f"above-{least}")
        home.deploy("SELECT sym FROM Tick WHERE Watched(sym)", "watched")
        home.load("Tick", [{"sym": sym, "n": n, "at": "2024-03-01T09:00:00Z"} for n, sym in enumerate("abcd")])
        home.drain()
        assert [row["sym"] for row in home.rows("watched")] == ["b", "c"]
        assert [row["sym"] for row in home.rows("above-1")] == ["c", "d"]
