"""Sinks of a process that is paused in a delivery, overtaken, and goes on: files hold each row once all the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from presage.sinks import position
from presage.sinks.position import PositionFile
from presage.storage import failpoints as point
from presage.storage.failpoints import Failpoints
from unit.sinks.delivering import Delivering, Server, files, in_files

ROWS = 24


class PauseAt(Failpoints):
    """The thread that reaches a point for the k-th time stops there, as a paused process does, until `resume`."""

    def __init__(self, where: str, k: int) -> None:
        self.where, self.left = where, k
        self.paused, self.resumed = threading.Event(), threading.Event()

    def reach(self, point: str) -> None:
        if point == self.where:
            self.left -= 1
            if self.left == 0:
                self.paused.set()
                assert self.resumed.wait(60)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def paused(
    folder: Path, create: Callable[[Delivering], None], where: str, k: int
) -> tuple[Delivering, PauseAt, threading.Thread]:
    """A home whose sink is paused at a point; its lock is free, its lease not released."""
    points = PauseAt(where, k)
    world = Delivering(folder, points=points)
    create(world)
    world.load(0, ROWS)
    thread = threading.Thread(target=world.drain, args=("out",))
    thread.start()
    assert points.paused.wait(60)
    world.home.log.home.unlock()
    return world, points, thread


@pytest.mark.parametrize("taken", [False, True])
@pytest.mark.parametrize("steps", [0, 1, 2, 100])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("where", point.SINK_POINTS)
def test_a_paused_delivery_and_its_successor_write_each_row_into_one_file(
    where: str, k: int, steps: int, taken: bool, tmp_path: Path
) -> None:
    out, seen = tmp_path / "out", list[tuple[str, int]]()

    def take_away() -> None:
        """A reader that removes what it has read."""
        seen.extend(in_files(out))
        for path in files(out):
            path.unlink()

    def create(world: Delivering) -> None:
        world.create(f"CREATE SINK out FROM odd WITH (sink = 'parquet', path = '{out}', rows = 3)")

    before, points, thread = paused(tmp_path, create, where, k)
    after = Delivering(tmp_path)
    after.running("out").hurry()
    for _ in range(steps):
        after.step("out")
    if taken:
        take_away()
    points.resumed.set()
    thread.join()
    if steps:
        assert before.sinks["out"].state == "failed"
        assert "HOME_OVERTAKEN" in before.sinks["out"].why
    after.drain("out")
    take_away()
    assert sorted(seen, key=lambda row: row[1]) == after.expected()
    assert list(out.glob(".*")) == []
    after.close()


@pytest.mark.parametrize("where", point.SINK_POINTS)
def test_a_server_is_told_each_row_at_least_once_with_its_id_and_nothing_by_who_was_overtaken(
    where: str, tmp_path: Path, server: Server
) -> None:
    def create(world: Delivering) -> None:
        world.create(f"CREATE SINK out FROM odd WITH (sink = 'webhook', url = '{server.url}', rows = 2)")

    before, points, thread = paused(tmp_path, create, where, 2)
    after = Delivering(tmp_path)
    after.drain("out")
    told = len(server.requests)
    points.resumed.set()
    thread.join()
    assert before.sinks["out"].state == "failed"
    # It may finish the batch that it had announced.
    again = server.requests[told:]
    assert len(again) == (1 if where == point.SINK_NOTED else 0)
    assert all(request in [r["body"] for r in server.requests[:told]] for request in [r["body"] for r in again])
    assert sorted(set(server.taken()), key=lambda row: row[1]) == after.expected()
    before.die()
    after.close()


def test_an_opening_that_was_overtaken_cannot_take_the_position_of_its_successor(tmp_path: Path) -> None:
    before = Delivering(tmp_path)
    before.create(f"CREATE SINK out FROM odd WITH (sink = 'parquet', path = '{tmp_path / 'out'}')")
    before.load(0, 4)
    before.home.log.home.unlock()
    after = Delivering(tmp_path)
    after.drain("out")
    assert before.step("out") is None
    assert before.sinks["out"].why.startswith("HOME_OVERTAKEN")
    after.load(4, 4)
    after.drain("out")
    assert in_files(tmp_path / "out") == after.expected()
    after.close()


def test_numbers_that_openings_took_stay_and_old_ones_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(position, "MOST_TAKEN", 3)
    for count in range(6):
        world = Delivering(tmp_path)
        if not count:
            world.create(f"CREATE SINK out FROM odd WITH (sink = 'parquet', path = '{tmp_path / 'out'}')")
        world.load(2 * count, 2)
        world.drain("out")
        if count == 1:
            overtaken = world
        world.die()
    kept = sorted((tmp_path / "home" / "sinks").glob("*.json"))
    assert len(kept) <= 2 * 3 + 2  # of each opening that is kept: the number that it took, and its last position
    world = Delivering(tmp_path)
    assert in_files(tmp_path / "out") == world.expected()
    file = PositionFile(overtaken.home.log.home, world.home.catalog.sinks["out"])
    assert file.read() == world.running("out").position()
    world.close()


def test_a_position_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    world = Delivering(tmp_path)
    world.create(f"CREATE SINK out FROM odd WITH (sink = 'parquet', path = '{tmp_path / 'out'}')")
    world.load(0, 4)
    world.drain("out")
    folder = tmp_path / "home" / "sinks"
    last = max(folder.glob("*.json"))
    last.rename(folder / f"{last.name.split('.')[0]}.json")
    for other in folder.glob("*.*.json"):
        other.unlink()
    world.die()
    world = Delivering(tmp_path)
    world.load(4, 4)
    world.drain("out")
    assert in_files(tmp_path / "out") == world.expected()
    world.close()
