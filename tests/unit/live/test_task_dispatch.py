"""Work that is done away from the driver: a home that the two do not share is told before anything is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from presage.errors import PresageError
from presage.live.state_files import StateRef
from presage.live.task_dispatch import TaskShare, check_written, run_share
from presage.live.tasks import Outcome
from presage.storage.file_store import FileStore
from presage.storage.home import Home


def test_a_worker_without_the_home_says_so(tmp_path: Path) -> None:
    with pytest.raises(PresageError) as caught:
        run_share(TaskShare((), {}, {}, FileStore(), tmp_path / "home" / "states", 1))
    assert caught.value.code == "HOME_NOT_SHARED"
    assert str(tmp_path / "home") in caught.value.message


def test_states_that_a_worker_wrote_elsewhere_are_not_recorded(tmp_path: Path) -> None:
    home = Home.__new__(Home)
    home.store, home.path, home.states = FileStore(), tmp_path, tmp_path / "states"
    home.states.mkdir()
    outcome = Outcome("1", 0, chains={"2": (StateRef("here.states", 0, 1, 1), StateRef("there.states", 0, 1, 1))})
    with pytest.raises(PresageError, match=r"there\.states") as caught:
        check_written([outcome], home)
    assert caught.value.code == "HOME_NOT_SHARED"
    (home.states / "there.states").touch()
    check_written([outcome], home)
