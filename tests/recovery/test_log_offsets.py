"""A history load and a live feed of one source that die on the way; the source sends again what was not answered."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from presage.storage import Log, SourceOffsets, committer
from presage.storage import failpoints as point
from recovery.crashing import Crash, CrashAt, contents, crash, row, sequence_numbers, stream

TICK = stream()
SOURCE = SourceOffsets("s", "offset")


def rows(first: int, last: int) -> list[dict[str, object]]:
    """Events of the source; one of them does not fit the stream and has its number all the same."""
    return [{**row(x, x), "offset": x, **({"x": "bad"} if x == 7 else {})} for x in range(first, last + 1)]


# What the paths bring, in turn. The archive has 0 to 9; the feed begins with no gap, an overlap, a hole.
PATHS = {
    "zero": [(0, 5), (6, 9), (10, 12)],
    "negative": [(0, 5), (3, 9), (8, 12)],
    "positive": [(0, 5), (11, 12), (6, 9), (9, 10)],
}
REPEATED = {point.STAGED_ONE: 3, point.TABLE_COMMITTED: 3}
CASES = [(p, k) for p in point.POINTS for k in range(1, REPEATED.get(p, 1) + 1)]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("begun") / "home"
    with Log.open(home, durable=False) as log:
        log.create_stream(TICK)
    return home


@pytest.fixture(scope="module")
def undisturbed(begun: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    found = {}
    for gap, paths in PATHS.items():
        home = tmp_path_factory.mktemp("undisturbed") / "home"
        shutil.copytree(begun, home)
        with Log.open(home, durable=False) as log:
            for load in paths:
                log.append(TICK, rows(*load), source=SOURCE)
            found[gap] = contents(log)
    return found


@pytest.mark.parametrize("gap", PATHS)
def test_an_undisturbed_run_holds_each_offset_once(
    gap: str, undisturbed: dict[str, dict[str, dict[str, list]]]
) -> None:
    tick = undisturbed[gap]["Tick"]
    assert [event["x"] for event in tick["events"]] == [x for x in range(13) if x != 7]
    assert (tick["late"], len(tick["rejected"])) == ([], 1)


@pytest.mark.parametrize(("where", "k"), CASES)
@pytest.mark.parametrize("gap", PATHS)
def test_a_path_that_dies_at_any_point_and_is_replayed_changes_nothing(
    gap: str,
    where: str,
    k: int,
    begun: Path,
    undisturbed: dict[str, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = tmp_path / "home"
    shutil.copytree(begun, home)
    if where == point.HEAD_WRITTEN:
        monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 1)
    points = CrashAt()
    log = Log.open(home, durable=False, points=points)
    died = 0
    for load in PATHS[gap]:
        points.arm(where, k)
        try:
            log.append(TICK, rows(*load), source=SOURCE)
        except Crash:
            died += 1
            crash(log)
            points.arm()
            log = Log.open(home, durable=False, points=points)
            log.append(TICK, rows(*load), source=SOURCE)  # no answer came: the source sends it again
    points.arm()
    assert died
    assert log.gaps("Tick") == []
    assert contents(log) == undisturbed[gap]
    assert sequence_numbers(log) == list(range(1, log.position + 1))
    log.close()


@pytest.mark.parametrize(("where", "k"), [(p, k) for p, k in CASES if k <= 3])
def test_giving_up_a_gap_happens_once(
    where: str, k: int, begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    shutil.copytree(begun, home)
    if where == point.HEAD_WRITTEN:
        monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 1)
    points = CrashAt()
    log = Log.open(home, durable=False, points=points)
    log.append(TICK, rows(0, 2), source=SOURCE)
    log.append(TICK, rows(5, 6), source=SOURCE)
    points.arm(where, k)
    try:
        log.skip_gap(TICK, "s", "", 4)
    except Crash:
        crash(log)
        points.arm()
        log = Log.open(home, durable=False)
        log.skip_gap(TICK, "s", "", 4)
    assert [event["x"] for event in contents(log)["Tick"]["events"]] == [0, 1, 2, 5, 6]
    assert log._committer.state.streams["Tick"].sources["s"][""]["skipped"] == 2
    log.close()
