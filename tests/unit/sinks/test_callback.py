"""Functions that are subscribed by name: they go on where they were, and a failure of theirs is theirs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from presage.errors import PresageError
from presage.live.deployment import Row
from presage.sinks import callback
from unit.sinks.delivering import Delivering


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Delivering]:
    made = Delivering(tmp_path)
    made.sinks._started = True  # its threads are not begun: the test is the thread
    made.sinks.follow = _still(made)  # type: ignore[method-assign]
    yield made
    made.sinks._closed = True
    made.home.close()


def _still(world: Delivering) -> Any:
    def follow() -> None:
        wanted = {sink.name: sink for sink in world.sinks._workspace.catalog.sinks.values()}
        world.sinks._running |= {n: world.sinks._new(k) for n, k in wanted.items() if n not in world.sinks._running}

    return follow


def opened(tmp_path: Path) -> Delivering:
    made = Delivering(tmp_path)
    made.sinks._started = True
    made.sinks.follow = _still(made)  # type: ignore[method-assign]
    return made


def test_a_function_gets_every_row_once_and_after_a_restart_those_that_it_has_not_taken(
    world: Delivering, tmp_path: Path
) -> None:
    seen: list[tuple[str, int]] = []
    take = lambda row: seen.append((row.id, row["x"]))  # noqa: E731
    world.load(0, 6)
    subscribed = world.home.deployments["odd"].subscribe(take, name="mail")
    world.drain("mail")
    assert seen == world.expected()
    assert (subscribed.delivered, subscribed.error) == (3, None)
    world.load(6, 4)
    world.die()
    world = opened(tmp_path)
    assert world.step("mail") == 0.5
    assert "subscribe(function, name='mail')" in world.sinks["mail"].why
    world.home.deployments["odd"].subscribe(take, name="mail")
    world.drain("mail")
    assert seen == world.expected()
    world.home.close()


def test_rows_are_those_that_every_subscriber_gets(world: Delivering) -> None:
    seen: list[Row] = []
    world.load(0, 2)
    world.home.deployments["odd"].subscribe(seen.append, name="mail")
    world.drain("mail")
    assert isinstance(seen[0], Row)
    assert seen[0] == world.home.rows("odd")[0]


def test_a_row_at_which_the_function_raises_comes_again_and_blocks_those_after_it(world: Delivering) -> None:
    seen: list[int] = []
    broken = True

    def take(row: Row) -> None:
        if row["x"] == 5 and broken:
            raise ValueError("no mail server")
        seen.append(row["x"])

    world.load(0, 10)
    subscribed = world.home.deployments["odd"].subscribe(take, name="mail")
    assert [world.step("mail"), world.step("mail")] == [1.0, 2.0]
    assert isinstance(subscribed.error, ValueError)
    assert world.sinks["mail"].why == "the function raised ValueError: no mail server"
    broken = False
    world.drain("mail")
    assert seen == [1, 3, 5, 7, 9]
    assert subscribed.error is None


def test_a_function_that_calls_exit_ends_nothing_but_its_own_call(world: Delivering) -> None:
    world.load(0, 2)
    subscribed = world.home.deployments["odd"].subscribe(lambda row: sys.exit(3), name="mail")
    assert world.step("mail") == 1.0
    assert world.sinks["mail"].why == "the function raised RuntimeError: it called sys.exit(3)"
    assert isinstance(subscribed.error, RuntimeError)


def test_told_to_skip_it_leaves_out_the_row_alone(world: Delivering) -> None:
    seen: list[int] = []

    def take(row: Row) -> None:
        assert row["x"] != 5, "five"
        seen.append(row["x"])

    world.load(0, 10)
    world.home.deployments["odd"].subscribe(take, name="mail", on_error="skip")
    world.drain("mail")
    assert seen == [1, 3, 7, 9]
    (skipped,) = world.sinks.skipped("mail").to_pylist()
    assert skipped["id"] == "odd/1/2"
    assert "five" in skipped["reason"]


def test_one_that_takes_long_is_noted_on_the_way(world: Delivering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callback, "NOTED_SECONDS", 0.0)
    world.load(0, 10)
    world.home.deployments["odd"].subscribe(lambda row: None, name="mail")
    assert world.step("mail") == 0.0
    assert world.sinks["mail"].rows == 1


def test_a_function_that_is_cancelled_is_called_no_more(world: Delivering) -> None:
    seen: list[int] = []
    world.load(0, 4)
    subscribed = world.home.deployments["odd"].subscribe(lambda row: seen.append(row["x"]), name="mail")
    world.drain("mail")
    subscribed.cancel()
    world.load(4, 4)
    world.drain("mail")
    assert seen == [1, 3]
    assert world.sinks["mail"].state == "waiting"
    assert world.sinks["mail"].left == 2


def test_rows_may_be_left_out_at_the_first_subscription_and_not_again(world: Delivering) -> None:
    seen: list[int] = []
    world.load(0, 10)
    live = world.home.deployments["odd"]
    live.subscribe(lambda row: seen.append(row["x"]), after=3, name="mail")
    world.drain("mail")
    live.subscribe(lambda row: seen.append(row["x"]), after=0, name="mail")
    world.drain("mail")
    assert seen == [7, 9]


def test_a_name_that_is_another_sinks_is_refused(world: Delivering, tmp_path: Path) -> None:
    world.create(f"CREATE SINK out FROM odd WITH (sink = 'parquet', path = '{tmp_path / 'out'}')")
    with pytest.raises(PresageError, match="ALREADY_DECLARED"):
        world.home.deployments["odd"].subscribe(print, name="out")
    with pytest.raises(PresageError, match="one of retry, skip"):
        world.home.deployments["odd"].subscribe(print, name="new", on_error="stop")
