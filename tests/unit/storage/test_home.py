"""A home folder: made, locked, refused."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import pytest

from presage.errors import PresageError, ResourceError
from presage.model.catalog import Attribute, EventType
from presage.model.types import TIMESTAMP
from presage.storage import Log
from presage.storage.failures import storage_error
from presage.storage.home import FORMAT, Home


def code(call: pytest.ExceptionInfo[ResourceError]) -> str:
    return call.value.code


def test_a_new_home_has_its_format_file_and_its_folders(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "a" / "home")
    content = json.loads((home.path / "presage.json").read_text())
    assert content["format"] == FORMAT
    assert content["id"] == home.id
    assert sorted(p.name for p in home.path.iterdir() if p.is_dir()) == [
        "catalog",
        "derived",
        "journal",
        "states",
        "streams",
    ]
    home.close()


def test_a_home_keeps_its_identity(tmp_path: Path) -> None:
    first = Home.open(tmp_path)
    first.close()
    second = Home.open(tmp_path)
    assert second.id == first.id
    second.close()


def test_a_second_engine_of_the_same_process_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    with Log.open(tmp_path), pytest.raises(ResourceError, match=r"in use by process [0-9]+ on .+ since") as refused:
        Log.open(tmp_path)
    assert code(refused) == "HOME_LOCKED"


def test_an_engine_of_another_process_is_refused(tmp_path: Path) -> None:
    program = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with Log.open(tmp_path):
        run = subprocess.run([sys.executable, "-c", program, str(tmp_path / "lock")], capture_output=True, check=False)
        assert b"BlockingIOError" in run.stderr


def test_a_closed_home_can_be_opened_again(tmp_path: Path) -> None:
    Log.open(tmp_path).close()
    Log.open(tmp_path).close()


def test_a_folder_with_other_things_is_not_a_home(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(ResourceError, match=r"thesis\.tex") as refused:
        Log.open(tmp_path)
    assert code(refused) == "NOT_A_HOME"
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_not_a_home(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResourceError) as refused:
        Log.open(tmp_path / "file")
    assert code(refused) == "NOT_A_HOME"


def test_another_format_is_refused_with_both_numbers(tmp_path: Path) -> None:
    Log.open(tmp_path).close()
    (tmp_path / "presage.json").write_text(json.dumps({"format": 99, "id": "x"}))
    with pytest.raises(ResourceError, match=r"99.*reads 2") as refused:
        Log.open(tmp_path)
    assert code(refused) == "HOME_VERSION"


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_damaged_format_file_is_named_and_the_lock_is_given_back(tmp_path: Path, text: str) -> None:
    Log.open(tmp_path).close()
    (tmp_path / "presage.json").write_text(text)
    for _ in range(2):
        with pytest.raises(ResourceError) as refused:
            Log.open(tmp_path)
        assert code(refused) == "HOME_CORRUPT"


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    Log.open(tmp_path).close()
    (tmp_path / "journal" / f"{1:014d}.json").write_text("{")
    with pytest.raises(ResourceError, match=r"record 0*1 ") as refused:
        Log.open(tmp_path)
    assert code(refused) == "HOME_CORRUPT"


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    Log.open(tmp_path).close()
    (tmp_path / "journal" / f"{2:014d}.json").write_text('{"n": 2, "kind": "catalog", "at": 0}')
    with pytest.raises(ResourceError, match=r"record 1 .* missing") as refused:
        Log.open(tmp_path)
    assert code(refused) == "HOME_CORRUPT"


def test_a_home_without_a_path_goes_when_it_is_closed() -> None:
    log = Log.open()
    folder = log.home.path
    assert folder.exists()
    log.close()
    assert not folder.exists()


def test_a_home_without_a_path_goes_when_nobody_holds_it() -> None:
    home = Home.open(None)
    folder = home.path
    del home
    assert not folder.exists()


@pytest.mark.parametrize("name", ["../up", "a/b", "..", "Größe", "."])
def test_no_name_of_a_stream_leads_out_of_the_folder_of_streams(tmp_path: Path, name: str) -> None:
    home = Home.open(tmp_path)
    assert home.stream_folder(name).parent == home.streams
    assert home.stream_folder(name).name not in (".", "..")
    home.close()


@pytest.mark.parametrize("name", ["p%20q", "a[b]", "x*y"])
def test_a_path_that_spark_would_misread_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PresageError, match="misread"):
        Home.open(tmp_path / name)


@pytest.mark.parametrize("stream", ["weird name", "a.b/c", "ünï", "a%20b", "a~20b", "..", "~"])
def test_a_stream_of_any_name_has_a_folder_of_its_own(tmp_path: Path, stream: str) -> None:
    attribute = Attribute("at", TIMESTAMP)
    event_type = EventType(stream, "stream", (attribute,), event_time="at")
    for opened in (1, 2):
        with Log.open(tmp_path / "a home", durable=False) as log:
            if opened == 1:
                log.create_stream(event_type)
            log.append(event_type, [{"at": datetime(2024, 1, 1)}])
            assert log.archive.read_arrow(log.archive.snapshot(stream)).num_rows == opened
            assert {p.name for p in (tmp_path / "a home").iterdir()} >= {"streams"}
            assert not (tmp_path / "events").exists()


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_homes_are_for_their_owner_alone(tmp_path: Path) -> None:
    Log.open(tmp_path / "a" / "new").close()
    assert mode(tmp_path / "a" / "new") == 0o700
    (tmp_path / "empty").mkdir(mode=0o755)
    Log.open(tmp_path / "empty").close()
    assert mode(tmp_path / "empty") == 0o700


def test_a_home_of_before_is_closed_to_others_once_and_then_left_as_its_owner_says(tmp_path: Path) -> None:
    Log.open(tmp_path / "home").close()
    file = tmp_path / "home" / "presage.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({name: content[name] for name in ("format", "id", "created")}))
    (tmp_path / "home").chmod(0o755)
    Log.open(tmp_path / "home").close()
    assert mode(tmp_path / "home") == 0o700
    (tmp_path / "home").chmod(0o750)
    Log.open(tmp_path / "home").close()
    assert mode(tmp_path / "home") == 0o750
    assert json.loads(file.read_text())["id"] == content["id"]


def test_temporary_homes_of_killed_processes_go_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    killed = (
        "import os; from presage.storage import Log; log = Log.open(); print(log.home.path); os.sys.stdout.flush()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", killed + "os._exit(0)"]
    path = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip()
    assert Path(path).parent == tmp_path
    Log.open(tmp_path / "presage-chosen-by-a-user").close()
    (tmp_path / "presage-of-something-else").mkdir()
    elsewhere = tmp_path / "presage-of-another-host"
    Log.open(elsewhere).close()
    content = json.loads((elsewhere / "presage.json").read_text())
    (elsewhere / "presage.json").write_text(json.dumps({**content, "temporary": "another host"}))
    with Log.open() as alive:
        assert not Path(path).exists()
        with Log.open() as other:
            left = {p.name for p in tmp_path.iterdir()}
            assert left == {
                alive.home.path.name,
                other.home.path.name,
                "presage-chosen-by-a-user",
                "presage-of-something-else",
                "presage-of-another-host",
            }


@pytest.mark.parametrize(
    "address",
    ["file:///tmp/x", "hdfs://name/plant", "http://host/plant"],
)
def test_an_address_is_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (address, Path(address)):
        with pytest.raises(PresageError, match="URL") as refused:
            Log.open(path)
        assert refused.value.code == "NOT_LOCAL"
    assert not list(tmp_path.iterdir())


def test_without_a_folder_for_temporary_files_the_error_names_those_that_were_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp', '/var/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    with pytest.raises(ResourceError, match="can be written to: '/tmp', '/var/tmp'\n  fix: set TMPDIR") as refused:
        Log.open()
    assert code(refused) == "NO_TEMPORARY_FOLDER"


def test_a_full_disk_under_a_temporary_home_is_answered_with_another_folder_for_it(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    assert "TMPDIR" in storage_error(Path(tempfile.gettempdir()) / "presage-x1", full).fix
    assert "TMPDIR" not in storage_error(tmp_path / "home", full).fix
