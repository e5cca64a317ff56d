"""Dying at every named point of the life of deployed statements, and coming back: all is as if undisturbed."""

from __future__ import annotations

import copy
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from presage.storage import committer
from presage.storage import failpoints as point
from recovery.crashing import Crash, CrashAt, MemoryDisk, copy_as_closed
from recovery.living import Living
from recovery.ticks import BOUNDED, MATCHING, OTHER_WINDOW, STATEMENTS, STREAMS, quotes, ticks

POINTS = (point.STATES_WRITTEN, *point.POINTS)


@dataclass(frozen=True)
class Action:
    """A step of a home's life that may be done again: the second time it changes nothing."""

    name: str
    do: Callable[[Living], None]


def load(stream: str, rows: list[dict[str, Any]], key: str) -> Action:
    return Action(f"load {key}", lambda home: home.load(stream, rows, key))


def deploy(name: str) -> Action:
    return Action(f"deploy {name}", lambda home: home.deploy((STATEMENTS | MATCHING | BOUNDED)[name], name) and None)


def replace_window(home: Living) -> None:
    if "min(" not in home.deployments["window"].text:
        home.deploy(OTHER_WINDOW, "window", replace=True)


def stop_filter(home: Living) -> None:
    if home.deployments["filter"].status.state == "running":
        home.stop("filter")


DRAIN = Action("drain", Living.drain)
BEFORE = [
    load("Tick", ticks(0, 6), "t0"),
    load("Quote", quotes(0, 5), "q0"),
    *(deploy(name) for name in ("filter", "join", "batch", "rated", "falls", "silent", "visits", "holds")),
]
LIFE = [
    deploy("window"),
    deploy("hot"),
    deploy("over"),
    deploy("spans"),
    load("Tick", ticks(9, 6), "t1"),
    load("Quote", quotes(8, 9), "q1"),
    deploy("past"),
    deploy("ends"),
    deploy("means"),
    DRAIN,
    Action("replace", replace_window),
    Action("stop", stop_filter),
    load("Tick", ticks(18, 6), "t2"),
    Action("silence", lambda home: home.log.append_watermark("Quote", 1_704_067_225_000_000)),
    DRAIN,
]
JOB = {"rows_per_batch": 16}


class Counting(CrashAt):
    """Counts what is passed."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: Counter[str] = Counter()

    def reach(self, point: str) -> None:
        self.passed[point] += 1


@dataclass(frozen=True)
class Snapshot:
    """A home before one of its steps, the points that the step passes, and what is found after it."""

    folder: Path
    disk: MemoryDisk | None
    passed: Counter[str]
    found: dict[str, Any]


def found_in(home: Living) -> dict[str, Any]:
    """Rows, places and counts, and the states: what is equal in all of these goes on equally."""
    return home.found() | {"states": home.states()}


def undisturbed(folder: Path, disk: MemoryDisk | None, job: dict[str, Any]) -> list[Snapshot]:
    """The whole life, without an accident."""
    kept = []
    with Living(folder / "home", disk, **job) as home:
        home.declare(STREAMS)
        for action in BEFORE:
            action.do(home)
    points = Counting()
    home = Living(folder / "home", disk, points, **job)
    for number, action in enumerate(LIFE):
        copied, before = folder / f"before-{number}", copy.deepcopy(disk)
        copy_as_closed(folder / "home", copied)
        points.passed.clear()
        action.do(home)
        kept.append(Snapshot(copied, before, Counter(points.passed), found_in(home)))
    home.close()
    return kept


@pytest.fixture(scope="module")
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Snapshot]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committer, "RECORDS_PER_HEAD", 3)
        yield undisturbed(tmp_path_factory.mktemp("memory"), MemoryDisk(), JOB)


def die_and_go_on(
    kept: Snapshot, action: Action, where: str, k: int, folder: Path, job: dict[str, Any], then: Sequence[Action] = ()
) -> dict[str, Any]:
    """Die in a step at the k-th passing of a point, come back, do the step again and those that follow."""
    shutil.copytree(kept.folder, folder)
    disk = copy.deepcopy(kept.disk)
    points = CrashAt()
    home = Living(folder, disk, points, **job)
    points.arm(where, k)
    with pytest.raises(Crash):
        action.do(home)
    home.die()
    home = Living(folder, disk, **job)
    there, named = home.state_files()
    assert there == named
    for step in (action, *then):
        step.do(home)
    found = found_in(home)
    home.die()
    return found


@pytest.mark.parametrize("number", range(len(LIFE)), ids=[f"{i}-{a.name}" for i, a in enumerate(LIFE)])
def test_dying_at_any_point_of_a_step_changes_nothing(number: int, in_memory: list[Snapshot], tmp_path: Path) -> None:
    kept = in_memory[number]
    assert kept.passed[point.COMMITTED]
    for where in POINTS:
        for k in range(1, kept.passed[where] + 1):
            found = die_and_go_on(kept, LIFE[number], where, k, tmp_path / f"{where}-{k}", JOB)
            assert found == kept.found, (where, k)


def test_the_life_passes_every_point(in_memory: list[Snapshot]) -> None:
    assert {where for kept in in_memory for where in kept.passed} == set(POINTS)
    slices = in_memory[LIFE.index(DRAIN)].passed[point.STATES_WRITTEN]
    assert slices > 1, "history comes in slices"
    statuses = [values[2] for values in in_memory[-1].found["statements"].values()]
    assert {"running", "stopped", "finished"} == set(statuses)
    assert all(values[-1] for values in in_memory[-1].found["statements"].values()), "every statement has rows"


def test_after_an_accident_in_the_middle_life_goes_on_to_the_same_end(
    in_memory: list[Snapshot], tmp_path: Path
) -> None:
    number = LIFE.index(DRAIN)
    for where in (point.STATES_WRITTEN, point.COMMITTED):
        folder = tmp_path / where
        found = die_and_go_on(in_memory[number], LIFE[number], where, 2, folder, JOB, LIFE[number + 1 :])
        assert found == in_memory[-1].found


def test_on_Delta_tables_a_batch_that_dies_anywhere_happens_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 3)
    whole = undisturbed(tmp_path, None, {"rows_per_batch": 100})
    kept = whole[-1]
    for where in POINTS:
        for k in range(1, kept.passed[where] + 1):
            found = die_and_go_on(kept, LIFE[-1], where, k, tmp_path / f"{where}-{k}", {"rows_per_batch": 100})
            assert found == kept.found, (where, k)
