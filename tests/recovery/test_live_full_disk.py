"""A disk without space, at any place of a batch: the call fails, and after the next one nothing is lost or twice."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from presage import Engine
from presage.errors import PresageError
from presage.live import state_files as states
from presage.storage import committer
from presage.storage.catalog_log import CatalogLog
from presage.storage.delta import DeltaTables
from presage.storage.file_store import FileStore
from presage.storage.journal import Journal
from recovery.crashing import MemoryDisk, MemoryTables, data_files
from recovery.living import Living
from recovery.ticks import STATEMENTS, STREAMS, quotes, ticks

PLACES: dict[str, tuple[Any, str]] = {
    "writing states": (states, "_encoded"),
    "staging rows": (committer, "stage"),
    "writing the record": (Journal, "write"),
    "changing a table": (MemoryTables, "change"),
    "changing a Delta table": (DeltaTables, "change"),
}
EVERYWHERE = {
    "writing the catalog": (CatalogLog, "write"),
    "writing a file": (FileStore, "_write"),
    "writing a new file": (FileStore, "create"),
}


@contextmanager
def full(where: str, monkeypatch: pytest.MonkeyPatch, after: int = 0) -> Iterator[None]:
    """No space from the call after so many on."""
    owner, name = {**PLACES, **EVERYWHERE}[where]
    works: Callable[..., Any] = getattr(owner, name)
    left = after

    def fail(*args: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            return works(*args, **named)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail)
        yield


def begin(home: Living) -> None:
    home.declare(STREAMS)
    home.load("Tick", ticks(0, 6))
    for name in ("window", "join", "batch", "hot", "past"):
        home.deploy(STATEMENTS[name], name)
    home.load("Tick", ticks(9, 6))
    home.load("Quote", quotes(8, 9))


def end(home: Living) -> dict[str, Any]:
    home.load("Tick", ticks(18, 6))
    home.drain()
    return home.found()


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("where", PLACES)
def test_a_batch_without_space_fails_and_the_next_one_makes_up_for_it(
    where: str, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disk() -> MemoryDisk | None:
        return None if "Delta" in where else MemoryDisk()

    job = {"rows_per_batch": 8}
    with Living(tmp_path / "whole", disk(), **job) as whole, Living(tmp_path / "home", disk(), **job) as home:
        begin(whole)
        whole.drain()
        begin(home)
        with full(where, monkeypatch, after), pytest.raises(PresageError) as refused:
            home.drain()
        assert refused.value.code == "DISK_FULL"
        home.drain()
        assert home.found() == whole.found()
        assert end(home) == end(whole)
    assert len(data_files(tmp_path / "home")) == len(data_files(tmp_path / "whole"))


CHANGES = ("deploy", "replace", "stop", "resume")


@pytest.mark.parametrize(
    ("what", "where"),
    [*((what, "writing the record") for what in CHANGES), *((what, "writing the catalog") for what in CHANGES[:3])],
)
def test_a_change_of_statements_without_space_happens_whole_or_not_at_all(
    what: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(home: Living) -> None:
        if what == "deploy":
            home.deploy("INSERT INTO Cold SELECT sym, price FROM Tick WHERE price < 2", "cold")
        elif what == "replace":
            home.deploy("INSERT INTO Hot SELECT sym, price FROM Tick WITHIN [2024-01-01, )", "hot", replace=True)
        elif what == "stop":
            home.stop("hot")
        else:
            home.deployments["hot"].resume()

    disk = MemoryDisk()
    with Living(tmp_path / "home", disk) as home:
        begin(home)
        if what == "resume":
            monkeypatch.setattr("presage.live.runner.FILTERS_PER_INDEX", 1_000)
            with monkeypatch.context() as patch:
                patch.setattr("presage.columnar.evaluate.Evaluator.mask", _fail)
                home.drain()
            assert home.deployments["hot"].status.state == "failed"
        if what in ("replace", "stop"):
            home.drain()  # else the batch before the end would meet the full disk
        happened = where != "writing the record"
        with full(where, monkeypatch), pytest.raises(PresageError) as refused:
            change(home)
        assert refused.value.code == "DISK_FULL"
        assert happened_in(home, what) == happened
        if not happened:
            change(home)
        found = end(home)
    with Living(tmp_path / "home", disk) as home:
        assert home.found() == found
    with Living(tmp_path / "whole", MemoryDisk()) as whole:
        begin(whole)
        if what != "resume":
            change(whole)
        assert {n: v[-1] for n, v in end(whole)["statements"].items()} == {
            n: v[-1] for n, v in found["statements"].items()
        }
        assert whole.found()["producers"] == found["producers"]


@pytest.mark.parametrize("where", ["writing a file", "writing a new file", "changing a Delta table"])
def test_a_home_on_a_full_disk_is_closed_with_an_error_and_can_be_opened_once_there_is_space(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(home=tmp_path / "home", live=False, driven=False)
    engine.execute(STREAMS)
    engine.load("Tick", ticks(0, 6))
    engine.deploy(STATEMENTS["window"], "window")
    with full(where, monkeypatch):
        for call in (lambda: engine.load("Tick", ticks(9, 6)), engine.deployments["window"].drain):
            # A table is changed after the fact: the second call finishes what the first has begun.
            with pytest.raises(PresageError) as refused:
                call()
            assert refused.value.code == "DISK_FULL"
        if where != "changing a Delta table":
            with pytest.raises(PresageError, match="nothing is lost") as refused:
                engine.close()
            assert refused.value.code == "DISK_FULL"
        else:
            engine.close()
        if where == "changing a Delta table":
            with pytest.raises(PresageError, match="open the home again") as refused:
                Engine(home=tmp_path / "home", live=False, driven=False)
            assert refused.value.code == "DISK_FULL"
    with Engine(home=tmp_path / "home", live=False, driven=False) as engine:
        if where != "changing a Delta table":  # the load had not happened
            engine.load("Tick", ticks(9, 6))
        engine.deployments["window"].drain()
        again = engine.deployments["window"].table().to_pylist()
    with Living(tmp_path / "whole", MemoryDisk()) as whole:
        whole.declare(STREAMS)
        whole.load("Tick", ticks(0, 6))
        whole.deploy(STATEMENTS["window"], "window")
        whole.load("Tick", ticks(9, 6))
        whole.drain()
        assert whole.rows("window") == again != []


def happened_in(home: Living, what: str) -> bool:
    deployments = home.deployments
    if what == "deploy":
        return "cold" in deployments and "Cold" in home.catalog.types
    if what == "replace":
        return "WITHIN" in deployments["hot"].text
    if what == "stop":
        return deployments["hot"].status.state == "stopped"
    return deployments["hot"].status.state in ("running", "catching up")


def _fail(*_: object) -> None:
    raise ValueError("a fault of ours")
