"""A look at a home that another has open: what it sees, and that it leaves no trace."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from presage.errors import PresageError
from presage.storage import Log, committer, failpoints
from presage.storage.columns import EVENTS
from presage.storage.failpoints import Failpoints
from presage.storage.lock import is_locked
from presage.storage.snapshot_reader import read_snapshot
from recovery.crashing import row, stream

TICK = stream()


def listing(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(folder.rglob("*"))}


def test_it_sees_what_the_engine_sees_and_leaves_no_trace(tmp_path: Path) -> None:
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(TICK)
        for n in range(5):
            log.append(TICK, [row(n, n)])
        before = listing(tmp_path)
        seen = read_snapshot(tmp_path / "home")
        assert seen.state.position == log.position == 5
        assert seen.state.to_json() == log._committer.state.to_json()
        assert [f.name for f in seen.table("Tick", EVENTS).files.values()] == [
            f.name for f in log._committer.files("Tick", EVENTS)
        ]
        assert listing(tmp_path) == before
        assert is_locked(tmp_path / "home") or not Path("/proc/locks").exists()
    assert not is_locked(tmp_path / "home")


def test_what_was_committed_and_not_carried_out_is_seen_and_left_to_the_next_opening(tmp_path: Path) -> None:
    class Dies(Failpoints):
        armed = False

        def reach(self, point: str) -> None:
            if self.armed and point == failpoints.COMMITTED:
                raise KeyboardInterrupt

    points = Dies()
    log = Log.open(tmp_path / "home", durable=False, points=points)
    log.create_stream(TICK)
    points.armed = True
    with pytest.raises(KeyboardInterrupt):
        log.append(TICK, [row(1, 1)])
    log.home.unlock()
    seen = read_snapshot(tmp_path / "home")
    assert (seen.state.position, len(seen.pending)) == (1, 1)
    assert seen.table("Tick", EVENTS).files == {}
    with Log.open(tmp_path / "home", durable=False) as again:
        assert again.position == 1


def test_beside_a_writer_every_look_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Heads come often, so that records vanish under the reader's eyes.
    monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 3)
    monkeypatch.setattr(committer, "TRIMMED_PER_RECORD", 4)
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(TICK)
        over = threading.Event()

        def write() -> None:
            for n in range(150):
                log.append(TICK, [row(n, 1)])
            over.set()

        writer = threading.Thread(target=write)
        writer.start()
        positions = [0]
        while not over.is_set():
            seen = read_snapshot(tmp_path / "home")
            # Each record brings one row: position and number of records belong together.
            assert seen.state.position == max(0, seen.state.n - 1)
            assert sum(f.rows for f in seen.table("Tick", EVENTS).files.values()) >= seen.state.position - 1
            positions.append(seen.state.position)
        writer.join()
        assert positions == sorted(positions)
        assert read_snapshot(tmp_path / "home").state.position == 150


def test_what_is_no_home_is_said_to_be_none_and_not_made(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "none", "no such folder"), (tmp_path, "presage.json")):
        with pytest.raises(PresageError, match=why) as caught:
            read_snapshot(path)
        assert caught.value.code == "NOT_A_HOME"
    assert not (tmp_path / "none").exists()


def test_a_gap_in_the_journal_is_an_error_and_not_waited_for_long(tmp_path: Path) -> None:
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(TICK)
        for n in range(3):
            log.append(TICK, [row(n, n)])
        shutil.copytree(tmp_path / "home", tmp_path / "copy")
    next((tmp_path / "copy" / "journal").glob("0*2.json")).unlink()
    with pytest.raises(PresageError, match="record 2") as caught:
        read_snapshot(tmp_path / "copy")
    assert caught.value.code == "HOME_CORRUPT"
