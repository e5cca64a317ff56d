"""A home that is copied: the same rows, an identity of its own, nothing overwritten, no home before it is complete."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from presage import Engine
from presage.errors import PresageError
from presage.operations import copying
from presage.operations.copying import Copy
from presage.operations.verification import Verification
from presage.storage.home import FORMAT_FILE, open_place, read_format
from presage.storage.sealed_json import seal
from recovery.living import Living
from unit.operations.homes import fill
from unit.operations.test_repair import content


@pytest.fixture
def home(tmp_path: Path) -> Path:
    fill(tmp_path / "home", die=True)
    return tmp_path / "home"


def identity(home: Path) -> tuple[str, str]:
    return read_format(*open_place(home))


def test_a_copy_has_the_rows_and_goes_on_as_its_source(home: Path, tmp_path: Path) -> None:
    report = Copy(home, tmp_path / "there/copy").run()
    copy = tmp_path / "there/copy"
    assert list(Verification(copy).findings()) == []
    assert report.files > 20
    assert report.kept == 0
    assert content(copy) == content(home)
    again = Copy(copy, tmp_path / "third").run()
    assert again.id == identity(tmp_path / "third")[0]
    assert content(tmp_path / "third")["after"] == content(copy)["after"]


def test_a_copy_has_an_identity_of_its_own_unless_its_home_moves(home: Path, tmp_path: Path) -> None:
    Copy(home, tmp_path / "copy").run()
    Copy(home, tmp_path / "moved", keep_identity=True).run()
    own = identity(home)
    assert identity(tmp_path / "moved") == own
    assert identity(tmp_path / "copy")[0] != own[0]
    assert identity(tmp_path / "copy")[1] == own[1]


def test_what_is_there_is_not_overwritten(home: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes.txt").write_text("mine")
    fill(tmp_path / "other")
    for target in (tmp_path / "full", tmp_path / "other", home, home / "below", tmp_path):
        with pytest.raises(PresageError) as refused:
            Copy(home, target).run()
        assert refused.value.code == "COPY_REFUSED"
    assert (tmp_path / "full/notes.txt").read_text() == "mine"


def test_an_interrupted_copy_is_no_home_and_goes_on(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, count = copying._copied, 0

    def failing(*arguments: object) -> bool:
        nonlocal count
        count += 1
        if count > 10:
            raise OSError("the disk is gone")
        return real(*arguments)  # type: ignore[arg-type]

    copy = tmp_path / "copy"
    monkeypatch.setattr(copying, "_copied", failing)
    with pytest.raises(PresageError):
        Copy(home, copy).run()
    monkeypatch.undo()
    with pytest.raises(PresageError) as refused:
        Engine(home=copy)
    assert refused.value.code == "NOT_A_HOME"
    fill(tmp_path / "other")
    with pytest.raises(PresageError, match="unfinished copy of another home"):
        Copy(tmp_path / "other", copy).run()
    cut = next(path for path in copy.rglob("*.parquet"))
    cut.write_bytes(cut.read_bytes()[:-7])
    assert Copy(home, copy).run().kept >= 1
    assert list(Verification(copy).findings()) == []
    assert content(copy) == content(home)


def test_a_damaged_home_is_not_copied(home: Path, tmp_path: Path) -> None:
    path = min((home / "streams/Tick/events").glob("*.parquet"))
    data = bytearray(path.read_bytes())
    data[6] ^= 1  # a bit of a page's header, which no checksum of Parquet covers
    path.write_bytes(data)
    with pytest.raises(PresageError, match="its digest is wrong"):
        Copy(home, tmp_path / "copy").run()
    assert not (tmp_path / "copy" / FORMAT_FILE).exists()
    path.unlink()
    with pytest.raises(PresageError, match="it is missing"):
        Copy(home, tmp_path / "copy").run()


def test_a_home_in_use_is_not_copied(home: Path, tmp_path: Path) -> None:
    with Living(home), pytest.raises(PresageError) as refused:
        Copy(home, tmp_path / "copy").run()
    assert refused.value.code == "HOME_LOCKED"


def test_an_interrupted_delivery_needs_the_same_identity(home: Path, tmp_path: Path) -> None:
    (home / "sinks").mkdir()
    position = {"number": 1, "row": 0, "record": 1, "end": 5, "delivered": 0, "skipped": 0}
    (home / "sinks" / f"{3:014d}.json").write_bytes(seal(position))
    with pytest.raises(PresageError, match="keep-identity"):
        Copy(home, tmp_path / "copy").run()
    shutil.rmtree(tmp_path / "copy")
    Copy(home, tmp_path / "copy", keep_identity=True).run()
    assert json.loads((tmp_path / "copy/sinks" / f"{3:014d}.json").read_bytes())["end"] == 5
