"""One process writes a home: a fork, a second opener and a deleted lock file lose nothing that was acknowledged."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from presage.errors import PresageError
from presage.operations.verification import Verification
from presage.storage import Log
from presage.storage import lock as locks
from presage.storage.file_store import FileStore
from presage.storage.journal import Record, to_bytes
from recovery.crashing import row, stream

TICK = stream()


def run(program: str, *arguments: object) -> list[str]:
    """What a program of its own process prints, line by line."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def values(home: Path) -> list[int]:
    with Log.open(home) as log:
        return sorted(log.archive.read_arrow(log.archive.snapshot("Tick"))["x"].to_pylist())


FORKED = """
import os, sys
from pathlib import Path
from presage.errors import PresageError
from presage.storage import Log
from recovery.crashing import row, stream

home = Path(sys.argv[1]) if sys.argv[1] != "None" else None
log = Log.open(home)
log.create_stream(stream())
log.append(stream(), [row(1, 1)])
sys.stdout.flush()
child = os.fork()
if child == 0:
    calls = {
        "append": lambda: log.append(stream(), [row(2, 2)]),
        "watermark": lambda: log.append_watermark("Tick", 10**15),
        "create": lambda: log.create_stream(stream("Other")),
        "maintain": lambda: log.maintain([stream()]),
        "publish": lambda: log.publish("batch", {}),
        "read": lambda: log.archive.snapshot("Tick"),
    }
    for name, call in calls.items():
        try:
            call()
            print(name, "went through")
        except PresageError as refused:
            print(name, refused.code)
    log.close()
    sys.exit()  # with all that runs at the end of a process
os.waitpid(child, 0)
log.append(stream(), [row(3, 3)])
print("parent", log.archive.read_arrow(log.archive.snapshot("Tick"))["x"].to_pylist(), log.home.path.exists())
try:
    Log.open(log.home.path)
    print("a second writer got in")
except PresageError as refused:
    print("second", refused.code)
log.close()
"""


@pytest.mark.parametrize("temporary", [False, True])
def test_a_fork_is_refused_by_name_and_takes_nothing_from_its_parent(tmp_path: Path, temporary: bool) -> None:
    said = run(FORKED, None if temporary else tmp_path / "home")
    *child, parent, second = said
    assert [line.split()[1] for line in child] == ["ENGINE_FORKED"] * 6
    assert parent == "parent [1, 3] True"
    assert second == "second HOME_LOCKED"
    if not temporary:
        assert not list(Verification(tmp_path / "home").findings())
        assert values(tmp_path / "home") == [1, 3]


def test_a_child_that_outlives_the_engine_does_not_keep_the_home_locked(tmp_path: Path) -> None:
    program = """
import os, sys, time
from presage.storage import Log
log = Log.open(sys.argv[1])
child = os.fork()
if child == 0:
    os.close(1)
    os.close(2)
    time.sleep(30)
    os._exit(0)
print(child, flush=True)
os._exit(0)
"""
    (child,) = run(program, tmp_path / "home")
    try:
        Log.open(tmp_path / "home").close()
    finally:
        os.kill(int(child), 9)


def test_deleting_the_lock_file_does_not_let_a_second_writer_in(tmp_path: Path) -> None:
    with Log.open(tmp_path / "home") as log:
        log.create_stream(TICK)
        (tmp_path / "home" / "lock").unlink()
        with pytest.raises(PresageError, match=f"in use by process {os.getpid()}") as refused:
            Log.open(tmp_path / "home")
        assert refused.value.code == "HOME_LOCKED"
        program = "import sys; from presage.storage import Log; from presage.errors import PresageError\n"
        program += "try: Log.open(sys.argv[1])\nexcept PresageError as refused: print(refused.code)"
        assert run(program, tmp_path / "home") == ["HOME_LOCKED"]
        log.append(TICK, [row(1, 1)])
    assert values(tmp_path / "home") == [1]


@pytest.fixture
def no_folder_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system like NFS, which locks files only."""

    def flock(handle: int, operation: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(errno.EBADF, "Bad file descriptor")
        fcntl.flock(handle, operation)

    monkeypatch.setattr(locks, "fcntl", type("", (), {**vars(fcntl), "flock": staticmethod(flock)}))


@pytest.mark.parametrize("goes_on", ["open", "closed"])
def test_of_two_writers_one_is_stopped_before_it_writes_over_the_other(
    tmp_path: Path, no_folder_locks: None, goes_on: str
) -> None:
    first = Log.open(tmp_path / "home")
    first.create_stream(TICK)
    first.append(TICK, [row(1, 1)])
    (tmp_path / "home" / "lock").unlink()
    second = Log.open(tmp_path / "home")
    second.append(TICK, [row(2, 2)])
    if goes_on == "closed":
        second.close()  # its records are in the head now
    for _ in range(2):
        with pytest.raises(PresageError) as refused:
            first.append(TICK, [row(3, 3)])
        assert refused.value.code == "HOME_OVERTAKEN"
    first.close()
    second.close()
    assert values(tmp_path / "home") == [1, 2]
    assert not list(Verification(tmp_path / "home").findings())


def test_closing_does_not_put_an_old_head_in_the_place_of_a_newer_one(tmp_path: Path, no_folder_locks: None) -> None:
    first = Log.open(tmp_path / "home")
    first.create_stream(TICK)
    (tmp_path / "home" / "lock").unlink()
    with Log.open(tmp_path / "home") as second:
        second.append(TICK, [row(2, 2)])
    with pytest.raises(PresageError) as refused:
        first.close()
    assert refused.value.code == "HOME_OVERTAKEN"
    assert values(tmp_path / "home") == [2]


def test_a_record_of_a_refused_writer_that_died_is_passed_over(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "home")
    log.create_stream(TICK)
    log.append(TICK, [row(1, 1)])
    log.home.unlock()
    # Earlier versions renamed a record that was applied.
    record = tmp_path / "home" / "journal" / f"{2:014d}.json"
    record.rename(record.with_suffix(".done"))
    record.write_bytes(to_bytes([Record(2, "append", 0, stream="Tick")]))
    assert values(tmp_path / "home") == [1]


def test_a_new_file_is_put_where_none_is_and_an_own_second_attempt_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, path = FileStore(durable=False), tmp_path / "file"
    link = os.link

    def answers_late(source: Path, target: Path) -> None:
        link(source, target)
        raise FileExistsError(target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", answers_late)
        disk.create(path, b"1")
    with pytest.raises(FileExistsError):
        disk.create(path, b"2")

    def unable(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", unable)
        disk.create(tmp_path / "other", b"3")
        with pytest.raises(PermissionError):
            disk.create(path, b"4")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"file": b"1", "other": b"3"}
