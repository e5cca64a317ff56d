"""Loads of random offsets on random paths, with crashes, against a model that keeps sets."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.storage import Log, SourceOffsets, committer
from presage.storage import failpoints as point
from presage.storage.offsets import PartitionOffsets
from recovery.crashing import Crash, CrashAt, MemoryDisk, crash, row, stream

# Nothing is late here: what is taken and when is the question.
TICK = stream(max_delay=3_600_000_000)
HAPPENED = point.POINTS[point.POINTS.index(point.COMMITTED) :]
MOST = 12


@dataclass
class Model:
    """A partition as sets of offsets."""

    next: int | None = None
    logged: list[int] = field(default_factory=list)
    held: set[int] = field(default_factory=set)
    arrived: set[int] = field(default_factory=set)

    def load(self, offsets: list[int], bad: set[int], start: int | None) -> tuple[int, int, int]:
        """Taken, held and dropped rows."""
        if not offsets:
            return 0, 0, 0
        if self.next is None:
            self.next = min(offsets) if start is None else start
        fresh = {o for o in offsets if o not in self.arrived}
        dropped = len(offsets) - len(fresh)
        self.arrived |= fresh
        good = fresh - bad
        taken = {o for o in good if o < self.next}
        waiting = (good - taken) | self.held
        before = self.next
        while self.next in self.arrived:
            self.next += 1
        out = {o for o in waiting if o < self.next}
        self.logged += sorted(taken | out)
        newly = {o for o in good if o >= self.next}
        self.held = waiting - out
        assert before <= self.next
        return len(taken | out), len(newly), dropped

    def skip(self, up_to: int) -> None:
        assert self.next is not None
        self.next = max(self.next, up_to + 1)
        while self.next in self.arrived:
            self.next += 1
        out = {o for o in self.held if o < self.next}
        self.logged += sorted(out)
        self.held -= out

    def gaps(self) -> list[tuple[int, int]]:
        last = max(self.arrived, default=-1)
        missing = [o for o in range(self.next or 0, last) if o not in self.arrived]
        starts = [o for o in missing if o - 1 not in missing]
        return [(o, next(e for e in range(o, last) if e + 1 not in missing)) for o in starts]


offsets = st.lists(st.integers(0, MOST), max_size=5)
bads = st.sets(st.integers(0, MOST), max_size=2)


@given(st.lists(st.tuples(offsets, bads) | st.integers(0, MOST), max_size=12), st.none() | st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_a_numbering_is_the_model_in_ranges(history: list[Any], start: int | None) -> None:
    model, numbering = Model(), None
    for step in history:
        if isinstance(step, int):
            if numbering is not None and numbering.ahead and numbering.next <= step <= numbering.ahead[-1][1]:
                numbering.skip(step)
                model.skip(step)
        else:
            given, bad = list(dict.fromkeys(step[0])), step[1]
            if not given:
                continue
            if numbering is None:
                numbering = PartitionOffsets.begin(min(given) if start is None else start)
            split = [[o for o in given if (o in bad) is flag] for flag in (False, True)]
            verdict = numbering.arrive(*(np.array(part, np.int64) for part in split))
            fresh = [o for o in given if o not in model.arrived]
            model.load(given, bad, start)
            assert int((verdict.taken | verdict.ahead).sum()) == len(fresh)
        if numbering is not None:
            assert numbering.next == model.next
            assert [gap[:2] for gap in numbering.gaps()] == model.gaps()
            assert sum(gap[2] for gap in numbering.gaps()) == len(model.held)
            for ranges in (numbering.ahead, numbering.forgone):
                assert all(a[1] + 1 < b[0] for a, b in pairwise(ranges))


loads = st.tuples(
    st.just("load"),
    st.lists(st.tuples(st.integers(0, MOST), st.integers(0, 1)), max_size=5),
    bads,
    st.none() | st.sampled_from(["k1", "k2"]),
)
skips = st.tuples(st.just("skip"), st.integers(0, 1))
crashes = st.none() | st.tuples(st.sampled_from(point.POINTS), st.integers(1, 3))
histories = st.lists(st.tuples(loads | loads | loads | skips, crashes), min_size=2, max_size=10)


def do(log: Log, action: tuple[Any, ...], source: SourceOffsets) -> Any:
    if action[0] == "skip":
        gap = next((gap for gap in log.gaps("Tick") if gap.partition == str(action[1])), None)
        return log.skip_gap(TICK, "s", gap.partition, gap.last) if gap else None
    _, numbers, bad, once = action
    rows = [{**row(o, o), "o": o, "p": p, **({"x": "bad"} if o in bad else {})} for o, p in numbers]
    return log.append(TICK, rows, once, source)


def expect(models: list[Model], keys: set[str], action: tuple[Any, ...]) -> tuple[int, int, int]:
    if action[0] == "skip":
        found = models[action[1]].gaps()
        if found:
            models[action[1]].skip(found[0][1])
        return 0, 0, 0
    _, numbers, bad, once = action
    if once in keys:
        return 0, 0, 0
    if once is not None:
        keys.add(once)
    counts = [model.load([o for o, q in numbers if q == p], bad, None) for p, model in enumerate(models)]
    return tuple(map(sum, zip(*counts, strict=True)))  # type: ignore[return-value]


@given(histories)
@settings(max_examples=60, deadline=None)
def test_whatever_path_an_event_takes_and_wherever_it_dies_it_is_in_the_log_once(history: list[Any]) -> None:
    source = SourceOffsets("s", "o", "p")
    with tempfile.TemporaryDirectory() as folder, patch.object(committer, "RECORDS_PER_HEAD", 3):
        disk, points, models, keys = MemoryDisk(), CrashAt(), [Model(), Model()], set()
        opened = lambda: Log.open(Path(folder) / "home", durable=False, points=points, tables=disk.tables())  # noqa: E731
        log = opened()
        log.create_stream(TICK)
        for action, at in history:
            points.arm(*at or ())
            report = None
            try:
                report = do(log, action, source)
            except Crash:
                crash(log)
                points.arm()
                log = opened()
                do(log, action, source) if action[0] == "load" else None
                if action[0] == "skip" and at is not None and at[0] not in HAPPENED:
                    do(log, action, source)
            points.arm()
            counts = expect(models, keys, action)
            if report is not None and action[0] == "load" and not report.duplicate:
                assert (report.accepted, report.held, report.duplicates) == counts
        read = log.archive.read_arrow(log.archive.snapshot("Tick"), ["x"])["x"].to_pylist()
        assert sorted(read) == sorted(o for model in models for o in model.logged)
        wanted = [(str(p), *gap) for p, model in enumerate(models) for gap in model.gaps()]
        assert sorted((gap.partition, gap.first, gap.last) for gap in log.gaps("Tick")) == wanted
        assert sum(gap.held for gap in log.gaps("Tick")) == sum(len(model.held) for model in models)
        log.close()
