"""Random histories of loads, keys, watermarks, declarations and crashes against a model of a few lines."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.model.time import parse_timestamp
from presage.storage import Log, committer
from presage.storage import failpoints as point
from presage.storage.ingest import Checked, Rejected
from recovery.crashing import SECOND, Crash, CrashAt, MemoryDisk, Place, crash, sequence_numbers, stream
from recovery.faulty_store import ADDRESS, Bucket, bucket_in_memory

START = parse_timestamp("2024-01-01") or 0
DELAY = {"A": 0, "B": 5}
# The soak profile runs them by the thousand.
CRASHES = 5_000 if settings.get_current_profile_name() == "soak" else 250
HAPPENED = point.POINTS[point.POINTS.index(point.COMMITTED) :]


@dataclass
class Model:
    """What a log should hold, told by the rules of the language alone."""

    seq: int = 0
    version: int = 0
    streams: dict[str, Any] = field(default_factory=dict)

    def create(self, name: str) -> None:
        self.streams[name] = {"events": [], "late": [], "rejected": 0, "clock": None, "mark": None, "once": set()}
        self.version += 1

    def load(self, name: str, seconds: list[int], bad: int, once: str | None) -> None:
        it = self.streams[name]
        if once in it["once"]:
            return
        if once is not None:
            it["once"].add(once)
        greatest, mark = it["clock"], it["mark"]
        for second in sorted(seconds):
            self.seq += 1
            late = (greatest is not None and second < greatest - DELAY[name]) or (mark is not None and second < mark)
            it["late" if late else "events"].append((self.seq, second))
        on_time = [s for _, s in it["events"]]
        it["clock"] = max(on_time, default=None)
        it["rejected"] += bad


def found(log: Log) -> dict[str, Any]:
    def pairs(table: Any) -> list[tuple[int, int]]:
        times = table["_t"].cast("int64").to_pylist()
        return [(s, (t - START) // SECOND) for s, t in zip(table["_seq"].to_pylist(), times, strict=True)]

    archive = log.archive
    return {
        name: {
            "events": pairs(archive.read_arrow(archive.snapshot(name), ["_seq", "_t"])),
            "late": pairs(archive.read_late(name)),
            "rejected": archive.read_rejected(name).num_rows,
        }
        for name in archive.streams()
    }


names = st.sampled_from(["A", "B"])
loads = st.tuples(
    st.just("load"),
    names,
    st.lists(st.integers(0, 30), max_size=4),
    st.integers(0, 1),
    st.none() | st.sampled_from(["k1", "k2"]),
)
others = st.tuples(st.just("watermark"), names, st.integers(0, 30)) | st.tuples(st.just("again"), names)
crashes = st.none() | st.tuples(st.sampled_from(point.POINTS), st.integers(1, 2))
history = st.lists(st.tuples(loads | loads | others, crashes, crashes), min_size=3, max_size=14)


def checked(seconds: list[int], bad: int) -> Checked:
    """Rows as the ingest would hand them on; this is about what comes after it."""
    times = pa.array([START + second * SECOND for second in seconds], pa.timestamp("us", tz="UTC"))
    rejected = Rejected(["not good"] * bad, ["?"] * bad, ["row"] * bad)
    return Checked(pa.table({"x": pa.array(seconds, pa.int64()), "at": times}), rejected)


def do(log: Log, action: tuple[Any, ...]) -> None:
    kind, name, *rest = action
    if kind == "load":
        seconds, bad, once = rest
        log.append(stream(name, DELAY[name] * SECOND), checked(seconds, bad), once)
    elif kind == "watermark":
        log.append_watermark(name, START + rest[0] * SECOND)
    else:
        log.append_catalog("again", "stream", name, "…", creates=[stream(name)], drops=[name])


def expect(model: Model, action: tuple[Any, ...]) -> None:
    kind, name, *rest = action
    if kind == "load":
        model.load(name, *rest)
    elif kind == "watermark":
        model.streams[name]["mark"] = max(rest[0], model.streams[name]["mark"] or 0)
    else:
        model.create(name)


class Life:
    """A home that is opened again after each crash."""

    def __init__(self, home: Path | None = None, bucket: Bucket | None = None) -> None:
        self.disk = MemoryDisk()
        self.place = Place(home or ADDRESS, bucket, self.disk)
        self.points = CrashAt()
        self.crashes = 0
        self.log = self.open()

    def open(self) -> Log:
        return self.place.open(self.points)

    def attempt(self, action: tuple[Any, ...], at: tuple[str, int] | None, again: tuple[str, int] | None) -> bool:
        """Do it, perhaps dying on the way, and perhaps once more on the way up; whether it should have happened."""
        self.points.arm(*at or ())
        try:
            do(self.log, action)
        except Crash:
            self.crashes += 1
            crash(self.log)
            self.points.arm(*again or ())
            try:
                self.log = self.open()
            except Crash:
                self.points.arm()
                self.log = self.open()
            return at is not None and at[0] in HAPPENED
        finally:
            self.points.arm()
        return True


def begin(home: Path | None = None, bucket: Bucket | None = None) -> tuple[Life, Model]:
    life, model = Life(home, bucket), Model()
    for name in DELAY:
        life.log.append_catalog("create", "stream", name, "…", creates=[stream(name)])
        model.create(name)
    return life, model


def compare(life: Life, model: Model) -> None:
    wanted = {name: {k: kept[k] for k in ("events", "late", "rejected")} for name, kept in model.streams.items()}
    assert found(life.log) == wanted
    assert life.log.position == model.seq
    assert len(life.log.catalog_entries()) == model.version
    alive = [s for kept in wanted.values() for s, _ in kept["events"] + kept["late"]]
    assert sequence_numbers(life.log) == sorted(alive)
    named = {file.path for files in life.disk.files.values() for file in files}
    assert set(life.place.data_files()) <= named


@given(history)
@settings(max_examples=30)
def test_whatever_happens_and_wherever_it_dies_the_log_holds_what_was_committed(actions: list[Any]) -> None:
    with patch.object(committer, "RECORDS_PER_HEAD", 3), bucket_in_memory() as bucket:
        for kind in ("folder", "bucket"):
            with tempfile.TemporaryDirectory() as folder:
                life, model = begin(Path(folder) / "home") if kind == "folder" else begin(bucket=bucket)
                for action, at, again in actions:
                    if life.attempt(action, at, again):
                        expect(model, action)
                compare(life, model)
                life.log.close()


@pytest.mark.parametrize("kind", ["folder", "bucket"])
def test_hundreds_of_crashes_in_one_life_lose_and_repeat_nothing(kind: str, tmp_path: Path) -> None:
    dice = random.Random(20240101)
    with patch.object(committer, "RECORDS_PER_HEAD", 5), bucket_in_memory() as bucket:
        life, model = begin(tmp_path / "home") if kind == "folder" else begin(bucket=bucket)
        while life.crashes < CRASHES:
            name = dice.choice("AB")
            action = dice.choices(
                [
                    ("load", name, [dice.randrange(60) for _ in range(dice.randrange(3))], 0, None),
                    ("load", name, [dice.randrange(60)], 1, str(dice.randrange(50))),
                    ("watermark", name, dice.randrange(60)),
                    ("again", name),
                ],
                weights=[10, 10, 3, 2],
            )[0]
            at, again = ((dice.choice(point.POINTS), dice.randint(1, 2)) for _ in range(2))
            if life.attempt(action, at, again if dice.random() < 0.2 else None):
                expect(model, action)
            if life.crashes % 50 == 0:
                compare(life, model)
        compare(life, model)
        life.log.close()
