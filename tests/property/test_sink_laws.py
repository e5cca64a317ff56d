"""The law of sinks: whatever dies, whenever, and however rows are cut, files hold the rows of the statement, each once,
and others have been told all of them in order, each with its id."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pyarrow as pa
from hypothesis import event, given, settings
from hypothesis import strategies as st

from presage.storage import failpoints
from property.test_live_laws import POINTS
from recovery.crashing import Crash, CrashAt, MemoryDisk
from recovery.test_sinks import told_in_order
from unit.sinks.delivering import Delivering, files, in_files

ACTIONS = (
    *("load", "batch", "batch", "files", "files", "out", "out", "take", "reopen", "fail", "replace"),
    *("die_in_a_batch", "die_in_a_sink", "die_in_a_sink"),
)


class Life:
    """A home with a sink of files and one that may be told twice, which fails now and then."""

    def __init__(self, folder: Path, dice: Random) -> None:
        self.folder, self.dice = folder, dice
        self.disk, self.points = MemoryDisk(), CrashAt()
        self.told: list[tuple[str, int]] = []
        self.taken: list[tuple[str, int]] = []
        self.failing = False
        self.loaded = 0
        self.open()
        rows = dice.choice([1, 2, 5])
        self.world.create(
            f"CREATE SINK files FROM odd WITH (sink = 'parquet', path = '{folder / 'out'}', rows = {rows})"
        )
        self.world.create(
            f"CREATE SINK out FROM odd WITH (sink = 'kafka', servers = 'localhost:9092', topic = 't', rows = {rows})"
        )

    def open(self) -> None:
        job = {"rows_per_batch": self.dice.choice([2, 5, 1_000])}
        self.world = Delivering(self.folder, self.disk, self.points, kafka=self.write, job=job)

    def write(self, rows: pa.Table, options: object) -> None:
        for row, value in zip(rows["key"].to_pylist(), rows["value"].to_pylist(), strict=True):
            if self.failing:
                self.failing = False
                raise RuntimeError("in the middle")
            self.told.append((row, int(value.split('"x": ')[1].split(",")[0])))

    def do(self, action: str) -> None:
        try:
            getattr(self, action)()
        except Crash:
            event("crashed")
            self.points.arm()
            if self.dice.random() < 0.5:
                self.take()
            self.world.die()
            self.open()
            self.loaded = self.world.home.log.archive.describe("Tick").rows

    def load(self) -> None:
        count = self.dice.randint(1, 6)
        self.world.home.load("Tick", [*_events(self.loaded, count)])
        self.loaded += count

    def batch(self) -> None:
        self.world.home.deployments.job.advance()

    def files(self) -> None:
        self.world.running("files").hurry()
        self.world.step("files")

    def out(self) -> None:
        self.world.step("out")

    def fail(self) -> None:
        self.failing = True

    def reopen(self) -> None:
        self.world.close()
        self.open()

    def take(self) -> None:
        """A reader takes the files away."""
        self.taken += in_files(self.folder / "out")
        for path in files(self.folder / "out"):
            path.unlink()

    def die_in_a_batch(self) -> None:
        self.load()
        self.points.arm(self.dice.choice(POINTS), self.dice.randint(1, 2))

    def die_in_a_sink(self) -> None:
        """In the next batch of one of them."""
        self.load()
        self.world.home.drain()
        self.points.arm(self.dice.choice(failpoints.SINK_POINTS))
        self.do(self.dice.choice(["files", "files", "out"]))

    def replace(self) -> None:
        text = f"SELECT x FROM Tick WITHIN [2020-01-01T00:00, ) WHERE x % 2 = 1 AND x < {self.dice.randint(50, 99)}"
        self.world.home.deploy(text, "odd", replace=True)

    def finish(self) -> None:
        self.points.arm()
        self.failing = False
        self.world.home.drain()
        for sink in ("files", "out"):
            self.world.drain(sink)


def _events(first: int, count: int) -> list[dict[str, object]]:
    return [{"x": x, "at": f"2024-01-01T00:{x // 60:02d}:{x % 60:02d}Z"} for x in range(first, first + count)]


def rows_of_all(world: Delivering) -> list[tuple[str, int]]:
    """What all statements of the name have made, one after the other."""
    found = []
    for number in sorted(world.home.deployments.job.statements, key=int):
        pieces = world.sinks._statements.rows(int(number), 1, 0)
        values = [row["x"] for _, _, rows in pieces for row in rows.to_pylist()]
        found += [(f"odd/{number}/{i}", x) for i, x in enumerate(values)]
    return found


@settings(max_examples=25)
@given(st.lists(st.sampled_from(ACTIONS), min_size=5, max_size=40), st.integers(0, 2**32))
def test_files_have_every_row_once_and_others_every_row_in_order_whatever_dies(actions: list[str], seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        life = Life(Path(folder), Random(seed))
        for action in ["load", *actions]:
            life.do(action)
        life.finish()
        expected = rows_of_all(life.world)
        life.take()
        assert life.taken == expected
        assert told_in_order(life.told, expected)
        life.world.close()
