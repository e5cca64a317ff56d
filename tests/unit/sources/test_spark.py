"""Micro-batches of Spark, with a checkpoint as Spark keeps it: a batch that is not noted comes again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.errors import PresageError
from presage.model.catalog import Attribute, EventType
from presage.model.types import LONG, TIMESTAMP
from presage.sources import Sources
from presage.sources.spark import SparkSource
from presage.storage import Delivery, Log

TICK = EventType("Tick", "stream", (Attribute("n", LONG), Attribute("at", TIMESTAMP)), event_time="at")


@dataclass(frozen=True)
class Batch:
    frame: Any
    query: str
    number: int


class Checkpoint:
    """What Spark notes: the next batch."""

    def __init__(self, query: str = "q") -> None:
        self.query = query
        self.next = 0


class FakeFrame:
    """Batch n holds the event n."""

    def __init__(self, checkpoint: Checkpoint, batches: int) -> None:
        self._checkpoint = checkpoint
        self._batches = batches
        self.stopped = False

    def next_batch(self, seconds: float) -> Batch | None:
        number = self._checkpoint.next
        return Batch(number, self._checkpoint.query, number) if number < self._batches else None

    def settle(self) -> None:
        self._checkpoint.next += 1

    @property
    def has_more(self) -> bool:
        return self._checkpoint.next < self._batches

    def stop(self) -> None:
        self.stopped = True


def source(checkpoint: Checkpoint, batches: int) -> SparkSource:
    return SparkSource("Tick", lambda: FakeFrame(checkpoint, batches))


class Archive:
    """The log, as far as a source sees it: rows and cursor change together."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.cursor: dict[str, Any] | None = None

    def deliver(self, delivery: Delivery) -> None:
        assert delivery.after == self.cursor
        self.rows.append(delivery.frame)
        self.cursor = delivery.cursor


@given(st.lists(st.sampled_from(["read", "deliver", "settle"]), max_size=12), st.integers(0, 5))
def test_wherever_the_process_dies_each_batch_arrives_once(deaths: list[str], batches: int) -> None:
    checkpoint, archive, dying = Checkpoint(), Archive(), iter(deaths)
    while True:
        alive = source(checkpoint, batches)
        death = next(dying, None)
        while (delivery := alive.read(archive.cursor)) is not None:
            if death == "read":
                break
            archive.deliver(delivery)
            if death == "deliver":
                break
            alive.settle(delivery)
            if death == "settle":
                break
        if death is None:
            break
    assert archive.rows == list(range(batches))
    assert not alive.left


def test_with_another_checkpoint_nothing_is_read_twice() -> None:
    archive = Archive()
    first = source(Checkpoint("q"), 2)
    delivery = first.read(None)
    assert delivery is not None
    archive.deliver(delivery)
    with pytest.raises(PresageError, match="CHECKPOINT_CHANGED") as refused:
        source(Checkpoint("other"), 2).read(archive.cursor)
    assert "micro-batch 0" in refused.value.message


def test_the_position_is_the_last_batch() -> None:
    assert source(Checkpoint(), 0).position(None) == "not begun"
    assert source(Checkpoint(), 0).position({"query": "q", "batch": 7}) == "micro-batch 7"


def test_a_stream_follows_one_frame_at_a_time(tmp_path: Path) -> None:
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(TICK)
        sources = Sources(log, lambda: [TICK], Path)
        frames: list[FakeFrame] = []

        def opener() -> Callable[[], FakeFrame]:
            def open_frame() -> FakeFrame:
                frames.append(FakeFrame(Checkpoint(), 0))
                return frames[-1]

            return open_frame

        sources.attach(TICK, opener())
        with pytest.raises(PresageError, match="ALREADY_DECLARED"):
            sources.attach(TICK, opener())
        assert list(sources) == ["Tick"]
        sources.detach("Tick")
        sources.detach("Tick")
        assert list(sources) == []
        sources.attach(TICK, opener())
        sources.close()
        assert all(frame.stopped for frame in frames)
