"""Homes as earlier versions wrote them are opened and go on; what cannot be read is refused by name."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import pytest

from presage.errors import PresageError
from presage.storage.home import FORMAT, FORMAT_FILE
from presage.storage.sealed_json import unseal
from recovery.living import Living
from recovery.recalling import recalling_home
from recovery.store_home import JOB, STORED, begin, begin_capabilities, go_on, go_on_with_capabilities
from recovery.ticks import CAPABILITIES

HOMES = sorted(path.name for path in STORED.glob("format-*"))


@pytest.fixture(params=HOMES)
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(STORED / request.param, tmp_path / "home"))


def test_states_of_every_capability_are_read_under_their_old_names(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(STORED / "capabilities-1", tmp_path / "home"))
    with recalling_home(folder, **JOB) as stored, recalling_home(tmp_path / "fresh", **JOB) as fresh:
        begin_capabilities(fresh)
        assert stored.states().keys() == fresh.states().keys() != set()
        for each in (stored, fresh):
            go_on_with_capabilities(each)
        for name in CAPABILITIES:
            assert stored.rows(name) == fresh.rows(name) != [], name
        assert not [d for d in stored.deployments.values() if d.status.last_error], "no state had to be computed again"


def test_there_is_a_home_of_this_version() -> None:
    assert f"format-{FORMAT}" in HOMES


def test_a_kept_home_opens_and_goes_on_as_if_it_had_never_been_closed(home: Path, tmp_path: Path) -> None:
    with Living(home, **JOB) as stored, Living(tmp_path / "fresh", **JOB) as fresh:
        begin(fresh)
        assert stored.found() == fresh.found()
        assert stored.states().keys() == fresh.states().keys() != set()
        for each in (stored, fresh):
            go_on(each)
        assert stored.found() == fresh.found()
        assert not [d for d in stored.deployments.values() if d.status.last_error], "no state had to be made again"
        assert stored.deployments["window"].status.rows_out > 0


def test_a_home_of_another_format_is_refused_by_name(home: Path) -> None:
    content = unseal((home / FORMAT_FILE).read_bytes())
    (home / FORMAT_FILE).write_text(json.dumps({**content, "format": FORMAT + 1}))
    with pytest.raises(PresageError, match=str(FORMAT + 1)) as refused:
        Living(home)
    assert refused.value.code == "HOME_VERSION"


def test_state_files_of_another_version_are_refused_by_name_and_made_again(home: Path, tmp_path: Path) -> None:
    for path in (home / "states").iterdir():
        path.write_bytes(path.read_bytes()[:8] + struct.pack("<H", 77) + path.read_bytes()[10:])
    with Living(home, **JOB) as stored, Living(tmp_path / "fresh", **JOB) as fresh:
        begin(fresh)
        for each in (stored, fresh):
            go_on(each)
        for name in fresh.deployments:
            assert stored.rows(name) == fresh.rows(name)
        assert stored.derived("Hot") == fresh.derived("Hot")
        told = [str(d.status.last_error) for d in stored.deployments.values() if d.status.last_error]
        assert told
        assert all("[HOME_VERSION]" in each and "state file 77" in each for each in told)
