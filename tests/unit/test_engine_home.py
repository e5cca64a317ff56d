"""An engine and its home: a fork may not use it, a second process is refused, an address is no home."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from presage import Engine
from presage.cli import main
from presage.errors import PresageError

FORKED = """
import os, sys
from presage import Engine
from presage.cli import main
from presage.errors import PresageError

engine = Engine(home=sys.argv[1], live=False, driven=False)
engine.execute("CREATE STREAM Tick (x LONG, at TIMESTAMP) EVENT TIME at")
engine.load("Tick", [{"x": 1, "at": "2024-01-01T00:00:00"}])
deployed = engine.deploy("SELECT x FROM Tick WITHIN [2024-01-01, )", "all")
child = os.fork()
if child == 0:
    calls = [
        lambda: engine.load("Tick", [{"x": 2, "at": "2024-01-01T00:00:01"}]),
        lambda: engine.execute("CREATE STREAM Other (x LONG, at TIMESTAMP) EVENT TIME at"),
        lambda: engine.deploy("SELECT x FROM Tick", "more"),
        lambda: engine.advance("Tick", "2024-01-02"),
        lambda: engine.query("SELECT x FROM Tick"),
        engine.maintain,
        deployed.drain,
        deployed.stop,
        deployed.resume,
        lambda: engine.spark,
    ]
    for call in calls:
        try:
            call()
            print("went through", flush=True)
        except PresageError as refused:
            print(refused.code, flush=True)
    engine.close()
    sys.exit()
os.waitpid(child, 0)
engine.load("Tick", [{"x": 3, "at": "2024-01-01T00:00:02"}])
deployed.drain()
print([row["x"] for row in deployed.table().to_pylist()])
sys.argv = ["presage", "log", sys.argv[1], "compact"]
main()
engine.close()
"""


def test_a_forked_engine_is_refused_and_a_second_command_on_the_home_is_told_who_has_it(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", FORKED, str(tmp_path / "home")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    *child, parent = done.stdout.splitlines()
    assert child == ["ENGINE_FORKED"] * 10
    assert parent == "[1, 3]"
    assert "error[HOME_LOCKED]" in done.stderr
    assert "is in use by process" in done.stderr


@pytest.mark.parametrize("home", ["a\0b", b"/plant", 5, ["plant"]])
def test_what_is_no_path_is_refused_with_a_code(home: object) -> None:
    with pytest.raises(PresageError) as refused:
        Engine(home=home)  # type: ignore[arg-type]
    assert refused.value.code == "BAD_VALUE"


@pytest.mark.parametrize("address", [" s3://bucket/plant", "file:///tmp/plant", "hdfs://name/plant"])
def test_an_address_is_refused_wherever_a_home_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.epl").write_text("SHOW STREAMS")
    with pytest.raises(PresageError) as refused:
        Engine(home=address)
    assert refused.value.code == "NOT_LOCAL"
    for arguments in (
        ["query", "q.epl", "--home", address],
        ["run", "q.epl", "--home", address],
        ["status", address],
        ["metrics", address],
        *(["log", address, *more] for more in (["inspect"], ["verify"], ["compact"], ["export", "T", "--to", "-"])),
    ):
        monkeypatch.setattr(sys, "argv", ["presage", *arguments])
        assert main() == 1
        assert "error[NOT_LOCAL]" in capsys.readouterr().err, arguments
    assert [path.name for path in tmp_path.iterdir()] == ["q.epl"]


def test_an_address_is_no_path_of_events(tmp_path: Path) -> None:
    with Engine(home=tmp_path / "home", live=False, driven=False) as engine:
        engine.execute("CREATE STREAM Tick (x LONG, at TIMESTAMP) EVENT TIME at")
        for call in (
            lambda: engine.load("Tick", "s3://bucket/ticks.parquet"),
            lambda: engine.execute("CREATE RELATION Few (sym STRING) FROM 's3a://bucket/few.csv'"),
        ):
            with pytest.raises(PresageError) as refused:
                call()
            assert refused.value.code == "NOT_LOCAL"
