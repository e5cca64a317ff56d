"""Commands on homes in buckets: status, metrics, the log, copies in each direction, repair; and objects that vanish."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import presage
from integration.bucket_servers import BucketServer
from integration.test_object_store import STREAM, SUMS, expected, home, rows, server
from presage.errors import PresageError
from presage.operations.copying import Copy
from presage.operations.verification import Verification
from presage.storage.object_store import open_bucket

__all__ = ["home", "server"]


@pytest.fixture
def filled(home: str) -> str:
    with presage.Engine(home=home, live=False, driven=False) as engine:
        engine.execute(STREAM)
        engine.deploy(SUMS, name="sums")
        load(engine, 0, 6)
        assert rows(engine) == expected(6)
    return home


def load(engine: presage.Engine, start: int, stop: int) -> None:
    for n in range(start, stop):
        engine.load("Tick", [{"sym": "a", "price": float(n), "at": f"2024-03-01T09:00:{n:02d}Z"}])


def presage_says(*arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "presage", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_status_and_metrics_are_told_of_a_closed_home_and_of_an_open_one(filled: str) -> None:
    code, out, _ = presage_says("status", filled, "--format", "json")
    status = json.loads(out)
    assert (code, status["open"], status["home"]) == (0, False, filled)
    assert status["streams"]["Tick"]["events"] == 6
    assert status["disk"]["streams"] > 0
    with presage.Engine(home=filled, live=False, driven=False):
        status = json.loads(presage_says("status", filled, "--format", "json")[1])
        assert status["open"]
        assert "process" in status["engine"]
    code, out, _ = presage_says("metrics", filled)
    assert code == 0
    assert 'presage_stream_events_total{stream="Tick"} 6' in out


def test_the_log_is_inspected_compacted_and_exported(filled: str, tmp_path: Path) -> None:
    code, out, _ = presage_says("log", filled, "inspect", "--format", "json")
    assert code == 0
    assert json.loads(out)["position"] == 6
    assert presage_says("log", filled, "compact", "--grace", "0")[0] == 0
    assert presage_says("log", filled, "export", "Tick", "--to", str(tmp_path / "t.csv"))[0] == 0
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 7
    code, out, _ = presage_says("log", filled, "verify")
    assert (code, out[:11]) == (0, "all is well")


def test_a_home_moves_from_a_bucket_to_a_folder_and_back(filled: str, tmp_path: Path) -> None:
    code, out, error = presage_says("log", filled, "copy", str(tmp_path / "home"))
    assert (code, error) == (0, "")
    assert "all compared" in out
    with presage.Engine(home=tmp_path / "home", live=False, driven=False) as engine:
        assert rows(engine) == expected(6)
        load(engine, 6, 9)
        assert rows(engine) == expected(9)
    back = f"{filled}-back"
    assert presage_says("log", str(tmp_path / "home"), "copy", back)[0] == 0
    third = f"{filled}-third"
    Copy(back, third).run()
    for place in (back, third):
        assert list(Verification(place).findings()) == []
        with presage.Engine(home=place, live=False, driven=False) as engine:
            assert rows(engine) == expected(9)
            load(engine, 9, 12)
            assert rows(engine) == expected(12)
    with pytest.raises(PresageError) as refused:
        Copy(tmp_path / "home", back).run()
    assert refused.value.code == "COPY_REFUSED"


def test_objects_that_a_lifecycle_rule_deleted_are_repaired_or_named(filled: str) -> None:
    store, place = open_bucket(filled)
    everything = list(store.walk(place))
    for path in everything:
        if "_delta_log" in path.parts or "states" in path.parts:
            store.delete(path)
    with pytest.raises(PresageError, match="log HOME repair"):
        presage.Engine(home=filled, live=False, driven=False)
    code, out, _ = presage_says("log", filled, "repair")
    assert (code, out.splitlines()[-1][-11:]) == (0, "all is well")
    with presage.Engine(home=filled, live=False, driven=False) as engine:
        assert rows(engine) == expected(6)
        load(engine, 6, 9)
        assert rows(engine) == expected(9)
    lost = next(path for path in store.walk(place) if path.parts[-3:-1] == ("Tick", "events"))
    store.delete(lost)
    code, out, _ = presage_says("log", filled, "repair")
    assert code == 3
    assert lost.name in out


@pytest.mark.parametrize("command", [("status",), ("log", "verify"), ("log", "repair"), ("log", "copy", "here")])
def test_a_bucket_that_is_not_there_is_named(server: BucketServer, command: tuple[str, ...]) -> None:
    scheme = server.bucket.partition("://")[0]
    code, out, error = presage_says(command[0], f"{scheme}://no-such-bucket/home", *command[1:])
    assert (code, out) == (1, "")
    assert error.startswith("error[STORAGE_FAILED]")
    assert "there is no bucket 'no-such-bucket'" in error
    assert "fix: check the bucket, its credentials and the network" in error
