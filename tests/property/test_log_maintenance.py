"""Appends, maintenance and crashes in any order: the log holds what was appended, and queries keep what they have."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.model.catalog import EventType
from presage.model.time import parse_timestamp
from presage.storage import Log, committer
from presage.storage import failpoints as point
from presage.storage.chunks import Shape
from recovery.crashing import SECOND, Crash, CrashAt, MemoryDisk, crash, row, stream

START = parse_timestamp("2024-01-01") or 0
TICK = EventType(**{**vars(stream(max_delay=5 * SECOND)), "key": ("x",)})
POINTS = (*point.POINTS, point.REWRITTEN_ONE, point.REWRITTEN, point.VACUUMED_ONE)

shapes = st.builds(
    Shape,
    slice=st.sampled_from([SECOND, 7 * SECOND, 3_600 * SECOND]),
    least_rows=st.integers(1, 6),
    rows_per_file=st.sampled_from([4, 8, 64]),
    buckets=st.sampled_from([1, 2, 4]),
    rows_per_bucket=st.integers(1, 3),
    group_rows=st.integers(4, 30),
    fan=st.integers(2, 4),
)
steps = st.one_of(
    st.tuples(st.just("append"), st.lists(st.integers(0, 59), min_size=1, max_size=4)),
    st.tuples(st.just("append"), st.lists(st.integers(0, 59), min_size=1, max_size=4)),
    st.tuples(st.just("compact"), shapes),
    st.tuples(st.just("vacuum"), st.none()),
    st.tuples(st.just("query"), st.integers(0, 30)),
)
crashes = st.none() | st.tuples(st.sampled_from(POINTS), st.integers(1, 3))


class World:
    """A log, what it should hold, and the queries that are running."""

    def __init__(self, home: Path) -> None:
        self.home, self.disk, self.points = home, MemoryDisk(), CrashAt()
        self.log = self.open()
        self.log.create_stream(TICK)
        self.loads = 0
        self.expected: list[dict[str, Any]] = []
        self.running: list[tuple[Any, list[Any]]] = []

    def open(self) -> Log:
        return Log.open(self.home, durable=False, points=self.points, tables=self.disk.tables())

    def do(self, step: tuple[str, Any], at: tuple[str, int] | None) -> None:
        self.points.arm(*at or ())
        try:
            self.act(*step)
        except Crash:
            crash(self.log)
            self.running = []
            self.points.arm()
            self.log = self.open()
        self.points.arm()
        self.check(appended=step[0] == "append")

    def act(self, kind: str, what: Any) -> None:
        if kind == "append":
            self.loads += 1
            self.log.append(TICK, [row(self.loads * 10 + s % 3, s) for s in what])
        elif kind == "compact":
            self.log.maintenance.compact(TICK, what)
        elif kind == "vacuum":
            self.log.maintenance.vacuum()
        else:
            files = self.log.archive.snapshot("Tick", after_seq=what)
            self.running.append((files, [r for r in self.expected if r["_seq"] > what]))

    def check(self, appended: bool) -> None:
        found = self.log.archive.read_arrow(self.log.archive.snapshot("Tick")).to_pylist()
        if appended:  # which of the new ones are late, and whether it happened, is told elsewhere
            assert found[: len(self.expected)] == self.expected
            self.expected = found
        assert found == self.expected
        for files, rows in self.running:
            assert self.log.archive.read_arrow(files).to_pylist() == rows


@given(st.lists(st.tuples(steps, crashes), min_size=4, max_size=20))
@settings(max_examples=60)
def test_no_order_of_appends_maintenance_and_crashes_changes_an_event(actions: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder, patch.object(committer, "RECORDS_PER_HEAD", 3):
        world = World(Path(folder) / "home")
        for step, at in actions:
            world.do(step, at)
        world.log.close()


@pytest.mark.parametrize("seed", range(3))
def test_bounds_and_keys_find_the_same_events_before_and_after_compaction(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    shape = Shape(
        slice=dice.choice([5, 20]) * SECOND, least_rows=3, rows_per_file=8, buckets=4, rows_per_bucket=1, group_rows=40
    )
    disk = MemoryDisk()
    with Log.open(tmp_path / "home", durable=False, tables=disk.tables()) as log:
        log.create_stream(TICK)
        for second in range(0, 60, 2):
            log.append(TICK, [row(dice.randrange(6), max(second - dice.randrange(5), 0)) for _ in range(3)])
        asked = []
        for _ in range(60):
            after, up_to = dice.randrange(90), dice.randrange(90)
            low, high = (START + dice.randrange(60) * SECOND for _ in range(2))
            keys = [dice.randrange(7) for _ in range(dice.randrange(1, 3))]
            bounds = {"after_seq": after, "up_to_seq": up_to, "low": low, "high": high}
            chosen = {name: value for name, value in bounds.items() if dice.random() < 0.5}
            asked.append((chosen, keys, answer(log, chosen, keys)))
        assert log.maintenance.compact(TICK, shape) > 0
        files = len(log.archive.snapshot("Tick").paths)
        pruned = [len(log.archive.snapshot("Tick", key_values={"x": keys}).paths) for _, keys, _ in asked]
        assert min(pruned) < files
        for chosen, keys, expected in asked:
            assert answer(log, chosen, keys) == expected


def answer(log: Log, bounds: dict[str, int], keys: list[int]) -> list[Any]:
    files = log.archive.snapshot("Tick", **bounds, key_values={"x": keys})
    return [r for r in log.archive.read_arrow(files).to_pylist() if r["x"] in keys]
